//! Settings of the HPP Switch, in cycles and flits. Physical units are the machine crate's business.

use flitway_fabric::arbiter::ArbiterKind;
use flitway_fabric::barrier::DunStart;
use flitway_fabric::packet::PacketFormat;
use flitway_fabric::{LaneChoice, ReplyLanes};
use flitway_wiring::routing::Selection;

/// One HPP Switch and the link layer of the NIC ports that talk to it.
///
/// Sources: hpp-switch.txt section 2.2 and 4; dawning5000.txt sections 3 and 6.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HppSettings {
    /// Ports of a chip, 2 to 64.
    pub ports: u32,
    /// Data virtual channels per port, 1 to 16; each has its own input FIFO and its own crossbar.
    pub vcs: u32,
    /// Capacity of one input FIFO in credit units.
    pub buffer_units: u32,
    /// Payload flits that one credit unit holds (64 B of 2 B flits: 32).
    pub unit_flits: u32,
    /// Policy of the arbiter of each output of each crossbar.
    pub arbiter: ArbiterKind,
    /// How switches choose between the two ways that a packet holds, where the routing names ways
    /// ([`Routing::names_ways`](flitway_wiring::routing::Routing::names_ways)); with any other routing it is `First`.
    pub selection: Selection,
    /// Whether an idle link sends the start flit of the next packet ahead of time, saving a cycle when one comes.
    pub show_ahead: bool,
    /// Depth of each part of the pipeline.
    pub pipeline: Pipeline,
    /// Depth in flits of the FIFO between a crossbar output and the link.
    pub tx_fifo: u32,
    /// The packet format.
    pub format: PacketFormat,
    /// How free buffer space is advertised.
    pub advert: AdvertSettings,
    /// How packets for groups are copied.
    pub multicast: MulticastSettings,
    /// How barriers run.
    pub barrier: BarrierSettings,
    /// Which lane a packet for a node takes.
    pub lanes: LaneChoice,
    /// Which of them replies have.
    pub reply_lanes: ReplyLanes,
}

/// Pipeline stages from the input pin to the output pin; their sum is the zero-load latency in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// Receiving link control layer.
    pub receive: u32,
    /// Input queuing.
    pub queue: u32,
    /// Routing, requesting, arbitrating and granting; at least 1.
    pub route: u32,
    /// Transmitting buffer; at least 1, and at least 2 with show-ahead.
    pub transmit_buffer: u32,
    /// Transmitting link control layer; at least 1.
    pub transmit: u32,
}

impl Pipeline {
    /// Cycles from the input pin to the output pin when nothing is in the way and show-ahead misses.
    #[must_use]
    pub const fn depth(&self) -> u32 {
        self.receive + self.queue + self.route + self.transmit_buffer + self.transmit
    }
}

/// Absolute credits: the receiver advertises, per virtual channel, the position up to which the sender may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvertSettings {
    /// Length of an advert on the reverse channel; 0 stands for wires of their own that cost no bandwidth.
    pub flits: u32,
    /// An advert is repeated when none has been sent for this many cycles; `None` for never.
    pub refresh: Option<u32>,
    /// Width of the position counters. Positions are compared modulo `2^bits`, so it must exceed
    /// `log2(2 x buffer_units)`.
    pub position_bits: u32,
}

/// Multicast (hpp-switch.txt section 2.3, dawning5000.txt section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MulticastSettings {
    /// Groups that the tables of the switches hold.
    pub groups: u32,
    /// The virtual channel of packets for groups, which others may use too.
    pub vc: u32,
    /// Cycles that looking up the outputs of a packet for a group adds to its way to the arbiter.
    pub lookup: u32,
    /// How the outputs of one packet are gathered.
    pub gathering: Gathering,
}

impl MulticastSettings {
    /// As the papers have it, on virtual channel `vc`.
    #[must_use]
    pub const fn published(vc: u32) -> Self {
        MulticastSettings { groups: 16, vc, lookup: 2, gathering: Gathering::Bulletin { patience: None } }
    }
}

/// How a packet gets all its outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gathering {
    /// All at once, by the resource bulletin.
    Bulletin {
        /// Cycles after which a request that still waits keeps others from the outputs it needs; `None` for never (OQ-H5).
        patience: Option<u32>,
    },
    /// One by one, each kept as it is granted: the design that the bulletin replaces. It can deadlock.
    OneByOne,
}

/// Barriers (hpp-switch.txt section 2.4, dawning5000.txt section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierSettings {
    /// Groups that the registers of the switches hold.
    pub groups: u32,
    /// They have a virtual channel of their own, which goes first; otherwise they share the order of data VC 0 in the
    /// switches.
    pub dedicated: bool,
    /// Packets that the queue of an input holds; at least 1.
    pub buffer_packets: u32,
    /// Stages of the engine, beyond those of the pipeline.
    pub engine: u32,
    /// The engine notes combines of one group that wait at several inputs in one cycle; otherwise one event a cycle.
    pub together: bool,
    /// Cycles until a combine that has not been acknowledged is sent again; at least 1.
    pub retransmit: u32,
    /// Cycles until a distribute that has not come is asked for; at least 1.
    pub dun: u32,
    /// From when on.
    pub dun_start: DunStart,
    /// Probability that a link corrupts a packet, in units of 2^-64.
    pub packet_error: u64,
}

impl BarrierSettings {
    /// Flits of a barrier packet (hpp-switch.txt section 3.3).
    pub const PACKET_FLITS: u32 = 5;
    /// Bits of one.
    pub const PACKET_BITS: u32 = 80;

    /// As hpp-switch.txt has it at 312.5 MHz, on perfect links.
    #[must_use]
    pub const fn published() -> Self {
        BarrierSettings {
            groups: 16,
            dedicated: true,
            buffer_packets: 12,
            engine: 4,
            together: false,
            retransmit: 3_125,
            dun: 31_250,
            dun_start: DunStart::AtAck,
            packet_error: 0,
        }
    }
}
