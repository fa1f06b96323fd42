//! A shard from its plan.

use super::context::{BatchedCx, Outgoing};
use super::lists::Lists;
use super::nic::{Home, Nic};
use super::node::Node;
use super::port::Port;
use super::{BATCH, BatchedShard, Network, Switch};
use crate::hpp::timing::Timing;
use crate::hpp::{HppSettings, lengths};
use flitway_engine::Cycle;
use flitway_engine::calendar::Calendar;
use flitway_engine::time32::{Time, Time32};
use flitway_engine::worklist::Bucket;
use flitway_fabric::arbiter::ArbiterBank;
use flitway_fabric::bits::BitSet;
use flitway_fabric::observer::Observer;
use flitway_fabric::pool::Pool;
use flitway_fabric::simulation::{CACHES, Counters, NodePart, NodeWires, Plan, SwitchPart, Wire};
use flitway_fabric::{Endpoint, Fabric};
use flitway_wiring::RailId;
use std::collections::VecDeque;

/// Bytes of a port in lists and tables, about.
const LISTS: usize = 16;

/// The ports of a shard that is one block, at most, though the cache of a core does not hold all of it.
const ONE_BLOCK: usize = if cfg!(debug_assertions) { 16 } else { 1 << 12 };

/// The ports in a block of a larger shard, a power of two.
const BLOCK: u32 = if cfg!(debug_assertions) { 16 } else { 1 << 11 };

/// Bytes of a switch port, and of a NIC port.
pub(in crate::hpp) fn bytes_per_port(vcs: usize, ports: usize) -> [usize; 2] {
    let [of_switch, of_nic] = match vcs {
        1 => [size_of::<Port<1>>(), size_of::<Nic<1>>()],
        2 => [size_of::<Port<2>>(), size_of::<Nic<2>>()],
        3 => [size_of::<Port<3>>(), size_of::<Nic<3>>()],
        _ => [size_of::<Port<4>>(), size_of::<Nic<4>>()],
    };
    [of_switch + vcs * ArbiterBank::bytes(ports) + LISTS, of_nic]
}

impl<const V: usize, E: Endpoint, O: Observer> BatchedShard<V, E, O> {
    /// The part of `fabric` that is planned.
    pub(in crate::hpp) fn build(fabric: &Fabric<HppSettings>, plan: Plan<E, O>) -> Self {
        let Plan { number, shards, window_length, bytes, switches: parts, nodes, observer, .. } = plan;
        let settings = &fabric.chip;
        let asks_ahead = bytes > CACHES[0];
        let ports_max = parts.iter().map(|part| part.wires.len()).max().unwrap_or(1);
        let is_divided = asks_ahead && parts.iter().map(|part| part.wires.len()).sum::<usize>() > ONE_BLOCK;
        let block =
            if is_divided { BLOCK.max(ports_max.next_power_of_two() as u32) } else { 1 << (u32::BITS - 1) };
        let (switches, ports) = lay_out(&parts, block);
        let places = Places { shard: number, switches: &switches, ports, rails: fabric.rails };
        let cx = cx(fabric, observer, Outgoing::new(number, shards));
        let (ports, bases) = build_ports(&parts, &places, &cx.timing);
        let mut network = Network {
            arbiters: ArbiterBank::new(settings.arbiter, ports.len() * V, ports_max),
            lists: Lists::new(ports.len(), block.ilog2(), window_length.clamp(2, BATCH.into()) as u32),
            with_pending_adverts: BitSet::new(ports.len() + nodes.len() * fabric.rails as usize),
            news_at: Time32::NEVER,
            node_at: vec![Cycle::ZERO; nodes.len()],
            nics: Vec::new(),
            first_nic: ports.len() as u32,
            nic_blocks: Vec::new(),
            undelivered: 0,
            nodes_are_deaf: !E::REACTS,
            links_from: Time32::ZERO,
            window_length,
            heard: VecDeque::new(),
            horizon: Cycle::ZERO,
            due: Bucket::default(),
            news: Vec::new(),
            read: Vec::new(),
            rails: fabric.rails,
            cx,
            bases,
            asks_ahead,
            switches: Vec::new(),
        };
        let calendar = Calendar::new(nodes.len());
        let nodes = (0..).zip(nodes).map(|(index, part)| network.build_node(index, part, &places)).collect();
        network.switches = switches;
        BatchedShard {
            ports,
            network,
            nodes,
            calendar,
            inbox: Vec::new(),
            far: Vec::new(),
            due: Bucket::default(),
            out: flitway_fabric::Outgoing::new(),
        }
    }
}

impl<const V: usize, O: Observer> Network<V, O> {
    /// The node with this `index`, whose NIC ports come next.
    fn build_node<E>(&mut self, index: u32, part: NodePart<E>, places: &Places<'_>) -> Node<E> {
        let first = self.nics.len();
        // It runs with the first switch that it sends to.
        let peer = places.resolve(part.wires[0].out).peer;
        assert_eq!(peer.shard, places.shard, "a node is in the shard of its switch");
        let block = self.lists.block_of(peer.place) as u32;
        self.lists.call_node(index, block, Time32::ZERO);
        for (rail, NodeWires { out: wire, .. }) in (0..).map(RailId).zip(part.wires) {
            let home = Home { rail, node: index, node_id: part.id, component: part.number };
            self.nics.push(Nic::new(&self.cx.timing, places.resolve(wire), home));
            self.nic_blocks.push(block);
        }
        let (nics, endpoint) = (first..self.nics.len(), part.endpoint);
        Node { id: part.id, nics, endpoint, block, seen: Cycle::ZERO, wake: Cycle::ZERO }
    }
}

/// What all ports act on, at the beginning.
fn cx<O>(fabric: &Fabric<HppSettings>, observer: O, mail: Outgoing) -> BatchedCx<O> {
    let timing = Timing::new(&fabric.chip, fabric);
    BatchedCx {
        lengths: lengths(&fabric.chip, &timing),
        payloads: fabric.payloads.clone(),
        routing: fabric.routing.clone(),
        states: Pool::default(),
        limits: Pool::default(),
        behind: Pool::default(),
        mail,
        counters: Counters::default(),
        observer,
        timing,
    }
}

/// Where the ports of switches stand, none of them in two blocks of so many ports, and how many places that takes.
fn lay_out(parts: &[SwitchPart], block: u32) -> (Vec<Switch>, u32) {
    let mut end = 0;
    let switch = |part: &SwitchPart| {
        let ports = part.wires.len() as u32;
        let rest = block - end % block;
        let first = if ports <= rest { end } else { end + rest };
        end = first + ports;
        Switch { first, ports, number: part.number }
    };
    let switches = parts.iter().map(switch).collect();
    (switches, end)
}

/// The ports of switches, and the first port of the switch of each.
fn build_ports<const V: usize>(
    parts: &[SwitchPart],
    places: &Places<'_>,
    timing: &Timing,
) -> (Vec<Port<V>>, Vec<u32>) {
    let mut ports = Vec::with_capacity(places.ports as usize);
    let mut bases = Vec::with_capacity(places.ports as usize);
    for (part, &Switch { first, ports: count, .. }) in parts.iter().zip(places.switches) {
        ports.resize_with(first as usize, || Port::new(timing, None));
        bases.resize((first + count) as usize, first);
        for wires in &part.wires {
            assert!(wires.out == wires.back, "adverts go back on the link that packets come by");
            ports.push(Port::new(timing, wires.out.map(|wire| places.resolve(wire))));
        }
    }
    (ports, bases)
}

/// Where the ports of a shard are.
struct Places<'a> {
    shard: u32,
    switches: &'a [Switch],
    ports: u32,
    rails: u32,
}

impl Places<'_> {
    /// The same wire; if it leads to a port of this shard, to the place of that.
    fn resolve(&self, wire: Wire) -> Wire {
        let Places { switches, ports, rails, .. } = *self;
        let mut wire = wire;
        if wire.peer.shard == self.shard {
            wire.peer.place = place_of(switches, ports, rails, wire.peer.place, wire.port.into());
        }
        wire
    }
}

/// The place of `port` (of a node: the rail) of a component of a shard with these `switches`, whose NIC ports are counted from
/// `ports` on.
pub(super) fn place_of(switches: &[Switch], ports: u32, rails: u32, component: u32, port: u32) -> u32 {
    match (component as usize).checked_sub(switches.len()) {
        None => switches[component as usize].first + port,
        Some(node) => ports + node as u32 * rails + port,
    }
}
