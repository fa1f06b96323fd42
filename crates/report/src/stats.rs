//! The statistics of a steady-state simulation: where the warm-up ends, and how far a mean can be trusted.
//!
//! A run is cut into batches of equal length, and each batch gives one number (say, the mean latency of the packets
//! delivered in it).
//!
//! * **Warm-up**: MSER (White, *Simulation* 69(6), 1997): of all prefixes up to half of the batches, the one is cut off
//!   that leaves the smallest standard error of the mean. If that is a quarter of them or more, the series has not settled.
//! * **Trend**: Mann (*Econometrica* 13(3), 1945): of how many pairs of batches the later one is the larger. What chance
//!   gives often enough is none; how often, says who asks.
//! * **Confidence**: batch means with Student's t. Neighbouring batches are first joined until their lag-1
//!   autocorrelation is no longer significant, and so before a trend is looked for. What is left of it, and what an estimate
//!   from so few misses of it, widens the interval as if it were that of a first-order autoregressive process.

/// Mean and half-width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half of the width of the interval; infinite when there are too few batches to tell.
    pub half_width: f64,
}

impl Estimate {
    /// Whether the interval is within `precision` (a fraction) of the mean on either side.
    #[must_use]
    pub fn is_within(&self, precision: f64) -> bool {
        self.half_width <= precision * self.mean.abs()
    }
}

/// The most of a series that may be warm-up: near saturation queues fill slowly, and a series that is not several times
/// as long still holds some of that.
const WARM_UP_SHARE: usize = 4;

/// The most batches of `count` that may be warm-up.
#[must_use]
pub fn warm_up_limit(count: usize) -> usize {
    count / WARM_UP_SHARE
}

/// The number of batches to cut off as warm-up; `None` while the series has not settled.
#[must_use]
pub fn warm_up(batches: &[f64]) -> Option<usize> {
    let limit = warm_up_limit(batches.len());
    // Sums over suffixes, from the end, so that every prefix is judged in one pass.
    let (mut sum, mut squares, mut best) = (0.0, 0.0, (f64::INFINITY, limit));
    for start in (0..batches.len()).rev() {
        sum += batches[start];
        squares += batches[start] * batches[start];
        let count = (batches.len() - start) as f64;
        let error = (squares - sum * sum / count).max(0.0) / (count * count);
        if start <= batches.len() / 2 && error <= best.0 {
            best = (error, start);
        }
    }
    (best.1 < limit).then_some(best.1)
}

/// The fewest joined batches from which an interval is made.
pub const BATCHES_MIN: usize = 10;

/// Mean and confidence interval of a settled series of batches of equal weight.
#[must_use]
pub fn estimate(batches: &[f64]) -> Estimate {
    let joined = join(batches);
    let count = joined.len() as f64;
    let mean = batches.iter().sum::<f64>() / batches.len() as f64;
    if joined.len() < BATCHES_MIN {
        return Estimate { mean, half_width: f64::INFINITY };
    }
    let centre = joined.iter().sum::<f64>() / count;
    let variance = joined.iter().map(|batch| (batch - centre).powi(2)).sum::<f64>() / (count - 1.0);
    // An estimate of the autocorrelation is too small by about one part in the number of batches.
    let left = (autocorrelation(&joined) + 1.0 / count).clamp(0.0, AUTOCORRELATION_MAX);
    let widened = variance * (1.0 + left) / (1.0 - left);
    Estimate { mean, half_width: student_95(joined.len() - 1) * (widened / count).sqrt() }
}

/// The most that an interval is widened for: beyond that it is a trend.
const AUTOCORRELATION_MAX: f64 = 0.9;

/// By how much the second half of a series of batches of equal weight lies above the first, as a fraction of its mean, if it
/// has a trend that is more than so many `deviations` of chance, and 0 otherwise.
#[must_use]
pub fn trend(batches: &[f64], deviations: f64) -> f64 {
    let joined = join(batches);
    if joined.len() < BATCHES_MIN {
        return 0.0;
    }
    let signs = joined.iter().enumerate().flat_map(|(place, earlier)| {
        joined[place + 1..]
            .iter()
            .map(move |later| f64::from(i8::from(later > earlier) - i8::from(later < earlier)))
    });
    let (score, count) = (signs.sum::<f64>(), joined.len() as f64);
    let deviation = (count * (count - 1.0) * (2.0 * count + 5.0) / 18.0).sqrt();
    if score.abs() <= deviations * deviation {
        return 0.0;
    }
    let mean = |batches: &[f64]| batches.iter().sum::<f64>() / batches.len() as f64;
    let (first, second) = joined.split_at(joined.len() / 2);
    (mean(second) - mean(first)) / mean(&joined)
}

/// Deviations that chance has once in ten thousand times, on either side.
pub const ONE_IN_TEN_THOUSAND: f64 = 3.89;

/// Joins neighbours until they are no longer correlated, or would be too few.
fn join(batches: &[f64]) -> Vec<f64> {
    let mut joined = batches.to_vec();
    while joined.len() >= 2 * BATCHES_MIN && is_correlated(&joined) {
        joined = joined.chunks_exact(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect();
    }
    joined
}

/// Whether the lag-1 autocorrelation is significantly positive: above 1.65 standard errors (one-sided 95 %).
fn is_correlated(series: &[f64]) -> bool {
    autocorrelation(series) > 1.65 / (series.len() as f64).sqrt()
}

/// The lag-1 autocorrelation, 0 of a series that does not vary.
fn autocorrelation(series: &[f64]) -> f64 {
    let mean = series.iter().sum::<f64>() / series.len() as f64;
    let variance: f64 = series.iter().map(|value| (value - mean).powi(2)).sum();
    let covariance: f64 = series.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if variance > 0.0 { covariance / variance } else { 0.0 }
}

/// The mean of `values` that have nothing to do with each other, and its 95 % confidence interval.
///
/// # Panics
/// If there is no value.
#[must_use]
pub fn independent(values: &[f64]) -> Estimate {
    assert!(!values.is_empty(), "a mean is one of some values");
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if values.len() == 1 {
        return Estimate { mean, half_width: f64::INFINITY };
    }
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    Estimate { mean, half_width: student_95(values.len() - 1) * (variance / count).sqrt() }
}

/// The two-sided 95 % quantile of Student's t. Between the entries of the usual table the next smaller number of
/// degrees of freedom is taken, which widens the interval a little.
fn student_95(freedom: usize) -> f64 {
    const TABLE: [(usize, f64); 34] = [
        (1, 12.706),
        (2, 4.303),
        (3, 3.182),
        (4, 2.776),
        (5, 2.571),
        (6, 2.447),
        (7, 2.365),
        (8, 2.306),
        (9, 2.262),
        (10, 2.228),
        (11, 2.201),
        (12, 2.179),
        (13, 2.160),
        (14, 2.145),
        (15, 2.131),
        (16, 2.120),
        (17, 2.110),
        (18, 2.101),
        (19, 2.093),
        (20, 2.086),
        (21, 2.080),
        (22, 2.074),
        (23, 2.069),
        (24, 2.064),
        (25, 2.060),
        (26, 2.056),
        (27, 2.052),
        (28, 2.048),
        (29, 2.045),
        (30, 2.042),
        (40, 2.021),
        (60, 2.000),
        (120, 1.980),
        (1_000, 1.962),
    ];
    TABLE.iter().rev().find(|&&(entry, _)| entry <= freedom).map_or(f64::INFINITY, |&(_, quantile)| quantile)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_engine::random::{Purpose, Stream};

    /// A sum of uniform numbers: mean 0, variance 1.
    fn noise(stream: &mut Stream) -> f64 {
        (0..12).map(|_| stream.bits() as f64 / 2f64.powi(64)).sum::<f64>() - 6.0
    }

    #[test]
    fn the_warm_up_of_a_decaying_start_is_cut_off() {
        let mut stream = Stream::new(3, 0, Purpose::Test);
        let series: Vec<f64> =
            (0..100).map(|i| 50.0 + 40.0 * (-f64::from(i) / 5.0).exp() + noise(&mut stream)).collect();
        let cut = warm_up(&series).unwrap();
        assert!((10..40).contains(&cut), "{cut}");
        let steady: Vec<f64> = (0..100).map(|_| 50.0 + noise(&mut stream)).collect();
        assert!(warm_up(&steady).unwrap() < 40);
    }

    #[test]
    fn a_growing_series_never_settles() {
        let series: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(warm_up(&series), None);
    }

    #[test]
    fn a_trend_is_found_where_there_is_one() {
        let (mut found, mut imagined) = (0, 0);
        for seed in 0..1_000 {
            let mut stream = Stream::new(seed, 3, Purpose::Test);
            let growing: Vec<f64> = (0..50).map(|i| 10.0 + f64::from(i) / 5.0 + noise(&mut stream)).collect();
            found += u32::from(trend(&growing, ONE_IN_TEN_THOUSAND) > 0.1);
            let mut state = 0.0;
            let correlated = (0..50).map(|_| {
                state = 0.5 * state + noise(&mut stream);
                10.0 + state
            });
            imagined += u32::from(trend(&correlated.collect::<Vec<_>>(), ONE_IN_TEN_THOUSAND) != 0.0);
        }
        assert!(found >= 950 && imagined <= 5, "{found} and {imagined} of 1000");
        assert!(trend(&(0..50).map(|i| -f64::from(i) - 1.0).collect::<Vec<_>>(), ONE_IN_TEN_THOUSAND) > 0.9);
        assert_eq!(trend(&[1.0, 2.0, 3.0], ONE_IN_TEN_THOUSAND), 0.0);
    }

    #[test]
    fn the_interval_covers_the_true_mean_as_often_as_it_says() {
        let mut covered = 0;
        for seed in 0..1_000 {
            let mut stream = Stream::new(seed, 1, Purpose::Test);
            let series: Vec<f64> = (0..32).map(|_| 10.0 + noise(&mut stream)).collect();
            let estimate = estimate(&series);
            covered += u32::from((estimate.mean - 10.0).abs() <= estimate.half_width);
        }
        // 950 expected, standard deviation 7; joining batches that are correlated by chance only widens intervals.
        assert!((925..=985).contains(&covered), "{covered} of 1000");
    }

    #[test]
    fn correlated_batches_are_joined_until_the_interval_is_honest() {
        let mut covered = 0;
        for seed in 0..500 {
            let mut stream = Stream::new(seed, 2, Purpose::Test);
            let mut state = 0.0;
            let series: Vec<f64> = (0..512)
                .map(|_| {
                    state = 0.8 * state + noise(&mut stream);
                    10.0 + state
                })
                .collect();
            let estimate = estimate(&series);
            covered += u32::from((estimate.mean - 10.0).abs() <= estimate.half_width);
        }
        // Without joining it would be about 320 of 500.
        assert!(covered >= 450, "{covered} of 500");
    }

    #[test]
    fn too_few_batches_give_no_interval() {
        assert_eq!(estimate(&[1.0; 5]).half_width, f64::INFINITY);
        assert_eq!(estimate(&[2.0; 12]), Estimate { mean: 2.0, half_width: 0.0 });
    }
}
