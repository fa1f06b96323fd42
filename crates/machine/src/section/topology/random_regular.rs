//! Random regular graphs.

use super::grid::NODES_PER_SWITCH;
use super::{Links, OF_KIND, Row, Topology, fits};
use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::setting::{Choice, Kind, settings};
use crate::values::Values;
use flitway_wiring::routing::RoutingKind;
use flitway_wiring::topology::{PORTS_MAX, RandomRegular, Topology as Wiring, TopologySettings};

pub(super) static RANDOM_REGULAR: Row = Row {
    choice: Choice {
        name: "random-regular",
        doc: "Jellyfish: every switch has as many links, to switches that chance draws; the same for the same seed.",
    },
    noun: "a random-regular",
    own_routing: RoutingKind::Minimal,
    links: Links::Alike,
    settings: &[&SWITCHES, &DEGREE, &SEED, &NODES_PER_SWITCH],
    shared: &[],
    build,
};

settings! {
    /// The switches of a random regular graph.
    SWITCHES = "topology.switches", Kind::Count { min: 2, max: 65_536 }, required, for OF_KIND, example(32),
        source("Singla et al., NSDI 2012, section 3: N");

    /// The links of each of its switches to others, no two of them to the same one.
    DEGREE = "topology.degree", Kind::Count { min: 1, max: PORTS_MAX - 2 }, required, for OF_KIND, example(6),
        source("Singla et al., NSDI 2012, section 3: r");

    /// What its links are drawn by. It is part of the machine: `--seed` does not change it.
    SEED = "topology.seed", Kind::Count { min: 0, max: u32::MAX }, default(1), for OF_KIND, source("Flitway");
}

fn build(values: &Values, findings: &mut Diagnostics) -> Option<Topology> {
    let (switches, degree) = (values.count(&SWITCHES), values.count(&DEGREE));
    let (switches, degree, seed) = (switches?, degree?, values.count(&SEED)?);
    let nodes_per_switch = values.count(&NODES_PER_SWITCH)?;
    let problem = if degree >= switches {
        Some((
            format!("{degree} links of a switch to {} others", switches - 1),
            format!("at most {}", switches - 1),
        ))
    } else if !(u64::from(switches) * u64::from(degree)).is_multiple_of(2) {
        let message = format!("{switches} switches with {degree} links each have an odd number of ends");
        Some((message, "an even number of switches, or of links".to_owned()))
    } else if degree < 2 && switches > 2 {
        Some(("a link of each switch joins no more than two".to_owned(), "2 links or more".to_owned()))
    } else {
        None
    };
    if let Some((message, expected)) = problem {
        let problem = values.conflict(Code::OutOfRange, &[&DEGREE, &SWITCHES], message);
        findings.push(problem.expected(expected));
        return None;
    }
    let nodes = u64::from(switches) * u64::from(nodes_per_switch);
    let rule = format!("{switches} switches with {nodes_per_switch} nodes on each");
    let [nodes, count] =
        fits(values, &[&SWITCHES], [Some(nodes), Some(u64::from(switches))], &rule, findings)?;
    let settings = TopologySettings::RandomRegular(RandomRegular {
        switches,
        degree,
        nodes_per_switch,
        seed: seed.into(),
    });
    // Whether it is connected only drawing it tells.
    if let Err(error) = Wiring::build(&settings) {
        let problem = values.conflict(Code::OutOfRange, &[&SEED, &DEGREE, &SWITCHES], error.to_string());
        findings.push(problem.expected("another seed, or more links"));
        return None;
    }
    Some(Topology {
        ports: u64::from(nodes_per_switch + degree),
        ..Topology::plain(&RANDOM_REGULAR, settings, nodes, count)
    })
}
