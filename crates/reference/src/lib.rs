//! The slow, obviously right models that the fast engine is held against. For tests only.
//!
//! * [`hpp`]: the HPP Switch, flit by flit and cycle by cycle.
//! * [`sp`], [`tiled`] and [`elite`]: the SP Switch, the tiled switch and the Elite4 likewise.
//! * [`th`], [`elan4`] and [`nap`]: a host with the NIC of TH Express-2, with Elan4, and with that of Dawning 5000, by the
//!   picosecond.
//! * [`driver`]: what sits on the NIC ports of any of them, and its cycles.
//! * [`barrier`]: the barrier protocol in every state of small worlds.
//! * [`explore`]: how every state of a small world is looked at.
//! * [`retry`]: the retry protocol of links in every state of small worlds.
//! * [`handshake`]: that of links likewise.
//! * [`end_to_end`]: the protocol of reliable operations of NICs likewise.
//! * [`script`]: what the nodes of a case do.
//! * [`record`]: what a run of either engine has to show.
//! * [`campaign`]: random cases from one seed, run on both, compared, and shrunk when they differ.
//!
//! This crate knows of the fast engine only what its users know: the description of a fabric, the routing relation and
//! the public events. It shares no code with the switches, links, NIC ports, hosts and NICs that it checks. Only the
//! protocols of barriers and links are not written twice: they are checked themselves, in every state.

mod arbiter;
pub mod barrier;
pub mod campaign;
pub mod driver;
pub mod elan4;
pub mod elite;
pub mod end_to_end;
pub mod explore;
pub mod handshake;
mod host;
pub mod hpp;
mod lanes;
pub mod nap;
pub mod record;
pub mod retry;
pub mod script;
pub mod sp;
pub mod th;
pub mod tiled;
