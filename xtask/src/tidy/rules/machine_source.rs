//! A number in a machine file that does not name its source cannot be checked, and so is worth nothing.

use super::super::{Findings, Rule, tree::Tree};

pub(in super::super) const RULE: Rule = Rule { name: "machine-source", check };

/// Keys whose values are words, whatever digits they hold.
const WORDS: &[&str] = &["name", "description", "kind", "file", "algorithm", "architecture", "arbiter"];

fn check(tree: &Tree, findings: &mut Findings) {
    let machines =
        tree.files().iter().filter(|file| file.path.starts_with("machines/") && file.path.ends_with(".toml"));
    for file in machines {
        for (number, line) in file.lines() {
            let Some((key, value)) = line.split_once('=').filter(|_| !line.trim_start().starts_with('#'))
            else {
                continue;
            };
            let (value, comment) = value.split_once('#').unwrap_or((value, ""));
            let has_number = value.contains(|letter: char| letter.is_ascii_digit());
            if has_number && !WORDS.contains(&key.trim()) && comment.trim().is_empty() {
                let text = format!("`{}` does not say where its value comes from; add a comment", key.trim());
                findings.add(&file.path, number, text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::found;
    use super::*;

    #[test]
    fn a_number_without_source_is_found() {
        let bad = [("machines/a.toml", "rails = 4\nclock = \"100 MHz\" #\n")];
        assert_eq!(
            found(&RULE, &bad),
            [
                "machines/a.toml:1: `rails` does not say where its value comes from; add a comment",
                "machines/a.toml:2: `clock` does not say where its value comes from; add a comment",
            ]
        );
    }

    #[test]
    fn numbers_with_source_words_and_other_files_pass() {
        let good = [
            (
                "machines/a.toml",
                "# rails = 4\nname = \"mesh-8x8\"\nrails = 4 # P-DN-012\n\n[link]\nkind = \"mesh\"\n",
            ),
            ("crates/a/Cargo.toml", "version = \"1\"\n"),
        ];
        assert_eq!(found(&RULE, &good), [""; 0]);
    }
}
