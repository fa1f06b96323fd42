//! Cases of SP Switches.

use super::{BUDGET, Case, Dice, Traffic, barriers, latencies, pauses, test_nics, topology};
use crate::campaign::case::SpPart;
use flitway_engine::Cycle;
use flitway_engine::random::{Purpose, Stream};
use flitway_fabric::packet::PacketFormat;
use flitway_fabric::{Rate, Rates};
use flitway_switch::sp::{
    CentralSettings, NextPacket, Organisation, Replication, SpAscent, SpPipeline, SpSettings, Store,
    WormSettings,
};
use flitway_wiring::SetId;
use flitway_wiring::multicast::Ascent;
use flitway_wiring::reach::Reach;
use flitway_wiring::routing::{Routing, RoutingKind};
use flitway_wiring::topology::{StageWiring, Topology, TopologySettings};
use flitway_wiring::{Destination, NodeId, NodeSet};
use std::sync::Arc;

/// The case of `seed`.
pub(super) fn generate(seed: u64) -> Case {
    let mut dice = Dice(Stream::new(seed, 0, Purpose::Test));
    let (topology_settings, kind) = match topology(&mut dice, seed) {
        _ if dice.one_in(4) => (stages(&mut dice), RoutingKind::DestinationTag),
        other => other,
    };
    let topology = Arc::new(Topology::build(&topology_settings).expect("a generated topology can be built"));
    let routing = |kind| Routing::new(kind, Arc::clone(&topology)).expect("a generated routing fits");
    // One virtual channel leaves no dateline, and no layers.
    let kind = if routing(kind).classes() > 1 { RoutingKind::UpDown } else { kind };
    let routing = routing(kind);
    let has_worms = Reach::new(&routing).is_some() && dice.below(4) > 0;
    let nodes = topology.nodes();
    let bits = if has_worms { nodes + dice.pick(&[0, 0, 1, 40]) } else { 0 };
    let switch = switch(&mut dice, topology.ports_max(), bits);
    let sets: Vec<Arc<NodeSet>> =
        if has_worms { (0..dice.between(1, 8)).map(|_| set(&mut dice, nodes)).collect() } else { Vec::new() };
    let rails = if dice.one_in(4) { 2 } else { 1 };
    let latencies = latencies(&mut dice, topology.links().len());
    let fifos = u64::from(rails) * topology.links().len() as u64 * 4;
    let longest = u64::from(latencies.iter().copied().max().unwrap_or(1));
    let budget = if dice.one_in(16) { 8 * BUDGET } else { BUDGET };
    let length = (budget / (fifos + 8)).clamp(200, 6_000) + 2 * longest;
    let groups = sets.len() as u32;
    let traffic = Traffic { nodes, rails, format: switch.format, length, sparse: false, groups, least: 1 };
    let mut scripts = traffic.scripts(&mut dice);
    for packet in scripts.iter_mut().flatten() {
        if let Destination::Group(group, _) = packet.destination {
            let nodes = sets[group.index()].len();
            packet.destination = Destination::Nodes(SetId { set: group.0, nodes });
        }
    }
    let barriers::Plan { groups: barriers, faults, arrivals } = barriers::Plan::none(nodes);
    let settings = super::switch(&mut dice, 2, 1);
    let threads = dice.pick(&[1, 1, 1, 1, 1, 1, 1, 1, 2, 3]);
    let pauses = pauses(&mut dice, length, false);
    let margin = dice.below(600);
    let (rates, slowness) = rates(&mut dice, &topology);
    Case {
        seed,
        topology: topology_settings,
        routing: kind,
        rails,
        latencies,
        settings,
        sp: Some(SpPart { settings: switch, sets, rates }),
        ascent: Ascent::Table,
        groups: Vec::new(),
        scripts,
        barriers,
        faults,
        arrivals,
        test_nics: test_nics(seed),
        promises: false,
        threads,
        pauses,
        limit: Cycle(slowness * (3 * length + 500)),
        margin,
    }
}

/// The rates of channels, all of them full or some of them not, and how many cycles a flit takes at most.
fn rates(dice: &mut Dice, topology: &Topology) -> (Rates, u64) {
    let (mut rates, mut slowness) = (Rates::full(), 1);
    if !dice.one_in(3) {
        return (rates, slowness);
    }
    let few = dice.pick(&[1, 2, 8]);
    for end in topology.links().iter().flat_map(|link| link.ends) {
        if !dice.one_in(few) {
            continue;
        }
        let (flits, cycles) = dice.pick(&[(1, 2), (4, 5), (7, 8), (5, 8), (2, 3), (1, 3), (3, 7), (1, 5)]);
        rates.set(end, Rate::new(flits, cycles).expect("less than a flit a cycle"));
        slowness = slowness.max(u64::from(cycles.div_ceil(flits)));
    }
    (rates, slowness)
}

/// A unidirectional multistage network.
fn stages(dice: &mut Dice) -> TopologySettings {
    let (arity, stages) = dice.pick(&[(2, 1), (2, 2), (2, 3), (2, 4), (3, 1), (3, 2), (4, 2), (5, 1)]);
    TopologySettings::Stages {
        wiring: dice.pick(&[StageWiring::Omega, StageWiring::Butterfly]),
        arity,
        stages,
    }
}

/// A set of nodes, small or large.
fn set(dice: &mut Dice, nodes: u32) -> Arc<NodeSet> {
    let wanted = dice.corner(1, nodes);
    let mut members: Vec<NodeId> = (0..nodes).map(NodeId).collect();
    while members.len() > wanted as usize {
        members.swap_remove(dice.below(members.len() as u64) as usize);
    }
    Arc::new(NodeSet::new(members))
}

fn switch(dice: &mut Dice, ports: u32, bits: u32) -> SpSettings {
    let flit_bytes = dice.pick(&[1, 2, 2, 4]);
    let payload = dice.scaled(1, 100);
    let format = PacketFormat {
        flit_bytes,
        header_flits: dice.corner(0, 3),
        trailer_flits: dice.between(0, 1),
        mtu_bytes: payload * flit_bytes - dice.below(u64::from(flit_bytes)) as u32,
    };
    let chunk_flits = dice.pick(&[1, 2, 3, 4, 8, 8, 8, 16]);
    let next_packet = dice.pick(&[NextPacket::Shared, NextPacket::Shared, NextPacket::Separate]);
    let is_central = dice.below(3) > 0;
    let replication = if dice.one_in(5) { Replication::LockStep } else { Replication::Asynchronous };
    let store = if is_central {
        Store::Central(CentralSettings { chunks: 1, next_packet })
    } else {
        Store::Input(Organisation::SplitRam)
    };
    let mut settings = SpSettings {
        ports: ports.max(2) + dice.pick(&[0, 0, 3]),
        store,
        chunk_flits,
        fifo_flits: 1,
        pipeline: SpPipeline {
            receive: dice.corner(0, 3),
            route: dice.corner(1, 5),
            transmit: dice.between(1, 2),
        },
        credit: dice.pick(&[1, 1, 2, 5]),
        format,
        ascent: dice.pick(&[SpAscent::Adaptive, SpAscent::Adaptive, SpAscent::Routed]),
        worms: WormSettings { bits, replication },
    };
    // No smaller than works: a header, a chunk, the largest packet that is replicated.
    let worm = settings.worm_flits(format.mtu_bytes);
    let header = settings.bit_string_flits().max(format.header_flits).max(1);
    let replicates = settings.replicates_from_store();
    let least = match (is_central, replicates) {
        (true, _) => header,
        (false, true) => header.max(chunk_flits).max(worm),
        (false, false) => header.max(chunk_flits),
    };
    settings.fifo_flits = least + dice.pick(&[0, 0, 1, 5, 64]) + dice.scaled(0, 100);
    if is_central {
        let least = if replicates { settings.chunks_spared().max(1) } else { 1 };
        let chunks = least + dice.pick(&[0, 0, 1, 4, 50]) + dice.scaled(0, 100);
        settings.store = Store::Central(CentralSettings { chunks, next_packet });
    }
    settings
}
