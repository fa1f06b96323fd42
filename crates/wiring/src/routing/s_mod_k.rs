//! s-mod-k routing in fat trees: on the way up the source picks the port, as the destination does in d-mod-k. All packets of a
//! node climb one way, whomever they are for; the way down is unique.
//!
//! Source: Rodriguez et al., "Oblivious routing schemes in extended generalized fat tree networks", CLUSTER 2009. At level `i`
//! the port is digit `i` of the source, and that is the number of the port by which the packet has come. In an extended
//! generalized fat tree there may be fewer ports up than down: it is that number modulo the ports up.

use super::d_mod_k::DModK;
use super::{Arrival, Candidate, Header, Hop, Relation};
use crate::topology::{Topology, TreeShape, XgftShape};
use crate::{PortId, SwitchId};

#[derive(Debug)]
pub(super) struct SModK {
    arity: u32,
    down: DModK,
}

impl SModK {
    pub(super) fn new(shape: &TreeShape, topology: &Topology) -> Self {
        SModK { arity: shape.arity, down: DModK::new(shape, topology) }
    }
}

impl Relation for SModK {
    /// A leaf switch sends what comes from different nodes up by different ports.
    fn tells_nodes_apart(&self) -> bool {
        true
    }

    fn next(&self, here: SwitchId, arrival: Arrival, header: Header) -> Candidate {
        let down = self.down.port_down(here, header.destination());
        let port = down.unwrap_or(PortId(self.arity + arrival.port.0));
        Candidate { hop: Hop { port, class: 0 }, header }
    }
}

/// The same in an extended generalized fat tree.
#[derive(Debug)]
pub(super) struct SModKXgft {
    shape: XgftShape,
}

impl SModKXgft {
    pub(super) fn new(shape: &XgftShape) -> Self {
        SModKXgft { shape: shape.clone() }
    }
}

impl Relation for SModKXgft {
    fn tells_nodes_apart(&self) -> bool {
        true
    }

    fn next(&self, here: SwitchId, arrival: Arrival, header: Header) -> Candidate {
        let node = header.destination();
        let (level, subtree, _) = self.shape.place(here);
        let port = if self.shape.is_below(level, subtree, node) {
            self.shape.port_down(level, node)
        } else {
            let up = self.shape.ports_up(level);
            PortId(up.start + arrival.port.0 % (up.end - up.start))
        };
        Candidate { hop: Hop { port, class: 0 }, header }
    }
}

#[cfg(test)]
mod tests {
    use super::super::RoutingKind;
    use super::super::tests::{conformance, routing};
    use crate::NodeId;
    use crate::dependency::Dependencies;
    use crate::topology::{End, TopologySettings};
    use std::collections::BTreeSet;

    fn trees() -> [TopologySettings; 3] {
        [
            TopologySettings::FatTree { ports: 4, levels: 3 },
            TopologySettings::KaryNTree { arity: 3, levels: 3 },
            TopologySettings::FatTree { ports: 8, levels: 1 },
        ]
    }

    #[test]
    fn packets_of_a_node_climb_one_way_and_nodes_of_a_leaf_different_ones() {
        for settings in trees() {
            conformance(&routing(RoutingKind::SModK, &settings));
        }
        let routing = routing(RoutingKind::SModK, &trees()[0]);
        let nodes = routing.topology().nodes();
        let first = |source| {
            let others = (0..nodes).filter(move |node| node / 2 != source / 2);
            let ports = others.map(|node| routing.path(NodeId(source), NodeId(node)).next().unwrap().1.port);
            let ports: BTreeSet<_> = ports.collect();
            assert_eq!(ports.len(), 1);
            ports.first().copied()
        };
        assert_ne!(first(0), first(1));
    }

    /// What d-mod-k does for those who send to one node s-mod-k does for one node that sends to them, and the other way round.
    #[test]
    fn it_is_the_mirror_of_d_mod_k() {
        let most = |kind, weight: &dyn Fn(NodeId, NodeId) -> f64| {
            let dependencies = Dependencies::of(&routing(kind, &trees()[0]));
            dependencies.loads(weight).of.into_iter().map(|(_, load)| load).fold(0.0, f64::max)
        };
        let mut stream = flitway_engine::random::Stream::new(5, 0, flitway_engine::random::Purpose::Test);
        let mut order: Vec<u32> = (0..16).collect();
        for _ in 0..20 {
            (1..16).for_each(|at| order.swap(at, stream.below(at as u64 + 1) as usize));
            let there = |source: NodeId, node: NodeId| f64::from(u8::from(order[source.index()] == node.0));
            let back = |source: NodeId, node: NodeId| there(node, source);
            assert_eq!(most(RoutingKind::SModK, &there), most(RoutingKind::DModK, &back));
        }
    }

    /// Tapered trees, leaf-spine and parallel cables: what climbs is spread over the ports up as evenly as by d-mod-k.
    #[test]
    fn extended_trees_are_climbed_by_the_source_and_evenly() {
        for (down, up, cables) in [
            (vec![4, 4], vec![1, 2], vec![1]),
            (vec![4, 2, 2], vec![1, 4, 2], vec![1]),
            (vec![6, 5], vec![1, 3], vec![1, 2]),
            (vec![4, 4, 2], vec![1, 2, 2], vec![1, 1, 2]),
        ] {
            let settings = TopologySettings::xgft(&down, &up, &cables, 1);
            conformance(&routing(RoutingKind::SModK, &settings));
            let climbs = |kind| {
                let routing = routing(kind, &settings);
                let (topology, dependencies) = (routing.topology(), Dependencies::of(&routing));
                let is_up = |end: End| match end {
                    End::Switch(switch, port) => {
                        matches!(topology.wire(switch, port), Some((_, End::Switch(next, _))) if next > switch)
                    }
                    End::Node(_) => false,
                };
                let loads = dependencies.loads(|_, _| 1.0).of.into_iter();
                loads.filter(|(channel, _)| is_up(channel.sender)).map(|(_, load)| load).fold(0.0, f64::max)
            };
            assert_eq!(climbs(RoutingKind::SModK), climbs(RoutingKind::DModK), "{settings:?}");
        }
    }
}
