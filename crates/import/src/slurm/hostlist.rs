//! Lists of names as Slurm abbreviates them: `n[0-3,7],login[01-02]-ib`.

/// The most names of a list.
const NAMES_MAX: usize = 1 << 20;

/// The names that `list` stands for; `None` if it is none, or has too many.
pub(super) fn expanded(list: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for part in parts(list)? {
        names.extend(product(part)?);
        (names.len() <= NAMES_MAX).then_some(())?;
    }
    Some(names)
}

/// What commas outside of brackets part.
fn parts(list: &str) -> Option<Vec<&str>> {
    let (mut parts, mut start, mut is_inside) = (Vec::new(), 0, false);
    for (at, letter) in list.char_indices() {
        match letter {
            '[' if !is_inside => is_inside = true,
            ']' if is_inside => is_inside = false,
            '[' | ']' => return None,
            ',' if !is_inside => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    (!is_inside && parts.iter().all(|part| !part.is_empty())).then_some(parts)
}

/// Every name of a part: what stands before the first brackets, each of their numbers, and every name of the rest.
fn product(part: &str) -> Option<Vec<String>> {
    let Some((stem, rest)) = part.split_once('[') else { return Some(vec![part.to_owned()]) };
    let (numbers, rest) = rest.split_once(']')?;
    let (numbers, rest) = (numbers_of(numbers)?, product(rest)?);
    (numbers.len().checked_mul(rest.len())? <= NAMES_MAX).then_some(())?;
    let names =
        numbers.iter().flat_map(|number| rest.iter().map(move |rest| format!("{stem}{number}{rest}")));
    Some(names.collect())
}

/// `0-3,7`; leading zeros stay.
fn numbers_of(text: &str) -> Option<Vec<String>> {
    let mut numbers = Vec::new();
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let (from, to) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
        let is_range = is_number(first) && is_number(last) && from <= to;
        (is_range && to - from < NAMES_MAX as u64 && numbers.len() <= NAMES_MAX).then_some(())?;
        let width = first.len();
        numbers.extend((from..=to).map(|number| format!("{number:0width$}")));
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_expanded_or_refused() {
        for (list, names) in [
            ("n0", "n0"),
            ("n[0-3,7],login", "n0 n1 n2 n3 n7 login"),
            ("n[08-11]", "n08 n09 n10 n11"),
            ("r[0-1]n[2-3]-ib", "r0n2-ib r0n3-ib r1n2-ib r1n3-ib"),
        ] {
            assert_eq!(expanded(list).unwrap().join(" "), names);
        }
        for list in
            ["", "n[", "n]", "n[3-1]", "n[a]", "n[]", "a,,b", "n[0-99999999]", "n[+1]", "a[0-9999]b[0-9999]"]
        {
            assert_eq!(expanded(list), None, "{list}");
        }
    }
}
