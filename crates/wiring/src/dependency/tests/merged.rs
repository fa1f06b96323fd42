//! Every class of virtual channels that a routing has is needed: with two of them laid into one, rings close.

use super::{channels, cycle, routing};
use crate::NodeId;
use crate::dependency::{Dependencies, Dependency};
use crate::routing::{Arrival, Candidate, Header, Hop, Relation, Routing, RoutingKind, Selection};
use crate::topology::{Arrangement, DragonflyShape, TopologySettings};
use crate::{Destination, SwitchId};
use std::sync::Arc;

/// A routing whose class `joined`, and those above it, are the ones below. What class a packet would be in its header says.
#[derive(Debug)]
struct Merged {
    whole: Routing,
    joined: u8,
}

impl Merged {
    /// Bits of the phases of what is merged.
    const PHASE_BITS: u32 = 4;

    fn inner(arrival: Arrival, header: Header) -> (Arrival, Header) {
        let class = (header.phase() >> Self::PHASE_BITS) as u8;
        (Arrival { class, ..arrival }, header.in_phase(header.phase() & ((1 << Self::PHASE_BITS) - 1)))
    }

    fn outer(&self, Candidate { hop, header }: Candidate) -> Candidate {
        let class = hop.class - u8::from(hop.class >= self.joined);
        let header = header.in_phase(header.phase() | u16::from(hop.class) << Self::PHASE_BITS);
        Candidate { hop: Hop { class, ..hop }, header }
    }
}

impl Relation for Merged {
    fn classes(&self) -> u32 {
        self.whole.classes() - 1
    }

    fn is_plain(&self) -> bool {
        false
    }

    fn start(&self, source: NodeId, destination: NodeId, draw: u64) -> Header {
        self.whole.header(source, destination, draw as u32)
    }

    fn starts(&self, source: NodeId, destination: NodeId) -> Vec<Header> {
        self.whole.starts(source, destination)
    }

    fn next(&self, here: SwitchId, arrival: Arrival, header: Header) -> Candidate {
        let (arrival, header) = Self::inner(arrival, header);
        self.outer(self.whole.first(here, arrival, header))
    }

    fn candidates(&self, here: SwitchId, arrival: Arrival, header: Header, take: &mut dyn FnMut(Candidate)) {
        let (arrival, header) = Self::inner(arrival, header);
        self.whole.candidates(here, arrival, header, |candidate| take(self.outer(candidate)));
    }
}

fn dragonfly() -> TopologySettings {
    TopologySettings::Dragonfly(DragonflyShape {
        groups: 9,
        switches_per_group: 4,
        nodes_per_switch: 1,
        global_ports: 2,
        arrangement: Arrangement::PalmTree,
    })
}

#[test]
fn one_class_fewer_closes_a_ring_of_which_each_step_has_a_witness() {
    let hyperx = |dimensions: &[u32]| TopologySettings::HyperX {
        dimensions: dimensions.to_vec(),
        links: vec![1],
        nodes_per_switch: 1,
    };
    let torus = TopologySettings::Torus { dimensions: vec![5, 5], nodes_per_switch: 1 };
    let mesh = TopologySettings::Mesh { dimensions: vec![4, 3], nodes_per_switch: 1 };
    for (kind, settings, classes) in [
        (RoutingKind::Valiant, dragonfly(), 3),
        (RoutingKind::Valiant, hyperx(&[4, 4]), 2),
        (RoutingKind::Valiant, torus.clone(), 4),
        (RoutingKind::Valiant, mesh, 2),
        (RoutingKind::Ugal, dragonfly(), 3),
        (RoutingKind::Ugal, hyperx(&[4, 4]), 2),
        (RoutingKind::UgalG, dragonfly(), 3),
        (RoutingKind::Par, dragonfly(), 4),
        (RoutingKind::MultiPath, torus, 4),
        (RoutingKind::MultiPath, hyperx(&[3, 3, 3]), 3),
    ] {
        let first = routing(kind, &settings);
        assert_eq!(first.classes(), classes, "{kind:?} {settings:?}");
        let selects = first.is_adaptive();
        let selection = if selects { Selection::LeastLoaded } else { Selection::First };
        let whole = first.with_selection(selection);
        for joined in 1..classes as u8 {
            let merged = Arc::new(Merged { whole: whole.clone(), joined });
            let merged = Routing::of_relation(merged, whole.topology()).with_selection(selection);
            let dependencies = Dependencies::of(&merged);
            assert_eq!(dependencies.lost(), None);
            let cycle = cycle(&dependencies);
            assert!(cycle.dependencies.len() > 1, "{kind:?} {settings:?} {joined}");
            for Dependency { from, to, witness } in cycle.dependencies {
                let Destination::Node(node) = witness.destination else { panic!("there are no groups") };
                let ways = channels(&merged, witness.source, node);
                let takes = ways.iter().any(|way| way.windows(2).any(|pair| pair == [from, to]));
                // Of what switches select, first candidates are one way of several.
                assert!(selects || takes, "{kind:?} {joined}: {from:?} {to:?} {witness:?}");
            }
        }
    }
}
