//! What links of all switches have in common.

mod rate;

pub use rate::{Rate, Rates};
