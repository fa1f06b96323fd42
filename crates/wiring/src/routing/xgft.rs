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
