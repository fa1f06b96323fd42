//! Time in half as many bytes: cycles since the *epoch* of a shard, for state that is kept many times.
//!
//! The epoch is moved on from time to time, when nothing depends any more on the time before it, so that a [`Time32`] is never
//! far from it. [`Time`] is what both have, for code that is written once for either.

use crate::Cycle;
use std::fmt::Debug;
use std::ops::{Add, Sub};

/// A cycle, whole or since an epoch.
pub trait Time: Copy + Ord + Debug + Add<u64, Output = Self> + Sub<u64, Output = Self> {
    /// The epoch.
    const ZERO: Self;
    /// Later than all others: not known.
    const NEVER: Self;

    /// That of `cycle`: if it is too far from `epoch`, the first or the last there is, before `NEVER`.
    #[must_use]
    fn of(cycle: Cycle, epoch: Cycle) -> Self;

    /// The cycle that it stands for.
    #[must_use]
    fn cycle(self, epoch: Cycle) -> Cycle;

    /// The span from `earlier` to it, zero if that is not earlier.
    #[must_use]
    fn since(self, earlier: Self) -> u64;

    /// That `span` later, however long it is.
    #[must_use]
    fn later(self, span: u64) -> Self;

    /// It, or `NEVER` if `is_not`; without a branch.
    #[must_use]
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
pub struct Time32(pub u32);

impl Time32 {
    /// That `span` earlier, or the epoch.
    #[inline(always)]
    #[must_use]
    pub fn before(self, span: u64) -> Self {
        Time32(self.0.saturating_sub(span as u32))
    }

    /// The same cycle, counted from an epoch that is `span` later; the epoch itself if it was before.
    #[must_use]
    pub fn moved(self, span: u32) -> Self {
        if self == Time32::NEVER { self } else { Time32(self.0.saturating_sub(span)) }
    }
}

impl Time for Time32 {
    const ZERO: Self = Time32(0);
    const NEVER: Self = Time32(u32::MAX);

    #[inline(always)]
    fn of(cycle: Cycle, epoch: Cycle) -> Self {
        Time32(cycle.since(epoch).min(u64::from(u32::MAX - 1)) as u32)
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
        Time32((u64::from(self.0) + span).min(u32::MAX.into()) as u32)
    }

    #[inline(always)]
    fn or_never(self, is_not: bool) -> Self {
        Time32(self.0 | u32::from(is_not).wrapping_neg())
    }
}

impl Add<u64> for Time32 {
    type Output = Time32;

    #[inline(always)]
    fn add(self, span: u64) -> Time32 {
        Time32(self.0 + span as u32)
    }
}

impl Sub<u64> for Time32 {
    type Output = Time32;

    #[inline(always)]
    fn sub(self, span: u64) -> Time32 {
        Time32(self.0 - span as u32)
    }
}
