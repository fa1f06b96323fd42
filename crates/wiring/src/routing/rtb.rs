//! Routing-table buffers: what a chip of TH Express-2 looks up where a packet goes, in three levels.
//!
//! Source: th-express-2.txt section 4.3.3; what it leaves open is OQ-T5 (levels), OQ-T14 (which port) and OQ-T15 (candidates).
//!
//! * A table has items of three *levels*: *cabinet*, by node of the cabinet; *group*, by node of the group; *system*, by
//!   group. A packet takes the item of the first level whose part of the number is that of the chip: its cabinet, its group,
//!   or else the system. Leaf switches are in no cabinet, and root switches in no group.
//! * An item is a set of *active ports*. `manager` fills the items from the topology and what is down.
//! * Each port of a chip has a table of its own. All have the same items, but of an item with `n` ports the table of input `i`
//!   begins with the one at `(i + item) mod n`, item being its number in its level; so packets of different inputs go apart
//!   although a system item knows no node. This is [`Oblivious::ByInput`]; here the rotation is computed.
//! * With [`Oblivious::ByDestination`] it is the one at `(node / w) mod n`, `w` being the ways that stages below have chosen
//!   among, as in d-mod-k: 1 at the lower chips of an NRM, the upper chips above them, the leaf switches, the root switches,
//!   and their upper chips. It is there to compare with: a chip would need an item for each node.
//! * Where switches select, up to four ports are candidates: those from that one on, going round.
//!
//! Packets go up, then down, so one class of virtual channels is enough.

mod manager;

use super::{Arrival, Candidate, Header, Hop, Relation};
use crate::topology::{Stage, ThTree};
use crate::{NodeId, PortId, SwitchId};
pub use manager::{Down, Hole};
use std::ops::Range;

/// Which of the active ports of an item a packet takes where the switch does not select.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oblivious {
    /// By the port it has come in by, and the item.
    ByInput,
    /// By the destination.
    ByDestination,
}

/// Active ports of an item among which switches select: "up to four active destination ports".
const CANDIDATES_MAX: u32 = 4;

/// The routing by such tables.
#[derive(Clone, Debug)]
pub(super) struct Rtb {
    oblivious: Oblivious,
    chips: Chips,
    /// By item: its set of ports.
    items: Vec<u32>,
    /// By set: the first of its ports in `ports`, and how many there are. The first set has none.
    sets: Vec<(u32, u32)>,
    ports: Vec<u16>,
    /// A port that no chip has: where packets are sent that have nowhere to go.
    nowhere: PortId,
}

/// Where items are.
#[derive(Clone, Debug)]
struct Chips {
    nodes_per_group: u32,
    nodes_per_cabinet: u32,
    /// By switch.
    chips: Vec<Chip>,
}

/// What a chip knows of itself.
#[derive(Clone, Copy, Debug)]
struct Chip {
    /// Its group and its cabinet in the group, or [`NONE`].
    group: u32,
    cabinet: u32,
    /// Where the items of each level begin: cabinet, group, system.
    first: [u32; 3],
    /// Ways that stages below have chosen among.
    ways_below: u32,
}

/// No group and no cabinet.
const NONE: u32 = u32::MAX;

/// An item: its place among all, and its number in its level.
#[derive(Clone, Copy, Debug)]
struct Item {
    place: usize,
    number: u32,
}

impl Chips {
    /// The item that `here` has for `destination`.
    #[inline]
    fn item(&self, here: SwitchId, destination: NodeId) -> Item {
        let chip = &self.chips[here.index()];
        let (group, node) = (destination.0 / self.nodes_per_group, destination.0 % self.nodes_per_group);
        if group != chip.group {
            return chip.system_item(group);
        }
        let (cabinet, in_cabinet) = (node / self.nodes_per_cabinet, node % self.nodes_per_cabinet);
        let (level, number) = if cabinet == chip.cabinet { (0, in_cabinet) } else { (1, node) };
        Item { place: (chip.first[level] + number) as usize, number }
    }

    /// The nodes that it is the item of.
    fn nodes_of_item(&self, here: SwitchId, destination: NodeId) -> Range<u32> {
        let group = destination.0 / self.nodes_per_group;
        if group == self.chips[here.index()].group {
            return destination.0..destination.0 + 1;
        }
        group * self.nodes_per_group..(group + 1) * self.nodes_per_group
    }
}

impl Chip {
    #[inline]
    fn system_item(&self, group: u32) -> Item {
        Item { place: (self.first[2] + group) as usize, number: group }
    }
}

/// Items that a chip of `tree` needs in each level: cabinet, group, system.
#[must_use]
pub fn items_needed(tree: &ThTree) -> [u32; 3] {
    let frames = tree.frames_per_cabinet.min(tree.frames_per_group);
    [
        frames * tree.nodes_per_frame,
        if tree.has_leaves() { tree.nodes_per_group() } else { 0 },
        if tree.has_roots() { tree.groups } else { 0 },
    ]
}

/// The most items that all chips of a tree can have together, of four bytes each.
pub const ITEMS_MAX: u64 = 1 << 28;

/// Items of all chips of `tree` together.
#[must_use]
pub fn items_of_all(tree: &ThTree) -> u64 {
    let of_chip = |stage| section_sizes(tree, stage).map(u64::from).iter().sum::<u64>();
    Stage::ALL.into_iter().map(|stage| tree.chips_of(stage) * of_chip(stage)).sum()
}

/// Items of a chip in each level: cabinet, group, system.
fn section_sizes(tree: &ThTree, stage: Stage) -> [u32; 3] {
    let cabinet = tree.frames_per_cabinet.min(tree.frames_per_group) * tree.nodes_per_frame;
    match stage {
        Stage::NrmLower | Stage::NrmUpper => [cabinet, tree.nodes_per_group(), tree.groups],
        Stage::Leaf => [0, tree.nodes_per_group(), tree.groups],
        Stage::RootLower | Stage::RootUpper => [0, 0, tree.groups],
    }
}

impl Rtb {
    /// The active ports for `destination` at `here`, and the place of the first one for packets that have come so.
    #[inline]
    fn active(&self, here: SwitchId, arrival: Arrival, destination: NodeId) -> (&[u16], u32) {
        let item = self.chips.item(here, destination);
        let (first, count) = self.sets[self.items[item.place] as usize];
        let ports = &self.ports[first as usize..(first + count) as usize];
        let turn = match self.oblivious {
            Oblivious::ByInput => arrival.port.0 + item.number,
            Oblivious::ByDestination => destination.0 / self.chips.chips[here.index()].ways_below,
        };
        (ports, if count > 1 { turn % count } else { 0 })
    }
}

impl Relation for Rtb {
    #[inline]
    fn next(&self, here: SwitchId, arrival: Arrival, header: Header) -> Candidate {
        let (ports, turn) = self.active(here, arrival, header.destination());
        let port = ports.get(turn as usize).map_or(self.nowhere, |&port| PortId(port.into()));
        Candidate { hop: Hop { port, class: 0 }, header }
    }

    fn has_choice(&self) -> bool {
        true
    }

    fn candidates(&self, here: SwitchId, arrival: Arrival, header: Header, take: &mut dyn FnMut(Candidate)) {
        let (ports, turn) = self.active(here, arrival, header.destination());
        if ports.is_empty() {
            take(self.next(here, arrival, header));
        }
        let round = ports[turn as usize..].iter().chain(ports);
        for &port in round.take(ports.len().min(CANDIDATES_MAX as usize)) {
            take(Candidate { hop: Hop { port: PortId(port.into()), class: 0 }, header });
        }
    }

    fn tells_nodes_apart(&self) -> bool {
        self.oblivious == Oblivious::ByInput
    }

    fn alike(&self, here: SwitchId, destination: NodeId) -> Range<u32> {
        match self.oblivious {
            Oblivious::ByInput => self.chips.nodes_of_item(here, destination),
            Oblivious::ByDestination => destination.0..destination.0 + 1,
        }
    }
}

#[cfg(test)]
mod tests;
