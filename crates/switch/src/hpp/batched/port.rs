//! A port of a switch: an output of each crossbar, an input FIFO for each, and the link with its adverts.

use super::context::BatchedCx;
use super::receiver::{Leaving, Receiver};
use super::sender::Sender;
use crate::hpp::credit::AdvertTimer;
use crate::hpp::link_sender::{LinkSender, Owner, Receives};
use crate::hpp::packet_state::PacketState;
use crate::hpp::timing::Timing;
use flitway_engine::time32::{Time, Time32};
use flitway_fabric::observer::Observer;
use flitway_fabric::pool::{List, Pool, Slot};
use flitway_fabric::simulation::Wire;
use flitway_wiring::PortId;
use flitway_wiring::routing::Route;
use std::mem::offset_of;

/// No input port.
pub(super) const NOBODY: u8 = u8::MAX;

#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Port<const V: usize> {
    /// The sending half. Where nothing is connected nothing is ever routed to, nor received.
    pub(super) link: LinkSender<Time32>,
    pub(super) advert_timers: [AdvertTimer<Time32>; V],
    pub(super) lanes: [Lane; V],
}

const _: () = assert!(size_of::<Port<3>>() == 4 * 64, "a cache line for the link, and one for each VC");
const _: () = assert!(size_of::<Port<4>>() == 6 * 64, "four advert_timers begin a second line for the link");

/// One virtual channel of a port.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Lane {
    pub(super) output: Output,
    pub(super) input: Input,
}

/// One output of one crossbar, with its TX FIFO and the sender half of the VC.
#[derive(Clone, Debug)]
pub(super) struct Output {
    /// Inputs whose first packet requests this output, now or from a known cycle on.
    pub(super) requests: u64,
    /// When the packet that has been granted is ready for the link, until that chooses it. If there is none, the cycle in
    /// which the last flit of the packet before crosses.
    pub(super) at: Time32,
    pub(super) sender: Sender,
    /// The input port of the packet that has been granted; [`NOBODY`] if there is none.
    pub(super) from: u8,
    /// Somebody waits for credits, and no advert that has come can help.
    pub(super) is_starved: bool,
}

/// An input FIFO, with the receiver half of its VC.
#[derive(Clone, Debug)]
pub(super) struct Input {
    /// Packets that no link has chosen yet, some of them still on the way.
    pub(super) waiting: List,
    pub(super) receiver: Receiver,
    /// When the first of them begins to request. If there is none, the cycle in which the last flit crosses of the last packet
    /// that a link has chosen.
    pub(super) requests_from: Time32,
    /// Flits and credit units of the first of them.
    pub(super) flits: u16,
    pub(super) units: u16,
}

/// From when on the first packet of a FIFO requests which output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) at: Time32,
    pub(super) to: PortId,
}

/// A packet on its way over a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coming {
    /// Where the rest of it is.
    pub(super) slot: Slot,
    /// When its first flit is on the wire at the other end.
    pub(super) at: Time32,
    pub(super) flits: u16,
    pub(super) units: u16,
    pub(super) vc: u8,
}

impl Input {
    /// The first packet is `first` now, on its way or here, with its `route` from here on.
    #[inline(always)]
    pub(super) fn request(&mut self, timing: &Timing, first: Coming, route: Route) -> Request {
        let Coming { at, flits, units, .. } = first;
        self.request_from(at + timing.felt_by_switch(), [flits, units], route)
    }

    /// The first packet is the one of `state` now, which has been waiting.
    #[inline(always)]
    pub(super) fn request_behind(&mut self, timing: &Timing, state: &PacketState) -> Request {
        // It may have come before the epoch, if it takes long to be felt.
        let felt = Time32::of(state.at + timing.felt_by_switch(), timing.epoch);
        self.request_from(felt, [state.flits, state.units], state.route)
    }

    /// The first packet, of so many flits and units, requests its output from the first cycle on in which it can, not before it
    /// is `felt`.
    #[inline(always)]
    fn request_from(&mut self, felt: Time32, [flits, units]: [u16; 2], route: Route) -> Request {
        let at = self.requests_from.max(felt);
        (self.requests_from, self.flits, self.units) = (at, flits, units);
        Request { at, to: route.hop().port }
    }
}

impl<O: Observer> Receives<Time32, BatchedCx<O>> for Lane {
    type Half = Receiver;

    #[inline(always)]
    fn receiver(&mut self) -> &mut Receiver {
        &mut self.input.receiver
    }
}

/// When the packets of the VCs `waiting` are ready for the link; `NEVER` for other VCs.
#[inline(always)]
pub(super) fn ready<const V: usize>(lanes: &[Lane; V], waiting: u16) -> [Time32; V] {
    std::array::from_fn(|vc| lanes[vc].output.at.or_never(waiting >> vc & 1 == 0))
}

impl<const V: usize> Port<V> {
    pub(super) fn new(timing: &Timing, wire: Option<Wire>) -> Self {
        Port {
            link: LinkSender::new(timing, wire),
            advert_timers: std::array::from_fn(|_| AdvertTimer::new(timing)),
            lanes: std::array::from_fn(|_| Lane {
                output: Output {
                    requests: 0,
                    at: Time32::ZERO,
                    sender: Sender::new(timing),
                    from: NOBODY,
                    is_starved: false,
                },
                input: Input {
                    waiting: List::default(),
                    receiver: Receiver::new(timing),
                    requests_from: Time32::ZERO,
                    flits: 0,
                    units: 0,
                },
            }),
        }
    }

    /// Where in a port the lane of `vc` is, in bytes.
    pub(super) const fn lane_at(vc: usize) -> usize {
        offset_of!(Self, lanes) + vc * size_of::<Lane>()
    }

    /// Sends the adverts that were due in the cycles up to `now`, of which there is one.
    #[inline(never)]
    pub(super) fn send_adverts<O: Observer>(&mut self, now: Time32, owner: Owner, cx: &mut BatchedCx<O>) {
        self.link.send_adverts::<V, _>(&mut self.advert_timers, &mut self.lanes, now, owner, cx);
    }

    /// A packet begins to leave FIFO `vc`. Says whether the sender may come to need what it has not been told.
    #[inline(always)]
    pub(super) fn begin(
        &mut self,
        vc: usize,
        leaving: Leaving,
        timing: &Timing,
        behind: &mut Pool<Leaving>,
    ) -> bool {
        let news = self.lanes[vc].input.receiver.begin(timing, behind, leaving);
        self.advert_timers[vc].expect(news);
        self.link.expect_news(news);
        self.link.is_credit_critical()
    }

    /// Time is counted from a cycle on that is `span` later than the one so far. All adverts due before have been sent.
    pub(super) fn count_from(&mut self, span: u32, behind: &mut Pool<Leaving>) {
        let Port { link, advert_timers, lanes } = self;
        link.count_from(advert_timers, span);
        for Lane { output, input } in lanes {
            output.at = output.at.moved(span);
            input.requests_from = input.requests_from.moved(span);
            input.receiver.count_from(span, behind);
        }
    }
}
