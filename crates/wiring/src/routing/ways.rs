//! Source routes of packets whose way switches choose: between two ways that the header of the packet holds, the minimal one
//! and the one by way of an intermediate that the source has drawn.
//!
//! A source route ends where a switch may choose ([`Route::is_open`]). That switch looks at both ways ([`Routing::ways`]) and
//! lays down the one that it takes ([`Routing::chosen`]), up to the next switch that may choose, or to the end. The packet
//! holds no more than the hops and the intermediate: hardware would have both ways in its header, and drop one of them.

use super::{Arrival, Candidate, Header, Route, Routing, Selection};
use crate::{NodeId, SwitchId};

impl Routing {
    /// Whether switches choose by load between ways that the source has written.
    #[must_use]
    pub fn chooses_ways(&self) -> bool {
        self.selection == Selection::LeastLoaded && self.names_ways()
    }

    /// Whether switches could: see [`Relation::names_ways`](super::Relation::names_ways).
    #[must_use]
    pub fn names_ways(&self) -> bool {
        self.relation.names_ways()
    }

    /// Tells `take` the ways that a packet for `destination` with the route `open` has from `here`, the minimal one first.
    pub fn ways(
        &self,
        open: Route,
        here: SwitchId,
        arrival: Arrival,
        destination: NodeId,
        take: impl FnMut(Candidate),
    ) {
        self.candidates(here, arrival, open.open_header(destination), take);
    }

    /// The route from `here` of a packet that takes the way of `candidate` there.
    #[must_use]
    pub fn chosen(&self, here: SwitchId, candidate: Candidate) -> Route {
        let first = Route::default().with(0, candidate.hop);
        match self.follow(here, candidate.hop) {
            Some(at) => self.extended(first, at, candidate.header),
            None => first.ended(1, Route::ARRIVED),
        }
    }

    /// The route from `here` on, to the first switch that may choose or to the end.
    #[cold]
    pub(super) fn up_to_choice(&self, here: SwitchId, arrival: Arrival, header: Header) -> Route {
        if self.chooses_at(here, arrival, header) {
            return Route::default().ended_open(0, header);
        }
        self.chosen(here, self.first(here, arrival, header))
    }

    fn chooses_at(&self, here: SwitchId, arrival: Arrival, header: Header) -> bool {
        let mut ways = 0;
        self.candidates(here, arrival, header, |_| ways += 1);
        ways > 1
    }

    /// `route`, which has one hop, from where that leads on.
    fn extended(&self, mut route: Route, mut at: (SwitchId, Arrival), mut header: Header) -> Route {
        for count in 1..Route::HOPS {
            if self.chooses_at(at.0, at.1, header) {
                return route.ended_open(count, header);
            }
            let next = self.first(at.0, at.1, header);
            (route, header) = (route.with(count, next.hop), next.header);
            match self.follow(at.0, next.hop) {
                Some(next) => at = next,
                None => return route.ended(count + 1, Route::ARRIVED),
            }
        }
        panic!("ways that switches choose have {} hops at most", Route::HOPS)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::routing;
    use super::*;
    use crate::routing::{Hop, RoutingKind};
    use crate::topology::{Arrangement, DragonflyShape, TopologySettings};

    fn dragonfly() -> TopologySettings {
        TopologySettings::Dragonfly(DragonflyShape {
            groups: 9,
            switches_per_group: 4,
            nodes_per_switch: 2,
            global_ports: 2,
            arrangement: Arrangement::PalmTree,
        })
    }

    fn hyperx() -> TopologySettings {
        let dimensions = vec![3, 2, 3];
        TopologySettings::HyperX { dimensions, links: vec![1; 3], nodes_per_switch: 2 }
    }

    /// The hops that a packet takes by its header, where switches choose as `choose` says, and the same by its source route.
    fn both(
        routing: &Routing,
        [source, node]: [NodeId; 2],
        draw: u32,
        choose: &dyn Fn(u32) -> usize,
    ) -> [Vec<Hop>; 2] {
        let ways = |here, arrival, header| {
            let mut all = Vec::new();
            routing.candidates(here, arrival, header, |it| all.push(it));
            all
        };
        let mut choices = 0;
        let mut one_of = |all: Vec<Candidate>| {
            choices += u32::from(all.len() > 1);
            all[if all.len() > 1 { choose(choices) } else { 0 }]
        };
        let (mut hops, mut at) = (Vec::new(), Some(routing.start(source)));
        let mut header = routing.header(source, node, draw);
        while let Some((here, arrival)) = at {
            let next = one_of(ways(here, arrival, header));
            hops.push(next.hop);
            (at, header) = (routing.follow(here, next.hop), next.header);
        }
        choices = 0;
        let mut one_of = |all: Vec<Candidate>| {
            choices += 1;
            assert_eq!(all.len(), 2, "an open route has two ways");
            all[choose(choices)]
        };
        let (mut routed, mut at) = (Vec::new(), Some(routing.start(source)));
        let mut route = routing.way_drawn(source, node, draw);
        while let Some((here, arrival)) = at {
            if route.is_open() {
                let mut all = Vec::new();
                routing.ways(route, here, arrival, node, |it| all.push(it));
                route = routing.chosen(here, one_of(all));
            }
            assert!(!route.is_open() && !route.is_continued() && !route.has_arrived());
            routed.push(route.hop());
            at = routing.follow(here, route.hop());
            route = route.rest();
        }
        assert!(route.has_arrived(), "it ends at the node");
        [hops, routed]
    }

    /// Whatever switches choose, the source route leads where the header does.
    #[test]
    fn source_routes_with_choices_are_the_ways_of_the_relation() {
        for (kind, settings) in
            [(RoutingKind::Ugal, dragonfly()), (RoutingKind::Par, dragonfly()), (RoutingKind::Ugal, hyperx())]
        {
            let routing = routing(kind, &settings).with_selection(Selection::LeastLoaded);
            assert!(routing.chooses_ways());
            let nodes = routing.topology().nodes();
            let mut longest = 0;
            for (source, node) in (0..nodes).flat_map(|source| (0..nodes).map(move |node| (source, node))) {
                for draw in 0..4 {
                    for choices in 0..4_u32 {
                        let choose = |choice: u32| (choices >> (choice - 1) & 1) as usize;
                        let [hops, routed] = both(&routing, [NodeId(source), NodeId(node)], draw, &choose);
                        assert_eq!(hops, routed, "{kind:?} from {source} to {node}");
                        longest = longest.max(hops.len());
                    }
                }
            }
            assert_eq!(longest as u32, routing.hops_max(), "{kind:?}: the longest way has been taken");
        }
    }

    /// Where switches take the first candidate nothing is open.
    #[test]
    fn routes_are_open_only_where_switches_choose() {
        let first = routing(RoutingKind::Par, &dragonfly());
        let choosing = first.clone().with_selection(Selection::LeastLoaded);
        let (source, node) = (NodeId(0), NodeId(71));
        let (fixed, open) = (first.way_drawn(source, node, 1), choosing.way_drawn(source, node, 1));
        assert!(!first.chooses_ways() && !fixed.is_open() && open.is_open());
        let same_group = choosing.way_drawn(source, NodeId(7), 1);
        assert_eq!(same_group, first.way_drawn(source, NodeId(7), 1), "there is one way within a group");
        let others = routing(RoutingKind::DimensionOrder, &hyperx()).with_selection(Selection::LeastLoaded);
        assert!(
            !others.chooses_ways()
                && others.way_drawn(source, NodeId(5), 1).hop() == others.way(source, NodeId(5)).hop()
        );
    }

    #[test]
    fn the_parts_of_an_open_route_do_not_run_into_each_other() {
        let largest = (1 << 24) - 1;
        let hop = |port| Hop { port: crate::PortId(port), class: 3 };
        for (count, via, phase) in [(0, 0, 0), (0, largest, 3), (1, 5, 1), (4, largest, 3), (4, 0, 0)] {
            let header = Header::to(NodeId(9)).by_way_of(via).in_phase(phase);
            let all = (0..count).fold(Route::default(), |route, at| route.with(at, hop(63 - at)));
            let mut route = all.ended_open(count, header);
            for at in 0..count {
                assert!(!route.is_open() && !route.is_continued() && !route.has_arrived(), "{count} hops");
                assert_eq!(route.hop(), hop(63 - at));
                route = route.rest();
            }
            assert!(route.is_open() && !route.is_continued() && !route.has_arrived());
            assert_eq!(route.open_header(NodeId(9)), header);
        }
        let by_way = Route::default().ended_by_way(0, largest);
        assert!(by_way.is_continued() && !by_way.is_open());
    }
}
