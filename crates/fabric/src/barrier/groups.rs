//! The barrier groups of a fabric: what out-of-band management writes into its switches and NIC ports, and what happens to
//! their packets on the way.

use super::{Packet, PacketKind, Place};
use crate::name::ComponentNumber;
use flitway_engine::random::{Purpose, Stream};
use flitway_wiring::multicast::{Ascent, GroupError, GroupSettings};
use flitway_wiring::routing::Routing;
use flitway_wiring::{GroupId, Groups, NodeId, PortId, RailId, SwitchId};
use std::sync::Arc;

flitway_engine::id! {
    /// A barrier group, from 0.
    BarrierId
}

/// What a barrier group is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BarrierSettings {
    /// Its members, in any order: one process of each node.
    pub members: Vec<NodeId>,
    /// The root of its tree.
    pub root: Root,
    /// The rail that its packets travel in.
    pub rail: RailId,
}

/// The root of a group's tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// A switch, of those at the lowest level of a fat tree that spans the group; taken modulo their number. Elsewhere
    /// the tree is the part of a spanning tree that joins the members.
    Switch(u32),
    /// A node, which is a member: the same tree of switches, turned towards the node. Not in the papers but for comparison
    /// (dawning5000.txt section 4.2).
    Node(NodeId),
}

/// The barrier groups of a fabric, each a tree of switches and nodes.
#[derive(Clone, Debug)]
pub struct Barriers {
    trees: Groups,
    rails: Arc<[RailId]>,
    roots: Arc<[Root]>,
    faults: Arc<Faults>,
}

/// What happens to barrier packets on the way, besides the bit errors of the switch settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Of the streams that draw bit errors.
    pub seed: u64,
    /// Packets that are lost.
    pub losses: Vec<Loss>,
}

/// One packet that is lost: the `nth`, from 1, of those that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Where it arrives: the switches of rail 0, of rail 1, ..., then the nodes.
    pub component: ComponentNumber,
    /// At which port there (of a node: the rail).
    pub port: PortId,
    /// Of which group.
    pub group: BarrierId,
    /// Of which kind; `None` counts all of them.
    pub kind: Option<PacketKind>,
    /// Which of them, whatever else happens to those before.
    pub nth: u64,
}

impl Loss {
    /// Whether it counts `packet` of `group`.
    #[must_use]
    pub fn counts(&self, group: BarrierId, packet: Packet) -> bool {
        self.group == group && self.kind.is_none_or(|kind| kind == packet.kind)
    }
}

impl Faults {
    /// The stream that draws the bit errors of what arrives at `port` of `component`.
    #[must_use]
    pub fn bit_errors(&self, component: ComponentNumber, port: PortId) -> Stream {
        Stream::new(self.seed, u64::from(component) << 16 | u64::from(port.0), Purpose::BitError)
    }
}

/// The port of a node's process in the tree, as the node sees it, and that of its NIC port.
const PROCESS: PortId = PortId(0);
const NIC_PORT: PortId = PortId(1);

impl Barriers {
    /// No groups: switches whose barrier module has nothing to do.
    #[must_use]
    pub fn none() -> Self {
        Barriers { trees: Groups::none(), rails: Arc::new([]), roots: Arc::new([]), faults: Arc::default() }
    }

    /// Lays the groups of `settings` over the fabric that `routing` routes.
    ///
    /// # Errors
    /// If a group has no members, or one that is no node.
    ///
    /// # Panics
    /// If its root is a node that is no member.
    pub fn new(routing: &Routing, settings: &[BarrierSettings]) -> Result<Self, GroupError> {
        let group = |(number, it): (usize, &BarrierSettings)| {
            let root = match it.root {
                Root::Switch(root) => root,
                // Groups with nodes for roots go through different switches, too.
                Root::Node(_) => number as u32,
            };
            GroupSettings { members: it.members.clone(), root }
        };
        let groups: Vec<GroupSettings> = settings.iter().enumerate().map(group).collect();
        let mut trees = Groups::lay(routing, Ascent::Table, &groups)?;
        for (number, it) in settings.iter().enumerate() {
            if let Root::Node(node) = it.root {
                assert!(it.members.contains(&node), "a root is a member, unless it is a switch");
                trees.turn(GroupId::new(number), node, routing.topology());
            }
        }
        Ok(Barriers {
            trees,
            rails: settings.iter().map(|it| it.rail).collect(),
            roots: settings.iter().map(|it| it.root).collect(),
            faults: Arc::default(),
        })
    }

    /// The same with `faults`.
    #[must_use]
    pub fn with_faults(self, faults: Faults) -> Self {
        Barriers { faults: Arc::new(faults), ..self }
    }

    /// What happens to their packets on the way.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Number of groups.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rails.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rails.is_empty()
    }

    /// The groups.
    pub fn ids(&self) -> impl Iterator<Item = BarrierId> + use<> {
        (0..self.len()).map(BarrierId::new)
    }

    /// The members of `group`, ascending.
    #[must_use]
    pub fn members(&self, group: BarrierId) -> &[NodeId] {
        self.trees.members(GroupId(group.0))
    }

    /// The rail that the packets of `group` travel in.
    #[must_use]
    pub fn rail(&self, group: BarrierId) -> RailId {
        self.rails[group.index()]
    }

    /// The root of the tree of `group`.
    #[must_use]
    pub fn root(&self, group: BarrierId) -> Root {
        self.roots[group.index()]
    }

    /// Where `switch` of `rail` stands in the tree of `group`, if it does.
    #[must_use]
    pub fn place(&self, rail: RailId, switch: SwitchId, group: BarrierId) -> Option<Place> {
        let tree = GroupId(group.0);
        let parent = self.trees.parent(switch, tree);
        let children = self.trees.mask(switch, tree) & !parent.map_or(0, |port| 1 << port.0);
        (children != 0 && self.rail(group) == rail).then(|| Place::new(children, parent))
    }

    /// Where `node`, with its NIC port in `rail`, stands in the tree of `group`, if it does: a leaf, whose only child is the
    /// process, or the root, which has its switch for another child where there are other members.
    #[must_use]
    pub fn leaf(&self, rail: RailId, node: NodeId, group: BarrierId) -> Option<Place> {
        let members = self.members(group);
        if self.rail(group) != rail || members.binary_search(&node).is_err() {
            return None;
        }
        let is_root = self.roots[group.index()] == Root::Node(node);
        let others = if is_root && members.len() > 1 { 1 << NIC_PORT.0 } else { 0 };
        Some(Place::new(1 << PROCESS.0 | others, (!is_root).then_some(NIC_PORT)))
    }

    /// The port by which a leaf sees its process, and its parent.
    #[must_use]
    pub const fn leaf_ports() -> (PortId, PortId) {
        (PROCESS, NIC_PORT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_wiring::routing::RoutingKind;
    use flitway_wiring::topology::{End, Topology, TopologySettings};

    fn routing(settings: &TopologySettings, kind: RoutingKind) -> Routing {
        Routing::new(kind, Arc::new(Topology::build(settings).unwrap())).unwrap()
    }

    /// Every child's parent is the switch that has it for a child, and all members hang on one root.
    #[test]
    fn places_make_one_tree() {
        let mesh = TopologySettings::Mesh { dimensions: vec![4, 3], nodes_per_switch: 2 };
        let torus = TopologySettings::Torus { dimensions: vec![4, 4], nodes_per_switch: 1 };
        let fabrics = [
            (TopologySettings::FatTree { ports: 4, levels: 3 }, RoutingKind::DModK),
            (TopologySettings::KaryNTree { arity: 3, levels: 2 }, RoutingKind::DModK),
            (TopologySettings::FatTree { ports: 4, levels: 2 }, RoutingKind::UpDown),
            (TopologySettings::Single { nodes: 5 }, RoutingKind::UpDown),
            (mesh, RoutingKind::UpDown),
            (torus, RoutingKind::DimensionOrder),
        ];
        let mut stream = Stream::new(5, 0, Purpose::Test);
        for (settings, kind) in fabrics {
            let routing = routing(&settings, kind);
            let topology = routing.topology();
            for size in 1..=topology.nodes() as usize {
                let mut members: Vec<NodeId> = (0..topology.nodes()).map(NodeId).collect();
                while members.len() > size {
                    members.swap_remove(stream.below(members.len() as u64) as usize);
                }
                let root = match members[stream.below(members.len() as u64) as usize] {
                    node if stream.chance(1 << 63) => Root::Node(node),
                    _ => Root::Switch(stream.bits() as u32),
                };
                let is_node = matches!(root, Root::Node(_));
                let settings = BarrierSettings { members, root, rail: RailId(1) };
                let barriers = Barriers::new(&routing, &[settings]).unwrap();
                let (rail, group) = (RailId(1), BarrierId(0));
                let place = |switch| barriers.place(rail, switch, group);
                let (mut roots, mut leaves, mut up, mut down) = (0, 0, 0, 0);
                for (switch, place) in
                    (0..topology.switches()).map(SwitchId).filter_map(|switch| Some((switch, place(switch)?)))
                {
                    match place.parent().map(|port| topology.wire(switch, port).unwrap().1) {
                        None => roots += 1,
                        Some(End::Switch(..)) => up += 1,
                        Some(End::Node(node)) => {
                            let root = barriers.leaf(rail, node, group).unwrap();
                            assert_eq!((root.children(), root.parent()), (0b11, None));
                            roots += 1;
                        }
                    }
                    for port in (0..64).map(PortId).filter(|port| place.children() >> port.0 & 1 == 1) {
                        match topology.wire(switch, port).unwrap().1 {
                            End::Node(node) => {
                                assert!(barriers.leaf(rail, node, group).unwrap().parent().is_some());
                                leaves += 1;
                            }
                            End::Switch(child, parent) => {
                                down += 1;
                                let child = barriers.place(rail, child, group).unwrap();
                                assert_eq!(child.parent(), Some(parent));
                            }
                        }
                    }
                    assert!(barriers.place(RailId(0), switch, group).is_none());
                }
                match size - usize::from(is_node) {
                    0 => assert_eq!((roots, leaves, up), (0, 0, 0)),
                    others => assert_eq!((roots, leaves, up), (1, others, down)),
                }
            }
        }
    }
}
