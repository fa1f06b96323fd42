//! The host and the NIC of TH Express-2, as `flitway_nic::host` and `flitway_nic::th` say it, sentence by sentence.
//!
//! What is due stands in one list, of which the first is looked for; what waits stands in lists in the order in which it came.
//! The fabric around it is the fast one: it has its own reference models.

mod bus;
mod connection;
mod engine;
mod processor;
mod receive;
mod submission;
mod system;
mod translation;

use crate::host::model::{Around, Model, Modelled};
use crate::host::noise::Noise;
use crate::host::translation::Translations;
use bus::{Bus, Read};
use connection::{Connections, Saying};
use engine::{Job, Outbound, Unit};
use flitway_engine::Picos;
use flitway_fabric::Delivery;
use flitway_nic::Place;
use flitway_nic::host::atc::AtcCounts;
use flitway_nic::host::memory::{Address, Memory};
use flitway_nic::host::program::{Completion, Operation, Program, Verb};
use flitway_nic::host::story::{Stage, Story, Unit as Part};
use flitway_nic::host::{AnyHost, HostCounts, Surroundings};
use flitway_nic::th::end_to_end::{ContextUse, DataTag, Message};
use flitway_nic::th::{ThCounts, ThSettings};
use flitway_wiring::{NodeId, RailId};
use processor::Processor;
use receive::{Arrived, Ring};
use submission::{Descriptor, Queue};
use system::{Record, System};
use translation::Waiter;

/// What a packet says.
#[derive(Clone, Debug)]
pub enum Parcel {
    /// Data, or it asks for data.
    Data(Box<Content>),
    /// What one end of a reliable transfer says to the other.
    Said(Message),
}

/// What a packet with data, or that asks for data, says.
#[derive(Clone, Debug)]
pub struct Content {
    header: Header,
    story: Story,
    data: Option<Box<[u8]>>,
    /// What names it, if it is reliable.
    tag: Option<DataTag>,
}

/// Which operation: its node, its process, its number there.
type Name = (NodeId, u8, u64);

/// What a packet says but for its data.
#[derive(Clone, Copy, Debug)]
struct Header {
    name: Name,
    verb: Verb,
    /// It is the answer to a get, and not what asks for it.
    is_answer: bool,
    /// Where the data go, in the node that it is for; where a request reads.
    to: Address,
    /// Data of the packet in bytes.
    bytes: u64,
    /// Data of the operation in bytes.
    of: u64,
    /// Of a request: where the data go that it asks for.
    back: Address,
    /// The data count as a control packet.
    triggers: bool,
    /// The key of the process that has posted the operation, and whether its addresses are physical.
    key: u32,
    is_physical: bool,
}

/// What is due.
#[derive(Debug)]
enum Due {
    /// A processor may be free.
    Free(u8),
    /// Memory has completion for a process, from one of its rings; of a transfer to a receiver context if it is reliable.
    Visible(u8, Ring, Completion, Option<ContextUse>),
    /// The process has seen them.
    Seen(u8, Ring, Completion),
    /// A processor has written a burst of so many bytes of a descriptor, or of its doorbell; it may be the last.
    Burst(Queue, Descriptor, u32, bool),
    /// The NIC has a descriptor in a queue on the chip.
    Written(usize, Descriptor),
    /// The NIC hears the doorbell of a queue in memory.
    Rung(usize, Descriptor),
    /// A process knows that its queue has room for so many more.
    Room(Queue, u32),
    /// Memory has what is read.
    Fetched(Read),
    /// The NIC has it.
    HasRead(Read),
    /// A unit may take a descriptor.
    Ready(usize),
    /// A unit has decoded one.
    Decoded(usize, Job, Story),
    /// A packet is handed to the NIC port of a rail.
    Handed(RailId, Outbound),
    /// What is said is handed to it.
    Said(RailId, Saying),
    /// A packet has been parsed.
    Parsed(Delivery, Parcel),
    /// So many bytes of the receive buffer are free.
    Left(u64),
    /// Memory has bytes.
    Landed(Address, Box<[u8]>),
    /// Memory has all data of a put that triggers.
    Triggers(u8, Story),
    /// The NIC knows that so many entries of a ring are free.
    Entries(u8, Ring, u32),
    /// What waits for an entry has waited long enough.
    GivesUp(u8, Ring, u64),
    /// The date of the timer of a sender context.
    SenderTimer(ContextUse),
    /// The date of the timer of a receiver context.
    ReceiverTimer(ContextUse),
    /// A sender has backed off.
    BackedOff(ContextUse),
    /// The NIC hears that a process sleeps.
    Sleeps(u8),
    /// Memory has a record of the INTQ, and its interrupt.
    Recorded(Record),
    /// The system software has handled one.
    Handled(Record),
    /// The NIC knows that so many entries of the INTQ are free, or of the EPQ.
    FreeOfRecords(u32),
    FreeOfPackets(u32),
    /// A process that sleeps is woken.
    Wakes(u8),
}

/// A host with its NIC and its programs.
#[derive(Debug)]
struct Host {
    around: Around<Parcel, Due>,
    settings: ThSettings,
    processors: Vec<Processor>,
    bus: Bus,
    /// Descriptors on the chip: those of each HDQ, then those of each SDQ, then requests of other nodes.
    sources: Vec<Vec<Descriptor>>,
    /// By process: control packets that are kept for it.
    kept: Vec<Vec<Story>>,
    /// By source: the story of what was taken from it last, until then.
    taken_last: Vec<Option<Story>>,
    /// Which source the next search begins with.
    source_turn: usize,
    /// By SDQ: descriptors in memory that the NIC knows of; those that are read.
    known: Vec<Vec<Descriptor>>,
    reading: Vec<Vec<Descriptor>>,
    /// Which SDQ the next search begins with.
    sdq_turn: usize,
    /// By group: descriptors that it still has room for.
    group_room: Vec<u32>,
    /// Those that take descriptors, then the one that sends again.
    units: Vec<Unit>,
    /// Since when all units are busy, if they are, and for how long they have been before.
    all_busy_since: Option<u64>,
    all_busy: u64,
    /// Which unit the network interface looks at first, and the rail that comes next.
    unit_turn: usize,
    rail_turn: usize,
    /// What the network interface took last was something that is said.
    has_said: bool,
    /// By rail: packets in the source queue or on their way there.
    in_port: Vec<u32>,
    /// Packets in source queues: rail, content, and what was sent, unless it was said.
    in_source_queues: Vec<(RailId, u64, Option<Outbound>)>,
    /// Bytes that have been handed over, of operations of which not all have left and that want to know.
    leaving: Vec<(Name, u64)>,
    /// Packets in the NIC ports, in the order of delivery.
    arrived: Vec<Arrived>,
    /// Bytes of the receive buffer that are free.
    buffer: u64,
    /// What has been written of operations of which not all has.
    written: Vec<(Name, u64)>,
    /// By process: MPQ and EQ.
    rings: Vec<[receive::RingState; 2]>,
    atc: Translations<Waiter>,
    connections: Connections,
    system: System,
    counts: ThCounts,
}

/// The host of the node that `place` names, with a processor for each of `programs`.
#[must_use]
pub fn host(
    settings: &ThSettings,
    place: Place,
    memory: Memory,
    programs: Vec<Box<dyn Program>>,
    surroundings: Surroundings<Parcel>,
) -> Box<dyn AnyHost> {
    let ThSettings { hdqs, hdq_depth, sdqs, sdq_depth, sdq_groups, group_room, .. } = *settings;
    let (processes, sdqs) = (programs.len(), sdqs as usize);
    let mut host = Host {
        around: Around::new(place, memory, surroundings),
        settings: *settings,
        processors: (0..)
            .zip(programs)
            .map(|(process, it)| (Noise::of(place, process, &*it), it))
            .map(|(noise, it)| Processor::new(it, noise, hdq_depth, sdq_depth))
            .collect(),
        bus: Bus::new(settings.host.bus),
        sources: vec![Vec::new(); hdqs as usize + sdqs + 1],
        kept: vec![Vec::new(); sdqs.max(hdqs as usize)],
        taken_last: vec![None; hdqs as usize + sdqs + 1],
        source_turn: 0,
        known: vec![Vec::new(); sdqs],
        reading: vec![Vec::new(); sdqs],
        sdq_turn: 0,
        group_room: vec![group_room; sdq_groups as usize],
        units: (0..=settings.units).map(|_| Unit::default()).collect(),
        all_busy_since: None,
        all_busy: 0,
        unit_turn: 0,
        rail_turn: 0,
        has_said: false,
        in_port: vec![0; place.rails as usize],
        in_source_queues: Vec::new(),
        leaving: Vec::new(),
        arrived: Vec::new(),
        buffer: settings.receive_buffer.into(),
        written: Vec::new(),
        rings: (0..processes).map(|_| receive::rings(settings)).collect(),
        atc: Translations::new(&settings.atc),
        connections: Connections::new(settings),
        system: System::new(settings, processes),
        counts: ThCounts::default(),
    };
    (0..processes).for_each(|process| host.around.ask(Picos(0), Due::Free(process as u8)));
    Box::new(Modelled(host))
}

impl Model for Host {
    type Content = Parcel;
    type Due = Due;

    fn around(&self) -> &Around<Parcel, Due> {
        &self.around
    }

    fn around_mut(&mut self) -> &mut Around<Parcel, Due> {
        &mut self.around
    }

    fn handle(&mut self, due: Due) {
        match due {
            Due::Free(process) => self.next_task(process),
            Due::Visible(process, ring, completion, receiver) => {
                self.visible(process, ring, completion, receiver);
            }
            Due::Seen(process, ring, completion) => self.seen(process, ring, &completion),
            Due::Burst(queue, descriptor, bytes, is_last) => self.burst(queue, descriptor, bytes, is_last),
            Due::Written(queue, descriptor) => self.in_hdq(queue, descriptor),
            Due::Rung(queue, descriptor) => self.rung(queue, descriptor),
            Due::Room(queue, count) => self.has_room(queue, count),
            Due::Fetched(read) => self.complete(read),
            Due::HasRead(read) => self.has_read(read),
            Due::Ready(unit) => self.unit_ready(unit),
            Due::Decoded(unit, job, story) => self.decoded(unit, job, story),
            Due::Handed(rail, packet) => self.handed(rail, packet),
            Due::Said(rail, saying) => self.handed_saying(rail, saying),
            Due::Parsed(delivery, parcel) => self.parsed(&delivery, parcel),
            Due::Left(bytes) => self.has_left_buffer(bytes),
            Due::Landed(to, data) => self.around.memory.write(to, &data),
            Due::Triggers(process, story) => {
                self.keep(process, story);
                self.schedule();
            }
            Due::Entries(process, ring, count) => self.entries_free(process, ring, count),
            Due::GivesUp(process, ring, number) => self.gives_up(process, ring, number),
            Due::SenderTimer(sender) => self.sender_date(sender),
            Due::ReceiverTimer(receiver) => self.receiver_date(receiver),
            Due::BackedOff(sender) => self.backed_off(sender),
            Due::Sleeps(process) => self.hears_of_sleep(process),
            Due::Recorded(record) => self.recorded(record),
            Due::Handled(record) => self.handled(record),
            Due::FreeOfRecords(count) => self.records_taken(count),
            Due::FreeOfPackets(count) => self.system.packets.free += count,
            Due::Wakes(process) => self.wake(process, self.settings.interrupt),
        }
    }

    fn receive(&mut self, delivery: &Delivery, parcel: Parcel) {
        self.arrive(delivery, parcel);
    }

    fn sent(&mut self, rail: RailId, number: u64) {
        self.has_left(rail, number);
    }

    fn program(&self, process: usize) -> &dyn Program {
        &*self.processors[process].program
    }

    fn counts(&self, at: Picos) -> HostCounts {
        let AtcCounts { hits, misses, replaced } = self.atc.counts;
        let now_busy = self.all_busy_since.map_or(0, |since| at.0 - since);
        let mut nic = self.counts.named().to_vec();
        nic.extend([
            ("translations in the ATC", hits),
            ("translations read from memory", misses),
            ("translations replaced", replaced),
        ]);
        nic.extend(self.connections.counts());
        HostCounts {
            bus: self.bus.counts,
            busy: self.processors.iter().map(|processor| processor.busy).collect(),
            nic,
            full: vec![("units of the protocol engine", self.all_busy + now_busy)],
            ..HostCounts::default()
        }
    }

    fn is_idle(&self) -> bool {
        self.bus.is_idle()
            && self.sources.iter().chain(&self.known).chain(&self.reading).all(Vec::is_empty)
            && self.kept.iter().all(Vec::is_empty)
            && self.units.iter().all(Unit::is_idle)
            && self.in_port.iter().all(|&count| count == 0)
            && self.leaving.is_empty()
            && self.arrived.is_empty()
            && self.written.is_empty()
            && self.rings.iter().flatten().all(receive::RingState::is_idle)
            && self.atc.is_idle()
            && self.connections.is_idle()
            && self.system.waiting.is_empty()
    }
}
