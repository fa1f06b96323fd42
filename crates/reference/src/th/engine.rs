//! The protocol engine: units, transfers, and the network interface that sends their packets.

use super::bus::Purpose;
use super::connection::Saying;
use super::submission::Descriptor;
use super::translation::Waiter;
use super::{
    Address, Completion, Content, Due, Header, Host, Name, NodeId, Operation, Parcel, Part, RailId, Stage,
    Story, Verb,
};
use crate::host::translation::Page;
use flitway_nic::host::program::{Collective, CompletionKind};
use flitway_nic::th::end_to_end::{ContextUse, DataTag};
use flitway_nic::th::{CONTROL, REQUEST};

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
    pub(super) is_reliable: bool,
    /// Its context, if it is reliable and a unit has taken it.
    pub(super) sender: Option<ContextUse>,
    /// What is read of its data: all, or those of a packet that is sent again.
    pub(super) begin: u64,
    pub(super) end: u64,
    /// That packet.
    pub(super) again: Option<DataTag>,
    /// What it has to do with other processes; `further` nodes are left.
    pub(super) collective: Collective,
    /// To how many nodes it goes in all.
    pub(super) nodes: u64,
    /// The key of the process that has posted it, whether its addresses are physical, and whether it is illegal.
    pub(super) key: u32,
    pub(super) is_physical: bool,
    pub(super) is_illegal: bool,
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
            is_reliable: operation.is_reliable,
            sender: None,
            begin: 0,
            end: operation.bytes,
            again: None,
            collective: operation.collective,
            nodes: u64::from(operation.collective.further) + 1,
            key: 0,
            is_physical: false,
            is_illegal: false,
        }
    }
}

/// A packet that a unit has made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outbound {
    pub(super) node: NodeId,
    pub(super) header: Header,
    pub(super) payload: u16,
    /// Where its data are in this node, if it has any.
    pub(super) from: Option<Address>,
    /// Bytes in the buffer of the unit.
    pub(super) buffered: u64,
    pub(super) tells_left: bool,
    /// Of how many nodes all packets have to leave, before its operation has.
    pub(super) nodes: u64,
    /// Its context and what names it, if it is reliable; the latter when it can be sent.
    pub(super) sender: Option<ContextUse>,
    pub(super) tag: Option<DataTag>,
    pub(super) story: Story,
}

#[derive(Debug, Default)]
pub(super) struct Unit {
    pub(super) is_busy: bool,
    /// A collective descriptor that has nodes left, for the next of them, and its story until its last node.
    pub(super) left: Option<(Job, Story)>,
    /// The transfer that it asks data for.
    pub(super) asking: Option<Transfer>,
    /// Bytes that it has asked for and not sent on.
    pub(super) buffered: u64,
    /// Reads under way: of which job, how much, and its story; then what has been read and not cut.
    reads: Vec<(Job, u64, Story)>,
    /// Bytes that have been cut of the job that is read now, and that have been read of it.
    cut: u64,
    read: u64,
    pub(super) packets: Vec<Outbound>,
}

#[derive(Debug)]
pub(super) struct Transfer {
    job: Job,
    asked: u64,
    page: Option<Page>,
    waits: bool,
    story: Story,
}

impl Transfer {
    pub(super) fn of(job: Job, story: Story) -> Self {
        Transfer { job, asked: job.begin, page: None, waits: false, story }
    }
}

impl Unit {
    pub(super) fn is_idle(&self) -> bool {
        !self.is_busy
            && self.left.is_none()
            && self.asking.is_none()
            && self.reads.is_empty()
            && self.packets.is_empty()
    }
}

impl Host {
    /// `unit` takes a descriptor.
    pub(super) fn take(&mut self, unit: usize, descriptor: Descriptor) {
        let Descriptor { mut job, mut story, by, .. } = descriptor;
        story.pass(Part::Submission, self.around.at);
        if by.is_some() {
            self.is_taken_of_its_process(&mut job);
        }
        self.carry_out(unit, job, story);
    }

    /// `unit` takes what a descriptor says of one node.
    pub(super) fn carry_out(&mut self, unit: usize, mut job: Job, mut story: Story) {
        self.units[unit].is_busy = true;
        if job.collective.further > 0 {
            let collective = Collective { further: job.collective.further - 1, ..job.collective };
            let next = Job { node: NodeId(job.node.0 + 1), collective, ..job };
            self.units[unit].left = Some((next, story));
        }
        if self.units[..self.settings.units as usize].iter().all(|unit| unit.is_busy) {
            self.all_busy_since = Some(self.around.at.0);
        }
        if job.is_reliable && !job.is_illegal {
            self.take_context(unit, &mut job);
        }
        let decoded = self.around.after(self.settings.decode);
        story.pass(Part::Engine, decoded);
        if !self.is_transfer(&job) {
            self.around.ask(self.around.after(self.settings.interval), Due::Ready(unit));
        }
        self.around.ask(decoded, Due::Decoded(unit, job, story));
    }

    /// Whether a descriptor neither holds its data nor asks for data.
    pub(super) fn is_transfer(&self, job: &Job) -> bool {
        match job.verb {
            _ if job.is_illegal => false,
            Verb::Send | Verb::Control | Verb::Event => false,
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
        if let Some(sender) = job.sender {
            self.set_up(sender, story);
        }
        if self.is_transfer(&job) {
            self.units[unit].asking = Some(Transfer::of(job, story));
            self.ask_for_data(unit);
            return;
        }
        if job.is_illegal {
            let failed = completion(CompletionKind::Failed, job.name, job.bytes, story);
            self.begin_event(job.name.1, failed, None);
            return;
        }
        if job.verb == Verb::Event {
            let reached = completion(CompletionKind::Reached, job.name, job.bytes, story);
            self.begin_event(job.name.1, reached, None);
            return;
        }
        let packet = Host::whole(&job, None, story);
        match job.sender {
            Some(sender) => self.is_there(sender, packet),
            None => self.units[unit].packets.push(packet),
        }
        self.transmit();
    }

    /// The packet of a descriptor that holds its data, or asks for data.
    pub(super) fn whole(job: &Job, tag: Option<DataTag>, story: Story) -> Outbound {
        let header = Host::header(job, job.there, job.bytes);
        let (payload, from) = match job.verb {
            Verb::Send | Verb::Put => (job.bytes as u16, Some(job.here)),
            Verb::Control => (CONTROL, None),
            _ => (REQUEST, None),
        };
        let Job { node, nodes, sender, .. } = *job;
        let tells_left = job.tells_left && !job.is_reliable;
        Outbound { node, header, payload, from, buffered: 0, tells_left, nodes, sender, tag, story }
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
            triggers: job.collective.triggers,
            key: job.key,
            is_physical: job.is_physical,
        }
    }

    /// Whether the transfer that a unit asks data for has been dropped.
    fn asks_for_dropped(&self, unit: usize) -> bool {
        let asking = self.units[unit].asking.as_ref().map(|transfer| transfer.job);
        let sender = asking.filter(|job| job.again.is_none()).and_then(|job| job.sender);
        sender.is_some_and(|sender| self.connections.is_dropped(sender))
    }

    /// A unit asks for no more data of a transfer that has been dropped.
    fn end_asking(&mut self, unit: usize) {
        let state = &mut self.units[unit];
        let Some(Transfer { job, asked, .. }) = state.asking.take() else { return };
        let reads =
            state.reads.iter_mut().filter(|read| read.0.sender == job.sender && read.0.again.is_none());
        let mut are_left = false;
        for (job, ..) in reads {
            are_left = true;
            (job.end, job.bytes) = (asked, asked);
        }
        if !are_left && asked > 0 {
            // All reads of it are there, and it was the last one that was read.
            state.buffered -= state.read - state.cut;
            (state.read, state.cut) = (0, 0);
        }
        self.unit_ready(unit);
    }

    /// A unit asks for data, as long as they fit, and the page is known.
    pub(super) fn ask_for_data(&mut self, unit: usize) {
        let greatest = u64::from(self.settings.host.bus.read_request);
        if self.asks_for_dropped(unit) && !self.units[unit].asking.as_ref().is_some_and(|it| it.waits) {
            self.end_asking(unit);
            return;
        }
        loop {
            let Unit { asking, buffered, .. } = &mut self.units[unit];
            let Some(transfer) = asking else { return };
            let from = transfer.job.here.after(transfer.asked);
            let left = transfer.job.end - transfer.asked;
            let bytes = left.min(greatest - from.byte % greatest);
            if transfer.waits || *buffered + bytes > self.settings.unit_buffer.into() {
                return;
            }
            transfer.story.pass(Part::Engine, self.around.at);
            let page = (from.process, from.byte / self.settings.atc.page);
            if transfer.page != Some(page) && !transfer.job.is_physical {
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
        transfer.waits = false;
        if self.asks_for_dropped(unit) {
            self.end_asking(unit);
            return;
        }
        let transfer = self.units[unit].asking.as_ref().expect("a transfer waits");
        let from = transfer.job.here.byte + transfer.asked;
        let bytes = (transfer.job.end - transfer.asked).min(greatest - from % greatest);
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
        let has_asked_all = transfer.asked == transfer.job.end;
        self.read(Purpose::Data(unit), bytes as u32);
        if has_asked_all {
            self.units[unit].asking = None;
            if unit == self.settings.units as usize {
                self.send_again();
            } else {
                self.unit_ready(unit);
            }
        }
    }

    /// Data of a unit are there: packets are, of which these were the last.
    pub(super) fn data_read(&mut self, unit: usize, bytes: u64) {
        let (job, asked, mut story) = self.units[unit].reads.remove(0);
        assert_eq!(asked, bytes, "reads are completed in order");
        story.pass(Part::Read, self.around.at);
        self.units[unit].read += bytes;
        loop {
            let Unit { cut, read, .. } = self.units[unit];
            let cut = job.begin + cut;
            let bytes = self.cut(&job, cut);
            if cut == job.end || cut + bytes > job.begin + read {
                break;
            }
            let packet = Outbound {
                node: job.node,
                header: Host::header(&job, job.there.after(cut), bytes),
                payload: bytes as u16,
                from: Some(job.here.after(cut)),
                buffered: bytes,
                tells_left: job.tells_left && !job.is_reliable,
                nodes: job.nodes,
                sender: job.sender,
                tag: job.again,
                story,
            };
            self.units[unit].cut += bytes;
            self.cut_is_there(unit, packet);
        }
        if self.units[unit].cut == job.end - job.begin {
            self.units[unit].cut = 0;
            self.units[unit].read = 0;
        }
        self.transmit();
    }

    /// Data of the next packet of a transfer, from `cut` on.
    fn cut(&self, job: &Job, cut: u64) -> u64 {
        let mtu = u64::from(self.settings.mtu);
        match job.is_reliable {
            true => self.reliable_cut(job, cut),
            false => (job.bytes - cut).min(mtu - job.there.after(cut).byte % mtu),
        }
    }

    /// The data of a packet are there.
    fn cut_is_there(&mut self, unit: usize, packet: Outbound) {
        match packet.sender {
            Some(sender) if packet.tag.is_none() && self.connections.is_dropped(sender) => {
                self.units[unit].buffered -= packet.buffered;
                self.ask_for_data(unit);
            }
            Some(sender) if packet.tag.is_none() => self.is_there(sender, packet),
            Some(sender) if !self.connections.lives(sender) => {
                self.units[unit].buffered -= packet.buffered;
                self.ask_for_data(unit);
            }
            _ => self.units[unit].packets.push(packet),
        }
    }

    /// The network interface takes what is said, then packets of units, in turns, for the NIC ports that have room, in turns.
    pub(super) fn transmit(&mut self) {
        let (units, rails) = (self.units.len(), self.in_port.len());
        loop {
            let mut turns = (0..units).map(|step| (self.unit_turn + step) % units);
            let unit = turns.find(|&unit| !self.units[unit].packets.is_empty());
            let mut turns = (0..rails).map(|step| (self.rail_turn + step) % rails);
            let rail = turns.find(|&rail| self.in_port[rail] < self.settings.port_packets);
            let Some(rail) = rail else { return };
            let handed = self.around.after(self.settings.transmit);
            if !self.connections.said.is_empty() && (unit.is_none() || !self.has_said) {
                self.has_said = true;
                self.rail_turn = (rail + 1) % rails;
                self.in_port[rail] += 1;
                let saying = self.connections.said.remove(0);
                self.around.ask(handed, Due::Said(RailId(rail as u32), saying));
                continue;
            }
            let Some(unit) = unit else { return };
            self.has_said = false;
            (self.unit_turn, self.rail_turn) = ((unit + 1) % units, (rail + 1) % rails);
            self.in_port[rail] += 1;
            let packet = self.units[unit].packets.remove(0);
            self.around.ask(handed, Due::Handed(RailId(rail as u32), packet));
            self.units[unit].buffered -= packet.buffered;
            self.ask_for_data(unit);
        }
    }

    /// A packet is at the NIC port.
    pub(super) fn handed(&mut self, rail: RailId, mut packet: Outbound) {
        if let Some(sender) = packet.sender {
            self.begin_sender_timer(sender);
        }
        packet.story.pass(Part::Interface, self.around.at);
        let data = packet.from.and_then(|from| self.around.memory.read(from, packet.header.bytes));
        let content = Content { header: packet.header, story: packet.story, data, tag: packet.tag };
        let more = if packet.tag.is_some() { self.settings.end_to_end.overhead } else { 0 };
        let payload = packet.payload + more as u16;
        let number = self.around.hand(packet.node, rail, payload, Parcel::Data(Box::new(content)));
        self.in_source_queues.push((rail, number, Some(packet)));
        self.counts.packets += 1;
        if packet.tells_left {
            let header = &packet.header;
            // A get has one packet, without data, and so has what is said to a node by a control packet.
            let bytes = match header.verb {
                Verb::Control => 1,
                _ if packet.from.is_some() => header.bytes,
                _ => header.of,
            };
            self.leaving.push((header.name, bytes));
        }
    }

    /// What is said is at the NIC port.
    pub(super) fn handed_saying(&mut self, rail: RailId, saying: Saying) {
        let Saying { to, message, timer } = saying;
        if let Some(sender) = timer {
            self.begin_sender_timer(sender);
        }
        let payload = self.settings.end_to_end.control as u16;
        let number = self.around.hand(to, rail, payload, Parcel::Said(message));
        self.in_source_queues.push((rail, number, None));
        self.counts.packets += 1;
    }

    /// A packet has left the source queue of a NIC port.
    pub(super) fn has_left(&mut self, rail: RailId, number: u64) {
        let place = self.in_source_queues.iter().position(|it| (it.0, it.1) == (rail, number));
        let (_, _, packet) = self.in_source_queues.remove(place.expect("a packet leaves where it was"));
        self.in_port[rail.index()] -= 1;
        if let Some(packet) = packet
            && packet.tells_left
            && self.has_left_whole(&packet)
        {
            let (name, mut story) = (packet.header.name, packet.story);
            story.pass_stage(Stage::NicPort, self.around.at);
            self.begin_event(name.1, completion(CompletionKind::Left, name, packet.header.of, story), None);
        }
        self.transmit();
    }

    /// Whether all packets of an operation have been handed to NIC ports, and none is in a source queue.
    fn has_left_whole(&mut self, packet: &Outbound) -> bool {
        let is_of = |name: Name| name == packet.header.name;
        let handed: u64 = self.leaving.iter().filter(|(name, _)| is_of(*name)).map(|it| it.1).sum();
        let mut in_source_queues = self.in_source_queues.iter().filter_map(|it| it.2);
        let waits = in_source_queues.any(|other| other.tells_left && is_of(other.header.name));
        let of_a_node = if packet.header.verb == Verb::Control { 1 } else { packet.header.of };
        let is_whole = handed == of_a_node * packet.nodes && !waits;
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
