//! What a run has to show: every delivery, every grant, every advert that says something new, every passage and departure where
//! the reference tells them, and all of barriers but packets that change nothing.

use flitway_engine::Cycle;
use flitway_fabric::barrier::Packet;
use flitway_fabric::observer::{
    Advert, BarrierDeparture, BarrierLoss, BarrierNote, ComponentNumber, Departure, Grant, LinkChange,
    LinkError, LinkObserver, LinkState, Loss, MessageObserver, Miss, NicObserver, Outputs, Passage,
    SwitchObserver,
};
use flitway_fabric::{BarrierId, Delivery, Flow};
use flitway_wiring::{NodeId, RailId};

/// Everything that happened, as the observer interface tells it. Both engines fill one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Packets that have reached their destination.
    pub deliveries: Vec<Delivery>,
    /// Packets that have left the source queues of bounded NIC ports.
    pub sent: Vec<(Cycle, NodeId, RailId, Flow)>,
    /// Packets for sets of nodes that have been answered, and whether affirmatively.
    pub answered: Vec<(Cycle, NodeId, RailId, Flow, bool)>,
    /// Grants of all arbiters.
    pub grants: Vec<Grant>,
    /// Adverts that say something new.
    pub adverts: Vec<Advert>,
    /// Processes that have arrived at barriers, by node.
    pub arrivals: Vec<(Cycle, NodeId, BarrierId)>,
    /// Processes that have been released.
    pub releases: Vec<(Cycle, NodeId, BarrierId)>,
    /// Operations that were complete in a root, by component.
    pub completions: Vec<(Cycle, ComponentNumber, BarrierId)>,
    /// Barrier packets that have changed what a switch knows.
    pub notes: Vec<BarrierNote>,
    /// Barrier packets that links have chosen.
    pub departures: Vec<BarrierDeparture>,
    /// Barrier packets that were lost.
    pub losses: Vec<BarrierLoss>,
    /// Packets for which a table had no output.
    pub misses: Vec<Miss>,
    /// Packets that were let across a switch, where the reference tells of them.
    pub passages: Vec<Passage>,
    /// Packets that links have chosen, where the reference tells of them.
    pub chosen: Vec<Departure>,
    /// Packets that are lost for good.
    pub lost: Vec<Loss>,
    /// States of links that have changed.
    pub link_changes: Vec<LinkChange>,
    /// What links have counted of errors.
    pub link_errors: Vec<LinkError>,
}

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A packet has reached its destination.
    Delivered(Delivery),
    /// A packet has left the source queue of a bounded NIC port.
    Sent(Cycle, NodeId, RailId, Flow),
    /// A packet for a set of nodes has been answered, and whether affirmatively.
    Answered(Cycle, NodeId, RailId, Flow, bool),
    /// An arbiter has granted.
    Granted(Grant),
    /// An advert has said something new.
    Advertised(Advert),
    /// A process has arrived at a barrier.
    Arrived(Cycle, NodeId, BarrierId),
    /// A process has been released.
    Released(Cycle, NodeId, BarrierId),
    /// An operation was complete in its root.
    Completed(Cycle, ComponentNumber, BarrierId),
    /// A barrier packet has changed what a switch knows.
    Noted(BarrierNote),
    /// A link has chosen a barrier packet.
    Departed(BarrierDeparture),
    /// A barrier packet was lost.
    Lost(BarrierLoss),
    /// A table had no output for a packet.
    Missed(Miss),
    /// A packet was let across a switch.
    Passed(Passage),
    /// A link has chosen a packet.
    Chosen(Departure),
    /// A packet is lost for good.
    PacketLost(Loss),
    /// The link of a port has another state.
    LinkChanged(LinkChange),
    /// A link has counted an error.
    LinkErred(LinkError),
}

impl Event {
    /// When.
    #[must_use]
    pub fn cycle(&self) -> Cycle {
        match self {
            Event::Delivered(delivery) => delivery.delivered,
            Event::Sent(cycle, ..) | Event::Answered(cycle, ..) => *cycle,
            Event::Granted(grant) => grant.cycle,
            Event::Advertised(advert) => advert.cycle,
            Event::Arrived(cycle, ..) | Event::Released(cycle, ..) | Event::Completed(cycle, ..) => *cycle,
            Event::Noted(note) => note.cycle,
            Event::Departed(departure) => departure.cycle,
            Event::Lost(loss) => loss.cycle,
            Event::Missed(miss) => miss.cycle,
            Event::Passed(passage) => passage.granted,
            Event::Chosen(departure) => departure.chosen,
            Event::PacketLost(loss) => loss.at,
            Event::LinkChanged(change) => change.at,
            Event::LinkErred(error) => error.at,
        }
    }

    /// A total order: by time, then adverts (step 2) before grants (steps 4 and 5), then by place.
    fn key(&self) -> (Cycle, u8, [u64; 6]) {
        let place = match *self {
            Event::Delivered(it) => {
                let flits = u32::from(it.flits) << 16 | u32::from(it.payload);
                [
                    it.flow.tag,
                    it.destination.0.into(),
                    it.rail.0.into(),
                    it.source.0.into(),
                    flits.into(),
                    // An answer may come together with another packet of its tag.
                    u64::from(it.hops) << 8 | u64::from(it.flow.bits()),
                ]
            }
            Event::Advertised(it) => {
                [it.component, it.port.0, it.vc.into(), it.position, 0, 0].map(u64::from)
            }
            Event::Arrived(_, node, group) | Event::Released(_, node, group) => {
                [node.0, group.0, 0, 0, 0, 0].map(u64::from)
            }
            Event::Completed(_, switch, group) => [switch, group.0, 0, 0, 0, 0].map(u64::from),
            Event::Noted(it) => {
                let parent = it.place.parent().map_or(0, |port| 1 + u64::from(port.0));
                let [switch, port, group, word] =
                    [it.switch, it.port.0, it.group.0, word(it.packet)].map(u64::from);
                [switch, port << 32 | group, word, it.arrived.0, it.place.children(), parent]
            }
            Event::Departed(it) => {
                let [component, port, group, word] =
                    [it.component, it.port.0, it.group.0, word(it.packet)].map(u64::from);
                [component, port, group, word, it.leaves.0, 0]
            }
            Event::Lost(it) => {
                [it.component, it.port.0, it.group.0, word(it.packet), it.reason as u32, 0].map(u64::from)
            }
            Event::Sent(_, node, rail, flow) => {
                [node.0.into(), rail.0.into(), flow.bits().into(), flow.tag, 0, 0]
            }
            Event::Answered(_, node, rail, flow, is_true) => {
                [node.0.into(), rail.0.into(), flow.bits().into(), flow.tag, is_true.into(), 0]
            }
            Event::Missed(it) => [it.switch, it.input.0, it.vc.into(), 0, 0, 0].map(u64::from),
            Event::Passed(it) => key_of_passage(&it),
            Event::Chosen(it) => [it.component, it.port.0, it.vc.into(), 0, 0, 0].map(u64::from),
            Event::PacketLost(it) => key_of_loss(&it),
            Event::LinkChanged(it) => key_of_change(&it),
            Event::LinkErred(it) => key_of_error(&it),
            Event::Granted(it) => [it.switch, it.output.0, it.vc.into(), it.input.0, 0, 0].map(u64::from),
        };
        let kind = match self {
            Event::Delivered(_) => 0,
            Event::Advertised(_) => 1,
            Event::Granted(_) => 2,
            Event::Released(..) => 3,
            Event::Arrived(..) => 4,
            Event::Completed(..) => 5,
            Event::Lost(_) => 6,
            Event::Noted(_) => 7,
            Event::Departed(_) => 8,
            Event::Sent(..) => 9,
            Event::Missed(_) => 10,
            Event::Passed(_) => 11,
            Event::Chosen(_) => 12,
            Event::PacketLost(_) => 13,
            Event::LinkChanged(_) => 14,
            Event::Answered(..) => 15,
            Event::LinkErred(_) => 16,
        };
        (self.cycle(), kind, place)
    }
}

fn key_of_passage(passage: &Passage) -> [u64; 6] {
    let [port, mask] = match passage.outputs {
        Outputs::One(port) => [1 + u64::from(port.0), 0],
        Outputs::Several(mask) => [0, mask],
    };
    [passage.switch.into(), passage.input.0.into(), passage.vc.into(), port, mask, 0]
}

fn key_of_loss(loss: &Loss) -> [u64; 6] {
    let Loss { component, source, destination, created, flow, flits, was_sent, cause, .. } = *loss;
    let what = cause as u64 | u64::from(was_sent) << 8 | u64::from(flits) << 16;
    [component.into(), source.0.into(), destination.0.into(), created.0, what, flow.tag]
}

fn key_of_change(change: &LinkChange) -> [u64; 6] {
    let [state, lanes] = match change.state {
        LinkState::Trains(reason) => [reason as u64, 0],
        LinkState::Active(agreement) => [100, agreement.lanes],
        LinkState::Down => [101, 0],
    };
    [change.component.into(), change.port.0.into(), state, lanes, 0, 0]
}

fn key_of_error(error: &LinkError) -> [u64; 6] {
    [error.component, error.port.0, error.kind as u32, 0, 0, 0].map(u64::from)
}

/// A barrier packet as a number.
fn word(packet: Packet) -> u32 {
    (packet.kind as u32) << 1 | u32::from(packet.sequence.bit())
}

/// The first place where two records part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What the reference did; `None` if it did nothing any more.
    pub reference: Option<Event>,
    /// What the fast engine did.
    pub engine: Option<Event>,
}

impl Record {
    /// Adds what another observer of the same run has seen.
    pub fn append(&mut self, other: &mut Record) {
        self.deliveries.append(&mut other.deliveries);
        self.sent.append(&mut other.sent);
        self.answered.append(&mut other.answered);
        self.grants.append(&mut other.grants);
        self.adverts.append(&mut other.adverts);
        self.arrivals.append(&mut other.arrivals);
        self.releases.append(&mut other.releases);
        self.completions.append(&mut other.completions);
        self.notes.append(&mut other.notes);
        self.departures.append(&mut other.departures);
        self.losses.append(&mut other.losses);
        self.misses.append(&mut other.misses);
        self.passages.append(&mut other.passages);
        self.chosen.append(&mut other.chosen);
        self.lost.append(&mut other.lost);
        self.link_changes.append(&mut other.link_changes);
        self.link_errors.append(&mut other.link_errors);
    }

    /// Everything that happened before cycle `end`, in a canonical order.
    #[must_use]
    pub fn events(&self, end: Cycle) -> Vec<Event> {
        let deliveries = self.deliveries.iter().copied().map(Event::Delivered);
        let grants = self.grants.iter().copied().map(Event::Granted);
        let sent = self.sent.iter().map(|&(at, node, rail, flow)| Event::Sent(at, node, rail, flow));
        let answered = self.answered.iter();
        let answered = answered.map(|&(at, node, rail, flow, is)| Event::Answered(at, node, rail, flow, is));
        let adverts = self.adverts.iter().copied().map(Event::Advertised);
        let arrivals = self.arrivals.iter().map(|&(at, node, group)| Event::Arrived(at, node, group));
        let releases = self.releases.iter().map(|&(at, node, group)| Event::Released(at, node, group));
        let completions = self.completions.iter().map(|&(at, it, group)| Event::Completed(at, it, group));
        let losses = self.losses.iter().copied().map(Event::Lost);
        let misses = self.misses.iter().copied().map(Event::Missed);
        let passages = self.passages.iter().copied().map(Event::Passed);
        let chosen = self.chosen.iter().copied().map(Event::Chosen);
        let lost = self.lost.iter().copied().map(Event::PacketLost);
        let links = self.link_changes.iter().copied().map(Event::LinkChanged);
        let errors = self.link_errors.iter().copied().map(Event::LinkErred);
        let notes = self.notes.iter().copied().map(Event::Noted);
        let departures = self.departures.iter().copied().map(Event::Departed);
        let packets = notes.chain(departures).chain(losses);
        let barriers = arrivals.chain(releases).chain(completions).chain(packets);
        let packets = deliveries.chain(sent).chain(answered).chain(passages).chain(chosen);
        let mut all: Vec<Event> = packets
            .chain(lost)
            .chain(links)
            .chain(errors)
            .chain(grants)
            .chain(misses)
            .chain(adverts)
            .chain(barriers)
            .collect();
        all.retain(|event| event.cycle() < end);
        all.sort_unstable_by_key(Event::key);
        all
    }

    /// How often an end of a link has become active.
    #[must_use]
    pub fn links_trained(&self) -> u64 {
        let is_active = |change: &&LinkChange| matches!(change.state, LinkState::Active(_));
        self.link_changes.iter().filter(is_active).count() as u64
    }

    /// The first event before cycle `end` that is in one record and not in the other.
    #[must_use]
    pub fn first_difference(reference: &Record, engine: &Record, end: Cycle) -> Option<Difference> {
        let (ours, theirs) = (reference.events(end), engine.events(end));
        let same = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
        let difference = Difference { reference: ours.get(same).copied(), engine: theirs.get(same).copied() };
        (difference.reference.is_some() || difference.engine.is_some()).then_some(difference)
    }
}

impl LinkObserver for Record {
    fn departed(&mut self, departure: &Departure) {
        self.chosen.push(*departure);
    }

    fn lost(&mut self, loss: &Loss) {
        self.lost.push(*loss);
    }

    fn link_erred(&mut self, error: &LinkError) {
        self.link_errors.push(*error);
    }

    fn link_changed(&mut self, change: &LinkChange) {
        self.link_changes.push(*change);
    }

    fn advertised(&mut self, advert: &Advert) {
        self.adverts.push(*advert);
    }

    fn barrier_departed(&mut self, departure: &BarrierDeparture) {
        self.departures.push(*departure);
    }

    fn barrier_lost(&mut self, loss: &BarrierLoss) {
        self.losses.push(*loss);
    }
}

impl SwitchObserver for Record {
    fn granted(&mut self, grant: &Grant) {
        self.grants.push(*grant);
    }

    fn passed(&mut self, passage: &Passage) {
        self.passages.push(*passage);
    }

    fn missed(&mut self, miss: &Miss) {
        self.misses.push(*miss);
    }

    fn completed(&mut self, now: Cycle, component: ComponentNumber, group: BarrierId) {
        self.completions.push((now, component, group));
    }

    fn barrier_noted(&mut self, note: &BarrierNote) {
        self.notes.push(*note);
    }
}

impl NicObserver for Record {
    fn delivered(&mut self, delivery: &Delivery) {
        self.deliveries.push(*delivery);
    }

    fn sent(&mut self, now: Cycle, node: NodeId, rail: RailId, flow: Flow) {
        self.sent.push((now, node, rail, flow));
    }

    fn answered(&mut self, now: Cycle, node: NodeId, rail: RailId, (flow, is_true): (Flow, bool)) {
        self.answered.push((now, node, rail, flow, is_true));
    }

    fn arrived(&mut self, now: Cycle, node: NodeId, group: BarrierId) {
        self.arrivals.push((now, node, group));
    }

    fn released(&mut self, now: Cycle, node: NodeId, group: BarrierId) {
        self.releases.push((now, node, group));
    }
}

impl MessageObserver for Record {}
