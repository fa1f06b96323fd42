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

#[cfg(test)]
mod tests {
    use super::load;

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
