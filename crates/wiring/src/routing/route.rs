//! The header field of a source-routed network.

use super::{Header, Hop};
use crate::{NodeId, PortId};
use serde::{Deserialize, Serialize};

/// The next few hops of a packet, first in the lowest bits: 6 bits of port and two of class each, and above the last a
/// mark that says whether the packet has then arrived. A path longer than [`Route::HOPS`] is continued on the way; if it goes
/// by way of an intermediate switch, the route holds [`Route::HOPS_BY_WAY`] hops, and above the mark that switch. Where a
/// switch on the way is to choose between two ways the route ends with a mark too, the intermediate of the second way above
/// it, and above that the phase of the header: see [`Route::is_open`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route(u64);

impl Route {
    /// Hops that fit.
    pub const HOPS: u32 = 7;
    /// Hops that fit beside an intermediate switch.
    pub const HOPS_BY_WAY: u32 = 4;
    /// Classes that fit.
    pub const CLASSES: u32 = 1 << Self::CLASS_BITS;
    const PORT_BITS: u32 = 6;
    const CLASS_BITS: u32 = 2;
    const DIGIT_BITS: u32 = Self::PORT_BITS + Self::CLASS_BITS;
    pub(super) const ARRIVED: u64 = 1;
    pub(super) const CONTINUED: u64 = 2;
    /// The mark of a route by way of an intermediate switch, whose number stands above it, and above that a bit that is set:
    /// so no other route is as long in bits.
    const BY_WAY: u64 = 3;
    const MARK_BITS: u32 = 2;
    const NUMBER_BITS: u32 = 24;
    /// Bits of the phase of an open route. The bit above it is set, and so an open route is as long in bits as no other.
    const PHASE_BITS: u32 = 2;
    /// Bits of an open route that has no hop left.
    const OPEN_BITS: u32 = Self::MARK_BITS + Self::NUMBER_BITS + Self::PHASE_BITS;

    /// Whether it holds the hops of switches of so many `ports` with so many `classes` of virtual channels.
    #[must_use]
    pub const fn holds(ports: u32, classes: u32) -> bool {
        ports <= 1 << Self::PORT_BITS && classes <= Self::CLASSES
    }

    /// The route of these `hops`, at most [`Route::HOPS`], to its end.
    #[must_use]
    pub fn of(hops: impl IntoIterator<Item = Hop>) -> Route {
        let (mut route, mut count) = (Route::default(), 0);
        for hop in hops {
            assert!(count < Self::HOPS, "a header field holds {} hops", Self::HOPS);
            route = route.with(count, hop);
            count += 1;
        }
        route.ended(count, Self::ARRIVED)
    }

    /// A route that does not end yet, with `hop` after `count` others.
    ///
    /// # Panics
    /// If the port or the class of `hop` does not fit its bits: it would be read back as part of the hop after it.
    #[inline]
    pub(super) fn with(self, count: u32, hop: Hop) -> Route {
        assert!(
            Self::holds(hop.port.0 + 1, u32::from(hop.class) + 1),
            "a route holds ports below {} and classes below {}: {hop:?}",
            1 << Self::PORT_BITS,
            Self::CLASSES,
        );
        let digit = u64::from(hop.port.0) | u64::from(hop.class) << Self::PORT_BITS;
        Route(self.0 | digit << (count * Self::DIGIT_BITS))
    }

    /// The route with its end after `count` hops.
    #[inline]
    pub(super) fn ended(self, count: u32, mark: u64) -> Route {
        Route(self.0 | mark << (count * Self::DIGIT_BITS))
    }

    /// The next hop.
    #[inline]
    #[must_use]
    pub fn hop(self) -> Hop {
        debug_assert!(!self.has_arrived() && !self.is_continued(), "a spent route has been continued");
        debug_assert!(!self.is_open(), "a way has been chosen");
        Hop { port: PortId((self.0 & 63) as u32), class: (self.0 >> Self::PORT_BITS & 3) as u8 }
    }

    /// The route after the next hop.
    #[inline]
    #[must_use]
    pub fn rest(self) -> Route {
        Route(self.0 >> Self::DIGIT_BITS)
    }

    /// Whether no hop is left to make.
    #[inline]
    #[must_use]
    pub fn has_arrived(self) -> bool {
        self.0 == Self::ARRIVED
    }

    /// Whether no hop is left in it, but there are more to make.
    #[inline]
    #[must_use]
    pub fn is_continued(self) -> bool {
        self.0 == Self::CONTINUED || self.0 >> (Self::MARK_BITS + Self::NUMBER_BITS) == 1
    }

    /// The route with its end after `count` hops, where it is to be continued by way of switch `number`.
    pub(super) fn ended_by_way(self, count: u32, number: u32) -> Route {
        debug_assert!(count <= Self::HOPS_BY_WAY && number < 1 << Self::NUMBER_BITS);
        let end = 1 << Self::NUMBER_BITS | u64::from(number);
        self.ended(count, end << Self::MARK_BITS | Self::BY_WAY)
    }

    /// Whether no hop is left in it, and the switch that the packet has come to chooses between two ways: see
    /// [`Routing::ways`](super::Routing::ways) and [`Routing::chosen`](super::Routing::chosen).
    #[inline]
    #[must_use]
    pub fn is_open(self) -> bool {
        self.0 >> Self::OPEN_BITS == 1
    }

    /// The route with its end after `count` hops, where a switch chooses a way for a packet with this `header`.
    pub(super) fn ended_open(self, count: u32, header: Header) -> Route {
        let (number, phase) = (u64::from(header.via()), u64::from(header.phase()));
        assert!(count <= Self::HOPS_BY_WAY && phase >> Self::PHASE_BITS == 0, "it fits: {header:?}");
        let end = (1 << Self::PHASE_BITS | phase) << Self::NUMBER_BITS | number;
        self.ended(count, end << Self::MARK_BITS | Self::BY_WAY)
    }

    /// The header of a packet for `destination` whose route is open.
    pub(super) fn open_header(self, destination: NodeId) -> Header {
        debug_assert!(self.is_open());
        let above = self.0 >> Self::MARK_BITS;
        let (number, phase) = (above & ((1 << Self::NUMBER_BITS) - 1), above >> Self::NUMBER_BITS);
        let phase = phase & ((1 << Self::PHASE_BITS) - 1);
        Header::to(destination).by_way_of(number as u32).in_phase(phase as u16)
    }

    /// The intermediate switch of a route that is to be continued; 0 where there is none.
    pub(super) fn by_way_of(self) -> u32 {
        debug_assert!(self.is_continued());
        (self.0 >> Self::MARK_BITS & ((1 << Self::NUMBER_BITS) - 1)) as u32
    }
}
