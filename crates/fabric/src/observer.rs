//! What can be observed of a running fabric: typed events with no-op defaults. An observer that ignores an event pays
//! nothing for it; the fabric itself computes no report.

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
}

/// Observes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}
