//! What all ports of a shard act on beside themselves.

use super::receiver::Leaving;
use crate::hpp::link_sender::ShardCx;
use crate::hpp::packet_state::{CreditUpdate, Mail, PacketState};
use crate::hpp::timing::Timing;
use flitway_engine::Cycle;
use flitway_fabric::Delivery;
use flitway_fabric::component::Letter;
use flitway_fabric::observer::Observer;
use flitway_fabric::pool::Pool;
use flitway_fabric::simulation::{Address, Counters, Wire};
use flitway_wiring::routing::Routing;
use std::ops::RangeInclusive;

/// The context of a shard in which switches work in batches.
#[derive(Debug)]
pub(super) struct BatchedCx<O> {
    pub(super) timing: Timing,
    /// Flits and credit units of a packet, by payload.
    pub(super) lengths: Box<[(u16, u16)]>,
    /// No packet has more or fewer bytes.
    pub(super) payloads: RangeInclusive<u32>,
    pub(super) routing: Routing,
    pub(super) states: Pool<PacketState>,
    pub(super) limits: Pool<CreditUpdate>,
    /// Packets that leave FIFOs and the buffers of NIC ports before it has been counted what of the ones before them has left.
    pub(super) behind: Pool<Leaving>,
    pub(super) mail: Outgoing,
    pub(super) counters: Counters,
    pub(super) observer: O,
}

/// What has been said and not been heard.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) shard: u32,
    /// Adverts for the port at a place of this shard.
    pub(super) told: Vec<(u32, CreditUpdate)>,
    /// Mail for other shards.
    pub(super) away: Vec<Vec<Letter<Mail>>>,
}

impl Outgoing {
    /// That of `shard`, one of so many `shards`.
    pub(super) fn new(shard: u32, shards: u32) -> Self {
        Outgoing { shard, told: Vec::new(), away: (0..shards).map(|_| Vec::new()).collect() }
    }

    /// Sends `mail` to a component of another shard.
    #[inline(never)]
    pub(super) fn send_away(&mut self, to: Address, by: Cycle, mail: Mail) {
        self.away[to.shard as usize].push(Letter { place: to.place, by, mail });
    }
}

impl<O: Observer> BatchedCx<O> {
    /// Counts a delivery, and tells the observer of it.
    #[inline(always)]
    pub(super) fn record(&mut self, delivery: &Delivery) {
        self.counters.record(delivery, &mut self.observer);
    }
}

impl<O: Observer> ShardCx for BatchedCx<O> {
    type Watcher = O;

    #[inline(always)]
    fn timing(&self) -> &Timing {
        &self.timing
    }

    #[inline(always)]
    fn counters(&mut self) -> &mut Counters {
        &mut self.counters
    }

    #[inline(always)]
    fn observer(&mut self) -> &mut O {
        &mut self.observer
    }

    #[inline]
    fn tell(&mut self, wire: &Wire, limit: CreditUpdate) {
        if wire.peer.shard == self.mail.shard {
            self.mail.told.push((wire.peer.place, limit));
        } else {
            self.mail.send_away(wire.peer, limit.from, Mail::Advert(limit));
        }
    }
}
