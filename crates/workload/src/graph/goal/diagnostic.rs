//! What can be wrong with a GOAL file, as values.

use super::reader::LONGEST_CALC;
use std::fmt;

/// Mistakes that are listed; more are counted.
pub const MOST: usize = 20;

/// All mistakes of a file, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics {
    /// The first [`MOST`].
    pub list: Vec<Diagnostic>,
    /// How many more there are.
    pub omitted: u64,
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Where.
    pub span: Span,
    /// The line, without its end; cut when very long.
    pub source_line: String,
    /// What.
    pub problem: Problem,
}

/// A place in the file (unpacked, if it is gzipped).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// First byte, from 0.
    pub offset: u64,
    /// Line, from 1.
    pub line: u32,
    /// Byte in the line, from 1.
    pub column: u32,
    /// Bytes; zero at the end of a line or of the file.
    pub length: u32,
}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The file cannot be read, or unpacked.
    Unreadable {
        /// What the system says.
        reason: String,
    },
    /// The file is of another format.
    Foreign {
        /// Which one.
        format: &'static str,
        /// What to do with it.
        advice: &'static str,
    },
    /// A line of more than a mebibyte: this is no GOAL file.
    LineTooLong,
    /// Something else stands where something is expected.
    Unexpected {
        /// What was read; empty at the end of a line.
        read: String,
        /// What is expected.
        expected: &'static str,
    },
    /// Neither statement nor label.
    UnknownWord {
        /// What was read.
        read: String,
        /// What is expected.
        expected: &'static str,
        /// The nearest word, if one is near.
        nearest: Option<&'static str>,
    },
    /// A length without its `b`.
    MissingUnit {
        /// The number.
        number: String,
        /// What follows it; empty at the end of a line.
        read: String,
    },
    /// A number that is too large.
    Overflow {
        /// The number.
        read: String,
        /// The largest.
        largest: u64,
    },
    /// No `num_ranks` before the first rank, or at all.
    MissingNumRanks,
    /// A second `num_ranks`.
    RepeatedNumRanks,
    /// `num_ranks 0`.
    NoRanks,
    /// A rank that is not below `num_ranks`.
    RankOutOfRange {
        /// The rank.
        rank: u64,
        /// The number of ranks.
        ranks: u32,
    },
    /// A second block of a rank.
    RepeatedRank {
        /// The rank.
        rank: u32,
        /// The line of the first.
        first_line: u32,
    },
    /// Ranks without block.
    MissingRanks {
        /// The first of them.
        first: Vec<u32>,
        /// How many there are.
        count: u32,
    },
    /// A statement outside of a block.
    OutsideRank,
    /// A block begins or the file ends before a block has ended.
    MissingBrace {
        /// The line in which the block begins.
        opened: u32,
    },
    /// A closing brace outside of a block.
    StrayBrace,
    /// A comment that does not end.
    OpenComment {
        /// The line in which it begins.
        opened: u32,
    },
    /// A second definition of a label.
    DuplicateLabel {
        /// The label.
        label: String,
        /// The line of the first.
        first_line: u32,
    },
    /// A dependency on a label that its rank does not define.
    UnknownLabel {
        /// The label.
        label: String,
        /// The nearest label of the rank, if one is near.
        nearest: Option<String>,
    },
    /// An option twice.
    RepeatedOption {
        /// The option.
        option: &'static str,
    },
    /// A send to anyone, or with any tag.
    WildcardSend,
    /// More tasks in a rank than fit.
    TooManyTasks,
    /// Tasks that wait for each other in a circle.
    Cycle {
        /// The labels: each waits for the next, the last for the first. Cut when very long.
        labels: Vec<String>,
        /// Tasks of the circle.
        length: usize,
    },
}

/// A kind of mistake, for the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProblemKind {
    /// Stable code.
    pub code: &'static str,
    /// What it means and what to do.
    pub doc: &'static str,
}

impl Problem {
    /// All kinds of mistakes, by code.
    pub const KINDS: &'static [ProblemKind] = &[
        ProblemKind {
            code: "goal-unreadable",
            doc: "The file cannot be read, or its gzip data is damaged or cut off.",
        },
        ProblemKind {
            code: "goal-foreign",
            doc: "The file is of another format than GOAL text; the message says of which.",
        },
        ProblemKind { code: "goal-line-too-long", doc: "A line of more than 1 MiB: this is no GOAL file." },
        ProblemKind {
            code: "goal-unexpected",
            doc: "A statement is not of the form that the message gives.",
        },
        ProblemKind {
            code: "goal-unknown-word",
            doc: "A statement begins with calc, send, recv or a label.",
        },
        ProblemKind {
            code: "goal-missing-unit",
            doc: "Message lengths are in bytes and carry the unit: `8b`.",
        },
        ProblemKind { code: "goal-overflow", doc: "A number is larger than its field holds." },
        ProblemKind { code: "goal-num-ranks", doc: "The file begins with one `num_ranks N`, N at least 1." },
        ProblemKind { code: "goal-rank-range", doc: "Ranks are numbered from 0 to num_ranks - 1." },
        ProblemKind { code: "goal-rank-repeated", doc: "Each rank has one block." },
        ProblemKind {
            code: "goal-rank-missing",
            doc: "Each rank has a block; one without tasks is `rank N { }`.",
        },
        ProblemKind { code: "goal-outside-rank", doc: "Tasks stand between the braces of a rank." },
        ProblemKind { code: "goal-brace", doc: "Each block begins with `{` and ends with `}`." },
        ProblemKind { code: "goal-open-comment", doc: "A comment that begins with `/*` ends with `*/`." },
        ProblemKind { code: "goal-duplicate-label", doc: "A label names one task of its rank." },
        ProblemKind { code: "goal-unknown-label", doc: "Dependencies name labels of the same rank." },
        ProblemKind { code: "goal-repeated-option", doc: "tag, cpu and nic are given at most once." },
        ProblemKind {
            code: "goal-wildcard-send",
            doc: "Only a recv takes -1, for anyone's message or any tag.",
        },
        ProblemKind { code: "goal-too-many-tasks", doc: "A rank has at most 2^31 tasks." },
        ProblemKind { code: "goal-cycle", doc: "Tasks that wait for each other in a circle never start." },
    ];

    /// The stable code, one of [`Problem::KINDS`].
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Problem::Unreadable { .. } => "goal-unreadable",
            Problem::Foreign { .. } => "goal-foreign",
            Problem::LineTooLong => "goal-line-too-long",
            Problem::Unexpected { .. } => "goal-unexpected",
            Problem::UnknownWord { .. } => "goal-unknown-word",
            Problem::MissingUnit { .. } => "goal-missing-unit",
            Problem::Overflow { .. } => "goal-overflow",
            Problem::MissingNumRanks | Problem::RepeatedNumRanks | Problem::NoRanks => "goal-num-ranks",
            Problem::RankOutOfRange { .. } => "goal-rank-range",
            Problem::RepeatedRank { .. } => "goal-rank-repeated",
            Problem::MissingRanks { .. } => "goal-rank-missing",
            Problem::OutsideRank => "goal-outside-rank",
            Problem::MissingBrace { .. } | Problem::StrayBrace => "goal-brace",
            Problem::OpenComment { .. } => "goal-open-comment",
            Problem::DuplicateLabel { .. } => "goal-duplicate-label",
            Problem::UnknownLabel { .. } => "goal-unknown-label",
            Problem::RepeatedOption { .. } => "goal-repeated-option",
            Problem::WildcardSend => "goal-wildcard-send",
            Problem::TooManyTasks => "goal-too-many-tasks",
            Problem::Cycle { .. } => "goal-cycle",
        }
    }

    /// The likely cure, if there is one.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Problem::Foreign { advice, .. } => (*advice).to_owned(),
            Problem::Overflow { largest: LONGEST_CALC, .. } => {
                "a calc is in nanoseconds, and at most 11.6 days long".to_owned()
            }
            Problem::UnknownWord { nearest: Some(nearest), .. } => format!("did you mean `{nearest}`?"),
            Problem::UnknownLabel { nearest: Some(nearest), .. } => format!("did you mean `{nearest}`?"),
            Problem::MissingUnit { number, .. } => format!("write `{number}b`: lengths are in bytes"),
            Problem::MissingNumRanks => "begin the file with `num_ranks N`".to_owned(),
            Problem::MissingRanks { first, .. } => {
                format!("a rank without tasks is `rank {} {{ }}`", first.first()?)
            }
            Problem::OutsideRank => "put it between the braces of `rank N { }`".to_owned(),
            Problem::MissingBrace { opened } => format!("end the block of line {opened} with `}}`"),
            Problem::OpenComment { .. } => "end it with `*/`".to_owned(),
            Problem::RankOutOfRange { ranks, .. } => format!("ranks are 0 to {}", ranks.checked_sub(1)?),
            Problem::WildcardSend => "name the rank and the tag; only recv takes -1".to_owned(),
            Problem::Cycle { .. } => "take one of these dependencies away".to_owned(),
            _ => return None,
        })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Unreadable { reason } => write!(f, "the file cannot be read: {reason}"),
            Problem::Foreign { format, .. } => write!(f, "this is {format}; expected GOAL text"),
            Problem::LineTooLong => f.write_str("a line of more than 1 MiB: this is no GOAL file"),
            Problem::Unexpected { read, expected } => {
                write!(f, "expected {expected}, found {}", Found(read))
            }
            Problem::UnknownWord { read, expected, .. } => {
                write!(f, "expected {expected}, found {}", Found(read))
            }
            Problem::MissingUnit { number, read } => {
                write!(f, "expected `b` after the length {number}, found {}", Found(read))
            }
            Problem::Overflow { read, largest } => write!(f, "{read} is too large: at most {largest}"),
            Problem::MissingNumRanks => f.write_str("`num_ranks` does not come before the first rank"),
            Problem::RepeatedNumRanks => f.write_str("`num_ranks` is given a second time"),
            Problem::NoRanks => f.write_str("a graph has one rank or more"),
            Problem::RankOutOfRange { rank, ranks } => {
                write!(f, "rank {rank} does not exist: `num_ranks` is {ranks}")
            }
            Problem::RepeatedRank { rank, first_line } => {
                write!(f, "rank {rank} has a block already, in line {first_line}")
            }
            Problem::MissingRanks { first, count } => {
                let list: Vec<String> = first.iter().map(ToString::to_string).collect();
                let more = if (*count as usize) > first.len() { ", ..." } else { "" };
                write!(f, "{count} ranks have no block: {}{more}", list.join(", "))
            }
            Problem::OutsideRank => f.write_str("a task outside of a rank"),
            Problem::MissingBrace { opened } => {
                write!(f, "the block that begins in line {opened} has no closing brace")
            }
            Problem::StrayBrace => f.write_str("a closing brace outside of a rank"),
            Problem::OpenComment { opened } => {
                write!(f, "the comment that begins in line {opened} does not end")
            }
            Problem::DuplicateLabel { label, first_line } => {
                write!(f, "label `{label}` is defined already, in line {first_line}")
            }
            Problem::UnknownLabel { label, .. } => write!(f, "this rank has no label `{label}`"),
            Problem::RepeatedOption { option } => write!(f, "`{option}` is given a second time"),
            Problem::WildcardSend => f.write_str("a send cannot have -1"),
            Problem::TooManyTasks => f.write_str("a rank has at most 2147483648 tasks"),
            Problem::Cycle { labels, length } => {
                let first = labels.first().map_or("", String::as_str);
                let more = if labels.len() < *length { " -> ..." } else { "" };
                write!(f, "tasks wait for each other in a circle: {}{more} -> {first}", labels.join(" -> "))
            }
        }
    }
}

/// What was found, in words.
struct Found<'a>(&'a str);

impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("the end of the line") } else { write!(f, "`{}`", self.0) }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.span.line, self.span.column, self.problem)?;
        match self.problem.help() {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for diagnostic in &self.list {
            writeln!(f, "{diagnostic}")?;
        }
        if self.omitted > 0 {
            writeln!(f, "and {} more", self.omitted)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}
