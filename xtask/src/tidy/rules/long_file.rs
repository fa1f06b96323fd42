//! A file is one idea; one that needs scrolling for minutes is several.

use super::super::{Findings, Rule, tree::Tree};

pub(in super::super) const RULE: Rule = Rule { name: "long-file", check };

/// Lines of a file.
const LONGEST: usize = 700;

fn check(tree: &Tree, findings: &mut Findings) {
    for file in tree.rust() {
        let lines = file.rust.len();
        if lines > LONGEST {
            let text = format!("{lines} lines; split the file so that each part has at most {LONGEST}");
            findings.add(&file.path, LONGEST + 1, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::found;
    use super::*;

    #[test]
    fn only_a_file_beyond_the_limit_is_found() {
        let files =
            [("a.rs", &*"x\n".repeat(700)), ("b.rs", &*"x\n".repeat(701)), ("c.txt", &*"x\n".repeat(900))];
        assert_eq!(
            found(&RULE, &files),
            ["b.rs:701: 701 lines; split the file so that each part has at most 700"]
        );
    }
}
