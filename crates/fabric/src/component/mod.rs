//! A shard of components: switches and nodes that run one after the other, each through a whole window.
//!
//! It is one way to build a shard; an architecture whose ports are arrays in work lists has one of its own. What components
//! say to each other is mail with a date: not before the window after the one in which it is posted.

mod node;
mod post;
mod shard;

pub use post::{Letter, Post};
pub use shard::FabricShard;

use crate::deadlock::Waiting;
use crate::observer::Observer;
use crate::simulation::{Architecture, CACHES, Conservation, Counters, NodeWires, Wires};
use crate::{BarrierId, Delivery, Fabric, Flow, Packet};
use flitway_engine::Cycle;
use flitway_engine::window::Mail;
use flitway_wiring::routing::Routing;
use flitway_wiring::{NodeId, NodeSet, PortId, RailId};
use std::sync::Arc;

/// An architecture made of components.
pub trait Components: Architecture {
    /// What a shard keeps for all its components: settings, arenas.
    type Shared: Send;
    /// What crosses a channel to another shard.
    type Mail: Mail;
    /// What has come for a component and has not been read.
    type Inbox: Default + Send;
    /// A switch.
    type Switch: SwitchModel<Self>;
    /// A NIC port.
    type Port: PortModel<Self>;

    /// The part of a shard that its components share.
    fn shared(fabric: &Fabric<Self::Chip>) -> Self::Shared;

    /// A switch, the next component of its shard, with these wires at each of its ports.
    fn switch(shared: &mut Self::Shared, number: u32, wires: &[Wires]) -> Self::Switch;

    /// The NIC port of node component `number` in `rail`; with rail 0 it is the next component of its shard.
    fn port(shared: &mut Self::Shared, number: u32, rail: RailId, wires: &NodeWires) -> Self::Port;

    /// Puts mail from another shard into `inbox`, that of the component at `place`. No component acts in a cycle before
    /// `passed` any more.
    fn accept(
        shared: &mut Self::Shared,
        place: u32,
        inbox: &mut Self::Inbox,
        mail: Self::Mail,
        passed: Cycle,
    );

    /// Packets are routed by `routing` from cycle `at` on. Says whether components can change that.
    fn reroute(shared: &mut Self::Shared, at: Cycle, routing: &Routing) -> bool {
        let _ = (shared, at, routing);
        false
    }

    /// What is in `inbox`, for the books.
    fn audit(shared: &Self::Shared, inbox: &Self::Inbox, books: &mut Conservation);
}

/// The post office of a shard of these components.
pub type PostOf<A> = Post<<A as Components>::Inbox, <A as Components>::Mail>;

/// How a component goes to rest at the end of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    /// When something is due next, as far as known; `NEVER` for nothing.
    pub next: Cycle,
    /// Whether it waits for mail that is sent without a date.
    pub waits: bool,
}

/// What of a component the memory is asked for before it runs. It gains time, and changes nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ahead {
    /// Nothing, where the cache of one core holds everything.
    Nothing,
    /// All of a switch, needed or not, where the cache that cores share holds everything: to ask takes fewer instructions than
    /// to find out what is needed.
    All,
    /// What is known to be needed of switches and nodes.
    Needed,
}

impl Ahead {
    /// What gains time where there are `bytes` of state.
    fn of(bytes: u64) -> Self {
        let [own, shared] = CACHES;
        if bytes <= own {
            Ahead::Nothing
        } else if bytes <= shared {
            Ahead::All
        } else {
            Ahead::Needed
        }
    }

    fn stages(self) -> &'static [Stage] {
        match self {
            Ahead::Nothing => &[],
            Ahead::All => &[Stage::Itself, Stage::Ports, Stage::Queues],
            Ahead::Needed => &[Stage::Itself, Stage::Mail, Stage::First, Stage::Second, Stage::Third],
        }
    }
}

/// A step in asking the memory for what a component will need. Each may read what the one before asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The component itself.
    Itself,
    /// What has come for it, and when it has something to do.
    Mail,
    /// Of what is known to be needed: what is known from that.
    First,
    /// What is known from the first.
    Second,
    /// What is known from the second.
    Third,
    /// Of all of a switch: what has come, and ports.
    Ports,
    /// The queues of the ports, and what is in what has come.
    Queues,
}

/// A switch, driven from outside.
pub trait SwitchModel<A: Components>: Send {
    /// When it has something to do before anything has come; never, if it has not.
    fn first(&self) -> Cycle {
        Cycle::NEVER
    }

    /// Takes in all that has come, before a run that begins in cycle `start`; whatever it causes comes later, at a date that
    /// it carries.
    fn receive(&mut self, shared: &mut A::Shared, inbox: &mut A::Inbox, start: Cycle);

    /// Asks the memory for what a run until `until` will need at `place`. Called for one stage after the other, each time a
    /// little later.
    fn prefetch(&self, shared: &A::Shared, post: &PostOf<A>, place: usize, until: Cycle, stage: Stage);

    /// Does everything due before `until`.
    fn run<O: Observer>(&mut self, cx: &mut Context<'_, A, O>, until: Cycle) -> Rest;

    /// Does what was put off in the cycles before `now` because nobody looked.
    fn settle<O: Observer>(&mut self, cx: &mut Context<'_, A, O>, now: Cycle);

    /// What it holds at the end of cycle `now - 1`, for the books.
    fn audit(&self, shared: &A::Shared, now: Cycle, books: &mut Conservation);

    /// The packets at the heads of FIFOs that cannot move at the end of cycle `now - 1`, with what they need of others.
    fn waiting(&self, shared: &A::Shared, now: Cycle) -> Vec<Waiting>;

    /// The position that the receiver of `port` and `vc` could advertise at the end of cycle `now - 1`.
    fn position(&self, shared: &A::Shared, port: PortId, vc: u8, now: Cycle) -> u32;

    /// Flits of the packets whose head has come in and which no link has chosen, at the end of cycle `now - 1`; some of them
    /// may not have been taken out of `inbox` yet.
    fn queued_flits(&self, shared: &A::Shared, inbox: &A::Inbox, now: Cycle) -> u64;

    /// Flits of the packets that the link of `port` has chosen since the start; `None` from an architecture that does not
    /// count them.
    fn sent_flits(&self, port: PortId) -> Option<u64> {
        let _ = port;
        None
    }
}

/// A NIC port, driven by its node.
pub trait PortModel<A: Components>: Send + Sized {
    /// When it has something to do before anything has come; never, if it has not.
    fn first(&self) -> Cycle {
        Cycle::NEVER
    }

    /// Takes in all that has come for the `ports` of `node`; whatever it causes comes later, at a date that it carries. Unless
    /// the endpoint `REACTS`, packets that are certain to be delivered before the window's end may be recorded at once.
    /// Returns a mask of the ports for which there was something.
    fn receive<const REACTS: bool, O: Observer>(
        ports: &mut [Self],
        cx: &mut Context<'_, A, O>,
        inbox: &mut A::Inbox,
        node: NodeId,
    ) -> u64;

    /// Asks the memory for what a run of a node with these `ports` will need, of which those in the mask `due` have something
    /// to do without mail; see [`SwitchModel::prefetch`].
    fn prefetch(ports: &[Self], due: u64, shared: &A::Shared, inbox: &A::Inbox, stage: Stage);

    /// Takes a packet of `source` into the source queue, in cycle `now`; `sets` are those that it can be for. Returns its
    /// flits.
    fn submit(
        &mut self,
        shared: &mut A::Shared,
        now: Cycle,
        source: NodeId,
        packet: &Packet,
        sets: &[Arc<NodeSet>],
    ) -> u32;

    /// A packet that counts as delivered to `node`, which is the port's own, in cycle `now`.
    fn delivery(&mut self, shared: &mut A::Shared, now: Cycle, node: NodeId) -> Option<Delivery>;

    /// What else has come up by cycle `now`, one thing after the other.
    fn event<O: Observer>(&mut self, cx: &mut Context<'_, A, O>, now: Cycle) -> Option<PortEvent>;

    /// The NIC drains the packet on `vc` that was delivered last, in cycle `now`.
    fn drain<O: Observer>(&mut self, cx: &mut Context<'_, A, O>, now: Cycle, vc: u8);

    /// The node denies the packet on `vc` that has been delivered in this cycle, `now`: only where switches carry answers.
    fn deny<O: Observer>(&mut self, cx: &mut Context<'_, A, O>, now: Cycle, vc: u8) {
        let _ = (cx, now, vc);
        panic!("these switches carry no answers, so nothing is denied");
    }

    /// The node's process arrives at a barrier of `group` in cycle `now`. Says whether the group is in this port's rail.
    fn arrive<O: Observer>(&mut self, cx: &mut Context<'_, A, O>, now: Cycle, group: BarrierId) -> bool;

    /// Does what is due in cycle `now`, after deliveries, submissions and arrivals.
    fn advance<O: Observer>(&mut self, cx: &mut Context<'_, A, O>, now: Cycle);

    /// When a delivery or anything else is due next, as far as known; `NEVER` for nothing. Before that, and without mail, none
    /// of the calls above is made, nor is the port's rest disturbed before the time that it has given.
    fn next(&self) -> Cycle;

    /// Ends a window: what the other end of the link must know of the cycles before `until` is said now.
    fn finish<O: Observer>(&mut self, cx: &mut Context<'_, A, O>, until: Cycle) -> Rest;

    /// Does what was put off in the cycles before `now` because nobody looked.
    fn settle<O: Observer>(&mut self, cx: &mut Context<'_, A, O>, now: Cycle);

    /// What it holds at the end of cycle `now - 1`, for the books.
    fn audit(&self, shared: &A::Shared, now: Cycle, books: &mut Conservation);

    /// Flits of the packets that its link has chosen since the start; `None` from an architecture that does not count them.
    fn sent_flits(&self) -> Option<u64> {
        None
    }

    /// Of a bounded one of `node`, at the end of cycle `now - 1`: the requests that have been delivered and not drained, as
    /// [`Waiting::for_replies`], and the packets that are the first of a source queue and short of credits.
    fn waiting(&self, shared: &A::Shared, node: NodeId, now: Cycle) -> Vec<Waiting> {
        let _ = (shared, node, now);
        Vec::new()
    }

    /// The same as [`SwitchModel::position`], of a bounded one.
    fn position(&self, shared: &A::Shared, vc: u8, now: Cycle) -> u32 {
        let _ = (shared, vc, now);
        0
    }
}

/// What a NIC port has to say beside deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortEvent {
    /// An operation of this group is complete: the node's process is released.
    Released(BarrierId),
    /// A packet of this flow has left its source queue, and it is bounded.
    Sent(Flow),
    /// A packet of this flow has been answered by all of a set of nodes, and whether none has denied it.
    Answered(Flow, bool),
}

/// What a component can reach while it runs.
pub struct Context<'a, A: Components, O> {
    /// What the shard keeps for all its components.
    pub shared: &'a mut A::Shared,
    /// For mail.
    pub post: &'a mut PostOf<A>,
    /// Nobody looks from outside before this cycle, unless the run is stopped: what is certain of an earlier one may be
    /// entered ahead of time.
    pub horizon: Cycle,
    /// Who watches.
    pub observer: &'a mut O,
    /// Totals of the shard.
    pub counters: &'a mut Counters,
}

impl<A: Components, O> std::fmt::Debug for Context<'_, A, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("counters", &self.counters).finish_non_exhaustive()
    }
}
