//! Random regular graphs: every switch has as many links to others, to whom chance decides.
//!
//! Source: Singla, Hong, Popa and Godfrey, "Jellyfish: networking data centers randomly", NSDI 2012, section 3. Here all
//! free ports are paired at random; what pairs a switch with itself or with a neighbour once more is mended by exchanging
//! its ends with those of a link drawn at random. If the graph is not connected or cannot be mended the next try has other
//! numbers from the same seed.

use super::{Builder, End, Shape, Topology, TopologyError};
use crate::{PortId, SwitchId};
use flitway_engine::random::{Purpose, Stream};
use std::collections::BTreeSet;

/// A pair of switches that a link joins.
type Pair = [u32; 2];

/// Tries before giving up: a graph of three links or more for each switch is connected nearly always.
const TRIES: u32 = 100;

/// What a random regular graph is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RandomRegular {
    /// Switches.
    pub switches: u32,
    /// Links of a switch to others.
    pub degree: u32,
    /// Nodes on every switch.
    pub nodes_per_switch: u32,
    /// What decides.
    pub seed: u64,
}

pub(super) fn build(settings: &RandomRegular) -> Result<Topology, TopologyError> {
    let RandomRegular { switches, degree, nodes_per_switch, seed } = *settings;
    let ends = u64::from(switches) * u64::from(degree);
    if nodes_per_switch == 0 || degree >= switches || !ends.is_multiple_of(2) || (degree < 2 && switches > 2)
    {
        let what = "a random regular graph has fewer links of a switch than switches, an even number of their ends, two or \
                    more links if it has more than two switches, and nodes on each";
        return Err(TopologyError::Size(what.into()));
    }
    let nodes = u64::from(switches) * u64::from(nodes_per_switch);
    for number in 0..u64::from(TRIES) {
        let Some(pairs) = pairs(switches, degree, &mut Stream::new(seed, number, Purpose::Wiring)) else {
            continue;
        };
        let mut builder =
            Builder::new(nodes, switches.into(), ["node", "switch"].map(str::to_owned).to_vec())?;
        builder.nodes(nodes_per_switch);
        let mut next = vec![nodes_per_switch; switches as usize];
        let mut end = |switch: u32| {
            next[switch as usize] += 1;
            End::Switch(SwitchId(switch), PortId(next[switch as usize] - 1))
        };
        for [one, other] in pairs {
            let ends = [end(one), end(other)];
            builder.link(ends, 1);
        }
        match builder.finish(Shape::Irregular) {
            Err(TopologyError::Unreachable(_)) => {}
            other => return other,
        }
    }
    Err(TopologyError::Size(format!(
        "no connected graph was found in {TRIES} tries: use another seed, or more links"
    )))
}

/// The links, in order; `None` if this try has gone wrong. Where more than half of all pairs are linked, chance decides which
/// are not.
fn pairs(switches: u32, degree: u32, stream: &mut Stream) -> Option<Vec<Pair>> {
    if 2 * u64::from(degree) < u64::from(switches) {
        return Some(draw(switches, degree, stream)?.into_iter().collect());
    }
    let others = draw(switches, switches - 1 - degree, stream)?;
    let all = (0..switches).flat_map(|one| (one + 1..switches).map(move |other| [one, other]));
    Some(all.filter(|pair| !others.contains(pair)).collect())
}

/// So many links of each switch.
fn draw(switches: u32, degree: u32, stream: &mut Stream) -> Option<BTreeSet<Pair>> {
    let mut ends: Vec<u32> = (0..switches).flat_map(|switch| (0..degree).map(move |_| switch)).collect();
    for place in (1..ends.len()).rev() {
        ends.swap(place, stream.below(place as u64 + 1) as usize);
    }
    let in_order = |one: u32, other: u32| [one.min(other), one.max(other)];
    let (mut taken, mut to_mend) = (BTreeSet::new(), Vec::new());
    for pair in ends.chunks_exact(2).map(|pair| in_order(pair[0], pair[1])) {
        if pair[0] == pair[1] || !taken.insert(pair) {
            to_mend.push(pair);
        }
    }
    let mut pairs: Vec<Pair> = taken.iter().copied().collect();
    let mut patience = 1_000 * (to_mend.len() as u64 + 1);
    while let Some(&[one, other]) = to_mend.last() {
        patience = patience.checked_sub(1)?;
        if pairs.is_empty() {
            return None;
        }
        let place = stream.below(pairs.len() as u64) as usize;
        let [left, right] = pairs[place];
        let new = [in_order(one, left), in_order(other, right)];
        let is_simple = new.iter().all(|pair| pair[0] != pair[1] && !taken.contains(pair));
        if is_simple && new[0] != new[1] {
            taken.remove(&[left, right]);
            taken.extend(new);
            (pairs[place], _) = (new[0], to_mend.pop());
            pairs.push(new[1]);
        }
    }
    Some(taken)
}
