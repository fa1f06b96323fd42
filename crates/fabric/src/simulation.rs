//! A running fabric: switches and nodes dealt out to shards, run window by window.
//!
//! What happens inside a switch or a NIC port is the business of an [`Architecture`]; here stand only the contract, the
//! wiring and the loop. Components talk through mail, and mail says when it counts: not before the window after the one
//! in which it is posted. So it does not matter when in between it is read, nor how components are dealt out.

mod build;
mod counters;
mod gather;
mod manager;
mod sides;

pub use build::Plan;
pub use build::{NodePart, SwitchPart};
pub use counters::{BarrierCounters, Conservation, Counters, LinkCounters, LostCounters};
pub use manager::Manager;

use crate::chip::Chip;
use crate::deadlock::Waiting;
use crate::observer::Observer;
use crate::{Fabric, Rate};
use flitway_engine::Cycle;
use flitway_engine::window::{Outcome, Shard, Windows};
use flitway_wiring::routing::Routing;
use flitway_wiring::topology::Topology;
use flitway_wiring::{NodeId, PortId};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A switch architecture, with the NIC ports that speak its link protocol.
pub trait Architecture: Sized + 'static {
    /// Its settings, which describe it.
    type Chip: Chip + Clone + 'static;
    /// A shard of it: a [`FabricShard`](crate::component::FabricShard) of components, or something that does the same.
    type Shard<E: crate::Endpoint, O: Observer>: ShardModel<E, O>;

    /// The part of `fabric` that is planned.
    fn shard<E: crate::Endpoint, O: Observer>(
        fabric: &Fabric<Self::Chip>,
        plan: Plan<E, O>,
    ) -> Self::Shard<E, O>;

    /// Cycles within which nothing that a component does can be felt by another, for links of `latency` cycles.
    fn lookahead(chip: &Self::Chip, fabric: &Fabric, latency: u32) -> u64;

    /// Cycles that a sender decides ahead, at most: whoever changes a channel says so that long before.
    fn decides_ahead(chip: &Self::Chip) -> u64 {
        let _ = chip;
        0
    }

    /// The mail that tells the component at `place` of a shard that the channel of `port` (of a node: the rail) has another
    /// rate from cycle `at` on; `None` from those whose [`Chip`] offers no changes.
    fn change_of_rate<E: crate::Endpoint, O: Observer>(
        place: u32,
        port: PortId,
        at: Cycle,
        rate: Option<Rate>,
    ) -> Option<<Self::Shard<E, O> as Shard>::Mail> {
        let _ = (place, port, at, rate);
        None
    }

    /// Whether components on two sides of `fabric`, where there are such, take turns.
    fn takes_turns(fabric: &Fabric<Self::Chip>) -> bool {
        let _ = fabric;
        true
    }
}

/// Bytes that the cache of one core holds, and that which cores share. Debug builds, whose fabrics are small, go all ways with
/// them.
pub const CACHES: [u64; 2] = if cfg!(debug_assertions) { [4 << 10, 12 << 10] } else { [512 << 10, 4 << 20] };

/// A shard of a fabric, as a simulation asks it. Components are named by their place in it.
pub trait ShardModel<E, O>: Shard + Sized {
    /// Its nodes with their endpoints, in no particular order.
    fn endpoints(&mut self) -> Box<dyn Iterator<Item = (NodeId, &mut E)> + '_>;

    /// The observer.
    fn observer(&mut self) -> &mut O;

    /// Totals since the start.
    fn counters(&self) -> Counters;

    /// Does what was put off in the cycles before `now` because nobody looked.
    fn settle(&mut self, now: Cycle);

    /// The books at the end of cycle `now - 1`.
    fn audit(&self, now: Cycle) -> Conservation;

    /// See [`SwitchModel::waiting`](crate::component::SwitchModel::waiting); also of a node whose NIC keeps requests.
    fn waiting(&self, place: u32, now: Cycle) -> Vec<Waiting>;

    /// See [`SwitchModel::position`](crate::component::SwitchModel::position); also of such a node, in a rail.
    fn position(&self, place: u32, port: PortId, vc: u8, now: Cycle) -> u32;

    /// See [`SwitchModel::queued_flits`](crate::component::SwitchModel::queued_flits).
    fn queued_flits(&self, switch: u32, now: Cycle) -> u64;

    /// Packets are routed by `routing` from cycle `at` on. Says whether switches can change that.
    fn reroute(&mut self, at: Cycle, routing: &Routing) -> bool {
        let _ = (at, routing);
        false
    }

    /// Flits of the packets that the link of `port` (of a node: the rail) has chosen since the start; `None` from an
    /// architecture that does not count them.
    fn sent_flits(&self, place: u32, port: PortId) -> Option<u64>;
}

/// Where a component lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Its shard.
    pub shard: u32,
    /// Its place there: switches first, then nodes.
    pub place: u32,
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

/// What is wired to a port of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wires {
    /// The channel that it sends on.
    pub out: Option<Wire>,
    /// The rate of that channel.
    pub rate: Rate,
    /// The way back along the channel that it receives from, to its sender; the same as `out` unless links are one-way.
    pub back: Option<Wire>,
}

/// What is wired to a NIC port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeWires {
    /// The channel that it sends on.
    pub out: Wire,
    /// The rate of that channel.
    pub rate: Rate,
    /// The way back along the channel that it receives from, to its sender; the same as `out` unless links are one-way.
    pub back: Wire,
}

/// A fabric with endpoints on its nodes, ready to run.
pub struct Simulation<A: Architecture, E: crate::Endpoint, O: Observer> {
    windows: Windows<A::Shard<E, O>>,
    topology: Arc<Topology>,
    rails: u32,
    /// Where each switch lives: those of rail 0, of rail 1, ...
    switches: Vec<Address>,
    /// Where each node lives.
    nodes: Vec<Address>,
    /// See [`Architecture::decides_ahead`].
    decides_ahead: u64,
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
    pub fn new(
        fabric: &Fabric<A::Chip>,
        endpoints: Vec<E>,
        threads: u32,
        observer: impl FnMut() -> O,
    ) -> Self {
        build::simulation(fabric, endpoints, threads, observer)
    }

    /// The first cycle not yet simulated.
    #[must_use]
    pub fn now(&self) -> Cycle {
        self.windows.now()
    }

    /// Cycles that pass in a window; a run ends between two of them.
    #[must_use]
    pub fn window_length(&self) -> u64 {
        self.windows.length()
    }

    /// Runs until simulated time is at least `until` (a whole window may pass it), nothing is left to do, or `stop` is
    /// raised.
    pub fn run_until(&mut self, until: Cycle, stop: &AtomicBool) -> Outcome {
        self.windows.run_until(until, stop)
    }

    /// Runs until something has happened and simulated time has then come to a multiple of `stride`; see
    /// [`run_until`](Self::run_until). However long nothing happens before, that costs nothing.
    pub fn run_stride(&mut self, stride: u64, stop: &AtomicBool) -> Outcome {
        let from = self.next_work().unwrap_or_else(|| self.now());
        self.run_until(Cycle((from.0 / stride + 1) * stride), stop)
    }

    /// The first cycle in which something may happen; `None` if nothing will, ever.
    #[must_use]
    pub fn next_work(&self) -> Option<Cycle> {
        self.windows.next_work()
    }

    /// Brings everything up to this moment: what nobody has looked at is put off, adverts above all. Counters and
    /// observers are complete after it; what happens later is not changed by it.
    pub fn settle(&mut self) {
        let now = self.now();
        for shard in self.windows.shards_mut() {
            shard.settle(now);
        }
    }
}
