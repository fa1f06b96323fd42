//! UGAL: each packet goes minimally or by way of its intermediate, whichever has less to wait for, as the switch of its source
//! sees it (UGAL-L) or as all switches of its group do (UGAL-G, in dragonflies); and PAR in dragonflies, where the switch after
//! a first local hop may still change to the way by the intermediate.
//!
//! Sources: Singh, "Load-balanced routing in interconnection networks", Stanford, 2005; Kim, Dally, Scott and Abts, ISCA 2008,
//! section 4.2 (UGAL-L, UGAL-G); Jiang, Kim and Dally, "Indirect adaptive routing on large scale interconnection networks",
//! ISCA 2009, section 3.4 (PAR).
//!
//! Both hops are candidates, the minimal one first, and the switch selects. What waits for the way by the intermediate counts
//! twice, since that way is twice as long: minimal if `q_m <= 2 q_n`, as in BookSim2. Once chosen it is in the header:
//! [`MINIMAL`] or [`BY_WAY`]. Virtual channels are those of Valiant's routing, with one more class of local channels for
//! PAR. In a HyperX the minimal way has the class of what comes from an intermediate.
//!
//! With UGAL-G switches tell those that their local ports lead to the loads of their global ports. What waits for a way whose
//! global channel is that of another switch is what waits for the hop to that switch and for the channel there.

use super::{Arrival, Candidate, Header, Relation};
use crate::{NodeId, SwitchId};
use std::ops::Range;

/// The phase of a packet that goes minimally.
pub(super) const MINIMAL: u16 = 1;
/// The phase of one that goes by way of its intermediate, which it will not give up.
const BY_WAY: u16 = 2;

/// Valiant's routing on a topology, which goes minimally in phase [`MINIMAL`].
pub(super) trait Intermediates: Relation {
    /// Global ports of a switch: those whose loads other switches can use.
    fn global_ports(&self) -> Range<u32> {
        0..0
    }

    /// Whether a packet that has come `here` so can go either way, if it has not chosen the one by its intermediate.
    fn may_choose(&self, here: SwitchId, arrival: Arrival, header: Header) -> bool;
}

#[derive(Debug)]
pub(super) struct Ugal<V> {
    ways: V,
    /// Whether switches know loads of others (UGAL-G).
    is_global: bool,
}

impl<V: Intermediates> Ugal<V> {
    /// As the switch that chooses sees it (UGAL-L, PAR).
    pub(super) fn local(ways: V) -> Self {
        Ugal { ways, is_global: false }
    }

    /// As all switches of the group see it (UGAL-G).
    pub(super) fn global(ways: V) -> Self {
        Ugal { ways, is_global: true }
    }

    fn may_choose(&self, here: SwitchId, arrival: Arrival, header: Header) -> bool {
        header.phase() != BY_WAY && self.ways.may_choose(here, arrival, header)
    }
}

impl<V: Intermediates> Relation for Ugal<V> {
    fn classes(&self) -> u32 {
        self.ways.classes()
    }

    fn start(&self, source: NodeId, destination: NodeId, draw: u64) -> Header {
        self.ways.start(source, destination, draw)
    }

    fn starts(&self, source: NodeId, destination: NodeId) -> Vec<Header> {
        self.ways.starts(source, destination)
    }

    fn hops_max(&self) -> Option<u32> {
        self.ways.hops_max()
    }

    fn is_plain(&self) -> bool {
        false
    }

    fn is_adaptive(&self) -> bool {
        true
    }

    fn names_ways(&self) -> bool {
        !self.is_global
    }

    fn next(&self, here: SwitchId, arrival: Arrival, header: Header) -> Candidate {
        let may_choose = self.may_choose(here, arrival, header);
        self.ways.next(here, arrival, if may_choose { header.in_phase(MINIMAL) } else { header })
    }

    fn has_choice(&self) -> bool {
        true
    }

    fn candidates(&self, here: SwitchId, arrival: Arrival, header: Header, take: &mut dyn FnMut(Candidate)) {
        let first = self.next(here, arrival, header);
        take(first);
        if self.may_choose(here, arrival, header) {
            let other = self.ways.next(here, arrival, header.in_phase(BY_WAY));
            if other.hop != first.hop {
                take(other);
            }
        }
    }

    fn weight(&self, candidate: Candidate) -> u32 {
        if candidate.header.phase() == BY_WAY { 2 } else { 1 }
    }

    fn told_ports(&self) -> Range<u32> {
        if self.is_global { self.ways.global_ports() } else { 0..0 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::routing;
    use super::super::{Hop, Routing, RoutingKind, Selection};
    use super::*;
    use crate::PortId;
    use crate::dependency::{Dependencies, Verdict};
    use crate::topology::{Arrangement, DragonflyShape, TopologySettings};

    fn dragonfly(groups: u32, [a, p, h]: [u32; 3]) -> TopologySettings {
        TopologySettings::Dragonfly(DragonflyShape {
            groups,
            switches_per_group: a,
            nodes_per_switch: p,
            global_ports: h,
            arrangement: Arrangement::PalmTree,
        })
    }

    fn hyperx(dimensions: &[u32]) -> TopologySettings {
        let links = vec![1; dimensions.len()];
        TopologySettings::HyperX { dimensions: dimensions.to_vec(), links, nodes_per_switch: 2 }
    }

    fn selecting(kind: RoutingKind, settings: &TopologySettings) -> Routing {
        routing(kind, settings).with_selection(Selection::LeastLoaded)
    }

    #[test]
    fn whatever_switches_select_packets_arrive_and_no_ring_closes() {
        for (kind, settings, classes) in [
            (RoutingKind::Ugal, dragonfly(9, [4, 2, 2]), 3),
            (RoutingKind::Ugal, dragonfly(3, [4, 1, 2]), 3),
            (RoutingKind::Ugal, dragonfly(2, [2, 1, 1]), 3),
            (RoutingKind::Ugal, hyperx(&[4, 3]), 2),
            (RoutingKind::UgalG, dragonfly(9, [4, 2, 2]), 3),
            (RoutingKind::Par, dragonfly(9, [4, 2, 2]), 4),
            (RoutingKind::Par, dragonfly(4, [3, 1, 1]), 4),
        ] {
            let routing = selecting(kind, &settings);
            assert_eq!((routing.classes(), routing.is_adaptive()), (classes, true));
            let dependencies = Dependencies::of(&routing);
            assert_eq!(dependencies.lost(), None, "{kind:?}");
            assert!(matches!(dependencies.verdict(), Verdict::Free(_)), "{kind:?} {settings:?}");
        }
    }

    /// Where a way goes on by a global port of the next switch, that is the one whose load counts.
    #[test]
    fn the_load_that_counts_is_that_of_the_channel_out_of_the_group() {
        let routing = selecting(RoutingKind::UgalG, &dragonfly(5, [3, 2, 2]));
        assert_eq!(routing.told_ports(), 4..6);
        let nodes = routing.topology().nodes();
        let (mut told, mut own) = (0, 0);
        for (source, node) in (0..nodes).flat_map(|source| (0..nodes).map(move |node| (source, node))) {
            for header in routing.starts(NodeId(source), NodeId(node)) {
                let (here, arrival) = routing.start(NodeId(source));
                routing.candidates(here, arrival, header, |it| {
                    let Some((there, arrival)) = routing.follow(here, it.hop) else { return };
                    let next = routing.first(there, arrival, it.header).hop.port;
                    let is_global = |port: PortId| routing.told_ports().contains(&port.0);
                    let expected = (!is_global(it.hop.port) && is_global(next)).then_some(next);
                    assert_eq!(routing.beyond(here, it), expected, "{source} to {node}");
                    if let Some(port) = expected {
                        let (out, _) = routing.follow(there, Hop { port, class: 0 }).expect("it is wired");
                        let minimal = it.header.phase() == MINIMAL;
                        let group = if minimal { node / 6 } else { it.header.via() };
                        assert_eq!(out.0 / 3, group, "it leads where the way goes on");
                    }
                    told += u32::from(expected.is_some());
                    own += u32::from(is_global(it.hop.port));
                });
            }
        }
        assert!(told > 0 && own > 0);
        let local = selecting(RoutingKind::Ugal, &dragonfly(5, [3, 2, 2]));
        assert_eq!(local.told_ports(), 0..0);
    }

    /// Both ways are there at the switch of the source; and PAR has them once more, after a minimal local hop.
    #[test]
    fn the_minimal_way_comes_first_and_the_other_one_counts_twice() {
        let choices = |kind, settings: &TopologySettings| {
            let routing = selecting(kind, settings);
            let source = NodeId(0);
            let starts = |node| routing.starts(source, NodeId(node));
            let mut most = Vec::new();
            for header in (0..routing.topology().nodes()).flat_map(starts) {
                let (mut at, mut header) = (Some(routing.start(source)), header);
                let mut weights = Vec::new();
                while let Some((here, arrival)) = at {
                    let mut all = Vec::new();
                    routing.candidates(here, arrival, header, |it| all.push(it));
                    weights.push(all.iter().map(|it| routing.weight(*it)).collect::<Vec<u32>>());
                    (at, header) = (routing.follow(here, all[0].hop), all[0].header);
                }
                most = most.max(weights);
            }
            most
        };
        let both = || vec![1, 2];
        assert_eq!(choices(RoutingKind::Ugal, &hyperx(&[4, 4]))[..2], [both(), vec![1]]);
        let dragonfly = dragonfly(9, [4, 2, 2]);
        assert_eq!(choices(RoutingKind::Ugal, &dragonfly)[..2], [both(), vec![1]]);
        assert_eq!(choices(RoutingKind::Par, &dragonfly)[..2], [both(), both()]);
    }
}
