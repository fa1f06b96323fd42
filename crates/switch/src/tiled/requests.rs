//! What requests the row bus of an input, or the link of an output.

use super::settings::VCS_MAX;
use flitway_engine::Cycle;
use flitway_fabric::bits::bits;

/// Requests by virtual channel, and by where the packets are: in columns of an input, or in rows of an output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Requests {
    /// Virtual channels of which there are some.
    pub(super) vcs: u64,
    /// By virtual channel.
    pub(super) places: [u64; VCS_MAX],
    /// When others may request, as far as known.
    pub(super) wake: Cycle,
}

impl Requests {
    /// None.
    #[inline]
    pub(super) fn none() -> Self {
        Requests { vcs: 0, places: [0; VCS_MAX], wake: Cycle::NEVER }
    }

    /// The first packet of `vc` in `place` requests.
    #[inline]
    pub(super) fn add(&mut self, vc: usize, place: usize) {
        self.vcs |= 1 << vc;
        self.places[vc] |= 1 << place;
    }

    /// Leaves the oldest ones, where `injected` says of virtual channel and place when the packet entered the network.
    #[cold]
    pub(super) fn keep_oldest(&mut self, injected: impl Fn(usize, usize) -> Cycle) {
        let Requests { vcs, places, wake } = *self;
        let first = |vc: usize| bits(places[vc]).map(|place| injected(vc, place)).min();
        let first = bits(vcs).filter_map(first).min();
        *self = Requests { wake, ..Requests::none() };
        for vc in bits(vcs) {
            let is_oldest = |place: &usize| Some(injected(vc, *place)) == first;
            bits(places[vc]).filter(is_oldest).for_each(|place| self.add(vc, place));
        }
    }
}

/// Those of `places`, some, whose packets entered the network first.
#[cold]
pub(super) fn oldest(places: u64, injected: impl Fn(usize) -> Cycle) -> u64 {
    let first = bits(places).map(&injected).min();
    bits(places).filter(|place| Some(injected(*place)) == first).fold(0, |mask, place| mask | 1 << place)
}
