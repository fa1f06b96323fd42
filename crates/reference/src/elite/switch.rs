//! A switch, step by step.

mod broadcast;
mod drain;

use super::{Channel, Flit, Lane, Wires, World};
use broadcast::Copies;
use flitway_engine::Cycle;
use flitway_fabric::observer::{
    Departure, Grant, LinkObserver, Outputs, PacketName, Passage, SwitchObserver,
};
use flitway_switch::elite::EliteSettings;
use flitway_wiring::routing::{Arrival, Candidate};
use flitway_wiring::{PortId, SwitchId};
use std::collections::VecDeque;

/// An incoming virtual channel.
#[derive(Clone, Debug, Default)]
struct Input {
    /// With the cycle in which each was on the wire.
    buffer: VecDeque<(Flit, u64)>,
    /// The first packet has an output, or holds its path.
    is_given: bool,
    /// When it was freed by the packet before.
    freed: u64,
    /// What becomes of the first packet, if it is a broadcast.
    copies: Option<Copies>,
}

#[derive(Debug)]
struct Port {
    wires: Option<Wires>,
    inputs: Vec<Input>,
    lanes: Vec<Lane>,
    /// The virtual channel that sent last.
    last: usize,
}

#[derive(Debug)]
pub(super) struct Switch {
    number: u32,
    here: SwitchId,
    ports: Vec<Port>,
    /// Where what is refused goes: its virtual channels, and the one that took a flit last.
    drain: (Vec<Lane>, usize),
    turn: usize,
}

/// A packet that requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Request {
    since: u64,
    port: usize,
    vc: usize,
    packet: usize,
    arrived: u64,
}

impl Switch {
    pub(super) fn new(
        settings: &EliteSettings,
        number: u32,
        here: SwitchId,
        wires: &[Option<Wires>],
    ) -> Self {
        let vcs = settings.vcs as usize;
        let port = |wires: &Option<Wires>| Port {
            wires: *wires,
            inputs: vec![Input::default(); vcs],
            lanes: vec![Lane::new(wires.map_or(0, |wires| wires.room)); vcs],
            last: vcs - 1,
        };
        let drain = (vec![Lane::new(0); vcs], vcs - 1);
        Switch { number, here, ports: wires.iter().map(port).collect(), drain, turn: 0 }
    }

    /// The channel that a port sends on.
    pub(super) fn out(&self, port: usize) -> usize {
        self.ports[port].wires.expect("what changes is wired").out
    }

    /// Channels that come in, and the flits in the buffer of each virtual channel.
    pub(super) fn buffers(&self) -> impl Iterator<Item = (usize, Vec<u32>)> {
        self.ports.iter().filter_map(|port| {
            let stored = port.inputs.iter().map(|input| input.buffer.len() as u32).collect();
            Some((port.wires?.back, stored))
        })
    }

    pub(super) fn senders(&self) -> impl Iterator<Item = (Wires, &[Lane])> {
        self.ports.iter().filter_map(|port| Some((port.wires?, &port.lanes[..])))
    }

    /// One cycle.
    pub(super) fn cycle(&mut self, world: &mut World) {
        self.receive(world);
        self.step_answers(world);
        self.step_requests(world);
        self.step_links(world);
        self.step_drain(world);
    }

    fn receive(&mut self, world: &mut World) {
        for (number, port) in self.ports.iter_mut().enumerate() {
            let Some(wires) = port.wires else { continue };
            world.watch(self.number, PortId::new(number), wires.out);
            let back = &world.channels[world_in(wires)];
            if let Some((vc, flit)) = back.received() {
                port.inputs[vc].buffer.push_back((flit, world.now));
                let stored = port.inputs[vc].buffer.len() as u32;
                assert!(stored <= world.settings.buffer_flits, "credits keep a buffer from overflowing");
            }
            for (lane, credits) in port.lanes.iter_mut().zip(&world.channels[wires.out].credits[0]) {
                lane.credits += credits;
            }
        }
    }

    /// Step 1.
    fn step_answers(&mut self, world: &mut World) {
        self.answer_refused(world);
        for number in 0..self.ports.len() {
            let Some(wires) = self.ports[number].wires else { continue };
            self.ports[number].lanes.iter_mut().for_each(|lane| lane.check(wires.out, world));
            match world.settings.answer {
                Some(answer) => {
                    for (vc, verdict) in world.hear(wires) {
                        let (port, input) = self.ports[number].lanes[vc].from;
                        let Some(verdict) = self.combine((port, input), verdict) else { continue };
                        self.release(number, vc, world.now);
                        self.release_copies((port, input), world.now);
                        let back = self.ports[port].wires.expect("what came came by a wire").back;
                        world.channels[back].answer(world.now + u64::from(answer.switch), input, verdict);
                    }
                }
                None => {
                    for vc in 0..self.ports[number].lanes.len() {
                        let lane = &self.ports[number].lanes[vc];
                        if lane.packet.is_some_and(|packet| lane.sent == world.flits_of(packet)) {
                            self.release(number, vc, world.now);
                        }
                    }
                }
            }
        }
    }

    /// Frees a virtual channel of an output and that of an input whose packet had it.
    fn release(&mut self, output: usize, vc: usize, now: u64) {
        let lane = &mut self.ports[output].lanes[vc];
        lane.packet = None;
        lane.free = now;
        let (port, input) = lane.from;
        let it = &mut self.ports[port].inputs[input];
        (it.is_given, it.freed) = (false, now);
    }

    /// Step 2.
    fn step_requests(&mut self, world: &mut World) {
        let mut requests = Vec::new();
        for (number, port) in self.ports.iter().enumerate() {
            for (vc, input) in port.inputs.iter().enumerate() {
                let Some(&(flit, arrived)) = input.buffer.front().filter(|_| !input.is_given) else {
                    continue;
                };
                assert_eq!(flit.index, 0, "a packet begins with its first flit");
                let since = (arrived + world.delay()).max(input.freed);
                if since <= world.now {
                    requests.push(Request { since, port: number, vc, packet: flit.packet, arrived });
                }
            }
        }
        requests.sort_by_key(|request| (self.is_low(request, world), *request));
        for request in requests {
            if world.packets[request.packet].range.is_some() {
                self.grant_copies(&request, world);
            } else if let Some((candidate, vc)) = self.choose(&request, world) {
                self.give(&request, candidate, vc, world);
            }
        }
    }

    /// Whether a packet that requests has the low priority, where there are two.
    fn is_low(&self, request: &Request, world: &World) -> bool {
        let payload = u32::from(world.packets[request.packet].packet.payload);
        let priority = world.settings.priority;
        priority
            .is_some_and(|it| payload > it.up_to_bytes && request.since + u64::from(it.ageing) > world.now)
    }

    /// The output and virtual channel that a packet is given, if there is one.
    fn choose(&mut self, request: &Request, world: &World) -> Option<(Candidate, usize)> {
        let class = request.vc / world.lanes();
        let arrival = Arrival { port: PortId::new(request.port), class: class as u8 };
        let mut candidates: Vec<Candidate> = Vec::new();
        let header = world.packets[request.packet].header;
        // It names the first one only, where switches do not select by load.
        let routing = world.routing_by(world.packets[request.packet].tables);
        routing.candidates(self.here, arrival, header, |candidate| candidates.push(candidate));
        candidates.retain(|candidate| {
            let wires = self.ports.get(candidate.hop.port.index()).and_then(|port| port.wires);
            wires.is_some_and(|wires| !world.channels[wires.out].is_down(world.now))
        });
        if candidates.is_empty() {
            return self.refuse(header);
        }
        let has_choice = candidates.len() > 1;
        let free_vc = |candidate: &Candidate| {
            let first = usize::from(candidate.hop.class) * world.lanes();
            let lanes = &self.ports[candidate.hop.port.index()].lanes;
            (first..first + world.lanes()).find(|&vc| lanes[vc].packet.is_none())
        };
        let count = self.ports.len();
        let taken = |candidate: &Candidate| {
            let port = candidate.hop.port.index();
            let taken = self.ports[port].lanes.iter().filter(|lane| lane.packet.is_some()).count();
            (taken, (port + count - self.turn) % count)
        };
        let best = candidates.iter().filter(|it| free_vc(it).is_some()).min_by_key(|it| taken(it));
        let (best, vc) = (*best?, free_vc(best?)?);
        if has_choice {
            self.turn = (best.hop.port.index() + 1) % count;
        }
        Some((best, vc))
    }

    fn give(&mut self, request: &Request, candidate: Candidate, vc: usize, world: &mut World) {
        world.packets[request.packet].header = candidate.header;
        self.ports[request.port].inputs[request.vc].is_given = true;
        self.hand(request, request.packet, (candidate.hop.port, vc), world);
    }

    /// `packet`, which has requested, or a copy of what has, has a virtual channel of an output.
    fn hand(&mut self, request: &Request, packet: usize, (output, vc): (PortId, usize), world: &mut World) {
        if output.index() == self.ports.len() {
            return self.drain.0[vc].give(packet, (request.port, request.vc), world.now);
        }
        let lane = &mut self.ports[output.index()].lanes[vc];
        let (input, came) = (PortId::new(request.port), request.vc as u8);
        let (cycle, switch) = (Cycle(world.now), self.number);
        world.record.granted(&Grant { cycle, switch, output, vc: came, input });
        world.record.passed(&Passage {
            packet: name(world, packet),
            switch,
            input,
            vc: came,
            outputs: Outputs::One(output),
            arrived: Cycle(request.arrived),
            ready: Cycle(request.arrived + world.delay()),
            requested: Cycle(request.since),
            free: Some(Cycle(lane.free)),
            granted: cycle,
        });
        lane.give(packet, (request.port, request.vc), world.now);
    }

    /// Step 3.
    fn step_links(&mut self, world: &mut World) {
        for number in 0..self.ports.len() {
            let Some(wires) = self.ports[number].wires else { continue };
            if !world.channels[wires.out].is_slot(world.now) {
                continue;
            }
            let vcs = self.ports[number].lanes.len();
            let turns = (1..=vcs).map(|place| (self.ports[number].last + place) % vcs);
            let Some(vc) = turns.into_iter().find(|&vc| self.can_send(number, vc, world)) else { continue };
            self.ports[number].last = vc;
            self.send(number, vc, world);
        }
    }

    /// Whether a virtual channel of an output has a flit to send and a credit.
    fn can_send(&self, output: usize, vc: usize, world: &World) -> bool {
        let (lane, wires) = (&self.ports[output].lanes[vc], self.ports[output].wires);
        let Some(packet) = lane.packet else { return false };
        let (port, input) = lane.from;
        let next = Flit { packet: world.packets[packet].of.unwrap_or(packet), index: lane.sent };
        let is_ready = |&(flit, arrived): &(Flit, u64)| flit == next && arrived + world.delay() <= world.now;
        let has_credit = lane.credits > 0 || wires.is_some_and(|wires| wires.leads_to_sink);
        has_credit && self.ports[port].inputs[input].buffer.iter().any(is_ready)
    }

    fn send(&mut self, output: usize, vc: usize, world: &mut World) {
        let wires = self.ports[output].wires.expect("packets leave by ports that are wired");
        let lane = &mut self.ports[output].lanes[vc];
        let (port, input) = lane.from;
        lane.sent += 1;
        lane.slots.push(world.now);
        if !wires.leads_to_sink {
            lane.credits -= 1;
        }
        let (given, free) = (lane.given, lane.free);
        let packet = lane.packet.expect("who sends has a packet");
        let flit = Flit { packet, index: lane.sent - 1 };
        if self.is_last_to_take((port, input), flit.index) {
            self.ports[port].inputs[input].buffer.pop_front().expect("what is sent is there");
            let back = self.ports[port].wires.expect("what came came by a wire").back;
            world.channels[back].give_back(input);
        }
        if flit.index == 0 {
            world.packets[flit.packet].hops += 1;
            world.counters.packet_hops += 1;
            world.counters.flit_hops += u64::from(world.flits_of(flit.packet));
            depart(world, (self.number, PortId::new(output), vc), wires, flit.packet, (given, free));
        }
        world.channels[wires.out].send(vc, flit);
    }
}

/// The channel that a port receives from.
fn world_in(wires: Wires) -> usize {
    wires.back
}

fn name(world: &World, packet: usize) -> PacketName {
    let travelling = &world.packets[packet];
    PacketName { source: travelling.source, injected: Cycle(travelling.injected) }
}

/// Records that the first flit of a packet is sent, which could have been since it was `ready`, on a virtual channel that was
/// free before.
pub(super) fn depart(
    world: &mut World,
    (component, port, vc): (u32, PortId, usize),
    wires: Wires,
    packet: usize,
    (ready, free): (u64, u64),
) {
    let channel: &Channel = &world.channels[wires.out];
    let arrives = world.now + u64::from(world.settings.pipeline.transmit + channel.latency);
    let departure = Departure {
        packet: name(world, packet),
        component,
        port,
        vc: vc as u8,
        flits: world.flits_of(packet) as u16,
        ready: Cycle(ready),
        free: Cycle(free.max(ready)),
        chosen: Cycle(world.now),
        arrives: Cycle(arrives),
    };
    world.record.departed(&departure);
}
