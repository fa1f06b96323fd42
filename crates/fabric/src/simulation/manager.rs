//! Changes of a running fabric, on their way to the components that they are for.

use super::{Architecture, ShardModel, Simulation};
use crate::observer::Observer;
use crate::{Change, ChangeError, ChangeKind, Endpoint};
use flitway_engine::Cycle;
use flitway_engine::window::Shard;
use flitway_wiring::routing::Routing;
use flitway_wiring::topology::End;
use flitway_wiring::{PortId, RailId};

/// Management of a running fabric, out of band: what it orders counts after its latency.
#[derive(Clone, Debug)]
pub struct Manager {
    latency: u64,
    log: Vec<Change>,
}

impl Manager {
    /// With a latency of so many cycles.
    #[must_use]
    pub fn new(latency: u64) -> Self {
        Manager { latency, log: Vec::new() }
    }

    /// Orders a change now. Returns when it counts: after the latency, or as soon as switches can change if that is later.
    ///
    /// # Errors
    /// If the switches do not offer changes.
    pub fn order<A: Architecture, E: Endpoint, O: Observer>(
        &mut self,
        simulation: &mut Simulation<A, E, O>,
        rail: RailId,
        kind: ChangeKind,
    ) -> Result<Cycle, ChangeError> {
        let at = (simulation.now() + self.latency).max(simulation.earliest_change());
        let change = Change { at, rail, kind };
        simulation.change(&change)?;
        self.log.push(change);
        Ok(at)
    }

    /// What it has ordered, in that order.
    #[must_use]
    pub fn log(&self) -> &[Change] {
        &self.log
    }
}

impl<A: Architecture, E: Endpoint, O: Observer> Simulation<A, E, O> {
    /// The first cycle for which a change can still be made.
    #[must_use]
    pub fn earliest_change(&self) -> Cycle {
        if self.now() == Cycle::ZERO { Cycle::ZERO } else { self.now() + self.change_lead() }
    }

    /// How many cycles ahead a change has to be made while the fabric runs.
    #[must_use]
    pub fn change_lead(&self) -> u64 {
        // Components on one side may be a window ahead of the others.
        2 * self.window_length() + self.decides_ahead
    }

    /// Has all switches and NIC ports route by `routing`, which is on the same topology, from cycle `at` on.
    ///
    /// # Errors
    /// If that comes too early, or the switches do not offer changes.
    pub fn reroute(&mut self, at: Cycle, routing: &Routing) -> Result<(), ChangeError> {
        if at < self.earliest_change() {
            return Err(ChangeError::TooEarly(self.earliest_change()));
        }
        let mut shards = self.windows.shards_mut().iter_mut();
        if shards.all(|shard| shard.reroute(at, routing)) { Ok(()) } else { Err(ChangeError::NotOffered) }
    }

    /// Makes a change at its date.
    ///
    /// # Errors
    /// If it comes too early, or the switches do not offer changes.
    pub fn change(&mut self, change: &Change) -> Result<(), ChangeError> {
        if change.at < self.earliest_change() {
            return Err(ChangeError::TooEarly(self.earliest_change()));
        }
        let ChangeKind::Rate { sender, rate } = change.kind;
        let (address, port) = match sender {
            End::Switch(switch, port) => {
                (self.switches[(change.rail.0 * self.topology.switches() + switch.0) as usize], port)
            }
            End::Node(node) => (self.nodes[node.index()], PortId(change.rail.0)),
        };
        let mail = A::change_of_rate::<E, O>(address.place, port, change.at, rate);
        let mail = mail.ok_or(ChangeError::NotOffered)?;
        self.windows.shards_mut()[address.shard as usize].receive(mail);
        Ok(())
    }
}
