//! Types are named by words of the field. Words that were ours alone, and what to say for each, stand in the glossary: a reader
//! who finds one has to learn a language before the code.

use super::super::{Findings, Rule, tree::Tree};

pub(in super::super) const RULE: Rule = Rule { name: "type-name", check };

/// The page, and the line above its table.
const GLOSSARY: &str = "docs/glossary.md";
const SECTION: &str = "## Words that no type has";

/// The crates whose types are held against it: what a simulation is made of.
const CRATES: [&str; 6] = ["engine", "wiring", "fabric", "switch", "nic", "process"];

fn check(tree: &Tree, findings: &mut Findings) {
    let Some(glossary) = tree.written().find(|file| file.path == GLOSSARY) else { return };
    let rows = glossary.lines().skip_while(|(_, line)| *line != SECTION).skip(1);
    let rows = rows.take_while(|(_, line)| !line.starts_with("## ")).filter_map(|(_, line)| row(line));
    let old: Vec<(&str, &str)> = rows.filter(|(word, _)| word.chars().all(char::is_alphabetic)).collect();
    for file in tree.rust().filter(|file| !file.is_test) {
        let parts: Vec<&str> = file.path.split('/').collect();
        let ["crates", name, "src", ..] = parts[..] else { continue };
        if !CRATES.contains(&name) {
            continue;
        }
        for (number, line) in file.rust_lines().filter(|(_, line)| !line.is_test) {
            let Some(type_name) = type_of(&line.code) else { continue };
            let words = words(type_name);
            let used = old.iter().find(|(word, _)| words.iter().any(|it| it.eq_ignore_ascii_case(word)));
            if let Some((word, say)) = used {
                findings.add(&file.path, number, format!("`{type_name}`: no type is a {word}; say {say}"));
            }
        }
    }
}

/// The two cells of a row of a table.
fn row(line: &str) -> Option<(&str, &str)> {
    let (word, say) = line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ")?;
    (word != "word").then_some((word, say))
}

/// The type that a line declares.
fn type_of(code: &str) -> Option<&str> {
    let mut words = code.split_whitespace().filter(|word| !word.starts_with("pub"));
    let kind = words.by_ref().find(|word| !["unsafe", "in"].contains(word))?;
    let is_type = ["struct", "enum", "trait", "type"].contains(&kind);
    let name = words.next().filter(|_| is_type)?;
    name.split(|c: char| !c.is_alphanumeric()).next()
}

/// The words of a name in camel case.
fn words(name: &str) -> Vec<&str> {
    let starts: Vec<usize> = name
        .char_indices()
        .filter(|(_, c)| c.is_uppercase())
        .map(|(index, _)| index)
        .chain([name.len()])
        .collect();
    starts.windows(2).map(|pair| &name[pair[0]..pair[1]]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::found;
    use super::*;

    const PAGE: &str =
        "# Glossary\n\n## Words that no type has\n\n| word | say |\n|---|---|\n| token | packet state |\n";

    #[test]
    fn types_with_old_words_are_found() {
        let bad = [
            ("docs/glossary.md", PAGE),
            ("crates/switch/src/a.rs", "pub(super) struct PacketToken<T> {\n"),
            ("crates/fabric/src/a.rs", "struct Token;\n"),
        ];
        assert_eq!(
            found(&RULE, &bad),
            [
                "crates/fabric/src/a.rs:1: `Token`: no type is a token; say packet state",
                "crates/switch/src/a.rs:1: `PacketToken`: no type is a token; say packet state",
            ]
        );
    }

    #[test]
    fn other_words_and_other_crates_pass() {
        let good = [
            ("docs/glossary.md", PAGE),
            ("crates/switch/src/a.rs", "struct Tokens;\n// struct Token\nfn f(token: u32) {}\n"),
            ("crates/workload/src/a.rs", "enum Token {\n"),
        ];
        assert_eq!(found(&RULE, &good), [""; 0]);
    }
}
