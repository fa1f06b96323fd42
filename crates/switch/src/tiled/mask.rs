//! Sets of rows or of columns: a word where there are up to 64 of both, as on most chips, and several words on others.

use flitway_fabric::arbiter::{ArbiterBank, ArbiterKind, WideBank};
use flitway_fabric::bits::{WideMask, bits};
use std::fmt::Debug;

/// A set of rows or of columns, and the arbiters among them.
pub(super) trait Mask: Copy + Debug + Send + 'static {
    /// None.
    const NONE: Self;

    type Bank: Debug + Send;

    /// So many arbiters over so many inputs.
    fn bank(kind: ArbiterKind, arbiters: usize, inputs: usize) -> Self::Bank;

    /// Grants one of these requests, of which there are some, at `arbiter`.
    fn grant(self, bank: &mut Self::Bank, arbiter: usize) -> usize;

    /// Grants the request of `place`, the only one, at `arbiter`.
    fn grant_only(bank: &mut Self::Bank, arbiter: usize, place: usize);

    fn insert(&mut self, place: usize);

    fn remove(&mut self, place: usize);

    fn has(self, place: usize) -> bool;

    fn is_empty(self) -> bool;

    /// Whether some are in both.
    fn meets(self, other: Self) -> bool;

    fn places(self) -> impl Iterator<Item = usize>;

    /// Those of them, some, whose packets entered the network first.
    fn oldest<T: Ord + Copy>(self, injected: impl Fn(usize) -> T) -> Self {
        let first = self.places().map(&injected).min();
        let mut oldest = Self::NONE;
        let is_oldest = |place: &usize| Some(injected(*place)) == first;
        self.places().filter(is_oldest).for_each(|place| oldest.insert(place));
        oldest
    }
}

impl Mask for u64 {
    const NONE: Self = 0;

    type Bank = ArbiterBank;

    fn bank(kind: ArbiterKind, arbiters: usize, inputs: usize) -> ArbiterBank {
        ArbiterBank::new(kind, arbiters, inputs)
    }

    #[inline(always)]
    fn grant(self, bank: &mut ArbiterBank, arbiter: usize) -> usize {
        bank.grant(arbiter, self)
    }

    #[inline(always)]
    fn grant_only(bank: &mut ArbiterBank, arbiter: usize, place: usize) {
        bank.grant_only(arbiter, place);
    }

    #[inline(always)]
    fn insert(&mut self, place: usize) {
        *self |= 1 << place;
    }

    #[inline(always)]
    fn remove(&mut self, place: usize) {
        *self &= !(1 << place);
    }

    #[inline(always)]
    fn has(self, place: usize) -> bool {
        self >> place & 1 != 0
    }

    #[inline(always)]
    fn is_empty(self) -> bool {
        self == 0
    }

    #[inline(always)]
    fn meets(self, other: Self) -> bool {
        self & other != 0
    }

    #[inline(always)]
    fn places(self) -> impl Iterator<Item = usize> {
        bits(self)
    }
}

impl Mask for WideMask {
    const NONE: Self = WideMask::NONE;

    type Bank = WideBank;

    fn bank(kind: ArbiterKind, arbiters: usize, inputs: usize) -> WideBank {
        WideBank::new(kind, arbiters, inputs)
    }

    fn grant(self, bank: &mut WideBank, arbiter: usize) -> usize {
        bank.grant(arbiter, self)
    }

    fn grant_only(bank: &mut WideBank, arbiter: usize, place: usize) {
        bank.grant_only(arbiter, place);
    }

    fn insert(&mut self, place: usize) {
        self.insert(place);
    }

    fn remove(&mut self, place: usize) {
        self.remove(place);
    }

    fn has(self, place: usize) -> bool {
        self.has(place)
    }

    fn is_empty(self) -> bool {
        self.is_empty()
    }

    fn meets(self, other: Self) -> bool {
        self.meets(other)
    }

    fn places(self) -> impl Iterator<Item = usize> {
        self.iter()
    }
}
