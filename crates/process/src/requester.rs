//! Synthetic traffic that is answered: each packet of the node's [`Source`] is a request, and the node that it is for sends a
//! reply back, in the rail by which the request has come.
//!
//! At most so many requests of a node are *outstanding*: handed over, and their replies not received yet. Those that come into
//! being beyond that wait in the node, first come first served, and their latency counts from when they came into being. A
//! saturating source with such a limit always has a request and never one that waits: it creates one for each that may
//! go. (BookSim2 has that limit in its batch mode, as `max_outstanding_requests`.)
//!
//! Requests take the rails in turn; lanes are drawn, for replies from a stream of their own. The tag of a reply is the cycle in
//! which its request came into being, so whoever sees it knows the round trip.

use flitway_engine::Cycle;
use flitway_engine::random::{Purpose, Stream};
use flitway_fabric::observer::{MessageEvent, Request};
use flitway_fabric::packet::PacketFormat;
use flitway_fabric::{Delivery, Endpoint, Flow, FlowKind, Outgoing, Packet, Up};
use flitway_wiring::{Destination, NodeId, RailId};
use flitway_workload::traffic::{Creation, Replies, Source, Traffic};
use std::collections::VecDeque;
use std::sync::Arc;

/// Synthetic traffic at a node that asks and answers.
#[derive(Clone, Debug)]
pub struct Requester {
    source: Source,
    replies: Replies,
    is_closed_loop: bool,
    format: PacketFormat,
    /// For the requests, and for the replies.
    lanes: [Stream; 2],
    rails: u32,
    next_rail: u32,
    /// Requests that may not go yet.
    waiting: VecDeque<Creation>,
    outstanding: u32,
    sent: u64,
}

impl Requester {
    /// The process of `node`, with `rails` NIC ports; `None` if nothing answers the packets of `traffic`.
    #[must_use]
    pub fn new(
        traffic: &Arc<Traffic>,
        format: PacketFormat,
        node: NodeId,
        rails: u32,
        seed: u64,
    ) -> Option<Self> {
        let lanes = [Purpose::Lane, Purpose::Reply].map(|purpose| Stream::new(seed, node.0.into(), purpose));
        Some(Requester {
            source: Source::new(traffic, node),
            replies: traffic.replies()?,
            is_closed_loop: traffic.is_closed_loop(),
            format,
            lanes,
            rails,
            next_rail: 0,
            waiting: VecDeque::new(),
            outstanding: 0,
            sent: 0,
        })
    }

    fn may_send(&self) -> bool {
        self.replies.outstanding.is_none_or(|most| self.outstanding < most)
    }

    fn next(&self) -> Option<Cycle> {
        if self.is_closed_loop { None } else { self.source.next_creation() }
    }

    /// Sends what may go.
    fn send(&mut self, now: Cycle, out: &mut Outgoing) {
        while self.may_send() {
            let Some(creation) = self.waiting.pop_front().or_else(|| self.pull(now, out)) else { break };
            out.push(Packet {
                destination: Destination::Node(creation.destination),
                rail: RailId(self.next_rail),
                lane: self.lanes[0].bits() as u32,
                payload: creation.payload,
                created: creation.created,
                flow: Flow::new(FlowKind::Request, self.sent),
            });
            self.next_rail = if self.next_rail + 1 < self.rails { self.next_rail + 1 } else { 0 };
            self.sent += 1;
            self.outstanding += 1;
        }
    }

    /// A request of a source that always has one.
    fn pull(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Creation> {
        let creation = if self.is_closed_loop { self.source.pull(now) } else { None };
        creation.inspect(|creation| self.report(creation, out))
    }

    fn report(&self, creation: &Creation, out: &mut Outgoing) {
        let flits = self.format.packet_flits(creation.payload.into());
        out.report(MessageEvent::Requested(Request { destination: creation.destination, flits }));
    }

    fn answer(&mut self, now: Cycle, request: &Delivery, out: &mut Outgoing) {
        out.push(Packet {
            destination: Destination::Node(request.source),
            rail: request.rail,
            lane: self.lanes[1].bits() as u32,
            payload: self.replies.payload,
            created: now,
            flow: Flow::new(FlowKind::Reply, request.created.0),
        });
    }
}

impl Endpoint for Requester {
    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        while self.next().is_some_and(|created| created <= now) {
            let Some(creation) = self.source.create() else { break };
            self.report(&creation, out);
            self.waiting.push_back(creation);
        }
        self.send(now, out);
        self.next()
    }

    fn hear(&mut self, now: Cycle, up: Up<'_>, out: &mut Outgoing) -> Option<Cycle> {
        if let Up::Delivery(delivery) = up {
            if delivery.flow.is(FlowKind::Request) {
                self.answer(now, delivery, out);
            } else if delivery.flow.is(FlowKind::Reply) {
                self.outstanding -= 1;
                self.send(now, out);
            }
        }
        self.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run_observed;
    use flitway_workload::Fraction;
    use flitway_workload::Parts;
    use flitway_workload::traffic::size::{self, SizeChoice};
    use flitway_workload::traffic::{Injection, Shape, TrafficChoice, arrival, destination};

    const FORMAT: PacketFormat =
        PacketFormat { flit_bytes: 8, header_flits: 1, trailer_flits: 1, mtu_bytes: 64, block: None };

    fn requesters(pattern: &str, arrival: &str, outstanding: Option<u32>) -> Vec<Requester> {
        let SizeChoice::Sizes(sizes) = size::parse("64B").unwrap() else { panic!("a size") };
        let choice = TrafficChoice {
            destinations: destination::parse(pattern).unwrap(),
            sizes,
            arrivals: arrival::parse(arrival).unwrap(),
            replies: Some(Replies { payload: 16, outstanding }),
        };
        let shape =
            Shape { nodes: 8, dimensions: vec![8], parts: vec![Parts::switches(vec![0; 8])], found: None };
        let injection = Injection { rails: 2, mtu: 64, flits: &|_| 10, load: Fraction::percent(50) };
        let traffic = Arc::new(Traffic::build(&choice, &shape, &injection, 7).unwrap());
        (0..8).map(|node| Requester::new(&traffic, FORMAT, NodeId(node), 2, 7).unwrap()).collect()
    }

    /// Requests and replies that were handed over, and requests that came into being.
    fn run(requesters: &mut [Requester], latency: u64, end: u64) -> (Vec<Packet>, Vec<Packet>, usize) {
        let (sent, events) = run_observed(requesters, &[latency, latency], end);
        let (requests, replies): (Vec<_>, Vec<_>) =
            sent.into_iter().map(|(_, _, packet)| packet).partition(|it| it.flow.is(FlowKind::Request));
        (requests, replies, events.len())
    }

    #[test]
    fn every_request_is_answered_in_its_rail_with_its_date() {
        let mut all = requesters("uniform", "bernoulli", None);
        let (requests, replies, created) = run(&mut all, 50, 10_000);
        assert!(requests.len() > 7_000 && created == requests.len(), "{created}");
        let pending = all.iter().map(|it| it.outstanding).sum::<u32>() as usize;
        // Some requests, and some replies, are under way.
        assert!(requests.len() - replies.len() < pending && pending < requests.len() / 20, "{pending}");
        assert!(replies.iter().all(|it| it.payload == 16 && it.created.0 == it.flow.tag + 50));
    }

    #[test]
    fn no_more_than_so_many_are_outstanding_and_the_others_wait() {
        let mut all = requesters("uniform", "bernoulli", Some(2));
        let (requests, _, created) = run(&mut all, 50, 10_000);
        assert!(all.iter().all(|it| it.outstanding <= 2));
        // Two for each hundred cycles: a round trip.
        assert!(requests.len().abs_diff(8 * 2 * 100) <= 8 * 2, "{}", requests.len());
        assert!(created > 7_000, "they come into being as they would without a limit");
    }

    #[test]
    fn a_saturating_source_asks_anew_when_it_is_answered() {
        let mut all = requesters("tornado", "saturating", Some(3));
        let (requests, replies, created) = run(&mut all, 40, 8_000);
        assert_eq!((requests.len(), created), (8 * 3 * 100, 8 * 3 * 100));
        assert!(requests.iter().all(|it| it.created.0.is_multiple_of(80)));
        assert_eq!(replies.len(), 8 * 3 * 100);
    }
}
