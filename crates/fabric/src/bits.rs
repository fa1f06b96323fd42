//! Masks of ports, of virtual channels, of whatever has a number below 64; and wider ones.

/// The positions of the ones in `mask`.
#[inline]
pub fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then_some(mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(bit)
    })
}

/// A mask of numbers below 512.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WideMask([u64; 8]);

impl WideMask {
    /// None.
    pub const NONE: Self = WideMask([0; 8]);

    /// Numbers that it can hold.
    pub const BITS: usize = 512;

    /// Puts `number` in.
    pub fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    /// Takes `number` out.
    pub fn remove(&mut self, number: usize) {
        self.0[number / 64] &= !(1 << (number % 64));
    }

    /// Whether `number` is in it.
    #[must_use]
    pub fn has(self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 != 0
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == [0; 8]
    }

    /// Whether something is in both.
    #[must_use]
    pub fn meets(self, other: Self) -> bool {
        self.0.iter().zip(&other.0).any(|(one, other)| one & other != 0)
    }

    /// The numbers in it, in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(word, mask)| bits(mask).map(move |bit| 64 * word + bit))
    }
}

/// A set of small numbers.
#[derive(Debug)]
pub struct BitSet(Box<[u64]>);

impl BitSet {
    /// The empty set, for numbers below `bound`.
    pub fn new(bound: usize) -> Self {
        BitSet(vec![0; bound.div_ceil(64)].into())
    }

    /// Puts `number` in.
    #[inline(always)]
    pub fn insert(&mut self, number: u32) {
        self.0[number as usize / 64] |= 1 << (number % 64);
    }

    /// Takes `number` out.
    #[inline]
    pub fn remove(&mut self, number: u32) {
        self.0[number as usize / 64] &= !(1 << (number % 64));
    }

    /// Puts the numbers that are in it into `list`, in order.
    pub fn collect(&self, list: &mut Vec<u32>) {
        list.clear();
        for (word, &mask) in (0..).zip(&self.0) {
            list.extend(bits(mask).map(|bit| word * 64 + bit as u32));
        }
    }
}
