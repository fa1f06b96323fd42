//! What breaks, and tables around it.

use super::super::case::Written;
use super::super::dice::Dice;
use flitway_engine::Cycle;
use flitway_fabric::faults::{Fault, FaultKind, PortFault};
use flitway_fabric::link::lanes::{LaneSettings, LaneState, LaneStates};
use flitway_fabric::observer::component_at;
use flitway_wiring::routing::{Down, Routing};
use flitway_wiring::topology::Topology;
use flitway_wiring::{PortId, RailId, SwitchId};

/// Channels that are cut in one direction or both, and mended or not, and switches that die, before cycle `dates`; where links
/// have `lanes`, those that go bad and come back, too.
pub(in super::super) fn broken(
    dice: &mut Dice,
    topology: &Topology,
    rails: u32,
    dates: u64,
    lanes: Option<&LaneSettings>,
) -> Vec<Fault> {
    let mut list = Vec::new();
    let date = |dice: &mut Dice| Cycle(dice.below(dates));
    for _ in 0..dice.between(1, 5) {
        if dice.one_in(8) {
            let component = dice.below((rails * topology.switches()).into()) as u32;
            list.push(Fault { at: date(dice), component, kind: FaultKind::Dead });
            continue;
        }
        let links = topology.links();
        let ends = links[dice.below(links.len() as u64) as usize].ends;
        let rail = RailId(dice.below(rails.into()) as u32);
        let first = dice.below(2) as usize;
        let many = dice.between(1, 2) as usize;
        let (from, until) = (date(dice), date(dice));
        let kind = dice.below(if lanes.is_some() { 3 } else { 2 });
        for end in [ends[first], ends[1 - first]].into_iter().take(many) {
            let (component, port) = component_at(topology, rails, rail, end);
            let mut fault =
                |at, fault| list.push(Fault { at, component, kind: FaultKind::Port(port, fault) });
            match (kind, lanes) {
                (0, _) => fault(from, PortFault::Cut),
                (2, Some(lanes)) => {
                    for at in [from, until] {
                        fault(at, PortFault::Lanes(states(dice, lanes)));
                    }
                }
                _ => {
                    fault(from.min(until), PortFault::Cut);
                    fault(from.max(until), PortFault::Mended);
                }
            }
        }
    }
    list.sort_by_key(|fault| fault.at);
    list
}

/// Nodes whose NIC ports nothing feeds for a time, or for ever, from before cycle `dates` on; beside what else is `broken`.
pub(in super::super) fn stalls(
    dice: &mut Dice,
    topology: &Topology,
    rails: u32,
    dates: u64,
    broken: &mut Vec<Fault>,
) {
    for _ in 0..dice.between(1, 6) {
        let node = dice.below(topology.nodes().into()) as u32;
        let component = rails * topology.switches() + node;
        let port = PortId(dice.below(rails.into()) as u32);
        let from = dice.below(dates);
        let until = from + u64::from(dice.scaled(1, 2_000));
        let mut fault =
            |at, fault| broken.push(Fault { at: Cycle(at), component, kind: FaultKind::Port(port, fault) });
        fault(from, PortFault::Stalled);
        if !dice.one_in(8) {
            fault(until, PortFault::Resumed);
        }
    }
    broken.sort_by_key(|fault| fault.at);
}

/// How lanes work: most at the highest rate, or at a lower one, or at none.
pub(in super::super) fn states(dice: &mut Dice, lanes: &LaneSettings) -> LaneStates {
    let rates = lanes.rates.len() as u64;
    let mut state = || match dice.below(rates + 3) {
        place if place < rates => LaneState::at(place as u8),
        place if place == rates => LaneState::DEAD,
        _ => LaneState::default(),
    };
    LaneStates::new(&(0..lanes.lanes).map(|_| state()).collect::<Vec<_>>())
}

/// Where a manager writes tables, in a third of the cases: around some switches and links, be they broken or not.
pub(in super::super) fn tables_around(dice: &mut Dice, routing: &Routing, length: u64) -> Vec<Written> {
    let topology = routing.topology();
    let has_tables = routing.around(&Down::default()).is_ok();
    if !has_tables || !dice.one_in(3) {
        return Vec::new();
    }
    let many = dice.between(1, 3);
    let mut written: Vec<Written> = (0..many)
        .map(|_| Written {
            at: Cycle(dice.below(length)),
            switches: (0..dice.below(2))
                .map(|_| SwitchId(dice.below(topology.switches().into()) as u32))
                .collect(),
            links: (0..dice.below(3)).map(|_| dice.below(topology.links().len() as u64) as u32).collect(),
        })
        .collect();
    written.sort_by_key(|written| written.at);
    written
}
