//! What can be observed of a running fabric: typed events with no-op defaults. An observer that ignores an event pays
//! nothing for it; the fabric itself computes no report.

use crate::barrier::{self, BarrierId};
use crate::{Delivery, NodeId, Packet, PortId};
use flitway_engine::Cycle;

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

/// Is told what happens. Events of one component come in order of time; those of different components may interleave.
pub trait Observer: Send {
    /// An endpoint has handed a packet to a NIC port.
    fn created(&mut self, now: Cycle, source: NodeId, packet: &Packet) {
        let _ = (now, source, packet);
    }

    /// A packet has reached its destination.
    fn delivered(&mut self, delivery: &Delivery) {
        let _ = delivery;
    }

    /// An arbiter has granted.
    fn granted(&mut self, grant: &Grant) {
        let _ = grant;
    }

    /// An advert that says something new has been sent.
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

    /// In `component`, the root of `group`, everybody has arrived.
    fn completed(&mut self, now: Cycle, component: ComponentNumber, group: BarrierId) {
        let _ = (now, component, group);
    }

    /// A barrier packet is lost.
    fn barrier_lost(&mut self, loss: &BarrierLoss) {
        let _ = loss;
    }
}

/// Observes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}
