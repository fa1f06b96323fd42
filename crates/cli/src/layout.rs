//! What fits where: the width of the terminal, and tables that are printed line by line.

use std::io::IsTerminal;

/// The longest line of prose where nothing says how wide a line may be, and on wide terminals: longer ones are hard to read.
pub(crate) const PROSE: usize = 150;

/// The longest line of a page of prose.
const PAGE: usize = 100;

/// Columns of the name that begins a row of such a page.
const ROW: usize = 10;

/// The narrowest terminal that lines are fitted to.
const NARROWEST: usize = 40;

/// Columns of what is printed to: those of the terminal, or what `COLUMNS` says; nothing of a file or a pipe.
pub(crate) fn width() -> Option<usize> {
    width_of(&std::io::stdout())
}

fn width_of(stream: &impl IsTerminal) -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.parse::<usize>().ok());
    let terminal = || {
        let (width, _) = terminal_size::terminal_size().filter(|_| stream.is_terminal())?;
        Some(usize::from(width.0))
    };
    said.filter(|&width| width > 0).or_else(terminal).map(|width| width.max(NARROWEST))
}

/// `text` with the lines broken that are too long for prose; what is left of them begins `indent` columns in.
pub(crate) fn broken(text: &str, indent: usize) -> String {
    broken_at(text, indent, width().unwrap_or(PROSE).min(PROSE))
}

/// The same, but only where there is a width: what goes to a file or a pipe keeps its lines.
pub(crate) fn fitted(text: &str, indent: usize) -> String {
    width().map_or_else(|| text.to_owned(), |width| broken_at(text, indent, width.min(PROSE)))
}

/// A page of prose. What is left of a line that is too long begins where the line does, or behind the name that begins it.
pub(crate) fn prose(text: &str) -> String {
    prose_at(text, width().unwrap_or(PAGE).min(PAGE))
}

fn prose_at(text: &str, width: usize) -> String {
    let line = |line: &str| {
        let start = line.len() - line.trim_start().len();
        let hanging = if start > 0 { start } else { line.find("  ").map_or(2, |_| ROW) };
        broken_at(line, hanging, width)
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// A message for standard error: the lines that are sentences fit its width; those of a picture stay as they are.
pub(crate) fn message(text: &str) -> String {
    width_of(&std::io::stderr()).map_or_else(|| text.to_owned(), |width| message_at(text, width.min(PROSE)))
}

fn message_at(text: &str, width: usize) -> String {
    let lines = text.lines().map(|line| {
        let is_sentence =
            ["error", "warning", "fault", "="].iter().any(|start| plain(line).starts_with(start));
        if is_sentence { broken_at(line, 4, width) } else { line.to_owned() }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// `line` without the colours and spaces that it begins with.
fn plain(mut line: &str) -> &str {
    while let Some((_, rest)) =
        line.trim_start().strip_prefix("\u{1b}[").and_then(|rest| rest.split_once('m'))
    {
        line = rest;
    }
    line.trim_start()
}

fn broken_at(text: &str, indent: usize, width: usize) -> String {
    // On a narrow terminal half a line is left at least.
    let indent = " ".repeat(indent.min(width / 2));
    let options = textwrap::Options::new(width)
        .subsequent_indent(&indent)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false);
    let lines = text.lines().map(|line| match line.chars().count() > width {
        true => textwrap::fill(line, &options),
        false => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A column of a table that is printed line by line: its heading, its width, and its width where lines are short; nothing
/// there if it is left out.
#[derive(Clone, Copy)]
pub(crate) struct Column(pub(crate) &'static str, pub(crate) usize, pub(crate) Option<usize>);

/// A line of the table of `columns`: a cell for each.
pub(crate) fn line<'a>(columns: &[Column], cells: impl Iterator<Item = &'a str>) -> String {
    let is_narrow = is_narrow(columns);
    let cells = columns.iter().zip(cells).filter_map(|(Column(_, wide, narrow), cell)| {
        let width = if is_narrow { (*narrow)? } else { *wide };
        Some(format!("{cell:>width$}"))
    });
    let gap = if is_narrow { " " } else { "  " };
    cells.collect::<Vec<_>>().join(gap).trim_end().to_owned()
}

/// The heading of that table, and before it what is left out of the table.
pub(crate) fn heading(columns: &[Column]) -> String {
    let is_narrow = is_narrow(columns);
    let is_left_out = |column: &&Column| is_narrow && column.2.is_none() && !column.0.is_empty();
    let left_out: Vec<&str> = columns.iter().filter(is_left_out).map(|column| column.0).collect();
    let told = match left_out.is_empty() {
        true => String::new(),
        false => {
            let text = format!("\nleft out at this width (see --json or --csv): {}", left_out.join(", "));
            broken(&text, 2)
        }
    };
    format!("{told}\n{}", line(columns, columns.iter().map(|column| column.0)))
}

/// Whether the table of `columns` has the one of that name at this width.
pub(crate) fn has_column(columns: &[Column], name: &str) -> bool {
    !is_narrow(columns) || columns.iter().any(|column| column.0 == name && column.2.is_some())
}

/// Whether a table of `columns` is too wide.
fn is_narrow(columns: &[Column]) -> bool {
    let all: usize = columns.iter().map(|column| column.1 + 2).sum();
    width().is_some_and(|width| width < all - 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_of_a_message_are_broken_and_its_picture_is_not() {
        let picture = format!("1 | {}", "x".repeat(90));
        let expected = format!("\u{1b}[94m  = \u{1b}[1mexpected:\u{1b}[0m one of: {}", "name, ".repeat(30));
        let text = message_at(&format!("error: short\n{picture}\n{expected}"), 80);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[0], lines[1]), ("error: short", &*picture));
        assert!(lines.len() > 3 && lines[3].starts_with("    name,"), "{lines:?}");
        assert!(lines[3..].iter().all(|line| line.len() <= 80), "{lines:?}");
    }

    #[test]
    fn long_lines_are_broken_between_words_and_others_are_not() {
        let short = "limited by         nothing";
        let long = format!("unsettled          {}", "word ".repeat(40).trim_end());
        for width in [40, 80, 150] {
            let text = broken_at(&format!("{short}\n{long}"), 19, width);
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(lines[0], short);
            assert!(lines[1].starts_with("unsettled          word"));
            assert!(lines[2].starts_with(&format!("{}word", " ".repeat(19))), "{lines:?}");
            assert!(lines.iter().all(|line| line.len() <= width), "{width}: {lines:?}");
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&lines[1..].join(" ")), words(&long), "nothing is lost");
        }
    }
}
