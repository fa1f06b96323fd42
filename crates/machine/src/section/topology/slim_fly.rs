//! Slim Fly.

use super::grid::NODES_PER_SWITCH;
use super::{Links, OF_KIND, Row, Topology, fits};
use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::setting::{Choice, Kind, settings};
use crate::values::Values;
use flitway_wiring::routing::RoutingKind;
use flitway_wiring::topology::TopologySettings;

pub(super) static SLIM_FLY: Row = Row {
    choice: Choice {
        name: "slim-fly",
        doc: "Graphs of diameter two that are nearly as large as such graphs can be: 2 q^2 switches for a prime q.",
    },
    noun: "a slim-fly",
    own_routing: RoutingKind::Minimal,
    links: Links::Alike,
    settings: &[&Q],
    shared: &[&NODES_PER_SWITCH],
    build,
};

settings! {
    /// q of a slim fly, an odd prime: 5 makes 50 switches of 7 links, 7 makes 98 of 11, 11 makes 242 of 17, 13 makes
    /// 338 of 19.
    Q = "topology.q", Kind::Count { min: 3, max: 997 }, required, for OF_KIND, example(5),
        source("Besta and Hoefler, SC 2014, section II-B");
}

fn build(values: &Values, findings: &mut Diagnostics) -> Option<Topology> {
    let (q, nodes_per_switch) = (values.count(&Q)?, values.count(&NODES_PER_SWITCH)?);
    if let Some(factor) = (2..q).find(|factor| q.is_multiple_of(*factor)) {
        let message = format!("`{}` is {q}, which is {factor} x {}", Q.path, q / factor);
        findings.push(values.conflict(Code::OutOfRange, &[&Q], message).expected("an odd prime"));
        return None;
    }
    let switches = 2 * u64::from(q) * u64::from(q);
    let nodes = switches * u64::from(nodes_per_switch);
    let rule = format!("2 x {q}^2 switches with {nodes_per_switch} nodes on each");
    let [nodes, switches] = fits(values, &[&Q], [Some(nodes), Some(switches)], &rule, findings)?;
    let degree = if q % 4 == 1 { (3 * q - 1) / 2 } else { (3 * q).div_ceil(2) };
    Some(Topology {
        ports: u64::from(nodes_per_switch + degree),
        ..Topology::plain(&SLIM_FLY, TopologySettings::SlimFly { q, nodes_per_switch }, nodes, switches)
    })
}
