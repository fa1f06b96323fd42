//! Reads task graphs in the GOAL text format of LogGOPSim and Schedgen, plain or gzipped.
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//!   l1: calc 1500            // nanoseconds
//!   l2: send 8b to 1 tag 4
//!   l2 requires l1           // l2 starts after l1 has completed
//! }
//! rank 1 {
//!   l1: recv 8b from 0 tag 4
//! }
//! ```
//!
//! The grammar is that of LogGOPSim's `txt2bin.re`: a statement ends with its line; labels begin with a letter and are
//! optional; `recv` takes `from -1` and `tag -1` for anyone's and any; a tag that is not given is 0; `/* */` and `//`
//! are comments. Read beyond it: options (`tag`, `cpu`, `nic`) in any order, `nic` on any task's line but `calc`,
//! comments anywhere, a byte order mark, a label before its definition, a closing brace behind a statement. Refused
//! although LogGOPSim lets it pass: a second definition of a label or a rank, a rank without block, and a send with
//! tag -1.
//!
//! All mistakes of a file are reported at once (the first [`MOST`], and how many more). The reader looks at a line at a
//! time and never panics, whatever the bytes.

mod diagnostic;
mod foreign;
mod labels;
mod lexer;
mod reader;
mod unpack;

pub use diagnostic::{Diagnostic, Diagnostics, MOST, Problem, Span};

use super::TaskGraph;
use reader::Reader;
use std::io::{self, BufRead, BufReader, Read};
use unpack::Unpacked;

/// Longest line in bytes. A longer one ends the reading.
const LONGEST_LINE: u64 = 1 << 20;

/// With what some editors begin a UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads a graph, plain or gzipped: gzip is known by its first two bytes.
///
/// # Errors
/// All mistakes found.
///
/// ```
/// use flitway_workload::graph::goal;
/// let graph = goal::read(&b"num_ranks 1\nrank 0 {\n calc 5\n}"[..]).expect("a graph");
/// assert_eq!((graph.ranks(), graph.tasks()), (1, 1));
/// let errors = goal::read(&b"num_ranks 1\nrank 0 {\n calk 5\n}"[..]).expect_err("misspelt");
/// assert_eq!((errors.list[0].span.line, errors.list[0].span.column), (3, 2));
/// ```
pub fn read(mut input: impl BufRead) -> Result<TaskGraph, Diagnostics> {
    let mut reader = Reader::default();
    let gzip = match input.fill_buf() {
        Ok(start) => start.starts_with(&[0x1f, 0x8b]),
        Err(error) => {
            reader.unreadable(&error);
            return reader.finish();
        }
    };
    let outcome = if gzip {
        read_lines(&mut BufReader::with_capacity(1 << 16, Unpacked::new(input)), &mut reader)
    } else {
        read_lines(&mut input, &mut reader)
    };
    if let Err(error) = outcome {
        reader.unreadable(&error);
    }
    reader.finish()
}

fn read_lines(input: &mut impl BufRead, reader: &mut Reader) -> io::Result<()> {
    let start = input.fill_buf()?;
    if let Some(problem) = foreign::recognised(start) {
        reader.foreign(problem);
        return Ok(());
    }
    if start.starts_with(BYTE_ORDER_MARK) {
        input.consume(BYTE_ORDER_MARK.len());
    }
    let mut line = Vec::new();
    loop {
        // Most lines are read where they stand; those that the buffer ends in are put together.
        let buffer = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            buffer => buffer?,
        };
        if let Some(end) = line_end(buffer).filter(|&end| (end as u64) < LONGEST_LINE) {
            reader.line(&buffer[..=end]);
            input.consume(end + 1);
            continue;
        }
        line.clear();
        let length = input.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut line)?;
        if length == 0 {
            return Ok(());
        }
        if length as u64 > LONGEST_LINE {
            reader.line_too_long(&line);
            return Ok(());
        }
        reader.line(&line);
    }
}

/// Where the first line of `buffer` ends. Pieces of this size are searched in a few instructions each.
fn line_end(buffer: &[u8]) -> Option<usize> {
    let (pieces, _) = buffer.as_chunks::<16>();
    let has_none = |piece: &&[u8; 16]| piece.iter().fold(true, |none, &byte| none & (byte != b'\n'));
    let before = 16 * pieces.iter().take_while(has_none).count();
    Some(before + buffer[before..].iter().position(|&byte| byte == b'\n')?)
}

#[cfg(test)]
mod tests;
