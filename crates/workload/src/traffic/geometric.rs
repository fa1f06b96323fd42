//! Geometric gaps by integer arithmetic.
//!
//! The number `K` of failures before the first success, `P(K = k) = p q^k`, has **independent binary digits**: writing
//! `k` in binary factors `q^k` over its digits, so digit `j` is one with probability `q^(2^j) / (1 + q^(2^j))`. Those
//! probabilities are 64-bit thresholds, made once by squaring and dividing integers; a draw compares one random word
//! for each digit that can matter (some ten for `p` near 1/1,000).

use crate::fraction::FIXED_ONE;
use flitway_engine::random::Stream;

/// Draws the number of failures before a success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Geometric {
    /// Threshold of each binary digit, the lowest first.
    digits: Box<[u64]>,
}

impl Geometric {
    /// With probability of success `success`, in 64-bit fixed point, above zero and at most one.
    pub(super) fn new(success: u128) -> Self {
        debug_assert!(success > 0 && success <= FIXED_ONE);
        let mut digits = Vec::new();
        // q^(2^j), below one, rounded to nearest.
        let mut power = FIXED_ONE - success.clamp(1, FIXED_ONE);
        // 62 digits hold every gap that fits a cycle number.
        while power > 0 && digits.len() < 62 {
            digits.push(((power << 64) / (FIXED_ONE + power)) as u64);
            power = (power * power + (1 << 63)) >> 64;
        }
        Geometric { digits: digits.into() }
    }

    /// The number of failures before the next success.
    #[inline]
    pub(super) fn draw(&self, stream: &mut Stream) -> u64 {
        let mut failures = 0;
        for (digit, &threshold) in self.digits.iter().enumerate() {
            failures |= u64::from(stream.bits() < threshold) << digit;
        }
        failures
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
    fn certain_success_never_fails_and_the_rarest_fits() {
        let mut stream = Stream::new(1, 0, Purpose::Test);
        let certain = Geometric::new(FIXED_ONE);
        assert!((0..100).all(|_| certain.draw(&mut stream) == 0));
        let rare = Geometric::new(1);
        assert!((0..100).all(|_| rare.draw(&mut stream) < 1 << 62));
    }
}
