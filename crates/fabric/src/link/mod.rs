//! What links of all switches have in common.

pub mod handshake;
pub mod lanes;
mod pace;
mod rate;
pub mod retry;

pub use pace::Pace;
pub use rate::{Rate, Rates};
