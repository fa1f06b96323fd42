//! What processes report: messages, operations and barriers, as they take them.
//!
//! Nothing below a process knows of them: an [`Endpoint`](crate::Endpoint) puts what it has to report into
//! [`Outgoing`](crate::Outgoing), in the same call as what it sends.

use crate::Flow;
use flitway_engine::Cycle;
use flitway_wiring::NodeId;

/// What a process reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageEvent {
    /// It has taken in a message, or its copy of an operation, as a whole.
    Received(Receipt),
    /// It has passed a barrier.
    Synchronised(BarrierPassage),
    /// It has a request to send, now or once another one is answered.
    Requested(Request),
}

/// A request has come into being.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// For whom.
    pub destination: NodeId,
    /// Flits of its packet.
    pub flits: u32,
}

/// A process has taken in a message, or its copy of an operation: its processor has nothing more to do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// What it was part of.
    pub flow: Flow,
    /// Its flits.
    pub flits: u32,
    /// When it came into being.
    pub created: Cycle,
    /// When it has been taken in; may be later than when this is told.
    pub received: Cycle,
}

/// A process has passed a barrier, in the switches or by messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierPassage {
    /// Of which group of the workload.
    pub group: u32,
    /// Which operation of the group, from 0.
    pub operation: u32,
    /// When the process arrived.
    pub arrived: Cycle,
    /// When it was released.
    pub released: Cycle,
}
