//! What a switch that decides by stretches has to do in which of them.

use super::{STRETCH, VCS};
use crate::hpp::moment::{Moment, Time};
use flitway_engine::prefetch;

/// Stretches that can be looked ahead; what is due later is looked at again and again.
const ROWS: usize = 8;

/// Cycles after which the same row comes again.
pub(super) const ROUND: u64 = STRETCH as u64 * ROWS as u64;

/// What is due in which stretch. Stretches begin at multiples of their length.
#[derive(Debug)]
pub(super) struct Rows {
    /// Words of arbiters.
    words: usize,
    /// The first cycle that has not been run.
    now: Moment,
    /// A bit for each arbiter that is to look, by word and stretch; then one for each link, by stretch.
    due: Box<[u64]>,
}

impl Rows {
    /// Those of a switch of so many `ports`.
    pub(super) fn new(ports: usize) -> Self {
        assert!(ports <= 64, "links are a word");
        let words = (ports * VCS).div_ceil(64);
        Rows { words, now: Moment::ZERO, due: vec![0; (words + 1) * ROWS].into() }
    }

    /// Bytes of those of a switch of so many `ports`, beside themselves.
    pub(super) fn bytes(ports: usize) -> usize {
        size_of::<u64>() * ROWS * ((ports * VCS).div_ceil(64) + 1)
    }

    /// Asks the memory for it.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch::slice(&self.due);
    }

    /// The first cycle that has not been run.
    #[inline(always)]
    pub(super) fn now(&self) -> Moment {
        self.now
    }

    /// The end of the stretch that it is in.
    #[inline(always)]
    pub(super) fn end(&self) -> Moment {
        Moment((self.now.0 / STRETCH + 1) * STRETCH)
    }

    /// The row of the stretch that cycle `at` is in, or the last one that can be seen.
    #[inline(always)]
    fn row(&self, at: Moment) -> usize {
        debug_assert!(self.now <= at, "nothing is due in a cycle that has been run");
        let last = self.now.0 / STRETCH + (ROWS as u32 - 1);
        (at.0 / STRETCH).min(last) as usize % ROWS
    }

    /// The arbiter of output `vc` of `port` looks in the stretch of cycle `at`.
    #[inline(always)]
    pub(super) fn wake_arbiter(&mut self, port: usize, vc: usize, at: Moment) {
        let bit = port * VCS + vc;
        self.due[bit / 64 * ROWS + self.row(at)] |= 1 << (bit % 64);
    }

    /// The link of `port` decides after the arbiters of the stretch of cycle `at`.
    #[inline(always)]
    pub(super) fn wake_link(&mut self, port: usize, at: Moment) {
        self.due[self.words * ROWS + self.row(at)] |= 1 << port;
    }

    /// Words of arbiters.
    #[inline(always)]
    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// The port and the VC of a bit in a word of arbiters.
    #[inline(always)]
    pub(super) fn port_of(word: usize, bit: usize) -> usize {
        word * (64 / VCS) + bit / VCS
    }

    /// See [`port_of`](Self::port_of).
    #[inline(always)]
    pub(super) fn vc_of(bit: usize) -> usize {
        bit % VCS
    }

    /// Takes out a word of the arbiters that are due in the stretch of now.
    #[inline(always)]
    pub(super) fn take_arbiters(&mut self, word: usize) -> u64 {
        let row = self.row(self.now);
        std::mem::take(&mut self.due[word * ROWS + row])
    }

    /// Takes out the links that are due in the stretch of now.
    #[inline(always)]
    pub(super) fn take_links(&mut self) -> u64 {
        self.take_arbiters(self.words)
    }

    /// Goes on to cycle `now`.
    #[inline(always)]
    pub(super) fn pass(&mut self, now: Moment) {
        self.now = now;
    }

    /// The ports of which something is due before cycle `until`.
    #[inline]
    pub(super) fn ports_due(&self, until: Moment) -> u64 {
        let mut ports = 0;
        for stretch in (self.now.0 / STRETCH..until.0.div_ceil(STRETCH)).take(ROWS) {
            let row = stretch as usize % ROWS;
            ports |= self.due[self.words * ROWS + row];
            for word in 0..self.words {
                let mut due = self.due[word * ROWS + row];
                while due != 0 {
                    let port = due.trailing_zeros() as usize / VCS;
                    due &= u64::MAX.checked_shl((port as u32 + 1) * VCS as u32).unwrap_or(0);
                    ports |= 1 << (Rows::port_of(word, 0) + port);
                }
            }
        }
        ports
    }

    /// The first cycle, from now on, in whose stretch something is due, as far as can be seen.
    pub(super) fn next(&self) -> Option<Moment> {
        let first = self.now.0 / STRETCH;
        let is_due = |stretch: &u32| {
            let row = *stretch as usize % ROWS;
            (0..=self.words).any(|word| self.due[word * ROWS + row] != 0)
        };
        let next = (first..first + ROWS as u32).find(is_due);
        next.map(|stretch| self.now.max(Moment(stretch * STRETCH)))
    }
}
