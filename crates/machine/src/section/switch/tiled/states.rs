//! `switch.link.lane_states`: lanes that are bad from the start.

use super::{LANE_RATES, LANE_STATES, RETRY};
use crate::code::Code;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::place::{Place, lane_states};
use crate::section::link::LinkSettings;
use crate::section::topology::Topology;
use crate::values::Values;
use flitway_fabric::chip::{Chip, LinkTraining};
use flitway_fabric::faults::FirstLanes;

const EXPECTED: &str = "links by one end, each with its good lanes, joined by `;`: \"node 3: 5; switch 80 port 7: 8 at 10 Gbit/s\"";

/// What the machine says of lanes, of `chip`. Nothing where it says nothing, or what is wrong.
pub(crate) fn first_lanes(
    values: &Values,
    link: &LinkSettings,
    topology: &Topology,
    chip: &dyn Chip,
    findings: &mut Diagnostics,
) -> FirstLanes {
    let text = values.text(&LANE_STATES).unwrap_or_default();
    if text.trim().is_empty() {
        return FirstLanes::default();
    }
    read(values, text, link, topology, chip).unwrap_or_else(|problem| {
        findings.push(*problem);
        FirstLanes::default()
    })
}

fn read(
    values: &Values,
    text: &str,
    link: &LinkSettings,
    topology: &Topology,
    chip: &dyn Chip,
) -> Result<FirstLanes, Box<Diagnostic>> {
    let wrong = |message| values.conflict(Code::LaneStates, &[&LANE_STATES], message);
    let Some(LinkTraining { lanes, .. }) = chip.training() else {
        let problem = wrong("links without retry are not trained".to_owned());
        return Err(problem.expected("links that retry").help(values.fix(&RETRY, "true")).into());
    };
    let mut links_of_graph = topology.graph.iter().flat_map(|file| &file.links);
    if link.rates.are_said() || links_of_graph.any(|link| link.rates != [None; 2]) {
        let problem = wrong("links have rates of their own, and lanes say rates too".to_owned());
        return Err(problem.expected("`switch.link.lane_states` or rates of links, and not both").into());
    }
    let built = topology.wired().map_err(|error| wrong(error.to_string()))?;
    let lane_rates = values.counts(&LANE_RATES).unwrap_or_default();
    let mut first = FirstLanes::default();
    for item in text.split(';').map(str::trim).filter(|item| !item.is_empty()) {
        let of_item = |message: String| wrong(format!("`{item}`: {message}"));
        let (place, good, gigabits) =
            parse(item).map_err(|message| Box::new(of_item(message).expected(EXPECTED)))?;
        let states = lane_states(&lanes, &lane_rates, Some(good), gigabits).map_err(of_item)?;
        let [end, _] = place.ends(&built).map_err(of_item)?;
        if first.states.insert(end, states).is_some() {
            return Err(of_item("the lanes to that end are said twice".to_owned()).into());
        }
        let [here, there] = first.of(&built, &lanes, end);
        if lanes.agree(&here, &there).is_none() {
            let (most, count) = (lanes.discarded_max(), lanes.count());
            let problem =
                of_item(format!("the link would be down: its ends can do without {most} of {count} lanes"));
            let expected = "a link that works; `--faults 'down(link=...)'` has it break in a run";
            return Err(problem.expected(expected).into());
        }
    }
    Ok(first)
}

/// Reads `node 3: 5`, or `switch 5 port 7: 8 at 10 Gbit/s`. What is wrong says what was read, and what is likely meant.
fn parse(item: &str) -> Result<(Place, u32, Option<u32>), String> {
    let Some((end, lanes)) = item.split_once(':') else {
        return Err("no `:` stands between the link and its lanes".to_owned());
    };
    let lower = end.trim().to_lowercase();
    let place = Place::parse(end).ok_or_else(|| match Place::parse(&lower) {
        Some(_) => format!("`{}` is no end of a link; did you mean `{lower}`?", end.trim()),
        None => format!("`{}` is no end of a link: expected `node 3` or `switch 80 port 7`", end.trim()),
    })?;
    if item.contains(',') {
        return Err("a comma stands between links; expected `;`".to_owned());
    }
    let words: Vec<&str> = lanes.split_whitespace().collect();
    let number = |text: &str| text.parse().ok();
    let (good, gigabits) = match words[..] {
        [good] => (number(good), Some(None)),
        [good, "at", gigabits, "Gbit/s"] => (number(good), number(gigabits).map(Some)),
        [good, "at", gigabits, _] | [good, "at", gigabits] if number(good).is_some() => {
            let gigabits = gigabits.trim_end_matches(|letter: char| !letter.is_ascii_digit());
            let read = lanes.trim();
            return Err(format!(
                "read `{read}`, expected a rate in Gbit/s; did you mean `{good} at {gigabits} Gbit/s`?"
            ));
        }
        _ => (None, None),
    };
    match (good, gigabits) {
        (Some(good), Some(gigabits)) => Ok((place, good, gigabits)),
        _ => Err(format!(
            "read `{}`, expected how many lanes are good, and at what rate if it is less",
            lanes.trim()
        )),
    }
}
