//! A part of the packets goes to a favoured group of nodes, the rest to any other node.
//!
//! Hot spots, the hot region and the sphere are this with different groups. A node that is in its own group draws among
//! the other members; if there are none, all of its packets are uniform.

use super::uniform::Uniform;
use crate::fraction::{Chance, Fraction};
use flitway_engine::random::Stream;
use flitway_wiring::NodeId;

#[derive(Clone, Debug)]
pub(super) struct Favoured {
    fraction: Fraction,
    chance: Chance,
    rest: Uniform,
    /// Disjoint groups of node numbers, each ascending.
    groups: Box<[Box<[u32]>]>,
    /// The group that each source favours; empty when all favour group 0.
    group_of: Box<[u32]>,
}

impl Favoured {
    /// All nodes favour `group`, ascending and not empty.
    pub(super) fn one_group(fraction: Fraction, rest: Uniform, group: Vec<u32>) -> Self {
        Self::groups(fraction, rest, vec![group], Vec::new())
    }

    /// Node `n` favours `groups[group_of[n]]`; each group is ascending and not empty.
    pub(super) fn groups(
        fraction: Fraction,
        rest: Uniform,
        groups: Vec<Vec<u32>>,
        group_of: Vec<u32>,
    ) -> Self {
        debug_assert!(groups.iter().all(|group| group.is_sorted() && !group.is_empty()));
        Favoured {
            fraction,
            chance: Chance::new(fraction),
            rest,
            groups: groups.into_iter().map(Vec::into_boxed_slice).collect(),
            group_of: group_of.into_boxed_slice(),
        }
    }

    #[inline]
    fn group(&self, source: NodeId) -> &[u32] {
        let group = self.group_of.get(source.index()).copied().unwrap_or(0);
        &self.groups[group as usize]
    }

    #[inline]
    pub(super) fn draw(&self, source: NodeId, stream: &mut Stream) -> NodeId {
        if !self.chance.draw(stream) {
            return self.rest.draw(source, stream);
        }
        let group = self.group(source);
        let Ok(own) = group.binary_search(&source.0) else {
            return NodeId(group[stream.below(group.len() as u64) as usize]);
        };
        if group.len() == 1 {
            return self.rest.draw(source, stream);
        }
        let place = stream.below(group.len() as u64 - 1) as usize;
        NodeId(group[place + usize::from(place >= own)])
    }

    pub(super) fn weight(&self, source: NodeId, destination: NodeId) -> f64 {
        if source == destination {
            return 0.0;
        }
        let group = self.group(source);
        let members = group.len() - usize::from(group.binary_search(&source.0).is_ok());
        let rest = self.rest.weight(source, destination);
        if members == 0 {
            return rest;
        }
        let fraction = self.fraction.as_f64();
        let favour =
            if group.binary_search(&destination.0).is_ok() { fraction / members as f64 } else { 0.0 };
        favour + (1.0 - fraction) * rest
    }
}
