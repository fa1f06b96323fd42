//! What the SP Switch says of itself, and its closed forms: the way of a worm through an empty fabric among them.

use super::{CentralSettings, NextPacket, Replication, SpAscent, SpSettings, Store};
use flitway_fabric::chip::{Chip, Copies, Cost, Offers, SetOffer, Waits};
use flitway_fabric::headroom::{Headroom, Longest};
use flitway_fabric::{Fabric, PacketFormat};
use flitway_wiring::reach::{Reach, ports};
use flitway_wiring::routing::Selection;
use flitway_wiring::topology::{End, LinkId};
use flitway_wiring::{NodeId, NodeSet, SwitchId};

impl Chip for SpSettings {
    fn ports(&self) -> u32 {
        self.ports
    }

    fn vcs(&self) -> u32 {
        1
    }

    fn format(&self) -> PacketFormat {
        self.format
    }

    fn offers(&self) -> Offers {
        let lock_step = self.worms.replication == Replication::LockStep;
        Offers {
            virtual_channels: false,
            input_fifos: false,
            groups: None,
            sets: (self.worms.bits > 0).then(|| SetOffer { format: self.worm_format(), any: true }),
            answers: None,
            barriers: None,
            copies: match lock_step {
                true => Copies::Deadlock { setting: "switch.multicast.replication = \"lock-step\"" },
                false => Copies::Free,
            },
            one_way_links: true,
            rates: true,
            changes: true,
            errors: false,
            faults: false,
            refuses: false,
        }
    }

    fn selection(&self) -> Selection {
        match self.ascent {
            SpAscent::Adaptive => Selection::LeastLoaded,
            SpAscent::Routed => Selection::First,
        }
    }

    fn bytes_per_port(&self, _: &Fabric) -> [u64; 2] {
        let store = match self.store {
            Store::Central(central) => 24 * u64::from(central.chunks) / u64::from(self.ports),
            Store::Input(_) => 0,
        };
        [super::switch::bytes_per_port() as u64 + store, size_of::<super::Port>() as u64]
    }

    fn waits(&self) -> Waits {
        let [output, link] = if self.store.is_input() {
            ["output kept by another packet (lock step)", "output taken by others (in the input buffer)"]
        } else {
            [
                "way into the central buffer (write port, room)",
                "output taken by others (in the central buffer)",
            ]
        };
        Waits { output: Some(output), link: Some(link), credits_at_link: true }
    }

    fn costs(&self) -> Vec<Cost> {
        self.parts()
    }

    fn through_cycles(&self) -> u32 {
        self.pipeline.depth()
    }

    fn zero_load_cycles(&self, hops: u32, payload_bytes: u32) -> u64 {
        // Nothing is decided before the whole header is there.
        let flits = self.format.packet_flits(payload_bytes);
        let header = self.format.header_flits.max(1).min(flits) - 1;
        let stages = u64::from(hops) * u64::from(self.pipeline.depth() + header);
        u64::from(self.pipeline.transmit) + stages + u64::from(flits)
    }

    /// Where a switch copies a worm to more outputs than a chunk has flits, they wait for each other at the ports of the store,
    /// and it takes longer.
    fn zero_load_worm(
        &self,
        fabric: &Fabric,
        source: NodeId,
        set: &NodeSet,
        payload_bytes: u32,
    ) -> Option<Vec<(NodeId, u64, u32)>> {
        self.offers().sets?;
        let (reach, topology) = (Reach::new(&fabric.routing)?, fabric.topology());
        let cycles_of = |link: LinkId| u64::from(fabric.latencies[link.index()]);
        let transmit = u64::from(self.pipeline.transmit);
        let flits = self.worm_flits(payload_bytes);
        let cycle = transmit + cycles_of(topology.node_link(source));
        let mut head = Head { here: topology.home(source).0, cycle, lag: 0, hops: 1 };
        for _ in 0..reach.climb(topology, source, set) {
            let up = ports(reach.up(head.here)).next()?;
            let (link, End::Switch(here, _)) = topology.wire(head.here, up)? else { return None };
            let (cycle, lag) = self.after(flits, 1, 0, head.lag);
            head = Head { here, cycle: head.cycle + cycle + cycles_of(link), lag, hops: head.hops + 1 };
        }
        let (mut copies, mut to_do) = (Vec::new(), vec![head]);
        while let Some(head) = to_do.pop() {
            let outputs = reach.outputs(head.here, set);
            for (place, port) in (0..).zip(ports(outputs)) {
                let (cycle, lag) = self.after(flits, outputs.count_ones(), place, head.lag);
                let (link, end) = topology.wire(head.here, port)?;
                let cycle = head.cycle + cycle + cycles_of(link);
                match end {
                    End::Switch(here, _) => to_do.push(Head { here, cycle, lag, hops: head.hops + 1 }),
                    End::Node(node) => copies.push((node, cycle + u64::from(flits) + lag, head.hops)),
                }
            }
        }
        copies.sort_unstable();
        Some(copies)
    }

    /// Each flit takes a credit: one for each cycle until it comes back. The links into nodes need none.
    fn headroom(&self, longest: Longest) -> Headroom {
        let latency = longest.switches.map_or(longest.nodes, |switches| switches.max(longest.nodes));
        let round_trip = self.pipeline.depth() + self.credit + 2 * latency;
        Headroom { latency, round_trip, units_needed: round_trip, units: self.fifo_flits }
    }
}

/// A worm on its way into a switch.
#[derive(Clone, Copy)]
struct Head {
    here: SwitchId,
    /// When its first flit is on the wire.
    cycle: u64,
    /// How much later than without a gap the flits come that follow its first chunk.
    lag: u64,
    hops: u32,
}

impl SpSettings {
    /// Cycles that the first flit of a worm of `flits` takes from wire to wire, at the output in `place` among its `outputs`
    /// in a switch, and the lag of what follows the first chunk, given that with which it comes.
    fn after(&self, flits: u32, outputs: u32, place: u64, lag: u64) -> (u64, u64) {
        let depth = u64::from(self.pipeline.depth());
        // Nothing is decided before the whole header is there, and meanwhile the rest comes closer.
        let header = u64::from(self.bit_string_flits().min(flits)) - 1;
        if outputs == 1 || self.worms.replication == Replication::LockStep {
            return (depth + header, lag.saturating_sub(header));
        }
        let chunk = u64::from(self.chunk_flits);
        let first = chunk.min(u64::from(flits));
        // A chunk comes out of an input FIFO as soon as it is whole; into the central buffer it goes after the decision.
        let header = if self.store.is_input() { header.saturating_sub(first - 1) } else { header };
        let lag = lag.saturating_sub(header);
        // The register is free again when the first chunk has been written for each output.
        let writes = match self.store {
            Store::Central(CentralSettings { next_packet: NextPacket::Shared, .. }) => u64::from(outputs - 1),
            _ => 0,
        };
        let rest = u64::from(flits) - first;
        // A short second chunk is whole before the first one has been sent.
        let lag = if rest == 0 { 0 } else { (lag.max(writes) + rest.min(chunk)).saturating_sub(chunk) };
        (depth + header + first - 1 + place, lag)
    }
}
