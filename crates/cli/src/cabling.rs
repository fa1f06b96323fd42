//! What `flitway check` prints of the pattern of the cables of a graph.

use crate::table::plural;
use flitway_wiring::SwitchId;
use flitway_wiring::pattern::{Departure, Pattern, Role, Untold};
use flitway_wiring::topology::Names;

/// Roles, departures and cables that are printed; JSON has all.
const PRINTED: usize = 16;

/// The section on the `pattern`; nothing without one.
pub(crate) fn cabling_section(pattern: Option<&Pattern>, names: &Names) -> String {
    let Some(pattern) = pattern else { return String::new() };
    let mut lines = vec!["Cabling".to_owned()];
    if pattern.roles.is_empty() {
        let kinds = plural(pattern.kinds, "kind", "s");
        lines.push(format!("no pattern: by their cables to each other switches are of {kinds}"));
        return lines.join("\n") + "\n\n";
    }
    let labels = labels(pattern, names);
    let roles = (0..).zip(&pattern.roles).map(|(number, role)| role_line(number, role, &labels));
    lines.extend(first(roles.collect(), "role"));
    lines.push(verdict(pattern));
    let departures = pattern.departures.iter();
    let departures =
        departures.map(|it| departure_line(it, &pattern.roles[it.role as usize], &labels, names));
    lines.extend(first(departures.collect(), "departure"));
    let missing = pattern
        .missing
        .iter()
        .map(|&[one, other]| format!("a cable {} - {} is missing", named(one, names), named(other, names)));
    lines.extend(missing);
    lines.extend(pattern.untold.iter().map(|untold| untold_line(untold, names)));
    lines.join("\n") + "\n\n"
}

/// The first of `lines`, and how many `what` are left.
fn first(mut lines: Vec<String>, what: &str) -> Vec<String> {
    let more = lines.len().saturating_sub(PRINTED);
    if more > 0 {
        lines.truncate(PRINTED);
        lines.push(format!("and {} more (--json has all)", plural(more as u32, what, "s")));
    }
    lines
}

/// The name that a graph file gives it.
fn given(switch: SwitchId, names: &Names) -> Option<&str> {
    names.switches().get(switch.index()).map(String::as_str)
}

fn named(switch: SwitchId, names: &Names) -> String {
    match given(switch, names) {
        Some(name) => name.to_owned(),
        None => format!("switch {switch}"),
    }
}

/// What the switches of each role are called: `leaf*` if the names of all, and of no others, begin so.
fn labels(pattern: &Pattern, names: &Names) -> Vec<String> {
    let stems: Vec<Option<&str>> = pattern.roles.iter().map(|role| stem(role, names)).collect();
    let label = |(place, role): (usize, &Role)| {
        let others = || stems.iter().enumerate().filter(|&(other, _)| other != place);
        let is_own = |stem: &str| others().all(|(_, other)| other.is_some_and(|other| other != stem));
        match stems[place].filter(|stem| is_own(stem)) {
            Some(stem) => format!("{stem}*"),
            None => format!("like {}", named(role.switches[0], names)),
        }
    };
    pattern.roles.iter().enumerate().map(label).collect()
}

/// What all names of a role begin with, before digits.
fn stem<'a>(role: &Role, names: &'a Names) -> Option<&'a str> {
    let stem_of = |name: &'a str| name.trim_end_matches(|c: char| c.is_ascii_digit());
    let mut stems = role.switches.iter().map(|&switch| given(switch, names).map(stem_of));
    let first = stems.next()??;
    (!first.is_empty() && stems.all(|stem| stem == Some(first))).then_some(first)
}

/// `switches`, as the object of `to`.
fn switches(label: &str) -> String {
    if label.starts_with("like ") { format!("switches {label}") } else { label.to_owned() }
}

/// What each switch of a role has.
fn role_line(number: u32, role: &Role, labels: &[String]) -> String {
    let nodes = match role.nodes {
        Some(nodes) => plural(nodes, "node", "s"),
        None => "nodes by no rule".to_owned(),
    };
    let cables = role.cables.iter().map(|&(to, count)| {
        let ends = if to == number { "each other".to_owned() } else { switches(&labels[to as usize]) };
        format!("{} to {ends}", plural(count, "cable", "s"))
    });
    let has: Vec<String> = [nodes].into_iter().chain(cables).collect();
    let count = plural(role.switches.len() as u32, "switch", "es");
    format!("{count} {}: each has {}", labels[number as usize], has.join(", "))
}

/// Whether that is so everywhere.
fn verdict(pattern: &Pattern) -> String {
    if pattern.is_symmetric() {
        return "symmetric: all of a role have the same".to_owned();
    }
    let mut departing: Vec<SwitchId> = pattern.departures.iter().map(|it| it.switch).collect();
    departing.dedup();
    match departing.len() {
        0 => "not symmetric: nodes are by no rule".to_owned(),
        1 => "not symmetric: 1 switch departs from that".to_owned(),
        count => format!("not symmetric: {count} switches depart from that"),
    }
}

fn departure_line(it: &Departure, role: &Role, labels: &[String], names: &Names) -> String {
    let has = match it.towards {
        Some(towards) => {
            let ends =
                if towards == it.role { "others".to_owned() } else { switches(&labels[towards as usize]) };
            format!("{} to {ends}", plural(it.has, "cable", "s"))
        }
        None => plural(it.has, "node", "s"),
    };
    let others = match it.others {
        0 => format!("{} would fit", it.others_have),
        1 => format!("another has {}", it.others_have),
        others if others as usize + 1 == role.switches.len() => {
            format!("the {others} others have {}", it.others_have)
        }
        others => format!("{others} others have {}", it.others_have),
    };
    format!("{} has {has} where {others}", named(it.switch, names))
}

fn untold_line(untold: &Untold, names: &Names) -> String {
    let list =
        |switches: &[SwitchId]| switches.iter().map(|&it| named(it, names)).collect::<Vec<_>>().join(", ");
    let [one, other] = &untold.between;
    let are = if untold.cables == 1 { "is" } else { "are" };
    let cables = plural(untold.cables, "cable", "s");
    if one == other {
        format!("{cables} {are} missing among {}: which, nothing tells", list(one))
    } else {
        format!("{cables} {are} missing between {} and {}: which, nothing tells", list(one), list(other))
    }
}
