//! Numbers that wrap around: of packets, and of flits returned.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The number of a packet on its channel, modulo 2^b.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sequence(pub u16);

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How a link numbers its packets and counts its flits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetrySettings {
    /// W: packets that may be sent and not acknowledged.
    pub window: u32,
    /// b: bits of a sequence number, at most 16.
    pub sequence_bits: u32,
    /// w: bits of a count of flits returned, at most 16.
    pub count_bits: u32,
    /// Flits for which one VC may have credits at most: all that it can have of the receiver's buffer.
    pub flits_max: u32,
}

/// Why a link cannot be run so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryError {
    /// No packet may be sent.
    NoWindow,
    /// Sequence numbers have no bits, or more than 16.
    SequenceBits(u32),
    /// Counts have no bits, or more than 16.
    CountBits(u32),
    /// The window is larger than this, the largest for its sequence numbers.
    WindowTooLarge(u32),
    /// One VC may have more flits than this, the most that its counts tell apart.
    CountTooNarrow(u32),
}

impl fmt::Display for RetryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RetryError::NoWindow => write!(f, "a window of no packets sends nothing"),
            RetryError::SequenceBits(bits) => write!(f, "sequence numbers have 1 to 16 bits, not {bits}"),
            RetryError::CountBits(bits) => write!(f, "counts of flits have 1 to 16 bits, not {bits}"),
            RetryError::WindowTooLarge(most) => {
                write!(f, "sequence numbers of so many bits carry a window of at most {most} packets")
            }
            RetryError::CountTooNarrow(most) => {
                write!(f, "counts of so many bits return the credits of at most {most} flits")
            }
        }
    }
}

impl std::error::Error for RetryError {}

/// What both ends of a link know of its numbers: checked settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    window: u16,
    sequence_mask: u16,
    count_mask: u16,
}

impl RetrySettings {
    /// Checks them (rules 1 and 8).
    ///
    /// # Errors
    /// Says the first thing that is wrong.
    pub fn numbers(&self) -> Result<Numbers, RetryError> {
        let mask = |bits: u32| (1..=16).contains(&bits).then(|| u16::MAX >> (16 - bits));
        let sequence_mask = mask(self.sequence_bits).ok_or(RetryError::SequenceBits(self.sequence_bits))?;
        let count_mask = mask(self.count_bits).ok_or(RetryError::CountBits(self.count_bits))?;
        if self.window == 0 {
            return Err(RetryError::NoWindow);
        }
        let too_large = RetryError::WindowTooLarge(sequence_mask.into());
        let window = u16::try_from(self.window).map_err(|_| too_large)?;
        if window > sequence_mask {
            return Err(too_large);
        }
        if self.flits_max > count_mask.into() {
            return Err(RetryError::CountTooNarrow(count_mask.into()));
        }
        Ok(Numbers { window, sequence_mask, count_mask })
    }

    /// Whether packets behind a gap are told from duplicates, so that each gap is found by the next packet (rule 1).
    #[must_use]
    pub fn finds_gaps(&self) -> bool {
        u64::from(self.window) * 2 <= 1_u64 << self.sequence_bits.min(32)
    }
}

impl Numbers {
    /// W.
    #[inline]
    #[must_use]
    pub const fn window(&self) -> u32 {
        self.window as u32
    }

    /// The number so many packets after `sequence`.
    #[inline]
    #[must_use]
    pub const fn after(&self, sequence: Sequence, packets: u16) -> Sequence {
        Sequence(sequence.0.wrapping_add(packets) & self.sequence_mask)
    }

    /// How many packets `later` is after `earlier`, modulo 2^b.
    #[inline]
    #[must_use]
    pub const fn since(&self, later: Sequence, earlier: Sequence) -> u16 {
        later.0.wrapping_sub(earlier.0) & self.sequence_mask
    }

    /// Whether `sequence` is one of the W before `expected`.
    #[inline]
    pub(super) const fn is_before(&self, sequence: Sequence, expected: Sequence) -> bool {
        let behind = self.since(expected, sequence);
        behind != 0 && behind <= self.window
    }

    /// A count of flits that moves on.
    #[inline]
    pub(super) fn count(&self, before: u16, flits: u32) -> u16 {
        debug_assert!(
            flits <= u32::from(self.count_mask),
            "a VC holds fewer flits than its count tells apart"
        );
        before.wrapping_add(flits as u16) & self.count_mask
    }

    /// How many flits the count `now` is ahead of `before`.
    #[inline]
    pub(super) const fn counted(&self, now: u16, before: u16) -> u32 {
        (now.wrapping_sub(before) & self.count_mask) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(window: u32, sequence_bits: u32) -> RetrySettings {
        RetrySettings { window, sequence_bits, count_bits: 4, flits_max: 15 }
    }

    #[test]
    fn windows_are_smaller_than_the_sequence_space() {
        for bits in 1..=16 {
            let most = (1 << bits) - 1;
            assert_eq!(settings(most, bits).numbers().map(|numbers| numbers.window()), Ok(most));
            for window in [most + 1, most + 2, u32::MAX] {
                let error = Err(RetryError::WindowTooLarge(most));
                assert_eq!(settings(window, bits).numbers(), error, "{window} with {bits} bits");
            }
            assert!(settings(1 << (bits - 1), bits).finds_gaps());
            assert!(!settings((1 << (bits - 1)) + 1, bits).finds_gaps());
        }
        assert_eq!(settings(0, 3).numbers(), Err(RetryError::NoWindow));
        for bits in [0, 17, u32::MAX] {
            assert_eq!(settings(1, bits).numbers(), Err(RetryError::SequenceBits(bits)));
        }
    }

    #[test]
    fn counts_tell_apart_all_flits_that_can_be_outstanding() {
        let with =
            |count_bits, flits_max| RetrySettings { count_bits, flits_max, ..settings(1, 1) }.numbers();
        assert!(with(4, 15).is_ok() && with(16, 65_535).is_ok());
        assert_eq!(with(4, 16), Err(RetryError::CountTooNarrow(15)));
        assert_eq!(with(17, 1), Err(RetryError::CountBits(17)));
    }

    #[test]
    fn numbers_wrap_around() {
        for bits in [1, 3, 16] {
            let numbers = settings(1, bits).numbers().expect("they are right");
            let last = Sequence(u16::MAX >> (16 - bits));
            assert_eq!(numbers.after(last, 1), Sequence(0));
            assert_eq!(numbers.since(Sequence(0), last), 1);
            assert_eq!(numbers.since(last, Sequence(0)), last.0);
        }
        let numbers = settings(1, 1).numbers().expect("they are right");
        assert_eq!((numbers.count(14, 15), numbers.counted(13, 14)), (13, 15));
    }
}
