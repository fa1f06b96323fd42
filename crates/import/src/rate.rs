//! Rates of cables as InfiniBand calls them, and the clock and the flit that give a rate.

use crate::fabric::Rate;
use flitway_machine::{Dimension, units};
use std::cmp::Ordering;

/// The generations of InfiniBand, each with what a lane carries of data, in Gbit/s: the symbol rate without the line code
/// (8b/10b, later 64b/66b).
const LANES: &[(&str, u64, u64)] = &[
    ("SDR", 2, 1),
    ("DDR", 4, 1),
    ("QDR", 8, 1),
    ("FDR10", 10, 1),
    ("FDR", 150, 11),
    ("EDR", 25, 1),
    ("HDR", 50, 1),
    ("NDR", 100, 1),
    ("XDR", 200, 1),
];

/// The rate that a word such as `4xHDR` names.
pub(crate) fn infiniband(word: &str) -> Option<Rate> {
    let (width, name) = word.split_once('x')?;
    let width = width.parse::<u64>().ok().filter(|width| [1, 2, 4, 8, 12].contains(width))?;
    let (_, gigabits, per) = LANES.iter().find(|(lane, ..)| *lane == name)?;
    Some(Rate::new(width * gigabits * 1_000_000_000, *per, word))
}

impl Rate {
    /// `bits` in so many seconds.
    pub(crate) fn new(bits: u64, seconds: u64, label: &str) -> Rate {
        let divisor = greatest_divisor(bits, seconds).max(1);
        Rate { bits: bits / divisor, seconds: seconds / divisor, label: label.to_owned() }
    }

    /// As a graph file has it, to a bit a second.
    pub(crate) fn written(&self) -> String {
        units::format(self.bits / self.seconds, Dimension::BitRate)
    }

    /// In Gbit/s, to a thousandth.
    pub(crate) fn shown(&self) -> String {
        let text = format!("{:.3}", self.bits as f64 / self.seconds as f64 / 1e9);
        format!("{} Gbit/s", text.trim_end_matches('0').trim_end_matches('.'))
    }

    /// Which of two carries more.
    pub(crate) fn compare(&self, other: &Rate) -> Ordering {
        let [mine, others] =
            [(self, other), (other, self)].map(|(a, b)| u128::from(a.bits) * u128::from(b.seconds));
        mine.cmp(&others)
    }

    /// Bytes of the smallest flit, a power of two, with which the clock is at most 2 GHz.
    pub(crate) fn flit(&self) -> u64 {
        const CLOCK_MAX: u64 = 2_000_000_000;
        let fits = |bytes: &u64| self.bits / self.seconds <= bytes * 8 * CLOCK_MAX;
        (0..10).map(|power| 1 << power).find(fits).unwrap_or(1024)
    }

    /// The clock with which flits of `flit` bytes give the rate.
    pub(crate) fn clock(&self, flit: u64) -> String {
        const GIGA: u64 = 1_000_000_000;
        let hertz = Rate::new(self.bits, self.seconds * flit * 8, "");
        if hertz.seconds == 1 {
            let text = format!("{}.{:09}", hertz.bits / GIGA, hertz.bits % GIGA);
            return format!("{} GHz", text.trim_end_matches('0').trim_end_matches('.'));
        }
        let fraction = Rate::new(hertz.bits, hertz.seconds * GIGA, "");
        format!("{}/{} GHz", fraction.bits, fraction.seconds)
    }
}

fn greatest_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_give_their_rate_and_a_clock() {
        for (word, rate, flit, clock) in [
            ("4xSDR", "8 Gbit/s", 1, "1 GHz"),
            ("4xQDR", "32 Gbit/s", 2, "2 GHz"),
            ("4xFDR", "54.545 Gbit/s", 4, "75/44 GHz"),
            ("4xEDR", "100 Gbit/s", 8, "1.5625 GHz"),
            ("2xHDR", "100 Gbit/s", 8, "1.5625 GHz"),
            ("4xNDR", "400 Gbit/s", 32, "1.5625 GHz"),
            ("4xXDR", "800 Gbit/s", 64, "1.5625 GHz"),
        ] {
            let found = infiniband(word).unwrap();
            assert_eq!(
                (found.shown().as_str(), found.flit(), found.clock(flit).as_str()),
                (rate, flit, clock)
            );
        }
        for word in ["4x", "x", "3xHDR", "4xABC", "HDR", ""] {
            assert_eq!(infiniband(word), None, "{word}");
        }
    }
}
