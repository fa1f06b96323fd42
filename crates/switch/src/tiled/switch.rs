//! A switch: what it has to do, and when.
//!
//! Packets move as a whole, so each stage has one decision for a packet. An [`Agenda`] has a slot for each arbiter, in the
//! order of the steps of a cycle in `tiled/mod.rs`; a slot that finds nothing to do does nothing, and one that could not do
//! something asks for itself again when what it waits for comes, as far as known. Room is given back when somebody looks, at
//! its date. The main flow: [`Switch::receive`], then `accept.rs`, `row.rs`, `subswitch.rs` and `output.rs`.

mod accept;
mod any;
mod deadlock;
mod links;
mod output;
mod row;
mod subswitch;
mod told;

use super::link::{Out, Receiver, Sender};
use super::mask::Mask;
use super::packet_state::{self, Arrival, Inbox, PacketState};
use super::room::{Parts, Room};
use super::settings::VCS_MAX;
use super::{Cx, Shared, Tiled};
use flitway_engine::agenda::Agenda;
use flitway_engine::{Cycle, prefetch};
use flitway_fabric::arbiter::{ArbiterBank, WideBank};
use flitway_fabric::bits::{WideMask, bits};
use flitway_fabric::component::{PostOf, Rest, Stage, SwitchModel};
use flitway_fabric::deadlock::Waiting;
use flitway_fabric::observer::Observer;
use flitway_fabric::pool::{List, Pool, Ring, Slot};
use flitway_fabric::simulation::{Conservation, Wires};
use flitway_wiring::topology::End;
use flitway_wiring::{PortId, SwitchId};
use subswitch::Offers;
use told::Told;

pub(super) use any::AnySwitch;
pub(super) use told::Loads;

/// The steps of a cycle, each with a slot for every port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Link,
    Accept,
    Row,
    Subswitch,
    Output,
    Ack,
}

impl Step {
    const COUNT: usize = Step::Ack as usize + 1;
}

/// The input buffer of a port, with its row bus; a cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Input {
    /// Packets on the link, by the cycle in which they are accepted.
    coming: List,
    receiver: Receiver,
    /// When the row bus is free, and the packet that goes over it has left the buffer.
    free_at: Cycle,
}

const _: () = assert!(size_of::<Input>() == 64, "an input is one cache line");

impl Input {
    /// What has left the buffer by cycle `now` has given back its room.
    #[inline]
    fn settle(&mut self, shared: &Shared, now: Cycle) {
        if self.free_at <= now {
            self.receiver.end_leaving(shared, self.free_at);
        }
    }
}

/// A row or a column buffer, as the one that writes into it and the one that reads know it; a cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Buffer {
    /// When the packet that is read has left, and nothing before.
    free_at: Cycle,
    /// Of that packet: flits that give back their room then, and their virtual channel.
    leaving: u16,
    vc: u8,
    /// Virtual channels of which there is a packet.
    waiting: u8,
    /// A packet has found no room, and none comes back before the next one is read: who writes into it looks again then.
    is_short: bool,
    room: Room,
    /// By virtual channel.
    queues: [Ring; VCS_MAX],
}

const _: () = assert!(size_of::<Buffer>() == 64, "a buffer is one cache line");

impl Buffer {
    /// Whether a packet of so many flits has room on `vc` in cycle `now`.
    #[inline]
    fn has_room(&mut self, parts: Parts, now: Cycle, vc: usize, flits: u32) -> bool {
        self.settle(parts, now);
        self.room.has(parts, vc, flits)
    }

    #[inline]
    fn settle(&mut self, parts: Parts, now: Cycle) {
        if self.leaving > 0 && self.free_at <= now {
            self.room.give_back(parts, self.vc.into(), self.leaving.into());
            self.leaving = 0;
        }
    }

    /// When more room comes, as far as known, for a packet that has found none.
    #[inline]
    fn room_at(&mut self) -> Cycle {
        self.is_short = self.leaving == 0;
        if self.is_short { Cycle::NEVER } else { self.free_at }
    }

    /// Takes the first packet of `vc` out, which is read from cycle `now` on; `free_at` is still to be set.
    #[inline]
    fn read(&mut self, states: &mut Pool<PacketState>, parts: Parts, now: Cycle, vc: usize) -> Slot {
        self.settle(parts, now);
        let slot = states.unlink_from_ring(&mut self.queues[vc]);
        (self.leaving, self.vc) = (states[slot].flits, vc as u8);
        if self.queues[vc].is_empty() {
            self.waiting &= !(1 << vc);
        }
        slot
    }

    /// Puts the packet in `slot` into it, on `vc`.
    #[inline]
    fn write(&mut self, states: &mut Pool<PacketState>, parts: Parts, slot: Slot, vc: usize) {
        self.room.take(parts, vc, states[slot].flits.into());
        states.link_to_ring(&mut self.queues[vc], slot);
        self.waiting |= 1 << vc;
    }
}

/// The link of a port, and what waits for it; two cache lines.
#[derive(Debug)]
#[repr(align(64))]
struct Output {
    /// None at a port that is not wired.
    sender: Option<Sender>,
    /// By virtual channel: flits of the packets that have taken it and have not given back their room at the other end.
    load: [u32; VCS_MAX],
    /// Packets in its column buffers.
    waiting: u32,
    /// They wait for an acknowledgement: none of them had room at the other end.
    is_starved: bool,
}

const _: () = assert!(size_of::<Output>() == 128, "an output is two cache lines");

/// A switch whose sets of rows and of columns are `M`.
#[derive(Debug)]
pub(super) struct Switch<M: Mask> {
    number: u32,
    here: SwitchId,
    rows: usize,
    columns: usize,
    vcs: usize,
    /// By tile: its row and column.
    places: Box<[(u16, u16)]>,
    /// Slots of a step: a power of two.
    step_bits: u32,
    port_mask: usize,
    agenda: Agenda,
    inputs: Box<[Input]>,
    /// By input, virtual channel and column: packets; by input and virtual channel: columns of which there are some; by input:
    /// virtual channels of which there are some.
    input_queues: Box<[Ring]>,
    input_columns: Box<[M]>,
    input_vcs: Box<[u8]>,
    /// By tile and column of the input: buffers of the inputs of its row.
    rows_in: Box<[Buffer]>,
    /// By tile: row buffers that are not empty, by column of the input.
    offering: Box<[M]>,
    /// By tile and row: when the channel to that row is free.
    channels: Box<[Cycle]>,
    /// By output and row.
    columns_in: Box<[Buffer]>,
    /// By output: column buffers that are not empty, by row.
    leaving: Box<[M]>,
    outputs: Box<[Output]>,
    /// By port: when its next look at acknowledgements is, of which there is none before.
    ack_looks: Box<[Cycle]>,
    arbiters: Arbiters<M>,
    offers: Offers<M>,
    /// Where it chooses by loads of other switches, too.
    told: Option<Box<Told>>,
    /// Flits of packets that have been accepted and that no link has begun.
    inside: u64,
    /// Outputs whose packets wait for an acknowledgement.
    starved: u32,
    /// When it dies, and whether it has.
    death: Cycle,
    is_dead: bool,
}

/// The arbiters of a switch.
#[derive(Debug)]
struct Arbiters<M: Mask> {
    /// By input, over virtual channels; by input and virtual channel, over columns.
    bus_vc: ArbiterBank,
    bus_column: M::Bank,
    /// By row buffer, over virtual channels; by tile and row, over the columns of inputs.
    buffer_vc: ArbiterBank,
    channel: M::Bank,
    /// By output, over virtual channels; by output and virtual channel, over rows.
    output_vc: ArbiterBank,
    output_row: M::Bank,
}

/// Bytes of a switch port of a chip of so many columns, rows and virtual channels.
pub(super) fn bytes_per_port(columns: usize, rows: usize, vcs: usize) -> usize {
    let buffers = (columns + rows) * size_of::<Buffer>();
    let queues = vcs * columns * size_of::<Ring>();
    let (masks, banks) = if AnySwitch::is_narrow(rows, columns) {
        ((vcs + 2) * size_of::<u64>(), [ArbiterBank::bytes(columns), ArbiterBank::bytes(rows)])
    } else {
        ((vcs + 2) * size_of::<WideMask>(), [WideBank::bytes(columns), WideBank::bytes(rows)])
    };
    let [of_columns, of_rows] = banks;
    let arbiters = (vcs + rows) * of_columns + vcs * of_rows + (2 + columns) * ArbiterBank::bytes(vcs);
    let channels = (1 + rows) * size_of::<Cycle>();
    let agenda = Agenda::bytes(Step::COUNT * (columns * rows).next_power_of_two()) / (columns * rows);
    size_of::<Input>() + size_of::<Output>() + buffers + queues + masks + arbiters + channels + agenda
}

impl<M: Mask> Switch<M> {
    fn new(shared: &Shared, number: u32, wires: &[Wires]) -> Self {
        let (settings, topology) = (&shared.settings, shared.routings.first().topology());
        let here = SwitchId(number % topology.switches());
        let [rows, columns, vcs] = [settings.rows, settings.columns, settings.vcs].map(|it| it as usize);
        let ports = rows * columns;
        assert!(wires.len() <= ports, "a chip has the ports that the topology uses");
        let output = |port: usize| {
            let leads_to_node = matches!(topology.wire(here, PortId::new(port)), Some((_, End::Node(_))));
            let sender = wires.get(port).and_then(|wires| {
                let (port, rate) = (PortId::new(port), wires.rate);
                let to_wire = settings.pipeline.output_to_wire();
                let out = |wire| Out { component: number, port, wire, rate, to_wire, leads_to_node };
                wires.out.map(|wire| Sender::new(shared, out(wire)))
            });
            Output { sender, load: [0; VCS_MAX], waiting: 0, is_starved: false }
        };
        let kind = settings.arbiter.kind();
        let of_vcs = |arbiters| ArbiterBank::new(kind, arbiters, vcs);
        let step_bits = ports.next_power_of_two().trailing_zeros();
        let mut it = Switch {
            number,
            here,
            rows,
            columns,
            vcs,
            places: (0..ports).map(|port| ((port / columns) as u16, (port % columns) as u16)).collect(),
            step_bits,
            port_mask: (1 << step_bits) - 1,
            agenda: Agenda::new(Step::COUNT << step_bits),
            inputs: (0..ports).map(|_| Input::default()).collect(),
            input_queues: vec![Ring::default(); ports * vcs * columns].into(),
            input_columns: vec![M::NONE; ports * vcs].into(),
            input_vcs: vec![0; ports].into(),
            rows_in: vec![Buffer::default(); ports * columns].into(),
            offering: vec![M::NONE; ports].into(),
            channels: vec![Cycle::ZERO; ports * rows].into(),
            columns_in: vec![Buffer::default(); ports * rows].into(),
            leaving: vec![M::NONE; ports].into(),
            outputs: (0..ports).map(output).collect(),
            ack_looks: vec![Cycle::NEVER; ports].into(),
            arbiters: Arbiters {
                bus_vc: of_vcs(ports),
                bus_column: M::bank(kind, ports * vcs, columns),
                buffer_vc: of_vcs(ports * columns),
                channel: M::bank(kind, ports * rows, columns),
                output_vc: of_vcs(ports),
                output_row: M::bank(kind, ports * vcs, rows),
            },
            offers: Offers::new(rows, columns),
            told: Told::new(shared, ports),
            inside: 0,
            starved: 0,
            death: shared.faults.death(number),
            is_dead: false,
        };
        it.expect_faults();
        it
    }

    /// Whether packets wait for the row bus of `input`.
    #[inline]
    fn has_waiting(&self, input: usize) -> bool {
        self.input_vcs[input] != 0
    }

    #[inline]
    fn schedule(&mut self, step: Step, port: usize, at: Cycle) {
        self.agenda.schedule((step as usize) << self.step_bits | port, at);
    }

    /// The tile in `row` and `column`, which is also the port there.
    #[inline]
    fn tile(&self, row: usize, column: usize) -> usize {
        row * self.columns + column
    }

    /// Row and column of `tile`.
    #[inline]
    fn place(&self, tile: usize) -> (usize, usize) {
        let (row, column) = self.places[tile];
        (row.into(), column.into())
    }

    /// The step and the port, or tile, of a slot of the agenda.
    #[inline]
    fn step_of(&self, slot: usize) -> (Step, usize) {
        let step = match slot >> self.step_bits {
            0 => Step::Link,
            1 => Step::Accept,
            2 => Step::Row,
            3 => Step::Subswitch,
            4 => Step::Output,
            _ => Step::Ack,
        };
        (step, slot & self.port_mask)
    }

    /// Does what is due in cycle `now` in a slot of the agenda.
    #[inline(always)]
    fn act<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, slot: usize) {
        let (step, port) = self.step_of(slot);
        match step {
            Step::Link => self.train(cx, now, port),
            _ if self.is_dead => {}
            Step::Accept => self.accept(cx, now, port),
            Step::Row => self.go_over_row(cx, now, port),
            Step::Subswitch => self.cross(cx, now, port),
            Step::Output => self.go_out(cx, now, port),
            Step::Ack => self.tell(cx, now, port),
        }
    }

    /// Row buffers of `tile`, and column buffers of `output`.
    fn row_buffers(&self, tile: usize) -> &[Buffer] {
        &self.rows_in[tile * self.columns..][..self.columns]
    }

    fn column_buffers(&self, output: usize) -> &[Buffer] {
        &self.columns_in[output * self.rows..][..self.rows]
    }

    /// Asks the memory for what comes to its turn in `slot`.
    fn prefetch_for(&self, slot: usize) {
        let (step, port) = self.step_of(slot);
        match step {
            Step::Link => {}
            Step::Accept | Step::Row => {
                prefetch::element(&self.inputs, port);
                let queues = port * self.vcs * self.columns;
                prefetch::slice(&self.input_queues[queues..][..self.vcs * self.columns]);
            }
            Step::Subswitch => {
                let places = self.offering[port].places();
                places.for_each(|place| prefetch::element(&self.rows_in, port * self.columns + place));
            }
            Step::Output => {
                prefetch::whole(&self.outputs, port);
                prefetch::slice(self.column_buffers(port));
            }
            Step::Ack => {
                prefetch::element(&self.inputs, port);
                prefetch::whole(&self.outputs, port);
            }
        }
    }

    /// Asks the memory for the packets that come to their turn in `slot`.
    fn prefetch_packets(&self, shared: &Shared, slot: usize) {
        let (step, port) = self.step_of(slot);
        let states = &shared.pools.states;
        let of_buffers = |buffers: &[Buffer]| {
            for buffer in buffers {
                bits(buffer.waiting.into()).for_each(|vc| states.prefetch(buffer.queues[vc].last()));
            }
        };
        match step {
            Step::Accept => states.prefetch(self.inputs[port].coming.head()),
            Step::Subswitch => of_buffers(self.row_buffers(port)),
            Step::Output => of_buffers(self.column_buffers(port)),
            Step::Link | Step::Row | Step::Ack => {}
        }
    }

    #[cold]
    fn receive_paces(&mut self, inbox: &mut Inbox, start: Cycle) {
        for (port, at, rate) in inbox.paces.drain(..) {
            let port = usize::from(port);
            if let Some(sender) = &mut self.outputs[port].sender {
                sender.change(at, rate);
                for step in [Step::Output, Step::Ack] {
                    self.schedule(step, port, at.max(start));
                }
            }
        }
    }
}

impl<M: Mask> SwitchModel<Tiled> for Switch<M> {
    fn first(&self) -> Cycle {
        self.agenda.next().unwrap_or(Cycle::NEVER)
    }

    fn receive(&mut self, shared: &mut Shared, inbox: &mut Inbox, start: Cycle) {
        self.agenda.pass(start);
        for ack in inbox.acks.drain(..) {
            let (port, at) = (usize::from(ack.port), ack.at);
            let output = &mut self.outputs[port];
            let Some(sender) = &mut output.sender else { unreachable!("what was sent is acknowledged") };
            if shared.is_unreliable() {
                sender.expect(&mut shared.pools, ack);
                self.schedule(Step::Output, port, at.max(start));
                continue;
            }
            sender.expect_last(&mut shared.pools, start, ack);
            if output.is_starved {
                self.schedule(Step::Output, port, at.max(start));
            }
        }
        let states = &mut shared.pools.states;
        for Arrival { slot, port, sequence } in inbox.packets.drain(..) {
            let port = usize::from(port);
            states[slot].port = sequence.0;
            states.append(&mut self.inputs[port].coming, slot);
            self.schedule(Step::Accept, port, states[slot].at);
        }
        if !inbox.paces.is_empty() {
            self.receive_paces(inbox, start);
        }
        if !inbox.rare.is_empty() {
            self.receive_rare(inbox, start);
        }
        if !inbox.loads.is_empty() {
            self.receive_loads(inbox);
        }
    }

    fn prefetch(&self, shared: &Shared, post: &PostOf<Tiled>, place: usize, until: Cycle, stage: Stage) {
        let Inbox { packets, acks, .. } = post.inbox_of(place);
        match stage {
            Stage::Itself => prefetch::item(self),
            Stage::Mail => {
                self.agenda.prefetch(until);
                prefetch::slice(packets);
                prefetch::slice(acks);
                prefetch::slice(&self.offering);
                prefetch::slice(&self.input_columns);
            }
            Stage::First => {
                for Arrival { slot, port, .. } in packets {
                    shared.pools.states.prefetch(*slot);
                    prefetch::element(&self.inputs, usize::from(*port));
                }
                for ack in acks {
                    prefetch::whole(&self.outputs, usize::from(ack.port));
                }
                self.agenda.coming(until).for_each(|slot| self.prefetch_for(slot));
            }
            Stage::Second => self.agenda.coming(until).for_each(|slot| self.prefetch_packets(shared, slot)),
            Stage::Third => {}
            Stage::Ports => {
                self.agenda.prefetch(until);
                prefetch::slice(packets);
                prefetch::slice(&self.inputs);
                prefetch::slice(&self.outputs);
            }
            Stage::Queues => {
                packets.iter().for_each(|it| shared.pools.states.prefetch(it.slot));
                prefetch::slice(&self.rows_in);
                prefetch::slice(&self.columns_in);
            }
        }
    }

    fn run<O: Observer>(&mut self, cx: &mut Cx<'_, O>, until: Cycle) -> Rest {
        cx.counters.wakes += 1;
        while let Some(now) = self.agenda.reach(until) {
            for word in 0..self.agenda.words() {
                while let Some(slot) = self.agenda.take_next(now, word) {
                    self.act(cx, now, slot);
                }
            }
            self.agenda.close(now);
        }
        Rest { next: self.agenda.next().unwrap_or(Cycle::NEVER), waits: self.starved > 0 }
    }

    fn settle<O: Observer>(&mut self, _: &mut Cx<'_, O>, _: Cycle) {}

    fn audit(&self, shared: &Shared, _: Cycle, books: &mut Conservation) {
        let states = &shared.pools.states;
        for input in &self.inputs {
            packet_state::audit(shared, &input.coming, books);
            books.units_freed += u64::from(input.receiver.freed());
            books.units_held += u64::from(input.receiver.leaving().0);
        }
        for state in self.input_queues.iter().flat_map(|queue| states.iter_ring(*queue)) {
            packet_state::enter(state, books);
        }
        for buffer in self.rows_in.iter().chain(&self.columns_in) {
            let queues = bits(buffer.waiting.into()).map(|vc| buffer.queues[vc]);
            books.in_network += queues.map(|queue| states.iter_ring(queue).count() as u64).sum::<u64>();
        }
        for sender in self.outputs.iter().filter_map(|output| output.sender.as_ref()) {
            sender.audit(books);
        }
    }

    fn waiting(&self, shared: &Shared, now: Cycle) -> Vec<Waiting> {
        self.stuck(shared, now)
    }

    /// Flits that have given back their room or are about to, modulo 2^16.
    fn position(&self, _: &Shared, port: PortId, vc: u8, _: Cycle) -> u32 {
        let receiver = &self.inputs[port.index()].receiver;
        let (leaving, of) = receiver.leaving();
        let left = if of == vc { leaving } else { 0 };
        receiver.returned(vc.into()).wrapping_add(left).into()
    }

    fn queued_flits(&self, _: &Shared, _: &Inbox, _: Cycle) -> u64 {
        self.inside
    }

    fn sent_flits(&self, port: PortId) -> Option<u64> {
        let sender = self.outputs.get(port.index()).and_then(|output| output.sender.as_ref());
        Some(sender.map_or(0, Sender::flits))
    }
}
