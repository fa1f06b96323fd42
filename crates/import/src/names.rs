//! Names that a graph file takes, made from those that others have given.

use std::collections::BTreeSet;

/// Words that stand behind names in a file of forwarding tables.
const RESERVED: &[&str] = &["port", "class"];

/// Names that are taken, and what became of those that could not stay.
#[derive(Debug, Default)]
pub(crate) struct Names {
    taken: BTreeSet<String>,
    /// A name as it was, and as it is.
    pub(crate) changed: Vec<(String, String)>,
}

impl Names {
    /// The name for what was called `raw`: that, if it is one and free. `stem` stands before what begins with no letter.
    pub(crate) fn give(&mut self, raw: &str, stem: &str) -> String {
        let valid = valid(raw, stem);
        let free = |name: &String| !self.taken.contains(name);
        let numbered = (2..).map(|number: u64| format!("{valid}_{number}"));
        let name = std::iter::once(valid.clone()).chain(numbered).find(free).unwrap_or_default();
        self.taken.insert(name.clone());
        if name != raw {
            self.changed.push((raw.to_owned(), name.clone()));
        }
        name
    }
}

/// A letter, then letters, digits, `_`, `-` and `.`, with no two dots in a row.
pub(crate) fn valid(raw: &str, stem: &str) -> String {
    let mut name = String::new();
    for letter in raw.trim().chars() {
        match letter {
            '.' if name.ends_with('.') => {}
            letter if letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '_') => {
                name.push(letter)
            }
            _ if name.ends_with('_') => {}
            _ => name.push('_'),
        }
    }
    let name = if name == raw { name.as_str() } else { name.trim_matches('_') };
    let begins = name.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let name = if begins { name.to_owned() } else { format!("{stem}{name}") };
    if RESERVED.contains(&name.as_str()) { format!("{name}_") } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_valid_and_stay_unique() {
        let mut names = Names::default();
        for (raw, name) in [
            ("leaf-a", "leaf-a"),
            ("MF0;leaf-a:SX6036/U1", "MF0_leaf-a_SX6036_U1"),
            ("the \"big\" one", "the_big_one"),
            ("the  big one", "the_big_one_2"),
            ("36", "s36"),
            ("s36", "s36_2"),
            ("a..b", "a.b"),
            ("port", "port_"),
            ("", "s"),
            ("é", "s_2"),
        ] {
            assert_eq!(names.give(raw, "s"), name);
        }
        assert_eq!(names.changed.len(), 9);
    }
}
