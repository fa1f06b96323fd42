//! `topology.yaml` of Slurm, from version 25.05 on: several topologies by name, of which trees have switches.
//!
//! ```yaml
//! - topology: fabric
//!   cluster_default: true
//!   tree:
//!     switches:
//!       - switch: top
//!         children: s[0-1]
//!       - switch: s0
//!         nodes: n[0-3,7]
//! ```
//!
//! The default one is taken, or else the first tree.

use super::{LIST, Reader};
use crate::lines::Text;
use flitway_machine::show;
use saphyr::{LoadableYamlNode, MarkedYaml, YamlData};
use std::ops::Range;

/// How a switch reads.
const FORM: &str = "`- switch: NAME`, with `nodes: LIST` or `children: LIST`";

/// How a file reads.
const FILE: &str = "`- topology: NAME` with a `tree:` that has `switches:`";

/// Whether `line` is one of such a file.
pub(super) fn is_line(line: &str) -> bool {
    line.trim_start_matches(['-', ' ']).starts_with("topology:")
}

/// A value, and where it is in the text.
type Node<'a> = MarkedYaml<'a>;

/// Reads the default tree of the file.
pub(super) fn read(reader: &mut Reader) {
    let source = reader.text.source.clone();
    let places = Places::new(&source.text);
    let documents = match Node::load_from_str(&source.text) {
        Ok(documents) => documents,
        Err(error) => {
            let at = places.byte(error.marker().index());
            return reader.text.wrong(&(at..at), format!("this is not YAML: {}", error.info()), FILE);
        }
    };
    let topologies: Vec<&Node<'_>> = documents.iter().flat_map(items).collect();
    let trees = || topologies.iter().filter(|it| value(it, "tree").is_some());
    let is_default =
        |it: &&&Node<'_>| value(it, "cluster_default").is_some_and(|it| it.data.as_bool() == Some(true));
    let Some(topology) = trees().find(is_default).or_else(|| trees().next()) else {
        let message = "there is no tree in it: topologies of blocks and flat ones say no switches";
        return reader.text.wrong(&(0..0), message, FILE);
    };
    let others = topologies.len() - 1;
    if others > 0 {
        let name = value(topology, "topology").and_then(|it| it.data.as_str()).unwrap_or("");
        let note = format!("other topologies than `{}`: {others}", show(name));
        reader.fabric.notes.dropped.push(note);
    }
    let switches = value(topology, "tree").and_then(|tree| value(tree, "switches"));
    let Some(YamlData::Sequence(switches)) = switches.map(|it| &it.data) else {
        return reader.text.wrong(&places.of(topology), "the tree has no list of switches", FILE);
    };
    for switch in switches {
        read_switch(reader, &places, switch);
    }
}

fn read_switch(reader: &mut Reader, places: &Places, switch: &Node<'_>) {
    let span = places.of(switch);
    let YamlData::Mapping(pairs) = &switch.data else {
        return reader.text.wrong(&span, "this is no switch", FORM);
    };
    let (mut name, mut lists) = (None, Vec::new());
    for (key, value) in pairs {
        let Some(written) = value.data.as_str() else {
            return reader.text.wrong(&places.of(value), "this is no text", LIST);
        };
        match key.data.as_str().unwrap_or("") {
            "switch" => name = Some(written),
            "nodes" => lists.push((true, written)),
            "children" => lists.push((false, written)),
            other => {
                let message = format!("`{}` is no key of a switch", show(other));
                return reader.text.wrong(&places.of(key), message, FORM);
            }
        }
    }
    reader.switch(name, &lists, &span, FORM);
}

/// The members of a list; a single value is its own.
fn items<'a, 'text>(node: &'a Node<'text>) -> impl Iterator<Item = &'a Node<'text>> {
    let (list, single) = match &node.data {
        YamlData::Sequence(list) => (Some(list.iter()), None),
        _ => (None, Some(node)),
    };
    list.into_iter().flatten().chain(single)
}

/// What `node` has under `key`.
fn value<'a, 'text>(node: &'a Node<'text>, key: &str) -> Option<&'a Node<'text>> {
    let YamlData::Mapping(pairs) = &node.data else { return None };
    pairs.iter().find(|(known, _)| known.data.as_str() == Some(key)).map(|(_, value)| value)
}

/// The byte of each character of a text, and its end.
struct Places(Vec<usize>);

impl Places {
    fn new(text: &str) -> Self {
        Places(text.char_indices().map(|(byte, _)| byte).chain([text.len()]).collect())
    }

    fn byte(&self, character: usize) -> usize {
        self.0[character.min(self.0.len() - 1)]
    }

    /// The first line of a value.
    fn of(&self, node: &Node<'_>) -> Range<usize> {
        self.byte(node.span.start.index())..self.byte(node.span.end.index())
    }
}

/// Whether the text is YAML, and not lines of `topology.conf`.
pub(super) fn is_yaml(text: &Text) -> bool {
    let mut lines = text.source.text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.find(|line| !line.starts_with('#') && *line != "---").is_some_and(is_line)
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use flitway_machine::Source;
    use std::sync::Arc;

    fn problem(text: &str) -> String {
        let source = Arc::new(Source { name: "topology.yaml".into(), text: text.to_owned() });
        read(&source).unwrap_err().to_string()
    }

    fn tree(switches: &str) -> String {
        format!("- topology: fabric\n  tree:\n    switches:\n{switches}")
    }

    #[test]
    fn what_is_wrong_with_it_is_said_with_its_place() {
        let cases = [
            ("- topology: flat\n  flat: true\n".to_owned(), "there is no tree in it"),
            ("- topology: [\n".to_owned(), "this is not YAML"),
            ("- topology: t\n  tree: {}\n".to_owned(), "the tree has no list of switches"),
            (tree("      - nodes: n0\n"), "the name of the switch is missing"),
            (tree("      - switch: s0\n        nods: n0\n"), "`nods` is no key of a switch"),
            (tree("      - switch: s0\n        nodes: n[0-\n"), "is not a list of names"),
            (tree("      - switch: s0\n        nodes: [n0, n1]\n"), "this is no text"),
            (tree("      - switch: s0\n        children: s1\n"), "no switch is called `s1`"),
        ];
        for (text, told) in cases {
            let problem = problem(&text);
            assert!(problem.contains(told), "{text}\n{problem}");
            assert!(problem.contains("topology.yaml"), "{problem}");
        }
    }

    #[test]
    fn places_are_those_of_the_text_behind_letters_of_several_bytes() {
        let problem = problem(&format!("# Gebäude\n{}", tree("      - switch: s0\n        nods: n0\n")));
        assert!(problem.contains("topology.yaml:6:9"), "{problem}");
    }
}
