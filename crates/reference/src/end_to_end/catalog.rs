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
    [worlds(), giving_up(), names(), contexts(), packets()].concat()
}

fn claim(name: &'static str, effort: Effort, expected: Expected, world: World) -> Claim<World> {
    Claim { name, world, expected, effort }
}

/// Two operations of a packet, one context at each end.
fn two(deviations: &'static [Deviation]) -> World {
    World { deviations, ..World::new(2, 1) }
}

/// The protocol as it is.
fn worlds() -> Vec<Claim<World>> {
    let new = World::new;
    let crowd = |senders, receivers, operations| World { senders, receivers, ..new(operations, 1) };
    let calm = |world| World { doubles: false, corrupts: false, ..world };
    let wide = |world| World { forward: 3, back: 3, ..world };
    vec![
        claim("protocol: an operation of a packet", Quick, SafeAndLive, new(1, 1)),
        claim("protocol: an operation of two packets", Quick, SafeAndLive, new(1, 2)),
        claim("protocol: two operations", Quick, SafeAndLive, new(2, 1)),
        claim("protocol: three operations", Quick, SafeAndLive, new(3, 1)),
        claim("protocol: two operations of two packets", Long, SafeAndLive, new(2, 2)),
        claim("protocol: two senders, one receiver context", Quick, SafeAndLive, crowd(2, 1, 2)),
        claim("protocol: two senders, two receiver contexts", Long, SafeAndLive, crowd(2, 2, 2)),
        claim("protocol: one sender, two receiver contexts", Quick, SafeAndLive, crowd(1, 2, 2)),
        claim(
            "protocol: three operations, two senders, one receiver context",
            Long,
            SafeAndLive,
            calm(crowd(2, 1, 3)),
        ),
        claim("protocol: room for three each way", Quick, SafeAndLive, wide(new(1, 1))),
        claim("protocol: two operations, room for three each way", Long, SafeAndLive, wide(new(2, 1))),
    ]
}

/// Ends that give up: delivered at most once, and nobody waits for ever.
fn giving_up() -> Vec<Claim<World>> {
    let tries = |tries, world| World { tries: Some(tries), ..world };
    let again = World { deviations: &[BeginsAgain], ..tries(0, World::new(1, 1)) };
    let crowd = World { senders: 2, doubles: false, corrupts: false, ..World::new(2, 1) };
    vec![
        claim("giving up: at once", Quick, SafeAndLive, tries(0, World::new(2, 1))),
        claim("giving up: after a try, an operation", Quick, SafeAndLive, tries(1, World::new(1, 1))),
        claim("giving up: after a try, two operations", Long, SafeAndLive, tries(1, World::new(2, 1))),
        claim("giving up: after a try, two packets", Long, SafeAndLive, tries(1, World::new(1, 2))),
        claim("giving up: two senders, one receiver context", Long, SafeAndLive, tries(0, crowd)),
        claim("rule 9: a sender that gives up begins again", Quick, Unsafe(13), again),
    ]
}

/// Whom packets and answers name.
fn names() -> Vec<Claim<World>> {
    let narrow = |operations| World { deviations: &[NarrowGenerations], ..World::new(operations, 1) };
    let second = |tries| World { tries, deviations: &[SecondBelieved], ..World::new(1, 1) };
    vec![
        claim("rule 1: data name a context", Quick, Unsafe(12), two(&[ReceiverUnnamed])),
        claim("rule 2: answers name a context", Quick, Unsafe(10), two(&[SenderUnnamed])),
        claim("rule 3: a second context is believed", Quick, Unsafe(15), second(Some(1))),
        claim("rule 3: the same, and no receiver gives up", Quick, SafeAndLive, second(None)),
        claim("rule 10: generations of one bit, one operation", Quick, SafeAndLive, narrow(1)),
        claim("rule 10: generations of one bit, three operations", Quick, Unsafe(20), narrow(3)),
    ]
}

/// How contexts come free.
fn contexts() -> Vec<Claim<World>> {
    vec![
        claim("rule 4: DONE frees the receiver context", Quick, Stuck(7), two(&[DoneForgets])),
        claim("rule 5: what is late is not answered", Quick, Stuck(7), two(&[LateUnanswered])),
        claim("rule 6: no timer of the receiver", Quick, Stuck(8), two(&[NoReceiverTimer])),
        claim("rule 7: no timer of the sender", Quick, Stuck(2), two(&[NoSenderTimer])),
        claim("refusals: a SETUP_NACK ends it", Quick, Stuck(5), World { senders: 2, ..two(&[NackEnds]) }),
    ]
}

/// What is taken for a packet.
fn packets() -> Vec<Claim<World>> {
    let counted = World { deviations: &[DuplicatesCount], ..World::new(1, 2) };
    vec![
        claim("rule 8: duplicates count", Quick, Unsafe(7), counted),
        claim("the CRC: it is not checked", Quick, Unsafe(6), two(&[CrcUnchecked])),
        claim("DONE: told when all is sent", Quick, Unsafe(4), two(&[ToldWhenSent])),
    ]
}
