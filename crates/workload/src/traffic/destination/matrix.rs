//! A traffic matrix from a file: any pattern at all.
//!
//! ```text
//! # to: 0  1  2        a line for each source, a weight for each destination
//!       0  3  1        # node 0: three of four packets to node 1
//!       1  0  1
//!       0  0  0        # node 2 sends nothing
//! ```
//!
//! **Exactness.** A destination is drawn with whole numbers. The weights of a row are taken as the exact decimal numbers that
//! are written; scaled by a power of ten they are whole, and if their sum is below 2^62 they are used as they are. A row with
//! more digits (products of floating-point numbers) is rounded once, when it is read, to parts of 2^62, in whole-number
//! arithmetic; a weight that is not zero keeps at least one part. What theory says uses the same whole numbers.

use super::{DestinationArguments, DestinationChoice, Destinations, Kind, Lack, Misfit, Pattern};
use crate::catalog::{ChoiceError, Entry, Parameter, quoted};
use crate::fraction::greatest_common_divisor;
use crate::traffic::Shape;
use flitway_engine::random::Stream;
use flitway_wiring::NodeId;
use std::fmt;
use std::sync::Arc;

pub(super) const ENTRY: Entry = Entry {
    name: "matrix",
    aliases: &[],
    doc: "by a matrix of weights from a file",
    details: "A line of the file for each node that sends, in order, with a weight for each node that receives, separated \
              by blanks, tabs, commas or semicolons; `#` begins a comment. A packet of node s goes to node d with \
              probability (weight in line s, place d) / (sum of line s): a line says to whom a node sends, not how much. \
              A node whose weights are all zero stays silent. A weight is a number such as 3, 0.25 or 1.5e-3, which \
              numpy.savetxt writes; that of a node for itself must be 0.",
    parameters: &[Parameter {
        name: "file",
        expected: "the path of a file, in double quotes if it contains any of `,()=`",
        default: None,
        doc: "The file, relative to the experiment file that names it; on the command line and in Python, to the current \
              folder.",
    }],
};

pub(super) fn read(arguments: &DestinationArguments<'_>) -> Result<DestinationChoice, ChoiceError> {
    let path = arguments.0.value(0, |path| (!path.is_empty()).then(|| path.to_owned()))?;
    let file = |mistakes| ChoiceError::File { path: path.clone(), mistakes };
    let text = (arguments.1)(&path).map_err(|message| file(vec![message]))?;
    let matrix =
        Matrix::read(&text).map_err(|mistakes| file(mistakes.iter().map(ToString::to_string).collect()))?;
    Ok(Arc::new(FromFile(matrix)))
}

/// The path in a pattern that is a matrix, with `place` done to it.
pub(super) fn placed(arguments: &DestinationArguments<'_>, place: impl Fn(&str) -> String) -> Option<String> {
    let path = arguments.0.value(0, |path| Some(place(path))).ok()?;
    Some(format!("{}({}{})", ENTRY.name, quoted(&path), arguments.0.common_text()))
}

#[derive(Debug)]
struct FromFile(Matrix);

impl Pattern for FromFile {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn fit(&self, shape: &Shape, _seed: u64) -> Result<Destinations, Misfit> {
        let misfit = |lack| Err(Misfit { pattern: ENTRY.name, lack });
        if shape.nodes < 2 {
            return misfit(Lack::SecondNode);
        }
        if shape.nodes != self.0.nodes() {
            return misfit(Lack::Rows { rows: self.0.nodes(), nodes: shape.nodes });
        }
        Ok(Destinations { nodes: shape.nodes, kind: Kind::Matrix(self.0.clone()) })
    }

    fn content(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// For each source its destinations, with whole numbers that are drawn from.
#[derive(Clone, Debug)]
pub(super) struct Matrix(Arc<Table>);

#[derive(Debug)]
struct Table {
    /// Where the destinations of a source begin, and where those of the last one end.
    starts: Box<[usize]>,
    /// The destinations that have a weight, ascending within a source.
    destinations: Box<[u32]>,
    /// The sum of the weights of a source up to and including each of them.
    cumulative: Box<[u64]>,
}

impl Matrix {
    fn nodes(&self) -> u32 {
        (self.0.starts.len() - 1) as u32
    }

    #[inline]
    fn row(&self, source: NodeId) -> (&[u32], &[u64]) {
        let table = &*self.0;
        let range = table.starts[source.index()]..table.starts[source.index() + 1];
        (&table.destinations[range.clone()], &table.cumulative[range])
    }

    #[inline]
    pub(super) fn draw(&self, source: NodeId, stream: &mut Stream) -> Option<NodeId> {
        let (destinations, cumulative) = self.row(source);
        let ticket = stream.below(*cumulative.last()?);
        Some(NodeId(destinations[cumulative.partition_point(|&sum| sum <= ticket)]))
    }

    pub(super) fn is_silent(&self, source: NodeId) -> bool {
        self.row(source).0.is_empty()
    }

    pub(super) fn weight(&self, source: NodeId, destination: NodeId) -> f64 {
        let (destinations, cumulative) = self.row(source);
        let Ok(place) = destinations.binary_search(&destination.0) else { return 0.0 };
        let before = place.checked_sub(1).map_or(0, |place| cumulative[place]);
        (cumulative[place] - before) as f64 / cumulative[cumulative.len() - 1] as f64
    }

    /// Reads a file.
    fn read(text: &str) -> Result<Self, Vec<Mistake>> {
        let (mut starts, mut destinations, mut cumulative) = (vec![0], Vec::new(), Vec::new());
        let (mut mistakes, mut nodes, mut first) = (Vec::new(), None, 0);
        for (line, content) in (1u32..).zip(text.lines()) {
            let content = content.split('#').next().unwrap_or("").trim();
            if content.is_empty() {
                continue;
            }
            let words: Vec<&str> = words(content).collect();
            if nodes.is_none() {
                (nodes, first) = (Some(words.len()), line);
            }
            let expected = nodes.unwrap_or(words.len());
            if words.len() != expected {
                mistakes.push(Mistake::Length { line, found: words.len(), expected, first });
            }
            let source = starts.len() - 1;
            let row = row(line, source, &words, &mut mistakes);
            let mut sum = 0;
            for (destination, part) in parts(&row) {
                sum += part;
                destinations.push(destination);
                cumulative.push(sum);
            }
            starts.push(destinations.len());
        }
        let (rows, nodes) = (starts.len() - 1, nodes.unwrap_or(0));
        match () {
            () if rows == 0 => mistakes.push(Mistake::Empty),
            () if rows != nodes => mistakes.push(Mistake::Lines { rows, nodes }),
            () if mistakes.is_empty() && destinations.is_empty() => mistakes.push(Mistake::Nothing),
            () => {}
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let (starts, cumulative) = (starts.into(), cumulative.into());
        Ok(Matrix(Arc::new(Table { starts, destinations: destinations.into(), cumulative })))
    }
}

/// The words of a line: blanks or a mark stand between them.
fn words(content: &str) -> impl Iterator<Item = &str> {
    content.split([',', ';']).flat_map(|part| {
        // Nothing between two marks is a word that is missing.
        let is_missing = part.trim().is_empty();
        part.split_whitespace().chain(is_missing.then_some(""))
    })
}

/// The weights of a line that are not zero, by destination.
fn row(line: u32, source: usize, words: &[&str], mistakes: &mut Vec<Mistake>) -> Vec<(u32, Weight)> {
    let mut row = Vec::new();
    for (place, word) in words.iter().enumerate() {
        match Weight::read(word) {
            Err(wrong) => mistakes.push(Mistake::Word { line, place, read: (*word).to_owned(), wrong }),
            Ok(weight) if weight.mantissa == 0 => {}
            Ok(_) if place == source => {
                mistakes.push(Mistake::Itself { line, node: place, read: (*word).to_owned() });
            }
            Ok(weight) => row.push((place as u32, weight)),
        }
    }
    row
}

/// A decimal number that is not negative: `mantissa` times ten to the power `exponent`. The mantissa has at most
/// [`Weight::DIGITS`] digits, and none at the end that is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Weight {
    mantissa: u64,
    exponent: i32,
}

impl Weight {
    /// More than a floating-point number has.
    const DIGITS: usize = 19;
    /// More than a floating-point number reaches.
    const EXPONENT_MAX: i32 = 400;

    fn read(word: &str) -> Result<Self, Wrong> {
        if word.is_empty() {
            return Err(Wrong::Missing);
        }
        let word = word.strip_prefix('+').unwrap_or(word);
        let (is_negative, word) = word.strip_prefix('-').map_or((false, word), |rest| (true, rest));
        let (number, exponent) = word.split_once(['e', 'E']).unwrap_or((word, "0"));
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let digits = format!("{whole}{part}");
        let exponent: i32 = exponent.parse().map_err(|_| Wrong::NoNumber)?;
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Wrong::NoNumber);
        }
        let digits = digits.trim_start_matches('0');
        let kept = digits.trim_end_matches('0');
        if kept.is_empty() {
            return Ok(Weight { mantissa: 0, exponent: 0 });
        }
        if is_negative {
            return Err(Wrong::Negative);
        }
        let shift = (digits.len() - kept.len()) as i32 - part.len().min(10_000) as i32;
        let exponent = exponent.checked_add(shift).filter(|at| at.abs() <= Self::EXPONENT_MAX);
        match (kept.parse(), exponent) {
            (Ok(mantissa), Some(exponent)) if kept.len() <= Self::DIGITS => Ok(Weight { mantissa, exponent }),
            _ => Err(Wrong::TooLong),
        }
    }
}

/// The sum that whole weights stay below, and the parts of a row that is rounded.
const PARTS: u64 = 1 << 62;

/// Whole numbers in proportion to the weights of a row: exactly, if their sum is below [`PARTS`].
fn parts(row: &[(u32, Weight)]) -> Vec<(u32, u64)> {
    exact_parts(row).unwrap_or_else(|| rounded_parts(row))
}

fn exact_parts(row: &[(u32, Weight)]) -> Option<Vec<(u32, u64)>> {
    let least = row.iter().map(|(_, weight)| weight.exponent).min()?;
    let whole = |weight: &Weight| {
        let scale = 10_u128.checked_pow((weight.exponent - least) as u32)?;
        u128::from(weight.mantissa).checked_mul(scale)
    };
    let whole: Vec<u128> = row.iter().map(|(_, weight)| whole(weight)).collect::<Option<_>>()?;
    let divisor = whole.iter().fold(0, |divisor, &part| greatest_common_divisor(divisor, part));
    let parts: Vec<u64> =
        whole.iter().map(|part| u64::try_from(part / divisor).ok()).collect::<Option<_>>()?;
    let sum = parts.iter().try_fold(0_u64, |sum, &part| sum.checked_add(part))?;
    (sum < PARTS).then(|| row.iter().map(|(destination, _)| *destination).zip(parts).collect())
}

fn rounded_parts(row: &[(u32, Weight)]) -> Vec<(u32, u64)> {
    // All with 19 digits: then the exponent orders them, and what is much smaller than the largest vanishes but for the
    // part that every weight keeps.
    let normal = |weight: &Weight| {
        let missing = 18 - weight.mantissa.ilog10();
        (u128::from(weight.mantissa) * 10_u128.pow(missing), weight.exponent - missing as i32)
    };
    let most = row.iter().map(|(_, weight)| normal(weight).1).max().unwrap_or(0);
    let aligned = row.iter().map(|(_, weight)| {
        let (mantissa, exponent) = normal(weight);
        let shift = 10_u128.checked_pow((most - exponent) as u32);
        shift.map_or(0, |shift| (mantissa + shift / 2) / shift)
    });
    let aligned: Vec<u128> = aligned.collect();
    // Below 10^19 times the number of nodes: fewer than 100 bits.
    let sum: u128 = aligned.iter().sum();
    let part = |weight: &u128| ((weight * u128::from(PARTS) + sum / 2) / sum).max(1) as u64;
    row.iter().map(|(destination, _)| *destination).zip(aligned.iter().map(part)).collect()
}

/// What is wrong with a matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mistake {
    Word { line: u32, place: usize, read: String, wrong: Wrong },
    Itself { line: u32, node: usize, read: String },
    Length { line: u32, found: usize, expected: usize, first: u32 },
    Lines { rows: usize, nodes: usize },
    Empty,
    Nothing,
}

/// What is wrong with a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    Missing,
    NoNumber,
    Negative,
    TooLong,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mistake::Word { line, place, read, wrong } => {
                write!(f, "line {line}: the weight for node {place} ")?;
                match wrong {
                    Wrong::Missing => f.write_str("is missing between two marks"),
                    Wrong::NoNumber => {
                        write!(f, "cannot be `{read}`: expected a number such as 3, 0.25 or 1.5e-3")
                    }
                    Wrong::Negative => write!(f, "cannot be `{read}`: a weight is zero or more"),
                    Wrong::TooLong => {
                        write!(
                            f,
                            "cannot be `{read}`: expected at most {} digits, and an exponent up to {}",
                            Weight::DIGITS,
                            Weight::EXPONENT_MAX
                        )
                    }
                }
            }
            Mistake::Itself { line, node, read } => {
                write!(f, "line {line}: node {node} would send to itself with weight {read}; write 0 there")
            }
            Mistake::Length { line, found, expected, first } => {
                write!(f, "line {line} has {found} weights, and line {first} has {expected}")
            }
            Mistake::Lines { rows, nodes } => {
                write!(
                    f,
                    "{rows} lines of {nodes} weights: expected a line for each node, as many as weights in a line"
                )
            }
            Mistake::Empty => f.write_str("there is no line with weights: expected one for each node"),
            Mistake::Nothing => f.write_str("all weights are zero: nobody would send anything"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse_with;
    use super::*;
    use crate::Parts;

    fn mistakes(text: &str) -> Vec<String> {
        Matrix::read(text).unwrap_err().iter().map(ToString::to_string).collect()
    }

    fn fit(text: &str, nodes: u32) -> Result<Destinations, Misfit> {
        let pattern = parse_with("matrix(file=m.txt)", &|path| {
            assert_eq!(path, "m.txt");
            Ok(text.to_owned())
        });
        pattern.unwrap().fit(
            &Shape {
                nodes,
                dimensions: vec![nodes],
                parts: vec![Parts::switches(vec![0; nodes as usize])],
                found: None,
            },
            1,
        )
    }

    #[test]
    fn a_row_is_a_distribution_whatever_its_sum_and_a_row_of_zeros_is_silent() {
        let destinations = fit("# a comment\n0 3 1\n0.5,0,0.5 # another\n\n0;0.0;0e0\n", 3).unwrap();
        let weight = |source, destination| destinations.weight(NodeId(source), NodeId(destination));
        assert_eq!([weight(0, 0), weight(0, 1), weight(0, 2)], [0.0, 0.75, 0.25]);
        assert_eq!([weight(1, 0), weight(1, 1), weight(1, 2)], [0.5, 0.0, 0.5]);
        assert!(destinations.is_silent(NodeId(2)) && destinations.silent_nodes() == 1);
    }

    #[test]
    fn weights_are_exact_where_they_fit_and_as_near_as_can_be_where_not() {
        let parts = |line: &str| -> Vec<u64> {
            let row: Vec<(u32, Weight)> =
                (0..).zip(words(line).map(|word| Weight::read(word).unwrap())).collect();
            super::parts(&row).into_iter().map(|(_, part)| part).collect()
        };
        assert_eq!(parts("3 0.25 1.5e-3"), [6_000, 500, 3]);
        assert_eq!(parts("1e300, 2E+300"), [1, 2]);
        assert_eq!(parts("2.000000000000000000e+00\t4.000000000000000000e+00"), [1, 2]);
        // Two thirds and one third as numpy.savetxt writes them.
        let thirds = parts("6.666666666666666297e-01 3.333333333333333148e-01");
        assert_eq!(thirds.iter().sum::<u64>(), PARTS);
        assert!(thirds[0].abs_diff(2 * thirds[1]) < 1_000, "{thirds:?}");
        // What is not zero keeps a part.
        assert_eq!(parts("1e200 1e-200"), [PARTS, 1]);
    }

    #[test]
    fn every_mistake_is_told_with_its_place() {
        let word = "expected a number such as 3, 0.25 or 1.5e-3";
        assert_eq!(
            mistakes("0 -1 nan\n1 1 0\n1,,0\n"),
            [
                "line 1: the weight for node 1 cannot be `-1`: a weight is zero or more".to_owned(),
                format!("line 1: the weight for node 2 cannot be `nan`: {word}"),
                "line 2: node 1 would send to itself with weight 1; write 0 there".to_owned(),
                "line 3: the weight for node 1 is missing between two marks".to_owned(),
            ]
        );
        assert_eq!(mistakes("0 1\n1 0 0\n"), ["line 2 has 3 weights, and line 1 has 2"]);
        let lines = "1 lines of 2 weights: expected a line for each node, as many as weights in a line";
        assert_eq!(mistakes("0 1\n"), [lines]);
        assert_eq!(mistakes("# 1\n"), ["there is no line with weights: expected one for each node"]);
        assert_eq!(mistakes("0 0\n0 0"), ["all weights are zero: nobody would send anything"]);
        for (text, wrong) in [
            ("inf", Wrong::NoNumber),
            ("1e", Wrong::NoNumber),
            ("", Wrong::Missing),
            (".", Wrong::NoNumber),
            ("0x1", Wrong::NoNumber),
            ("-1e-9", Wrong::Negative),
            ("12345678901234567891", Wrong::TooLong),
            ("1e500", Wrong::TooLong),
            ("1e99999999999", Wrong::NoNumber),
        ] {
            assert_eq!(Weight::read(text), Err(wrong), "{text}");
        }
        assert_eq!(Weight::read("-0.0"), Ok(Weight { mantissa: 0, exponent: 0 }));
    }

    #[test]
    fn a_matrix_fits_as_many_nodes_as_it_has_lines() {
        let error = fit("0 1\n1 0\n", 16).unwrap_err().to_string();
        assert_eq!(error, "`matrix` needs a line for each of 16 nodes, and the file has 2");
    }
}
