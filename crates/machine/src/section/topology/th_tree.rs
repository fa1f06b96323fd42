//! The fat tree of Tianhe-2.

use super::dragonfly::GROUPS;
use super::{Links, OF_KIND, Row, Topology, fits};
use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::setting::{Choice, Kind, Setting, settings};
use crate::values::Values;
use flitway_wiring::routing::RoutingKind;
use flitway_wiring::topology::{Misfit, ThTree, TopologySettings};

pub(super) static TH_TREE: Row = Row {
    choice: Choice {
        name: "th-tree",
        doc: "The fat tree of Tianhe-2, built from one chip: NRMs of lower and upper chips, one for each frame of nodes, leaf switches \
              of one chip, which join the frames of a group, and root switches of lower and upper chips, which join the groups.",
    },
    noun: "a th-tree",
    own_routing: RoutingKind::Rtb,
    links: Links::Boards,
    settings: &[
        &CHIP_PORTS,
        &NODES_PER_FRAME,
        &LOWER_CHIPS,
        &UPPER_CHIPS,
        &UP_PORTS_PER_NRM,
        &FRAMES_PER_CABINET,
        &FRAMES_PER_GROUP,
        &LEAF_PORTS,
        &ROOT_LOWER_CHIPS,
        &ROOT_UPPER_CHIPS,
    ],
    shared: &[&GROUPS],
    build,
};

settings! {
    /// The ports of the chips that NRMs and root switches of a th-tree are made of, an even number. Where there is a way up
    /// half of them lead up.
    CHIP_PORTS = "topology.chip_ports", Kind::Count { min: 2, max: 512 }, default(24), for OF_KIND,
        source("th-express-2.txt section 3 (P-TH-054, P-TH-055)");

    /// The nodes of each frame, which are on one NRM, as evenly on its lower chips as can be.
    NODES_PER_FRAME = "topology.nodes_per_frame", Kind::Count { min: 1, max: 65_536 }, default(32), for OF_KIND,
        source("th-express-2.txt section 3 (P-TH-056); OQ-T1, OQ-T22");

    /// The lower chips of each NRM.
    LOWER_CHIPS = "topology.lower_chips", Kind::Count { min: 1, max: 512 }, default(3), for OF_KIND,
        source("th-express-2.txt section 3 (P-TH-053)");

    /// The upper chips of each NRM. Each lower chip has as many links to each of them, and they share its ports up.
    UPPER_CHIPS = "topology.upper_chips", Kind::Count { min: 1, max: 256 }, default(3), for OF_KIND,
        source("th-express-2.txt section 3 (P-TH-053)");

    /// The ports up of each NRM that are used, and so the leaf switches of each group; with fewer than nodes the tree is
    /// tapered. Left out, all that its upper chips have: 36 in Tianhe-2, of which 32 have cables enough.
    UP_PORTS_PER_NRM = "topology.up_ports_per_nrm", Kind::Count { min: 1, max: 65_536 }, optional, for OF_KIND, example(32),
        source("th-express-2.txt section 3 (P-TH-057, P-TH-069); OQ-T2");

    /// The frames of each cabinet: no link knows of it, but placement and routing do. The last cabinet of a group may
    /// have fewer.
    FRAMES_PER_CABINET = "topology.frames_per_cabinet", Kind::Count { min: 1, max: 65_536 }, default(4), for OF_KIND,
        source("th-express-2.txt section 3 (P-TH-009)");

    /// The frames of each group. A single frame, in a single group, has no leaf switches.
    FRAMES_PER_GROUP = "topology.frames_per_group", Kind::Count { min: 1, max: 256 }, default(12), for OF_KIND,
        source("th-express-2.txt section 3 (P-TH-061)");

    /// The ports of a leaf switch, an even number: half of them lead to frames, half to root switches. With 48 the machine
    /// is larger.
    LEAF_PORTS = "topology.leaf_ports", Kind::Count { min: 2, max: 512 }, default(24), for OF_KIND,
        source("th-express-2.txt section 3 (P-TH-060, P-TH-070)");

    /// The lower chips of each root switch, which have a port for each group.
    ROOT_LOWER_CHIPS = "topology.root_lower_chips", Kind::Count { min: 1, max: 512 }, default(4), for OF_KIND,
        source("th-express-2.txt section 3 (P-TH-063, P-TH-064)");

    /// The upper chips of each root switch.
    ROOT_UPPER_CHIPS = "topology.root_upper_chips", Kind::Count { min: 1, max: 256 }, default(2), for OF_KIND,
        source("th-express-2.txt section 3 (P-TH-063)");
}

fn build(values: &Values, findings: &mut Diagnostics) -> Option<Topology> {
    let counts = [&CHIP_PORTS, &NODES_PER_FRAME, &LOWER_CHIPS, &UPPER_CHIPS, &FRAMES_PER_CABINET];
    let more = [&FRAMES_PER_GROUP, &LEAF_PORTS, &ROOT_LOWER_CHIPS, &ROOT_UPPER_CHIPS];
    let [chip_ports, nodes_per_frame, lower_chips, upper_chips, frames_per_cabinet] =
        counts.map(|setting| values.count(setting));
    let [frames_per_group, leaf_ports, root_lower_chips, root_upper_chips] =
        more.map(|setting| values.count(setting));
    let mut tree = ThTree {
        chip_ports: chip_ports?,
        nodes_per_frame: nodes_per_frame?,
        lower_chips: lower_chips?,
        upper_chips: upper_chips?,
        up_ports_per_nrm: 1,
        frames_per_cabinet: frames_per_cabinet?,
        frames_per_group: frames_per_group?,
        leaf_ports: leaf_ports?,
        groups: 1,
        root_lower_chips: root_lower_chips?,
        root_upper_chips: root_upper_chips?,
    };
    tree.up_ports_per_nrm = values.count(&UP_PORTS_PER_NRM).unwrap_or(tree.up_ports_max().max(1));
    tree.groups = values.count(&GROUPS).unwrap_or(tree.groups_max().max(1));
    let misfits = tree.misfits();
    for Misfit { counts, message, expected } in &misfits {
        let settings: Vec<&'static Setting> = counts.iter().filter_map(|count| setting_of(count)).collect();
        let problem =
            values.conflict(Code::OutOfRange, &settings, message.clone()).expected(expected.clone());
        // Whoever has written another count may not know of this one.
        let unwritten = settings.first().filter(|first| values.location(first).is_none());
        findings.push(match unwritten {
            Some(first) => problem.help(format!("write `{}`: left out, it is that of Tianhe-2", first.path)),
            None => problem,
        });
    }
    if !misfits.is_empty() {
        return None;
    }
    let rule = format!(
        "{} groups of {} frames of {} nodes",
        tree.groups, tree.frames_per_group, tree.nodes_per_frame
    );
    let sizes = [Some(tree.nodes()), Some(tree.chips())];
    let [nodes, switches] =
        fits(values, &[&GROUPS, &FRAMES_PER_GROUP, &NODES_PER_FRAME], sizes, &rule, findings)?;
    let classes = tree.link_classes();
    let named = |is_wired: bool| {
        let some = classes.iter().filter(|(_, wired)| *wired || !is_wired);
        some.map(|(name, _)| (*name).to_owned()).collect()
    };
    Some(Topology {
        classes: named(false),
        wired_classes: named(true),
        ports: tree.ports_max().into(),
        has_parallel_links: true,
        ..Topology::plain(&TH_TREE, TopologySettings::ThTree(tree), nodes, switches)
    })
}

/// The setting of a field of [`ThTree`]: they have the same names.
fn setting_of(field: &str) -> Option<&'static Setting> {
    TH_TREE.settings.iter().chain(TH_TREE.shared).copied().find(|setting| setting.key() == field)
}
