//! The protocol of reliable operations from end to end, checked in every state of small worlds.
//!
//! A [`World`] is a node that has so many operations for another, which run the code of `flitway_nic::th::end_to_end`, and the
//! network between them, which loses, corrupts, doubles and reorders anything at any time. Timers may expire whenever they run,
//! back-offs end at any time, and what has come may find no room: so what holds here holds for every latency and time-out.
//! [`explore`](crate::explore::explore) looks at every state that follows. Two things are asked.
//!
//! * *Safe*: an operation is delivered at most once, whole, with its own bytes; its sender hears of that only after it.
//! * *Live*: from every state all operations can be over, with all contexts free. (Without giving up over means delivered, and
//!   that the sender has heard so.)
//!
//! A safe world has few states: of the generations of receiver contexts, which have no end, only their order matters.
//!
//! A [`Deviation`] takes a rule away. [`claims`] lists all worlds with what should come out; the tests check the quick ones,
//! `cargo xtask prove` all. `docs/end-to-end-protocol.md` is the page for readers.
//!
//! ```
//! use flitway_reference::end_to_end::{Deviation, World};
//! use flitway_reference::explore::{Verdict, explore};
//!
//! let world = World::new(1, 1);
//! assert!(matches!(explore(&world).verdict, Verdict::SafeAndLive));
//!
//! let broken = World { deviations: &[Deviation::DoneForgets], ..world };
//! assert!(matches!(explore(&broken).verdict, Verdict::Stuck(..)), "a lost DONE is not said again");
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
