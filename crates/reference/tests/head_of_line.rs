//! Saturation of one switch with one FIFO per input, against theory.
//!
//! Karol, Hluchyj and Morgan ("Input versus output queueing on a space-division packet switch", 1987, table I) give the
//! accepted load of an `N x N` switch with FIFO inputs that are never empty, in slotted time, when every packet fills one
//! slot, every destination is as likely as another (its own included) and a contended output takes any of its
//! requesters: 3/4 for two ports, 0.6825 for three, 0.6553 for four, towards 2 - sqrt(2).
//!
//! The model is brought under these assumptions: packets of one length (256 flits) with nothing around them, one VC,
//! adverts on wires of their own, buffers of many packets. Nothing in it is slotted, but packets of one length that all
//! begin together keep in step: an output takes its next packet in the cycle in which the one before has crossed, and
//! whoever has waited starts with those who have not. It differs from theory in this:
//! * the arbiter takes the least recently served instead of a random one. The accepted load does not feel it: whoever wins, a
//!   new head with a uniform destination takes the winner's place;
//! * a cycle without a flit can open between packets on a link, because a NIC waits for credits; with buffers of many
//!   packets the FIFOs are never empty for all that;
//! * the measurement is finite: 10,000 slots leave a standard error of about 0.3 %.

use flitway_engine::Cycle;
use flitway_engine::random::{Purpose, Stream};
use flitway_fabric::arbiter::ArbiterKind;
use flitway_fabric::packet::PacketFormat;
use flitway_fabric::{
    ANY_PAYLOAD, Barriers, Endpoint, Fabric, Faults, Flow, LinkErrors, NicPorts, Outgoing, Packet, Rates,
    Simulation, Unobserved, Up,
};
use flitway_fabric::{LaneChoice, ReplyLanes};
use flitway_switch::hpp::{AdvertSettings, BarrierSettings, Hpp, HppSettings, MulticastSettings, Pipeline};
use flitway_wiring::routing::{Routing, RoutingKind, Selection};
use flitway_wiring::topology::{Topology, TopologySettings};
use flitway_wiring::{Destination, Groups, NodeId, RailId};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Flits of a packet: the length of a slot.
const SLOT: u64 = 256;
const SLOTS: u64 = 10_000;

/// Has all its packets in the source queue from the start.
struct Flood {
    packets: Vec<Packet>,
}

impl Endpoint for Flood {
    fn wake(&mut self, _: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        out.packets.append(&mut self.packets);
        None
    }

    fn hear(&mut self, _: Cycle, _: Up<'_>, _: &mut Outgoing) -> Option<Cycle> {
        None
    }
}

fn switch(nodes: u32) -> Fabric<HppSettings> {
    let topology = Arc::new(Topology::build(&TopologySettings::Single { nodes }).expect("a switch"));
    let settings = HppSettings {
        ports: nodes,
        vcs: 1,
        buffer_units: 16,
        unit_flits: SLOT as u32,
        arbiter: ArbiterKind::LeastRecentlyGranted,
        selection: Selection::First,
        show_ahead: false,
        pipeline: Pipeline { receive: 1, queue: 1, route: 1, transmit_buffer: 1, transmit: 1 },
        tx_fifo: 2,
        format: PacketFormat {
            flit_bytes: 1,
            header_flits: 0,
            trailer_flits: 0,
            mtu_bytes: SLOT as u32,
            block: None,
        },
        advert: AdvertSettings { flits: 0, refresh: None, position_bits: 16 },
        multicast: MulticastSettings::published(0),
        barrier: BarrierSettings::published(),
        lanes: LaneChoice::ByPacket,
        reply_lanes: ReplyLanes::Shared,
    };
    Fabric {
        latencies: vec![1; topology.links().len()],
        routing: Routing::new(RoutingKind::UpDown, topology).expect("up and down go anywhere"),
        rails: 1,
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

fn flood(nodes: u32, node: u32) -> Flood {
    let mut stream = Stream::new(1987, u64::from(node), Purpose::Destination);
    let mut packet = |tag| Packet {
        destination: Destination::Node(NodeId(stream.below(u64::from(nodes)) as u32)),
        rail: RailId(0),
        lane: 0,
        payload: SLOT as u16,
        created: Cycle(0),
        flow: Flow::traffic(tag),
    };
    Flood { packets: (0..SLOTS + 200).map(&mut packet).collect() }
}

/// Flits that an output delivers per cycle.
fn accepted_load(nodes: u32) -> f64 {
    let endpoints = (0..nodes).map(|node| flood(nodes, node)).collect();
    let mut simulation = Simulation::<Hpp, _, _>::new(&switch(nodes), endpoints, 1, || Unobserved);
    let mut measure = |until: u64| {
        simulation.run_until(Cycle(until * SLOT), &AtomicBool::new(false));
        (simulation.now().0, simulation.counters().flits_delivered)
    };
    let (start, before) = measure(100);
    let (end, after) = measure(100 + SLOTS);
    (after - before) as f64 / (end - start) as f64 / f64::from(nodes)
}

#[test]
fn saturation_is_where_head_of_line_blocking_puts_it() {
    for (nodes, theory) in [(2, 0.75), (3, 0.6825), (4, 0.6553), (8, 0.6184)] {
        let measured = accepted_load(nodes);
        let off = measured / theory - 1.0;
        assert!(off.abs() < 0.01, "{nodes} ports: {measured:.4} measured, {theory} in theory");
    }
}
