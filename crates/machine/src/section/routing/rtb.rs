//! Routing-table buffers: how long they are, and what the number of a node tells them.

use super::{ALGORITHM, RTB};
use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::section::topology;
use crate::setting::{Kind, Setting, When, settings};
use crate::values::Values;
use flitway_wiring::routing::rtb::{ITEMS_MAX, items_needed, items_of_all};
use flitway_wiring::topology::{ThTree, TopologySettings};

settings! {
    pub(crate) static SETTINGS;

    /// Which of the active ports of an item a packet takes with `rtb` routing, where switches do not select among them.
    pub(super) OBLIVIOUS = "routing.oblivious", one of {
        /// By the port that it has come in by: with n active ports the one at (port + item) mod n. So packets of
        /// different ports go apart, although an item of the system level knows no node.
        BY_INPUT = "by-input",
        /// By the destination, as in d-mod-k: packets for one node meet, wherever they come from. For comparison: a table
        /// would need an item for each node.
        pub(super) BY_DESTINATION = "by-destination",
    }, default("by-input"), for OF_RTB, example("by-destination"), source("th-express-2.txt section 4.3.3 (P-TH-111); OQ-T14");

    /// Items of the cabinet level of each table: one for each node of a cabinet.
    ITEMS_CABINET = "routing.items.cabinet", Kind::Count { min: 1, max: 1_048_576 }, default(128), for OF_RTB,
        source("th-express-2.txt section 4.3.3 (P-TH-110); OQ-T5");

    /// Items of the group level: one for each node of a group.
    ITEMS_GROUP = "routing.items.group", Kind::Count { min: 1, max: 1_048_576 }, default(384), for OF_RTB,
        source("th-express-2.txt section 4.3.3 (P-TH-110); OQ-T5");

    /// Items of the system level: one for each group.
    ITEMS_SYSTEM = "routing.items.system", Kind::Count { min: 1, max: 1_048_576 }, default(48), for OF_RTB,
        source("th-express-2.txt section 4.3.3 (P-TH-110); OQ-T5");

    /// Bits of a node's number of 20 bits that say which node of its frame it is.
    ID_NODE = "routing.id.node", Kind::Count { min: 1, max: 18 }, default(5), for OF_RTB,
        source("th-express-2.txt section 4.3.3 (P-TH-109); OQ-T5");

    /// Bits of it that say which frame of its group. The others say the group: 11, unless these two say otherwise.
    ID_FRAME = "routing.id.frame", Kind::Count { min: 1, max: 18 }, default(4), for OF_RTB,
        source("th-express-2.txt section 4.3.3 (P-TH-109); OQ-T5");
}

/// Settings of routing-table buffers.
const OF_RTB: When = When { selector: &ALGORITHM, holds: |_, name| name == RTB };

/// "Each node in the network is assigned a 20-bit physical identifier."
const ID_BITS: u32 = 20;

/// Checks that tables and numbers are large enough for the tree. Returns whether there is room for all tables.
pub(super) fn check(values: &Values, settings: &TopologySettings, findings: &mut Diagnostics) -> bool {
    let TopologySettings::ThTree(tree) = settings else { return true };
    check_items(values, tree, findings);
    check_id(values, tree, findings);
    let items = items_of_all(tree);
    if items > ITEMS_MAX {
        let message = format!("the tables of all chips have {items} items");
        let problem = values.conflict(Code::TooLarge, &[&topology::KIND, &ALGORITHM], message);
        findings.push(problem.expected(format!("at most {ITEMS_MAX}: fewer chips, or smaller groups")));
    }
    items <= ITEMS_MAX
}

fn check_items(values: &Values, tree: &ThTree, findings: &mut Diagnostics) {
    let levels: [(&'static Setting, &str); 3] =
        [(&ITEMS_CABINET, "node of a cabinet"), (&ITEMS_GROUP, "node of a group"), (&ITEMS_SYSTEM, "group")];
    for ((setting, whom), needed) in levels.into_iter().zip(items_needed(tree)) {
        if let Some(items) = values.count(setting).filter(|&items| items < needed) {
            let message = format!("tables have {items} items, and need one for each {whom}: {needed}");
            let problem =
                values.conflict(Code::RoutingMisfit, &[setting, &ALGORITHM, &topology::KIND], message);
            let help = format!("set `{}` to {needed}", setting.path);
            findings.push(problem.expected(format!("at least {needed}")).help(help));
        }
    }
}

fn check_id(values: &Values, tree: &ThTree, findings: &mut Diagnostics) {
    let (Some(node), Some(frame)) = (values.count(&ID_NODE), values.count(&ID_FRAME)) else { return };
    let Some(group) = ID_BITS.checked_sub(node + frame) else {
        let message =
            format!("{node} bits for the node and {frame} for the frame are more than the number has");
        let problem = values.conflict(Code::RoutingMisfit, &[&ID_NODE, &ID_FRAME], message);
        findings.push(problem.expected(format!("at most {ID_BITS} bits in all, with those of the group")));
        return;
    };
    let fields: [(&'static Setting, u32, u32, &str); 3] = [
        (&ID_NODE, node, tree.nodes_per_frame, "nodes of a frame"),
        (&ID_FRAME, frame, tree.frames_per_group, "frames of a group"),
        (&ID_FRAME, group, tree.groups, "groups"),
    ];
    for (setting, bits, count, what) in fields {
        if count > 1 << bits {
            let message = format!("{count} {what}, but the number of a node has {bits} bits for them");
            let problem =
                values.conflict(Code::RoutingMisfit, &[setting, &ALGORITHM, &topology::KIND], message);
            let most = format!("at most {} {what}", 1 << bits);
            let others = format!(
                "{most}, or other fields of the {ID_BITS} bits: `{}`, `{}`",
                ID_NODE.path, ID_FRAME.path
            );
            findings.push(problem.expected(others));
        }
    }
}
