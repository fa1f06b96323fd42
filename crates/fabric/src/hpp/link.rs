//! The sending half of a port: when its link is free, and adverts for what the same port receives.
//!
//! Adverts are computed when somebody looks: before a data packet is chosen, before a receiver changes in a way that
//! would blur its past, and at the end of a window, since the other side must know by then. In between nothing happens
//! on the link, so looking late finds the same adverts in the same cycles. Adverts on wires of their own are not in
//! anybody's way: they are told as soon as it is known when a unit leaves, and only counted when somebody looks.

use super::credit::{Receiver, Voice};
use super::timing::Timing;
use super::token::Limit;
use super::{Cx, VCS_MAX};
use crate::PortId;
use crate::bits::bits;
use crate::observer::{Advert, Observer};
use crate::pool::Slot;
use crate::simulation::{Address, Wire};
use flitway_engine::Cycle;

#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Link {
    /// The first cycle in which it can decide again.
    pub(super) free_at: Cycle,
    /// When the next advert is due, as far as known.
    due_at: Cycle,
    /// When the first barrier packet in its queue is ready; `NEVER` if there is none. From then on it sends no adverts
    /// before that one.
    pub(super) barrier_at: Cycle,
    /// Flits of the packets that it has chosen since the start.
    pub(super) sent: u64,
    pub(super) wire: Wire,
    /// This port's own number, and its component's, for observers.
    component: u32,
    port: u8,
    /// Whether it is that of a NIC port.
    is_nic: bool,
    /// VCs that have a packet for it.
    pub(super) waiting: u16,
    /// VCs whose receiver does not know yet when the packet that is leaving will have left.
    pub(super) open: u16,
    /// VCs whose sender may come to need what it has not been told: see [`Timing::slack`]. It is told at once what is
    /// advertised from then on; of those in `untold` it has not been told what was advertised before.
    tight: u16,
    untold: u16,
    advert_turn: u8,
    pub(super) data_turn: u8,
}

const _: () = assert!(size_of::<Link>() == 64, "one cache line");

/// What holds the receiver half of one VC.
pub(super) trait Receives {
    fn receiver(&mut self) -> &mut Receiver;
}

/// The first VC of the mask `wanted` after the one served `last`, going round.
#[inline]
pub(super) fn first_after(last: u8, wanted: u16) -> Option<usize> {
    let first = u32::from(last) + 1;
    // Bits beyond the VCs are zero, so a ring of 32 does for any number of them.
    let ahead = u32::from(wanted).rotate_right(first).trailing_zeros();
    (wanted != 0).then_some(((first + ahead) % 32) as usize)
}

/// When the next advert is due.
#[inline]
fn next_due(voices: &[Voice]) -> Cycle {
    voices.iter().fold(Cycle::NEVER, |due, voice| due.min(voice.due))
}

/// The VCs that are due in cycle `at` or have been before, and when the first of the others is. A few VCs are looked at without
/// a loop: this is asked for every advert.
#[inline(always)]
fn look(voices: &[Voice], at: Cycle) -> (u16, Cycle) {
    match voices {
        [a] => look_at([a], at),
        [a, b] => look_at([a, b], at),
        [a, b, c] => look_at([a, b, c], at),
        [a, b, c, d] => look_at([a, b, c, d], at),
        more => look_at_many(more, at),
    }
}

#[inline(never)]
fn look_at_many(voices: &[Voice], at: Cycle) -> (u16, Cycle) {
    look_at(voices, at)
}

#[inline(always)]
fn look_at<'a>(voices: impl IntoIterator<Item = &'a Voice>, at: Cycle) -> (u16, Cycle) {
    let (mut wanted, mut later) = (0, Cycle::NEVER);
    for (vc, voice) in voices.into_iter().enumerate() {
        let is_due = voice.due <= at;
        wanted |= u16::from(is_due) << vc;
        later = later.min(if is_due { Cycle::NEVER } else { voice.due });
    }
    (wanted, later)
}

impl Link {
    pub(super) fn new(timing: &Timing, component: u32, port: u32, wire: Option<Wire>, is_nic: bool) -> Self {
        let nowhere = Wire { peer: Address { shard: 0, place: 0 }, port: 0, latency: 0 };
        Link {
            free_at: Cycle::ZERO,
            // Where nothing is connected there is nothing to repeat either.
            due_at: if wire.is_some() { Cycle(timing.refresh) } else { Cycle::NEVER },
            barrier_at: Cycle::NEVER,
            sent: 0,
            wire: wire.unwrap_or(nowhere),
            component,
            port: port as u8,
            is_nic,
            waiting: 0,
            open: 0,
            tight: 0,
            untold: 0,
            advert_turn: 0,
            data_turn: 0,
        }
    }

    /// The component that it belongs to, for observers.
    pub(super) fn component(&self) -> u32 {
        self.component
    }

    /// The cycle in which the first flit of what is chosen in cycle `now` arrives at the other end; takes the link for
    /// `flits`.
    #[inline]
    pub(super) fn send(&mut self, timing: &Timing, now: Cycle, flits: u64) -> Cycle {
        debug_assert!(self.free_at <= now);
        let ahead = timing.show_ahead.min(u64::from(self.free_at < now));
        self.free_at = now + flits - ahead;
        now + timing.transmit + u64::from(self.wire.latency) - ahead
    }

    /// The same of a packet, whose flits are counted.
    #[inline]
    pub(super) fn send_packet(&mut self, timing: &Timing, now: Cycle, flits: u64) -> Cycle {
        self.sent += flits;
        self.send(timing, now, flits)
    }

    /// There will be something new to say from cycle `news` on.
    #[inline]
    pub(super) fn expect_news(&mut self, news: Cycle) {
        self.due_at = self.due_at.min(news);
    }

    /// When the next advert can be sent that has anything new to say to a sender that may come to need it.
    #[inline]
    fn next_urgent(&self, voices: &[Voice]) -> Cycle {
        let news = bits(self.tight.into()).fold(Cycle::NEVER, |news, vc| news.min(voices[vc].news));
        news.max(self.free_at)
    }

    /// The sender of `vc` may come to need what it has not been told. Says whether that was not so before.
    #[inline]
    pub(super) fn tighten(&mut self, vc: u8) -> bool {
        let bit = 1 << vc & !self.tight;
        self.untold |= bit;
        self.tight |= bit;
        bit != 0
    }

    /// Whether the sender of a VC may come to need what it has not been told.
    #[inline]
    pub(super) fn is_tight(&self) -> bool {
        self.tight != 0
    }

    /// Whether an advert is due in cycle `now` or has been before.
    #[inline]
    pub(super) fn is_due(&self, now: Cycle) -> bool {
        self.due_at <= now
    }

    /// Sends the adverts that were due in the cycles up to `now` in which the link was free. Afterwards it may be busy.
    pub(super) fn catch_up<O: Observer>(
        &mut self,
        voices: &mut [Voice],
        receivers: &mut [impl Receives],
        now: Cycle,
        cx: &mut Cx<'_, O>,
    ) {
        let mut now = now;
        if self.barrier_at <= now {
            // What is looked at in a cycle in which the link is free comes after the link's own decision, so if the packet is
            // still there the link is busy, or it is about to decide in cycle `now`.
            let Some(before) = self.barrier_at.0.checked_sub(1) else { return };
            now = Cycle(before);
        }
        loop {
            let at = self.due_at.max(self.free_at);
            if at > now {
                return;
            }
            let has_repeated =
                now.since(at) > cx.shared.timing.long && self.repeat(voices, receivers, at, now, cx);
            if !has_repeated {
                self.due_at = self.send_advert(voices, receivers, at, cx);
            }
        }
    }

    /// Sends, in cycle `at`, one of the adverts that are due. Returns when the next one is, or `at` if that has been before.
    #[inline(always)]
    fn send_advert<O: Observer>(
        &mut self,
        voices: &mut [Voice],
        receivers: &mut [impl Receives],
        at: Cycle,
        cx: &mut Cx<'_, O>,
    ) -> Cycle {
        let (wanted, later) = look(voices, at);
        let vc = first_after(self.advert_turn, wanted).expect("when an advert is due some VC has one");
        self.send(&cx.shared.timing, at, cx.shared.timing.advert_flits);
        let due = self.advertise(voices, receivers, vc, at, self.free_at, cx);
        if wanted & (wanted - 1) == 0 { later.min(due) } else { at }
    }

    /// Sends the adverts from cycle `at` up to `now`, if there is nothing new to say: once what is repeated comes back after
    /// one period, it comes back after each, and whole periods are skipped. Says whether that is so.
    #[cold]
    #[inline(never)]
    fn repeat<O: Observer>(
        &mut self,
        voices: &mut [Voice],
        receivers: &mut [impl Receives],
        mut at: Cycle,
        now: Cycle,
        cx: &mut Cx<'_, O>,
    ) -> bool {
        if voices.iter().any(|voice| voice.news != Cycle::NEVER) {
            return false;
        }
        let refresh = cx.shared.timing.refresh;
        let mut seen = (at, self.phase(voices, at));
        while at <= now {
            if at >= seen.0 + refresh {
                let phase = self.phase(voices, at);
                if at == seen.0 + refresh && phase == seen.1 {
                    self.skip(voices, now.since(at) / refresh, cx);
                    break;
                }
                seen = (at, phase);
            }
            at = self.send_advert(voices, receivers, at, cx).max(self.free_at);
        }
        self.due_at = next_due(voices);
        true
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
        self.untold &= !(1 << vc);
        while self.tight >> vc & 1 == 1 && self.tell_next_sideband(receiver, vc, cx) {}
    }

    /// Tells the first of them. Returns whether there are more.
    #[inline(never)]
    fn tell_next_sideband<O: Observer>(
        &mut self,
        receiver: &mut Receiver,
        vc: u8,
        cx: &mut Cx<'_, O>,
    ) -> bool {
        let Some((position, said)) = receiver.tell_sideband(&cx.shared.timing) else { return false };
        self.tell_position(receiver, vc, position, said, cx);
        receiver.untold() > 0
    }

    /// Advertises `vc` in cycle `now`; the link is free of the advert from cycle `sent` on. Returns when that is due again.
    #[inline(always)]
    fn advertise<O: Observer>(
        &mut self,
        voices: &mut [Voice],
        receivers: &mut [impl Receives],
        vc: usize,
        now: Cycle,
        sent: Cycle,
        cx: &mut Cx<'_, O>,
    ) -> Cycle {
        self.advert_turn = vc as u8;
        cx.counters.adverts += 1;
        let (timing, voice) = (&cx.shared.timing, &mut voices[vc]);
        if voice.news > now {
            // What was said is said again.
            voice.due = voice.news.min(now + timing.refresh);
            return voice.due;
        }
        let receiver = receivers[vc].receiver();
        let (position, news) = receiver.advertise(timing, now, sent);
        *voice = Voice { news, due: news.min(now + timing.refresh) };
        let (component, port) = (self.component, PortId(self.port.into()));
        cx.observer.advertised(&Advert { cycle: now, component, port, vc: vc as u8, position });
        let due = voice.due;
        if self.tight >> vc & 1 == 1 {
            self.tell(receiver, vc, cx);
        }
        due
    }

    /// Tells the other end the last advert of `vc`, if it has not been told.
    #[inline(never)]
    fn tell<O: Observer>(&mut self, receiver: &mut Receiver, vc: usize, cx: &mut Cx<'_, O>) {
        let Some(position) = receiver.tell() else { return };
        self.tell_position(receiver, vc as u8, position, receiver.said, cx);
    }

    /// Tells the other end `position` of `receiver`, that of `vc`, whose advert takes the link up to cycle `said`.
    #[inline(always)]
    fn tell_position<O: Observer>(
        &mut self,
        receiver: &Receiver,
        vc: u8,
        position: u32,
        said: Cycle,
        cx: &mut Cx<'_, O>,
    ) {
        let timing = &cx.shared.timing;
        let is_tight = receiver.is_tight(if self.is_nic { timing.nic_slack } else { timing.slack });
        self.tight = self.tight & !(1 << vc) | u16::from(is_tight) << vc;
        let on_the_way = timing.transmit + u64::from(self.wire.latency) + timing.receive;
        let (port, from) = (self.wire.port, said + on_the_way - 1);
        let limit = Limit { port, vc, from, position, next: Slot::NONE };
        cx.shared.pools.tell(cx.post, self.wire.peer, limit);
    }

    /// Ends a window before `until`: what the other end may come to need is said now. Returns when there will be more
    /// to say, if that is urgent. A barrier packet that was ready before `until` has been sent, or the link is busy up to
    /// then; so none keeps back an advert that could have been sent in this window.
    pub(super) fn finish<O: Observer>(
        &mut self,
        voices: &mut [Voice],
        receivers: &mut [impl Receives],
        until: Cycle,
        cx: &mut Cx<'_, O>,
    ) -> Cycle {
        if self.tight == 0 {
            return Cycle::NEVER;
        }
        if cx.shared.timing.sideband {
            for vc in bits(self.untold.into()) {
                self.tell_sideband(receivers[vc].receiver(), vc as u8, cx);
            }
            return Cycle::NEVER;
        }
        let mut next = self.next_urgent(voices);
        if next < until {
            self.catch_up(voices, receivers, until - 1, cx);
            next = self.next_urgent(voices);
        }
        for vc in bits(std::mem::take(&mut self.untold).into()) {
            self.tell(receivers[vc].receiver(), vc, cx);
        }
        next
    }

    /// All that decides what is repeated from cycle `at` on, when nothing new comes up.
    fn phase(&self, voices: &[Voice], at: Cycle) -> Phase {
        let mut due_in = [0; VCS_MAX];
        for (voice, due_in) in voices.iter().zip(&mut due_in) {
            *due_in = voice.due.0.wrapping_sub(at.0);
        }
        Phase { was_free: self.free_at < at, turn: self.advert_turn, due_in }
    }

    /// Lets `periods` of repetition pass.
    fn skip<O: Observer>(&mut self, voices: &mut [Voice], periods: u64, cx: &mut Cx<'_, O>) {
        let span = periods * cx.shared.timing.refresh;
        self.free_at += span;
        for voice in voices {
            voice.due += span;
        }
        cx.counters.adverts += periods * cx.shared.timing.vcs as u64;
    }
}

/// See [`Link::phase`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Phase {
    was_free: bool,
    turn: u8,
    due_in: [u64; VCS_MAX],
}

#[cfg(test)]
mod tests {
    use super::first_after;

    #[test]
    fn turns_go_round() {
        for vcs in 1..=16_u32 {
            for last in 0..vcs {
                for wanted in 0..1_u32 << vcs.min(9) {
                    let plain = (1..=vcs).map(|step| (last + step) % vcs).find(|vc| wanted >> vc & 1 == 1);
                    assert_eq!(first_after(last as u8, wanted as u16), plain.map(|vc| vc as usize));
                }
            }
        }
    }
}
