//! Deadlock in a running fabric, proved by its witness: packets of which each needs the next one to move before it can.
//!
//! A packet at the head of an input FIFO waits *for ever* if something that it cannot do without is held by a packet that
//! waits itself: an output that a packet for a group keeps until its other outputs come, an output that is kept free for an
//! overdue packet, or buffer space on the next link that only the packets stored there can free. Since it needs all of it, one
//! ring of such packets is enough. Packets that cross, or are on a link, always move on, and nodes take everything, but for
//! requests that a NIC [keeps until replies have left](crate::Endpoint::KEEPS_FOR_REPLIES).

use crate::name::ComponentNumber;
use flitway_wiring::digraph::{self, Digraph};
use flitway_wiring::{Destination, NodeId, PortId};
use std::collections::BTreeMap;

/// An input FIFO, or the queue of an output in a central buffer; at a node the receive buffer of a NIC port, or a source queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fifo {
    /// Of which switch, or which node.
    pub switch: ComponentNumber,
    /// At which port; at a node the rail.
    pub port: PortId,
    /// Of which virtual channel.
    pub vc: u8,
    /// Which end of the switch it is at.
    pub side: Side,
}

/// Where packets wait in a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// In the FIFO of an input port.
    Input,
    /// In a store, for an output port.
    Output,
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
    /// An output of its switch that those in the queue of that output have before it.
    Queue {
        /// The output.
        output: PortId,
        /// The virtual channel by which they leave.
        vc: u8,
    },
    /// Room in the central buffer, of which packets for that output have some.
    Room {
        /// The output.
        output: PortId,
    },
    /// Flits of its own that the buffer of an input has no room for, before other copies have taken those before them.
    Copies {
        /// The input.
        input: PortId,
        /// Its virtual channel.
        vc: u8,
    },
    /// Flits of its own that have not come yet.
    Flits {
        /// The input by which they come.
        input: PortId,
        /// Flits that have come by it since the start, modulo 2^32.
        received: u32,
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
    /// The outputs through which its flits go on, as bits, where others can need them: [`Need::Flits`].
    pub feeds: u64,
    /// What it needs: all of it.
    pub needs: Vec<Need>,
    /// Besides, one of these; empty where there is no choice.
    pub alternatives: Vec<Need>,
}

impl Waiting {
    /// A request that a NIC keeps in a receive buffer until one of its replies has left, which are in the source queues of
    /// these `vcs`.
    pub fn for_replies(
        fifo: Fifo,
        source: NodeId,
        destination: NodeId,
        vcs: impl IntoIterator<Item = usize>,
    ) -> Self {
        let queue = |vc: usize| Need::Queue { output: fifo.port, vc: vc as u8 };
        Waiting {
            fifo,
            source,
            destination: Destination::Node(destination),
            feeds: 0,
            needs: Vec::new(),
            alternatives: vcs.into_iter().map(queue).collect(),
        }
    }
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

/// A smallest ring among the `waiting` packets; `holder` says in which FIFO something that a packet needs is held by what is
/// stored there, if it is.
pub(crate) fn find(
    waiting: &[Waiting],
    holder: impl Fn(&Waiting, &Need) -> Option<Fifo>,
) -> Option<Deadlock> {
    let places: BTreeMap<Fifo, u32> = waiting.iter().map(|packet| packet.fifo).zip(0..).collect();
    let waits_for = |packet: &Waiting, need: &Need| places.get(&holder(packet, need)?).copied();
    // Of each: who holds what it needs, and who holds what it has to choose from, if that is all held.
    let holders = |packet: &Waiting| {
        let held = |need: &Need| waits_for(packet, need);
        let needs: Vec<u32> = packet.needs.iter().filter_map(held).collect();
        let choices: Option<Vec<u32>> = packet.alternatives.iter().map(held).collect();
        (needs, choices.unwrap_or_default())
    };
    let held: Vec<(Vec<u32>, Vec<u32>)> = waiting.iter().map(holders).collect();
    let is_stuck = stuck(&held);
    let successors = held.iter().enumerate().map(|(number, (needs, choices))| {
        let reasons: Vec<u32> = if is_stuck[number] {
            let all_stuck = choices.iter().all(|&by| is_stuck[by as usize]);
            let needs = needs.iter().copied().filter(|&by| is_stuck[by as usize]);
            needs.chain(choices.iter().copied().filter(|_| all_stuck)).collect()
        } else {
            Vec::new()
        };
        reasons.into_iter()
    });
    let ring = Digraph::new(successors).smallest_cycle(digraph::BUDGET)?.vertices;
    let next = ring.iter().cycle().skip(1);
    let link = |(&here, next): (&u32, &u32)| {
        let packet = &waiting[here as usize];
        let mut all = packet.needs.iter().chain(&packet.alternatives);
        let need = all.find(|need| waits_for(packet, need) == Some(*next))?;
        Some(Link { fifo: packet.fifo, source: packet.source, destination: packet.destination, need: *need })
    };
    Some(Deadlock { ring: ring.iter().zip(next).filter_map(link).collect() })
}

/// Which packets are stuck of those that wait for what others hold: for all of the first, and for one of the second. Who could
/// go on after all others, if they could, is not stuck; what remains holds each other.
fn stuck(held: &[(Vec<u32>, Vec<u32>)]) -> Vec<bool> {
    let mut waiters: Vec<Vec<u32>> = vec![Vec::new(); held.len()];
    for (number, (needs, choices)) in (0..).zip(held) {
        needs.iter().chain(choices).for_each(|&by| waiters[by as usize].push(number));
    }
    // Holders of needs that are stuck, as far as known, and whether all of those to choose from are.
    let mut reasons: Vec<(usize, bool)> =
        held.iter().map(|(needs, choices)| (needs.len(), !choices.is_empty())).collect();
    let mut is_stuck = vec![true; held.len()];
    let can_go = |reasons: &[(usize, bool)], number: u32| reasons[number as usize] == (0, false);
    let mut going: Vec<u32> = (0..held.len() as u32).filter(|&number| can_go(&reasons, number)).collect();
    while let Some(number) = going.pop() {
        if !std::mem::replace(&mut is_stuck[number as usize], false) {
            continue;
        }
        for &waiter in &waiters[number as usize] {
            let (needs, choices) = &held[waiter as usize];
            let left = &mut reasons[waiter as usize];
            if choices.contains(&number) {
                left.1 = false;
            }
            // It waits once for each time that it needs what is held here.
            if needs.contains(&number) {
                left.0 = needs.iter().filter(|&&by| is_stuck[by as usize]).count();
            }
            if can_go(&reasons, waiter) {
                going.push(waiter);
            }
        }
    }
    is_stuck
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_engine::random::{Purpose, Stream};

    fn packet(port: u32, needs: &[u32]) -> Waiting {
        let needs = needs.iter().map(|&by| Need::Output { output: PortId(0), by: PortId(by) }).collect();
        let fifo = Fifo { switch: 3, port: PortId(port), vc: 1, side: Side::Input };
        Waiting {
            fifo,
            source: NodeId(port),
            destination: Destination::Node(NodeId(0)),
            feeds: 0,
            needs,
            alternatives: Vec::new(),
        }
    }

    fn ring(packets: &[Waiting]) -> Option<Vec<u32>> {
        let holder = |packet: &Waiting, need: &Need| match need {
            Need::Output { by, .. } => Some(Fifo { port: *by, ..packet.fifo }),
            Need::Space { .. }
            | Need::Queue { .. }
            | Need::Room { .. }
            | Need::Copies { .. }
            | Need::Flits { .. } => None,
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
        // Who has a choice is stuck only if nothing of it comes.
        let choice = |port, of: &[u32]| {
            let Waiting { needs, .. } = packet(port, of);
            Waiting { alternatives: needs, ..packet(port, &[]) }
        };
        assert_eq!(ring(&[packet(0, &[1]), choice(1, &[0, 2])]), None);
        assert_eq!(ring(&[packet(0, &[1]), choice(1, &[0, 2]), packet(2, &[0])]), Some(vec![0, 1]));
        let two = [packet(0, &[1, 2]), packet(1, &[3]), packet(2, &[3, 0]), packet(3, &[])];
        assert_eq!(ring(&two), Some(vec![0, 2]));
    }

    /// Against the plainest way: strike who can go on, again and again, until nobody can.
    #[test]
    fn who_is_stuck_does_not_depend_on_the_order_of_looking() {
        let mut stream = Stream::new(5, 0, Purpose::Test);
        for _ in 0..2_000 {
            let count = 1 + stream.below(9);
            let mut some =
                |most| -> Vec<u32> { (0..stream.below(most)).map(|_| stream.below(count) as u32).collect() };
            let held: Vec<(Vec<u32>, Vec<u32>)> = (0..count).map(|_| (some(3), some(3))).collect();
            let mut expected = vec![true; held.len()];
            for _ in 0..count {
                let is = |by: &u32| expected[*by as usize];
                let waits = |(needs, choices): &(Vec<u32>, Vec<u32>)| {
                    needs.iter().any(is) || !choices.is_empty() && choices.iter().all(is)
                };
                expected = expected.iter().zip(&held).map(|(&before, held)| before && waits(held)).collect();
            }
            assert_eq!(stuck(&held), expected, "{held:?}");
        }
    }
}
