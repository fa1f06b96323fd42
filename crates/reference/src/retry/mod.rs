//! The retry protocol of a link, checked in every state of small worlds.
//!
//! A [`World`] is one channel and what answers it: a sender with packets without end and a receiver with a small buffer, which
//! run the code of `flitway_fabric::link::retry`, a channel for packets that loses and corrupts any of them at any time, and
//! one for acknowledgements that loses them. The timer may expire whenever it runs, an acknowledgement may go out whenever
//! there is news or a heartbeat is due, flits may leave the buffer whenever they want, and the link may be trained again at
//! any time: so what holds here holds for every latency, every time-out, and every rule for when an acknowledgement goes out.
//! [`explore`](crate::explore::explore) looks at every state that follows. Two things are asked.
//!
//! * *Safe*: packets are delivered exactly once and in order; only what was delivered is released from the replay buffer; no
//!   buffer overflows, and no VC has more credits than its buffer has room.
//! * *Live*: from every state, everything that was sent can be delivered and acknowledged, and every credit come back. (Then a
//!   new packet can be sent, which leads to a state of which the same is true.)
//!
//! Packets are without end, but a safe world has few states: of the number of a packet only the difference to what has been
//! delivered matters, of its sequence number the difference to the expected one, of a count the difference to the present one.
//! What a packet carries is its number, modulo more than all differences that there can be.
//!
//! A [`Deviation`] takes a rule away. [`claims`] lists all worlds with what should come out; the tests check the quick ones,
//! `cargo xtask prove` all. `docs/retry-protocol.md` is the page for readers.
//!
//! ```
//! use flitway_reference::explore::{Verdict, explore};
//! use flitway_reference::retry::{Deviation, World};
//!
//! let world = World::new(1, 1);
//! assert!(matches!(explore(&world).verdict, Verdict::SafeAndLive));
//!
//! let broken = World { deviations: &[Deviation::DuplicatesReturned], ..world };
//! let Verdict::Unsafe(witness) = explore(&broken).verdict else { panic!("credits are invented") };
//! assert_eq!(witness.steps(), 9);
//! ```

mod catalog;
mod deviation;
mod ends;
mod key;
mod wire;
mod words;
mod world;

pub use catalog::claims;
pub use deviation::Deviation;
pub use world::World;
