//! Settings of the tiled switch, in cycles and flits. Physical units are the machine crate's business.

use flitway_fabric::arbiter::ArbiterKind;
use flitway_fabric::link::lanes::{LaneSettings, Lanes};
use flitway_fabric::link::retry::{self, Numbers};
use flitway_fabric::packet::PacketFormat;
use flitway_fabric::{LaneChoice, ReplyLanes};
use flitway_wiring::routing::Selection;
use flitway_wiring::topology;

/// The most ports of a chip.
pub const PORTS_MAX: u32 = topology::PORTS_MAX;

/// The most virtual channels of a link.
pub const VCS_MAX: usize = 8;

/// One tiled switch and the link layer of the NIC ports that talk to it.
///
/// Source: th-express-2.txt sections 2.1 and 4.3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TiledSettings {
    /// Rows of tiles; at least 1.
    pub rows: u32,
    /// Columns of tiles; at least 1. With the rows they make 2 to [`PORTS_MAX`] ports.
    pub columns: u32,
    /// Virtual channels of a link, 1 to 8.
    pub vcs: u32,
    /// The three buffers that a packet crosses.
    pub buffers: TiledBuffers,
    /// The policy of all arbiters.
    pub arbiter: Arbitration,
    /// How packets choose among the outputs that the routing names.
    pub selection: Selection,
    /// Cycles from one telling of loads to other switches to the next, where the routing asks for them; at least 1.
    pub load_interval: u32,
    /// Which lane of an output they take.
    pub lane: LaneOut,
    /// The lane that a packet takes at its source.
    pub lanes: LaneChoice,
    /// Which of them replies have.
    pub reply_lanes: ReplyLanes,
    /// Depth of each part of the pipeline.
    pub pipeline: TiledPipeline,
    /// How links are kept reliable.
    pub retry: Option<RetrySettings>,
    /// When links tell what they have received.
    pub ack: AckSettings,
    /// How links are trained.
    pub training: TrainingSettings,
    /// The packet format.
    pub format: PacketFormat,
}

impl TiledSettings {
    /// The lanes of its links.
    ///
    /// # Panics
    /// If they are as they cannot be.
    #[must_use]
    pub fn lanes(&self) -> Lanes {
        self.training.lanes.clone().check().expect("the lanes of a chip are as they can be")
    }

    /// How links number packets and count flits.
    ///
    /// # Panics
    /// If sequence numbers are too narrow for the window.
    pub(super) fn numbers(&self) -> Numbers {
        let window = self.retry.map_or(1, |retry| retry.window);
        let sequence_bits = self.retry.map_or(1, |retry| retry.sequence_bits);
        let flits_max = self.buffers.input.flits;
        let settings = retry::RetrySettings { window, sequence_bits, count_bits: 16, flits_max };
        settings.numbers().expect("sequence numbers go with the window, and counts with the buffer")
    }

    /// Ports of a chip.
    #[must_use]
    pub const fn ports(&self) -> u32 {
        self.rows * self.columns
    }
}

/// Whom the arbiters of a chip choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arbitration {
    /// By who has been granted before.
    ByGrants(ArbiterKind),
    /// The packet that has been in the network for the longest time.
    ///
    /// Source: D. Abts and D. Weisser, Age-Based Packet Arbitration in Large-Radix k-ary n-cubes, SC 2007.
    ByAge,
}

impl Arbitration {
    /// All of them.
    pub const ALL: [Arbitration; ArbiterKind::ALL.len() + 1] = {
        let mut all = [Arbitration::ByAge; ArbiterKind::ALL.len() + 1];
        let mut place = 0;
        while place < ArbiterKind::ALL.len() {
            all[place] = Arbitration::ByGrants(ArbiterKind::ALL[place]);
            place += 1;
        }
        all
    };

    /// What it is called in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Arbitration::ByGrants(kind) => kind.name(),
            Arbitration::ByAge => "age",
        }
    }

    /// What it is, in a few sentences.
    #[must_use]
    pub const fn doc(self) -> &'static str {
        match self {
            Arbitration::ByGrants(kind) => kind.doc(),
            Arbitration::ByAge => {
                "The packet that entered the network first, by when its first flit was on the wire of its NIC port; round \
                 robin among those of one cycle. So a packet that has come far does not wait for one that has just set out."
            }
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// The arbiters that choose among what is left: of the oldest packets.
    pub(super) const fn kind(self) -> ArbiterKind {
        match self {
            Arbitration::ByGrants(kind) => kind,
            Arbitration::ByAge => ArbiterKind::RoundRobin,
        }
    }

    /// Whether older packets go first.
    #[inline]
    pub(super) const fn is_by_age(self) -> bool {
        matches!(self, Arbitration::ByAge)
    }
}

/// The buffers of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TiledBuffers {
    /// That of an input.
    pub input: BufferSettings,
    /// That of an input in each column.
    pub row: BufferSettings,
    /// That of an output for each row.
    pub column: BufferSettings,
}

/// A buffer that virtual channels share: a dynamically allocated multi-queue (DAMQ), or, without a shared part, a statically
/// allocated one (SAMQ).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferSettings {
    /// Flits that it holds, up to 65,535.
    pub flits: u32,
    /// Flits of them that are kept for each virtual channel: at least the longest packet, and for all of them no more than
    /// there are.
    pub private: u32,
}

impl BufferSettings {
    /// Flits that all of `vcs` virtual channels share.
    #[must_use]
    pub const fn shared(self, vcs: u32) -> u32 {
        self.flits - vcs * self.private
    }
}

/// Which lane of the class that the routing names a packet leaves by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneOut {
    /// The one by which it came.
    Kept,
    /// The one with the least load.
    LeastLoaded,
}

/// Pipeline stages from the input pin to the output pin; their sum is the zero-load latency of a packet of one flit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TiledPipeline {
    /// SerDes and physical coding of the receiving side; at least 1.
    pub receive: u32,
    /// Checking, routing and writing into the input buffer.
    pub input: u32,
    /// The row bus, with the row buffer; at least 1.
    pub row: u32,
    /// The subswitch; at least 1.
    pub subswitch: u32,
    /// The channel of a column, with the column buffer.
    pub column: u32,
    /// The output multiplexer.
    pub output: u32,
    /// The sending side of the link layer.
    pub link: u32,
    /// Physical coding and SerDes of the sending side; at least 1.
    pub transmit: u32,
}

impl TiledPipeline {
    /// Cycles from the input pin to the output pin of a packet of one flit when nothing is in the way.
    #[must_use]
    pub const fn depth(&self) -> u32 {
        self.receive + self.input + self.row + self.across() + self.output_to_wire()
    }

    /// Cycles from the row buffer to the column buffer.
    pub(super) const fn across(&self) -> u32 {
        self.subswitch + self.column
    }

    /// Cycles from the grant of an output to the wire.
    pub(super) const fn output_to_wire(&self) -> u32 {
        self.output + self.link + self.transmit
    }

    /// Cycles from the decision of a NIC port to the wire.
    pub(super) const fn nic_to_wire(&self) -> u32 {
        self.link + self.transmit
    }
}

/// How a link makes up for packets that are lost on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetrySettings {
    /// Packets that a sender keeps until they are acknowledged; at least 1.
    pub window: u32,
    /// Bits of a sequence number, 1 to 16: the window is less than the numbers that they tell apart.
    pub sequence_bits: u32,
    /// Cycles without an acknowledgement after which all that is kept is sent again; at least 1.
    pub timeout: u32,
    /// Cycles in which nothing is begun after which the last acknowledgement is said again; at least 1.
    pub heartbeat: u32,
}

/// How a link that breaks is trained again, and when it is given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainingSettings {
    /// Cycles that a test of the lanes takes: more than the round trip of any link and than the longest packet at the lowest
    /// rate.
    pub test: u32,
    /// Heartbeats that are missed until a link counts as silent; at least 1.
    pub misses: u32,
    /// Cycles after which an end that has been active gives up.
    pub give_up: u32,
    /// The lanes of a link.
    pub lanes: LaneSettings,
}

/// When a receiver tells the sender what it has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckSettings {
    /// After so many packets; at least 1.
    pub packets: u32,
    /// Or after so many cycles.
    pub delay: u32,
}
