//! What is asked of a simulation from outside, between two windows.
//!
//! Nothing is read by reference: each shard is asked, and answers with a value of its own, so it may be a process on another
//! host. Answers come in the order of shards, which depends on the number of threads; whoever wants another order sorts them.

use super::{Address, Architecture, Conservation, Counters, ShardModel, Simulation};
use crate::deadlock::{self, Deadlock, Fifo, Need, Side, Waiting};
use crate::observer::{ComponentNumber, Observer};
use flitway_wiring::topology::End;
use flitway_wiring::{NodeId, PortId, SwitchId};
use std::collections::BTreeMap;

impl<A: Architecture, E: crate::Endpoint, O: Observer> Simulation<A, E, O> {
    /// What each shard answers to `ask`.
    pub fn gather<T: Send + 'static>(&mut self, ask: impl FnMut(&mut A::Shard<E, O>) -> T) -> Vec<T> {
        self.windows.shards_mut().iter_mut().map(ask).collect()
    }

    /// What the observer of each shard answers to `ask`.
    pub fn gather_observers<T: Send + 'static>(&mut self, mut ask: impl FnMut(&mut O) -> T) -> Vec<T> {
        self.gather(|shard| ask(shard.observer()))
    }

    /// What each endpoint answers to `ask`, by node.
    pub fn gather_endpoints<T: Send + 'static>(
        &mut self,
        mut ask: impl FnMut(NodeId, &mut E) -> T,
    ) -> Vec<T> {
        let of_shards = self
            .gather(|shard| shard.endpoints().map(|(node, it)| (node, ask(node, it))).collect::<Vec<_>>());
        let mut answers: Vec<(NodeId, T)> = of_shards.into_iter().flatten().collect();
        answers.sort_unstable_by_key(|(node, _)| *node);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    /// Number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Totals since the start; see [`Simulation::settle`].
    #[must_use]
    pub fn counters(&mut self) -> Counters {
        self.gather(|shard| shard.counters()).into_iter().sum()
    }

    /// The books at this moment: every flit is somewhere, every credit unit is somewhere.
    #[must_use]
    pub fn audit(&mut self) -> Conservation {
        let now = self.now();
        self.gather(|shard| shard.audit(now)).into_iter().sum()
    }

    /// The load of each switch, of rail 0, of rail 1, ...: flits of the packets in it that no link has chosen.
    #[must_use]
    pub fn queued_flits(&mut self) -> Vec<u64> {
        let now = self.now();
        let shards = self.windows.shards_mut();
        ask_places(shards, &self.switches, |at| *at, |shard, at| shard.queued_flits(at.place, now))
    }

    /// Number of channels, of all rails: of the ports of switches, wired or not, and of NIC ports.
    #[must_use]
    pub fn channels(&self) -> usize {
        let switches = self.topology.switches();
        let ports: usize = (0..switches).map(|switch| self.topology.ports(SwitchId(switch)) as usize).sum();
        self.switches.len() / switches as usize * (ports + self.nodes.len())
    }

    /// What each channel has carried: flits of the packets that links have chosen since the start. First the ports of the
    /// switches of rail 0, of rail 1, ..., then the rails of each node. `None` from an architecture that does not count.
    #[must_use]
    pub fn sent_flits(&mut self) -> Option<Vec<u64>> {
        let Simulation { windows, topology, switches, nodes, rails, .. } = self;
        let ports = |(number, at): (usize, &Address)| {
            (*at, topology.ports(SwitchId(number as u32 % topology.switches())))
        };
        let of_switches = switches.iter().enumerate().map(ports);
        let components: Vec<(Address, u32)> =
            of_switches.chain(nodes.iter().map(|&at| (at, *rails))).collect();
        let of_shard = |(shard, number): (&A::Shard<E, O>, u32)| {
            let here = components.iter().filter(|(at, _)| at.shard == number);
            let mut sent = Vec::with_capacity(here.clone().map(|(_, ports)| *ports as usize).sum());
            for (at, ports) in here {
                for port in (0..*ports).map(PortId) {
                    sent.push(shard.sent_flits(at.place, port)?);
                }
            }
            Some(sent)
        };
        let mut of_shards: Vec<Vec<u64>> =
            windows.shards().iter().zip(0..).map(of_shard).collect::<Option<_>>()?;
        if let [all] = &mut of_shards[..] {
            return Some(std::mem::take(all));
        }
        let mut rest: Vec<&[u64]> = of_shards.iter().map(Vec::as_slice).collect();
        let mut all = Vec::with_capacity(rest.iter().map(|of_shard| of_shard.len()).sum());
        for (at, ports) in &components {
            let (of_component, after) = rest[at.shard as usize].split_at(*ports as usize);
            all.extend_from_slice(of_component);
            rest[at.shard as usize] = after;
        }
        Some(all)
    }

    /// What the NIC ports have sent: flits of the packets that their links have chosen since the start. `None` from an
    /// architecture that does not count.
    #[must_use]
    pub fn injected_flits(&mut self) -> Option<u64> {
        let Simulation { windows, nodes, rails, .. } = self;
        let of_shard = |(shard, number): (&A::Shard<E, O>, u32)| {
            let here = nodes.iter().filter(|at| at.shard == number);
            here.flat_map(|at| (0..*rails).map(|rail| shard.sent_flits(at.place, PortId(rail))))
                .sum::<Option<u64>>()
        };
        windows.shards().iter().zip(0..).map(of_shard).sum()
    }

    /// A ring of packets that wait for each other for ever, if there is one.
    #[must_use]
    pub fn deadlock(&mut self) -> Option<Deadlock> {
        let now = self.now();
        // Nodes that take everything are not asked.
        let nodes = if E::KEEPS_FOR_REPLIES { &self.nodes[..] } else { &[] };
        let places: Vec<Address> = self.switches.iter().chain(nodes).copied().collect();
        let shards = self.windows.shards_mut();
        let waiting = ask_places(shards, &places, |at| *at, |shard, at| shard.waiting(at.place, now));
        let waiting: Vec<Waiting> = waiting.into_iter().flatten().collect();
        let of_packet = |packet: &Waiting| {
            let needs = packet.needs.iter().chain(&packet.alternatives);
            needs.filter_map(|need| self.question(packet, need)).collect::<Vec<_>>()
        };
        let questions: Vec<Question> = waiting.iter().flat_map(of_packet).collect();
        let address = |question: &Question| places[question.switch as usize];
        let answers = ask_places(self.windows.shards_mut(), &questions, address, |shard, question| {
            let place = address(question).place;
            match question.about {
                About::Position(vc) => Some(shard.position(place, question.port, vc, now).into()),
                About::Sent => shard.sent_flits(place, question.port),
            }
        });
        let answers: BTreeMap<Question, Option<u64>> = questions.into_iter().zip(answers).collect();
        deadlock::find(&waiting, |packet, need| {
            let question = self.question(packet, need);
            let answer = question.and_then(|it| answers.get(&it).copied().flatten());
            match *need {
                Need::Output { by, .. } => Some(Fifo { port: by, side: Side::Input, ..packet.fifo }),
                Need::Queue { output, vc } => {
                    Some(Fifo { port: output, vc, side: Side::Output, ..packet.fifo })
                }
                Need::Copies { input, vc } => {
                    Some(Fifo { port: input, vc, side: Side::Input, ..packet.fifo })
                }
                Need::Room { output } => Some(Fifo { port: output, side: Side::Output, ..packet.fifo }),
                Need::Space { vc, units, sent, .. } => {
                    let (Question { switch, port, .. }, position) = (question?, answer? as u32);
                    let fifo = Fifo { switch, port, vc, side: Side::Input };
                    // Otherwise there is space, and an advert that says so is on its way.
                    (position.wrapping_sub(sent) < units).then_some(fifo)
                }
                Need::Flits { received, .. } => {
                    let Question { switch, port: output, .. } = question?;
                    // Otherwise they are on their way.
                    if answer.is_some_and(|sent| sent as u32 != received) {
                        return None;
                    }
                    let feeds = |it: &&Waiting| it.fifo.switch == switch && it.feeds >> output.0 & 1 == 1;
                    waiting.iter().find(feeds).map(|it| it.fifo)
                }
            }
        })
    }

    /// What has to be known of another switch to tell who has what `packet` needs.
    fn question(&self, packet: &Waiting, need: &Need) -> Option<Question> {
        let switches = self.topology.switches();
        let node = packet.fifo.switch.checked_sub(self.switches.len() as u32);
        if let Some(node) = node.map(NodeId) {
            let Need::Space { output, vc, .. } = *need else { return None };
            let (home, port) = self.topology.home(node);
            let switch = output.0 * switches + home.0;
            return Some(Question { switch, port, about: About::Position(vc) });
        }
        let (rail, here) = (packet.fifo.switch / switches, SwitchId(packet.fifo.switch % switches));
        let (end, about) = match *need {
            Need::Space { output, vc, .. } => (self.topology.wire(here, output), About::Position(vc)),
            Need::Flits { input, .. } => (self.topology.feeder(here, input), About::Sent),
            Need::Output { .. } | Need::Queue { .. } | Need::Room { .. } | Need::Copies { .. } => {
                return None;
            }
        };
        match end? {
            (_, End::Switch(other, port)) => {
                Some(Question { switch: rail * switches + other.0, port, about })
            }
            (_, End::Node(NodeId(node))) => {
                let is_asked = E::KEEPS_FOR_REPLIES && matches!(about, About::Position(_));
                let switch = self.switches.len() as u32 + node;
                is_asked.then_some(Question { switch, port: PortId(rail), about })
            }
        }
    }
}

/// What the shard of each of `places`, at its address, answers for it.
fn ask_places<S, P, T: Send + 'static>(
    shards: &mut [S],
    places: &[P],
    address: impl Fn(&P) -> Address,
    mut ask: impl FnMut(&mut S, &P) -> T,
) -> Vec<T> {
    let of_shard = |(shard, number): (&mut S, u32)| {
        let here = places.iter().filter(|place| address(place).shard == number);
        here.map(|place| ask(shard, place)).collect::<Vec<T>>().into_iter()
    };
    let mut of_shards: Vec<_> = shards.iter_mut().zip(0..).map(of_shard).collect();
    places.iter().filter_map(|place| of_shards[address(place).shard as usize].next()).collect()
}

/// Something that has to be known of a port of a switch, or of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Question {
    switch: ComponentNumber,
    port: PortId,
    about: About,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum About {
    /// The position that the receiver of this virtual channel could advertise.
    Position(u8),
    /// What its link has sent.
    Sent,
}
