//! Where a packet for a set of nodes can go: reachability strings, and the ports by which it climbs.
//!
//! Sources: multidestination-worms.txt sections 3.2 and 3.3. Every port that leads down has a bit string of the nodes that
//! are reached through it, and each node is reached through one such port of a switch at most. A worm climbs to a
//! switch below which all of its destinations are, and goes down from there through every port whose string has a bit in
//! common with its header.
//!
//! * **Fat trees** without parallel links: the ports down are those of the tree; any port up leads to a switch from which
//!   as much is reached.
//! * **Unidirectional multistage networks** have no ports up: every output leads down, the worm is replicated in any stage.
//! * **Any other topology** takes a spanning tree of up*/down*: down through its links, up to its parents.
//!
//! Where the routing leads [around](Routing::down) what is down, so do worms: of parallel links the first that is left counts,
//! strings have the nodes that are reached still, and of all trees that ports up make the first ports up are those of one: that
//! of the switch that reaches most nodes.

use crate::NodeId;
use crate::node_set::NodeSet;
use crate::routing::{Left, Routing, RoutingKind, spanning_tree, tree_around};
use crate::topology::{End, Shape, Topology};
use crate::{PortId, SwitchId};

/// Ports of a switch as bits.
pub type Ports = u64;

/// Where worms can go in a fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    switches: Vec<Place>,
    /// Nothing is down: every port up leads on to a switch that reaches all nodes.
    is_whole: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    /// By port; empty for ports that do not lead down.
    strings: Vec<NodeSet>,
    /// All of them together.
    below: NodeSet,
    down: Ports,
    up: Ports,
    /// The port up of the one tree; none at its root, and in switches that the root does not reach.
    first: Ports,
    /// The ports up again, with where they lead.
    parents: Vec<(PortId, SwitchId)>,
}

impl Reach {
    /// The reachability strings for worms beside packets that are routed by `routing`; `None` where there is no way for
    /// worms that could not close a ring of dependencies with those.
    #[must_use]
    pub fn new(routing: &Routing) -> Option<Reach> {
        match routing.topology().shape() {
            // Over parallel links a node would be reached through several ports.
            Shape::Xgft(tree) if routing.kind() == RoutingKind::DModK && !tree.is_simple() => None,
            _ => Reach::by_first_links(routing),
        }
    }

    /// The same where worms take the first of parallel links.
    #[must_use]
    pub fn by_first_links(routing: &Routing) -> Option<Reach> {
        let (topology, is_whole) = (routing.topology(), routing.down().is_none());
        let mut switches = places(topology, &ports_up(routing)?, &Left::of(topology, routing.down()));
        if is_whole || routing.kind() == RoutingKind::UpDown {
            switches.iter_mut().for_each(|place| place.first = place.up & place.up.wrapping_neg());
        } else {
            grow_tree(topology, &mut switches);
        }
        Some(Reach { switches, is_whole })
    }

    /// Whether there is a way for worms that take the first of parallel links.
    #[must_use]
    pub fn is_there(routing: &Routing) -> bool {
        ports_up(routing).is_some()
    }

    /// The ports of `here` that lead up.
    #[inline]
    #[must_use]
    pub fn up(&self, here: SwitchId) -> Ports {
        self.switches[here.index()].up
    }

    /// The port of `here` that leads up in the one tree, as a mask; nothing at its root, and where it leads nowhere.
    #[inline]
    #[must_use]
    pub fn first_up(&self, here: SwitchId) -> Ports {
        self.switches[here.index()].first
    }

    /// The ports of `here` that lead up and on to a switch below which all of `set` is; all that lead up, if none does.
    #[must_use]
    pub fn up_to(&self, here: SwitchId, set: &NodeSet) -> Ports {
        let place = &self.switches[here.index()];
        if self.is_whole {
            return place.up;
        }
        let leads = |(port, next): &(PortId, SwitchId)| if self.leads(*next, set) { 1 << port.0 } else { 0 };
        let mask = place.parents.iter().map(leads).fold(0, |mask: Ports, bit: Ports| mask | bit);
        if mask == 0 { place.up } else { mask }
    }

    /// Whether all of `set` is below `here`, or below a switch to which ports up lead from there.
    fn leads(&self, here: SwitchId, set: &NodeSet) -> bool {
        let parents = &self.switches[here.index()].parents;
        self.covers(here, set) || parents.iter().any(|&(_, next)| self.leads(next, set))
    }

    /// The nodes below `here`.
    #[must_use]
    pub fn below(&self, here: SwitchId) -> &NodeSet {
        &self.switches[here.index()].below
    }

    /// The nodes that are reached by `port` of `here`: none, unless it leads down.
    #[must_use]
    pub fn string(&self, here: SwitchId, port: PortId) -> &NodeSet {
        &self.switches[here.index()].strings[port.index()]
    }

    /// Whether all of `set` is below `here`.
    #[inline]
    #[must_use]
    pub fn covers(&self, here: SwitchId, set: &NodeSet) -> bool {
        set.is_within(&self.switches[here.index()].below)
    }

    /// The ports of `here` that a worm for `set` takes on its way down.
    #[must_use]
    pub fn outputs(&self, here: SwitchId, set: &NodeSet) -> Ports {
        let place = &self.switches[here.index()];
        ports(place.down)
            .filter(|port| place.strings[port.index()].intersects(set))
            .fold(0, |mask, port| mask | 1 << port.0)
    }

    /// The port of `here` down to `node`, if the node is below.
    #[inline]
    #[must_use]
    pub fn down_to(&self, here: SwitchId, node: NodeId) -> Option<PortId> {
        let place = &self.switches[here.index()];
        ports(place.down).find(|port| place.strings[port.index()].contains(node))
    }

    /// Switches that a worm of `source` for `set` climbs from before it goes down: to the lowest below which all of it is.
    ///
    /// # Panics
    /// If not all of `set` is in the fabric.
    #[must_use]
    pub fn climb(&self, topology: &Topology, source: NodeId, set: &NodeSet) -> u32 {
        let (mut here, mut climb) = (topology.home(source).0, 0);
        while !self.covers(here, set) {
            let up = ports(self.switches[here.index()].up).next().expect("the top reaches every node");
            let Some((_, End::Switch(next, _))) = topology.wire(here, up) else {
                unreachable!("a port up leads to a switch")
            };
            (here, climb) = (next, climb + 1);
        }
        climb
    }
}

/// The ports of a mask, in order.
pub fn ports(mask: Ports) -> impl Iterator<Item = PortId> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let port = (left != 0).then(|| left.trailing_zeros())?;
        left &= left - 1;
        Some(PortId(port))
    })
}

/// For each switch its ports up; `None` where there is no way for worms that could not close a ring of dependencies.
#[must_use]
pub fn ports_up(routing: &Routing) -> Option<Vec<Ports>> {
    let topology = routing.topology();
    let left = Left::of(topology, routing.down());
    let of_left = |switch, ports: &mut dyn Iterator<Item = PortId>| {
        first_links(
            topology,
            SwitchId(switch),
            ports.filter(|port| left.has(topology, SwitchId(switch), *port)),
        )
    };
    let switches = 0..topology.switches();
    Some(match (routing.kind(), topology.shape()) {
        (RoutingKind::DModK, Shape::Tree(_)) => {
            let parents = tree_parents(topology);
            switches.map(|switch| of_left(switch, &mut ports(parents[switch as usize]))).collect()
        }
        (RoutingKind::DModK, Shape::Xgft(tree)) => {
            let up = |here: SwitchId| tree.ports_up(tree.place(here).0).map(PortId);
            switches.map(|switch| of_left(switch, &mut up(SwitchId(switch)))).collect()
        }
        (RoutingKind::DestinationTag, Shape::Stages(_)) => vec![0; topology.switches() as usize],
        (RoutingKind::UpDown, _) => {
            let parent = |it: &Option<(PortId, SwitchId, PortId)>| it.map_or(0, |it| 1 << it.0.0);
            let tree = routing.down().map(|down| tree_around(topology, down));
            tree.unwrap_or_else(|| spanning_tree(topology)).iter().map(parent).collect()
        }
        _ => return None,
    })
}

/// Finds the ports up of one tree: that of the switch that reaches most nodes, the first of several.
fn grow_tree(topology: &Topology, switches: &mut [Place]) {
    let reached = |here: &usize| (switches[*here].below.len(), std::cmp::Reverse(*here));
    let Some(root) = (0..switches.len()).max_by_key(reached) else { return };
    let mut is_in = vec![false; switches.len()];
    let mut to_do = vec![root];
    while let Some(here) = to_do.pop() {
        if std::mem::replace(&mut is_in[here], true) {
            continue;
        }
        for port in ports(switches[here].down) {
            if let Some((_, End::Switch(next, _))) = topology.wire(SwitchId::new(here), port) {
                to_do.push(next.index());
            }
        }
    }
    for (place, _) in switches.iter_mut().zip(&is_in).filter(|(_, is_in)| **is_in) {
        let first = place.parents.iter().find(|(_, next)| is_in[next.index()]);
        place.first = first.map_or(0, |(port, _)| 1 << port.0);
    }
}

/// Those of the `ports` of `here` that are the first to lead to a switch.
fn first_links(topology: &Topology, here: SwitchId, ports: impl Iterator<Item = PortId>) -> Ports {
    let (mut mask, mut reached) = (0, Vec::new());
    for port in ports {
        if let Some((_, End::Switch(next, _))) = topology.wire(here, port)
            && !reached.contains(&next)
        {
            reached.push(next);
            mask |= 1 << port.0;
        }
    }
    mask
}

/// For each switch of a fat tree its ports up.
fn tree_parents(topology: &Topology) -> Vec<Ports> {
    let Shape::Tree(tree) = topology.shape() else { unreachable!("only trees have levels") };
    let up = |switch| {
        let (level, ..) = tree.place(SwitchId(switch));
        let ports = tree.arity..2 * tree.arity;
        if level + 1 == tree.levels { 0 } else { ports.fold(0, |mask, port| mask | 1 << port) }
    };
    (0..topology.switches()).map(up).collect()
}

/// The strings, given each switch's ports up: a port leads down if it leads to a node, if the port at the other end leads up,
/// or if it has a one-way link.
fn places(topology: &Topology, up: &[Ports], left: &Left) -> Vec<Place> {
    let all = || (0..topology.switches()).map(SwitchId);
    let wired = |here| (0..topology.ports(here)).map(PortId);
    let mut places: Vec<Place> = all()
        .map(|here| {
            let parent = |port| match topology.wire(here, port) {
                Some((_, End::Switch(next, _))) => Some((port, next)),
                _ => None,
            };
            let mut place = Place {
                strings: vec![NodeSet::default(); topology.ports(here) as usize],
                below: NodeSet::default(),
                down: 0,
                up: up[here.index()],
                first: 0,
                parents: ports(up[here.index()]).filter_map(parent).collect(),
            };
            for port in wired(here).filter(|port| left.has(topology, here, *port)) {
                match topology.wire(here, port) {
                    Some((_, End::Node(_))) => place.down |= 1 << port.0,
                    Some((_, End::Switch(next, back)))
                        if topology.is_one_way() || up[next.index()] >> back.0 & 1 == 1 =>
                    {
                        place.down |= 1 << port.0;
                    }
                    _ => {}
                }
            }
            place
        })
        .collect();
    for node in (0..topology.nodes()).map(NodeId) {
        let (home, exit) = topology.exit(node);
        let mut to_do = if left.has(topology, home, exit) { vec![(home, exit)] } else { Vec::new() };
        while let Some((here, port)) = to_do.pop() {
            if places[here.index()].strings[port.index()].contains(node) {
                continue;
            }
            places[here.index()].strings[port.index()].insert(node);
            places[here.index()].below.insert(node);
            for input in wired(here) {
                if let Some((_, End::Switch(above, output))) = topology.feeder(here, input)
                    && places[above.index()].down >> output.0 & 1 == 1
                {
                    to_do.push((above, output));
                }
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::Down;
    use crate::topology::{StageWiring, TopologySettings};
    use std::sync::Arc;

    fn stages(wiring: StageWiring, arity: u32, stages: u32) -> TopologySettings {
        TopologySettings::Stages { wiring, arity, stages }
    }

    fn reach(settings: &TopologySettings, kind: RoutingKind) -> (Arc<Topology>, Reach) {
        let topology = Arc::new(Topology::build(settings).expect("a topology of a test can be built"));
        let routing = Routing::new(kind, Arc::clone(&topology)).expect("they go together");
        let reach = Reach::new(&routing).expect("worms can go there");
        (topology, reach)
    }

    /// The nodes that a worm reaches, each as often as it does, when it takes the last port up.
    fn copies(topology: &Topology, reach: &Reach, source: NodeId, set: &NodeSet) -> Vec<NodeId> {
        let mut here = topology.home(source).0;
        for _ in 0..reach.climb(topology, source, set) {
            let up = ports(reach.up(here)).last().expect("there is a way up");
            let Some((_, End::Switch(next, _))) = topology.wire(here, up) else { panic!("up is a switch") };
            here = next;
        }
        let (mut found, mut to_do) = (Vec::new(), vec![here]);
        while let Some(here) = to_do.pop() {
            for port in ports(reach.outputs(here, set)) {
                match topology.wire(here, port) {
                    Some((_, End::Node(node))) => found.push(node),
                    Some((_, End::Switch(next, _))) => to_do.push(next),
                    None => panic!("a port down is wired"),
                }
            }
        }
        found.sort_unstable();
        found
    }

    #[test]
    fn a_worm_reaches_each_of_its_nodes_once() {
        let cases = [
            (TopologySettings::KaryNTree { arity: 4, levels: 2 }, RoutingKind::DModK),
            (TopologySettings::KaryNTree { arity: 2, levels: 4 }, RoutingKind::UpDown),
            (TopologySettings::FatTree { ports: 8, levels: 2 }, RoutingKind::DModK),
            (TopologySettings::xgft(&[3, 4], &[1, 2], &[1], 1), RoutingKind::DModK),
            (TopologySettings::Single { nodes: 16 }, RoutingKind::UpDown),
            (stages(StageWiring::Omega, 3, 2), RoutingKind::DestinationTag),
            (stages(StageWiring::Butterfly, 2, 4), RoutingKind::DestinationTag),
            (TopologySettings::Mesh { dimensions: vec![3, 3], nodes_per_switch: 2 }, RoutingKind::UpDown),
        ];
        for (settings, kind) in cases {
            let (topology, reach) = reach(&settings, kind);
            for seed in 1..200_u64 {
                let bits = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let members = (0..topology.nodes()).filter(|&node| bits >> node & 1 == 1).map(NodeId);
                let set = NodeSet::new(members);
                let source = NodeId((bits >> 40) as u32 % topology.nodes());
                let expected: Vec<NodeId> = set.iter().collect();
                assert_eq!(copies(&topology, &reach, source, &set), expected, "{settings:?}");
            }
        }
    }

    #[test]
    fn in_a_tree_it_climbs_to_the_lowest_common_stage() {
        let (topology, reach) =
            reach(&TopologySettings::KaryNTree { arity: 4, levels: 3 }, RoutingKind::DModK);
        let climb = |nodes: &[u32]| {
            reach.climb(&topology, NodeId(0), &NodeSet::new(nodes.iter().copied().map(NodeId)))
        };
        assert_eq!([climb(&[1, 3]), climb(&[1, 4]), climb(&[15]), climb(&[2, 63])], [0, 1, 1, 2]);
        let (leaf, next) = (SwitchId(0), SwitchId(16));
        assert_eq!((reach.up(leaf), reach.up(SwitchId(47))), (0xf0, 0));
        let set = NodeSet::new([0, 3, 9, 63].map(NodeId));
        assert_eq!((reach.outputs(leaf, &set), reach.outputs(next, &set)), (0b1001, 0b0101));
        assert_eq!((reach.down_to(leaf, NodeId(3)), reach.down_to(leaf, NodeId(4))), (Some(PortId(3)), None));
    }

    /// What stands for all parallel links, and what broadcasts of Elite4s rely on: by first ports up there is one tree.
    #[test]
    fn from_all_nodes_below_the_first_ports_up_lead_to_one_switch() {
        let xgft = |down: &[u32], up: &[u32], cables: &[u32]| TopologySettings::xgft(down, up, cables, 1);
        for settings in [
            TopologySettings::KaryNTree { arity: 4, levels: 3 },
            TopologySettings::FatTree { ports: 8, levels: 3 },
            xgft(&[4, 4, 2], &[1, 4, 2], &[1, 1, 2]),
        ] {
            let topology = Arc::new(Topology::build(&settings).expect("a topology of a test can be built"));
            let routing = Routing::new(RoutingKind::DModK, Arc::clone(&topology)).expect("they go together");
            let reach = Reach::by_first_links(&routing).expect("worms can go there");
            for first in 0..topology.nodes() {
                let set = NodeSet::new((first..(first + 7).min(topology.nodes())).map(NodeId));
                let root_of = |source: NodeId| {
                    let mut here = topology.home(source).0;
                    while !reach.covers(here, &set) {
                        let up = ports(reach.up(here)).next().expect("there is a way up");
                        let Some((_, End::Switch(next, _))) = topology.wire(here, up) else {
                            panic!("a switch")
                        };
                        here = next;
                    }
                    here
                };
                let roots: Vec<SwitchId> = set.iter().map(root_of).collect();
                assert!(roots.iter().all(|root| *root == roots[0]), "{settings:?} {first}: {roots:?}");
                assert_eq!(copies(&topology, &reach, NodeId(0), &set).len() as u32, set.len());
            }
        }
    }

    /// What a broadcast by the one tree reaches, each node as often as it does, and its root.
    fn by_one_tree(
        reach: &Reach,
        topology: &Topology,
        source: NodeId,
        set: &NodeSet,
    ) -> (SwitchId, Vec<NodeId>) {
        let mut here = topology.home(source).0;
        while !reach.covers(here, set)
            && let Some(up) = ports(reach.first_up(here)).next()
        {
            let Some((_, End::Switch(next, _))) = topology.wire(here, up) else { panic!("up is a switch") };
            here = next;
        }
        let (root, mut found, mut to_do) = (here, Vec::new(), vec![here]);
        while let Some(here) = to_do.pop() {
            for port in ports(reach.outputs(here, set)) {
                assert!(set.intersects(reach.string(here, port)));
                match topology.wire(here, port) {
                    Some((_, End::Node(node))) => found.push(node),
                    Some((_, End::Switch(next, _))) => to_do.push(next),
                    None => panic!("a port down is wired"),
                }
            }
        }
        found.sort_unstable();
        (root, found)
    }

    /// Around links and switches that are down there is one tree again, and it reaches what any tree does.
    #[test]
    fn around_what_is_down_broadcasts_go_by_one_tree_still() {
        let settings = TopologySettings::KaryNTree { arity: 4, levels: 3 };
        let topology = Arc::new(Topology::build(&settings).expect("a topology of a test can be built"));
        let whole = Routing::new(RoutingKind::DModK, Arc::clone(&topology)).expect("they go together");
        let link = |switch, port| topology.wire(SwitchId(switch), PortId(port)).expect("it is wired").0;
        let set = |nodes: std::ops::Range<u32>| NodeSet::new(nodes.map(NodeId));
        // Leaves are 0 to 15, the next level 16 to 31: of leaves 0 to 3 16 to 19.
        let cases = [
            (vec![], vec![], 64),
            (vec![16], vec![], 64),
            (vec![32, 33], vec![], 64),
            (vec![], vec![link(0, 4), link(5, 5), link(20, 6)], 64),
            // A node, and a leaf with its four.
            (vec![7], vec![topology.node_link(NodeId(9))], 59),
        ];
        for (switches, links, count) in cases {
            let down = Down { switches: switches.iter().copied().map(SwitchId).collect(), links };
            let routing = whole.around(&down).expect("trees have tables").0;
            let reach = Reach::by_first_links(&routing).expect("broadcasts can go there");
            for source in (0..64).map(NodeId).filter(|&node| !down.switches.contains(&topology.home(node).0))
            {
                let (root, found) = by_one_tree(&reach, &topology, source, &set(0..64));
                assert_eq!(found.len(), count, "{down:?}");
                assert_eq!(root, by_one_tree(&reach, &topology, NodeId(0), &set(0..64)).0);
                assert!(!down.switches.contains(&root));
                // Within a leaf, and within four.
                assert_eq!(by_one_tree(&reach, &topology, source, &set(40..44)).1.len(), 4);
                assert_eq!(by_one_tree(&reach, &topology, source, &set(33..47)).1.len(), 14);
            }
        }
    }

    /// By any tree a broadcast climbs where there is a switch that covers the range.
    #[test]
    fn ports_up_that_lead_to_no_switch_above_all_of_the_range_are_left_out() {
        let settings = TopologySettings::KaryNTree { arity: 2, levels: 2 };
        let topology = Arc::new(Topology::build(&settings).expect("a topology of a test can be built"));
        let whole = Routing::new(RoutingKind::DModK, Arc::clone(&topology)).expect("they go together");
        let link = topology.wire(SwitchId(1), PortId(2)).expect("it is wired").0;
        let routing =
            whole.around(&Down { switches: Vec::new(), links: vec![link] }).expect("it has tables").0;
        let reach = Reach::by_first_links(&routing).expect("broadcasts can go there");
        let all = NodeSet::new((0..4).map(NodeId));
        // From the first leaf the first way up leads to a root that has lost the second leaf.
        assert_eq!((reach.up(SwitchId(0)), reach.up_to(SwitchId(0), &all)), (0b1100, 0b1000));
        assert_eq!((reach.first_up(SwitchId(0)), reach.first_up(SwitchId(1))), (0b1000, 0b1000));
        assert_eq!(reach.below(SwitchId(2)).len(), 2);
        // There is no such root for a range with a node that is cut off: any way up will do.
        let cut = Down { switches: Vec::new(), links: vec![topology.node_link(NodeId(3))] };
        let reach =
            Reach::by_first_links(&whole.around(&cut).expect("it has tables").0).expect("they can go");
        assert_eq!(reach.up_to(SwitchId(0), &all), 0b1100);
    }

    #[test]
    fn dimension_order_has_no_worms() {
        let torus = TopologySettings::Torus { dimensions: vec![4], nodes_per_switch: 1 };
        let topology = Arc::new(Topology::build(&torus).expect("it can be built"));
        let routing = Routing::new(RoutingKind::DimensionOrder, topology).expect("they go together");
        assert_eq!(Reach::new(&routing), None);
    }
}
