//! What breaks in a fabric, and when. All of it is known before the run begins; the switches are not told before its date.
//!
//! A fault has its date at the end of a channel that receives: what is *received* from that cycle on (its last flit has been
//! through the receiving side) does not come. So nothing has to be said about where on a cable something was.

use crate::Rates;
use crate::link::lanes::{Agreement, LaneStates, Lanes};
use crate::name::{ComponentNumber, component_at, end_at};
use flitway_engine::Cycle;
use flitway_wiring::PortId;
use flitway_wiring::topology::{End, LinkId, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// What breaks in a fabric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    list: Vec<Fault>,
    first: FirstLanes,
}

/// How lanes work from the start, in all rails alike: those of the channel that comes to an end of a link. Where nothing is
/// said all of them do at the highest rate. Links begin active, at the rate on which their ends agree: it stands in the
/// [`Rates`] of the fabric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirstLanes {
    /// By the end that the channel comes to.
    pub states: BTreeMap<End, LaneStates>,
}

/// Something breaks, or is mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The first cycle in which it is so.
    pub at: Cycle,
    /// Where: the switches of rail 0, of rail 1, ..., then the nodes.
    pub component: ComponentNumber,
    /// What.
    pub kind: FaultKind,
}

/// What breaks, or is mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// At this port (of a node: the rail).
    Port(PortId, PortFault),
    /// A switch is dead, for ever, with what is in it.
    Dead,
}

/// What becomes of the channel that a port receives from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortFault {
    /// It is cut: nothing comes.
    Cut,
    /// It is mended.
    Mended,
    /// Its lanes work so.
    Lanes(LaneStates),
    /// Of a node: what feeds its NIC port stops.
    Stalled,
    /// It goes on.
    Resumed,
}

impl Faults {
    /// These, in any order; of two at a port in the same cycle the later one in the list counts last.
    #[must_use]
    pub fn new(mut list: Vec<Fault>) -> Self {
        list.sort_by_key(|fault| fault.at);
        Faults { list, first: FirstLanes::default() }
    }

    /// The same, where lanes work so from the start.
    #[must_use]
    pub fn after(self, first: FirstLanes) -> Self {
        Faults { first, ..self }
    }

    /// How lanes work from the start.
    #[must_use]
    pub const fn first(&self) -> &FirstLanes {
        &self.first
    }

    /// Whether nothing breaks. Lanes that are bad from the start do not break.
    #[must_use]
    pub fn are_none(&self) -> bool {
        self.list.is_empty()
    }

    /// All of them, by date.
    #[must_use]
    pub fn list(&self) -> &[Fault] {
        &self.list
    }

    /// Those of the channel that `component` receives from by `port`, by date.
    #[must_use]
    pub fn of_port(&self, component: ComponentNumber, port: PortId) -> Vec<(Cycle, PortFault)> {
        let here = self.list.iter().filter(|fault| fault.component == component);
        let of_port = here.filter_map(|fault| match fault.kind {
            FaultKind::Port(at, kind) if at == port => Some((fault.at, kind)),
            FaultKind::Port(..) | FaultKind::Dead => None,
        });
        of_port.collect()
    }

    /// When the link of `port` of `component` is down, for switches that find out at once: from which cycle to before which,
    /// in order and apart. It is while the channel to one of its ends is cut, or the component at one of them is dead.
    #[must_use]
    pub fn down_times(
        &self,
        topology: &Topology,
        rails: u32,
        (component, port): (ComponentNumber, PortId),
    ) -> Vec<[Cycle; 2]> {
        if self.are_none() {
            return Vec::new();
        }
        let (rail, end) = end_at(topology, rails, component, port);
        let ends = topology.link_of(end).map_or([end; 2], |link| topology.links()[link.index()].ends);
        let mut times: Vec<[Cycle; 2]> = Vec::new();
        for (component, port) in ends.map(|end| component_at(topology, rails, rail, end)) {
            let mut since = None;
            for (at, fault) in self.of_port(component, port) {
                match fault {
                    PortFault::Cut => since = since.or(Some(at)),
                    PortFault::Mended => times.extend(since.take().map(|since| [since, at])),
                    PortFault::Lanes(_) | PortFault::Stalled | PortFault::Resumed => {}
                }
            }
            times.extend(since.map(|since| [since, Cycle::NEVER]));
            times.push([self.death(component), Cycle::NEVER]);
        }
        times.retain(|[from, until]| from < until);
        times.sort_unstable();
        let mut apart: Vec<[Cycle; 2]> = Vec::new();
        for [from, until] in times {
            match apart.last_mut() {
                Some(last) if from <= last[1] => last[1] = last[1].max(until),
                _ => apart.push([from, until]),
            }
        }
        apart
    }

    /// When nothing feeds NIC port `port` of `component`: from which cycle to before which, in order and apart.
    #[must_use]
    pub fn stall_times(&self, component: ComponentNumber, port: PortId) -> Vec<[Cycle; 2]> {
        let (mut times, mut since) = (Vec::new(), None);
        for (at, fault) in self.of_port(component, port) {
            match fault {
                PortFault::Stalled => since = since.or(Some(at)),
                PortFault::Resumed => times.extend(since.take().map(|since| [since, at])),
                PortFault::Cut | PortFault::Mended | PortFault::Lanes(_) => {}
            }
        }
        times.extend(since.map(|since| [since, Cycle::NEVER]));
        times.retain(|[from, until]| from < until);
        times.dedup_by(|next, last| {
            let touches = last[1] == next[0];
            last[1] = if touches { next[1] } else { last[1] };
            touches
        });
        times
    }

    /// When `component` is dead; never if it stays alive.
    #[must_use]
    pub fn death(&self, component: ComponentNumber) -> Cycle {
        let dies = |fault: &&Fault| fault.component == component && fault.kind == FaultKind::Dead;
        self.list.iter().find(dies).map_or(Cycle::NEVER, |fault| fault.at)
    }
}

impl FirstLanes {
    /// What the ends of the links agree on of which something is said; nothing if a link is down.
    pub fn agreements<'a>(
        &'a self,
        topology: &'a Topology,
        lanes: &'a Lanes,
    ) -> impl Iterator<Item = (LinkId, Option<Agreement>)> + 'a {
        let said = self.states.keys().filter_map(|&end| topology.link_of(end));
        let links: BTreeSet<LinkId> = said.collect();
        links.into_iter().map(move |link| {
            let [first, second] = topology.links()[link.index()].ends.map(|end| self.at(lanes, end));
            (link, lanes.agree(&first, &second))
        })
    }

    /// Sets the rates of these links to what their ends agree on. Says whether all of them have one.
    pub fn set(&self, topology: &Topology, lanes: &Lanes, rates: &mut Rates) -> bool {
        self.agreements(topology, lanes).all(|(link, agreed)| {
            let ends = topology.links()[link.index()].ends;
            agreed.is_some_and(|agreed| {
                ends.into_iter().for_each(|end| rates.set(end, agreed.rate));
                true
            })
        })
    }

    /// The lanes of the channel that comes to `end`, and of the one that comes to the other end of its link.
    #[must_use]
    pub fn of(&self, topology: &Topology, lanes: &Lanes, end: End) -> [LaneStates; 2] {
        let ends = topology.link_of(end).map_or([end; 2], |link| topology.links()[link.index()].ends);
        let other = if ends[0] == end { ends[1] } else { ends[0] };
        [end, other].map(|end| self.at(lanes, end))
    }

    /// The lanes of the channel that comes to `end`.
    #[must_use]
    pub fn at(&self, lanes: &Lanes, end: End) -> LaneStates {
        self.states.get(&end).copied().unwrap_or_else(|| lanes.good())
    }
}

/// Why a packet is lost for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LossCause {
    /// It was in a switch that died.
    InDeadSwitch,
    /// The link that it was to leave by is down, or its source has given it up after so many refusals.
    LinkDown,
    /// It was sent, and the link went down before the other end had it.
    Unacknowledged,
    /// The tables of a switch name no port for it.
    NoRoute,
    /// Its source has given it up after so many refusals, the last one by a NIC port that had no room.
    Refused,
}

impl LossCause {
    /// All of them.
    pub const ALL: [LossCause; 5] = [
        LossCause::InDeadSwitch,
        LossCause::LinkDown,
        LossCause::Unacknowledged,
        LossCause::NoRoute,
        LossCause::Refused,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_wiring::topology::TopologySettings;

    #[test]
    fn faults_are_told_by_port_and_date() {
        let fault = |at, component, kind| Fault { at: Cycle(at), component, kind };
        let port = |port, kind| FaultKind::Port(PortId(port), kind);
        let faults = Faults::new(vec![
            fault(30, 2, port(1, PortFault::Mended)),
            fault(50, 2, FaultKind::Dead),
            fault(20, 2, port(1, PortFault::Cut)),
            fault(20, 2, port(0, PortFault::Cut)),
        ]);
        let stalls = [
            (10, PortFault::Stalled),
            (20, PortFault::Resumed),
            (20, PortFault::Stalled),
            (30, PortFault::Resumed),
        ];
        let stalls = stalls.into_iter().chain([(40, PortFault::Resumed), (50, PortFault::Stalled)]);
        let stalls = Faults::new(stalls.map(|(at, kind)| fault(at, 7, port(0, kind))).collect());
        let times = [[Cycle(10), Cycle(30)], [Cycle(50), Cycle::NEVER]];
        assert_eq!(
            (stalls.stall_times(7, PortId(0)), stalls.stall_times(7, PortId(1))),
            (times.to_vec(), Vec::new())
        );
        let of_port = [(Cycle(20), PortFault::Cut), (Cycle(30), PortFault::Mended)];
        assert_eq!(faults.of_port(2, PortId(1)), of_port);
        assert!(faults.of_port(1, PortId(1)).is_empty());
        assert_eq!((faults.death(2), faults.death(1)), (Cycle(50), Cycle::NEVER));
        assert!(!faults.are_none() && Faults::default().are_none());
    }

    #[test]
    fn a_link_is_down_while_one_of_its_channels_is() {
        let topology = Topology::build(&TopologySettings::Single { nodes: 3 }).unwrap();
        let fault = |at, component, fault| {
            let port = PortId(if component == 0 { 1 } else { 0 });
            Fault { at: Cycle(at), component, kind: FaultKind::Port(port, fault) }
        };
        // Both channels of node 1, a component after the switch.
        let list = vec![
            fault(20, 0, PortFault::Cut),
            fault(25, 2, PortFault::Cut),
            fault(30, 0, PortFault::Mended),
            fault(40, 2, PortFault::Mended),
            fault(50, 2, PortFault::Cut),
            fault(60, 2, PortFault::Mended),
        ];
        let dies = Fault { at: Cycle(80), component: 0, kind: FaultKind::Dead };
        let of = |list: &[Fault], component, port| {
            let times = Faults::new(list.to_vec()).down_times(&topology, 1, (component, PortId(port)));
            times.into_iter().map(|[from, until]| (from.0, until.0)).collect::<Vec<_>>()
        };
        assert_eq!(of(&list, 0, 1), [(20, 40), (50, 60)]);
        assert_eq!(of(&list, 2, 0), [(20, 40), (50, 60)]);
        assert_eq!(of(&list, 0, 0), []);
        assert_eq!(of(&[dies], 3, 0), [(80, Cycle::NEVER.0)]);
    }
}
