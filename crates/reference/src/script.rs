//! What the nodes of a case do, for both engines: they send given packets, arrive at barriers at given times, and reply.

use flitway_engine::Cycle;
use flitway_fabric::{BarrierId, Delivery, Endpoint, Flow, Outgoing, Packet, Up};
use flitway_test_kit::test_nic::TestNic;
use flitway_wiring::{Destination, NodeSet};
use std::sync::Arc;

/// When a process arrives at the barriers of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrivals {
    /// The group.
    pub group: BarrierId,
    /// When it arrives first.
    pub first: Cycle,
    /// How long after each release it arrives again, until there is none left.
    pub pauses: Vec<u64>,
}

/// The bit of a tag that asks for a reply.
pub const ASKS: u64 = 1 << 32;

/// The bit of a tag that makes a packet for a set of nodes a test, which some of them deny.
pub const TESTS: u64 = 1 << 33;

/// Whether what is delivered is a test that is false there and then.
fn denies(delivery: &Delivery) -> bool {
    let mixed = u64::from(delivery.destination.0) + delivery.flow.tag + delivery.delivered.0;
    delivery.flow.tag & TESTS != 0 && mixed.is_multiple_of(7)
}

/// The reply to a packet that asks for one: as long as that, and asking for nothing.
fn reply(delivery: &Delivery) -> Option<Packet> {
    (delivery.flow.tag & ASKS != 0).then_some(Packet {
        destination: Destination::Node(delivery.source),
        rail: delivery.rail,
        lane: delivery.flow.tag as u32,
        payload: delivery.payload,
        created: delivery.delivered,
        flow: Flow::from_bits(delivery.flow.bits(), delivery.flow.tag & !(ASKS | TESTS)),
    })
}

/// What sits on the NIC ports of a node in a case.
pub trait Scripted: Endpoint {
    /// Whether it has sent all its packets and has done with its barriers.
    fn is_done(&self) -> bool;
}

/// A process that arrives at barriers.
#[derive(Clone, Debug)]
struct Process {
    group: BarrierId,
    /// When it arrives, unless it waits or has done.
    due: Option<Cycle>,
    waits: bool,
    /// Last one first.
    pauses: Vec<u64>,
}

impl Process {
    fn new(arrivals: &Arrivals) -> Self {
        let pauses = arrivals.pauses.iter().rev().copied().collect();
        Process { group: arrivals.group, due: Some(arrivals.first), waits: false, pauses }
    }

    fn arrive(&mut self, out: &mut Outgoing) {
        (self.due, self.waits) = (None, true);
        out.arrive(self.group);
    }
}

/// An endpoint that sends given packets and arrives at barriers at given times, and replies, if it hears of deliveries.
///
/// A process that arrives again without a pause does so before those whose pause has ended, which arrive in the order of
/// the list.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Last created first.
    packets: Vec<Packet>,
    sets: Vec<Arc<NodeSet>>,
    processes: Vec<Process>,
}

impl Script {
    /// Sends `packets`, which are in the order of their creation and may be for `sets`, and arrives at barriers.
    #[must_use]
    pub fn new(packets: &[Packet], sets: &[Arc<NodeSet>], arrivals: &[Arrivals]) -> Self {
        Script {
            packets: packets.iter().rev().copied().collect(),
            sets: sets.to_vec(),
            processes: arrivals.iter().map(Process::new).collect(),
        }
    }

    /// When it has something to do next.
    fn next(&self) -> Option<Cycle> {
        let packet = self.packets.last().map(|packet| packet.created);
        let arrivals = self.processes.iter().filter_map(|process| process.due);
        arrivals.chain(packet).min()
    }
}

impl Endpoint for Script {
    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        while let Some(packet) = self.packets.pop_if(|packet| packet.created <= now) {
            match packet.destination {
                Destination::Nodes(id) => out.push_to_set(packet, Arc::clone(&self.sets[id.set as usize])),
                Destination::Node(_) | Destination::Group(..) => out.push(packet),
            }
        }
        for process in &mut self.processes {
            if process.due.is_some_and(|due| due <= now) {
                process.arrive(out);
            }
        }
        self.next()
    }

    fn hear(&mut self, now: Cycle, up: Up<'_>, out: &mut Outgoing) -> Option<Cycle> {
        let group = match up {
            Up::Delivery(delivery) => {
                out.extend(reply(delivery));
                if denies(delivery) {
                    out.deny(delivery.ticket());
                }
                return self.next();
            }
            Up::Released(group) => group,
            Up::Answered(..) => return self.next(),
            Up::Sent(..) => unreachable!("NIC ports of a script are ideal"),
        };
        let process = self.processes.iter_mut().find(|process| process.group == group && process.waits);
        let process = process.expect("who is released has arrived");
        process.waits = false;
        match process.pauses.pop() {
            Some(0) => process.arrive(out),
            pause => process.due = pause.map(|pause| now + pause),
        }
        self.next()
    }
}

impl Scripted for Script {
    fn is_done(&self) -> bool {
        self.packets.is_empty() && self.processes.iter().all(|it| it.due.is_none() && !it.waits)
    }
}

impl<P: Scripted> Scripted for TestNic<P> {
    fn is_done(&self) -> bool {
        self.is_idle() && self.process().is_done()
    }
}
