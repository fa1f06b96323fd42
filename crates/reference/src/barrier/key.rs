//! Snapshots as numbers. Snapshots that differ in what does not matter are one number.
//!
//! * S of every member and packet inverted: the protocol only compares S with S. A key is of the one of both in which
//!   the root's S is zero.
//! * Siblings that look alike exchanged, with all below them: no rule looks at port numbers. A key has them sorted, unless
//!   the world says otherwise because one of its deviations does.

use super::channel::{Channel, Order};
use super::deviation::Registers;
use super::world::{MEMBERS_MAX, Member, Snapshot, World};
use crate::explore::Bits;
use flitway_fabric::barrier::{Phase, Sequence, State};

impl World {
    /// Bits of a channel.
    fn channel_width(&self) -> usize {
        let queues = if self.queue.order == Order::FifoPerKind { 2 } else { 1 };
        Channel::width(queues * self.queue.capacity)
    }

    /// The number of a snapshot.
    pub(super) fn number(&self, snapshot: &Snapshot) -> u128 {
        let inverts = snapshot[0].registers.state.sequence != Sequence::FIRST;
        self.encode(snapshot, 0, inverts).value
    }

    /// A member, then those below it.
    fn encode(&self, snapshot: &Snapshot, number: usize, inverts: bool) -> Bits {
        let part = &self.tree.members[number];
        let member = &snapshot[number];
        let Registers { state, distributing } = member.registers;
        let mut bits = Bits::NONE;
        let channel =
            |channel: Channel| if inverts { channel.invert(self.queue.order) } else { channel }.bits();
        match part.parent {
            None => bits.push(u32::from(distributing), 1),
            Some((parent, port)) => {
                let arrived = snapshot[parent].registers.state.arrived >> port.0 & 1;
                bits.push(arrived as u32, 1);
                bits.push(channel(member.up), self.channel_width());
                bits.push(channel(member.down), self.channel_width());
                bits.push(state.phase as u32, 2);
                bits.push(u32::from(state.sequence.bit()) ^ u32::from(inverts), 1);
                bits.push(u32::from(member.retransmit_runs) << 1 | u32::from(member.dun_runs), 2);
            }
        }
        if part.is_leaf() {
            debug_assert_eq!(state.arrived != 0, state.phase != Phase::Collect, "one process");
            bits.push(u32::from(member.is_ahead), 1);
        }
        let mut below = [Bits::NONE; MEMBERS_MAX];
        let below = &mut below[..part.children.len()];
        for (bits, &child) in below.iter_mut().zip(&part.children) {
            *bits = self.encode(snapshot, child, inverts);
        }
        if self.is_reduced {
            let kind = |child: usize| self.tree.members[part.children[child]].kind;
            let mut start = 0;
            while start < below.len() {
                let end = (start..below.len()).find(|&child| kind(child) != kind(start));
                let end = end.unwrap_or(below.len());
                below[start..end].sort_unstable_by_key(|bits| bits.value);
                start = end;
            }
        }
        below.iter().for_each(|&child| bits.append(child));
        bits
    }

    /// Bits of the key of a member and those below it.
    pub(super) fn width_below(&self, number: usize) -> usize {
        let part = &self.tree.members[number];
        let own = if part.parent.is_some() { 6 + 2 * self.channel_width() } else { 1 };
        let below: usize = part.children.iter().map(|&child| self.width_below(child)).sum();
        own + usize::from(part.is_leaf()) + below
    }

    /// A snapshot with that number.
    pub(super) fn numbered(&self, key: u128) -> Snapshot {
        let mut bits = Bits { value: key, width: self.width_below(0) };
        let mut snapshot = [Member::fresh(); MEMBERS_MAX];
        // Members lie in the tree as in the key.
        for (number, part) in self.tree.members.iter().enumerate() {
            snapshot[number] = self.decode(&mut bits, number);
            if let Some((parent, port)) = part.parent {
                let arrived = std::mem::take(&mut snapshot[number].registers.state.arrived);
                snapshot[parent].registers.state.arrived |= arrived << port.0;
            }
            if part.is_leaf() {
                let state = &mut snapshot[number].registers.state;
                state.arrived = u64::from(state.phase != Phase::Collect);
            }
        }
        snapshot
    }

    /// One member; `arrived` is its bit at its parent.
    fn decode(&self, bits: &mut Bits, number: usize) -> Member {
        let part = &self.tree.members[number];
        let mut member = Member::fresh();
        if part.parent.is_none() {
            member.registers = Registers { state: State::default(), distributing: bits.pull(1) == 1 };
            return member;
        }
        let arrived = u64::from(bits.pull(1));
        member.up = Channel::from_bits(bits.pull(self.channel_width()));
        member.down = Channel::from_bits(bits.pull(self.channel_width()));
        let phase = [Phase::Collect, Phase::WaitAck, Phase::WaitDistribute][bits.pull(2) as usize];
        let state = State { arrived, sequence: Sequence::of(u64::from(bits.pull(1))), phase };
        member.registers = Registers { state, distributing: false };
        let timers = bits.pull(2);
        (member.retransmit_runs, member.dun_runs) = (timers & 2 != 0, timers & 1 != 0);
        member.is_ahead = part.is_leaf() && bits.pull(1) == 1;
        member
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Shape, Tree};
    use super::*;
    use crate::explore::{Exploration, Model, Verdict, explore};

    fn found(world: &World) -> Exploration {
        let found = explore(world);
        assert!(matches!(found.verdict, Verdict::SafeAndLive));
        found
    }

    #[test]
    fn a_key_gives_a_snapshot_with_that_key() {
        let world = World::new(Tree::new(&Shape::Switch(vec![Shape::star(2), Shape::Leaf])), 2);
        let mut key = world.first_key();
        for step in 0..2_000 {
            let next = world.next_keys(key);
            key = next[step * 31 % next.len()].expect("the protocol is safe");
            assert_eq!(world.key(&world.snapshot(key)), key);
        }
    }

    #[test]
    fn what_is_found_does_not_depend_on_whether_siblings_change_places() {
        for (leaves, capacity) in [(2, 1), (2, 2), (3, 1)] {
            let reduced = World::new(Tree::star(leaves), capacity);
            let full = World { is_reduced: false, ..reduced.clone() };
            let (reduced, full) = (found(&reduced), found(&full));
            assert_eq!(reduced.depth, full.depth);
            let permutations: usize = (1..=leaves).product();
            assert!(reduced.states < full.states && full.states < reduced.states * permutations);
        }
    }
}
