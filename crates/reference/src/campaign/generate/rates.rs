//! The channels that carry less than a flit a cycle, and those whose rates change.

use super::super::case::{Changed, Slow};
use super::super::dice::Dice;
use flitway_engine::Cycle;
use flitway_wiring::RailId;
use flitway_wiring::topology::Topology;

/// What a channel that is not of full rate carries: flits, and cycles.
const RATES: [(u32, u32); 8] = [(1, 2), (4, 5), (7, 8), (5, 8), (2, 3), (1, 3), (3, 7), (1, 5)];

/// The channels whose rates change, if any do, and how many cycles a flit takes at most: each stops or is slow for a while,
/// time and again, and one in a few stays so.
pub(in super::super) fn changes(
    dice: &mut Dice,
    topology: &Topology,
    rails: u32,
    length: u64,
) -> (Vec<Changed>, u64) {
    let (mut changes, mut slowness) = (Vec::new(), 1);
    if !dice.one_in(3) {
        return (changes, slowness);
    }
    let few = dice.pick(&[1, 2, 8]);
    for sender in topology.links().iter().flat_map(|link| link.ends) {
        if !dice.one_in(few) {
            continue;
        }
        let rail = RailId(dice.below(rails.into()) as u32);
        let mut at = dice.below(length);
        for _ in 0..dice.between(1, 4) {
            let (flits, cycles) = if dice.one_in(3) { (0, 1) } else { dice.pick(&RATES) };
            changes.push(Changed { at: Cycle(at), rail, sender, flits, cycles });
            at += 1 + u64::from(dice.scaled(0, 400));
        }
        if dice.one_in(6) {
            slowness = slowness.max(5);
        } else {
            changes.push(Changed { at: Cycle(at), rail, sender, flits: 1, cycles: 1 });
        }
    }
    (changes, slowness)
}

/// The channels that carry less than a flit a cycle, if any do, and how many cycles a flit takes at most.
pub(in super::super) fn rates(dice: &mut Dice, topology: &Topology) -> (Vec<Slow>, u64) {
    let (mut rates, mut slowness) = (Vec::new(), 1);
    if !dice.one_in(3) {
        return (rates, slowness);
    }
    let few = dice.pick(&[1, 2, 8]);
    for sender in topology.links().iter().flat_map(|link| link.ends) {
        if !dice.one_in(few) {
            continue;
        }
        let (flits, cycles) = dice.pick(&RATES);
        rates.push(Slow { sender, flits, cycles });
        slowness = slowness.max(u64::from(cycles.div_ceil(flits)));
    }
    (rates, slowness)
}
