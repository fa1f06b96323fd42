//! Masks of ports, of virtual channels, of whatever has a number below 64.

/// The positions of the ones in `mask`.
#[inline]
pub fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then_some(mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(bit)
    })
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
