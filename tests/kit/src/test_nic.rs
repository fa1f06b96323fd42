//! A NIC for tests, on bounded NIC ports: all that the contract between a node and its links has to carry.
//!
//! **Out.** Packets wait in the NIC while the source queue of their rail holds `window` of them; each time one has left, the
//! next goes. **In.** A receive queue holds `room` packets, and the process takes one of them every `gap` cycles, and hears of
//! it then. A packet that finds room is drained into it. One that finds none is *refused*, if it is synthetic traffic, and
//! otherwise stays in the NIC port, where it holds back what comes behind it, until a place is free. **Answers.** Who gets a
//! packet for one node answers it; the answer is drained at once. A packet that was refused is sent again.

use flitway_engine::Cycle;
use flitway_fabric::{Delivery, Endpoint, Flow, FlowKind, NicPorts, Outgoing, Packet, Up};
use flitway_nic::{Nic, NicModel, Place};
use flitway_wiring::{Destination, NodeSet, RailId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The settings of a test NIC: what it can hold, and how fast its process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestNicSettings {
    /// Packets of its own, answers aside, in the source queue of a rail; at least 1.
    pub window: u32,
    /// Packets that the receive queue holds; at least 1.
    pub room: u32,
    /// Cycles that the process takes for each; at least 1.
    pub gap: u64,
}

impl NicModel for TestNicSettings {
    type Nic<P: Endpoint> = TestNic<P>;

    const PORTS: NicPorts = NicPorts::Bounded;

    fn nic<P: Endpoint>(&self, place: Place, process: P) -> TestNic<P> {
        TestNic {
            settings: *self,
            process,
            process_wake: Some(Cycle::ZERO),
            made: Outgoing::new(),
            waiting: vec![VecDeque::new(); place.rails as usize],
            queued: vec![0; place.rails as usize],
            unanswered: BTreeMap::new(),
            received: VecDeque::new(),
            takes_at: None,
            held: VecDeque::new(),
            counts: NicCounts::default(),
        }
    }
}

/// What a test NIC has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NicCounts {
    /// Packets that it has taken in, answers aside.
    pub taken: u64,
    /// Those of them that it has kept waiting in a NIC port.
    pub held: u64,
    /// Packets that it has refused.
    pub refused: u64,
    /// Its own packets that were answered: taken.
    pub accepted: u64,
    /// Those that were refused and sent again.
    pub sent_again: u64,
}

flitway_engine::add_fields!(NicCounts { taken, held, refused, accepted, sent_again });

/// The NIC of one node, below a process. No two packets of a process have the same flow.
#[derive(Clone, Debug)]
pub struct TestNic<P> {
    settings: TestNicSettings,
    /// What makes packets, and when it wants to be woken.
    process: P,
    process_wake: Option<Cycle>,
    made: Outgoing,
    /// By rail: packets that wait, with the sets that they are for, and how many of its own are in the source queue.
    waiting: Vec<VecDeque<(Packet, Option<Arc<NodeSet>>)>>,
    queued: Vec<u32>,
    /// Packets for one node that have not been answered, by flow.
    unanswered: BTreeMap<Flow, Packet>,
    /// Packets in the receive queue, and when the process takes one.
    received: VecDeque<Delivery>,
    takes_at: Option<Cycle>,
    /// Packets that wait in NIC ports, the first one first.
    held: VecDeque<Delivery>,
    counts: NicCounts,
}

impl<P: Endpoint> TestNic<P> {
    /// What it has done so far.
    #[must_use]
    pub fn counts(&self) -> NicCounts {
        self.counts
    }

    /// The process.
    #[must_use]
    pub fn process(&self) -> &P {
        &self.process
    }

    /// Whether nothing waits in it, every packet of its own has been answered, and its process has none to make.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let is_waiting = self.waiting.iter().any(|packets| !packets.is_empty());
        let is_busy = is_waiting || !self.received.is_empty() || !self.held.is_empty();
        self.process_wake.is_none() && !is_busy && self.unanswered.is_empty()
    }

    /// Takes what its process has made.
    fn take_made(&mut self, out: &mut Outgoing) {
        let mut sets = self.made.sets.drain(..);
        for packet in self.made.packets.drain(..) {
            let set = if let Destination::Nodes(_) = packet.destination { sets.next() } else { None };
            if is_answered(packet.flow) {
                let before = self.unanswered.insert(packet.flow, packet);
                assert!(before.is_none(), "a process gives each packet a flow of its own");
            }
            self.waiting[packet.rail.index()].push_back((packet, set));
        }
        drop(sets);
        out.arrivals.append(&mut self.made.arrivals);
        out.events.append(&mut self.made.events);
        (0..self.queued.len()).for_each(|rail| self.fill(RailId::new(rail), out));
    }

    /// Tells the process.
    fn tell(&mut self, now: Cycle, up: Up<'_>, out: &mut Outgoing) {
        self.process_wake = self.process.hear(now, up, &mut self.made);
        self.take_made(out);
    }

    /// Hands over what the source queue of `rail` has room for.
    fn fill(&mut self, rail: RailId, out: &mut Outgoing) {
        let queued = &mut self.queued[rail.index()];
        while *queued < self.settings.window
            && let Some((packet, set)) = self.waiting[rail.index()].pop_front()
        {
            *queued += 1;
            match set {
                Some(set) => out.push_to_set(packet, set),
                None => out.push(packet),
            }
        }
    }

    /// A packet is there.
    fn receive(&mut self, now: Cycle, delivery: &Delivery, out: &mut Outgoing) {
        match delivery.flow.kind() {
            FlowKind::Accepted => {
                out.drain(delivery.ticket());
                let sent = self.answered(delivery);
                assert!(sent.is_some(), "an answer is to a packet that was sent, once");
                self.counts.accepted += 1;
            }
            FlowKind::Refused => {
                out.drain(delivery.ticket());
                let sent = self.answered(delivery).expect("an answer is to a packet that was sent, once");
                self.unanswered.insert(sent.flow, sent);
                self.waiting[sent.rail.index()].push_back((Packet { created: now, ..sent }, None));
                self.counts.sent_again += 1;
                self.fill(sent.rail, out);
            }
            _ if self.received.len() < self.settings.room as usize && self.held.is_empty() => {
                self.take(now, delivery, out)
            }
            FlowKind::Traffic => {
                out.drain(delivery.ticket());
                out.answer(now, delivery, false, delivery.flow.tag as u32);
                self.counts.refused += 1;
            }
            _ => {
                self.held.push_back(*delivery);
                self.counts.held += 1;
            }
        }
    }

    /// The packet of its own that `answer` answers.
    fn answered(&mut self, answer: &Delivery) -> Option<Packet> {
        let flow = answer.flow;
        let kinds = [FlowKind::Traffic, FlowKind::Message, FlowKind::Barrier];
        kinds
            .iter()
            .find_map(|&kind| self.unanswered.remove(&Flow::new(kind, flow.tag).of_process(flow.process())))
    }

    /// Drains a packet into the receive queue.
    fn take(&mut self, now: Cycle, delivery: &Delivery, out: &mut Outgoing) {
        out.drain(delivery.ticket());
        if is_answered(delivery.flow) {
            out.answer(now, delivery, true, delivery.flow.tag as u32);
        }
        self.counts.taken += 1;
        self.received.push_back(*delivery);
        if self.takes_at.is_none() {
            self.takes_at = Some(now + self.settings.gap);
        }
    }

    /// The process takes a packet, if it is time.
    fn consume(&mut self, now: Cycle, out: &mut Outgoing) {
        if self.takes_at.is_none_or(|at| at > now) {
            return;
        }
        let taken = self.received.pop_front().expect("the process takes what is there");
        self.takes_at = (!self.received.is_empty()).then(|| now + self.settings.gap);
        if P::REACTS {
            self.tell(now, Up::Delivery(&taken), out);
        }
        if let Some(delivery) = self.held.pop_front() {
            self.take(now, &delivery, out);
        }
    }

    fn next(&self) -> Option<Cycle> {
        [self.process_wake, self.takes_at].into_iter().flatten().min()
    }
}

/// Packets for groups and sets have many receivers, and answers are not answered.
fn is_answered(flow: Flow) -> bool {
    [FlowKind::Traffic, FlowKind::Message, FlowKind::Barrier].iter().any(|&kind| flow.is(kind))
}

impl<P: Endpoint> Nic for TestNic<P> {
    type Process = P;

    fn process_mut(&mut self) -> &mut P {
        &mut self.process
    }
}

impl<P: Endpoint> Endpoint for TestNic<P> {
    const BOUNDED: bool = true;

    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        if self.process_wake.is_some_and(|at| at <= now) {
            self.process_wake = self.process.wake(now, &mut self.made);
            self.take_made(out);
        }
        self.consume(now, out);
        self.next()
    }

    fn hear(&mut self, now: Cycle, up: Up<'_>, out: &mut Outgoing) -> Option<Cycle> {
        match up {
            Up::Delivery(delivery) => self.receive(now, delivery, out),
            Up::Sent(rail, flow) if !flow.is(FlowKind::Accepted) && !flow.is(FlowKind::Refused) => {
                self.queued[rail.index()] -= 1;
                self.fill(rail, out);
            }
            Up::Sent(..) => {}
            Up::Released(_) | Up::Answered(..) => self.tell(now, up, out),
        }
        self.next()
    }
}
