//! Lines of service levels in a file of forwarding tables.

use super::{Parsed, Reader, span};
use crate::code::Code;
use crate::diagnostic::{Diagnostic, Location, Source};
use crate::graph::statement::Name;
use crate::units::show;
use flitway_wiring::routing::{Classes, LEVELS, ServiceLevels};
use flitway_wiring::{NodeId, PortId, SwitchId};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

const FROM: &str = "`from NODE ... to NODE ... level NUMBER`, for example `from n0..n3 to n4 level 1`";
const OF: &str =
    "`levels [in PORT ... out PORT ...] classes CLASS ...`, for example `levels in 3 out 4..5 classes 0 1`";

/// In and out; nothing for the others.
type Ports = Option<(PortId, PortId)>;

/// What is known of service levels so far.
pub(super) struct Levels {
    found: ServiceLevels,
    switches: u32,
    /// The first line of them.
    first: Option<Range<usize>>,
    /// Where each pair of nodes has its level.
    pairs: HashMap<(NodeId, NodeId), Range<usize>>,
    /// Where each switch has its classes, for two ports or the others.
    maps: HashMap<(SwitchId, Ports), Range<usize>>,
    /// Those of all switches that have none of their own.
    of_all: Option<(Classes, Range<usize>)>,
}

impl Levels {
    pub(super) fn new(switches: u32, nodes: u32) -> Self {
        let found = ServiceLevels::new(switches, nodes);
        Levels { found, switches, first: None, pairs: HashMap::new(), maps: HashMap::new(), of_all: None }
    }

    /// The first line of them.
    pub(super) fn place(&self, source: &Arc<Source>) -> Location {
        self.first.clone().map_or_else(|| Location::whole(source), |span| Location::new(source, span))
    }
}

impl Reader<'_> {
    /// `from NODE ... to NODE ... level NUMBER`
    pub(super) fn level(&mut self, keyword: &Name, rest: &[Name]) -> Parsed<()> {
        let (sources, behind) = self.nodes(keyword, rest, "to", FROM)?;
        let (nodes, behind) = self.nodes(keyword, behind, "level", FROM)?;
        let [level] = behind else {
            let message = "one number is to stand behind `level`".to_owned();
            return Err(self.wrong(&behind.get(1).unwrap_or(keyword).span, message, FROM));
        };
        let number = level.text.parse::<u8>().ok().filter(|level| usize::from(*level) < LEVELS);
        let number = number.ok_or_else(|| {
            let message = format!("`{}` is not a service level", show(&level.text));
            self.wrong(&level.span, message, &format!("0 to {}", LEVELS - 1))
        })?;
        let span = span(keyword, rest);
        self.levels.first.get_or_insert_with(|| span.clone());
        for (source, node) in sources.iter().flat_map(|source| nodes.iter().map(move |node| (*source, *node)))
        {
            if let Some(first) = self.levels.pairs.insert((source, node), span.clone()) {
                let message = format!("{} has a level for {} already", self.node(source), self.node(node));
                return Err(self.second(&span, &first, message, "one level for each pair of nodes"));
            }
            self.levels.found.set_level(source, node, number);
        }
        Ok(())
    }

    /// `levels [in PORT ... out PORT ...] classes CLASS ...`
    pub(super) fn classes_of_levels(&mut self, keyword: &Name, rest: &[Name]) -> Parsed<()> {
        let Some(place) = rest.iter().position(|word| word.text == "classes") else {
            return Err(self.wrong(&keyword.span, "`classes` is missing".to_owned(), OF));
        };
        let (ports, classes) = (&rest[..place], self.class_list(&rest[place], &rest[place + 1..])?);
        let out = ports.iter().position(|word| word.text == "out").unwrap_or(ports.len());
        let (from, to) = ports.split_at(out);
        let (from, to) = (self.ports(from, "in")?, self.ports(to, "out")?);
        let span = span(keyword, rest);
        self.levels.first.get_or_insert_with(|| span.clone());
        let pairs = match (from, to) {
            (None, None) => vec![None],
            (Some(from), Some(to)) => {
                from.iter().flat_map(|from| to.iter().map(|to| Some((*from, *to)))).collect()
            }
            _ => {
                let message = "one of `in` and `out` without the other".to_owned();
                return Err(self.wrong(&keyword.span, message, OF));
            }
        };
        let Some(current) = self.current.clone() else { return self.of_all(&span, &pairs, classes) };
        for (here, ports) in current.iter().flat_map(|here| pairs.iter().map(move |ports| (*here, *ports))) {
            if let Some(first) = self.levels.maps.insert((here, ports), span.clone()) {
                let message = format!("{} has classes of levels already", self.switch(here));
                return Err(self.second(&span, &first, message, "one line for each switch and two ports"));
            }
            self.levels.found.set_classes(here, ports, classes);
        }
        Ok(())
    }

    /// Classes of all switches that have none of their own.
    fn of_all(&mut self, span: &Range<usize>, pairs: &[Ports], classes: Classes) -> Parsed<()> {
        if pairs != [None] {
            let message = "ports before the first switch".to_owned();
            return Err(self.wrong(span, message, "a line `switch NAME` above it"));
        }
        if let Some((_, first)) = self.levels.of_all.replace((classes, span.clone())) {
            let message = "all switches have classes of levels already".to_owned();
            return Err(self.second(span, &first, message, "one line before the first switch"));
        }
        Ok(())
    }

    /// The class of each level from 0 on, `-` for none; further levels have none.
    fn class_list(&self, keyword: &Name, words: &[Name]) -> Parsed<Classes> {
        if words.is_empty() || words.len() > LEVELS {
            let message = format!("{} classes", words.len());
            return Err(self.wrong(
                &keyword.span,
                message,
                &format!("1 to {LEVELS} classes, that of level 0 first"),
            ));
        }
        let mut classes = Classes::default();
        for (class, word) in classes.iter_mut().zip(words) {
            *class = if word.text == "-" { None } else { Some(self.class(word)?) };
        }
        Ok(classes)
    }

    /// `in PORT ...`, or `out PORT ...`; nothing of no words.
    fn ports(&self, words: &[Name], name: &str) -> Parsed<Option<Vec<PortId>>> {
        let Some((keyword, numbers)) = words.split_first() else { return Ok(None) };
        if keyword.text != name || numbers.is_empty() {
            let message = format!("`{}` is not expected here", show(&keyword.text));
            return Err(self.wrong(&keyword.span, message, OF));
        }
        let mut ports = Vec::new();
        for word in numbers {
            let (first, last) = word.text.split_once("..").unwrap_or((&word.text, &word.text));
            match (first.parse::<u16>(), last.parse::<u16>()) {
                (Ok(first), Ok(last)) if first <= last => {
                    ports.extend((first..=last).map(|port| PortId(port.into())));
                }
                _ => {
                    let message = format!("`{}` is not a port number, nor a range of them", show(&word.text));
                    return Err(self.wrong(&word.span, message, OF));
                }
            }
        }
        Ok(Some(ports))
    }

    /// All lines have been read: tables have levels if lines said some.
    pub(super) fn end_levels(&mut self) {
        let Some(first) = self.levels.first.clone() else { return };
        if let Some(begin) = self.begins.values().min_by_key(|span| span.start) {
            let message = "a class to begin in beside service levels".to_owned();
            let problem = Diagnostic::error(Code::TableLine, self.at(begin), message);
            let problem = problem.related(self.at(&first), "levels here");
            self.findings.push(problem.expected("`from ... to ... level` in its place"));
            return;
        }
        if let Some((classes, _)) = self.levels.of_all {
            for here in (0..self.levels.switches).map(SwitchId) {
                if !self.levels.maps.contains_key(&(here, None)) {
                    self.levels.found.set_classes(here, None, classes);
                }
            }
        }
        let found = std::mem::replace(&mut self.levels.found, ServiceLevels::new(0, 0));
        self.tables.set_levels(found);
    }
}
