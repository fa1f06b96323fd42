//! Processes that run side by side on a node, each with packets and barriers of its own.
//!
//! They act in the order in which they stand, and know nothing of each other: each has a processor of its own. What comes in
//! goes to the one that its flow names, which is its place in that order.

use crate::{Injector, Messenger, Multicaster, Requester, Synchroniser, Train};
use flitway_engine::Cycle;
use flitway_fabric::{Endpoint, Outgoing, PROCESSES_MAX, Up};
use flitway_wiring::Destination;
use std::sync::Arc;

/// A process of a node.
#[derive(Debug)]
pub enum Process {
    /// Synthetic traffic.
    Injector(Injector),
    /// Synthetic traffic whose packets are answered.
    Requester(Box<Requester>),
    /// Ranks of a task graph.
    Messenger(Box<Messenger>),
    /// Multicast operations.
    Multicaster(Box<Multicaster>),
    /// Barriers: of one process of a node at most.
    Synchroniser(Box<Synchroniser>),
    /// A train of packets.
    Train(Train),
}

/// What is asked of the endpoint in a [`Process`].
macro_rules! ask {
    ($process:expr, $endpoint:ident => $answer:expr) => {
        match $process {
            Process::Injector($endpoint) => $answer,
            Process::Requester($endpoint) => $answer,
            Process::Messenger($endpoint) => $answer,
            Process::Multicaster($endpoint) => $answer,
            Process::Synchroniser($endpoint) => $answer,
            Process::Train($endpoint) => $answer,
        }
    };
}

/// The processes of a node.
#[derive(Debug, Default)]
pub struct Together {
    processes: Vec<Process>,
    /// When each wants to be woken.
    wakes: Vec<Option<Cycle>>,
    /// What the one that acts has made. Kept for its memory.
    made: Outgoing,
}

impl Together {
    /// `processes` side by side.
    ///
    /// # Panics
    /// If they are more than [`PROCESSES_MAX`].
    #[must_use]
    pub fn new(processes: Vec<Process>) -> Self {
        assert!(processes.len() <= PROCESSES_MAX.into(), "a node runs {PROCESSES_MAX} processes at most");
        Together { wakes: vec![Some(Cycle::ZERO); processes.len()], processes, made: Outgoing::new() }
    }

    /// The multicast operations, if there are some.
    pub fn multicaster_mut(&mut self) -> Option<&mut Multicaster> {
        self.processes.iter_mut().find_map(|process| match process {
            Process::Multicaster(multicaster) => Some(&mut **multicaster),
            _ => None,
        })
    }

    /// The barriers, if there are some.
    pub fn synchroniser_mut(&mut self) -> Option<&mut Synchroniser> {
        self.processes.iter_mut().find_map(|process| match process {
            Process::Synchroniser(synchroniser) => Some(&mut **synchroniser),
            _ => None,
        })
    }

    /// The ranks of task graphs, graph by graph.
    pub fn messengers(&self) -> impl Iterator<Item = &Messenger> {
        self.processes.iter().filter_map(|process| match process {
            Process::Messenger(messenger) => Some(&**messenger),
            _ => None,
        })
    }

    /// The train, if there is one.
    #[must_use]
    pub fn train(&self) -> Option<&Train> {
        self.processes.iter().find_map(|process| match process {
            Process::Train(train) => Some(train),
            _ => None,
        })
    }

    /// Whether a rank of a task graph has something to do at some time, without a message.
    #[must_use]
    pub fn has_ranks_to_wake(&self) -> bool {
        let processes = self.processes.iter().zip(&self.wakes);
        let mut ranks = processes.filter(|(process, _)| matches!(process, Process::Messenger(_)));
        ranks.any(|(_, wake)| wake.is_some())
    }

    /// The process at `place` does what `act` says.
    fn act(
        &mut self,
        place: usize,
        out: &mut Outgoing,
        act: impl FnOnce(&mut Process, &mut Outgoing) -> Option<Cycle>,
    ) {
        let made = &mut self.made;
        self.wakes[place] = act(&mut self.processes[place], made);
        for mut packet in made.packets.drain(..) {
            packet.flow = packet.flow.of_process(place as u8);
            match packet.destination {
                Destination::Nodes(id) => out.push_to_set(packet, Arc::clone(&made.sets[id.set as usize])),
                Destination::Node(_) | Destination::Group(..) => out.push(packet),
            }
        }
        made.sets.clear();
        out.arrivals.append(&mut made.arrivals);
        out.denied.append(&mut made.denied);
        out.events.append(&mut made.events);
    }

    fn next(&self) -> Option<Cycle> {
        self.wakes.iter().copied().flatten().min()
    }
}

impl Endpoint for Together {
    fn takes_part(&self) -> bool {
        self.processes.iter().any(|process| ask!(process, endpoint => endpoint.takes_part()))
    }

    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        for place in 0..self.processes.len() {
            if self.wakes[place].is_some_and(|at| at <= now) {
                self.act(place, out, |process, made| ask!(process, endpoint => endpoint.wake(now, made)));
            }
        }
        self.next()
    }

    fn hear(&mut self, now: Cycle, up: Up<'_>, out: &mut Outgoing) -> Option<Cycle> {
        let place = match up {
            Up::Delivery(delivery) => Some(delivery.flow.process().into()),
            Up::Released(_) => self.processes.iter().position(|it| matches!(it, Process::Synchroniser(_))),
            Up::Sent(_, flow) | Up::Answered(_, flow, _) => Some(flow.process().into()),
        };
        if let Some(place) = place {
            self.act(place, out, |process, made| ask!(process, endpoint => endpoint.hear(now, up, made)));
        }
        self.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run;
    use flitway_fabric::FlowKind;
    use flitway_wiring::NodeId;
    use flitway_workload::Fraction;
    use flitway_workload::Parts;
    use flitway_workload::traffic::size::{self, SizeChoice};
    use flitway_workload::traffic::{Injection, Shape, Traffic, TrafficChoice, arrival, destination};

    fn injector(pattern: &str, node: u32) -> Injector {
        let SizeChoice::Sizes(sizes) = size::parse("64B").unwrap() else { panic!("a size") };
        let choice = TrafficChoice {
            destinations: destination::parse(pattern).unwrap(),
            sizes,
            arrivals: arrival::parse("bernoulli").unwrap(),
            replies: None,
        };
        let shape =
            Shape { nodes: 8, dimensions: vec![8], parts: vec![Parts::switches(vec![0; 8])], found: None };
        let injection = Injection { rails: 2, mtu: 64, flits: &|_| 32, load: Fraction::percent(20) };
        let traffic = Arc::new(Traffic::build(&choice, &shape, &injection, 7).unwrap());
        Injector::new(&traffic, NodeId(node), 2, 7)
    }

    /// (When, from, to, tag) of each packet of process `of`, or of all there are.
    fn sent(nodes: &mut [Together], of: u8) -> Vec<(u64, u32, Destination, u64)> {
        let packets = run(nodes, &[5, 9], 20_000).into_iter();
        let of_it = packets.filter(|(.., packet)| packet.flow.process() == of);
        of_it
            .map(|(at, from, packet)| {
                assert!(packet.flow.is(FlowKind::Traffic));
                (at, from, packet.destination, packet.flow.tag)
            })
            .collect()
    }

    #[test]
    fn each_process_does_what_it_does_alone() {
        let patterns = ["tornado", "uniform", "bit-complement"];
        let alone = |pattern| {
            let node = |node| Together::new(vec![Process::Injector(injector(pattern, node))]);
            sent(&mut (0..8).map(node).collect::<Vec<_>>(), 0)
        };
        let together = || -> Vec<Together> {
            let all = |node| patterns.map(|pattern| Process::Injector(injector(pattern, node)));
            (0..8).map(|node| Together::new(all(node).into())).collect()
        };
        for (place, pattern) in (0..).zip(patterns) {
            let alone = alone(pattern);
            assert!(alone.len() > 500, "{pattern}: {}", alone.len());
            assert_eq!(sent(&mut together(), place), alone, "{pattern}");
        }
    }
}
