//! Two sides of a fabric that take turns: see [`flitway_engine::window`].

use flitway_wiring::topology::{End, Topology};
use flitway_wiring::{NodeId, PortId, SwitchId};

/// The side of each component of a rail: a switch of a tree is on that of its level, a switch of a grid on that of its
/// field on a chess board. Where there is a ring of an odd number of links, all are on one side.
#[derive(Debug)]
pub(super) struct Sides {
    count: u64,
    /// By vertex: switches, then nodes.
    sides: Vec<u8>,
    switches: usize,
}

impl Sides {
    pub(super) fn new(topology: &Topology) -> Self {
        let switches = topology.switches() as usize;
        let vertices = switches + topology.nodes() as usize;
        let found = divide(vertices, |vertex| match vertex.checked_sub(switches) {
            None => neighbours(topology, SwitchId::new(vertex)),
            Some(node) => {
                let node = NodeId::new(node);
                vec![topology.home(node).0.index(), topology.exit(node).0.index()]
            }
        });
        Sides {
            count: 1 + u64::from(found.is_some()),
            sides: found.unwrap_or_else(|| vec![0; vertices]),
            switches,
        }
    }

    /// How many sides there are, 1 or 2.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn of_switch(&self, switch: SwitchId) -> u8 {
        self.sides[switch.index()]
    }

    /// That of a node, the same in all rails.
    pub(super) fn of_node(&self, node: NodeId) -> u8 {
        self.sides[self.switches + node.index()]
    }
}

/// Who `switch` sends to, and who sends to it.
fn neighbours(topology: &Topology, switch: SwitchId) -> Vec<usize> {
    let ends = |port| [topology.wire(switch, port), topology.feeder(switch, port)];
    let ends = (0..topology.ports(switch)).map(PortId).flat_map(ends).flatten();
    ends.map(|(_, end)| match end {
        End::Switch(next, _) => next.index(),
        End::Node(node) => topology.switches() as usize + node.index(),
    })
    .collect()
}

/// Puts each of the `vertices` on one of two sides, its neighbours on the other, if that can be done.
fn divide(vertices: usize, neighbours: impl Fn(usize) -> Vec<usize>) -> Option<Vec<u8>> {
    let mut sides: Vec<Option<u8>> = vec![None; vertices];
    let mut to_do = Vec::new();
    for first in 0..vertices {
        if sides[first].is_none() {
            sides[first] = Some(0);
            to_do.push(first);
        }
        while let Some(vertex) = to_do.pop() {
            let across = sides[vertex].map(|side| 1 - side);
            for next in neighbours(vertex) {
                match sides[next] {
                    None => {
                        sides[next] = across;
                        to_do.push(next);
                    }
                    side if side != across => return None,
                    _ => {}
                }
            }
        }
    }
    sides.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_wiring::topology::{StageWiring, TopologySettings};

    /// How many sides there are; if two, everything that is linked is across.
    fn sides(settings: &TopologySettings) -> u64 {
        let topology = Topology::build(settings).unwrap();
        let sides = Sides::new(&topology);
        let across = |a, b| assert!(sides.count() == 1 || a != b, "{settings:?}");
        for switch in (0..topology.switches()).map(SwitchId) {
            for (_, end) in (0..topology.ports(switch)).filter_map(|port| topology.wire(switch, PortId(port)))
            {
                across(
                    sides.of_switch(switch),
                    match end {
                        End::Switch(next, _) => sides.of_switch(next),
                        End::Node(node) => sides.of_node(node),
                    },
                );
            }
        }
        for node in (0..topology.nodes()).map(NodeId) {
            across(sides.of_node(node), sides.of_switch(topology.home(node).0));
        }
        sides.count()
    }

    #[test]
    fn trees_and_grids_have_two_sides_and_odd_rings_one() {
        let mesh = |dimensions: &[u32]| TopologySettings::Mesh {
            dimensions: dimensions.to_vec(),
            nodes_per_switch: 2,
        };
        let torus = |dimensions: &[u32]| TopologySettings::Torus {
            dimensions: dimensions.to_vec(),
            nodes_per_switch: 2,
        };
        // From a node through three stages and back to it are four links.
        let stages = |stages| TopologySettings::Stages { wiring: StageWiring::Butterfly, arity: 2, stages };
        assert_eq!(sides(&TopologySettings::Single { nodes: 5 }), 2);
        assert_eq!(sides(&TopologySettings::FatTree { ports: 4, levels: 3 }), 2);
        assert_eq!(sides(&TopologySettings::KaryNTree { arity: 3, levels: 2 }), 2);
        assert_eq!((sides(&mesh(&[3, 4])), sides(&mesh(&[5, 5, 2]))), (2, 2));
        assert_eq!((sides(&torus(&[4, 6])), sides(&torus(&[4, 5]))), (2, 1));
        assert_eq!((sides(&stages(3)), sides(&stages(2))), (2, 1));
    }

    fn ring(vertices: usize) -> Option<Vec<u8>> {
        divide(vertices, |vertex| vec![(vertex + 1) % vertices, (vertex + vertices - 1) % vertices])
    }

    #[test]
    fn a_ring_has_two_sides_if_it_is_even() {
        assert_eq!(ring(6), Some(vec![0, 1, 0, 1, 0, 1]));
        assert_eq!(ring(5), None);
        assert_eq!(divide(4, |vertex| vec![vertex ^ 2]), Some(vec![0, 0, 1, 1]), "in parts");
    }
}
