//! A packet as it travels, and the mail that carries it.

use super::timing::Timing;
use crate::SwitchId;
use crate::routing::{Route, Routing};
use crate::simulation::{ChannelMail, Conservation};
use flitway_engine::{Cycle, NodeId};

/// A packet in a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) route: Route,
    /// In an input FIFO: when the first flit was on the wire. In a TX FIFO: when the packet is ready for the link.
    pub(super) at: Cycle,
    pub(super) created: Cycle,
    pub(super) injected: Cycle,
    pub(super) source: NodeId,
    pub(super) destination: NodeId,
    pub(super) tag: u64,
    pub(super) flits: u16,
    pub(super) units: u16,
    pub(super) payload: u16,
    pub(super) hops: u16,
    /// The VC it is labelled with: on the way, that of the link; in a TX FIFO, that of the next link.
    pub(super) vc: u8,
}

impl Token {
    /// The first cycle in which the receiver feels a packet that is on the way: it leaves a NIC's buffer, or is delivered,
    /// or requests.
    #[inline]
    pub(super) fn felt_at(&self, timing: &Timing) -> Cycle {
        self.at + timing.receive.min(u64::from(self.flits))
    }

    /// Takes the next hop off the route, in switch component `number`; a route that is spent is continued from the next
    /// switch.
    #[inline]
    pub(super) fn advance(&mut self, routing: &Routing, number: u32, next_vc: u8) {
        let hop = self.route.hop();
        self.route = self.route.rest();
        self.vc = next_vc;
        if self.route.is_spent() {
            let here = SwitchId(number % routing.topology().switches());
            if let Some((next, arrival)) = routing.follow(here, hop) {
                self.route = routing.route(next, arrival, self.destination);
            }
        }
    }
}

/// What one port tells the port at the other end of its link.
#[derive(Clone, Copy, Debug)]
pub enum Mail {
    /// A packet is coming.
    Packet(Arriving),
    /// An advert is coming.
    Advert(Limit),
}

/// A packet on its way to `port`; its token says when its first flit is on the wire there.
#[derive(Clone, Copy, Debug)]
pub struct Arriving {
    pub(super) port: u16,
    pub(super) token: Token,
}

/// An advert on its way to the sender half of `port`.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    pub(super) port: u16,
    pub(super) vc: u8,
    /// The first cycle in which it counts.
    pub(super) from: Cycle,
    pub(super) position: u32,
}

impl ChannelMail for Mail {
    fn port(&self) -> usize {
        usize::from(match self {
            Mail::Packet(arriving) => arriving.port,
            Mail::Advert(limit) => limit.port,
        })
    }

    fn audit(&self, books: &mut Conservation) {
        if let Mail::Packet(arriving) = self {
            books.in_network += 1;
            books.units_held += u64::from(arriving.token.units);
        }
    }
}
