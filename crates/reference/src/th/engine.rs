//! The protocol engine: units, transfers, and the network interface that sends their packets.

use super::bus::Purpose;
use super::submission::Descriptor;
use super::translation::Waiter;
use super::{
    Address, Completion, Content, Due, Header, Host, Name, NodeId, Operation, Part, RailId, Stage, Story,
    Verb,
};
use crate::host::translation::Page;
use flitway_nic::host::program::CompletionKind;
use flitway_nic::th::REQUEST;

/// What a unit carries out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    /// The operation that it is for.
    pub(super) name: Name,
    /// It answers a request of another node.
    pub(super) is_answer: bool,
    pub(super) verb: Verb,
    pub(super) node: NodeId,
    pub(super) bytes: u64,
    /// Where the data are in this node; of a get, where they come to.
    pub(super) here: Address,
    /// Where they go in the other node; of a get, where they are.
    pub(super) there: Address,
    pub(super) tells_left: bool,
}

impl Job {
    pub(super) fn of(name: Name, operation: &Operation) -> Self {
        Job {
            name,
            is_answer: false,
            verb: operation.verb,
            node: operation.node,
            bytes: operation.bytes,
            here: operation.local(name.1),
            there: operation.remote(),
            tells_left: operation.tells_left,
        }
    }
}

/// A packet that a unit has made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outbound {
    node: NodeId,
    header: Header,
    payload: u16,
    /// Where its data are in this node, if it has any.
    from: Option<Address>,
    /// Bytes in the buffer of the unit.
    buffered: u64,
    tells_left: bool,
    story: Story,
}

#[derive(Debug, Default)]
pub(super) struct Unit {
    pub(super) is_busy: bool,
    /// The transfer that it asks data for.
    asking: Option<Transfer>,
    /// Bytes that it has asked for and not sent on.
    buffered: u64,
    /// Reads under way: of which job, how much, and its story; then what has been read and not cut.
    reads: Vec<(Job, u64, Story)>,
    /// Bytes that have been cut of the job that is read now, and that have been read of it.
    cut: u64,
    read: u64,
    packets: Vec<Outbound>,
}

#[derive(Debug)]
struct Transfer {
    job: Job,
    asked: u64,
    page: Option<Page>,
    waits: bool,
    story: Story,
}

impl Unit {
    pub(super) fn is_idle(&self) -> bool {
        !self.is_busy && self.asking.is_none() && self.reads.is_empty() && self.packets.is_empty()
    }
}

impl Host {
    /// `unit` takes a descriptor.
    pub(super) fn take(&mut self, unit: usize, descriptor: Descriptor) {
        let Descriptor { job, mut story, .. } = descriptor;
        story.pass(Part::Submission, self.around.at);
        self.units[unit].is_busy = true;
        if self.units.iter().all(|unit| unit.is_busy) {
            self.all_busy_since = Some(self.around.at.0);
        }
        let decoded = self.around.after(self.settings.decode);
        story.pass(Part::Engine, decoded);
        if !self.is_transfer(&job) {
            self.around.ask(self.around.after(self.settings.interval), Due::Ready(unit));
        }
        self.around.ask(decoded, Due::Decoded(unit, job, story));
    }

    /// Whether a descriptor neither holds its data nor asks for data.
    fn is_transfer(&self, job: &Job) -> bool {
        match job.verb {
            Verb::Send => false,
            Verb::Put => job.bytes > self.settings.immediate.into(),
            _ => job.is_answer,
        }
    }

    pub(super) fn unit_ready(&mut self, unit: usize) {
        if let Some(since) = self.all_busy_since.take() {
            self.all_busy += self.around.at.0 - since;
        }
        self.units[unit].is_busy = false;
        self.schedule();
    }

    /// A unit has decoded a descriptor: it makes one packet, or begins a transfer.
    pub(super) fn decoded(&mut self, unit: usize, job: Job, story: Story) {
        if self.is_transfer(&job) {
            self.units[unit].asking = Some(Transfer { job, asked: 0, page: None, waits: false, story });
            self.ask_for_data(unit);
            return;
        }
        let header = Host::header(&job, job.there, job.bytes);
        let (payload, from) = match job.verb {
            Verb::Send | Verb::Put => (job.bytes as u16, Some(job.here)),
            _ => (REQUEST, None),
        };
        let Job { node, tells_left, .. } = job;
        let packet = Outbound { node, header, payload, from, buffered: 0, tells_left, story };
        self.units[unit].packets.push(packet);
        self.transmit();
    }

    fn header(job: &Job, to: Address, bytes: u64) -> Header {
        Header {
            name: job.name,
            verb: job.verb,
            is_answer: job.is_answer,
            to,
            bytes,
            of: job.bytes,
            back: job.here,
        }
    }

    /// A unit asks for data, as long as they fit, and the page is known.
    fn ask_for_data(&mut self, unit: usize) {
        let greatest = u64::from(self.settings.host.bus.read_request);
        loop {
            let Unit { asking, buffered, .. } = &mut self.units[unit];
            let Some(transfer) = asking else { return };
            let from = transfer.job.here.after(transfer.asked);
            let left = transfer.job.bytes - transfer.asked;
            let bytes = left.min(greatest - from.byte % greatest);
            if transfer.waits || *buffered + bytes > self.settings.unit_buffer.into() {
                return;
            }
            transfer.story.pass(Part::Engine, self.around.at);
            let page = (from.process, from.byte / self.settings.atc.page);
            if transfer.page != Some(page) {
                transfer.page = Some(page);
                transfer.waits = true;
                if !self.atc.look(page) {
                    self.wait_for(page, Waiter::Unit(unit));
                    return;
                }
            }
            self.request_data(unit, bytes);
        }
    }

    /// The translation that a transfer has waited for is there.
    pub(super) fn page_known(&mut self, unit: usize) {
        let greatest = u64::from(self.settings.host.bus.read_request);
        let transfer = self.units[unit].asking.as_mut().expect("a transfer waits");
        transfer.story.pass(Part::Translation, self.around.at);
        let from = transfer.job.here.byte + transfer.asked;
        let bytes = (transfer.job.bytes - transfer.asked).min(greatest - from % greatest);
        self.request_data(unit, bytes);
        self.ask_for_data(unit);
    }

    /// Asks for the next `bytes` of a transfer.
    fn request_data(&mut self, unit: usize, bytes: u64) {
        let state = &mut self.units[unit];
        let transfer = state.asking.as_mut().expect("a transfer asks");
        transfer.waits = false;
        transfer.asked += bytes;
        state.buffered += bytes;
        state.reads.push((transfer.job, bytes, transfer.story));
        let has_asked_all = transfer.asked == transfer.job.bytes;
        self.read(Purpose::Data(unit), bytes as u32);
        if has_asked_all {
            self.units[unit].asking = None;
            self.unit_ready(unit);
        }
    }

    /// Data of a unit are there: packets are, of which these were the last.
    pub(super) fn data_read(&mut self, unit: usize, bytes: u64) {
        let (job, asked, mut story) = self.units[unit].reads.remove(0);
        assert_eq!(asked, bytes, "reads are completed in order");
        story.pass(Part::Read, self.around.at);
        self.units[unit].read += bytes;
        let mtu = u64::from(self.settings.mtu);
        loop {
            let Unit { cut, read, .. } = self.units[unit];
            let to = job.there.after(cut);
            let bytes = (job.bytes - cut).min(mtu - to.byte % mtu);
            if bytes == 0 || cut + bytes > read {
                break;
            }
            let packet = Outbound {
                node: job.node,
                header: Host::header(&job, to, bytes),
                payload: bytes as u16,
                from: Some(job.here.after(cut)),
                buffered: bytes,
                tells_left: job.tells_left,
                story,
            };
            self.units[unit].cut += bytes;
            self.units[unit].packets.push(packet);
        }
        if self.units[unit].cut == job.bytes {
            self.units[unit].cut = 0;
            self.units[unit].read = 0;
        }
        self.transmit();
    }

    /// The network interface takes packets of units, in turns, for the NIC ports that have room, in turns.
    pub(super) fn transmit(&mut self) {
        let (units, rails) = (self.units.len(), self.in_port.len());
        loop {
            let mut turns = (0..units).map(|step| (self.unit_turn + step) % units);
            let unit = turns.find(|&unit| !self.units[unit].packets.is_empty());
            let mut turns = (0..rails).map(|step| (self.rail_turn + step) % rails);
            let rail = turns.find(|&rail| self.in_port[rail] < self.settings.port_packets);
            let (Some(unit), Some(rail)) = (unit, rail) else { return };
            (self.unit_turn, self.rail_turn) = ((unit + 1) % units, (rail + 1) % rails);
            self.in_port[rail] += 1;
            let packet = self.units[unit].packets.remove(0);
            self.around
                .ask(self.around.after(self.settings.transmit), Due::Handed(RailId(rail as u32), packet));
            self.units[unit].buffered -= packet.buffered;
            self.ask_for_data(unit);
        }
    }

    /// A packet is at the NIC port.
    pub(super) fn handed(&mut self, rail: RailId, mut packet: Outbound) {
        packet.story.pass(Part::Interface, self.around.at);
        let data = packet.from.and_then(|from| self.around.memory.read(from, packet.header.bytes));
        let content = Content { header: packet.header, story: packet.story, data };
        let number = self.around.hand(packet.node, rail, packet.payload, content);
        self.in_source_queues.push((rail, number, packet));
        self.counts.packets += 1;
        if packet.tells_left {
            let header = &packet.header;
            // A get has one packet, without data.
            let bytes = if packet.from.is_some() { header.bytes } else { header.of };
            self.leaving.push((header.name, bytes));
        }
    }

    /// A packet has left the source queue of a NIC port.
    pub(super) fn has_left(&mut self, rail: RailId, number: u64) {
        let place = self.in_source_queues.iter().position(|it| (it.0, it.1) == (rail, number));
        let (_, _, packet) = self.in_source_queues.remove(place.expect("a packet leaves where it was"));
        self.in_port[rail.index()] -= 1;
        if packet.tells_left && self.has_left_whole(&packet) {
            let (name, mut story) = (packet.header.name, packet.story);
            story.pass_stage(Stage::NicPort, self.around.at);
            self.begin_event(name.1, completion(CompletionKind::Left, name, packet.header.of, story));
        }
        self.transmit();
    }

    /// Whether all packets of an operation have been handed to NIC ports, and none is in a source queue.
    fn has_left_whole(&mut self, packet: &Outbound) -> bool {
        let is_of = |name: Name| name == packet.header.name;
        let handed: u64 = self.leaving.iter().filter(|(name, _)| is_of(*name)).map(|it| it.1).sum();
        let waits =
            self.in_source_queues.iter().any(|(_, _, other)| other.tells_left && is_of(other.header.name));
        let is_whole = handed == packet.header.of && !waits;
        if is_whole {
            self.leaving.retain(|(name, _)| !is_of(*name));
        }
        is_whole
    }
}

/// Completion of an operation.
pub(super) fn completion(
    what: CompletionKind,
    (node, process, number): Name,
    bytes: u64,
    story: Story,
) -> Completion {
    Completion { what, number, node, process, bytes, story }
}
