//! Cases of Elite4s.

use super::super::tables;
use super::Tested;
use crate::campaign::case::Case;
use crate::campaign::compare::Coverage;
use crate::campaign::dice::Dice;
use crate::campaign::generate::broken::{broken, stalls, tables_around};
use crate::campaign::generate::errors::errors;
use crate::campaign::generate::rates::{changes, rates};
use crate::campaign::generate::topology::topology;
use crate::campaign::generate::traffic::{Traffic, to_sets};
use crate::campaign::generate::{BUDGET, latencies, length, pauses, slow_test_nics, test_nics, threads};
use crate::campaign::text::{choice, record};
use crate::elite::Elite;
use crate::script::TESTS;
use flitway_engine::Cycle;
use flitway_fabric::packet::{BlockFormat, PacketFormat};
use flitway_fabric::{Change, Fabric, LinkErrors, Packet, SentKind};
use flitway_switch::SwitchSettings;
use flitway_switch::elite::{
    AnswerSettings, ElitePipeline, EliteSettings, PrioritySettings, Roots, WhenFull,
};
use flitway_wiring::reach::Reach;
use flitway_wiring::routing::{Routing, Selection};
use flitway_wiring::topology::Topology;
use flitway_wiring::{Destination, NodeId};
use std::sync::Arc;

impl Tested for EliteSettings {
    type Model = Elite;

    const FOLLOWS_PACKETS: bool = true;

    const CHANGES: &'static [fn(&mut Self)] = CHANGES;

    fn case(seed: u64) -> Case {
        case(seed)
    }

    fn model(fabric: &Fabric<Self>, changes: &[Change], tables: &[(Cycle, Routing)]) -> Elite {
        Elite::new(fabric).with_changes(changes).with_tables(tables)
    }

    fn cover(fabric: &Fabric<Self>, coverage: &mut Coverage) {
        let refuses = fabric.chip.answer.is_some_and(|answer| answer.when_full == WhenFull::Refuse);
        coverage.refusing += u64::from(refuses && fabric.nic_ports.are_bounded());
    }
}

record!(EliteSettings {
    ports,
    vcs,
    buffer_flits,
    selection,
    priority,
    roots,
    answer,
    pipeline,
    credit,
    is_coded,
    format
});
choice!(Roots { One, Any });
choice!(WhenFull { Hold, Refuse });
record!(AnswerSettings { node, switch, repeats, back_off, attempts, half_packet, when_full });
record!(PrioritySettings { up_to_bytes, ageing });
record!(ElitePipeline { receive, route, transmit });

/// The case of `seed`.
fn case(seed: u64) -> Case {
    let mut dice = Dice::new(seed, 0);
    let (topology_settings, routing) = topology(&mut dice);
    let topology = Arc::new(Topology::build(&topology_settings).expect("a generated topology can be built"));
    let routed = tables::routing(routing, Arc::clone(&topology)).expect("a generated routing fits");
    let mut switch = settings(&mut dice, topology.ports_max(), routed.classes());
    let rails = if dice.one_in(4) { 2 } else { 1 };
    let latencies = latencies(&mut dice, topology.links().len());
    let buffers = u64::from(rails * switch.vcs) * topology.links().len() as u64 * 2;
    let budget = if dice.one_in(16) { 8 * BUDGET } else { BUDGET };
    let length = length(budget, buffers, &latencies);
    let nodes = topology.nodes();
    let has_broadcasts = switch.answer.is_some() && Reach::is_there(&routed) && !dice.one_in(3);
    let sets = if has_broadcasts { dice.between(1, 8) } else { 0 };
    let sets: Vec<Vec<NodeId>> = (0..sets).map(|_| range(&mut dice, nodes)).collect();
    let groups = sets.len() as u32;
    let traffic = Traffic { nodes, rails, format: switch.format, length, sparse: false, groups, least: 1 };
    let mut scripts = traffic.scripts(&mut dice);
    to_sets(&mut scripts, &sets);
    if dice.one_in(2) {
        some_tests(&mut dice, &mut scripts);
    }
    let (rates, slowness) = rates(&mut dice, &topology);
    let (changes, slower) = changes(&mut dice, &topology, rails, length);
    // Where paths are held, and such that most packets come through.
    let errors = match switch.answer {
        Some(_) => errors(&mut dice, &topology, rails, &[1_000, 1_000, 10_000, 100_000], &KINDS),
        None => LinkErrors::default(),
    };
    let breaks = switch.answer.is_some() && dice.one_in(2);
    let mut broken = if breaks { broken(&mut dice, &topology, rails, length, None) } else { Vec::new() };
    let mut of_stalls = Dice::new(seed, 5);
    if switch.answer.is_some() && of_stalls.one_in(3) {
        stalls(&mut of_stalls, &topology, rails, length, &mut broken);
    }
    let tables = match &broken[..] {
        [] => Vec::new(),
        _ => tables_around(&mut dice, &routed, length),
    };
    let mut of_full = Dice::new(seed, 6);
    let refuses = switch.answer.is_some() && of_full.one_in(2);
    let test_nics = if refuses { Some(slow_test_nics(&mut of_full)) } else { test_nics(seed) };
    if let Some(answer) = switch.answer.as_mut().filter(|_| refuses) {
        answer.when_full = WhenFull::Refuse;
    }
    let answering = test_nics.is_some() && switch.answer.is_some() && Dice::new(seed, 4).one_in(2);
    let patience = if errors.are_none() && broken.is_empty() { 1 } else { 4 };
    Case {
        routing,
        rails,
        latencies,
        rates,
        changes,
        errors,
        broken,
        tables,
        sets,
        scripts,
        promises: dice.one_in(2),
        test_nics,
        answering,
        threads: threads(&mut dice),
        pauses: pauses(&mut dice, length, false),
        limit: Cycle(patience * slowness.max(slower) * (3 * length + 500)),
        margin: dice.below(600),
        ..Case::plain(topology_settings, SwitchSettings::Elite(switch))
    }
}

/// What links corrupt.
const KINDS: [SentKind; 3] = [SentKind::Packet, SentKind::Packet, SentKind::Acknowledgement];

/// Makes tests of packets for sets.
fn some_tests(dice: &mut Dice, scripts: &mut [Vec<Packet>]) {
    for packet in scripts.iter_mut().flatten() {
        if matches!(packet.destination, Destination::Nodes(_)) && !dice.one_in(3) {
            packet.flow.tag |= TESTS;
        }
    }
}

/// Consecutive nodes.
fn range(dice: &mut Dice, nodes: u32) -> Vec<NodeId> {
    let count = dice.corner(1, nodes);
    let first = dice.between(0, nodes - count);
    (first..first + count).map(NodeId).collect()
}

fn settings(dice: &mut Dice, ports: u32, classes: u32) -> EliteSettings {
    let longest = dice.pick(&[1, 1, 2, 5, 20]);
    let format = format(dice);
    EliteSettings {
        ports: ports.max(2),
        vcs: classes * dice.scaled(1, (8 / classes).max(1)),
        buffer_flits: dice.scaled(1, 300),
        selection: dice.pick(&[Selection::First, Selection::LeastLoaded]),
        roots: dice.pick(&[Roots::One, Roots::One, Roots::Any]),
        answer: (!dice.one_in(3)).then(|| AnswerSettings {
            node: dice.corner(1, 8),
            switch: dice.corner(1, longest),
            repeats: dice.pick(&[0, 1, 16]),
            back_off: dice.pick(&[0, 1, 20, 300]),
            attempts: dice.pick(&[1, 2, 5, 20, 20, 60]),
            half_packet: 1 + dice.scaled(0, 400),
            when_full: WhenFull::Hold,
        }),
        pipeline: ElitePipeline {
            receive: dice.corner(0, longest),
            route: dice.corner(1, 4),
            transmit: dice.corner(1, longest),
        },
        credit: dice.pick(&[1, 1, 2, 5]),
        is_coded: false,
        priority: dice.one_in(4).then(|| PrioritySettings {
            up_to_bytes: dice.scaled(0, format.mtu_bytes),
            ageing: dice.pick(&[0, 1, 20, 300, 3_000]),
        }),
        format,
    }
}

fn format(dice: &mut Dice) -> PacketFormat {
    let flit_bytes = dice.pick(&[1, 2, 4, 4]);
    let payload = dice.scaled(1, 200);
    let mtu_bytes = payload * flit_bytes - dice.below(u64::from(flit_bytes)) as u32;
    let block = BlockFormat { bytes: dice.scaled(1, mtu_bytes), header_flits: dice.between(0, 4) };
    PacketFormat {
        flit_bytes,
        header_flits: dice.corner(0, 3),
        trailer_flits: dice.between(0, 1),
        mtu_bytes,
        block: dice.one_in(2).then_some(block),
    }
}

/// Changes that make the switches plainer.
const CHANGES: &[fn(&mut EliteSettings)] = &[
    fewer_vcs,
    |it| it.selection = Selection::First,
    |it| it.priority = None,
    |it| it.roots = Roots::One,
    |it| it.answer = None,
    |it| it.answer = it.answer.map(|answer| AnswerSettings { node: 1, switch: 1, repeats: 16, ..answer }),
    |it| it.answer = it.answer.map(|answer| AnswerSettings { when_full: WhenFull::Hold, ..answer }),
    |it| it.credit = 1,
    |it| it.format.block = None,
    |it| it.format.header_flits = it.format.header_flits.saturating_sub(1),
    |it| it.format.trailer_flits = 0,
    |it| it.pipeline.receive = it.pipeline.receive.saturating_sub(1),
    |it| it.pipeline.route = it.pipeline.route.saturating_sub(1).max(1),
    |it| it.pipeline.transmit = 1,
    |it| it.buffer_flits = 1_000,
    |it| it.buffer_flits = it.buffer_flits.div_ceil(2),
];

/// Half the lanes.
fn fewer_vcs(switch: &mut EliteSettings) {
    if switch.vcs.is_multiple_of(2) {
        switch.vcs /= 2;
    } else if switch.vcs > 1 {
        switch.vcs = 1;
    }
}
