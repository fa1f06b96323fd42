//! The bounded NIC: the ideal one, with a reply queue that can be full.
//!
//! # What happens in which cycle
//!
//! * What the process sends is in the source queue of its NIC port in the same cycle, however many packets are there. Of each
//!   rail the NIC counts the *replies* among them ([`FlowKind::Reply`]) that have not left their source queue: its **reply
//!   queue**.
//! * A packet that has been delivered is told to the process, and drained, in the same cycle, unless it is a *request*
//!   ([`FlowKind::Request`]) and the reply queue of its rail holds as many replies as it has places. Then it stays in the NIC
//!   port, and so does what comes after it on its virtual channel.
//! * A reply that has left its source queue frees a place in the cycle in which the NIC hears so. Requests that wait are told
//!   to the process then, the one first that was delivered first, as long as there are places.
//! * It has no time and no processor of its own, and makes no packets. A release is heard in the cycle in which it comes.

use crate::{Nic, NicModel, Place};
use flitway_engine::Cycle;
use flitway_fabric::{Delivery, Endpoint, FlowKind, NicPorts, Outgoing, Up};
use flitway_wiring::RailId;
use std::collections::VecDeque;

/// The settings of the bounded NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundedSettings {
    /// Replies that the reply queue of a rail holds; at least 1.
    pub replies: u32,
}

impl NicModel for BoundedSettings {
    type Nic<P: Endpoint> = Bounded<P>;

    const PORTS: NicPorts = NicPorts::Bounded;

    fn reply_places(&self) -> Option<u32> {
        Some(self.replies)
    }

    fn nic<P: Endpoint>(&self, place: Place, process: P) -> Bounded<P> {
        let rails = (0..place.rails).map(|_| Rail::default()).collect();
        Bounded { process, wake: Some(Cycle::ZERO), places: self.replies, rails }
    }
}

/// The bounded NIC of a node, with its process.
#[derive(Clone, Debug)]
pub struct Bounded<P> {
    process: P,
    /// When it wants to be woken.
    wake: Option<Cycle>,
    /// Places of a reply queue.
    places: u32,
    rails: Box<[Rail]>,
}

/// What there is of a rail.
#[derive(Clone, Debug, Default)]
struct Rail {
    /// Replies that have not left their source queue.
    replies: u32,
    /// Requests that wait in the NIC port, in the order in which they were delivered.
    held: VecDeque<Delivery>,
}

impl<P: Endpoint> Bounded<P> {
    /// The process acts as `act` says; what it replies is counted.
    fn act(
        &mut self,
        out: &mut Outgoing,
        act: impl FnOnce(&mut P, &mut Outgoing) -> Option<Cycle>,
    ) -> Option<Cycle> {
        let first = out.packets.len();
        self.wake = act(&mut self.process, out);
        for packet in out.packets[first..].iter().filter(|packet| packet.flow.is(FlowKind::Reply)) {
            self.rails[packet.rail.index()].replies += 1;
        }
        self.wake
    }

    /// The process hears of `delivery`, which is drained.
    fn take(&mut self, now: Cycle, delivery: &Delivery, out: &mut Outgoing) -> Option<Cycle> {
        out.drain(delivery.ticket());
        self.act(out, |process, out| process.hear(now, Up::Delivery(delivery), out))
    }

    /// A reply has left its source queue.
    fn free(&mut self, now: Cycle, rail: RailId, out: &mut Outgoing) {
        self.rails[rail.index()].replies -= 1;
        while self.rails[rail.index()].replies < self.places
            && let Some(delivery) = self.rails[rail.index()].held.pop_front()
        {
            self.take(now, &delivery, out);
        }
    }
}

impl<P: Endpoint> Nic for Bounded<P> {
    type Process = P;

    fn process_mut(&mut self) -> &mut P {
        &mut self.process
    }
}

impl<P: Endpoint> Endpoint for Bounded<P> {
    const BOUNDED: bool = true;

    const KEEPS_FOR_REPLIES: bool = true;

    fn takes_part(&self) -> bool {
        self.process.takes_part()
    }

    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        self.act(out, |process, out| process.wake(now, out))
    }

    fn hear(&mut self, now: Cycle, up: Up<'_>, out: &mut Outgoing) -> Option<Cycle> {
        match up {
            Up::Delivery(delivery) => {
                let rail = &mut self.rails[delivery.rail.index()];
                if delivery.flow.is(FlowKind::Request) && rail.replies >= self.places {
                    rail.held.push_back(*delivery);
                    return self.wake;
                }
                self.take(now, delivery, out)
            }
            Up::Released(_) | Up::Answered(..) => self.act(out, |process, out| process.hear(now, up, out)),
            Up::Sent(rail, flow) => {
                if flow.is(FlowKind::Reply) {
                    self.free(now, rail, out);
                }
                self.wake
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_fabric::{Flow, Packet};
    use flitway_wiring::{Destination, NodeId};

    /// Replies to each request.
    struct Replier;

    impl Endpoint for Replier {
        fn wake(&mut self, _: Cycle, _: &mut Outgoing) -> Option<Cycle> {
            None
        }

        fn hear(&mut self, now: Cycle, up: Up<'_>, out: &mut Outgoing) -> Option<Cycle> {
            if let Up::Delivery(request) = up
                && request.flow.is(FlowKind::Request)
            {
                out.push(Packet {
                    destination: Destination::Node(request.source),
                    rail: request.rail,
                    lane: 0,
                    payload: 8,
                    created: now,
                    flow: Flow::new(FlowKind::Reply, request.flow.tag),
                });
            }
            None
        }
    }

    fn delivery(kind: FlowKind, tag: u64, vc: u8) -> Delivery {
        Delivery {
            source: NodeId(1),
            destination: NodeId(0),
            group: None,
            rail: RailId(0),
            vc,
            payload: 8,
            flits: 4,
            hops: 1,
            created: Cycle::ZERO,
            injected: Cycle::ZERO,
            delivered: Cycle(9),
            is_corrupt: false,
            flow: Flow::new(kind, tag),
        }
    }

    /// Two places: the third request waits until a reply has left, and a reply from outside passes it.
    #[test]
    fn requests_wait_for_a_place_and_nothing_else_does() {
        let place = Place { node: NodeId(0), rails: 1, seed: 1 };
        let mut nic = BoundedSettings { replies: 2 }.nic(place, Replier);
        let mut heard = |now: u64, up: Up<'_>| {
            let mut out = Outgoing::new();
            nic.hear(Cycle(now), up, &mut out);
            let replies: Vec<u64> = out.packets.iter().map(|packet| packet.flow.tag).collect();
            (replies, out.drained.iter().map(|ticket| ticket.vc).collect::<Vec<_>>())
        };
        for tag in 0..2 {
            let request = delivery(FlowKind::Request, tag, 0);
            assert_eq!(heard(9, Up::Delivery(&request)), (vec![tag], vec![0]));
        }
        for (tag, vc) in [(2, 0), (3, 1)] {
            assert_eq!(heard(10, Up::Delivery(&delivery(FlowKind::Request, tag, vc))), (vec![], vec![]));
        }
        assert_eq!(heard(11, Up::Delivery(&delivery(FlowKind::Reply, 7, 2))), (vec![], vec![2]));
        assert_eq!(heard(12, Up::Sent(RailId(0), Flow::traffic(0))), (vec![], vec![]));
        let left = Flow::new(FlowKind::Reply, 0);
        assert_eq!(heard(13, Up::Sent(RailId(0), left)), (vec![2], vec![0]));
        assert_eq!(heard(14, Up::Sent(RailId(0), left)), (vec![3], vec![1]));
        assert_eq!(heard(15, Up::Sent(RailId(0), left)), (vec![], vec![]));
    }
}
