//! One shard: some switches and some nodes, their mail and their calendar.

use super::node::Node;
use super::post::Letter;
use super::{Ahead, Components, Context, PortModel, Post, PostOf, Stage, SwitchModel};
use crate::deadlock::Waiting;
use crate::observer::Observer;
use crate::simulation::{Conservation, Counters, NodePart, Plan, ShardModel};
use crate::{Endpoint, Fabric, Outgoing};
use flitway_engine::Cycle;
use flitway_engine::window::{Shard, Window};
use flitway_wiring::routing::Routing;
use flitway_wiring::{NodeId, PortId, RailId};

/// A shard of switches and nodes that run one after the other, each through a whole window.
#[derive(Debug)]
pub struct FabricShard<A: Components, E, O> {
    shared: A::Shared,
    switches: Vec<A::Switch>,
    nodes: Vec<Node<A::Port, E>>,
    post: PostOf<A>,
    observer: O,
    counters: Counters,
    // Kept between windows for their memory.
    due: Vec<u32>,
    inbox: A::Inbox,
    out: Outgoing,
    ahead: Ahead,
}

impl<A: Components, E: Endpoint, O: Observer> FabricShard<A, E, O> {
    /// The part of `fabric` that is planned.
    #[must_use]
    pub fn new(fabric: &Fabric<A::Chip>, plan: Plan<E, O>) -> Self {
        let mut shared = A::shared(fabric);
        let switches: Vec<A::Switch> =
            plan.switches.iter().map(|part| A::switch(&mut shared, part.number, &part.wires)).collect();
        let node = |part: NodePart<E>| {
            let wires = (0..).map(RailId).zip(part.wires);
            let ports = wires.map(|(rail, wires)| A::port(&mut shared, part.number, rail, &wires)).collect();
            Node::new::<A>(part.id, ports, part.endpoint)
        };
        let nodes: Vec<_> = plan.nodes.into_iter().map(node).collect();
        let (length, sides) = (plan.window_length, plan.sides);
        let mut post = Post::new(plan.number, plan.shards, &plan.side, length, sides);
        for (place, switch) in (0..).zip(&switches) {
            let first = switch.first();
            if first < Cycle::NEVER {
                post.schedule(place, first);
            }
        }
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

impl<A: Components, E: Endpoint, O: Observer> ShardModel<E, O> for FabricShard<A, E, O> {
    fn endpoints(&mut self) -> Box<dyn Iterator<Item = (NodeId, &mut E)> + '_> {
        Box::new(self.nodes.iter_mut().map(|node| (node.id, &mut node.endpoint)))
    }

    fn observer(&mut self) -> &mut O {
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

    fn waiting(&self, place: u32, now: Cycle) -> Vec<Waiting> {
        let place = place as usize;
        match self.switches.get(place) {
            Some(switch) => switch.waiting(&self.shared, now),
            None => {
                let node = &self.nodes[place - self.switches.len()];
                node.ports.iter().flat_map(|port| port.waiting(&self.shared, node.id, now)).collect()
            }
        }
    }

    fn position(&self, place: u32, port: PortId, vc: u8, now: Cycle) -> u32 {
        let place = place as usize;
        match self.switches.get(place) {
            Some(switch) => switch.position(&self.shared, port, vc, now),
            None => {
                let node = &self.nodes[place - self.switches.len()];
                node.ports[port.index()].position(&self.shared, vc, now)
            }
        }
    }

    fn queued_flits(&self, switch: u32, now: Cycle) -> u64 {
        let place = switch as usize;
        self.switches[place].queued_flits(&self.shared, self.post.inbox_of(place), now)
    }

    fn reroute(&mut self, at: Cycle, routing: &Routing) -> bool {
        A::reroute(&mut self.shared, at, routing)
    }

    fn sent_flits(&self, place: u32, port: PortId) -> Option<u64> {
        let place = place as usize;
        match self.switches.get(place) {
            Some(switch) => switch.sent_flits(port),
            None => self.nodes[place - self.switches.len()].ports[port.index()].sent_flits(),
        }
    }
}

impl<A: Components, E: Endpoint, O: Observer> Shard for FabricShard<A, E, O> {
    type Mail = Letter<A::Mail>;

    fn receive(&mut self, letter: Self::Mail) {
        let shared = &mut self.shared;
        self.post.accept(letter, |place, inbox, mail, passed| A::accept(shared, place, inbox, mail, passed));
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
