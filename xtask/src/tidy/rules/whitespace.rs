//! White space that nobody sees makes differences that nobody understands.

use super::super::{Findings, Rule, tree::Tree};

pub(in super::super) const RULE: Rule = Rule { name: "whitespace", check };

fn check(tree: &Tree, findings: &mut Findings) {
    for file in tree.files().iter().filter(|file| !file.is_test_data()) {
        let Some(text) = &file.text else { continue };
        for (number, line) in (1..).zip(text.split_terminator('\n')) {
            if line.ends_with('\r') {
                findings.add(
                    &file.path,
                    number,
                    "the line ends with a carriage return; save it with Unix line ends",
                );
            } else if line.ends_with([' ', '\t']) {
                findings.add(&file.path, number, "white space at the end of the line; remove it");
            }
        }
        if !text.is_empty() && !text.ends_with('\n') {
            findings.add(&file.path, text.lines().count(), "the last line does not end; add a line end");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::found;
    use super::*;

    #[test]
    fn invisible_differences_are_found() {
        let bad = [("a.md", "one \ntwo\r\nthree")];
        assert_eq!(
            found(&RULE, &bad),
            [
                "a.md:1: white space at the end of the line; remove it",
                "a.md:2: the line ends with a carriage return; save it with Unix line ends",
                "a.md:3: the last line does not end; add a line end",
            ]
        );
    }

    #[test]
    fn plain_text_and_the_data_of_tests_pass() {
        let good = [("a.md", "one\n\n  two\n"), ("empty", ""), ("crates/a/tests/bad.toml", "x = 1 \r\n")];
        assert_eq!(found(&RULE, &good), [""; 0]);
    }
}
