//! Every NIC keeps what every NIC must: see the kit. A new one has a test here.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

#[path = "common/fabric.rs"]
mod fabric;

use fabric::fabric;
use flitway_engine::{Clock, Picos};
use flitway_nic::NicModel;
use flitway_nic::bounded::BoundedSettings;
use flitway_nic::host::hyper_transport::HyperTransportSettings;
use flitway_nic::host::program::{Completion, Operation, Program, Submission, Verb};
use flitway_nic::host::{HostSettings, IdleTime, OnABus};
use flitway_nic::ideal::IdealSettings;
use flitway_nic::nap::NapSettings;
use flitway_switch::sp::Sp;
use flitway_test_kit::nic::conforms;
use flitway_test_kit::test_nic::TestNicSettings;
use flitway_wiring::NodeId;
use std::any::Any;
use std::sync::Arc;

fn conform<M: NicModel>(models: &[M]) {
    models.iter().for_each(|model| conforms::<Sp, M>(&fabric(2), model));
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

/// Posts messages, puts and gets while other processes of its node pass the NIC by.
#[derive(Debug)]
struct Busy(NodeId);

impl Program for Busy {
    fn act(&mut self, _: Picos, completion: Option<&Completion>, todo: &mut Vec<Operation>) {
        let Busy(node) = *self;
        let of =
            |verb, by| Operation { bytes: 50, tells_left: true, ..Operation::plain(verb, by, (node, 0)) };
        if completion.is_none() {
            for _ in 0..20 {
                let put = of(Verb::Put, Submission::Rendezvous);
                todo.extend([of(Verb::Send, Submission::Pio), put, of(Verb::Get, Submission::Dma)]);
            }
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A NIC on the bus of a host, with and without something to do.
#[test]
fn hosts_with_nics_of_dawning_5000_conform() {
    let bus = HyperTransportSettings {
        ports: 2,
        clock: (200_000_000, 1),
        width: 2,
        payload: 64,
        request: 8,
        response: 4,
        read_request: 64,
        reads: 4,
        write_latency: Picos(296_000),
        burst: 64,
        burst_time: Picos(16_000),
        post_latency: Picos(120_000),
        read_latency: Picos(400_000),
    };
    let settings = NapSettings {
        host: HostSettings { bus, poll: Picos(40_000) },
        issue: Picos(29_000),
        depth: 8,
        immediate: 64,
        slots: 16,
        peers: 4,
        slot: 32,
        events: 4,
        engines: 2,
        start: Picos(10_000),
        transmit: Picos(5_000),
        port_packets: 2,
        receive: Picos(15_000),
        receive_buffer: 64,
        words: 2,
        remote: Picos(10_000),
        barrier: Picos(10_000),
        mtu: 32,
    };
    let fabric = fabric(2);
    let nodes = fabric.nodes();
    let hosts = |processes: usize| {
        let idle = Arc::new(|_, _, _| IdleTime { all: 20, switches: 10 });
        let other = move |node: NodeId| NodeId((node.0 + 3) % nodes);
        let programs = move |node| {
            (0..processes).map(|_| Box::new(Busy(other(node))) as Box<dyn Program>).collect::<Vec<_>>()
        };
        settings.hosts(nodes, Clock::new(100_000_000).unwrap(), idle, Arc::new(programs))
    };
    conform(&[hosts(0), hosts(1)]);
}
