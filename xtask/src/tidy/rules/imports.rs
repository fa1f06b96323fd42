//! Who may know whom. A crate is a promise about what it does not know, and within a crate files that import each other in a
//! circle can only be read together.
//!
//! A *room* is a file or a folder at the top of a crate's `src`. Circles of rooms are counted by crate, and may only become
//! fewer. What the root of a crate passes on counts as what it is: an import from the room that it lives in.

use super::super::{Findings, Rule, tree::File, tree::Tree};
use std::collections::{BTreeMap, BTreeSet};

pub(in super::super) const RULE: Rule = Rule { name: "imports", check };

/// Each crate with the crates that it may import.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("engine", &[]),
    ("wiring", &["engine"]),
    ("fabric", &["engine", "wiring"]),
    ("switch", &["engine", "wiring", "fabric"]),
    ("workload", &["engine", "wiring"]),
    ("nic", &["engine", "wiring", "fabric"]),
    ("process", &["engine", "wiring", "fabric", "nic", "workload"]),
    ("machine", &["engine", "wiring", "fabric", "switch", "nic"]),
    ("reference", &["engine", "wiring", "fabric", "switch", "nic"]),
    ("import", &["machine"]),
    ("report", &["engine", "wiring", "fabric", "switch", "nic", "workload", "process", "machine"]),
    ("experiment", &["engine", "wiring", "fabric", "workload", "process", "machine", "report"]),
    ("python", &["machine", "report", "experiment"]),
    (
        "cli",
        &["engine", "wiring", "fabric", "workload", "process", "machine", "report", "experiment", "import"],
    ),
];

/// What a crate may name of another one, where that is not everything.
const ONLY: &[(&str, &str, &[&str])] = &[
    // Workloads know nodes, and no switches.
    ("workload", "wiring", &["NodeId"]),
    // What runs on a node knows packets, groups and how loaded switches are, and no links.
    (
        "process",
        "wiring",
        &[
            "Destination",
            "GroupId",
            "Groups",
            "NodeId",
            "NodeSet",
            "RailId",
            "SwitchId",
            "multicast",
            "routing",
        ],
    ),
    // What runs on a processor of a host knows operations, and no NIC.
    ("process", "nic", &["host"]),
    // Results do not depend on the kind of NIC.
    ("report", "nic", &["Nic", "NicModel", "Place", "host", "on_nic"]),
];

/// Crates whose rooms may not import each other: no switch knows another.
const SIBLINGS: &[&str] = &["switch"];

/// Rooms that a room may not import.
const APART: &[(&str, &[&str], &[&str])] = &[
    // The loop does not know how shards are made.
    ("fabric", &["simulation"], &["component"]),
    // What is wired does not know how packets find their way.
    ("wiring", &["topology"], &["routing", "dependency", "multicast", "reach"]),
    ("wiring", &["routing"], &["dependency", "multicast", "reach"]),
];

/// Rooms that import each other in a circle, by crate: none in those that are not listed.
const CIRCLES: &[(&str, usize)] = &[];

fn check(tree: &Tree, findings: &mut Findings) {
    let homes = Homes::of(tree);
    let places: BTreeSet<(&str, &str)> =
        tree.rust().filter_map(|file| place(&file.path)).map(|(name, module)| (name, module[0])).collect();
    let is_room = |name: &str, known: &str| places.contains(&(name, known));
    let mut rooms: BTreeMap<&str, BTreeMap<&str, BTreeSet<String>>> = BTreeMap::new();
    for file in tree.rust().filter(|file| !file.is_test) {
        let Some((name, module)) = place(&file.path) else { continue };
        check_crates(file, name, findings);
        let room = module[0];
        let named = imports(file, module.len()).into_iter();
        let named: Vec<(usize, String)> = named.map(|(number, it)| (number, homes.room(name, it))).collect();
        let known = named.iter().map(|(_, room)| room.clone());
        rooms.entry(name).or_default().entry(room).or_default().extend(known);
        for (number, known) in named {
            let is_apart = |(of, from, to): &&(&str, &[&str], &[&str])| {
                *of == name && from.contains(&room) && to.contains(&known.as_str())
            };
            let is_sibling = SIBLINGS.contains(&name) && room != known && is_room(name, &known);
            if is_sibling || APART.iter().any(|apart| is_apart(&apart)) {
                findings.add(&file.path, number, format!("`{room}` may not import `{known}`"));
            }
        }
    }
    for (name, rooms) in rooms {
        let allowed = CIRCLES.iter().find(|(of, _)| *of == name).map_or(0, |&(_, count)| count);
        let circling = circling(&rooms);
        if circling.len() > allowed {
            let list = circling.join(", ");
            let text =
                format!("{list} import each other in a circle, {allowed} rooms may; turn one arrow round");
            findings.add(&format!("crates/{name}/src/{}", circling[0]), 1, text);
        } else if circling.len() < allowed {
            let text = format!("only {} rooms are in circles now; say so in CIRCLES", circling.len());
            findings.add(&format!("crates/{name}"), 1, text);
        }
    }
}

/// Where the names live that the root of a crate has from its rooms: by crate and name.
struct Homes(BTreeMap<(String, String), String>);

impl Homes {
    fn of(tree: &Tree) -> Self {
        let mut homes = BTreeMap::new();
        for file in tree.rust() {
            let ["crates", name, "src", "lib.rs" | "main.rs"] = file.path.split('/').collect::<Vec<_>>()[..]
            else {
                continue;
            };
            let code: Vec<&str> = file.rust_lines().map(|(_, line)| line.code.as_str()).collect();
            for statement in code.join(" ").split(';') {
                let Some((_, path)) = statement.split_once("use ") else { continue };
                let Some((room, names)) = path.split_once("::") else { continue };
                for item in names.split(|c: char| !c.is_alphanumeric() && c != '_') {
                    homes.insert((name.to_string(), item.to_string()), room.trim().to_string());
                }
            }
        }
        Homes(homes)
    }

    /// The room that `item` of the crate lives in.
    fn room(&self, name: &str, item: String) -> String {
        self.0.get(&(name.to_string(), item.clone())).cloned().unwrap_or(item)
    }
}

/// The crate of a file, and its module from the root of the crate; nothing for files that only put rooms together.
fn place(path: &str) -> Option<(&str, Vec<&str>)> {
    let parts: Vec<&str> = path.split('/').collect();
    let ["crates", name, "src", module @ ..] = &parts[..] else { return None };
    let mut module: Vec<&str> = module.iter().map(|part| part.trim_end_matches(".rs")).collect();
    if module.last() == Some(&"mod") {
        module.pop();
    }
    (!["lib", "main"].contains(&module[0])).then_some((name, module))
}

/// Every crate of ours that `file` names must be one that its own may import.
fn check_crates(file: &File, name: &str, findings: &mut Findings) {
    let Some((_, allowed)) = MAY_IMPORT.iter().find(|(of, _)| *of == name) else {
        return findings.add(&file.path, 1, format!("crate `{name}` is not in the table of imports"));
    };
    for (number, line) in file.rust_lines().filter(|(_, line)| !line.is_test) {
        for rest in line.code.split("flitway_").skip(1) {
            let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
            let (other, path) = rest.split_at(end);
            let is_known = MAY_IMPORT.iter().any(|(of, _)| *of == other);
            if is_known && !allowed.contains(&other) {
                findings.add(&file.path, number, format!("crate `{name}` may not import `{other}`"));
            }
            let only = ONLY.iter().find(|(of, from, _)| (*of, *from) == (name, other));
            let Some((.., names)) = only else { continue };
            for item in names_of(path).into_iter().filter(|item| !names.contains(&item.as_str())) {
                let text = format!("crate `{name}` may not know `{item}` of `{other}`");
                findings.add(&file.path, number, text);
            }
        }
    }
}

/// The first names of `::a::b`, or of `::{a::b, c};`.
fn names_of(path: &str) -> Vec<String> {
    let Some(path) = path.strip_prefix("::") else { return Vec::new() };
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let Some(list) = path.strip_prefix('{') else { return vec![word(path)] };
    let (mut depth, mut names, mut at_name) = (0, Vec::new(), true);
    for (index, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => at_name = true,
            _ if letter.is_whitespace() => {}
            _ if at_name && depth == 0 => {
                names.push(word(&list[index..]));
                at_name = false;
            }
            _ => {}
        }
    }
    names
}

/// The rooms of its own crate that `file`, at `depth` in the tree of modules, names outside tests, with lines.
fn imports(file: &File, depth: usize) -> Vec<(usize, String)> {
    let root = format!("{}::", vec!["super"; depth].join("::"));
    let lines: Vec<_> = file.rust_lines().filter(|(_, line)| !line.is_test).collect();
    let mut found = Vec::new();
    for (at, (number, line)) in lines.iter().enumerate() {
        for start in ["crate::", root.as_str()] {
            for (index, _) in line.code.match_indices(start) {
                let before = line.code[..index].chars().next_back();
                if before.is_some_and(|c| c.is_alphanumeric() || c == ':' || c == '$') {
                    continue;
                }
                // A list may go on over some lines.
                let rest = lines[at + 1..].iter().take(12).map(|(_, line)| line.code.as_str());
                let path = std::iter::once(&line.code[index + start.len() - 2..]).chain(rest);
                let path: Vec<&str> = path.collect();
                found.extend(names_of(&path.join(" ")).into_iter().map(|name| (*number, name)));
            }
        }
    }
    found
}

/// The rooms from which a walk along imports comes back.
fn circling<'a>(rooms: &BTreeMap<&'a str, BTreeSet<String>>) -> Vec<&'a str> {
    let comes_back = |start: &str| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![start]);
        while let Some(here) = open.pop() {
            let Some(next) = rooms.get(here) else { continue };
            for next in next.iter().filter(|next| next.as_str() != here) {
                if next == start {
                    return true;
                }
                if seen.insert(next.as_str()) {
                    open.push(next);
                }
            }
        }
        false
    };
    rooms.keys().copied().filter(|room| comes_back(room)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::found;
    use super::*;

    #[test]
    fn imports_against_the_table_are_found() {
        let bad = [
            ("crates/engine/src/time.rs", "use flitway_fabric::Fabric;\n"),
            ("crates/switch/src/hpp/mod.rs", "use crate::{other, sp::Sp};\n"),
            ("crates/switch/src/sp/mod.rs", "use crate::sp::store::Store;\n"),
            ("crates/workload/src/a.rs", "use flitway_wiring::{NodeId, SwitchId};\n"),
            ("crates/new/src/a.rs", "\n"),
        ];
        assert_eq!(
            found(&RULE, &bad),
            [
                "crates/engine/src/time.rs:1: crate `engine` may not import `fabric`",
                "crates/new/src/a.rs:1: crate `new` is not in the table of imports",
                "crates/switch/src/hpp/mod.rs:1: `hpp` may not import `sp`",
                "crates/workload/src/a.rs:1: crate `workload` may not know `SwitchId` of `wiring`",
            ]
        );
    }

    #[test]
    fn circles_of_rooms_are_found() {
        let bad = [
            ("crates/engine/src/a.rs", "use crate::{\n    b::c::{D, E},\n    f,\n};\n"),
            ("crates/engine/src/b/c.rs", "use super::super::d::D;\n"),
            ("crates/engine/src/d.rs", "fn f() { super::a::g() }\n"),
            ("crates/engine/src/f.rs", ""),
        ];
        assert_eq!(
            found(&RULE, &bad),
            [
                "crates/engine/src/a:1: a, b, d import each other in a circle, 0 rooms may; turn one arrow round"
            ]
        );
    }

    #[test]
    fn circles_by_way_of_the_root_are_found() {
        let bad = [
            ("crates/engine/src/a.rs", "use crate::C;\n"),
            ("crates/engine/src/b.rs", "use crate::a::A;\n"),
            ("crates/engine/src/lib.rs", "pub use b::{\n    B, c::C,\n};\n"),
        ];
        let found = found(&RULE, &bad);
        assert!(found.len() == 1 && found[0].contains("a, b import each other in a circle"), "{found:?}");
    }

    #[test]
    fn a_tree_of_rooms_and_its_tests_pass() {
        let good = [
            ("crates/wiring/src/a.rs", "use crate::b::B;\nuse flitway_engine::Cycle;\n"),
            ("crates/wiring/src/b.rs", "use super::c;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n"),
            ("crates/wiring/src/c.rs", "// crate::a is above\n"),
            ("crates/wiring/src/lib.rs", "pub use crate::a::A;\n"),
        ];
        assert_eq!(found(&RULE, &good), [""; 0]);
    }
}
