//! A packet as it travels, and the mail between ports.

use super::barrier::{FLITS, Signal};
use super::credit_schedule::{CreditRun, CreditSchedules};
use super::timing::Timing;
use flitway_engine::Cycle;
use flitway_fabric::component::PostOf;
use flitway_fabric::observer::PacketName;
use flitway_fabric::pool::{List, Pool, Slot, linked};
use flitway_fabric::simulation::{Address, Conservation, Wire};
use flitway_fabric::{Delivery, Flow};
use flitway_wiring::NodeId;
use flitway_wiring::routing::{Candidate, Hop, Route, Routing};
use flitway_wiring::{GroupId, RailId, SwitchId};
use serde::{Deserialize, Serialize};
use std::hint::select_unpredictable;

/// A packet, wherever it is: in a queue, a FIFO or on a link. It lives in one slot of its shard, one cache line, from
/// source queue to delivery.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[repr(align(64))]
pub struct PacketState {
    pub(super) route: Route,
    /// On a link and in an input FIFO: when the first flit is on the receiver's wire. In a TX FIFO: when the packet is
    /// ready for the link.
    pub(super) at: Cycle,
    pub(super) created: Cycle,
    pub(super) injected: Cycle,
    pub(super) tag: u64,
    pub(super) source: NodeId,
    /// The node it is for, or the number of the group.
    pub(super) to: u32,
    #[serde(skip)]
    pub(super) next: Slot,
    pub(super) flits: u16,
    pub(super) units: u16,
    pub(super) payload: u16,
    pub(super) hops: u16,
    /// On a link: the port that it goes to.
    pub(super) port: u16,
    /// The VC it is labelled with: on the way, that of the link; in a TX FIFO, that of the next link.
    pub(super) vc: u8,
    pub(super) mark: Mark,
}

/// How a packet moves, and kind and process of its flow, in one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark(u8);

impl Mark {
    /// Bits of the [`Kind`].
    const KIND: u8 = 3;

    #[inline]
    pub(super) fn new(kind: Kind, flow: Flow) -> Self {
        const { assert!(Flow::BITS + 2 <= u8::BITS) };
        Mark(kind as u8 | flow.bits() << 2)
    }

    /// Whether it is for a node.
    #[inline(always)]
    pub(super) fn is_single(self) -> bool {
        self.0 & Self::KIND == Kind::Single as u8
    }

    /// Whether on its last link its flits come with gaps.
    #[inline(always)]
    pub(super) fn is_gapped(self) -> bool {
        self.0 & Self::KIND == Kind::Gapped as u8
    }

    /// It goes on in another way.
    #[inline(always)]
    pub(super) fn set_kind(&mut self, kind: Kind) {
        self.0 = self.0 & !Self::KIND | kind as u8;
    }

    /// [`Flow::bits`] of its flow.
    #[inline(always)]
    fn flow_bits(self) -> u8 {
        self.0 >> 2
    }
}

/// How a packet moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is for a node.
    Single,
    /// It is for a group.
    Copy,
    /// It is for a group, and on its last link its flits come with gaps: in [`Run`]s.
    Gapped,
}

const _: () = assert!(size_of::<PacketState>() == 64, "a packet is one cache line");

linked!(PacketState);

impl PacketState {
    /// Enters it, which holds credits, into the books.
    pub(super) fn audit(&self, books: &mut Conservation) {
        books.in_network += 1;
        books.units_held += u64::from(self.units);
    }

    /// Whether switches look up where it goes on: it is for a group, and its way up is behind it.
    #[inline]
    pub(super) fn spreads(&self) -> bool {
        // Others have arrived at their node when their route ends.
        self.route.has_arrived()
    }

    /// What it is part of.
    #[inline(always)]
    pub(super) fn flow(&self) -> Flow {
        Flow::from_bits(self.mark.flow_bits(), self.tag)
    }

    /// What observers call it.
    #[inline]
    pub(super) fn name(&self) -> PacketName {
        PacketName { source: self.source, injected: self.injected }
    }

    /// The group it is for.
    #[inline]
    pub(super) fn group(&self) -> Option<GroupId> {
        (!self.mark.is_single()).then_some(GroupId(self.to))
    }

    /// It is delivered in `rail` in cycle `delivered`, to `node`.
    #[inline(always)]
    pub(super) fn delivery(&self, rail: RailId, node: NodeId, delivered: Cycle) -> Delivery {
        debug_assert!(!self.mark.is_single() || self.to == node.0, "packets arrive where they are sent to");
        Delivery {
            source: self.source,
            destination: node,
            group: self.group(),
            rail,
            vc: self.vc,
            payload: self.payload,
            flits: self.flits,
            hops: self.hops,
            created: self.created,
            injected: self.injected,
            delivered,
            is_corrupt: false,
            flow: self.flow(),
        }
    }

    /// Goes over `wire`: its first flit is at the other end in cycle `at`. Returns when that is felt there.
    #[inline(always)]
    pub(super) fn go<const COLLECTIVE: bool>(&mut self, timing: &Timing, wire: &Wire, at: Cycle) -> Cycle {
        (self.at, self.port, self.next) = (at, wire.port, Slot::NONE);
        // After the last hop comes a node, but a packet for a group does not know which is its last.
        let flits = u32::from(self.flits);
        let by_node = if !COLLECTIVE || self.mark.is_single() {
            timing.felt_by_node(flits)
        } else {
            timing.felt_of_copy(flits)
        };
        // Which of them is anybody's guess.
        at + select_unpredictable(self.route.has_arrived(), by_node, timing.felt_by_switch())
    }

    /// Takes the next hop off the route, in switch component `number`; a longer one is continued from the next switch.
    #[inline]
    pub(super) fn advance(&mut self, routing: &Routing, number: u32, next_vc: u8) {
        let hop = self.route.hop();
        self.route = self.route.rest();
        self.vc = next_vc;
        if self.route.is_continued() {
            self.continue_route(routing, number, hop);
        }
    }

    /// Switch component `number` lays down the way of `candidate`, that it has chosen.
    pub(super) fn take_way(&mut self, routing: &Routing, number: u32, candidate: Candidate) {
        let here = SwitchId(number % routing.topology().switches());
        self.route = routing.chosen(here, candidate);
    }

    /// Continues the route from the switch on to which `hop` leads from switch component `number`.
    pub(super) fn continue_route(&mut self, routing: &Routing, number: u32, hop: Hop) {
        let here = SwitchId(number % routing.topology().switches());
        if let Some((next, arrival)) = routing.follow(here, hop) {
            self.route = routing.continued(self.route, next, arrival, NodeId(self.to));
        }
    }
}

/// An advert on its way to the sender half of a port, or there and not counting yet.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct CreditUpdate {
    /// The first cycle in which it counts.
    pub(super) from: Cycle,
    pub(super) position: u32,
    #[serde(skip)]
    pub(super) next: Slot,
    pub(super) port: u16,
    pub(super) vc: u8,
}

linked!(CreditUpdate);

/// Flits `first..upto` of a packet, which follow each other without a gap on their way to a port: flit `j` is on the
/// receiver's wire in cycle `base + j`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Run {
    pub(super) base: Cycle,
    #[serde(skip)]
    pub(super) next: Slot,
    pub(super) first: u16,
    pub(super) upto: u16,
    pub(super) port: u16,
}

linked!(Run);

/// What one port tells the port at the other end of its link, when it lives in another shard.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Mail {
    /// A packet is coming.
    Packet(PacketState),
    /// An advert is coming.
    Advert(CreditUpdate),
    /// Adverts are coming on wires of their own, for the sender at this port and VC.
    CreditRun(u16, u8, CreditRun),
    /// Flits are coming of the last packet for a group that was said to come.
    Run(Run),
    /// A barrier packet is coming.
    Signal(Signal),
}

/// A packet that comes, with what has to be known at once: where it is, and for which port and VC.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) slot: Slot,
    pub(super) port: u16,
    pub(super) vc: u8,
}

/// What has come for a component.
#[derive(Clone, Debug, Default)]
pub struct Inbox {
    /// Packets, by time for each port. Not a list: to run through a list is to wait for each item in turn.
    pub(super) packets: Vec<Arrival>,
    pub(super) adverts: List,
    /// Runs of packets that come with gaps, by time for each port.
    pub(super) runs: List,
    /// Barrier packets, by time for each port.
    pub(super) signals: List,
}

/// The slots of a shard.
#[derive(Debug)]
pub(super) struct Pools {
    pub(super) states: Pool<PacketState>,
    pub(super) limits: Pool<CreditUpdate>,
    pub(super) runs: Pool<Run>,
    pub(super) signals: Pool<Signal>,
    pub(super) schedules: CreditSchedules,
}

impl Pools {
    pub(super) fn new(timing: &Timing) -> Self {
        Pools {
            states: Pool::default(),
            limits: Pool::default(),
            runs: Pool::default(),
            signals: Pool::default(),
            schedules: CreditSchedules::new(timing),
        }
    }

    /// Puts mail from another shard into `inbox`, that of the component at `place`. Nobody looks at a cycle before `passed` any
    /// more.
    pub(super) fn accept(&mut self, place: u32, inbox: &mut Inbox, mail: Mail, passed: Cycle) {
        match mail {
            Mail::Packet(state) => {
                let (port, vc) = (state.port, state.vc);
                inbox.packets.push(Arrival { slot: self.states.put(state), port, vc });
            }
            Mail::Advert(limit) => self.accept_advert(inbox, limit),
            Mail::CreditRun(port, vc, credit_run) => {
                let schedule = self.schedules.find(place, port, vc);
                if self.schedules.post(schedule, credit_run, passed) {
                    self.accept_advert(inbox, credit_run.first_advert(port, vc));
                }
            }
            Mail::Run(run) => self.accept_run(inbox, run),
            Mail::Signal(signal) => self.accept_signal(inbox, signal),
        }
    }

    fn accept_run(&mut self, inbox: &mut Inbox, run: Run) {
        let slot = self.runs.put(run);
        self.runs.append(&mut inbox.runs, slot);
    }

    fn accept_signal(&mut self, inbox: &mut Inbox, signal: Signal) {
        let slot = self.signals.put(signal);
        self.signals.append(&mut inbox.signals, slot);
    }

    /// Puts an advert into `inbox`.
    #[inline(always)]
    fn accept_advert(&mut self, inbox: &mut Inbox, limit: CreditUpdate) {
        let slot = self.limits.put(limit);
        self.limits.append(&mut inbox.adverts, slot);
    }

    /// Sends the packet in `slot`, which is in no list, over `wire`; it is felt in cycle `by`, no earlier.
    #[inline(always)]
    pub(super) fn send(&mut self, post: &mut PostOf<super::Hpp>, wire: &Wire, slot: Slot, by: Cycle) {
        match post.inbox(wire.peer, by) {
            Some(inbox) => {
                inbox.packets.push(Arrival { slot, port: wire.port, vc: self.states[slot].vc });
            }
            None => post.send_away(wire.peer, by, Mail::Packet(self.states.take(slot))),
        }
    }

    /// Tells the other end of `wire` a run, which is of a packet of `flits`.
    pub(super) fn tell_run(
        &mut self,
        timing: &Timing,
        post: &mut PostOf<super::Hpp>,
        wire: &Wire,
        run: Run,
        flits: u16,
    ) {
        let felt = if run.first == 0 { timing.felt_of_copy(flits.into()) } else { 1 };
        let by = run.base + u64::from(run.first) + felt;
        match post.inbox(wire.peer, by) {
            Some(inbox) => self.accept_run(inbox, run),
            None => post.send_away(wire.peer, by, Mail::Run(run)),
        }
    }

    /// Sends a barrier packet over `wire`, which does not know whether it leads to a switch or to a node.
    pub(super) fn signal(&mut self, post: &mut PostOf<super::Hpp>, wire: &Wire, signal: Signal) {
        let by = signal.at + FLITS;
        let signal = Signal { port: wire.port, ..signal };
        match post.inbox(wire.peer, by) {
            Some(inbox) => self.accept_signal(inbox, signal),
            None => post.send_away(wire.peer, by, Mail::Signal(signal)),
        }
    }

    /// Tells `peer` a limit. That wakes it only if it waits for one.
    #[inline(always)]
    pub(super) fn tell(&mut self, post: &mut PostOf<super::Hpp>, peer: Address, limit: CreditUpdate) {
        match post.inbox(peer, Cycle::NEVER) {
            Some(inbox) => self.accept_advert(inbox, limit),
            None => post.send_away(peer, Cycle::NEVER, Mail::Advert(limit)),
        }
    }

    /// Posts `credit_run` for `vc` at the other end of `wire`. That wakes it only if it waits for one.
    #[inline(always)]
    pub(super) fn post(&mut self, post: &mut PostOf<super::Hpp>, wire: &Wire, vc: u8, credit_run: CreditRun) {
        if post.is_here(wire.peer) {
            let schedule = self.schedules.find(wire.peer.place, wire.port, vc);
            if self.schedules.post(schedule, credit_run, post.start()) {
                self.tell_first(post, wire, vc, credit_run);
            }
        } else {
            post.send_away(wire.peer, Cycle::NEVER, Mail::CreditRun(wire.port, vc, credit_run));
        }
    }

    /// Tells the other end of `wire`, where a sender waits for it, the first advert of `credit_run`.
    #[inline(never)]
    fn tell_first(&mut self, post: &mut PostOf<super::Hpp>, wire: &Wire, vc: u8, credit_run: CreditRun) {
        self.tell(post, wire.peer, credit_run.first_advert(wire.port, vc));
    }

    /// Enters the packets of `list`, which hold credits, into the books.
    pub(super) fn audit(&self, list: &List, books: &mut Conservation) {
        self.states.iter(list).for_each(|state| state.audit(books));
    }
}
