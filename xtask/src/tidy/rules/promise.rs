//! A crate is a promise about what it does not know, and the first thing its reader sees.

use super::super::{Findings, Rule, tree::Tree};

pub(in super::super) const RULE: Rule = Rule { name: "promise", check };

/// One of these stands in a sentence that says what is not known or not done.
const DENIALS: &[&str] = &["no", "not", "nothing", "never", "neither", "only"];

fn check(tree: &Tree, findings: &mut Findings) {
    for file in tree.rust() {
        let parts: Vec<&str> = file.path.split('/').collect();
        let ["crates", _, "src", "lib.rs" | "main.rs"] = parts[..] else { continue };
        let head: Vec<&str> = file.rust.iter().map(|line| line.comment.as_str()).collect();
        let head: Vec<&str> = head.into_iter().take_while(|comment| comment.starts_with("//!")).collect();
        let words: Vec<&str> =
            head.iter().flat_map(|line| line.split(|c: char| !c.is_alphanumeric())).collect();
        if head.is_empty() {
            findings.add(&file.path, 1, "the crate does not say what it is for; begin the file with `//!`");
        } else if !words.iter().any(|word| DENIALS.contains(word)) {
            let text =
                "the crate does not promise anything; say in its first comment what it does not know or do";
            findings.add(&file.path, 1, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::found;
    use super::*;

    #[test]
    fn a_crate_without_promise_is_found() {
        let bad =
            [("crates/a/src/lib.rs", "mod x;\n"), ("crates/b/src/main.rs", "//! Does all.\nfn main() {}\n")];
        assert_eq!(
            found(&RULE, &bad),
            [
                "crates/a/src/lib.rs:1: the crate does not say what it is for; begin the file with `//!`",
                "crates/b/src/main.rs:1: the crate does not promise anything; \
             say in its first comment what it does not know or do",
            ]
        );
    }

    #[test]
    fn a_promise_and_files_inside_pass() {
        let good = [
            ("crates/a/src/lib.rs", "//! Time.\n//!\n//! It knows **no** networks.\n"),
            ("crates/a/src/x.rs", ""),
        ];
        assert_eq!(found(&RULE, &good), [""; 0]);
    }
}
