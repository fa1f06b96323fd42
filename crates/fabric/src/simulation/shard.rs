//! One shard: some switches and some nodes, their mail and their calendar.

use super::build::NodePart;
use super::node::Node;
use super::post::Letter;
use super::{Ahead, Architecture, Context, Fabric, Plan, PortModel, Post, ShardModel, Stage, SwitchModel};
use crate::deadlock::Waiting;
use crate::observer::Observer;
use crate::{Delivery, Endpoint, Outgoing};
use flitway_engine::Cycle;
use flitway_engine::window::{Shard, Window};
use flitway_wiring::{PortId, RailId};
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

impl Counters {
    /// Counts a delivery, and tells the observer of it.
    #[inline(always)]
    pub(crate) fn record<O: Observer>(&mut self, delivery: &Delivery, observer: &mut O) {
        self.events += 1;
        self.packets_delivered += 1;
        self.flits_delivered += u64::from(delivery.flits);
        observer.delivered(delivery);
    }
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
    /// What the totals say.
    pub(crate) fn of(counters: &Counters) -> Self {
        let barrier = &counters.barrier;
        Conservation {
            created: counters.packets_created + counters.packets_copied,
            delivered: counters.packets_delivered + counters.packets_missed,
            barrier_made: barrier.made,
            barrier_gone: barrier.handled + barrier.lost_by_fault + barrier.lost_by_full_queue,
            ..Conservation::default()
        }
    }

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

/// A shard of switches and nodes that run one after the other, each through a whole window.
#[derive(Debug)]
pub struct FabricShard<A: Architecture, E, O> {
    shared: A::Shared,
    switches: Vec<A::Switch>,
    nodes: Vec<Node<A::Port, E>>,
    post: Post<A>,
    observer: O,
    counters: Counters,
    // Kept between windows for their memory.
    due: Vec<u32>,
    inbox: A::Inbox,
    out: Outgoing,
    ahead: Ahead,
}

impl<A: Architecture, E: Endpoint, O: Observer> FabricShard<A, E, O> {
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
        let rest = if let Some(switch) = self.switches.get_mut(place) {
            switch.receive(&mut self.shared, self.post.inbox_at(place), window.start);
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
            std::mem::swap(self.post.inbox_at(place), &mut self.inbox);
            let mut cx = Context {
                shared: &mut self.shared,
                post: &mut self.post,
                horizon: window.horizon,
                observer: &mut self.observer,
                counters: &mut self.counters,
            };
            node.receive(&mut cx, &mut self.inbox);
            node.run(&mut cx, until, &mut self.out)
        };
        self.post.rest(place as u32, rest);
    }
}

impl<A: Architecture, E: Endpoint, O: Observer> ShardModel<E, O> for FabricShard<A, E, O> {
    fn new(fabric: &Fabric, plan: Plan<E, O>) -> Self {
        let mut shared = A::shared(fabric);
        let switches: Vec<A::Switch> =
            plan.switches.iter().map(|part| A::switch(&mut shared, part.number, &part.wires)).collect();
        let node = |part: NodePart<E>| {
            let wires = (0..).map(RailId).zip(part.wires);
            let ports = wires.map(|(rail, wire)| A::port(&mut shared, part.number, rail, wire)).collect();
            Node::new(part.id, ports, part.endpoint)
        };
        let nodes: Vec<_> = plan.nodes.into_iter().map(node).collect();
        let (length, sides) = (plan.window_length, plan.sides);
        let mut post = Post::new(plan.number, plan.shards, &plan.side, length, sides);
        for node in switches.len()..plan.side.len() {
            post.schedule(node as u32, Cycle::ZERO);
        }
        FabricShard {
            shared,
            switches,
            nodes,
            post,
            observer: plan.observer,
            counters: Counters::default(),
            due: Vec::new(),
            inbox: A::Inbox::default(),
            out: Outgoing::new(),
            ahead: Ahead::of(plan.bytes),
        }
    }

    fn endpoint(&self, place: u32) -> &E {
        &self.nodes[place as usize - self.switches.len()].endpoint
    }

    fn endpoints_mut(&mut self) -> Box<dyn Iterator<Item = &mut E> + '_> {
        Box::new(self.nodes.iter_mut().map(|node| &mut node.endpoint))
    }

    fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn settle(&mut self, now: Cycle) {
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

    fn audit(&self, now: Cycle) -> Conservation {
        let mut books = Conservation::of(&self.counters);
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

    fn waiting(&self, switch: u32, now: Cycle) -> Vec<Waiting> {
        self.switches[switch as usize].waiting(&self.shared, now)
    }

    fn position(&self, switch: u32, port: PortId, vc: u8, now: Cycle) -> u32 {
        self.switches[switch as usize].position(&self.shared, port, vc, now)
    }

    fn queued_flits(&self, switch: u32, now: Cycle) -> u64 {
        let place = switch as usize;
        self.switches[place].queued_flits(&self.shared, self.post.inbox_of(place), now)
    }

    fn sent_flits(&self, place: u32, port: PortId) -> Option<u64> {
        let place = place as usize;
        match self.switches.get(place) {
            Some(switch) => switch.sent_flits(port),
            None => self.nodes[place - self.switches.len()].ports[port.index()].sent_flits(),
        }
    }
}

impl<A: Architecture, E: Endpoint, O: Observer> Shard for FabricShard<A, E, O> {
    type Mail = Letter<A::Mail>;

    fn receive(&mut self, letter: Self::Mail) {
        self.post.accept(&mut self.shared, letter);
    }

    fn run(&mut self, window: Window, outbox: &mut [Vec<Self::Mail>]) {
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
