//! Extended generalized fat trees, and with them tapered trees and leaf-spine.

use super::hyperx::LINKS;
use super::{Links, OF_KIND, Row, Topology, fits};
use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::section::greatest_divisor;
use crate::setting::{Choice, Kind, Setting, settings};
use crate::values::Values;
use flitway_wiring::routing::RoutingKind;
use flitway_wiring::topology::{PORTS_MAX, TopologySettings};

pub(super) static XGFT: Row = Row {
    choice: Choice {
        name: "xgft",
        doc: "XGFT(h; m1 .. mh; w1 .. wh), the extended generalized fat tree: any number of ports down and up at each level, and \
          parallel links. Tapered trees and leaf-spine are such trees; with `nics` they are rail-optimised.",
    },
    noun: "an xgft",
    own_routing: RoutingKind::DModK,
    links: Links::Levels,
    settings: &[&DOWN, &UP, &NICS, &POPULATED],
    shared: &[&LINKS],
    build,
};

settings! {
    /// m: what is below each switch, level by level: nodes below a leaf switch, leaf switches below one of level 2, and
    /// so on.
    DOWN = "topology.down", Kind::Counts { min: 1, max: PORTS_MAX, longest: 8 }, required, for OF_KIND, example([8, 4]),
        source("Öhring et al., IPPS 1995");

    /// w: what is above, level by level: above a node 1, then the switches of level 2 above a leaf switch, and so on.
    /// With fewer links up than down the tree is tapered.
    UP = "topology.up", Kind::Counts { min: 1, max: PORTS_MAX, longest: 8 }, required, for OF_KIND, example([1, 4]),
        source("Öhring et al., IPPS 1995");

    /// NICs of a server, for rail-optimised trees: each is a node, with the process or accelerator that uses it, and
    /// node `nics * s + i` is NIC i of server s. As many leaf switches make a pod of as many servers as a leaf switch has
    /// nodes, and NIC i of each of those is at leaf switch i of the pod: rail i. Placements and traffic know `servers`,
    /// `rails` and `pods`. What processes of one server send each other goes over the network, too.
    NICS = "topology.nics", Kind::Count { min: 1, max: 64 }, default(1), for OF_KIND, example(4),
        source("NVIDIA, DGX SuperPOD reference architecture, 2023");

    /// Nodes that an xgft or a k-ary n-tree is populated with: the first ones of all that fit. Switches below which there are
    /// no nodes are not built, and ports down that lead to nobody stay free. All nodes that fit unless given; with `nics`,
    /// whole pods.
    pub(super) POPULATED = "topology.populated", Kind::Count { min: 1, max: 1 << 24 }, optional, for OF_KIND, example(30),
        source("Flitway");
}

fn build(values: &Values, findings: &mut Diagnostics) -> Option<Topology> {
    let (down, up, links) = (values.counts(&DOWN), values.counts(&UP), values.counts(&LINKS));
    let (down, up, links, nics) = (down?, up?, links?, values.count(&NICS)?);
    let levels = down.len();
    let problem = if up.len() != levels {
        let message =
            format!("`{}` is a list of {}, and `{}` is one of {levels}", UP.path, up.len(), DOWN.path);
        Some((&UP, message, "as many numbers"))
    } else if up[0] != 1 {
        let message = format!("`{}` begins with {}, and a node has one port in each rail", UP.path, up[0]);
        Some((&UP, message, "1 first; more NIC ports of a node are `rails`"))
    } else if links.len() == levels && levels > 1 && links[0] != 1 {
        let message =
            format!("`{}` begins with {}, and a node has one link in each rail", LINKS.path, links[0]);
        Some((&LINKS, message, "1 first, for the links to nodes; more NIC ports of a node are `rails`"))
    } else if links.len() != 1 && links.len() != levels {
        let message = format!("`{}` has {} numbers for {levels} levels", LINKS.path, links.len());
        Some((
            &LINKS,
            message,
            "a number for each level, of which the first is 1, or one for all above the nodes",
        ))
    } else {
        None
    };
    if let Some((setting, message, expected)) = problem {
        findings.push(values.conflict(Code::OutOfRange, &[setting, &DOWN], message).expected(expected));
        return None;
    }
    let links_at = |level: usize| if level == 0 { 1 } else { links[level % links.len()] };
    check_pods(values, nics, product(&down[1..]), findings)?;
    let fit = product(&down);
    let populated = values.count(&POPULATED);
    if let Some(fit) = fit {
        check_populated(values, &DOWN, fit, findings)?;
        check_whole_pods(values, [nics, nics * down[0]], findings)?;
    }
    let nodes = populated.map_or(fit, |nodes| Some(nodes.into()));
    let switches = nodes.and_then(|nodes| switches_of(nodes, &down, &up));
    let rule = format!(
        "{} nodes below, level by level",
        down.iter().map(u32::to_string).collect::<Vec<_>>().join(" x ")
    );
    let [nodes, switches] = fits(values, &[&DOWN, &UP], [nodes, switches], &rule, findings)?;
    let ports = |level: usize| {
        let above = if level + 1 < levels { up[level + 1] * links_at(level + 1) } else { 0 };
        u64::from(down[level] * links_at(level) + above)
    };
    let ports = (0..levels).map(ports).max().unwrap_or(0);
    let classes: Vec<String> = (1..levels).map(|level| format!("level-{level}")).collect();
    let has_parallel_links = links.iter().any(|&count| count > 1);
    let settings = TopologySettings::Xgft { down, up, cables: links, nics, populated };
    Some(Topology {
        wired_classes: classes.clone(),
        classes,
        ports,
        has_parallel_links,
        ..Topology::plain(&XGFT, settings, nodes, switches)
    })
}

fn product(numbers: &[u32]) -> Option<u64> {
    numbers.iter().try_fold(1, |product: u64, &count| product.checked_mul(count.into()))
}

/// Switches of a tree of so many nodes: of each level those that have some below. `None` if they are too many to count.
pub(super) fn switches_of(nodes: u64, down: &[u32], up: &[u32]) -> Option<u64> {
    let of_level =
        |level: usize| nodes.div_ceil(product(&down[..level])?).checked_mul(product(&up[..level])?);
    (1..=down.len()).try_fold(0_u64, |sum, level| sum.checked_add(of_level(level)?))
}

/// A tree of the size that `sized` says has no more nodes than `fit`.
pub(super) fn check_populated(
    values: &Values,
    sized: &'static Setting,
    fit: u64,
    findings: &mut Diagnostics,
) -> Option<()> {
    let Some(nodes) = values.count(&POPULATED).filter(|&nodes| u64::from(nodes) > fit) else {
        return Some(());
    };
    let message = format!("`{}` is {nodes}, and {fit} nodes fit", POPULATED.path);
    let problem = values.conflict(Code::OutOfRange, &[&POPULATED, sized], message);
    findings.push(problem.expected(format!("up to {fit} nodes, or a larger tree")));
    None
}

/// Servers with several NICs are there by pods.
fn check_whole_pods(values: &Values, [nics, pod]: [u32; 2], findings: &mut Diagnostics) -> Option<()> {
    let populated = values.count(&POPULATED).filter(|nodes| nics > 1 && !nodes.is_multiple_of(pod));
    let Some(nodes) = populated else { return Some(()) };
    let message = format!("`{}` is {nodes}, and a pod has {pod} nodes", POPULATED.path);
    let problem = values.conflict(Code::OutOfRange, &[&POPULATED, &DOWN], message);
    findings.push(problem.expected(format!("a multiple of {pod}: whole pods")));
    None
}

/// Servers with several NICs fill pods of as many leaf switches.
fn check_pods(values: &Values, nics: u32, leaves: Option<u64>, findings: &mut Diagnostics) -> Option<()> {
    let leaves = leaves.filter(|leaves| !leaves.is_multiple_of(nics.into()));
    let Some(leaves) = leaves else { return Some(()) };
    let message =
        format!("`{}` is {nics}, and {leaves} leaf switches are no whole pods of {nics}", NICS.path);
    let expected =
        "a divisor of the number of leaf switches: each NIC of a server is at another one of its pod";
    let help = values.fix(&NICS, &greatest_divisor(leaves, nics).to_string());
    findings.push(values.conflict(Code::OutOfRange, &[&NICS, &DOWN], message).expected(expected).help(help));
    None
}
