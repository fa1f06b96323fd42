//! `[nic]`: the NIC, and what a node does around its packets. `model` selects which of the tables below it are read.
//!
//! Each NIC has one file here with its settings and its checks, and one line in [`MODELS`].

pub(crate) mod bounded;
pub(crate) mod elan4;
pub(crate) mod ideal;
pub(crate) mod nap;
pub(crate) mod th;

use flitway_engine::Picos;
use flitway_fabric::{LaneChoice, ReplyLanes};
use flitway_nic::NicSettings;

use crate::diagnostic::Diagnostics;
use crate::section::host::Bus;
use crate::section::switch::elite::ELITE;
use crate::section::switch::{self, ARCHITECTURE};
use crate::setting::{Choice, Kind, Setting, When, choices_of, settings};
use crate::units::Dimension;
use crate::values::Values;

/// The longest overhead: a second.
const OVERHEAD_MAX: u64 = 1_000_000_000_000;

/// Settings of switches whose ports have several virtual channels.
const OF_VCS: When =
    When { selector: &ARCHITECTURE, holds: |_, name| switch::named(name).is_some_and(|it| it.has_vcs) };

settings! {
    pub(crate) static SETTINGS;

    /// The NIC of every node.
    pub(crate) MODEL = "nic.model", choices_of!(MODELS, row => row.choice), default("ideal"), source("OQ-A4: the ideal one");

    /// o_s: time that a rank is busy for each message it sends. Task graphs use it, and with `--overheads` multicast
    /// and barriers, a node for each packet; point-to-point traffic does not.
    SEND_OVERHEAD = "nic.send_overhead", Kind::Quantity { dimension: Dimension::Time, min: 0, max: OVERHEAD_MAX },
        default("0 ns"), example("0.7 us"), source("OQ-H17");

    /// o_r: time that a rank is busy for each message it receives. Task graphs use it, and with `--overheads` multicast
    /// and barriers, a node for each packet; point-to-point traffic does not.
    RECEIVE_OVERHEAD = "nic.receive_overhead", Kind::Quantity { dimension: Dimension::Time, min: 0, max: OVERHEAD_MAX },
        default("0 ns"), example("0.7 us"), source("OQ-H17");

    /// A message up to this size travels on one rail, the rails taken in turn; the packets of a longer one are spread
    /// over all rails.
    STRIPE_THRESHOLD = "nic.stripe_threshold", Kind::Quantity { dimension: Dimension::Size, min: 0, max: 1 << 40 },
        default("1 KiB"), source("OQ-D2");

    /// Which of the virtual channels that the routing leaves free a packet for a node takes, from end to end. Packets
    /// for groups take `switch.multicast.vc`.
    pub(crate) VC = "nic.vc", one of {
        /// Any, for each packet: packets of a pair may overtake each other.
        BY_PACKET = "by-packet",
        /// One for each pair of nodes: its packets keep their order, in each rail, and its traffic has one virtual
        /// channel only.
        pub(crate) BY_FLOW = "by-flow",
    }, default("by-packet"), for OF_VCS, example("by-flow"),
        source("OQ-H12: hpp-switch.txt section 3.1 draws them; by-flow [assumed]");

    /// Which virtual channels replies have, in traffic that is answered. A NIC that has no room for more replies keeps requests
    /// in its receive buffer, and what comes after them waits; if replies wait behind them packets can wait for each other for
    /// ever.
    pub(crate) REPLY_VCS = "nic.reply_vcs", one of {
        /// Those of all other packets.
        SHARED_VCS = "shared",
        /// The upper half of each class of virtual channels, the smaller one if they are odd; other packets have the lower
        /// half.
        pub(crate) OWN_VCS = "own",
    }, default("shared"), for OF_VCS, example("own"),
        source("Dally and Towles, *Principles and Practices of Interconnection Networks*, 2004, section 14.1.5");

    /// What a NIC port does with a packet for which its buffer, two of the longest packets on each virtual channel, has no
    /// room. Only NICs that are not ideal let it fill: `bounded`, and `elan4` with `--nic`.
    pub(crate) WHEN_FULL = "nic.when_full", one of {
        /// It gives no credits, so that the packet waits in the network with all of its path.
        HOLD = "hold",
        /// It takes every flit and answers with a NACK, so that the path is free and the source sends again:
        /// `switch.answer.repeats` times at once, then each `switch.answer.back_off`, `switch.answer.attempts` times in all.
        pub(crate) REFUSE = "refuse",
    }, default("hold"), for ELITE, example("refuse"),
        source("mechanisms.md 3.3 and 3.5 [INF]: refused and sent again; hold [assumed]");
}

/// A NIC.
pub(crate) struct Model {
    pub(crate) choice: Choice,
    /// The bus that it is on, whose host has settings of its own.
    pub(crate) bus: Option<Bus>,
    pub(crate) settings: &'static [&'static Setting],
    /// How it works, in paragraphs beyond that of its choice.
    pub(crate) page: &'static [&'static str],
    pub(crate) build: fn(&Values, &mut Diagnostics) -> Option<NicSettings>,
}

/// Every NIC.
pub(crate) static MODELS: &[&Model] =
    &[&ideal::MODEL, &bounded::MODEL, &th::MODEL, &elan4::MODEL, &nap::MODEL];

/// The NIC with that name.
pub(crate) fn named(name: &str) -> Option<&'static Model> {
    MODELS.iter().copied().find(|model| model.choice.name == name)
}

/// The NIC of a node, and what the node does around its packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSettings {
    /// The NIC.
    pub model: NicSettings,
    /// Time that a rank is busy for each message it sends.
    pub send_overhead: Picos,
    /// Time that a rank is busy for each message it receives.
    pub receive_overhead: Picos,
    /// Which virtual channels replies have.
    pub reply_lanes: ReplyLanes,
    /// Up to this size a message travels on one rail.
    pub stripe_threshold_bytes: u64,
}

/// On which of the virtual channels that are left free packets travel.
pub(crate) fn lanes(values: &Values) -> Option<LaneChoice> {
    let by_flow = values.choice(&VC)? == BY_FLOW;
    Some(if by_flow { LaneChoice::ByFlow } else { LaneChoice::ByPacket })
}

/// Which of them replies have.
pub(crate) fn reply_lanes(values: &Values) -> Option<ReplyLanes> {
    let has_own = values.choice(&REPLY_VCS)? == OWN_VCS;
    Some(if has_own { ReplyLanes::Own } else { ReplyLanes::Shared })
}

pub(crate) fn build(values: &Values, findings: &mut Diagnostics) -> Option<NodeSettings> {
    let model = values.choice(&MODEL).and_then(named);
    let model = model.and_then(|model| (model.build)(values, findings));
    let (send, receive) = (values.quantity(&SEND_OVERHEAD), values.quantity(&RECEIVE_OVERHEAD));
    Some(NodeSettings {
        model: model?,
        // A switch whose links are one virtual channel has no such setting.
        reply_lanes: reply_lanes(values).unwrap_or(ReplyLanes::Shared),
        stripe_threshold_bytes: values.quantity(&STRIPE_THRESHOLD)?,
        send_overhead: Picos(send?),
        receive_overhead: Picos(receive?),
    })
}
