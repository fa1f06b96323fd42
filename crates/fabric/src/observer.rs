//! What can be observed of a running fabric: typed events with no-op defaults. An observer that ignores an event pays
//! nothing for it; the fabric itself computes no report.

use crate::barrier::{self, BarrierId, Place};
use crate::{Delivery, Flow, Packet};
use flitway_engine::Cycle;
use flitway_wiring::{NodeId, PortId, RailId};

/// A component as observers see it: switches of rail 0, of rail 1, ..., then nodes.
pub type ComponentNumber = u32;

/// An arbiter has granted an output of a crossbar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    /// When.
    pub cycle: Cycle,
    /// In which switch.
    pub switch: ComponentNumber,
    /// To which output.
    pub output: PortId,
    /// Of which crossbar: the virtual channel that the packet came in on.
    pub vc: u8,
    /// To which input.
    pub input: PortId,
}

/// Which packet it is: a NIC port begins to send no two in the same cycle. Copies of a packet have one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketName {
    /// Who sent it.
    pub source: NodeId,
    /// When its first flit was on the wire there.
    pub injected: Cycle,
}

/// A packet has been let across a switch, with what it has waited for until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The packet; its rail is that of the switch.
    pub packet: PacketName,
    /// Which switch.
    pub switch: ComponentNumber,
    /// The port that it came in by.
    pub input: PortId,
    /// The virtual channel that it came in on.
    pub vc: u8,
    /// The ports that it leaves by: a bit for each.
    pub outputs: u64,
    /// When its first flit was on the wire of the switch.
    pub arrived: Cycle,
    /// When it could have requested its output, had it been first in its queue.
    pub ready: Cycle,
    /// When it was first in its queue and requested.
    pub requested: Cycle,
    /// Since when its output was free of others, if it has only one. From then on it lacked credits.
    pub free: Option<Cycle>,
    /// When it was granted.
    pub granted: Cycle,
}

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

/// A barrier packet has changed what a switch knows of a group: a combine of a child that had not arrived, the combine-ACK or
/// the distribute that it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierNote {
    /// When it was its turn in the engine.
    pub cycle: Cycle,
    /// In which switch.
    pub switch: ComponentNumber,
    /// At which port it came in.
    pub port: PortId,
    /// Of which group.
    pub group: BarrierId,
    /// What it said.
    pub packet: barrier::Packet,
    /// When its first flit was on the wire of the switch.
    pub arrived: Cycle,
    /// Where the switch stands in the tree of the group.
    pub place: Place,
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

/// Is told what happens. Events of one component come in order of time, where nothing else is said (deliveries may come early);
/// those of different components may interleave.
pub trait Observer: Send {
    /// Whether it wants to know what is granted and advertised. One that does not may not be told of that, which saves time.
    const WATCHES_SWITCHES: bool = true;

    /// An endpoint has handed a packet, of so many flits, to a NIC port.
    fn created(&mut self, now: Cycle, source: NodeId, packet: &Packet, flits: u32) {
        let _ = (now, source, packet, flits);
    }

    /// A packet has reached its destination, or is certain to, at an endpoint that does not react to it. If a run is stopped
    /// it may be one that would have been delivered by the cycle up to which it was to go.
    fn delivered(&mut self, delivery: &Delivery) {
        let _ = delivery;
    }

    /// An arbiter has granted.
    fn granted(&mut self, grant: &Grant) {
        let _ = grant;
    }

    /// Whether it wants to know the steps of packets, [`passed`](Observer::passed) and [`departed`](Observer::departed). Asked
    /// before each, so that none is described for nobody; who does not want to know may be told all the same.
    fn follows_packets(&self) -> bool {
        true
    }

    /// A packet has been let across a switch.
    fn passed(&mut self, passage: &Passage) {
        let _ = passage;
    }

    /// A link has chosen a packet. What is certain to come is told early.
    fn departed(&mut self, departure: &Departure) {
        let _ = departure;
    }

    /// An advert that says something new has been sent. It is told when somebody looks, perhaps after what has happened
    /// since, or, on wires of its own, early.
    fn advertised(&mut self, advert: &Advert) {
        let _ = advert;
    }

    /// The process of `node` has arrived at a barrier.
    fn arrived(&mut self, now: Cycle, node: NodeId, group: BarrierId) {
        let _ = (now, node, group);
    }

    /// It has been released from it.
    fn released(&mut self, now: Cycle, node: NodeId, group: BarrierId) {
        let _ = (now, node, group);
    }

    /// A packet has left the source queue of the NIC port of `node` in `rail`, which is bounded.
    fn sent(&mut self, now: Cycle, node: NodeId, rail: RailId, flow: Flow) {
        let _ = (now, node, rail, flow);
    }

    /// In `component`, the root of `group`, everybody has arrived.
    fn completed(&mut self, now: Cycle, component: ComponentNumber, group: BarrierId) {
        let _ = (now, component, group);
    }

    /// A barrier packet has changed what a switch knows.
    fn barrier_noted(&mut self, note: &BarrierNote) {
        let _ = note;
    }

    /// A link has chosen a barrier packet.
    fn barrier_departed(&mut self, departure: &BarrierDeparture) {
        let _ = departure;
    }

    /// A barrier packet is lost.
    fn barrier_lost(&mut self, loss: &BarrierLoss) {
        let _ = loss;
    }
}

/// Observes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    const WATCHES_SWITCHES: bool = false;

    fn follows_packets(&self) -> bool {
        false
    }
}
