//! The two halves of a port at its link: one sends packets and hears acknowledgements, the other has news and tells it. Both
//! run the protocol of [`flitway_fabric::link::retry`].

use super::packet_state::{self, Ack, GivenUp, Pools, Rare};
use super::room::{Parts, Room};
use super::settings::VCS_MAX;
use super::switch::Loads;
use super::training::{Action, Signal, SignalKind, Training};
use super::unreliable::Unreliable;
use super::{Cx, Shared};
use flitway_engine::Cycle;
use flitway_fabric::link::SentKind;
use flitway_fabric::link::retry::{self, Acknowledgement, Gap, Reception, Sequence};
use flitway_fabric::observer::{ComponentNumber, LinkChange, LinkError, LinkErrorKind, LinkState, Observer};
use flitway_fabric::pool::{List, Slot};
use flitway_fabric::simulation::{Address, Wire};
use flitway_fabric::{LossCause, Pace, Rate};
use flitway_wiring::PortId;

/// The sending half.
#[derive(Debug)]
pub(super) struct Sender {
    /// The port at the other end.
    peer: Address,
    port: u16,
    /// A node is there.
    leads_to_node: bool,
    /// Cycles from a slot to the wire at the other end.
    depth: u32,
    /// The cycle after the last slot of what the link has begun last.
    pub(super) free_at: Cycle,
    /// What is in the buffer at the other end, as far as has been heard.
    room: Room,
    retry: retry::Sender<VCS_MAX>,
    /// Flits sent since the start; what is sent again is not counted again.
    flits: u64,
    /// Acknowledgements to be heard, by time.
    acks: List,
    /// What few channels have.
    special: Option<Box<Special>>,
}

/// A channel that is not of full rate for ever, or that corrupts flits.
#[derive(Debug, Default)]
struct Special {
    pace: Pace,
    unreliable: Option<Unreliable>,
}

/// When the flits of a packet are at the other end of its link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    /// When the first one is on the wire there.
    pub(super) arrives: Cycle,
    /// The cycle after the slot of the last one.
    pub(super) ends: Cycle,
}

/// The channel on which a port sends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Out {
    pub(super) component: ComponentNumber,
    pub(super) port: PortId,
    pub(super) wire: Wire,
    pub(super) rate: Rate,
    /// Cycles from a slot to the wire.
    pub(super) to_wire: u32,
    pub(super) leads_to_node: bool,
}

impl Sender {
    pub(super) fn new(shared: &Shared, out: Out) -> Self {
        let unreliable = Unreliable::new(shared, out.component, out.port);
        let is_special = !out.rate.is_full() || unreliable.is_some();
        Sender {
            peer: out.wire.peer,
            port: out.wire.port,
            leads_to_node: out.leads_to_node,
            depth: out.to_wire + out.wire.latency,
            free_at: Cycle::ZERO,
            room: Room::default(),
            retry: retry::Sender::default(),
            flits: 0,
            acks: List::default(),
            special: is_special.then(|| Box::new(Special { pace: out.rate.into(), unreliable })),
        }
    }

    /// The channel has another rate from cycle `at` on, or is stopped.
    pub(super) fn change(&mut self, at: Cycle, rate: Option<Rate>) {
        self.special.get_or_insert_default().pace.change(at, rate);
    }

    /// The first slot from cycle `from` on in which the link is free; never if the channel is stopped for ever.
    #[inline]
    pub(super) fn slot_from(&self, from: Cycle) -> Cycle {
        let from = from.max(self.free_at);
        self.special.as_ref().map_or(from, |special| special.pace.slot_from(from))
    }

    /// What it takes to make up for errors, where there are any.
    #[inline]
    pub(super) fn unreliable(&mut self) -> Option<&mut Unreliable> {
        self.special.as_mut()?.unreliable.as_mut()
    }

    /// The same, to read.
    fn as_unreliable(&self) -> Option<&Unreliable> {
        self.special.as_ref()?.unreliable.as_ref()
    }

    /// An acknowledgement comes that is heard in the cycle that it says.
    #[inline]
    pub(super) fn expect(&mut self, pools: &mut Pools, ack: Ack) {
        let slot = pools.acks.put(ack);
        pools.acks.append(&mut self.acks, slot);
    }

    /// The same where nothing is lost and all cycles before `start` have passed: of two that could have been heard by then the
    /// second says all that the first does.
    #[inline]
    pub(super) fn expect_last(&mut self, pools: &mut Pools, start: Cycle, ack: Ack) {
        let first = self.acks.head();
        if let Some(second) = pools.acks.first(&self.acks).map(|ack| ack.next)
            && second != Slot::NONE
            && pools.acks[second].at <= start
        {
            self.acks.pop_to(second);
            pools.acks.free(first);
        }
        self.expect(pools, ack);
    }

    /// The state of its link, where something breaks.
    pub(super) fn training(&mut self) -> Option<&mut Training> {
        self.unreliable()?.training.as_deref_mut()
    }

    /// The same, to read.
    #[inline]
    fn as_training(&self) -> Option<&Training> {
        self.as_unreliable()?.training.as_deref()
    }

    /// Whether its link carries packets.
    pub(super) fn is_active(&self) -> bool {
        self.as_training().is_none_or(Training::is_active)
    }

    /// Whether its link has been given up.
    #[inline]
    pub(super) fn is_down(&self) -> bool {
        self.as_training().is_some_and(Training::is_down)
    }

    /// Whether what the port receives in cycle `at` is heard.
    #[inline]
    pub(super) fn hears(&self, at: Cycle) -> bool {
        self.as_training().is_none_or(|training| training.hears(at))
    }

    /// Does what the state of the link asks for in cycle `now`. Tells `back` how many flits of which virtual channel give back
    /// their room. Says whether something has been done.
    #[cold]
    pub(super) fn train<O: Observer>(
        &mut self,
        cx: &mut Cx<'_, O>,
        now: Cycle,
        receiver: &mut Receiver,
        mut back: impl FnMut(usize, u32),
    ) -> bool {
        let Some(training) = self.training() else { return false };
        training.process(now);
        let actions = training.take_actions();
        let is_any = !actions.is_empty();
        while let Some(given_up) = self.training().and_then(|training| training.take_given_up(now)) {
            self.lose(cx, given_up, receiver);
        }
        for action in actions {
            match action {
                Action::Test(reason) => {
                    self.stop(now);
                    self.signal(cx, now, SignalKind::Test);
                    self.observe(cx, now, LinkState::Trains(reason));
                }
                Action::Hello(hello) => {
                    let told = Ack::new(now, self.port, receiver.retry.acknowledgement());
                    self.signal(cx, now, SignalKind::Hello(hello, told));
                }
                Action::Resume(ack, agreement) => {
                    self.resume(cx, now, &ack, agreement.rate, &mut back);
                    receiver.resume(now);
                    self.observe(cx, now, LinkState::Active(agreement));
                }
                Action::GiveUp => {
                    self.give_up(cx, now);
                    self.observe(cx, now, LinkState::Down);
                }
            }
        }
        is_any
    }

    fn observe<O: Observer>(&self, cx: &mut Cx<'_, O>, at: Cycle, state: LinkState) {
        let Some(Unreliable { component, port, .. }) = self.as_unreliable() else { return };
        cx.observer.link_changed(&LinkChange { at, component: *component, port: *port, state });
    }

    /// Counts an error of its channel, or what makes up for one, in cycle `at`.
    #[cold]
    fn count<O: Observer>(&self, cx: &mut Cx<'_, O>, at: Cycle, kind: LinkErrorKind) {
        let Some(&Unreliable { component, port, .. }) = self.as_unreliable() else { return };
        cx.counters.err(&LinkError { at, component, port, kind }, cx.observer);
    }

    /// The link begins nothing from cycle `now` on.
    pub(super) fn stop(&mut self, now: Cycle) {
        self.change(now, None);
        if let Some(unreliable) = self.unreliable() {
            unreliable.stop();
        }
    }

    fn signal<O>(&self, cx: &mut Cx<'_, O>, now: Cycle, kind: SignalKind) {
        let at = now + u64::from(self.depth + cx.shared.settings.pipeline.receive);
        let signal = Rare::Signal(self.port, Box::new(Signal { at, kind }));
        packet_state::post_rare(cx, self.peer, at, signal);
    }

    /// Tells the switch at the other end loads of this one.
    pub(super) fn tell_loads<O>(&self, cx: &mut Cx<'_, O>, now: Cycle, loads: &[u32]) {
        if !self.leads_to_node {
            let at = now + u64::from(self.depth + cx.shared.settings.pipeline.receive);
            packet_state::post_loads(cx, self.peer, Loads::new(self.port, at, loads));
        }
    }

    fn resume<O>(
        &mut self,
        cx: &mut Cx<'_, O>,
        now: Cycle,
        ack: &Ack,
        rate: Rate,
        back: &mut impl FnMut(usize, u32),
    ) {
        self.change(now, Some(rate));
        self.hear_one(cx.shared, now, ack, &mut *back);
        let Some(unreliable) = self.unreliable() else { return };
        let lost = unreliable.resume(now);
        if lost.is_empty() {
            self.retry.go_back();
        } else {
            self.retry.forget();
        }
        for state in lost {
            let (vc, flits) = (usize::from(state.vc), u32::from(state.flits));
            self.room.give_back(cx.shared.parts.input, vc, flits);
            back(vc, flits);
        }
    }

    /// What is kept will not be sent again; the other end is told, which knows what has come.
    fn give_up<O>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        let first = self.retry.base;
        let Some(unreliable) = self.unreliable() else { return };
        let packets = unreliable.give_up();
        if !packets.is_empty() {
            let at = now + u64::from(self.depth + cx.shared.settings.pipeline.receive);
            let given_up = Rare::GivenUp(self.port, Box::new(GivenUp { at, first, packets }));
            packet_state::post_rare(cx, self.peer, at, given_up);
        }
    }

    /// The other end has given up some packets: those that have not come are lost.
    fn lose<O: Observer>(&mut self, cx: &mut Cx<'_, O>, given_up: GivenUp, receiver: &Receiver) {
        let Some(unreliable) = self.unreliable() else { return };
        let (at, component) = (given_up.at, unreliable.component);
        for state in unreliable.lost_of(&cx.shared.numbers, given_up, receiver.retry.expected) {
            cx.counters.lose(&state.loss(at, component, LossCause::Unacknowledged), cx.observer);
        }
    }

    /// The switch dies in cycle `now`.
    pub(super) fn die(&mut self, now: Cycle) {
        self.stop(now);
        if let Some(training) = self.training() {
            training.die(now);
        }
    }

    /// Hears what is heard in cycle `now` or before. Tells `back` how many flits of which virtual channel give back their
    /// room.
    #[inline]
    pub(super) fn hear(&mut self, shared: &mut Shared, now: Cycle, mut back: impl FnMut(usize, u32)) {
        while let Some(ack) = shared.pools.acks.first(&self.acks)
            && ack.at <= now
        {
            let slot = shared.pools.acks.unlink(&mut self.acks);
            let ack = shared.pools.acks.take(slot);
            if !self.as_training().is_none_or(|training| training.hears(ack.at)) {
                continue;
            }
            self.hear_one(shared, ack.at, &ack, &mut back);
        }
    }

    /// Hears `ack` in cycle `at`.
    #[inline]
    fn hear_one(&mut self, shared: &Shared, at: Cycle, ack: &Ack, mut back: impl FnMut(usize, u32)) {
        let heard = self.retry.hear(&shared.numbers, &ack.says());
        for (vc, &flits) in heard.returned.iter().enumerate().take(shared.vcs) {
            if flits > 0 {
                self.room.give_back(shared.parts.input, vc, flits);
                back(vc, flits);
            }
        }
        if let Some(unreliable) = self.special.as_mut().and_then(|it| it.unreliable.as_mut()) {
            unreliable.note_heard(at, &heard);
        }
    }

    /// When an acknowledgement is heard next; never if none is known to come.
    #[inline]
    pub(super) fn hears_at(&self, pools: &Pools) -> Cycle {
        pools.acks.first(&self.acks).map_or(Cycle::NEVER, |ack| ack.at)
    }

    /// Goes back if the timer has expired by cycle `now`. Returns when it expires next; never if it does not run.
    pub(super) fn expire<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) -> Cycle {
        let Some(unreliable) = self.special.as_mut().and_then(|it| it.unreliable.as_mut()) else {
            return Cycle::NEVER;
        };
        let has_expired = unreliable.expire(now, &mut self.retry);
        let deadline = unreliable.deadline();
        if has_expired {
            self.count(cx, now, LinkErrorKind::TimedOut);
        }
        deadline
    }

    /// Whether packets are next that go out again.
    pub(super) fn is_replaying(&self) -> bool {
        self.retry.is_replaying()
    }

    /// Whether a packet of so many flits on `vc` has room at the other end, and the window is open.
    #[inline]
    pub(super) fn takes(&self, shared: &Shared, vc: usize, flits: u32) -> bool {
        let is_open = !shared.retries || self.retry.may_send(&shared.numbers);
        is_open && self.room.has(shared.parts.input, vc, flits)
    }

    /// Begins the packet in `slot` on `vc` in cycle `now`: it takes its room, and its `at` and `port` are those of the other
    /// end. The news of `receiver` goes along.
    #[inline]
    pub(super) fn begin<O: Observer>(
        &mut self,
        cx: &mut Cx<'_, O>,
        now: Cycle,
        slot: Slot,
        vc: usize,
        receiver: &mut Receiver,
    ) -> Flight {
        let state = &mut cx.shared.pools.states[slot];
        let flits = u32::from(state.flits);
        state.vc = vc as u8;
        self.room.take(cx.shared.parts.input, vc, flits);
        self.flits += u64::from(flits);
        let is_first = self.retry.held() == 0;
        let sequence =
            if cx.shared.retries { self.retry.send(&cx.shared.numbers) } else { Sequence::default() };
        if let Some(unreliable) = self.unreliable() {
            unreliable.keep(now, cx.shared.pools.states[slot], is_first);
        }
        self.transmit(cx, now, slot, sequence, receiver)
    }

    /// Sends the next packet of the replay buffer again in cycle `now`.
    pub(super) fn repeat<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, receiver: &mut Receiver) {
        let Some(replay) = self.retry.replay(&cx.shared.numbers) else { return };
        let Some(unreliable) = self.unreliable() else { return };
        let state = unreliable.packet(replay.position);
        let slot = cx.shared.pools.states.put(state);
        self.count(cx, now, LinkErrorKind::Repeated);
        self.transmit(cx, now, slot, replay.sequence, receiver);
    }

    #[inline]
    fn transmit<O: Observer>(
        &mut self,
        cx: &mut Cx<'_, O>,
        now: Cycle,
        slot: Slot,
        sequence: Sequence,
        receiver: &mut Receiver,
    ) -> Flight {
        let shared = &mut *cx.shared;
        let flits = u32::from(shared.pools.states[slot].flits);
        let special = self.special.as_deref_mut();
        let last =
            special.as_ref().map_or(now + u64::from(flits - 1), |it| it.pace.slot_after(now, flits - 1));
        let (arrives, whole) = (now + u64::from(self.depth), last + u64::from(self.depth));
        let at = if self.leads_to_node {
            whole + u64::from(shared.settings.pipeline.receive)
        } else {
            shared.accepted_at(arrives, whole, flits)
        };
        let mut is_lost = false;
        let state = &mut shared.pools.states[slot];
        (state.at, state.port, state.out_vc) = (at, self.port, 0);
        state.ready_after = at.since(arrives) as u32;
        if let Some(Special { pace, unreliable: Some(unreliable) }) = special {
            let slots = (0..flits).map(|flit| pace.slot_after(now, flit));
            is_lost = unreliable.errors.corrupts(SentKind::Packet, slots);
            state.out_vc = u8::from(is_lost);
            state.is_wrong |= unreliable.errors.corrupts_undetected(now);
        }
        if is_lost {
            self.count(cx, now, LinkErrorKind::Corrupted);
        }
        self.free_at = last + 1;
        packet_state::post_packet(cx, self.peer, slot, sequence);
        if self.has_to_tell(receiver) {
            self.tell(cx, now, receiver, is_lost);
        } else if let Some(unreliable) = self.unreliable() {
            unreliable.begun = now;
        }
        Flight { arrives, ends: self.free_at }
    }

    /// Whether an acknowledgement that goes along says something that has not been heard.
    fn has_to_tell(&self, receiver: &Receiver) -> bool {
        receiver.has_news() || self.as_unreliable().is_some_and(|it| it.is_unheard)
    }

    /// Sends the news of `receiver` alone in cycle `now`, in which the link is free, or says again what was not heard, if it is
    /// due.
    pub(super) fn tell_alone<O: Observer>(
        &mut self,
        cx: &mut Cx<'_, O>,
        now: Cycle,
        receiver: &mut Receiver,
    ) {
        let is_news = receiver.due(cx.shared) <= now;
        if !is_news && self.beats_at(cx.shared) > now {
            return;
        }
        self.free_at = now + 1;
        let is_lost = self
            .unreliable()
            .is_some_and(|it| it.errors.corrupts(SentKind::Acknowledgement, [now].into_iter()));
        if is_lost {
            self.count(cx, now, LinkErrorKind::Corrupted);
        }
        if is_news {
            self.tell(cx, now, receiver, is_lost);
        } else if let Some(unreliable) = self.unreliable() {
            let told = unreliable.say_again(now, is_lost);
            self.say(cx, told, is_lost);
        }
    }

    /// When what was not heard is said again, if nothing is begun before; never if all has been.
    #[inline]
    pub(super) fn beats_at(&self, shared: &Shared) -> Cycle {
        self.as_unreliable().map_or(Cycle::NEVER, |it| it.beats_at(shared))
    }

    /// The news of `receiver` goes with what was begun in cycle `now`, whose last flit is in the slot before the link is free.
    #[inline]
    fn tell<O>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, receiver: &mut Receiver, is_lost: bool) {
        let told = receiver.tell();
        cx.counters.link.nacks += u64::from(told.is_nack);
        if let Some(unreliable) = self.unreliable() {
            unreliable.note_told(now, told, is_lost);
        }
        self.say(cx, told, is_lost);
    }

    #[inline]
    fn say<O>(&self, cx: &mut Cx<'_, O>, told: Acknowledgement<VCS_MAX>, is_lost: bool) {
        if !is_lost {
            let depth = u64::from(self.depth + cx.shared.settings.pipeline.receive);
            let ack = Ack::new(Cycle(self.free_at.0 - 1) + depth, self.port, told);
            // Where packets go out again, what is heard may have them do so.
            let by = if cx.shared.is_unreliable() { ack.at } else { Cycle::NEVER };
            packet_state::post_ack(cx.post, self.peer, by, ack);
        }
    }

    /// Flits sent since the start.
    pub(super) fn flits(&self) -> u64 {
        self.flits
    }

    /// Enters what it has sent into the books, and where links lose packets those on the link.
    pub(super) fn audit(&self, books: &mut flitway_fabric::simulation::Conservation) {
        match self.as_unreliable() {
            Some(unreliable) => unreliable.audit(self.flits, books),
            None => books.units_sent += u64::from(self.flits as u32),
        }
    }

    /// Flits of `vc` that have given back their room at the other end, as has been heard, modulo 2^16.
    pub(super) fn heard(&self, vc: usize) -> u16 {
        self.retry.returned[vc]
    }

    /// Virtual channels of which some flits must give back their room before a packet on `vc` has it.
    pub(super) fn lacks_of(&self, parts: Parts, vc: usize) -> impl Iterator<Item = usize> {
        std::iter::once(vc).chain(self.room.sharers(parts).filter(move |&other| other != vc))
    }
}

/// The receiving half.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    retry: retry::Receiver<VCS_MAX>,
    /// Flits that have given back their room since the start, modulo 2^32.
    freed: u32,
    /// Packets that have, since the last acknowledgement.
    untold: u16,
    /// Flits that leave the buffer now, and their virtual channel: they have not given back their room.
    leaving: u16,
    vc: u8,
    /// When the first of the news was.
    oldest: Cycle,
}

/// What is known of a packet when it comes, beside itself: its number, and whether it is corrupt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    pub(super) sequence: Sequence,
    pub(super) is_corrupt: bool,
}

impl Receiver {
    /// A packet is received in cycle `now`. Says whether it is accepted; where nothing is lost its stamp does not matter.
    #[inline]
    pub(super) fn receive(&mut self, shared: &Shared, now: Cycle, stamp: Stamp) -> bool {
        if !shared.retries {
            return true;
        }
        let had_news = self.has_dated_news();
        let sequence = if shared.is_unreliable() { stamp.sequence } else { self.retry.expected };
        let reception = self.retry.hear(&shared.numbers, (!stamp.is_corrupt).then_some(sequence));
        if !had_news {
            self.oldest = now;
        }
        reception == Reception::Accept
    }

    /// The link is back in cycle `now`: it says what has come.
    fn resume(&mut self, now: Cycle) {
        if !self.has_dated_news() {
            self.oldest = now;
        }
        self.retry.resume();
    }

    /// A packet of so many flits has given back its room on `vc` in cycle `at`, or before now and after all other news.
    #[inline]
    pub(super) fn give_back(&mut self, shared: &Shared, at: Cycle, vc: usize, flits: u32) {
        self.oldest = if self.has_dated_news() { self.oldest.min(at) } else { at };
        self.retry.give_back(&shared.numbers, vc, flits);
        self.freed = self.freed.wrapping_add(flits);
        self.untold = self.untold.saturating_add(1);
    }

    /// A packet of so many flits on `vc` begins to leave the buffer.
    #[inline]
    pub(super) fn begin_leaving(&mut self, flits: u16, vc: usize) {
        (self.leaving, self.vc) = (flits, vc as u8);
    }

    /// It has left, if one has begun to, and gives back its room in cycle `at`.
    #[inline]
    pub(super) fn end_leaving(&mut self, shared: &Shared, at: Cycle) {
        let flits = std::mem::take(&mut self.leaving);
        if flits > 0 {
            self.give_back(shared, at, self.vc.into(), flits.into());
        }
    }

    /// Flits that are leaving, and their virtual channel.
    pub(super) fn leaving(&self) -> (u16, u8) {
        (self.leaving, self.vc)
    }

    /// When an acknowledgement is due of a packet that gives back its room in cycle `at`, if none is sent before.
    #[inline]
    pub(super) fn told_by(&self, shared: &Shared, at: Cycle) -> Cycle {
        let ack = &shared.settings.ack;
        if u32::from(self.untold) + 1 >= ack.packets { at } else { at + u64::from(ack.delay) }
    }

    /// Whether there is something to tell.
    #[inline]
    pub(super) fn has_news(&self) -> bool {
        self.retry.has_news()
    }

    /// Whether some of that has a date. A gap has none: it is told at once, or closed before it is told, and then it was none.
    #[inline]
    fn has_dated_news(&self) -> bool {
        self.retry.news.is_any()
    }

    /// When an acknowledgement that goes alone is due; never without news.
    #[inline]
    pub(super) fn due(&self, shared: &Shared) -> Cycle {
        let ack = &shared.settings.ack;
        let packets = u32::from(self.untold.max(self.retry.news.packets));
        if !self.has_news() {
            Cycle::NEVER
        } else if self.retry.gap == Gap::Found || packets >= ack.packets {
            Cycle::ZERO
        } else {
            self.oldest + u64::from(ack.delay)
        }
    }

    #[inline]
    fn tell(&mut self) -> Acknowledgement<VCS_MAX> {
        self.untold = 0;
        self.retry.tell()
    }

    /// Flits of `vc` that have given back their room, modulo 2^16.
    pub(super) fn returned(&self, vc: usize) -> u16 {
        self.retry.returned[vc]
    }

    /// Flits of all virtual channels that have, modulo 2^32.
    pub(super) fn freed(&self) -> u32 {
        self.freed
    }
}
