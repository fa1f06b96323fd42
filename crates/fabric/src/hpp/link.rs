//! The sending half of a port: when its link is free, and adverts for what the same port receives.
//!
//! Adverts are computed when somebody looks: before a data packet is chosen, before a receiver changes in a way that
//! would blur its past, and at the end of a window, since the other side must know by then. In between nothing happens
//! on the link, so looking late finds the same adverts in the same cycles.

use super::credit::Receiver;
use super::timing::Timing;
use super::token::{Limit, Mail};
use crate::PortId;
use crate::observer::{Advert, Observer};
use crate::simulation::{Address, Effects, Wire};
use flitway_engine::Cycle;

#[derive(Clone, Debug)]
pub(super) struct Link {
    /// The first cycle in which it can decide again.
    pub(super) free_at: Cycle,
    /// No advert is due before this cycle.
    due_at: Cycle,
    /// No advert has anything new to say before this cycle.
    pub(super) news_at: Cycle,
    pub(super) wire: Wire,
    advert_turn: u8,
    pub(super) data_turn: u8,
    /// This port's own number, and its component's, for observers.
    port: PortId,
    component: u32,
}

/// The receiver halves of one port, by VC.
pub(super) trait Receivers {
    fn get(&mut self, vc: usize) -> &mut Receiver;
}

/// The first of `vcs` VCs after the one served `last`, going round, that is `wanted`.
#[inline]
pub(super) fn first_after(last: u8, vcs: usize, mut wanted: impl FnMut(usize) -> bool) -> Option<usize> {
    let first = usize::from(last) + 1;
    (first..vcs).find(|&vc| wanted(vc)).or_else(|| (0..first).find(|&vc| wanted(vc)))
}

impl Link {
    pub(super) fn new(timing: &Timing, component: u32, port: u32, wire: Option<Wire>) -> Self {
        let nowhere = Wire { peer: Address { shard: 0, place: 0 }, port: 0, latency: 0 };
        Link {
            free_at: Cycle::ZERO,
            // Where nothing is connected there is nothing to repeat either.
            due_at: wire.and(timing.refresh).map_or(Cycle::NEVER, Cycle),
            news_at: Cycle::NEVER,
            wire: wire.unwrap_or(nowhere),
            advert_turn: 0,
            data_turn: 0,
            port: PortId(port),
            component,
        }
    }

    /// The cycle in which the first flit of what is chosen in cycle `now` arrives at the other end; takes the link for
    /// `flits`.
    #[inline]
    pub(super) fn send(&mut self, timing: &Timing, now: Cycle, flits: u64) -> Cycle {
        debug_assert!(self.free_at <= now);
        let ahead = if self.free_at < now { timing.show_ahead } else { 0 };
        self.free_at = now + flits - ahead;
        now + timing.transmit + u64::from(self.wire.latency) - ahead
    }

    /// There will be something new to say from cycle `news` on.
    #[inline]
    pub(super) fn expect_news(&mut self, news: Cycle) {
        self.news_at = self.news_at.min(news);
        self.due_at = self.due_at.min(news);
    }

    /// Whether an advert may be due in cycle `now` or have been before.
    #[inline]
    pub(super) fn is_due(&self, now: Cycle) -> bool {
        self.due_at <= now
    }

    /// Sends the adverts that were due in the cycles up to `now` in which the link was free. Afterwards it may be busy.
    pub(super) fn send_adverts<O: Observer>(
        &mut self,
        receivers: &mut impl Receivers,
        timing: &Timing,
        now: Cycle,
        effects: &mut Effects<'_, Mail, O>,
    ) {
        if timing.sideband {
            self.send_sideband(receivers, timing, now, effects);
        } else {
            self.send_due(receivers, timing, now, effects);
        }
    }

    fn send_due<O: Observer>(
        &mut self,
        receivers: &mut impl Receivers,
        timing: &Timing,
        now: Cycle,
        effects: &mut Effects<'_, Mail, O>,
    ) {
        let mut seen: Option<(Cycle, Phase)> = None;
        loop {
            let (mut news, mut oldest) = (Cycle::NEVER, Cycle::NEVER);
            for vc in 0..timing.vcs {
                let receiver = receivers.get(vc);
                news = news.min(receiver.news);
                oldest = oldest.min(receiver.last_advert);
            }
            let repeat = timing.refresh.map_or(Cycle::NEVER, |refresh| oldest + refresh);
            let due = news.min(repeat);
            let at = due.max(self.free_at);
            if at > now {
                (self.news_at, self.due_at) = (news.max(self.free_at), due);
                return;
            }
            if news == Cycle::NEVER
                && let Some(refresh) = timing.refresh
            {
                let phase = self.phase(receivers, timing, at);
                match &seen {
                    Some((then, _)) if at < *then + refresh => {}
                    Some((then, before)) if at == *then + refresh && *before == phase => {
                        self.skip(receivers, timing, now.since(at) / refresh, refresh, effects);
                        seen = None;
                        continue;
                    }
                    _ => seen = Some((at, phase)),
                }
            }
            let is_due = |receiver: &Receiver| {
                receiver.news <= at
                    || timing.refresh.is_some_and(|refresh| receiver.last_advert + refresh <= at)
            };
            let Some(vc) = self.turn(timing, |vc| is_due(receivers.get(vc))) else { return };
            let last = self.send(timing, at, timing.advert_flits) + timing.advert_flits - 1;
            self.advertise(receivers.get(vc), vc, timing, at, last, effects);
        }
    }

    fn send_sideband<O: Observer>(
        &mut self,
        receivers: &mut impl Receivers,
        timing: &Timing,
        now: Cycle,
        effects: &mut Effects<'_, Mail, O>,
    ) {
        let mut next = Cycle::NEVER;
        for vc in 0..timing.vcs {
            let receiver = receivers.get(vc);
            while receiver.news <= now {
                let at = receiver.news;
                let arrival = at + timing.transmit + u64::from(self.wire.latency);
                self.advertise(receiver, vc, timing, at, arrival, effects);
            }
            next = next.min(receiver.news);
        }
        (self.news_at, self.due_at) = (next, next);
    }

    fn advertise<O: Observer>(
        &mut self,
        receiver: &mut Receiver,
        vc: usize,
        timing: &Timing,
        now: Cycle,
        arrival: Cycle,
        effects: &mut Effects<'_, Mail, O>,
    ) {
        self.advert_turn = vc as u8;
        effects.counters.adverts += 1;
        let (position, news) = receiver.advertise(timing, now);
        if news {
            let (component, port) = (self.component, self.port);
            effects.observer.advertised(&Advert { cycle: now, component, port, vc: vc as u8, position });
            receiver.counts_from = arrival + timing.receive;
            if receiver.is_tight(timing) {
                self.tell(receiver, vc, effects);
            }
        }
    }

    /// Tells the other end the last advert of `vc`, if it has not been told.
    #[inline]
    fn tell<O: Observer>(&self, receiver: &mut Receiver, vc: usize, effects: &mut Effects<'_, Mail, O>) {
        if let Some(position) = receiver.tell() {
            let limit = Limit { port: self.wire.port, vc: vc as u8, from: receiver.counts_from, position };
            effects.post.send(self.wire.peer, Cycle::NEVER, Mail::Advert(limit));
        }
    }

    /// Ends a window before `until`: what the other end may come to need is said now. Returns when there will be more
    /// to say, if that is urgent.
    pub(super) fn finish<O: Observer>(
        &mut self,
        receivers: &mut impl Receivers,
        timing: &Timing,
        until: Cycle,
        effects: &mut Effects<'_, Mail, O>,
    ) -> Cycle {
        if (0..timing.vcs).all(|vc| !receivers.get(vc).is_tight(timing)) {
            return Cycle::NEVER;
        }
        if self.news_at < until {
            self.send_adverts(receivers, timing, until - 1, effects);
        }
        for vc in 0..timing.vcs {
            let receiver = receivers.get(vc);
            if receiver.is_tight(timing) {
                self.tell(receiver, vc, effects);
            }
        }
        self.news_at
    }

    /// The first VC after the one advertised last for which `wanted` holds.
    #[inline]
    fn turn(&self, timing: &Timing, wanted: impl FnMut(usize) -> bool) -> Option<usize> {
        first_after(self.advert_turn, timing.vcs, wanted)
    }

    /// All that decides what is repeated from cycle `at` on, when nothing new comes up.
    fn phase(&self, receivers: &mut impl Receivers, timing: &Timing, at: Cycle) -> Phase {
        let mut ages = [0; VCS_MAX];
        for (vc, age) in ages.iter_mut().enumerate().take(timing.vcs) {
            *age = at.since(receivers.get(vc).last_advert);
        }
        Phase { was_free: self.free_at < at, turn: self.advert_turn, ages }
    }

    /// Lets `periods` of repetition pass: a phase that comes back after one period comes back after each.
    fn skip<O: Observer>(
        &mut self,
        receivers: &mut impl Receivers,
        timing: &Timing,
        periods: u64,
        refresh: u64,
        effects: &mut Effects<'_, Mail, O>,
    ) {
        self.free_at += periods * refresh;
        for vc in 0..timing.vcs {
            receivers.get(vc).last_advert += periods * refresh;
        }
        effects.counters.adverts += periods * timing.vcs as u64;
    }
}

/// The most VCs that a link has.
const VCS_MAX: usize = 16;

/// See [`Link::phase`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Phase {
    was_free: bool,
    turn: u8,
    ages: [u64; VCS_MAX],
}
