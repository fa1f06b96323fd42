//! What the Elite4 says of itself, and its closed forms.

use super::settings::{AnswerSettings, EliteSettings, Roots, WhenFull};
use super::{nic, switch};
use flitway_fabric::chip::{Chip, Copies, Offers, SetOffer, Waits};
use flitway_fabric::headroom::{Headroom, Longest};
use flitway_fabric::{Fabric, PacketFormat, Rate};
use flitway_wiring::reach::{ports, ports_up};
use flitway_wiring::routing::Selection;
use flitway_wiring::topology::{End, LinkId};
use flitway_wiring::{NodeId, NodeSet, SwitchId};

impl Chip for EliteSettings {
    fn ports(&self) -> u32 {
        self.ports
    }

    fn vcs(&self) -> u32 {
        self.vcs
    }

    fn link_rate(&self) -> Rate {
        self.rate()
    }

    fn format(&self) -> PacketFormat {
        self.format
    }

    fn offers(&self) -> Offers {
        Offers {
            virtual_channels: true,
            input_fifos: false,
            groups: None,
            sets: self.answer.map(|_| SetOffer { format: self.format, any: false }),
            answers: self.answer.map(|answer| answer.repeats()),
            barriers: None,
            copies: match self.roots {
                Roots::Any => Copies::Deadlock { setting: "switch.broadcast.roots = \"any\"" },
                Roots::One => Copies::FreeBy {
                    setting: "switch.broadcast.roots = \"one\"",
                    why: "broadcasts go over one tree, each link of which lets one after the other down",
                },
            },
            one_way_links: false,
            rates: true,
            changes: true,
            errors: self.answer.is_some(),
            faults: self.answer.is_some() && self.ports < u64::BITS,
            refuses: self.answer.is_some_and(|answer| answer.when_full == WhenFull::Refuse),
        }
    }

    fn selection(&self) -> Selection {
        self.selection
    }

    fn bytes_per_port(&self, _: &Fabric) -> [u64; 2] {
        let vcs = self.vcs as usize;
        [switch::bytes_per_port(vcs), nic::bytes_per_port(vcs)].map(|bytes| bytes as u64)
    }

    fn waits(&self) -> Waits {
        Waits {
            output: Some("virtual channels of the outputs taken by others"),
            link: Some("link taken by other virtual channels, or no credits"),
            credits_at_link: true,
        }
    }

    fn through_cycles(&self) -> u32 {
        self.pipeline.depth()
    }

    /// On channels of less than a flit a cycle a link may wait for its slot, of which nothing is counted.
    fn zero_load_cycles(&self, hops: u32, payload_bytes: u32) -> u64 {
        let stages = u64::from(hops) * u64::from(self.pipeline.depth());
        let (flits, cycles) = self.rate().ratio();
        let rest = u64::from(self.format.packet_flits(payload_bytes) - 1);
        let rest = (rest * u64::from(cycles)).div_ceil(u64::from(flits));
        u64::from(self.pipeline.transmit) + stages + rest + 1
    }

    /// Each copy takes as long as a packet for its node alone on the same way.
    fn zero_load_worm(
        &self,
        fabric: &Fabric,
        source: NodeId,
        set: &NodeSet,
        payload_bytes: u32,
    ) -> Option<Vec<(NodeId, u64, u32)>> {
        self.answer?;
        let latency = |copy: &Copy| copy.links + self.zero_load_cycles(copy.hops, payload_bytes);
        let mut copies: Vec<_> =
            copies(fabric, source, set)?.iter().map(|copy| (copy.node, latency(copy), copy.hops)).collect();
        copies.sort_unstable();
        Some(copies)
    }

    /// The last answer to come back: over the same links, and the switches in between.
    fn zero_load_answer(
        &self,
        fabric: &Fabric,
        source: NodeId,
        set: &NodeSet,
        payload_bytes: u32,
    ) -> Option<u64> {
        let AnswerSettings { node, switch, .. } = self.answer?;
        let there_and_back = |copy: &Copy| {
            let back = u64::from(node) + u64::from(copy.hops) * u64::from(switch) + copy.links;
            copy.links + self.zero_load_cycles(copy.hops, payload_bytes) + back
        };
        copies(fabric, source, set)?.iter().map(there_and_back).max()
    }

    /// Where paths are held, packets wait for virtual channels, of which each is held until an answer has come back.
    fn packet_interval(&self, fabric: &Fabric, to: NodeId, payload_bytes: u32) -> u64 {
        let sent = self.packet_cycles(payload_bytes);
        let Some(answer) = self.answer else { return sent };
        let link = fabric.latencies[fabric.topology().node_link(to).index()];
        let held = sent + u64::from(self.pipeline.transmit + answer.node + 2 * link);
        sent.max(held.div_ceil(self.vcs.into()))
    }

    /// From a flit that is sent to its credit: over the link, through the buffer, and back.
    fn headroom(&self, longest: Longest) -> Headroom {
        let latency = longest.switches.map_or(longest.nodes, |switches| switches.max(longest.nodes));
        let round_trip = self.pipeline.transmit + self.pipeline.ready() + self.credit + 2 * latency;
        Headroom { latency, round_trip, units_needed: round_trip, units: self.buffer_flits }
    }
}

/// A copy of a broadcast.
#[derive(Clone, Copy)]
struct Copy {
    node: NodeId,
    /// Cycles of the links that it crosses, and switches.
    links: u64,
    hops: u32,
}

/// The copies of a broadcast of `source` for `set` in a tree, all of whose nodes are as deep.
fn copies(fabric: &Fabric, source: NodeId, set: &NodeSet) -> Option<Vec<Copy>> {
    let (topology, up) = (fabric.topology(), ports_up(&fabric.routing)?);
    let cycles_of = |link: LinkId| u64::from(fabric.latencies[link.index()]);
    // The switches above a node by the first ports up, with the links to each.
    let way_up = |node: NodeId| {
        let mut way: Vec<(SwitchId, u64)> =
            vec![(topology.home(node).0, cycles_of(topology.node_link(node)))];
        while let Some(&(here, links)) = way.last()
            && let Some(port) = ports(up[here.index()]).next()
            && let Some((link, End::Switch(next, _))) = topology.wire(here, port)
        {
            way.push((next, links + cycles_of(link)));
        }
        way
    };
    let from = way_up(source);
    let to: Vec<(NodeId, Vec<(SwitchId, u64)>)> = set.iter().map(|node| (node, way_up(node))).collect();
    let is_root = |level: &usize| {
        let here = from[*level].0;
        to.iter().all(|(_, way)| way.get(*level).is_some_and(|(switch, _)| *switch == here))
    };
    let level = (0..from.len()).find(is_root)?;
    let copy = |(node, way): &(NodeId, Vec<(SwitchId, u64)>)| Copy {
        node: *node,
        links: from[level].1 + way[level].1,
        hops: 2 * level as u32 + 1,
    };
    Some(to.iter().map(copy).collect())
}
