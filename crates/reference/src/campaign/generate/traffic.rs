//! What the nodes of a case send.

use super::super::dice::Dice;
use crate::script::ASKS;
use flitway_engine::Cycle;
use flitway_fabric::packet::PacketFormat;
use flitway_fabric::{Flow, FlowKind, PROCESSES_MAX, Packet};
use flitway_wiring::{Destination, GroupId, NodeId, RailId, SetId};

/// Kinds of packets for one node.
const KINDS: [FlowKind; 4] = [FlowKind::Traffic, FlowKind::Message, FlowKind::Barrier, FlowKind::Reply];

/// To whom.
#[derive(Clone, Copy)]
enum Pattern {
    Uniform,
    Hot(u32),
    Shift(u32),
    Own,
    Few(u32),
}

/// How much.
#[derive(Clone, Copy)]
enum Sizes {
    Fixed(u32),
    Upto(u32),
    Either(u32, u32),
}

/// What kind of traffic a case can have.
pub(in super::super) struct Traffic {
    pub(in super::super) nodes: u32,
    pub(in super::super) rails: u32,
    pub(in super::super) format: PacketFormat,
    /// Bytes of the shortest packet.
    pub(in super::super) least: u32,
    pub(in super::super) length: u64,
    /// Hardly any, with long silences between.
    pub(in super::super) sparse: bool,
    pub(in super::super) groups: u32,
}

/// A stretch of time with one kind of traffic.
struct Phase {
    start: u64,
    end: u64,
    pattern: Pattern,
    sizes: Sizes,
    /// Mean cycles between packets of a node.
    gap: u64,
    /// Packets at a time.
    burst: u64,
    /// Whether all packets take one lane.
    one_lane: bool,
    /// Whether packets ask for replies.
    asks: bool,
    /// How many in a hundred packets are for groups.
    multicast: u64,
}

/// Packets for groups are for the sets of the same numbers.
pub(in super::super) fn to_sets(scripts: &mut [Vec<Packet>], sets: &[Vec<NodeId>]) {
    for packet in scripts.iter_mut().flatten() {
        if let Destination::Group(group, _) = packet.destination {
            let nodes = sets[group.index()].len() as u32;
            packet.destination = Destination::Nodes(SetId { set: group.0, nodes });
        }
    }
}

impl Traffic {
    pub(in super::super) fn scripts(&self, dice: &mut Dice) -> Vec<Vec<Packet>> {
        let phases = dice.pick(&[1, 1, 2, 3]);
        let mut scripts = vec![Vec::new(); self.nodes as usize];
        let mut start = dice.pick(&[0, 0, 1, 7]);
        for _ in 0..phases {
            // Phases take half the time; the rest is for idling and draining.
            let end = start + 1 + dice.below(self.length / phases);
            let phase = self.phase(dice, start, end);
            for (node, script) in scripts.iter_mut().enumerate() {
                self.fill(dice, &phase, node as u32, script);
            }
            start = end + if dice.one_in(2) { dice.below(self.length) } else { dice.below(30) };
        }
        scripts
    }

    fn phase(&self, dice: &mut Dice, start: u64, end: u64) -> Phase {
        let node = dice.between(0, self.nodes - 1);
        let pattern = dice.pick(&[
            Pattern::Uniform,
            Pattern::Uniform,
            Pattern::Hot(node),
            Pattern::Shift(node),
            Pattern::Own,
            Pattern::Few(node),
        ]);
        let mtu = self.format.mtu_bytes;
        let one = dice.scaled(1, mtu.max(2)).clamp(self.least, mtu);
        let flit = self.format.flit_bytes.clamp(self.least, mtu);
        let sizes = dice.pick(&[
            Sizes::Fixed(flit),
            Sizes::Fixed(mtu),
            Sizes::Fixed(one),
            Sizes::Upto(mtu),
            Sizes::Upto(mtu),
            Sizes::Upto(one),
            Sizes::Either(flit, mtu),
            Sizes::Either(one, mtu),
        ]);
        let sizes = if self.sparse { Sizes::Fixed(flit) } else { sizes };
        let mean = match sizes {
            Sizes::Fixed(size) => size,
            Sizes::Upto(size) => (self.least + size).div_ceil(2),
            Sizes::Either(a, b) => (a + b).div_ceil(2),
        };
        let burst = dice.pick(&[1, 1, 1, 2, 5]);
        let flits = u64::from(self.format.packet_flits(mean)) * burst;
        let percents: &[u64] =
            if self.sparse { &[2, 5, 10, 20] } else { &[2, 20, 40, 60, 80, 95, 100, 150, 300] };
        let percent = dice.pick(percents);
        let multicast = if self.groups == 0 { 0 } else { dice.pick(&[2, 10, 30, 100]) };
        // A packet for a group is about half as many as there are nodes.
        let copies = 100 + multicast * u64::from(self.nodes) / 2;
        Phase {
            start,
            end,
            pattern,
            sizes,
            gap: (flits * copies / percent).max(1),
            burst,
            one_lane: !self.sparse && dice.one_in(4),
            asks: dice.one_in(3),
            multicast,
        }
    }

    fn fill(&self, dice: &mut Dice, phase: &Phase, node: u32, script: &mut Vec<Packet>) {
        let mut at = phase.start + dice.below(phase.gap);
        while at < phase.end {
            for _ in 0..phase.burst {
                let packet = self.packet(dice, phase, node, at, script.len());
                script.push(packet);
            }
            at += dice.below(2 * phase.gap + 1);
        }
    }

    fn packet(&self, dice: &mut Dice, phase: &Phase, node: u32, at: u64, tag: usize) -> Packet {
        let anyone = dice.between(0, self.nodes - 1);
        let destination = match phase.pattern {
            Pattern::Uniform => anyone,
            Pattern::Hot(hot) => {
                if dice.one_in(8) {
                    anyone
                } else {
                    hot
                }
            }
            Pattern::Shift(by) => (node + by) % self.nodes,
            Pattern::Own => {
                if dice.one_in(4) {
                    anyone
                } else {
                    node
                }
            }
            Pattern::Few(first) => (first + anyone % 2) % self.nodes,
        };
        let payload = match phase.sizes {
            Sizes::Fixed(size) => size,
            Sizes::Upto(size) => dice.between(self.least, size),
            Sizes::Either(a, b) => {
                if dice.one_in(2) {
                    a
                } else {
                    b
                }
            }
        };
        let destination = if dice.below(100) < phase.multicast {
            Destination::Group(GroupId(dice.between(0, self.groups - 1)), dice.bits() as u32)
        } else {
            Destination::Node(NodeId(destination))
        };
        let is_single = matches!(destination, Destination::Node(_));
        Packet {
            destination,
            rail: RailId(dice.between(0, self.rails - 1)),
            lane: if phase.one_lane { 0 } else { dice.bits() as u32 },
            payload: payload as u16,
            created: Cycle(at),
            // Of many kinds and all processes: they have to come back as they were.
            flow: Flow::new(
                if is_single { KINDS[tag % KINDS.len()] } else { FlowKind::Multicast },
                tag as u64 | if phase.asks { ASKS } else { 0 },
            )
            .of_process((tag % usize::from(PROCESSES_MAX)) as u8),
        }
    }
}
