//! One shard: some switches and some nodes, their mail and their calendar.

use super::node::Node;
use super::post::Letter;
use super::{Ahead, Architecture, Context, PortModel, Post, Stage, SwitchModel};
use crate::deadlock::Waiting;
use crate::observer::Observer;
use crate::{Endpoint, Outgoing, PortId};
use flitway_engine::Cycle;
use flitway_engine::window::{Shard, Window};
use std::iter::Sum;
use std::ops::Add;

/// Totals since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Decisions: packets created, granted, chosen by a link, delivered.
    pub events: u64,
    /// Times that a switch or a node looked whether something is to be done: the engine's work. It may depend on the
    /// number of threads; nothing else does.
    pub wakes: u64,
    /// Packets handed to NIC ports.
    pub packets_created: u64,
    /// Copies that switches have made of packets for groups: one less than the outputs of each.
    pub packets_copied: u64,
    /// Packets for groups that a switch has discarded because its table named no output.
    pub packets_missed: u64,
    /// Packets that have reached their destination, copies included.
    pub packets_delivered: u64,
    /// Their flits.
    pub flits_delivered: u64,
    /// Packets that the link of a switch has chosen.
    pub packet_hops: u64,
    /// Their flits.
    pub flit_hops: u64,
    /// Adverts sent.
    pub adverts: u64,
    /// Of barrier packets.
    pub barrier: BarrierCounters,
}

/// Totals of barrier packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BarrierCounters {
    /// Packets that switches and NIC ports have made.
    pub made: u64,
    /// Packets that links have chosen, those of NIC ports included.
    pub sent: u64,
    /// Packets that switches and NIC ports have acted on.
    pub handled: u64,
    /// Packets that faults have lost: rules and bit errors.
    pub lost_by_fault: u64,
    /// Packets that have found a queue full.
    pub lost_by_full_queue: u64,
    /// Combines that have been sent again.
    pub retransmissions: u64,
    /// Duns.
    pub duns: u64,
}

impl Add for BarrierCounters {
    type Output = BarrierCounters;

    fn add(self, other: BarrierCounters) -> BarrierCounters {
        BarrierCounters {
            made: self.made + other.made,
            sent: self.sent + other.sent,
            handled: self.handled + other.handled,
            lost_by_fault: self.lost_by_fault + other.lost_by_fault,
            lost_by_full_queue: self.lost_by_full_queue + other.lost_by_full_queue,
            retransmissions: self.retransmissions + other.retransmissions,
            duns: self.duns + other.duns,
        }
    }
}

impl Add for Counters {
    type Output = Counters;

    fn add(self, other: Counters) -> Counters {
        Counters {
            events: self.events + other.events,
            wakes: self.wakes + other.wakes,
            packets_created: self.packets_created + other.packets_created,
            packets_copied: self.packets_copied + other.packets_copied,
            packets_missed: self.packets_missed + other.packets_missed,
            packets_delivered: self.packets_delivered + other.packets_delivered,
            flits_delivered: self.flits_delivered + other.flits_delivered,
            packet_hops: self.packet_hops + other.packet_hops,
            flit_hops: self.flit_hops + other.flit_hops,
            adverts: self.adverts + other.adverts,
            barrier: self.barrier + other.barrier,
        }
    }
}

impl Sum for Counters {
    fn sum<I: Iterator<Item = Counters>>(all: I) -> Counters {
        all.fold(Counters::default(), Add::add)
    }
}

/// The books of a fabric. Each component enters what it holds; [`Conservation::holds`] says whether the sums agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conservation {
    /// Packets handed to NIC ports, and copies made of them.
    pub created: u64,
    /// Packets that have reached their destination or have been discarded.
    pub delivered: u64,
    /// Packets in source queues, FIFOs and on links.
    pub in_network: u64,
    /// Credit units that senders have taken since the start.
    pub units_sent: u64,
    /// Credit units that receivers have given back since the start.
    pub units_freed: u64,
    /// Credit units of packets that are on a link or in a receiver's FIFO.
    pub units_held: u64,
    /// Barrier packets that have been made.
    pub barrier_made: u64,
    /// Barrier packets that have been acted on or lost.
    pub barrier_gone: u64,
    /// Barrier packets in queues and on links.
    pub barrier_in_network: u64,
}

impl Conservation {
    /// Whether every packet and every credit unit is accounted for.
    #[must_use]
    pub fn holds(&self) -> bool {
        // Positions are counted modulo 2^32, so their sums are compared so.
        let balance = self.units_sent.wrapping_sub(self.units_freed).wrapping_sub(self.units_held) as u32;
        self.created == self.delivered + self.in_network
            && balance == 0
            && self.barrier_made == self.barrier_gone + self.barrier_in_network
    }
}

impl Sum for Conservation {
    fn sum<I: Iterator<Item = Conservation>>(all: I) -> Conservation {
        all.fold(Conservation::default(), |a, b| Conservation {
            created: a.created + b.created,
            delivered: a.delivered + b.delivered,
            in_network: a.in_network + b.in_network,
            units_sent: a.units_sent + b.units_sent,
            units_freed: a.units_freed + b.units_freed,
            units_held: a.units_held + b.units_held,
            barrier_made: a.barrier_made + b.barrier_made,
            barrier_gone: a.barrier_gone + b.barrier_gone,
            barrier_in_network: a.barrier_in_network + b.barrier_in_network,
        })
    }
}

/// Cycles after which the epoch is moved on, if there is one. Where everything is checked that happens often.
const EPOCH: u64 = if cfg!(debug_assertions) { 9 << 7 } else { 1 << 29 };

/// Cycles from the epoch that can be reached.
const FAR: u64 = 1 << 30;

pub(super) struct FabricShard<A: Architecture, E, O> {
    shared: A::Shared,
    switches: Vec<A::Switch>,
    nodes: Vec<Node<A::Port, E>>,
    post: Post<A>,
    observer: O,
    counters: Counters,
    // Kept between windows for their memory.
    due: Vec<u32>,
    out: Outgoing,
    ahead: Ahead,
}

/// What a shard is made of.
pub(super) struct Parts<A: Architecture, E, O> {
    pub(super) number: u32,
    pub(super) shards: u32,
    /// Cycles that pass in a window.
    pub(super) window_length: u64,
    /// Sides that take turns, 1 or 2.
    pub(super) sides: u64,
    /// On which each switch is, then each node.
    pub(super) side: Vec<u8>,
    /// What the memory is asked for ahead.
    pub(super) ahead: Ahead,
    pub(super) shared: A::Shared,
    pub(super) switches: Vec<A::Switch>,
    pub(super) nodes: Vec<Node<A::Port, E>>,
    pub(super) observer: O,
}

impl<A: Architecture, E: Endpoint, O: Observer> FabricShard<A, E, O> {
    pub(super) fn new(parts: Parts<A, E, O>) -> Self {
        let places = parts.switches.len()..parts.side.len();
        let mut post = Post::new(parts.number, parts.shards, &parts.side, parts.window_length, parts.sides);
        for node in places {
            post.schedule(node as u32, Cycle::ZERO);
        }
        FabricShard {
            shared: parts.shared,
            switches: parts.switches,
            nodes: parts.nodes,
            post,
            observer: parts.observer,
            counters: Counters::default(),
            due: Vec::new(),
            out: Outgoing::new(),
            ahead: parts.ahead,
        }
    }

    pub(super) fn node(&self, place: u32) -> &Node<A::Port, E> {
        &self.nodes[place as usize - self.switches.len()]
    }

    pub(super) fn endpoints_mut(&mut self) -> impl Iterator<Item = &mut E> {
        self.nodes.iter_mut().map(|node| &mut node.endpoint)
    }

    pub(super) fn switch(&self, place: u32) -> &A::Switch {
        &self.switches[place as usize]
    }

    pub(super) fn waiting(&self, switch: u32, now: Cycle) -> Vec<Waiting> {
        self.switches[switch as usize].waiting(&self.shared, now)
    }

    pub(super) fn position(&self, switch: u32, port: PortId, vc: u8, now: Cycle) -> u32 {
        self.switches[switch as usize].position(&self.shared, port, vc, now)
    }

    pub(super) fn queued_flits(&self, switch: u32, now: Cycle) -> u64 {
        let place = switch as usize;
        self.switches[place].queued_flits(&self.shared, self.post.inbox_of(place), now)
    }

    pub(super) fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    pub(super) fn counters(&self) -> Counters {
        self.counters
    }

    /// Does what was put off in the cycles before `now` because nobody looked.
    pub(super) fn settle(&mut self, now: Cycle) {
        loop {
            let at = A::epoch(&self.shared).map_or(now, |epoch| now.min(epoch + FAR));
            self.settle_near(at);
            if self.is_far(at) {
                A::renew_epoch(&mut self.shared, &mut self.switches, at);
            }
            if at == now {
                return;
            }
        }
    }

    /// Whether the epoch is so long before `now` that it has to be moved on.
    fn is_far(&self, now: Cycle) -> bool {
        A::epoch(&self.shared).is_some_and(|epoch| now.since(epoch) > EPOCH)
    }

    /// The same as [`settle`](Self::settle), not [`FAR`] from the epoch.
    fn settle_near(&mut self, now: Cycle) {
        let mut cx = Context {
            shared: &mut self.shared,
            post: &mut self.post,
            horizon: now,
            observer: &mut self.observer,
            counters: &mut self.counters,
        };
        for switch in &mut self.switches {
            switch.settle(&mut cx, now);
        }
        for port in self.nodes.iter_mut().flat_map(|node| &mut node.ports) {
            port.settle(&mut cx, now);
        }
        debug_assert!(
            self.post.is_quiet(),
            "whatever somebody needs to know has been said when the window ended"
        );
    }

    pub(super) fn audit(&self, now: Cycle) -> Conservation {
        let barrier = &self.counters.barrier;
        let mut books = Conservation {
            created: self.counters.packets_created + self.counters.packets_copied,
            delivered: self.counters.packets_delivered + self.counters.packets_missed,
            barrier_made: barrier.made,
            barrier_gone: barrier.handled + barrier.lost_by_fault + barrier.lost_by_full_queue,
            ..Conservation::default()
        };
        for switch in &self.switches {
            switch.audit(&self.shared, now, &mut books);
        }
        for port in self.nodes.iter().flat_map(|node| &node.ports) {
            port.audit(&self.shared, now, &mut books);
        }
        // Mail that nobody has read yet is still on a link.
        for inbox in self.post.inboxes() {
            A::audit(&self.shared, inbox, &mut books);
        }
        books
    }

    /// Asks the memory for what the component at `place` will need.
    #[inline]
    fn prefetch(&self, place: usize, until: Cycle, stage: Stage) {
        if stage == Stage::Itself {
            self.post.prefetch(place);
        }
        if let Some(switch) = self.switches.get(place) {
            switch.prefetch(&self.shared, &self.post, place, until, stage);
            return;
        }
        let node = &self.nodes[place - self.switches.len()];
        node.prefetch::<A>(&self.shared, self.post.inbox_of(place), until, stage);
    }

    #[inline]
    fn run_place(&mut self, place: usize, window: Window) {
        let until = window.end;
        let inbox = self.post.inbox_at(place);
        let rest = if let Some(switch) = self.switches.get_mut(place) {
            switch.receive(&mut self.shared, inbox, window.start);
            let mut cx = Context {
                shared: &mut self.shared,
                post: &mut self.post,
                horizon: window.horizon,
                observer: &mut self.observer,
                counters: &mut self.counters,
            };
            switch.run(&mut cx, until)
        } else {
            let node = &mut self.nodes[place - self.switches.len()];
            node.receive::<A>(&mut self.shared, inbox);
            let mut cx = Context {
                shared: &mut self.shared,
                post: &mut self.post,
                horizon: window.horizon,
                observer: &mut self.observer,
                counters: &mut self.counters,
            };
            node.run(&mut cx, until, &mut self.out)
        };
        self.post.rest(place as u32, rest);
    }
}

impl<A: Architecture, E: Endpoint, O: Observer> Shard for FabricShard<A, E, O> {
    type Mail = Letter<A::Mail>;

    fn receive(&mut self, letter: Self::Mail) {
        self.post.accept(&mut self.shared, letter);
    }

    fn run(&mut self, window: Window, outbox: &mut [Vec<Self::Mail>]) {
        if self.is_far(window.start) {
            self.settle(window.start);
        }
        let mut due = std::mem::take(&mut self.due);
        self.post.open(window, &mut due);
        // A component runs so many steps after the memory is asked for it first, and is asked for more in each of them.
        let stages = self.ahead.stages();
        let asked = match self.ahead {
            Ahead::Nothing => 0,
            // What is next to each other comes without being asked for.
            Ahead::All => due.partition_point(|&place| (place as usize) < self.switches.len()),
            Ahead::Needed => due.len(),
        };
        let (asked, others) = due.split_at(asked);
        for step in 0..asked.len() + stages.len() {
            let due_before = |steps: usize| step.checked_sub(steps).and_then(|index| asked.get(index));
            for (steps, &stage) in stages.iter().enumerate() {
                if let Some(&place) = due_before(steps) {
                    self.prefetch(place as usize, window.end, stage);
                }
            }
            if let Some(&place) = due_before(stages.len()) {
                self.run_place(place as usize, window);
            }
        }
        for &place in others {
            self.run_place(place as usize, window);
        }
        self.due = due;
        self.post.close(outbox);
        // Several shards have their books in common: those are looked at when all of them rest.
        debug_assert!(
            outbox.len() > 1 || self.audit(window.end).holds(),
            "every packet and every credit unit is somewhere: {:?}",
            self.audit(window.end)
        );
    }

    fn next_window(&self) -> Option<u64> {
        self.post.next_window()
    }
}
