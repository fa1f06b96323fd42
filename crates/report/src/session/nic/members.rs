//! Operations of many nodes: their programs, and what came of them.

use super::{GroupChoice, Measured, NicChoice, NicMisfit, Session};
use flitway_engine::Picos;
use flitway_fabric::barrier::{BarrierSettings, Root};
use flitway_fabric::{BarrierId, Barriers};
use flitway_nic::host::OnABus;
use flitway_nic::host::program::{Meeting, Program};
use flitway_process::attendant::{Attendant, AttendantSettings};
use flitway_process::collective::{CollectiveKind, CollectiveSettings, Member};
use flitway_process::operator::Done;
use flitway_wiring::{NodeId, RailId};

impl Measured for Member {
    fn done(&self) -> &Done {
        Member::done(self)
    }

    fn is_done(&self) -> bool {
        Member::is_done(self)
    }
}

/// By what barrier modules of NICs meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meets {
    /// The switches combine what they say.
    Switches,
    /// They tell each other.
    Messages,
}

/// Whether the NIC of a machine, if that has operations, carries out `group`, as `choice` has it.
pub(super) fn fit(choice: &NicChoice, group: GroupChoice, nic: Option<&dyn OnABus>) -> Result<(), NicMisfit> {
    let GroupChoice { kind, is_offloaded, by_messages, .. } = group;
    let processes = choice.processes;
    let is_barrier = kind == CollectiveKind::Barrier && is_offloaded;
    let meets = is_barrier && nic.is_some_and(OnABus::has_barriers);
    let is_collective = !kind.is_of_threads();
    if is_collective && !meets && !nic.is_some_and(OnABus::has_collectives) {
        return Err(NicMisfit::NoCollectives { by_hosts: !is_offloaded });
    }
    let senders = settings(choice, group).senders();
    if !is_offloaded && let Some(most) = nic.and_then(OnABus::senders).filter(|most| *most < senders) {
        return Err(NicMisfit::Senders { senders, most });
    }
    match () {
        () if meets => Ok(()),
        () if by_messages => Err(NicMisfit::Misses("the NIC of this machine has no barrier module")),
        () if processes > 1 => Err(NicMisfit::Misses(
            "an operation of many nodes is of one process of each, but for barriers by barrier modules of NICs",
        )),
        () => Ok(()),
    }
}

impl Session {
    /// By what the NICs meet, if barrier modules carry `choice` out.
    #[must_use]
    pub fn meets_by(&self, choice: &NicChoice) -> Option<Meets> {
        let group =
            choice.group.filter(|group| group.kind == CollectiveKind::Barrier && group.is_offloaded)?;
        let combines = self.fabric.chip.offers().barriers.is_some_and(|barriers| barriers.groups > 0);
        let by = if combines && !group.by_messages { Meets::Switches } else { Meets::Messages };
        self.machine.nic.model.on_a_bus()?.has_barriers().then_some(by)
    }

    /// The group of the switches, if these combine what NICs say.
    pub(super) fn met_by_switches(&self, choice: &NicChoice) -> Option<Barriers> {
        self.meets_by(choice).filter(|by| *by == Meets::Switches)?;
        let [first, last] = choice.nodes;
        let (members, root, rail) = ((first..=last).map(NodeId).collect(), Root::Switch(0), RailId(0));
        let group = BarrierSettings { members, root, rail };
        Some(Barriers::new(&self.fabric.routing, &[group]).expect("nodes that are there, each once"))
    }
}

/// The programs of `node`; `meets` says by what barrier modules meet, if they do.
pub(super) fn programs(
    choice: &NicChoice,
    group: GroupChoice,
    node: NodeId,
    meets: Option<Meets>,
) -> Vec<Box<dyn Program>> {
    let NicChoice { nodes: [first, last], count, warm_up, processes, .. } = *choice;
    let meeting = match meets {
        None => return vec![program(choice, group, node)],
        Some(Meets::Switches) => Meeting::Switches(BarrierId::new(0)),
        Some(Meets::Messages) => {
            AttendantSettings::tree((NodeId(first), last - first + 1), group.arity, node.0 - first)
        }
    };
    let settings = AttendantSettings { node, meeting, count, warm_up };
    let one = |_| Box::new(Attendant::new(settings.clone())) as Box<dyn Program>;
    (0..processes).map(one).collect()
}

/// The program of `node`, where operations of NICs or hosts carry it out.
fn program(choice: &NicChoice, group: GroupChoice, node: NodeId) -> Box<dyn Program> {
    Box::new(Member::new(settings(choice, group), node))
}

fn settings(choice: &NicChoice, group: GroupChoice) -> CollectiveSettings {
    let NicChoice { nodes: [first, last], by, bytes, count, warm_up, .. } = *choice;
    let GroupChoice { kind, is_offloaded, arity, .. } = group;
    let nodes = (NodeId(first), last - first + 1);
    CollectiveSettings { kind, is_offloaded, by, nodes, arity, bytes, count, warm_up }
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
