//! The buffers: the count that the writer keeps, and the flits that are there.

use super::Flit;
use flitway_switch::tiled::BufferSettings;
use std::collections::VecDeque;

/// What the writer of a buffer knows of it: flits of packets that have begun to move there and have not given back their room.
#[derive(Clone, Debug)]
pub(super) struct Room {
    settings: BufferSettings,
    /// By virtual channel.
    held: Vec<u32>,
}

impl Room {
    pub(super) fn new(settings: BufferSettings, vcs: usize) -> Self {
        assert!(vcs as u32 * settings.private <= settings.flits, "private parts are parts of the buffer");
        Room { settings, held: vec![0; vcs] }
    }

    /// "A packet has room if with all of its flits in its VC no more of the shared part is taken than there is."
    pub(super) fn has(&self, vc: usize, flits: u32) -> bool {
        let mut with_it = self.clone();
        with_it.held[vc] += flits;
        with_it.taken() <= self.settings.flits - self.held.len() as u32 * self.settings.private
    }

    /// "A VC that holds `u` flits takes `max(0, u - private)` of the shared part."
    fn taken(&self) -> u32 {
        self.held.iter().map(|held| held.saturating_sub(self.settings.private)).sum()
    }

    pub(super) fn take(&mut self, vc: usize, flits: u32) {
        assert!(self.has(vc, flits), "who moves on has room");
        self.held[vc] += flits;
    }

    pub(super) fn give_back(&mut self, vc: usize, flits: u32) {
        assert!(self.held[vc] >= flits, "what is given back was taken");
        self.held[vc] -= flits;
    }

    pub(super) fn held(&self, vc: usize) -> u32 {
        self.held[vc]
    }
}

/// The flits in a buffer, or on their way into it.
#[derive(Clone, Debug)]
pub(super) struct Store {
    settings: BufferSettings,
    /// By virtual channel, each with the cycle from which on it can go on.
    flits: Vec<VecDeque<(Flit, u64)>>,
}

impl Store {
    pub(super) fn new(settings: BufferSettings, vcs: usize) -> Self {
        Store { settings, flits: vec![VecDeque::new(); vcs] }
    }

    pub(super) fn put(&mut self, vc: usize, flit: Flit, from: u64) {
        self.flits[vc].push_back((flit, from));
        let all: usize = self.flits.iter().map(VecDeque::len).sum();
        assert!(all <= self.settings.flits as usize, "a buffer holds no more flits than it has");
    }

    /// Takes a flit out in cycle `now`, by when it has to be there.
    pub(super) fn take(&mut self, vc: usize, flit: Flit, now: u64) {
        let place = self.flits[vc].iter().position(|(it, _)| *it == flit);
        let place = place.expect("a flit that goes on is in the buffer");
        let (_, from) = self.flits[vc].remove(place).expect("it was found");
        assert!(from <= now, "a flit goes on when it is there, without a gap");
    }

    /// The same in a buffer that keeps the order of each virtual channel.
    pub(super) fn take_first(&mut self, vc: usize, flit: Flit, now: u64) {
        assert_eq!(self.flits[vc].front().map(|it| it.0), Some(flit), "a virtual channel keeps its order");
        self.take(vc, flit, now);
    }

    pub(super) fn len(&self, vc: usize) -> usize {
        self.flits[vc].len()
    }
}
