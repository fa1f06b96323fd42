//! What arbiters, links and nodes have to do in which batch, and what comes from elsewhere: the work lists of a shard.

use super::VCS;
use super::port::Coming;
use flitway_engine::time32::Time32;
use flitway_engine::worklist::{Bucket, WorkLists};
use flitway_wiring::routing::Route;
use std::ops::{Deref, DerefMut};

const ARBITERS: usize = 0;
const LINKS: usize = 1;
const NODES: usize = 2;

type Work = WorkLists<3, Letter>;

/// Batches that have buckets.
pub(super) const SEEN: u32 = Work::SEEN;

/// The work lists, of ports in blocks.
#[derive(Debug)]
pub(super) struct Lists(Work);

/// A packet that another block, or another shard, has sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Letter {
    /// The place of the port that it comes to, and the first port of that switch (of a NIC port: nothing).
    pub(super) place: u32,
    pub(super) base: u32,
    pub(super) coming: Coming,
    /// From there on.
    pub(super) route: Route,
}

const _: () = assert!(size_of::<Letter>() == 32, "half a cache line");

impl Deref for Lists {
    type Target = Work;

    #[inline(always)]
    fn deref(&self) -> &Work {
        &self.0
    }
}

impl DerefMut for Lists {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Work {
        &mut self.0
    }
}

impl Lists {
    /// Those of so many `ports`, in blocks of `2^shift`, with batches of so many `cycles`.
    pub(super) fn new(ports: usize, shift: u32, cycles: u32) -> Self {
        Lists(WorkLists::new(ports, shift, cycles))
    }

    /// The arbiter of output `vc` at `place`, in the block that runs, looks in the batch of cycle `at`.
    #[inline(always)]
    pub(super) fn wake_arbiter(&mut self, place: u32, vc: usize, at: Time32) {
        debug_assert_eq!(self.block_of(place), self.running(), "a switch wakes its own arbiters");
        self.wake(ARBITERS, Lists::arbiter(place, vc), at);
    }

    /// The same in any block.
    pub(super) fn call_arbiter(&mut self, place: u32, vc: usize, at: Time32) {
        let block = self.block_of(place);
        self.call(ARBITERS, Lists::arbiter(place, vc), block, at);
    }

    /// The link of the port at `place`, in the block that runs, decides after the arbiters of the batch of cycle `at`, if it
    /// `decides` at all.
    #[inline(always)]
    pub(super) fn wake_link_if(&mut self, place: u32, at: Time32, decides: bool) {
        debug_assert_eq!(self.block_of(place), self.running(), "a switch wakes its own links");
        self.wake_if(LINKS, place, at, decides);
    }

    /// Node number `node`, of the block that runs, acts in the batch of cycle `at`.
    #[inline(always)]
    pub(super) fn wake_node(&mut self, node: u32, at: Time32) {
        self.wake(NODES, node, at);
    }

    /// Node number `node`, of `block`, acts in the batch of cycle `at`.
    pub(super) fn call_node(&mut self, node: u32, block: u32, at: Time32) {
        self.call(NODES, node, block as usize, at);
    }

    /// A packet from elsewhere comes to a port in `block`; it is felt there so many cycles after it has come.
    #[inline(always)]
    pub(super) fn post_coming(&mut self, block: u32, letter: Letter, felt: u64) {
        // It is read before it has come so long ago that the epoch may pass it. From another shard it may be told later.
        let at = (letter.coming.at + felt.min(self.round())).max(self.now());
        self.post(block as usize, letter, at);
    }

    /// The arbiter of output `vc` at `place`.
    #[inline(always)]
    fn arbiter(place: u32, vc: usize) -> u32 {
        place * VCS as u32 + vc as u32
    }

    /// The place of an arbiter.
    #[inline(always)]
    pub(super) fn place_of(arbiter: u32) -> u32 {
        arbiter / VCS as u32
    }

    /// The VC of an arbiter.
    #[inline(always)]
    pub(super) fn vc_of(arbiter: u32) -> usize {
        arbiter as usize % VCS
    }

    /// Takes out the arbiters of the block that runs that are due in the batch of now.
    pub(super) fn take_arbiters(&mut self, due: &mut Bucket) {
        self.take(ARBITERS, due);
    }

    /// The same of links.
    pub(super) fn take_links(&mut self, due: &mut Bucket) {
        self.take(LINKS, due);
    }

    /// The same of nodes.
    pub(super) fn take_nodes(&mut self, due: &mut Bucket) {
        self.take(NODES, due);
    }

    /// The same cycle is now, counted from an epoch that is `span` later.
    pub(super) fn move_epoch(&mut self, span: u32) {
        self.count_from(span, |letter| letter.coming.at = letter.coming.at.moved(span));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_fabric::pool::Slot;

    #[test]
    fn a_letter_that_comes_late_is_read_now() {
        let mut lists = Lists::new(10, 6, 16);
        lists.pass(Time32(1_000));
        let coming = |at| Coming { slot: Slot::NONE, at: Time32(at), flits: 1, units: 1, vc: 0 };
        let round = lists.round();
        for (at, felt) in [(1_000 - round as u32 - 9, round + 20), (1_001, 40)] {
            let letter = Letter { place: 3, base: 0, coming: coming(at), route: Route::default() };
            lists.post_coming(0, letter, felt);
        }
        let mut read = Vec::new();
        lists.take_letters(&mut read);
        assert_eq!(read.iter().map(|letter| letter.coming.at.0).collect::<Vec<_>>(), [479]);
        assert_eq!(lists.letters().count(), 1);
    }

    #[test]
    fn an_arbiter_is_a_place_and_a_vc() {
        let mut lists = Lists::new(100, 6, 16);
        lists.call_arbiter(70, 2, Time32(40));
        lists.turn_to(1);
        lists.pass(Time32(32));
        let mut due = Bucket::default();
        lists.take_arbiters(&mut due);
        assert_eq!(
            due.iter().map(|&it| (Lists::place_of(it), Lists::vc_of(it))).collect::<Vec<_>>(),
            [(70, 2)]
        );
    }
}
