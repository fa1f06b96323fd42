//! Histograms of latencies.

use hdrhistogram::Histogram;

/// Latencies in cycles, exact to three significant digits.
pub type Latencies = Histogram<u32>;

/// An empty histogram of latencies.
#[must_use]
pub fn latencies() -> Latencies {
    Histogram::new(3).expect("three significant digits are allowed")
}

/// How many latencies there are of each of those that a histogram of three digits keeps apart in any case. To count them takes
/// less time than to record them.
#[derive(Clone, Debug)]
pub(crate) struct Short(Box<[u32]>);

impl Default for Short {
    fn default() -> Self {
        Short(vec![0; 2_000].into())
    }
}

impl Short {
    /// Takes in a latency, or records it.
    #[inline]
    pub(crate) fn record(&mut self, latency: u64, latencies: &mut Latencies) {
        match self.0.get_mut(latency as usize) {
            Some(count) => *count = count.saturating_add(1),
            None => record(latencies, latency, 1),
        }
    }

    /// Records what has been taken in.
    pub(crate) fn enter(&mut self, latencies: &mut Latencies) {
        for (latency, count) in self.0.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
            record(latencies, latency as u64, std::mem::take(count));
        }
    }
}

/// Records so many packets of one latency.
#[inline(never)]
pub(crate) fn record(latencies: &mut Latencies, latency: u64, count: u32) {
    latencies.record_n(latency, count).expect("a histogram that grows as needed takes any latency");
}
