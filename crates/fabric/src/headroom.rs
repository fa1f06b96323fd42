//! Credit headroom: how much of a buffer a link needs so that credits never keep it waiting.
//!
//! A sender learns a round trip late that the receiver has room again. How much that takes is a closed form of the switch:
//! [`Chip::headroom`](crate::Chip::headroom).

use flitway_wiring::topology::{End, Topology};

/// What the link of the longest round trip needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// Cycles that a flit spends on the link.
    pub latency: u32,
    /// Cycles from the grant of a packet until its first credit unit can be granted again.
    pub round_trip: u32,
    /// Credit units that packets of the given size need for full bandwidth.
    pub units_needed: u32,
    /// Credit units that there are.
    pub units: u32,
}

/// Cycles of the longest links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Longest {
    /// Between nodes and switches.
    pub nodes: u32,
    /// Between switches; `None` if there are none.
    pub switches: Option<u32>,
}

impl Longest {
    /// Of `topology`, whose links take `latencies`.
    #[must_use]
    pub fn of(topology: &Topology, latencies: &[u32]) -> Self {
        let mut longest = Longest { nodes: 0, switches: None };
        for (link, &latency) in topology.links().iter().zip(latencies) {
            if link.ends.iter().any(|end| matches!(end, End::Node(_))) {
                longest.nodes = longest.nodes.max(latency);
            } else {
                longest.switches = longest.switches.max(Some(latency));
            }
        }
        longest
    }
}
