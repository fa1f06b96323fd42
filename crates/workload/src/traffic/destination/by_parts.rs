//! Each node draws among the other nodes of its part of the machine, or among those of all other parts.

use super::{DestinationArguments, DestinationChoice, Destinations, Kind, Lack, Misfit, Pattern};
use crate::catalog::{ChoiceError, Entry, Parameter};
use crate::traffic::Shape;
use flitway_engine::random::Stream;
use flitway_wiring::NodeId;
use std::sync::Arc;

pub(super) const WITHIN: Entry = Entry {
    name: "within",
    aliases: &[],
    doc: "every other node of the same part of the machine: its switch, group, server, rail, pod",
    details: "Each with equal probability. A node that is alone in its part stays silent. within(rails) is what \
              accelerators of a rail-optimised cluster exchange by their own NICs.",
    parameters: &[PARTS],
};

pub(super) const BETWEEN: Entry = Entry {
    name: "between",
    aliases: &[],
    doc: "every node of another part of the machine: another switch, group, server",
    details: "Each with equal probability: uniform traffic without that of nodes that are together. between(servers) is \
              uniform traffic of a cluster whose servers have links of their own between their NICs.",
    parameters: &[PARTS],
};

const PARTS: Parameter = Parameter {
    name: "parts",
    expected: "parts of the machine: `switches`, `groups` of a dragonfly, `servers`, `rails` or `pods` where servers have \
               several NICs, or all that links up to a class join, such as `level-1` of a tree",
    default: Some("switches"),
    doc: "What the parts are.",
};

pub(super) fn read_within(arguments: &DestinationArguments<'_>) -> Result<DestinationChoice, ChoiceError> {
    read(arguments, true)
}

pub(super) fn read_between(arguments: &DestinationArguments<'_>) -> Result<DestinationChoice, ChoiceError> {
    read(arguments, false)
}

fn read(arguments: &DestinationArguments<'_>, is_within: bool) -> Result<DestinationChoice, ChoiceError> {
    let parts = arguments.0.value(0, |text| (!text.is_empty()).then(|| text.to_ascii_lowercase()))?;
    Ok(Arc::new(ByPartsPattern { parts, is_within }))
}

#[derive(Debug)]
struct ByPartsPattern {
    parts: String,
    is_within: bool,
}

impl Pattern for ByPartsPattern {
    fn name(&self) -> &'static str {
        if self.is_within { WITHIN.name } else { BETWEEN.name }
    }

    fn fit(&self, shape: &Shape, _seed: u64) -> Result<Destinations, Misfit> {
        let lack = |lack| Misfit { pattern: self.name(), lack };
        if shape.nodes < 2 {
            return Err(lack(Lack::SecondNode));
        }
        let Some(parts) = shape.parts.iter().find(|parts| parts.name == self.parts) else {
            let known = shape.parts.iter().map(|parts| parts.name.clone()).collect();
            return Err(lack(Lack::Parts { read: self.parts.clone(), known }));
        };
        let by_parts = ByParts::new(&parts.of, self.is_within);
        if (0..shape.nodes).all(|node| by_parts.is_silent(NodeId(node))) {
            return Err(lack(Lack::Pair { parts: self.parts.clone() }));
        }
        Ok(Destinations { nodes: shape.nodes, kind: Kind::ByParts(by_parts) })
    }
}

/// The nodes in the order of their parts.
#[derive(Clone, Debug)]
pub(super) struct ByParts {
    is_within: bool,
    ordered: Box<[u32]>,
    /// Where each node is in that order, and where its part begins and ends.
    spots: Box<[Spot]>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Spot {
    at: u32,
    begin: u32,
    end: u32,
}

impl ByParts {
    /// Node `n` is in part `of[n]`.
    fn new(of: &[u32], is_within: bool) -> Self {
        let mut ordered: Vec<u32> = (0..of.len() as u32).collect();
        ordered.sort_by_key(|&node| of[node as usize]);
        let mut spots = vec![Spot::default(); of.len()];
        let mut begin = 0;
        for part in ordered.chunk_by(|&one, &other| of[one as usize] == of[other as usize]) {
            let end = begin + part.len() as u32;
            for (at, &node) in (begin..end).zip(part) {
                spots[node as usize] = Spot { at, begin, end };
            }
            begin = end;
        }
        ByParts { is_within, ordered: ordered.into(), spots: spots.into() }
    }

    /// Nodes that `spot` draws among.
    fn others(&self, spot: Spot) -> u32 {
        let part = spot.end - spot.begin;
        if self.is_within { part - 1 } else { self.ordered.len() as u32 - part }
    }

    #[inline]
    pub(super) fn draw(&self, source: NodeId, stream: &mut Stream) -> Option<NodeId> {
        let spot = self.spots[source.index()];
        let others = self.others(spot);
        let drawn = (others > 0).then(|| stream.below(others.into()) as u32)?;
        let place = match self.is_within {
            true => spot.begin + drawn + u32::from(spot.begin + drawn >= spot.at),
            false if drawn < spot.begin => drawn,
            false => drawn + spot.end - spot.begin,
        };
        Some(NodeId(self.ordered[place as usize]))
    }

    pub(super) fn is_silent(&self, source: NodeId) -> bool {
        self.others(self.spots[source.index()]) == 0
    }

    pub(super) fn weight(&self, source: NodeId, destination: NodeId) -> f64 {
        let [from, to] = [source, destination].map(|node| self.spots[node.index()]);
        let is_meant = (from.begin == to.begin) == self.is_within && source != destination;
        if is_meant { 1.0 / f64::from(self.others(from)) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use crate::Parts;

    fn shape() -> Shape {
        let rails = Parts { name: "rails".into(), of: vec![0, 1, 0, 1, 0, 2] };
        Shape { nodes: 6, dimensions: vec![6], parts: vec![Parts::switches(vec![0; 6]), rails], found: None }
    }

    #[test]
    fn a_node_sends_within_its_part_or_to_all_others() {
        let row = |text: &str, source| {
            let fitted = parse(text).unwrap().fit(&shape(), 0).unwrap();
            (0..6).map(|node| fitted.weight(NodeId(source), NodeId(node))).collect::<Vec<_>>()
        };
        assert_eq!(row("within(rails)", 2), [0.5, 0.0, 0.0, 0.0, 0.5, 0.0]);
        assert_eq!(row("within(rails)", 5), [0.0; 6]);
        assert_eq!(row("between(rails)", 3), [0.25, 0.0, 0.25, 0.0, 0.25, 0.25]);
        let silent = parse("within(Rails)").unwrap().fit(&shape(), 0).unwrap().silent_nodes();
        assert_eq!(silent, 1);
    }

    #[test]
    fn parts_that_are_not_there_or_leave_nobody_to_talk_to_are_told() {
        let told = |text: &str| parse(text).unwrap().fit(&shape(), 0).unwrap_err().to_string();
        assert_eq!(
            told("within(pods)"),
            "`within` needs parts called `pods`, and the machine has `switches`, `rails`"
        );
        assert_eq!(
            told("between(switches)"),
            "`between` needs two nodes in different ones of the `switches`"
        );
    }
}
