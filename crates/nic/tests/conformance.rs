//! Every NIC keeps what every NIC must: see the kit. A new one has a test here.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use flitway_fabric::packet::PacketFormat;
use flitway_fabric::{ANY_PAYLOAD, Barriers, Fabric, Faults, LinkErrors, NicPorts, Rates};
use flitway_nic::NicModel;
use flitway_nic::bounded::BoundedSettings;
use flitway_nic::ideal::IdealSettings;
use flitway_switch::sp::{
    Organisation, Replication, Sp, SpAscent, SpPipeline, SpSettings, Store, WormSettings,
};
use flitway_test_kit::nic::conforms;
use flitway_test_kit::test_nic::TestNicSettings;
use flitway_wiring::Groups;
use flitway_wiring::routing::{Routing, RoutingKind};
use flitway_wiring::topology::{Topology, TopologySettings};
use std::sync::Arc;

/// Two rails of small SP Switches in a tree.
fn fabric() -> Fabric<SpSettings> {
    let topology = Topology::build(&TopologySettings::FatTree { ports: 4, levels: 2 }).unwrap();
    let links = topology.links().len();
    Fabric {
        routing: Routing::new(RoutingKind::DModK, Arc::new(topology)).unwrap(),
        rails: 2,
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
            format: PacketFormat {
                flit_bytes: 2,
                header_flits: 1,
                trailer_flits: 0,
                mtu_bytes: 32,
                block: None,
            },
            ascent: SpAscent::Routed,
            worms: WormSettings { bits: 0, replication: Replication::Asynchronous },
        },
    }
}

fn conform<M: NicModel>(models: &[M]) {
    models.iter().for_each(|model| conforms::<Sp, M>(&fabric(), model));
}

#[test]
fn ideal_nics_conform() {
    conform(&[IdealSettings]);
}

#[test]
fn bounded_nics_conform() {
    conform(&[BoundedSettings { replies: 1 }, BoundedSettings { replies: 3 }]);
}

/// They refuse, hold back and answer.
#[test]
fn test_nics_conform() {
    let plain = TestNicSettings { window: 2, room: 4, gap: 1 };
    conform(&[plain, TestNicSettings { window: 1, room: 1, gap: 70 }, TestNicSettings { gap: 20, ..plain }]);
}
