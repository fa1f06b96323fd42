//! What fits where: the width of the terminal, and tables that are printed line by line.

use std::io::IsTerminal;

/// The longest line of prose where nothing says how wide a line may be, and on wide terminals: longer ones are hard to read.
pub(crate) const PROSE: usize = 150;

/// The narrowest terminal that lines are fitted to.
const NARROWEST: usize = 40;

/// Columns of what is printed to: those of the terminal, or what `COLUMNS` says; nothing of a file or a pipe.
pub(crate) fn width() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.parse::<usize>().ok());
    let terminal = || {
        let (width, _) = terminal_size::terminal_size().filter(|_| std::io::stdout().is_terminal())?;
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
    let all: usize = columns.iter().map(|column| column.1 + 2).sum();
    let is_narrow = width().is_some_and(|width| width < all - 2);
    let cells = columns.iter().zip(cells).filter_map(|(Column(_, wide, narrow), cell)| {
        let width = if is_narrow { (*narrow)? } else { *wide };
        Some(format!("{cell:>width$}"))
    });
    let gap = if is_narrow { " " } else { "  " };
    cells.collect::<Vec<_>>().join(gap).trim_end().to_owned()
}

/// The heading of that table.
pub(crate) fn heading(columns: &[Column]) -> String {
    format!("\n{}", line(columns, columns.iter().map(|column| column.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

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
