//! Unidirectional multistage networks.

use super::{ARITY, KIND, KindRow, Topology, fits};
use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::setting::{Choice, Kind, When, settings};
use crate::values::Values;
use flitway_wiring::topology::{StageWiring, TopologySettings};

const OMEGA: &str = "omega";
const BUTTERFLY: &str = "butterfly";
/// The kinds of multistage networks.
pub(crate) const KINDS: &[&str] = &[OMEGA, BUTTERFLY];

pub(super) const OMEGA_CHOICE: Choice = Choice {
    name: OMEGA,
    doc: "A unidirectional multistage network with a perfect shuffle before each of its n stages of k^(n-1) \
                  switches, k inputs and k outputs each; k^n nodes. For SP Switches.",
};

pub(super) const BUTTERFLY_CHOICE: Choice =
    Choice { name: BUTTERFLY, doc: "The k-ary n-fly: the same size, wired as a butterfly." };

pub(super) const OMEGA_ROW: KindRow =
    KindRow { name: OMEGA, build: |values, findings| stages(values, OMEGA, StageWiring::Omega, findings) };
pub(super) const BUTTERFLY_ROW: KindRow = KindRow {
    name: BUTTERFLY,
    build: |values, findings| stages(values, BUTTERFLY, StageWiring::Butterfly, findings),
};

settings! {
    /// n: the stages of switches of an omega network or a butterfly. Every packet crosses all of them.
    pub(super) STAGES = "topology.stages", Kind::Count { min: 1, max: 24 }, required,
        for When { selector: &KIND, values: KINDS }, example(2), source("multidestination-worms.txt section 2");
}

fn stages(
    values: &Values,
    kind: &'static str,
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
        own_routing: "destination-tag",
        is_one_way: true,
        ..Topology::plain(kind, settings, nodes, switches)
    })
}
