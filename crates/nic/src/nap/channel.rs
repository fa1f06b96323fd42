//! Channels: posting, queues of descriptors, credits. See points 1, 2 and 4 of the header of this module.

use super::{
    Content, DESCRIPTOR, DOORBELL, HANDSHAKE, Kind, NAP_HEAD, Nap, NapContext, NapEvent, NapSettings,
    Outbound, POINTER, Peer, REQUEST, Slot, WORD,
};
use crate::host::bus::{BusSettings as _, plus};
use crate::host::program::{OperationId, Submission, Verb};
use crate::host::story::Unit;
use crate::host::transfer::{Header, Job};
use crate::host::{Post, Posting};
use flitway_engine::Picos;
use std::collections::{BTreeMap, VecDeque};

/// The channels of all processes, and the requests of other nodes.
#[derive(Debug)]
pub(super) struct Channels {
    naps: Box<[State]>,
    msgs: Box<[State]>,
    requests: VecDeque<Descriptor>,
    accounts: Box<[Account]>,
    /// Where the search for a packet begins.
    next: usize,
    /// Descriptors that go out of a queue until its process is told.
    told_at: u32,
    credits: u32,
    threshold: u32,
}

/// A queue of descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Of the NAP channel of a process.
    Nap(u8),
    /// Of its MSG channel.
    Msg(u8),
}

/// What a process and the NIC know of a queue.
#[derive(Debug)]
struct State {
    /// Descriptors that may be written, as far as the process knows.
    room: u32,
    waits: bool,
    descriptors: VecDeque<Descriptor>,
    /// Descriptors that have gone out of it without the process having been told.
    freed: u32,
    /// Since when the first has lacked a credit, and picoseconds for which others have before.
    lacks_since: Option<Picos>,
    lacked: u64,
}

/// What a process and its NIC keep of those that it sends to and that send to it.
#[derive(Debug, Default)]
struct Account {
    /// Credits that it has, and the number of the next packet, of each process that it sends to.
    of: BTreeMap<Peer, (u32, u64)>,
    /// Credits that it owes to those that send to it, of which the NIC does not know, and of which it does.
    owed: BTreeMap<Peer, u32>,
    known: BTreeMap<Peer, u32>,
}

/// A descriptor: what is done, and how far it has been taken.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    pub(super) kind: Kind,
    pub(super) job: Job,
    /// The process whose queue it is in.
    process: u8,
    /// It has its data.
    has_data: bool,
    /// Data that have been taken, in bytes.
    taken: u64,
    /// Credits that are owed to whom it is for, of which it tells the NIC.
    credits: u32,
}

impl Descriptor {
    /// What the NIC does for a request of another node.
    pub(super) fn answer(request: &Header) -> Self {
        let (job, process) = (Job::answer(request), request.process);
        Descriptor { kind: Kind::Data, job, process, has_data: false, taken: 0, credits: 0 }
    }

    /// Bytes in which a processor writes it.
    pub(super) fn bytes(&self) -> u32 {
        match self.kind {
            Kind::Message if self.has_data => NAP_HEAD + (self.job.bytes as u32).next_multiple_of(WORD),
            Kind::Ask | Kind::Grant => NAP_HEAD + HANDSHAKE,
            Kind::Message | Kind::Data | Kind::Request => DESCRIPTOR,
        }
    }

    fn queue(&self) -> Queue {
        match self.kind {
            Kind::Message | Kind::Ask | Kind::Grant => Queue::Nap(self.process),
            Kind::Data | Kind::Request => Queue::Msg(self.process),
        }
    }

    fn peer(&self) -> Peer {
        Peer { node: self.job.to.0, process: self.job.to.1 }
    }

    /// Takes its next packet, and whether that was its last; it has a number and brings credits, if it is for a ring.
    fn take(&mut self, (number, credits): (u64, u32), settings: &NapSettings) -> (Outbound, bool) {
        let job = &self.job;
        let bytes = match self.kind {
            Kind::Message => u64::from(settings.slot).min(job.bytes - self.taken),
            Kind::Data => job.cut(self.taken, settings.mtu.into()),
            Kind::Ask | Kind::Grant | Kind::Request => job.bytes,
        };
        let header = job.header(self.taken, bytes, job.story);
        let is_last = self.taken + bytes == job.bytes;
        let payload = match self.kind {
            Kind::Message | Kind::Data => bytes as u32,
            Kind::Ask | Kind::Grant => HANDSHAKE,
            Kind::Request => REQUEST,
        };
        let content = match self.kind {
            Kind::Message | Kind::Ask | Kind::Grant => {
                let (kind, source) = (self.kind, self.process);
                Content::Slot(Slot { header, kind, source, number, is_last, credits }, None)
            }
            Kind::Data => Content::Data(header, None),
            Kind::Request => Content::Request(header),
        };
        self.taken += bytes;
        let has_data = matches!(self.kind, Kind::Message | Kind::Data);
        let packet = Outbound {
            to: job.to.0,
            payload,
            content,
            engine: None,
            reads: has_data && !self.has_data,
            tells_left: has_data && job.tells_left,
        };
        (packet, is_last)
    }
}

/// The step of a rendezvous in which the other process grants, and the one in which data follow.
pub(super) const GRANT: u8 = 1;
pub(super) const FOLLOW: u8 = 2;

impl Channels {
    pub(super) fn new(settings: &NapSettings, processes: usize) -> Self {
        let depth = settings.depth;
        let state = || State {
            room: depth,
            waits: false,
            descriptors: VecDeque::new(),
            freed: 0,
            lacks_since: None,
            lacked: 0,
        };
        Channels {
            naps: (0..processes).map(|_| state()).collect(),
            msgs: (0..processes).map(|_| state()).collect(),
            requests: VecDeque::new(),
            accounts: (0..processes).map(|_| Account::default()).collect(),
            next: 0,
            told_at: depth.div_ceil(4),
            credits: settings.credits(),
            threshold: settings.threshold(),
        }
    }

    fn state(&mut self, queue: Queue) -> &mut State {
        match queue {
            Queue::Nap(process) => &mut self.naps[usize::from(process)],
            Queue::Msg(process) => &mut self.msgs[usize::from(process)],
        }
    }

    /// A descriptor is in its queue: the credits that it tells of, and to whom they are owed.
    pub(super) fn queued(&mut self, descriptor: Descriptor) -> (Peer, u32) {
        self.state(descriptor.queue()).descriptors.push_back(descriptor);
        (descriptor.peer(), descriptor.credits)
    }

    /// A request of another node.
    pub(super) fn request(&mut self, descriptor: Descriptor) {
        self.requests.push_back(descriptor);
    }

    /// A process knows of more room in a queue.
    pub(super) fn has_room(&mut self, cx: &mut NapContext<'_>, queue: Queue, count: u32) {
        let (Queue::Nap(process) | Queue::Msg(process)) = queue;
        let state = self.state(queue);
        state.room += count;
        if std::mem::take(&mut state.waits) {
            cx.release(cx.at, process);
        }
    }

    /// Credits have come for `process` from `peer`.
    pub(super) fn credit(&mut self, at: Picos, process: u8, peer: Peer, count: u32) {
        let state = &mut self.naps[usize::from(process)];
        let (credits, _) = self.accounts[usize::from(process)].of.get_mut(&peer).expect("it has sent to it");
        *credits += count;
        assert!(*credits <= self.credits, "a sender gets back the credits that it had");
        if count > 0
            && state.lacks_since.is_some()
            && let Some(first) = state.descriptors.front_mut()
            && first.peer() == peer
        {
            first.job.story.pass(Unit::Room, at);
            state.lacked += state.lacks_since.take().map_or(0, |since| at.0 - since.0);
        }
    }

    /// A process has seen a slot of `peer`: of how many credits it tells the NIC now.
    pub(super) fn owe(&mut self, process: u8, peer: Peer) -> Option<u32> {
        let owed = self.accounts[usize::from(process)].owed.entry(peer).or_default();
        *owed += 1;
        (*owed >= self.threshold).then(|| std::mem::take(owed))
    }

    /// The NIC knows of credits that `process` owes to `peer`: how many of them a packet of their own brings.
    pub(super) fn know(&mut self, process: u8, peer: Peer, count: u32) -> Option<u32> {
        let known = self.accounts[usize::from(process)].known.entry(peer).or_default();
        *known += count;
        (*known >= self.threshold).then(|| std::mem::take(known))
    }

    /// Credits that `process` owes to `peer`, of which a descriptor tells.
    fn take_owed(&mut self, process: u8, peer: Peer) -> u32 {
        self.accounts[usize::from(process)].owed.get_mut(&peer).map_or(0, std::mem::take)
    }

    /// Whether the first descriptor of the NAP queue of a process has a credit, and whether it has lacked one since now.
    fn has_credit(&mut self, at: Picos, process: usize) -> (bool, bool) {
        let state = &mut self.naps[process];
        let Some(first) = state.descriptors.front_mut() else { return (false, false) };
        let account = &mut self.accounts[process];
        let (credits, _) = account.of.entry(first.peer()).or_insert((self.credits, 0));
        let has_one = *credits > 0;
        let is_new = !has_one && state.lacks_since.is_none();
        if is_new {
            first.job.story.pass(Unit::Submission, at);
            state.lacks_since = Some(at);
        }
        (has_one, is_new)
    }

    /// The queue whose turn it is, and how many were found to lack a credit.
    fn turn(&mut self, at: Picos) -> (Option<usize>, u64) {
        let (processes, first) = (self.naps.len(), self.next);
        let all = 2 * processes + 1;
        let mut lacked = 0;
        for place in (0..all).map(|step| (first + step) % all) {
            let has_one = if place < processes {
                let (has_one, is_new) = self.has_credit(at, place);
                lacked += u64::from(is_new);
                has_one
            } else if place < 2 * processes {
                !self.msgs[place - processes].descriptors.is_empty()
            } else {
                !self.requests.is_empty()
            };
            if has_one {
                self.next = (place + 1) % all;
                return (Some(place), lacked);
            }
        }
        (None, lacked)
    }

    /// The packet whose turn it is.
    pub(super) fn take(&mut self, settings: &NapSettings, cx: &mut NapContext<'_>) -> Taken {
        let (place, lacked) = self.turn(cx.at);
        let Some(place) = place else { return Taken { packet: None, lacked } };
        let processes = self.naps.len();
        let mut brings = (0, 0);
        let (descriptors, kind) = if place < processes {
            let descriptors = &mut self.naps[place].descriptors;
            let peer = descriptors.front().expect("it has one").peer();
            let Account { of, known, .. } = &mut self.accounts[place];
            let (credits, next) = of.get_mut(&peer).expect("it has a credit");
            *credits -= 1;
            brings = (*next, known.get_mut(&peer).map_or(0, std::mem::take));
            *next += 1;
            (descriptors, 0)
        } else if place < 2 * processes {
            (&mut self.msgs[place - processes].descriptors, 1)
        } else {
            (&mut self.requests, 2)
        };
        let first = descriptors.front_mut().expect("it has a packet");
        let (mut packet, is_last) = first.take(brings, settings);
        let queue = first.queue();
        if let Some(header) = packet.content.header_mut() {
            header.story.pass(Unit::Submission, cx.at);
        }
        if is_last {
            descriptors.pop_front();
            if kind < 2 {
                self.give_back(settings, cx, queue);
            }
        }
        Taken { packet: Some((packet, is_last.then_some(kind))), lacked }
    }

    /// A descriptor has gone out of its queue.
    fn give_back(&mut self, nap: &NapSettings, cx: &mut NapContext<'_>, queue: Queue) {
        let (Queue::Nap(process) | Queue::Msg(process)) = queue;
        let told_at = self.told_at;
        let state = self.state(queue);
        state.freed += 1;
        if state.freed == told_at {
            let freed = std::mem::take(&mut state.freed);
            let posted = cx.bus.post_through(nap.port(process), cx.at, POINTER);
            cx.ask(posted.visible, NapEvent::Room(queue, freed));
        }
    }

    /// Picoseconds until `at` in which the first descriptor of the NAP queue that has waited longest lacked a credit.
    pub(super) fn lacked(&self, at: Picos) -> u64 {
        let of =
            |state: &State| state.lacked + state.lacks_since.map_or(0, |since| at.0.saturating_sub(since.0));
        self.naps.iter().map(of).max().unwrap_or(0)
    }

    /// Whether no descriptor is anywhere.
    pub(super) fn is_idle(&self) -> bool {
        let mut states = self.naps.iter().chain(&self.msgs);
        states.all(|state| state.descriptors.is_empty()) && self.requests.is_empty()
    }
}

/// What comes of a search for a packet.
#[derive(Debug)]
pub(super) struct Taken {
    /// The packet, and if its descriptor has ended of which kind of queue that was.
    pub(super) packet: Option<(Outbound, Option<usize>)>,
    /// Descriptors that have been found to lack a credit.
    pub(super) lacked: u64,
}

impl Nap {
    /// A processor comes to an operation, or a step of one.
    pub(super) fn post_descriptor(&mut self, cx: &mut NapContext<'_>, process: u8, post: &Post) -> Posting {
        let mut descriptor = self.descriptor(process, post);
        let queue = descriptor.queue();
        let state = self.channels.state(queue);
        if state.room == 0 {
            state.waits = true;
            return Posting::Waits;
        }
        state.room -= 1;
        if let Queue::Nap(_) = queue {
            descriptor.credits = self.channels.take_owed(process, descriptor.peer());
        }
        if descriptor.kind == Kind::Ask {
            self.receive.asks(process, post);
        }
        let bus = *cx.bus.settings();
        let (mut left, mut written) = (descriptor.bytes(), plus(cx.at, self.settings.issue));
        while left > 0 {
            written = plus(written, bus.burst_time());
            let bytes = bus.burst().min(left);
            left -= bytes;
            let whole = (left == 0).then(|| Box::new(descriptor));
            cx.ask(written, NapEvent::Burst(process, bytes, whole));
        }
        Posting::Until(written)
    }

    /// What an operation, or a step of one, is to the NIC.
    fn descriptor(&self, process: u8, post: &Post) -> Descriptor {
        let operation = &post.operation;
        let mut job = Job::of(self.node, process, post);
        let kind = match (operation.verb, operation.by, post.step) {
            (Verb::Send, Submission::Pio | Submission::Dma, _) => Kind::Message,
            (Verb::Put, Submission::Rendezvous, 0) => Kind::Ask,
            (Verb::Put, Submission::Rendezvous, GRANT) => {
                // It belongs to the operation of the other process.
                let (node, process) = job.to;
                job.of = OperationId { node, process, number: post.number };
                Kind::Grant
            }
            (Verb::Put, Submission::Rendezvous | Submission::Dma, _) => Kind::Data,
            (Verb::Get, Submission::Dma, _) => Kind::Request,
            (verb, by, _) => panic!("operations are fitted to the NIC, which has no {verb:?} by {by:?}"),
        };
        let is_small = operation.bytes <= self.settings.immediate.into();
        let has_data = kind == Kind::Message && operation.by == Submission::Pio && is_small;
        Descriptor { kind, job, process, has_data, taken: 0, credits: 0 }
    }

    /// A processor has written a burst.
    pub(super) fn burst(
        &mut self,
        cx: &mut NapContext<'_>,
        process: u8,
        bytes: u32,
        descriptor: Option<Box<Descriptor>>,
    ) {
        let there = cx.bus.write_through(self.settings.port(process), cx.at, bytes);
        if let Some(mut descriptor) = descriptor {
            descriptor.job.story.pass(Unit::Processor, cx.at);
            descriptor.job.story.pass(Unit::Bus, there);
            cx.ask(there, NapEvent::Queued(process, descriptor));
        }
    }

    /// The library of a process tells the NIC of credits that are owed to `peer`.
    pub(super) fn return_credits(&mut self, cx: &mut NapContext<'_>, process: u8, peer: Peer, count: u32) {
        let there = cx.bus.write_through(self.settings.port(process), cx.at, DOORBELL);
        cx.ask(there, NapEvent::Owed(process, peer, count));
    }
}
