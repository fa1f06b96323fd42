//! What breaks in a run, what management does about it, and what is told of it afterwards.
//!
//! A [`FaultPlan`] is known before the run; the switches find out by themselves. A
//! [`FaultRecord`](crate::fault_record::FaultRecord) of each shard sees links change and packets get lost. The [`operator`]
//! reads the states of links every so often, as a subnet manager does, and writes tables that avoid what is down, which count
//! after its latency.

pub mod explained;
pub mod operator;
pub mod result;

use flitway_engine::Cycle;
use flitway_fabric::{Faults, LinkErrors};

pub use explained::Explained;
pub use operator::{About, Operator};
pub use result::FaultsResult;

/// What breaks in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultPlan {
    /// Channels, lanes, switches.
    pub faults: Faults,
    /// Flits that links corrupt, as far as the machine does not say it. The seed is that of the run.
    pub errors: LinkErrors,
    /// Who looks after the network; nobody if there is none.
    pub manager: Option<ManagerSettings>,
}

/// Management, out of band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManagerSettings {
    /// Cycles between two readings of the states of all links; at least 1.
    pub every: u64,
    /// Cycles from a reading until new tables are in all switches.
    pub latency: u64,
    /// New CRC errors of a channel in a reading that are noted; at least 1.
    pub errors: u64,
}

impl FaultPlan {
    /// When the first thing breaks; never if nothing does.
    #[must_use]
    pub fn first(&self) -> Cycle {
        self.faults.list().first().map_or(Cycle::NEVER, |fault| fault.at)
    }
}
