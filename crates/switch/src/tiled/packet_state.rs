//! A packet as it travels, and the mail between ports.

use super::link::Stamp;
use super::settings::VCS_MAX;
use super::switch::Loads;
use super::training::Signal;
use super::{Cx, Shared, Tiled};
use flitway_engine::Cycle;
use flitway_fabric::component::PostOf;
use flitway_fabric::link::retry::{Acknowledgement, Sequence};
use flitway_fabric::observer::{ComponentNumber, Loss, PacketName};
use flitway_fabric::pool::{List, Pool, Slot, linked};
use flitway_fabric::simulation::{Address, Conservation};
use flitway_fabric::{Delivery, Flow, LossCause, Rate};
use flitway_wiring::routing::Header;
use flitway_wiring::{NodeId, RailId};
use serde::{Deserialize, Serialize};

/// A packet, wherever it is: in a queue, a buffer or on a link. It lives in one slot of its shard, one cache line, from source
/// queue to delivery.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[repr(align(64))]
pub struct PacketState {
    pub(super) header: Header,
    /// When it is accepted, or the buffer that it is in has it.
    pub(super) at: Cycle,
    pub(super) created: Cycle,
    pub(super) injected: Cycle,
    tag: u64,
    pub(super) source: NodeId,
    /// On a link and in an input buffer: cycles from its first flit on the wire to `at`. In a row or column buffer: cycles
    /// from its creation until the link could have begun it, had nothing been in the way.
    pub(super) ready_after: u32,
    #[serde(skip)]
    pub(super) next: Slot,
    pub(super) flits: u16,
    payload: u16,
    pub(super) hops: u16,
    /// In a switch, the output that it takes; on a link, the port that it goes to, and when that has it until it is accepted,
    /// its number.
    pub(super) port: u16,
    /// The virtual channel by which it came.
    pub(super) vc: u8,
    /// That by which it leaves the switch; on a link whether it is corrupt.
    pub(super) out_vc: u8,
    /// Kind and process of its flow.
    flow_bits: u8,
    /// A link has corrupted it, and no check shows it.
    pub(super) is_wrong: bool,
}

const _: () = assert!(size_of::<PacketState>() == 64, "a packet is one cache line");

linked!(PacketState);

impl PacketState {
    /// One of `source`, which has just been created.
    pub(super) fn new(source: NodeId, header: Header, packet: &flitway_fabric::Packet, flits: u32) -> Self {
        PacketState {
            header,
            at: packet.created,
            created: packet.created,
            injected: Cycle::ZERO,
            tag: packet.flow.tag,
            source,
            ready_after: 0,
            next: Slot::NONE,
            flits: flits as u16,
            payload: packet.payload,
            hops: 0,
            port: 0,
            vc: 0,
            out_vc: 0,
            flow_bits: packet.flow.bits(),
            is_wrong: false,
        }
    }

    /// What its destination `node` is told in cycle `now`.
    pub(super) fn delivery(&self, node: NodeId, rail: RailId, now: Cycle) -> Delivery {
        debug_assert_eq!(self.header.destination(), node, "packets arrive where they are sent to");
        Delivery {
            source: self.source,
            destination: node,
            group: None,
            rail,
            vc: self.vc,
            payload: self.payload,
            flits: self.flits,
            hops: self.hops,
            created: self.created,
            injected: self.injected,
            delivered: now,
            is_corrupt: self.is_wrong,
            flow: self.flow(),
        }
    }

    /// Its number and whether it is corrupt, when it has come and has not been accepted.
    pub(super) fn stamp(&self) -> Stamp {
        Stamp { sequence: Sequence(self.port), is_corrupt: self.out_vc != 0 }
    }

    /// That it is lost at `component` in cycle `at`, after its NIC port has sent it.
    pub(super) fn loss(&self, at: Cycle, component: ComponentNumber, cause: LossCause) -> Loss {
        let PacketState { source, created, flits, .. } = *self;
        let (destination, flow) = (self.header.destination(), self.flow());
        Loss { at, component, source, destination, created, flow, flits, was_sent: true, cause }
    }

    /// What it is part of.
    pub(super) fn flow(&self) -> Flow {
        Flow::from_bits(self.flow_bits, self.tag)
    }

    /// What observers call it.
    pub(super) fn name(&self) -> PacketName {
        PacketName { source: self.source, injected: self.injected }
    }
}

/// What the receiver of a channel tells its sender, on its way.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Ack {
    /// When the sender hears it.
    pub(super) at: Cycle,
    #[serde(skip)]
    pub(super) next: Slot,
    expected: Sequence,
    /// The port that it goes to.
    pub(super) port: u16,
    returned: [u16; VCS_MAX],
    is_nack: bool,
}

impl Ack {
    /// What is `told`, on its way to `port`.
    pub(super) fn new(at: Cycle, port: u16, told: Acknowledgement<VCS_MAX>) -> Self {
        let Acknowledgement { expected, is_nack, returned } = told;
        Ack { at, next: Slot::NONE, expected, port, returned, is_nack }
    }

    /// What it says.
    pub(super) fn says(&self) -> Acknowledgement<VCS_MAX> {
        Acknowledgement { expected: self.expected, is_nack: self.is_nack, returned: self.returned }
    }
}

linked!(Ack);

/// What one port tells the port at the other end of its link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Mail {
    /// A packet comes, with its number.
    Packet(PacketState, Sequence),
    /// An acknowledgement comes.
    Ack(Ack),
    /// The channel of that port has another rate from that cycle on, or is stopped.
    Pace(u16, Cycle, Option<Rate>),
    /// The other end of that port's link tells it something while they train it.
    Signal(u16, Box<Signal>),
    /// It has given up the packets from this number on, which have not been acknowledged.
    GivenUp(u16, Box<GivenUp>),
    /// The switch at the other end of a link tells its loads.
    Loads(Loads),
}

/// Packets that will never be sent again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GivenUp {
    /// When that is so.
    pub(super) at: Cycle,
    /// The number of the first.
    pub(super) first: Sequence,
    pub(super) packets: Vec<PacketState>,
}

/// Packets and acknowledgements of a shard.
#[derive(Debug, Default)]
pub(super) struct Pools {
    pub(super) states: Pool<PacketState>,
    pub(super) acks: Pool<Ack>,
}

/// A packet that comes, with what has to be known at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) slot: Slot,
    pub(super) port: u16,
    pub(super) sequence: Sequence,
}

/// What has come for a component, in the order of each port.
#[derive(Debug, Default)]
pub struct Inbox {
    pub(super) packets: Vec<Arrival>,
    pub(super) acks: Vec<Ack>,
    pub(super) paces: Vec<(u16, Cycle, Option<Rate>)>,
    pub(super) rare: Vec<Rare>,
    pub(super) loads: Vec<Loads>,
}

/// What comes only where something breaks.
#[derive(Debug)]
pub(super) enum Rare {
    Signal(u16, Box<Signal>),
    GivenUp(u16, Box<GivenUp>),
}

impl Inbox {
    pub(super) fn accept(&mut self, pools: &mut Pools, mail: Mail) {
        match mail {
            Mail::Packet(state, sequence) => {
                self.packets.push(Arrival { port: state.port, sequence, slot: pools.states.put(state) });
            }
            Mail::Ack(ack) => self.acks.push(ack),
            Mail::Pace(port, at, rate) => self.paces.push((port, at, rate)),
            Mail::Signal(port, signal) => self.rare.push(Rare::Signal(port, signal)),
            Mail::GivenUp(port, packets) => self.rare.push(Rare::GivenUp(port, packets)),
            Mail::Loads(loads) => self.loads.push(loads),
        }
    }

    pub(super) fn audit(&self, shared: &Shared, books: &mut Conservation) {
        let on_links = self.packets.iter().filter(|_| !shared.is_unreliable());
        on_links.for_each(|it| enter(&shared.pools.states[it.slot], books));
    }
}

/// Enters the packets of `list`, which are on a link, into the books. Where links lose some, its two ends count them.
pub(super) fn audit(shared: &Shared, list: &List, books: &mut Conservation) {
    if !shared.is_unreliable() {
        shared.pools.states.iter(list).for_each(|state| enter(state, books));
    }
}

/// Enters a packet, which holds room in an input buffer, into the books.
pub(super) fn enter(state: &PacketState, books: &mut Conservation) {
    books.in_network += 1;
    books.units_held += u64::from(state.flits);
}

/// Puts the packet in `slot` into the inbox of `peer`, which acts on it in cycle `state.at`.
#[inline]
pub(super) fn post_packet<O>(cx: &mut Cx<'_, O>, peer: Address, slot: Slot, sequence: Sequence) {
    let PacketState { at: by, port, .. } = cx.shared.pools.states[slot];
    match cx.post.inbox(peer, by) {
        Some(inbox) => inbox.packets.push(Arrival { slot, port, sequence }),
        None => {
            let state = cx.shared.pools.states.take(slot);
            cx.post.send_away(peer, by, Mail::Packet(state, sequence));
        }
    }
}

/// Puts what comes only where something breaks into the inbox of `peer`, which reads it by cycle `by`.
pub(super) fn post_rare<O>(cx: &mut Cx<'_, O>, peer: Address, by: Cycle, rare: Rare) {
    match cx.post.inbox(peer, by) {
        Some(inbox) => inbox.rare.push(rare),
        None => {
            let mail = match rare {
                Rare::Signal(port, signal) => Mail::Signal(port, signal),
                Rare::GivenUp(port, packets) => Mail::GivenUp(port, packets),
            };
            cx.post.send_away(peer, by, mail);
        }
    }
}

/// Puts `loads` into the inbox of `peer`, which reads it by cycle `loads.at`.
pub(super) fn post_loads<O>(cx: &mut Cx<'_, O>, peer: Address, loads: Loads) {
    match cx.post.inbox(peer, loads.at) {
        Some(inbox) => inbox.loads.push(loads),
        None => cx.post.send_away(peer, loads.at, Mail::Loads(loads)),
    }
}

/// Puts `ack` into the inbox of `peer`, which reads it by cycle `by`, or when it needs it.
#[inline]
pub(super) fn post_ack(post: &mut PostOf<Tiled>, peer: Address, by: Cycle, ack: Ack) {
    match post.inbox(peer, by) {
        Some(inbox) => inbox.acks.push(ack),
        None => post.send_away(peer, by, Mail::Ack(ack)),
    }
}
