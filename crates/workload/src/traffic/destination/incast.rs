//! Many nodes send to a few, and nobody else does anything.

use super::listed::Listed;
use super::{DestinationArguments, DestinationChoice, Destinations, Kind, Lack, Misfit, Pattern};
use crate::catalog::{ChoiceError, Entry, Parameter};
use crate::traffic::Shape;
use flitway_engine::random::{Purpose, Stream};
use std::sync::Arc;

pub(super) const ENTRY: Entry = Entry {
    name: "incast",
    aliases: &[],
    doc: "many nodes to a few receivers, which send nothing",
    details: "Receivers, and then senders among the other nodes, are drawn from the seed, all choices equally likely. Each \
              packet goes to one of the receivers, each equally likely; nodes that are neither are silent. `hotspot` \
              has receivers of given numbers, which send too, and other traffic beside.",
    parameters: &[
        Parameter {
            name: "receivers",
            expected: "a number from 1 on",
            default: Some("1"),
            doc: "How many nodes receive. Default: one.",
        },
        Parameter {
            name: "senders",
            expected: "a number from 1 on, or `all`",
            default: Some("all"),
            doc: "How many nodes send. Default: all others.",
        },
    ],
};

pub(super) fn read(arguments: &DestinationArguments<'_>) -> Result<DestinationChoice, ChoiceError> {
    let count = |text: &str| text.parse().ok().filter(|&count: &u32| count > 0);
    let senders = |text: &str| if text == "all" { Some(None) } else { count(text).map(Some) };
    Ok(Arc::new(Incast { receivers: arguments.0.value(0, count)?, senders: arguments.0.value(1, senders)? }))
}

#[derive(Debug)]
struct Incast {
    receivers: u32,
    /// All others if not given.
    senders: Option<u32>,
}

impl Pattern for Incast {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn fit(&self, shape: &Shape, seed: u64) -> Result<Destinations, Misfit> {
        let nodes = shape.nodes;
        let misfit = |lack| Err(Misfit { pattern: ENTRY.name, lack });
        if nodes < 2 {
            return misfit(Lack::SecondNode);
        }
        let needed = u64::from(self.receivers) + u64::from(self.senders.unwrap_or(1));
        if needed > nodes.into() {
            return misfit(Lack::Nodes { needed, nodes });
        }
        let senders = self.senders.unwrap_or(nodes - self.receivers);
        // Receivers first, then senders.
        let mut stream = Stream::new(seed, 0, Purpose::Incast);
        let mut drawn: Vec<u32> = (0..nodes).collect();
        for place in 0..(self.receivers + senders) as usize {
            let other = place + stream.below((drawn.len() - place) as u64) as usize;
            drawn.swap(place, other);
        }
        let mut lists = vec![[0, 0]; nodes as usize];
        for &sender in drawn.iter().skip(self.receivers as usize).take(senders as usize) {
            lists[sender as usize] = [0, self.receivers];
        }
        drawn.truncate(self.receivers as usize);
        Ok(Destinations { nodes, kind: Kind::Listed(Listed::new(drawn, lists)) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use crate::Parts;
    use flitway_wiring::NodeId;

    fn fit(text: &str, nodes: u32, seed: u64) -> Result<Destinations, Misfit> {
        let shape = Shape {
            nodes,
            dimensions: vec![nodes],
            parts: vec![Parts::switches(vec![0; nodes as usize])],
            found: None,
        };
        parse(text).unwrap().fit(&shape, seed)
    }

    /// What each node gets from all others together.
    fn received(destinations: &Destinations) -> Vec<f64> {
        let nodes = || (0..destinations.nodes()).map(NodeId);
        nodes().map(|node| nodes().map(|source| destinations.weight(source, node)).sum()).collect()
    }

    #[test]
    fn as_many_send_and_receive_as_are_asked_for() {
        for (text, senders, each) in [
            ("incast", 9, vec![9.0]),
            ("incast(receivers=2)", 8, vec![4.0, 4.0]),
            ("incast(receivers=1, senders=3)", 3, vec![3.0]),
            ("incast(4, 6)", 6, vec![1.5; 4]),
        ] {
            let incast = fit(text, 10, 3).unwrap();
            assert_eq!(incast.silent_nodes(), 10 - senders, "{text}");
            let received: Vec<f64> = received(&incast).into_iter().filter(|&part| part > 0.0).collect();
            assert_eq!(received, each, "{text}");
        }
    }

    #[test]
    fn every_node_is_drawn_as_a_receiver_by_some_seed() {
        let receiver = |seed| received(&fit("incast", 4, seed).unwrap()).iter().position(|&part| part > 0.0);
        let mut found: Vec<_> = (0..60).map(receiver).collect();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, [Some(0), Some(1), Some(2), Some(3)]);
    }

    #[test]
    fn more_nodes_than_there_are_do_not_fit() {
        let message = |text| fit(text, 8, 1).unwrap_err().to_string();
        assert_eq!(message("incast(receivers=8)"), "`incast` needs 9 nodes, and the machine has 8");
        assert_eq!(message("incast(2, 7)"), "`incast` needs 9 nodes, and the machine has 8");
        assert!(fit("incast(2, 6)", 8, 1).is_ok());
        assert!(matches!(parse("incast(senders=0)"), Err(ChoiceError::BadValue { .. })));
    }
}
