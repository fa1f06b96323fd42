//! The fabric of tests of NICs: small SP Switches.

use flitway_fabric::packet::PacketFormat;
use flitway_fabric::{ANY_PAYLOAD, Barriers, Fabric, Faults, LinkErrors, NicPorts, Rates};
use flitway_switch::sp::{Organisation, Replication, SpAscent, SpPipeline, SpSettings, Store, WormSettings};
use flitway_wiring::Groups;
use flitway_wiring::routing::{Routing, RoutingKind};
use flitway_wiring::topology::{Topology, TopologySettings};
use std::sync::Arc;

/// So many rails of SP Switches in a tree.
pub(crate) fn fabric(rails: u32) -> Fabric<SpSettings> {
    let topology = Topology::build(&TopologySettings::FatTree { ports: 4, levels: 2 }).unwrap();
    let links = topology.links().len();
    let format =
        PacketFormat { flit_bytes: 2, header_flits: 1, trailer_flits: 0, mtu_bytes: 32, block: None };
    Fabric {
        routing: Routing::new(RoutingKind::DModK, Arc::new(topology)).unwrap(),
        rails,
        latencies: vec![3; links],
        rates: Rates::full(),
        errors: LinkErrors::default(),
        faults: Faults::default(),
        groups: Groups::none(),
        barriers: Barriers::none(),
        payloads: ANY_PAYLOAD,
        nic_ports: NicPorts::Ideal,
        chip: SpSettings {
            ports: 4,
            store: Store::Input(Organisation::SplitRam),
            chunk_flits: 4,
            fifo_flits: 32,
            pipeline: SpPipeline { receive: 1, route: 4, transmit: 1 },
            credit: 1,
            format,
            ascent: SpAscent::Routed,
            worms: WormSettings { bits: 0, replication: Replication::Asynchronous },
        },
    }
}
