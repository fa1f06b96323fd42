//! Wrong input and the message it gets, case by case, in `mistakes/cases.txt`.
//!
//! A case is a title, its input, `--`, and the exact messages. The input is one of
//!
//! * a change of `mistakes/base.toml`, as in a diff: lines of context, `-` lines out, `+` lines in;
//! * a whole machine file, each line after `|`;
//! * `set TEXT`: an override; `load NAME`: a name or path instead of a text;
//! * a graph file `test.graph` next to the machine file, each line after `graph|`.
//!
//! `FLITWAY_ACCEPT=1 cargo test -p flitway-machine --test mistakes` writes the messages of today; look at each before
//! they are committed, and say in the commit why they changed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::fs;
use std::path::{Path, PathBuf};

use flitway_machine::{Code, Diagnostics, Machine, Options, code::PAGES};

struct Case {
    title: String,
    input: Vec<String>,
    messages: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes")
}

fn cases() -> Vec<Case> {
    let text = fs::read_to_string(folder().join("cases.txt")).unwrap();
    let mut cases: Vec<Case> = Vec::new();
    for block in text.split("\n== ").skip(1) {
        let (title, rest) = block.split_once('\n').unwrap_or((block, ""));
        let (input, messages) = rest.split_once("\n--").unwrap_or((rest, ""));
        cases.push(Case {
            title: title.to_owned(),
            input: input.lines().map(str::to_owned).collect(),
            messages: messages.trim().to_owned(),
        });
    }
    cases
}

/// The lines of `input` that begin with `mark`, without it.
fn marked<'a>(input: &'a [String], mark: &str) -> Vec<&'a str> {
    input.iter().filter_map(|line| line.strip_prefix(mark)).collect()
}

fn changed_base(input: &[String]) -> String {
    let base = fs::read_to_string(folder().join("base.toml")).unwrap();
    let mut lines: Vec<&str> = base.lines().collect();
    let mut at = 0;
    for line in input {
        let (mark, text) = line.split_at(line.len().min(1));
        match mark {
            "+" => {
                lines.insert(at, text);
                at += 1;
            }
            "-" | " " => {
                let found = lines[at..].iter().position(|other| *other == text);
                at += found
                    .unwrap_or_else(|| panic!("`{text}` is not a line of base.toml below the one before"));
                if mark == "-" {
                    lines.remove(at);
                } else {
                    at += 1;
                }
            }
            _ => {}
        }
    }
    lines.join("\n") + "\n"
}

fn load(case: &Case, place: &Path) -> Result<Machine, Diagnostics> {
    let sets: Vec<String> = marked(&case.input, "set ").into_iter().map(str::to_owned).collect();
    if let Some(name) = marked(&case.input, "load ").first() {
        return Machine::load(name, &sets);
    }
    fs::create_dir_all(place).unwrap();
    let graph = marked(&case.input, "graph|");
    if !graph.is_empty() {
        fs::write(place.join("test.graph"), graph.join("\n") + "\n").unwrap();
    }
    let whole = marked(&case.input, "|");
    let text = if whole.is_empty() { changed_base(&case.input) } else { whole.join("\n") + "\n" };
    let mut options = Options::from_text("machine.toml", text, place);
    for set in &sets {
        options.set(set);
    }
    options.check()
}

/// The messages of a case, without the folder that `test` made for it, and their codes.
fn messages(case: &Case, test: &str, number: usize) -> (String, Vec<Code>) {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mistakes-{test}-{number}"));
    let findings = match load(case, &place) {
        Ok(machine) => machine.warnings,
        Err(problems) => problems,
    };
    let codes = findings.iter().map(|problem| problem.code).collect();
    (findings.to_string().replace(&format!("{}/", place.display()), ""), codes)
}

#[test]
fn every_mistake_gets_its_message() {
    let mut text = fs::read_to_string(folder().join("cases.txt")).unwrap();
    text.truncate(text.find("\n== ").unwrap());
    let mut wrong = Vec::new();
    let cases = cases();
    for (number, case) in cases.iter().enumerate() {
        let (messages, _) = messages(case, "text", number);
        assert!(!messages.is_empty(), "`{}` is no mistake", case.title);
        if messages != case.messages {
            wrong.push(format!("{}\n{messages}\n", case.title));
        }
        text += &format!("\n== {}\n{}\n--\n{messages}\n", case.title, case.input.join("\n"));
    }
    if std::env::var_os("FLITWAY_ACCEPT").is_some() {
        fs::write(folder().join("cases.txt"), text).unwrap();
    } else {
        assert!(wrong.is_empty(), "other messages than in cases.txt:\n\n{}", wrong.join("\n"));
    }
    assert!(cases.len() >= 45);
}

/// The codes of experiment files (`FW-X`) have their cases beside their reader.
#[test]
fn every_code_has_a_case() {
    let cases = cases();
    let seen: Vec<Code> =
        cases.iter().enumerate().flat_map(|(number, case)| messages(case, "codes", number).1).collect();
    let own = PAGES.iter().filter(|page| page.id.starts_with("FW-M"));
    let unseen: Vec<&str> = own.filter(|page| !seen.contains(&page.code)).map(|page| page.id).collect();
    assert!(unseen.is_empty(), "no case for {unseen:?}");
}
