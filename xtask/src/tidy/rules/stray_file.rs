//! Git remembers: no copies of old files, no products of builds, nothing that makes every clone slow.

use super::super::{Findings, Rule, tree::Tree};

pub(in super::super) const RULE: Rule = Rule { name: "stray-file", check };

/// Ends of names that editors and people give to copies, and tools to their products.
const COPIES: &[&str] = &[".old", ".orig", ".bak", ".rej", ".swp", "~", ".o", ".so", ".rlib", ".profraw"];

/// Bytes of a file.
const LARGEST: u64 = 512 * 1024;

fn check(tree: &Tree, findings: &mut Findings) {
    for file in tree.files() {
        if let Some(end) = COPIES.iter().find(|end| file.path.ends_with(**end)) {
            findings.add(
                &file.path,
                1,
                format!("a name that ends in `{end}`; remove the file, git remembers it"),
            );
        }
        if file.size > LARGEST {
            let text = format!("{} KiB; keep files below {} KiB", file.size / 1024, LARGEST / 1024);
            findings.add(&file.path, 1, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::found;
    use super::*;

    #[test]
    fn copies_and_large_files_are_found() {
        let bad = [("a.rs.orig", ""), ("b.bin", &*"x".repeat(600 * 1024))];
        assert_eq!(
            found(&RULE, &bad),
            [
                "a.rs.orig:1: a name that ends in `.orig`; remove the file, git remembers it",
                "b.bin:1: 600 KiB; keep files below 512 KiB",
            ]
        );
    }

    #[test]
    fn other_files_pass() {
        assert_eq!(found(&RULE, &[("threshold.rs", ""), ("original", "")]), [""; 0]);
    }
}
