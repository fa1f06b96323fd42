//! The sending half of a port: when its link is free, and adverts for what the same port receives.

use super::credit::Receiver;
use super::timing::Timing;
use super::token::{Limit, Mail};
use crate::PortId;
use crate::observer::{Advert, Observer};
use crate::simulation::{Effects, Wire};
use flitway_engine::Cycle;

#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) free_at: Cycle,
    pub(super) wire: Wire,
    /// This port's own number, and its component's, for observers.
    port: PortId,
    component: u32,
    advert_turn: u8,
    pub(super) data_turn: u8,
}

impl Link {
    pub(super) fn new(component: u32, port: u32, wire: Wire) -> Self {
        Link { free_at: Cycle::ZERO, wire, port: PortId(port), component, advert_turn: 0, data_turn: 0 }
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

    /// Sends what adverts are due in cycle `now`. Afterwards the link may be busy.
    pub(super) fn send_adverts<O: Observer>(
        &mut self,
        receivers: &mut impl Receivers,
        timing: &Timing,
        now: Cycle,
        effects: &mut Effects<'_, Mail, O>,
    ) {
        if timing.sideband {
            for vc in 0..timing.vcs {
                if receivers.get(vc).next_change(timing, now) == now {
                    let first = now + timing.transmit + u64::from(self.wire.latency);
                    self.advertise(receivers.get(vc), vc, timing, now, first, effects);
                }
            }
            return;
        }
        self.repeat_before(receivers, timing, now, effects);
        if self.free_at > now {
            return;
        }
        let due = |receiver: &Receiver| {
            receiver.position(timing, now) != receiver.advertised
                || timing.refresh.is_some_and(|refresh| receiver.last_advert + refresh <= now)
        };
        if let Some(vc) = self.turn(timing, |vc| due(receivers.get(vc))) {
            let last = self.send(timing, now, timing.advert_flits) + timing.advert_flits - 1;
            self.advertise(receivers.get(vc), vc, timing, now, last, effects);
        }
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
        receiver.last_advert = now;
        effects.counters.adverts += 1;
        let position = receiver.position(timing, now);
        if std::mem::replace(&mut receiver.advertised, position) != position {
            let (component, port) = (self.component, self.port);
            effects.observer.advertised(&Advert { cycle: now, component, port, vc: vc as u8, position });
            let limit =
                Limit { port: self.wire.port, vc: vc as u8, from: arrival + timing.receive, position };
            effects.post.send(self.wire.peer, Mail::Advert(limit));
        }
    }

    /// The first VC after the one advertised last for which `wanted` holds.
    #[inline]
    fn turn(&self, timing: &Timing, mut wanted: impl FnMut(usize) -> bool) -> Option<usize> {
        let first = usize::from(self.advert_turn) + 1;
        (first..first + timing.vcs)
            .map(|vc| if vc >= timing.vcs { vc - timing.vcs } else { vc })
            .find(|&vc| wanted(vc))
    }

    /// Repeats adverts in the cycles before `now` in which the link was free and one was due. They say nothing new, so
    /// nobody is told; but they take the link. This is done when somebody next looks, not cycle by cycle.
    fn repeat_before<O: Observer>(
        &mut self,
        receivers: &mut impl Receivers,
        timing: &Timing,
        now: Cycle,
        effects: &mut Effects<'_, Mail, O>,
    ) {
        let Some(refresh) = timing.refresh else { return };
        let mut on_time = 0;
        loop {
            let due = (0..timing.vcs).map(|vc| receivers.get(vc).last_advert).min().unwrap_or(now) + refresh;
            let at = due.max(self.free_at);
            if at >= now {
                return;
            }
            // Once every VC has been repeated exactly when it was due, each period is like the one before.
            on_time = if at == due { on_time + 1 } else { 0 };
            if on_time > timing.vcs {
                self.skip_periods(
                    (now.0 - 1 - at.0) / refresh * refresh,
                    refresh,
                    receivers,
                    timing,
                    effects,
                );
                on_time = 0;
                continue;
            }
            let vc = self.turn(timing, |vc| receivers.get(vc).last_advert + refresh <= at);
            let vc = vc.expect("the VC that is due");
            self.send(timing, at, timing.advert_flits);
            self.advert_turn = vc as u8;
            receivers.get(vc).last_advert = at;
            effects.counters.adverts += 1;
        }
    }

    /// Lets whole periods of repetition pass.
    fn skip_periods<O: Observer>(
        &mut self,
        span: u64,
        refresh: u64,
        receivers: &mut impl Receivers,
        timing: &Timing,
        effects: &mut Effects<'_, Mail, O>,
    ) {
        self.free_at += span;
        for vc in 0..timing.vcs {
            receivers.get(vc).last_advert += span;
        }
        effects.counters.adverts += span / refresh * timing.vcs as u64;
    }

    /// The first cycle, `now` or later, in which an advert has something new to say, as far as known.
    #[inline]
    pub(super) fn next_advert(&self, receivers: &mut impl Receivers, timing: &Timing, now: Cycle) -> Cycle {
        let change = (0..timing.vcs).map(|vc| receivers.get(vc).next_change(timing, now)).min();
        let change = change.unwrap_or(Cycle::NEVER);
        if change == Cycle::NEVER || timing.sideband { change } else { change.max(self.free_at) }
    }
}

/// The receiver halves of one port, by VC.
pub(super) trait Receivers {
    fn get(&mut self, vc: usize) -> &mut Receiver;
}
