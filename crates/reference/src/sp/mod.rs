//! The SP Switch, flit by flit and cycle by cycle.
//!
//! **The normative text is the header of `flitway_switch::sp`.** This is its plainest transcription: every flit, chunk and
//! credit is an object that is moved by hand in every cycle, and the six steps of a cycle stand in the code in the order
//! of the text. Nothing here is fast, and nothing is shared with the engine that it checks but the description of the
//! fabric, the routing relation, the reachability strings and the observer's events.
//!
//! As in the model of the HPP Switch, components tell each other things through channels only, which are shift registers of
//! at least one place; so the order in which components are evaluated does not matter.
//!
//! # Invariants, asserted in every cycle
//!
//! Credits at the sender + flits on the channel + flits in the FIFO + credits on their way back = the FIFO's size. A central
//! buffer never holds more chunks, with those reserved, than it has. A wire carries one flit a cycle.

mod nic;
mod store;
mod switch;

use crate::driver::Model;
use crate::record::Record;
use flitway_engine::Cycle;
use flitway_fabric::simulation::Counters;
use flitway_fabric::{BarrierId, Change, ChangeKind, Delivery, Fabric, Flow, NicPorts, Packet, Rate, Ticket};
use flitway_switch::sp::{SpSettings, Store};
use flitway_wiring::reach::Reach;
use flitway_wiring::routing::Routing;
use flitway_wiring::topology::End;
use flitway_wiring::{NodeId, NodeSet, PortId, RailId, SwitchId};
use nic::Nic;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use switch::Switch;

/// The model of a fabric of SP Switches.
#[derive(Debug)]
pub struct Sp {
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
    settings: SpSettings,
    routing: Routing,
    reach: Option<Reach>,
    now: u64,
    /// All packets ever created, and copies ever made.
    packets: Vec<Travelling>,
    channels: Vec<Channel>,
    record: Record,
    counters: Counters,
}

/// A packet since its creation, or a copy of one since it was made.
#[derive(Clone, Debug)]
struct Travelling {
    source: NodeId,
    packet: Packet,
    set: Option<Arc<NodeSet>>,
    flits: u32,
    header: u32,
    climb: u32,
    injected: u64,
    hops: u16,
}

/// One flit: its packet and its place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Flit {
    packet: usize,
    index: u32,
}

/// A channel and the way back of its credits, as shift registers.
#[derive(Debug)]
struct Channel {
    line: VecDeque<Option<Flit>>,
    credits: VecDeque<u32>,
    /// Flits of it in so many cycles, each from a cycle on; `None` while it is stopped.
    rates: Vec<(u64, Option<(u32, u32)>)>,
}

impl Channel {
    fn new(settings: &SpSettings, latency: u32, rate: Rate) -> Self {
        Channel {
            rates: vec![(0, Some(rate.ratio()))],
            line: vec![None; (settings.pipeline.transmit + latency + 1) as usize].into(),
            credits: vec![0; (settings.credit + latency + 1) as usize].into(),
        }
    }

    /// Whether a flit can be sent in cycle `now`: one more has had its time by the end of it than before.
    fn is_slot(&self, now: u64) -> bool {
        let so_far = self.rates.iter().filter(|(from, _)| *from <= now);
        let latest = so_far.max_by_key(|(from, _)| *from).and_then(|(_, rate)| *rate);
        latest.is_some_and(|(flits, per)| {
            let done = |cycles: u64| u128::from(cycles) * u128::from(flits) / u128::from(per);
            done(now + 1) > done(now)
        })
    }

    fn received(&self) -> Option<Flit> {
        self.line[0]
    }

    fn send(&mut self, flit: Flit) {
        let place = self.line.back_mut().expect("a channel has places");
        assert!(place.is_none(), "a wire carries one flit a cycle");
        *place = Some(flit);
    }

    fn give_back(&mut self, credits: u32) {
        *self.credits.back_mut().expect("a channel has places") += credits;
    }

    fn shift(&mut self) {
        self.line.pop_front();
        self.line.push_back(None);
        self.credits.pop_front();
        self.credits.push_back(0);
    }
}

/// The channels of a port: that which it sends on, and that which it receives from.
#[derive(Clone, Copy, Debug)]
struct Wires {
    out: usize,
    back: usize,
    /// To a node that takes every flit at once.
    leads_to_sink: bool,
    /// Flits that there is room for at the other end.
    room: u32,
}

/// The same as they are found, the first with whether it leads to a node.
#[derive(Clone, Copy, Debug, Default)]
struct Half {
    out: Option<(usize, bool)>,
    back: Option<usize>,
}

impl World {
    fn flits_of(&self, packet: usize) -> u32 {
        self.packets[packet].flits
    }

    fn is_last(&self, flit: Flit) -> bool {
        flit.index + 1 == self.flits_of(flit.packet)
    }

    /// Cycles from a flit on the wire to the first in which it can leave the FIFO.
    fn delay(&self) -> u64 {
        u64::from(self.settings.pipeline.receive + self.settings.pipeline.route)
    }
}

impl Model for Sp {
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
        nic.deliver(node, world).into_iter().collect()
    }

    fn sent(&mut self, node: NodeId, rail: RailId) -> Vec<Flow> {
        let (nic, world) = self.nic(node, rail);
        nic.take_sent().into_iter().map(|packet| world.packets[packet].packet.flow).collect()
    }

    fn submit(&mut self, node: NodeId, packet: Packet, set: Option<Arc<NodeSet>>) {
        let (nic, world) = self.nic(node, packet.rail);
        nic.submit(node, packet, set, world);
    }

    fn drain(&mut self, node: NodeId, ticket: Ticket) {
        self.nic(node, ticket.rail).0.drain();
    }

    fn releases(&mut self, _: NodeId, _: RailId) -> Vec<BarrierId> {
        Vec::new()
    }

    fn arrive(&mut self, _: NodeId, _: BarrierId) {
        panic!("SP Switches have no barriers");
    }
}

impl Sp {
    /// The model of `fabric`.
    #[must_use]
    pub fn new(fabric: &Fabric<SpSettings>) -> Self {
        let mut world = World {
            settings: fabric.chip.clone(),
            routing: fabric.routing.clone(),
            reach: Reach::new(&fabric.routing),
            now: 0,
            packets: Vec::new(),
            channels: Vec::new(),
            record: Record::default(),
            counters: Counters::default(),
        };
        let (switches, nics) = wire(fabric, &mut world);
        Sp { rails: fabric.rails as usize, world, switches, nics }
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
                End::Node(node) => self.nics[node.index() * self.rails + change.rail.index()].out(),
            };
            self.world.channels[out].rates.push((change.at.0, rate.map(Rate::ratio)));
        }
        self
    }

    /// A NIC port, and what it sees.
    fn nic(&mut self, node: NodeId, rail: RailId) -> (&mut Nic, &mut World) {
        (&mut self.nics[node.index() * self.rails + rail.index()], &mut self.world)
    }

    /// Credits, channel by channel; chunks, switch by switch.
    fn assert_books(&self) {
        let on_channel = |wires: &Wires| {
            let channel = &self.world.channels[wires.out];
            // What has come in this cycle is in the FIFO, or has been counted.
            let flits = channel.line.iter().skip(1).flatten().count() as u32;
            flits + channel.credits.iter().skip(1).sum::<u32>()
        };
        let mut fifos = vec![None; self.world.channels.len()];
        for switch in &self.switches {
            switch.assert_chunks(&self.world);
            for (wires, flits) in switch.fifos() {
                fifos[wires.back] = Some(flits);
            }
        }
        for (wires, flits) in self.nics.iter().filter_map(Nic::buffer) {
            fifos[wires.back] = Some(flits);
        }
        let of_switches = self.switches.iter().flat_map(Switch::senders);
        for (wires, credits) in of_switches.chain(self.nics.iter().map(Nic::sender)) {
            let Some(stored) = fifos[wires.out] else { continue };
            let now = self.world.now;
            assert_eq!(
                credits + on_channel(&wires) + stored,
                wires.room,
                "credits at the end of cycle {now}"
            );
        }
    }
}

/// The components, with a channel in each direction of every link, or in the one that it has.
fn wire(fabric: &Fabric<SpSettings>, world: &mut World) -> (Vec<Switch>, Vec<Nic>) {
    let (topology, rails) = (fabric.topology(), fabric.rails);
    let mut halves: BTreeMap<(u32, End), Half> = BTreeMap::new();
    for rail in 0..rails {
        for (link, &latency) in topology.links().iter().zip(&fabric.latencies) {
            let [first, second] = link.ends;
            let back = (!link.is_one_way).then_some((second, first));
            for (from, to) in std::iter::once((first, second)).chain(back) {
                let channel = world.channels.len();
                world.channels.push(Channel::new(&world.settings, latency, fabric.rates.of(from)));
                let leads_to_node = matches!(to, End::Node(_));
                halves.entry((rail, from)).or_default().out = Some((channel, leads_to_node));
                halves.entry((rail, to)).or_default().back = Some(channel);
            }
        }
    }
    let wires = |rail: u32, end: End| {
        let half = halves.get(&(rail, end))?;
        let (out, leads_to_node) = half.out?;
        let room = if leads_to_node { world.settings.nic_buffer_flits() } else { world.settings.fifo_flits };
        let leads_to_sink = leads_to_node && fabric.nic_ports == NicPorts::Ideal;
        Some(Wires { out, back: half.back?, leads_to_sink, room })
    };
    let switch = |number: u32| {
        let (rail, here) = (number / topology.switches(), SwitchId(number % topology.switches()));
        let ports = (0..topology.ports(here)).map(PortId);
        let wires: Vec<_> = ports.map(|port| wires(rail, End::Switch(here, port))).collect();
        Switch::new(&world.settings, number, here, &wires)
    };
    let nic = |number: u32| {
        let (rail, node) = (number % rails, NodeId(number / rails));
        let wires = wires(rail, End::Node(node)).expect("every node is wired");
        Nic::new(&world.settings, RailId(rail), wires, fabric.nic_ports)
    };
    let switches = (0..rails * topology.switches()).map(switch).collect();
    (switches, (0..rails * topology.nodes()).map(nic).collect())
}

/// Who goes first: least recently served, as a list.
#[derive(Clone, Debug)]
struct Order(Vec<usize>);

impl Order {
    fn new(count: usize) -> Self {
        Order((0..count).collect())
    }

    fn first(&self, asks: impl Fn(usize) -> bool) -> Option<usize> {
        self.0.iter().copied().find(|&one| asks(one))
    }

    fn serve(&mut self, served: usize) {
        self.0.retain(|&one| one != served);
        self.0.push(served);
    }
}

fn is_central(settings: &SpSettings) -> bool {
    matches!(settings.store, Store::Central(_))
}

fn port(number: usize) -> PortId {
    PortId::new(number)
}
