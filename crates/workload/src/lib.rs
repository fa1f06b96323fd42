//! What the nodes of a machine send: synthetic traffic and task graphs.
//!
//! This crate knows nodes, messages and bytes. It knows **no** switches, rails or routing (a pattern that depends on
//! the machine is given a [`traffic::Shape`]), opens no files (readers take a `BufRead` or text) and prints nothing.
//!
//! * [`traffic`]: to whom, how large and when, three independent choices, and the [`traffic::Source`] that a node
//!   draws its packets from;
//! * [`multicast`]: one payload to many nodes, in groups, and the trees by which nodes can forward it;
//! * [`barrier`]: processes that wait for each other, in groups;
//! * [`graph`]: task graphs in the GOAL text format, the state machine of one rank, and where ranks are placed;
//! * [`catalog`]: the tables of names that are parsed, listed and explained;
//! * [`fraction`]: exact fractions, and what an integer simulation makes of them.

pub mod barrier;
pub mod catalog;
pub mod fraction;
pub mod graph;
pub mod multicast;
pub mod traffic;

pub use fraction::Fraction;

/// A way to divide the nodes of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// What the parts are called.
    pub name: String,
    /// The part of each node, numbered from 0 without gaps.
    pub of: Vec<u32>,
}

impl Parts {
    /// The nodes of a switch together, where node `n` is at switch `of[n]`.
    #[must_use]
    pub fn switches(of: Vec<u32>) -> Self {
        Parts { name: "switches".into(), of }
    }
}
