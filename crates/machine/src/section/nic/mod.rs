//! `[nic]`: the NIC, and what a node does around its packets. `model` selects which of the tables below it are read.
//!
//! Each NIC has one file here with its settings and its checks, and one line in [`MODELS`].

pub(crate) mod ideal;

use flitway_engine::Picos;
use flitway_nic::NicSettings;

use crate::diagnostic::Diagnostics;
use crate::schema::{Choice, Kind, Presence, Setting, When};
use crate::section::switch::ARCHITECTURE;
use crate::units::Dimension;
use crate::values::Values;

pub(crate) static SETTINGS: &[&Setting] =
    &[&MODEL, &SEND_OVERHEAD, &RECEIVE_OVERHEAD, &STRIPE_THRESHOLD, &VC];

pub(crate) static MODEL: Setting = Setting {
    path: "nic.model",
    kind: Kind::Choice(&[ideal::CHOICE]),
    presence: Presence::Default("\"ideal\""),
    when: None,
    doc: "The NIC of every node.",
    example: "\"ideal\"",
    source: "OQ-A4: the ideal one",
};

/// A NIC.
pub(crate) struct Model {
    pub(crate) name: &'static str,
    pub(crate) settings: &'static [&'static Setting],
    /// How it works, in paragraphs beyond that of its choice.
    pub(crate) page: &'static [&'static str],
    pub(crate) build: fn(&Values, &mut Diagnostics) -> Option<NicSettings>,
}

/// Every NIC.
pub(crate) static MODELS: &[Model] = &[ideal::MODEL];

pub(crate) const BY_FLOW: &str = "by-flow";

/// The longest overhead: a second.
const OVERHEAD_MAX: u64 = 1_000_000_000_000;

static SEND_OVERHEAD: Setting = Setting {
    path: "nic.send_overhead",
    kind: Kind::Quantity { dimension: Dimension::Time, min: 0, max: OVERHEAD_MAX },
    presence: Presence::Default("\"0 ns\""),
    when: None,
    doc: "o_s: time that a rank is busy for each message it sends. Task graphs use it, and with `--overheads` multicast and \
          barriers, a node for each packet; point-to-point traffic does not.",
    example: "\"0.7 us\"",
    source: "OQ-H17",
};

static RECEIVE_OVERHEAD: Setting = Setting {
    path: "nic.receive_overhead",
    kind: Kind::Quantity { dimension: Dimension::Time, min: 0, max: OVERHEAD_MAX },
    presence: Presence::Default("\"0 ns\""),
    when: None,
    doc: "o_r: time that a rank is busy for each message it receives. Task graphs use it, and with `--overheads` multicast \
          and barriers, a node for each packet; point-to-point traffic does not.",
    example: "\"0.7 us\"",
    source: "OQ-H17",
};

static STRIPE_THRESHOLD: Setting = Setting {
    path: "nic.stripe_threshold",
    kind: Kind::Quantity { dimension: Dimension::Size, min: 0, max: 1 << 40 },
    presence: Presence::Default("\"1 KiB\""),
    when: None,
    doc: "A message up to this size travels on one rail, the rails taken in turn; the packets of a longer one are \
          spread over all rails.",
    example: "\"1 KiB\"",
    source: "OQ-D2",
};

pub(crate) static VC: Setting = Setting {
    path: "nic.vc",
    kind: Kind::Choice(&[
        Choice { name: "by-packet", doc: "Any, for each packet: packets of a pair may overtake each other." },
        Choice {
            name: BY_FLOW,
            doc: "One for each pair of nodes: its packets keep their order, in each rail, and its traffic has one virtual \
                  channel only.",
        },
    ]),
    presence: Presence::Default("\"by-packet\""),
    when: Some(When { selector: &ARCHITECTURE, values: &["hpp"] }),
    doc: "Which of the virtual channels that the routing leaves free a packet for a node takes, from end to end. Packets for \
          groups take `switch.multicast.vc`.",
    example: "\"by-flow\"",
    source: "OQ-H12: hpp-switch.txt section 3.1 draws them; by-flow [assumed]",
};

/// The NIC of a node, and what the node does around its packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSettings {
    /// The NIC.
    pub model: NicSettings,
    /// Time that a rank is busy for each message it sends.
    pub send_overhead: Picos,
    /// Time that a rank is busy for each message it receives.
    pub receive_overhead: Picos,
    /// Up to this size a message travels on one rail.
    pub stripe_threshold_bytes: u64,
}

pub(crate) fn build(values: &Values, findings: &mut Diagnostics) -> Option<NodeSettings> {
    let model = values.choice(&MODEL).and_then(|name| MODELS.iter().find(|model| model.name == name));
    let model = model.and_then(|model| (model.build)(values, findings));
    let (send, receive) = (values.quantity(&SEND_OVERHEAD), values.quantity(&RECEIVE_OVERHEAD));
    Some(NodeSettings {
        model: model?,
        stripe_threshold_bytes: values.quantity(&STRIPE_THRESHOLD)?,
        send_overhead: Picos(send?),
        receive_overhead: Picos(receive?),
    })
}
