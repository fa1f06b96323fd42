//! `[nic]`: what a node does around its packets.

use flitway_engine::Picos;

use crate::section::switch::{self, ARCHITECTURE};
use crate::setting::{Kind, When, settings};
use crate::units::Dimension;
use crate::values::Values;

/// The longest overhead: a second.
const OVERHEAD_MAX: u64 = 1_000_000_000_000;

/// Settings of switches whose ports have several virtual channels.
const OF_VCS: When =
    When { selector: &ARCHITECTURE, holds: |_, name| switch::named(name).is_some_and(|it| it.has_vcs) };

settings! {
    pub(crate) static SETTINGS;

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
}

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
