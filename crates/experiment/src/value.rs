//! Values as they are written: whether two are the same, and the number that one stands for.

use flitway_machine::{Dimension, units};
use flitway_workload::Fraction;

/// Whether two values are the same: `256B` and `256 B`, `0.5` and `50 %`.
pub(crate) fn same(a: &str, b: &str) -> bool {
    a == b || meaning(a) == meaning(b)
}

/// What a value means, as text: the same for all ways to write it.
pub(crate) fn meaning(label: &str) -> String {
    number(label).map_or_else(|| label.split_whitespace().collect(), |number| format!("{number:?}"))
}

/// The number that a value stands for: sizes in bytes, times in nanoseconds, other quantities in their base unit.
pub(crate) fn number(label: &str) -> Option<f64> {
    let label = label.trim();
    if label.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && let Ok(number) = label.parse::<f64>()
    {
        return Some(number);
    }
    if let Ok(fraction) = label.parse::<Fraction>() {
        return Some(fraction.as_f64());
    }
    let (dimension, value) = units::parse_any(label, Dimension::ALL).ok()?;
    Some(if dimension == Dimension::Time { value as f64 / 1_000.0 } else { value as f64 })
}

/// The unit of the numbers of a dimension.
pub(crate) fn base_unit(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Time => "ns",
        Dimension::Frequency => "Hz",
        Dimension::Size => "B",
        Dimension::BitRate => "bit/s",
        Dimension::Length => "mm",
        Dimension::Propagation => "ps/m",
        Dimension::Flits => "flits",
        Dimension::Cycles => "cycles",
        Dimension::BitErrors => "errors/Pbit",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_numbers_where_they_can_be() {
        for (label, expected) in [
            ("3", Some(3.0)),
            ("0.6", Some(0.6)),
            ("35 %", Some(0.35)),
            ("256B", Some(256.0)),
            ("4 KiB", Some(4096.0)),
            ("20 us", Some(20_000.0)),
            ("16 flits", Some(16.0)),
            ("max", None),
            ("uniform", None),
            ("inf", None),
            ("nan", None),
            ("", None),
        ] {
            assert_eq!(number(label), expected, "{label}");
        }
        assert!(same("256B", "256 B") && same("0.5", "50 %") && same("1 KiB", "1024B"));
        assert!(!same("256B", "256") || number("256B") == number("256"));
        assert!(!same("uniform", "tornado"));
    }
}
