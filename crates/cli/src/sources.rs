//! Design values and open questions, as `docs/sources.md` has them.

use crate::words::{cells, plain};

const SOURCES: &str = include_str!("../../../docs/sources.md");

/// What a line says of the paper whose design values follow.
const PAPER: &str = "Paper: `";

/// What is said of the design value or the open question with that identifier, in any case.
pub(crate) fn explained(topic: &str) -> Option<String> {
    let mut paper = "";
    for line in SOURCES.lines() {
        if let Some((name, _)) = line.strip_prefix(PAPER).and_then(|rest| rest.split_once('`')) {
            paper = name;
        }
        let [id, says, more] = cells(line)[..] else { continue };
        if !id.eq_ignore_ascii_case(topic) {
            continue;
        }
        return match id.split('-').next() {
            Some("P") => Some(plain(&format!("{id}, a design value: {says} ({paper}, {more})"))),
            Some("OQ") => Some(plain(&format!(
                "{id}, an open question: {says}. What is done unless a setting says otherwise: {more}"
            ))),
            _ => None,
        };
    }
    None
}
