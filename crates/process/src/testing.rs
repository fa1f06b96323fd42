//! A network for tests: a fixed latency for each rail, infinite bandwidth. Packets for sets are answered, after as long again.

use flitway_engine::Cycle;
use flitway_fabric::observer::MessageEvent;
use flitway_fabric::{Delivery, Endpoint, Outgoing, Packet, Up};
use flitway_wiring::Destination;
use flitway_wiring::{NodeId, NodeSet};
use std::sync::Arc;

/// Packets with the cycle and the node that handed them over, and events.
type Seen = (Vec<(u64, u32, Packet)>, Vec<MessageEvent>);

/// Runs endpoints, node by node in every cycle, until nothing is left to do or cycle `end` has come. Returns all
/// packets in the order in which they were handed over, with the node and the cycle.
pub(crate) fn run<E: Endpoint>(endpoints: &mut [E], latency: &[u64], end: u64) -> Vec<(u64, u32, Packet)> {
    run_observed(endpoints, latency, end).0
}

/// The same, with what the endpoints have reported.
pub(crate) fn run_observed<E: Endpoint>(endpoints: &mut [E], latency: &[u64], end: u64) -> Seen {
    let mut wakes: Vec<Option<Cycle>> = vec![Some(Cycle::ZERO); endpoints.len()];
    let mut flying: Vec<(Cycle, NodeId, Packet)> = Vec::new();
    let mut tests: Vec<Test> = Vec::new();
    let (mut sent, mut events) = (Vec::new(), Vec::new());
    let mut next = Cycle::ZERO;
    loop {
        let of_tests = tests.iter().flat_map(|test| [test.at, test.answered]).filter(|at| *at >= next);
        let due = wakes.iter().flatten().copied().chain(flying.iter().map(|&(at, ..)| at)).chain(of_tests);
        let Some(now) = due.min().filter(|now| now.0 < end) else { return (sent, events) };
        next = now + 1;
        for (node, endpoint) in endpoints.iter_mut().enumerate() {
            let node = NodeId::new(node);
            let mut out = Outgoing::new();
            let here = |packet: &Packet| packet.destination == Destination::Node(node);
            let landed: Vec<_> =
                flying.extract_if(.., |(at, _, packet)| *at == now && here(packet)).collect();
            for (_, source, packet) in landed {
                let delivery = delivery(source, node, &packet, now);
                wakes[node.index()] = endpoint.hear(now, Up::Delivery(&delivery), &mut out);
            }
            for test in tests.iter_mut().filter(|test| test.at == now && test.set.contains(node)) {
                let delivery = delivery(test.source, node, &test.packet, now);
                wakes[node.index()] = endpoint.hear(now, Up::Delivery(&delivery), &mut out);
                test.is_true &= out.denied.is_empty();
                out.denied.clear();
            }
            for test in tests.extract_if(.., |test| test.answered == now && test.source == node) {
                let up = Up::Answered(test.packet.rail, test.packet.flow, test.is_true);
                wakes[node.index()] = endpoint.hear(now, up, &mut out);
            }
            if wakes[node.index()] == Some(now) {
                wakes[node.index()] = endpoint.wake(now, &mut out);
            }
            assert!(wakes[node.index()].is_none_or(|wake| wake > now), "{node} asks for a later cycle");
            events.append(&mut out.events);
            for packet in out.packets {
                assert!(packet.created <= now && packet.payload > 0);
                sent.push((now.0, node.0, packet));
                if let Destination::Nodes(id) = packet.destination {
                    let (set, at) =
                        (Arc::clone(&out.sets[id.set as usize]), now + latency[packet.rail.index()]);
                    let answered = at + latency[packet.rail.index()];
                    tests.push(Test { source: node, packet, set, at, answered, is_true: true });
                    continue;
                }
                flying.push((now + latency[packet.rail.index()], node, packet));
            }
        }
    }
}

/// A packet for a set of nodes.
struct Test {
    source: NodeId,
    packet: Packet,
    set: Arc<NodeSet>,
    /// When it is delivered, and when its source hears the answer.
    at: Cycle,
    answered: Cycle,
    is_true: bool,
}

fn delivery(source: NodeId, node: NodeId, packet: &Packet, now: Cycle) -> Delivery {
    Delivery {
        source,
        destination: node,
        group: None,
        rail: packet.rail,
        vc: 0,
        payload: packet.payload,
        flits: 1,
        hops: 1,
        created: packet.created,
        injected: packet.created,
        delivered: now,
        is_corrupt: false,
        flow: packet.flow,
    }
}
