//! What breaks in a fabric, and when. All of it is known before the run begins; the switches are not told before its date.
//!
//! A fault has its date at the end of a channel that receives: what is *received* from that cycle on (its last flit has been
//! through the receiving side) does not come. So nothing has to be said about where on a cable something was.

use crate::link::lanes::LaneStates;
use crate::name::ComponentNumber;
use flitway_engine::Cycle;
use flitway_wiring::PortId;

/// What breaks in a fabric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    list: Vec<Fault>,
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
}

impl Faults {
    /// These, in any order; of two at a port in the same cycle the later one in the list counts last.
    #[must_use]
    pub fn new(mut list: Vec<Fault>) -> Self {
        list.sort_by_key(|fault| fault.at);
        Faults { list }
    }

    /// Whether nothing breaks.
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

    /// When `component` is dead; never if it stays alive.
    #[must_use]
    pub fn death(&self, component: ComponentNumber) -> Cycle {
        let dies = |fault: &&Fault| fault.component == component && fault.kind == FaultKind::Dead;
        self.list.iter().find(dies).map_or(Cycle::NEVER, |fault| fault.at)
    }
}

/// Why a packet is lost for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LossCause {
    /// It was in a switch that died.
    InDeadSwitch,
    /// The link that it was to leave by is down.
    LinkDown,
    /// It was sent, and the link went down before the other end had it.
    Unacknowledged,
    /// The tables of a switch name no port for it.
    NoRoute,
}

impl LossCause {
    /// All of them.
    pub const ALL: [LossCause; 4] =
        [LossCause::InDeadSwitch, LossCause::LinkDown, LossCause::Unacknowledged, LossCause::NoRoute];
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let of_port = [(Cycle(20), PortFault::Cut), (Cycle(30), PortFault::Mended)];
        assert_eq!(faults.of_port(2, PortId(1)), of_port);
        assert!(faults.of_port(1, PortId(1)).is_empty());
        assert_eq!((faults.death(2), faults.death(1)), (Cycle(50), Cycle::NEVER));
        assert!(!faults.are_none() && Faults::default().are_none());
    }
}
