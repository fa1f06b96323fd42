//! What the fabric's tests share: small fabrics and endpoints that follow a script.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use flitway_engine::Cycle;
use flitway_engine::random::{Purpose, Stream};
use flitway_fabric::arbiter::ArbiterKind;
use flitway_fabric::observer::{LinkObserver, MessageObserver, NicObserver, SwitchObserver};
use flitway_fabric::packet::PacketFormat;
use flitway_fabric::{
    ANY_PAYLOAD, Barriers, Delivery, Endpoint, Fabric, Faults, Flow, LaneChoice, LinkErrors, NicPorts,
    Outgoing, Packet, Rates, ReplyLanes, Up,
};
use flitway_switch::hpp::{AdvertSettings, BarrierSettings, HppSettings, MulticastSettings, Pipeline};
use flitway_wiring::routing::{Routing, RoutingKind, Selection};
use flitway_wiring::topology::{Topology, TopologySettings};
use flitway_wiring::{Destination, Groups, NodeId, NodeSet, RailId};
use std::sync::Arc;

/// The HPP Switch of hpp-switch.txt with `ports` ports, without repeated adverts.
#[allow(dead_code, reason = "tests of other switches do without")]
pub(crate) fn hpp(ports: u32) -> HppSettings {
    HppSettings {
        ports,
        vcs: 3,
        buffer_units: 64,
        unit_flits: 32,
        arbiter: ArbiterKind::Matrix,
        selection: Selection::First,
        show_ahead: true,
        pipeline: Pipeline { receive: 2, queue: 3, route: 4, transmit_buffer: 2, transmit: 1 },
        tx_fifo: 16,
        format: PacketFormat {
            flit_bytes: 2,
            header_flits: 4,
            trailer_flits: 1,
            mtu_bytes: 1024,
            block: None,
        },
        advert: AdvertSettings { flits: 2, refresh: None, position_bits: 16 },
        multicast: MulticastSettings::published(2),
        barrier: BarrierSettings::published(),
        lanes: LaneChoice::ByPacket,
        reply_lanes: ReplyLanes::Shared,
    }
}

pub(crate) fn fabric<C>(
    topology: &TopologySettings,
    kind: RoutingKind,
    latency: u32,
    settings: C,
) -> Fabric<C> {
    let topology = Arc::new(Topology::build(topology).unwrap());
    let latencies = vec![latency; topology.links().len()];
    let routing = Routing::new(kind, topology).unwrap();
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

/// Sends given packets at given times.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    /// In reverse order of creation.
    pub(crate) packets: Vec<Packet>,
    /// The nodes that packets for a set are for.
    pub(crate) set: Option<Arc<NodeSet>>,
}

impl Script {
    pub(crate) fn new(mut packets: Vec<Packet>) -> Self {
        packets.sort_by_key(|packet| std::cmp::Reverse(packet.created));
        Script { packets, set: None }
    }
}

impl Endpoint for Script {
    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        while let Some(packet) = self.packets.pop_if(|packet| packet.created <= now) {
            match (packet.destination, &self.set) {
                (Destination::Nodes(_), Some(set)) => out.push_to_set(packet, Arc::clone(set)),
                _ => out.push(packet),
            }
        }
        self.packets.last().map(|packet| packet.created)
    }

    fn hear(&mut self, _: Cycle, _: Up<'_>, _: &mut Outgoing) -> Option<Cycle> {
        self.packets.last().map(|packet| packet.created)
    }
}

/// Scripts of random packets: on average one every `gap` cycles and node until `until`.
pub(crate) fn random_scripts<C>(
    seed: u64,
    fabric: &Fabric<C>,
    gap: u64,
    until: u64,
    payload_max: u64,
) -> Vec<Script> {
    (0..fabric.nodes())
        .map(|node| {
            let mut stream = Stream::new(seed, u64::from(node), Purpose::Test);
            let mut packets = Vec::new();
            let mut at = stream.below(gap);
            while at < until {
                packets.push(Packet {
                    destination: Destination::Node(NodeId(stream.below(u64::from(fabric.nodes())) as u32)),
                    rail: RailId(stream.below(u64::from(fabric.rails)) as u32),
                    lane: stream.bits() as u32,
                    payload: 1 + stream.below(payload_max) as u16,
                    created: Cycle(at),
                    flow: Flow::traffic(packets.len() as u64),
                });
                at += stream.below(2 * gap);
            }
            Script::new(packets)
        })
        .collect()
}

/// Keeps every delivery.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deliveries(pub(crate) Vec<Delivery>);

impl LinkObserver for Deliveries {}

impl SwitchObserver for Deliveries {}

impl NicObserver for Deliveries {
    fn delivered(&mut self, delivery: &Delivery) {
        self.0.push(*delivery);
    }
}

impl MessageObserver for Deliveries {}
