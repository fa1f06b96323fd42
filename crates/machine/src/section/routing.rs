//! `[routing]`: which way packets go.

pub(crate) mod rtb;

use flitway_wiring::routing::{self, Routing, RoutingError, RoutingKind};
use std::sync::Arc;

use crate::code::Code;
use crate::convert::Value;
use crate::diagnostic::Diagnostics;
use crate::section::topology::{self, Links, Topology};
use crate::setting::{Choice, Kind, Setting, When, choices_of, settings};
use crate::tables::{self, TableFile};
use crate::values::Values;

/// A routing.
struct Row {
    choice: Choice,
    kind: RoutingKind,
    /// A flag, and the routing that it is where that is false.
    for_study: Option<(&'static Setting, RoutingKind)>,
    /// A setting, one of its choices, and the routing that it is with that.
    variant: Option<(&'static Setting, &'static str, RoutingKind)>,
    needs: Needs,
    /// Whether worms can be replicated on the way: on one that leads down, whatever it has climbed before.
    leads_worms: bool,
    /// Whether sources draw among several ways.
    draws: bool,
    /// What it leaves switches to select by load.
    selects: Selects,
}

/// What a routing leaves switches to select by load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Selects {
    /// Nothing, or nothing that it needs them to.
    Nothing,
    /// The minimal way or the one by an intermediate that the source has drawn.
    Ways,
    /// The same by the loads of other switches too.
    WaysByLoadsOfOthers,
    /// The next hop, in each switch.
    Hops,
}

/// What a routing asks of a topology.
enum Needs {
    /// That it is made for it.
    Own,
    /// Links that lead both ways.
    BothWays,
    /// That it is one of these kinds.
    Kinds(&'static [&'static str]),
    /// Intermediates by way of which packets can go.
    Intermediates,
    /// The same where switches can choose.
    Alternatives,
    /// Nothing but a file.
    File,
}

pub(crate) const UP_DOWN: &str = "up-down";
const DIMENSION_ORDER: &str = "dimension-order";
const MINIMAL: &str = "minimal";
const TABLES: &str = "tables";
const RTB: &str = "rtb";

/// Every routing.
static ROUTINGS: &[Row] = &[
    Row {
        choice: Choice {
            name: "d-mod-k",
            doc: "For trees. On the way up, the destination number modulo the number of up ports picks the port; the way \
                  down is then unique. All packets to a node come down one way (OQ-D13).",
        },
        kind: RoutingKind::DModK,
        for_study: None,
        variant: None,
        needs: Needs::Own,
        leads_worms: true,
        draws: false,
        selects: Selects::Nothing,
    },
    Row {
        choice: Choice {
            name: "s-mod-k",
            doc: "For fat trees, k-ary n-trees and XGFTs. On the way up the source number picks the port as the destination number \
                  does in d-mod-k; all packets of a node climb one way.",
        },
        kind: RoutingKind::SModK,
        for_study: None,
        variant: None,
        needs: Needs::Kinds(&["fat-tree", "k-ary-n-tree", "xgft"]),
        leads_worms: false,
        draws: false,
        selects: Selects::Nothing,
    },
    Row {
        choice: Choice {
            name: RTB,
            doc: "Routing-table buffers, for th-trees. Every port of a chip has a table in three levels: an item for each node of \
                  the cabinet, for each node of the group, and for each group. Each has the ports that lead there, of which a \
                  packet takes one by `routing.oblivious`, or a switch selects among up to four.",
        },
        kind: RoutingKind::Rtb,
        for_study: None,
        variant: Some((&rtb::OBLIVIOUS, rtb::BY_DESTINATION, RoutingKind::RtbByDestination)),
        needs: Needs::Own,
        leads_worms: false,
        draws: false,
        selects: Selects::Nothing,
    },
    Row {
        choice: Choice {
            name: DIMENSION_ORDER,
            doc: "For meshes, tori and HyperX. One dimension after the other, from 0; a torus needs an even number of \
                  virtual channels for its dateline classes. Of equally long ways round a ring, and of parallel links, \
                  uniform traffic takes all alike.",
        },
        kind: RoutingKind::DimensionOrder,
        for_study: Some((&DATELINE, RoutingKind::DimensionOrderWithoutDateline)),
        variant: None,
        needs: Needs::Own,
        leads_worms: false,
        draws: false,
        selects: Selects::Nothing,
    },
    Row {
        choice: Choice {
            name: MINIMAL,
            doc: "Shortest paths, for every topology whose links lead both ways. In a dragonfly over one global link, in \
                  two classes of virtual channels: before it, and after it. In others each node has paths of its own, \
                  balanced, and each path is laid into a class where it closes no cycle, or each hop has a class if that \
                  takes no more; `flitway check` says how many classes that is if there are too few.",
        },
        kind: RoutingKind::Minimal,
        for_study: Some((&VC_CLASSES, RoutingKind::MinimalInOneClass)),
        variant: None,
        needs: Needs::BothWays,
        leads_worms: false,
        draws: false,
        selects: Selects::Nothing,
    },
    Row {
        choice: Choice {
            name: "multi-path",
            doc: "For every topology whose links lead both ways and that has no more than seven switches on a shortest path. One \
                  of all shortest paths, each as likely as the others, drawn for each packet (spraying), or with `nic.vc = \
                  \"by-flow\"` once for each pair of nodes (equal-cost multi-path, ECMP). Trees need one class of virtual \
                  channels; where cycles close each hop has a class.",
        },
        kind: RoutingKind::MultiPath,
        for_study: None,
        variant: None,
        needs: Needs::BothWays,
        leads_worms: false,
        draws: true,
        selects: Selects::Nothing,
    },
    Row {
        choice: Choice {
            name: "valiant",
            doc: "For dragonflies, HyperX of up to three dimensions, meshes and tori. Minimally to a group, or a switch, that is \
                  drawn for each packet, and minimally on: any traffic goes as uniform traffic does, twice. In a dragonfly it \
                  has three classes of virtual channels, in a HyperX and a mesh two, in a torus four: two for the dateline of \
                  either half of the way. With `nic.vc = \"by-flow\"` it is drawn once for each pair of nodes.",
        },
        kind: RoutingKind::Valiant,
        for_study: None,
        variant: None,
        needs: Needs::Intermediates,
        leads_worms: false,
        draws: true,
        selects: Selects::Nothing,
    },
    Row {
        choice: Choice {
            name: "adaptive",
            doc: "For every topology whose links lead both ways, with tiled switches that select (`switch.selection = \
                  \"least-loaded\"`). Any link of a shortest path, the least loaded one, in a class of its own, while the room \
                  of the packet at the other end is certain: within the private part of the buffer \
                  (`switch.buffers.private`). Otherwise a packet escapes into another class, which is routed up*/down*, and \
                  stays there.",
        },
        kind: RoutingKind::Adaptive,
        for_study: None,
        variant: None,
        needs: Needs::BothWays,
        leads_worms: false,
        draws: false,
        selects: Selects::Hops,
    },
    Row {
        choice: Choice {
            name: "ugal",
            doc: "For dragonflies and HyperX of up to three dimensions, with switches that select (`switch.selection = \
                  \"least-loaded\"`). UGAL-L: the switch of the source sends a packet minimally if the load of that output is no \
                  more than twice that of the output to an intermediate that is drawn, and by way of that otherwise. Classes \
                  of virtual channels are those of `valiant`.",
        },
        kind: RoutingKind::Ugal,
        for_study: None,
        variant: None,
        needs: Needs::Alternatives,
        leads_worms: false,
        draws: true,
        selects: Selects::Ways,
    },
    Row {
        choice: Choice {
            name: "ugal-g",
            doc: "For dragonflies, with tiled switches that select (`switch.selection = \"least-loaded\"`). As `ugal`, and where a way \
                  leaves the group by a global link of another switch, the load of that link counts with that of the output to \
                  that switch. Switches tell the others of their group the loads of their global links every \
                  `switch.load_interval`; it takes a link's time until that is known, and none of its bandwidth.",
        },
        kind: RoutingKind::UgalG,
        for_study: None,
        variant: None,
        needs: Needs::Kinds(&["dragonfly"]),
        leads_worms: false,
        draws: true,
        selects: Selects::WaysByLoadsOfOthers,
    },
    Row {
        choice: Choice {
            name: "par",
            doc: "For dragonflies, with switches that select (`switch.selection = \"least-loaded\"`). As `ugal`, and the switch \
                  after a minimal local hop in the first group may still send the packet by way of the intermediate; it has a \
                  fourth class of virtual channels for that.",
        },
        kind: RoutingKind::Par,
        for_study: None,
        variant: None,
        needs: Needs::Kinds(&["dragonfly"]),
        leads_worms: false,
        draws: true,
        selects: Selects::Ways,
    },
    Row {
        choice: Choice {
            name: UP_DOWN,
            doc: "For every topology whose links lead both ways. A shortest path that goes up, then down, in a \
                  breadth-first order of the switches. Each node has paths of its own, balanced over equally short ports \
                  and parallel cables.",
        },
        kind: RoutingKind::UpDown,
        for_study: None,
        variant: None,
        needs: Needs::BothWays,
        leads_worms: true,
        draws: false,
        selects: Selects::Nothing,
    },
    Row {
        choice: Choice {
            name: "destination-tag",
            doc: "For omega networks and butterflies. The only way there is: a digit of the destination for each stage, \
                  the highest first.",
        },
        kind: RoutingKind::DestinationTag,
        for_study: None,
        variant: None,
        needs: Needs::Own,
        leads_worms: true,
        draws: false,
        selects: Selects::Nothing,
    },
    Row {
        choice: Choice {
            name: TABLES,
            doc: "Forwarding tables from a file, `routing.file`: a port for every switch and node, as subnet managers have \
                  them. Each packet has to reach its node; whether packets can wait for each other for ever `flitway check` \
                  says.",
        },
        kind: RoutingKind::Tables,
        for_study: None,
        variant: None,
        needs: Needs::File,
        leads_worms: false,
        draws: false,
        selects: Selects::Nothing,
    },
];

/// The flag without which `kind` is for study alone, and the routing that it is with it.
pub(crate) fn for_study(kind: RoutingKind) -> Option<(&'static Setting, RoutingKind)> {
    ROUTINGS
        .iter()
        .find_map(|row| row.for_study.filter(|(_, it)| *it == kind).map(|(flag, _)| (flag, row.kind)))
}

settings! {
    pub(crate) static SETTINGS;

    /// How the path of a packet is chosen. Every routing but `multi-path`, `valiant`, `adaptive`, `ugal`, `ugal-g` and `par`
    /// is deterministic: packets between two nodes take one path in each rail. On several virtual channels they may overtake
    /// each other there, unless `nic.vc = "by-flow"`; and `switch.ascent = "adaptive"` leaves the choice among the ports up
    /// to the switches, and with it the order.
    pub(crate) ALGORITHM = "routing.algorithm", choices_of!(ROUTINGS, row => row.choice), required, example("d-mod-k"),
        source("dawning5000.txt section 3 (P-DN-005); OQ-D13; Kim et al., ISCA 2008, section 4.1; Jiang, Kim and Dally, ISCA 2009; Skeie, \
                Lysne and Theiss, IPDPS 2002; Domke, Hoefler and Nagel, IPDPS 2011; th-express-2.txt section 4.3.3 (P-TH-110)");

    /// Whether dimension-order routing moves a packet to a second class of virtual channels where it crosses the
    /// dateline of a ring. Without, for study, all virtual channels are one class, and packets in a ring of five
    /// switches or more can wait for each other for ever; `flitway check` shows how.
    DATELINE = "routing.dateline", Kind::Flag, default(true), for OF_RINGS,
        source("Dally and Seitz, IEEE Trans. Computers C-36(5), 1987");

    /// The forwarding tables. The path is relative to the machine file that names it; in a `--set`, to the current
    /// directory. Lines are `switch NAME ...`, below it `to NODE ... port NUMBER [class NUMBER]` for these switches, and
    /// `begin NODE ... class NUMBER`: the class of virtual channels in which packets of their own nodes begin. Without
    /// `class` a packet keeps the class that it came in on. Names are those of the graph file, or numbers; `n0..n7` is
    /// several; `#` begins a comment.
    FILE = "routing.file", Kind::Path, required, for OF_TABLES, example("ring.tables"), source("Flitway");

    /// Whether minimal routing divides virtual channels into the classes that keep it free of deadlock. Without, for
    /// study, all virtual channels are one class, and packets can wait for each other for ever where rings close;
    /// `flitway check` shows whether they do, and how.
    VC_CLASSES = "routing.vc_classes", Kind::Flag, default(true), for OF_MINIMAL,
        source("Dally and Seitz, IEEE Trans. Computers C-36(5), 1987");
}

/// Settings of topologies with rings.
const OF_RINGS: When =
    When { selector: &topology::KIND, holds: |_, kind| topology::links(kind) == Links::Rings };

/// Settings of minimal routing.
const OF_MINIMAL: When = When { selector: &ALGORITHM, holds: |_, name| name == MINIMAL };

/// Settings of routing by tables.
const OF_TABLES: When = When { selector: &ALGORITHM, holds: |_, name| name == TABLES };

/// The shortest ring that closes without a dateline: in a shorter one no hop is followed by another one of each switch.
const RING_MIN: u32 = 5;

/// A routing, and the tables that it needs.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub(crate) kind: RoutingKind,
    pub(crate) tables: Option<TableFile>,
    /// Classes of virtual channels that it needs, if the topology is known.
    pub(crate) classes: Option<u32>,
    /// The whole, if it had to be made to know them.
    pub(crate) made: Option<Routing>,
}

impl Chosen {
    /// See [`Surroundings`](super::switch::Surroundings). Those that know a limit themselves keep it.
    pub(crate) fn carried_hops(&self) -> Option<u32> {
        let made = self.made.as_ref().filter(|routing| self.tables.is_some() && !routing.is_plain());
        made.map(Routing::hops_max)
    }
}

pub(crate) fn build(
    values: &Values,
    topology: Option<&Topology>,
    findings: &mut Diagnostics,
) -> Option<Chosen> {
    let has_dateline = values.flag(&DATELINE) != Some(false);
    let row = named(values.choice(&ALGORITHM)?)?;
    let routing = match row.for_study {
        Some((flag, other)) if values.flag(flag) == Some(false) => other,
        _ => match row.variant {
            Some((setting, choice, other)) if values.choice(setting) == Some(choice) => other,
            _ => row.kind,
        },
    };
    if topology.is_none_or(|topology| row.fits(topology)) {
        if !has_dateline {
            check_dateline(values, routing, topology, findings);
        }
        let has_room = topology.is_none_or(|topology| match row.kind {
            RoutingKind::Rtb => rtb::check(values, &topology.settings, findings),
            _ => check_tables(values, row, routing, topology, findings),
        });
        if !has_room {
            return None;
        }
        let mut chosen = Chosen { kind: routing, tables: None, classes: None, made: None };
        if matches!(row.needs, Needs::File) {
            let topology = topology?;
            // What is wrong with a topology has been said.
            let wiring = Arc::new(topology.wired().ok()?);
            let (path, at) = (values.path(&FILE)?, values.location(&FILE));
            let file = tables::read(&path, at.as_ref(), &wiring, findings)?;
            chosen.made = Some(Routing::by_tables(wiring, Arc::clone(&file.tables)).ok()?);
            chosen.tables = Some(file);
        } else if let Some(topology) = topology {
            chosen.classes = routing::classes(routing, &topology.settings);
            if chosen.classes.is_none() {
                chosen.made = Some(made(values, routing, topology, findings)?);
            }
        }
        chosen.classes = chosen.made.as_ref().map(Routing::classes).or(chosen.classes);
        return Some(chosen);
    }
    let name = row.choice.name;
    let kind = topology.map_or("", Topology::kind);
    let other = topology.map_or(UP_DOWN, |topology| name_of(topology.row.own_routing));
    findings.push(
        values
            .conflict(
                Code::RoutingMisfit,
                &[&ALGORITHM, &topology::KIND],
                format!("`{name}` routing does not work on topology \"{kind}\""),
            )
            .expected(format!("{} for `{name}`", row.needs()))
            .help(fix(values, other)),
    );
    None
}

/// How to choose the routing called `name` instead: what is written for another alone has to go.
pub(crate) fn fix(values: &Values, name: &str) -> String {
    let mut fix = values.fix(&ALGORITHM, &format!("\"{name}\""));
    let is_false = |flag| values.effective(flag).is_some_and(|it| it.value == Value::Flag(false));
    // Of minimal routing alone the setting may be written at all.
    let strays = [
        (&DATELINE, name != DIMENSION_ORDER && is_false(&DATELINE)),
        (&VC_CLASSES, name != MINIMAL && values.location(&VC_CLASSES).is_some()),
        (&FILE, name != TABLES && values.location(&FILE).is_some()),
    ];
    let of_rtb = rtb::SETTINGS.iter().filter(|setting| name != RTB && values.location(setting).is_some());
    for flag in strays.into_iter().filter(|(_, strays)| *strays).map(|(flag, _)| flag).chain(of_rtb.copied())
    {
        fix += &format!(", and {}", values.leave_out(flag));
    }
    fix
}

fn named(name: &str) -> Option<&'static Row> {
    ROUTINGS.iter().find(|row| row.choice.name == name)
}

fn row_of(kind: RoutingKind) -> Option<&'static Row> {
    let is_it = |row: &&Row| {
        row.kind == kind
            || row.for_study.is_some_and(|(_, other)| other == kind)
            || row.variant.is_some_and(|(.., other)| other == kind)
    };
    ROUTINGS.iter().find(is_it)
}

/// The name of `kind`.
pub(crate) fn name_of(kind: RoutingKind) -> &'static str {
    row_of(kind).map_or("", |row| row.choice.name)
}

/// Whether sources draw among several ways of `kind`.
pub(crate) fn draws(kind: RoutingKind) -> bool {
    row_of(kind).is_some_and(|row| row.draws)
}

/// What `kind` takes switches for that select among outputs by load.
pub(crate) fn selects(kind: RoutingKind) -> Selects {
    row_of(kind).map_or(Selects::Nothing, |row| row.selects)
}

/// Whether worms can be replicated on the way that `kind` leads them.
pub(crate) fn leads_worms(kind: RoutingKind) -> bool {
    row_of(kind).is_some_and(|row| row.leads_worms)
}

impl Row {
    fn fits(&self, topology: &Topology) -> bool {
        match self.needs {
            Needs::Own => topology.row.own_routing == self.kind,
            Needs::BothWays => !topology.is_one_way(),
            Needs::Kinds(kinds) => kinds.contains(&topology.kind()),
            Needs::Intermediates => topology.has_intermediates,
            Needs::Alternatives => topology.has_alternatives,
            Needs::File => true,
        }
    }

    /// What it needs, in words.
    fn needs(&self) -> String {
        match self.needs {
            Needs::Own => {
                let own = topology::KINDS.iter().filter(|row| row.own_routing == self.kind);
                either(&own.map(|row| row.noun).collect::<Vec<_>>())
            }
            Needs::BothWays => "a topology whose links lead both ways".to_owned(),
            Needs::Kinds(kinds) => either(&topology::nouns(kinds).collect::<Vec<_>>()),
            Needs::Intermediates => {
                "a dragonfly, a mesh, a torus, or a HyperX of up to three dimensions,".to_owned()
            }
            Needs::Alternatives => "a dragonfly, or a HyperX of up to three dimensions,".to_owned(),
            Needs::File => "any topology".to_owned(),
        }
    }
}

/// `a, b or c`.
fn either(names: &[&str]) -> String {
    match names {
        [first @ .., second, last] => [first, &[&*format!("{second} or {last}")]].concat().join(", "),
        _ => names.concat(),
    }
}

/// Up-down and minimal routing have tables for every pair of a switch and a node. Whether there is room for them.
fn check_tables(
    values: &Values,
    row: &Row,
    routing: RoutingKind,
    topology: &Topology,
    findings: &mut Diagnostics,
) -> bool {
    let most = match routing::table_entries_max(routing, &topology.settings) {
        Some(most) if topology.nodes.saturating_mul(topology.switches) > most => most,
        _ => return true,
    };
    let name = row.choice.name;
    let message = format!(
        "`{name}` routing has tables for every pair of a switch and a node: {} switches and {} nodes are too many",
        topology.switches, topology.nodes,
    );
    let problem = values
        .conflict(Code::TooLarge, &[&ALGORITHM, &topology::KIND], message)
        .expected(format!("at most {most} pairs for `{name}`"));
    findings.push(match topology.row.own_routing {
        own if own == row.kind || own == RoutingKind::Minimal => problem,
        own => problem.help(fix(values, name_of(own))),
    });
    false
}

/// The routing of `kind` on `topology`. How many layers paths need only laying them tells.
fn made(
    values: &Values,
    kind: RoutingKind,
    topology: &Topology,
    findings: &mut Diagnostics,
) -> Option<Routing> {
    // What is wrong with a topology has been said.
    let wiring = topology.wired().ok()?;
    let problem = |error: RoutingError| {
        let problem = values.conflict(Code::RoutingMisfit, &[&ALGORITHM, &topology::KIND], error.to_string());
        let pairs = topology.nodes.saturating_mul(topology.switches);
        let has_room =
            |kind| routing::table_entries_max(kind, &topology.settings).is_none_or(|most| pairs <= most);
        let other =
            if has_room(RoutingKind::Minimal) { RoutingKind::Minimal } else { topology.row.own_routing };
        problem.expected("a topology with shorter paths").help(fix(values, name_of(other)))
    };
    Routing::new(kind, Arc::new(wiring)).map_err(|error| findings.push(problem(error))).ok()
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
        findings.push(values.conflict(Code::NotApplicable, &[&DATELINE, &ALGORITHM], message).help(format!(
            "{}, or {}",
            values.leave_out(&DATELINE),
            fix(values, DIMENSION_ORDER)
        )));
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
                .help(format!("{}, with an even number of virtual channels", values.fix(&DATELINE, "true"))),
        );
    }
}
