//! What links of all switches have in common.

mod errors;
pub mod handshake;
mod lane;
pub mod lanes;
mod pace;
mod rate;
pub mod retry;

pub use errors::{ChannelErrors, ChannelRate, ErrorRule, LinkErrors, SentKind};
pub use lane::{LaneChoice, ReplyLanes};
pub use pace::Pace;
pub use rate::{Rate, Rates};
