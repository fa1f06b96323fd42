//! `[nic]`: what a node does around its packets.

use flitway_engine::Picos;

use crate::section::switch::ARCHITECTURE;
use crate::setting::{Choice, Kind, Presence, Setting, When};
use crate::units::Dimension;
use crate::values::Values;

pub(crate) static SETTINGS: &[&Setting] = &[&SEND_OVERHEAD, &RECEIVE_OVERHEAD, &STRIPE_THRESHOLD, &VC];

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

/// What a node does around its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NicSettings {
    /// Time that a rank is busy for each message it sends.
    pub send_overhead: Picos,
    /// Time that a rank is busy for each message it receives.
    pub receive_overhead: Picos,
    /// Up to this size a message travels on one rail.
    pub stripe_threshold_bytes: u64,
}

pub(crate) fn build(values: &Values) -> Option<NicSettings> {
    let (send, receive) = (values.quantity(&SEND_OVERHEAD), values.quantity(&RECEIVE_OVERHEAD));
    Some(NicSettings {
        stripe_threshold_bytes: values.quantity(&STRIPE_THRESHOLD)?,
        send_overhead: Picos(send?),
        receive_overhead: Picos(receive?),
    })
}
