//! `[routing]`: which way packets go.

use flitway_wiring::routing::{self, Routing, RoutingKind};
use flitway_wiring::topology::Topology as Wiring;
use std::sync::Arc;

use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::section::topology::{self, Topology};
use crate::setting::{Kind, When, settings};
use crate::values::Values;

settings! {
    pub(crate) static SETTINGS;

    /// How the path of a packet is chosen. Every routing but `valiant` is deterministic: packets between two nodes take
    /// one path in each rail. On several virtual channels they may overtake each other there, unless `nic.vc =
    /// "by-flow"`; and `switch.ascent = "adaptive"` leaves the choice among the ports up to the switches, and with it
    /// the order.
    pub(crate) ALGORITHM = "routing.algorithm", one of {
        /// For trees. On the way up, the destination number modulo the number of up ports picks the port; the way down
        /// is then unique. All packets to a node come down one way (OQ-D13).
        D_MOD_K = "d-mod-k",
        /// For meshes, tori and HyperX. One dimension after the other, from 0; a torus needs an even number of virtual
        /// channels for its dateline classes. Of equally long ways round a ring, and of parallel links, uniform traffic
        /// takes all alike.
        DIMENSION_ORDER = "dimension-order",
        /// Shortest paths, for every topology whose links lead both ways. In a dragonfly over one global link, in two
        /// classes of virtual channels: before it, and after it. In others each node has paths of its own, balanced,
        /// and each path is laid into a class where it closes no cycle, or each hop has a class if that takes no more;
        /// `flitway check` says how many classes that is if there are too few.
        MINIMAL = "minimal",
        /// For dragonflies and HyperX of up to three dimensions. Minimally to a group, or a switch, that is drawn for
        /// each packet, and minimally on: any traffic goes as uniform traffic does, twice. In a dragonfly it has three
        /// classes of virtual channels, in a HyperX two. With `nic.vc = "by-flow"` it is drawn once for each pair of
        /// nodes.
        VALIANT = "valiant",
        /// For every topology whose links lead both ways. A shortest path that goes up, then down, in a breadth-first
        /// order of the switches. Each node has paths of its own, balanced over equally short ports and parallel
        /// cables.
        UP_DOWN = "up-down",
        /// For omega networks and butterflies. The only way there is: a digit of the destination for each stage, the
        /// highest first.
        DESTINATION_TAG = "destination-tag",
    }, required, example("d-mod-k"),
        source("dawning5000.txt section 3 (P-DN-005); OQ-D13; Kim et al., ISCA 2008, section 4.1; Skeie, Lysne and Theiss, \
                IPDPS 2002; Domke, Hoefler and Nagel, IPDPS 2011");

    /// Whether dimension-order routing moves a packet to a second class of virtual channels where it crosses the
    /// dateline of a ring. Without, for study, all virtual channels are one class, and packets in a ring of five
    /// switches or more can wait for each other for ever; `flitway check` shows how.
    DATELINE = "routing.dateline", Kind::Flag, default(true),
        for When { selector: &topology::KIND, values: &["torus"] },
        source("Dally and Seitz, IEEE Trans. Computers C-36(5), 1987");

    /// Whether minimal routing divides virtual channels into the classes that keep it free of deadlock. Without, for
    /// study, all virtual channels are one class, and packets can wait for each other for ever where rings close;
    /// `flitway check` shows whether they do, and how.
    VC_CLASSES = "routing.vc_classes", Kind::Flag, default(true), for When { selector: &ALGORITHM, values: &[MINIMAL] },
        source("Dally and Seitz, IEEE Trans. Computers C-36(5), 1987");
}

/// The shortest ring that closes without a dateline: in a shorter one no hop is followed by another one of each switch.
const RING_MIN: u32 = 5;

pub(crate) fn build(
    values: &Values,
    topology: Option<&Topology>,
    findings: &mut Diagnostics,
) -> Option<RoutingKind> {
    let has_dateline = values.flag(&DATELINE) != Some(false);
    let name = values.choice(&ALGORITHM)?;
    let is_own = topology.is_none_or(|topology| topology.own_routing == name);
    let (routing, fits, needs) = match name {
        D_MOD_K => (RoutingKind::DModK, is_own, "a fat-tree, a k-ary-n-tree or an xgft"),
        MINIMAL => {
            let has_classes = values.flag(&VC_CLASSES) != Some(false);
            let routing = if has_classes { RoutingKind::Minimal } else { RoutingKind::MinimalInOneClass };
            (routing, topology.is_none_or(|it| !it.is_one_way), "a topology whose links lead both ways")
        }
        VALIANT => {
            let fits = topology.is_none_or(Topology::has_intermediates);
            (RoutingKind::Valiant, fits, "a dragonfly, or a HyperX of up to three dimensions,")
        }
        DIMENSION_ORDER => {
            let routing = if has_dateline {
                RoutingKind::DimensionOrder
            } else {
                RoutingKind::DimensionOrderWithoutDateline
            };
            (routing, is_own, "a mesh, a torus or a HyperX")
        }
        DESTINATION_TAG => (RoutingKind::DestinationTag, is_own, "an omega network or a butterfly"),
        _ => {
            let fits = topology.is_none_or(|topology| !topology.is_one_way);
            (RoutingKind::UpDown, fits, "a topology whose links lead both ways")
        }
    };
    if fits {
        if !has_dateline {
            check_dateline(values, routing, topology, findings);
        }
        let has_room = topology.is_none_or(|topology| check_tables(values, routing, topology, findings));
        return has_room.then_some(routing);
    }
    let kind = topology.map_or("", |topology| topology.kind);
    let other = topology.map_or(UP_DOWN, |topology| topology.own_routing);
    findings.push(
        values
            .conflict(
                Code::RoutingMisfit,
                &[&ALGORITHM, &topology::KIND],
                format!("`{name}` routing does not work on topology \"{kind}\""),
            )
            .expected(format!("{needs} for `{name}`"))
            .help(format!("write {} = \"{other}\"", ALGORITHM.key())),
    );
    None
}

/// Up-down and minimal routing have tables for every pair of a switch and a node. Whether there is room for them.
fn check_tables(
    values: &Values,
    routing: RoutingKind,
    topology: &Topology,
    findings: &mut Diagnostics,
) -> bool {
    let most = match routing::table_entries_max(routing, &topology.settings) {
        Some(most) if topology.nodes.saturating_mul(topology.switches) > most => most,
        _ => return true,
    };
    let name = values.choice(&ALGORITHM).unwrap_or_default();
    let message = format!(
        "`{name}` routing has tables for every pair of a switch and a node: {} switches and {} nodes are too many",
        topology.switches, topology.nodes,
    );
    let problem = values
        .conflict(Code::TooLarge, &[&ALGORITHM, &topology::KIND], message)
        .expected(format!("at most {most} pairs for `{name}`"));
    findings.push(match topology.own_routing {
        own if own == name || own == MINIMAL => problem,
        own => problem.help(format!("write {} = \"{own}\"", ALGORITHM.key())),
    });
    false
}

/// Classes of virtual channels that `kind` needs on `topology`. How many layers paths need only laying them tells.
pub(crate) fn classes(kind: RoutingKind, topology: &Topology) -> u32 {
    routing::classes(kind, &topology.settings).unwrap_or_else(|| {
        let wiring = Wiring::build(&topology.settings).ok();
        let routing = wiring.and_then(|wiring| Routing::new(kind, Arc::new(wiring)).ok());
        routing.map_or(1, |routing| routing.classes())
    })
}

/// Says what comes of a torus whose dateline is switched off.
fn check_dateline(
    values: &Values,
    routing: RoutingKind,
    topology: Option<&Topology>,
    findings: &mut Diagnostics,
) {
    if routing != RoutingKind::DimensionOrderWithoutDateline {
        let message = format!("`{}` = false belongs to `{DIMENSION_ORDER}` routing", DATELINE.path);
        findings.push(
            values
                .conflict(Code::NotApplicable, &[&DATELINE, &ALGORITHM], message)
                .help(format!("delete it, or write {} = \"{DIMENSION_ORDER}\"", ALGORITHM.key())),
        );
    } else if let Some(ring) =
        topology.and_then(|topology| topology.longest_ring).filter(|&ring| ring >= RING_MIN)
    {
        let message = format!(
            "cyclic dependence: without a dateline packets in a ring of {ring} switches can wait for each other for ever"
        );
        findings.push(
            values
                .conflict(Code::CyclicDependence, &[&DATELINE, &topology::grid::DIMENSIONS], message)
                .warning()
                .help(format!("write {} = true, with an even number of virtual channels", DATELINE.key())),
        );
    }
}
