//! What links of all switches have in common.

mod lane;
mod pace;
mod rate;

pub use lane::LaneChoice;
pub use pace::Pace;
pub use rate::{Rate, Rates};
