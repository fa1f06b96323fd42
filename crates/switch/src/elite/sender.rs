//! The sending end of a link: which virtual channel sends in which cycle, as far as that can be foreseen.
//!
//! Nothing is moved flit by flit. Of each virtual channel it is known in which cycles its flits are ready and its credits back
//! ([`Forecast`]). From that the sender makes a *plan*: it goes through one period slot by slot, as the text says, and where
//! all that it has seen goes on as it is, so does the plan, to the first cycle in which something is different: a packet ends,
//! a buffer runs empty, a pattern changes. Both neighbours are told of a pattern only when it is another one than they were
//! told. A plan holds unless something comes that nobody could foresee; then there is a new one from that cycle on, and
//! nothing that has been told is wrong yet, since it was told for later cycles.

mod plan;

use super::forecast::{Forecast, Run};
use super::packet_state::{Mail, PacketState, Verdict};
use super::period::{Period, Places};
use super::{Cx, Elite, Shared};
use flitway_engine::Cycle;
use flitway_fabric::component::PostOf;
use flitway_fabric::link::ChannelErrors;
use flitway_fabric::link::lanes::Agreement;
use flitway_fabric::observer::{
    Departure, LinkChange, LinkError, LinkErrorKind, LinkState, Observer, other_end,
};
use flitway_fabric::simulation::{Address, Conservation, Wire};
use flitway_fabric::{Flow, Pace, Rate, SentKind};
use flitway_wiring::{Destination, NodeId, NodeSet, PortId};
use plan::Step;
use std::sync::Arc;

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
    /// It is void.
    pub(super) is_void: bool,
    /// It has a copy of a broadcast, or the broadcast itself.
    pub(super) is_broadcast: bool,
    /// For whom a NACK to that says that nothing has come.
    pub(super) missing: Option<Arc<NodeSet>>,
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
            is_void: false,
            is_broadcast: false,
            missing: None,
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
        (self.has_begun, self.is_done) = (false, false);
        (self.verdict, self.is_void, self.missing) = (Verdict::True, false, None);
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
    /// What befalls the answers that come back, likewise, and who sends them.
    of_answers: Option<Box<(Place, ChannelErrors)>>,
    /// The virtual channel that sent last.
    last: u8,
    /// The cycles of the plan: from this one to before that one.
    since: Cycle,
    until: Cycle,
    /// Flits of the packets that have begun, since the start.
    pub(super) flits: u64,
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
            of_answers: None,
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

    /// The same, with what befalls answers where links corrupt some.
    pub(super) fn with_answers(self, shared: &Shared) -> Self {
        let Place { component, port } = self.place;
        let of_answers = || {
            let topology = shared.routings.first().topology();
            let (component, port) = other_end(topology, shared.rails, (component, port));
            Box::new((Place { component, port }, shared.errors.of(component, port)))
        };
        Sender { of_answers: shared.has_errors.then(of_answers), ..self }
    }

    /// The answer to the packet of `vc` comes in cycle `now`. Says what it says, and whether it is void.
    pub(super) fn hear<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, vc: usize) -> (Verdict, bool) {
        let sent = Cycle(now.0.saturating_sub(self.wire.latency.into()));
        let mut is_void = self.was_down(sent, now);
        if let Some((Place { component, port }, errors)) = self.of_answers.as_deref_mut()
            && errors.corrupts_answer(now, vc as u8)
        {
            let error =
                LinkError { at: now, component: *component, port: *port, kind: LinkErrorKind::Corrupted };
            cx.counters.err(&error, cx.observer);
            is_void = true;
        }
        let lane = &mut self.lanes[vc];
        lane.is_void |= is_void;
        (lane.verdict, lane.is_void)
    }

    /// Whether its link is down in a cycle from `first` to `last`.
    #[inline]
    fn was_down(&self, first: Cycle, last: Cycle) -> bool {
        self.down.iter().any(|&[from, until]| from <= last && first < until)
    }

    /// Whether its link is down in cycle `at`.
    #[inline]
    pub(super) fn is_down(&self, at: Cycle) -> bool {
        self.was_down(at, at)
    }

    /// Whether its link breaks the packet of `vc`, whose last flit has been sent in the cycle before `now`: it has been down
    /// since the packet had the virtual channel.
    pub(super) fn breaks(&self, vc: usize, now: Cycle, transmit: u32) -> bool {
        let (given, sent) = (self.lanes[vc].given, now.0 - 1);
        let last = Cycle(sent + u64::from(transmit + self.wire.latency));
        self.was_down(given, last)
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

    /// Counts an error of its channel, or what makes up for one, in cycle `at`.
    #[cold]
    pub(super) fn count<O: Observer>(&self, cx: &mut Cx<'_, O>, at: Cycle, kind: LinkErrorKind) {
        let Place { component, port } = self.place;
        cx.counters.err(&LinkError { at, component, port, kind }, cx.observer);
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
        let is_nack = |lane: &Lane| lane.verdict.is_nack() && !lane.is_broadcast;
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
}

/// Puts `mail` into the inbox of the component at the other end of `wire`, which runs by cycle `by`.
#[inline]
pub(super) fn post(post: &mut PostOf<Elite>, wire: &Wire, by: Cycle, mail: Mail) {
    match post.inbox(wire.peer, by) {
        Some(inbox) => inbox.accept(mail),
        None => post.send_away(wire.peer, by, mail),
    }
}
