//! The sending end of a link: which virtual channel sends in which cycle, as far as that can be foreseen.
//!
//! Nothing is moved flit by flit. Of each virtual channel it is known in which cycles its flits are ready and its credits back
//! ([`Forecast`]). From that the sender makes a *plan*: it goes through one period slot by slot, as the text says, and where
//! all that it has seen goes on as it is, so does the plan, to the first cycle in which something is different: a packet ends,
//! a buffer runs empty, a pattern changes. Both neighbours are told of a pattern only when it is another one than they were
//! told. A plan holds unless something comes that nobody could foresee; then there is a new one from that cycle on, and
//! nothing that has been told is wrong yet, since it was told for later cycles.

use super::forecast::{Coming, Forecast, Run, lowest};
use super::packet_state::{Mail, PacketState, Verdict};
use super::period::{Period, Places};
use super::{Cx, Elite, Shared};
use flitway_engine::Cycle;
use flitway_fabric::bits::bits;
use flitway_fabric::component::PostOf;
use flitway_fabric::link::ChannelErrors;
use flitway_fabric::link::lanes::Agreement;
use flitway_fabric::observer::{Departure, LinkChange, LinkState, Observer};
use flitway_fabric::simulation::{Address, Conservation, Wire};
use flitway_fabric::{Flow, Pace, Rate, SentKind};
use flitway_wiring::{Destination, NodeId, PortId};

/// What a link is that is up: its eight wires are not trained one by one.
const WHOLE: Agreement = Agreement { lanes: 0xFF, lane_rate: 0, rate: Rate::FULL };

/// Who sends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The component, and its port (of a node: the rail).
    pub(super) component: u32,
    pub(super) port: PortId,
}

/// An outgoing virtual channel.
#[derive(Debug)]
pub(super) struct Lane {
    /// The incoming virtual channel whose packet has it.
    pub(super) owner: Option<u16>,
    /// Who sent that packet.
    pub(super) source: NodeId,
    /// For whom it is.
    pub(super) destination: Destination,
    /// What it is part of.
    pub(super) flow: Flow,
    /// The packet, until its first flit is sent, or to a node its last.
    pub(super) state: Option<Box<PacketState>>,
    /// Its flits.
    pub(super) flits: u32,
    /// Flits sent before the plan began, since the start.
    pub(super) sent: u64,
    /// What its packet has taken out of the buffer is so much more, modulo 2^64.
    ahead: u64,
    /// The same when all of the packet has been sent.
    pub(super) end: u64,
    /// Its first flit has been sent; so has its last, and that has been noted.
    pub(super) has_begun: bool,
    pub(super) is_done: bool,
    /// Where links corrupt flits: when it has sent those of its packet.
    sent_in: Vec<(Cycle, Cycle, Places)>,
    /// What the answer that comes says.
    pub(super) verdict: Verdict,
    /// It has a copy of a broadcast, or the broadcast itself.
    pub(super) is_broadcast: bool,
    /// Flits that may be sent, since the start.
    pub(super) credits: Forecast,
    /// What it does in the period that is gone through.
    step: Step,
    /// When it sends, by the plan, and as the neighbours have been told.
    pub(super) places: Places,
    pub(super) told: Places,
    /// When the answer to the packet comes, if that is known.
    pub(super) answer_at: Cycle,
    /// When it was given to its packet, and since when it was free before.
    pub(super) given: Cycle,
    pub(super) free: Cycle,
    /// Packets that have begun, modulo 2^32.
    pub(super) begun: u32,
}

impl Lane {
    fn new(credits: u64) -> Self {
        Lane {
            owner: None,
            source: NodeId(0),
            destination: Destination::Node(NodeId(0)),
            flow: Flow::traffic(0),
            state: None,
            flits: 0,
            sent: 0,
            ahead: 0,
            end: 0,
            has_begun: false,
            is_done: false,
            sent_in: Vec::new(),
            verdict: Verdict::True,
            is_broadcast: false,
            credits: Forecast::new(credits),
            step: Step::NOTHING,
            places: Places::NONE,
            told: Places::NONE,
            answer_at: Cycle::NEVER,
            given: Cycle::ZERO,
            free: Cycle::ZERO,
            begun: 0,
        }
    }

    /// Its packet has flits to send.
    #[inline]
    pub(super) fn is_sending(&self) -> bool {
        self.sent < self.end
    }

    /// When its next flit is ready and has a credit, or needs none, after it has sent so many in the plan.
    fn next(&self, period: Period, sent: u64, flits: &Forecast, is_sink: bool) -> Cycle {
        let ready = flits.when(period, self.taken() + sent);
        if is_sink { ready } else { ready.max(self.credits.when(period, self.sent + sent)) }
    }

    /// Flits that have been taken out of the buffer of its owner, since the start, before the plan began.
    #[inline]
    pub(super) fn taken(&self) -> u64 {
        self.sent.wrapping_add(self.ahead)
    }

    /// Flits of its packet that it has sent before the plan began.
    pub(super) fn sent_of_packet(&self) -> u64 {
        u64::from(self.flits) - (self.end - self.sent)
    }

    /// It is given to the packet `state` in cycle `now`: of `owner`, out of whose buffer so many flits have been `taken`.
    pub(super) fn give(&mut self, (owner, taken): (u16, u64), state: Box<PacketState>, now: Cycle) {
        debug_assert!(self.owner.is_none(), "a virtual channel has one packet");
        self.owner = Some(owner);
        (self.source, self.destination) = (state.source, state.destination());
        self.is_broadcast = state.range.is_some();
        (self.flits, self.flow) = (state.flits, state.flow());
        self.end = self.sent + u64::from(state.flits);
        self.ahead = taken.wrapping_sub(self.sent);
        (self.has_begun, self.is_done, self.verdict) = (false, false, Verdict::True);
        self.state = Some(state);
        self.given = now;
    }

    /// It is free from cycle `now` on.
    pub(super) fn release(&mut self, now: Cycle) -> Option<u16> {
        (self.answer_at, self.free) = (Cycle::NEVER, now);
        self.owner.take()
    }
}

/// The sending end of a link.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) place: Place,
    pub(super) wire: Wire,
    pace: Pace,
    /// Its slots, if they are the same in every period.
    regular: Option<Places>,
    pub(super) leads_to_node: bool,
    /// It leads nowhere: what is refused goes by it.
    pub(super) is_drain: bool,
    /// When the link is down.
    down: Box<[[Cycle; 2]]>,
    /// Flits need no credits.
    is_sink: bool,
    pub(super) lanes: Box<[Lane]>,
    /// What befalls flits, where links corrupt some.
    errors: Option<Box<ChannelErrors>>,
    /// The virtual channel that sent last.
    last: u8,
    /// The cycles of the plan: from this one to before that one.
    since: Cycle,
    until: Cycle,
    /// Flits of the packets that have begun, since the start.
    pub(super) flits: u64,
}

/// Flits that are ready, or credits, while the sender goes through a period.
#[derive(Clone, Copy, Debug)]
struct Stock {
    coming: Coming,
    /// How many are there.
    count: u64,
}

impl Stock {
    /// As many as are ever needed.
    const ENOUGH: Stock = Stock { coming: Coming { before: 0, cycles: 0 }, count: u64::MAX / 2 };

    /// Of `coming`, so many have been used.
    #[inline]
    fn new(coming: Coming, used: u64) -> Self {
        debug_assert!(coming.before >= used, "what is used has come");
        Stock { coming, count: coming.before.wrapping_sub(used) }
    }

    /// Takes in what comes in cycle `at` of the period.
    #[inline]
    fn take(&mut self, at: u64) {
        self.count += self.coming.cycles >> at & 1;
    }
}

/// A virtual channel while the sender goes through a period.
#[derive(Clone, Copy, Debug)]
struct Step {
    flits: Stock,
    credits: Stock,
    /// Flits of the packet that have not been sent.
    left: u64,
    /// In which cycles of the period it sends, the first in the lowest bit.
    sends: u64,
    /// In a slot it has had no flit that was ready, or no credit.
    has_lacked: bool,
}

impl Step {
    const NOTHING: Step =
        Step { flits: Stock::ENOUGH, credits: Stock::ENOUGH, left: 0, sends: 0, has_lacked: false };

    /// Takes in what comes in cycle `at` of the period, and says whether it can send then.
    #[inline]
    fn is_ready(&mut self, at: u64) -> bool {
        self.flits.take(at);
        self.credits.take(at);
        self.flits.count.min(self.credits.count) > 0
    }

    /// It sends in cycle `at` of the period.
    #[inline]
    fn send(&mut self, at: u64) {
        self.flits.count -= 1;
        self.credits.count -= 1;
        self.left -= 1;
        self.sends |= 1 << at;
    }

    /// In which of the `slots` of a period of so many `cycles` it sends if nobody else does, up to the end of its packet.
    #[inline]
    fn alone(&mut self, slots: u64, cycles: u64) -> u64 {
        let mut sends = slots;
        if self.flits.count.min(self.credits.count) < cycles {
            let (mut flits, mut credits) = (self.flits.count, self.credits.count);
            sends = 0;
            for at in 0..cycles {
                flits += self.flits.coming.cycles >> at & 1;
                credits += self.credits.coming.cycles >> at & 1;
                let does_send = slots >> at & u64::from(flits > 0) & u64::from(credits > 0);
                flits -= does_send;
                credits -= does_send;
                sends |= does_send << at;
            }
            self.has_lacked = sends != slots;
        }
        lowest(sends, self.left)
    }
}

/// A sender while it goes through a period.
#[derive(Debug)]
struct Walk {
    /// Virtual channels that have flits to send, those that begin to in the first cycle, and the one that sent last.
    active: u64,
    begins: u64,
    last: u8,
}

/// Of those that are ready the one after the `last`, going round.
#[inline]
fn first_after(last: u8, ready: u64) -> usize {
    let later = ready & (u64::MAX << last << 1);
    (if later == 0 { ready } else { later }).trailing_zeros() as usize
}

impl Sender {
    pub(super) fn new(shared: &Shared, place: Place, wire: Wire, rate: Rate, leads_to_node: bool) -> Self {
        let settings = &shared.settings;
        let credits = if leads_to_node { settings.nic_buffer_flits() } else { settings.buffer_flits };
        Sender {
            place,
            wire,
            pace: rate.into(),
            regular: shared.period.slots(rate),
            leads_to_node,
            is_drain: false,
            down: shared.down_times(place).into(),
            is_sink: leads_to_node && shared.has_sinks,
            lanes: (0..settings.vcs).map(|_| Lane::new(credits.into())).collect(),
            errors: shared.has_errors.then(|| Box::new(shared.errors.of(place.component, place.port))),
            last: (settings.vcs - 1) as u8,
            since: Cycle::ZERO,
            until: Cycle::NEVER,
            flits: 0,
        }
    }

    /// The drain of a switch, its output `place`.
    pub(super) fn drain(shared: &Shared, place: Place) -> Self {
        let nobody = Wire { peer: Address { shard: 0, place: 0 }, port: 0, latency: 0 };
        let as_if_wired = Sender::new(shared, place, nobody, Rate::FULL, false);
        Sender { is_drain: true, is_sink: true, down: Box::default(), errors: None, ..as_if_wired }
    }

    /// Whether its link is down in cycle `at`.
    #[inline]
    pub(super) fn is_down(&self, at: Cycle) -> bool {
        self.down.iter().any(|&[from, until]| from <= at && at < until)
    }

    /// Whether its link breaks the packet of `vc`, whose last flit has been sent in the cycle before `now`: it has been down
    /// since the packet had the virtual channel.
    pub(super) fn breaks(&self, vc: usize, now: Cycle, transmit: u32) -> bool {
        let (given, sent) = (self.lanes[vc].given, now.0 - 1);
        let last = Cycle(sent + u64::from(transmit + self.wire.latency));
        self.down.iter().any(|&[from, until]| from <= last && given < until)
    }

    /// Tells observers what becomes of its link in cycle `now`, if that is something.
    pub(super) fn tell_change<O: Observer>(&self, cx: &mut Cx<'_, O>, now: Cycle) {
        let state = self.down.iter().find_map(|&[from, until]| match now {
            now if now == from => Some(LinkState::Down),
            now if now == until => Some(LinkState::Active(WHOLE)),
            _ => None,
        });
        if let Some(state) = state {
            let Place { component, port } = self.place;
            cx.observer.link_changed(&LinkChange { at: now, component, port, state });
        }
    }

    /// When its link goes down or comes up next, after cycle `now`.
    pub(super) fn next_change(&self, now: Option<Cycle>) -> Cycle {
        let changes = self.down.iter().flatten().copied();
        changes.filter(|at| now.is_none_or(|now| *at > now)).fold(Cycle::NEVER, Cycle::min)
    }

    /// The channel has another rate from cycle `at` on, or is stopped.
    pub(super) fn change_rate(&mut self, at: Cycle, rate: Option<Rate>) {
        self.pace.change(at, rate);
        self.regular = None;
    }

    /// Takes as sent what the plan has before cycle `now`.
    pub(super) fn settle(&mut self, period: Period, now: Cycle) {
        debug_assert!(now <= self.until, "a plan is looked at when it ends");
        if now <= self.since {
            return;
        }
        let mut latest = None;
        for (vc, lane) in self.lanes.iter_mut().enumerate() {
            if lane.places.are_none() || lane.owner.is_none() {
                continue;
            }
            lane.sent += period.count(lane.places, self.since, now);
            if self.errors.is_some() {
                lane.sent_in.push((self.since, now, lane.places));
            }
            debug_assert!(lane.sent <= lane.end, "a packet is sent once");
            let last = period.last(lane.places, self.since, now);
            if last > latest {
                (latest, self.last) = (last, vc as u8);
            }
            lane.credits.forget(now);
        }
        self.since = now;
    }

    /// Makes a plan from cycle `now` on; `source` says when flits of an incoming virtual channel are ready. Returns the virtual
    /// channels whose packets begin in this cycle, as bits.
    pub(super) fn plan<'a>(
        &mut self,
        period: Period,
        now: Cycle,
        source: impl Fn(u16) -> &'a Forecast,
    ) -> u64 {
        let mut walk = Walk { active: 0, last: self.last, begins: 0 };
        self.start(period, now, &mut walk, &source);
        if walk.active == 0 {
            (self.since, self.until) = (now, Cycle::NEVER);
            return 0;
        }
        let until = if walk.active.is_power_of_two() {
            self.walk_alone(period, now, &mut walk)
        } else {
            self.walk(period, now, &mut walk)
        };
        let mut sends = 0;
        for vc in bits(walk.active) {
            let lane = &mut self.lanes[vc];
            sends |= lane.step.sends;
            lane.places = period.places(lane.step.sends, now);
        }
        let until = match until {
            Some(until) => until,
            // Until then nothing is sent at all, where nothing was.
            None if sends == 0 => self.first_slot(period, now, &walk, &source),
            None => self.goes_on_until(period, now, &walk, &source),
        };
        (self.since, self.until) = (now, until);
        walk.begins
    }

    /// What virtual channels have to send in cycle `now`.
    #[inline]
    fn start<'a>(
        &mut self,
        period: Period,
        now: Cycle,
        walk: &mut Walk,
        source: &impl Fn(u16) -> &'a Forecast,
    ) {
        for (vc, lane) in self.lanes.iter_mut().enumerate() {
            lane.places = Places::NONE;
            if let Some(owner) = lane.owner.filter(|_| lane.is_sending()) {
                lane.credits.forget(now);
                lane.step = Step {
                    flits: Stock::new(source(owner).coming(period, now), lane.taken()),
                    credits: if self.is_sink {
                        Stock::ENOUGH
                    } else {
                        Stock::new(lane.credits.coming(period, now), lane.sent)
                    },
                    left: lane.end - lane.sent,
                    sends: 0,
                    has_lacked: false,
                };
                walk.active |= 1 << vc;
            }
        }
    }

    /// [`walk`](Self::walk) where one virtual channel has flits to send.
    fn walk_alone(&mut self, period: Period, now: Cycle, walk: &mut Walk) -> Option<Cycle> {
        let (vc, slots) = (walk.active.trailing_zeros() as usize, self.slots(period, now));
        let lane = &mut self.lanes[vc];
        let sends = lane.step.alone(slots, period.cycles());
        if sends == 0 {
            return None;
        }
        if !lane.has_begun {
            if sends & 1 == 0 {
                return Some(now + u64::from(sends.trailing_zeros()));
            }
            walk.begins = walk.active;
        }
        (walk.last, lane.step.sends) = (vc as u8, sends);
        let ends = u64::from(sends.count_ones()) == lane.step.left;
        ends.then(|| now + u64::from(sends.ilog2()) + 1)
    }

    /// Goes through a period from cycle `now` on, cycle by cycle. Returns where the plan ends, if that is in it.
    fn walk(&mut self, period: Period, now: Cycle, walk: &mut Walk) -> Option<Cycle> {
        let slots = self.slots(period, now);
        for at in 0..period.cycles() {
            let (mut ready, is_slot) = (0, slots >> at & 1 == 1);
            for vc in bits(walk.active) {
                let step = &mut self.lanes[vc].step;
                let is_ready = step.is_ready(at);
                step.has_lacked |= is_slot && !is_ready;
                ready |= u64::from(is_ready) << vc;
            }
            if ready == 0 || !is_slot {
                continue;
            }
            let vc = first_after(walk.last, ready);
            let lane = &mut self.lanes[vc];
            if !lane.has_begun {
                if at > 0 {
                    return Some(now + at);
                }
                walk.begins |= 1 << vc;
            }
            lane.step.send(at);
            walk.last = vc as u8;
            if lane.step.left == 0 {
                return Some(now + at + 1);
            }
        }
        None
    }

    /// The slots of the period from cycle `now` on, the first in the lowest bit.
    #[inline]
    fn slots(&self, period: Period, now: Cycle) -> u64 {
        let is_slot = |at: &u64| self.pace.is_slot(now + *at);
        match self.regular {
            Some(slots) => period.from(slots, now),
            None => (0..period.cycles()).filter(is_slot).fold(0, |slots, at| slots | 1 << at),
        }
    }

    /// The first slot in which a flit can be sent, where none can in the period from cycle `now` on.
    fn first_slot<'a>(
        &self,
        period: Period,
        now: Cycle,
        walk: &Walk,
        source: &impl Fn(u16) -> &'a Forecast,
    ) -> Cycle {
        let next =
            bits(walk.active).map(|vc| self.next_of(period, vc, 0, source)).fold(Cycle::NEVER, Cycle::min);
        if next == Cycle::NEVER { next } else { self.pace.slot_from(next.max(now + period.cycles())) }
    }

    /// When the next flit of `vc` is ready and has a credit, after it has sent so many in the plan.
    fn next_of<'a>(
        &self,
        period: Period,
        vc: usize,
        sent: u64,
        source: &impl Fn(u16) -> &'a Forecast,
    ) -> Cycle {
        let lane = &self.lanes[vc];
        lane.next(period, sent, source(lane.owner.unwrap_or_default()), self.is_sink)
    }

    /// How long what was found in the period from cycle `now` on goes on; to its end at least.
    fn goes_on_until<'a>(
        &self,
        period: Period,
        now: Cycle,
        walk: &Walk,
        source: &impl Fn(u16) -> &'a Forecast,
    ) -> Cycle {
        let end = now + period.cycles();
        let senders = bits(walk.active).filter(|&vc| self.lanes[vc].step.sends != 0).count();
        if senders > 1 && walk.last != self.last {
            return end;
        }
        let of_slots = self.pace.steady_until(now, period.cycles());
        let limits = bits(walk.active).map(|vc| self.holds_until(period, now, vc, source));
        limits.fold(of_slots, Cycle::min).max(end)
    }

    /// How long what `vc` did in the period from cycle `now` on goes on, for all that it knows.
    fn holds_until<'a>(
        &self,
        period: Period,
        now: Cycle,
        vc: usize,
        source: &impl Fn(u16) -> &'a Forecast,
    ) -> Cycle {
        let lane = &self.lanes[vc];
        let step = &lane.step;
        if step.sends == 0 {
            return self.next_of(period, vc, 0, source);
        }
        let (left, flits) = (lane.end - lane.sent, source(lane.owner.unwrap_or_default()));
        let of_packet = period.nth(lane.places, now, left - 1) + 1;
        let supplies = |forecast, stock: &Stock, used| {
            let sends = Sends { used, left, places: lane.places, has_lacked: step.has_lacked };
            supplies(forecast, &stock.coming, period, now, sends)
        };
        let of_flits = supplies(flits, &step.flits, lane.taken());
        let of_credits =
            if self.is_sink { Cycle::NEVER } else { supplies(&lane.credits, &step.credits, lane.sent) };
        of_packet.min(of_flits).min(of_credits)
    }

    /// What neighbours have to be told of `vc` after a plan from cycle `now` on, if it is news; what begins always is.
    pub(super) fn news(&mut self, period: Period, vc: usize, now: Cycle, begins: bool) -> Option<Places> {
        let lane = &mut self.lanes[vc];
        let (told, places) = (lane.told, lane.places);
        lane.told = if begins {
            places
        } else {
            period.merged(told, places, now, self.until.min(now + period.cycles()))
        };
        (begins || lane.told != told).then_some(lane.told)
    }

    /// The virtual channels whose packets have gone and have not been noted, as bits; they are noted.
    pub(super) fn note_gone(&mut self) -> u64 {
        let mut gone = 0;
        for (vc, lane) in self.lanes.iter_mut().enumerate() {
            if lane.has_begun && !lane.is_done && !lane.is_sending() {
                lane.is_done = true;
                gone |= 1 << vc;
            }
        }
        gone
    }

    /// Whether the link has corrupted the packet of `vc`, which has gone.
    pub(super) fn corrupts(&mut self, period: Period, vc: usize) -> bool {
        let Some(errors) = &mut self.errors else { return false };
        let sent_in = std::mem::take(&mut self.lanes[vc].sent_in);
        let slots = sent_in.iter().flat_map(|&(from, to, places)| {
            (0..period.count(places, from, to)).map(move |n| period.nth(places, from, n))
        });
        errors.corrupts(SentKind::Packet, slots)
    }

    /// Tells the switch at the other end that the packet of `vc` is corrupt; its flits are still on the way there.
    pub(super) fn tell_corrupt<O>(&self, cx: &mut Cx<'_, O>, vc: usize) {
        post(cx.post, &self.wire, Cycle::NEVER, Mail::Corrupt(self.wire.port, vc as u8));
    }

    /// The first flit of the packet of `vc` is sent in cycle `now`: it is told `observer`, and goes to a switch.
    pub(super) fn begin<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, vc: usize, ready: Cycle) {
        let transmit = u64::from(cx.shared.settings.pipeline.transmit);
        let lane = &mut self.lanes[vc];
        if self.is_drain {
            lane.has_begun = true;
            return;
        }
        let Some(mut state) = lane.state.take() else { return debug_assert!(false, "a packet begins once") };
        state.arrived = now + transmit + u64::from(self.wire.latency);
        cx.observer.departed(&Departure {
            packet: state.name(),
            component: self.place.component,
            port: self.place.port,
            vc: vc as u8,
            flits: state.flits as u16,
            ready,
            free: lane.free.max(ready),
            chosen: now,
            arrives: state.arrived,
        });
        (lane.has_begun, lane.begun) = (true, lane.begun.wrapping_add(1));
        self.flits += u64::from(state.flits);
        if self.leads_to_node {
            lane.state = Some(state);
        } else {
            let by = state.arrived + u64::from(cx.shared.settings.pipeline.ready());
            post(cx.post, &self.wire, by, Mail::Head(self.wire.port, vc as u8, state));
        }
    }

    /// Tells the switch at the other end that flits of `vc` come in this pattern from cycle `now` on.
    pub(super) fn tell<O>(&self, cx: &mut Cx<'_, O>, now: Cycle, vc: usize, places: Places) {
        if self.leads_to_node || self.is_drain {
            return;
        }
        let pipeline = &cx.shared.settings.pipeline;
        let cycles = u64::from(pipeline.transmit + self.wire.latency + pipeline.ready());
        let lane = &self.lanes[vc];
        let run = Run {
            port: self.wire.port,
            vc: vc as u8,
            at: now + cycles,
            before: lane.sent,
            places: cx.shared.period.later(places, cycles),
            end: lane.end,
        };
        post(cx.post, &self.wire, run.at, Mail::Flits(run));
    }

    /// Flits that `vc` has sent before cycle `now`, since the start.
    pub(super) fn sent_before(&self, period: Period, vc: usize, now: Cycle) -> u64 {
        let lane = &self.lanes[vc];
        lane.sent + period.count(lane.places, self.since, now)
    }

    /// Flits of the packets that it has been given and that have not begun.
    pub(super) fn queued_flits(&self) -> u64 {
        let waits = |lane: &&Lane| lane.owner.is_some() && !lane.has_begun;
        self.lanes.iter().filter(waits).map(|lane| u64::from(lane.flits)).sum()
    }

    pub(super) fn audit(&self, books: &mut Conservation) {
        let is_nack = |lane: &Lane| lane.verdict == Verdict::Nack && !lane.is_broadcast;
        let nack_comes = |lane: &Lane| is_nack(lane) && lane.answer_at < Cycle::NEVER;
        let is_here = |lane: &&Lane| lane.state.is_some() || nack_comes(lane);
        books.in_network += self.lanes.iter().filter(is_here).count() as u64;
        books.units_sent += if self.leads_to_node { 0 } else { self.flits };
    }

    /// The virtual channels whose answers have come by cycle `now`, as bits.
    pub(super) fn answers(&self, now: Cycle) -> u64 {
        let heard = self.lanes.iter().enumerate().filter(|(_, lane)| lane.answer_at <= now);
        heard.fold(0, |heard, (vc, _)| heard | 1 << vc)
    }

    /// When the plan ends.
    pub(super) fn until(&self) -> Cycle {
        self.until
    }

    /// When the next answer comes, as far as known.
    pub(super) fn next_answer(&self) -> Cycle {
        self.lanes.iter().fold(Cycle::NEVER, |next, lane| next.min(lane.answer_at))
    }

    /// Takes in what is told of the credits of a virtual channel. Returns when there has to be another plan.
    pub(super) fn hear_credits(&mut self, period: Period, run: &Run) -> Cycle {
        let vc = usize::from(run.vc);
        self.lanes[vc].credits.add(period, run);
        self.revises_at(period, vc, run, self.lanes[vc].sent)
    }

    /// When there has to be another plan after `run` has told of flits or credits of `vc`, of which `used` were used before the
    /// plan began: in that cycle, unless the plan ends before or there is enough in any case.
    pub(super) fn revises_at(&self, period: Period, vc: usize, run: &Run, used: u64) -> Cycle {
        let lane = &self.lanes[vc];
        if !lane.is_sending() || run.at >= self.until {
            return Cycle::NEVER;
        }
        if self.until < self.since + period.cycles() {
            return run.at;
        }
        let sent = period.count(lane.places, self.since, run.at);
        let (stock, left) = (run.before.saturating_sub(used + sent), lane.end - lane.sent - sent);
        if stock >= left {
            return Cycle::NEVER;
        }
        let at = lasts(period, run.at, stock, run.places.count(), lane.places.count());
        if at < self.until { at } else { Cycle::NEVER }
    }
}

/// What a virtual channel does with things that come: so many have been used, so many are needed for the rest of the packet,
/// when it uses them in a period, and whether in that period it has lacked flits or credits in a slot.
#[derive(Clone, Copy, Debug)]
struct Sends {
    used: u64,
    left: u64,
    places: Places,
    has_lacked: bool,
}

/// How long `forecast`, of which so much is `coming`, supplies things as in the period from cycle `now` on.
fn supplies(forecast: &Forecast, coming: &Coming, period: Period, now: Cycle, sends: Sends) -> Cycle {
    let (used, sent) = (sends.used, sends.places.count());
    let (mut at, mut stock) = (now, (coming.before + (coming.cycles & 1)).saturating_sub(used));
    if stock >= sends.left {
        return Cycle::NEVER;
    }
    for steady in forecast.steady(period, now, used + sends.left) {
        let comes = steady.places.count();
        let is_first = steady.from <= now;
        if !is_first {
            let of_first = period.count(steady.places, steady.from, steady.from + 1);
            let sent_before = period.count(sends.places, now, steady.from);
            (at, stock) = (steady.from, (steady.before + of_first).saturating_sub(used + sent_before));
        }
        // What comes as fast as it goes, or faster and was always there, will be there.
        let goes_on = is_first && (comes == sent || comes > sent && !sends.has_lacked);
        let until = if goes_on { Cycle::NEVER } else { lasts(period, at, stock, comes, sent) };
        if until <= steady.until {
            return until;
        }
        at = steady.until;
    }
    at
}

/// To when a `stock` lasts of which so many come in each period from cycle `at` on, and so many are sent: none of those is
/// waited for before.
#[inline]
fn lasts(period: Period, at: Cycle, stock: u64, comes: u64, sent: u64) -> Cycle {
    match stock.saturating_sub(sent) {
        0 if sent > 0 || stock == 0 => at,
        _ if comes >= sent => Cycle::NEVER,
        spare => at + ((spare - 1) / (sent - comes) + 1) * period.cycles(),
    }
}

/// Puts `mail` into the inbox of the component at the other end of `wire`, which runs by cycle `by`.
#[inline]
pub(super) fn post(post: &mut PostOf<Elite>, wire: &Wire, by: Cycle, mail: Mail) {
    match post.inbox(wire.peer, by) {
        Some(inbox) => inbox.accept(mail),
        None => post.send_away(wire.peer, by, mail),
    }
}
