//! Multicast groups: who is in them, and over which links a packet for all of them travels.
//!
//! Sources: hpp-switch.txt section 2.3 and dawning5000.txt section 5.2; `mechanisms.md` 1.5 and 1.6. Membership is written
//! into a table of every switch from outside (*out of band*): for each group a mask of ports. The links of a group form a
//! tree, so no copy arrives twice. How a packet comes to the root of the tree is the group table's [`Ascent`].

use crate::NodeId;
use crate::reach::Reach;
use crate::routing::{Hop, Route, Routing, RoutingKind, spanning_tree};
use crate::topology::{End, Shape, Topology, TreeShape};
use crate::{PortId, SwitchId};
use std::collections::BTreeMap;
use std::sync::Arc;

flitway_engine::id! {
    /// A multicast group, from 0.
    GroupId
}

/// How a packet for a group gets to the switch from which all members are below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ascent {
    /// The group has one tree. Tables name its links in both directions, and a packet goes on by all of them but the one
    /// it came by: from below it goes up and down at once. Only members send.
    Table,
    /// The packet carries the way up to a root that its sender chooses, and tables name the links down from there. It is
    /// not copied on the way up; a sender that is a member gets a copy too.
    Routed,
}

/// What a group is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSettings {
    /// Its members, in any order.
    pub members: Vec<NodeId>,
    /// The root of its tree, of those that [`Groups::roots`] counts, where the table has one; taken modulo that count.
    pub root: u32,
}

/// The groups of a fabric.
#[derive(Clone, Debug)]
pub struct Groups {
    ascent: Ascent,
    tree: Option<TreeShape>,
    groups: Arc<[Group]>,
}

#[derive(Clone, Debug)]
struct Group {
    /// Ascending, each once.
    members: Box<[NodeId]>,
    /// By switch: the ports that belong to the group.
    masks: Box<[u64]>,
    /// By switch: the port towards the root, where the group has one tree.
    parents: Box<[Option<PortId>]>,
}

/// The links of one tree.
struct Tree {
    masks: Box<[u64]>,
    parents: Box<[Option<PortId>]>,
}

/// Why groups do not go with a fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupError {
    /// A group without members.
    Empty(GroupId),
    /// A member that is no node of the fabric.
    Member(GroupId, NodeId),
    /// Copies that take other ways than packets can close a ring of waiting packets under this routing.
    Routing,
    /// A sender chooses among roots in fat trees alone.
    NoRoots,
    /// The way up is longer than a packet can carry.
    TooManyLevels,
}

impl std::fmt::Display for GroupError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            GroupError::Empty(group) => write!(f, "group {group} has no members"),
            GroupError::Member(group, node) => {
                write!(f, "group {group} has member {node}, which is no node")
            }
            GroupError::Routing => f.write_str(
                "multicast needs a routing that goes up and then down (`d-mod-k` of a fat-tree or k-ary-n-tree, or `up-down`): its \
                 trees and other paths together could deadlock",
            ),
            GroupError::NoRoots => f.write_str("only a fat tree has several roots to choose from"),
            GroupError::TooManyLevels => {
                write!(f, "a packet carries a way up of at most {} switches", Route::HOPS)
            }
        }
    }
}

impl std::error::Error for GroupError {}

impl Groups {
    /// No groups: switches without a multicast table.
    #[must_use]
    pub fn none() -> Self {
        Groups { ascent: Ascent::Table, tree: None, groups: Arc::new([]) }
    }

    /// Writes the tables of `settings`, one for each group.
    ///
    /// # Errors
    /// If a group cannot be laid over the fabric that `routing` routes.
    pub fn new(routing: &Routing, ascent: Ascent, settings: &[GroupSettings]) -> Result<Self, GroupError> {
        // A spanning tree goes up and down in another order than the levels of a tree.
        let goes_up_and_down = match routing.kind() {
            RoutingKind::DModK => matches!(routing.topology().shape(), Shape::Tree(_)),
            kind => kind == RoutingKind::UpDown,
        };
        if !goes_up_and_down {
            return Err(GroupError::Routing);
        }
        Groups::lay(routing, ascent, settings)
    }

    /// The same for packets that wait for no credits, so that no ring of them can close under any routing.
    pub fn lay(routing: &Routing, ascent: Ascent, settings: &[GroupSettings]) -> Result<Self, GroupError> {
        let topology = routing.topology();
        let tree = match topology.shape() {
            Shape::Tree(shape) => Some(shape.clone()),
            _ => None,
        };
        if ascent == Ascent::Routed {
            let levels = tree.as_ref().ok_or(GroupError::NoRoots)?.levels;
            if levels - 1 > Route::HOPS {
                return Err(GroupError::TooManyLevels);
            }
        }
        let links = if tree.is_none() { spanning_tree(topology) } else { Vec::new() };
        let group = |(id, settings): (usize, &GroupSettings)| {
            let members = members(GroupId::new(id), &settings.members, topology)?;
            let Tree { masks, parents } = match (&tree, ascent) {
                (Some(shape), Ascent::Table) => table_of_tree(shape, &members, settings.root, topology),
                (Some(shape), Ascent::Routed) => {
                    Tree { masks: table_of_descents(shape, &members, topology), parents: Box::default() }
                }
                (None, _) => table_of_links(&links, &members, topology),
            };
            Ok(Group { members, masks, parents })
        };
        let groups = settings.iter().enumerate().map(group).collect::<Result<_, _>>()?;
        Ok(Groups { ascent, tree, groups })
    }

    /// Turns the tree of `group` towards `root`, which is a member: the same links, other parents.
    pub fn turn(&mut self, group: GroupId, root: NodeId, topology: &Topology) {
        let parents = &mut Arc::make_mut(&mut self.groups)[group.index()].parents;
        let (mut here, mut towards_root) = topology.home(root);
        loop {
            let former = parents[here.index()].replace(towards_root);
            let Some(End::Switch(next, port)) =
                former.and_then(|port| topology.wire(here, port)).map(|(_, end)| end)
            else {
                break;
            };
            (here, towards_root) = (next, port);
        }
    }

    /// Number of groups.
    #[must_use]
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// How packets come to the root.
    #[must_use]
    pub fn ascent(&self) -> Ascent {
        self.ascent
    }

    /// The members of `group`, ascending.
    #[must_use]
    pub fn members(&self, group: GroupId) -> &[NodeId] {
        &self.groups[group.index()].members
    }

    /// The ports of `switch` that belong to `group`, as a mask; none where the table has no entry.
    #[must_use]
    pub fn mask(&self, switch: SwitchId, group: GroupId) -> u64 {
        self.groups[group.index()].masks[switch.index()]
    }

    /// The port of `switch` towards the root of the tree of `group`; none at the root, and where the group has no tree or
    /// not only one.
    #[must_use]
    pub fn parent(&self, switch: SwitchId, group: GroupId) -> Option<PortId> {
        self.groups[group.index()].parents.get(switch.index()).copied().flatten()
    }

    /// The ports by which a packet for `group` leaves `switch`, to which it has come by `arrival`.
    #[must_use]
    pub fn outputs(&self, switch: SwitchId, group: GroupId, arrival: PortId) -> u64 {
        let mask = self.mask(switch, group);
        match self.ascent {
            Ascent::Table => mask & !(1 << arrival.0),
            Ascent::Routed => mask,
        }
    }

    /// Switches that a packet of `source` for `group` can climb to: all of those at the lowest level from which the source
    /// and the members are below.
    #[must_use]
    pub fn roots(&self, source: NodeId, group: GroupId) -> u32 {
        match &self.tree {
            Some(shape) => shape.power(self.level(shape, source, group)) as u32,
            None => 1,
        }
    }

    /// The switch that root `root` of those of `source` stands for.
    #[must_use]
    pub fn root(&self, source: NodeId, group: GroupId, root: u32) -> Option<SwitchId> {
        let shape = self.tree.as_ref()?;
        let level = self.level(shape, source, group);
        Some(on_the_way(shape, source, level, u64::from(root)))
    }

    /// The way up of a packet of `source` for `group` to `root`.
    #[must_use]
    pub fn way_up(&self, source: NodeId, group: GroupId, root: u32) -> Route {
        match (&self.tree, self.ascent) {
            (Some(shape), Ascent::Routed) => {
                let up = |level: u32| {
                    let digit = u64::from(root) / shape.power(level) % u64::from(shape.arity);
                    Hop { port: PortId(shape.arity + digit as u32), class: 0 }
                };
                Route::of((0..self.level(shape, source, group)).map(up))
            }
            _ => Route::of([]),
        }
    }

    /// The lowest level from which `source` and the members of `group` are below.
    fn level(&self, shape: &TreeShape, source: NodeId, group: GroupId) -> u32 {
        let members = self.members(group);
        let (first, last) = (members[0].min(source), members[members.len() - 1].max(source));
        span(shape, first, last)
    }
}

fn members(group: GroupId, members: &[NodeId], topology: &Topology) -> Result<Box<[NodeId]>, GroupError> {
    if let Some(&node) = members.iter().find(|node| node.0 >= topology.nodes()) {
        return Err(GroupError::Member(group, node));
    }
    let mut members = members.to_vec();
    members.sort_unstable();
    members.dedup();
    if members.is_empty() { Err(GroupError::Empty(group)) } else { Ok(members.into()) }
}

/// The lowest level of which one subtree has all nodes from `first` to `last`.
fn span(shape: &TreeShape, first: NodeId, last: NodeId) -> u32 {
    let subtree = |node: NodeId, level: u32| u64::from(node.0) / shape.power(level + 1);
    let top = shape.levels - 1;
    (0..top).find(|&level| subtree(first, level) == subtree(last, level)).unwrap_or(top)
}

/// The switch at `level` on the way up from `node` towards `root`.
fn on_the_way(shape: &TreeShape, node: NodeId, level: u32, root: u64) -> SwitchId {
    let subtree = if level + 1 == shape.levels { 0 } else { u64::from(node.0) / shape.power(level + 1) };
    shape.switch(level, subtree, root % shape.power(level))
}

/// The port at `level` by which `node` is below.
fn down(shape: &TreeShape, node: NodeId, level: u32) -> u32 {
    let digit = u64::from(node.0) / shape.power(level);
    (if level + 1 == shape.levels { digit } else { digit % u64::from(shape.arity) }) as u32
}

/// One tree of a fat tree: from its root, of those of the lowest level that spans the group, to all members.
fn table_of_tree(shape: &TreeShape, members: &[NodeId], root: u32, topology: &Topology) -> Tree {
    let switches = topology.switches() as usize;
    let (mut masks, mut parents) = (vec![0; switches], vec![None; switches]);
    let level = span(shape, members[0], members[members.len() - 1]);
    let root = u64::from(root) % shape.power(level);
    for &member in members {
        for here in 0..=level {
            let switch = on_the_way(shape, member, here, root).index();
            masks[switch] |= 1 << down(shape, member, here);
            if here < level {
                let digit = root / shape.power(here) % u64::from(shape.arity);
                let up = PortId(shape.arity + digit as u32);
                masks[switch] |= 1 << up.0;
                parents[switch] = Some(up);
            }
        }
    }
    Tree { masks: masks.into(), parents: parents.into() }
}

/// In every switch of a fat tree the ports that have a member below them.
fn table_of_descents(shape: &TreeShape, members: &[NodeId], topology: &Topology) -> Box<[u64]> {
    let mut masks = vec![0; topology.switches() as usize];
    for level in 0..shape.levels {
        let mut ports: BTreeMap<u64, u64> = BTreeMap::new();
        for &member in members {
            let subtree =
                if level + 1 == shape.levels { 0 } else { u64::from(member.0) / shape.power(level + 1) };
            *ports.entry(subtree).or_default() |= 1 << down(shape, member, level);
        }
        for (subtree, mask) in ports {
            for index in 0..shape.power(level) {
                masks[shape.switch(level, subtree, index).index()] = mask;
            }
        }
    }
    masks.into()
}

/// A tree over the links of a spanning tree of any topology: as much of it as joins the members.
fn table_of_links(
    links: &[Option<(PortId, SwitchId, PortId)>],
    members: &[NodeId],
    topology: &Topology,
) -> Tree {
    let switches = topology.switches() as usize;
    let (mut masks, mut below) = (vec![0; switches], vec![0; switches]);
    let mut parents = vec![None; switches];
    for &member in members {
        let (home, port) = topology.home(member);
        masks[home.index()] |= 1 << port.0;
        let mut here = home;
        below[here.index()] += 1;
        while let Some((_, parent, _)) = links[here.index()] {
            here = parent;
            below[here.index()] += 1;
        }
    }
    for switch in 0..switches {
        // What has some of the members below it, but not all, hangs on its parent.
        if let Some((up, parent, port)) = links[switch]
            && (1..members.len()).contains(&below[switch])
        {
            masks[switch] |= 1 << up.0;
            masks[parent.index()] |= 1 << port.0;
            parents[switch] = Some(up);
        }
    }
    Tree { masks: masks.into(), parents: parents.into() }
}

/// Whether packets for ranges of nodes go up and down the tree that those for one node take, so that the two together can
/// close no ring: a fat tree routed by d-mod-k, or one switch.
#[must_use]
pub fn takes_ranges(routing: &Routing) -> bool {
    let is_single = routing.topology().switches() == 1;
    Reach::is_there(routing) && (is_single || routing.kind() == RoutingKind::DModK)
}

#[cfg(test)]
mod tests;
