//! `topology.conf` of Slurm, for its plugin `topology/tree`: which nodes are near each other.
//!
//! Source: the manual page topology.conf(5). The plugin knows trees only, in which each switch is below one other, and no
//! cables: there is a line for each switch that has nodes, and one for all of them together, which stands for the rest of
//! the fabric whatever it is.

use super::Named;
use flitway_wiring::{NodeId, SwitchId};
use std::fmt::Write;

/// The fabric as lines of switches.
pub(super) fn text(fabric: &Named<'_>) -> String {
    let mut below: Vec<Vec<String>> = vec![Vec::new(); fabric.topology.switches() as usize];
    for node in fabric.nodes() {
        below[home(fabric, node).index()].push(fabric.node(node));
    }
    let mut text =
        format!("# {}: switches with nodes, and `{TOP}` for what joins them\n", fabric.machine.name);
    let mut leaves = Vec::new();
    // Writing to a string does not fail.
    for (switch, nodes) in (0..).map(SwitchId).zip(&below).filter(|(_, nodes)| !nodes.is_empty()) {
        let name = fabric.switch(switch);
        let _ = writeln!(text, "SwitchName={name} Nodes={}", hostlist(nodes));
        leaves.push(name);
    }
    if leaves.len() > 1 {
        let _ = writeln!(text, "SwitchName={TOP} Switches={}", hostlist(&leaves));
    }
    text.truncate(text.trim_end().len());
    text
}

/// What the switch that stands for the rest is called.
const TOP: &str = "fabric";

fn home(fabric: &Named<'_>, node: NodeId) -> SwitchId {
    fabric.topology.home(node).0
}

/// `names` as Slurm writes them: numbers that follow each other behind one word in brackets, `n[0-3,7],login`.
fn hostlist(names: &[String]) -> String {
    let mut parts: Vec<(&str, Vec<(u64, u64)>)> = Vec::new();
    for name in names {
        let digits = name.len() - name.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
        let (word, number) = name.split_at(name.len() - digits);
        // A number that is written in another way would not come back.
        let number = number.parse::<u64>().ok().filter(|value| value.to_string() == number);
        match (parts.last_mut(), number) {
            (Some((last, ranges)), Some(number)) if *last == word && !ranges.is_empty() => {
                match ranges.last_mut() {
                    Some((_, end)) if *end + 1 == number => *end = number,
                    _ => ranges.push((number, number)),
                }
            }
            (_, Some(number)) => parts.push((word, vec![(number, number)])),
            (_, None) => parts.push((name, Vec::new())),
        }
    }
    let range = |&(first, end): &(u64, u64)| {
        if first == end { first.to_string() } else { format!("{first}-{end}") }
    };
    let part = |(word, ranges): &(&str, Vec<(u64, u64)>)| match ranges.as_slice() {
        [] => (*word).to_owned(),
        [(first, end)] if first == end => format!("{word}{first}"),
        ranges => format!("{word}[{}]", ranges.iter().map(range).collect::<Vec<_>>().join(",")),
    };
    parts.iter().map(part).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_follow_each_other_are_ranges() {
        let list =
            |names: &[&str]| hostlist(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(list(&["n0", "n1", "n2", "n7"]), "n[0-2,7]");
        assert_eq!(list(&["login", "a1", "b2", "b03"]), "login,a1,b2,b03");
    }
}
