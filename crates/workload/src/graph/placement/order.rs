//! In which order ranks take the nodes that are free.
//!
//! `block` and `cyclic` are what they are in Slurm's `--distribution`, with parts of the machine for its nodes. Random
//! switches and random groups, beside random nodes, are what studies of dragonflies compare (Jain, Bhatele, Ni, Wright and
//! Kale, SC 2014).

use super::PlacementError;
use crate::Parts;
use crate::catalog::{Catalog, Choice, ChoiceError, Entry, Parameter};
use flitway_engine::random::{Purpose, Stream};
use flitway_wiring::NodeId;

/// In which order ranks take the nodes that are free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// By the numbers of the nodes.
    Linear,
    /// One part after the other, in an order that is drawn.
    Random {
        /// What the parts are.
        parts: String,
    },
    /// One part after the other.
    Block {
        /// What the parts are.
        parts: String,
        /// Ranks that a part takes at most; all that it has nodes for if not given.
        ranks: Option<u32>,
    },
    /// Parts in turn.
    Cyclic {
        /// What the parts are.
        parts: String,
        /// Ranks that a part takes at a time.
        ranks: u32,
    },
}

/// Reads the parameters of an order.
pub type Reader = fn(&OrderArguments) -> Result<Order, ChoiceError>;

/// The parameters of an order, as written.
#[derive(Debug)]
pub struct OrderArguments(Choice);

impl OrderArguments {
    fn parts(&self) -> Result<String, ChoiceError> {
        self.0.value(0, |text| (!text.is_empty()).then(|| text.to_ascii_lowercase()))
    }
}

/// All orders.
pub const CATALOG: Catalog<Reader> = Catalog::new(
    "placement",
    &[
        (LINEAR, |_| Ok(Order::Linear)),
        (RANDOM, |arguments| Ok(Order::Random { parts: arguments.parts()? })),
        (BLOCK, |arguments| {
            let ranks = |text: &str| if text == ALL { Some(None) } else { count(text).map(Some) };
            Ok(Order::Block { parts: arguments.parts()?, ranks: arguments.0.value(1, ranks)? })
        }),
        (CYCLIC, |arguments| {
            Ok(Order::Cyclic { parts: arguments.parts()?, ranks: arguments.0.value(1, count)? })
        }),
    ],
);

/// Each node is a part of its own.
const NODES: &str = "nodes";

/// As many ranks as a part has nodes.
const ALL: &str = "all";

const PARTS: Parameter = Parameter {
    name: "parts",
    expected: "parts of the machine: `nodes`, `switches`, `groups` of a dragonfly, `servers`, `rails` or `pods` where \
               servers have several NICs, or all that links up to a class join, such as `level-1` of a tree or `dimension-0` of a grid",
    default: None,
    doc: "What ranks are dealt to.",
};

const LINEAR: Entry = Entry {
    name: "linear",
    aliases: &[],
    doc: "rank r on the node number r of those that are free",
    details: "The default.",
    parameters: &[],
};

const RANDOM: Entry = Entry {
    name: "random",
    aliases: &[],
    doc: "one part after the other is filled, in an order drawn from the seed; each node alone unless parts are named",
    details: "All orders of the parts are equally likely; within a part ranks take nodes by their numbers. So \
              random(switches) and random(groups) keep neighbouring ranks on random switches or in random groups, and \
              random alone puts every rank on a random node.",
    parameters: &[Parameter {
        default: Some(NODES),
        doc: "What is drawn. Default: each node alone.",
        ..PARTS
    }],
};

const BLOCK: Entry = Entry {
    name: "block",
    aliases: &[],
    doc: "one part after the other is filled, by their numbers: neighbouring ranks are together",
    details: "As Slurm's block distribution fills nodes. With ranks=2 each part takes two, and its other nodes stay \
              free. Parts are numbered by the lowest of their nodes; where nodes are numbered through them, as in all \
              machines but those from files, block(switches) is linear.",
    parameters: &[
        PARTS,
        Parameter {
            name: "ranks",
            expected: "a number from 1 on, or `all`",
            default: Some(ALL),
            doc: "Ranks that a part takes at most. Default: as many as it has free nodes.",
        },
    ],
};

const CYCLIC: Entry = Entry {
    name: "cyclic",
    aliases: &[],
    doc: "parts take ranks in turn: neighbouring ranks are apart",
    details: "As Slurm's cyclic distribution goes round nodes, and with ranks=N as its plane distribution of size N. A \
              part that is full is left out.",
    parameters: &[
        PARTS,
        Parameter {
            name: "ranks",
            expected: "a number from 1 on",
            default: Some("1"),
            doc: "Ranks that a part takes before the next has its turn. Default: one.",
        },
    ],
};

fn count(text: &str) -> Option<u32> {
    text.parse().ok().filter(|&count| count > 0)
}

/// Whether `text` begins with the name of an order; then it is no file.
#[must_use]
pub fn is_order(text: &str) -> bool {
    CATALOG.find(text.split('(').next().unwrap_or_default()).is_some()
}

/// Reads an order: `linear`, `cyclic(switches)`.
///
/// # Errors
/// If it is not in [`CATALOG`] or its parameters are wrong.
pub fn parse(text: &str) -> Result<Order, ChoiceError> {
    let (choice, read) = CATALOG.choose(text)?;
    read(&OrderArguments(choice))
}

impl Order {
    /// The nodes of so many ranks, of those that are `free`, which are no fewer.
    pub(super) fn take(
        &self,
        ranks: u32,
        free: &[NodeId],
        divisions: &[Parts],
        seed: u64,
    ) -> Result<Vec<NodeId>, PlacementError> {
        let count = ranks as usize;
        Ok(match self {
            Order::Linear => free[..count].to_vec(),
            Order::Random { parts } => {
                let mut parts = divided(parts, free, divisions)?;
                shuffle(&mut parts, seed);
                parts.into_iter().flatten().take(count).collect()
            }
            Order::Block { parts, ranks: each } => {
                let most = each.map_or(usize::MAX, |each| each as usize);
                let all = divided(parts, free, divisions)?;
                let nodes: Vec<NodeId> =
                    all.into_iter().flat_map(|part| part.into_iter().take(most)).take(count).collect();
                let places = nodes.len() as u32;
                if let Some(each) = each.filter(|_| places < ranks) {
                    return Err(PlacementError::TooFewPlaces { ranks, each, parts: parts.clone(), places });
                }
                nodes
            }
            Order::Cyclic { parts, ranks: each } => {
                in_turn(&divided(parts, free, divisions)?, *each as usize).take(count).collect()
            }
        })
    }
}

/// The free nodes of each part, by the numbers of both.
fn divided(parts: &str, free: &[NodeId], divisions: &[Parts]) -> Result<Vec<Vec<NodeId>>, PlacementError> {
    if parts == NODES {
        return Ok(free.iter().map(|&node| vec![node]).collect());
    }
    let Some(Parts { of, .. }) = divisions.iter().find(|known| known.name == parts) else {
        let known = [NODES].into_iter().chain(divisions.iter().map(|known| known.name.as_str()));
        let known = known.map(str::to_owned).collect();
        return Err(PlacementError::NoSuchParts { read: parts.to_owned(), known });
    };
    let mut divided = vec![Vec::new(); of.iter().max().map_or(0, |&last| last as usize + 1)];
    for &node in free {
        divided[of[node.index()] as usize].push(node);
    }
    Ok(divided)
}

/// Puts `parts` into one of all orders, equally likely. What stands first is drawn first.
fn shuffle(parts: &mut [Vec<NodeId>], seed: u64) {
    let mut stream = Stream::new(seed, 0, Purpose::Placement);
    for place in 0..parts.len() {
        let other = place + stream.below((parts.len() - place) as u64) as usize;
        parts.swap(place, other);
    }
}

/// The nodes of `parts`, `each` of a part at a time.
fn in_turn(parts: &[Vec<NodeId>], each: usize) -> impl Iterator<Item = NodeId> + '_ {
    let largest = parts.iter().map(Vec::len).max().unwrap_or(0);
    let turn = move |first: usize| parts.iter().flat_map(move |part| part.iter().skip(first).take(each));
    (0..largest).step_by(each).flat_map(turn).copied()
}

#[cfg(test)]
mod tests {
    use super::super::Placement;
    use super::*;

    /// Twelve nodes: six switches of two, three groups of two switches.
    fn divisions() -> Vec<Parts> {
        let by = |nodes: u32| (0..12).map(|node| node / nodes).collect();
        vec![Parts::switches(by(2)), Parts { name: "groups".into(), of: by(4) }]
    }

    fn on(text: &str, ranks: u32, free: &[NodeId], seed: u64) -> Result<Vec<u32>, String> {
        let order = parse(text).map_err(|error| error.to_string())?;
        let placement = Placement::ordered(&order, ranks, free, &divisions(), seed);
        let placement = placement.map_err(|error| error.to_string())?;
        Ok((0..ranks).map(|rank| placement.node(crate::graph::RankId(rank)).0).collect())
    }

    fn placed(text: &str, ranks: u32) -> Vec<u32> {
        on(text, ranks, &Placement::everywhere(12), 1).unwrap()
    }

    #[test]
    fn block_fills_parts_and_cyclic_goes_round_them() {
        for linear in ["linear", "block(switches)", "block(groups)", "cyclic(nodes)", "cyclic(groups, 4)"] {
            assert_eq!(placed(linear, 12), (0..12).collect::<Vec<u32>>(), "{linear}");
        }
        assert_eq!(placed("block(switches, ranks=1)", 6), [0, 2, 4, 6, 8, 10]);
        assert_eq!(placed("block(groups, ranks=3)", 7), [0, 1, 2, 4, 5, 6, 8]);
        assert_eq!(placed("cyclic(switches)", 8), [0, 2, 4, 6, 8, 10, 1, 3]);
        assert_eq!(placed("cyclic(parts=Groups)", 12), [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]);
        assert_eq!(placed("cyclic(groups, ranks=3)", 12), [0, 1, 2, 4, 5, 6, 8, 9, 10, 3, 7, 11]);
    }

    #[test]
    fn random_parts_are_whole_and_drawn_from_the_seed() {
        let everywhere = Placement::everywhere(12);
        let mut firsts = Vec::new();
        for seed in 0..100 {
            let nodes = on("random(groups)", 12, &everywhere, seed).unwrap();
            for part in nodes.chunks(4) {
                assert!(
                    part[0].is_multiple_of(4) && part.iter().copied().eq(part[0]..part[0] + 4),
                    "{nodes:?}"
                );
            }
            firsts.push([nodes[0], nodes[4]]);
        }
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 6, "all orders of three groups");
        assert_eq!(on("random", 5, &everywhere, 7), on("random(nodes)", 5, &everywhere, 7));
    }

    #[test]
    fn only_nodes_that_are_free_are_dealt() {
        // A graph before has groups 0 and a part of 1.
        let mut free = Placement::everywhere(12);
        Placement::linear(5, &free).unwrap().occupy(&mut free);
        let on = |text, ranks| on(text, ranks, &free, 1).unwrap();
        assert_eq!(on("cyclic(groups)", 7), [5, 8, 6, 9, 7, 10, 11]);
        assert_eq!(on("cyclic(switches)", 5), [5, 6, 8, 10, 7]);
        assert_eq!(on("block(groups, ranks=2)", 4), [5, 6, 8, 9]);
        assert_eq!(on("linear", 2), [5, 6]);
    }

    #[test]
    fn every_mistake_says_what_is_there() {
        let error = |text, ranks| on(text, ranks, &Placement::everywhere(12), 1).unwrap_err();
        assert_eq!(
            error("cyclic(group)", 2),
            "the machine is not divided into `group`; did you mean `groups`? (it has: nodes, switches, groups)"
        );
        assert_eq!(
            error("block(groups, ranks=2)", 7),
            "7 ranks do not fit: at most 2 in each of the groups are 6 places"
        );
        assert!(error("cyclic(groups)", 13).starts_with("13 ranks do not fit 12 free nodes"));
        assert!(error("cyclic", 1).starts_with("`cyclic` needs `parts`: parts of the machine"));
        assert!(error("block(switches, ranks=0)", 1).contains("a number from 1 on, or `all`"));
        assert!(error("cycle(groups)", 1).contains("did you mean `cyclic`?"));
        assert!(is_order("cyclic(") && is_order("Linear") && !is_order("cyclic.txt"));
    }
}
