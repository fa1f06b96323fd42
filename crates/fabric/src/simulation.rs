//! A running fabric: switches and nodes dealt out to shards, run window by window.
//!
//! What happens inside a switch or a NIC port is the business of an [`Architecture`]; here stand only the contract, the
//! wiring and the loop. Components talk through mail: what one posts in window `w` is read by the other at the start of
//! window `w + 1`, wherever it lives, so nothing depends on how components are dealt out.

mod build;
mod node;
mod shard;

pub use build::{Fabric, SwitchSettings};
pub use shard::{Conservation, Counters};

use crate::observer::Observer;
use crate::{Delivery, NodeId, Packet, RailId};
use flitway_engine::Cycle;
use flitway_engine::window::{Outcome, Windows};
use node::Node;
use shard::FabricShard;
use std::sync::atomic::AtomicBool;

/// A switch architecture, with the NIC ports that speak its link protocol.
pub trait Architecture: Sized + 'static {
    /// What a shard keeps for all its components: settings, arenas.
    type Shared: Send;
    /// What crosses a channel.
    type Mail: ChannelMail;
    /// A switch.
    type Switch: SwitchModel<Shared = Self::Shared, Mail = Self::Mail>;
    /// A NIC port.
    type Port: PortModel<Shared = Self::Shared, Mail = Self::Mail>;

    /// The part of a shard that its components share.
    fn shared(fabric: &Fabric) -> Self::Shared;

    /// A switch with one wire per port, where one is connected.
    fn switch(shared: &Self::Shared, number: u32, wires: &[Option<Wire>]) -> Self::Switch;

    /// The NIC port of node component `number` in `rail`.
    fn port(shared: &Self::Shared, number: u32, rail: RailId, wire: Wire) -> Self::Port;

    /// Cycles within which nothing that a component does can be felt by another, for links of `latency` cycles.
    fn lookahead(fabric: &Fabric, latency: u32) -> u64;
}

/// What crosses a channel.
pub trait ChannelMail: Copy + Send {
    /// The port of the receiving component (of a node: the rail) that it is for.
    fn port(&self) -> usize;

    /// What it carries, for the books, while nobody has read it.
    fn audit(&self, books: &mut Conservation);
}

/// How a component goes to rest at the end of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    /// When something is due next, as far as known; `NEVER` for nothing.
    pub next: Cycle,
    /// Whether it waits for mail that is sent without a date.
    pub waits: bool,
}

/// A switch, driven from outside.
pub trait SwitchModel: Send {
    /// What the shard keeps for it.
    type Shared;
    /// What crosses a channel.
    type Mail;

    /// Takes a piece of mail; whatever it causes comes later.
    fn receive(&mut self, shared: &mut Self::Shared, mail: Self::Mail);

    /// Does everything due before `until`.
    fn run<O: Observer>(&mut self, cx: &mut Context<'_, Self::Shared, Self::Mail, O>, until: Cycle) -> Rest;

    /// Does what was put off in the cycles before `now` because nobody looked.
    fn settle<O: Observer>(&mut self, cx: &mut Context<'_, Self::Shared, Self::Mail, O>, now: Cycle);

    /// What it holds at the end of cycle `now - 1`, for the books.
    fn audit(&self, shared: &Self::Shared, now: Cycle, books: &mut Conservation);
}

/// A NIC port, driven by its node.
pub trait PortModel: Send {
    /// What the shard keeps for it.
    type Shared;
    /// What crosses a channel.
    type Mail;

    /// Takes a piece of mail; whatever it causes comes later.
    fn receive(&mut self, shared: &mut Self::Shared, mail: Self::Mail);

    /// Takes a packet of `source` into the source queue, in cycle `now`.
    fn submit(&mut self, shared: &mut Self::Shared, now: Cycle, source: NodeId, packet: &Packet);

    /// A packet that counts as delivered in cycle `now`.
    fn delivery(&mut self, shared: &mut Self::Shared, now: Cycle) -> Option<Delivery>;

    /// Does what is due in cycle `now`, after deliveries and submissions.
    fn advance<O: Observer>(&mut self, cx: &mut Context<'_, Self::Shared, Self::Mail, O>, now: Cycle);

    /// When a delivery or anything else is due next, as far as known; `NEVER` for nothing.
    fn next(&self) -> Cycle;

    /// Ends a window: what the other end of the link must know of the cycles before `until` is said now.
    fn finish<O: Observer>(
        &mut self,
        cx: &mut Context<'_, Self::Shared, Self::Mail, O>,
        until: Cycle,
    ) -> Rest;

    /// Does what was put off in the cycles before `now` because nobody looked.
    fn settle<O: Observer>(&mut self, cx: &mut Context<'_, Self::Shared, Self::Mail, O>, now: Cycle);

    /// What it holds at the end of cycle `now - 1`, for the books.
    fn audit(&self, shared: &Self::Shared, now: Cycle, books: &mut Conservation);
}

/// Where a component lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Its shard.
    pub(crate) shard: u32,
    /// Its place there: switches first, then nodes.
    pub(crate) place: u32,
}

/// What a port sends on: the channel to the port at the other end of its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    /// The component at the other end.
    pub peer: Address,
    /// The port there (of a node: the rail).
    pub port: u16,
    /// Cycles from wire to wire.
    pub latency: u32,
}

/// What a component can reach while it runs.
#[derive(Debug)]
pub struct Context<'a, S, M, O> {
    /// What the shard keeps for all its components.
    pub shared: &'a mut S,
    /// What the component brings about.
    pub effects: Effects<'a, M, O>,
}

/// What a component brings about outside itself.
#[derive(Debug)]
pub struct Effects<'a, M, O> {
    /// For mail.
    pub post: &'a mut Post<M>,
    /// Who watches.
    pub observer: &'a mut O,
    /// Totals of the shard.
    pub counters: &'a mut Counters,
}

/// The letter box of a shard.
#[derive(Debug)]
pub struct Post<M> {
    shard: u32,
    /// Mail of this window, by place in this shard.
    here: Vec<Vec<M>>,
    /// Places in this shard that got mail in this window, and by when they must read it.
    addressed: Vec<(u32, Cycle)>,
    /// Mail for other shards.
    away: Vec<Vec<Letter<M>>>,
}

/// Mail between shards.
#[derive(Clone, Copy, Debug)]
pub struct Letter<M> {
    place: u32,
    by: Cycle,
    mail: M,
}

impl<M> Post<M> {
    /// Sends `mail` to a component, which reads it when it runs next after this window: no later than in cycle `by`,
    /// which is in a later window. Mail without a date (`NEVER`) wakes nobody but a component that waits for it.
    #[inline]
    pub fn send(&mut self, to: Address, by: Cycle, mail: M) {
        if to.shard == self.shard {
            self.here[to.place as usize].push(mail);
            self.addressed.push((to.place, by));
        } else {
            self.away[to.shard as usize].push(Letter { place: to.place, by, mail });
        }
    }
}

/// A fabric with endpoints on its nodes, ready to run.
pub struct Simulation<A: Architecture, E: crate::Endpoint, O: Observer> {
    windows: Windows<FabricShard<A, E, O>>,
    /// Where each node lives.
    nodes: Vec<Address>,
}

impl<A: Architecture, E: crate::Endpoint, O: Observer> std::fmt::Debug for Simulation<A, E, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Simulation")
            .field("now", &self.now())
            .field("nodes", &self.nodes.len())
            .finish_non_exhaustive()
    }
}

impl<A: Architecture, E: crate::Endpoint, O: Observer> Simulation<A, E, O> {
    /// Builds `fabric` with `endpoints[n]` on node `n`. Each of the `threads` shards gets an observer of its own.
    ///
    /// # Panics
    /// If there is not one endpoint per node.
    pub fn new(fabric: &Fabric, endpoints: Vec<E>, threads: u32, observer: impl FnMut() -> O) -> Self {
        build::simulation(fabric, endpoints, threads, observer)
    }

    /// The first cycle not yet simulated.
    #[must_use]
    pub fn now(&self) -> Cycle {
        self.windows.now()
    }

    /// Cycles of a window; a run ends between two of them.
    #[must_use]
    pub fn window_length(&self) -> u64 {
        self.windows.length()
    }

    /// Runs until simulated time is at least `until` (a whole window may pass it), nothing is left to do, or `stop` is
    /// raised.
    pub fn run_until(&mut self, until: Cycle, stop: &AtomicBool) -> Outcome {
        self.windows.run_until(until, stop)
    }

    /// The endpoint of `node`.
    #[must_use]
    pub fn endpoint(&self, node: NodeId) -> &E {
        &self.node(node).endpoint
    }

    fn node(&self, node: NodeId) -> &Node<A::Port, E> {
        let address = self.nodes[node.index()];
        self.windows.shards()[address.shard as usize].node(address.place)
    }

    /// The endpoints, by node.
    pub fn endpoints(&self) -> impl Iterator<Item = &E> {
        (0..self.nodes.len()).map(|node| self.endpoint(NodeId::new(node)))
    }

    /// The observers of all shards.
    pub fn observers_mut(&mut self) -> impl Iterator<Item = &mut O> {
        self.windows.shards_mut().iter_mut().map(FabricShard::observer_mut)
    }

    /// Brings everything up to this moment: what nobody has looked at is put off, adverts above all. Counters and
    /// observers are complete after it; what happens later is not changed by it.
    pub fn settle(&mut self) {
        let now = self.now();
        for shard in self.windows.shards_mut() {
            shard.settle(now);
        }
    }

    /// Totals since the start; see [`Simulation::settle`].
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.windows.shards().iter().map(FabricShard::counters).sum()
    }

    /// The books at this moment: every flit is somewhere, every credit unit is somewhere.
    #[must_use]
    pub fn audit(&self) -> Conservation {
        let now = self.now();
        self.windows.shards().iter().map(|shard| shard.audit(now)).sum()
    }
}
