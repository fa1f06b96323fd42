//! The barriers of a case: groups, when their members arrive, and what is lost.

use super::super::dice::Dice;
use super::members;
use crate::script::Arrivals;
use flitway_engine::Cycle;
use flitway_fabric::BarrierId;
use flitway_fabric::barrier::{BarrierSettings, Faults, Loss, PacketKind, Root};
use flitway_wiring::topology::Topology;
use flitway_wiring::{PortId, RailId, SwitchId};

/// What a case has of barriers.
pub(in super::super) struct Plan {
    pub(in super::super) groups: Vec<BarrierSettings>,
    pub(in super::super) faults: Faults,
    pub(in super::super) arrivals: Vec<Vec<Arrivals>>,
}

impl Plan {
    /// No barriers for so many nodes.
    pub(in super::super) fn none(nodes: u32) -> Self {
        Plan { groups: Vec::new(), faults: Faults::default(), arrivals: vec![Vec::new(); nodes as usize] }
    }
}

/// One to four groups on the nodes of `topology`, for about `length` cycles.
pub(in super::super) fn plan(dice: &mut Dice, topology: &Topology, rails: u32, length: u64) -> Plan {
    let mut plan = Plan::none(topology.nodes());
    for group in 0..dice.between(1, 4) {
        let members = members(dice, topology);
        let rail = RailId(dice.between(0, rails - 1));
        let root = match dice.pick(&members) {
            node if dice.one_in(3) => Root::Node(node),
            _ => Root::Switch(dice.bits() as u32),
        };
        let operations = dice.scaled(1, 12);
        let pace = dice.pick(&[1, 4, 30, 300]);
        for &node in &members {
            // Who arrives less often than the others leaves them waiting at the end.
            let missing = u32::from(dice.one_in(40));
            let pauses = (1..operations.saturating_sub(missing)).map(|_| dice.below(pace)).collect();
            let first = Cycle(if dice.one_in(2) { dice.below(pace) } else { dice.below(length / 2 + 1) });
            plan.arrivals[node.index()].push(Arrivals { group: BarrierId(group), first, pauses });
        }
        plan.groups.push(BarrierSettings { members, root, rail });
    }
    let losses = if dice.one_in(2) { dice.between(1, 8) } else { 0 };
    plan.faults = Faults {
        seed: dice.bits(),
        losses: (0..losses).map(|_| loss(dice, topology, &plan.groups, rails)).collect(),
    };
    plan
}

/// A packet that is lost at a member, at its switch, or anywhere.
fn loss(dice: &mut Dice, topology: &Topology, groups: &[BarrierSettings], rails: u32) -> Loss {
    let group = dice.below(groups.len() as u64) as usize;
    let BarrierSettings { members, rail, .. } = &groups[group];
    let member = dice.pick(members);
    let (switches, home) = (topology.switches(), topology.home(member));
    let (component, port) = match dice.below(3) {
        0 => (rails * switches + member.0, PortId(rail.0)),
        1 => (rail.0 * switches + home.0.0, home.1),
        _ => {
            let switch = SwitchId(dice.between(0, switches - 1));
            (rail.0 * switches + switch.0, PortId(dice.between(0, topology.ports(switch).max(1) - 1)))
        }
    };
    let kinds = [
        None,
        Some(PacketKind::Combine),
        Some(PacketKind::CombineAck),
        Some(PacketKind::Distribute),
        Some(PacketKind::DistributeDun),
    ];
    let (kind, nth) = (dice.pick(&kinds), 1 + dice.below(6));
    Loss { component, port, group: BarrierId::new(group), kind, nth }
}
