//! Dragonflies.

use super::grid::NODES_PER_SWITCH;
use super::{Links, OF_KIND, Row, Topology, fits};
use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::setting::{Choice, Kind, Setting, settings};
use crate::values::Values;
use flitway_wiring::routing::RoutingKind;
use flitway_wiring::topology::{Arrangement, DragonflyShape, PORTS_MAX, TopologySettings};

pub(super) static DRAGONFLY: Row = Row {
    choice: Choice {
        name: "dragonfly",
        doc: "Groups of switches: each is joined to all others of its group, and every group to every other by global links. Balanced \
          it has twice as many switches in a group as nodes, and as global ports, on a switch.",
    },
    noun: "a dragonfly",
    own_routing: RoutingKind::Minimal,
    links: Links::Groups,
    settings: &[&SWITCHES_PER_GROUP],
    shared: &[&GLOBAL_PORTS, &GROUPS, &ARRANGEMENT, &NODES_PER_SWITCH],
    build,
};

settings! {
    /// a: the switches of each group of a dragonfly.
    SWITCHES_PER_GROUP = "topology.switches_per_group", Kind::Count { min: 1, max: PORTS_MAX - 1 }, required, for OF_KIND,
        example(4), source("Kim et al., ISCA 2008, section 3.1");

    /// h: the ports of each switch, in a dragonfly+ of each spine, for links to other groups.
    pub(super) GLOBAL_PORTS = "topology.global_ports", Kind::Count { min: 1, max: PORTS_MAX - 2 }, required, for OF_KIND,
        example(2), source("Kim et al., ISCA 2008, section 3.1");

    /// g: the groups, at most a h + 1, a being the spines of a group in a dragonfly+. Left out, there are as many. Of
    /// fewer groups every two are joined by a h / (g - 1) links, rounded down; global ports that are left over have no
    /// link. Of a th-tree as many as the lower chips of a root switch have ports down, 48 in Tianhe-2, or fewer; a single
    /// one has no root switches.
    pub(super) GROUPS = "topology.groups", Kind::Count { min: 1, max: 65_536 }, optional, for OF_KIND, example(9),
        source("Kim et al., ISCA 2008, section 3.1; th-express-2.txt section 3 (P-TH-065, P-TH-067)");

    /// To which groups the global ports of a group lead, numbered through its switches.
    pub(super) ARRANGEMENT = "topology.arrangement", one of {
        /// To the group before, to the one before that, and so on, around.
        PALM_TREE = "palm-tree",
        /// To the other groups by their number, 0 first.
        ABSOLUTE = "absolute",
    }, default("palm-tree"), for OF_KIND, source("Camarero, Vallejo and Beivide, ACM TACO 11(4), 2014");
}

fn build(values: &Values, findings: &mut Diagnostics) -> Option<Topology> {
    let (per_group, global_ports) = (values.count(&SWITCHES_PER_GROUP), values.count(&GLOBAL_PORTS));
    let (per_group, global_ports, nodes_per_switch) =
        (per_group?, global_ports?, values.count(&NODES_PER_SWITCH)?);
    let groups = groups(values, (&SWITCHES_PER_GROUP, per_group), global_ports, findings)?;
    let switches = u64::from(groups) * u64::from(per_group);
    let nodes = switches * u64::from(nodes_per_switch);
    let rule = format!("{groups} groups of {per_group} switches with {nodes_per_switch} nodes on each");
    let [nodes, switches] =
        fits(values, &[&GROUPS, &SWITCHES_PER_GROUP], [Some(nodes), Some(switches)], &rule, findings)?;
    let arrangement = arrangement(values)?;
    let shape =
        DragonflyShape { groups, switches_per_group: per_group, nodes_per_switch, global_ports, arrangement };
    let wired = [(per_group > 1, "local"), (groups > 1, "global")];
    Some(Topology {
        classes: wired.iter().map(|(_, class)| (*class).to_owned()).collect(),
        wired_classes: wired.iter().filter(|it| it.0).map(|(_, class)| (*class).to_owned()).collect(),
        ports: u64::from(nodes_per_switch + per_group - 1 + if groups > 1 { global_ports } else { 0 }),
        has_intermediates: true,
        has_alternatives: true,
        ..Topology::plain(&DRAGONFLY, TopologySettings::Dragonfly(shape), nodes, switches)
    })
}

/// How many groups there are, where each has so many switches with global ports.
pub(super) fn groups(
    values: &Values,
    (setting, switches): (&'static Setting, u32),
    global_ports: u32,
    findings: &mut Diagnostics,
) -> Option<u32> {
    let most = switches * global_ports + 1;
    let groups = values.count(&GROUPS).unwrap_or(most);
    if groups <= most {
        warn_of_free_ports(values, (setting, switches), global_ports, groups, findings);
        return Some(groups);
    }
    let message = format!(
        "{groups} groups, but the {switches} x {global_ports} global ports of a group lead to {} others at most",
        most - 1
    );
    let problem = values.conflict(Code::OutOfRange, &[&GROUPS, setting, &GLOBAL_PORTS], message);
    findings.push(problem.expected(format!("at most {most} groups")));
    None
}

/// Every two groups are joined by as many links, so that global ports of each may be left over.
fn warn_of_free_ports(
    values: &Values,
    (setting, switches): (&'static Setting, u32),
    global_ports: u32,
    groups: u32,
    findings: &mut Diagnostics,
) {
    let all = switches * global_ports;
    let Some(free) = all.checked_rem(groups - 1).filter(|&free| free > 0) else { return };
    let each = all / (groups - 1);
    let links = if each == 1 { "link" } else { "links" };
    let message = format!(
        "{free} of the {switches} x {global_ports} global ports of each group stay free: to each of {} other groups it has {each} {links}",
        groups - 1
    );
    let problem = values.conflict(Code::UnevenGroups, &[&GROUPS, setting, &GLOBAL_PORTS], message);
    findings.push(
        problem.expected(format!("{} groups, which use all", numbers_of_groups(all, groups))).warning(),
    );
}

/// Numbers of groups to which as many links of `all` lead from each: some around `groups`.
fn numbers_of_groups(all: u32, groups: u32) -> String {
    const EITHER_SIDE: usize = 3;
    let evenly = |others: &u32| all.is_multiple_of(*others);
    let mut numbers: Vec<u32> = (1..groups - 1).rev().filter(evenly).take(EITHER_SIDE).collect();
    numbers.reverse();
    numbers.extend((groups - 1..=all).filter(evenly).take(EITHER_SIDE));
    let [first @ .., last] = &*numbers else { return String::new() };
    let first: Vec<String> = first.iter().map(|others| (others + 1).to_string()).collect();
    format!("{} or {}", first.join(", "), last + 1)
}

/// Which global port leads where.
pub(super) fn arrangement(values: &Values) -> Option<Arrangement> {
    Some(match values.choice(&ARRANGEMENT)? {
        PALM_TREE => Arrangement::PalmTree,
        _ => Arrangement::Absolute,
    })
}
