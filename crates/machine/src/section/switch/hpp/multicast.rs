//! `[switch.multicast]`: how the switch copies packets for groups. Sources: hpp-switch.txt section 2.3, dawning5000.txt
//! section 5.1.

use flitway_engine::Clock;
use flitway_switch::hpp::{Gathering, MulticastSettings};

use super::{HPP, span_cycles};
use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::setting::{Kind, settings};
use crate::units::Dimension;
use crate::values::Values;

settings! {
    pub(super) static SETTINGS;

    /// Multicast groups that the table of a switch holds: as many as there can be in the whole network. Packets for
    /// groups travel on the last virtual channel, which others use too.
    GROUPS = "switch.multicast.groups", Kind::Count { min: 1, max: 32_768 }, default(16), for HPP,
        source("hpp-switch.txt section 2.2 (P-HP-042)");

    /// What a packet for a group spends on the table and the bulletin, beyond the stages of other packets.
    LOOKUP = "switch.multicast.lookup", Kind::Quantity { dimension: Dimension::Cycles, min: 0, max: 1_000 },
        default("2 cycles"), for HPP,
        source("dawning5000.txt section 7.3 (P-DN-073): 150 ns, against 0.13 us (P-DN-072), at 100 MHz [INF]");

    /// How a packet for a group gets its outputs.
    GATHERING = "switch.multicast.gathering", one of {
        /// All outputs at once, when all are free and have credits: the resource bulletin (RBB).
        BULLETIN = "bulletin",
        /// Each output as it is granted, kept until the last one comes: what the bulletin replaces. It can deadlock.
        ONE_BY_ONE = "one-by-one",
    }, default("bulletin"), for HPP,
        source("hpp-switch.txt section 2.3 (P-HP-047, P-HP-049); dawning5000.txt section 5.1");

    /// After this long, the outputs that the oldest waiting packet for a group needs are kept free for it, against
    /// starvation. The papers describe nothing of the kind.
    PATIENCE = "switch.multicast.patience", Kind::SpanOrOff, default("off"), for HPP, example("10 us"), source("OQ-H5");
}

pub(super) fn build(
    values: &Values,
    clock: Option<Clock>,
    vcs: Option<u32>,
    findings: &mut Diagnostics,
) -> Option<MulticastSettings> {
    let patience = match values.span_or_off(&PATIENCE)? {
        None => None,
        Some(span) => Some(span_cycles(values, &PATIENCE, span, clock?, findings)?),
    };
    let gathering = match values.choice(&GATHERING) {
        Some(BULLETIN) => Gathering::Bulletin { patience },
        Some(ONE_BY_ONE) if patience.is_some() => {
            let message = "without the bulletin no outputs are kept free for a packet that waits".to_owned();
            let problem = values.conflict(Code::NoBulletin, &[&PATIENCE, &GATHERING], message);
            findings.push(problem.expected(format!("{} = \"off\", or the bulletin", PATIENCE.key())));
            return None;
        }
        Some(ONE_BY_ONE) => Gathering::OneByOne,
        _ => return None,
    };
    Some(MulticastSettings {
        groups: values.count(&GROUPS)?,
        vc: vcs?.checked_sub(1)?,
        lookup: values.quantity_u32(&LOOKUP)?,
        gathering,
    })
}
