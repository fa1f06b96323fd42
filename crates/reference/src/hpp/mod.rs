//! The HPP Switch, flit by flit and cycle by cycle.
//!
//! **The normative text is the header of `flitway_switch::hpp`.** This is its plainest transcription: every flit and
//! every advert is an object that is moved by hand in every cycle, positions are counted in `position_bits` bits as
//! hardware would, and the five steps of a cycle stand in the code in the order of the text. Names are those of the
//! text. Nothing here is fast, and nothing is shared with the engine that it checks but the description of the fabric,
//! the routing relation, the matrix arbiter, the state machine of the barrier protocol and the observer's events.
//!
//! # Two phases
//!
//! Components tell each other things through channels (`flit.rs`) only, and a channel is a shift register of at
//! least one place. *Evaluate*: every component does its cycle, seeing what the registers showed at the start of the
//! cycle. *Commit*: all registers shift. So the order in which components are evaluated does not matter, and a test
//! says so.
//!
//! # Where the text leaves something open
//!
//! 1. At cycle 0 the sender's limit is the receiver's capacity, nothing needs to be advertised, and the refresh timer
//!    starts as if an advert had been sent in cycle 0. An advert is repeated in cycle `t` when the last one of its VC
//!    was decided on in or before cycle `t - refresh`.
//! 2. "The first VC after the one served last" goes round. At first VC 0 counts as served last, as a register reset to
//!    zero says; so VC 1 is the first to be served, where there is one.
//! 3. A link "has something on it" in the cycles `t` to `t + n - 1` when what it chose in cycle `t` was not sent ahead,
//!    and in `t - 1` to `t + n - 2` when it was. So what is chosen in the cycle in which a one-flit packet was sent
//!    ahead is itself not sent ahead.
//! 4. Flit `j` of a packet chosen in cycle `t` leaves the TX FIFO in cycle `t + j`, sent ahead or not: the start flit
//!    that went out early is the link's own.
//! 5. The TX FIFOs of an output, and the turns its link takes among them, go by crossbar: by the VC that packets came
//!    in on, not by the label that they leave with.
//! 6. With `V` VCs and `c` classes, label `k (V / c) + l` is lane `l` of class `k`. A NIC sends in class 0.
//! 7. The cycle of an [`Advert`](flitway_fabric::observer::Advert) is that in which the link decides.
//! 8. A packet counts as having left a switch (`packet_hops`, and all of its `flit_hops`) when the link chooses it.
//!
//! # Invariants, asserted in every cycle
//!
//! See `books.rs`. Besides: a wire carries one flit a cycle; a TX FIFO holds at most `tx_fifo` flits and an input FIFO
//! at most its capacity; a flit is never read before it is there.

mod arbiter;
mod barrier;
mod books;
mod flit;
mod nic;
mod port;
mod switch;

use crate::record::Record;
use crate::script::{Arrivals, Reply, Script};
use barrier::{Lane, Member};
use flit::{Channel, Place, Travelling};
use flitway_engine::Cycle;
use flitway_fabric::observer::ComponentNumber;
use flitway_fabric::simulation::Counters;
use flitway_fabric::{BarrierId, Barriers, Endpoint, Fabric, Outgoing, Packet, Ticket, Up};
use flitway_switch::hpp::HppSettings;
use flitway_switch::hpp::LaneChoice;
use flitway_test_kit::nic::TestNic;
use flitway_wiring::routing::{Arrival, Hop, Routing};
use flitway_wiring::topology::End;
use flitway_wiring::{Destination, Groups, NodeId, PortId, RailId, SwitchId};
use nic::Nic;
use port::Port;
use std::collections::VecDeque;
use switch::{Engine, Switch};

/// The model of a fabric of HPP Switches.
#[derive(Debug)]
pub struct Reference {
    rails: usize,
    world: World,
    /// The switches of rail 0, of rail 1, ...
    switches: Vec<Switch>,
    /// NIC port `node * rails + rail`.
    nics: Vec<Nic>,
    /// What each node will send, by time of creation.
    scripts: Vec<VecDeque<Packet>>,
    /// What a node answers to a packet that it gets.
    reply: Reply,
    /// The barriers at which each node arrives.
    processes: Vec<Vec<Process>>,
    /// The NICs of nodes, if their ports are bounded.
    test_nics: Vec<TestNic<Script>>,
    /// Evaluate the last component first, to show that it makes no difference.
    backwards: bool,
}

/// A process that arrives at barriers.
#[derive(Debug)]
struct Process {
    group: BarrierId,
    /// When it arrives, unless it waits.
    due: Option<u64>,
    waits: bool,
    pauses: VecDeque<u64>,
}

impl Process {
    fn new(arrivals: &Arrivals) -> Self {
        Process {
            group: arrivals.group,
            due: Some(arrivals.first.0),
            waits: false,
            pauses: arrivals.pauses.iter().copied().collect(),
        }
    }
}

/// What all components see.
#[derive(Debug)]
struct World {
    settings: HppSettings,
    routing: Routing,
    now: u64,
    /// All packets ever created.
    packets: Vec<Travelling>,
    groups: Groups,
    barriers: Barriers,
    flits_created: u64,
    /// Flits that have been copied, once for each copy beyond the first.
    flits_copied: u64,
    /// Flits of packets for groups that had no output.
    flits_missed: u64,
    channels: Vec<Channel>,
    record: Record,
    counters: Counters,
}

impl World {
    /// Virtual channels of each class.
    fn lanes(&self) -> usize {
        (self.settings.vcs / self.routing.classes()) as usize
    }

    /// The virtual channel on which the NIC of `source` sends `packet`.
    fn label(&self, source: NodeId, packet: &Packet) -> usize {
        match packet.destination {
            Destination::Node(node) if self.settings.lanes == LaneChoice::ByFlow => {
                let pair = (u64::from(source.0) * 0x9E37_79B1 + u64::from(node.0)) % (1 << 32);
                let flow = (pair ^ (pair >> 15)) * 0x9E37_79B1 % (1 << 32);
                (flow >> 16) as usize % self.lanes()
            }
            Destination::Node(_) => packet.lane as usize % self.lanes(),
            Destination::Group(..) => self.settings.multicast.vc as usize,
            Destination::Nodes(_) => panic!("HPP Switches have no reachability strings"),
        }
    }
}

impl World {
    /// The hop that `packet`, which is for `node`, takes from where it is: the next one of the way that its source has drawn.
    fn routed(&self, packet: &Travelling, node: NodeId, here: (SwitchId, Arrival)) -> Hop {
        if self.routing.is_plain() {
            return self.routing.next(here.0, here.1, node);
        }
        let draw = match self.settings.lanes {
            LaneChoice::ByPacket => packet.packet.lane,
            LaneChoice::ByFlow => 0,
        };
        let mut at = self.routing.start(packet.source);
        let mut header = self.routing.header(packet.source, node, draw);
        for _ in 0..packet.hops {
            let next = self.routing.first(at.0, at.1, header);
            header = next.header;
            at = self.routing.follow(at.0, next.hop).expect("it has not arrived yet");
        }
        assert_eq!(at, here, "it is where its way leads");
        self.routing.first(at.0, at.1, header).hop
    }
}

impl Reference {
    /// `fabric`, with a list of packets for each node; a packet is handed over in the cycle of its creation, after what
    /// the node replies to packets that are delivered in that cycle, rail by rail.
    ///
    /// # Panics
    /// If there is not one list per node.
    #[must_use]
    pub fn new(fabric: &Fabric<HppSettings>, scripts: &[Vec<Packet>], reply: Reply) -> Self {
        assert_eq!(scripts.len(), fabric.nodes() as usize, "every node has a script");
        let settings = &fabric.chip;
        let wiring = Wiring::new(fabric);
        let scripts = scripts.iter().map(|packets| {
            let mut packets = packets.clone();
            packets.sort_by_key(|packet| packet.created);
            packets.into()
        });
        Reference {
            rails: fabric.rails as usize,
            switches: wiring.switches(settings),
            nics: wiring.nics(settings),
            scripts: scripts.collect(),
            reply,
            processes: (0..fabric.nodes()).map(|_| Vec::new()).collect(),
            test_nics: Vec::new(),
            backwards: false,
            world: World {
                settings: settings.clone(),
                routing: fabric.routing.clone(),
                now: 0,
                packets: Vec::new(),
                groups: fabric.groups.clone(),
                barriers: fabric.barriers.clone(),
                flits_created: 0,
                flits_copied: 0,
                flits_missed: 0,
                channels: wiring.channels,
                record: Record::default(),
                counters: Counters::default(),
            },
        }
    }

    /// The same with a list of barriers for each node. A process that arrives again without a pause does so before those whose
    /// pause has ended, which arrive in the order of the list.
    ///
    /// # Panics
    /// If there is not one list per node.
    #[must_use]
    pub fn with_barriers(self, arrivals: &[Vec<Arrivals>]) -> Self {
        assert_eq!(arrivals.len(), self.processes.len(), "every node has a list");
        let processes = arrivals.iter().map(|node| node.iter().map(Process::new).collect());
        Reference { processes: processes.collect(), ..self }
    }

    /// The same with these NICs on bounded NIC ports, whose processes send, and no scripts.
    ///
    /// # Panics
    /// If there is not one NIC per node.
    #[must_use]
    pub fn with_test_nics(mut self, test_nics: Vec<TestNic<Script>>) -> Self {
        assert_eq!(test_nics.len(), self.scripts.len(), "every node has a NIC");
        self.scripts.iter_mut().for_each(VecDeque::clear);
        Reference { test_nics, ..self }
    }

    /// The first cycle not yet simulated.
    #[must_use]
    pub fn now(&self) -> Cycle {
        Cycle(self.world.now)
    }

    /// Whether every packet has been delivered and every process has done with its barriers.
    #[must_use]
    pub fn has_delivered_all(&self) -> bool {
        let counters = &self.world.counters;
        let is_done = |process: &Process| process.due.is_none() && !process.waits;
        self.processes.iter().flatten().all(is_done)
            && self.scripts.iter().all(VecDeque::is_empty)
            && self.test_nics.iter().all(TestNic::is_idle)
            && counters.packets_delivered + counters.packets_missed
                == counters.packets_created + counters.packets_copied
    }

    /// What has happened so far.
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.world.record
    }

    /// Totals so far. `events` is the fast engine's own business, and zero.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.world.counters
    }

    /// Simulates all cycles before `end`.
    pub fn run_until(&mut self, end: Cycle) {
        while self.now() < end {
            self.cycle();
        }
    }

    /// Simulates until every packet has been delivered, at most to `limit`.
    pub fn run_to_delivery(&mut self, limit: Cycle) {
        while self.now() < limit && !self.has_delivered_all() {
            self.cycle();
        }
    }

    /// One cycle.
    pub fn cycle(&mut self) {
        self.create();
        // Evaluate.
        if self.backwards {
            self.switches.iter_mut().rev().for_each(|switch| switch.cycle(&mut self.world));
            self.nics.iter_mut().rev().for_each(|nic| nic.cycle(&mut self.world));
        } else {
            self.nics.iter_mut().for_each(|nic| nic.cycle(&mut self.world));
            self.switches.iter_mut().for_each(|switch| switch.cycle(&mut self.world));
        }
        // Commit.
        self.world.channels.iter_mut().for_each(Channel::shift);
        self.assert_books();
        self.world.now += 1;
    }

    /// Delivers what is due, and hands the packets of this cycle to their NIC ports.
    fn create(&mut self) {
        if !self.test_nics.is_empty() {
            return self.act_with_test_nics();
        }
        let world = &mut self.world;
        for (node, script) in self.scripts.iter_mut().enumerate() {
            let nics = &mut self.nics[node * self.rails..(node + 1) * self.rails];
            let mut created: Vec<Packet> = Vec::new();
            for nic in &mut *nics {
                created.extend(
                    nic.deliver(NodeId::new(node), world).and_then(|delivery| (self.reply)(&delivery)),
                );
            }
            let arrivals = released(&mut self.processes[node], nics, NodeId::new(node), world);
            while let Some(packet) = script.front().copied()
                && packet.created.0 == world.now
            {
                script.pop_front();
                created.push(packet);
            }
            for packet in created {
                nics[packet.rail.index()].submit(NodeId::new(node), packet, world);
            }
            for group in arrivals {
                world.record.arrivals.push((Cycle(world.now), NodeId::new(node), group));
                nics.iter_mut().for_each(|nic| nic.arrive(group, world));
            }
        }
    }
}

impl Reference {
    /// The same with NICs on bounded NIC ports: rail by rail first what is delivered, then what has been sent.
    fn act_with_test_nics(&mut self) {
        let world = &mut self.world;
        let now = Cycle(world.now);
        for (node, test_nic) in self.test_nics.iter_mut().enumerate() {
            let nics = &mut self.nics[node * self.rails..(node + 1) * self.rails];
            let (id, mut out) = (NodeId::new(node), Outgoing::new());
            for (rail, nic) in (0..).map(RailId).zip(nics.iter_mut()) {
                for delivery in nic.deliver_kept(id, world) {
                    test_nic.hear(now, Up::Delivery(&delivery), &mut out);
                }
                for packet in nic.take_sent() {
                    let flow = world.packets[packet].packet.flow;
                    world.record.sent.push((now, id, rail, flow));
                    test_nic.hear(now, Up::Sent(rail, flow), &mut out);
                }
            }
            test_nic.wake(now, &mut out);
            let arrivals = released(&mut self.processes[node], nics, id, world);
            for packet in out.packets {
                nics[packet.rail.index()].submit(id, packet, world);
            }
            for group in arrivals {
                world.record.arrivals.push((now, id, group));
                nics.iter_mut().for_each(|nic| nic.arrive(group, world));
            }
            for Ticket { rail, vc } in out.drained {
                nics[rail.index()].drain(vc);
            }
        }
    }
}

/// Releases the `processes` of `node` whose barriers are complete, rail by rail. Returns the groups at whose barriers
/// they arrive in this cycle.
fn released(processes: &mut [Process], nics: &mut [Nic], node: NodeId, world: &mut World) -> Vec<BarrierId> {
    let mut arrivals = Vec::new();
    for nic in nics {
        for group in nic.releases(world) {
            world.record.releases.push((Cycle(world.now), node, group));
            let process = processes.iter_mut().find(|process| process.group == group && process.waits);
            let process = process.expect("who is released has arrived");
            process.waits = false;
            process.due = process.pauses.pop_front().map(|pause| world.now + pause);
            if process.due == Some(world.now) {
                arrivals.push(group);
                (process.due, process.waits) = (None, true);
            }
        }
    }
    for process in processes.iter_mut().filter(|process| process.due == Some(world.now)) {
        arrivals.push(process.group);
        (process.due, process.waits) = (None, true);
    }
    arrivals
}

/// Which channel leads from where to where.
struct Wiring<'a> {
    fabric: &'a Fabric<HppSettings>,
    channels: Vec<Channel>,
}

impl<'a> Wiring<'a> {
    fn new(fabric: &'a Fabric<HppSettings>) -> Self {
        let settings = &fabric.chip;
        let mut wiring = Wiring { fabric, channels: Vec::new() };
        for rail in 0..fabric.rails {
            for (link, &latency) in fabric.topology().links().iter().zip(&fabric.latencies) {
                let [a, b] = link.ends.map(|end| wiring.place(RailId(rail), end));
                let transmit = settings.pipeline.transmit;
                wiring.channels.push(Channel::new(a, b, latency, transmit));
                wiring.channels.push(Channel::new(b, a, latency, transmit));
            }
        }
        wiring
    }

    fn place(&self, rail: RailId, end: End) -> Place {
        match end {
            End::Node(node) => Place::Nic(node.index() * self.fabric.rails as usize + rail.index()),
            End::Switch(switch, port) => Place::Switch {
                switch: rail.index() * self.fabric.topology().switches() as usize + switch.index(),
                port: port.index(),
            },
        }
    }

    /// The port at `place`, if it is wired.
    fn port(&self, settings: &HppSettings, place: Place, name: (ComponentNumber, PortId)) -> Option<Port> {
        let incoming = self.channels.iter().position(|channel| channel.to == place)?;
        let outgoing = self.channels.iter().position(|channel| channel.from == place)?;
        let lane = Lane::new(self.fabric.barriers.faults(), name);
        Some(Port::new(settings, lane, incoming, outgoing))
    }

    fn switches(&self, settings: &HppSettings) -> Vec<Switch> {
        let topology = self.fabric.topology();
        let switches = topology.switches();
        let build = |number: u32| {
            let id = SwitchId(number % switches);
            let place = |port| Place::Switch { switch: number as usize, port };
            let port = |port| self.port(settings, place(port), (number, PortId::new(port)));
            let ports: Vec<Option<Port>> = (0..topology.ports(id) as usize).map(port).collect();
            let engine = Engine::new(&self.fabric.barriers, RailId(number / switches), id, ports.len());
            Switch::new(settings, number, id, ports, engine)
        };
        (0..self.fabric.rails * switches).map(build).collect()
    }

    fn nics(&self, settings: &HppSettings) -> Vec<Nic> {
        let first = self.fabric.rails * self.fabric.topology().switches();
        let build = |node: u32, rail: u32| {
            let place = self.place(RailId(rail), End::Node(NodeId(node)));
            let name = (first + node, PortId(rail));
            let port = self.port(settings, place, name).expect("every node is wired");
            let barriers = &self.fabric.barriers;
            let leaf = |group| barriers.leaf(RailId(rail), NodeId(node), group).map(Member::new);
            Nic::new(
                name.0,
                RailId(rail),
                port,
                settings.vcs,
                barriers.ids().map(leaf).collect(),
                self.fabric.nic_ports,
            )
        };
        let nodes = 0..self.fabric.nodes();
        nodes.flat_map(|node| (0..self.fabric.rails).map(move |rail| build(node, rail))).collect()
    }
}

#[cfg(test)]
mod tests;
