//! The tiled switch, flit by flit and cycle by cycle.
//!
//! **The normative text is the header of `flitway_switch::tiled`.** This is its plainest transcription: every flit and every
//! acknowledgement is an object that is moved by hand in every cycle, and the six steps of a cycle stand in the code in the
//! order of the text. Nothing here is fast, and nothing is shared with the engine that it checks but the description of the
//! fabric, the routing relation, the matrix arbiter and the observer's events.
//!
//! As in the other models, components tell each other things through channels only, which are shift registers of more than
//! one place; so the order in which components are evaluated does not matter.
//!
//! # Where the text leaves something open
//!
//! 1. Without `retry` a packet goes on before its last flit has come; when that will be the receiver knows from the first one,
//!    as the rate does not change.
//! 2. Without `retry` packets accepted are no news, and do not count for `ack.packets`.
//! 3. A NIC port accepts a packet when it has it, whether it can deliver it then or not.
//! 4. An input has an arbiter among columns, and an output one among rows, for each virtual channel. They count columns, rows
//!    and the inputs of a row from 0.
//! 5. Nothing needs to be told at cycle 0. An acknowledgement alone waits for a slot in which the link begins no packet,
//!    whether it has none or may not begin it.
//! 6. A packet counts as having left a switch (`packet_hops`, and all of its `flit_hops`) when the link begins it.
//!
//! # Invariants, asserted in every cycle
//!
//! Flits that a link has begun = those not sent + on the channel + in the buffer + gone; those that the sender counts as
//! taking room are those begun and not heard of. The same in row and column buffers. No buffer takes more of its shared part
//! than there is, nor holds more flits than it has. A wire carries one flit a cycle, and so does a row bus, a channel of a
//! column, and what leads out of a row buffer. Flits follow each other, packets of a virtual channel keep their order on a
//! link and in row and column buffers, and a flit is never read before it is there.

mod channel;
mod link;
mod nic;
mod room;
mod switch;
mod training;

use crate::arbiter::Arbiter;
use crate::driver::Model;
use crate::lanes::draw;
use crate::record::Record;
use channel::Channel;
use flitway_engine::Cycle;
use flitway_fabric::arbiter::ArbiterKind;
use flitway_fabric::observer::{ComponentNumber, Loss, PacketName, component_at};
use flitway_fabric::simulation::Counters;
use flitway_fabric::{
    BarrierId, Change, ChangeKind, Delivery, Fabric, Flow, LossCause, Packet, Rate, Ticket,
};
use flitway_switch::tiled::{Arbitration, TiledSettings};
use flitway_wiring::routing::{Header, Routing};
use flitway_wiring::topology::End;
use flitway_wiring::{Destination, NodeId, NodeSet, PortId, RailId, SwitchId};
use link::{Port, Retry};
use nic::Nic;
use std::collections::BTreeMap;
use std::sync::Arc;
use switch::Switch;
use training::Training;

/// The model of a fabric of tiled switches.
#[derive(Debug)]
pub struct Tiled {
    rails: usize,
    world: World,
    /// The switches of rail 0, of rail 1, ...
    switches: Vec<Switch>,
    /// NIC port `node * rails + rail`.
    nics: Vec<Nic>,
}

/// What all components see.
#[derive(Debug)]
struct World {
    settings: TiledSettings,
    routing: Routing,
    /// Tables that are written later, by date.
    later: Vec<(u64, Routing)>,
    /// Links corrupt flits, or something breaks.
    is_unreliable: bool,
    now: u64,
    /// All packets ever created.
    packets: Vec<Travelling>,
    channels: Vec<Channel>,
    record: Record,
    counters: Counters,
}

/// A packet since its creation.
#[derive(Clone, Debug)]
struct Travelling {
    source: NodeId,
    packet: Packet,
    flits: u32,
    /// What its header says on the link that it was sent on last.
    header: Header,
    injected: u64,
    hops: u16,
    /// A link has corrupted it, and no check has shown it.
    is_wrong: bool,
}

impl Travelling {
    fn name(&self) -> PacketName {
        PacketName { source: self.source, injected: Cycle(self.injected) }
    }
}

/// One flit: its packet and its place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Flit {
    packet: usize,
    index: u32,
}

impl World {
    fn flits_of(&self, packet: usize) -> u32 {
        self.packets[packet].flits
    }

    /// A packet is lost at `component`.
    fn lose(&mut self, packet: usize, component: ComponentNumber, cause: LossCause) {
        let Travelling { source, ref packet, flits, injected, .. } = self.packets[packet];
        let (at, destination, created) = (Cycle(self.now), destination(packet), packet.created);
        let (flow, flits, was_sent) = (packet.flow, flits as u16, injected > 0);
        let loss = Loss { at, component, source, destination, created, flow, flits, was_sent, cause };
        self.counters.lose(&loss, &mut self.record);
    }

    fn is_last(&self, flit: Flit) -> bool {
        flit.index + 1 == self.flits_of(flit.packet)
    }

    /// Among which of the packets that request an arbiter chooses: "among the oldest packets only", if by age.
    fn of_age(&self, requests: &[Option<usize>]) -> Vec<bool> {
        let first = self.oldest(requests).map(|packet| self.packets[packet].injected);
        let is_left = |packet: usize| {
            self.settings.arbiter != Arbitration::ByAge || Some(self.packets[packet].injected) == first
        };
        requests.iter().map(|request| request.is_some_and(is_left)).collect()
    }

    /// "Of a VC the oldest packet counts that requests."
    fn oldest(&self, requests: &[Option<usize>]) -> Option<usize> {
        requests.iter().flatten().copied().min_by_key(|&packet| self.packets[packet].injected)
    }

    /// The tables of this cycle.
    fn routing(&self) -> &Routing {
        let written = self.later.iter().rfind(|(at, _)| *at <= self.now);
        written.map_or(&self.routing, |(_, routing)| routing)
    }

    fn vcs(&self) -> usize {
        self.settings.vcs as usize
    }

    /// Virtual channels of each class.
    fn lanes(&self) -> usize {
        (self.settings.vcs / self.routing.classes()) as usize
    }

    /// A packet is created; returns its number.
    fn create(&mut self, source: NodeId, packet: Packet) -> usize {
        let format = &self.settings.format;
        let payload = u32::from(packet.payload).div_ceil(format.flit_bytes);
        let header = self.routing().header(source, destination(&packet), draw(self.settings.lanes, &packet));
        self.packets.push(Travelling {
            source,
            packet,
            flits: format.header_flits + payload + format.trailer_flits,
            header,
            injected: 0,
            hops: 0,
            is_wrong: false,
        });
        self.counters.packets_created += 1;
        self.packets.len() - 1
    }
}

/// An arbiter over so many inputs. By age, it is round robin among those that [`World::of_age`] leaves.
fn arbiter(settings: &TiledSettings, inputs: usize) -> Arbiter {
    let kind = match settings.arbiter {
        Arbitration::ByGrants(kind) => kind,
        Arbitration::ByAge => ArbiterKind::RoundRobin,
    };
    Arbiter::new(kind, inputs)
}

fn destination(packet: &Packet) -> NodeId {
    let Destination::Node(node) = packet.destination else { panic!("tiled switches have no groups") };
    node
}

impl Model for Tiled {
    fn step(&mut self) {
        self.nics.iter_mut().for_each(|nic| nic.cycle(&mut self.world));
        self.switches.iter_mut().for_each(|switch| switch.cycle(&mut self.world));
        self.assert_books();
        self.world.channels.iter_mut().for_each(Channel::shift);
        self.world.now += 1;
    }

    fn now(&self) -> Cycle {
        Cycle(self.world.now)
    }

    fn record(&self) -> &Record {
        &self.world.record
    }

    fn record_mut(&mut self) -> &mut Record {
        &mut self.world.record
    }

    fn counters(&self) -> Counters {
        self.world.counters
    }

    fn deliveries(&mut self, node: NodeId, rail: RailId) -> Vec<Delivery> {
        let (nic, world) = self.nic(node, rail);
        nic.deliver(node, world)
    }

    fn sent(&mut self, node: NodeId, rail: RailId) -> Vec<Flow> {
        let (nic, world) = self.nic(node, rail);
        nic.take_sent().into_iter().map(|packet| world.packets[packet].packet.flow).collect()
    }

    fn submit(&mut self, node: NodeId, packet: Packet, set: Option<Arc<NodeSet>>) {
        assert!(set.is_none(), "tiled switches have no reachability strings");
        let (nic, world) = self.nic(node, packet.rail);
        nic.submit(node, packet, world);
    }

    fn drain(&mut self, node: NodeId, ticket: Ticket) {
        self.nic(node, ticket.rail).0.drain(ticket.vc);
    }

    fn releases(&mut self, _: NodeId, _: RailId) -> Vec<BarrierId> {
        Vec::new()
    }

    fn arrive(&mut self, _: NodeId, _: BarrierId) {
        panic!("tiled switches have no barriers");
    }
}

impl Tiled {
    /// The model of `fabric`.
    #[must_use]
    pub fn new(fabric: &Fabric<TiledSettings>) -> Self {
        let mut world = World {
            settings: fabric.chip.clone(),
            routing: fabric.routing.clone(),
            later: Vec::new(),
            is_unreliable: !(fabric.errors.are_none() && fabric.faults.are_none()),
            now: 0,
            packets: Vec::new(),
            channels: Vec::new(),
            record: Record::default(),
            counters: Counters::default(),
        };
        let (switches, nics) = wire(fabric, &mut world);
        Tiled { rails: fabric.rails as usize, world, switches, nics }
    }

    /// The same with these changes.
    #[must_use]
    pub fn with_changes(mut self, changes: &[Change]) -> Self {
        for change in changes {
            let ChangeKind::Rate { sender, rate } = change.kind;
            let out = match sender {
                End::Switch(switch, port) => {
                    let switches = self.world.routing.topology().switches();
                    self.switches[(change.rail.0 * switches + switch.0) as usize].out(port.index())
                }
                End::Node(node) => self.nics[node.index() * self.rails + change.rail.index()].port.out,
            };
            self.world.channels[out].change(change.at.0, rate.map(Rate::ratio));
        }
        self
    }

    /// The same with tables that are written later, by date.
    #[must_use]
    pub fn with_tables(mut self, tables: &[(Cycle, Routing)]) -> Self {
        self.world.later = tables.iter().map(|(at, routing)| (at.0, routing.clone())).collect();
        self
    }

    /// A NIC port, and what it sees.
    fn nic(&mut self, node: NodeId, rail: RailId) -> (&mut Nic, &mut World) {
        (&mut self.nics[node.index() * self.rails + rail.index()], &mut self.world)
    }

    /// Flits and room, channel by channel and switch by switch.
    fn assert_books(&self) {
        let of_switches = self.switches.iter().flat_map(Switch::ports);
        let ports: Vec<&Port> = of_switches.chain(self.nics.iter().map(|nic| &nic.port)).collect();
        let mut receivers = vec![None; self.world.channels.len()];
        ports.iter().for_each(|port| receivers[port.back()] = Some(*port));
        for port in ports {
            let other = receivers[port.out].expect("links lead both ways");
            port.assert_books(other, &self.world);
        }
        self.switches.iter().for_each(|switch| switch.assert_books(&self.world));
    }
}

/// The channels that a port sends on and receives from, as they are found.
#[derive(Clone, Copy, Debug, Default)]
struct Half {
    out: Option<usize>,
    back: Option<usize>,
}

/// The components, with a channel in each direction of every link.
fn wire(fabric: &Fabric<TiledSettings>, world: &mut World) -> (Vec<Switch>, Vec<Nic>) {
    let (topology, rails) = (fabric.topology(), fabric.rails);
    let (settings, vcs) = (&fabric.chip, fabric.chip.vcs as usize);
    let mut halves: BTreeMap<(u32, End), Half> = BTreeMap::new();
    for rail in 0..rails {
        for (link, &latency) in topology.links().iter().zip(&fabric.latencies) {
            assert!(!link.is_one_way, "acknowledgements take the channel back");
            let [first, second] = link.ends;
            for (from, to) in [(first, second), (second, first)] {
                let pipeline = &settings.pipeline;
                let output = if matches!(from, End::Switch(..)) { pipeline.output } else { 0 };
                let cycles = output + pipeline.link + pipeline.transmit + latency;
                let channel = world.channels.len();
                world.channels.push(Channel::new(cycles, vcs, fabric.rates.of(from).ratio()));
                halves.entry((rail, from)).or_default().out = Some(channel);
                halves.entry((rail, to)).or_default().back = Some(channel);
            }
        }
    }
    let port = |rail: u32, end: End| {
        let half = halves.get(&(rail, end))?;
        let name = component_at(topology, rails, RailId(rail), end);
        let retry = Retry::new(settings, fabric.errors.of(name.0, name.1));
        let mut port = Port::new(name, (half.out?, half.back?), settings.buffers.input, vcs, retry);
        if !fabric.faults.are_none() {
            let faults = fabric.faults.of_port(name.0, name.1);
            let faults = faults.into_iter().map(|(at, fault)| (at.0, fault)).collect();
            let lanes = fabric.faults.first().of(topology, &settings.lanes(), end);
            port.training = Some(Training::new(settings, faults, lanes));
        }
        Some(port)
    };
    let switch = |number: u32| {
        let (rail, here) = (number / topology.switches(), SwitchId(number % topology.switches()));
        let wired = |place: u32| port(rail, End::Switch(here, PortId(place)));
        let death = fabric.faults.death(number).0;
        Switch::new(settings, number, here, death, (0..settings.ports()).map(wired).collect())
    };
    let nic = |number: u32| {
        let (rail, node) = (number % rails, NodeId(number / rails));
        let port = port(rail, End::Node(node)).expect("every node is wired");
        Nic::new(settings, rails * topology.switches() + node.0, RailId(rail), port, fabric.nic_ports)
    };
    let switches = (0..rails * topology.switches()).map(switch).collect();
    (switches, (0..rails * topology.nodes()).map(nic).collect())
}
