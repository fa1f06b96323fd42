//! The Elite4, flit by flit and cycle by cycle.
//!
//! **The normative text is the header of `flitway_switch::elite`.** This is its plainest transcription: every flit, credit and
//! answer is an object that is moved by hand in every cycle, and the three steps of a cycle stand in the code in the order of
//! the text. Nothing here is fast, and nothing is shared with the engine that it checks but the description of the fabric,
//! the routing relation and the observer's events.
//!
//! Components tell each other things through channels only, which are shift registers of at least one place; so the order in
//! which components are evaluated does not matter.
//!
//! # Invariants, asserted in every cycle
//!
//! Credits at the sender + flits on the channel + flits in the buffer + credits on their way back = the size of the buffer, of
//! each virtual channel. A wire carries one flit a cycle. The flits of a packet come together on their virtual channel.

mod nic;
mod switch;

use crate::driver::Model;
use crate::record::Record;
use flitway_engine::Cycle;
use flitway_fabric::faults::PortFault;
use flitway_fabric::link::lanes::Agreement;
use flitway_fabric::link::{ChannelErrors, SentKind};
use flitway_fabric::observer::{LinkChange, LinkError, LinkErrorKind, LinkObserver, LinkState, component_at};
use flitway_fabric::simulation::Counters;
use flitway_fabric::{BarrierId, Change, ChangeKind, Delivery, Fabric, Flow, Packet, Rate, Ticket};
use flitway_switch::elite::{EliteSettings, WhenFull};
use flitway_wiring::reach::Reach;
use flitway_wiring::routing::{Header, Routing};
use flitway_wiring::topology::End;
use flitway_wiring::{Destination, NodeId, NodeSet, PortId, RailId, SwitchId};
use nic::Nic;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use switch::Switch;

/// The model of a fabric of Elite4s.
#[derive(Debug)]
pub struct Elite {
    rails: usize,
    world: World,
    /// The switches of rail 0, of rail 1, ...
    switches: Vec<Switch>,
    /// NIC port `node * rails + rail`.
    nics: Vec<Nic>,
}

/// What all components see.
#[derive(Debug)]
struct World {
    settings: EliteSettings,
    routing: Routing,
    /// Tables around what is down, by the cycle in which packets begin with them first.
    tables: Vec<(u64, Routing)>,
    /// Where broadcasts go by the tables of each number, if there is a way for them.
    reaches: Vec<Option<Reach>>,
    /// The nodes that have taken a packet, or a copy of it.
    reached: BTreeMap<PacketNumber, BTreeSet<NodeId>>,
    now: u64,
    /// All packets ever created.
    packets: Vec<Travelling>,
    channels: Vec<Channel>,
    record: Record,
    counters: Counters,
}

/// What names a packet however often it is sent: its source, its rail, and which one of those.
type PacketNumber = (NodeId, RailId, u32);

/// A packet since its creation.
#[derive(Clone, Debug)]
struct Travelling {
    source: NodeId,
    packet: Packet,
    header: Header,
    flits: u32,
    injected: u64,
    hops: u16,
    /// How often it has been refused, whether its NIC port has sent it, and the cycle before which it is not sent again.
    refusals: u32,
    was_sent: bool,
    not_before: u64,
    is_corrupt: bool,
    /// Which one of its source.
    number: u32,
    /// Of a broadcast: whom it is for, and of a copy what it is a copy of.
    range: Option<Arc<NodeSet>>,
    of: Option<usize>,
    /// It has come before.
    is_superfluous: bool,
    /// The tables with which it has begun, by number; the first is the routing of the fabric.
    tables: usize,
}

/// One flit: its packet and its place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Flit {
    packet: usize,
    index: u32,
}

/// A channel and the ways back of its credits and answers, as shift registers.
#[derive(Debug)]
struct Channel {
    /// Who sends on it: the component, and its port.
    name: (u32, PortId),
    latency: u32,
    /// With the virtual channel.
    line: VecDeque<Option<(usize, Flit)>>,
    /// By virtual channel.
    credits: VecDeque<Vec<u32>>,
    /// Answers on their way back.
    answers: Vec<Answer>,
    errors: ChannelErrors,
    /// Flits of it in so many cycles, each from a cycle on; `None` while it is stopped.
    rates: Vec<(u64, Option<(u32, u32)>)>,
    /// What becomes of the two channels of its link: whether each is cut, from a cycle on; and when an end of it dies.
    cuts: [Vec<(u64, bool)>; 2],
    death: u64,
}

/// An answer: when it comes to the sender, of which virtual channel, and what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Answer {
    at: u64,
    vc: usize,
    verdict: Verdict,
}

/// What an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    True,
    False,
    Full,
    Nack,
    /// A link has corrupted the answer, or was down: what it said is not known.
    Void,
}

impl Verdict {
    /// A NACK, for whatever reason, or void: the packet is sent again.
    fn is_nack(self) -> bool {
        matches!(self, Verdict::Full | Verdict::Nack | Verdict::Void)
    }
}

impl Channel {
    fn new(settings: &EliteSettings, latency: u32, rate: Rate, errors: ChannelErrors) -> Self {
        let (cuts, death) = ([Vec::new(), Vec::new()], u64::MAX);
        let vcs = settings.vcs as usize;
        Channel {
            name: (0, PortId(0)),
            latency,
            line: vec![None; (settings.pipeline.transmit + latency + 1) as usize].into(),
            credits: vec![vec![0; vcs]; (settings.credit + latency + 1) as usize].into(),
            answers: Vec::new(),
            errors,
            rates: vec![(0, Some(rate.ratio()))],
            cuts,
            death,
        }
    }

    /// Whether the link is down in cycle `now`.
    fn is_down(&self, now: u64) -> bool {
        let is_cut = |cuts: &Vec<(u64, bool)>| {
            let latest = cuts.iter().rfind(|(from, _)| *from <= now);
            latest.is_some_and(|(_, is_cut)| *is_cut)
        };
        self.death <= now || self.cuts.iter().any(is_cut)
    }

    /// Whether it has gone down in cycle `now`, or come up.
    fn changes(&self, now: u64) -> Option<LinkState> {
        let was_down = now > 0 && self.is_down(now - 1);
        match (was_down, self.is_down(now)) {
            (false, true) => Some(LinkState::Down),
            (true, false) => {
                Some(LinkState::Active(Agreement { lanes: 0xFF, lane_rate: 0, rate: Rate::FULL }))
            }
            _ => None,
        }
    }

    /// Whether a flit can be sent in cycle `now`: one more has had its time by the end of it than before.
    fn is_slot(&self, now: u64) -> bool {
        let so_far = self.rates.iter().filter(|(from, _)| *from <= now);
        let latest = so_far.max_by_key(|(from, _)| *from).and_then(|(_, rate)| *rate);
        latest.is_some_and(|(flits, per)| {
            let done = |cycles: u64| u128::from(cycles) * u128::from(flits) / u128::from(per);
            done(now + 1) > done(now)
        })
    }

    fn received(&self) -> Option<(usize, Flit)> {
        self.line[0]
    }

    fn send(&mut self, vc: usize, flit: Flit) {
        let place = self.line.back_mut().expect("a channel has places");
        assert!(place.is_none(), "a wire carries one flit a cycle");
        *place = Some((vc, flit));
    }

    fn give_back(&mut self, vc: usize) {
        self.credits.back_mut().expect("a channel has places")[vc] += 1;
    }

    /// An answer is on the wire in cycle `at`.
    fn answer(&mut self, at: u64, vc: usize, verdict: Verdict) {
        self.answers.push(Answer { at: at + u64::from(self.latency), vc, verdict });
    }

    /// The answers that come in cycle `now`, by virtual channel.
    fn answered(&mut self, now: u64) -> Vec<Answer> {
        let mut come: Vec<Answer> = self.answers.iter().copied().filter(|it| it.at == now).collect();
        self.answers.retain(|it| it.at != now);
        come.sort_unstable();
        come
    }

    fn shift(&mut self) {
        self.line.pop_front();
        self.line.push_back(None);
        let mut places = self.credits.pop_front().expect("a channel has places");
        places.fill(0);
        self.credits.push_back(places);
    }
}

/// The channels of a port: that which it sends on, and that which it receives from.
#[derive(Clone, Copy, Debug)]
struct Wires {
    out: usize,
    back: usize,
    /// To a node that takes every flit at once.
    leads_to_sink: bool,
    /// Flits of a virtual channel that there is room for at the other end.
    room: u32,
}

/// An outgoing virtual channel.
#[derive(Clone, Debug)]
struct Lane {
    packet: Option<usize>,
    /// The incoming virtual channel that it comes from: port and number.
    from: (usize, usize),
    /// Flits that it has sent.
    sent: u32,
    given: u64,
    free: u64,
    credits: u32,
    /// The slots in which it has sent them.
    slots: Vec<u64>,
    /// All have been sent, and it is known whether the link has corrupted one.
    is_checked: bool,
}

impl Lane {
    fn new(credits: u32) -> Self {
        let (from, slots) = ((0, 0), Vec::new());
        Lane { packet: None, from, sent: 0, given: 0, free: 0, credits, slots, is_checked: false }
    }

    fn give(&mut self, packet: usize, from: (usize, usize), now: u64) {
        assert!(self.packet.is_none(), "a virtual channel has one packet");
        (self.packet, self.from, self.sent, self.given) = (Some(packet), from, 0, now);
        (self.slots, self.is_checked) = (Vec::new(), false);
    }

    /// In the cycle after its last flit was sent on `channel`: whether that has corrupted one.
    fn check(&mut self, channel: usize, world: &mut World) {
        let Some(packet) = self.packet else { return };
        if self.sent < world.flits_of(packet) || self.is_checked {
            return;
        }
        self.is_checked = true;
        let slots = self.slots.iter().copied().map(Cycle);
        if world.channels[channel].errors.corrupts(SentKind::Packet, slots) {
            world.packets[packet].is_corrupt = true;
            world.count(channel, LinkErrorKind::Corrupted);
        }
        let last = self.slots.last().copied().unwrap_or(0);
        let link = &world.channels[channel];
        let comes = last + u64::from(world.settings.pipeline.transmit + link.latency);
        if (self.given..=comes).any(|cycle| link.is_down(cycle)) {
            world.packets[packet].is_corrupt = true;
        }
    }
}

impl World {
    fn flits_of(&self, packet: usize) -> u32 {
        self.packets[packet].flits
    }

    fn is_last(&self, flit: Flit) -> bool {
        flit.index + 1 == self.flits_of(flit.packet)
    }

    /// Whether a link has corrupted a packet, or what it is a copy of.
    fn is_corrupt(&self, packet: usize) -> bool {
        let Travelling { is_corrupt, of, .. } = self.packets[packet];
        is_corrupt || of.is_some_and(|of| self.is_corrupt(of))
    }

    /// Whether a node delivers nothing of it.
    fn is_void(&self, packet: usize) -> bool {
        self.is_corrupt(packet) || self.packets[packet].is_superfluous
    }

    /// The tables with which packets begin in this cycle, by number.
    fn tables_now(&self) -> usize {
        self.tables.iter().filter(|(at, _)| *at <= self.now).count()
    }

    /// The routing by tables.
    fn routing_by(&self, tables: usize) -> &Routing {
        if tables == 0 { &self.routing } else { &self.tables[tables - 1].1 }
    }

    /// What the answers say that come in this cycle to who sends on `wires.out`, each with its virtual channel.
    fn hear(&mut self, wires: Wires) -> Vec<(usize, Verdict)> {
        let now = self.now;
        let answers = self.channels[wires.out].answered(now);
        let hear = |Answer { vc, verdict, .. }: Answer| {
            let link = &self.channels[wires.out];
            let is_down = (now - u64::from(link.latency)..=now).any(|cycle| link.is_down(cycle));
            let is_corrupt = self.channels[wires.back].errors.corrupts_answer(Cycle(now), vc as u8);
            if is_corrupt {
                self.count(wires.back, LinkErrorKind::Corrupted);
            }
            (vc, if is_down || is_corrupt { Verdict::Void } else { verdict })
        };
        answers.into_iter().map(hear).collect()
    }

    /// A channel counts an error in this cycle.
    fn count(&mut self, channel: usize, kind: LinkErrorKind) {
        let ((component, port), at) = (self.channels[channel].name, Cycle(self.now));
        self.counters.err(&LinkError { at, component, port, kind }, &mut self.record);
    }

    /// For whom a packet is lost that is given up: those who have not taken it.
    fn lacking(&self, packet: usize) -> Vec<NodeId> {
        let Travelling { source, packet, header, range, number, .. } = &self.packets[packet];
        let reached = self.reached.get(&(*source, packet.rail, *number));
        let lacks = |node: &NodeId| reached.is_none_or(|reached| !reached.contains(node));
        let to = range.as_ref().map_or(vec![header.destination()], |range| range.iter().collect());
        to.into_iter().filter(lacks).collect()
    }

    /// What becomes of a link in this cycle, as one of its ends sees it.
    fn watch(&mut self, component: u32, port: PortId, channel: usize) {
        if let Some(state) = self.channels[channel].changes(self.now) {
            self.record.link_changed(&LinkChange { at: Cycle(self.now), component, port, state });
        }
    }

    /// The virtual channel of broadcasts.
    fn broadcast_vc(&self) -> usize {
        self.lanes() - 1
    }

    /// Cycles from a flit on the wire to the first in which it can leave the buffer.
    fn delay(&self) -> u64 {
        u64::from(self.settings.pipeline.receive + self.settings.pipeline.route)
    }

    /// Virtual channels of a class.
    fn lanes(&self) -> usize {
        (self.settings.vcs / self.routing.classes()) as usize
    }
}

impl Model for Elite {
    fn step(&mut self) {
        self.nics.iter_mut().for_each(|nic| nic.cycle(&mut self.world));
        self.switches.iter_mut().for_each(|switch| switch.cycle(&mut self.world));
        self.assert_books();
        self.world.channels.iter_mut().for_each(Channel::shift);
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

    fn submit(&mut self, node: NodeId, packet: Packet, range: Option<Arc<NodeSet>>) {
        let (nic, world) = self.nic(node, packet.rail);
        let to = match packet.destination {
            Destination::Node(to) => to,
            Destination::Nodes(_) => node,
            Destination::Group(..) => panic!("Elite4s have no groups"),
        };
        let settings = &world.settings;
        let (format, payload) = (&settings.format, u32::from(packet.payload));
        let of_blocks = format.block.map_or(0, |block| payload.div_ceil(block.bytes) * block.header_flits);
        let flits =
            format.header_flits + of_blocks + payload.div_ceil(format.flit_bytes) + format.trailer_flits;
        let header = world.routing.header(node, to, packet.lane);
        nic.queue.push_back(world.packets.len());
        nic.packets += 1;
        world.packets.push(Travelling {
            source: node,
            packet,
            header,
            flits,
            injected: 0,
            hops: 0,
            refusals: 0,
            was_sent: false,
            not_before: 0,
            is_corrupt: false,
            range,
            number: nic.packets,
            of: None,
            is_superfluous: false,
            tables: 0,
        });
        world.counters.packets_created += 1;
    }

    fn answered(&mut self, node: NodeId, rail: RailId) -> Vec<(Flow, bool)> {
        let (nic, world) = self.nic(node, rail);
        let flow = |(packet, is_true): (usize, bool)| (world.packets[packet].packet.flow, is_true);
        nic.take_answered(world.now).into_iter().map(flow).collect()
    }

    fn deny(&mut self, node: NodeId, ticket: Ticket) {
        let (nic, world) = self.nic(node, ticket.rail);
        nic.deny(ticket.vc.into(), world);
    }

    fn drain(&mut self, node: NodeId, ticket: Ticket) {
        self.nic(node, ticket.rail).0.drain(ticket.vc.into());
    }

    fn releases(&mut self, _: NodeId, _: RailId) -> Vec<BarrierId> {
        Vec::new()
    }

    fn arrive(&mut self, _: NodeId, _: BarrierId) {
        panic!("Elite4s have no barriers");
    }
}

impl Elite {
    /// The model of `fabric`.
    #[must_use]
    pub fn new(fabric: &Fabric<EliteSettings>) -> Self {
        let mut world = World {
            settings: fabric.chip.clone(),
            routing: fabric.routing.clone(),
            tables: Vec::new(),
            reaches: vec![Reach::by_first_links(&fabric.routing)],
            reached: BTreeMap::new(),
            now: 0,
            packets: Vec::new(),
            channels: Vec::new(),
            record: Record::default(),
            counters: Counters::default(),
        };
        let (switches, nics) = wire(fabric, &mut world);
        Elite { rails: fabric.rails as usize, world, switches, nics }
    }

    /// The same with these changes.
    #[must_use]
    pub fn with_changes(mut self, changes: &[Change]) -> Self {
        for change in changes {
            let ChangeKind::Rate { sender, rate } = change.kind;
            let out = match sender {
                End::Switch(switch, port) => {
                    let switches = self.world.routing.topology().switches();
                    self.switches[(change.rail.0 * switches + switch.0) as usize].out(port.index())
                }
                End::Node(node) => self.nics[node.index() * self.rails + change.rail.index()].out(),
            };
            self.world.channels[out].rates.push((change.at.0, rate.map(Rate::ratio)));
        }
        self
    }

    /// The same with these tables, each from a cycle on.
    #[must_use]
    pub fn with_tables(mut self, tables: &[(Cycle, Routing)]) -> Self {
        self.world.tables = tables.iter().map(|(at, routing)| (at.0, routing.clone())).collect();
        self.world.tables.sort_by_key(|(at, _)| *at);
        let reach = |(_, routing): &(u64, Routing)| Reach::by_first_links(routing);
        self.world.reaches.extend(self.world.tables.iter().map(reach));
        self
    }

    /// A NIC port, and what it sees.
    fn nic(&mut self, node: NodeId, rail: RailId) -> (&mut Nic, &mut World) {
        (&mut self.nics[node.index() * self.rails + rail.index()], &mut self.world)
    }

    /// Credits, channel by channel and virtual channel by virtual channel.
    fn assert_books(&self) {
        let vcs = self.world.settings.vcs as usize;
        let mut stored = vec![None; self.world.channels.len()];
        let of_switches = self.switches.iter().flat_map(Switch::buffers);
        for (back, flits) in of_switches.chain(self.nics.iter().filter_map(Nic::buffers)) {
            stored[back] = Some(flits);
        }
        let senders = self.switches.iter().flat_map(Switch::senders);
        for (wires, lanes) in senders.chain(self.nics.iter().map(Nic::sender)) {
            let (channel, Some(stored)) = (&self.world.channels[wires.out], &stored[wires.out]) else {
                continue;
            };
            for vc in 0..vcs {
                // What has come in this cycle is in the buffer, or has been counted.
                let flits = channel.line.iter().skip(1).flatten().filter(|it| it.0 == vc).count() as u32;
                let credits: u32 = channel.credits.iter().skip(1).map(|places| places[vc]).sum();
                let all = lanes[vc].credits + flits + credits + stored[vc];
                assert_eq!(all, wires.room, "credits at the end of cycle {}", self.world.now);
            }
        }
    }
}

/// The components, with a channel in each direction of every link.
fn wire(fabric: &Fabric<EliteSettings>, world: &mut World) -> (Vec<Switch>, Vec<Nic>) {
    let (topology, rails) = (fabric.topology(), fabric.rails);
    let mut out: BTreeMap<(u32, End), (usize, bool)> = BTreeMap::new();
    let mut back: BTreeMap<(u32, End), usize> = BTreeMap::new();
    for rail in 0..rails {
        for (link, &latency) in topology.links().iter().zip(&fabric.latencies) {
            let [first, second] = link.ends;
            for (from, to) in [(first, second), (second, first)] {
                let number = world.channels.len();
                let (component, port) = component_at(topology, rails, RailId(rail), from);
                let (rate, errors) = (fabric.rates.of(from), fabric.errors.of(component, port));
                let mut channel = Channel::new(&world.settings, latency, rate, errors);
                channel.name = (component, port);
                for (cuts, end) in channel.cuts.iter_mut().zip([first, second]) {
                    let (component, port) = component_at(topology, rails, RailId(rail), end);
                    for (at, fault) in fabric.faults.of_port(component, port) {
                        if matches!(fault, PortFault::Cut | PortFault::Mended) {
                            cuts.push((at.0, fault == PortFault::Cut));
                        }
                    }
                    channel.death = channel.death.min(fabric.faults.death(component).0);
                }
                world.channels.push(channel);
                out.insert((rail, from), (number, matches!(to, End::Node(_))));
                back.insert((rail, to), number);
            }
        }
    }
    let settings = &world.settings;
    let wires = |rail: u32, end: End| {
        let &(out, leads_to_node) = out.get(&(rail, end))?;
        let longest = settings.format.packet_flits(settings.format.mtu_bytes);
        let room = if leads_to_node { 2 * longest } else { settings.buffer_flits };
        let refuses = settings.answer.is_some_and(|answer| answer.when_full == WhenFull::Refuse);
        let leads_to_sink = leads_to_node && (refuses || !fabric.nic_ports.are_bounded());
        Some(Wires { out, back: *back.get(&(rail, end))?, leads_to_sink, room })
    };
    let switch = |number: u32| {
        let (rail, here) = (number / topology.switches(), SwitchId(number % topology.switches()));
        let ports = (0..topology.ports(here)).map(PortId);
        let wires: Vec<_> = ports.map(|port| wires(rail, End::Switch(here, port))).collect();
        Switch::new(settings, number, here, &wires)
    };
    let nic = |number: u32| {
        let (rail, node) = (number % rails, NodeId(number / rails));
        let wires = wires(rail, End::Node(node)).expect("every node is wired");
        Nic::new(settings, (number, node), RailId(rail), wires, fabric.nic_ports)
    };
    let switches = (0..rails * topology.switches()).map(switch).collect();
    let mut nics: Vec<Nic> = (0..rails * topology.nodes()).map(nic).collect();
    for (number, nic) in nics.iter_mut().enumerate() {
        // Nodes are components after all switches.
        nic.component = rails * topology.switches() + number as u32 / rails;
        let stalls = fabric.faults.stall_times(nic.component, PortId(number as u32 % rails));
        nic.stalls = stalls.into_iter().map(|times| times.map(|at| at.0)).collect();
    }
    (switches, nics)
}
