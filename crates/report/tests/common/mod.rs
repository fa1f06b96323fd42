//! What tests of measurements have in common.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(unreachable_pub, reason = "test files are crates of their own")]

use flitway_workload::traffic::size::{self, SizeChoice};
use flitway_workload::traffic::{TrafficChoice, arrival, destination};

/// Traffic of this pattern that nobody answers: packets of this size, which come so.
pub fn choice(pattern: &str, packet: &str, arrivals: &str) -> TrafficChoice {
    let SizeChoice::Sizes(sizes) = size::parse(packet).unwrap() else { panic!("a size") };
    TrafficChoice {
        destinations: destination::parse(pattern).unwrap(),
        sizes,
        arrivals: arrival::parse(arrivals).unwrap(),
        replies: None,
    }
}
