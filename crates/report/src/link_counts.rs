//! What each channel has counted of errors, and of what makes up for them.

use flitway_fabric::Fabric;
use flitway_fabric::observer::{ComponentNumber, LinkError, LinkErrorKind, end_at, other_end};
use flitway_wiring::PortId;
use flitway_wiring::topology::Topology;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A channel: the component that sends on it, and its port (of a node: the rail).
pub type Channel = (ComponentNumber, PortId);

/// Channels that a result lists at most.
const LISTED: usize = 100;

/// What a shard has seen of errors since the start, by channel.
#[derive(Clone, Debug, Default)]
pub struct ErrorRecord {
    counts: BTreeMap<Channel, Counts>,
}

/// What a channel has counted since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counts {
    /// Packets and acknowledgements that came corrupt at the other end, which noticed.
    pub crc_errors: u64,
    /// Packets sent again.
    pub repeated: u64,
    /// Times that the timer of the sender has expired.
    pub timeouts: u64,
    /// Packets that the node that sends here has refused because its NIC port was full.
    pub refused: u64,
}

flitway_engine::add_fields!(Counts { crc_errors, repeated, timeouts, refused });

impl ErrorRecord {
    /// Takes in an error.
    pub fn enter(&mut self, error: &LinkError) {
        let counts = self.counts.entry((error.component, error.port)).or_default();
        *match error.kind {
            LinkErrorKind::Corrupted => &mut counts.crc_errors,
            LinkErrorKind::Repeated => &mut counts.repeated,
            LinkErrorKind::TimedOut => &mut counts.timeouts,
            LinkErrorKind::Refused => &mut counts.refused,
        } += 1;
    }

    /// What each channel has counted.
    pub fn channels(&self) -> impl Iterator<Item = (Channel, Counts)> {
        self.counts.iter().map(|(&channel, &counts)| (channel, counts))
    }

    /// Adds what another shard of the same run has seen.
    pub fn add(&mut self, other: &ErrorRecord) {
        for (&channel, &counts) in &other.counts {
            *self.counts.entry(channel).or_default() += counts;
        }
    }
}

/// A channel of a fabric, and what it has counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkCounts {
    /// Its two ends, in words: who sends, and who receives.
    pub ends: [String; 2],
    /// What it has counted.
    pub counts: Counts,
}

impl LinkCounts {
    /// Those of `record` in `fabric`, the most affected first: by CRC errors, then packets sent again, then time-outs, then
    /// refusals.
    #[must_use]
    pub fn of(record: &ErrorRecord, fabric: &Fabric) -> Vec<LinkCounts> {
        let (topology, rails) = (fabric.topology(), fabric.rails);
        let mut all: Vec<(Channel, Counts)> =
            record.counts.iter().map(|(&it, &counts)| (it, counts)).collect();
        all.sort_by_key(|&(channel, counts)| (Reverse(counts), channel));
        let words = |(from, counts)| {
            let to = other_end(topology, rails, from);
            LinkCounts { ends: [from, to].map(|end| place(topology, rails, end)), counts }
        };
        all.into_iter().map(words).collect()
    }

    /// The array that `--json` has of so many; `None` where no channel has counted any.
    #[must_use]
    pub fn to_json(all: &[LinkCounts]) -> Option<Value> {
        let entry = |LinkCounts { ends: [from, to], counts }: &LinkCounts| {
            let Counts { crc_errors, repeated, timeouts, refused } = *counts;
            json!({
                "link": format!("{from} to {to}"),
                "crc_errors": crc_errors,
                "repeated": repeated,
                "timeouts": timeouts,
                "refused": refused,
            })
        };
        (!all.is_empty()).then(|| all.iter().take(LISTED).map(entry).collect())
    }
}

/// The port of a channel, in words; the rail too where there are several.
#[must_use]
pub fn place(topology: &Topology, rails: u32, (component, port): Channel) -> String {
    let (rail, end) = end_at(topology, rails, component, port);
    let in_rail = if rails > 1 { format!("rail {rail}, ") } else { String::new() };
    format!("{in_rail}{}", topology.names().end(end))
}
