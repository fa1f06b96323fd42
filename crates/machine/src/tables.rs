//! Forwarding tables as text: which way each switch sends what is for whom.
//!
//! ```text
//! # Three switches in a row, a node at each; ports as in the graph file.
//! switch a
//! to n0 port 0
//! to n1 n2 port 7           # or: to n1..n2 port 7
//! switch b
//! to n0 port 6
//! to n1 port 0
//! to n2 port 7 class 1      # on virtual channels of class 1
//! begin n2 class 1          # so do packets that nodes of b send to n2
//! ```
//!
//! Instead of `begin`, packets can have service levels:
//!
//! ```text
//! levels classes 0 1 1                 # before the first switch, of all: level 0 takes class 0, levels 1 and 2 class 1
//! from n0 n1 to n2 level 1             # packets of n0 and n1 for n2 have level 1; others have level 0
//! switch b
//! levels in 6 out 7..8 classes 1 - 0   # of b, from port 6 to ports 7 and 8: packets of level 1 are dropped
//! ```
//!
//! Each line is empty or one statement; `#` begins a comment. `switch` names those that the lines below it are of.
//! Switches and nodes are called as in the graph file, or by number; `n1..n4` and `1..4` are several. Without `class` a
//! packet keeps that of virtual channels it has come in on, and what nodes of the switch send begins in class 0. Where there is
//! a line `levels` or `from`, a hop takes the class of the packet's level, unless its entry says one: that of a line of these
//! two ports, else of one of the switch, else of one of all switches, else the class with the number of the level.

mod levels;

use crate::code::Code;
use crate::diagnostic::{Diagnostic, Diagnostics, Location, Source};
use crate::digest::Digest;
use crate::graph::statement::{Name, range, words};
use crate::input;
use crate::load;
use crate::nearest::nearest;
use crate::units::show;
use flitway_wiring::routing::{ForwardingTables, LEVELS, TableFault};
use flitway_wiring::topology::Topology;
use flitway_wiring::{NodeId, PortId, SwitchId};
use levels::Levels;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Forwarding tables that were read.
#[derive(Clone, Debug)]
pub struct TableFile {
    /// The file.
    pub path: PathBuf,
    /// What it says.
    pub tables: Arc<ForwardingTables>,
    /// The SHA-256 of its text.
    pub digest: String,
}

const TO: &str = "`to NODE ... port NUMBER [class NUMBER]`, for example `to n0..n7 port 3`";
const BEGIN: &str = "`begin NODE ... class NUMBER`, for example `begin n0..n7 class 1`";

/// Reads forwarding tables for `topology`. `named_at` is where the machine file
/// names them.
pub(crate) fn read(
    path: &Path,
    named_at: Option<&Location>,
    topology: &Topology,
    findings: &mut Diagnostics,
) -> Option<TableFile> {
    let shown = path.display().to_string();
    let text = load::read_text(path, &shown, ("file of forwarding tables", input::MADE_MAX), named_at)
        .map_err(|problem| findings.push(problem))
        .ok()?;
    let source = Arc::new(Source { name: shown, text });
    let mut reader = Reader::new(&source, topology);
    let mut start = 0;
    for line in source.text.split_inclusive('\n') {
        if let Err(problem) = reader.line(line.split('#').next().unwrap_or(""), start) {
            reader.findings.push(*problem);
        }
        start += line.len();
        if reader.findings.has_more() {
            break;
        }
    }
    reader.end_levels();
    if !reader.findings.has_errors() {
        reader.check(topology);
    }
    let is_right = !reader.findings.has_errors();
    findings.extend(reader.findings);
    is_right.then(|| TableFile {
        path: path.to_owned(),
        tables: Arc::new(reader.tables),
        digest: Digest::of(&source.text),
    })
}

type Parsed<T> = Result<T, Box<Diagnostic>>;

/// What is known of the file so far.
struct Reader<'a> {
    source: &'a Arc<Source>,
    switches: Names<'a>,
    nodes: Names<'a>,
    tables: ForwardingTables,
    levels: Levels,
    /// The switches that lines are of, if they are known; nothing before the first line that names some.
    current: Option<Vec<SwitchId>>,
    /// Where each switch is named.
    headings: HashMap<SwitchId, Range<usize>>,
    /// Where each entry stands.
    places: HashMap<(SwitchId, NodeId), Range<usize>>,
    /// The same of what begins.
    begins: HashMap<(SwitchId, NodeId), Range<usize>>,
    findings: Diagnostics,
}

/// What switches or nodes are called.
struct Names<'a> {
    /// `switch` or `node`.
    kind: &'static str,
    count: u32,
    numbers: BTreeMap<&'a str, u32>,
    names: &'a [String],
}

impl<'a> Names<'a> {
    fn new(kind: &'static str, count: u32, names: &'a [String]) -> Self {
        let numbers = names.iter().map(String::as_str).zip(0..).collect();
        Names { kind, count, numbers, names }
    }

    /// What number `number` is called.
    fn name(&self, number: impl Display + Copy, index: usize) -> String {
        let name = self.names.get(index).map_or_else(|| number.to_string(), Clone::clone);
        format!("{} {}", self.kind, show(&name))
    }

    /// The numbers that `word` stands for; or what is wrong with it, and what may be meant.
    fn numbers(&self, word: &Name) -> Result<Vec<u32>, (String, Option<String>)> {
        let text = word.text.as_str();
        let Some((first, last)) = text.split_once("..") else { return Ok(vec![self.number(text)?]) };
        if let Some((stem, numbers)) = range(first, last) {
            return numbers.map(|number| self.number(&format!("{stem}{number}"))).collect();
        }
        match (first.parse::<u32>(), last.parse::<u32>()) {
            (Ok(from), Ok(to)) if from <= to => Ok((self.number(first)?..=self.number(last)?).collect()),
            _ => Err((format!("`{}` is not a range, of a {} to another", show(text), self.kind), None)),
        }
    }

    fn number(&self, name: &str) -> Result<u32, (String, Option<String>)> {
        if let Some(number) = self.numbers.get(name) {
            return Ok(*number);
        }
        match name.parse::<u32>() {
            Ok(number) if number < self.count => Ok(number),
            Ok(_) => Err((format!("there is no {} {name}: there are {}", self.kind, self.count), None)),
            Err(_) => {
                let meant = nearest(name, self.numbers.keys().copied());
                let help = meant.map(|name| format!("did you mean `{name}`?"));
                Err((format!("no {} is called `{}`", self.kind, show(name)), help))
            }
        }
    }
}

/// The place of a line that begins with `keyword`.
fn span(keyword: &Name, rest: &[Name]) -> Range<usize> {
    keyword.span.start..rest.last().map_or(keyword.span.end, |word| word.span.end)
}

impl<'a> Reader<'a> {
    fn new(source: &'a Arc<Source>, topology: &'a Topology) -> Self {
        let (switches, nodes) = (topology.switches(), topology.nodes());
        Reader {
            source,
            switches: Names::new("switch", switches, topology.names().switches()),
            nodes: Names::new("node", nodes, topology.names().nodes()),
            tables: ForwardingTables::new(switches, nodes),
            levels: Levels::new(switches, nodes),
            current: None,
            headings: HashMap::new(),
            places: HashMap::new(),
            begins: HashMap::new(),
            findings: Diagnostics::default(),
        }
    }

    fn at(&self, span: &Range<usize>) -> Location {
        Location::new(self.source, span.clone())
    }

    fn wrong(&self, span: &Range<usize>, message: String, expected: &str) -> Box<Diagnostic> {
        Box::new(Diagnostic::error(Code::TableLine, self.at(span), message).expected(expected))
    }

    /// Takes in a line without its comment, which begins at byte `start` of the file.
    fn line(&mut self, body: &str, start: usize) -> Parsed<()> {
        let words = words(body, start);
        let Some((keyword, rest)) = words.split_first() else { return Ok(()) };
        match keyword.text.as_str() {
            "switch" if rest.is_empty() => {
                Err(self.wrong(&keyword.span, "a switch is missing".to_owned(), "`switch NAME ...`"))
            }
            "switch" => {
                // Lines of switches that are not known are read, but say nothing.
                self.current = Some(Vec::new());
                let switches = self.all(&self.switches, rest)?.into_iter().map(SwitchId);
                let current = self.current.insert(switches.collect());
                let span = span(keyword, rest);
                current.iter().for_each(|switch| _ = self.headings.insert(*switch, span.clone()));
                Ok(())
            }
            "to" | "begin" if self.current.is_none() => {
                let message = format!("`{}` before the first switch", keyword.text);
                Err(self.wrong(&keyword.span, message, "a line `switch NAME` above it"))
            }
            "to" => self.entry(keyword, rest),
            "begin" => self.begin(keyword, rest),
            "from" => self.level(keyword, rest),
            "levels" => self.classes_of_levels(keyword, rest),
            other => {
                let message = format!("`{}` does not begin a line of forwarding tables", show(other));
                let meant = nearest(other, ["switch", "to", "begin", "from", "levels"]);
                let help = meant.map(|word| format!("did you mean `{word}`?"));
                let problem =
                    self.wrong(&keyword.span, message, "`switch`, `to`, `begin`, `from` or `levels`");
                Err(Box::new(problem.maybe_help(help)))
            }
        }
    }

    /// The numbers of all `words`.
    fn all(&self, names: &Names<'_>, words: &[Name]) -> Parsed<Vec<u32>> {
        let mut all = Vec::new();
        for word in words {
            all.extend(names.numbers(word).map_err(|(message, help)| {
                let expected = match names.names {
                    [] => format!(
                        "the number of a {}, 0 to {}, or several, such as 0..7",
                        names.kind,
                        names.count - 1
                    ),
                    _ => format!("a {} of the graph file, such as {}", names.kind, names.names[0]),
                };
                let problem = Diagnostic::error(Code::TableName, self.at(&word.span), message);
                problem.expected(expected).maybe_help(help)
            })?);
        }
        Ok(all)
    }

    /// The nodes before the word `keyword` in `words`, and the words after it.
    fn nodes<'w>(
        &self,
        begin: &Name,
        words: &'w [Name],
        keyword: &str,
        form: &str,
    ) -> Parsed<(Vec<NodeId>, &'w [Name])> {
        let place = words.iter().position(|word| word.text == keyword);
        let Some(place) = place.filter(|place| *place > 0) else {
            let missing =
                if place.is_some() { "a node is missing" } else { &format!("`{keyword}` is missing") };
            return Err(self.wrong(&begin.span, missing.to_owned(), form));
        };
        let nodes = self.all(&self.nodes, &words[..place])?;
        Ok((nodes.into_iter().map(NodeId).collect(), &words[place + 1..]))
    }

    fn class(&self, word: &Name) -> Parsed<u8> {
        let class = word.text.parse::<u8>().ok().filter(|class| usize::from(*class) < LEVELS);
        class.ok_or_else(|| {
            let message = format!("`{}` is not a class of virtual channels", show(&word.text));
            self.wrong(&word.span, message, &format!("0 to {}", LEVELS - 1))
        })
    }

    /// `to NODE ... port NUMBER [class NUMBER]`
    fn entry(&mut self, keyword: &Name, rest: &[Name]) -> Parsed<()> {
        let (nodes, rest) = self.nodes(keyword, rest, "port", TO)?;
        let (port, class) = match rest {
            [port] => (port, None),
            [port, word, class] if word.text == "class" => (port, Some(self.class(class)?)),
            [] => return Err(self.wrong(&keyword.span, "the number of the port is missing".to_owned(), TO)),
            [_, other, ..] => {
                return Err(self.wrong(&other.span, format!("`{}` is too much", show(&other.text)), TO));
            }
        };
        let number = port.text.parse::<u16>().ok().filter(|port| *port < u16::MAX).ok_or_else(|| {
            self.wrong(&port.span, format!("`{}` is not a port number", show(&port.text)), TO)
        })?;
        let span = span(keyword, rest);
        for (here, node) in self.pairs(&nodes) {
            if let Some(first) = self.places.insert((here, node), span.clone()) {
                return Err(self.twice(&span, &first, "a port", here, node));
            }
            self.tables.set(here, node, PortId(number.into()), class);
        }
        Ok(())
    }

    /// `begin NODE ... class NUMBER`
    fn begin(&mut self, keyword: &Name, rest: &[Name]) -> Parsed<()> {
        let (nodes, rest) = self.nodes(keyword, rest, "class", BEGIN)?;
        let [class] = rest else {
            let wrong = rest.get(1).map_or_else(
                || (&keyword.span, "the number of the class is missing".to_owned()),
                |other| (&other.span, format!("`{}` is too much", show(&other.text))),
            );
            return Err(self.wrong(wrong.0, wrong.1, BEGIN));
        };
        let (span, class) = (keyword.span.start..class.span.end, self.class(class)?);
        for (here, node) in self.pairs(&nodes) {
            if let Some(first) = self.begins.insert((here, node), span.clone()) {
                return Err(self.twice(&span, &first, "a class", here, node));
            }
            self.tables.begin(here, node, class);
        }
        Ok(())
    }

    fn pairs(&self, nodes: &[NodeId]) -> Vec<(SwitchId, NodeId)> {
        let switches = self.current.iter().flatten();
        switches.flat_map(|here| nodes.iter().map(move |node| (*here, *node))).collect()
    }

    fn twice(
        &self,
        span: &Range<usize>,
        first: &Range<usize>,
        what: &str,
        here: SwitchId,
        node: NodeId,
    ) -> Box<Diagnostic> {
        let (switch, node) = (self.switch(here), self.node(node));
        let message = format!("{switch} has {what} for {node} already");
        self.second(span, first, message, "one line for each switch and node")
    }

    /// That a line says something that the one at `first` has said.
    fn second(
        &self,
        span: &Range<usize>,
        first: &Range<usize>,
        message: String,
        expected: &str,
    ) -> Box<Diagnostic> {
        let problem = Diagnostic::error(Code::TableTwice, self.at(span), message);
        Box::new(problem.related(self.at(first), "first here").expected(expected))
    }

    fn switch(&self, switch: SwitchId) -> String {
        self.switches.name(switch, switch.index())
    }

    fn node(&self, node: NodeId) -> String {
        self.nodes.name(node, node.index())
    }

    /// Reports what keeps packets from reaching their destinations.
    fn check(&mut self, topology: &Topology) {
        let mut told: Vec<(Option<Range<usize>>, String)> = Vec::new();
        let mut missing: BTreeMap<SwitchId, Vec<(NodeId, NodeId)>> = BTreeMap::new();
        for fault in self.tables.check(topology).err().unwrap_or_default() {
            match fault {
                TableFault::NoEntry { at, node, source } => {
                    missing.entry(at).or_default().push((node, source))
                }
                fault => {
                    let problem = self.fault(&fault);
                    // A line may be wrong for many nodes in the same way.
                    let span = problem.location.as_ref().map(|it| it.span.clone());
                    if !told.contains(&(span.clone(), problem.message.clone())) {
                        told.push((span, problem.message.clone()));
                        self.findings.push(problem);
                    }
                }
            }
        }
        for (at, lacks) in missing {
            self.findings.push(self.lacking(at, &lacks));
        }
    }

    /// That the switch `at` has no port for these nodes, each with a node whose packets for it come there.
    fn lacking(&self, at: SwitchId, lacks: &[(NodeId, NodeId)]) -> Diagnostic {
        /// More are counted.
        const NAMED: usize = 4;
        let switch = self.switch(at);
        let from_other = lacks.iter().find(|(node, source)| node != source);
        let mut nodes: Vec<String> = lacks.iter().take(NAMED).map(|(node, _)| self.node(*node)).collect();
        if lacks.len() > NAMED {
            nodes.push(format!("{} more", lacks.len() - NAMED));
        }
        let message = format!("{switch} has no port for {}", nodes.join(", "));
        let heading = self.headings.get(&at);
        let location = heading.map_or_else(|| Location::whole(self.source), |span| self.at(span));
        let comes = from_other.map(|(node, source)| {
            format!("packets of {} for {} come there", self.node(*source), self.node(*node))
        });
        Diagnostic::error(Code::TableLeads, location, message)
            .expected(format!("a line `to` of {switch} for each node for which packets come there"))
            .maybe_help(comes)
    }

    fn fault(&self, fault: &TableFault) -> Diagnostic {
        let at_entry = |here: SwitchId, node: NodeId| {
            let span = self.places.get(&(here, node));
            span.map_or_else(|| Location::whole(self.source), |span| self.at(span))
        };
        let error = |at, message| Diagnostic::error(Code::TableLeads, at, message);
        match fault {
            TableFault::NoEntry { at, node, source } => self.lacking(*at, &[(*node, *source)]),
            TableFault::NoLink { at, node } => {
                let message = format!("nothing is linked to this port of {}", self.switch(*at));
                error(at_entry(*at, *node), message).expected("a port with a link of its own")
            }
            TableFault::OtherNode { at, node, other } => {
                let (to, other) = (self.node(*node), self.node(*other));
                let message = format!("this port of {} leads to {other}, not to {to}", self.switch(*at));
                error(at_entry(*at, *node), message).expected("a port towards that node")
            }
            TableFault::Dropped { at, ports: [from, to], node, source, level } => {
                let (switch, node, source) = (self.switch(*at), self.node(*node), self.node(*source));
                let message = format!(
                    "packets of {source} for {node} are dropped at {switch}: from port {} to port {} level {level} has no class",
                    from.0, to.0
                );
                error(self.levels.place(self.source), message)
                    .expected("a class of each level that packets have, wherever they pass")
            }
            TableFault::Loop { node, switches } => {
                let mut names: Vec<String> = switches.iter().take(8).map(|it| self.switch(*it)).collect();
                names.push(if switches.len() > 8 { "...".to_owned() } else { names[0].clone() });
                let message = format!("packets for {} go round: {}", self.node(*node), names.join(", "));
                error(at_entry(switches[0], *node), message).expected("a way that ends at its node")
            }
        }
    }
}
