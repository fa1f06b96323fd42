//! A network for tests: a fixed latency for each rail, infinite bandwidth.

use flitway_engine::Cycle;
use flitway_fabric::observer::MessageEvent;
use flitway_fabric::{Delivery, Endpoint, Outgoing, Packet, Up};
use flitway_wiring::Destination;
use flitway_wiring::NodeId;

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
    let (mut sent, mut events) = (Vec::new(), Vec::new());
    loop {
        let due = wakes.iter().flatten().copied().chain(flying.iter().map(|&(at, ..)| at)).min();
        let Some(now) = due.filter(|now| now.0 < end) else { return (sent, events) };
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
            if wakes[node.index()] == Some(now) {
                wakes[node.index()] = endpoint.wake(now, &mut out);
            }
            assert!(wakes[node.index()].is_none_or(|wake| wake > now), "{node} asks for a later cycle");
            events.append(&mut out.events);
            for packet in out.packets {
                assert!(packet.created <= now && packet.payload > 0);
                sent.push((now.0, node.0, packet));
                flying.push((now + latency[packet.rail.index()], node, packet));
            }
        }
    }
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
        flow: packet.flow,
    }
}
