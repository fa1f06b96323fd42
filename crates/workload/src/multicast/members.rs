//! Among whom: the groups of multicast operations. Every member of a group sends to all the others.

use crate::catalog::{Alias, Catalog, Choice, ChoiceError, Entry, Parameter};
use flitway_engine::random::{Purpose, Stream};
use flitway_wiring::NodeId;
use std::fmt;

/// Which groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MembersChoice {
    /// One group of all nodes.
    Broadcast,
    /// Groups of different nodes, drawn at random.
    Random {
        /// Members of each.
        members: u32,
        /// How many groups.
        groups: u32,
    },
    /// One group of these nodes.
    Nodes(Vec<u32>),
    /// Any nodes, drawn at random for each operation.
    Fresh {
        /// How many, the sender not included.
        receivers: u32,
    },
}

/// Why groups do not fit a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// A group is larger than the machine.
    TooLarge {
        /// Members asked for.
        members: u32,
        /// Nodes there are.
        nodes: u32,
    },
    /// There are not so many other nodes.
    TooManyReceivers {
        /// Receivers asked for.
        receivers: u32,
        /// Nodes there are.
        nodes: u32,
    },
    /// There is no such node.
    NoNode {
        /// The node asked for.
        node: u32,
        /// Nodes there are.
        nodes: u32,
    },
    /// No group has two members.
    NobodyElse,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfit::TooLarge { members, nodes } => {
                write!(f, "a group of {members} members needs as many nodes, and the machine has {nodes}")
            }
            Unfit::TooManyReceivers { receivers, nodes } => {
                write!(f, "{receivers} receivers: a sender has {} others among {nodes} nodes", nodes - 1)
            }
            Unfit::NoNode { node, nodes } => {
                write!(f, "there is no node {node}: the machine has {nodes}, numbered from 0")
            }
            Unfit::NobodyElse => f.write_str("a group needs two members or more"),
        }
    }
}

/// Reads the parameters of groups.
pub type Reader = fn(&MembersArguments) -> Result<MembersChoice, ChoiceError>;

/// The parameters of groups, as written.
#[derive(Debug)]
pub struct MembersArguments(Choice);

/// All kinds of groups.
pub const CATALOG: Catalog<Reader> = Catalog::new(
    "kind of group",
    &[
        (BROADCAST, |_| Ok(MembersChoice::Broadcast)),
        (RANDOM, |arguments| {
            let count = |text: &str| text.parse().ok().filter(|&count: &u32| count > 0);
            let members = arguments.0.value(0, |text| count(text).filter(|&members| members > 1))?;
            Ok(MembersChoice::Random { members, groups: arguments.0.value(1, count)? })
        }),
        (FRESH, |arguments| {
            let count = |text: &str| text.parse().ok().filter(|&count: &u32| count > 0);
            Ok(MembersChoice::Fresh { receivers: arguments.0.value(0, count)? })
        }),
        (NODES, |arguments| Ok(MembersChoice::Nodes(arguments.0.value(0, list)?))),
    ],
);

const BROADCAST: Entry = Entry {
    name: "broadcast",
    aliases: &[Alias { name: "all", tool: "Flitway" }],
    doc: "one group of all nodes: a multicast goes to everybody else, everybody waits at a barrier",
    details: "With sources that always have an operation (a load of `max`) this is the all-to-all multicast.",
    parameters: &[],
};

const RANDOM: Entry = Entry {
    name: "random",
    aliases: &[],
    doc: "groups of different nodes drawn at random; a node takes part in those that it is in",
    details: "Members are drawn without repetition, each group for itself. A node that is in several groups draws one \
              of them for each multicast, and has a process for each of them at barriers.",
    parameters: &[
        Parameter {
            name: "members",
            expected: "a number from 2 on",
            default: Some("16"),
            doc: "Members of a group, a sender included. Default: chosen.",
        },
        Parameter {
            name: "groups",
            expected: "a number from 1 on",
            default: Some("16"),
            doc: "How many groups. Default: as many as the HPP network has (hpp-switch.txt section 2.3).",
        },
    ],
};

const FRESH: Entry = Entry {
    name: "fresh",
    aliases: &[],
    doc: "receivers drawn at random among all other nodes, for each operation anew",
    details: "What multidestination-worms.txt section 7.1 offers. In the switches only worms can do it, since they name their \
              receivers themselves; by forwarding it works everywhere.",
    parameters: &[Parameter {
        name: "receivers",
        expected: "a number from 1 on",
        default: None,
        doc: "Receivers of an operation, the sender not included.",
    }],
};

const NODES: Entry = Entry {
    name: "nodes",
    aliases: &[],
    doc: "one group of the nodes given",
    details: "Each of them sends to all the others, or waits for them.",
    parameters: &[Parameter {
        name: "nodes",
        expected: "node numbers and ranges joined by `+`, such as `0+4+8-15`",
        default: None,
        doc: "The members.",
    }],
};

/// Reads groups: `broadcast`, `random(members=8)`.
///
/// # Errors
/// If they are not in [`CATALOG`] or their parameters are wrong.
pub fn parse(text: &str) -> Result<MembersChoice, ChoiceError> {
    let (choice, read) = CATALOG.choose(text)?;
    read(&MembersArguments(choice))
}

/// `0+4+8-15`
fn list(text: &str) -> Option<Vec<u32>> {
    let mut nodes = Vec::new();
    for part in text.split('+') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last - first > 1 << 24 {
            return None;
        }
        nodes.extend(first..=last);
    }
    nodes.sort_unstable();
    nodes.dedup();
    Some(nodes)
}

impl MembersChoice {
    /// The members of each group among `nodes` nodes, ascending.
    ///
    /// # Errors
    /// If there are not as many nodes.
    pub fn fit(&self, nodes: u32, seed: u64) -> Result<Vec<Box<[NodeId]>>, Unfit> {
        match self {
            MembersChoice::Broadcast => Ok(vec![(0..nodes).map(NodeId).collect()]),
            MembersChoice::Random { members, groups } => {
                if *members > nodes {
                    return Err(Unfit::TooLarge { members: *members, nodes });
                }
                let mut stream = Stream::new(seed, 0, Purpose::Members);
                Ok((0..*groups).map(|_| draw(nodes, *members, &mut stream)).collect())
            }
            MembersChoice::Fresh { receivers } => {
                if *receivers >= nodes {
                    return Err(Unfit::TooManyReceivers { receivers: *receivers, nodes });
                }
                Ok(vec![(0..nodes).map(NodeId).collect()])
            }
            MembersChoice::Nodes(list) => match list.iter().find(|&&node| node >= nodes) {
                Some(&node) => Err(Unfit::NoNode { node, nodes }),
                None => Ok(vec![list.iter().copied().map(NodeId).collect()]),
            },
        }
    }
}

/// `receivers` of `nodes` nodes without `source`, and `source`, ascending: those of operation `sequence` of that node.
pub(super) fn draw_fresh(
    nodes: u32,
    receivers: u32,
    seed: u64,
    source: NodeId,
    sequence: u32,
) -> Box<[NodeId]> {
    // Groups that stay are drawn from stream 0.
    let operation = u64::from(source.0 + 1) << 24 | u64::from(sequence & 0xFF_FFFF);
    let mut stream = Stream::new(seed, operation, Purpose::Members);
    let others = draw(nodes - 1, receivers, &mut stream);
    let mut members: Vec<NodeId> =
        others.iter().map(|node| NodeId(node.0 + u32::from(node.0 >= source.0))).collect();
    let place = members.partition_point(|&node| node < source);
    members.insert(place, source);
    members.into()
}

/// `members` of `nodes` nodes, each set as likely as any other (Floyd), ascending.
fn draw(nodes: u32, members: u32, stream: &mut Stream) -> Box<[NodeId]> {
    let mut chosen = std::collections::BTreeSet::new();
    for last in nodes - members..nodes {
        let drawn = stream.below(u64::from(last) + 1) as u32;
        if !chosen.insert(drawn) {
            chosen.insert(last);
        }
    }
    chosen.into_iter().map(NodeId).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_read() {
        assert_eq!(parse("broadcast").unwrap(), MembersChoice::Broadcast);
        assert_eq!(
            parse("random(members=4, groups=2)").unwrap(),
            MembersChoice::Random { members: 4, groups: 2 }
        );
        assert_eq!(parse("nodes(7+0+2-4+3)").unwrap(), MembersChoice::Nodes(vec![0, 2, 3, 4, 7]));
        for wrong in ["random(members=1)", "random(groups=0)", "nodes", "nodes(4-2)", "nodes(a)", "everybody"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn fresh_receivers_are_any_others_and_the_same_for_everybody_who_asks() {
        let fresh = parse("fresh(receivers=4)").unwrap();
        assert_eq!(fresh, MembersChoice::Fresh { receivers: 4 });
        assert_eq!(fresh.fit(4, 1), Err(Unfit::TooManyReceivers { receivers: 4, nodes: 4 }));
        let mut times = [0_u32; 9];
        for sequence in 0..3_000 {
            let members = draw_fresh(9, 4, 1, NodeId(2), sequence);
            assert!(members.len() == 5 && members.contains(&NodeId(2)));
            assert!(members.windows(2).all(|two| two[0] < two[1]));
            assert_eq!(members, draw_fresh(9, 4, 1, NodeId(2), sequence));
            members.iter().for_each(|node| times[node.index()] += 1);
        }
        // 3,000 x 4 / 8; standard deviation 27.
        assert_eq!(times[2], 3_000);
        assert!(times.iter().all(|&times| times == 3_000 || times.abs_diff(1_500) < 135), "{times:?}");
    }

    #[test]
    fn random_groups_have_different_members_and_every_node_a_chance() {
        let groups = MembersChoice::Random { members: 5, groups: 3_000 }.fit(9, 1).unwrap();
        let mut times = [0_u32; 9];
        for group in &groups {
            assert!(group.len() == 5 && group.is_sorted() && group.windows(2).all(|two| two[0] < two[1]));
            group.iter().for_each(|node| times[node.index()] += 1);
        }
        // 3,000 x 5 / 9; standard deviation 27.
        assert!(times.iter().all(|&times| times.abs_diff(1_667) < 135), "{times:?}");
        let error = MembersChoice::Random { members: 10, groups: 1 }.fit(9, 1).unwrap_err();
        assert_eq!(error, Unfit::TooLarge { members: 10, nodes: 9 });
        let error = MembersChoice::Nodes(vec![2, 9]).fit(9, 1).unwrap_err();
        assert_eq!(error, Unfit::NoNode { node: 9, nodes: 9 });
    }
}
