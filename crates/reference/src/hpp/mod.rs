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

mod barrier;
mod books;
mod flit;
mod nic;
mod port;
mod switch;

use crate::driver::Model;
use crate::lanes::{draw, lane};
use crate::record::Record;
use barrier::{Lane, Member};
use flit::{Channel, Place, Travelling};
use flitway_engine::Cycle;
use flitway_fabric::observer::ComponentNumber;
use flitway_fabric::simulation::Counters;
use flitway_fabric::{BarrierId, Barriers, Delivery, Fabric, Flow, Packet, Ticket};
use flitway_switch::hpp::HppSettings;
use flitway_wiring::routing::{Arrival, Candidate, Header, Hop, Routing, Selection};
use flitway_wiring::topology::End;
use flitway_wiring::{Destination, Groups, NodeId, NodeSet, PortId, RailId, SwitchId};
use nic::Nic;
use port::Port;
use std::sync::Arc;
use switch::{Engine, Switch};

/// The model of a fabric of HPP Switches.
#[derive(Debug)]
pub struct Hpp {
    rails: usize,
    world: World,
    /// The switches of rail 0, of rail 1, ...
    switches: Vec<Switch>,
    /// NIC port `node * rails + rail`.
    nics: Vec<Nic>,
    /// Evaluate the last component first, to show that it makes no difference.
    backwards: bool,
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
            Destination::Node(node) => {
                let choice = (self.settings.lanes, self.settings.reply_lanes);
                lane(choice, source, node, packet, self.lanes())
            }
            Destination::Group(..) => self.settings.multicast.vc as usize,
            Destination::Nodes(_) => panic!("HPP Switches have no reachability strings"),
        }
    }
}

impl World {
    /// The hop that `packet`, which is for `node`, takes from where it is: the next one of the way that its source has drawn,
    /// or of the one of two that a switch has chosen.
    fn routed(&self, packet: &Travelling, node: NodeId, here: (SwitchId, Arrival)) -> Hop {
        if self.routing.is_plain() {
            return self.routing.next(here.0, here.1, node);
        }
        let header = self.header(packet, node, here);
        self.step(packet, packet.hops, here, header).hop
    }

    /// What `packet`, which has gone by its way so far, says where it is.
    fn header(&self, packet: &Travelling, node: NodeId, here: (SwitchId, Arrival)) -> Header {
        let draw = draw(self.settings.lanes, &packet.packet);
        let mut at = self.routing.start(packet.source);
        let mut header = self.routing.header(packet.source, node, draw);
        for hops in 0..packet.hops {
            let next = self.step(packet, hops, at, header);
            header = next.header;
            at = self.routing.follow(at.0, next.hop).expect("it has not arrived yet");
        }
        assert_eq!(at, here, "it is where its way leads");
        header
    }

    /// What `packet` takes after so many hops: what it has chosen, or the first candidate.
    fn step(&self, packet: &Travelling, hops: u16, at: (SwitchId, Arrival), header: Header) -> Candidate {
        let taken = packet.taken.iter().find(|taken| taken.0 == hops);
        taken.map_or_else(|| self.routing.first(at.0, at.1, header), |taken| taken.1)
    }

    /// The two ways of `packet` where it is, the minimal one first; nothing where there are no two, or where it has chosen.
    fn ways(&self, packet: &Travelling, node: NodeId, here: (SwitchId, Arrival)) -> Vec<Candidate> {
        let mut ways = Vec::new();
        if self.settings.selection == Selection::LeastLoaded
            && packet.taken.iter().all(|taken| taken.0 != packet.hops)
        {
            let header = self.header(packet, node, here);
            self.routing.candidates(here.0, here.1, header, |way| ways.push(way));
        }
        if ways.len() > 1 { ways } else { Vec::new() }
    }
}

impl Hpp {
    /// The model of `fabric`.
    #[must_use]
    pub fn new(fabric: &Fabric<HppSettings>) -> Self {
        let settings = &fabric.chip;
        let wiring = Wiring::new(fabric);
        Hpp {
            rails: fabric.rails as usize,
            switches: wiring.switches(settings),
            nics: wiring.nics(settings),
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

    /// A NIC port, and what it sees.
    fn nic(&mut self, node: NodeId, rail: RailId) -> (&mut Nic, &mut World) {
        (&mut self.nics[node.index() * self.rails + rail.index()], &mut self.world)
    }
}

impl Model for Hpp {
    fn step(&mut self) {
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

    fn now(&self) -> Cycle {
        Cycle(self.world.now)
    }

    fn record(&self) -> &Record {
        &self.world.record
    }

    fn record_mut(&mut self) -> &mut Record {
        &mut self.world.record
    }

    fn counters(&self) -> Counters {
        self.world.counters
    }

    fn deliveries(&mut self, node: NodeId, rail: RailId) -> Vec<Delivery> {
        let (nic, world) = self.nic(node, rail);
        nic.deliver(node, world)
    }

    fn sent(&mut self, node: NodeId, rail: RailId) -> Vec<Flow> {
        let (nic, world) = self.nic(node, rail);
        nic.take_sent().into_iter().map(|packet| world.packets[packet].packet.flow).collect()
    }

    fn submit(&mut self, node: NodeId, packet: Packet, set: Option<Arc<NodeSet>>) {
        assert!(set.is_none(), "HPP Switches have no reachability strings");
        let (nic, world) = self.nic(node, packet.rail);
        nic.submit(node, packet, world);
    }

    fn drain(&mut self, node: NodeId, ticket: Ticket) {
        self.nic(node, ticket.rail).0.drain(ticket.vc);
    }

    fn releases(&mut self, node: NodeId, rail: RailId) -> Vec<BarrierId> {
        let (nic, world) = self.nic(node, rail);
        nic.releases(world)
    }

    fn arrive(&mut self, node: NodeId, group: BarrierId) {
        for rail in (0..self.rails).map(RailId::new) {
            let (nic, world) = self.nic(node, rail);
            nic.arrive(group, world);
        }
    }
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
