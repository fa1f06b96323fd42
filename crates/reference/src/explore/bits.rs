//! Numbers of states, put together bit by bit.

/// A number and how many bits it has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits {
    pub(crate) value: u128,
    pub(crate) width: usize,
}

impl Bits {
    /// No bits.
    pub(crate) const NONE: Bits = Bits { value: 0, width: 0 };

    pub(crate) fn push(&mut self, value: u32, width: usize) {
        self.append(Bits { value: u128::from(value), width });
    }

    /// Puts more bits below.
    pub(crate) fn append(&mut self, more: Bits) {
        debug_assert!(self.width + more.width <= 128 && more.value >> more.width == 0);
        self.value = self.value << more.width | more.value;
        self.width += more.width;
    }

    /// Takes the highest bits.
    pub(crate) fn pull(&mut self, width: usize) -> u32 {
        self.width -= width;
        let value = self.value >> self.width;
        self.value &= (1 << self.width) - 1;
        value as u32
    }
}
