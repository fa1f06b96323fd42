//! The sending half of a port: its [`LinkSender`], and what only some fabrics need: barrier packets, which go before adverts,
//! packets of which it is not known when they will have left, and adverts on wires of their own. Those are not in anybody's
//! way: they are told as soon as it is known when a unit leaves.

use super::credit::{AdvertTimer, Receiver};
use super::credit_schedule::CreditRun;
use super::link_sender::{LinkSender, Owner, Receives};
use super::timing::Timing;
use super::{Cx, Shared};
use flitway_engine::Cycle;
use flitway_fabric::bits::bits;
use flitway_fabric::observer::{Advert, Observer};
use flitway_fabric::simulation::Wire;
use flitway_wiring::PortId;
use std::ops::{Deref, DerefMut};

#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct BarrierLinkSender {
    link: LinkSender<Cycle>,
    /// When the first barrier packet in its queue is ready; `NEVER` if there is none. From then on it sends no adverts
    /// before that one.
    pub(super) barrier_at: Cycle,
    component: u32,
    port: u8,
    is_nic: bool,
    /// VCs whose receiver does not know yet when the packet that is leaving will have left.
    pub(super) open: u16,
}

const _: () = assert!(size_of::<BarrierLinkSender>() == 64, "one cache line");

impl Deref for BarrierLinkSender {
    type Target = LinkSender<Cycle>;

    #[inline]
    fn deref(&self) -> &LinkSender<Cycle> {
        &self.link
    }
}

impl DerefMut for BarrierLinkSender {
    #[inline]
    fn deref_mut(&mut self) -> &mut LinkSender<Cycle> {
        &mut self.link
    }
}

impl BarrierLinkSender {
    pub(super) fn new(timing: &Timing, component: u32, port: u32, wire: Option<Wire>, is_nic: bool) -> Self {
        let link = LinkSender::new(timing, wire);
        BarrierLinkSender { link, barrier_at: Cycle::NEVER, component, port: port as u8, is_nic, open: 0 }
    }

    /// The component that it belongs to, for observers.
    pub(super) fn component(&self) -> u32 {
        self.component
    }

    #[inline]
    fn owner(&self) -> Owner {
        let BarrierLinkSender { component, port, is_nic, .. } = *self;
        Owner { component, port, is_nic }
    }

    /// Sends the adverts that were due in the cycles up to `now` in which the link was free. Afterwards it may be busy.
    pub(super) fn catch_up<'a, O: Observer>(
        &mut self,
        advert_timers: &mut [AdvertTimer],
        receivers: &mut [impl Receives<Cycle, Cx<'a, O>>],
        now: Cycle,
        cx: &mut Cx<'a, O>,
    ) {
        let mut now = now;
        if self.barrier_at <= now {
            // What is looked at in a cycle in which the link is free comes after the link's own decision, so if the packet is
            // still there the link is busy, or it is about to decide in cycle `now`.
            let Some(before) = self.barrier_at.0.checked_sub(1) else { return };
            now = Cycle(before);
        }
        let owner = self.owner();
        self.link.catch_up(advert_timers, receivers, now, owner, cx);
    }

    /// See [`LinkSender::finish`].
    pub(super) fn finish<'a, O: Observer>(
        &mut self,
        advert_timers: &mut [AdvertTimer],
        receivers: &mut [impl Receives<Cycle, Cx<'a, O>>],
        until: Cycle,
        cx: &mut Cx<'a, O>,
    ) -> Cycle {
        let owner = self.owner();
        self.link.finish(advert_timers, receivers, until, owner, cx)
    }

    /// Counts the adverts of `receiver`, that of `vc`, on wires of their own, in the cycles up to `now`.
    #[inline]
    pub(super) fn count_sideband<O: Observer>(
        &self,
        receiver: &mut Receiver,
        vc: u8,
        now: Cycle,
        cx: &mut Cx<'_, O>,
    ) {
        while let Some((cycle, position)) = receiver.next_sideband(&cx.shared.timing, now) {
            cx.counters.adverts += 1;
            let (component, port) = (self.component, PortId(self.port.into()));
            cx.observer.advertised(&Advert { cycle, component, port, vc, position });
        }
    }

    /// Tells the other end the adverts of `receiver`, that of `vc`, on wires of their own: ahead of time, since nothing can
    /// come in between, as far as they are known and it may come to need them.
    #[inline]
    pub(super) fn tell_sideband<O: Observer>(&mut self, receiver: &mut Receiver, vc: u8, cx: &mut Cx<'_, O>) {
        self.pending_adverts &= !(1 << vc);
        while self.credit_critical >> vc & 1 == 1 && self.tell_next_sideband(receiver, vc, cx) {}
    }

    /// Tells the first of them. Returns whether there are more.
    #[inline(never)]
    fn tell_next_sideband<O: Observer>(
        &mut self,
        receiver: &mut Receiver,
        vc: u8,
        cx: &mut Cx<'_, O>,
    ) -> bool {
        let Some(advert) = receiver.tell_sideband(&cx.shared.timing) else { return false };
        let owner = self.owner();
        self.link.tell_position(receiver, vc, advert, owner, cx);
        receiver.pending_adverts() > 0
    }

    /// Ends a window, where adverts have wires of their own: what the other end may come to need is said now. Nothing is
    /// urgent after that.
    pub(super) fn finish_sideband<'a, O: Observer>(
        &mut self,
        receivers: &mut [impl Receives<Cycle, Cx<'a, O>, Half = Receiver>],
        cx: &mut Cx<'a, O>,
    ) -> Cycle {
        if self.credit_critical != 0 {
            for vc in bits(self.pending_adverts.into()) {
                self.tell_sideband(receivers[vc].receiver(), vc as u8, cx);
            }
        }
        Cycle::NEVER
    }

    /// Posts the adverts of `receiver`, that of `vc`, ahead of time, as far as they are
    /// known, since nothing can come in between.
    #[inline(always)]
    pub(super) fn post_adverts<O: Observer>(&self, receiver: &mut Receiver, vc: u8, cx: &mut Cx<'_, O>) {
        let Shared { timing, pools, .. } = &mut *cx.shared;
        let Some(left) = receiver.tell_ahead(timing) else { return };
        cx.counters.adverts += u64::from(left.units);
        let (component, port) = (self.component, PortId(self.port.into()));
        let positions = receiver.told_last(left.units);
        for (cycle, position) in left.cycles(timing.unit_flits.into()).zip(positions) {
            cx.observer.advertised(&Advert { cycle, component, port, vc, position });
        }
        let on_the_way = timing.on_the_way(self.wire.latency);
        pools.post(cx.post, &self.wire, vc, CreditRun { first: left.first + on_the_way, ..left });
    }
}

/// Has the counters say of the posted adverts of `receiver`, which are counted as they are told, how many have
/// been sent by the end of cycle `last`.
pub(super) fn settle_told<O: Observer>(receiver: &mut Receiver, last: Cycle, cx: &mut Cx<'_, O>) {
    let [before, ahead] = receiver.settle_told(&cx.shared.timing, last);
    cx.counters.adverts = cx.counters.adverts + u64::from(before) - u64::from(ahead);
}
