//! Time, order, chance and parallel windows: what any exact discrete simulation needs.
//!
//! This crate knows no networks. It offers
//! * [`time`]: integer cycles, picoseconds and the clock that converts between them;
//! * [`mod@id`]: typed indices;
//! * [`prefetch`]: asking the memory for what will be needed;
//! * [`random`]: one reproducible stream per component and purpose;
//! * [`agenda`]: the calendar of one component, ordered by (cycle, slot);
//! * [`time32`]: time in half as many bytes;
//! * [`worklist`]: what is due in which batch of cycles, for a shard whose parts are arrays;
//! * [`calendar`]: which component has work in which window;
//! * [`window`]: the driver that runs shards window by window, on one thread or several, with equal results.

pub mod agenda;
pub mod calendar;
mod fields;
pub mod id;
pub mod prefetch;
pub mod random;
mod rounds;
pub mod time;
pub mod time32;
pub mod window;
pub mod worklist;

/// For [`id!`](crate::id!), whose types can be written to bytes.
#[doc(hidden)]
pub use serde;
pub use time::{Clock, Cycle, Picos};
