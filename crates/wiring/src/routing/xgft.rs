//! d-mod-k routing in extended generalized fat trees: up by the destination modulo the ports there are, and down by the
//! cable that stands for it. Packets for one node that climb equally high meet at one switch and come down by one way.
//!
//! Source: Zahavi, CCIT report 776, 2010: at level `i` a packet for node `d` climbs by port `d / W_i mod (w p)`.

use super::{Arrival, Candidate, Header, Hop, Relation};
use crate::topology::XgftShape;
use crate::{PortId, SwitchId};

#[derive(Debug)]
pub(super) struct Xgft {
    shape: XgftShape,
}

impl Xgft {
    pub(super) fn new(shape: &XgftShape) -> Self {
        Xgft { shape: shape.clone() }
    }
}

impl Relation for Xgft {
    fn next(&self, here: SwitchId, _: Arrival, header: Header) -> Candidate {
        let node = header.destination();
        let (level, subtree, _) = self.shape.place(here);
        let port = if self.shape.is_below(level, subtree, node) {
            self.shape.port_down(level, node)
        } else {
            self.shape.port_up(level, node)
        };
        Candidate { hop: Hop { port, class: 0 }, header }
    }

    /// On the way up every port is as good.
    fn has_choice(&self) -> bool {
        true
    }

    fn candidates(&self, here: SwitchId, arrival: Arrival, header: Header, take: &mut dyn FnMut(Candidate)) {
        let first = self.next(here, arrival, header);
        take(first);
        let (level, subtree, _) = self.shape.place(here);
        let is_up = !self.shape.is_below(level, subtree, header.destination());
        let ports = self.shape.ports_up(level).map(PortId);
        for port in ports.filter(|&port| is_up && port != first.hop.port) {
            take(Candidate { hop: Hop { port, class: 0 }, header });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::NodeId;
    use crate::dependency;
    use crate::routing::tests::{busiest, direct, routing};
    use crate::routing::{Routing, RoutingKind};
    use crate::topology::{Topology, TopologySettings};

    #[test]
    fn a_tree_of_any_ports_climbs_by_destination_and_is_as_good_as_the_trees_with_names() {
        let xgft = |down: &[u32], up: &[u32], cables: &[u32]| TopologySettings::xgft(down, up, cables, 1);
        let own = RoutingKind::DModK;
        // FT(8, 3), with the same busiest channel.
        let settings = xgft(&[4, 4, 8], &[1, 4, 4], &[1]);
        let tree = routing(own, &settings);
        let topology = tree.topology();
        assert_eq!([topology.nodes(), topology.switches(), topology.ports_max()], [128, 80, 8]);
        let named = TopologySettings::FatTree { ports: 8, levels: 3 };
        assert_eq!(busiest(&tree), busiest(&routing(own, &named)));
        assert_eq!(topology.bisection_links(), Topology::build(&named).unwrap().bisection_links());
        // Leaf-spine: 4 leaves of 4 nodes with 4 spines, 12 of 15 packets leave a leaf. Then two spines by two cables each.
        assert_eq!(busiest(&direct(&xgft(&[4, 4], &[1, 4], &[1]), own, [16, 8, 32])), 12.0);
        assert_eq!(busiest(&direct(&xgft(&[4, 4], &[1, 2], &[2]), own, [16, 6, 32])), 12.0);
        // Tapered two to one, and one spine only.
        assert_eq!(busiest(&direct(&xgft(&[4, 4], &[1, 2], &[1]), own, [16, 6, 24])), 24.0);
        direct(&xgft(&[3, 2], &[1, 1], &[1]), own, [6, 3, 8]);
        direct(&xgft(&[2, 3, 2], &[1, 2, 3], &[1, 1, 2]), own, [12, 6 + 4 + 6, 12 + 12 + 24]);
        direct(&xgft(&[5], &[1], &[1]), own, [5, 1, 5]);
        for (down, up, cables) in
            [(&[2, 2][..], &[2, 2][..], &[1][..]), (&[2], &[1, 1], &[1]), (&[2, 2], &[1, 2], &[2, 1])]
        {
            assert!(Topology::build(&xgft(down, up, cables)).is_err());
        }
    }

    /// Any number of nodes: those of the full tree, over the same ways.
    #[test]
    fn a_partly_populated_tree_is_the_beginning_of_the_full_one() {
        let (down, up) = (vec![4, 4, 4], vec![1, 4, 4]);
        let tree = |populated| TopologySettings::Xgft {
            down: down.clone(),
            up: up.clone(),
            cables: vec![1],
            nics: 1,
            populated,
        };
        for kind in [RoutingKind::DModK, RoutingKind::SModK, RoutingKind::UpDown, RoutingKind::MultiPath] {
            let full = routing(kind, &tree(None));
            for nodes in [1, 4, 5, 16, 17, 37, 63, 64] {
                let part = routing(kind, &tree(Some(nodes)));
                let topology = part.topology();
                // Leaf switches, those of the second level of each four, and the top of all.
                let switches = nodes.div_ceil(4) + 4 * nodes.div_ceil(16) + 16;
                assert_eq!([topology.nodes(), topology.switches()], [nodes, switches]);
                let dependencies = dependency::Dependencies::of(&part);
                assert_eq!(dependencies.lost(), None, "{kind:?} {nodes}");
                assert!(matches!(dependencies.verdict(), dependency::Verdict::Free(_)), "{kind:?} {nodes}");
                if kind != RoutingKind::DModK {
                    continue;
                }
                // The number of a switch depends on how many there are below; its ports do not.
                let ports = |routing: &Routing, [source, node]: [u32; 2]| {
                    routing.path(NodeId(source), NodeId(node)).map(|(_, hop)| hop.port).collect::<Vec<_>>()
                };
                for pair in (0..nodes).flat_map(|source| (0..nodes).map(move |node| [source, node])) {
                    assert_eq!(ports(&part, pair), ports(&full, pair), "{pair:?} of {nodes}");
                }
                assert_eq!(topology.bisection_links().is_some(), nodes == 64);
            }
        }
        for wrong in [0, 65] {
            assert!(Topology::build(&tree(Some(wrong))).is_err());
        }
        let pods = |populated| TopologySettings::Xgft {
            down: vec![4, 4],
            up: vec![1, 4],
            cables: vec![1],
            nics: 2,
            populated: Some(populated),
        };
        let topology = Topology::build(&pods(8)).unwrap();
        assert_eq!([topology.nodes(), topology.switches()], [8, 2 + 4]);
        assert!(Topology::build(&pods(12)).is_err(), "a pod and a half");
    }

    /// Where nodes stand in a tree changes nothing in what uniform traffic takes of it.
    #[test]
    fn a_rail_optimised_tree_is_routed_as_the_same_tree_without_rails() {
        for kind in [RoutingKind::DModK, RoutingKind::SModK, RoutingKind::UpDown, RoutingKind::MultiPath] {
            let loads = |nics| {
                let routing =
                    routing(kind, &TopologySettings::xgft(&[4, 4, 2], &[1, 4, 2], &[1, 1, 2], nics));
                let dependencies = dependency::Dependencies::of(&routing);
                assert_eq!(dependencies.lost(), None);
                assert!(matches!(dependencies.verdict(), dependency::Verdict::Free(_)), "{kind:?}");
                busiest(&routing)
            };
            assert_eq!([loads(2), loads(4)], [loads(1); 2], "{kind:?}");
        }
        assert!(Topology::build(&TopologySettings::xgft(&[4, 4], &[1, 4], &[1], 3)).is_err());
    }
}
