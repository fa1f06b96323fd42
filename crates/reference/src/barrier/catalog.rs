//! What is claimed of the protocol, one line a claim. The quick ones are tests; `cargo xtask prove` checks all.

use super::channel::{Order, Queue};
use super::deviation::Deviation;
use super::tree::{Shape, Tree};
use super::world::{Start, World};
use crate::explore::{Claim, Effort, Expected};
use flitway_fabric::barrier::{DunStart, Packet, PacketKind, Sequence};

/// All claims.
#[must_use]
pub fn claims() -> Vec<Claim<World>> {
    [worlds(), timers(), rules(), set_ups(), orders()].concat()
}

use Effort::{Long, Quick};
use Expected::{SafeAndLive, Stuck, Unsafe};

fn claim(name: &'static str, effort: Effort, expected: Expected, world: World) -> Claim<World> {
    Claim { name, world, expected, effort }
}

/// Two leaves below a root.
fn pair(capacity: usize) -> World {
    World::new(Tree::star(2), capacity)
}

/// A root above switches with so many leaves each; none is a leaf itself.
fn tree(leaves: &[usize]) -> Tree {
    let below = |&leaves: &usize| if leaves == 0 { Shape::Leaf } else { Shape::star(leaves) };
    Tree::new(&Shape::Switch(leaves.iter().map(below).collect()))
}

/// The protocol as it is.
fn worlds() -> Vec<Claim<World>> {
    let high = Tree::new(&Shape::Switch(vec![Shape::Switch(vec![Shape::star(1)]), Shape::Leaf]));
    vec![
        claim("protocol: 2 leaves, capacity 1", Quick, SafeAndLive, pair(1)),
        claim("protocol: 2 leaves, capacity 2", Quick, SafeAndLive, pair(2)),
        claim("protocol: 2 leaves, capacity 3", Quick, SafeAndLive, pair(3)),
        claim("protocol: 2 leaves, capacity 4", Long, SafeAndLive, pair(4)),
        claim("protocol: 3 leaves, capacity 1", Quick, SafeAndLive, World::new(Tree::star(3), 1)),
        claim("protocol: 3 leaves, capacity 2", Long, SafeAndLive, World::new(Tree::star(3), 2)),
        claim("protocol: 2 switches with 1 leaf each", Quick, SafeAndLive, World::new(tree(&[1, 1]), 1)),
        claim(
            "protocol: a switch with 2 leaves, and a leaf",
            Quick,
            SafeAndLive,
            World::new(tree(&[2, 0]), 1),
        ),
        claim(
            "protocol: a switch above a switch above a leaf, and a leaf",
            Quick,
            SafeAndLive,
            World::new(high, 1),
        ),
        claim("protocol: 2 switches with 2 leaves each", Long, SafeAndLive, World::new(tree(&[2, 2]), 1)),
        claim(
            "protocol: duplicating, capacity 2",
            Quick,
            SafeAndLive,
            World { is_duplicating: true, ..pair(2) },
        ),
        claim(
            "protocol: duplicating, capacity 3",
            Long,
            SafeAndLive,
            World { is_duplicating: true, ..pair(3) },
        ),
    ]
}

/// With the dun timer of Dawning 5000.
fn timers() -> Vec<Claim<World>> {
    let at_combine = |world| World { dun_start: DunStart::AtCombine, ..world };
    let small = World::new(tree(&[2, 0]), 1);
    vec![
        claim("timers: dun timer at combine, capacity 2", Quick, SafeAndLive, at_combine(pair(2))),
        claim("timers: dun timer at combine, capacity 3", Long, SafeAndLive, at_combine(pair(3))),
        claim(
            "timers: dun timer at combine, a switch with 2 leaves, and a leaf",
            Long,
            SafeAndLive,
            at_combine(small),
        ),
    ]
}

/// Without one rule each. Where it makes a difference, channels have room for three packets: they lose none that a shortest
/// way needs.
fn rules() -> Vec<Claim<World>> {
    use Deviation::*;
    let narrow = |deviations| World { deviations, ..pair(2) };
    let wide = |deviations| World { deviations, ..pair(3) };
    let dawning = |world| World { dun_start: DunStart::AtCombine, ..world };
    // These look at port numbers.
    let named = |world| World { is_reduced: false, ..world };
    vec![
        claim("rule 1: no S at all", Quick, Unsafe(10), wide(&[NoSequence])),
        claim("rule 1: the S of combine-ACKs unchecked", Quick, Stuck(12), narrow(&[AckUnchecked])),
        claim("rule 2: every dun answered", Quick, Unsafe(6), wide(&[DunAlwaysAnswered])),
        claim("rule 3: arrivals counted", Quick, Unsafe(6), named(wide(&[ArrivalsCounted]))),
        claim("rule 4: stale combines dropped", Quick, Stuck(5), wide(&[StaleCombineDropped])),
        claim(
            "rule 4: stale combines dropped, dun timer at combine",
            Quick,
            SafeAndLive,
            dawning(narrow(&[StaleCombineDropped])),
        ),
        claim("rule 4: stale combines only acked", Quick, SafeAndLive, narrow(&[StaleCombineOnlyAcked])),
        claim(
            "rule 4: stale combines answered by the distribute only",
            Quick,
            SafeAndLive,
            narrow(&[StaleCombineNotAcked]),
        ),
        claim("rule 5: S flips after the first distribute", Quick, Unsafe(9), named(wide(&[FlipAfterFirst]))),
        claim(
            "rule 5: S flips after, stale combines only acked",
            Quick,
            Unsafe(11),
            named(wide(&[FlipAfterFirst, StaleCombineOnlyAcked])),
        ),
        claim(
            "rule 5: distributes leave in a step of their own",
            Quick,
            SafeAndLive,
            narrow(&[DistributeLater]),
        ),
        claim(
            "rule 5: the same, stale combines only acked",
            Quick,
            SafeAndLive,
            narrow(&[DistributeLater, StaleCombineOnlyAcked]),
        ),
        claim(
            "rule 5: the same, capacity 1",
            Quick,
            SafeAndLive,
            World { deviations: &[DistributeLater, StaleCombineOnlyAcked], ..pair(1) },
        ),
        claim("rule 6: no distribute before the ACK", Quick, SafeAndLive, narrow(&[DistributeOnlyAfterAck])),
        claim(
            "rule 6: the same, stale combines answered by the distribute only",
            Quick,
            Stuck(0),
            narrow(&[DistributeOnlyAfterAck, StaleCombineNotAcked]),
        ),
        claim(
            "rule 6: the same, stale combines dropped, dun timer at combine",
            Quick,
            Stuck(0),
            dawning(narrow(&[DistributeOnlyAfterAck, StaleCombineDropped])),
        ),
    ]
}

/// What out-of-band management may leave behind.
fn set_ups() -> Vec<Claim<World>> {
    let [zero, one] = [Sequence::FIRST, Sequence::FIRST.other()];
    let stale = |kind, sequence| World { start: Start::Stale(Packet { kind, sequence }), ..pair(2) };
    let odd = World { start: Start::OddLeaf, ..pair(3) };
    let odd_acked = World { deviations: &[Deviation::StaleCombineOnlyAcked], ..odd.clone() };
    use PacketKind::{Combine, CombineAck, Distribute, DistributeDun};
    vec![
        claim("rule 7: a leaf begins with the other S", Quick, Unsafe(4), odd),
        claim("rule 7: the same, stale combines only acked", Quick, Unsafe(6), odd_acked),
        claim("rule 8: a stale combine(0)", Quick, Unsafe(4), stale(Combine, zero)),
        claim("rule 8: a stale combine(1)", Quick, SafeAndLive, stale(Combine, one)),
        claim("rule 8: a stale ack(0)", Quick, Stuck(3), stale(CombineAck, zero)),
        claim("rule 8: a stale ack(1)", Quick, SafeAndLive, stale(CombineAck, one)),
        claim("rule 8: a stale distribute(0)", Quick, Unsafe(2), stale(Distribute, zero)),
        claim("rule 8: a stale distribute(1)", Quick, SafeAndLive, stale(Distribute, one)),
        claim("rule 8: a stale dun(0)", Quick, SafeAndLive, stale(DistributeDun, zero)),
        claim("rule 8: a stale dun(1)", Quick, SafeAndLive, stale(DistributeDun, one)),
    ]
}

/// Channels that do not keep the order, and what repairs them.
fn orders() -> Vec<Claim<World>> {
    use Deviation::{CombineWithDun, DunCountsAsCombine};
    let with = |order, capacity| World { queue: Queue { order, capacity }, ..pair(capacity) };
    let per_kind = |capacity| with(Order::FifoPerKind, capacity);
    let repaired = |deviations, world| World { deviations, ..world };
    let short_lived = |capacity| World { is_short_lived: true, ..with(Order::Any, capacity) };
    let lossless = World { is_lossy: false, ..with(Order::Any, 3) };
    vec![
        claim("rule 10: a queue for each kind", Quick, Stuck(15), per_kind(1)),
        claim("rule 10: a queue for each kind, capacity 2", Long, Stuck(15), per_kind(2)),
        claim("rule 10: any order", Quick, Unsafe(15), with(Order::Any, 3)),
        claim("rule 10: any order, nothing lost", Quick, Unsafe(15), lossless),
        claim("rule 10: any order, short-lived, capacity 2", Quick, SafeAndLive, short_lived(2)),
        claim("rule 10: any order, short-lived, capacity 3", Long, SafeAndLive, short_lived(3)),
        claim(
            "repair: a dun counts as a combine",
            Quick,
            SafeAndLive,
            repaired(&[DunCountsAsCombine], pair(2)),
        ),
        claim(
            "repair: a dun counts as a combine, a queue for each kind",
            Quick,
            Unsafe(17),
            repaired(&[DunCountsAsCombine], per_kind(3)),
        ),
        claim("repair: a combine with every dun", Quick, SafeAndLive, repaired(&[CombineWithDun], pair(2))),
        claim(
            "repair: a combine with every dun, a queue for each kind",
            Quick,
            SafeAndLive,
            repaired(&[CombineWithDun], per_kind(1)),
        ),
    ]
}
