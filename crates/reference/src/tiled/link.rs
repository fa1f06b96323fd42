//! The port at each end of a link, which sends on one channel and receives from the other.

use super::channel::{Ack, Ratio, Signal, Symbol, Tail, is_slot};
use super::room::{Room, Store};
use super::training::{Deed, Training};
use super::{Flit, World};
use flitway_engine::Cycle;
use flitway_fabric::LossCause;
use flitway_fabric::link::retry::{self, Acknowledgement, Gap, Numbers, Reception, Sequence};
use flitway_fabric::link::{ChannelErrors, SentKind};
use flitway_fabric::observer::{
    ComponentNumber, Departure, LinkChange, LinkError, LinkErrorKind, LinkObserver, LinkState,
};
use flitway_switch::tiled::{BufferSettings, TiledSettings};
use flitway_wiring::PortId;
use std::collections::VecDeque;

/// A packet that has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    pub(super) packet: usize,
    pub(super) vc: usize,
    /// When its first flit was on the wire.
    pub(super) first: u64,
    /// When it is received.
    pub(super) at: u64,
    /// When it has come through the receiving side, and whether that was in vain.
    received: u64,
    is_lost: bool,
    sequence: Sequence,
    is_corrupt: bool,
    is_wrong: bool,
}

/// A packet that is coming.
#[derive(Clone, Copy, Debug)]
struct Coming {
    next: Flit,
    vc: usize,
    /// When its first flit was on the wire, and when its last one will be.
    first: u64,
    last: u64,
}

/// The packet that a port sends.
#[derive(Debug)]
struct Sending {
    packet: usize,
    vc: usize,
    /// The next flit.
    next: u32,
    rate: Ratio,
    tail: Tail,
    /// It has been sent before.
    is_again: bool,
}

/// One end of a link.
#[derive(Debug)]
pub(super) struct Port {
    name: (ComponentNumber, PortId),
    /// The channel that it sends on.
    pub(super) out: usize,
    back: usize,
    /// Of the buffer at the other end.
    room: Room,
    sending: Option<Sending>,
    /// The cycle after the last slot of what it has begun last.
    free: u64,
    /// Packets that have begun.
    begun: u64,
    /// Flits of packets that have begun, by virtual channel.
    begun_flits: Vec<u64>,
    /// What it has heard.
    heard: Ack,
    /// Acknowledgements on their way through the receiving side, with the cycle in which each is heard.
    to_hear: VecDeque<(u64, Ack)>,
    retry: Retry,

    /// Its own buffer.
    pub(super) store: Store,
    /// Flits that have left it, by virtual channel.
    gone: Vec<u64>,
    /// The packet that is coming in.
    coming: Option<Coming>,
    arrived: VecDeque<Arrived>,
    /// What has happened here.
    done: Ack,
    news: News,
    /// Where something breaks.
    pub(super) training: Option<Training>,
    deeds: Vec<Deed>,
    given_up: Vec<(Sequence, Vec<usize>)>,
    has_given_up: bool,
    /// By virtual channel: flits that were begun, given up and never accepted.
    written_off: Vec<u64>,
}

/// What a port has to make up for errors.
#[derive(Debug)]
pub(super) struct Retry {
    pub(super) sender: retry::Sender<0>,
    receiver: retry::Receiver<0>,
    numbers: Numbers,
    /// Packets that are kept, each with its virtual channel.
    replay: VecDeque<(usize, usize)>,
    deadline: u64,
    errors: ChannelErrors,
    /// When something was begun last, and what was told last.
    begun: u64,
    told: Ack,
    /// What was told last was corrupt.
    is_unheard: bool,
}

impl Retry {
    pub(super) fn new(settings: &TiledSettings, errors: ChannelErrors) -> Self {
        let (window, sequence_bits) = settings.retry.map_or((1, 1), |it| (it.window, it.sequence_bits));
        let numbers = retry::RetrySettings { window, sequence_bits, count_bits: 16, flits_max: 0 };
        Retry {
            sender: retry::Sender::default(),
            receiver: retry::Receiver::default(),
            numbers: numbers.numbers().expect("the window goes with the numbers"),
            replay: VecDeque::new(),
            deadline: 0,
            errors,
            begun: 0,
            told: Ack::nothing(settings.vcs as usize),
            is_unheard: false,
        }
    }
}

impl Ack {
    fn nothing(vcs: usize) -> Self {
        Ack { accepted: 0, returned: vec![0; vcs], expected: Sequence(0), is_nack: false }
    }
}

/// What has happened since the last acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    accepted: u32,
    returned: u32,
    oldest: Option<u64>,
}

impl Port {
    pub(super) fn new(
        name: (ComponentNumber, PortId),
        (out, back): (usize, usize),
        buffer: BufferSettings,
        vcs: usize,
        retry: Retry,
    ) -> Self {
        let nothing = Ack::nothing(vcs);
        Port {
            name,
            out,
            back,
            room: Room::new(buffer, vcs),
            sending: None,
            free: 0,
            begun: 0,
            begun_flits: vec![0; vcs],
            heard: nothing.clone(),
            to_hear: VecDeque::new(),
            retry,
            store: Store::new(buffer, vcs),
            gone: vec![0; vcs],
            coming: None,
            arrived: VecDeque::new(),
            done: nothing,
            news: News::default(),
            training: None,
            deeds: Vec::new(),
            given_up: Vec::new(),
            has_given_up: false,
            written_off: vec![0; vcs],
        }
    }

    /// Takes what is on the wire. `input` is what a packet takes from the receiving side into the buffer, and `waits` says
    /// whether all of it has to be there before it goes on.
    pub(super) fn receive(&mut self, input: u32, waits: bool, world: &mut World) {
        let (now, receive) = (world.now, u64::from(world.settings.pipeline.receive));
        match world.channels[self.back].line[0].clone() {
            None => {}
            Some(Symbol::Ack(ack)) => self.to_hear.extend(ack.map(|ack| (now + receive, ack))),
            Some(Symbol::Flit(flit, vc, rest, tail)) => {
                let ready = receive + u64::from(input);
                if !world.is_unreliable {
                    self.store.put(vc, flit, now + ready);
                }
                let n = u64::from(world.flits_of(flit.packet));
                if flit.index == 0 {
                    assert!(self.coming.is_none(), "no packet is cut by another");
                    let first = world.channels[self.back].begun[vc].pop_front();
                    assert_eq!(first, Some(flit.packet), "a virtual channel of a link keeps its order");
                    let last = now + rest.expect("the first flit tells when the last one comes");
                    self.coming = Some(Coming { next: flit, vc, first: now, last });
                    if !waits {
                        let at = now.max(last - (n - 1)) + ready;
                        let (sequence, is_corrupt) = (Sequence(0), false);
                        self.arrived.push_back(Arrived {
                            packet: flit.packet,
                            vc,
                            first: now,
                            at,
                            received: at - u64::from(input),
                            is_lost: false,
                            sequence,
                            is_corrupt,
                            is_wrong: false,
                        });
                    }
                }
                let coming = self.coming.as_mut().expect("a packet begins with its first flit");
                assert_eq!((flit, vc), (coming.next, coming.vc), "flits of a packet follow each other");
                coming.next.index += 1;
                let Coming { first, last, .. } = *coming;
                if world.is_last(flit) {
                    assert_eq!(now, last, "the last flit comes when it should");
                    self.coming = None;
                    let Tail { ack, sequence, is_corrupt, is_wrong } =
                        tail.expect("the last flit has the rest");
                    if !is_corrupt {
                        self.to_hear.push_back((now + receive, ack));
                    }
                    if waits {
                        let at = now + ready;
                        self.arrived.push_back(Arrived {
                            packet: flit.packet,
                            vc,
                            first,
                            at,
                            received: now + receive,
                            is_lost: false,
                            sequence,
                            is_corrupt,
                            is_wrong,
                        });
                    }
                }
            }
        }
    }

    /// Step 1. Returns the flits of each virtual channel whose room has been given back, as far as is heard now.
    pub(super) fn hear(&mut self, world: &mut World) -> Vec<u32> {
        let now = world.now;
        let timeout = world.settings.retry.map_or(0, |retry| u64::from(retry.timeout));
        let mut returned = vec![0; self.gone.len()];
        while self.to_hear.front().is_some_and(|(at, _)| *at <= now) {
            let (_, ack) = self.to_hear.pop_front().expect("it is the first");
            if !self.training.as_ref().is_none_or(Training::hears) {
                continue;
            }
            self.hear_one(ack, timeout, &mut returned, now);
        }
        if !self.retry.replay.is_empty() && self.retry.deadline <= now && self.is_active() {
            if world.is_unreliable {
                self.retry.sender.go_back();
                self.count(world, LinkErrorKind::TimedOut);
            }
            self.retry.deadline = now + timeout;
        }
        returned
    }

    /// An acknowledgement is heard; what gives back its room is added to `returned`.
    fn hear_one(&mut self, ack: Ack, timeout: u64, returned: &mut [u32], now: u64) {
        assert!(
            (self.heard.accepted..=self.begun).contains(&ack.accepted),
            "acknowledgements are of packets"
        );
        for (vc, returned) in returned.iter_mut().enumerate() {
            let flits = (ack.returned[vc] - self.heard.returned[vc]) as u32;
            self.room.give_back(vc, flits);
            *returned += flits;
        }
        let told = Acknowledgement { expected: ack.expected, is_nack: ack.is_nack, returned: [] };
        let heard = self.retry.sender.hear(&self.retry.numbers, &told);
        self.retry.replay.drain(..heard.released as usize);
        if heard.released > 0 {
            self.retry.deadline = now + timeout;
        }
        self.heard = ack;
    }

    /// What the paragraph on faults says of cycle `now`: the state of the link, and what is lost on the way here. What follows
    /// for the port is done later in the cycle.
    pub(super) fn train(&mut self, world: &mut World) {
        let (now, receive) = (world.now, u64::from(world.settings.pipeline.receive));
        let Some(training) = self.training.as_mut().filter(|it| it.has_to_step(now)) else { return };
        let coming = &mut world.channels[self.back].signals;
        let mut signals = Vec::new();
        while coming.front().is_some_and(|(at, _)| at + receive <= now) {
            signals.extend(coming.pop_front().map(|it| it.1));
        }
        for signal in &signals {
            if let Signal::GivenUp(first, packets) = signal {
                self.given_up.push((*first, packets.clone()));
            }
        }
        self.deeds.extend(training.step(now, signals));
        let hears = training.hears();
        for arrived in self.arrived.iter_mut().filter(|arrived| arrived.received == now) {
            arrived.is_lost |= !hears;
        }
    }

    /// Does it. The flits of each virtual channel whose room comes back are added to `returned`.
    pub(super) fn act(&mut self, returned: &mut [u32], world: &mut World) {
        let now = world.now;
        for (first, packets) in std::mem::take(&mut self.given_up) {
            let accepted = self.retry.numbers.since(self.retry.receiver.expected, first);
            for &packet in packets.iter().skip(accepted.into()) {
                world.lose(packet, self.name.0, LossCause::Unacknowledged);
            }
        }
        for deed in std::mem::take(&mut self.deeds) {
            let state = match deed {
                Deed::Test(reason) => {
                    world.channels[self.out].signal(now, Signal::Test);
                    LinkState::Trains(reason)
                }
                Deed::Hello(hello) => {
                    let receiver = &self.retry.receiver;
                    let is_nack = receiver.gap == Gap::Found;
                    let ack = Ack { expected: receiver.expected, is_nack, ..self.done.clone() };
                    world.channels[self.out].signal(now, Signal::Hello(hello, ack));
                    continue;
                }
                Deed::Resume(ack, agreement) => {
                    world.channels[self.out].change(now, Some(agreement.rate.ratio()));
                    self.resume(ack, returned, world);
                    LinkState::Active(agreement)
                }
                Deed::GiveUp => {
                    self.has_given_up = true;
                    let kept: Vec<usize> = self.retry.replay.iter().map(|(packet, _)| *packet).collect();
                    if !kept.is_empty() {
                        let given_up = Signal::GivenUp(self.retry.sender.base, kept);
                        world.channels[self.out].signal(now, given_up);
                    }
                    LinkState::Down
                }
            };
            let (component, port) = self.name;
            world.record.link_changed(&LinkChange { at: Cycle(now), component, port, state });
        }
    }

    /// The link is active again; the other end says what has come.
    fn resume(&mut self, ack: Ack, returned: &mut [u32], world: &World) {
        let timeout = world.settings.retry.map_or(0, |retry| u64::from(retry.timeout));
        self.hear_one(ack, timeout, returned, world.now);
        self.retry.sender.go_back();
        if std::mem::take(&mut self.has_given_up) {
            for (packet, vc) in self.retry.replay.drain(..) {
                let flits = world.flits_of(packet);
                self.room.give_back(vc, flits);
                self.written_off[vc] += u64::from(flits);
                returned[vc] += flits;
            }
            self.retry.sender.forget();
        }
        self.retry.deadline = world.now + timeout;
        self.retry.receiver.resume();
        self.news.oldest.get_or_insert(world.now);
    }

    /// A packet of so many flits is discarded from this cycle on: the link is down.
    pub(super) fn discard(&mut self, flits: u32, now: u64) {
        self.free = now + u64::from(flits);
    }

    /// Whether nothing is sent or discarded.
    pub(super) fn is_done(&self, now: u64) -> bool {
        self.sending.is_none() && self.free <= now
    }

    /// Whether the link carries packets.
    pub(super) fn is_active(&self) -> bool {
        self.training.as_ref().is_none_or(|training| training.is_active)
    }

    /// Whether it has been given up.
    pub(super) fn is_down(&self) -> bool {
        self.training.as_ref().is_some_and(|training| training.is_down)
    }

    /// The packet that is accepted in cycle `now`, if one is; what is received and not accepted is dropped.
    pub(super) fn accept(&mut self, world: &mut World) -> Option<Arrived> {
        loop {
            let arrived = *self.arrived.front().filter(|arrived| arrived.at <= world.now)?;
            self.arrived.pop_front();
            assert_eq!(arrived.at, world.now, "what has come is received when it should");
            if arrived.is_lost {
                continue;
            }
            if world.settings.retry.is_none() {
                self.done.accepted += 1;
                return Some(arrived);
            }
            let sequence = (!arrived.is_corrupt).then_some(arrived.sequence);
            match self.retry.receiver.hear(&self.retry.numbers, sequence) {
                Reception::Accept => {
                    self.done.accepted += 1;
                    self.news.accepted += 1;
                    self.news.oldest.get_or_insert(world.now);
                    world.packets[arrived.packet].is_wrong |= arrived.is_wrong;
                    if world.is_unreliable {
                        for index in 0..world.flits_of(arrived.packet) {
                            self.store.put(arrived.vc, Flit { packet: arrived.packet, index }, world.now);
                        }
                    }
                    return Some(arrived);
                }
                Reception::Duplicate => _ = self.news.oldest.get_or_insert(world.now),
                Reception::Discard => {}
            }
            world.counters.link.dropped += u64::from(!arrived.is_corrupt);
        }
    }

    /// A flit leaves the buffer.
    pub(super) fn leave(&mut self, vc: usize, flit: Flit, now: u64) {
        self.store.take(vc, flit, now);
        self.gone[vc] += 1;
    }

    /// A packet of so many flits gives back its room in cycle `now`.
    pub(super) fn give_back(&mut self, vc: usize, flits: u32, now: u64) {
        self.done.returned[vc] += u64::from(flits);
        self.news.returned += 1;
        self.news.oldest.get_or_insert(now);
    }

    /// Whether this is a slot in which the link is free.
    pub(super) fn is_free(&self, world: &World) -> bool {
        let rate = world.channels[self.out].rate(world.now);
        self.is_active() && self.is_done(world.now) && rate.is_some_and(|rate| is_slot(rate, world.now))
    }

    /// Whether a packet of so many flits may begin: there is room for it, and the window is open.
    pub(super) fn takes(&self, vc: usize, flits: u32, world: &World) -> bool {
        let kept = self.retry.replay.len() as u64;
        let is_open = world.settings.retry.is_none_or(|retry| kept < u64::from(retry.window));
        is_open && self.room.has(vc, flits)
    }

    /// A packet, which the link could have had since cycle `ready`, begins in this cycle.
    pub(super) fn begin(&mut self, packet: usize, vc: usize, ready: u64, world: &mut World) {
        assert!(self.is_free(world), "a link sends one packet at a time");
        let flits = world.flits_of(packet);
        let on_line = world.channels[self.out].line.len() as u64 - 1;
        world.record.chosen.push(Departure {
            packet: world.packets[packet].name(),
            component: self.name.0,
            port: self.name.1,
            vc: vc as u8,
            flits: flits as u16,
            ready: Cycle(ready),
            free: Cycle(self.free),
            chosen: Cycle(world.now),
            arrives: Cycle(world.now + on_line),
        });
        self.room.take(vc, flits);
        self.begun += 1;
        self.begun_flits[vc] += u64::from(flits);
        let channel = &mut world.channels[self.out];
        channel.begun[vc].push_back(packet);
        let mut sequence = Sequence(0);
        if let Some(retry) = world.settings.retry {
            if self.retry.replay.is_empty() {
                self.retry.deadline = world.now + u64::from(retry.timeout);
            }
            sequence = self.retry.sender.send(&self.retry.numbers);
            self.retry.replay.push_back((packet, vc));
        }
        self.start(packet, vc, sequence, false, world);
    }

    /// Its channel counts an error in this cycle.
    fn count(&self, world: &mut World, kind: LinkErrorKind) {
        let (component, port) = self.name;
        world.counters.err(&LinkError { at: Cycle(world.now), component, port, kind }, &mut world.record);
    }

    /// Whether packets that go out again are next.
    pub(super) fn is_replaying(&self) -> bool {
        self.retry.sender.is_replaying()
    }

    /// The next one of them begins in this cycle, in which the link is free.
    pub(super) fn repeat(&mut self, world: &mut World) {
        let replay = self.retry.sender.replay(&self.retry.numbers).expect("it replays");
        let (packet, vc) = self.retry.replay[replay.position as usize];
        world.channels[self.out].begun[vc].push_back(packet);
        self.count(world, LinkErrorKind::Repeated);
        self.start(packet, vc, replay.sequence, true, world);
    }

    fn start(&mut self, packet: usize, vc: usize, sequence: Sequence, is_again: bool, world: &mut World) {
        let rate = world.channels[self.out].rate(world.now);
        let rate = rate.expect("a channel that is stopped begins nothing");
        let slots = (world.now..).filter(|&at| is_slot(rate, at)).take(world.flits_of(packet) as usize);
        let is_corrupt = self.retry.errors.corrupts(SentKind::Packet, slots.map(Cycle));
        if is_corrupt {
            self.count(world, LinkErrorKind::Corrupted);
        }
        // What goes along says nothing new if there is no news, and what was told before has been heard.
        if self.has_news() || self.retry.is_unheard {
            self.retry.is_unheard = is_corrupt;
        }
        let ack = self.tell(world);
        self.retry.begun = world.now;
        let is_wrong = self.retry.errors.corrupts_undetected(Cycle(world.now));
        let tail = Tail { ack, sequence, is_corrupt, is_wrong };
        self.sending = Some(Sending { packet, vc, next: 0, rate, tail, is_again });
    }

    fn has_news(&self) -> bool {
        self.news.oldest.is_some() || self.retry.receiver.has_news()
    }

    /// What an acknowledgement says now.
    fn tell(&mut self, world: &mut World) -> Ack {
        self.news = News::default();
        let told = self.retry.receiver.tell();
        world.counters.link.nacks += u64::from(told.is_nack);
        let ack = Ack { expected: told.expected, is_nack: told.is_nack, ..self.done.clone() };
        self.retry.told = ack.clone();
        ack
    }

    /// The flit that is sent in this cycle, and on which virtual channel, if it is a slot of the packet that is being sent.
    /// What has been sent before is not told.
    pub(super) fn send(&mut self, world: &mut World) -> Option<(Flit, usize)> {
        let Sending { packet, vc, next, rate, ref tail, is_again } = *self.sending.as_ref()?;
        if !is_slot(rate, world.now) {
            return None;
        }
        let flit = Flit { packet, index: next };
        let left = (world.flits_of(packet) - 1) as usize;
        let rest = (next == 0).then(|| {
            let mut slots = (world.now..).filter(|&at| is_slot(rate, at));
            slots.nth(left).expect("slots go on for ever") - world.now
        });
        let tail = world.is_last(flit).then(|| tail.clone());
        world.channels[self.out].send(Symbol::Flit(flit, vc, rest, tail));
        self.free = world.now + 1;
        if world.is_last(flit) {
            self.sending = None;
        } else if let Some(sending) = &mut self.sending {
            sending.next += 1;
        }
        (!is_again).then_some((flit, vc))
    }

    /// Step 6, if nothing was begun in step 5; `was_free` says that it could have been.
    pub(super) fn acknowledge(&mut self, was_free: bool, world: &mut World) {
        let ack = world.settings.ack;
        let is_old = |since: u64| since + u64::from(ack.delay) <= world.now;
        let is_due = self.news.accepted >= ack.packets
            || self.news.returned >= ack.packets
            || self.news.oldest.is_some_and(is_old);
        let is_due = is_due || self.retry.receiver.gap == Gap::Found;
        let heartbeat = world.settings.retry.map(|retry| self.retry.begun + u64::from(retry.heartbeat));
        if !was_free {
            return;
        }
        let ack = if is_due {
            self.tell(world)
        } else if heartbeat.is_some_and(|at| at <= world.now) && self.retry.is_unheard {
            Ack { is_nack: false, ..self.retry.told.clone() }
        } else {
            return;
        };
        self.retry.begun = world.now;
        self.free = world.now + 1;
        let slot = std::iter::once(Cycle(world.now));
        let is_corrupt = self.retry.errors.corrupts(SentKind::Acknowledgement, slot);
        self.retry.is_unheard = is_corrupt;
        if is_corrupt {
            self.count(world, LinkErrorKind::Corrupted);
        }
        world.channels[self.out].send(Symbol::Ack((!is_corrupt).then_some(ack)));
    }

    /// Flits of each virtual channel that the other end has begun: not sent, on the channel, in the buffer, or gone. And what
    /// has been heard is not more than what was done.
    pub(super) fn assert_books(&self, other: &Port, world: &World) {
        for (vc, on_channel) in world.channels[self.out].flits().into_iter().enumerate() {
            let sending = self.sending.as_ref().filter(|sending| sending.vc == vc);
            let unsent = sending.map_or(0, |it| u64::from(world.flits_of(it.packet) - it.next));
            let stored = other.store.len(vc) as u64;
            // What is dropped and sent again is not counted here.
            let all = unsent + on_channel + stored + other.gone[vc];
            assert!(world.is_unreliable || self.begun_flits[vc] == all, "flits of VC {vc}");
            let held = self.begun_flits[vc] - self.written_off[vc] - self.heard.returned[vc];
            assert_eq!(u64::from(self.room.held(vc)), held, "flits that take room");
            let order = [self.heard.returned[vc], other.done.returned[vc], other.gone[vc]];
            assert!(order.is_sorted(), "room is given back when flits have left: {order:?}");
        }
        let order = [self.heard.accepted, other.done.accepted, self.begun];
        assert!(order.is_sorted(), "packets are accepted when they have come: {order:?}");
    }

    /// The channel that it receives from.
    pub(super) fn back(&self) -> usize {
        self.back
    }
}
