//! Queues of descriptors, credits, the engines that take packets out of queues, and the rails that take packets of engines.

use super::bus::Purpose;
use super::{Due, Host, Name, Operation, Packet, Peer, Story, Unit, What};
use flitway_engine::Picos;
use flitway_nic::host::memory::Address;
use flitway_nic::host::program::{CompletionKind, Verb};
use flitway_nic::nap::{HANDSHAKE, POINTER, REQUEST};
use flitway_wiring::RailId;

/// The kinds of queues of a process.
pub(super) const NAP: usize = 0;
pub(super) const MSG: usize = 1;

/// A descriptor in a queue on the NIC, or on its way there.
#[derive(Clone, Debug)]
pub(super) struct Descriptor {
    pub(super) name: Name,
    pub(super) operation: Operation,
    pub(super) what: What,
    pub(super) from: Peer,
    pub(super) to: Peer,
    /// The NIC reads its data.
    pub(super) reads: bool,
    pub(super) story: Story,
    /// Credits that it brings to the NIC.
    pub(super) credits: u32,
    /// Bytes that are in packets.
    pub(super) taken: u64,
}

/// A queue of descriptors, of a process or of requests.
#[derive(Debug, Default)]
pub(super) struct Queue {
    descriptors: Vec<Descriptor>,
    /// Descriptors that have gone out of it since that was told.
    gone: u32,
    /// Since when its next packet lacks a credit, and for how long others have.
    lacks_since: Option<u64>,
    lacked: u64,
}

impl Queue {
    pub(super) fn is_idle(&self) -> bool {
        self.descriptors.is_empty()
    }

    pub(super) fn lacked(&self, at: Picos) -> u64 {
        self.lacked + self.lacks_since.map_or(0, |since| at.0 - since)
    }
}

/// An engine, with the packet that it makes.
#[derive(Debug, Default)]
pub(super) struct Engine {
    packet: Option<Packet>,
    /// Reads that are under way for it.
    reads: usize,
}

impl Engine {
    pub(super) fn is_idle(&self) -> bool {
        self.packet.is_none()
    }
}

impl Descriptor {
    /// Where its next packet reads, where that goes, and how many bytes it has.
    fn next_packet(&self, slot: u64, mtu: u64) -> (Address, Address, u64) {
        let Operation { here, there, bytes, verb, .. } = self.operation;
        let (own, other) = if verb == Verb::Get { (there, here) } else { (here, there) };
        let source = Address { process: self.from.process, byte: own + self.taken };
        let target = Address { process: self.to.process, byte: other + self.taken };
        let left = bytes - self.taken;
        let data = match self.what {
            What::Message => left.min(slot),
            What::Put | What::Fetched => left.min(mtu - target.byte % mtu),
            _ => 0,
        };
        (source, target, data)
    }
}

impl Host {
    /// Queues in the order in which they take turns: NAP queues, MSG queues, requests.
    fn queue_of(&self, process: u8, kind: usize) -> usize {
        kind * self.processors.len() + usize::from(process)
    }

    fn is_nap(&self, queue: usize) -> bool {
        queue < self.processors.len()
    }

    /// The NIC has a descriptor of a process.
    pub(super) fn queued(&mut self, process: u8, descriptor: Descriptor) {
        let kind = descriptor.what.queue();
        self.counts.descriptors[kind] += 1;
        let (to, credits) = (descriptor.to, descriptor.credits);
        let queue = self.queue_of(process, kind);
        self.queues[queue].descriptors.push(descriptor);
        if credits > 0 {
            self.owes(process, to, credits);
        }
    }

    /// Another node asks for data: one more descriptor.
    pub(super) fn requested(&mut self, packet: &Packet) {
        self.counts.descriptors[2] += 1;
        let queue = self.queues.len() - 1;
        self.queues[queue].descriptors.push(Descriptor {
            name: packet.name,
            operation: packet.operation,
            what: What::Fetched,
            from: packet.to,
            to: packet.from,
            reads: true,
            story: packet.story,
            credits: 0,
            taken: 0,
        });
    }

    /// The NIC knows that a process owes credits to `to`.
    pub(super) fn owes(&mut self, process: u8, to: Peer, credits: u32) {
        let known = self.pay(process, to) + credits;
        if known < self.settings.credits().div_ceil(2) {
            self.known.push((process, to, known));
            return;
        }
        self.counts.credits += 1;
        let from = Peer { node: self.around.node, process };
        self.ready.push(Ready::Alone(Box::new(Packet::of_credits(from, to, known, self.around.at))));
    }

    /// All credits that the NIC knows that `process` owes to `to`, which are brought now.
    fn pay(&mut self, process: u8, to: Peer) -> u32 {
        let place = self.known.iter().position(|known| (known.0, known.1) == (process, to));
        place.map_or(0, |place| self.known.remove(place).2)
    }

    /// The credits that `process` has at `to`.
    fn credits(&mut self, process: u8, to: Peer) -> &mut u32 {
        let place = self.credits.iter().position(|it| (it.0, it.1) == (process, to));
        let place = place.unwrap_or_else(|| {
            self.credits.push((process, to, self.settings.credits()));
            self.credits.len() - 1
        });
        &mut self.credits[place].2
    }

    /// Credits of a process have come back.
    pub(super) fn credits_come(&mut self, process: u8, from: Peer, credits: u32) {
        *self.credits(process, from) += credits;
        let most = self.settings.credits();
        assert!(*self.credits(process, from) <= most, "no more come back than have been spent");
        let (at, queue) = (self.around.at, self.queue_of(process, NAP));
        let Queue { descriptors, lacks_since, lacked, .. } = &mut self.queues[queue];
        if let Some(since) = *lacks_since
            && descriptors[0].to == from
        {
            *lacks_since = None;
            *lacked += at.0 - since;
            descriptors[0].story.pass(Unit::Room, at);
        }
    }

    /// Whatever may be taken is: first by rails, which frees engines, then by engines.
    pub(super) fn look(&mut self) {
        self.rails_take();
        self.engines_take();
    }

    fn engines_take(&mut self) {
        while let Some(engine) = self.engines.iter().position(Engine::is_idle) {
            let Some(queue) = self.queue_whose_turn_it_is() else { return };
            let packet = self.take(queue);
            self.queue_turn = (queue + 1) % self.queues.len();
            self.engines[engine].packet = Some(packet);
            if self.engines.iter().all(|engine| !engine.is_idle()) {
                self.engines_full_since = Some(self.around.at.0);
            }
            let start = self.settings.start;
            self.around.ask(self.around.after(start), Due::Begins(engine));
        }
    }

    /// The first queue that an engine can take a packet from. What it passes over lacks a credit.
    fn queue_whose_turn_it_is(&mut self) -> Option<usize> {
        let queues = self.queues.len();
        for queue in (self.queue_turn..queues).chain(0..self.queue_turn) {
            let Some(first) = self.queues[queue].descriptors.first() else { continue };
            let (process, to) = (first.from.process, first.to);
            if !self.is_nap(queue) || *self.credits(process, to) > 0 {
                return Some(queue);
            }
            let of = &mut self.queues[queue];
            if of.lacks_since.is_none() {
                of.lacks_since = Some(self.around.at.0);
                of.descriptors[0].story.pass(Unit::Submission, self.around.at);
                self.counts.lacked += 1;
            }
        }
        None
    }

    /// Takes a packet of the first descriptor of a queue.
    fn take(&mut self, queue: usize) -> Packet {
        let at = self.around.at;
        let (slot, mtu) = (u64::from(self.settings.slot), u64::from(self.settings.mtu));
        let of = &mut self.queues[queue];
        let first = &mut of.descriptors[0];
        let (source, target, bytes) = first.next_packet(slot, mtu);
        first.taken += bytes;
        let is_last = bytes == 0 || first.taken == first.operation.bytes;
        let Descriptor { name, operation, what, from, to, reads, mut story, .. } = *first;
        story.pass(Unit::Submission, at);
        let payload = match what {
            What::Message | What::Put | What::Fetched => bytes as u32,
            What::Ask | What::Grant => HANDSHAKE,
            _ => REQUEST,
        };
        let source = (bytes > 0).then_some(source);
        let mut packet = Packet {
            name,
            operation,
            what,
            from,
            to,
            payload,
            source,
            target,
            bytes,
            reads,
            is_last,
            number: 0,
            credits: 0,
            story,
            data: None,
        };
        if is_last {
            of.descriptors.remove(0);
            self.gone(queue, from.process);
        }
        if self.is_nap(queue) {
            *self.credits(from.process, to) -= 1;
            packet.credits = self.pay(from.process, to);
            packet.number = self.next_number(from.process, to);
        }
        packet
    }

    /// A descriptor has gone out of a queue.
    fn gone(&mut self, queue: usize, process: u8) {
        if queue == self.queues.len() - 1 {
            return;
        }
        let quarter = self.settings.depth.div_ceil(4);
        self.queues[queue].gone += 1;
        if self.queues[queue].gone == quarter {
            self.queues[queue].gone = 0;
            let kind = if self.is_nap(queue) { NAP } else { MSG };
            let (_, visible) = self.bus.post(process, self.around.at, POINTER);
            self.around.ask(visible, Due::Room(process, kind, quarter));
        }
    }

    fn next_number(&mut self, process: u8, to: Peer) -> u64 {
        let place = self.numbers.iter().position(|it| (it.0, it.1) == (process, to));
        let place = place.unwrap_or_else(|| {
            self.numbers.push((process, to, 0));
            self.numbers.len() - 1
        });
        let number = self.numbers[place].2;
        self.numbers[place].2 += 1;
        number
    }

    /// An engine asks for the data of its packet, if it does not have them.
    pub(super) fn begins(&mut self, engine: usize) {
        let (at, most) = (self.around.at, u64::from(self.settings.host.bus.read_request));
        let packet = self.engines[engine].packet.as_mut().expect("it has taken one");
        packet.story.pass(Unit::Dma, at);
        let source = packet.source.filter(|_| packet.reads);
        let Some(Address { process, byte }) = source else { return self.ready.push(Ready::OfEngine(engine)) };
        let end = byte + packet.bytes;
        let mut from = byte;
        while from < end {
            let to = end.min((from / most + 1) * most);
            self.engines[engine].reads += 1;
            self.read(process, Purpose::Packet(engine), (to - from) as u32);
            from = to;
        }
    }

    /// Data for the packet of an engine have been read.
    pub(super) fn data_read(&mut self, engine: usize) {
        let of = &mut self.engines[engine];
        of.reads -= 1;
        if of.reads == 0 {
            of.packet.as_mut().expect("it reads for one").story.pass(Unit::Read, self.around.at);
            self.ready.push(Ready::OfEngine(engine));
        }
    }

    /// Packets that are ready go to rails, the first first.
    fn rails_take(&mut self) {
        while !self.ready.is_empty() {
            let rails = self.in_port.len();
            let mut turns = (self.rail_turn..rails).chain(0..self.rail_turn);
            let Some(rail) = turns.find(|&rail| self.in_port[rail] < self.settings.port_packets) else {
                return;
            };
            let mut packet = match self.ready.remove(0) {
                Ready::Alone(packet) => *packet,
                Ready::OfEngine(engine) => {
                    if let Some(since) = self.engines_full_since.take() {
                        self.engines_full += self.around.at.0 - since;
                    }
                    self.engines[engine].packet.take().expect("an engine whose packet is ready has it")
                }
            };
            self.in_port[rail] += 1;
            self.rail_turn = (rail + 1) % rails;
            let there = self.around.after(self.settings.transmit);
            packet.story.pass(Unit::Interface, there);
            self.around.ask(there, Due::Handed(RailId(rail as u32), Box::new(packet)));
        }
    }

    /// A packet reaches the NIC port. It carries what memory has now.
    pub(super) fn handed(&mut self, rail: RailId, mut packet: Packet) {
        self.counts.packets[packet.what.counts_as()] += 1;
        if let Some(from) = packet.source {
            packet.data = self.around.memory.read(from, packet.bytes);
        }
        let wants = packet.operation.tells_left && matches!(packet.what, What::Message | What::Put);
        let leaves = Leaves {
            name: packet.name,
            operation: packet.operation,
            bytes: packet.bytes,
            wants,
            story: packet.story,
        };
        let (to, payload) = (packet.to.node, packet.payload as u16);
        let number = self.around.hand(to, rail, payload, packet);
        self.in_source_queues.push((rail, number, leaves));
    }

    /// A packet has left the source queue of a NIC port.
    pub(super) fn has_left(&mut self, rail: RailId, number: u64) {
        let place = self.in_source_queues.iter().position(|it| (it.0, it.1) == (rail, number));
        let (_, _, leaves) = self.in_source_queues.remove(place.expect("it was handed over"));
        self.in_port[rail.0 as usize] -= 1;
        let Leaves { name, operation, bytes, wants, mut story } = leaves;
        if wants && super::all_of(&mut self.left, name, bytes, operation.bytes) {
            story.pass_stage(flitway_nic::host::story::Stage::NicPort, self.around.at);
            let completion = super::completion(CompletionKind::Left, name, &operation, story);
            self.record(name.1, completion);
        }
    }
}

/// A packet that is ready.
#[derive(Debug)]
pub(super) enum Ready {
    /// That of an engine.
    OfEngine(usize),
    /// One that no engine has made.
    Alone(Box<Packet>),
}

/// What is known of a packet that is in a source queue.
#[derive(Debug)]
pub(super) struct Leaves {
    name: Name,
    operation: Operation,
    bytes: u64,
    /// Its process wants to know when all of its operation have left.
    wants: bool,
    story: Story,
}
