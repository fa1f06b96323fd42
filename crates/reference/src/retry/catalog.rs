//! What is claimed of the protocol, one line a claim. The quick ones are tests; `cargo xtask prove` checks all.

use super::deviation::Deviation;
use super::world::World;
use crate::explore::{Claim, Effort, Expected};

use Deviation::*;
use Effort::{Long, Quick};
use Expected::{SafeAndLive, Stuck, Unsafe};

/// All claims.
#[must_use]
pub fn claims() -> Vec<Claim<World>> {
    [worlds(), trainings(), windows(), answers(), credits(), channels()].concat()
}

fn claim(name: &'static str, effort: Effort, expected: Expected, world: World) -> Claim<World> {
    Claim { name, world, expected, effort }
}

/// Two packets in a window, four numbers, a buffer of two flits.
fn pair(deviations: &'static [Deviation]) -> World {
    World { deviations, ..World::new(2, 2) }
}

fn wide(world: World) -> World {
    World { packets: 3, answers: 3, ..world }
}

fn silent(world: World) -> World {
    World { has_heartbeats: false, ..world }
}

fn lossless(world: World) -> World {
    World { is_lossy: false, ..world }
}

/// With a buffer of so many flits for each VC.
fn buffered(buffer: u8, world: World) -> World {
    World { buffer, count_bits: buffer.ilog2() + 1, ..world }
}

/// The protocol as it is.
fn worlds() -> Vec<Claim<World>> {
    let two = |buffer| World { vcs: 2, ..buffered(buffer, pair(&[])) };
    let new = World::new;
    vec![
        claim("protocol: W = 1, b = 1", Quick, SafeAndLive, new(1, 1)),
        claim("protocol: W = 2, b = 2", Quick, SafeAndLive, new(2, 2)),
        claim("protocol: W = 3, b = 2", Quick, SafeAndLive, new(3, 2)),
        claim("protocol: W = 3, b = 3", Long, SafeAndLive, new(3, 3)),
        claim("protocol: W = 4, b = 3", Long, SafeAndLive, new(4, 3)),
        claim("protocol: W = 2, b = 2, a buffer of 1", Quick, SafeAndLive, buffered(1, pair(&[]))),
        claim("protocol: W = 2, b = 2, a buffer of 3", Quick, SafeAndLive, buffered(3, pair(&[]))),
        claim("protocol: W = 7, b = 3, a buffer of 3", Long, SafeAndLive, buffered(3, new(7, 3))),
        claim("protocol: W = 2, b = 2, 2 VCs with buffers of 1", Quick, SafeAndLive, two(1)),
        claim("protocol: W = 2, b = 2, 2 VCs with buffers of 2", Long, SafeAndLive, two(2)),
        claim("protocol: W = 1, b = 1, channels of 3", Quick, SafeAndLive, wide(new(1, 1))),
        claim("protocol: W = 2, b = 2, channels of 3", Long, SafeAndLive, wide(new(2, 2))),
        claim("protocol: W = 3, b = 2, channels of 3", Long, SafeAndLive, wide(new(3, 2))),
    ]
}

/// The link is trained again at any time (rule 12).
fn trainings() -> Vec<Claim<World>> {
    let trained = |world| World { is_trained_again: true, ..world };
    let with = |deviations| trained(pair(deviations));
    let two = World { vcs: 2, ..buffered(1, pair(&[])) };
    let emptied = with(&[TrainingEmpties]);
    vec![
        claim("training: W = 1, b = 1", Quick, SafeAndLive, trained(World::new(1, 1))),
        claim("training: W = 2, b = 2", Quick, SafeAndLive, with(&[])),
        claim("training: W = 3, b = 2", Long, SafeAndLive, trained(World::new(3, 2))),
        claim("training: W = 2, b = 2, 2 VCs with buffers of 1", Quick, SafeAndLive, trained(two)),
        claim("training: W = 4, b = 3", Long, SafeAndLive, trained(World::new(4, 3))),
        claim("rule 12: training renumbers", Quick, Unsafe(5), with(&[TrainingRenumbers])),
        claim(
            "rule 12: only the receiver is renumbered",
            Quick,
            Unsafe(5),
            with(&[TrainingRenumbersReceiver]),
        ),
        claim("rule 12: training empties the replay buffer", Quick, Unsafe(4), emptied),
        claim("rule 12: training gives all credits", Quick, Unsafe(6), with(&[TrainingRefills])),
    ]
}

/// Windows, and the order in which packets are accepted.
fn windows() -> Vec<Claim<World>> {
    let narrow = |window, bits| World { deviations: &[SequenceTooNarrow], ..World::new(window, bits) };
    let kept = |window| World { deviations: &[OutOfOrderKept], ..World::new(window, 2) };
    vec![
        claim("rule 1: W = 2, b = 1", Quick, Unsafe(7), narrow(2, 1)),
        claim("rule 1: W = 4, b = 2", Quick, Unsafe(11), narrow(4, 2)),
        claim("rule 2: copies out of order are kept, W = 2, b = 2", Quick, SafeAndLive, kept(2)),
        claim("rule 2: copies out of order are kept, W = 3, b = 2", Quick, Unsafe(14), kept(3)),
    ]
}

/// What is answered, and what a sender makes of it.
fn answers() -> Vec<Claim<World>> {
    let unanswered = World { vcs: 0, ..pair(&[DuplicatesUnanswered]) };
    let unheeded = pair(&[NackUnheededInReplay]);
    vec![
        claim("rule 3: no timer", Quick, Stuck(4), pair(&[NoTimer])),
        claim("rule 3: no timer, nothing lost", Quick, SafeAndLive, lossless(pair(&[NoTimer]))),
        claim("rule 4: duplicates are not answered", Quick, SafeAndLive, pair(&[DuplicatesUnanswered])),
        claim("rule 4: the same, no heartbeats and no credits", Quick, Stuck(10), silent(unanswered)),
        claim("rule 5: a NACK for each packet", Quick, SafeAndLive, pair(&[NackForEach])),
        claim("rule 5: no NACK", Quick, SafeAndLive, pair(&[NoNack])),
        claim("rule 5: NACKs are not heeded while it replays", Quick, SafeAndLive, unheeded),
        claim("rule 6: the number is that of the last packet", Quick, Unsafe(3), pair(&[NumberOfTheLast])),
    ]
}

/// Credits, and how they come back.
fn credits() -> Vec<Claim<World>> {
    let both = pair(&[DebitedAgain, DuplicatesReturned]);
    let narrow = World { count_bits: 1, ..pair(&[CountTooNarrow]) };
    vec![
        claim("rule 7: debited again", Quick, Stuck(2), pair(&[DebitedAgain])),
        claim("rule 7: duplicates return credits", Quick, Unsafe(8), pair(&[DuplicatesReturned])),
        claim("rule 7: both", Quick, Stuck(2), both),
        claim("rule 7: both, nothing lost", Quick, SafeAndLive, lossless(both)),
        claim("rule 8: increments", Quick, Stuck(5), pair(&[Increments])),
        claim("rule 8: increments, nothing lost", Quick, SafeAndLive, lossless(wide(pair(&[Increments])))),
        claim("rule 8: a buffer of 2 flits, counts of 1 bit", Quick, Stuck(6), narrow),
        claim("rule 9: no heartbeats, W = 1", Quick, Stuck(7), silent(World::new(1, 1))),
        claim("rule 9: no heartbeats, W = 2", Quick, Stuck(10), silent(pair(&[]))),
        claim("rule 9: no heartbeats, nothing lost", Quick, SafeAndLive, lossless(wide(silent(pair(&[]))))),
        claim(
            "rule 9: no heartbeats, and no credits",
            Quick,
            SafeAndLive,
            World { vcs: 0, ..silent(pair(&[])) },
        ),
        claim("rule 10: old acknowledgements go out again", Quick, Unsafe(9), pair(&[OldAcknowledgements])),
    ]
}

/// Channels that do not keep the order.
fn channels() -> Vec<Claim<World>> {
    vec![
        claim("rule 11: packets overtake", Quick, Unsafe(15), pair(&[PacketsOvertake])),
        claim("rule 11: acknowledgements overtake", Quick, Unsafe(7), pair(&[AnswersOvertake])),
    ]
}
