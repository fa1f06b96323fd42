//! What links of all switches have in common.

mod pace;
mod rate;
pub mod retry;

pub use pace::Pace;
pub use rate::{Rate, Rates};
