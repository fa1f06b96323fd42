//! Settings of the SP Switch, in cycles and flits. Physical units are the machine crate's business.

use flitway_fabric::packet::PacketFormat;

/// One SP Switch and the link layer of the NIC ports that talk to it.
///
/// Source: multidestination-worms.txt sections 4, 5 and 7.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpSettings {
    /// Ports of a chip, 2 to 64.
    pub ports: u32,
    /// Where packets wait that cannot go on at once.
    pub store: Store,
    /// Flits of a chunk: what is written or read in one cycle; at least 1.
    pub chunk_flits: u32,
    /// Flits that an input FIFO holds; at least 1.
    pub fifo_flits: u32,
    /// Depth of each part of the pipeline.
    pub pipeline: SpPipeline,
    /// Cycles, beside the cable, until a flit that has left an input FIFO can be replaced; at least 1.
    pub credit: u32,
    /// The packet format; `header_flits` are those of a packet for one node.
    pub format: PacketFormat,
    /// How packets choose among the ports up.
    pub ascent: SpAscent,
    /// Packets for sets of nodes.
    pub worms: WormSettings,
}

/// Where packets wait in a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// In a buffer that all inputs write and all outputs read.
    Central(CentralSettings),
    /// In the input FIFOs, which are read in chunks.
    Input(Organisation),
}

impl Store {
    /// Whether it is the input FIFOs.
    #[must_use]
    pub const fn is_input(&self) -> bool {
        matches!(self, Store::Input(_))
    }
}

/// How the memory of an input FIFO is built. The timing is the same; see [`Cost`](flitway_fabric::chip::Cost) for what is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Organisation {
    /// A memory as wide as a chunk, chunk-wide multiplexers, and a chunk register at each output.
    ChunkWide,
    /// A memory as wide as a chunk with ever shorter registers behind it, each of which passes one flit on.
    RegisterStaircase,
    /// As many memories of one flit as a chunk has, which outputs visit in turn.
    SplitRam,
}

impl Organisation {
    /// All of them.
    pub const ALL: [Organisation; 3] =
        [Organisation::ChunkWide, Organisation::RegisterStaircase, Organisation::SplitRam];

    /// What it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Organisation::ChunkWide => "chunk-wide crossbar",
            Organisation::RegisterStaircase => "register staircase",
            Organisation::SplitRam => "split RAM",
        }
    }
}

/// The central buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CentralSettings {
    /// Chunks that it holds.
    pub chunks: u32,
    /// How the order of packets is kept.
    pub next_packet: NextPacket,
}

/// How the order of the packets for each output is kept in a central buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextPacket {
    /// One next-packet field for each chunk, so that a header chunk is written once for each output.
    Shared,
    /// A next-packet memory for each output, so that it is written once.
    Separate,
}

/// Pipeline stages from the input pin to the output pin; their sum is the zero-load latency of the crossbar in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpPipeline {
    /// Receiving.
    pub receive: u32,
    /// Reading the input FIFO, routing, requesting and granting; at least 1.
    pub route: u32,
    /// Transmitting; at least 1.
    pub transmit: u32,
}

impl SpPipeline {
    /// Cycles from the input pin to the output pin through the crossbar.
    #[must_use]
    pub const fn depth(&self) -> u32 {
        self.receive + self.route + self.transmit
    }
}

/// How packets choose among the ports up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpAscent {
    /// An idle port, or else the one with the fewest packets (OQ-S8).
    Adaptive,
    /// The port of the routing; for packets for sets of nodes, one that depends on their source.
    Routed,
}

/// Packets for sets of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WormSettings {
    /// Bits of the bit string, one for each node of the fabric; 0 where there are no such packets.
    pub bits: u32,
    /// How they are replicated.
    pub replication: Replication,
}

/// How a packet is copied to several outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replication {
    /// Each output takes it out of the store at its own pace.
    Asynchronous,
    /// Flit by flit, to all outputs in the same cycle: strict wormhole. It can deadlock.
    LockStep,
}

impl SpSettings {
    /// The format of packets for sets of nodes: the bit string stands in place of the header.
    #[must_use]
    pub const fn worm_format(&self) -> PacketFormat {
        PacketFormat { header_flits: self.bit_string_flits(), ..self.format }
    }

    /// Flits of a packet for a set of nodes.
    #[must_use]
    pub const fn worm_flits(&self, payload_bytes: u32) -> u32 {
        self.worm_format().packet_flits(payload_bytes)
    }

    /// Flits of the bit string.
    #[must_use]
    pub const fn bit_string_flits(&self) -> u32 {
        self.worms.bits.div_ceil(8 * self.format.flit_bytes)
    }

    /// Chunks of the central buffer that the largest packet takes which is replicated to `outputs`.
    #[must_use]
    pub const fn chunks_to_replicate(&self, flits: u32, outputs: u32) -> u32 {
        let copies = match self.store {
            Store::Central(CentralSettings { next_packet: NextPacket::Shared, .. }) => outputs - 1,
            _ => 0,
        };
        flits.div_ceil(self.chunk_flits) + copies
    }

    /// Chunks of the central buffer that packets on their way up leave free: so many that the largest packet can be
    /// replicated to all ports.
    #[must_use]
    pub const fn chunks_spared(&self) -> u32 {
        let replicates = matches!(self.worms.replication, Replication::Asynchronous) && self.worms.bits > 0;
        if replicates {
            self.chunks_to_replicate(self.worm_flits(self.format.mtu_bytes), self.ports)
        } else {
            0
        }
    }

    /// Flits of the longest packet.
    #[must_use]
    pub const fn longest_packet(&self) -> u32 {
        let single = self.format.packet_flits(self.format.mtu_bytes);
        let worm = if self.worms.bits > 0 { self.worm_flits(self.format.mtu_bytes) } else { 0 };
        if single > worm { single } else { worm }
    }

    /// Flits that the receive buffer of a bounded NIC port holds: two of the longest packets, so that one comes in while the
    /// other is drained.
    #[must_use]
    pub const fn nic_buffer_flits(&self) -> u32 {
        2 * self.longest_packet()
    }

    /// Whether flits are replicated out of the store, which must hold the largest packet then.
    #[must_use]
    pub const fn replicates_from_store(&self) -> bool {
        self.worms.bits > 0 && matches!(self.worms.replication, Replication::Asynchronous)
    }
}
