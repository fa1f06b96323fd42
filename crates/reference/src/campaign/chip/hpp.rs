//! Cases of HPP Switches.

use super::super::tables;
use super::Tested;
use crate::campaign::case::Case;
use crate::campaign::compare::Coverage;
use crate::campaign::dice::Dice;
use crate::campaign::generate::topology::{topology, with_two_ways};
use crate::campaign::generate::traffic::Traffic;
use crate::campaign::generate::{BUDGET, barriers, latencies, length, members, pauses, test_nics, threads};
use crate::campaign::text::{Data, Tree, choice, record};
use crate::hpp::Hpp;
use flitway_engine::Cycle;
use flitway_fabric::arbiter::ArbiterKind;
use flitway_fabric::barrier::DunStart;
use flitway_fabric::packet::PacketFormat;
use flitway_fabric::{Change, Fabric, LaneChoice, ReplyLanes};
use flitway_switch::SwitchSettings;
use flitway_switch::hpp::{
    AdvertSettings, BarrierSettings, Gathering, HppSettings, MulticastSettings, Pipeline, posts_adverts,
    works_in_batches,
};
use flitway_wiring::multicast::{Ascent, GroupSettings};
use flitway_wiring::routing::{Routing, RoutingKind, Selection};
use flitway_wiring::topology::{Shape, Topology, TopologySettings};
use std::sync::Arc;

impl Tested for HppSettings {
    type Model = Hpp;

    const CHANGES: &'static [fn(&mut Self)] = CHANGES;

    fn case(seed: u64) -> Case {
        case(seed)
    }

    fn model(fabric: &Fabric<Self>, changes: &[Change], _: &[(Cycle, Routing)]) -> Hpp {
        assert!(changes.is_empty(), "HPP Switches offer no changes");
        Hpp::new(fabric)
    }

    fn cover(fabric: &Fabric<Self>, coverage: &mut Coverage) {
        coverage.in_batches += u64::from(works_in_batches(fabric));
        coverage.posting += u64::from(posts_adverts(fabric));
        coverage.choosing += u64::from(fabric.routing.chooses_ways());
    }
}

record!(HppSettings {
    ports,
    vcs,
    buffer_units,
    unit_flits,
    arbiter,
    selection,
    show_ahead,
    pipeline,
    tx_fifo,
    format,
    advert,
    multicast,
    barrier,
    lanes,
    reply_lanes,
});
record!(Pipeline { receive, queue, route, transmit_buffer, transmit });
record!(AdvertSettings { flits, refresh, position_bits });
record!(MulticastSettings { groups, vc, lookup, gathering });
choice!(Gathering { Bulletin { patience }, OneByOne });
record!(BarrierSettings {
    groups,
    dedicated,
    buffer_packets,
    engine,
    together,
    retransmit,
    dun,
    dun_start,
    packet_error,
});
choice!(DunStart { AtAck, AtCombine });
choice!(LaneChoice { ByPacket, ByFlow });
choice!(ReplyLanes { Shared, Own });

/// Its name in machine files.
impl Data for ArbiterKind {
    fn write(&self) -> Tree {
        Tree::word(self.name())
    }

    fn read(tree: Tree) -> Result<Self, String> {
        let name = tree.name();
        ArbiterKind::named(name).ok_or_else(|| format!("there is no arbiter `{name}`"))
    }
}

/// The case of `seed`.
fn case(seed: u64) -> Case {
    let mut dice = Dice::new(seed, 0);
    // Such that switches may work in batches, and such that they choose ways, which takes classes.
    let (mut other_dice, mut choice_dice) = (Dice::new(seed, 1), Dice::new(seed, 4));
    let wants_long = other_dice.between(1, 5) <= 2;
    let sparse = dice.one_in(4);
    let (topology_settings, routing) = if sparse {
        (TopologySettings::Single { nodes: dice.between(2, 3) }, RoutingKind::UpDown)
    } else if choice_dice.one_in(8) && !wants_long {
        with_two_ways(&mut dice)
    } else {
        topology(&mut dice)
    };
    let topology = Arc::new(Topology::build(&topology_settings).expect("a generated topology can be built"));
    let routed = tables::routing(routing, Arc::clone(&topology)).expect("a generated routing fits");
    let classes = routed.classes();
    let mut switch = settings(&mut dice, topology.ports_max(), classes);
    if routed.names_ways() && !choice_dice.one_in(4) {
        switch.selection = Selection::LeastLoaded;
    }
    if sparse {
        repeat_often(&mut dice, &mut switch);
    }
    let is_long = !sparse && classes == 1 && wants_long;
    let least = if is_long { lengthen(&mut other_dice, &mut switch) } else { 1 };
    let (ascent, groups) = if !is_long && classes == 1 && has_groups(routing, &topology) && dice.one_in(2) {
        groups(&mut dice, &topology)
    } else {
        (Ascent::Table, Vec::new())
    };
    // They do not share a virtual channel.
    switch.barrier.dedicated |= !groups.is_empty() && switch.multicast.vc == 0;
    let rails = if dice.one_in(4) { 2 } else { 1 };
    let has_barriers = !sparse && !is_long && dice.one_in(3);
    let mut latencies = latencies(&mut dice, topology.links().len());
    // Such that adverts are posted: half of those that could be.
    let mut short_dice = Dice::new(seed, 2);
    if switch.advert.flits == 0 && !is_long && short_dice.one_in(2) {
        shorten(&mut short_dice, &mut switch, &mut latencies);
    }
    let fifos = u64::from(rails * switch.vcs) * topology.links().len() as u64 * 2;
    let budget = if sparse || dice.one_in(16) { 8 * BUDGET } else { BUDGET };
    let length = length(budget, fifos, &latencies);
    let (nodes, format) = (topology.nodes(), switch.format);
    let traffic = Traffic { nodes, rails, format, least, length, sparse, groups: groups.len() as u32 };
    let scripts = traffic.scripts(&mut dice);
    let plan = has_barriers.then(|| barriers::plan(&mut dice, &topology, rails, length));
    let barriers::Plan { groups: barriers, faults, arrivals } = plan.unwrap_or(barriers::Plan::none(nodes));
    Case {
        routing,
        rails,
        latencies,
        ascent,
        groups,
        scripts,
        barriers,
        faults,
        arrivals,
        test_nics: test_nics(seed).filter(|_| !is_long),
        promises: is_long || other_dice.one_in(2),
        threads: threads(&mut dice),
        pauses: pauses(&mut dice, length, is_long && other_dice.one_in(2)),
        limit: Cycle(2 * length + 500),
        margin: dice.below(600),
        ..Case::plain(topology_settings, SwitchSettings::Hpp(switch))
    }
}

/// Whether trees of groups go with a routing.
fn has_groups(routing: RoutingKind, topology: &Topology) -> bool {
    match routing {
        RoutingKind::DModK => matches!(topology.shape(), Shape::Tree(_)),
        _ => routing == RoutingKind::UpDown,
    }
}

/// Up to five groups, small and large.
fn groups(dice: &mut Dice, topology: &Topology) -> (Ascent, Vec<GroupSettings>) {
    let is_tree = matches!(topology.shape(), Shape::Tree(_));
    let ascent = if is_tree && dice.one_in(2) { Ascent::Routed } else { Ascent::Table };
    let group = |dice: &mut Dice| {
        let members = members(dice, topology);
        GroupSettings { members, root: dice.bits() as u32 }
    };
    let count = dice.between(1, 5);
    (ascent, (0..count).map(|_| group(dice)).collect())
}

fn settings(dice: &mut Dice, ports: u32, classes: u32) -> HppSettings {
    let format = format(dice);
    let payload = format.mtu_bytes.div_ceil(format.flit_bytes);
    let unit_flits = dice.scaled(1, 64);
    let packet_units = payload.div_ceil(unit_flits);
    let buffer_units = match dice.below(5) {
        0 => packet_units,
        1 => packet_units + dice.between(0, packet_units),
        2 => packet_units * dice.between(2, 4),
        3 => packet_units * dice.between(4, 16),
        // So many that for a while nobody needs adverts.
        _ => packet_units + dice.scaled(1, 1_000),
    };
    let show_ahead = dice.one_in(2);
    let pipeline = Pipeline {
        // Longer than a barrier packet, at times: then that is what ends a window.
        receive: if dice.one_in(6) { dice.between(4, 9) } else { dice.corner(0, 3) },
        queue: dice.corner(0, 3),
        route: dice.corner(1, 5),
        transmit_buffer: dice.corner(1 + u32::from(show_ahead), 4),
        transmit: dice.between(1, 2),
    };
    let vcs = classes * dice.scaled(1, (8 / classes).max(1));
    HppSettings {
        ports: ports.max(2) + dice.pick(&[0, 0, 3]),
        vcs,
        buffer_units,
        unit_flits,
        arbiter: dice.pick(ArbiterKind::ALL),
        selection: Selection::First,
        show_ahead,
        pipeline,
        tx_fifo: dice.scaled(pipeline.transmit_buffer + 1, 40),
        format,
        advert: advert(dice, vcs, buffer_units),
        multicast: multicast(dice, vcs),
        barrier: barrier(dice),
        lanes: dice.pick(&[LaneChoice::ByPacket, LaneChoice::ByPacket, LaneChoice::ByFlow]),
        reply_lanes: dice.pick(&[ReplyLanes::Shared, ReplyLanes::Shared, ReplyLanes::Own]),
    }
}

/// Makes packets so much longer than TX FIFOs that switches decide in batches, or just not. Returns the bytes of the
/// shortest one.
fn lengthen(dice: &mut Dice, settings: &mut HppSettings) -> u32 {
    /// What switches need beyond a TX FIFO.
    const BATCH: u32 = 16;
    let HppSettings { format, advert, pipeline, .. } = settings;
    settings.tx_fifo = if dice.one_in(3) {
        // A link is ready no later than a batch after a grant, or just not; a packet frees a unit soon after its choice.
        pipeline.transmit_buffer = dice.pick(&[BATCH - 2, BATCH - 1, BATCH - 1, BATCH + 24]);
        dice.scaled(1, 8)
    } else {
        dice.scaled(pipeline.transmit_buffer + 1, 20)
    };
    // Longer than what is told apart of the time before an epoch, at times.
    if dice.one_in(6) {
        pipeline.receive = dice.scaled(4, 3_000);
    }
    let needed = settings.tx_fifo + BATCH;
    let unit = needed.saturating_sub(format.header_flits);
    settings.unit_flits = settings.unit_flits.max(dice.corner(unit - 1, unit + 60));
    format.mtu_bytes = format.mtu_bytes.max(dice.between(needed, 300) * format.flit_bytes);
    let units = format.mtu_bytes.div_ceil(format.flit_bytes).div_ceil(settings.unit_flits);
    settings.buffer_units = settings.buffer_units.max(units);
    advert.flits = if dice.one_in(8) { dice.between(4, 64) } else { advert.flits.max(1) };
    advert.refresh = advert.refresh.map(|refresh| refresh.max(2 * settings.vcs * advert.flits + 1));
    advert.position_bits = 16;
    let payload = needed - format.header_flits - format.trailer_flits;
    (dice.corner(payload - 1, payload + 60) * format.flit_bytes).min(format.mtu_bytes)
}

/// Makes packets and links so short, and buffers so small, that adverts on wires of their own are posted, or just not.
fn shorten(dice: &mut Dice, settings: &mut HppSettings, latencies: &mut [u32]) {
    let HppSettings { format, .. } = settings;
    format.mtu_bytes = format.mtu_bytes.min(dice.scaled(1, 24) * format.flit_bytes);
    settings.unit_flits = settings.unit_flits.min(dice.between(1, 6));
    let units = format.mtu_bytes.div_ceil(format.flit_bytes).div_ceil(settings.unit_flits);
    settings.buffer_units = units * dice.between(1, 4) + dice.below(2) as u32;
    settings.advert.position_bits = 16;
    let longest = dice.scaled(1, 12);
    latencies.iter_mut().for_each(|latency| *latency = (*latency).min(longest));
}

fn multicast(dice: &mut Dice, vcs: u32) -> MulticastSettings {
    let gathering = match dice.below(5) {
        0 => Gathering::OneByOne,
        1 => Gathering::Bulletin { patience: Some(dice.scaled(0, 300)) },
        _ => Gathering::Bulletin { patience: None },
    };
    MulticastSettings { groups: 16, vc: dice.corner(0, vcs - 1), lookup: dice.between(0, 3), gathering }
}

fn format(dice: &mut Dice) -> PacketFormat {
    let flit_bytes = dice.pick(&[1, 2, 2, 4, 8, 32]);
    let payload = dice.scaled(1, 300);
    PacketFormat {
        flit_bytes,
        header_flits: dice.corner(0, 5),
        trailer_flits: dice.between(0, 1),
        mtu_bytes: payload * flit_bytes - dice.below(u64::from(flit_bytes)) as u32,
        block: None,
    }
}

fn advert(dice: &mut Dice, vcs: u32, buffer_units: u32) -> AdvertSettings {
    let flits = dice.pick(&[0, 1, 1, 2, 2, 3]);
    let quickest = 2 * vcs * flits + 1;
    let narrowest = (2 * buffer_units).ilog2() + 1;
    AdvertSettings {
        flits,
        refresh: (!dice.one_in(3)).then(|| dice.scaled(quickest, 400)),
        position_bits: dice.corner(narrowest, 16),
    }
}

/// Makes an idle link repeat short adverts in patterns of several VCs, some of them in one cycle.
fn repeat_often(dice: &mut Dice, settings: &mut HppSettings) {
    settings.vcs = dice.between(4, 8);
    settings.multicast.vc = dice.below(u64::from(settings.vcs)) as u32;
    settings.show_ahead = true;
    settings.pipeline.transmit_buffer = settings.pipeline.transmit_buffer.max(2);
    settings.tx_fifo = settings.tx_fifo.max(settings.pipeline.transmit_buffer + 1);
    settings.advert.flits = 1;
    settings.advert.refresh = Some(2 * settings.vcs + dice.between(1, 8));
}

/// Timers are short, so that they expire before anything is lost, too.
fn barrier(dice: &mut Dice) -> BarrierSettings {
    let mut timer =
        |longest: u32| if dice.one_in(12) { dice.scaled(1, 30) } else { dice.between(30, longest) };
    let (retransmit, dun) = (timer(500), timer(900));
    BarrierSettings {
        groups: 16,
        dedicated: !dice.one_in(3),
        buffer_packets: dice.scaled(1, 12),
        engine: dice.corner(0, 4),
        retransmit,
        dun,
        dun_start: dice.pick(&[DunStart::AtAck, DunStart::AtCombine]),
        packet_error: dice.pick(&[0, 0, 0, u64::MAX / 50, u64::MAX / 8, u64::MAX / 3]),
        together: dice.one_in(3),
    }
}

/// Changes that make the switches plainer.
const CHANGES: &[fn(&mut HppSettings)] = &[
    fewer_vcs,
    |it| it.selection = Selection::First,
    |it| it.show_ahead = false,
    |it| it.advert.refresh = None,
    |it| it.advert.flits = 0,
    |it| it.advert.flits = it.advert.flits.min(1),
    |it| it.advert.position_bits = 16,
    |it| it.arbiter = ArbiterKind::RoundRobin,
    |it| it.format.header_flits = it.format.header_flits.saturating_sub(1),
    |it| it.format.trailer_flits = 0,
    |it| it.pipeline.receive = it.pipeline.receive.saturating_sub(1),
    |it| it.pipeline.queue = it.pipeline.queue.saturating_sub(1),
    |it| it.pipeline.route = it.pipeline.route.saturating_sub(1).max(1),
    |it| it.pipeline.transmit = 1,
    |it| {
        let least = 1 + u32::from(it.show_ahead);
        it.pipeline.transmit_buffer = (it.pipeline.transmit_buffer - 1).max(least);
    },
    |it| it.tx_fifo = (it.tx_fifo - 1).max(it.pipeline.transmit_buffer + 1),
    |it| it.buffer_units = 64,
    |it| it.multicast.lookup = 0,
    |it| it.multicast.gathering = Gathering::Bulletin { patience: None },
    |it| it.barrier.packet_error = 0,
    |it| it.barrier.dedicated = true,
    |it| it.barrier.engine = 0,
    |it| it.barrier.together = false,
    |it| it.lanes = LaneChoice::ByPacket,
    |it| it.reply_lanes = ReplyLanes::Shared,
    |it| it.barrier.buffer_packets = 12,
    |it| it.barrier.retransmit = 10_000,
    |it| it.barrier.dun = 10_000,
    |it| it.barrier.dun_start = DunStart::AtAck,
];

/// Half the lanes, of which every packet takes the remainder.
fn fewer_vcs(switch: &mut HppSettings) {
    if switch.vcs.is_multiple_of(2) {
        switch.vcs /= 2;
    } else if switch.vcs > 1 {
        switch.vcs = 1;
    }
    switch.multicast.vc = switch.multicast.vc.min(switch.vcs - 1);
}
