//! What every NIC must keep, whatever it is: the conformance kit.
//!
//! [`conforms`] runs processes that reply behind a NIC, on any switch. A new NIC calls it from a test of its own with some of
//! its settings; how long it takes is the business of its reference model.

use flitway_engine::Cycle;
use flitway_fabric::simulation::Architecture;
use flitway_fabric::{
    Delivery, Endpoint, Fabric, Flow, FlowKind, Outgoing, Packet, Simulation, Unobserved, Up,
};
use flitway_nic::{Nic, NicModel, Place};
use flitway_wiring::{Destination, NodeId, RailId};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

/// A process that does nothing: what runs beside programs on hosts.
#[derive(Debug)]
pub struct Nobody;

impl Endpoint for Nobody {
    fn wake(&mut self, _: Cycle, _: &mut Outgoing) -> Option<Cycle> {
        None
    }

    fn hear(&mut self, _: Cycle, _: Up<'_>, _: &mut Outgoing) -> Option<Cycle> {
        None
    }
}

/// Rounds in which each node asks another one.
const ROUNDS: u64 = 40;

/// Cycles in which everything is over.
const LENGTH: u64 = 400_000;

/// Holds the NICs of `model` to all that every NIC must keep, on `fabric`: each packet that a process sends is heard by the
/// process that it is for, once and not before it is delivered; what is asked of it
/// from outside reaches it; and neither threads nor looks from outside change a thing.
///
/// # Panics
/// If they do not.
pub fn conforms<A: Architecture, M: NicModel>(fabric: &Fabric<A::Chip>, model: &M) {
    let fabric = Fabric { nic_ports: M::PORTS, ..fabric.clone() };
    let run = |threads, pauses: &[Cycle]| {
        let nics = (0..fabric.nodes()).map(NodeId).map(|node| {
            let place = Place { node, rails: fabric.rails, seed: 7 };
            model.nic(
                place,
                Asker { node, nodes: fabric.nodes(), rails: fabric.rails, asked: 0, heard: Vec::new() },
            )
        });
        let stop = AtomicBool::new(false);
        let mut simulation = Simulation::<A, _, _>::new(&fabric, nics.collect(), threads, || Unobserved);
        for until in pauses.iter().copied().chain([Cycle(LENGTH)]) {
            simulation.run_until(until, &stop);
            simulation.settle();
            assert!(simulation.audit().holds(), "after {}: {:?}", simulation.now(), simulation.audit());
        }
        simulation.gather_endpoints(|_, nic| std::mem::take(&mut nic.process_mut().heard))
    };
    let heard = run(1, &[]);
    for (node, heard) in (0..).zip(&heard) {
        assert!(
            heard.iter().all(|it| it.at >= it.delivered),
            "node {node} hears of nothing before it is there"
        );
        let tags = |kind| {
            let of_kind = heard.iter().filter(move |it| it.flow.is(kind));
            of_kind.map(|it| it.flow.tag).collect::<BTreeSet<u64>>()
        };
        let own = node * ROUNDS..(node + 1) * ROUNDS;
        assert!(tags(FlowKind::Message).into_iter().eq(own), "each question of node {node} has its reply");
        let questions = tags(FlowKind::Traffic);
        let all = questions.len() as u64 + ROUNDS;
        assert_eq!(heard.len() as u64, all, "node {node} hears each packet once, and nothing else");
    }
    let pauses: Vec<Cycle> = (0..40).map(|number| Cycle(23 + number * 97)).collect();
    for (threads, pauses) in [(2, &[][..]), (3, &pauses)] {
        assert!(run(threads, pauses) == heard, "{threads} threads, {} looks from outside", pauses.len());
    }
}

/// What a process has heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Heard {
    at: Cycle,
    delivered: Cycle,
    flow: Flow,
}

/// Asks other nodes in turn, faster than a link carries it at first, and replies to each question.
#[derive(Clone, Debug)]
struct Asker {
    node: NodeId,
    nodes: u32,
    rails: u32,
    asked: u64,
    heard: Vec<Heard>,
}

impl Asker {
    fn due(&self) -> Option<Cycle> {
        (self.asked < ROUNDS).then(|| Cycle(self.asked * self.asked))
    }

    fn packet(&self, now: Cycle, destination: NodeId, flow: Flow) -> Packet {
        let rail = RailId((flow.tag % u64::from(self.rails)) as u32);
        let destination = Destination::Node(destination);
        Packet { destination, rail, lane: flow.tag as u32, payload: 8, created: now, flow }
    }
}

impl Endpoint for Asker {
    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        while self.due().is_some_and(|due| due <= now) {
            let other = (self.node.0 + 1 + self.asked as u32 % (self.nodes - 1)) % self.nodes;
            let flow = Flow::traffic(u64::from(self.node.0) * ROUNDS + self.asked);
            out.push(self.packet(now, NodeId(other), flow));
            self.asked += 1;
        }
        self.due()
    }

    fn hear(&mut self, now: Cycle, up: Up<'_>, out: &mut Outgoing) -> Option<Cycle> {
        if let Up::Delivery(&Delivery { delivered, flow, source, .. }) = up {
            self.heard.push(Heard { at: now, delivered, flow });
            if flow.is(FlowKind::Traffic) {
                out.push(self.packet(now, source, Flow::new(FlowKind::Message, flow.tag)));
            }
        }
        self.due()
    }
}
