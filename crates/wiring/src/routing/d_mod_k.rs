//! d-mod-k routing in fat trees (OQ-D13): at level `i` a packet for node `d` goes down if `d` is below, otherwise up by
//! port `(d / k^i) mod k`. Packets for different nodes of a leaf thus climb by different ports, and all packets for one
//! node come down by one path.

use super::{Arrival, Candidate, Header, Hop, Relation, Route};
use crate::NodeId;
use crate::topology::{Topology, TreeShape};
use crate::{PortId, SwitchId};

#[derive(Debug)]
pub(super) struct DModK {
    arity: u32,
    levels: u32,
    nodes: u32,
    /// Per switch: the first node below it, one past the last, and how many nodes hang on each down-port.
    below: Vec<(u32, u32, u32)>,
}

impl DModK {
    pub(super) fn new(shape: &TreeShape, topology: &Topology) -> Self {
        let below = (0..topology.switches()).map(|switch| {
            let (level, subtree, _) = shape.place(SwitchId(switch));
            let stride = shape.power(level) as u32;
            if level + 1 == shape.levels {
                (0, topology.nodes(), stride)
            } else {
                let span = stride * shape.arity;
                (subtree as u32 * span, (subtree as u32 + 1) * span, stride)
            }
        });
        DModK { arity: shape.arity, levels: shape.levels, nodes: topology.nodes(), below: below.collect() }
    }
}

impl DModK {
    /// The port down to `destination`; `None` where it is not below.
    pub(super) fn port_down(&self, here: SwitchId, destination: NodeId) -> Option<PortId> {
        let (first, end, stride) = self.below[here.index()];
        (first..end).contains(&destination.0).then(|| PortId((destination.0 - first) / stride))
    }

    /// Whether every node is below `here`: its ports all lead down.
    fn is_top(&self, here: SwitchId) -> bool {
        let (first, end, _) = self.below[here.index()];
        (first, end) == (0, self.nodes)
    }
}

impl Relation for DModK {
    #[inline]
    fn next(&self, here: SwitchId, _: Arrival, header: Header) -> Candidate {
        let destination = header.destination();
        let (first, end, stride) = self.below[here.index()];
        let port = if (first..end).contains(&destination.0) {
            (destination.0 - first) / stride
        } else {
            self.arity + destination.0 / stride % self.arity
        };
        Candidate { hop: Hop { port: PortId(port), class: 0 }, header }
    }

    /// On the way up every port is as good.
    fn has_choice(&self) -> bool {
        true
    }

    fn candidates(&self, here: SwitchId, arrival: Arrival, header: Header, take: &mut dyn FnMut(Candidate)) {
        let first = self.next(here, arrival, header);
        take(first);
        let is_up = first.hop.port.0 >= self.arity && !self.is_top(here);
        for port in (self.arity..2 * self.arity).filter(|&port| is_up && port != first.hop.port.0) {
            take(Candidate { hop: Hop { port: PortId(port), class: 0 }, header });
        }
    }

    /// Up by the lower digits of the destination to the level where the two nodes have one subtree, and down by all of
    /// its digits from there.
    #[inline]
    fn way(&self, source: NodeId, destination: NodeId) -> Option<Route> {
        if 2 * self.levels > Route::HOPS + 1 {
            return None;
        }
        let hop = |port: u32| Hop { port: PortId(port), class: 0 };
        let (mut from, mut to) = (source.0, destination.0);
        let (mut up, mut digits, mut level) = (Route::default(), [0; Route::HOPS as usize], 0);
        while level + 1 < self.levels {
            from /= self.arity;
            let above = to / self.arity;
            digits[level as usize] = to - above * self.arity;
            if from == above {
                break;
            }
            up = up.with(level, hop(self.arity + digits[level as usize]));
            to = above;
            level += 1;
        }
        if level + 1 == self.levels {
            digits[level as usize] = to;
        }
        let way =
            (0..=level).fold(up, |way, down| way.with(level + down, hop(digits[(level - down) as usize])));
        Some(way.ended(2 * level + 1, Route::ARRIVED))
    }
}
