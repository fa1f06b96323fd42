//! Files of BookSim's `anynet`.
//!
//! ```text
//! router 0 node 0 node 1 router 1 15     (of BookSim)
//! ```
//!
//! What begins a line is linked to all that follow. A number behind one is the latency of its channel in cycles, 1 unless
//! given. A link that both of its ends list is one link.

use crate::fabric::{Cable, End, Fabric, NicPort, Read, Switch};
use crate::lines::{Line, Text, lines};
use flitway_machine::{Source, show};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::sync::Arc;

/// The word for a switch.
const SWITCH: &str = "router"; // of BookSim

/// The word for a node.
const NODE: &str = "node";

/// How a line reads.
const FORM: &str = "`router NUMBER`, then `router NUMBER [CYCLES]` or `node NUMBER [CYCLES]` for each link"; // of BookSim

/// What a cycle of latency is as the length of a cable: 0.64 ns of the usual clock, at 5 ns/m.
const MILLIMETRES_A_CYCLE: u64 = 128;

/// The longest latency, in cycles.
const CYCLES_MAX: u64 = 1 << 20;

/// A switch or a node, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    Switch(u32),
    Node(u32),
}

/// Whether `line` is one of such a file.
pub(crate) fn is_line(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let begins = words.next().is_some_and(|word| [SWITCH, NODE].contains(&word));
    begins && words.next().is_some_and(|word| word.parse::<u32>().is_ok())
}

/// Reads such a file.
pub(crate) fn read(source: &Arc<Source>) -> Read<Fabric> {
    let mut reader = Reader { text: Text::new(source), links: BTreeMap::new(), differ: 0 };
    for line in lines(&source.text).filter(|line| !line.text.trim().is_empty()) {
        reader.line(&line);
    }
    let fabric = reader.fabric();
    reader.text.done(fabric)
}

/// A latency, and the line that says it.
type Said = (Option<u64>, Range<usize>);

struct Reader {
    text: Text,
    /// By their ends, the lesser one first.
    links: BTreeMap<(Name, Name), Said>,
    /// Links with another latency each way.
    differ: usize,
}

impl Reader {
    fn line(&mut self, line: &Line<'_>) {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        let mut rest = words.as_slice();
        let mut from = None;
        while !rest.is_empty() {
            let Some((name, latency, after)) = item(rest) else {
                let message = format!("`{}` names no switch and no node", show(rest[0]));
                return self.text.wrong(&line.span(), message, FORM);
            };
            rest = after;
            match from {
                None if latency.is_some() => {
                    return self.text.wrong(&line.span(), "a latency before the first link", FORM);
                }
                None => from = Some(name),
                Some(from) => self.link(from, name, latency, line),
            }
        }
    }

    fn link(&mut self, from: Name, to: Name, latency: Option<u64>, line: &Line<'_>) {
        match (from, to) {
            (Name::Node(_), Name::Node(_)) => {
                return self.text.wrong(&line.span(), "a link joins two nodes", FORM);
            }
            (a, b) if a == b => {
                return self.text.wrong(&line.span(), "a link joins a switch to itself", FORM);
            }
            _ => {}
        }
        match self.links.entry((from.min(to), from.max(to))) {
            Entry::Vacant(place) => {
                place.insert((latency, line.span()));
            }
            // The other way of a link.
            Entry::Occupied(mut place) => {
                let (known, _) = place.get_mut();
                self.differ += usize::from(known.unwrap_or(1) != latency.unwrap_or(known.unwrap_or(1)));
                *known = (*known).max(latency);
            }
        }
    }

    fn fabric(&mut self) -> Fabric {
        let mut fabric = Fabric::default();
        let mut numbers: BTreeMap<Name, usize> = BTreeMap::new();
        for name in self.links.keys().flat_map(|(a, b)| [*a, *b]) {
            numbers.insert(name, 0);
        }
        for (name, place) in &mut numbers {
            match name {
                Name::Switch(number) => {
                    *place = fabric.switches.len();
                    fabric.switches.push(Switch { name: format!("s{number}"), ..Switch::default() });
                }
                Name::Node(number) => {
                    *place = fabric.nics.len();
                    let name = format!("n{number}");
                    fabric.nics.push(NicPort { node: name.clone(), name, ..NicPort::default() });
                }
            }
        }
        let mut homes: BTreeMap<Name, Range<usize>> = BTreeMap::new();
        for ((a, b), (latency, span)) in &self.links {
            for node in [a, b].into_iter().filter(|name| matches!(name, Name::Node(_))) {
                if let Some(first) = homes.insert(*node, span.clone()) {
                    let message = format!("{} has two links", told(*node));
                    self.text.contradicts(span, message, (&first, "one link of each node"));
                }
            }
            let end = |name: &Name| match name {
                Name::Switch(_) => End::Switch(numbers[name], None),
                Name::Node(_) => End::Nic(numbers[name]),
            };
            let length_mm = Some(latency.unwrap_or(1) * MILLIMETRES_A_CYCLE);
            fabric.cables.push(Cable { ends: [end(a), end(b)], rates: [None, None], length_mm, class: None });
        }
        let notes = &mut fabric.notes;
        notes.taken.push("switch N is sN, node N is nN; ports in the order of the links".to_owned());
        notes
            .taken
            .push("a cycle of latency is 128 mm of cable: a cycle at 1.5625 GHz and 5 ns/m".to_owned());
        if self.differ > 0 {
            let note = format!("the shorter latency of {} links with another one each way", self.differ);
            notes.dropped.push(note);
        }
        fabric
    }
}

/// What `words` begin with: a name, perhaps with a latency, and what is left.
fn item<'a>(words: &'a [&'a str]) -> Option<(Name, Option<u64>, &'a [&'a str])> {
    let [kind, number, rest @ ..] = words else { return None };
    let number = number.parse::<u32>().ok()?;
    let name = match *kind {
        SWITCH => Name::Switch(number),
        NODE => Name::Node(number),
        _ => return None,
    };
    let latency = rest.first().and_then(|word| word.parse::<u64>().ok()).filter(|it| *it <= CYCLES_MAX);
    Some((name, latency, &rest[usize::from(latency.is_some())..]))
}

fn told(name: Name) -> String {
    match name {
        Name::Switch(number) => format!("switch {number}"),
        Name::Node(number) => format!("node {number}"),
    }
}
