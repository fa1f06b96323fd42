//! Time as ports keep it: [`Cycle`]s, or cycles since the *epoch* of the shard in half as many bytes.
//!
//! The epoch is moved on every while, when all that a switch knows of the time before has been dealt with, so that a
//! [`Moment`] is never far from it.

use flitway_engine::Cycle;
use std::fmt::Debug;
use std::ops::{Add, Sub};

/// A cycle, as a port keeps it.
pub(super) trait Time: Copy + Ord + Debug + Add<u64, Output = Self> + Sub<u64, Output = Self> {
    /// The epoch.
    const ZERO: Self;
    /// Later than all others: not known.
    const NEVER: Self;

    /// That of `cycle`: if it is too far from `epoch`, the first or the last there is, before `NEVER`.
    fn of(cycle: Cycle, epoch: Cycle) -> Self;

    /// The cycle that it stands for.
    fn cycle(self, epoch: Cycle) -> Cycle;

    /// The span from `earlier` to it, zero if that is not earlier.
    fn since(self, earlier: Self) -> u64;

    /// That `span` later, however long it is.
    fn later(self, span: u64) -> Self;

    /// It, or `NEVER` if `is_not`; without a branch.
    fn or_never(self, is_not: bool) -> Self;
}

impl Time for Cycle {
    const ZERO: Self = Cycle::ZERO;
    const NEVER: Self = Cycle::NEVER;

    #[inline(always)]
    fn of(cycle: Cycle, _: Cycle) -> Self {
        cycle
    }

    #[inline(always)]
    fn cycle(self, _: Cycle) -> Cycle {
        self
    }

    #[inline(always)]
    fn since(self, earlier: Self) -> u64 {
        Cycle::since(self, earlier)
    }

    #[inline(always)]
    fn later(self, span: u64) -> Self {
        self + span
    }

    #[inline(always)]
    fn or_never(self, is_not: bool) -> Self {
        Cycle(self.0 | u64::from(is_not).wrapping_neg())
    }
}

/// Cycles since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(pub(super) u32);

impl Moment {
    /// That `span` earlier, or the epoch.
    #[inline(always)]
    pub(super) fn before(self, span: u64) -> Self {
        Moment(self.0.saturating_sub(span as u32))
    }

    /// The same cycle, counted from an epoch that is `span` later; the epoch itself if it was before.
    pub(super) fn moved(self, span: u32) -> Self {
        if self == Moment::NEVER { self } else { Moment(self.0.saturating_sub(span)) }
    }
}

impl Time for Moment {
    const ZERO: Self = Moment(0);
    const NEVER: Self = Moment(u32::MAX);

    #[inline(always)]
    fn of(cycle: Cycle, epoch: Cycle) -> Self {
        Moment(cycle.since(epoch).min(u64::from(u32::MAX - 1)) as u32)
    }

    #[inline(always)]
    fn cycle(self, epoch: Cycle) -> Cycle {
        epoch + u64::from(self.0)
    }

    #[inline(always)]
    fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0).into()
    }

    #[inline(always)]
    fn later(self, span: u64) -> Self {
        Moment((u64::from(self.0) + span).min(u32::MAX.into()) as u32)
    }

    #[inline(always)]
    fn or_never(self, is_not: bool) -> Self {
        Moment(self.0 | u32::from(is_not).wrapping_neg())
    }
}

impl Add<u64> for Moment {
    type Output = Moment;

    #[inline(always)]
    fn add(self, span: u64) -> Moment {
        Moment(self.0 + span as u32)
    }
}

impl Sub<u64> for Moment {
    type Output = Moment;

    #[inline(always)]
    fn sub(self, span: u64) -> Moment {
        Moment(self.0 - span as u32)
    }
}
