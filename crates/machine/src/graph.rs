//! Graph files: an explicit topology, as text that people write.
//!
//! ```text
//! # Two switches, three nodes.
//! switch a b
//! node n0..n2              # n0, n1 and n2; they become nodes 0, 1 and 2
//! link a:0 - n0            # port 0 of switch a
//! link a:1 - n1  3 m       # a cable of its own length
//! link b:0 - n2
//! link a:7 - b:7  12 m 100 Gbit/s            # and of its own rate
//! link a:6 - b:6  100 Gbit/s back 50 Gbit/s  # from b to a another one
//! link a:5 - b:5  8 m class trunk            # and with a name for what kind of cable it is
//! server n0 n1             # NIC 0 and NIC 1 of one server
//! at a 0 0                 # where switch a is drawn: from the left, from the top
//! at b 3 0.5
//! ```
//!
//! Each line is empty or one statement; `#` begins a comment. Switches and nodes are numbered in the order in which
//! they are declared, which may be after the links that use them. A link without a length or a rate has that of its class,
//! `node` or `switch`, in the machine file; what is behind `class` names the kind of cable for `flitway export` alone. All
//! problems are reported at once. Either all switches have a line `at`, or none; pictures have no others.

mod foreign;
mod spots;
pub(crate) mod statement;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flitway_wiring::topology::{End, Graph, GraphLink, Names};
use flitway_wiring::{NodeId, PortId, SwitchId};

use crate::code::Code;
use crate::diagnostic::{Diagnostic, Diagnostics, Location, Source};
use crate::input;
use crate::load;
use crate::nearest::nearest;
use crate::units::show;
use statement::{EndText, Name, Statement};

/// The most switches, and the most nodes, of a graph file.
const DECLARED_MAX: usize = 1 << 20;

/// A graph that was read, with the places of its links.
#[derive(Clone, Debug)]
pub struct GraphFile {
    /// The file.
    pub path: PathBuf,
    /// What to build.
    pub graph: Graph,
    /// What its switches and nodes are called.
    pub names: Names,
    /// Where each switch is drawn, across from the left and down from the top, in any unit; empty if the file does not say it.
    pub spots: Vec<[f64; 2]>,
    pub(crate) links: Vec<PlacedLink>,
}

/// A link with its place.
#[derive(Clone, Debug)]
pub(crate) struct PlacedLink {
    pub(crate) length_mm: Option<u64>,
    /// Bits a second: from the first end to the second, and back.
    pub(crate) rates: [Option<u64>; 2],
    pub(crate) class: Option<String>,
    pub(crate) location: Location,
    /// The switch ports it uses, with their places.
    ports: Vec<(u32, Location)>,
}

impl GraphFile {
    /// Reads the text of the graph file `name`.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn from_text(name: &str, text: String) -> Result<GraphFile, Diagnostics> {
        let mut findings = Diagnostics::default();
        parse(name, text, &mut findings).ok_or(findings)
    }

    /// What the file calls the kind of cable of the link of this number.
    #[must_use]
    pub fn class(&self, link: usize) -> Option<&str> {
        self.links.get(link)?.class.as_deref()
    }

    /// Reports every port that a switch of `ports` ports does not have.
    pub(crate) fn check_ports(&self, ports: u32, findings: &mut Diagnostics) {
        for (port, location) in self.links.iter().flat_map(|link| &link.ports) {
            if *port >= ports {
                let message = format!("there is no port {port}: a switch has {ports} ports");
                findings.push(
                    Diagnostic::error(Code::GraphPort, location.clone(), message)
                        .expected(format!("a port from 0 to {}", ports - 1)),
                );
            }
        }
    }
}

/// Reads a graph file. `named_at` is where the machine file names it.
pub(crate) fn read(
    path: &Path,
    named_at: Option<&Location>,
    findings: &mut Diagnostics,
) -> Option<GraphFile> {
    let shown = path.display().to_string();
    match load::read_text(path, &shown, ("graph file", input::MADE_MAX), named_at) {
        Ok(text) => parse(&shown, text, findings),
        Err(problem) => {
            findings.push(problem);
            None
        }
    }
}

/// Reads the text of a graph file.
pub(crate) fn parse(name: &str, text: String, findings: &mut Diagnostics) -> Option<GraphFile> {
    let source = Arc::new(Source { name: name.to_owned(), text });
    if let Some((format, advice)) = foreign::recognised(&source.text) {
        let message = format!("this is {format}, and not a graph file");
        findings.push(Diagnostic::error(Code::GraphLine, Location::whole(&source), message).help(advice));
        return None;
    }
    let mut reader = Reader {
        source: Arc::clone(&source),
        names: BTreeMap::new(),
        switches: Vec::new(),
        nodes: Vec::new(),
        findings: Diagnostics::default(),
    };
    let (mut links, mut servers, mut spots) = (Vec::new(), Vec::new(), Vec::new());
    // With what lines begin that are not understood.
    let mut wrong: BTreeSet<&str> = BTreeSet::new();
    let mut start = 0;
    for line in source.text.split_inclusive('\n') {
        match statement::read(line, start) {
            Ok(Some(Statement::Switches(names))) => reader.declare(names, Kind::Switch),
            Ok(Some(Statement::Nodes(names))) => reader.declare(names, Kind::Node),
            Ok(Some(Statement::Server(names))) => servers.push(names),
            Ok(Some(Statement::Link(link))) => links.push(link),
            Ok(Some(Statement::At(spot))) => spots.push(spot),
            Ok(None) => {}
            Err(problem) => {
                wrong.extend(line.split_whitespace().next());
                reader.findings.push(problem.into_diagnostic(&source));
            }
        }
        start += line.len();
        if reader.findings.has_more() {
            break;
        }
    }
    // What a line would have declared is not missing elsewhere.
    if ["switch", "node"].iter().any(|keyword| wrong.contains(keyword)) {
        findings.extend(reader.findings);
        return None;
    }
    let spots = if wrong.contains("at") { Vec::new() } else { reader.spots(&spots) };
    let file = GraphFile { spots, ..reader.wire(links, servers) };
    let is_right = !reader.findings.has_errors();
    findings.extend(reader.findings);
    is_right.then_some(file)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Switch,
    Node,
}

fn texts(names: &[Name]) -> Vec<String> {
    names.iter().map(|name| name.text.clone()).collect()
}

/// What is known of the file so far.
struct Reader {
    source: Arc<Source>,
    names: BTreeMap<String, (Kind, u32, Range<usize>)>,
    switches: Vec<Name>,
    nodes: Vec<Name>,
    findings: Diagnostics,
}

impl Reader {
    fn at(&self, span: &Range<usize>) -> Location {
        Location::new(&self.source, span.clone())
    }

    fn declare(&mut self, names: Vec<Name>, kind: Kind) {
        for name in names {
            if self.findings.has_more() {
                return;
            }
            let list = if kind == Kind::Switch { &self.switches } else { &self.nodes };
            if list.len() >= DECLARED_MAX {
                let (message, expected) = statement::too_many(list.len() + 1);
                let problem = Diagnostic::error(Code::TooLarge, self.at(&name.span), message);
                self.findings.push(problem.expected(expected));
                return;
            }
            if let Some((_, _, first)) = self.names.get(&name.text) {
                let problem = Diagnostic::error(
                    Code::GraphDuplicate,
                    self.at(&name.span),
                    format!("`{}` is declared twice", show(&name.text)),
                )
                .related(self.at(first), "first here")
                .expected("each name once, of a switch or of a node");
                self.findings.push(problem);
                continue;
            }
            let number = list.len() as u32;
            self.names.insert(name.text.clone(), (kind, number, name.span.clone()));
            if kind == Kind::Switch { self.switches.push(name) } else { self.nodes.push(name) }
        }
    }

    /// Resolves the ends of all links, then checks the whole.
    fn wire(&mut self, links: Vec<statement::Link>, servers: Vec<Vec<Name>>) -> GraphFile {
        let mut taken: BTreeMap<End, Range<usize>> = BTreeMap::new();
        let mut placed = Vec::new();
        let mut graph = Graph::default();
        for link in links {
            let ends = [self.end(&link.ends[0]), self.end(&link.ends[1])];
            let [Some(first), Some(second)] = ends else { continue };
            self.check_ends(&link, first, second);
            let mut ports = Vec::new();
            for (end, text) in [(first, &link.ends[0]), (second, &link.ends[1])] {
                self.take(&mut taken, end, text);
                if let End::Switch(_, port) = end {
                    ports.push((port.0, self.at(&text.span)));
                }
            }
            let (length_mm, rates) = (link.length_mm, link.rates);
            placed.push(PlacedLink {
                length_mm,
                rates,
                class: link.class,
                location: self.at(&link.span),
                ports,
            });
            graph.links.push(GraphLink { ends: [first, second], length_mm: link.length_mm });
        }
        graph.servers = self.servers(&servers);
        graph.nodes = self.nodes.len() as u32;
        graph.switches = self.switches.len() as u32;
        if !self.findings.has_errors() {
            self.check_whole(&graph, &taken);
        }
        GraphFile {
            path: PathBuf::from(&self.source.name),
            graph,
            names: Names::new(texts(&self.switches), texts(&self.nodes)),
            spots: Vec::new(),
            links: placed,
        }
    }

    /// The nodes of each server. A node is in one.
    fn servers(&mut self, servers: &[Vec<Name>]) -> Vec<Vec<NodeId>> {
        let mut taken: BTreeMap<u32, &Name> = BTreeMap::new();
        let mut all = Vec::new();
        for server in servers {
            let mut nodes = Vec::new();
            for name in server {
                let Some(number) = self.node(name) else { continue };
                if let Some(first) = taken.insert(number, name) {
                    let which =
                        if nodes.contains(&NodeId(number)) { "twice in a server" } else { "in two servers" };
                    let message = format!("node `{}` is {which}", show(&name.text));
                    let problem = Diagnostic::error(Code::GraphDuplicate, self.at(&name.span), message)
                        .related(self.at(&first.span), "first here")
                        .expected("each node in one server, or in none");
                    self.findings.push(problem);
                }
                nodes.push(NodeId(number));
            }
            all.push(nodes);
        }
        all
    }

    /// The number of the node `name`.
    fn node(&mut self, name: &Name) -> Option<u32> {
        match self.names.get(&name.text) {
            Some((Kind::Node, number, _)) => Some(*number),
            known => {
                let message = match known {
                    Some(_) => format!("`{}` is a switch, and a server has nodes", show(&name.text)),
                    None => format!("no node is named `{}`", show(&name.text)),
                };
                let nodes = self.names.iter().filter(|(_, (kind, ..))| *kind == Kind::Node);
                let meant = nearest(&name.text, nodes.map(|(name, _)| name.as_str()));
                let problem = Diagnostic::error(Code::GraphUnknown, self.at(&name.span), message)
                    .expected("the name of a node that the file declares")
                    .maybe_help(meant.map(|name| format!("did you mean `{name}`?")));
                self.findings.push(problem);
                None
            }
        }
    }

    fn end(&mut self, text: &EndText) -> Option<End> {
        let Some((kind, number, _)) = self.names.get(&text.name) else {
            let meant = nearest(&text.name, self.names.keys().map(String::as_str));
            let help = meant.map(|name| format!("did you mean `{name}`?"));
            let message = format!("nothing is named `{}`", show(&text.name));
            let problem = Diagnostic::error(Code::GraphUnknown, self.at(&text.span), message)
                .expected("the name of a switch or node that the file declares")
                .maybe_help(help);
            self.findings.push(problem);
            return None;
        };
        match (kind, text.port) {
            (Kind::Switch, Some(port)) => Some(End::Switch(SwitchId(*number), PortId(port))),
            (Kind::Node, None) => Some(End::Node(NodeId(*number))),
            (Kind::Switch, None) => {
                let name = &text.name;
                let message = format!("the port of switch `{}` is missing", show(name));
                let problem = Diagnostic::error(Code::GraphPort, self.at(&text.span), message)
                    .expected(format!("a switch with its port, for example {}:0", show(name)));
                self.findings.push(problem);
                None
            }
            (Kind::Node, Some(_)) => {
                let message = format!("`{}` is a node, and a node has no port numbers", show(&text.name));
                let problem = Diagnostic::error(Code::GraphPort, self.at(&text.span), message)
                    .expected(format!("`{}` alone", show(&text.name)));
                self.findings.push(problem);
                None
            }
        }
    }

    fn check_ends(&mut self, link: &statement::Link, first: End, second: End) {
        let problem = match (first, second) {
            (End::Node(_), End::Node(_)) => "a link joins two nodes",
            (End::Switch(a, _), End::Switch(b, _)) if a == b => "a link joins a switch to itself",
            _ => return,
        };
        let problem = Diagnostic::error(Code::GraphEnds, self.at(&link.span), problem)
            .expected("two different switches, or a switch and a node");
        self.findings.push(problem);
    }

    fn take(&mut self, taken: &mut BTreeMap<End, Range<usize>>, end: End, text: &EndText) {
        let Some(first) = taken.insert(end, text.span.clone()) else { return };
        let (message, expected) = match end {
            End::Node(_) => (
                format!("node `{}` is linked twice", show(&text.name)),
                "one link of a node: networks that are alike are `rails = 2` of one graph",
            ),
            End::Switch(_, port) => {
                let message = format!("port {port} of switch `{}` is used twice", show(&text.name));
                (message, "another port: a port carries one link")
            }
        };
        let problem = Diagnostic::error(Code::GraphEndTaken, self.at(&text.span), message)
            .related(self.at(&first), "first here")
            .expected(expected);
        self.findings.push(problem);
        taken.insert(end, first);
    }

    fn check_whole(&mut self, graph: &Graph, taken: &BTreeMap<End, Range<usize>>) {
        if graph.nodes == 0 || graph.switches == 0 {
            let what = if graph.switches == 0 { "switches" } else { "nodes" };
            let at = Location::whole(&self.source);
            let problem = Diagnostic::error(Code::Empty, at, format!("the graph file declares no {what}"));
            self.findings
                .push(problem.expected("lines `switch NAME ...`, `node NAME ...` and `link END - END`"));
            return;
        }
        for (number, name) in self.nodes.iter().enumerate() {
            if !taken.contains_key(&End::Node(NodeId::new(number))) {
                let problem = Diagnostic::error(
                    Code::GraphUnlinked,
                    self.at(&name.span),
                    format!("node `{}` has no link", show(&name.text)),
                );
                self.findings.push(problem.expected("one link to a switch"));
            }
        }
        let reached = reachable(graph);
        let lost: Vec<&Name> = self
            .switches
            .iter()
            .zip(&reached)
            .filter(|(_, reached)| !**reached)
            .map(|(name, _)| name)
            .collect();
        if let Some(first) = lost.first() {
            let root = &self.switches[0];
            let message = match lost.len() {
                1 => format!(
                    "switch `{}` cannot be reached from switch `{}`",
                    show(&first.text),
                    show(&root.text)
                ),
                more => format!(
                    "{more} switches cannot be reached from switch `{}`, the first is `{}`",
                    show(&root.text),
                    show(&first.text)
                ),
            };
            let problem = Diagnostic::error(Code::GraphDisconnected, self.at(&first.span), message);
            let help = format!("join them, for example `{}`", self.joining(&reached, taken));
            self.findings.push(problem.expected("links that join all switches").help(help));
        }
    }

    /// A link from a switch that is `reached` to one that is not. It begins where a low port is left: there is most room.
    fn joining(&self, reached: &[bool], taken: &BTreeMap<End, Range<usize>>) -> String {
        let free = |number: usize| {
            let is_taken = |port| taken.contains_key(&End::Switch(SwitchId::new(number), PortId(port)));
            (0..).find(|&port| !is_taken(port)).unwrap_or(0)
        };
        let (near, far): (Vec<usize>, Vec<usize>) = (0..reached.len()).partition(|&number| reached[number]);
        let near = near.into_iter().min_by_key(|&number| free(number));
        let ends = near.into_iter().chain(far.into_iter().take(1));
        let ends = ends.map(|number| format!("{}:{}", show(&self.switches[number].text), free(number)));
        format!("link {}", ends.collect::<Vec<_>>().join(" - "))
    }
}

/// Which switches links lead to from switch 0.
fn reachable(graph: &Graph) -> Vec<bool> {
    let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); graph.switches as usize];
    for link in &graph.links {
        if let [End::Switch(a, _), End::Switch(b, _)] = link.ends {
            neighbours[a.index()].push(b.index());
            neighbours[b.index()].push(a.index());
        }
    }
    let mut reached = vec![false; neighbours.len()];
    let mut pending = vec![0];
    while let Some(switch) = pending.pop() {
        if !std::mem::replace(&mut reached[switch], true) {
            pending.extend(&neighbours[switch]);
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<GraphFile, String> {
        let mut findings = Diagnostics::default();
        parse("test.graph", text.to_owned(), &mut findings).ok_or_else(|| findings.to_string())
    }

    #[test]
    fn the_example_of_this_module_is_read() {
        let text = "# Two switches, three nodes.\nswitch a b\nnode n0..n2 # three\nlink a:0 - n0\n\
                    link a:1 - n1  3 m\nlink b:0-n2\nlink a:7 - b:7 12m\n";
        let file = read(text).unwrap();
        assert_eq!((file.graph.switches, file.graph.nodes), (2, 3));
        assert_eq!(file.names.switches(), ["a", "b"]);
        assert_eq!(file.names.nodes(), ["n0", "n1", "n2"]);
        let port = |switch, port| End::Switch(SwitchId(switch), PortId(port));
        let link = |a, b, length_mm| GraphLink { ends: [a, b], length_mm };
        let node = |number| End::Node(NodeId(number));
        assert_eq!(
            file.graph.links,
            [
                link(port(0, 0), node(0), None),
                link(port(0, 1), node(1), Some(3_000)),
                link(port(1, 0), node(2), None),
                link(port(0, 7), port(1, 7), Some(12_000)),
            ]
        );
    }

    #[test]
    fn names_can_be_declared_after_their_use_and_contain_hyphens() {
        assert!(read("link leaf-1:0 - n-0\nnode n-0\nswitch leaf-1").is_ok());
    }

    #[test]
    fn servers_have_nodes_that_are_there_and_in_no_other_server() {
        let links = "switch s\nnode n0..n3\nlink s:0-n0\nlink s:1-n1\nlink s:2-n2\nlink s:3-n3\n";
        let servers = |lines: &str| read(&format!("{links}{lines}"));
        let nodes = |numbers: [u32; 2]| numbers.map(NodeId).to_vec();
        assert_eq!(
            servers("server n2 n0\nserver n1 n3").unwrap().graph.servers,
            [nodes([2, 0]), nodes([1, 3])]
        );
        for (lines, told) in [
            ("server n0 n1\nserver n1 n2", "node `n1` is in two servers"),
            ("server n0 n1 n0", "node `n0` is twice in a server"),
            ("server n0 m1", "no node is named `m1`"),
            ("server n0 s", "`s` is a switch, and a server has nodes"),
            ("server", "a name is missing"),
        ] {
            let problem = servers(lines).unwrap_err();
            assert!(problem.contains(told), "{problem}");
        }
    }

    /// Names that a line would have declared are not missing where they are used.
    #[test]
    fn a_wrong_name_hides_no_others() {
        let problems = read("switch a b\u{e9} c\nnode n\nlink n - a:0\nlink a:1 - c:0").unwrap_err();
        assert!(problems.contains("is not a name") && !problems.contains("nothing is named"), "{problems}");
        let places =
            read("switch a b\nnode n\nlink n - a:0\nlink a:1 - b:1\nat a 0 x\nat b 1 0").unwrap_err();
        assert!(places.contains("`x` is not a number") && !places.contains("has no line `at`"), "{places}");
    }

    #[test]
    fn a_class_ends_the_line_of_its_link() {
        let link = |rest: &str| read(&format!("switch a b\nnode n\nlink n - a:0\nlink a:1 - b:1 {rest}"));
        assert_eq!(link("12 m class trunk").unwrap().class(1), Some("trunk"));
        for (rest, told) in [
            ("12 m class", "the name behind `class` is missing"),
            ("class", "the name behind `class` is missing"),
            ("class trunk 12 m", "`12` stands behind `class NAME`, which ends the line"),
        ] {
            let problem = link(rest).unwrap_err();
            assert!(problem.contains(told) && problem.contains("[class NAME]"), "{problem}");
        }
    }

    #[test]
    fn an_endless_range_is_refused_without_listing_it() {
        assert!(
            read("switch s\nnode n0..n4000000000").unwrap_err().contains("4000000001 names are too many")
        );
    }

    #[test]
    fn a_thousand_problems_are_not_all_listed() {
        let problems = read("switch s\nnode n0..n999\nnode n0..n999\nnode n0..n999").unwrap_err();
        assert!(problems.contains("there are more problems than these 100"));
        assert_eq!(problems.matches("declared twice").count(), 100);
    }
}
