//! What threads of NICs carry out: the programs that they and the processes run.

use super::{CollectiveKind, GroupChoice, MatchChoice, Measured, NicChoice};
use flitway_machine::thread::builtin_program;
use flitway_nic::host::OnABus;
use flitway_nic::host::program::{Program, Verb};
use flitway_nic::host::thread::Code;
use flitway_process::matching::{MatchSettings, Matcher};
use flitway_process::operator::Done;
use flitway_process::threads::{ThreadMember, ThreadsSettings};
use flitway_wiring::NodeId;
use std::sync::Arc;

/// What threads run for `choice`, if they have a part in it; `program` is that of a user.
pub(super) fn code(choice: &NicChoice, program: Option<Arc<Code>>) -> Option<Arc<Code>> {
    let builtin = |name| Some(builtin_program(name));
    match choice.group {
        None => choice.matching.and_then(|_| builtin("match")),
        Some(group) if !group.is_offloaded => None,
        Some(group) => match group.kind {
            CollectiveKind::Barrier | CollectiveKind::Broadcast => None,
            CollectiveKind::Reduce => builtin("reduce"),
            CollectiveKind::Gather => builtin("gather"),
            CollectiveKind::Threads => program,
        },
    }
}

/// What sends that are matched are.
pub(super) fn matched(choice: &NicChoice, code: Arc<Code>, nic: &dyn OnABus) -> MatchSettings {
    let NicChoice { nodes, bytes, count, warm_up, outstanding, matching, .. } = *choice;
    let MatchChoice { place, unexpected, late } = matching.expect("they are matched");
    let (nodes, packet) = (nodes.map(NodeId), nic.most(Verb::Send).0);
    MatchSettings { nodes, bytes, count, warm_up, outstanding, place, unexpected, late, packet, code }
}

/// What the processes run.
#[derive(Debug)]
pub(super) enum Programs {
    /// Sends that are matched, of so many processes of each of two nodes.
    Match(MatchSettings, u32),
    /// An operation of many nodes.
    Group(ThreadsSettings),
}

impl Programs {
    pub(super) fn new(choice: &NicChoice, code: Arc<Code>, nic: &dyn OnABus) -> Self {
        let NicChoice { nodes: [first, last], bytes, count, warm_up, processes, group, .. } = *choice;
        let Some(GroupChoice { arity, kind, .. }) = group else {
            return Programs::Match(matched(choice, code, nic), processes);
        };
        // The word of a reduction goes with the command.
        let bytes = if kind == CollectiveKind::Reduce { 0 } else { bytes };
        let (nodes, packet) = ((NodeId(first), last - first + 1), nic.most(Verb::Send).0);
        Programs::Group(ThreadsSettings { nodes, arity, bytes, count, warm_up, packet, code })
    }

    /// Those of `node`.
    pub(super) fn of(&self, node: NodeId) -> Vec<Box<dyn Program>> {
        match self {
            Programs::Match(settings, processes) => {
                let side = settings.nodes.iter().position(|&it| it == node);
                let program = |side, process| {
                    Box::new(Matcher::new(settings.clone(), process as u8, side == 0)) as Box<dyn Program>
                };
                side.map(|side| (0..*processes).map(|process| program(side, process)).collect())
                    .unwrap_or_default()
            }
            Programs::Group(settings) => {
                let (first, count) = settings.nodes;
                let takes_part = (first.0..first.0 + count).contains(&node.0);
                let program = || Box::new(ThreadMember::new(settings.clone(), node)) as Box<dyn Program>;
                takes_part.then(program).into_iter().collect()
            }
        }
    }
}

impl Measured for Matcher {
    fn done(&self) -> &Done {
        Matcher::done(self)
    }

    fn is_done(&self) -> bool {
        Matcher::is_done(self)
    }
}

impl Measured for ThreadMember {
    fn done(&self) -> &Done {
        ThreadMember::done(self)
    }

    fn is_done(&self) -> bool {
        ThreadMember::is_done(self)
    }
}
