//! What a port sends on, without barrier packets and open ends: when it is free, and adverts for what the same port receives.
//!
//! Adverts are computed when somebody looks: before a data packet is chosen, before a receiver changes in a way that
//! would blur its past, and at the end of a window, since the other side must know by then. In between nothing happens
//! on the link, so looking late finds the same adverts in the same cycles.

use super::credit::AdvertTimer;
use super::packet_state::CreditUpdate;
use super::timing::Timing;
use super::{Cx, VCS_MAX};
use flitway_engine::Cycle;
use flitway_engine::time32::{Time, Time32};
use flitway_fabric::bits::bits;
use flitway_fabric::observer::{Advert, LinkObserver, Observer};
use flitway_fabric::pool::Slot;
use flitway_fabric::simulation::{Address, Counters, Wire};
use flitway_wiring::PortId;

#[derive(Clone, Debug)]
pub(super) struct LinkSender<T> {
    /// The first cycle in which it can decide again.
    pub(super) free_at: T,
    /// When the next advert is due, as far as known.
    pub(super) due_at: T,
    /// Flits of the packets that it has chosen since the start.
    pub(super) sent: u64,
    pub(super) wire: Wire,
    /// VCs that have a packet for it.
    pub(super) waiting: u16,
    /// VCs whose sender may come to need what it has not been told: see [`Timing::slack`]. It is told at once what is
    /// advertised from then on; of those in `pending_adverts` it has not been told what was advertised before.
    pub(super) credit_critical: u16,
    pub(super) pending_adverts: u16,
    advert_turn: u8,
    pub(super) data_turn: u8,
}

/// What the sending half of a link acts on beside its own port.
pub(super) trait ShardCx {
    type Watcher: Observer;

    fn timing(&self) -> &Timing;

    fn counters(&mut self) -> &mut Counters;

    fn observer(&mut self) -> &mut Self::Watcher;

    /// Tells the other end of `wire` a limit.
    fn tell(&mut self, wire: &Wire, limit: CreditUpdate);
}

impl<O: Observer> ShardCx for Cx<'_, O> {
    type Watcher = O;

    #[inline(always)]
    fn timing(&self) -> &Timing {
        &self.shared.timing
    }

    #[inline(always)]
    fn counters(&mut self) -> &mut Counters {
        self.counters
    }

    #[inline(always)]
    fn observer(&mut self) -> &mut O {
        self.observer
    }

    #[inline(always)]
    fn tell(&mut self, wire: &Wire, limit: CreditUpdate) {
        self.shared.pools.tell(self.post, wire.peer, limit);
    }
}

/// Whose it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    pub(super) component: u32,
    pub(super) port: u8,
    /// Whether that is a NIC port.
    pub(super) is_nic: bool,
}

/// What holds the receiver half of one VC, where `C` is around it.
pub(super) trait Receives<T, C> {
    type Half: Advertises<T, C>;

    fn receiver(&mut self) -> &mut Self::Half;
}

/// The receiver half of one VC, as its line asks it, where `C` is around it.
pub(super) trait Advertises<T, C>: ReceiverHalf<T> {
    /// Advertises in cycle `now`, when there is something to say; the link is free of the advert from cycle `sent` on. Returns
    /// the position, and when there will be more to say, as far as known.
    fn advertise(&mut self, cx: &mut C, now: T, sent: T) -> (u32, T);
}

/// What the receiver half of one VC has told the sender.
pub(super) trait ReceiverHalf<T> {
    /// Marks the last advert as told, if it had not been. Then gives its position, and when the link was free of it.
    fn tell(&mut self) -> Option<(u32, T)>;

    /// Whether the sender may come to need what it has not been told; see [`Timing::slack`].
    fn is_credit_critical(&self, slack: u32) -> bool;
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
#[inline(always)]
fn next_due<T: Time>(advert_timers: &[AdvertTimer<T>]) -> T {
    advert_timers.iter().fold(T::NEVER, |due, advert_timer| due.min(advert_timer.due))
}

/// Repeats what was said, on a link that is free from cycle `free` on, in as many whole rounds as fit into the cycles up to
/// `now`, if there are any: rounds in which there is nothing new to say and no advert waits for another. Such a round comes
/// back as it was after a period. Returns whose turn was the last one.
#[inline(always)]
fn repeat_rounds<T: Time>(
    advert_timers: &mut [AdvertTimer<T>],
    free: &mut T,
    now: T,
    cx: &mut impl ShardCx,
) -> Option<u8> {
    let timing = cx.timing();
    let news = advert_timers.iter().fold(T::NEVER, |news, advert_timer| news.min(advert_timer.news));
    let turn = advert_timers
        .iter()
        .enumerate()
        .max_by_key(|(_, advert_timer)| advert_timer.due)
        .map(|(vc, _)| vc)?;
    let (until, last) = (now.min(news - 1), advert_timers[turn].due);
    if until < last {
        return None;
    }
    let mut dues = [T::NEVER; VCS_MAX];
    let dues = &mut dues[..advert_timers.len()];
    dues.iter_mut().zip(&*advert_timers).for_each(|(due, advert_timer)| *due = advert_timer.due);
    dues.sort_unstable();
    let mut sent = *free;
    let is_undelayed = dues.iter().all(|&due| {
        let is_free = sent <= due;
        sent = due + timing.advert_flits - timing.ahead(sent, due);
        is_free
    });
    // An advert of one flit that is sent ahead leaves its cycle to another, whose turn it may be before.
    let is_in_order = dues.windows(2).all(|pair| pair[0] < pair[1]);
    // Each round finds the link as the first one does: nothing was on it in the cycle before.
    if !is_undelayed || !is_in_order || *free >= dues[0] || sent >= dues[0].later(timing.refresh) {
        return None;
    }
    let more = until.since(last) / timing.refresh;
    let span = more * timing.refresh;
    *free = sent + span;
    for advert_timer in &mut *advert_timers {
        advert_timer.due = advert_timer.news.min((advert_timer.due + span).later(timing.refresh));
    }
    cx.counters().adverts += (more + 1) * advert_timers.len() as u64;
    Some(turn as u8)
}

impl<T: Time> LinkSender<T> {
    pub(super) fn new(timing: &Timing, wire: Option<Wire>) -> Self {
        let nowhere = Wire { peer: Address { shard: 0, place: 0 }, port: 0, latency: 0 };
        LinkSender {
            free_at: T::ZERO,
            // Where nothing is connected there is nothing to repeat either.
            due_at: if wire.is_some() { T::ZERO.later(timing.refresh) } else { T::NEVER },
            sent: 0,
            wire: wire.unwrap_or(nowhere),
            waiting: 0,
            credit_critical: 0,
            pending_adverts: 0,
            advert_turn: 0,
            data_turn: 0,
        }
    }

    /// The cycle in which the first flit of what is chosen in cycle `now` arrives at the other end; takes the link for
    /// `flits`.
    #[inline]
    pub(super) fn send(&mut self, timing: &Timing, now: T, flits: u64) -> T {
        debug_assert!(self.free_at <= now);
        let ahead = timing.ahead(self.free_at, now);
        self.free_at = now + flits - ahead;
        now + timing.transmit + u64::from(self.wire.latency) - ahead
    }

    /// The same of a packet, whose flits are counted.
    #[inline]
    pub(super) fn send_packet(&mut self, timing: &Timing, now: T, flits: u64) -> T {
        self.sent += flits;
        self.send(timing, now, flits)
    }

    /// There will be something new to say from cycle `news` on.
    #[inline]
    pub(super) fn expect_news(&mut self, news: T) {
        self.due_at = self.due_at.min(news);
    }

    /// When the next advert can be sent that has anything new to say to a sender that may come to need it.
    #[inline]
    fn next_urgent(&self, advert_timers: &[AdvertTimer<T>]) -> T {
        let news =
            bits(self.credit_critical.into()).fold(T::NEVER, |news, vc| news.min(advert_timers[vc].news));
        news.max(self.free_at)
    }

    /// The sender of `vc` may come to need what it has not been told. Says whether that was not so before.
    #[inline]
    pub(super) fn make_credit_critical(&mut self, vc: u8) -> bool {
        let bit = 1 << vc & !self.credit_critical;
        self.pending_adverts |= bit;
        self.credit_critical |= bit;
        bit != 0
    }

    /// Whether the sender of a VC may come to need what it has not been told.
    #[inline]
    pub(super) fn is_credit_critical(&self) -> bool {
        self.credit_critical != 0
    }

    /// Whether an advert is due in cycle `now` or has been before.
    #[inline]
    pub(super) fn is_due(&self, now: T) -> bool {
        self.due_at <= now
    }

    /// Whether an advert could have been sent in the cycles up to `now`, barrier packets aside.
    #[inline]
    pub(super) fn could_advertise(&self, now: T) -> bool {
        self.next_advert_at() <= now
    }

    /// Sends the adverts that were due in the cycles up to `now` in which the link was free. Afterwards it may be busy.
    pub(super) fn catch_up<C: ShardCx>(
        &mut self,
        advert_timers: &mut [AdvertTimer<T>],
        receivers: &mut [impl Receives<T, C>],
        now: T,
        owner: Owner,
        cx: &mut C,
    ) {
        if !self.could_advertise(now) {
            return;
        }
        // A few VCs are looked over without a loop, for every advert.
        match advert_timers {
            [_] => self.send_adverts::<1, C>(advert_timers, receivers, now, owner, cx),
            [_, _] => self.send_adverts::<2, C>(advert_timers, receivers, now, owner, cx),
            [_, _, _] => self.send_adverts::<3, C>(advert_timers, receivers, now, owner, cx),
            [_, _, _, _] => self.send_adverts::<4, C>(advert_timers, receivers, now, owner, cx),
            _ => self.send_adverts::<0, C>(advert_timers, receivers, now, owner, cx),
        }
    }

    /// Sends the adverts that were due in the cycles up to `now`, of which there is one, of `N` VCs, if that is not 0.
    #[inline(always)]
    pub(super) fn send_adverts<const N: usize, C: ShardCx>(
        &mut self,
        advert_timers: &mut [AdvertTimer<T>],
        receivers: &mut [impl Receives<T, C>],
        now: T,
        owner: Owner,
        cx: &mut C,
    ) {
        let vcs = if N == 0 { advert_timers.len() } else { N };
        let (advert_timers, receivers) = (&mut advert_timers[..vcs], &mut receivers[..vcs]);
        loop {
            let at = self.next_advert_at();
            if at > now {
                return;
            }
            if now.since(at) <= cx.timing().long || !self.repeat::<N>(advert_timers, now, at, cx) {
                self.send_advert(advert_timers, receivers, at, owner, cx);
            }
        }
    }

    /// The first cycle in which an advert can be sent, as far as known.
    #[inline(always)]
    fn next_advert_at(&self) -> T {
        self.due_at.max(self.free_at)
    }

    /// Sends the adverts that are due before the link can take what is ready for it in cycle `first`, and before cycle `upto`.
    /// Returns when it can.
    #[inline(always)]
    pub(super) fn send_adverts_before<const N: usize, C: ShardCx>(
        &mut self,
        advert_timers: &mut [AdvertTimer<T>; N],
        receivers: &mut [impl Receives<T, C>; N],
        [first, upto]: [T; 2],
        owner: Owner,
        cx: &mut C,
    ) -> T {
        let mut now = first.max(self.free_at);
        while now < upto {
            if self.due_at > now {
                break;
            }
            let at = self.next_advert_at();
            if now.since(at) <= cx.timing().long {
                self.send_advert(advert_timers, receivers, at, owner, cx);
            } else {
                self.send_adverts::<N, C>(advert_timers, receivers, now, owner, cx);
            }
            now = first.max(self.free_at);
        }
        now
    }

    /// Repeats what was said from cycle `at` on, up to `now`, in as many rounds as it can be done at once. Says whether it
    /// could. Of `N` VCs, if that is not 0.
    #[inline(never)]
    fn repeat<const N: usize>(
        &mut self,
        advert_timers: &mut [AdvertTimer<T>],
        now: T,
        at: T,
        cx: &mut impl ShardCx,
    ) -> bool {
        let vcs = if N == 0 { advert_timers.len() } else { N };
        let advert_timers = &mut advert_timers[..vcs];
        let long = cx.timing().long;
        if advert_timers.iter().any(|advert_timer| advert_timer.news <= at + long) {
            return false;
        }
        let Some(turn) = repeat_rounds(advert_timers, &mut self.free_at, now, cx) else { return false };
        (self.due_at, self.advert_turn) = (next_due(advert_timers), turn);
        true
    }

    /// Sends the advert whose turn it is in cycle `at`, in which one can be sent.
    #[inline(always)]
    fn send_advert<C: ShardCx>(
        &mut self,
        advert_timers: &mut [AdvertTimer<T>],
        receivers: &mut [impl Receives<T, C>],
        at: T,
        owner: Owner,
        cx: &mut C,
    ) {
        let Timing { refresh, advert_flits, .. } = *cx.timing();
        let is_due = |(vc, advert_timer): (usize, &AdvertTimer<T>)| u16::from(advert_timer.due <= at) << vc;
        let wanted = advert_timers.iter().enumerate().map(is_due).fold(0, |wanted, bit| wanted | bit);
        let vc = first_after(self.advert_turn, wanted).expect("when an advert is due some VC has one");
        self.advert_turn = vc as u8;
        self.free_at = at + advert_flits - cx.timing().ahead(self.free_at, at);
        cx.counters().adverts += 1;
        let mut news = advert_timers[vc].news;
        // If there is nothing new, what was said is said again.
        if news <= at {
            news = self.say(receivers[vc].receiver(), vc, [at, self.free_at], owner, cx);
        }
        advert_timers[vc] = AdvertTimer { news, due: news.min(at.later(refresh)) };
        self.due_at = next_due(advert_timers);
    }

    /// Says, in cycle `at`, what is new of `receiver`, that of `vc`; the link is free of the advert from cycle `sent` on.
    /// Returns when there will be more to say, as far as known.
    #[inline(always)]
    fn say<C: ShardCx>(
        &mut self,
        receiver: &mut impl Advertises<T, C>,
        vc: usize,
        [at, sent]: [T; 2],
        owner: Owner,
        cx: &mut C,
    ) -> T {
        let (position, news) = receiver.advertise(cx, at, sent);
        let (cycle, port) = (at.cycle(cx.timing().epoch), PortId(owner.port.into()));
        cx.observer().advertised(&Advert { cycle, component: owner.component, port, vc: vc as u8, position });
        if self.credit_critical >> vc & 1 == 1 {
            self.tell(receiver, vc, owner, cx);
        }
        news
    }

    /// Tells the other end the last advert of `vc`, if it has not been told.
    #[inline(never)]
    fn tell<C: ShardCx>(&mut self, receiver: &mut impl ReceiverHalf<T>, vc: usize, owner: Owner, cx: &mut C) {
        if let Some((position, said)) = receiver.tell() {
            self.tell_position(receiver, vc as u8, (position, said), owner, cx);
        }
    }

    /// Tells the other end the position of `receiver`, that of `vc`, whose advert takes the link up to cycle `said`.
    #[inline(always)]
    pub(super) fn tell_position<C: ShardCx>(
        &mut self,
        receiver: &impl ReceiverHalf<T>,
        vc: u8,
        (position, said): (u32, T),
        owner: Owner,
        cx: &mut C,
    ) {
        let timing = cx.timing();
        let is_credit_critical =
            receiver.is_credit_critical(if owner.is_nic { timing.nic_slack } else { timing.slack });
        self.credit_critical = self.credit_critical & !(1 << vc) | u16::from(is_credit_critical) << vc;
        let on_the_way = timing.on_the_way(self.wire.latency);
        let (port, from) = (self.wire.port, said.cycle(timing.epoch) + on_the_way - 1);
        let limit = CreditUpdate { port, vc, from, position, next: Slot::NONE };
        cx.tell(&self.wire, limit);
    }

    /// Ends a window before `until`: what the other end may come to need is said now. Returns when there will be more
    /// to say, if that is urgent. A barrier packet that was ready before `until` has been sent, or the link is busy up to
    /// then; so none keeps back an advert that could have been sent in this window.
    pub(super) fn finish<C: ShardCx>(
        &mut self,
        advert_timers: &mut [AdvertTimer<T>],
        receivers: &mut [impl Receives<T, C>],
        until: T,
        owner: Owner,
        cx: &mut C,
    ) -> Cycle {
        if self.credit_critical == 0 {
            return Cycle::NEVER;
        }
        let mut next = self.next_urgent(advert_timers);
        if next < until {
            self.catch_up(advert_timers, receivers, until - 1, owner, cx);
            next = self.next_urgent(advert_timers);
        }
        for vc in bits(std::mem::take(&mut self.pending_adverts).into()) {
            self.tell(receivers[vc].receiver(), vc, owner, cx);
        }
        if next == T::NEVER { Cycle::NEVER } else { next.cycle(cx.timing().epoch) }
    }
}

impl LinkSender<Time32> {
    /// Time, for it and its `advert_timers`, is counted from a cycle on that is `span` later than the one so far. All
    /// adverts due before have been sent.
    pub(super) fn count_from(&mut self, advert_timers: &mut [AdvertTimer<Time32>], span: u32) {
        for time in [&mut self.free_at, &mut self.due_at] {
            *time = time.moved(span);
        }
        for AdvertTimer { news, due } in advert_timers {
            (*news, *due) = (news.moved(span), due.moved(span));
        }
    }
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
