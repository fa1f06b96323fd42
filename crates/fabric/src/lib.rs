//! The fabric: links, switches and NIC ports; how flits move over what is wired.
//!
//! This crate knows no files and prints nothing. What sits on top of a NIC port is an [`Endpoint`]; what the endpoint
//! says, and why, the fabric does not know either.

pub mod arbiter;
pub mod barrier;
pub mod bits;
pub mod change;
pub mod component;
pub mod deadlock;
mod description;
pub mod endpoint;
pub mod faults;
mod flow;
pub mod headroom;
pub mod link;
mod message;
mod name;
pub mod observer;
pub mod packet;
pub mod pool;
mod routings;
pub mod simulation;

pub use barrier::{BarrierId, Barriers};
pub use change::{Change, ChangeError, ChangeKind};
pub use description::chip::{self, Chip};
pub use description::{ANY_PAYLOAD, Fabric};
pub use endpoint::{Delivery, Endpoint, NicPorts, Outgoing, Packet, Ticket, Up};
pub use faults::{Faults, LossCause};
pub use flow::{Flow, FlowKind, PROCESSES_MAX};
pub use link::{ChannelRate, ErrorRule, LaneChoice, LinkErrors, Pace, Rate, Rates, ReplyLanes, SentKind};
pub use observer::{Observer, Unobserved};
pub use packet::PacketFormat;
pub use routings::Routings;
pub use simulation::{Manager, Simulation};
