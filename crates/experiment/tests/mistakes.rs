//! Wrong experiment files and the message each gets, case by case, in `mistakes/cases.txt` (see `flitway_test_kit::cases`).
//! Beside a text a case may have
//!
//! * `load NAME`: a name or path instead of a text;
//! * `set PATH=VALUE`, `seed N`, `precision F` or `duration TIME`: what a command changes.
//!
//! `FLITWAY_ACCEPT=1 cargo test -p flitway-experiment --test mistakes` writes the messages of today; look at each before
//! they are committed, and say in the commit why they changed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use flitway_experiment::{Experiment, Overrides};
use flitway_machine::{Code, Diagnostics, code::PAGES};
use flitway_test_kit::cases::{Case, Cases};
use std::path::Path;

fn cases() -> Cases {
    Cases::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes"))
}

fn load(cases: &Cases, case: &Case) -> Result<Experiment, Diagnostics> {
    let one = |mark: &str| case.marked(mark).first().map(|text| (*text).to_owned());
    let overrides = Overrides {
        set: case.marked("set ").into_iter().map(str::to_owned).collect(),
        seed: one("seed ").map(|seed| seed.parse().unwrap()),
        precision: one("precision "),
        duration: one("duration "),
    };
    if let Some(name) = one("load ") {
        return Experiment::load(&name, &overrides);
    }
    Experiment::from_text("test.toml", cases.text(case), Path::new(""), &overrides)
}

/// The messages of a case, and their codes.
fn messages(cases: &Cases, case: &Case) -> (String, Vec<Code>) {
    let findings = load(cases, case).map_or_else(|problems| problems, |experiment| experiment.warnings);
    (findings.to_string(), findings.iter().map(|problem| problem.code).collect())
}

#[test]
fn every_mistake_gets_its_message() {
    let cases = cases();
    cases.check(|_, case| messages(&cases, case).0);
    assert!(cases.list().len() >= 40);
}

#[test]
fn every_code_has_a_case() {
    let cases = cases();
    let seen: Vec<Code> = cases.list().iter().flat_map(|case| messages(&cases, case).1).collect();
    let own = PAGES.iter().filter(|page| page.id.starts_with("FW-X"));
    let unseen: Vec<&str> = own.filter(|page| !seen.contains(&page.code)).map(|page| page.id).collect();
    assert!(unseen.is_empty(), "no case for {unseen:?}");
}

#[test]
fn the_base_of_the_cases_is_right() {
    let base = cases().base().to_owned();
    let experiment = Experiment::from_text("test.toml", base, Path::new(""), &Overrides::default()).unwrap();
    assert_eq!(experiment.points().len(), 5);
    assert!(experiment.warnings.is_empty());
}
