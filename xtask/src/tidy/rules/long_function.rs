//! A function fits on a screen. Those that did not when the rule came are listed, and may only get shorter.

use super::super::tree::{File, Tree};
use super::super::{Findings, Rule};

pub(in super::super) const RULE: Rule = Rule { name: "long-function", check };

/// Lines of a function, from `fn` to its closing brace.
const LONGEST: usize = 70;

/// Longer ones: path, name, lines. Nothing is added here; an entry that is no longer true must go.
const ALLOWED: &[(&str, &str, usize)] = &[
    // A table of cases.
    ("crates/workload/src/graph/goal/tests.rs", "every_mistake_has_its_message", 71),
];

fn check(tree: &Tree, findings: &mut Findings) {
    check_with(ALLOWED, tree, findings);
}

fn check_with(allowed: &[(&str, &str, usize)], tree: &Tree, findings: &mut Findings) {
    for file in tree.rust() {
        for function in functions(file) {
            let known = allowed.iter().find(|entry| entry.0 == file.path && entry.1 == function.name);
            let limit = known.map_or(LONGEST, |entry| entry.2);
            if function.lines > limit {
                let text = format!(
                    "`{}` has {} lines; split it so that each part has at most {LONGEST}",
                    function.name, function.lines
                );
                findings.add(&file.path, function.start, text);
            }
        }
    }
    for &(path, name, lines) in allowed {
        let file = tree.files().iter().find(|file| file.path == path);
        let still =
            file.is_some_and(|file| functions(file).iter().any(|it| it.name == name && it.lines == lines));
        if !still {
            let text =
                format!("`{name}` no longer has {lines} lines; correct or remove its entry in ALLOWED");
            findings.add(path, 1, text);
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Function {
    name: String,
    /// The line of its `fn`, from 1.
    start: usize,
    lines: usize,
}

fn functions(file: &File) -> Vec<Function> {
    let mut found = Vec::new();
    for (start, line) in file.rust_lines() {
        let Some(name) = name_in(&line.code) else { continue };
        if let Some(lines) = length(file, start) {
            found.push(Function { name, start, lines });
        }
    }
    found
}

/// The name of the function that a line defines.
fn name_in(code: &str) -> Option<String> {
    let words: Vec<&str> = code.split_whitespace().take_while(|word| !word.contains('(')).collect();
    let before = code.split("fn ").next()?;
    let is_definition = before.trim().split(' ').all(|word| {
        let modifiers = ["", "pub", "const", "async", "unsafe", "extern", "\"\""];
        modifiers.contains(&word) || word.starts_with("pub(") || word.ends_with(')') || word == "in"
    });
    if !is_definition || !(words.contains(&"fn") || code.contains("fn ")) {
        return None;
    }
    let after = code.split_once("fn ")?.1;
    let end = after.find(|letter: char| !letter.is_alphanumeric() && letter != '_')?;
    (end > 0).then(|| after[..end].to_owned())
}

/// Lines from `start` to the brace that closes the body; `None` without one.
fn length(file: &File, start: usize) -> Option<usize> {
    let (mut braces, mut others) = (0u32, 0i32);
    for (number, line) in file.rust_lines().skip(start - 1) {
        for letter in line.code.chars() {
            match letter {
                '(' | '[' => others += 1,
                ')' | ']' => others -= 1,
                ';' if braces == 0 && others == 0 => return None,
                '{' => braces += 1,
                '}' if braces == 1 => return Some(number - start + 1),
                '}' => braces = braces.saturating_sub(1),
                _ => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::found;
    use super::*;

    /// The rule without exceptions.
    const STRICT: Rule = Rule { name: "", check: |tree, findings| check_with(&[], tree, findings) };

    fn function(lines: usize) -> String {
        format!(
            "impl A {{\n    pub(crate) fn long(x: [u8; 4])\n    {{\n{}    }}\n}}\n",
            "        x;\n".repeat(lines - 3)
        )
    }

    #[test]
    fn a_long_function_is_found_where_it_begins() {
        let bad = [("a.rs", &*function(71))];
        let expected = "a.rs:2: `long` has 71 lines; split it so that each part has at most 70";
        assert_eq!(found(&STRICT, &bad), [expected]);
    }

    #[test]
    fn short_functions_and_those_without_body_pass() {
        let signature = format!("trait A {{ fn f(&self,\n{}) -> u8;\n}}\n", "x: u8,\n".repeat(80));
        let text = format!("// fn comment()\nlet pointer: fn (u8);\n{}", "x;\n".repeat(80));
        let good = [("a.rs", &*function(70)), ("b.rs", &*signature), ("c.rs", &*text)];
        assert_eq!(found(&STRICT, &good), [""; 0]);
    }

    #[test]
    fn the_list_of_exceptions_only_shrinks() {
        let check = |lines: usize, text: &str| {
            let mut findings = Findings { rule: "", list: Vec::new() };
            check_with(&[("a.rs", "long", lines)], &Tree::of(&[("a.rs", text)]), &mut findings);
            findings.list.into_iter().map(|finding| finding.text).collect::<Vec<_>>()
        };
        assert_eq!(check(90, &function(90)), [""; 0]);
        let grown = "`long` has 91 lines; split it so that each part has at most 70";
        let stale = "`long` no longer has 90 lines; correct or remove its entry in ALLOWED";
        assert_eq!(check(90, &function(91)), [grown, stale]);
        assert_eq!(check(90, &function(80)), [stale]);
    }
}
