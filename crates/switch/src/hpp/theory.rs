//! What the HPP Switch says of itself, and its closed forms.
//!
//! The headroom is for one virtual channel that has the link to itself, while nothing goes the other way and nothing stands
//! in the way behind the receiver: a packet of `n` flits is granted every `n` cycles. Less than that leaves the link idle
//! between packets. Adverts that wait behind packets on the reverse channel need up to a packet more.

use super::credit_schedule::CreditSchedules;
use super::timing::Timing;
use super::{BarrierSettings, Gathering, HppSettings, batched, nic, switch};
use flitway_fabric::barrier::Root;
use flitway_fabric::chip::{BarrierOffer, Chip, Copies, Offers, Waits};
use flitway_fabric::headroom::{Headroom, Longest};
use flitway_fabric::{BarrierId, Fabric, PacketFormat};
use flitway_wiring::routing::Selection;
use flitway_wiring::topology::{End, LinkId};
use flitway_wiring::{GroupId, NodeId, PortId};

impl Chip for HppSettings {
    fn ports(&self) -> u32 {
        self.ports
    }

    fn vcs(&self) -> u32 {
        self.vcs
    }

    fn format(&self) -> PacketFormat {
        self.format
    }

    fn offers(&self) -> Offers {
        let one_by_one = self.multicast.gathering == Gathering::OneByOne;
        Offers {
            virtual_channels: true,
            input_fifos: true,
            groups: Some(self.multicast.groups),
            sets: None,
            answers: None,
            barriers: Some(BarrierOffer {
                groups: self.barrier.groups,
                shares_with_groups: !self.barrier.dedicated && self.multicast.vc == 0,
            }),
            copies: match one_by_one {
                true => Copies::Deadlock { setting: "switch.multicast.gathering = \"one-by-one\"" },
                false => Copies::Free,
            },
            one_way_links: false,
            rates: false,
            changes: false,
            errors: false,
            faults: false,
            refuses: false,
        }
    }

    fn selection(&self) -> Selection {
        self.selection
    }

    fn bytes_per_port(&self, fabric: &Fabric) -> [u64; 2] {
        let (vcs, ports) = (self.vcs as usize, self.ports as usize);
        let timing = Timing::new(self, fabric);
        let bytes = if timing.is_batched {
            batched::bytes_per_port(vcs, ports)
        } else {
            [switch::bytes_per_port(vcs, ports), nic::bytes_per_port(vcs)]
        };
        let posted = if timing.posts { vcs * CreditSchedules::bytes() } else { 0 };
        bytes.map(|bytes| (bytes + posted) as u64)
    }

    fn waits(&self) -> Waits {
        Waits { output: None, link: None, credits_at_link: false }
    }

    fn through_cycles(&self) -> u32 {
        self.pipeline.depth() - u32::from(self.show_ahead)
    }

    fn zero_load_cycles(&self, hops: u32, payload_bytes: u32) -> u64 {
        let nic = self.pipeline.transmit - u32::from(self.show_ahead);
        let switches = u64::from(hops) * u64::from(self.through_cycles());
        u64::from(nic) + switches + u64::from(self.format.packet_flits(payload_bytes))
    }

    /// A lookup longer in every switch in which the way up is behind it.
    fn zero_load_copies(
        &self,
        fabric: &Fabric,
        source: NodeId,
        group: GroupId,
        root: u32,
        payload_bytes: u32,
    ) -> Option<Vec<(NodeId, u64)>> {
        let topology = fabric.topology();
        let cycles_of = |link: LinkId| u64::from(fabric.latencies[link.index()]);
        let (mut here, mut arrival) = fabric.routing.start(source);
        let (mut links, mut hops) = (cycles_of(topology.node_link(source)), 0);
        let mut way = fabric.groups.way_up(source, group, root);
        while !way.has_arrived() {
            let Some((link, End::Switch(next, port))) = topology.wire(here, way.hop().port) else { break };
            (here, arrival.port, way) = (next, port, way.rest());
            (links, hops) = (links + cycles_of(link), hops + 1);
        }
        let mut copies = Vec::new();
        let mut to_do = vec![(here, arrival.port, links, hops)];
        while let Some((here, port, cycles, hops)) = to_do.pop() {
            let outputs = fabric.groups.outputs(here, group, port);
            let cycles = cycles + u64::from(self.multicast.lookup);
            for output in (0..u64::BITS).filter(|output| outputs >> output & 1 == 1) {
                match topology.wire(here, PortId(output)) {
                    Some((link, End::Switch(next, port))) => {
                        to_do.push((next, port, cycles + cycles_of(link), hops + 1));
                    }
                    Some((link, End::Node(node))) => {
                        let rest = self.zero_load_cycles(hops + 1, payload_bytes);
                        copies.push((node, cycles + cycles_of(link) + rest));
                    }
                    None => {}
                }
            }
        }
        copies.sort_unstable();
        Some(copies)
    }

    fn zero_load_barrier_cycles(
        &self,
        fabric: &Fabric,
        group: BarrierId,
        last: NodeId,
        member: NodeId,
    ) -> Option<u64> {
        let (up, down) = (barrier_path(fabric, group, last), barrier_path(fabric, group, member));
        let cables: u64 = up.iter().chain(&down).map(|link| u64::from(fabric.latencies[link.index()])).sum();
        let flits = u64::from(BarrierSettings::PACKET_FLITS);
        let start = u64::from(self.pipeline.transmit - u32::from(self.show_ahead));
        // Between two links there is a switch.
        let passes = |links: usize| (links - 1) as u64 * self.barrier_pass_cycles();
        let root = match fabric.barriers.root(group) {
            Root::Node(root) => root,
            Root::Switch(_) => return Some(start + cables + passes(up.len() + down.len()) + flits),
        };
        let ways = match (last == root, member == root) {
            // Nobody else is asked.
            (true, true) => 1,
            (true, false) => start + passes(down.len()) + flits,
            (false, true) => start + passes(up.len()) + flits,
            (false, false) => 2 * (start + flits) + passes(up.len()) + passes(down.len()),
        };
        Some(cables + ways)
    }

    fn headroom(&self, longest: Longest) -> Headroom {
        self.headroom_of(longest, self.format.mtu_bytes)
    }

    /// An advert for each credit unit. Of long packets it sends fewer, since what has left meanwhile shares one.
    fn credit_share(&self, payload: f64, flits: f64) -> f64 {
        let units = payload / f64::from(self.format.flit_bytes) / f64::from(self.unit_flits);
        f64::from(self.advert.flits) * units.max(1.0) / flits.max(1.0)
    }

    fn repeat_share(&self) -> f64 {
        let round = f64::from(self.vcs * self.advert.flits);
        self.advert.refresh.map_or(0.0, |refresh| round / f64::from(refresh))
    }
}

/// The links from `node` to the root of `group`; none if the node is the root.
fn barrier_path(fabric: &Fabric, group: BarrierId, node: NodeId) -> Vec<LinkId> {
    let topology = fabric.topology();
    if fabric.barriers.root(group) == Root::Node(node) {
        return Vec::new();
    }
    let mut links = vec![topology.node_link(node)];
    let mut switch = topology.home(node).0;
    let parent = |switch| fabric.barriers.place(fabric.barriers.rail(group), switch, group)?.parent();
    while let Some(port) = parent(switch)
        && let Some((link, end)) = topology.wire(switch, port)
    {
        links.push(link);
        let End::Switch(next, _) = end else { break };
        switch = next;
    }
    links
}

/// The two ends of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// From a node to a switch.
    IntoSwitch,
    /// From a switch to a node.
    IntoNode,
    /// Between two switches.
    Switches,
}

impl HppSettings {
    /// Of a channel between `ends` whose link takes `latency` cycles, for packets of `payload_bytes`.
    #[must_use]
    pub fn headroom_between(&self, ends: Ends, latency: u32, payload_bytes: u32) -> Headroom {
        let (pipeline, format) = (&self.pipeline, &self.format);
        // From the grant to the first flit on the wire. A NIC grants when its link decides. A link that is idle for the one
        // cycle that show-ahead saves carries flits without a gap all the same.
        let transmit = pipeline.transmit - u32::from(self.show_ahead);
        let send = match ends {
            Ends::IntoSwitch => transmit,
            Ends::IntoNode | Ends::Switches => 1 + pipeline.transmit_buffer + transmit,
        };
        // From the wire of the receiver until the flit leaves its buffer.
        let receive = match ends {
            Ends::IntoNode => pipeline.receive,
            Ends::IntoSwitch | Ends::Switches => pipeline.receive + pipeline.queue + pipeline.route,
        };
        // From there to the sender's new limit: the reverse channel is idle, so that a start flit goes ahead.
        let ahead = u32::from(self.show_ahead && self.advert.flits > 0);
        let last_flit = self.advert.flits.max(1) - 1;
        let back = 1 + pipeline.transmit - ahead + last_flit + latency + pipeline.receive;
        let flits = format.packet_flits(payload_bytes);
        let taken = format.payload_flits(payload_bytes).div_ceil(self.unit_flits).max(1);
        // The last unit of a packet is complete with its last flit.
        let complete = |unit: u32| {
            let full = format.header_flits + self.unit_flits * (unit + 1) - 1;
            if unit + 1 == taken { flits - 1 } else { full }
        };
        let returns = |unit: u32| send + latency + receive + complete(unit) + back;
        // Whoever is granted finds out the units of each packet before that have not come back: of the one before, those
        // that take more than the time of one packet, of the one before that, of two.
        let still_out = |unit: u32| (returns(unit) - 1) / flits;
        Headroom {
            latency,
            round_trip: returns(0),
            units_needed: taken + (0..taken).map(still_out).sum::<u32>(),
            units: self.buffer_units,
        }
    }

    /// Of the channel that needs most, where these are the longest links.
    #[must_use]
    pub fn headroom_of(&self, longest: Longest, payload_bytes: u32) -> Headroom {
        let of = |ends, latency| self.headroom_between(ends, latency, payload_bytes);
        let nodes = [Ends::IntoSwitch, Ends::IntoNode].map(|ends| of(ends, longest.nodes));
        let switches = longest.switches.map(|latency| of(Ends::Switches, latency));
        let worse = |one: Headroom, other: Headroom| {
            let need = |headroom: Headroom| (headroom.units_needed, headroom.round_trip);
            if need(other) > need(one) { other } else { one }
        };
        nodes.into_iter().chain(switches).fold(nodes[0], worse)
    }

    /// Cycles from the first flit of a barrier packet that comes into a switch to the first flit of what it leads to, when
    /// nothing is in the way.
    #[must_use]
    pub const fn barrier_pass_cycles(&self) -> u64 {
        let stages = self.pipeline.depth() - self.show_ahead as u32;
        (stages + BarrierSettings::PACKET_FLITS + self.barrier.engine) as u64
    }

    /// Cycles from the combine of a switch or NIC port until its combine-ACK has come back, at the earliest, over the worst of
    /// these links: when the retransmission timer expires before, each combine is sent twice.
    #[must_use]
    pub fn barrier_answer_cycles(&self, longest: Longest) -> u32 {
        let pass = self.barrier_pass_cycles() as u32;
        let transmit = self.pipeline.transmit - u32::from(self.show_ahead);
        let node = transmit + pass + BarrierSettings::PACKET_FLITS + 2 * longest.nodes;
        longest.switches.map_or(node, |latency| node.max(2 * (pass + latency)))
    }
}
