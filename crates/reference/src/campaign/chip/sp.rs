//! Cases of SP Switches.

use super::super::tables;
use super::Tested;
use crate::campaign::case::Case;
use crate::campaign::compare::Coverage;
use crate::campaign::dice::Dice;
use crate::campaign::generate::rates::{changes, rates};
use crate::campaign::generate::topology::{stages, topology};
use crate::campaign::generate::traffic::{Traffic, to_sets};
use crate::campaign::generate::{BUDGET, latencies, length, members, pauses, test_nics, threads};
use crate::campaign::text::{choice, record};
use crate::sp::Sp;
use flitway_engine::Cycle;
use flitway_fabric::packet::PacketFormat;
use flitway_fabric::{Change, Fabric};
use flitway_switch::SwitchSettings;
use flitway_switch::sp::{
    CentralSettings, NextPacket, Organisation, Replication, SpAscent, SpPipeline, SpSettings, Store,
    WormSettings,
};
use flitway_wiring::NodeId;
use flitway_wiring::reach::Reach;
use flitway_wiring::routing::{Routing, RoutingKind};
use flitway_wiring::topology::Topology;
use std::sync::Arc;

impl Tested for SpSettings {
    type Model = Sp;

    const CHANGES: &'static [fn(&mut Self)] = &[
        |it| it.ascent = SpAscent::Routed,
        |it| it.credit = 1,
        |it| it.format.trailer_flits = 0,
        |it| it.pipeline.receive = it.pipeline.receive.saturating_sub(1),
        |it| it.pipeline.route = it.pipeline.route.saturating_sub(1).max(1),
        |it| it.pipeline.transmit = 1,
        |it| it.fifo_flits = 1_000,
    ];

    fn case(seed: u64) -> Case {
        case(seed)
    }

    fn model(fabric: &Fabric<Self>, changes: &[Change], _: &[(Cycle, Routing)]) -> Sp {
        Sp::new(fabric).with_changes(changes)
    }

    fn cover(_: &Fabric<Self>, _: &mut Coverage) {}
}

record!(SpSettings { ports, store, chunk_flits, fifo_flits, pipeline, credit, format, ascent, worms });
choice!(Store { Central(settings), Input(organisation) });
record!(CentralSettings { chunks, next_packet });
choice!(NextPacket { Shared, Separate });
choice!(Organisation { ChunkWide, RegisterStaircase, SplitRam });
record!(SpPipeline { receive, route, transmit });
choice!(SpAscent { Adaptive, Routed });
record!(WormSettings { bits, replication });
choice!(Replication { Asynchronous, LockStep });

/// The case of `seed`.
fn case(seed: u64) -> Case {
    let mut dice = Dice::new(seed, 0);
    let (topology_settings, kind) =
        if dice.one_in(4) { (stages(&mut dice), RoutingKind::DestinationTag) } else { topology(&mut dice) };
    let topology = Arc::new(Topology::build(&topology_settings).expect("a generated topology can be built"));
    let routing = |kind| tables::routing(kind, Arc::clone(&topology)).expect("a generated routing fits");
    // One virtual channel leaves no dateline, and no layers; and headers say the destination alone.
    let own = Some(routing(kind)).filter(|routing| routing.classes() == 1 && routing.is_plain());
    let routing = own.unwrap_or_else(|| routing(RoutingKind::UpDown));
    let kind = routing.kind();
    let has_worms = Reach::new(&routing).is_some() && dice.below(4) > 0;
    let nodes = topology.nodes();
    let bits = if has_worms { nodes + dice.pick(&[0, 0, 1, 40]) } else { 0 };
    let switch = settings(&mut dice, topology.ports_max(), bits);
    let sets = if has_worms { dice.between(1, 8) } else { 0 };
    let sets: Vec<Vec<NodeId>> = (0..sets).map(|_| members(&mut dice, &topology)).collect();
    let rails = if dice.one_in(4) { 2 } else { 1 };
    let latencies = latencies(&mut dice, topology.links().len());
    let fifos = u64::from(rails) * topology.links().len() as u64 * 4;
    let budget = if dice.one_in(16) { 8 * BUDGET } else { BUDGET };
    let length = length(budget, fifos, &latencies);
    let groups = sets.len() as u32;
    let traffic = Traffic { nodes, rails, format: switch.format, length, sparse: false, groups, least: 1 };
    let mut scripts = traffic.scripts(&mut dice);
    to_sets(&mut scripts, &sets);
    let threads = threads(&mut dice);
    let pauses = pauses(&mut dice, length, false);
    let margin = dice.below(600);
    let (rates, slowness) = rates(&mut dice, &topology);
    let (changes, slower) = changes(&mut dice, &topology, rails, length);
    Case {
        routing: kind,
        rails,
        latencies,
        rates,
        changes,
        sets,
        scripts,
        test_nics: test_nics(seed),
        threads,
        pauses,
        limit: Cycle(slowness.max(slower) * (3 * length + 500)),
        margin,
        ..Case::plain(topology_settings, SwitchSettings::Sp(switch))
    }
}

fn settings(dice: &mut Dice, ports: u32, bits: u32) -> SpSettings {
    let flit_bytes = dice.pick(&[1, 2, 2, 4]);
    let payload = dice.scaled(1, 100);
    let format = PacketFormat {
        flit_bytes,
        header_flits: dice.corner(0, 3),
        trailer_flits: dice.between(0, 1),
        mtu_bytes: payload * flit_bytes - dice.below(u64::from(flit_bytes)) as u32,
        block: None,
    };
    let chunk_flits = dice.pick(&[1, 2, 3, 4, 8, 8, 8, 16]);
    let next_packet = dice.pick(&[NextPacket::Shared, NextPacket::Shared, NextPacket::Separate]);
    let is_central = dice.below(3) > 0;
    let replication = if dice.one_in(5) { Replication::LockStep } else { Replication::Asynchronous };
    let store = if is_central {
        Store::Central(CentralSettings { chunks: 1, next_packet })
    } else {
        Store::Input(dice.pick(&Organisation::ALL))
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
