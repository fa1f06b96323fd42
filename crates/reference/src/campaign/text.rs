//! Cases as text, so that one that has failed can be kept as a file, whatever becomes of the generator.
//!
//! The text looks like Rust: numbers and words, `Variant(value, ..)`, `Variant { field: value, .. }`, `{ field: value, .. }`
//! and `[value, ..]`. The fields of the case itself stand one below the other, without braces. From `#` on a line is a remark.
//! Every field has to be there: a file means the same when a default changes, and who adds a field says in all files what it
//! is there.

mod data;
mod fields;
mod parse;

pub(super) use data::{Choice, Data, choice, no_such, record};

use super::case::Case;
use std::fmt::{self, Write};
use std::str::FromStr;

/// Columns of a line.
const WIDTH: usize = 120;

/// A value as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    name: String,
    brackets: Brackets,
    /// What is between the brackets, with the names of fields in braces.
    items: Vec<(String, Tree)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Brackets {
    /// A word or a number.
    None,
    Parentheses,
    Braces,
    Square,
}

impl Brackets {
    const fn signs(self) -> (&'static str, &'static str) {
        match self {
            Brackets::None => ("", ""),
            Brackets::Parentheses => ("(", ")"),
            Brackets::Braces => ("{", "}"),
            Brackets::Square => ("[", "]"),
        }
    }
}

impl Tree {
    pub(super) fn word(name: impl ToString) -> Self {
        Tree { name: name.to_string(), brackets: Brackets::None, items: Vec::new() }
    }

    fn list(items: impl Iterator<Item = Tree>) -> Self {
        let items = items.map(|item| (String::new(), item)).collect();
        Tree { name: String::new(), brackets: Brackets::Square, items }
    }

    /// Shows all names in it, each with the field that it is the value of.
    #[cfg(test)]
    pub(super) fn visit(&self, field: &str, see: &mut impl FnMut(&str, &str)) {
        see(field, &self.name);
        for (inner, item) in &self.items {
            item.visit(if inner.is_empty() { field } else { inner }, see);
        }
    }

    /// Its name and opening bracket.
    fn opening(&self) -> String {
        let space = if self.brackets == Brackets::Braces && !self.name.is_empty() { " " } else { "" };
        format!("{}{space}{}", self.name, self.brackets.signs().0)
    }

    /// Writes it from column `start` on, in lines that begin in column `indent`: an item on each, where one line is too short.
    fn lay_out(&self, start: usize, indent: usize, out: &mut String) {
        let line = self.to_string();
        if start + line.len() < WIDTH || self.items.is_empty() {
            return out.push_str(&line);
        }
        out.push_str(&self.opening());
        if let (Brackets::Parentheses, [(_, only)]) = (self.brackets, &self.items[..]) {
            only.lay_out(start + self.name.len() + 1, indent, out);
            return out.push(')');
        }
        let inner = indent + 4;
        // Lines of a list of numbers are filled.
        let are_words = self.items.iter().all(|(_, item)| item.brackets == Brackets::None);
        let fills = self.brackets == Brackets::Square && are_words;
        let mut column = WIDTH;
        for (field, item) in &self.items {
            let width = item.name.len() + ", ".len();
            if fills && column + width <= WIDTH {
                out.push(' ');
            } else {
                _ = write!(out, "\n{:inner$}", "");
                column = inner;
            }
            column += width;
            let label = label(field);
            out.push_str(&label);
            item.lay_out(inner + label.len(), inner, out);
            out.push(',');
        }
        _ = write!(out, "\n{:indent$}{}", "", self.brackets.signs().1);
    }
}

fn label(field: &str) -> String {
    if field.is_empty() { String::new() } else { format!("{field}: ") }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items: Vec<String> =
            self.items.iter().map(|(field, item)| format!("{}{item}", label(field))).collect();
        let pad = if self.brackets == Brackets::Braces { " " } else { "" };
        let (opening, closing) = (self.opening(), self.brackets.signs().1);
        write!(f, "{opening}{pad}{}{pad}{closing}", items.join(", "))
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (field, item) in self.write().items {
            let mut text = label(&field);
            item.lay_out(text.len(), 0, &mut text);
            writeln!(f, "{text}")?;
        }
        Ok(())
    }
}

impl FromStr for Case {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Case::read(parse::fields(text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::generate;

    #[test]
    fn every_case_is_read_as_it_was_written() {
        for seed in 0..400 {
            let case = generate(seed);
            let text = case.to_string();
            assert_eq!(text.parse(), Ok(case), "case {seed}:\n{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let case = generate(0);
        let error = |text: &str| text.parse::<Case>().expect_err("it is wrong");
        let routing = format!("routing: {:?}", case.routing);
        let downhill = error(&case.to_string().replace(&routing, "routing: Downhill"));
        assert!(downhill.starts_with("routing: there is no `Downhill`, but DModK, "), "{downhill}");
        assert_eq!(error("rails: 1"), "there is no `topology`");
        let before = case.to_string().lines().take_while(|line| !line.starts_with("rails: ")).count();
        // The number is a name then, and no colon comes on the line after it.
        let many = error(&case.to_string().replace("rails: ", "rails: many "));
        assert_eq!(many, format!("line {}: `:` is expected", before + 2));
        assert_eq!(error(&format!("{case}more: 1")), "there is no field `more`");
        assert_eq!(error(&format!("{case}more: [1")), "the text ends before `]`");
    }
}
