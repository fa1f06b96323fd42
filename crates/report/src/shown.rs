//! Numbers as people are shown them, on the terminal and on the page.

/// A load with `decimals` decimals, and more if it is so small that they would leave few digits or none.
#[must_use]
pub fn load(load: f64, decimals: usize) -> String {
    let usual = format!("{load:.decimals$}");
    if load <= 0.0 || load * 10_f64.powi(decimals as i32) >= 10.0 {
        return usual;
    }
    // Three significant digits, without the zeros at their end that are not usual.
    let more = format!("{load:.0$}", (2 - load.log10().floor() as i32).clamp(0, 20) as usize);
    let shown = more.trim_end_matches('0');
    if shown.len() > usual.len() { shown.to_owned() } else { usual }
}

/// A unit of time, for numbers that are shown together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    name: &'static str,
    nanos: f64,
    /// So many that the largest number has four digits.
    decimals: usize,
}

impl Unit {
    /// The unit in which the `largest` of some numbers, in nanoseconds, has one to three digits before its point.
    #[must_use]
    pub fn of(largest: f64) -> Self {
        const UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
        let fits = |(_, nanos): &&(&str, f64)| largest >= *nanos;
        let &(name, nanos) = UNITS.iter().rfind(fits).unwrap_or(&UNITS[0]);
        let digits = (largest / nanos).max(1.0).log10().floor() as i32 + 1;
        Unit { name, nanos, decimals: (4 - digits).clamp(0, 3) as usize }
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.name
    }

    /// So many nanoseconds as a number of it.
    #[must_use]
    pub fn of_nanos(self, nanos: f64) -> f64 {
        nanos / self.nanos
    }

    /// So many nanoseconds in it, without its name.
    #[must_use]
    pub fn number(self, nanos: f64) -> String {
        format!("{:.*}", self.decimals, nanos / self.nanos)
    }

    /// The same with its name.
    #[must_use]
    pub fn with(self, nanos: f64) -> String {
        format!("{} {}", self.number(nanos), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::{Unit, load};

    #[test]
    fn times_have_four_digits_in_the_unit_that_suits_the_largest() {
        for (nanos, shown) in [
            (0.0, "0.000 ns"),
            (467.2, "467.2 ns"),
            (7_710.0, "7.710 us"),
            (12_345.6, "12.35 us"),
            (3_314_435.0, "3.314 ms"),
            (22e6, "22.00 ms"),
            (1.5e9, "1.500 s"),
            (86_400e9, "86400 s"),
        ] {
            assert_eq!(Unit::of(nanos).with(nanos), shown);
        }
        assert_eq!(Unit::of(7_710.0).number(35.0), "0.035");
    }

    #[test]
    fn small_loads_have_digits_and_others_the_usual_ones() {
        for (number, shown) in [
            (0.0, "0.000"),
            (0.000_000_123_46, "0.000000123"),
            (0.000_1, "0.0001"),
            (0.000_125, "0.000125"),
            (0.001, "0.001"),
            (0.001_23, "0.00123"),
            (0.009_999_9, "0.010"),
            (0.01, "0.010"),
            (0.123_4, "0.123"),
            (2.0, "2.000"),
        ] {
            assert_eq!(load(number, 3), shown);
        }
    }
}
