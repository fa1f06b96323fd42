//! Sizes from a file: a line for each, `bytes weight`.
//!
//! ```text
//! # bytes weight
//! 64   7
//! 1024 2
//! ```

use super::{SizeArguments, SizeChoice};
use crate::catalog::{Alias, ChoiceError, Entry, Parameter};
use flitway_engine::random::Stream;
use std::fmt;

pub(super) const ENTRY: Entry = Entry {
    name: "list",
    aliases: &[Alias { name: "file", tool: "others" }],
    doc: "sizes and weights from a file",
    details: "A line for each size: `bytes weight`, two whole numbers; `#` begins a comment. A size is drawn with \
              probability weight / sum of weights.",
    parameters: &[Parameter {
        name: "path",
        expected: "the path of a file",
        default: None,
        doc: "The file, relative to the file that names it.",
    }],
};

pub(super) fn read(arguments: &SizeArguments) -> Result<SizeChoice, ChoiceError> {
    let path = arguments.0.value(0, |path| (!path.is_empty()).then(|| path.to_owned()))?;
    Ok(SizeChoice::File(path))
}

/// A weighted list of sizes.
#[derive(Clone, Debug)]
pub struct List {
    sizes: Box<[u16]>,
    /// The sum of the weights up to and including each size.
    cumulative: Box<[u64]>,
}

/// What is wrong with a line of a list of sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListError {
    /// The line, from 1.
    pub line: u32,
    /// What was read.
    pub read: String,
    /// What is wrong with it.
    pub problem: ListProblem,
}

/// What can be wrong with a line of a list of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListProblem {
    /// Not two whole numbers.
    NotTwoNumbers,
    /// A size that is not from 1 to 65,535 bytes.
    BadSize,
    /// A weight that is not from 1 to 4,294,967,295.
    BadWeight,
    /// The list has no size at all.
    Empty,
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ListError { line, read, problem } = self;
        match problem {
            ListProblem::NotTwoNumbers => {
                write!(f, "line {line}: expected `bytes weight`, two whole numbers, not `{read}`")
            }
            ListProblem::BadSize => write!(f, "line {line}: a size is from 1 to 65,535 bytes, not `{read}`"),
            ListProblem::BadWeight => {
                write!(f, "line {line}: a weight is from 1 to 4,294,967,295, not `{read}`")
            }
            ListProblem::Empty => f.write_str("the list has no size: expected a line `bytes weight`"),
        }
    }
}

impl std::error::Error for ListError {}

impl List {
    pub(super) fn read(text: &str) -> Result<Self, Vec<ListError>> {
        let (mut sizes, mut cumulative, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        let mut total = 0u64;
        for (line, content) in (1u32..).zip(text.lines()) {
            let content = content.split('#').next().unwrap_or("").trim();
            if content.is_empty() {
                continue;
            }
            match read_line(content) {
                Ok((size, weight)) => {
                    // Fewer than 2^32 lines of weights below 2^32.
                    total += u64::from(weight);
                    sizes.push(size);
                    cumulative.push(total);
                }
                Err((read, problem)) => errors.push(ListError { line, read: read.to_owned(), problem }),
            }
        }
        if sizes.is_empty() && errors.is_empty() {
            errors.push(ListError { line: 1, read: String::new(), problem: ListProblem::Empty });
        }
        if errors.is_empty() {
            Ok(List { sizes: sizes.into(), cumulative: cumulative.into() })
        } else {
            Err(errors)
        }
    }

    #[inline]
    pub(super) fn draw(&self, stream: &mut Stream) -> u16 {
        let total = self.cumulative[self.cumulative.len() - 1];
        let ticket = stream.below(total);
        self.sizes[self.cumulative.partition_point(|&sum| sum <= ticket)]
    }

    pub(super) fn largest(&self) -> u16 {
        self.sizes.iter().copied().max().unwrap_or(0)
    }

    pub(super) fn outcomes(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        let before = std::iter::once(0).chain(self.cumulative.iter().copied());
        self.sizes.iter().zip(&self.cumulative).zip(before).map(|((&size, sum), before)| (size, sum - before))
    }
}

fn read_line(content: &str) -> Result<(u16, u32), (&str, ListProblem)> {
    let mut words = content.split_whitespace();
    let (Some(size), Some(weight), None) = (words.next(), words.next(), words.next()) else {
        return Err((content, ListProblem::NotTwoNumbers));
    };
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(size) || !is_number(weight) {
        return Err((content, ListProblem::NotTwoNumbers));
    }
    let bytes = size.parse().ok().filter(|&bytes| bytes > 0).ok_or((size, ListProblem::BadSize))?;
    let share = weight.parse().ok().filter(|&share| share > 0).ok_or((weight, ListProblem::BadWeight))?;
    Ok((bytes, share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_wrong_lines_are_reported() {
        let errors = List::read("# sizes\n64 1\n64\n\n64 1 2\n0 1\n70000 1\n64 0\n-1 2\n").unwrap_err();
        let found: Vec<_> = errors.iter().map(|error| (error.line, error.problem)).collect();
        use ListProblem::{BadSize, BadWeight, NotTwoNumbers};
        let expected = [
            (3, NotTwoNumbers),
            (5, NotTwoNumbers),
            (6, BadSize),
            (7, BadSize),
            (8, BadWeight),
            (9, NotTwoNumbers),
        ];
        assert_eq!(found, expected);
        assert_eq!(errors[0].to_string(), "line 3: expected `bytes weight`, two whole numbers, not `64`");
        assert_eq!(List::read("# nothing\n").unwrap_err()[0].problem, ListProblem::Empty);
    }
}
