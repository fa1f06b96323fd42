//! Fat trees, in both conventions.

use super::xgft::{POPULATED, check_populated, switches_of};
use super::{Links, OF_KIND, Row, Topology, fits};
use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::setting::{Choice, Kind, settings};
use crate::values::Values;
use flitway_wiring::routing::RoutingKind;
use flitway_wiring::topology::{PORTS_MAX, TopologySettings};

pub(super) static FAT_TREE: Row = Row {
    choice: Choice {
        name: "fat-tree",
        doc: "FT(p, n), the p-port n-tree: n levels of p-port switches with all ports used, 2 (p/2)^n nodes.",
    },
    noun: "a fat-tree",
    own_routing: RoutingKind::DModK,
    links: Links::Levels,
    settings: &[&PORTS],
    shared: &[&LEVELS],
    build: fat_tree,
};

pub(super) static KARY_N_TREE: Row = Row {
    choice: Choice {
        name: "k-ary-n-tree",
        doc: "The k-ary n-tree: n levels of k^(n-1) switches with k ports down and k up, unused at the top; \
              k^n nodes.",
    },
    noun: "a k-ary-n-tree",
    own_routing: RoutingKind::DModK,
    links: Links::Levels,
    settings: &[&ARITY, &LEVELS],
    shared: &[&POPULATED],
    build: kary_n_tree,
};

settings! {
    /// p of FT(p, n): the ports of each switch that the tree uses, an even number. The top switches turn all of them
    /// down; the others half of them.
    PORTS = "topology.ports", Kind::Count { min: 2, max: PORTS_MAX }, required, for OF_KIND, example(16),
        source("dawning5000.txt section 2.3 (P-DN-003)");

    /// k: of a k-ary n-tree the ports down, and the ports up, of each switch; of an omega network or a butterfly the inputs,
    /// and the outputs, of each switch, at least 2.
    pub(super) ARITY = "topology.arity", Kind::Count { min: 1, max: PORTS_MAX / 2 }, required, for OF_KIND, example(4),
        source("the usual definition; OQ-D4");

    /// n: the levels of switches. The longest way crosses 2n - 1 switches.
    LEVELS = "topology.levels", Kind::Count { min: 1, max: 16 }, required, for OF_KIND, example(3),
        source("dawning5000.txt section 2.3 (P-DN-003)");
}

fn fat_tree(values: &Values, findings: &mut Diagnostics) -> Option<Topology> {
    let (ports, levels) = (values.count(&PORTS), values.count(&LEVELS));
    let (ports, levels) = (ports?, levels?);
    if !ports.is_multiple_of(2) {
        let message = format!("`{}` is {ports}, an odd number", PORTS.path);
        findings.push(
            values
                .conflict(Code::OutOfRange, &[&PORTS], message)
                .expected("an even number: half of the ports lead up, half down"),
        );
        return None;
    }
    let half = u64::from(ports / 2);
    let per_half = half.checked_pow(levels - 1);
    let nodes = per_half.and_then(|count| count.checked_mul(2 * half));
    let switches = per_half.and_then(|count| count.checked_mul(2 * u64::from(levels) - 1));
    let rule = format!("FT({ports},{levels}) has 2 x {half}^{levels} nodes");
    let [nodes, switches] = fits(values, &[&LEVELS, &PORTS], [nodes, switches], &rule, findings)?;
    let settings = TopologySettings::FatTree { ports, levels };
    Some(tree(&FAT_TREE, settings, levels, ports.into(), [nodes, switches]))
}

fn kary_n_tree(values: &Values, findings: &mut Diagnostics) -> Option<Topology> {
    let (arity, levels) = (values.count(&ARITY), values.count(&LEVELS));
    let (arity, levels) = (arity?, levels?);
    let nodes = u64::from(arity).checked_pow(levels);
    let switches =
        u64::from(arity).checked_pow(levels - 1).and_then(|count| count.checked_mul(u64::from(levels)));
    let rule = format!("the {arity}-ary {levels}-tree has {arity}^{levels} nodes");
    let [nodes, switches] = fits(values, &[&LEVELS, &ARITY], [nodes, switches], &rule, findings)?;
    let ports = u64::from(arity) * if levels > 1 { 2 } else { 1 };
    check_populated(values, &LEVELS, nodes, findings)?;
    let Some(populated) = values.count(&POPULATED) else {
        let settings = TopologySettings::KaryNTree { arity, levels };
        return Some(tree(&KARY_N_TREE, settings, levels, ports, [nodes, switches]));
    };
    // Of a tree by another name a part is known.
    let [down, mut up] = [0, 1].map(|_| vec![arity; levels as usize]);
    up[0] = 1;
    let switches = switches_of(populated.into(), &down, &up)?;
    let settings = TopologySettings::Xgft { down, up, cables: vec![1], nics: 1, populated: Some(populated) };
    Some(tree(&KARY_N_TREE, settings, levels, ports, [populated.into(), switches]))
}

fn tree(
    row: &'static Row,
    settings: TopologySettings,
    levels: u32,
    ports: u64,
    [nodes, switches]: [u64; 2],
) -> Topology {
    let classes: Vec<String> = (1..levels).map(|level| format!("level-{level}")).collect();
    Topology {
        wired_classes: classes.clone(),
        classes,
        ports,
        ..Topology::plain(row, settings, nodes, switches)
    }
}
