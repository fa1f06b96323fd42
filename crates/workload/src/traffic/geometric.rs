//! Geometric gaps by integer arithmetic.
//!
//! The number `K` of failures before the first success, `P(K = k) = p q^k`, has **independent binary digits**: writing
//! `k` in binary factors `q^k` over its digits, so digit `j` is one with probability `q^(2^j) / (1 + q^(2^j))`. Those
//! probabilities are 64-bit fractions, made once by squaring and dividing integers. Six digits at a time are drawn by the
//! alias method (A. J. Walker, 1977; M. D. Vose, 1991), with one random word: two or three for a gap.

use crate::fraction::FIXED_ONE;
use flitway_engine::random::Stream;

/// Digits of a group.
const DIGITS: u32 = 6;
/// Values of a group, and columns of its table.
const VALUES: usize = 1 << DIGITS;
/// What a column holds of one, in 64-bit fixed point.
const CAPACITY: u64 = 1 << (64 - DIGITS);

/// Draws the number of failures before a success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Geometric {
    /// The lowest digits first.
    groups: Box<[Group]>,
}

impl Geometric {
    /// With probability of success `success`, in 64-bit fixed point, above zero and at most one.
    pub(super) fn new(success: u128) -> Self {
        debug_assert!(success > 0 && success <= FIXED_ONE);
        let mut digits: Vec<u128> = Vec::new();
        // q^(2^j), below one, rounded to nearest.
        let mut power = FIXED_ONE - success.clamp(1, FIXED_ONE);
        // 62 digits hold every gap that fits a cycle number.
        while power > 0 && digits.len() < 62 {
            digits.push((power << 64) / (FIXED_ONE + power));
            power = (power * power + (1 << 63)) >> 64;
        }
        Geometric {
            groups: digits.chunks(DIGITS as usize).map(|digits| Group::new(weights(digits))).collect(),
        }
    }

    /// The number of failures before the next success.
    #[inline]
    pub(super) fn draw(&self, stream: &mut Stream) -> u64 {
        let groups = self.groups.iter().rev();
        groups.fold(0, |failures, group| failures << DIGITS | u64::from(group.draw(stream)))
    }
}

/// The probability of each value of a group, given that of a one for each of its digits, in 64-bit fixed point.
fn weights(digits: &[u128]) -> [u128; VALUES] {
    let mut weights = [0; VALUES];
    weights[0] = FIXED_ONE;
    for (digit, one) in digits.iter().enumerate() {
        for value in 0..1 << digit {
            let with = (weights[value] * one) >> 64;
            weights[value | 1 << digit] = with;
            weights[value] -= with;
        }
    }
    weights
}

/// Draws a few digits at once. A random word picks a column, all of which are equally likely, and then one of the two values
/// that share it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    columns: [Column; VALUES],
}

/// The column of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Column {
    /// How much of the column is the value's own; the rest is that of `other`.
    own: u64,
    other: u8,
}

impl Group {
    /// Of these probabilities in 64-bit fixed point, whose sum is one.
    fn new(mut weights: [u128; VALUES]) -> Self {
        let capacity = u128::from(CAPACITY);
        let mut columns = [Column { own: CAPACITY, other: 0 }; VALUES];
        let (mut light, mut heavy): (Vec<usize>, Vec<usize>) =
            (0..VALUES).partition(|&value| weights[value] < capacity);
        while let Some(value) = light.pop() {
            let other = *heavy.last().expect("a sum of one fills all columns");
            columns[value] = Column { own: weights[value] as u64, other: other as u8 };
            weights[other] -= capacity - weights[value];
            if weights[other] < capacity {
                heavy.pop();
                light.push(other);
            }
        }
        Group { columns }
    }

    #[inline]
    fn draw(&self, stream: &mut Stream) -> u8 {
        let bits = stream.bits();
        let value = (bits >> (64 - DIGITS)) as usize;
        let column = &self.columns[value];
        if bits % CAPACITY < column.own { value as u8 } else { column.other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fraction::fixed_point;
    use flitway_engine::random::Purpose;

    #[test]
    fn mean_variance_and_distribution_are_those_of_the_theory() {
        for (above, below) in [(1u128, 2u128), (9, 10), (1, 3), (1, 25), (1, 1_000)] {
            let p = above as f64 / below as f64;
            let geometric = Geometric::new(fixed_point(above, below));
            let mut stream = Stream::new(3, below as u64, Purpose::Test);
            let draws = 200_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            let mut counts = [0u32; 12];
            for _ in 0..draws {
                let failures = geometric.draw(&mut stream);
                sum += failures as f64;
                squares += (failures * failures) as f64;
                counts[failures.min(11) as usize] += 1;
            }
            let mean = sum / f64::from(draws);
            let variance = squares / f64::from(draws) - mean * mean;
            let (mean_theory, variance_theory) = ((1.0 - p) / p, (1.0 - p) / (p * p));
            let wide = 5.0 * (variance_theory / f64::from(draws)).sqrt();
            assert!((mean - mean_theory).abs() < wide, "p = {p}: mean {mean}");
            assert!((variance / variance_theory - 1.0).abs() < 0.05, "p = {p}: variance {variance}");
            // Chi square of 12 classes: above 31 in one of a thousand seeds.
            let mut chi = 0.0;
            for (k, &count) in counts.iter().enumerate() {
                let q = (1.0 - p).powi(k as i32);
                let expected = f64::from(draws) * if k < 11 { p * q } else { q };
                if expected > 5.0 {
                    chi += (f64::from(count) - expected).powi(2) / expected;
                }
            }
            assert!(chi < 31.0, "p = {p}: chi square {chi}");
        }
    }

    #[test]
    fn columns_hold_each_value_with_its_weight_to_the_last_bit() {
        for (above, below) in [(1, 2), (9, 10), (1, 25), (1, 1_000), (1, 1_000_000)] {
            let power = FIXED_ONE - fixed_point(above, below);
            let one = (power << 64) / (FIXED_ONE + power);
            let weights = weights(&[one, FIXED_ONE / 3, one / 2, 0, FIXED_ONE - 1]);
            assert_eq!(weights.iter().sum::<u128>(), FIXED_ONE);
            let mut held = [0; VALUES];
            for (value, column) in Group::new(weights).columns.iter().enumerate() {
                held[value] += u128::from(column.own);
                held[usize::from(column.other)] += u128::from(CAPACITY - column.own);
            }
            assert_eq!(held, weights);
        }
    }

    #[test]
    fn certain_success_never_fails_and_the_rarest_fits() {
        let mut stream = Stream::new(1, 0, Purpose::Test);
        let certain = Geometric::new(FIXED_ONE);
        assert!((0..100).all(|_| certain.draw(&mut stream) == 0));
        let rare = Geometric::new(1);
        assert!((0..100).all(|_| rare.draw(&mut stream) < 1 << 62));
    }
}
