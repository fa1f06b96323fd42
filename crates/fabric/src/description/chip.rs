//! What a switch says of itself before anything runs: its shape, what it can do, and its theory.
//!
//! A [`Chip`] is the settings of one switch with the link layer that it shares with the NIC ports. Everything above the
//! loop asks it here, and matches on no kind of switch.

use crate::headroom::{Headroom, Longest};
use crate::link::lanes::Lanes;
use crate::{BarrierId, Fabric, PacketFormat, Rate};
use flitway_wiring::routing::Selection;
use flitway_wiring::{GroupId, NodeId, NodeSet};
use std::fmt::Debug;

/// What a switch says of itself.
pub trait Chip: Debug + Send + Sync {
    /// Ports of a chip.
    fn ports(&self) -> u32;

    /// Data virtual channels of a link.
    fn vcs(&self) -> u32;

    /// Flits per cycle that its links carry by their coding, where nothing says another rate.
    fn link_rate(&self) -> Rate {
        Rate::FULL
    }

    /// The format of packets for one node.
    fn format(&self) -> PacketFormat;

    /// What it can do.
    fn offers(&self) -> Offers;

    /// How it selects among the candidates of a routing.
    fn selection(&self) -> Selection {
        Selection::First
    }

    /// Memory that a simulation of `fabric` needs for a switch port and for a NIC port without packets, about, in bytes.
    fn bytes_per_port(&self, fabric: &Fabric) -> [u64; 2];

    /// What keeps packets waiting in it.
    fn waits(&self) -> Waits;

    /// How its links are trained; `None` where they are not.
    fn training(&self) -> Option<LinkTraining> {
        None
    }

    /// What it costs, counted in parts; nothing where that is not known.
    fn costs(&self) -> Vec<Cost> {
        Vec::new()
    }

    /// Cycles from the first flit of a packet at the input to its first flit at the output when nothing is in the way.
    fn through_cycles(&self) -> u32;

    /// The settings whose cycles these are, with how many each has, in the order of the way; none where they are no settings.
    fn through_parts(&self) -> Vec<(&'static str, u32)> {
        Vec::new()
    }

    /// Cycles that a packet for one node spends in its NIC port, in `hops` switches and in its own length when nothing is in
    /// the way: everything but the links.
    fn zero_load_cycles(&self, hops: u32, payload_bytes: u32) -> u64;

    /// Packet latency in cycles of each copy of a packet of `source` for `group` by way of `root` when nothing is in the way;
    /// `None` from a switch without groups.
    fn zero_load_copies(
        &self,
        fabric: &Fabric,
        source: NodeId,
        group: GroupId,
        root: u32,
        payload_bytes: u32,
    ) -> Option<Vec<(NodeId, u64)>> {
        let _ = (fabric, source, group, root, payload_bytes);
        None
    }

    /// Packet latency in cycles and hops of each copy of a packet of `source` for `set` when nothing is in the way; `None`
    /// from a switch without sets.
    fn zero_load_worm(
        &self,
        fabric: &Fabric,
        source: NodeId,
        set: &NodeSet,
        payload_bytes: u32,
    ) -> Option<Vec<(NodeId, u64, u32)>> {
        let _ = (fabric, source, set, payload_bytes);
        None
    }

    /// Cycles from when a packet of `source` for `set` can be sent until the next one can be, when nothing is in the way;
    /// `None` from a switch where no packet waits for answers to the one before.
    fn zero_load_answer(
        &self,
        fabric: &Fabric,
        source: NodeId,
        set: &NodeSet,
        payload_bytes: u32,
    ) -> Option<u64> {
        let _ = (fabric, source, set, payload_bytes);
        None
    }

    /// Cycles that a link takes to send a packet.
    fn packet_cycles(&self, payload_bytes: u32) -> u64 {
        let (flits, cycles) = self.link_rate().ratio();
        (u64::from(self.format().packet_flits(payload_bytes)) * u64::from(cycles)).div_ceil(flits.into())
    }

    /// Cycles between the packets that come to a node one after the other, as fast as its link takes them.
    fn packet_interval(&self, fabric: &Fabric, to: NodeId, payload_bytes: u32) -> u64 {
        let _ = (fabric, to);
        self.packet_cycles(payload_bytes)
    }

    /// Cycles from the arrival of `last` at a barrier of `group` to the release of `member`, when all others have arrived
    /// long before and nothing is in the way; `None` from a switch without barriers.
    fn zero_load_barrier_cycles(
        &self,
        fabric: &Fabric,
        group: BarrierId,
        last: NodeId,
        member: NodeId,
    ) -> Option<u64> {
        let _ = (fabric, group, last, member);
        None
    }

    /// Whether packets cross a switch without a gap, so that each slow channel on the way takes its time, and not the slowest
    /// alone.
    fn moves_whole_packets(&self) -> bool {
        false
    }

    /// What the link of the longest round trip needs of its buffer, where these are the longest links, for packets of the MTU.
    fn headroom(&self, longest: Longest) -> Headroom;

    /// Flits of credits that a channel sends for each flit that comes the other way, of packets of `payload` bytes and
    /// `flits` in the mean; 0 where credits have wires of their own.
    fn credit_share(&self, payload: f64, flits: f64) -> f64 {
        let _ = (payload, flits);
        0.0
    }

    /// What part of a full channel a sender takes at most for packets of `flits` flits, where it has to hear that some have
    /// arrived before it sends others; 1 where it has not.
    fn share_of_window(&self, channel: Windowed, flits: u32) -> f64 {
        let _ = (channel, flits);
        1.0
    }

    /// The part of an idle channel that repeated credits take.
    fn repeat_share(&self) -> f64 {
        0.0
    }
}

/// What a window of packets that are not acknowledged depends on, of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windowed {
    /// Cycles from wire to wire.
    pub latency: u32,
    /// Whether a node sends, and not a switch.
    pub from_node: bool,
    /// Whether a node receives.
    pub to_node: bool,
    /// Whether packets come the other way, with which acknowledgements can go.
    pub is_answered: bool,
}

/// Whether copies of a packet can wait for each other for ever, however free of deadlock the routing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// Nothing has to be said of them.
    Free,
    /// They cannot, by this setting, and why.
    FreeBy {
        /// The setting, as it is written.
        setting: &'static str,
        /// Why, in words.
        why: &'static str,
    },
    /// They can, by this setting.
    Deadlock {
        /// The setting, as it is written.
        setting: &'static str,
    },
}

/// What a switch can do beyond carrying packets from node to node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offers {
    /// Whether its links have virtual channels, one or more with a FIFO each.
    pub virtual_channels: bool,
    /// Whether each input is one FIFO per virtual channel, of which the first packet alone can go on: with one of them the
    /// head-of-line limit holds.
    pub input_fifos: bool,
    /// Packets for groups: how many groups its tables hold.
    pub groups: Option<u32>,
    /// Packets for sets of nodes.
    pub sets: Option<SetOffer>,
    /// Answers to packets, carried by the switches, and combined of packets for sets: when what was refused is sent again.
    pub answers: Option<Repeats>,
    /// Barriers.
    pub barriers: Option<BarrierOffer>,
    /// What holds of copies of packets.
    pub copies: Copies,
    /// Links that lead one way only.
    pub one_way_links: bool,
    /// Channels of less than a flit a cycle.
    pub rates: bool,
    /// Channels whose rate changes during a run.
    pub changes: bool,
    /// Links that corrupt flits and make up for it.
    pub errors: bool,
    /// Links, lanes and switches that break during a run.
    pub faults: bool,
    /// NIC ports that are bounded refuse packets while they are full.
    pub refuses: bool,
}

/// Packets for sets of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetOffer {
    /// Their format.
    pub format: PacketFormat,
    /// Whether any nodes can be in a set, or else consecutive ones alone.
    pub any: bool,
}

/// When a packet is sent again that was answered in the negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeats {
    /// So often at once.
    pub at_once: u32,
    /// Later so many cycles after the answer.
    pub back_off: u32,
}

impl Repeats {
    /// Cycles to wait when it has been sent again so often.
    #[must_use]
    pub fn wait(self, times: u32) -> u64 {
        if times < self.at_once { 0 } else { self.back_off.into() }
    }
}

/// How links are trained.
#[derive(Clone, Debug)]
pub struct LinkTraining {
    /// Their lanes.
    pub lanes: Lanes,
    /// Cycles that a test of the lanes takes.
    pub test: u32,
}

impl LinkTraining {
    /// Cycles in which all that was on the way has come, where the longest round trip takes `round_trip` and the longest packet
    /// has `flits`, on the slowest link: a test takes longer.
    #[must_use]
    pub fn least_test(&self, round_trip: u32, flits: u32) -> u64 {
        let (lanes, discarded_max) = (self.lanes.count(), self.lanes.discarded_max());
        let (part, whole) = self.lanes.rates().last().map_or((1, 1), |rate| rate.ratio());
        let longest = u64::from(flits) * u64::from(whole * lanes);
        u64::from(round_trip) + longest.div_ceil(u64::from(part * (lanes - discarded_max)))
    }
}

/// Barriers in switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierOffer {
    /// Groups that its registers hold.
    pub groups: u32,
    /// Whether barrier packets share the virtual channel of packets for groups, so that not both can run.
    pub shares_with_groups: bool,
}

/// What packets wait for in a switch, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// What a packet at an input waits for until it crosses, in words; `None` for an output of the crossbar.
    pub output: Option<&'static str>,
    /// What a packet that has crossed waits for, in words; `None` for the link.
    pub link: Option<&'static str>,
    /// Whether credits are waited for at the link, or else before crossing.
    pub credits_at_link: bool,
}

/// What one organisation of a switch costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Which one.
    pub organisation: String,
    /// Whether it is that of the settings.
    pub is_chosen: bool,
    /// What it is made of, and how much of each; the same parts for all organisations of a switch.
    pub parts: Vec<(CostPart, u64)>,
}

/// What the cost of a switch is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostPart {
    /// Multiplexers one flit wide.
    FlitMuxes,
    /// Crosspoints one flit wide: inputs of all multiplexers.
    Crosspoints,
    /// Inputs of the largest arbiter.
    LargestArbiter,
    /// Inputs of all arbiters.
    ArbiterInputs,
    /// Bits of memory: data, pointers and counters.
    RamBits,
    /// Bits of registers.
    RegisterBits,
    /// Wires between ports.
    Wires,
}

impl CostPart {
    /// What is counted, for people.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            CostPart::FlitMuxes => "multiplexers one flit wide",
            CostPart::Crosspoints => "inputs of all multiplexers, each one flit wide",
            CostPart::LargestArbiter => "inputs of the largest arbiter",
            CostPart::ArbiterInputs => "inputs of all arbiters",
            CostPart::RamBits => "bits of memory for data, pointers and counters",
            CostPart::RegisterBits => "bits of registers",
            CostPart::Wires => "wires between ports",
        }
    }

    /// What it is called: in a result, and above a column.
    #[must_use]
    pub const fn names(self) -> [&'static str; 2] {
        match self {
            CostPart::FlitMuxes => ["flit_muxes", "flit-MUXs"],
            CostPart::Crosspoints => ["crosspoints", "crosspoints"],
            CostPart::LargestArbiter => ["largest_arbiter", "largest arbiter"],
            CostPart::ArbiterInputs => ["arbiter_inputs", "arbiter inputs"],
            CostPart::RamBits => ["ram_bits", "RAM bits"],
            CostPart::RegisterBits => ["register_bits", "register bits"],
            CostPart::Wires => ["wires", "wires"],
        }
    }
}
