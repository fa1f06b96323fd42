//! Source routes: the way of a packet, walked once, as the header field that names its hops.

use super::{Arrival, Header, Route, Routing, Selection};
use crate::{NodeId, SwitchId};

impl Routing {
    /// The way from `source` to `destination` of a packet that has drawn this number, as much of it as a header field holds.
    #[inline]
    #[must_use]
    pub fn way_drawn(&self, source: NodeId, destination: NodeId, draw: u32) -> Route {
        if self.is_plain() {
            return self.way(source, destination);
        }
        let ((here, arrival), header) = (self.start(source), self.header(source, destination, draw));
        if self.selection != Selection::First && self.chooses_ways() {
            return self.up_to_choice(here, arrival, header);
        }
        self.route_of(here, arrival, header)
    }

    /// The way from `source` to `destination`, as much of it as a header field holds.
    #[inline]
    #[must_use]
    pub fn way(&self, source: NodeId, destination: NodeId) -> Route {
        if let Some(way) =
            self.ways.get(source.index() * self.topology.nodes() as usize + destination.index())
        {
            return *way;
        }
        self.relation.way(source, destination).unwrap_or_else(|| self.walk(source, destination))
    }

    pub(super) fn walk(&self, source: NodeId, destination: NodeId) -> Route {
        let (here, arrival) = self.start(source);
        self.route_of(here, arrival, self.relation.start(source, destination, 0))
    }

    /// The next hops of a packet for `destination` that arrives at `here`, as many as a header field holds.
    #[must_use]
    pub fn route(&self, here: SwitchId, arrival: Arrival, destination: NodeId) -> Route {
        self.route_of(here, arrival, Header::to(destination))
    }

    /// The same of a packet whose route so far is `spent`: see [`Route::is_continued`].
    #[must_use]
    pub fn continued(&self, spent: Route, here: SwitchId, arrival: Arrival, destination: NodeId) -> Route {
        let header = Header::to(destination);
        self.route_of(
            here,
            arrival,
            if self.is_plain() { header } else { header.by_way_of(spent.by_way_of()) },
        )
    }

    fn route_of(&self, here: SwitchId, arrival: Arrival, mut header: Header) -> Route {
        let (mut route, first) = (Route::default(), header);
        let mut shorter = route;
        let mut at = (here, arrival);
        for count in 0..Route::HOPS {
            if count == Route::HOPS_BY_WAY {
                shorter = route;
            }
            let next = self.relation.next(at.0, at.1, header);
            (route, header) = (route.with(count, next.hop), next.header);
            match self.follow(at.0, next.hop) {
                Some(next) => at = next,
                None => return route.ended(count + 1, Route::ARRIVED),
            }
        }
        if self.is_plain() {
            return route.ended(Route::HOPS, Route::CONTINUED);
        }
        let says_no_more =
            header == first && header == Header::to(header.destination()).by_way_of(header.via());
        assert!(
            says_no_more,
            "a route that is continued on the way knows its destination and its intermediate only"
        );
        shorter.ended_by_way(Route::HOPS_BY_WAY, header.via())
    }
}
