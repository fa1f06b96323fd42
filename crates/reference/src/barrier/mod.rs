//! The barrier protocol, checked in every state of small worlds.
//!
//! A [`World`] is a [`Tree`] of members that each run the code of `flitway_fabric::barrier`, joined by channels that hold
//! a few packets and lose any of them at any time, with timers that may expire whenever they run and leaves that arrive
//! whenever they may: so what holds here holds for every latency, every timeout and every speed of processes.
//! [`explore`](crate::explore::explore) looks at every state that follows. Two things are asked.
//!
//! * *Safe*: no leaf is released from an operation before every leaf has arrived at it.
//! * *Live*: from every state that can be reached, a barrier can complete, for all leaves.
//!
//! Operations go on for ever, but a safe world has few states: of the number of operations that a leaf has finished, only
//! the difference to the slowest leaf is kept, and that is zero or one.
//!
//! The other way round, a [`Deviation`] takes one rule of the protocol away, and the shortest
//! [`Witness`](crate::explore::Witness) of what then goes wrong shows what the rule is for. [`claims`] lists all worlds
//! with what should come out; the tests check the quick ones, `cargo xtask prove` all. `docs/barrier-protocol.md` is the
//! page for readers.
//!
//! ```
//! use flitway_reference::barrier::{Deviation, Tree, World};
//! use flitway_reference::explore::{Verdict, explore};
//!
//! let world = World::new(Tree::star(2), 1);
//! assert!(matches!(explore(&world).verdict, Verdict::SafeAndLive));
//!
//! let broken = World { deviations: &[Deviation::DunAlwaysAnswered], ..world };
//! let Verdict::Unsafe(witness) = explore(&broken).verdict else { panic!("a leaf goes on alone") };
//! assert_eq!(witness.steps(), 6);
//! ```
//!
//! Here, unlike elsewhere in this crate, the code that is checked is the production code itself, not a second version.

mod catalog;
mod channel;
mod deviation;
mod key;
mod model;
mod tree;
mod words;
mod world;

pub use catalog::claims;
pub use channel::{Order, Queue};
pub use deviation::Deviation;
pub use tree::{Shape, Tree};
pub use world::{Start, World};
