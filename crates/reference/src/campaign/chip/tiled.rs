//! Cases of tiled switches.

use super::super::tables;
use super::Tested;
use crate::campaign::case::{Case, FirstLane};
use crate::campaign::compare::Coverage;
use crate::campaign::dice::Dice;
use crate::campaign::generate::broken::{broken, states, tables_around};
use crate::campaign::generate::errors::errors;
use crate::campaign::generate::rates::{changes, rates};
use crate::campaign::generate::topology::topology;
use crate::campaign::generate::traffic::Traffic;
use crate::campaign::generate::{BUDGET, latencies, length, pauses, test_nics, threads};
use crate::campaign::text::{Data, Tree, choice, record};
use crate::tiled::Tiled;
use flitway_engine::Cycle;
use flitway_fabric::arbiter::ArbiterKind;
use flitway_fabric::faults::FirstLanes;
use flitway_fabric::link::lanes::LaneSettings;
use flitway_fabric::packet::PacketFormat;
use flitway_fabric::{Change, Fabric, LaneChoice, LinkErrors, Rate, ReplyLanes, SentKind};
use flitway_switch::SwitchSettings;
use flitway_switch::tiled::settings::PORTS_MAX;
use flitway_switch::tiled::{
    AckSettings, Arbitration, BufferSettings, LaneOut, RetrySettings, TiledBuffers, TiledPipeline,
    TiledSettings, TrainingSettings,
};
use flitway_wiring::routing::{Routing, RoutingKind, Selection};
use flitway_wiring::topology::{LinkId, Topology, TopologySettings};
use std::sync::Arc;

impl Tested for TiledSettings {
    type Model = Tiled;

    const FOLLOWS_PACKETS: bool = true;

    const CHANGES: &'static [fn(&mut Self)] = CHANGES;

    fn case(seed: u64) -> Case {
        case(seed)
    }

    fn model(fabric: &Fabric<Self>, changes: &[Change], tables: &[(Cycle, Routing)]) -> Tiled {
        Tiled::new(fabric).with_changes(changes).with_tables(tables)
    }

    fn cover(_: &Fabric<Self>, _: &mut Coverage) {}
}

record!(TiledSettings {
    rows,
    columns,
    vcs,
    buffers,
    arbiter,
    selection,
    load_interval,
    lane,
    lanes,
    reply_lanes,
    pipeline,
    retry,
    ack,
    training,
    format,
});
record!(TiledBuffers { input, row, column });
record!(BufferSettings { flits, private });
choice!(Selection { First, Hashed, Random, LeastLoaded });
choice!(LaneOut { Kept, LeastLoaded });
record!(TiledPipeline { receive, input, row, subswitch, column, output, link, transmit });
record!(RetrySettings { window, sequence_bits, timeout, heartbeat });
record!(AckSettings { packets, delay });
record!(TrainingSettings { test, misses, give_up, lanes });
record!(LaneSettings { lanes, discarded_max, rates });

/// Its name in machine files.
impl Data for Arbitration {
    fn write(&self) -> Tree {
        Tree::word(self.name())
    }

    fn read(tree: Tree) -> Result<Self, String> {
        let name = tree.name();
        Arbitration::named(name).ok_or_else(|| format!("there is no arbiter `{name}`"))
    }
}

/// The case of `seed`.
fn case(seed: u64) -> Case {
    let mut dice = Dice::new(seed, 0);
    let (topology_settings, routing) = if dice.one_in(600) { large(&mut dice) } else { topology(&mut dice) };
    let topology = Arc::new(Topology::build(&topology_settings).expect("a generated topology can be built"));
    let routed = tables::routing(routing, Arc::clone(&topology)).expect("a generated routing fits");
    let latencies = latencies(&mut dice, topology.links().len());
    let slowest = latencies.iter().copied().max().unwrap_or(1);
    let switch = settings(&mut dice, topology.ports_max(), routed.classes(), slowest);
    let rails = if dice.one_in(4) { 2 } else { 1 };
    // What the reference looks at in every cycle; it takes half as long as a FIFO.
    let queues = u64::from(switch.ports() * (switch.columns + switch.rows) * switch.vcs / 2);
    let work = u64::from(rails * topology.switches()) * (queues + 1);
    let budget = if dice.one_in(16) { 8 * BUDGET } else { BUDGET };
    let length = length(budget, work, &latencies);
    let nodes = topology.nodes();
    let traffic = Traffic { nodes, rails, format: switch.format, length, sparse: false, groups: 0, least: 1 };
    let scripts = traffic.scripts(&mut dice);
    let broken = if switch.retry.is_some() && dice.one_in(3) {
        let dates = length + 4 * u64::from(switch.training.test);
        broken(&mut dice, &topology, rails, dates, Some(&switch.training.lanes))
    } else {
        Vec::new()
    };
    let first_lanes = first_lanes(&mut dice, &switch.training, &topology, !broken.is_empty());
    let (rates, slowness) = if broken.is_empty() { rates(&mut dice, &topology) } else { (Vec::new(), 1) };
    let (changes, slower) =
        if broken.is_empty() { changes(&mut dice, &topology, rails, length) } else { (Vec::new(), 1) };
    // Where links retry, from often to rarely.
    let kinds = [SentKind::Packet, SentKind::Packet, SentKind::Acknowledgement];
    let errors = match switch.retry {
        Some(_) => errors(&mut dice, &topology, rails, &[10, 30, 100, 1_000], &kinds),
        None => LinkErrors::default(),
    };
    let tables = match switch.retry {
        Some(_) => tables_around(&mut dice, &routed, length),
        None => Vec::new(),
    };
    // Packets go out again.
    let patience = if errors.are_none() { 1 } else { 4 };
    // What is left is given up, and discarded.
    let training = if broken.is_empty() { 0 } else { 8 * u64::from(switch.training.give_up) };
    Case {
        routing,
        rails,
        latencies,
        rates,
        changes,
        scripts,
        promises: dice.one_in(2),
        test_nics: test_nics(seed),
        threads: threads(&mut dice),
        pauses: pauses(&mut dice, length, false),
        limit: Cycle(slowness.max(slower) * patience * (3 * length + 500) + training),
        margin: dice.below(600),
        errors,
        broken,
        first_lanes,
        tables,
        ..Case::plain(topology_settings, SwitchSettings::Tiled(switch))
    }
}

/// One switch of more ports than a word has bits.
fn large(dice: &mut Dice) -> (TopologySettings, RoutingKind) {
    (TopologySettings::Single { nodes: dice.between(65, 70) }, RoutingKind::UpDown)
}

fn settings(dice: &mut Dice, ports: u32, classes: u32, slowest: u32) -> TiledSettings {
    let format = format(dice);
    let longest = format.packet_flits(format.mtu_bytes);
    let vcs = classes * dice.scaled(1, (8 / classes).max(1));
    let (rows, columns) = shape(dice, ports.max(2));
    let mut buffer = || buffer(dice, longest, vcs);
    let buffers = TiledBuffers { input: buffer(), row: buffer(), column: buffer() };
    let retry = retry(dice);
    let pipeline = pipeline(dice);
    TiledSettings {
        rows,
        columns,
        vcs,
        buffers,
        arbiter: dice.pick(&Arbitration::ALL),
        selection: dice.pick(&[
            Selection::First,
            Selection::Hashed,
            Selection::Random,
            Selection::LeastLoaded,
            Selection::LeastLoaded,
            Selection::LeastLoaded,
        ]),
        load_interval: dice.pick(&[1, 1, 2, 7, 16, 100]),
        lane: dice.pick(&[LaneOut::Kept, LaneOut::LeastLoaded]),
        lanes: dice.pick(&[LaneChoice::ByPacket, LaneChoice::ByPacket, LaneChoice::ByFlow]),
        reply_lanes: dice.pick(&[ReplyLanes::Shared, ReplyLanes::Shared, ReplyLanes::Own]),
        pipeline,
        retry,
        ack: AckSettings {
            packets: dice.pick(&[1, 1, 2, 3, 8, 100]),
            delay: dice.pick(&[0, 0, 1, 2, 10, 50, 200, 1_000]),
        },
        training: training(dice, longest, 2 * (slowest + pipeline.depth())),
        format,
    }
}

/// As short as tests can be for packets of so many flits and a round trip of so many cycles, or longer; few lanes of few rates.
fn training(dice: &mut Dice, longest: u32, round_trip: u32) -> TrainingSettings {
    let lanes = dice.pick(&[1, 2, 3, 8]);
    let rates = [(1, 1), (3, 4), (5, 14), (1, 3)].map(|(flits, cycles)| Rate::new(flits, cycles));
    let many = dice.between(1, rates.len() as u32) as usize;
    // All but one of the lanes may be discarded, and the lowest rate is a third.
    let test = round_trip + longest * lanes * 3 + dice.pick(&[1, 1, 50, 500]);
    TrainingSettings {
        test,
        misses: dice.pick(&[1, 2, 16]),
        give_up: test * dice.pick(&[1, 2, 5]),
        lanes: LaneSettings {
            lanes,
            discarded_max: dice.between(0, lanes - 1),
            rates: rates.into_iter().flatten().take(many).collect(),
        },
    }
}

/// Where something breaks, in half of the cases: lanes that are bad from the start, so that no link is down.
fn first_lanes(
    dice: &mut Dice,
    training: &TrainingSettings,
    topology: &Topology,
    breaks: bool,
) -> Vec<FirstLane> {
    if !breaks || dice.one_in(2) {
        return Vec::new();
    }
    let lanes = training.lanes.clone().check().expect("generated lanes are as they can be");
    let mut first = FirstLanes::default();
    for _ in 0..dice.between(1, 5) {
        let links = topology.links();
        let ends = links[dice.below(links.len() as u64) as usize].ends;
        first.states.insert(ends[dice.below(2) as usize], states(dice, &training.lanes));
    }
    let down: Vec<LinkId> =
        first.agreements(topology, &lanes).filter(|(_, it)| it.is_none()).map(|it| it.0).collect();
    first.states.retain(|&end, _| topology.link_of(end).is_some_and(|link| !down.contains(&link)));
    first.states.into_iter().map(|(end, states)| FirstLane { end, states }).collect()
}

/// In two cases of three, with windows from one packet on and numbers that they go with, mostly as narrow as can be.
fn retry(dice: &mut Dice) -> Option<RetrySettings> {
    let window: u32 = dice.pick(&[1, 1, 2, 3, 8, 64, 65_535]);
    let least = u32::BITS - window.leading_zeros();
    let retry = RetrySettings {
        window,
        sequence_bits: (least + dice.pick(&[0, 1, 1, 4])).min(16),
        timeout: dice.pick(&[20, 300, 300, 2_000]),
        heartbeat: dice.pick(&[1, 10, 100, 100, 400]),
    };
    (!dice.one_in(3)).then_some(retry)
}

fn format(dice: &mut Dice) -> PacketFormat {
    let flit_bytes = dice.pick(&[1, 2, 2, 4, 32]);
    let payload = dice.scaled(1, 100);
    PacketFormat {
        flit_bytes,
        header_flits: dice.corner(0, 3),
        trailer_flits: dice.between(0, 1),
        mtu_bytes: payload * flit_bytes - dice.below(u64::from(flit_bytes)) as u32,
        block: None,
    }
}

/// Rows and columns of tiles, for at least so many ports: one row, one column, as square as can be, or any.
fn shape(dice: &mut Dice, ports: u32) -> (u32, u32) {
    let rows = match dice.below(5) {
        0 => 1,
        1 => ports,
        2 => ports.isqrt(),
        _ => dice.between(1, ports),
    };
    let columns = ports.div_ceil(rows);
    let more = dice.pick(&[0, 0, 0, 1]);
    let most = if ports > 64 { PORTS_MAX } else { 64 };
    if rows * (columns + more) <= most { (rows, columns + more) } else { (rows, columns) }
}

/// From the smallest to large; with a shared part, or without.
fn buffer(dice: &mut Dice, longest: u32, vcs: u32) -> BufferSettings {
    let private = longest + dice.pick(&[0, 0, 0, 1, longest, 3 * longest]);
    let shared = match dice.below(4) {
        0 => 0,
        1 => dice.between(0, 2 * longest),
        2 => longest * dice.between(1, 4),
        _ => dice.scaled(1, 2_000),
    };
    BufferSettings { flits: vcs * private + shared, private }
}

fn pipeline(dice: &mut Dice) -> TiledPipeline {
    let longest = dice.pick(&[1, 2, 2, 5, 12, 40]);
    let mut stage = |least: u32| dice.corner(least, longest);
    TiledPipeline {
        receive: stage(1),
        input: stage(0),
        row: stage(1),
        subswitch: stage(1),
        column: stage(0),
        output: stage(0),
        link: stage(0),
        transmit: stage(1),
    }
}

/// Changes that make the switches plainer.
const CHANGES: &[fn(&mut TiledSettings)] = &[
    fewer_vcs,
    |it| it.arbiter = Arbitration::ByGrants(ArbiterKind::RoundRobin),
    |it| it.selection = Selection::First,
    |it| it.load_interval = 1,
    |it| it.lane = LaneOut::Kept,
    |it| it.lanes = LaneChoice::ByPacket,
    |it| it.reply_lanes = ReplyLanes::Shared,
    |it| it.retry = None,
    |it| it.retry = it.retry.map(|retry| RetrySettings { window: 65_535, sequence_bits: 16, ..retry }),
    |it| it.retry = it.retry.map(|retry| RetrySettings { heartbeat: 1_000, ..retry }),
    |it| it.retry = it.retry.map(|retry| RetrySettings { timeout: 10_000, ..retry }),
    |it| it.ack = AckSettings { packets: 1, delay: 0 },
    |it| it.ack.packets = 1,
    |it| it.ack.delay = 0,
    |it| it.ack.delay /= 2,
    |it| it.format.header_flits = it.format.header_flits.saturating_sub(1),
    |it| it.format.trailer_flits = 0,
    |it| it.pipeline.receive = it.pipeline.receive.saturating_sub(1).max(1),
    |it| it.pipeline.input = it.pipeline.input.saturating_sub(1),
    |it| it.pipeline.row = it.pipeline.row.saturating_sub(1).max(1),
    |it| it.pipeline.subswitch = it.pipeline.subswitch.saturating_sub(1).max(1),
    |it| it.pipeline.column = it.pipeline.column.saturating_sub(1),
    |it| it.pipeline.output = it.pipeline.output.saturating_sub(1),
    |it| it.pipeline.link = it.pipeline.link.saturating_sub(1),
    |it| it.pipeline.transmit = it.pipeline.transmit.saturating_sub(1).max(1),
    |it| it.buffers.input.flits = 65_535,
    |it| it.buffers.row.flits = 65_535,
    |it| it.buffers.column.flits = 65_535,
    |it| (it.rows, it.columns) = (1, it.ports()),
    |it| (it.rows, it.columns) = (it.ports(), 1),
    |it| it.rows = (it.rows - 1).max(1),
    |it| it.columns = (it.columns - 1).max(1),
];

/// Half the lanes, of which every packet takes the remainder.
fn fewer_vcs(switch: &mut TiledSettings) {
    if switch.vcs.is_multiple_of(2) {
        switch.vcs /= 2;
    } else if switch.vcs > 1 {
        switch.vcs = 1;
    }
}
