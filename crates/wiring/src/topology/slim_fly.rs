//! Slim Fly: the graphs of McKay, Miller and Širáň, of diameter two and nearly as large as such graphs can be.
//!
//! Source: Besta and Hoefler, "Slim Fly: a cost effective low-diameter network topology", SC 2014, section II-B. With a
//! prime `q = 4 w + d`, `d` being 1 or -1, there are two halves of `q` columns of `q` switches: `(0, x, y)` and `(1, m,
//! c)`. In a column of the first half switches are joined whose `y` differ by an element of `X`, in one of the second those
//! whose `c` differ by one of `X'`, and `(0, x, y)` is joined to `(1, m, c)` if `y = m x + c`, all modulo `q`. A switch has
//! `(3 q - d) / 2` links. (Powers of primes, which need another arithmetic, are not built.)
//!
//! Switches are numbered half by half and column by column; the first ports hold the nodes.

use super::{Builder, End, Shape, Topology, TopologyError};
use crate::{PortId, SwitchId};

/// The largest `q`.
const LARGEST: u32 = 1_000;

pub(super) fn build(q: u32, nodes_per_switch: u32) -> Result<Topology, TopologyError> {
    let size = |what: &str| TopologyError::Size(what.into());
    let is_prime = (3..=LARGEST).contains(&q) && (2..q).all(|factor| !q.is_multiple_of(factor));
    if !is_prime || nodes_per_switch == 0 {
        return Err(size("a slim fly has an odd prime q below 1000, and nodes on every switch"));
    }
    let switches = 2 * u64::from(q) * u64::from(q);
    let nodes = switches * u64::from(nodes_per_switch);
    let mut builder = Builder::new(nodes, switches, ["node", "switch"].map(str::to_owned).to_vec())?;
    builder.nodes(nodes_per_switch);
    let number = |half: u32, column: u32, row: u32| (half * q + column) * q + row;
    let mut next = vec![nodes_per_switch; switches as usize];
    let mut end = |switch: u32| {
        next[switch as usize] += 1;
        End::Switch(SwitchId(switch), PortId(next[switch as usize] - 1))
    };
    for (half, differences) in (0..).zip(differences(q)) {
        for (column, row) in (0..q).flat_map(|column| (0..q).map(move |row| (column, row))) {
            for other in (row + 1..q).filter(|other| differences.contains(&(other - row))) {
                let ends = [end(number(half, column, row)), end(number(half, column, other))];
                builder.link(ends, 1);
            }
        }
    }
    for (x, m) in (0..q).flat_map(|x| (0..q).map(move |m| (x, m))) {
        for c in 0..q {
            let ends = [end(number(0, x, (m * x + c) % q)), end(number(1, m, c))];
            builder.link(ends, 1);
        }
    }
    builder.finish(Shape::Irregular)
}

/// X and X', of which each holds the negative of each of its elements.
fn differences(q: u32) -> [Vec<u32>; 2] {
    let powers = |element: u32| {
        let next = move |power: &u32| Some(power * element % q);
        std::iter::successors(Some(1), next).take(q as usize - 1).collect::<Vec<u32>>()
    };
    // The lowest element whose powers are all of those but 0: no power before the last but one is 1 again.
    let primitive = (2..q).map(powers).find(|powers| !powers[1..].contains(&1));
    let powers = primitive.unwrap_or_else(|| powers(1));
    let of =
        |exponents: &mut dyn Iterator<Item = usize>| exponents.map(|at| powers[at % powers.len()]).collect();
    let w = (q as usize).div_ceil(4);
    if q % 4 == 1 {
        let last = powers.len();
        return [of(&mut (0..last).step_by(2)), of(&mut (1..last).step_by(2))];
    }
    [
        of(&mut (0..2 * w - 1).step_by(2).chain((2 * w - 1..4 * w - 2).step_by(2))),
        of(&mut (1..2 * w).step_by(2).chain((2 * w..4 * w - 1).step_by(2))),
    ]
}
