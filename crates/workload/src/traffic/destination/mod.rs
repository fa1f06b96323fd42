//! To whom: the destination of each packet.
//!
//! **Destination = source.** A pattern that draws its destination draws among the *other* nodes, never the node
//! itself. A permutation may map a node to itself: that node stays silent, and [`Destinations::silent_nodes`] says how
//! many do. (BookSim2's and Garnet's `uniform` include the node itself: at equal offered load they offer `1/n` less to
//! the network.)
//!
//! Adding a pattern: one file with its entry, its reader and its [`Pattern`], and one line in [`CATALOG`].

mod all_to_all;
mod by_parts;
mod favoured;
mod hot_region;
mod hotspot;
mod incast;
mod listed;
mod matrix;
mod permutation;
mod sphere;
mod stencil;
mod uniform;

use crate::catalog::{Catalog, Choice, ChoiceError, Parameter};
use crate::traffic::Shape;
use all_to_all::AllToAll;
use by_parts::ByParts;
use favoured::Favoured;
use flitway_engine::random::Stream;
use flitway_wiring::NodeId;
use listed::Listed;
use matrix::Matrix;
use permutation::Permutation;
use std::fmt;
use std::sync::Arc;
use uniform::Uniform;

/// Reads the parameters of a pattern.
pub type Reader = fn(&DestinationArguments<'_>) -> Result<DestinationChoice, ChoiceError>;

/// What a file holds, or why it cannot be read.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// The parameters of a pattern, as written, and what reads the files that they name.
pub struct DestinationArguments<'a>(Choice, ReadFile<'a>);

impl fmt::Debug for DestinationArguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DestinationArguments").field(&self.0).finish_non_exhaustive()
    }
}

/// A pattern with its parameters, not yet fitted to a machine.
pub type DestinationChoice = Arc<dyn Pattern>;

/// All patterns.
pub const CATALOG: Catalog<Reader> = Catalog::<Reader>::new(
    "traffic pattern",
    &[
        (uniform::ENTRY, uniform::read),
        (permutation::bit_complement::ENTRY, permutation::bit_complement::read),
        (permutation::bit_reverse::ENTRY, permutation::bit_reverse::read),
        (permutation::bit_rotation::ENTRY, permutation::bit_rotation::read),
        (permutation::butterfly::ENTRY, permutation::butterfly::read),
        (permutation::shuffle::ENTRY, permutation::shuffle::read),
        (permutation::transpose::ENTRY, permutation::transpose::read),
        (permutation::anti_transpose::ENTRY, permutation::anti_transpose::read),
        (permutation::tornado::ENTRY, permutation::tornado::read),
        (permutation::neighbor::ENTRY, permutation::neighbor::read),
        (permutation::random::ENTRY, permutation::random::read),
        (permutation::searched::WORST_CASE, permutation::searched::worst_case),
        (permutation::searched::CONTENTION_FREE, permutation::searched::contention_free),
        (hotspot::ENTRY, hotspot::read),
        (hot_region::ENTRY, hot_region::read),
        (sphere::ENTRY, sphere::read),
        (by_parts::WITHIN, by_parts::read_within),
        (by_parts::BETWEEN, by_parts::read_between),
        (incast::ENTRY, incast::read),
        (stencil::ENTRY, stencil::read),
        (all_to_all::ENTRY, all_to_all::read),
        (matrix::ENTRY, matrix::read),
    ],
)
.with_common(&[Parameter {
    name: "reply",
    expected: "the payload of a reply, a size from 1 B to the MTU",
    default: None,
    doc: "Each packet is a request, which the node that it is for answers with a packet of this payload. Without it nothing is \
          answered.",
}]);

/// Reads a pattern that needs no file: `uniform`, `hotspot(nodes=0+5, fraction=10%)`.
///
/// # Errors
/// If it is not in [`CATALOG`] or its parameters are wrong.
///
/// ```
/// use flitway_workload::traffic::destination;
/// assert!(destination::parse("bitcomp").is_ok());
/// let error = destination::parse("tornadoe").expect_err("misspelt");
/// assert!(error.to_string().contains("did you mean `tornado`?"));
/// ```
pub fn parse(text: &str) -> Result<DestinationChoice, ChoiceError> {
    parse_with(text, &|_| Err("files are not read here".to_owned()))
}

/// Reads a pattern: `uniform`, `matrix(weights.txt)`.
///
/// # Errors
/// If it is not in [`CATALOG`], its parameters are wrong, or a file that they name is.
pub fn parse_with(text: &str, read_file: ReadFile<'_>) -> Result<DestinationChoice, ChoiceError> {
    let (choice, read) = CATALOG.choose(text)?;
    read(&DestinationArguments(choice, read_file))
}

/// The payload in bytes of the packet that answers each packet of a pattern; `None` if nothing is answered.
///
/// # Errors
/// If the pattern is not in [`CATALOG`], or the size is none.
///
/// ```
/// use flitway_workload::traffic::destination;
/// assert_eq!(destination::reply("hotspot(nodes=3, reply=64B)"), Ok(Some(64)));
/// assert_eq!(destination::reply("uniform"), Ok(None));
/// ```
pub fn reply(text: &str) -> Result<Option<u16>, ChoiceError> {
    CATALOG.choose(text)?.0.common_bytes(0)
}

/// The pattern with `place` done to the path of the file that it names; `None` if it names none.
#[must_use]
pub fn placed(text: &str, place: impl Fn(&str) -> String) -> Option<String> {
    let (choice, _) = CATALOG.choose(text).ok()?;
    let is_matrix = choice.entry().name == matrix::ENTRY.name;
    let arguments = DestinationArguments(choice, &|_| Err(String::new()));
    is_matrix.then(|| matrix::placed(&arguments, place)).flatten()
}

/// A permutation that is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// The one that loads a channel more than any other does.
    WorstCase,
    /// One whose pairs share no channel.
    ContentionFree,
}

/// A pattern that can be fitted to a machine.
pub trait Pattern: fmt::Debug + Send + Sync {
    /// Its name in [`CATALOG`].
    fn name(&self) -> &'static str;

    /// Fits it to a machine. `seed` matters to patterns that draw something once for the whole machine.
    ///
    /// # Errors
    /// If the machine does not have what the pattern needs.
    fn fit(&self, shape: &Shape, seed: u64) -> Result<Destinations, Misfit>;

    /// The permutation that has to be looked for, for the routing of the machine, and stand in [`Shape::found`].
    fn search(&self) -> Option<Search> {
        None
    }

    /// What it depends on beyond its text: what a file says.
    fn content(&self) -> String {
        String::new()
    }
}

/// Why a pattern does not fit a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The pattern.
    pub pattern: &'static str,
    /// What the machine lacks.
    pub lack: Lack,
}

/// What a machine lacks for a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lack {
    /// A second node to send to.
    SecondNode,
    /// A power of two of nodes.
    PowerOfTwo {
        /// The nodes it has.
        nodes: u32,
    },
    /// A square number of nodes.
    Square {
        /// The nodes it has.
        nodes: u32,
    },
    /// An even number of nodes.
    Even {
        /// The nodes it has.
        nodes: u32,
    },
    /// Dimensions whose product is the number of nodes.
    Dimensions {
        /// The nodes it has.
        nodes: u32,
    },
    /// A node that the pattern names.
    Node {
        /// The node named.
        node: u32,
        /// The nodes it has.
        nodes: u32,
    },
    /// As many nodes as a pattern names.
    Nodes {
        /// How many those are.
        needed: u64,
        /// The nodes it has.
        nodes: u32,
    },
    /// As many nodes as a matrix has lines.
    Rows {
        /// The lines of the matrix.
        rows: u32,
        /// The nodes it has.
        nodes: u32,
    },
    /// Two nodes on one leaf switch.
    LeafNeighbors,
    /// Parts of that name.
    Parts {
        /// What was read.
        read: String,
        /// The names of the parts that it has.
        known: Vec<String>,
    },
    /// Two nodes that the pattern lets talk, for these parts.
    Pair {
        /// What the parts are called.
        parts: String,
    },
    /// Ways that a search for the worst can follow.
    Ways,
    /// One way for each pair of nodes.
    OneWay,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` needs ", self.pattern)?;
        match &self.lack {
            Lack::SecondNode => f.write_str("a machine of two nodes or more"),
            Lack::PowerOfTwo { nodes } => {
                write!(f, "a power of two of nodes, and the machine has {nodes}")
            }
            Lack::Square { nodes } => {
                write!(f, "a square number of nodes, and the machine has {nodes}")
            }
            Lack::Even { nodes } => write!(f, "an even number of nodes, and the machine has {nodes}"),
            Lack::Dimensions { nodes } => {
                write!(f, "dimensions whose product is the number of nodes, {nodes}")
            }
            Lack::Node { node, nodes } => {
                write!(f, "node {node}, and the machine has {nodes} nodes, numbered from 0")
            }
            Lack::Nodes { needed, nodes } => {
                write!(f, "{needed} nodes, and the machine has {nodes}")
            }
            Lack::Rows { rows, nodes } => {
                write!(f, "a line for each of {nodes} nodes, and the file has {rows}")
            }
            Lack::Parts { read, known } => {
                let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
                write!(f, "parts called `{read}`, and the machine has {}", known.join(", "))
            }
            Lack::Pair { parts } => {
                let which = if self.pattern == by_parts::WITHIN.name { "in one" } else { "in different ones" };
                write!(f, "two nodes {which} of the `{parts}`")
            }
            Lack::LeafNeighbors => f.write_str("a leaf switch that carries two nodes or more"),
            Lack::OneWay => f.write_str("two nodes, and a routing that draws no ways"),
            Lack::Ways => f.write_str(
                "channels between switches, and ways that do not depend on load and are not too many to be followed one by one",
            ),
        }
    }
}

impl std::error::Error for Misfit {}

/// A pattern fitted to a machine: one of seven kinds, chosen once.
#[derive(Clone, Debug)]
pub struct Destinations {
    nodes: u32,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Uniform(Uniform),
    Permutation(Permutation),
    Favoured(Favoured),
    Matrix(Matrix),
    Listed(Listed),
    ByParts(ByParts),
    AllToAll(AllToAll),
}

impl Destinations {
    /// Nodes of the machine.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// The destination of packet `turn` of `source`, from 0; `None` if that node stays silent.
    #[inline]
    pub fn draw(&self, source: NodeId, turn: u64, stream: &mut Stream) -> Option<NodeId> {
        match &self.kind {
            Kind::Uniform(uniform) => Some(uniform.draw(source, stream)),
            Kind::Permutation(permutation) => permutation.destination(source),
            Kind::Favoured(favoured) => Some(favoured.draw(source, stream)),
            Kind::Matrix(matrix) => matrix.draw(source, stream),
            Kind::Listed(listed) => listed.draw(source, stream),
            Kind::ByParts(by_parts) => by_parts.draw(source, stream),
            Kind::AllToAll(all) => Some(all.destination(source, turn)),
        }
    }

    /// Whether each node draws among all others alike.
    #[must_use]
    pub fn is_uniform(&self) -> bool {
        matches!(self.kind, Kind::Uniform(_))
    }

    /// True if `source` never sends.
    #[must_use]
    pub fn is_silent(&self, source: NodeId) -> bool {
        match &self.kind {
            Kind::Uniform(_) | Kind::Favoured(_) | Kind::AllToAll(_) => false,
            Kind::Permutation(permutation) => permutation.destination(source).is_none(),
            Kind::Matrix(matrix) => matrix.is_silent(source),
            Kind::Listed(listed) => listed.is_silent(source),
            Kind::ByParts(by_parts) => by_parts.is_silent(source),
        }
    }

    /// How many nodes never send: a permutation maps them to themselves, or a matrix gives them nobody.
    #[must_use]
    pub fn silent_nodes(&self) -> u32 {
        (0..self.nodes).map(|node| u32::from(self.is_silent(NodeId(node)))).sum()
    }

    /// The probability that a packet of `source` is for `destination`: the traffic matrix, for theory. A row sums to
    /// one, or to zero for a silent node.
    #[must_use]
    pub fn weight(&self, source: NodeId, destination: NodeId) -> f64 {
        match &self.kind {
            Kind::Uniform(uniform) => uniform.weight(source, destination),
            Kind::Permutation(permutation) => {
                f64::from(u8::from(permutation.destination(source) == Some(destination)))
            }
            Kind::Favoured(favoured) => favoured.weight(source, destination),
            Kind::Matrix(matrix) => matrix.weight(source, destination),
            Kind::Listed(listed) => listed.weight(source, destination),
            Kind::ByParts(by_parts) => by_parts.weight(source, destination),
            Kind::AllToAll(all) => all.weight(source, destination),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parts;
    use flitway_engine::random::Purpose;

    /// An 8 x 8 mesh with two nodes on a switch would be 4 x 16; here: 64 nodes, four on a leaf.
    pub(super) fn shape() -> Shape {
        Shape {
            nodes: 64,
            dimensions: vec![8, 8],
            parts: vec![Parts::switches((0..64).map(|node| node / 4).collect())],
            found: Some((0..64).rev().collect()),
        }
    }

    /// The pattern `name`; one that needs a file gets a matrix of `nodes` that is not symmetric and has a silent node.
    pub(super) fn example(name: &str, nodes: u32) -> DestinationChoice {
        let row = |s: u32| {
            (0..nodes).map(move |d| format!("{} ", if d == s || s == 9 { 0 } else { (d + 2 * s) % 5 }))
        };
        let text: String = (0..nodes).flat_map(|s| row(s).chain(["\n".to_owned()])).collect();
        let text_of = |_: &str| Ok(text.clone());
        parse_with(name, &text_of).or_else(|_| parse_with(&format!("{name}(file)"), &text_of)).unwrap()
    }

    /// The conformance kit of every pattern.
    #[test]
    fn draws_follow_the_traffic_matrix_and_never_come_back() {
        for entry in CATALOG.entries() {
            let pattern = example(entry.name, 64);
            assert_eq!(pattern.name(), entry.name);
            let destinations = pattern.fit(&shape(), 5).unwrap();
            for source in [0, 1, 9, 37, 63].map(NodeId) {
                let mut stream = Stream::new(11, source.0.into(), Purpose::Destination);
                let draws = 40_000_u32;
                let mut counts = [0u32; 64];
                for turn in 0..draws {
                    match destinations.draw(source, turn.into(), &mut stream) {
                        Some(destination) => counts[destination.index()] += 1,
                        None => assert!(destinations.is_silent(source)),
                    }
                }
                assert_eq!(counts[source.index()], 0, "{}: {source} sends to itself", entry.name);
                let weight = |node| destinations.weight(source, NodeId(node));
                let sum: f64 = (0..64).map(weight).sum();
                let expected = f64::from(u8::from(!destinations.is_silent(source)));
                assert!((sum - expected).abs() < 1e-12, "{}: row {source} sums to {sum}", entry.name);
                for node in 0..64 {
                    let mean = weight(node) * f64::from(draws);
                    let wide = 5.0 * mean.sqrt();
                    let count = f64::from(counts[node as usize]);
                    assert!((count - mean).abs() <= wide, "{}: {source} to {node}", entry.name);
                }
            }
        }
    }

    #[test]
    fn every_alias_and_name_is_unique_and_understood() {
        let mut names: Vec<&str> = Vec::new();
        for entry in CATALOG.entries() {
            names.push(entry.name);
            names.extend(entry.aliases.iter().map(|alias| alias.name));
            assert!(!entry.doc.is_empty() && !entry.details.is_empty(), "{}", entry.name);
        }
        for name in &names {
            let entry = CATALOG.find(name).unwrap();
            assert_eq!(example(name, 4).name(), entry.name, "{name}");
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for tool in
            ["uniform_random", "TRAFFIC_BIT_REVERSAL", "TRAFFIC_TRANSPOSE1", "bit_rotation", "randperm"]
        {
            assert!(parse(tool).is_ok(), "{tool}");
        }
    }

    #[test]
    fn no_pattern_fits_a_machine_of_one_node() {
        let shape =
            Shape { nodes: 1, dimensions: vec![1], parts: vec![Parts::switches(vec![0])], found: None };
        for entry in CATALOG.entries() {
            let misfit = example(entry.name, 2).fit(&shape, 1).unwrap_err();
            assert_eq!(misfit.lack, Lack::SecondNode, "{}", entry.name);
        }
    }
}
