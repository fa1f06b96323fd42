//! Wrong experiment files and the message each gets, case by case, in `mistakes/cases.txt`.
//!
//! A case is a title, its input, `--`, and the exact messages. The input is one of
//!
//! * a change of `mistakes/base.toml`, as in a diff: lines of context, `-` lines out, `+` lines in;
//! * a whole experiment file, each line after `|`;
//! * `load NAME`: a name or path instead of a text;
//! * with `set PATH=VALUE`, `seed N`, `precision F` or `duration TIME`: what a command changes.
//!
//! `FLITWAY_ACCEPT=1 cargo test -p flitway-experiment --test mistakes` writes the messages of today; look at each before
//! they are committed, and say in the commit why they changed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use flitway_experiment::{Experiment, Overrides};
use flitway_machine::{Code, Diagnostics, code::PAGES};
use std::fs;
use std::path::{Path, PathBuf};

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

fn load(case: &Case) -> Result<Experiment, Diagnostics> {
    let one = |mark: &str| marked(&case.input, mark).first().map(|text| (*text).to_owned());
    let overrides = Overrides {
        set: marked(&case.input, "set ").into_iter().map(str::to_owned).collect(),
        seed: one("seed ").map(|seed| seed.parse().unwrap()),
        precision: one("precision "),
        duration: one("duration "),
    };
    if let Some(name) = one("load ") {
        return Experiment::load(&name, &overrides);
    }
    let whole = marked(&case.input, "|");
    let text = if whole.is_empty() { changed_base(&case.input) } else { whole.join("\n") + "\n" };
    Experiment::from_text("test.toml", text, Path::new(""), &overrides)
}

/// The messages of a case, and their codes.
fn messages(case: &Case) -> (String, Vec<Code>) {
    let findings = load(case).map_or_else(|problems| problems, |experiment| experiment.warnings);
    (findings.to_string(), findings.iter().map(|problem| problem.code).collect())
}

#[test]
fn every_mistake_gets_its_message() {
    let mut text = fs::read_to_string(folder().join("cases.txt")).unwrap();
    text.truncate(text.find("\n== ").unwrap());
    let mut wrong = Vec::new();
    let cases = cases();
    for case in &cases {
        let (messages, _) = messages(case);
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
    assert!(cases.len() >= 40);
}

#[test]
fn every_code_has_a_case() {
    let seen: Vec<Code> = cases().iter().flat_map(|case| messages(case).1).collect();
    let own = PAGES.iter().filter(|page| page.id.starts_with("FW-X"));
    let unseen: Vec<&str> = own.filter(|page| !seen.contains(&page.code)).map(|page| page.id).collect();
    assert!(unseen.is_empty(), "no case for {unseen:?}");
}

#[test]
fn the_base_of_the_cases_is_right() {
    let none = Case { title: String::new(), input: Vec::new(), messages: String::new() };
    let experiment = load(&none).unwrap();
    assert_eq!(experiment.points().len(), 5);
    assert!(experiment.warnings.is_empty());
}
