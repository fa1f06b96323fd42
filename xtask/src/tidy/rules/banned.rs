//! Words that must not reach the main branch. Clippy knows some of them too; here the answer comes in milliseconds,
//! and covers what Clippy does not see: attributes, comments, and crates that forget the workspace's lints.

use super::super::rust::Line;
use super::super::tree::{File, Tree};
use super::super::{Findings, Rule};

pub(in super::super) const RULE: Rule = Rule { name: "banned", check };

/// Where a word is banned.
#[derive(Clone, Copy)]
enum Where {
    /// In all code.
    Code,
    /// In code that is not test code.
    RealCode,
    /// In code of libraries: all crates but the command line and the developer tools.
    Library,
    /// In all comments.
    Comments,
}

/// The words, where they are banned, and what to do instead.
const WORDS: &[(&str, Where, &str)] = &[
    ("dbg!", Where::Code, "remove it"),
    ("todo!", Where::Code, "write the code, or open an issue and leave the code out"),
    ("unimplemented!", Where::Code, "write the code, or make the case impossible to express"),
    ("#[ignore", Where::Code, "assert today's behaviour and link the issue"),
    (".unwrap()", Where::RealCode, "return the error, or state the invariant with `expect`"),
    (
        "#[allow(",
        Where::RealCode,
        "write `#[expect(..., reason = \"...\")]` or `#[allow(..., reason = \"...\")]`",
    ),
    ("print!(", Where::Library, "return a value; only the command line prints"),
    ("println!(", Where::Library, "return a value; only the command line prints"),
    ("process::exit", Where::Library, "return an error; only the command line ends the process"),
    ("SystemTime", Where::Library, "use simulated time; results must not depend on the clock on the wall"),
    ("FIXME", Where::Comments, "fix it, or open an issue and link it"),
    ("XXX", Where::Comments, "say what is meant"),
    ("HACK", Where::Comments, "say why it is so"),
    ("TODO", Where::Comments, "do it, or open an issue and link it"),
];

fn check(tree: &Tree, findings: &mut Findings) {
    for file in tree.rust() {
        for (number, line) in file.rust_lines() {
            for (word, place, cure) in
                WORDS.iter().filter(|(word, place, _)| stands(word, *place, file, line))
            {
                let excused = *word == "#[allow(" && has_reason(file, number);
                if !excused {
                    let what =
                        if matches!(place, Where::Library) { "in a library" } else { "is banned here" };
                    findings.add(&file.path, number, format!("`{word}` {what}; {cure}"));
                }
            }
        }
    }
}

fn stands(word: &str, place: Where, file: &File, line: &Line) -> bool {
    let is_test = file.is_test || line.is_test;
    let is_tool = ["crates/cli/", "xtask/"].iter().any(|folder| file.path.starts_with(folder));
    match place {
        Where::Code => holds(&line.code, word),
        Where::RealCode => !is_test && holds(&line.code, word),
        Where::Library => !is_test && !is_tool && holds(&line.code, word),
        Where::Comments => holds(&line.comment, word),
    }
}

/// Whether `text` holds `word`, not as a part of a longer one.
fn holds(text: &str, word: &str) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(word).any(|(at, _)| {
        let joined_before = word.starts_with(is_word) && text[..at].chars().next_back().is_some_and(is_word);
        let joined_after =
            word.ends_with(is_word) && text[at + word.len()..].chars().next().is_some_and(is_word);
        !joined_before && !joined_after
    })
}

/// Whether the attribute that begins in this line gives a reason.
fn has_reason(file: &File, start: usize) -> bool {
    let attribute = file.rust_lines().skip(start - 1).take(6).map(|(_, line)| line.code.as_str());
    let mut text = String::new();
    for code in attribute {
        text.push_str(code);
        if code.contains(")]") {
            break;
        }
    }
    text.contains("reason =")
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::found;
    use super::*;

    #[test]
    fn banned_words_are_found_where_they_are_banned() {
        let bad = [
            ("crates/fabric/src/a.rs", "fn a() {\n    x.unwrap();\n    println!();\n} // FIXME: soon\n"),
            ("crates/fabric/tests/b.rs", "#[ignore]\nfn b() { todo!() }\n"),
            ("crates/cli/src/c.rs", "#[allow(dead_code)]\nfn c() {}\n"),
        ];
        assert_eq!(
            found(&RULE, &bad),
            [
                "crates/cli/src/c.rs:1: `#[allow(` is banned here; \
             write `#[expect(..., reason = \"...\")]` or `#[allow(..., reason = \"...\")]`",
                "crates/fabric/src/a.rs:2: `.unwrap()` is banned here; return the error, or state the invariant with `expect`",
                "crates/fabric/src/a.rs:3: `println!(` in a library; return a value; only the command line prints",
                "crates/fabric/src/a.rs:4: `FIXME` is banned here; fix it, or open an issue and link it",
                "crates/fabric/tests/b.rs:1: `#[ignore` is banned here; assert today's behaviour and link the issue",
                "crates/fabric/tests/b.rs:2: `todo!` is banned here; \
             write the code, or open an issue and leave the code out",
            ]
        );
    }

    #[test]
    fn the_same_words_pass_elsewhere() {
        let good = [
            ("crates/fabric/src/a.rs", "/// x.unwrap()\nfn a() { b(\"todo!\"); c.unwrap_or(1); }\n"),
            ("crates/fabric/src/b.rs", "#[cfg(test)]\nmod tests {\n    fn b() { x.unwrap() }\n}\n"),
            ("crates/cli/src/c.rs", "fn c() { println!(); }\n"),
            (
                "crates/cli/src/d.rs",
                "#[allow(\n    dead_code,\n    reason = \"used by all\"\n)]\nfn d() {}\n",
            ),
            ("crates/process/src/e.rs", "fn e() { eprintless!(); XXXL } // HACKER\n"),
        ];
        assert_eq!(found(&RULE, &good), [""; 0]);
    }
}
