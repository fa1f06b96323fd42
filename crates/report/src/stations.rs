//! What a barrier takes in one switch, from pin to pin.
//!
//! T_combine and T_distribute of hpp-switch.txt section 3.3 are of one switch, a single stage of the tree. Which flits it means
//! is open (OQ-H8), so both readings are counted: from the first and from the last combine, to the last distribute and in
//! the mean over them. A packet is where its first flit is on the wire of the switch. Retransmissions count as they come:
//! the first combine of a child that is noted, the first to the parent, the first distribute to each child.

use crate::tally::Tally;
use flitway_engine::Cycle;
use flitway_fabric::BarrierId;
use flitway_fabric::barrier::{PacketKind, Sequence};
use flitway_fabric::observer::{BarrierDeparture, BarrierNote, ComponentNumber};
use std::collections::BTreeMap;

/// Times in one switch.
#[derive(Clone, Debug, Default)]
pub struct Stations {
    /// From the first combine in to the combine out to the parent.
    pub combine_from_first: Tally,
    /// From the last combine in to the combine out.
    pub combine_from_last: Tally,
    /// From the distribute in to the last one out.
    pub distribute_to_last: Tally,
    /// From the distribute in to those out, in the mean over the children.
    pub distribute_to_mean: Tally,
    /// Both of one operation: from the last combine, and to the last distribute.
    pub stage: Tally,
    /// At the root: from the last combine in to the last distribute out.
    pub root: Tally,
}

impl Stations {
    /// Adds what another batch has seen.
    pub fn add(&mut self, other: &Stations) {
        self.combine_from_first.add(&other.combine_from_first);
        self.combine_from_last.add(&other.combine_from_last);
        self.distribute_to_last.add(&other.distribute_to_last);
        self.distribute_to_mean.add(&other.distribute_to_mean);
        self.stage.add(&other.stage);
        self.root.add(&other.root);
    }
}

/// Operations that are on their way through switches. Of a group two can be in one switch, an even and an odd one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transits {
    open: BTreeMap<(ComponentNumber, BarrierId, u8), Transit>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Transit {
    /// Children whose combines are in.
    arrived: u64,
    first_in: Cycle,
    last_in: Cycle,
    /// From the last combine in to the combine out, when that is out.
    combine: Option<u64>,
    /// Whether it is one through the root.
    is_at_root: bool,
    /// Since when distributes go out.
    turned: Cycle,
    /// Children to which none has gone.
    waiting: u64,
    /// Those that have gone: how many, the sum of their cycles since then, the last.
    out: u64,
    sum: u64,
    last: u64,
}

impl Transits {
    /// A barrier packet has changed what a switch knows.
    pub(crate) fn note(&mut self, note: &BarrierNote) {
        let transit = self.open.entry(key(note.switch, note.group, note.packet.sequence)).or_default();
        let children = note.place.children();
        match note.packet.kind {
            PacketKind::Combine => {
                let is_first = transit.arrived == 0;
                transit.first_in = if is_first { note.arrived } else { transit.first_in.min(note.arrived) };
                transit.last_in = transit.last_in.max(note.arrived);
                transit.arrived |= 1 << note.port.0;
                if note.place.parent().is_none() && transit.arrived == children {
                    (transit.is_at_root, transit.turned) = (true, transit.last_in);
                    transit.waiting = children;
                }
            }
            PacketKind::Distribute => (transit.turned, transit.waiting) = (note.arrived, children),
            PacketKind::CombineAck | PacketKind::DistributeDun => {}
        }
    }

    /// A link has chosen a barrier packet; what has come to an end is counted in `over`.
    pub(crate) fn depart(&mut self, departure: &BarrierDeparture, over: &mut Stations) {
        let key = key(departure.component, departure.group, departure.packet.sequence);
        let Some(transit) = self.open.get_mut(&key) else { return };
        match departure.packet.kind {
            PacketKind::Combine if transit.combine.is_none() => {
                let combine = departure.leaves.since(transit.last_in);
                transit.combine = Some(combine);
                over.combine_from_last.record(combine);
                over.combine_from_first.record(departure.leaves.since(transit.first_in));
            }
            PacketKind::Distribute if transit.waiting >> departure.port.0 & 1 == 1 => {
                transit.waiting &= !(1 << departure.port.0);
                let cycles = departure.leaves.since(transit.turned);
                transit.last = transit.last.max(cycles);
                (transit.out, transit.sum) = (transit.out + 1, transit.sum + cycles);
                if transit.waiting == 0 {
                    transit.close(over);
                    self.open.remove(&key);
                }
            }
            _ => {}
        }
    }
}

impl Transit {
    fn close(&self, over: &mut Stations) {
        if self.is_at_root {
            return over.root.record(self.last);
        }
        over.distribute_to_last.record(self.last);
        over.distribute_to_mean.record_mean(self.sum, self.out);
        if let Some(combine) = self.combine {
            over.stage.record(combine + self.last);
        }
    }
}

fn key(switch: ComponentNumber, group: BarrierId, sequence: Sequence) -> (ComponentNumber, BarrierId, u8) {
    (switch, group, sequence.bit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_fabric::barrier::{Packet, Place};
    use flitway_wiring::PortId;

    const GROUP: BarrierId = BarrierId(3);

    fn note(kind: PacketKind, port: u32, arrived: u64, place: Place) -> BarrierNote {
        let packet = Packet { kind, sequence: Sequence::FIRST };
        let (cycle, arrived) = (Cycle(arrived + 10), Cycle(arrived));
        BarrierNote { cycle, switch: 7, port: PortId(port), group: GROUP, packet, arrived, place }
    }

    fn departure(kind: PacketKind, port: u32, leaves: u64) -> BarrierDeparture {
        let packet = Packet { kind, sequence: Sequence::FIRST };
        let (cycle, leaves) = (Cycle(leaves - 1), Cycle(leaves));
        BarrierDeparture { cycle, component: 7, port: PortId(port), group: GROUP, packet, leaves }
    }

    #[test]
    fn a_stage_is_a_combine_and_a_distribute_from_pin_to_pin() {
        use PacketKind::{Combine, CombineAck, Distribute};
        let place = Place::new(0b111, Some(PortId(9)));
        let (mut transits, mut over) = (Transits::default(), Stations::default());
        for (port, arrived) in [(1, 100), (0, 104), (2, 130)] {
            transits.note(&note(Combine, port, arrived, place));
            transits.depart(&departure(CombineAck, port, arrived + 20), &mut over);
        }
        // Sent twice: the first counts.
        transits.depart(&departure(Combine, 9, 150), &mut over);
        transits.depart(&departure(Combine, 9, 950), &mut over);
        transits.note(&note(CombineAck, 9, 970, place));
        transits.note(&note(Distribute, 9, 1_000, place));
        for (port, leaves) in [(1, 1_020), (1, 1_025), (2, 1_080), (0, 1_020)] {
            transits.depart(&departure(Distribute, port, leaves), &mut over);
        }
        let counted = [
            (&over.combine_from_first, 50.0),
            (&over.combine_from_last, 20.0),
            (&over.distribute_to_last, 80.0),
            (&over.distribute_to_mean, 40.0),
            (&over.stage, 100.0),
        ];
        for (tally, mean) in counted {
            assert!(tally.count == 1 && (tally.mean() - mean).abs() < 1e-9, "{tally:?}: {mean}");
        }
        assert_eq!((over.root.count, transits.open.len()), (0, 0));
    }

    #[test]
    fn at_the_root_it_is_a_turn() {
        let place = Place::new(0b11, None);
        let (mut transits, mut over) = (Transits::default(), Stations::default());
        transits.note(&note(PacketKind::Combine, 1, 100, place));
        transits.note(&note(PacketKind::Combine, 0, 90, place));
        for (port, leaves) in [(0, 120), (1, 126)] {
            transits.depart(&departure(PacketKind::Distribute, port, leaves), &mut over);
        }
        assert_eq!((over.root.count, over.root.max, over.stage.count), (1, 26, 0));
    }
}
