//! What can be observed of a running fabric: typed events by layer, with no-op defaults.
//!
//! There are four layers: links, switches, NIC ports, and the processes of nodes with their messages. An observer of a run has
//! all four; a layer that it ignores costs nothing, and the fabric itself computes no report. Events of one component come in
//! order of time, where nothing else is said (deliveries may come early); those of different components may interleave. Each
//! shard has an observer of its own, and what they have seen is gathered and added.

mod link;
mod message;
mod nic;
mod switch;

pub use crate::message::{BarrierPassage, MessageEvent, Receipt, Request};
pub use crate::name::{ComponentNumber, PacketName, component_at, end_at, other_end};
pub use link::{
    Advert, BarrierDeparture, BarrierLoss, Departure, LinkChange, LinkError, LinkErrorKind, LinkObserver,
    LinkState, Loss, LossReason, TrainingReason,
};
pub use message::MessageObserver;
pub use nic::NicObserver;
pub use switch::{BarrierNote, Grant, Miss, Outputs, Passage, SwitchObserver};

/// Is told what happens in a run, layer by layer.
pub trait Observer: LinkObserver + SwitchObserver + NicObserver + MessageObserver + Send {}

impl<O: LinkObserver + SwitchObserver + NicObserver + MessageObserver + Send> Observer for O {}

/// Observes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl LinkObserver for Unobserved {
    fn follows_departures(&self) -> bool {
        false
    }
}

impl SwitchObserver for Unobserved {
    const WATCHES_SWITCHES: bool = false;

    fn follows_passages(&self) -> bool {
        false
    }
}

impl NicObserver for Unobserved {}

impl MessageObserver for Unobserved {}
