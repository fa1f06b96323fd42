//! Operations of many nodes: their programs, and what came of them.

use super::{GroupChoice, Measured, NicChoice};
use flitway_engine::Picos;
use flitway_nic::host::program::Program;
use flitway_process::collective::{CollectiveKind, CollectiveSettings, Member};
use flitway_process::operator::Done;
use flitway_wiring::NodeId;

impl Measured for Member {
    fn done(&self) -> &Done {
        Member::done(self)
    }

    fn is_done(&self) -> bool {
        Member::is_done(self)
    }
}

/// The program of `node`.
pub(super) fn program(choice: &NicChoice, group: GroupChoice, node: NodeId) -> Box<dyn Program> {
    let NicChoice { nodes: [first, last], by, bytes, count, warm_up, .. } = *choice;
    let GroupChoice { kind, is_offloaded, arity } = group;
    let nodes = (NodeId(first), last - first + 1);
    Box::new(Member::new(
        CollectiveSettings { kind, is_offloaded, by, nodes, arity, bytes, count, warm_up },
        node,
    ))
}

/// What the processes have seen, the root first, with latencies: by the NICs these are told, as each goes on with what it has
/// waited for. By the hosts a barrier takes from when the last process begins it, and a broadcast from when the root does.
/// Of a gather the first one counts, which gets the data.
pub(super) fn done(group: GroupChoice, warm_up: u32, mut all: Vec<Done>) -> Vec<Done> {
    if group.kind == CollectiveKind::Gather && group.is_offloaded {
        all.truncate(1);
    }
    if group.is_offloaded {
        return all;
    }
    let begins: Vec<Picos> = match group.kind {
        CollectiveKind::Broadcast => all.first().map(|root| root.begun.clone()).unwrap_or_default(),
        CollectiveKind::Barrier
        | CollectiveKind::Reduce
        | CollectiveKind::Gather
        | CollectiveKind::Threads => {
            let begun = all.iter().map(|done| done.begun.len()).min().unwrap_or(0);
            let last = |number: usize| all.iter().map(|done| done.begun[number]).max().unwrap_or_default();
            (0..begun).map(last).collect()
        }
    };
    if group.kind == CollectiveKind::Gather {
        all.truncate(1);
    }
    for done in &mut all {
        let spans = done.dates.iter().zip(&begins).skip(warm_up as usize);
        done.latencies = spans.map(|(seen, begun)| seen.0 - begun.0).collect();
    }
    all
}
