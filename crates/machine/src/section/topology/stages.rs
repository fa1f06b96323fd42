//! Unidirectional multistage networks.

use super::tree::ARITY;
use super::{KIND, Links, OF_KIND, Row, Topology, fits};
use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::setting::{Choice, Kind, settings};
use crate::values::Values;
use flitway_wiring::routing::RoutingKind;
use flitway_wiring::topology::{StageWiring, TopologySettings};

pub(super) static OMEGA: Row = Row {
    choice: Choice {
        name: "omega",
        doc: "A unidirectional multistage network with a perfect shuffle before each of its n stages of k^(n-1) \
              switches, k inputs and k outputs each; k^n nodes. For SP Switches.",
    },
    noun: "an omega network",
    own_routing: RoutingKind::DestinationTag,
    links: Links::Stages,
    settings: &[&STAGES],
    shared: &[&ARITY],
    build: |values, findings| stages(values, &OMEGA, StageWiring::Omega, findings),
};

pub(super) static BUTTERFLY: Row = Row {
    choice: Choice { name: "butterfly", doc: "The k-ary n-fly: the same size, wired as a butterfly." },
    noun: "a butterfly",
    own_routing: RoutingKind::DestinationTag,
    links: Links::Stages,
    settings: &[],
    shared: &[&ARITY, &STAGES],
    build: |values, findings| stages(values, &BUTTERFLY, StageWiring::Butterfly, findings),
};

settings! {
    /// n: the stages of switches of an omega network or a butterfly. Every packet crosses all of them.
    STAGES = "topology.stages", Kind::Count { min: 1, max: 24 }, required, for OF_KIND, example(2),
        source("multidestination-worms.txt section 2");
}

fn stages(
    values: &Values,
    row: &'static Row,
    wiring: StageWiring,
    findings: &mut Diagnostics,
) -> Option<Topology> {
    let (arity, stages) = (values.count(&ARITY), values.count(&STAGES));
    let (arity, stages) = (arity?, stages?);
    if arity < 2 {
        let message =
            format!("`{}` is {arity}, and a switch without a choice of outputs leads nowhere", ARITY.path);
        let problem = values.conflict(Code::OutOfRange, &[&ARITY, &KIND], message);
        findings.push(problem.expected("at least 2 inputs and outputs"));
        return None;
    }
    let nodes = u64::from(arity).checked_pow(stages);
    let switches =
        u64::from(arity).checked_pow(stages - 1).and_then(|count| count.checked_mul(u64::from(stages)));
    let rule = format!("{stages} stages of {arity} x {arity} switches have {arity}^{stages} nodes");
    let [nodes, switches] = fits(values, &[&STAGES, &ARITY], [nodes, switches], &rule, findings)?;
    let settings = TopologySettings::Stages { wiring, arity, stages };
    let classes: Vec<String> = (1..stages).map(|stage| format!("stage-{stage}")).collect();
    Some(Topology {
        wired_classes: classes.clone(),
        classes,
        ports: arity.into(),
        ..Topology::plain(row, settings, nodes, switches)
    })
}
