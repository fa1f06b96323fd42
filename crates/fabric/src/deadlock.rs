//! Deadlock in a running fabric, proved by its witness: packets of which each needs the next one to move before it can.
//!
//! A packet at the head of an input FIFO waits *for ever* if something that it cannot do without is held by a packet that
//! waits itself: an output that a packet for a group keeps until its other outputs come, an output that is kept free for an
//! overdue packet, or buffer space on the next link that only the packets stored there can free. Since it needs all of it, one
//! ring of such packets is enough. Packets that cross, or are on a link, always move on, and nodes take everything.

use crate::observer::ComponentNumber;
use crate::{Destination, NodeId, PortId};
use std::collections::BTreeMap;

/// An input FIFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fifo {
    /// Of which switch.
    pub switch: ComponentNumber,
    /// At which input port.
    pub port: PortId,
    /// Of which virtual channel.
    pub vc: u8,
}

/// What a packet cannot do without and has not got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// An output of its switch that is kept for the first packet of the FIFO at port `by`.
    Output {
        /// The output.
        output: PortId,
        /// Who has it.
        by: PortId,
    },
    /// Buffer space behind an output: credit units on virtual channel `vc` beyond `sent`.
    Space {
        /// The output.
        output: PortId,
        /// The virtual channel on the next link.
        vc: u8,
        /// Credit units that it takes.
        units: u32,
        /// Credit units that have been sent on that virtual channel since the start, modulo 2^32.
        sent: u32,
    },
}

/// A packet at the head of a FIFO that cannot move now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Where.
    pub fifo: Fifo,
    /// Who sent it.
    pub source: NodeId,
    /// For whom.
    pub destination: Destination,
    /// What it needs.
    pub needs: Vec<Need>,
}

/// One packet of a ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Where it waits.
    pub fifo: Fifo,
    /// Who sent it.
    pub source: NodeId,
    /// For whom.
    pub destination: Destination,
    /// What it needs of the next packet of the ring.
    pub need: Need,
}

/// A ring of packets of which each waits for the next, and the last for the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// The ring.
    pub ring: Vec<Link>,
}

/// A ring among the `waiting` packets; `holder` says in which FIFO something that a packet needs is held by what is stored
/// there, if it is.
pub(crate) fn find(
    waiting: &[Waiting],
    holder: impl Fn(&Waiting, &Need) -> Option<Fifo>,
) -> Option<Deadlock> {
    let places: BTreeMap<Fifo, usize> =
        (0..).map(|place: usize| place).zip(waiting).map(|(place, it)| (it.fifo, place)).collect();
    let edges: Vec<Vec<(Need, usize)>> = waiting
        .iter()
        .map(|packet| {
            let held = packet.needs.iter().filter_map(|need| Some((*need, holder(packet, need)?)));
            held.filter_map(|(need, fifo)| Some((need, *places.get(&fifo)?))).collect()
        })
        .collect();
    // Depth first; a packet that leads to no ring leads to none the next time either.
    let mut is_done = vec![false; waiting.len()];
    for start in 0..waiting.len() {
        let mut path: Vec<(usize, usize)> = vec![(start, 0)];
        let mut place_on_path = vec![usize::MAX; if is_done[start] { 0 } else { waiting.len() }];
        while let Some(&(here, turn)) = path.last().filter(|_| !is_done[start]) {
            place_on_path[here] = path.len() - 1;
            let Some(&(_, next)) = edges[here].get(turn) else {
                (is_done[here], place_on_path[here]) = (true, usize::MAX);
                path.pop();
                continue;
            };
            if let Some(last) = path.last_mut() {
                last.1 += 1;
            }
            if place_on_path[next] != usize::MAX {
                let ring = path[place_on_path[next]..].iter().map(|&(place, turn)| Link {
                    fifo: waiting[place].fifo,
                    source: waiting[place].source,
                    destination: waiting[place].destination,
                    need: edges[place][turn - 1].0,
                });
                return Some(Deadlock { ring: ring.collect() });
            }
            if !is_done[next] {
                path.push((next, 0));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(port: u32, needs: &[u32]) -> Waiting {
        let needs = needs.iter().map(|&by| Need::Output { output: PortId(0), by: PortId(by) }).collect();
        let fifo = Fifo { switch: 3, port: PortId(port), vc: 1 };
        Waiting { fifo, source: NodeId(port), destination: Destination::Node(NodeId(0)), needs }
    }

    fn ring(packets: &[Waiting]) -> Option<Vec<u32>> {
        let holder = |packet: &Waiting, need: &Need| match need {
            Need::Output { by, .. } => Some(Fifo { port: *by, ..packet.fifo }),
            Need::Space { .. } => None,
        };
        find(packets, holder).map(|deadlock| deadlock.ring.iter().map(|link| link.fifo.port.0).collect())
    }

    #[test]
    fn a_ring_is_found_and_a_chain_is_none() {
        assert_eq!(ring(&[]), None);
        assert_eq!(ring(&[packet(0, &[1]), packet(1, &[2]), packet(2, &[])]), None);
        // Port 9 has no waiting packet.
        assert_eq!(ring(&[packet(0, &[1]), packet(1, &[9])]), None);
        assert_eq!(ring(&[packet(0, &[0])]), Some(vec![0]));
        assert_eq!(ring(&[packet(0, &[1]), packet(1, &[2]), packet(2, &[3, 1])]), Some(vec![1, 2]));
        let two = [packet(0, &[1, 2]), packet(1, &[3]), packet(2, &[3, 0]), packet(3, &[])];
        assert_eq!(ring(&two), Some(vec![0, 2]));
    }
}
