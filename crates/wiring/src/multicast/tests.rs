use super::*;
use crate::topology::{End, TopologySettings};
use flitway_engine::random::{Purpose, Stream};

fn routing(settings: &TopologySettings, kind: RoutingKind) -> Routing {
    Routing::new(kind, Arc::new(Topology::build(settings).unwrap())).unwrap()
}

/// The nodes that a packet of `source` reaches, each once for every copy.
fn reached(groups: &Groups, routing: &Routing, source: NodeId, group: GroupId, root: u32) -> Vec<NodeId> {
    let (mut here, mut arrival) = routing.start(source);
    let mut way = groups.way_up(source, group, root);
    while !way.has_arrived() {
        (here, arrival) = routing.follow(here, way.hop()).expect("a way up leads to switches");
        way = way.rest();
    }
    if groups.ascent() == Ascent::Routed {
        assert_eq!(groups.root(source, group, root), Some(here), "it has come to its root");
    }
    let mut nodes = Vec::new();
    let mut to_do = vec![(here, arrival.port)];
    while let Some((here, port)) = to_do.pop() {
        let outputs = groups.outputs(here, group, port);
        for output in (0..64).map(PortId).filter(|output| outputs >> output.0 & 1 == 1) {
            match routing.topology().wire(here, output).expect("groups have wired ports").1 {
                End::Node(node) => nodes.push(node),
                End::Switch(switch, port) => to_do.push((switch, port)),
            }
        }
        assert!(nodes.len() + to_do.len() < 10_000, "copies go round");
    }
    nodes.sort_unstable();
    nodes
}

/// Every sender reaches every member once: the others in one tree, all of them by way of a root.
#[test]
fn a_packet_reaches_each_member_once() {
    let mesh = TopologySettings::Mesh { dimensions: vec![3, 2], nodes_per_switch: 2 };
    let trees = [
        TopologySettings::FatTree { ports: 4, levels: 3 },
        TopologySettings::FatTree { ports: 6, levels: 1 },
        TopologySettings::KaryNTree { arity: 3, levels: 2 },
        TopologySettings::KaryNTree { arity: 2, levels: 4 },
    ];
    let others = [TopologySettings::Single { nodes: 7 }, mesh];
    let fabrics = trees.map(|tree| (tree, RoutingKind::DModK)).into_iter();
    let fabrics = fabrics.chain(others.map(|other| (other, RoutingKind::UpDown)));
    let mut stream = Stream::new(3, 0, Purpose::Test);
    for (settings, kind) in fabrics {
        let routing = routing(&settings, kind);
        let nodes = routing.topology().nodes();
        let is_tree = kind == RoutingKind::DModK;
        for ascent in [Ascent::Table, Ascent::Routed].into_iter().filter(|&it| is_tree || it == Ascent::Table)
        {
            for _ in 0..20 {
                let percent = 1 + stream.below(100);
                let members: Vec<NodeId> = (0..nodes)
                    .map(NodeId)
                    .filter(|node| node.0 == 1 || stream.below(100) < percent)
                    .collect();
                let root = stream.bits() as u32;
                let wanted = [GroupSettings { members: members.clone(), root }];
                let groups = Groups::new(&routing, ascent, &wanted).unwrap();
                let group = GroupId(0);
                assert_eq!(groups.members(group), members);
                let senders =
                    if ascent == Ascent::Table { members.clone() } else { (0..nodes).map(NodeId).collect() };
                for source in senders {
                    let roots = groups.roots(source, group);
                    let root = stream.below(u64::from(roots)) as u32;
                    let mut expected = members.clone();
                    if ascent == Ascent::Table {
                        expected.retain(|&member| member != source);
                    }
                    assert_eq!(
                        reached(&groups, &routing, source, group, root),
                        expected,
                        "{settings:?} {ascent:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_group_of_neighbours_has_its_root_below_the_top() {
    let tree = routing(&TopologySettings::FatTree { ports: 4, levels: 3 }, RoutingKind::DModK);
    let members =
        |nodes: &[u32]| GroupSettings { members: nodes.iter().copied().map(NodeId).collect(), root: 1 };
    let settings = [members(&[0, 1]), members(&[1, 2]), members(&[0, 15])];
    let groups = Groups::new(&tree, Ascent::Routed, &settings).unwrap();
    // Leaf switches have two nodes and there are 8 of them; 8 more are above them, and 4 at the top.
    let root = |source: u32, group: u32| groups.root(NodeId(source), GroupId(group), 1).unwrap().0;
    assert_eq!((groups.roots(NodeId(0), GroupId(0)), root(0, 0)), (1, 0));
    assert_eq!((groups.roots(NodeId(0), GroupId(1)), root(0, 1)), (2, 9));
    assert_eq!((groups.roots(NodeId(0), GroupId(2)), root(0, 2)), (4, 17));
    assert_eq!(groups.roots(NodeId(8), GroupId(0)), 4, "the sender counts, too");
    let groups = Groups::new(&tree, Ascent::Table, &settings).unwrap();
    assert_eq!(groups.mask(SwitchId(0), GroupId(0)), 0b0011);
    // Up-ports are 2 and 3; root 1 is the second of the switches above.
    assert_eq!(groups.mask(SwitchId(0), GroupId(1)), 0b1010);
    assert_eq!((groups.mask(SwitchId(9), GroupId(1)), groups.mask(SwitchId(8), GroupId(1))), (0b0011, 0));
}

#[test]
fn what_cannot_be_laid_over_a_fabric_is_refused() {
    let mesh = TopologySettings::Mesh { dimensions: vec![2, 2], nodes_per_switch: 1 };
    let one = |members: Vec<NodeId>| [GroupSettings { members, root: 0 }];
    let refused = |settings: &TopologySettings, kind, ascent, members| {
        Groups::new(&routing(settings, kind), ascent, &one(members)).unwrap_err()
    };
    let (up_down, order) = (RoutingKind::UpDown, RoutingKind::DimensionOrder);
    assert_eq!(refused(&mesh, order, Ascent::Table, vec![NodeId(0)]), GroupError::Routing);
    assert_eq!(refused(&mesh, up_down, Ascent::Routed, vec![NodeId(0)]), GroupError::NoRoots);
    assert_eq!(refused(&mesh, up_down, Ascent::Table, vec![]), GroupError::Empty(GroupId(0)));
    let error = refused(&mesh, up_down, Ascent::Table, vec![NodeId(4)]);
    assert_eq!(error, GroupError::Member(GroupId(0), NodeId(4)));
    let deep = TopologySettings::KaryNTree { arity: 2, levels: 10 };
    assert_eq!(
        refused(&deep, RoutingKind::DModK, Ascent::Routed, vec![NodeId(0)]),
        GroupError::TooManyLevels
    );
}
