//! What requests the row bus of an input, or the link of an output.

use super::mask::Mask;
use super::settings::VCS_MAX;
use flitway_engine::Cycle;
use flitway_fabric::bits::bits;

/// Requests by virtual channel, and by where the packets are: in columns of an input, or in rows of an output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Requests<M> {
    /// Virtual channels of which there are some.
    pub(super) vcs: u64,
    /// By virtual channel.
    pub(super) places: [M; VCS_MAX],
    /// When others may request, as far as known.
    pub(super) wake: Cycle,
}

impl<M: Mask> Requests<M> {
    /// None.
    #[inline]
    pub(super) fn none() -> Self {
        Requests { vcs: 0, places: [M::NONE; VCS_MAX], wake: Cycle::NEVER }
    }

    /// The first packet of `vc` in `place` requests.
    #[inline]
    pub(super) fn add(&mut self, vc: usize, place: usize) {
        self.vcs |= 1 << vc;
        self.places[vc].insert(place);
    }

    /// The oldest ones, where `injected` says of virtual channel and place when the packet entered the network.
    #[inline(never)]
    pub(super) fn oldest(self, injected: impl Fn(usize, usize) -> Cycle) -> Self {
        let Requests { vcs, places, wake } = self;
        let first = |vc: usize| places[vc].places().map(|place| injected(vc, place)).min();
        let first = bits(vcs).filter_map(first).min();
        let mut oldest = Requests { wake, ..Requests::none() };
        for vc in bits(vcs) {
            let is_oldest = |place: &usize| Some(injected(vc, *place)) == first;
            places[vc].places().filter(is_oldest).for_each(|place| oldest.add(vc, place));
        }
        oldest
    }
}
