//! The model by itself: closed forms, and what its own invariants promise.

use super::*;
use crate::driver::Reference;
use crate::script::Script;
use flitway_engine::random::{Purpose, Stream};
use flitway_fabric::arbiter::ArbiterKind;
use flitway_fabric::observer::Advert;
use flitway_fabric::packet::PacketFormat;
use flitway_fabric::{
    ANY_PAYLOAD, Barriers, Delivery, Faults, Flow, LaneChoice, LinkErrors, NicPorts, Rates, ReplyLanes,
};
use flitway_switch::hpp::{AdvertSettings, BarrierSettings, MulticastSettings, Pipeline};
use flitway_wiring::routing::RoutingKind;
use flitway_wiring::topology::{Topology, TopologySettings};
use std::sync::Arc;

fn hpp() -> HppSettings {
    HppSettings {
        ports: 8,
        vcs: 3,
        buffer_units: 16,
        unit_flits: 32,
        selection: Selection::First,
        arbiter: ArbiterKind::Matrix,
        show_ahead: false,
        pipeline: Pipeline { receive: 2, queue: 3, route: 4, transmit_buffer: 2, transmit: 1 },
        tx_fifo: 16,
        format: PacketFormat {
            flit_bytes: 2,
            header_flits: 4,
            trailer_flits: 1,
            mtu_bytes: 1024,
            block: None,
        },
        advert: AdvertSettings { flits: 2, refresh: None, position_bits: 6 },
        multicast: MulticastSettings::published(0),
        barrier: BarrierSettings::published(),
        lanes: LaneChoice::ByPacket,
        reply_lanes: ReplyLanes::Shared,
    }
}

fn fabric(topology: &TopologySettings, routing: RoutingKind, settings: HppSettings) -> Fabric<HppSettings> {
    let topology = Arc::new(Topology::build(topology).unwrap());
    let latencies = (0..topology.links().len() as u32).map(|link| 3 + link % 5).collect();
    let routing = Routing::new(routing, topology).unwrap();
    Fabric {
        routing,
        rails: 1,
        latencies,
        chip: settings,
        groups: Groups::none(),
        barriers: Barriers::none(),
        payloads: ANY_PAYLOAD,
        nic_ports: NicPorts::Ideal,
        rates: Rates::full(),
        errors: LinkErrors::default(),
        faults: Faults::default(),
    }
}

fn packet(destination: u32, payload: u16, created: u64) -> Packet {
    let (destination, rail) = (Destination::Node(NodeId(destination)), RailId(0));
    let created = Cycle(created);
    Packet { destination, rail, lane: 0, payload, created, flow: Flow::traffic(0) }
}

/// The model of `fabric`, whose nodes send `packets`.
fn model(fabric: &Fabric<HppSettings>, packets: &[Vec<Packet>]) -> Reference<Hpp, Script> {
    let scripts = packets.iter().map(|packets| Script::new(packets, &[], &[])).collect();
    Reference::new(Hpp::new(fabric), fabric.rails, scripts)
}

/// Node 0 sends `packets`; all deliveries, in order.
fn deliveries(fabric: &Fabric<HppSettings>, packets: Vec<Packet>) -> Vec<Delivery> {
    let mut scripts = vec![Vec::new(); fabric.nodes() as usize];
    scripts[0] = packets;
    let mut model = model(fabric, &scripts);
    model.run_to_delivery(Cycle(100_000));
    assert!(model.has_delivered_all());
    model.record().deliveries.clone()
}

#[test]
fn zero_load_latency_is_the_sum_of_its_parts() {
    let tree = TopologySettings::FatTree { ports: 4, levels: 3 };
    for show_ahead in [false, true] {
        let fabric = fabric(&tree, RoutingKind::DModK, HppSettings { show_ahead, ..hpp() });
        for (destination, hops) in [(0, 1), (1, 1), (3, 3), (15, 5)] {
            let links: Vec<u32> = links_of_path(&fabric, NodeId(0), NodeId(destination));
            assert_eq!(links.len(), hops + 1);
            for payload in [1, 2, 63, 64, 65, 1024] {
                let arrived = deliveries(&fabric, vec![packet(destination, payload, 50)])[0];
                let cables: u32 = links.iter().map(|&link| fabric.latencies[link as usize]).sum();
                let per_switch = 12 - u64::from(show_ahead);
                let flits = 5 + u64::from(payload.div_ceil(2));
                let start = 1 - u64::from(show_ahead);
                let latency = start + u64::from(cables) + per_switch * hops as u64 + flits;
                assert_eq!(arrived.delivered.since(arrived.created), latency, "{hops} hops, {payload} B");
                assert_eq!(arrived.injected, arrived.created + start);
                assert_eq!((u64::from(arrived.flits), usize::from(arrived.hops)), (flits, hops));
            }
        }
    }
}

/// The links from node to node.
fn links_of_path(fabric: &Fabric<HppSettings>, source: NodeId, destination: NodeId) -> Vec<u32> {
    let topology = fabric.topology();
    let path = fabric.routing.path(source, destination);
    let rest = path.filter_map(|(switch, hop)| topology.wire(switch, hop.port)).map(|(link, _)| link.0);
    std::iter::once(topology.node_link(source).0).chain(rest).collect()
}

#[test]
fn show_ahead_saves_a_cycle_on_an_idle_link_only() {
    let single = TopologySettings::Single { nodes: 2 };
    let settings = HppSettings { show_ahead: true, ..hpp() };
    let fabric = fabric(&single, RoutingKind::UpDown, settings);
    // Before cycle 0 links are busy, so what is created then is not sent ahead.
    assert_eq!(deliveries(&fabric, vec![packet(1, 64, 0)])[0].injected, Cycle(1));
    assert_eq!(deliveries(&fabric, vec![packet(1, 64, 1)])[0].injected, Cycle(1));
    // Sent ahead, 37 flits are on the wire in cycles 100 to 136; the next packet follows at once and saves nothing.
    let pair = deliveries(&fabric, vec![packet(1, 64, 100), packet(1, 64, 100)]);
    assert_eq!((pair[0].injected, pair[1].injected), (Cycle(100), Cycle(137)));
    // One that comes when the link is free but was not idle has to wait for the next cycle; one later, it is ahead.
    for (created, injected) in [(136, 137), (137, 137), (138, 138)] {
        let pair = deliveries(&fabric, vec![packet(1, 64, 100), packet(1, 64, created)]);
        assert_eq!(pair[1].injected, Cycle(injected), "created in cycle {created}");
    }
}

#[test]
fn units_come_back_while_the_tail_still_drains() {
    let single = TopologySettings::Single { nodes: 2 };
    let sideband = AdvertSettings { flits: 0, refresh: None, position_bits: 6 };
    let fabric = fabric(&single, RoutingKind::UpDown, HppSettings { advert: sideband, ..hpp() });
    // 100 payload flits are 4 units; unit 0 is complete with flit 4 + 32 - 1, and the last with the trailer.
    let mut model = model(&fabric, &[vec![packet(1, 200, 50)], vec![]]);
    model.run_until(Cycle(400));
    let crossing = 50 + 1 + 3 + 9;
    let switch: Vec<&Advert> = model.record().adverts.iter().filter(|it| it.component == 0).collect();
    assert_eq!(switch.iter().map(|it| it.position).collect::<Vec<_>>(), [17, 18, 19, 20]);
    let cycles: Vec<u64> = switch.iter().map(|it| it.cycle.0 - crossing).collect();
    assert_eq!(cycles, [36, 68, 100, 105], "each is advertised in the cycle after its last flit has crossed");
}

#[test]
fn adverts_are_repeated_when_nothing_is_new() {
    let single = TopologySettings::Single { nodes: 3 };
    let repeated = AdvertSettings { flits: 2, refresh: Some(50), position_bits: 6 };
    let fabric = fabric(&single, RoutingKind::UpDown, HppSettings { advert: repeated, ..hpp() });
    let mut model = model(&fabric, &[vec![], vec![], vec![]]);
    model.run_until(Cycle(50));
    assert_eq!(model.counters().adverts, 0);
    // Three VCs of six ports, one after the other, and again fifty cycles later.
    model.run_until(Cycle(50 + 5));
    assert_eq!(model.counters().adverts, 18);
    model.run_until(Cycle(1_000));
    assert_eq!(model.counters().adverts, 18 * 19);
    assert!(model.record().adverts.is_empty(), "none of them said anything new");
}

/// Random packets to anybody, too many of them.
fn flood(seed: u64, fabric: &Fabric<HppSettings>, count: u64) -> Vec<Vec<Packet>> {
    let mut stream = Stream::new(seed, 0, Purpose::Test);
    let mut packet = |index: u64| Packet {
        lane: stream.bits() as u32,
        ..packet(stream.below(u64::from(fabric.nodes())) as u32, 1 + stream.below(1024) as u16, index * 60)
    };
    (0..fabric.nodes()).map(|_| (0..count).map(&mut packet).collect()).collect()
}

#[test]
fn the_order_in_which_components_are_evaluated_does_not_matter() {
    let torus = TopologySettings::Torus { dimensions: vec![3, 2], nodes_per_switch: 2 };
    let settings = HppSettings { vcs: 4, show_ahead: true, ..hpp() };
    let fabric = fabric(&torus, RoutingKind::DimensionOrder, settings);
    let scripts = flood(3, &fabric, 12);
    let run = |backwards| {
        let scripts = scripts.iter().map(|packets| Script::new(packets, &[], &[])).collect();
        Reference::new(Hpp { backwards, ..Hpp::new(&fabric) }, fabric.rails, scripts)
    };
    let (mut forward, mut backward) = (run(false), run(true));
    for model in [&mut forward, &mut backward] {
        model.run_to_delivery(Cycle(50_000));
        assert!(model.has_delivered_all());
    }
    assert_eq!(forward.now(), backward.now());
    assert_eq!(forward.record().events(Cycle::NEVER), backward.record().events(Cycle::NEVER));
    assert_eq!(forward.counters(), backward.counters());
}
