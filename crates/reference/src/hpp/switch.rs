//! A switch: input FIFOs, crossbars with their arbiters, TX FIFOs and links.

use super::World;
use super::arbiter::Arbiter;
use super::flit::Flit;
use super::port::{Credits, Port, Source};
use flitway_engine::Cycle;
use flitway_fabric::hpp::HppSettings;
use flitway_fabric::observer::{ComponentNumber, Grant};
use flitway_fabric::routing::Arrival;
use flitway_fabric::{PortId, SwitchId};
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
            outputs: (0..inputs).map(|_| Output { columns: (0..vcs).map(|_| column()).collect() }).collect(),
            ports,
        }
    }

    /// One cycle.
    pub(super) fn cycle(&mut self, world: &mut World) {
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
        self.arbitrate(world);
    }

    fn receive(&mut self, world: &World) {
        for (port, fifos) in self.ports.iter_mut().zip(&mut self.inputs) {
            if let Some(flit) = port.as_mut().and_then(|port| port.receive(world)) {
                fifos[flit.vc].flits.push_back((flit, world.now));
            }
        }
    }

    /// Step 3 at one output of crossbar `vc`.
    fn cross(&mut self, output: usize, vc: usize, world: &World) {
        let pipeline = &world.settings.pipeline;
        let column = &mut self.outputs[output].columns[vc];
        let Some(crossing) = &mut column.crossing else { return };
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

    /// Step 4. "Where two crossbars feed one VC label they take credits in the order of (output, crossbar)."
    fn arbitrate(&mut self, world: &mut World) {
        let (ports, vcs) = (self.ports.len(), world.settings.vcs as usize);
        let requests: Vec<Vec<Option<Request>>> =
            (0..vcs).map(|vc| (0..ports).map(|input| self.request(input, vc, world)).collect()).collect();
        for output in 0..ports {
            for (vc, requests) in requests.iter().enumerate() {
                if requests.iter().flatten().any(|request| request.output == output) {
                    self.arbitrate_at(output, vc, requests, world);
                }
            }
        }
    }

    fn arbitrate_at(&mut self, output: usize, vc: usize, requests: &[Option<Request>], world: &mut World) {
        let column = &mut self.outputs[output].columns[vc];
        let port = self.ports[output].as_mut().expect("packets are routed to wired ports");
        if column.crossing.is_some() {
            return;
        }
        let fits = |request: &Request| {
            request.output == output && port.credits.available(request.label) >= u64::from(request.units)
        };
        let asks: Vec<bool> = requests.iter().map(|request| request.as_ref().is_some_and(fits)).collect();
        let Some(input) = column.arbiter.grant(&asks) else { return };
        let request = requests[input].expect("an arbiter grants an input that requests");
        port.credits.take(request.label, request.units);
        column.crossing = Some(Crossing { input, packet: request.packet, label: request.label, next: 0 });
        self.inputs[input][vc].crossing = true;
        world.record.grants.push(Grant {
            cycle: Cycle(world.now),
            switch: self.number,
            output: PortId::new(output),
            vc: vc as u8,
            input: PortId::new(input),
        });
    }

    /// What the first packet of FIFO `(input, vc)` asks for, credits aside.
    fn request(&self, input: usize, vc: usize, world: &World) -> Option<Request> {
        let fifo = &self.inputs[input][vc];
        let &(flit, on_wire) = fifo.flits.front().filter(|_| !fifo.crossing)?;
        assert!(flit.first, "a packet that does not cross is whole");
        let pipeline = &world.settings.pipeline;
        if on_wire + u64::from(pipeline.receive + pipeline.queue + pipeline.route) > world.now + 1 {
            return None;
        }
        let packet = &world.packets[flit.packet];
        let arrival = Arrival { port: PortId::new(input), class: (vc / world.lanes()) as u8 };
        let hop = world.routing.next(self.id, arrival, packet.packet.destination);
        Some(Request {
            packet: flit.packet,
            output: hop.port.index(),
            label: usize::from(hop.class) * world.lanes() + vc % world.lanes(),
            units: packet.units,
        })
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

    fn next_flit(&mut self, vc: usize, _: u64, world: &mut World) -> Flit {
        let (flit, entered) =
            self.columns[vc].tx.pop_front().expect("a packet crosses as fast as a link sends");
        assert!(entered < world.now, "a flit is not read before it is there");
        flit
    }
}
