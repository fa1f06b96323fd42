//! What happens on links.

use crate::Flow;
use crate::barrier::{self, BarrierId};
use crate::faults::LossCause;
use crate::link::lanes::Agreement;
use crate::name::{ComponentNumber, PacketName};
use flitway_engine::Cycle;
use flitway_wiring::{NodeId, PortId};

/// A link has chosen a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The packet.
    pub packet: PacketName,
    /// Who sends.
    pub component: ComponentNumber,
    /// By which port (of a node: the rail).
    pub port: PortId,
    /// On which virtual channel.
    pub vc: u8,
    /// How many flits follow each other, without gaps unless it is for a group.
    pub flits: u16,
    /// When it was ready for the link. In a node, which has it wait for credits too: when it was created.
    pub ready: Cycle,
    /// Since when the link was free of others.
    pub free: Cycle,
    /// When the link chose it.
    pub chosen: Cycle,
    /// When its first flit is on the wire at the other end.
    pub arrives: Cycle,
}

/// A receiver has sent an advert that says something new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Advert {
    /// When.
    pub cycle: Cycle,
    /// By which component.
    pub component: ComponentNumber,
    /// On which of its ports (of a node: the rail).
    pub port: PortId,
    /// For which virtual channel.
    pub vc: u8,
    /// The position up to which the sender may now send, in credit units since the start.
    pub position: u32,
}

/// A link has chosen a barrier packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierDeparture {
    /// When.
    pub cycle: Cycle,
    /// Who sends.
    pub component: ComponentNumber,
    /// By which port (of a node: the rail).
    pub port: PortId,
    /// Of which group.
    pub group: BarrierId,
    /// What it says.
    pub packet: barrier::Packet,
    /// When its first flit is on the wire of the sender.
    pub leaves: Cycle,
}

/// A barrier packet is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierLoss {
    /// When.
    pub cycle: Cycle,
    /// In which component.
    pub component: ComponentNumber,
    /// At which of its ports (of a node: the rail).
    pub port: PortId,
    /// Of which group.
    pub group: BarrierId,
    /// What it said.
    pub packet: barrier::Packet,
    /// Why.
    pub reason: LossReason,
}

/// A packet is lost for good; one for several nodes for each of them that has not been delivered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Loss {
    /// When that is certain.
    pub at: Cycle,
    /// In which component.
    pub component: ComponentNumber,
    /// Who sent it.
    pub source: NodeId,
    /// To whom.
    pub destination: NodeId,
    /// When it was created.
    pub created: Cycle,
    /// What it was part of.
    pub flow: Flow,
    /// Length on the link in flits.
    pub flits: u16,
    /// Whether its NIC port had sent it. A broadcast that had not been sent says so with the first of its nodes alone.
    pub was_sent: bool,
    /// Why.
    pub cause: LossCause,
}

/// The link of a port has another state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkChange {
    /// From which cycle on.
    pub at: Cycle,
    /// Of which component.
    pub component: ComponentNumber,
    /// At which of its ports (of a node: the rail).
    pub port: PortId,
    /// What it is now.
    pub state: LinkState,
}

/// A channel has corrupted something, or makes up for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkError {
    /// When: the cycle in which it is counted.
    pub at: Cycle,
    /// Who sends on the channel.
    pub component: ComponentNumber,
    /// By which port (of a node: the rail).
    pub port: PortId,
    /// What.
    pub kind: LinkErrorKind,
}

/// What a link counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkErrorKind {
    /// A packet or an acknowledgement comes corrupt at the other end, which notices.
    Corrupted,
    /// A packet is sent again.
    Repeated,
    /// The timer of the sender has expired.
    TimedOut,
    /// The node that is named has refused a packet that was not corrupt: its NIC port was full.
    Refused,
}

/// The state of a link, as one of its ends knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// It is trained, for this reason.
    Trains(TrainingReason),
    /// It carries packets, at the rate on which both ends have agreed.
    Active(Agreement),
    /// It is down.
    Down,
}

/// Why an end trains its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrainingReason {
    /// No heartbeats come.
    Silent,
    /// Its lanes have changed.
    Lanes,
    /// There is a signal again.
    Signal,
    /// The other end trains it.
    OtherEnd,
}

/// Why a barrier packet is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LossReason {
    /// A rule says so: [`Loss`](crate::barrier::Loss).
    Rule,
    /// The link has corrupted it.
    BitError,
    /// The queue of the input that it came to was full.
    InputFull,
    /// The queue of the output that it was to leave by was full.
    OutputFull,
}

/// Is told what links do.
pub trait LinkObserver {
    /// Whether it wants to know what links choose. Asked before each time, so that nothing is described in vain; one that
    /// does not want to know may be told all the same.
    fn follows_departures(&self) -> bool {
        true
    }

    /// A link has chosen a packet. What is certain to come is told early.
    fn departed(&mut self, departure: &Departure) {
        let _ = departure;
    }

    /// An advert that says something new has been sent. It is told late where nothing needed it before, or, on wires of its
    /// own, early.
    fn advertised(&mut self, advert: &Advert) {
        let _ = advert;
    }

    /// A link has chosen a barrier packet.
    fn barrier_departed(&mut self, departure: &BarrierDeparture) {
        let _ = departure;
    }

    /// A packet is lost for good.
    fn lost(&mut self, loss: &Loss) {
        let _ = loss;
    }

    /// A link has counted an error, or what makes up for one.
    fn link_erred(&mut self, error: &LinkError) {
        let _ = error;
    }

    /// The link of a port has another state.
    fn link_changed(&mut self, change: &LinkChange) {
        let _ = change;
    }

    /// A barrier packet is lost.
    fn barrier_lost(&mut self, loss: &BarrierLoss) {
        let _ = loss;
    }
}
