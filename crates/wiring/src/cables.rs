//! The switches of a topology as a graph with weights: which are joined, by how many cables, and how many nodes each has.

use crate::topology::{End, Topology};

/// What is joined to what.
pub(crate) struct Cables {
    /// By switch: the other switches that cables lead to, in order, with the number of cables to each.
    pub(crate) of: Vec<Vec<(u32, u32)>>,
    /// By switch: its nodes.
    pub(crate) nodes: Vec<u32>,
}

impl Cables {
    /// Those of `topology`; a cable from a switch to itself is none.
    pub(crate) fn new(topology: &Topology) -> Self {
        let mut ends: Vec<Vec<u32>> = vec![Vec::new(); topology.switches() as usize];
        let mut nodes = vec![0; ends.len()];
        for link in topology.links() {
            match link.ends {
                [End::Switch(one, _), End::Switch(other, _)] if one != other => {
                    ends[one.index()].push(other.0);
                    ends[other.index()].push(one.0);
                }
                [End::Node(_), End::Switch(switch, _)] | [End::Switch(switch, _), End::Node(_)] => {
                    nodes[switch.index()] += 1;
                }
                _ => {}
            }
        }
        let of = ends.into_iter().map(counted).collect();
        Cables { of, nodes }
    }

    /// Cables of `switch` to others.
    pub(crate) fn degree(&self, switch: usize) -> u32 {
        self.of[switch].iter().map(|&(_, count)| count).sum()
    }

    /// Cables between two switches.
    pub(crate) fn between(&self, one: u32, other: u32) -> u32 {
        let row = &self.of[one as usize];
        row.binary_search_by_key(&other, |&(to, _)| to).map_or(0, |place| row[place].1)
    }
}

/// Each of `items` once, in order, with how often it was there.
pub(crate) fn counted(mut items: Vec<u32>) -> Vec<(u32, u32)> {
    items.sort_unstable();
    items.chunk_by(|one, other| one == other).map(|same| (same[0], same.len() as u32)).collect()
}
