//! The fabric: links, switches and NIC ports; how flits move over what is wired.
//!
//! This crate knows no files and prints nothing. What sits on top of a NIC port is an [`Endpoint`]; what the endpoint
//! says, and why, the fabric does not know either.

pub mod arbiter;
pub mod barrier;
mod bits;
pub mod deadlock;
pub mod endpoint;
pub mod headroom;
pub mod hpp;
pub mod observer;
pub mod packet;
mod pool;
pub mod simulation;
pub mod sp;

pub use barrier::{BarrierId, Barriers};
pub use endpoint::{Delivery, Endpoint, Outgoing, Packet};
pub use observer::{Observer, Unobserved};
pub use packet::PacketFormat;
pub use simulation::{Fabric, Simulation, SwitchSettings};
