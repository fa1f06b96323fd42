//! `topology.conf` of Slurm, for its plugin `topology/tree`; and `topology.yaml`, which says the same ([`yaml`]).
//!
//! ```text
//! SwitchName=s0 Nodes=n[0-3,7]
//! SwitchName=s1 Nodes=n[4-6]
//! SwitchName=top Switches=s[0-1]
//! ```
//!
//! It says which switch is below which, and not by how many cables: one is taken.

mod hostlist;
mod yaml;

use crate::fabric::{Cable, End, Fabric, NicPort, Read, Switch};
use crate::lines::{Text, lines};
use flitway_machine::{Source, nearest, show};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// How a line reads.
const FORM: &str = "`SwitchName=NAME Nodes=LIST` or `SwitchName=NAME Switches=LIST`";

/// How a list reads.
const LIST: &str = "names, such as n[0-3,7],login, of which there are at most 1048576";

/// Whether `line` is one of such a file.
pub(crate) fn is_line(line: &str) -> bool {
    let key = line.split('=').next().unwrap_or("");
    let is_conf = ["switchname", "blockname"].contains(&key.trim().to_ascii_lowercase().as_str());
    is_conf && line.contains('=') || yaml::is_line(line)
}

/// Reads such a file.
pub(crate) fn read(source: &Arc<Source>) -> Read<Fabric> {
    let mut reader = Reader {
        text: Text::new(source),
        fabric: Fabric::default(),
        switches: BTreeMap::new(),
        nodes: BTreeMap::new(),
        below: Vec::new(),
    };
    if yaml::is_yaml(&reader.text) {
        yaml::read(&mut reader);
    } else {
        reader.read_lines(source);
    }
    reader.join();
    let Reader { text, mut fabric, .. } = reader;
    let note = "one cable from a switch to each that is below it: Slurm does not say how many there are";
    fabric.notes.guessed.push(note.to_owned());
    text.done(fabric)
}

struct Reader {
    text: Text,
    fabric: Fabric,
    switches: BTreeMap<String, (usize, Range<usize>)>,
    nodes: BTreeMap<String, Range<usize>>,
    /// Switches with what is below them.
    below: Vec<(usize, String, Range<usize>)>,
}

impl Reader {
    fn read_lines(&mut self, source: &Source) {
        let mut whole = String::new();
        let mut begin = None;
        for line in lines(&source.text) {
            let body = line.text.split('#').next().unwrap_or("").trim();
            let span = begin.get_or_insert(line.span()).start..line.span().end;
            whole.push_str(body.strip_suffix('\\').unwrap_or(body));
            // A line that ends so goes on in the next one.
            if body.ends_with('\\') {
                whole.push(' ');
                continue;
            }
            if !whole.trim().is_empty() {
                self.line(&whole, &span);
            }
            whole.clear();
            begin = None;
        }
    }

    fn line(&mut self, line: &str, span: &Range<usize>) {
        let (mut name, mut lists) = (None, Vec::new());
        for word in line.split_whitespace() {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            match key.to_ascii_lowercase().as_str() {
                "switchname" => name = Some(value),
                "nodes" => lists.push((true, value)),
                "switches" => lists.push((false, value)),
                "linkspeed" => {}
                _ => {
                    let message = format!("`{}` is no key of a switch", show(word));
                    return self.text.wrong(span, message, FORM);
                }
            }
        }
        self.switch(name, &lists, span, FORM);
    }

    /// A switch with lists of nodes, or of switches, that are below it. `form` is how it reads.
    fn switch(&mut self, name: Option<&str>, lists: &[(bool, &str)], span: &Range<usize>, form: &str) {
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return self.text.wrong(span, "the name of the switch is missing", form);
        };
        let switch = self.fabric.switches.len();
        if let Some((_, first)) = self.switches.insert(name.to_owned(), (switch, span.clone())) {
            let message = format!("switch `{}` is there already", show(name));
            self.text.contradicts(span, message, (&first, "one line for each switch"));
        }
        self.fabric.switches.push(Switch { name: name.to_owned(), ..Switch::default() });
        for &(is_nodes, list) in lists {
            let Some(names) = hostlist::expanded(list) else {
                let message = format!("`{}` is not a list of names", show(list));
                return self.text.wrong(span, message, LIST);
            };
            for below in names {
                if is_nodes {
                    self.node(switch, below, span)
                } else {
                    self.below.push((switch, below, span.clone()))
                }
            }
        }
    }

    fn node(&mut self, switch: usize, node: String, span: &Range<usize>) {
        if let Some(first) = self.nodes.insert(node.clone(), span.clone()) {
            let message = format!("node `{}` is below two switches", show(&node));
            return self.text.contradicts(span, message, (&first, "one switch for each node"));
        }
        let ends = [End::Switch(switch, None), End::Nic(self.fabric.nics.len())];
        self.fabric.cables.push(Cable { ends, rates: [None, None], length_mm: None, class: None });
        self.fabric.nics.push(NicPort { node: node.clone(), name: node, ..NicPort::default() });
    }

    /// Joins switches with those below them, which may stand on later lines.
    fn join(&mut self) {
        for (above, name, span) in std::mem::take(&mut self.below) {
            let Some((below, _)) = self.switches.get(&name) else {
                let meant = nearest(&name, self.switches.keys().map(String::as_str));
                let meant = meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
                let message = format!("no switch is called `{}`", show(&name));
                self.text.wrong(&span, message, &format!("a switch with a line of its own{meant}"));
                continue;
            };
            if *below == above {
                self.text.wrong(&span, format!("switch `{}` is below itself", show(&name)), "other switches");
                continue;
            }
            let ends = [End::Switch(above, None), End::Switch(*below, None)];
            self.fabric.cables.push(Cable { ends, rates: [None, None], length_mm: None, class: None });
        }
    }
}
