//! Loads as they are written: fractions of the injection rate, ranges of them, `max`.

use flitway_workload::Fraction;

/// The most load points of one run.
const LOADS_MAX: usize = 1_000;

/// A load to offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// A fraction of the injection rate.
    Fraction(Fraction),
    /// Sources that always have a packet.
    Max,
}

/// `max`, one load, a range `A..B:STEP`, or several of both with commas. What is in it twice is there once.
///
/// # Errors
/// What is wrong, and what is expected.
pub(crate) fn loads(text: &str) -> Result<Vec<Load>, String> {
    if text == "max" {
        return Ok(vec![Load::Max]);
    }
    let mut loads = Vec::new();
    for part in text.split(',').map(str::trim) {
        match part.split_once("..") {
            None => push(Load::Fraction(one_load(part)?), &mut loads),
            Some((first, rest)) => range_of_loads(part, first, rest, &mut loads)?,
        }
        if loads.len() > LOADS_MAX {
            return Err(format!("`{text}` has more than {LOADS_MAX} points"));
        }
    }
    Ok(loads)
}

/// Adds `load` to `loads`, if it is not one of them.
fn push(load: Load, loads: &mut Vec<Load>) {
    if !loads.contains(&load) {
        loads.push(load);
    }
}

/// What a load may be.
const EXPECTED: &str = "expected a load above 0 and up to 10 (0.3, 30% or 3/10), a range with a step (0.1..0.9:0.1), several of \
                        both (0.1,0.3..0.9:0.2) or `max`";

/// The loads of the range `text`, which is `first`, two points and the `rest`, to `loads`; no more than one too many.
fn range_of_loads(text: &str, first: &str, rest: &str, loads: &mut Vec<Load>) -> Result<(), String> {
    let (last, step) = rest.split_once(':').ok_or_else(|| format!("`{text}` has no step: {EXPECTED}"))?;
    let step_problem = |_| match step.trim().parse::<Fraction>() {
        Ok(_) => format!("`{step}`: a step is above 0, and at most 10"),
        Err(_) => format!("`{step}`: a step is a decimal number (0.05), a percentage or a fraction"),
    };
    let (first, last) = (one_load(first.trim())?, one_load(last.trim())?);
    let step = one_load(step.trim()).map_err(step_problem)?;
    let parts = |load: Fraction| (u128::from(load.numerator()), u128::from(load.denominator()));
    let ((a, b), (s, t)) = (parts(first), parts(step));
    for k in 0.. {
        // first + k step, exactly.
        let (top, bottom) = (a * t + k * s * b, b * t);
        let load =
            u64::try_from(top).ok().zip(u64::try_from(bottom).ok()).and_then(|(n, d)| Fraction::new(n, d));
        let load = load.ok_or_else(|| format!("`{text}`: too many digits"))?;
        if load.as_f64() > last.as_f64() + 1e-12 {
            return if k == 0 { Err(format!("`{text}` is empty: it begins above its end")) } else { Ok(()) };
        }
        push(Load::Fraction(load), loads);
        if loads.len() > LOADS_MAX {
            break;
        }
    }
    Ok(())
}

/// One load.
fn one_load(text: &str) -> Result<Fraction, String> {
    let is_load = |load: &Fraction| (0.0..=10.0).contains(&load.as_f64()) && *load != Fraction::ZERO;
    if text.strip_prefix('-').is_some_and(|rest| rest.parse::<Fraction>().is_ok()) {
        return Err(format!("`{text}`: a load is above 0"));
    }
    let load: Fraction = text.parse().map_err(|_| {
        let number = text.parse::<f64>().map(|number| number.to_string()).unwrap_or_default();
        let is_meant = number.parse().is_ok_and(|load| is_load(&load));
        let meant = if is_meant { format!("; did you mean `{number}`?") } else { String::new() };
        match text {
            "max" => "`max` stands alone: its sources always have a packet".to_owned(),
            _ if text.bytes().filter(u8::is_ascii_digit).count() > Fraction::DIGITS_MAX => {
                format!("`{text}`: too many digits, expected up to {}{meant}", Fraction::DIGITS_MAX)
            }
            _ => format!("`{text}` is no load: {EXPECTED}{meant}"),
        }
    })?;
    match load {
        Fraction::ZERO => Err(format!("`{text}`: a load is above 0")),
        load if is_load(&load) => Ok(load),
        load => {
            let is_percent = load.as_f64() <= 100.0 && text.parse::<f64>().is_ok();
            let meant = if is_percent { format!("; did you mean `{text}%`?") } else { String::new() };
            Err(format!("`{text}`: a load is a fraction of the injection rate, at most 10{meant}"))
        }
    }
}

impl Load {
    /// As it is written: `0.1`, `1/3`, `max`.
    #[must_use]
    pub fn text(self) -> String {
        let Load::Fraction(load) = self else { return "max".to_owned() };
        let (numerator, denominator) = (load.numerator(), load.denominator());
        let digits = (0..10_u32).find(|&digits| 10_u64.pow(digits).is_multiple_of(denominator));
        match digits {
            // Exact: the denominator divides a power of ten.
            Some(digits) => {
                let scaled = u128::from(numerator) * u128::from(10_u64.pow(digits)) / u128::from(denominator);
                let text = format!("{scaled:0width$}", width = digits as usize + 1);
                let (whole, part) = text.split_at(text.len() - digits as usize);
                if part.is_empty() { whole.to_owned() } else { format!("{whole}.{part}") }
            }
            None => load.to_string(),
        }
    }

    pub(super) fn fraction(self) -> Fraction {
        match self {
            Load::Fraction(load) => load,
            Load::Max => Fraction::ONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_loads_is_exact_and_holds_its_end() {
        let list = loads("0.1..0.9:0.1").unwrap();
        assert_eq!(list.len(), 9);
        assert_eq!(list[8], Load::Fraction(Fraction::new(9, 10).unwrap()));
        assert_eq!(loads("0.3").unwrap(), [Load::Fraction(Fraction::new(3, 10).unwrap())]);
        assert_eq!(loads("10%, 0.5").unwrap().len(), 2);
        assert_eq!(loads("max").unwrap(), [Load::Max]);
        let mixed: Vec<String> =
            loads("0.05, 0.1..0.3:0.1,0.7").unwrap().iter().map(|load| load.text()).collect();
        assert_eq!(mixed, ["0.05", "0.1", "0.2", "0.3", "0.7"]);
        assert_eq!(loads("0.3,0.1..0.3:0.1,30%").unwrap().len(), 3, "what is there is not added again");
    }

    #[test]
    fn what_is_no_load_says_what_is() {
        for (text, message) in [
            ("0", "above 0"),
            ("fast", "`fast` is no load"),
            ("0.1..0.9", "no step"),
            ("0.9..0.1:0.1", "empty"),
            ("0.1..0.9:0.0001", "more than 1000 points"),
            ("0.1..0.9:0.001,1..2:0.001", "more than 1000 points"),
            ("0.1,0.9..0.3:0.1", "`0.9..0.3:0.1` is empty"),
            ("0.1..0.3:0.1,0.5..0.7", "`0.5..0.7` has no step"),
            ("0.1,,0.3", "`` is no load"),
            ("30", "at most 10; did you mean `30%`?"),
            ("120", "the injection rate, at most 10"),
            ("0.1..0.9:0", "above 0"),
            ("0.5,max", "`max` stands alone"),
            (
                "0.3333333333333333333333",
                "too many digits, expected up to 18; did you mean `0.3333333333333333`?",
            ),
            ("1e9", "`1e9` is no load: expected a load above 0 and up to 10 (0.3, 30% or 3/10)"),
            ("1e-3", "or `max`; did you mean `0.001`?"),
            ("0.1,5.", "did you mean `5`?"),
            ("nan", "`nan` is no load"),
        ] {
            let error = loads(text).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn a_load_is_written_as_a_person_would() {
        for (text, shown) in
            [("0.10", "0.1"), ("1", "1"), ("1.25", "1.25"), ("35 %", "0.35"), ("1/3", "1/3"), ("max", "max")]
        {
            let loads = loads(text).unwrap();
            assert_eq!(loads[0].text(), shown);
            assert_eq!(super::loads(shown).unwrap(), loads);
        }
    }
}
