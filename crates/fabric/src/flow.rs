//! What a packet is part of, and what its receiver must know of it. It travels by value, so it can cross hosts.

use std::fmt;

/// What a packet is part of: of what kind it is, which process of its node handed it over, and what that process says to its
/// like on the other node. It is the header that a NIC protocol has: what does not fit into the tag goes ahead in a packet of
/// its own.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow {
    /// Kind and process, as packets carry them.
    bits: u8,
    /// What the process makes of it.
    pub tag: u64,
}

/// The most processes that run side by side on a node.
pub const PROCESSES_MAX: u8 = 8;

/// Of what kind a packet is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlowKind {
    /// Synthetic traffic.
    #[default]
    Traffic,
    /// Part of a message of a task graph, or of a train.
    Message,
    /// A copy of a multicast operation, or a packet that is copied on its way.
    Multicast,
    /// A message of a barrier.
    Barrier,
    /// The answer to a packet that was taken.
    Accepted,
    /// The answer to a packet that was refused.
    Refused,
    /// Synthetic traffic that is answered.
    Request,
    /// The answer to that.
    Reply,
}

impl FlowKind {
    /// All kinds, by their number.
    pub const ALL: [FlowKind; 8] = [
        FlowKind::Traffic,
        FlowKind::Message,
        FlowKind::Multicast,
        FlowKind::Barrier,
        FlowKind::Accepted,
        FlowKind::Refused,
        FlowKind::Request,
        FlowKind::Reply,
    ];
}

impl Flow {
    /// Bits of kind and process together.
    pub const BITS: u32 = 6;
    /// Those of the kind.
    const KIND: u8 = 7;

    /// A packet of that kind, of the first process.
    #[must_use]
    pub const fn new(kind: FlowKind, tag: u64) -> Self {
        Flow { bits: kind as u8, tag }
    }

    /// A packet of synthetic traffic, of the first process.
    #[must_use]
    pub const fn traffic(tag: u64) -> Self {
        Self::new(FlowKind::Traffic, tag)
    }

    /// The same of another of the processes that run side by side on a node.
    ///
    /// # Panics
    /// If `process` is not below [`PROCESSES_MAX`].
    #[must_use]
    pub const fn of_process(self, process: u8) -> Self {
        assert!(process < PROCESSES_MAX, "that many processes run side by side on a node");
        Flow { bits: self.bits & Self::KIND | process << 3, ..self }
    }

    /// Whether it is of that kind.
    #[inline]
    #[must_use]
    pub const fn is(self, kind: FlowKind) -> bool {
        self.bits & Self::KIND == kind as u8
    }

    /// Of what kind it is.
    #[must_use]
    pub fn kind(self) -> FlowKind {
        FlowKind::ALL[usize::from(self.bits & Self::KIND)]
    }

    /// The process that it is from and for.
    #[inline]
    #[must_use]
    pub const fn process(self) -> u8 {
        self.bits >> 3
    }

    /// Kind and process, as a packet carries them.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.bits
    }

    /// The flow of a packet that carries these [`Flow::bits`].
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u8, tag: u64) -> Self {
        Flow { bits, tag }
    }
}

impl fmt::Debug for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Flow { tag, .. } = self;
        write!(f, "{:?} of process {}, tag {tag}", self.kind(), self.process())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_and_process_come_back_from_their_bits() {
        for kind in FlowKind::ALL {
            for process in 0..PROCESSES_MAX {
                let flow = Flow::new(kind, u64::MAX).of_process(process);
                assert_eq!((flow.kind(), flow.process()), (kind, process));
                assert!(FlowKind::ALL.iter().all(|&other| flow.is(other) == (other == kind)), "{flow:?}");
                assert!(flow.bits() >> Flow::BITS == 0, "{flow:?}");
                assert_eq!(Flow::from_bits(flow.bits(), flow.tag), flow);
            }
        }
    }
}
