//! The two halves of a port at its link: one sends packets and hears acknowledgements, the other has news and tells it.

use super::packet_state::{self, Ack, Pools};
use super::room::{Parts, Room};
use super::settings::VCS_MAX;
use super::{Cx, Shared};
use flitway_engine::Cycle;
use flitway_fabric::Pace;
use flitway_fabric::pool::{List, Slot};
use flitway_fabric::simulation::{Address, Wire};

/// The sending half.
#[derive(Debug)]
pub(super) struct Sender {
    /// The port at the other end.
    peer: Address,
    port: u16,
    pub(super) pace: Pace,
    /// The cycle after the last slot of what the link has begun last.
    pub(super) free_at: Cycle,
    /// Cycles from a slot to the wire at the other end.
    depth: u32,
    /// A node is there.
    leads_to_node: bool,
    /// What is in the buffer at the other end, as far as has been heard.
    room: Room,
    /// Flits that have given back their room there, as has been heard, modulo 2^16.
    heard: [u16; VCS_MAX],
    /// Packets sent, and those of them of which has been heard that they are accepted, modulo 2^16.
    sent: u16,
    accepted: u16,
    /// Flits sent since the start.
    flits: u64,
    /// Acknowledgements to be heard, by time.
    acks: List,
}

/// When the flits of a packet are at the other end of its link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    /// When the first one is on the wire there.
    pub(super) arrives: Cycle,
    /// The cycle after the slot of the last one.
    pub(super) ends: Cycle,
}

impl Sender {
    /// That of `wire`, on which what is sent is so many cycles after its slot.
    pub(super) fn new(wire: Wire, pace: Pace, to_wire: u32, leads_to_node: bool) -> Self {
        Sender {
            peer: wire.peer,
            port: wire.port,
            pace,
            free_at: Cycle::ZERO,
            depth: to_wire + wire.latency,
            leads_to_node,
            room: Room::default(),
            heard: [0; VCS_MAX],
            sent: 0,
            accepted: 0,
            flits: 0,
            acks: List::default(),
        }
    }

    /// An acknowledgement comes that is heard in the cycle that it says.
    pub(super) fn expect(&mut self, pools: &mut Pools, ack: Ack) {
        let slot = pools.acks.put(ack);
        pools.acks.append(&mut self.acks, slot);
    }

    /// Hears what is heard in cycle `now` or before. Tells `back` how many flits of which virtual channel give back their
    /// room.
    #[inline]
    pub(super) fn hear(&mut self, shared: &mut Shared, now: Cycle, mut back: impl FnMut(usize, u32)) {
        while let Some(ack) = shared.pools.acks.first(&self.acks)
            && ack.at <= now
        {
            let slot = shared.pools.acks.unlink(&mut self.acks);
            let ack = shared.pools.acks.take(slot);
            self.accepted = ack.accepted;
            for vc in 0..shared.vcs {
                let flits = u32::from(ack.returned[vc].wrapping_sub(self.heard[vc]));
                if flits > 0 {
                    self.room.give_back(shared.parts.input, vc, flits);
                    back(vc, flits);
                }
            }
            self.heard = ack.returned;
        }
    }

    /// When an acknowledgement is heard next; never if none is known to come.
    pub(super) fn hears_at(&self, pools: &Pools) -> Cycle {
        pools.acks.first(&self.acks).map_or(Cycle::NEVER, |ack| ack.at)
    }

    /// Whether a packet of so many flits on `vc` has room at the other end, and the window is open.
    #[inline]
    pub(super) fn takes(&self, shared: &Shared, vc: usize, flits: u32) -> bool {
        self.is_open(shared) && self.room.has(shared.parts.input, vc, flits)
    }

    fn is_open(&self, shared: &Shared) -> bool {
        shared.window.is_none_or(|window| u32::from(self.sent.wrapping_sub(self.accepted)) < window)
    }

    /// Begins the packet in `slot` on `vc` in cycle `now`: it has its room, and its `at` and `port` are those of the other
    /// end.
    #[inline]
    pub(super) fn begin<O>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, slot: Slot, vc: usize) -> Flight {
        let shared = &mut *cx.shared;
        let flits = u32::from(shared.pools.states[slot].flits);
        self.room.take(shared.parts.input, vc, flits);
        self.sent = self.sent.wrapping_add(1);
        self.flits += u64::from(flits);
        let depth = u64::from(self.depth);
        let last = self.pace.slot_after(now, flits - 1);
        let (arrives, whole) = (now + depth, last + depth);
        let at = if self.leads_to_node {
            whole + u64::from(shared.settings.pipeline.receive)
        } else {
            shared.accepted_at(arrives, whole, flits)
        };
        let state = &mut shared.pools.states[slot];
        state.at = at;
        state.ready_after = state.at.since(arrives) as u32;
        (state.port, state.vc) = (self.port, vc as u8);
        self.free_at = last + 1;
        packet_state::post_packet(cx, self.peer, slot);
        Flight { arrives, ends: self.free_at }
    }

    /// Sends the news of `receiver`, if there is any, along with what the link has just begun.
    #[inline]
    pub(super) fn tell_along<O>(&mut self, cx: &mut Cx<'_, O>, receiver: &mut Receiver) {
        if receiver.has_news() {
            self.tell(cx, receiver);
        }
    }

    /// Sends the news of `receiver` alone in cycle `now`, in which the link is free.
    pub(super) fn tell_alone<O>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, receiver: &mut Receiver) {
        self.free_at = now + 1;
        self.tell(cx, receiver);
    }

    /// Its last flit is in the slot before the link is free.
    fn tell<O>(&mut self, cx: &mut Cx<'_, O>, receiver: &mut Receiver) {
        let depth = u64::from(self.depth + cx.shared.settings.pipeline.receive);
        let ack = Ack {
            at: Cycle(self.free_at.0 - 1) + depth,
            accepted: receiver.accepted,
            next: Slot::NONE,
            returned: receiver.returned,
            port: self.port,
        };
        receiver.told();
        packet_state::post_ack(cx.post, self.peer, ack);
    }

    /// Flits sent since the start.
    pub(super) fn flits(&self) -> u64 {
        self.flits
    }

    /// Flits of `vc` that have given back their room at the other end, as has been heard, modulo 2^16.
    pub(super) fn heard(&self, vc: usize) -> u16 {
        self.heard[vc]
    }

    /// Virtual channels of which some flits must give back their room before a packet on `vc` has it.
    pub(super) fn lacks_of(&self, parts: Parts, vc: usize) -> impl Iterator<Item = usize> {
        std::iter::once(vc).chain(self.room.sharers(parts).filter(move |&other| other != vc))
    }
}

/// The receiving half, as far as the sender at the other end is told of it.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    /// Packets accepted since the start, modulo 2^16.
    accepted: u16,
    /// By virtual channel: flits that have given back their room since the start, modulo 2^16.
    returned: [u16; VCS_MAX],
    /// The same for all, modulo 2^32.
    freed: u32,
    /// Packets accepted, and packets that have given back their room, since the last acknowledgement.
    untold: [u16; 2],
    /// When the first of them was.
    oldest: Cycle,
}

impl Receiver {
    /// A packet is accepted in cycle `now`. Returns when an acknowledgement is due, if it was not before.
    pub(super) fn accept(&mut self, shared: &Shared, now: Cycle) -> Option<Cycle> {
        self.accepted = self.accepted.wrapping_add(1);
        // Who keeps no packets need not know.
        let is_due = shared.window.is_some() && self.note(shared, now, 0);
        is_due.then(|| self.due(shared).max(now))
    }

    /// A packet of so many flits has given back its room on `vc` in cycle `at`, or before now and after all other news.
    pub(super) fn give_back(&mut self, shared: &Shared, at: Cycle, vc: usize, flits: u32) {
        self.returned[vc] = self.returned[vc].wrapping_add(flits as u16);
        self.freed = self.freed.wrapping_add(flits);
        self.note(shared, at, 1);
    }

    /// There is news in cycle `at`. Says whether an acknowledgement is due at another time than before.
    fn note(&mut self, shared: &Shared, at: Cycle, kind: usize) -> bool {
        let is_first = !self.has_news();
        self.oldest = if is_first { at } else { self.oldest.min(at) };
        self.untold[kind] = self.untold[kind].saturating_add(1);
        is_first || u32::from(self.untold[kind]) == shared.settings.ack.packets
    }

    /// When an acknowledgement is due of a packet that gives back its room in cycle `at`, if none is sent before.
    pub(super) fn told_by(&self, shared: &Shared, at: Cycle) -> Cycle {
        let ack = &shared.settings.ack;
        if u32::from(self.untold[1]) + 1 >= ack.packets { at } else { at + u64::from(ack.delay) }
    }

    /// Whether there is something to tell.
    #[inline]
    pub(super) fn has_news(&self) -> bool {
        self.untold != [0; 2]
    }

    /// When an acknowledgement that goes alone is due; never without news.
    pub(super) fn due(&self, shared: &Shared) -> Cycle {
        let ack = &shared.settings.ack;
        if !self.has_news() {
            Cycle::NEVER
        } else if self.untold.iter().any(|&untold| u32::from(untold) >= ack.packets) {
            Cycle::ZERO
        } else {
            self.oldest + u64::from(ack.delay)
        }
    }

    fn told(&mut self) {
        self.untold = [0; 2];
    }

    /// Flits of `vc` that have given back their room, modulo 2^16.
    pub(super) fn returned(&self, vc: usize) -> u16 {
        self.returned[vc]
    }

    /// Flits of all virtual channels that have, modulo 2^32.
    pub(super) fn freed(&self) -> u32 {
        self.freed
    }
}
