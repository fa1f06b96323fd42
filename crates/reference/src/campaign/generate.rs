//! A case from a seed.
//!
//! Every quantity is drawn so that its corners come up often: the smallest and the largest, one more and one less. The
//! length of the run is what is left of a budget of reference work after the size of the fabric. What a switch has of its own
//! is drawn beside it, in [`chip`](super::chip).

pub(super) mod barriers;
pub(super) mod broken;
pub(super) mod errors;
pub(super) mod rates;
pub(super) mod topology;
pub(super) mod traffic;

use super::case::Case;
use super::chip::GENERATORS;
use super::dice::Dice;
use flitway_engine::Cycle;
use flitway_test_kit::test_nic::TestNicSettings;
use flitway_wiring::NodeId;
use flitway_wiring::topology::Topology;

/// FIFO-cycles of the reference that the traffic of a case may take; one case in sixteen is eight times as large.
pub(super) const BUDGET: u64 = 40_000;

/// The case of `seed`, of each switch as often as the table of switches says.
///
/// # Panics
/// If a generated description is not valid: a bug of the generator.
#[must_use]
pub fn generate(seed: u64) -> Case {
    let all: u64 = GENERATORS.iter().map(|(share, _)| share).sum();
    let mut place = seed % all;
    for (share, case) in GENERATORS {
        if place < *share {
            return case(seed);
        }
        place -= share;
    }
    unreachable!("a place below the sum of shares is in one of them")
}

/// Cycles of traffic, of a case that has so many FIFOs.
pub(super) fn length(budget: u64, fifos: u64, latencies: &[u32]) -> u64 {
    let longest = u64::from(latencies.iter().copied().max().unwrap_or(1));
    (budget / (fifos + 8)).clamp(200, 6_000) + 2 * longest
}

/// Threads of the fast engine: mostly one.
pub(super) fn threads(dice: &mut Dice) -> u32 {
    dice.pick(&[1, 1, 1, 1, 1, 1, 1, 1, 2, 3])
}

/// NICs on bounded NIC ports, in one case of four.
pub(super) fn test_nics(seed: u64) -> Option<TestNicSettings> {
    let mut dice = Dice::new(seed, 3);
    dice.one_in(4).then(|| TestNicSettings {
        window: dice.pick(&[1, 1, 2, 5, 1_000]),
        room: dice.pick(&[1, 1, 2, 4, 100]),
        gap: dice.pick(&[1, 5, 30, 100, 300]),
    })
}

/// NICs on bounded NIC ports which are soon full.
pub(super) fn slow_test_nics(dice: &mut Dice) -> TestNicSettings {
    TestNicSettings {
        window: dice.pick(&[2, 5, 1_000]),
        room: dice.pick(&[1, 1, 2]),
        gap: dice.pick(&[30, 100, 300]),
    }
}

/// Half the time none, else up to five, or very many; now and then in the same window or in the same cycle.
pub(super) fn pauses(dice: &mut Dice, length: u64, are_many: bool) -> Vec<Cycle> {
    let count = if dice.one_in(2) { 0 } else { dice.between(1, 5) };
    let count = if are_many { 100 } else { count };
    let reach = dice.pick(&[length, length, 40]);
    let first = dice.below(length);
    let mut pauses: Vec<Cycle> = (0..count).map(|_| Cycle(first + dice.below(reach))).collect();
    pauses.sort_unstable();
    pauses
}

/// Some of the nodes, one of them, or all.
pub(super) fn members(dice: &mut Dice, topology: &Topology) -> Vec<NodeId> {
    let wanted = dice.corner(1, topology.nodes());
    let mut members: Vec<NodeId> = (0..topology.nodes()).map(NodeId).collect();
    while members.len() > wanted as usize {
        members.swap_remove(dice.below(members.len() as u64) as usize);
    }
    members
}

pub(super) fn latencies(dice: &mut Dice, links: usize) -> Vec<u32> {
    let longest = dice.scaled(1, 200);
    match dice.below(3) {
        0 => vec![longest; links],
        1 => (0..links).map(|_| dice.between(1, longest)).collect(),
        _ => (0..links).map(|_| if dice.one_in(4) { longest } else { 1 }).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::{Choice, Data, Tree};
    use super::*;
    use flitway_fabric::barrier::{DunStart, PacketKind, Root};
    use flitway_fabric::{LaneChoice, ReplyLanes};
    use flitway_switch::SwitchSettings;
    use flitway_switch::hpp::Gathering;
    use flitway_switch::sp::{NextPacket, Organisation, Replication, SpAscent, Store};
    use flitway_switch::tiled::{Arbitration, LaneOut};
    use flitway_wiring::multicast::Ascent;
    use flitway_wiring::routing::{RoutingKind, Selection};
    use flitway_wiring::topology::{Arrangement, TopologySettings};
    use std::collections::BTreeSet;

    fn cases() -> Vec<Case> {
        (0..3_600).map(generate).collect()
    }

    /// How many of the cases of a CI run have switches of that name and, as `of` tells, something of each name.
    fn counts<T: Choice>(of: impl Fn(&Case) -> &T) -> impl Fn(&str, &str) -> usize {
        let name = |tree: Tree| tree.name().to_owned();
        let names: Vec<_> =
            cases().iter().map(|case| (name(case.chip.write()), name(of(case).write()))).collect();
        move |chip, what| names.iter().filter(|it| it.0 == chip && it.1 == what).count()
    }

    /// What is chosen among is drawn, all of it, and here stand the fields in which it is.
    #[test]
    fn random_cases_take_every_choice() {
        let mut drawn = BTreeSet::new();
        for case in cases() {
            // Of packets there are too many, and nothing is chosen there.
            let case = Case { scripts: Vec::new(), ..case };
            case.write().visit("", &mut |field, name| _ = drawn.insert((field.to_owned(), name.to_owned())));
        }
        let arbiters = Arbitration::ALL.map(Arbitration::name);
        let choices: [(&str, &[&str]); 16] = [
            ("arbiter", &arbiters),
            ("gathering", Gathering::NAMES),
            ("dun_start", DunStart::NAMES),
            ("lanes", LaneChoice::NAMES),
            ("reply_lanes", ReplyLanes::NAMES),
            ("store", Store::NAMES),
            ("store", Organisation::NAMES),
            ("next_packet", NextPacket::NAMES),
            ("replication", Replication::NAMES),
            ("ascent", SpAscent::NAMES),
            ("ascent", Ascent::NAMES),
            ("selection", Selection::NAMES),
            ("lane", LaneOut::NAMES),
            ("arrangement", Arrangement::NAMES),
            ("root", Root::NAMES),
            ("kind", PacketKind::NAMES),
        ];
        for (field, names) in choices {
            for name in names {
                assert!(
                    drawn.contains(&(field.to_string(), name.to_string())),
                    "no case has {field}: {name}"
                );
            }
        }
    }

    /// Whoever adds a topology has to say how one is drawn.
    #[test]
    fn random_cases_take_every_topology_on_every_switch() {
        let count = counts(|case| &case.topology);
        for chip in SwitchSettings::NAMES {
            for topology in TopologySettings::NAMES {
                // Channels of the other switches go both ways.
                let is_none = *chip != "Sp" && *topology == "Stages";
                let count = count(chip, topology);
                assert!(if is_none { count == 0 } else { count >= 5 }, "{topology} of {chip}: {count}");
            }
        }
    }

    /// No routing is left to be tried by its own tests alone, but those in which packets can wait for each other for ever.
    #[test]
    fn random_cases_take_every_routing_on_every_switch() {
        let count = counts(|case| &case.routing);
        for chip in SwitchSettings::NAMES {
            for routing in RoutingKind::NAMES {
                let is_none = match *routing {
                    "DimensionOrderWithoutDateline" | "MinimalInOneClass" => true,
                    // Sources draw among several ways, or several classes are needed.
                    "MultiPath" | "Valiant" | "Adaptive" | "Ugal" | "UgalG" | "Par" => *chip == "Sp",
                    "DestinationTag" => *chip != "Sp",
                    _ => false,
                };
                let count = count(chip, routing);
                assert!(if is_none { count == 0 } else { count >= 5 }, "{routing} of {chip}: {count}");
            }
        }
    }
}
