//! A switch: what it has to do, and when.
//!
//! Packets move as a whole, so each stage has one decision for a packet. An [`Agenda`] has a slot for each arbiter, in the
//! order of the steps of a cycle in `tiled/mod.rs`; a slot that finds nothing to do does nothing, and one that could not do
//! something asks for itself again when what it waits for comes, as far as known. Room is given back when somebody looks, at
//! its date. The main flow: [`Switch::receive`], then `accept.rs`, `row.rs`, `subswitch.rs` and `output.rs`.

mod accept;
mod deadlock;
mod output;
mod row;
mod subswitch;

use super::link::{Receiver, Sender};
use super::packet_state::{self, Inbox};
use super::room::{Parts, Room};
use super::{Cx, Shared, Tiled};
use flitway_engine::agenda::Agenda;
use flitway_engine::{Cycle, prefetch};
use flitway_fabric::arbiter::ArbiterBank;
use flitway_fabric::component::{PostOf, Rest, Stage, SwitchModel};
use flitway_fabric::deadlock::Waiting;
use flitway_fabric::observer::Observer;
use flitway_fabric::pool::List;
use flitway_fabric::simulation::{Conservation, Wires};
use flitway_wiring::topology::End;
use flitway_wiring::{PortId, SwitchId};

/// The steps of a cycle, each with a slot for every port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Accept,
    Row,
    Subswitch,
    Output,
    Ack,
}

impl Step {
    const ALL: [Step; 5] = [Step::Accept, Step::Row, Step::Subswitch, Step::Output, Step::Ack];
}

/// A packet that is leaving a buffer: so many flits of a virtual channel give back their room in that cycle.
#[derive(Clone, Copy, Debug, Default)]
struct Leaving {
    until: Cycle,
    flits: u16,
    vc: u8,
}

/// The input buffer of a port, with its row bus.
#[derive(Debug, Default)]
struct Input {
    /// Packets on the link, by the cycle in which they are accepted.
    coming: List,
    /// Packets in the queues, and by virtual channel the columns of those that are not empty.
    waiting: u32,
    columns: Box<[u64]>,
    /// The packet that goes over the row bus, which is free from then on.
    leaving: Leaving,
    receiver: Receiver,
}

/// A row or a column buffer, as the one that writes into it and the one that reads know it.
#[derive(Clone, Copy, Debug, Default)]
struct Buffer {
    room: Room,
    /// Virtual channels of which there is a packet.
    waiting: u8,
    /// The packet that is read; nothing else is before it has left.
    leaving: Leaving,
}

impl Buffer {
    /// Whether a packet of so many flits has room on `vc` in cycle `now`.
    #[inline]
    fn has_room(&mut self, parts: Parts, now: Cycle, vc: usize, flits: u32) -> bool {
        self.settle(parts, now);
        self.room.has(parts, vc, flits)
    }

    #[inline]
    fn settle(&mut self, parts: Parts, now: Cycle) {
        let Leaving { until, flits, vc } = self.leaving;
        if flits > 0 && until <= now {
            self.room.give_back(parts, usize::from(vc), flits.into());
            self.leaving.flits = 0;
        }
    }

    /// When more room comes, as far as known.
    #[inline]
    fn room_at(&self) -> Cycle {
        if self.leaving.flits > 0 { self.leaving.until } else { Cycle::NEVER }
    }
}

/// The link of a port, and what waits for it.
#[derive(Debug)]
struct Output {
    /// None at a port that is not wired.
    sender: Option<Sender>,
    /// By virtual channel: flits of the packets that have taken it and have not given back their room at the other end.
    load: Box<[u32]>,
    /// Packets in its column buffers.
    waiting: u32,
}

/// A switch.
#[derive(Debug)]
pub struct Switch {
    number: u32,
    here: SwitchId,
    rows: usize,
    columns: usize,
    vcs: usize,
    /// Slots of a step: a power of two.
    step_bits: u32,
    agenda: Agenda,
    inputs: Box<[Input]>,
    /// By input, virtual channel and column.
    input_queues: Box<[List]>,
    /// By tile and column of the input: buffers of the inputs of its row.
    rows_in: Box<[Buffer]>,
    /// By row buffer and virtual channel.
    row_queues: Box<[List]>,
    /// By tile: row buffers that are not empty, by column of the input.
    offering: Box<[u64]>,
    /// By tile and row: when the channel to that row is free.
    channels: Box<[Cycle]>,
    /// By output and row.
    columns_in: Box<[Buffer]>,
    /// By column buffer and virtual channel.
    column_queues: Box<[List]>,
    outputs: Box<[Output]>,
    arbiters: Arbiters,
    /// Flits of packets that have been accepted and that no link has begun.
    inside: u64,
    /// Packets in column buffers.
    at_outputs: u32,
}

/// The arbiters of a switch.
#[derive(Debug)]
struct Arbiters {
    /// By input, over virtual channels; by input and virtual channel, over columns.
    bus_vc: ArbiterBank,
    bus_column: ArbiterBank,
    /// By row buffer, over virtual channels; by tile and row, over the columns of inputs.
    buffer_vc: ArbiterBank,
    channel: ArbiterBank,
    /// By output, over virtual channels; by output and virtual channel, over rows.
    output_vc: ArbiterBank,
    output_row: ArbiterBank,
}

/// Bytes of a switch port of a chip of so many columns, rows and virtual channels.
pub(super) fn bytes_per_port(columns: usize, rows: usize, vcs: usize) -> usize {
    let buffers = (columns + rows) * size_of::<Buffer>();
    let queues = vcs * (2 * columns + rows) * size_of::<List>();
    let masks = (vcs + 1) * 8 + rows * size_of::<Cycle>() + 4 * vcs;
    let agenda = Agenda::bytes(Step::ALL.len() * (columns * rows).next_power_of_two()) / (columns * rows);
    size_of::<Input>() + size_of::<Output>() + buffers + queues + masks + agenda
}

/// The bits of `mask`, from the lowest on.
#[inline]
fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros() as usize;
        let is_some = mask != 0;
        mask &= mask.wrapping_sub(1);
        is_some.then_some(bit)
    })
}

impl Switch {
    pub(super) fn new(shared: &Shared, number: u32, wires: &[Wires]) -> Self {
        let (settings, topology) = (&shared.settings, shared.routing.topology());
        let here = SwitchId(number % topology.switches());
        let [rows, columns, vcs] = [settings.rows, settings.columns, settings.vcs].map(|it| it as usize);
        let ports = rows * columns;
        assert!(wires.len() <= ports, "a chip has the ports that the topology uses");
        let output = |port: usize| {
            let leads_to_node = matches!(topology.wire(here, PortId::new(port)), Some((_, End::Node(_))));
            let sender = wires.get(port).and_then(|wires| {
                let to_wire = settings.pipeline.output_to_wire();
                wires.out.map(|out| Sender::new(out, wires.rate.into(), to_wire, leads_to_node))
            });
            Output { sender, load: vec![0; vcs].into(), waiting: 0 }
        };
        let bank = |arbiters, inputs| ArbiterBank::new(settings.arbiter, arbiters, inputs);
        let step_bits = ports.next_power_of_two().trailing_zeros();
        Switch {
            number,
            here,
            rows,
            columns,
            vcs,
            step_bits,
            agenda: Agenda::new(Step::ALL.len() << step_bits),
            inputs: (0..ports).map(|_| Input { columns: vec![0; vcs].into(), ..Input::default() }).collect(),
            input_queues: vec![List::default(); ports * vcs * columns].into(),
            rows_in: vec![Buffer::default(); ports * columns].into(),
            row_queues: vec![List::default(); ports * columns * vcs].into(),
            offering: vec![0; ports].into(),
            channels: vec![Cycle::ZERO; ports * rows].into(),
            columns_in: vec![Buffer::default(); ports * rows].into(),
            column_queues: vec![List::default(); ports * rows * vcs].into(),
            outputs: (0..ports).map(output).collect(),
            arbiters: Arbiters {
                bus_vc: bank(ports, vcs),
                bus_column: bank(ports * vcs, columns),
                buffer_vc: bank(ports * columns, vcs),
                channel: bank(ports * rows, columns),
                output_vc: bank(ports, vcs),
                output_row: bank(ports * vcs, rows),
            },
            inside: 0,
            at_outputs: 0,
        }
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
        let (tile, columns) = (tile as u32, self.columns as u32);
        ((tile / columns) as usize, (tile % columns) as usize)
    }

    #[cold]
    fn receive_paces(&mut self, inbox: &mut Inbox, start: Cycle) {
        for (port, at, rate) in inbox.paces.drain(..) {
            let port = usize::from(port);
            if let Some(sender) = &mut self.outputs[port].sender {
                sender.pace.change(at, rate);
                for step in [Step::Output, Step::Ack] {
                    self.schedule(step, port, at.max(start));
                }
            }
        }
    }
}

impl SwitchModel<Tiled> for Switch {
    fn receive(&mut self, shared: &mut Shared, inbox: &mut Inbox, start: Cycle) {
        self.agenda.pass(start);
        let pools = &mut shared.pools;
        while let Some(ack) = pools.acks.first(&inbox.acks) {
            let (port, at) = (usize::from(ack.port), ack.at);
            let slot = pools.acks.unlink(&mut inbox.acks);
            let output = &mut self.outputs[port];
            let Some(sender) = &mut output.sender else {
                unreachable!("acknowledgements come for what was sent")
            };
            sender.expect(pools, slot);
            if output.waiting > 0 {
                self.schedule(Step::Output, port, at.max(start));
            }
        }
        while let Some(state) = pools.states.first(&inbox.packets) {
            let (port, at) = (usize::from(state.port), state.at);
            let slot = pools.states.unlink(&mut inbox.packets);
            pools.states.append(&mut self.inputs[port].coming, slot);
            self.schedule(Step::Accept, port, at);
        }
        if !inbox.paces.is_empty() {
            self.receive_paces(inbox, start);
        }
    }

    fn prefetch(&self, _: &Shared, _: &PostOf<Tiled>, _: usize, _: Cycle, stage: Stage) {
        if stage == Stage::Itself {
            prefetch::item(self);
        }
    }

    fn run<O: Observer>(&mut self, cx: &mut Cx<'_, O>, until: Cycle) -> Rest {
        cx.counters.wakes += 1;
        while let Some((now, slot)) = self.agenda.pop(until) {
            let port = slot & ((1 << self.step_bits) - 1);
            match Step::ALL[slot >> self.step_bits] {
                Step::Accept => self.accept(cx, now, port),
                Step::Row => self.go_over_row(cx, now, port),
                Step::Subswitch => self.cross(cx, now, port),
                Step::Output => self.go_out(cx, now, port),
                Step::Ack => self.tell(cx, now, port),
            }
        }
        Rest { next: self.agenda.next().unwrap_or(Cycle::NEVER), waits: self.at_outputs > 0 }
    }

    fn settle<O: Observer>(&mut self, _: &mut Cx<'_, O>, _: Cycle) {}

    fn audit(&self, shared: &Shared, _: Cycle, books: &mut Conservation) {
        let states = &shared.pools.states;
        for input in &self.inputs {
            packet_state::audit(states, &input.coming, books);
            books.units_freed += u64::from(input.receiver.freed());
            books.units_held += u64::from(input.leaving.flits);
        }
        for queue in &self.input_queues {
            packet_state::audit(states, queue, books);
        }
        for queue in self.row_queues.iter().chain(&self.column_queues) {
            books.in_network += states.iter(queue).count() as u64;
        }
        for sender in self.outputs.iter().filter_map(|output| output.sender.as_ref()) {
            books.units_sent += u64::from(sender.flits() as u32);
        }
    }

    fn waiting(&self, shared: &Shared, now: Cycle) -> Vec<Waiting> {
        self.stuck(shared, now)
    }

    /// Flits that have given back their room, modulo 2^16.
    fn position(&self, _: &Shared, port: PortId, vc: u8, _: Cycle) -> u32 {
        self.inputs[port.index()].receiver.returned(vc.into()).into()
    }

    fn queued_flits(&self, _: &Shared, _: &Inbox, _: Cycle) -> u64 {
        self.inside
    }

    fn sent_flits(&self, port: PortId) -> Option<u64> {
        let sender = self.outputs.get(port.index()).and_then(|output| output.sender.as_ref());
        Some(sender.map_or(0, Sender::flits))
    }
}
