//! Replies to requests as a measurement sees them.

use crate::tally::Tally;
use flitway_engine::Cycle;
use flitway_fabric::Delivery;

/// Replies created and delivered.
#[derive(Clone, Debug, Default)]
pub struct Replies {
    /// Flits of the replies created.
    pub created_flits: u64,
    /// Flits of the replies delivered.
    pub flits: u64,
    /// Latencies of the replies delivered, each from its creation.
    pub latency: Tally,
    /// The same from the creation of its request.
    pub round_trip: Tally,
}

impl Replies {
    /// A reply is delivered. Its tag is the cycle in which its request came into being.
    pub fn record(&mut self, reply: &Delivery) {
        self.flits += u64::from(reply.flits);
        self.latency.record(reply.delivered.since(reply.created));
        self.round_trip.record(reply.delivered.since(Cycle(reply.flow.tag)));
    }

    /// Adds what another batch has seen.
    pub fn add(&mut self, other: &Replies) {
        self.created_flits += other.created_flits;
        self.flits += other.flits;
        self.latency.add(&other.latency);
        self.round_trip.add(&other.round_trip);
    }
}
