//! `[switch]`: the chip. `architecture` selects which of the tables below it are read.
//!
//! Each architecture has one file here with its settings and its checks, and one line in [`ARCHITECTURES`].

pub(crate) mod elite;
pub(crate) mod hpp;
pub(crate) mod sp;
pub(crate) mod tiled;

use flitway_engine::Clock;
use flitway_fabric::ReplyLanes;
use flitway_fabric::packet::PacketFormat;
use flitway_switch::SwitchSettings;
use flitway_wiring::routing::RoutingKind;

use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::section::link::LinkSettings;
use crate::section::nic;
use crate::section::routing;
use crate::section::topology::{self, Topology};
use crate::setting::{Choice, Kind, Setting, choices_of, settings};
use crate::values::Values;

settings! {
    pub(crate) static SETTINGS;

    /// The switch architecture. The other settings of the table depend on it.
    pub(crate) ARCHITECTURE = "switch.architecture", choices_of!(ARCHITECTURES, row => row.choice), required,
        example("hpp"), source("hpp-switch.txt section 2.2 (P-HP-018); multidestination-worms.txt sections 4 and 5; \
        th-express-2.txt section 2.1; qsnet2.txt, \"Elite4 and physical links\"");
}

/// A switch architecture.
pub(crate) struct Architecture {
    pub(crate) choice: Choice,
    /// Whether its ports have virtual channels among which a packet takes one.
    pub(crate) has_vcs: bool,
    /// Whether its links can send again what was lost.
    pub(crate) retries: bool,
    /// Whether its links can carry less than a flit in every cycle.
    pub(crate) has_rates: bool,
    /// Whether it goes with links that lead one way.
    takes_one_way_links: bool,
    /// Lists of its settings, in the order of the reference page.
    pub(crate) settings: &'static [&'static [&'static Setting]],
    /// How it works, in paragraphs beyond those of its choice.
    pub(crate) page: &'static [&'static str],
    build: fn(&Values, &Surroundings<'_>, &mut Diagnostics) -> Option<SwitchSettings>,
}

/// Every switch architecture.
pub(crate) static ARCHITECTURES: &[&Architecture] = &[
    &hpp::ARCHITECTURE,
    &sp::CENTRAL_ARCHITECTURE,
    &sp::INPUT_ARCHITECTURE,
    &tiled::ARCHITECTURE,
    &elite::ARCHITECTURE,
];

/// What a switch is checked against; `None` where that part is wrong itself.
pub(crate) struct Surroundings<'a> {
    pub(crate) clock: Option<Clock>,
    pub(crate) format: Option<PacketFormat>,
    pub(crate) topology: Option<&'a Topology>,
    pub(crate) routing: Option<RoutingKind>,
    /// Classes of virtual channels that the routing needs.
    pub(crate) vc_classes: Option<u32>,
    /// Hops of the longest way, where switches on it cannot tell the rest of the way by the destination.
    pub(crate) carried_hops: Option<u32>,
    pub(crate) link: Option<&'a LinkSettings>,
}

/// The architecture `name`.
pub(crate) fn named(name: &str) -> Option<&'static Architecture> {
    ARCHITECTURES.iter().copied().find(|architecture| architecture.choice.name == name)
}

pub(crate) fn build(
    values: &Values,
    surroundings: &Surroundings<'_>,
    findings: &mut Diagnostics,
) -> Option<SwitchSettings> {
    let architecture = named(values.choice(&ARCHITECTURE)?)?;
    (architecture.build)(values, surroundings, findings)
}

/// The names of those that go with links that lead one way, in quotes.
fn of_one_way_links() -> String {
    one_of(|architecture| architecture.takes_one_way_links)
}

/// The names of those whose links can carry less than a flit in every cycle, in quotes.
pub(crate) fn of_rates() -> String {
    one_of(|architecture| architecture.has_rates)
}

fn one_of(is_meant: impl Fn(&Architecture) -> bool) -> String {
    let those = ARCHITECTURES.iter().filter(|architecture| is_meant(architecture));
    let names: Vec<String> = those.map(|it| format!("\"{}\"", it.choice.name)).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// Checks the `ports` of the chip, whose setting is `setting`, against what the topology wires.
fn check_ports(
    values: &Values,
    setting: &'static Setting,
    ports: u32,
    topology: Option<&Topology>,
    findings: &mut Diagnostics,
) {
    let Some(topology) = topology else { return };
    if let Some(graph) = &topology.graph {
        graph.check_ports(ports, findings);
    } else if topology.ports > u64::from(ports) {
        let message = format!(
            "a switch has {ports} ports, but the topology \"{}\" wires {} of each",
            topology.kind(),
            topology.ports
        );
        findings.push(
            values
                .conflict(Code::TooFewPorts, &[setting, &topology::KIND], message)
                .expected(format!("at least {} ports", topology.ports)),
        );
    }
}

/// The most classes of virtual channels that a switch tells apart.
struct ClassLimit {
    classes: u32,
    /// What that is, in words.
    what: &'static str,
}

/// Refuses a routing that takes switches which select among outputs by load, where the chip does not: `instead` says what it
/// does, or which of its settings makes it, and to what.
pub(crate) fn check_selection(
    values: &Values,
    instead: Result<(&'static Setting, &str), &str>,
    surroundings: &Surroundings<'_>,
    findings: &mut Diagnostics,
) {
    if surroundings.routing.is_none_or(|kind| routing::selects(kind) == routing::Selects::Nothing) {
        return;
    }
    let name = values.choice(&routing::ALGORITHM).unwrap_or_default();
    let message = format!("`{name}` routing takes switches that select among outputs by load");
    findings.push(match instead {
        Ok((setting, choice)) => {
            let problem = values.conflict(Code::RoutingMisfit, &[setting, &routing::ALGORITHM], message);
            problem.expected(format!("\"{choice}\"")).help(values.fix(setting, &format!("\"{choice}\"")))
        }
        Err(why) => {
            let own = surroundings.topology.map(|topology| topology.row.own_routing);
            let other = own.map_or(routing::UP_DOWN, routing::name_of);
            let involved = [&routing::ALGORITHM, &ARCHITECTURE];
            let problem = values.conflict(Code::RoutingMisfit, &involved, message);
            problem.expected(format!("tiled switches: {why}")).help(routing::fix(values, other))
        }
    });
}

/// Checks the `vcs` of the chip, whose setting is `setting`, against the classes that the routing needs.
fn check_vcs(
    values: &Values,
    setting: &'static Setting,
    vcs: u32,
    limit: ClassLimit,
    surroundings: &Surroundings<'_>,
    findings: &mut Diagnostics,
) {
    let (Some(classes), Some(topology)) = (surroundings.vc_classes, surroundings.topology) else { return };
    if classes > limit.classes || !vcs.is_multiple_of(classes) {
        let routing = values.choice(&routing::ALGORITHM).unwrap_or_default();
        let involved = [setting, &topology::KIND, &routing::ALGORITHM];
        let conflict = |message| values.conflict(Code::TooFewVcs, &involved, message);
        findings.push(if classes > limit.classes {
            let message = format!(
                "{routing} routing needs {classes} classes of virtual channels on this {}",
                topology.kind()
            );
            let expected = format!("{} classes, {}", limit.classes, limit.what);
            let help = routing::fix(values, routing::UP_DOWN);
            conflict(message).expected(expected).help(help)
        } else {
            let message =
                format!("{routing} routing on a {} cannot use {vcs} virtual channels", topology.kind());
            let expected = format!("a multiple of {classes}, for {classes} classes of the same size");
            let more = vcs.next_multiple_of(classes);
            let most = if let Kind::Count { max, .. } = setting.kind { max } else { u32::MAX };
            let fitting = if more > most { most / classes * classes } else { more };
            let help = values.fix(setting, &fitting.to_string());
            conflict(message).expected(expected).help(help)
        });
        return;
    }
    if nic::reply_lanes(values) == Some(ReplyLanes::Own) && vcs < 2 * classes {
        let message =
            format!("replies cannot have virtual channels of their own: {vcs} of {classes} classes");
        let problem = values.conflict(Code::TooFewVcs, &[setting, &nic::REPLY_VCS], message);
        let expected = format!("{} or more, of which replies have some of each class", 2 * classes);
        findings.push(problem.expected(expected).help(values.fix(setting, &(2 * classes).to_string())));
    }
}
