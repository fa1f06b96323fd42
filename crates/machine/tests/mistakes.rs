//! Wrong input and the message it gets, case by case, in `mistakes/cases.txt` (see `flitway_test_kit::cases`). Beside a text
//! a case may have
//!
//! * `set TEXT`: an override; `load NAME`: a name or path instead of a text;
//! * a graph file `test.graph` next to the machine file, each line after `graph|`, and forwarding tables `test.tables`, each
//!   after `tables|`; or instead of a text a program of threads, each line after `thread|`.
//!
//! `FLITWAY_ACCEPT=1 cargo test -p flitway-machine --test mistakes` writes the messages of today; look at each before
//! they are committed, and say in the commit why they changed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use flitway_machine::thread::parse_program;
use flitway_machine::{Code, Diagnostics, Machine, Options, code::PAGES};
use flitway_test_kit::cases::{Case, Cases};
use std::fs;
use std::path::Path;

fn cases() -> Cases {
    Cases::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes"))
}

fn load(cases: &Cases, case: &Case, place: &Path) -> Result<Machine, Diagnostics> {
    let sets: Vec<String> = case.marked("set ").into_iter().map(str::to_owned).collect();
    if let Some(name) = case.marked("load ").first() {
        return Machine::load(name, &sets);
    }
    fs::create_dir_all(place).unwrap();
    for (mark, file) in [("graph|", "test.graph"), ("tables|", "test.tables")] {
        let lines = case.marked(mark);
        if !lines.is_empty() {
            fs::write(place.join(file), lines.join("\n") + "\n").unwrap();
        }
    }
    let mut options = Options::from_text("machine.toml", cases.text(case), place);
    for set in &sets {
        options.set(set);
    }
    options.check()
}

/// The messages of a case, without the folder that `test` made for it, and their codes.
fn messages(cases: &Cases, case: &Case, test: &str, number: usize) -> (String, Vec<Code>) {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mistakes-{test}-{number}"));
    let program = case.marked("thread|");
    if !program.is_empty() {
        let problems = parse_program("test.thread", &(program.join("\n") + "\n")).unwrap_err();
        return (problems.to_string(), problems.iter().map(|problem| problem.code).collect());
    }
    let findings = match load(cases, case, &place) {
        Ok(machine) => machine.warnings,
        Err(problems) => problems,
    };
    let codes = findings.iter().map(|problem| problem.code).collect();
    (findings.to_string().replace(&format!("{}/", place.display()), ""), codes)
}

#[test]
fn every_mistake_gets_its_message() {
    let cases = cases();
    cases.check(|number, case| messages(&cases, case, "text", number).0);
    assert!(cases.list().len() >= 45);
}

/// The codes of experiment files (`FW-X`) have their cases beside their reader.
#[test]
fn every_code_has_a_case() {
    let cases = cases();
    let all = cases.list().iter().enumerate();
    let seen: Vec<Code> = all.flat_map(|(number, case)| messages(&cases, case, "codes", number).1).collect();
    let own = PAGES.iter().filter(|page| page.id.starts_with("FW-M"));
    let unseen: Vec<&str> = own.filter(|page| !seen.contains(&page.code)).map(|page| page.id).collect();
    assert!(unseen.is_empty(), "no case for {unseen:?}");
}

/// What a message proposes, typed: an override in the place of another of the same setting, and others left out.
#[test]
fn a_proposal_works_when_it_is_typed() {
    let torus = ["topology={kind=\"torus\", dimensions=[4, 4]}", "link.length.switch=5 m"];
    let dimension_order = [&torus[..], &["routing.algorithm=dimension-order"]].concat();
    let worms = ["switch.multicast.bit_string=16", "routing.dateline=false"];
    for (name, sets) in [
        ("torus-8x8", vec!["switch.vcs=3"]),
        ("torus-8x8", vec!["routing.algorithm=minimal"]),
        ("torus-8x8", vec!["routing.algorithm=valiant", "switch.vcs=2"]),
        ("torus-8x8", vec!["routing.algorithm=ugal"]),
        ("torus-8x8", vec!["routing.algorithm=up-down", "routing.dateline=false"]),
        ("sp-switch-16", dimension_order.clone()),
        ("sp-switch-16", [&dimension_order[..], &worms].concat()),
        ("sp-switch-16", [&torus[..], &worms[..1], &["routing.algorithm=minimal"]].concat()),
    ] {
        let sets: Vec<String> = sets.into_iter().map(str::to_owned).collect();
        let problems = Machine::load(name, &sets).unwrap_err();
        let help = problems.iter().next().and_then(|problem| problem.help.clone()).unwrap();
        for proposal in help.split(", or ") {
            let mut typed = sets.clone();
            for step in proposal.split(", and ") {
                let (what, set) = step.split_once(" --set ").unwrap();
                let set = set.trim_matches('\'');
                let path = set.split_once('=').unwrap().0;
                typed.retain(|other| !other.starts_with(&format!("{path}=")));
                typed.extend((what != "leave out").then(|| set.to_owned()));
            }
            assert!(Machine::load(name, &typed).is_ok(), "{sets:?}: {proposal}");
        }
    }
}
