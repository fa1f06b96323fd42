//! Text is read side by side with other text. rustfmt breaks code; here stand comments and pages.

use super::super::tree::{File, Tree};
use super::super::{Findings, Rule};

pub(in super::super) const RULE: Rule = Rule { name: "long-line", check };

/// Characters of a line. People aim at 120; a word more is no reason to break a paragraph anew.
const LONGEST: usize = 128;

fn check(tree: &Tree, findings: &mut Findings) {
    for file in tree.written() {
        for (number, line) in file.lines() {
            let length = line.chars().count();
            if length > LONGEST && is_breakable(file, number, line) {
                let text = format!("{length} characters; break the line at {LONGEST}");
                findings.add(&file.path, number, text);
            }
        }
    }
}

/// Not an address, not a row of a table; in Rust a comment.
fn is_breakable(file: &File, number: usize, line: &str) -> bool {
    let is_row = file.path.ends_with(".md") && line.starts_with('|');
    let is_code = file.rust.get(number - 1).is_some_and(|line| line.comment.is_empty());
    !line.contains("://") && !is_row && !is_code
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::found;
    use super::*;

    #[test]
    fn long_comments_and_paragraphs_are_found() {
        let long = "word ".repeat(26);
        let bad = [("a.rs", &*format!("// {long}\n")), ("b.md", &*long), ("c.toml", &*format!("# {long}"))];
        assert_eq!(
            found(&RULE, &bad),
            [
                "a.rs:1: 133 characters; break the line at 128",
                "b.md:1: 130 characters; break the line at 128",
                "c.toml:1: 132 characters; break the line at 128",
            ]
        );
    }

    #[test]
    fn code_tables_addresses_and_generated_pages_pass() {
        let long = "word ".repeat(26);
        let good = [
            ("a.rs", &*format!("let a = \"{long}\";\n// short\n")),
            ("b.md", &*format!("| {long} |\nsee [there](https://{long})\n{}\n", "é".repeat(128))),
            ("c.md", &*format!("# Title\n\nMade by `cargo xtask gen`; do not edit.\n\n{long}\n")),
            ("crates/a/tests/data.toml", &*long),
        ];
        assert_eq!(found(&RULE, &good), [""; 0]);
    }
}
