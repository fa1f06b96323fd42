//! A switch: input FIFOs, crossbars with their arbiters, TX FIFOs and links. What is special about packets for groups is
//! in `multicast.rs`.

mod engine;
mod multicast;

use super::World;
use super::flit::Flit;
use super::port::{Credits, Port, Source};
use crate::arbiter::Arbiter;
pub(super) use engine::Engine;
use flitway_engine::Cycle;
use flitway_fabric::observer::{ComponentNumber, Grant};
use flitway_switch::hpp::HppSettings;
use flitway_wiring::routing::{Arrival, Candidate};
use flitway_wiring::{Destination, PortId, SwitchId};
use multicast::Multicast;
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Switch {
    number: ComponentNumber,
    id: SwitchId,
    /// What is wired where; `None` for a port without a link.
    pub(super) ports: Vec<Option<Port>>,
    /// `inputs[i][v]`: FIFO `(i, v)`.
    pub(super) inputs: Vec<Vec<InputFifo>>,
    /// `outputs[o][v]`: what crossbar `v` has at output `o`.
    pub(super) outputs: Vec<Output>,
    multicast: Multicast,
    engine: Engine,
}

/// A FIFO of whole packets.
#[derive(Debug, Default)]
pub(super) struct InputFifo {
    /// Its flits, with the cycle in which each was on the wire.
    pub(super) flits: VecDeque<(Flit, u64)>,
    /// Whether its first packet is crossing.
    crossing: bool,
}

/// The output column of one port, through all crossbars.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) columns: Vec<Column>,
}

/// One output of one crossbar, and the TX FIFO behind it.
#[derive(Debug)]
pub(super) struct Column {
    arbiter: Arbiter,
    /// The packet that crosses to it.
    crossing: Option<Crossing>,
    /// The TX FIFO: flits under their new label, with the cycle in which each went in.
    pub(super) tx: VecDeque<(Flit, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Crossing {
    input: usize,
    packet: usize,
    /// The label on the next link.
    label: usize,
    /// Its next flit.
    next: u32,
    /// It is for a group and crosses with its copies, or will.
    with_others: bool,
}

/// What an input asks of the arbiter of `output` in its crossbar.
#[derive(Clone, Copy, Debug)]
struct Request {
    packet: usize,
    output: usize,
    label: usize,
    units: u32,
}

impl Switch {
    pub(super) fn new(
        settings: &HppSettings,
        number: ComponentNumber,
        id: SwitchId,
        ports: Vec<Option<Port>>,
        engine: Engine,
    ) -> Self {
        let vcs = settings.vcs as usize;
        let inputs = ports.len();
        let fifos = || (0..vcs).map(|_| InputFifo::default()).collect();
        let column = || Column {
            arbiter: Arbiter::new(settings.arbiter, inputs),
            crossing: None,
            tx: VecDeque::new(),
        };
        Switch {
            number,
            id,
            inputs: (0..inputs).map(|_| fifos()).collect(),
            multicast: Multicast::new(settings, inputs),
            outputs: (0..inputs).map(|_| Output { columns: (0..vcs).map(|_| column()).collect() }).collect(),
            ports,
            engine,
        }
    }

    /// One cycle.
    pub(super) fn cycle(&mut self, world: &mut World) {
        for [before, all] in self.engine.granted_from.iter_mut().chain(&mut self.engine.granted_to) {
            *before = *all;
        }
        self.receive(world);
        self.ports.iter_mut().flatten().for_each(|port| port.step_credits(world));
        for (index, (port, output)) in self.ports.iter_mut().zip(&mut self.outputs).enumerate() {
            if let Some(port) = port {
                port.step_link((self.number, PortId::new(index)), output, world);
            }
        }
        for output in 0..self.ports.len() {
            for vc in 0..world.settings.vcs as usize {
                self.cross(output, vc, world);
            }
        }
        for input in 0..self.ports.len() {
            self.cross_together(input, world);
        }
        self.choose_ways(world);
        self.arbitrate_multicast(world);
        self.arbitrate(world);
        self.step_engine(world);
    }

    /// Barrier packets that it holds.
    pub(super) fn signals(&self) -> usize {
        let lanes = self.ports.iter().flatten().map(|port| port.lane.packets());
        lanes.chain(self.engine.inputs.iter().map(VecDeque::len)).sum()
    }

    fn receive(&mut self, world: &World) {
        for (port, fifos) in self.ports.iter_mut().zip(&mut self.inputs) {
            let Some(port) = port else { continue };
            if let Some(flit) = port.receive(world) {
                fifos[flit.vc].flits.push_back((flit, world.now));
                port.lane.came += u64::from(flit.first && flit.vc == 0);
            }
        }
    }

    /// Step 3 at one output of crossbar `vc`.
    fn cross(&mut self, output: usize, vc: usize, world: &World) {
        let pipeline = &world.settings.pipeline;
        let column = &mut self.outputs[output].columns[vc];
        let Some(crossing) = column.crossing.as_mut().filter(|crossing| !crossing.with_others) else {
            return;
        };
        if column.tx.len() == world.settings.tx_fifo as usize {
            return;
        }
        let fifo = &mut self.inputs[crossing.input][vc];
        let (flit, on_wire) = fifo.flits.pop_front().expect("the flits of a packet come without a gap");
        let can_cross = on_wire + u64::from(pipeline.receive + pipeline.queue + pipeline.route);
        assert!(can_cross <= world.now, "a flit is not read before it is there");
        assert_eq!((flit.packet, flit.index), (crossing.packet, crossing.next), "flits come in order");
        crossing.next += 1;
        column.tx.push_back((Flit { vc: crossing.label, ..flit }, world.now));
        if flit.completes_unit {
            let port = self.ports[crossing.input].as_mut().expect("flits come from a wired port");
            port.book.free(vc);
        }
        if flit.last {
            fifo.crossing = false;
            column.crossing = None;
        }
    }

    /// "After step 3 and before step 4": first packets that can request and have two ways choose one.
    fn choose_ways(&self, world: &mut World) {
        for input in 0..self.ports.len() {
            for vc in 0..world.settings.vcs as usize {
                let Some((number, _)) = self.first(input, vc, world).filter(|first| first.1 <= world.now)
                else {
                    continue;
                };
                let packet = &world.packets[number];
                let Destination::Node(node) = packet.packet.destination else { continue };
                let arrival = Arrival { port: PortId::new(input), class: (vc / world.lanes()) as u8 };
                let ways = world.ways(packet, node, (self.id, arrival));
                let load = |way: &Candidate| {
                    let port = self.ports[way.hop.port.index()].as_ref().expect("ways lead by wired ports");
                    port.credits.load(world.settings.buffer_units) * u64::from(world.routing.weight(*way))
                };
                // The first of equals.
                if let Some(way) = ways.into_iter().min_by_key(load) {
                    let packet = &mut world.packets[number];
                    packet.taken.push((packet.hops, way));
                }
            }
        }
    }

    /// Step 5. "Where two crossbars feed one VC label they take credits in the order of (output, crossbar)."
    fn arbitrate(&mut self, world: &mut World) {
        let (ports, vcs) = (self.ports.len(), world.settings.vcs as usize);
        let requests: Vec<Vec<Vec<Request>>> =
            (0..vcs).map(|vc| (0..ports).map(|input| self.requests(input, vc, world)).collect()).collect();
        for output in 0..ports {
            for (vc, requests) in requests.iter().enumerate() {
                if requests.iter().flatten().any(|request| request.output == output) {
                    self.arbitrate_at(output, vc, requests, world);
                }
            }
        }
    }

    fn arbitrate_at(&mut self, output: usize, vc: usize, requests: &[Vec<Request>], world: &mut World) {
        if self.is_reserved(output, vc, world) {
            return;
        }
        let column = &mut self.outputs[output].columns[vc];
        let port = self.ports[output].as_mut().expect("packets are routed to wired ports");
        if column.crossing.is_some() {
            return;
        }
        let fits = |request: &Request| {
            request.output == output && port.credits.available(request.label) >= u64::from(request.units)
        };
        let asks: Vec<bool> = requests.iter().map(|requests| requests.iter().any(fits)).collect();
        let Some(input) = column.arbiter.grant(&asks) else { return };
        let mut requests = requests[input].iter().filter(|request| request.output == output);
        let request = *requests.next().expect("an arbiter grants an input that requests");
        port.credits.take(request.label, request.units);
        let with_others = self.multicast.is_gathering(input, vc, world);
        column.crossing =
            Some(Crossing { input, packet: request.packet, label: request.label, next: 0, with_others });
        if with_others {
            self.keep(input, output, world);
        } else {
            self.inputs[input][vc].crossing = true;
        }
        if vc == 0 {
            self.engine.granted_from[input][1] += 1;
            self.engine.granted_to[output][1] += 1;
        }
        world.record.grants.push(Grant {
            cycle: Cycle(world.now),
            switch: self.number,
            output: PortId::new(output),
            vc: vc as u8,
            input: PortId::new(input),
        });
    }

    /// What the first packet of FIFO `(input, vc)` asks for, credits aside.
    fn requests(&self, input: usize, vc: usize, world: &World) -> Vec<Request> {
        let Some((number, since)) = self.first(input, vc, world) else { return Vec::new() };
        if since > world.now {
            return Vec::new();
        }
        let packet = &world.packets[number];
        let arrival = Arrival { port: PortId::new(input), class: (vc / world.lanes()) as u8 };
        let hop = match packet.packet.destination {
            Destination::Node(node) => world.routed(packet, node, (self.id, arrival)),
            Destination::Nodes(_) => unreachable!("it was refused when it was handed over"),
            Destination::Group(..) => match world.way_up(packet) {
                Some(hop) => hop,
                None => return self.requests_of_gathering(input, number, world),
            },
        };
        vec![Request {
            packet: number,
            output: hop.port.index(),
            label: usize::from(hop.class) * world.lanes() + vc % world.lanes(),
            units: packet.units,
        }]
    }

    /// The first packet of FIFO `(input, vc)`, if it is not crossing, and the first cycle in which it can request.
    fn first(&self, input: usize, vc: usize, world: &World) -> Option<(usize, u64)> {
        let fifo = &self.inputs[input][vc];
        let &(flit, on_wire) = fifo.flits.front().filter(|_| !fifo.crossing)?;
        assert!(flit.first, "a packet that does not cross is whole");
        let pipeline = &world.settings.pipeline;
        Some((
            flit.packet,
            (on_wire + u64::from(pipeline.receive + pipeline.queue + pipeline.route)).saturating_sub(1),
        ))
    }
}

impl Column {
    /// The label of the packet that is crossing, and the credit units that it still has to bring.
    pub(super) fn units_to_come(&self, world: &World) -> Option<(usize, u64)> {
        let crossing = self.crossing.as_ref()?;
        let packet = &world.packets[crossing.packet];
        Some((crossing.label, packet.units_from(&world.settings, crossing.next)))
    }
}

impl Source for Output {
    fn shares_order(&self, world: &World) -> bool {
        !world.settings.barrier.dedicated
    }

    fn stages_of_signals(&self, world: &World) -> u32 {
        let pipeline = &world.settings.pipeline;
        pipeline.route + world.settings.barrier.engine + pipeline.transmit_buffer
    }

    fn ready(&self, vc: usize, _: &Credits, world: &World) -> bool {
        let transmit_buffer = u64::from(world.settings.pipeline.transmit_buffer);
        self.columns[vc].tx.front().is_some_and(|(flit, entered)| {
            assert!(flit.first, "a link that decides has sent all of the packet before");
            entered + transmit_buffer <= world.now
        })
    }

    fn start(&mut self, vc: usize, _: &mut Credits, world: &mut World) -> u32 {
        let (flit, _) = self.columns[vc].tx.front().expect("a packet that is chosen is ready");
        let packet = &mut world.packets[flit.packet];
        packet.hops += 1;
        world.counters.packet_hops += 1;
        world.counters.flit_hops += u64::from(packet.flits);
        packet.flits
    }

    fn next_flit(&mut self, vc: usize, _: u64, world: &mut World) -> Option<Flit> {
        let column = &mut self.columns[vc];
        let is_there = column.tx.front().is_some_and(|&(_, entered)| entered < world.now);
        let waits = column.crossing.as_ref().is_some_and(|crossing| crossing.with_others);
        assert!(is_there || waits, "a packet that crosses alone does so as fast as a link sends");
        if is_there { column.tx.pop_front().map(|(flit, _)| flit) } else { None }
    }
}
