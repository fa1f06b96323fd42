//! Room in a buffer that virtual channels share, as the one that writes into it counts it.

use super::settings::{BufferSettings, VCS_MAX};

/// How a buffer is divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    private: u32,
    shared: u32,
}

impl Parts {
    pub(super) fn new(settings: BufferSettings, vcs: u32) -> Self {
        Parts { private: settings.private, shared: settings.shared(vcs) }
    }

    /// Whether so many flits of a virtual channel always have room, whatever others hold.
    pub(super) fn has_certainly(self, flits: u32) -> bool {
        flits <= self.private
    }
}

/// The flits that a buffer holds, or keeps room for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Room {
    /// By virtual channel.
    used: [u16; VCS_MAX],
    /// Flits of the shared part that are taken.
    taken: u16,
}

impl Room {
    /// Whether a packet of so many flits has room on `vc`.
    #[inline]
    pub(super) fn has(&self, parts: Parts, vc: usize, flits: u32) -> bool {
        let used = u32::from(self.used[vc]);
        let more = over(parts, used + flits) - over(parts, used);
        u32::from(self.taken) + more <= parts.shared
    }

    /// It takes its room.
    #[inline]
    pub(super) fn take(&mut self, parts: Parts, vc: usize, flits: u32) {
        debug_assert!(self.has(parts, vc, flits), "a packet moves where it has room");
        let used = u32::from(self.used[vc]);
        self.used[vc] = (used + flits) as u16;
        self.taken += (over(parts, used + flits) - over(parts, used)) as u16;
    }

    /// So many flits give back theirs.
    #[inline]
    pub(super) fn give_back(&mut self, parts: Parts, vc: usize, flits: u32) {
        let used = u32::from(self.used[vc]);
        debug_assert!(flits <= used, "no more comes back than was taken");
        self.used[vc] = (used - flits) as u16;
        self.taken -= (over(parts, used) - over(parts, used - flits)) as u16;
    }

    /// Virtual channels that have some of the shared part.
    pub(super) fn sharers(&self, parts: Parts) -> impl Iterator<Item = usize> {
        (0..VCS_MAX).filter(move |&vc| u32::from(self.used[vc]) > parts.private)
    }
}

/// What `used` flits of one virtual channel take of the shared part.
#[inline]
fn over(parts: Parts, used: u32) -> u32 {
    used.saturating_sub(parts.private)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the others hold, a virtual channel whose packets have gone has room for the longest.
    #[test]
    fn no_virtual_channel_keeps_another_out() {
        let parts = Parts::new(BufferSettings { flits: 40, private: 9 }, 4);
        let mut room = Room::default();
        assert_eq!((parts.private, parts.shared), (9, 4));
        for vc in 0..3 {
            while room.has(parts, vc, 9) {
                room.take(parts, vc, 9);
            }
            while room.has(parts, vc, 1) {
                room.take(parts, vc, 1);
            }
        }
        assert_eq!((room.taken, room.used[0]), (4, 13), "the first has all of the shared part");
        assert!(room.has(parts, 3, 9) && !room.has(parts, 3, 10) && !room.has(parts, 1, 1));
        assert_eq!(room.sharers(parts).collect::<Vec<_>>(), [0]);
        room.give_back(parts, 0, 6);
        assert_eq!((room.taken, room.used[0]), (0, 7));
        assert!(room.has(parts, 3, 13) && room.has(parts, 0, 6) && !room.has(parts, 0, 7));
    }

    #[test]
    fn a_static_partition_has_no_shared_part() {
        let parts = Parts::new(BufferSettings { flits: 40, private: 10 }, 4);
        let mut room = Room::default();
        room.take(parts, 2, 10);
        assert_eq!((0..4).map(|vc| room.has(parts, vc, 1)).collect::<Vec<_>>(), [true, true, false, true]);
        assert_eq!(room.sharers(parts).count(), 0);
    }
}
