//! The manager: it fills the items of all chips from the topology and from what is down.
//!
//! Stage by stage from the destination on: an item gets those ports of the way to its nodes behind which something is up and
//! the most of them are reached. An item of a single node so gets every port that leads to it. A system item, which is for all
//! nodes of a group, gets the ports that serve the group best, and none that lead to fewer of its nodes.

use super::{Chip, Chips, Item, NONE, Oblivious, Rtb, section_sizes};
use crate::routing::Left;
use crate::topology::{self, End, LinkId, Stage, ThTree, Topology};
use crate::{NodeId, PortId, SwitchId};
use std::collections::BTreeMap;
use std::ops::Range;

/// What is down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Down {
    /// Chips.
    pub switches: Vec<SwitchId>,
    /// Links, in both directions.
    pub links: Vec<LinkId>,
}

/// An item that has no port left, at a chip that is up. Packets come there only if none reach more of the nodes: a root switch
/// behind a leaf switch that is down has a hole, and no other chip sends packets for the group there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hole {
    /// The chip.
    pub at: SwitchId,
    /// The nodes that it is the item of, as their numbers.
    pub nodes: Range<u32>,
}

/// Whom an item is for.
#[derive(Clone, Copy, Debug)]
enum Target {
    /// One node of the chip's own group.
    Node(NodeId),
    /// Another group.
    Group(u32),
}

impl Rtb {
    /// The routing on `topology`, which is `tree`, around what is `down`; and the items that are left without a port.
    pub(in super::super) fn new(
        tree: &ThTree,
        topology: &Topology,
        oblivious: Oblivious,
        down: &Down,
    ) -> (Self, Vec<Hole>) {
        let mut manager = Manager::new(tree, topology, oblivious, down);
        manager.fill_frames();
        manager.fill_leaves();
        manager.fill_groups();
        manager.fill_roots();
        manager.fill_system();
        (manager.rtb, manager.holes)
    }
}

struct Manager<'a> {
    tree: &'a ThTree,
    topology: &'a Topology,
    left: Left,
    rtb: Rtb,
    /// By item: how many of its nodes are reached.
    reached: Vec<u32>,
    /// By ports: the set that has them.
    sets: BTreeMap<Vec<u16>, u32>,
    holes: Vec<Hole>,
}

impl<'a> Manager<'a> {
    fn new(tree: &'a ThTree, topology: &'a Topology, oblivious: Oblivious, down: &Down) -> Self {
        let (chips, items) = chips(tree);
        let left = Left::of(topology, Some(down));
        let rtb = Rtb {
            oblivious,
            chips,
            items: vec![0; items],
            sets: vec![(0, 0)],
            ports: Vec::new(),
            nowhere: PortId(topology.ports_max()),
        };
        let (reached, sets) = (vec![0; items], BTreeMap::from([(Vec::new(), 0)]));
        Manager { tree, topology, left, rtb, reached, sets, holes: Vec::new() }
    }

    /// Within each frame, for its own nodes.
    fn fill_frames(&mut self) {
        let tree = self.tree;
        for frame in 0..tree.groups * tree.frames_per_group {
            let nodes = || (0..tree.nodes_per_frame).map(|node| (node, node_at(tree, frame, node)));
            for (node, target) in nodes() {
                let (lower, port) = tree.place_in_frame(node);
                self.fill(Stage::NrmLower, frame, lower, target, port.0..port.0 + 1);
            }
            for (upper, (node, target)) in pairs(tree.upper_chips, nodes) {
                let ports = tree.ports_to_lower(tree.place_in_frame(node).0);
                self.fill(Stage::NrmUpper, frame, upper, target, ports);
            }
            for (lower, (node, target)) in pairs(tree.lower_chips, nodes) {
                if tree.place_in_frame(node).0 != lower {
                    self.fill_up(Stage::NrmLower, frame, lower, target);
                }
            }
        }
    }

    /// At leaf switches, for the nodes of their group.
    fn fill_leaves(&mut self) {
        let tree = self.tree;
        if !tree.has_leaves() {
            return;
        }
        for (group, leaf) in pairs(tree.groups, || 0..tree.chips_each(Stage::Leaf)) {
            let mut reached = 0;
            for (frame, node) in pairs(tree.frames_per_group, || 0..tree.nodes_per_frame) {
                let target = node_at(tree, group * tree.frames_per_group + frame, node);
                reached += self.fill(Stage::Leaf, group, leaf, target, frame..frame + 1);
            }
            // The system item of its own group is no item: root switches look up here how many nodes it reaches.
            let here = tree.switch(Stage::Leaf, group, leaf);
            let own = self.item(here, Target::Group(group)).place;
            self.reached[own] = reached;
        }
    }

    /// At NRMs, for the nodes of other frames of their group.
    fn fill_groups(&mut self) {
        let (tree, frames) = (self.tree, self.tree.frames_per_group);
        let others = |frame: u32| {
            (frame / frames * frames..(frame / frames + 1) * frames).filter(move |&it| it != frame)
        };
        let targets = |frame| {
            others(frame)
                .flat_map(|other| (0..tree.nodes_per_frame).map(move |node| node_at(tree, other, node)))
        };
        for stage in [Stage::NrmUpper, Stage::NrmLower] {
            for (frame, chip) in pairs(tree.groups * frames, || 0..tree.chips_each(stage)) {
                targets(frame).for_each(|target| _ = self.fill_up(stage, frame, chip, target));
            }
        }
    }

    /// At root switches, for groups.
    fn fill_roots(&mut self) {
        let tree = self.tree;
        if !tree.has_roots() {
            return;
        }
        let roots = tree.up_ports_per_nrm * tree.leaf_ports / 2;
        for (root, group) in pairs(roots, || 0..tree.groups) {
            let (own, port) = tree.root_port_of(group);
            let target = Target::Group(group);
            self.fill(Stage::RootLower, root, own, target, port.0..port.0 + 1);
            for upper in 0..tree.root_upper_chips {
                self.fill(Stage::RootUpper, root, upper, target, tree.root_ports_to(group));
            }
            for lower in (0..tree.root_lower_chips).filter(|&lower| lower != own) {
                self.fill_up(Stage::RootLower, root, lower, target);
            }
        }
    }

    /// At leaf switches and NRMs, for other groups.
    fn fill_system(&mut self) {
        let (tree, frames) = (self.tree, self.tree.frames_per_group);
        let others = |own: u32| (0..tree.groups).filter(move |&group| group != own).map(Target::Group);
        for (stage, each) in [(Stage::Leaf, 1), (Stage::NrmUpper, frames), (Stage::NrmLower, frames)] {
            if !tree.has_roots() {
                return;
            }
            for (of, chip) in pairs(tree.groups * each, || 0..tree.chips_each(stage)) {
                others(of / each).for_each(|target| _ = self.fill_up(stage, of, chip, target));
            }
        }
    }

    /// The same with all ports up of the chip.
    fn fill_up(&mut self, stage: Stage, of: u32, index: u32, target: Target) -> u32 {
        let ports = self.tree.ports_up(topology::Chip { stage, of, index });
        self.fill(stage, of, index, target, ports)
    }

    /// Gives the item of a chip for `target` those of `ports` by which the most nodes are reached. Returns how many that are.
    fn fill(&mut self, stage: Stage, of: u32, index: u32, target: Target, ports: Range<u32>) -> u32 {
        let here = self.tree.switch(stage, of, index);
        if !self.left.has_switch(here) {
            return 0;
        }
        let (mut best, mut active) = (0, Vec::new());
        for port in ports {
            let reached = self.reached_by(here, PortId(port), target);
            if reached > best {
                active.clear();
                best = reached;
            }
            if reached == best && best > 0 {
                active.push(port as u16);
            }
        }
        let item = self.item(here, target).place;
        if best == 0 {
            let nodes = match target {
                Target::Node(node) => node.0..node.0 + 1,
                Target::Group(group) => {
                    let each = self.tree.nodes_per_group();
                    group * each..(group + 1) * each
                }
            };
            self.holes.push(Hole { at: here, nodes });
        }
        self.reached[item] = best;
        self.rtb.items[item] = self.set(active);
        best
    }

    /// How many nodes of `target` are reached by a port.
    fn reached_by(&self, here: SwitchId, port: PortId, target: Target) -> u32 {
        let is_left = self.left.has(self.topology, here, port);
        match self.topology.wire(here, port).filter(|_| is_left) {
            Some((_, End::Switch(next, _))) => self.reached[self.item(next, target).place],
            Some((_, End::Node(_))) => 1,
            None => 0,
        }
    }

    fn item(&self, here: SwitchId, target: Target) -> Item {
        match target {
            Target::Node(node) => self.rtb.chips.item(here, node),
            Target::Group(group) => self.rtb.chips.chips[here.index()].system_item(group),
        }
    }

    /// The set of these ports.
    fn set(&mut self, ports: Vec<u16>) -> u32 {
        if let Some(&set) = self.sets.get(&ports) {
            return set;
        }
        let set = self.rtb.sets.len() as u32;
        self.rtb.sets.push((self.rtb.ports.len() as u32, ports.len() as u32));
        self.rtb.ports.extend(&ports);
        self.sets.insert(ports, set);
        set
    }
}

/// Every chip of `tree` with the places of its items, and how many items there are.
fn chips(tree: &ThTree) -> (Chips, usize) {
    let (frames, per_cabinet) = (tree.frames_per_group, tree.frames_per_cabinet.min(tree.frames_per_group));
    let nodes_per_cabinet = per_cabinet * tree.nodes_per_frame;
    let mut items = 0;
    let mut section = |count: u32| {
        items += count;
        items - count
    };
    let chip = |chip: topology::Chip| {
        let (group, cabinet) = match chip.stage {
            Stage::NrmLower | Stage::NrmUpper => (chip.of / frames, chip.of % frames / per_cabinet),
            Stage::Leaf => (chip.of, NONE),
            Stage::RootLower | Stage::RootUpper => (NONE, NONE),
        };
        let first = section_sizes(tree, chip.stage).map(&mut section);
        Chip { group, cabinet, first, ways_below: ways_below(tree, chip.stage) }
    };
    let chips = tree.places().map(chip).collect();
    (Chips { nodes_per_group: tree.nodes_per_group(), nodes_per_cabinet, chips }, items as usize)
}

/// The ways that stages below this one have chosen among.
fn ways_below(tree: &ThTree, stage: Stage) -> u32 {
    // Without root switches nobody asks, and there may be no such number.
    let roots = if tree.has_roots() { tree.up_ports_per_nrm * (tree.leaf_ports / 2) } else { 1 };
    match stage {
        Stage::NrmLower => 1,
        Stage::NrmUpper => tree.upper_chips,
        Stage::Leaf => tree.up_ports_per_nrm,
        Stage::RootLower => roots,
        Stage::RootUpper => roots * tree.root_upper_chips,
    }
}

/// A node of a frame, frames being counted through the groups.
fn node_at(tree: &ThTree, frame: u32, node: u32) -> Target {
    Target::Node(NodeId(frame * tree.nodes_per_frame + node))
}

/// Every number below `count` with each of `others`.
fn pairs<I: Iterator>(count: u32, others: impl Fn() -> I) -> impl Iterator<Item = (u32, I::Item)> {
    (0..count).flat_map(move |one| others().map(move |other| (one, other)))
}
