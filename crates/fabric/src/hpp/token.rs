//! A packet as it travels, and the mail that carries it.

use crate::routing::Route;
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
    pub(super) tag: u32,
    pub(super) flits: u16,
    pub(super) units: u16,
    pub(super) payload: u16,
    pub(super) hops: u16,
    /// The VC it is labelled with: on the way, that of the link; in a TX FIFO, that of the next link.
    pub(super) vc: u8,
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
