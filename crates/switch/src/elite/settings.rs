//! Settings of the Elite4, in cycles and flits. Physical units are the machine crate's business.

use flitway_fabric::Rate;
use flitway_fabric::chip::Repeats;
use flitway_fabric::packet::PacketFormat;
use flitway_wiring::routing::Selection;

/// The most virtual channels of a link.
pub const VCS_MAX: usize = 8;

/// One Elite4 and the link layer of the NIC ports that talk to it.
///
/// Source: qsnet2.txt, "Elite4 and physical links".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EliteSettings {
    /// Ports of a chip, 2 to 64.
    pub ports: u32,
    /// Virtual channels of a link, 1 to 8.
    pub vcs: u32,
    /// Flits of the buffer of each virtual channel at an input; at least 1.
    pub buffer_flits: u32,
    /// How packets choose among the outputs that the routing names.
    pub selection: Selection,
    /// Which packets are given outputs first; without it who has requested for longest.
    pub priority: Option<PrioritySettings>,
    /// By way of which switches broadcasts go.
    pub roots: Roots,
    /// How a path is held until the answer of the receiver has come back; without it a virtual channel is free when the last
    /// flit has been sent.
    pub answer: Option<AnswerSettings>,
    /// Depth of each part of the pipeline.
    pub pipeline: ElitePipeline,
    /// Cycles from a flit that leaves a buffer to its credit on the wire; at least 1, and no more than
    /// [`credit_max`](Self::credit_max).
    pub credit: u32,
    /// Links code data in 4b5b, so that they carry 4 flits in 5 cycles. The rates of a fabric say so for each channel.
    pub is_coded: bool,
    /// The packet format.
    pub format: PacketFormat,
}

impl EliteSettings {
    /// The most cycles of `credit` with which, on the shortest links, all credits of a packet are back before its answer;
    /// `None` without answers.
    #[must_use]
    pub fn credit_max(&self) -> Option<u32> {
        self.answer.map(|answer| self.pipeline.transmit + 3 + answer.node + answer.switch)
    }

    /// Flits per cycle that links carry by their coding.
    pub(super) fn rate(&self) -> Rate {
        let coded = Rate::new(4, 5).filter(|_| self.is_coded);
        coded.unwrap_or(Rate::FULL)
    }

    /// The virtual channel of broadcasts: the last one of class 0, where each class has `lanes`.
    pub(super) fn broadcast_vc(lanes: usize) -> usize {
        lanes - 1
    }

    /// The virtual channels of a class, of which each has so many.
    pub(super) fn vcs_of(class: u8, lanes: usize) -> std::ops::Range<usize> {
        let first = usize::from(class) * lanes;
        first..first + lanes
    }

    /// Flits of the buffer of a virtual channel of a bounded NIC port: two of the longest packets.
    #[must_use]
    pub const fn nic_buffer_flits(&self) -> u32 {
        2 * self.format.packet_flits(self.format.mtu_bytes)
    }
}

/// Two priorities, of which the high one comes first at the outputs of switches, with ageing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrioritySettings {
    /// Packets with up to so many bytes of payload have the high one.
    pub up_to_bytes: u32,
    /// One that has waited for so many cycles has it, too.
    pub ageing: u32,
}

/// By way of which switches broadcasts go up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roots {
    /// All by way of one tree, so that those of a range have one root, and one after the other has an output of it.
    One,
    /// Each by any link up that is free: two of them can wait for each other for ever.
    Any,
}

/// How answers travel; they have wires of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerSettings {
    /// Cycles from the delivery of a packet to its answer on the wire; at least 1.
    pub node: u32,
    /// Cycles of an answer from wire to wire of a switch; at least 1.
    pub switch: u32,
    /// How often a source sends a packet again as soon as it hears that it was corrupt, ...
    pub repeats: u32,
    /// ... and how many cycles it waits after that each time.
    pub back_off: u32,
    /// How often a packet is sent in vain before its source gives it up, at least 1.
    pub attempts: u32,
    /// After so many cycles a packet that has begun and is not fed is closed, at least 1.
    pub half_packet: u32,
    /// What a bounded NIC port does that has no room.
    pub when_full: WhenFull,
}

/// What a bounded NIC port does with a packet that it has no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// It gives no credits, so that the packet is held in the network.
    Hold,
    /// It gives no credits at all, takes every flit, and answers a packet that it has no room for with a NACK.
    Refuse,
}

impl AnswerSettings {
    /// When a packet is sent again that was refused.
    pub(super) fn repeats(self) -> Repeats {
        Repeats { at_once: self.repeats, back_off: self.back_off }
    }
}

/// Pipeline stages from the input pin to the output pin; their sum is the zero-load latency of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElitePipeline {
    /// Sampling, aligning to the local clock, and the check sum.
    pub receive: u32,
    /// Reading the tag, choosing an output, and the crossbar; with the stage before at least 1.
    pub route: u32,
    /// The sending side; at least 1.
    pub transmit: u32,
}

impl ElitePipeline {
    /// Cycles from the input pin to the output pin when nothing is in the way.
    #[must_use]
    pub const fn depth(&self) -> u32 {
        self.ready() + self.transmit
    }

    /// Cycles from the input pin to the first in which a flit can leave.
    #[must_use]
    pub const fn ready(&self) -> u32 {
        self.receive + self.route
    }
}
