//! Words of the output, explained by the tables of the documents that define them.

/// The documents, and whether names stand between backticks in the first column of their tables, beside other text.
const DOCUMENTS: [(&str, bool); 3] = [
    (include_str!("../../../docs/glossary.md"), false),
    (include_str!("../../../docs/results.md"), true),
    (include_str!("../../../docs/report.md"), true),
];

/// The last part of the glossary, for those who write code.
const CODE_ONLY: &str = "## Words that no type has";

/// What the documents say of `topic`, a page from each that says anything. Of several things they say what one is.
pub(crate) fn explained(topic: &str) -> Vec<String> {
    let pages = |topic: &str| -> Vec<String> {
        let pages = DOCUMENTS.iter().map(|(text, is_code)| explained_by(text, *is_code, topic));
        pages.filter(|page| !page.is_empty()).collect()
    };
    match (pages(topic), topic.strip_suffix('s')) {
        (none, Some(one)) if none.is_empty() => pages(one),
        (pages, _) => pages,
    }
}

/// The rows of the glossary in which the phrase `topic` stands, where nothing is called so.
pub(crate) fn mentioning(topic: &str) -> Vec<String> {
    let phrase = topic.to_lowercase();
    let (glossary, _) = DOCUMENTS[0];
    let rows = glossary.lines().take_while(|line| *line != CODE_ONLY).filter_map(|line| {
        let cells = cells(line);
        let [name, meaning @ ..] = &cells[..] else { return None };
        meaning.iter().any(|cell| cell.to_lowercase().contains(&phrase)).then(|| row(name, "word", meaning))
    });
    rows.collect()
}

fn explained_by(text: &str, is_code: bool, topic: &str) -> String {
    let is_named = |text| names(text, is_code).iter().any(|name| name.eq_ignore_ascii_case(topic));
    let (mut rows, mut kind, mut above, mut is_within) = (Vec::new(), "", "", false);
    for line in text.lines().take_while(|line| *line != CODE_ONLY) {
        let cells = cells(line);
        match &cells[..] {
            [] if !line.is_empty() => above = line,
            // The first row says what is named below; an empty one leaves that to the line above.
            [heading, ..] if !is_within => {
                kind = if heading.is_empty() { above.trim_end_matches(':') } else { heading };
            }
            ["", ..] => {}
            // A table about a field explains that, too.
            [name, meaning @ ..] if is_named(name) || is_code && is_named(kind) => {
                rows.push(row(name, kind, meaning))
            }
            _ => {}
        }
        is_within = !cells.is_empty();
    }
    rows.join("\n")
}

/// The cells of a row of a table; none of any other line.
pub(crate) fn cells(line: &str) -> Vec<&str> {
    let row = line.strip_prefix('|').and_then(|row| row.strip_suffix('|'));
    // The rule below the first row has cells as well, of dashes.
    row.map_or(Vec::new(), |row| row.split('|').map(|cell| cell.trim_matches([' ', '-'])).collect())
}

/// What the first cell of a row names: a field by its path and by the last part of that; of other words that stand between
/// commas or brackets each, whole, by the first and the last of them, and with the last of the cell.
fn names(cell: &str, is_code: bool) -> Vec<String> {
    let last = |text: &'_ str, mark| text.rsplit(mark).next().unwrap_or(text).to_owned();
    if is_code {
        let paths = cell.split('`').skip(1).step_by(2).map(|path| path.trim_end_matches("[]"));
        return paths.flat_map(|path| [path.to_owned(), last(path, '.')]).collect();
    }
    let parts =
        cell.split([',', '(', ')']).map(|part| part.trim_matches([' ', '`'])).filter(|part| !part.is_empty());
    let names = parts.flat_map(|part| {
        let first = part.split(' ').next().unwrap_or(part).to_owned();
        [part.to_owned(), first, last(part, ' '), format!("{part} {}", last(cell, ' '))]
    });
    names.collect()
}

/// A row of a table in which things of `kind` are named; words are nothing else.
fn row(name: &str, kind: &str, cells: &[&str]) -> String {
    let (meaning, units) = cells.split_last().map_or(("", cells), |(last, units)| (*last, units));
    let of = if kind == "word" { "" } else { kind };
    let of: Vec<&str> = [of].iter().chain(units).copied().filter(|text| !text.is_empty()).collect();
    let of = if of.is_empty() { String::new() } else { format!(" ({})", of.join(", in ")) };
    plain(&format!("{name}{of}: {meaning}"))
}

/// Without the marks of Markdown.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let (before, title) = before.rsplit_once('[').unwrap_or((before, ""));
        let (_, after) = after.split_once(')').unwrap_or(("", after));
        plain.extend([before, title]);
        rest = after;
    }
    plain.push_str(rest);
    plain.replace(['`', '*'], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_names_what_a_user_would_type() {
        for (cell, is_code, name) in [
            ("virtual channel (VC)", false, "VC"),
            ("virtual channel (VC)", false, "virtual channel"),
            ("offered, accepted load", false, "offered"),
            ("offered, accepted load", false, "offered load"),
            ("`theory.channel_bound`, `theory.bisection_bound`", true, "bisection_bound"),
            ("`points[]`", true, "points"),
        ] {
            assert!(names(cell, is_code).iter().any(|it| it == name), "{cell}: {name}");
        }
        assert_eq!(names("of `limit` a", true), ["limit", "limit"]);
    }

    #[test]
    fn marks_are_taken_off() {
        assert_eq!(plain("see the [glossary](glossary.md), `a[]`: *b*"), "see the glossary, a[]: b");
    }

    #[test]
    fn the_row_and_its_table_are_told() {
        let text = "Why, `reason`:\n\n| | |\n|---|---|\n| `drift` | it grows |\n\n| field | unit |\n|---|---|\n| `a.b` | ns |";
        assert_eq!(explained_by(text, true, "Drift"), "drift (Why, reason): it grows");
        assert_eq!(explained_by(text, true, "b"), "a.b (field): ns");
        assert_eq!(explained_by(text, true, "reason"), "drift (Why, reason): it grows");
    }

    #[test]
    fn what_a_run_prints_is_explained() {
        let columns = ["offered", "accepted", "latency", "p50", "p99", "p99.9", "network"];
        let others =
            ["saturated", "unsettled", "steady", "growing", "arbitration", "VC", "MTU", "injection rate"];
        let lines = [
            "packet-hops",
            "model",
            "links",
            "T_switch",
            "limited by",
            "not settled",
            "communication share",
            "communication_share",
            "lane",
        ];
        for word in columns.iter().chain(&others).chain(&lines) {
            assert!(!explained(word).is_empty(), "{word}");
        }
    }
}
