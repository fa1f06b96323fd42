//! What sits on top of a node's NIC ports: it turns messages into packets and packets back into messages.
//!
//! This crate knows packets, rails and ranks. It knows **no** switches, links or routing, and of two nodes each acts on
//! its own state only; what both look at is immutable and shared.
//!
//! * [`Injector`]: synthetic traffic, one source for each node;
//! * [`Requester`]: the same, where each packet is answered;
//! * [`Messenger`]: the ranks of a task graph that run on a node;
//! * [`Multicaster`]: multicast operations, in the switches or by forwarding;
//! * [`Synchroniser`]: barriers, in the switches or by messages;
//! * [`Train`]: so many packets from one node to another;
//! * [`Together`]: several of them side by side.
//!
//! All implement [`flitway_fabric::Endpoint`]. Beside them stands what runs on the processors of hosts, above a NIC:
//!
//! * [`Operator`]: one operation of a NIC, again and again;
//! * [`locker`]: a lock that is handed round;
//! * [`attendant`]: a barrier by the barrier modules of NICs;
//! * [`matching`]: sends that threads of NICs match with receives;
//! * [`collective`]: operations of many nodes, by NICs or by hosts, and [`threads`]: those that threads of NICs carry out.

mod assembly;
pub mod attendant;
pub mod collective;
mod error;
mod exchange;
mod injector;
pub mod locker;
pub mod matching;
mod messenger;
pub mod multicaster;
pub mod operator;
mod processor;
mod requester;
pub mod synchroniser;
#[cfg(test)]
mod testing;
pub mod threads;
mod together;
pub mod train;

pub use error::PlanError;
pub use exchange::{Exchange, ExchangeError, MessengerSettings};
pub use injector::{Injector, InjectorCounts};
pub use messenger::{Messenger, MessengerCounts, stuck, summary};
pub use multicaster::Multicaster;
pub use operator::Operator;
pub use requester::Requester;
pub use synchroniser::Synchroniser;
pub use together::{Process, Together};
pub use train::Train;
