//! What happens in switches.

use crate::barrier::{self, BarrierId, Place};
use crate::name::{ComponentNumber, PacketName};
use flitway_engine::Cycle;
use flitway_wiring::PortId;

/// An arbiter has granted an output of a crossbar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    /// When.
    pub cycle: Cycle,
    /// In which switch.
    pub switch: ComponentNumber,
    /// To which output.
    pub output: PortId,
    /// Of which crossbar: the virtual channel that the packet came in on.
    pub vc: u8,
    /// To which input.
    pub input: PortId,
}

/// The ports that a packet leaves a switch by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outputs {
    /// This one.
    One(PortId),
    /// A bit for each port, of a switch of up to 64.
    Several(u64),
}

impl Outputs {
    /// Whether `port` is one of them.
    #[must_use]
    pub fn contain(self, port: PortId) -> bool {
        match self {
            Outputs::One(output) => output == port,
            Outputs::Several(mask) => mask >> port.0 & 1 == 1,
        }
    }
}

/// A packet has been let across a switch, with what it has waited for until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The packet; its rail is that of the switch.
    pub packet: PacketName,
    /// Which switch.
    pub switch: ComponentNumber,
    /// The port that it came in by.
    pub input: PortId,
    /// The virtual channel that it came in on.
    pub vc: u8,
    /// The ports that it leaves by.
    pub outputs: Outputs,
    /// When its first flit was on the wire of the switch.
    pub arrived: Cycle,
    /// When it could have requested its output, had it been first in its queue.
    pub ready: Cycle,
    /// When it was first in its queue and requested.
    pub requested: Cycle,
    /// Since when its output was free of others, if it has only one; of an output that was free long before it is not kept how
    /// long, see [`turn`](Self::turn).
    pub free: Option<Cycle>,
    /// When it was granted.
    pub granted: Cycle,
}

impl Passage {
    /// When its turn had come: it had requested, and its output was free of others, if it has only one. From then on it lacked
    /// credits.
    #[must_use]
    pub fn turn(&self) -> Option<Cycle> {
        self.free.map(|free| free.max(self.requested).min(self.granted))
    }
}

/// A barrier packet has changed what a switch knows of a group: a combine of a child that had not arrived, the combine-ACK or
/// the distribute that it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierNote {
    /// When it was its turn in the engine.
    pub cycle: Cycle,
    /// In which switch.
    pub switch: ComponentNumber,
    /// At which port it came in.
    pub port: PortId,
    /// Of which group.
    pub group: BarrierId,
    /// What it said.
    pub packet: barrier::Packet,
    /// When its first flit was on the wire of the switch.
    pub arrived: Cycle,
    /// Where the switch stands in the tree of the group.
    pub place: Place,
}

/// A packet for a group has come to a switch whose table names no output for it: it is discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Miss {
    /// When.
    pub cycle: Cycle,
    /// In which switch.
    pub switch: ComponentNumber,
    /// The port that it came in by.
    pub input: PortId,
    /// The virtual channel that it came in on.
    pub vc: u8,
}

/// Is told what switches do.
pub trait SwitchObserver {
    /// Whether it wants to know what is granted and advertised. One that does not may not be told of that, which saves time.
    const WATCHES_SWITCHES: bool = true;

    /// An arbiter has granted.
    fn granted(&mut self, grant: &Grant) {
        let _ = grant;
    }

    /// Whether it wants to know what crosses switches. Asked before each time, so that nothing is described in vain; one that
    /// does not want to know may be told all the same.
    fn follows_passages(&self) -> bool {
        true
    }

    /// A packet has been let across a switch.
    fn passed(&mut self, passage: &Passage) {
        let _ = passage;
    }

    /// A table has no output for a packet.
    fn missed(&mut self, miss: &Miss) {
        let _ = miss;
    }

    /// In `component`, the root of `group`, all members have arrived.
    fn completed(&mut self, now: Cycle, component: ComponentNumber, group: BarrierId) {
        let _ = (now, component, group);
    }

    /// A barrier packet has changed what a switch knows.
    fn barrier_noted(&mut self, note: &BarrierNote) {
        let _ = note;
    }
}
