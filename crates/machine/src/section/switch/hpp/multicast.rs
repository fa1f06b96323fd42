//! `[switch.multicast]`: how the switch copies packets for groups. Sources: hpp-switch.txt section 2.3, dawning5000.txt
//! section 5.1.

use flitway_engine::Clock;
use flitway_switch::hpp::{Gathering, MulticastSettings};

use super::{HPP, span_cycles};
use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::setting::{Choice, Kind, Presence, Setting};
use crate::units::Dimension;
use crate::values::Values;

pub(super) static GROUPS: Setting = Setting {
    path: "switch.multicast.groups",
    kind: Kind::Count { min: 1, max: 32_768 },
    presence: Presence::Default("16"),
    when: HPP,
    doc: "Multicast groups that the table of a switch holds: as many as there can be in the whole network. Packets for \
          groups travel on the last virtual channel, which others use too.",
    example: "16",
    source: "hpp-switch.txt section 2.2 (P-HP-042)",
};

pub(super) static LOOKUP: Setting = Setting {
    path: "switch.multicast.lookup",
    kind: Kind::Quantity { dimension: Dimension::Cycles, min: 0, max: 1_000 },
    presence: Presence::Default("\"2 cycles\""),
    when: HPP,
    doc: "What a packet for a group spends on the table and the bulletin, beyond the stages of other packets.",
    example: "\"2 cycles\"",
    source: "dawning5000.txt section 7.3 (P-DN-073): 150 ns, against 0.13 us (P-DN-072), at 100 MHz [INF]",
};

const BULLETIN: &str = "bulletin";
const ONE_BY_ONE: &str = "one-by-one";

pub(super) static GATHERING: Setting = Setting {
    path: "switch.multicast.gathering",
    kind: Kind::Choice(&[
        Choice {
            name: BULLETIN,
            doc: "All outputs at once, when all are free and have credits: the resource bulletin (RBB).",
        },
        Choice {
            name: ONE_BY_ONE,
            doc: "Each output as it is granted, kept until the last one comes: what the bulletin replaces. It can \
                  deadlock.",
        },
    ]),
    presence: Presence::Default("\"bulletin\""),
    when: HPP,
    doc: "How a packet for a group gets its outputs.",
    example: "\"bulletin\"",
    source: "hpp-switch.txt section 2.3 (P-HP-047, P-HP-049); dawning5000.txt section 5.1",
};

pub(super) static PATIENCE: Setting = Setting {
    path: "switch.multicast.patience",
    kind: Kind::SpanOrOff,
    presence: Presence::Default("\"off\""),
    when: HPP,
    doc: "After this long, the outputs that the oldest waiting packet for a group needs are kept free for it, against \
          starvation. The papers describe nothing of the kind.",
    example: "\"10 us\"",
    source: "OQ-H5",
};

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
