//! Decisions are numbered, so that they can be cited, and have a title that says what was decided.

use super::super::{Findings, Rule, tree::Tree};

pub(in super::super) const RULE: Rule = Rule { name: "decision", check };

const FOLDER: &str = "docs/decisions/";

fn check(tree: &Tree, findings: &mut Findings) {
    let files =
        tree.files().iter().filter(|file| file.path.starts_with(FOLDER) && file.name() != "README.md");
    let mut next = 1;
    for file in files {
        let Some(number) = number(file.name()) else {
            findings.add(
                &file.path,
                1,
                "the name is not a number and words; write `0001-what-was-decided.md`",
            );
            continue;
        };
        if number != next {
            findings.add(&file.path, 1, format!("the number {number:04} is not the next; write {next:04}"));
        }
        next += 1;
        let title = file.lines().next().map_or("", |(_, line)| line);
        if title.strip_prefix("# ").is_none_or(|title| title.trim().is_empty()) {
            findings.add(&file.path, 1, "the first line is not a title; write `# What was decided`");
        }
    }
}

/// The number in a name such as `0001-what-was-decided.md`.
fn number(name: &str) -> Option<u32> {
    let (digits, words) = name.strip_suffix(".md")?.split_once('-')?;
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let right = digits.len() == 4 && !words.is_empty() && words.chars().all(is_plain);
    right.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::found;
    use super::*;

    #[test]
    fn wrong_names_numbers_and_titles_are_found() {
        let bad = [
            ("docs/decisions/0001-credits.md", "# Credits are pulled\n"),
            ("docs/decisions/0003-threads.md", "Threads\n"),
            ("docs/decisions/threads.md", "# Threads\n"),
        ];
        assert_eq!(
            found(&RULE, &bad),
            [
                "docs/decisions/0003-threads.md:1: the first line is not a title; write `# What was decided`",
                "docs/decisions/0003-threads.md:1: the number 0003 is not the next; write 0002",
                "docs/decisions/threads.md:1: the name is not a number and words; write `0001-what-was-decided.md`",
            ]
        );
    }

    #[test]
    fn numbered_titles_pass() {
        let good = [("docs/decisions/0001-a.md", "# A\n"), ("docs/decisions/0002-b-2.md", "# B\n")];
        assert_eq!(found(&RULE, &good), [""; 0]);
    }
}
