//! Valiant's routing in dragonflies, HyperX, meshes and tori: minimally to an intermediate that is drawn for each packet, and
//! minimally on from there. Whatever the traffic, what the channels carry is as for uniform traffic twice over.
//!
//! Sources: Valiant, "A scheme for fast parallel communication", *SIAM J. Computing* 11(2), 1982; Kim, Dally, Scott and
//! Abts, ISCA 2008, section 4.1 (VAL); Ahn et al., SC 2009, section 4.1.
//!
//! The header names the intermediate from the source on, and how far a packet has come its virtual channel says. In a
//! **dragonfly** the intermediate is a group, neither that of the source nor that of the destination, and traffic within a
//! group goes straight. Local channels are of class 0 in the first group, of class 1 in the second, of class 2 in the
//! third; global ones of class 0 and 1: each hop is of a higher place in the order local 0, global 0, local 1, global 1,
//! local 2. (Where a packet may choose once more after a local hop, as in PAR, one more class is for the hop after it: local 0,
//! local 1, global 0, local 2, global 1, local 3.) In a **HyperX** the intermediate is any switch; dimension order has class 0
//! on the way there and class 1 from there. In a **mesh or torus** it is any switch too, and each half of the way goes in
//! dimension order: in a mesh in class 0 and then 1; in a torus in classes 0 and 1 of the datelines, and then in 2 and 3.

use super::dimension_order::DimensionOrder;
use super::dragonfly::exit;
use super::ugal::{Intermediates, MINIMAL};
use super::{Arrival, Candidate, Header, Hop, Relation};
use crate::NodeId;
use crate::drawn::below;
use crate::topology::{DragonflyShape, GridShape, HyperXShape};
use crate::{PortId, SwitchId};
use std::ops::Range;

/// A number below `bound` from what a packet has drawn, and from where it goes.
pub(super) fn drawn(source: NodeId, destination: NodeId, draw: u64, bound: u32) -> u32 {
    let key = draw ^ u64::from(source.0) << 40 ^ u64::from(destination.0) << 20;
    below(key, bound.into()) as u32
}

#[derive(Debug)]
pub(super) struct ValiantDragonfly {
    shape: DragonflyShape,
    /// Whether packets may make a second local hop in their first group.
    may_turn: bool,
}

impl ValiantDragonfly {
    pub(super) fn new(shape: &DragonflyShape) -> Self {
        ValiantDragonfly { shape: shape.clone(), may_turn: false }
    }

    /// The same where packets may choose again after a local hop.
    pub(super) fn progressive(shape: &DragonflyShape) -> Self {
        ValiantDragonfly { shape: shape.clone(), may_turn: true }
    }

    fn is_from_node(&self, arrival: Arrival) -> bool {
        arrival.port.0 < self.shape.nodes_per_switch
    }

    /// How many groups a packet has left behind.
    fn left(&self, arrival: Arrival) -> u8 {
        match () {
            () if self.is_from_node(arrival) => 0,
            () if self.shape.is_global(arrival.port) => arrival.class + 1,
            () if self.may_turn => arrival.class.saturating_sub(1),
            () => arrival.class,
        }
    }

    /// The class of a local hop of a packet that has left so many groups behind; `turns` if it is its second one there.
    fn local_class(&self, left: u8, turns: bool) -> u8 {
        match left {
            0 => u8::from(self.may_turn && turns),
            _ => left + u8::from(self.may_turn),
        }
    }

    fn group_of(&self, node: NodeId) -> u32 {
        self.shape.group(SwitchId(node.0 / self.shape.nodes_per_switch))
    }

    /// The groups that packets can go by way of, in order: all but their own two, or the second of these if there is no other.
    fn ways(&self, source: NodeId, destination: NodeId) -> Ways {
        let ends = [self.group_of(source), self.group_of(destination)];
        let others = (0..self.shape.groups).filter(|group| !ends.contains(group)).count() as u32;
        // Within a group nobody goes out of it.
        let others = if ends[0] == ends[1] { 0 } else { others };
        Ways { low: ends[0].min(ends[1]), high: ends[0].max(ends[1]), destination: ends[1], others }
    }
}

/// Groups to go by way of.
struct Ways {
    low: u32,
    high: u32,
    destination: u32,
    others: u32,
}

impl Ways {
    /// The `number`th of them.
    fn group(&self, number: u32) -> u32 {
        if self.others == 0 {
            return self.destination;
        }
        let number = number + u32::from(number >= self.low);
        number + u32::from(number >= self.high)
    }
}

impl Intermediates for ValiantDragonfly {
    fn global_ports(&self) -> Range<u32> {
        self.shape.all_global_ports()
    }

    fn may_choose(&self, here: SwitchId, arrival: Arrival, header: Header) -> bool {
        let last = self.group_of(header.destination());
        // Within a group, and without a third one, there is nothing to choose.
        if self.shape.group(here) == last || header.via() == last || self.left(arrival) > 0 {
            return false;
        }
        let after_hop = self.may_turn && header.phase() == MINIMAL;
        self.is_from_node(arrival) || after_hop
    }
}

impl Relation for ValiantDragonfly {
    fn classes(&self) -> u32 {
        if self.may_turn { 4 } else { 3 }
    }

    fn is_plain(&self) -> bool {
        false
    }

    fn hops_max(&self) -> Option<u32> {
        Some(6 + u32::from(self.may_turn))
    }

    fn start(&self, source: NodeId, destination: NodeId, draw: u64) -> Header {
        let ways = self.ways(source, destination);
        let number = drawn(source, destination, draw, ways.others.max(1));
        Header::to(destination).by_way_of(ways.group(number))
    }

    fn starts(&self, source: NodeId, destination: NodeId) -> Vec<Header> {
        let ways = self.ways(source, destination);
        let header = |number| Header::to(destination).by_way_of(ways.group(number));
        (0..ways.others.max(1)).map(header).collect()
    }

    fn next(&self, here: SwitchId, arrival: Arrival, header: Header) -> Candidate {
        let (shape, node) = (&self.shape, header.destination());
        let target = SwitchId(node.0 / shape.nodes_per_switch);
        let (own, last) = (shape.group(here), shape.group(target));
        let left = self.left(arrival);
        let local = |to| {
            let turns = !self.is_from_node(arrival);
            Hop { port: shape.local_port(here, to), class: self.local_class(left, turns) }
        };
        let hop = if here == target {
            Hop { port: PortId(node.0 % shape.nodes_per_switch), class: arrival.class }
        } else if own == last {
            local(target)
        } else {
            let next = if left == 0 && header.phase() != MINIMAL { header.via() } else { last };
            let (switch, port) = exit(shape, here, next, node.0);
            if switch == here { Hop { port, class: left } } else { local(switch) }
        };
        Candidate { hop, header }
    }
}

#[derive(Debug)]
pub(super) struct ValiantHyperX {
    shape: HyperXShape,
    switches: u32,
}

impl ValiantHyperX {
    pub(super) fn new(shape: &HyperXShape) -> Self {
        ValiantHyperX { shape: shape.clone(), switches: shape.dimensions.iter().product() }
    }

    fn target(&self, header: Header) -> u32 {
        header.destination().0 / self.shape.nodes_per_switch
    }
}

impl Intermediates for ValiantHyperX {
    fn may_choose(&self, here: SwitchId, arrival: Arrival, header: Header) -> bool {
        let (is_from_node, target) = (arrival.port.0 < self.shape.nodes_per_switch, self.target(header));
        is_from_node && here.0 != target && header.via() != here.0 && header.via() != target
    }
}

impl Relation for ValiantHyperX {
    fn classes(&self) -> u32 {
        2
    }

    fn is_plain(&self) -> bool {
        false
    }

    fn hops_max(&self) -> Option<u32> {
        Some(1 + 2 * self.shape.dimensions.iter().filter(|&&size| size > 1).count() as u32)
    }

    fn start(&self, source: NodeId, destination: NodeId, draw: u64) -> Header {
        Header::to(destination).by_way_of(drawn(source, destination, draw, self.switches))
    }

    fn starts(&self, _: NodeId, destination: NodeId) -> Vec<Header> {
        (0..self.switches).map(|switch| Header::to(destination).by_way_of(switch)).collect()
    }

    fn next(&self, here: SwitchId, arrival: Arrival, header: Header) -> Candidate {
        let node = header.destination().0;
        let is_from_node = arrival.port.0 < self.shape.nodes_per_switch;
        let was_there = (!is_from_node && arrival.class == 1) || header.phase() == MINIMAL;
        let (class, target) =
            if was_there || here.0 == header.via() { (1, self.target(header)) } else { (0, header.via()) };
        let place = node % self.shape.nodes_per_switch;
        let port = super::hyperx::port(&self.shape, here, SwitchId(target), place);
        Candidate { hop: Hop { port: port.unwrap_or(PortId(place)), class }, header }
    }
}

#[derive(Debug)]
pub(super) struct ValiantGrid {
    shape: GridShape,
    halves: DimensionOrder,
    switches: u32,
}

impl ValiantGrid {
    pub(super) fn new(shape: &GridShape) -> Self {
        let switches = shape.dimensions.iter().product();
        ValiantGrid { shape: shape.clone(), halves: DimensionOrder::new(shape), switches }
    }
}

impl Relation for ValiantGrid {
    fn classes(&self) -> u32 {
        2 * self.halves.classes()
    }

    fn is_plain(&self) -> bool {
        false
    }

    fn hops_max(&self) -> Option<u32> {
        let side = |&size: &u32| if self.shape.wraps { size / 2 } else { size - 1 };
        Some(1 + 2 * self.shape.dimensions.iter().map(side).sum::<u32>())
    }

    fn start(&self, source: NodeId, destination: NodeId, draw: u64) -> Header {
        Header::to(destination).by_way_of(drawn(source, destination, draw, self.switches))
    }

    fn starts(&self, _: NodeId, destination: NodeId) -> Vec<Header> {
        (0..self.switches).map(|switch| Header::to(destination).by_way_of(switch)).collect()
    }

    fn next(&self, here: SwitchId, arrival: Arrival, header: Header) -> Candidate {
        let (node, nodes) = (header.destination(), self.shape.nodes_per_switch);
        let of_half = self.halves.classes() as u8;
        let is_from_node = arrival.port.0 < nodes;
        let was_there = !is_from_node && arrival.class >= of_half;
        let is_beyond = was_there || here.0 == header.via();
        // The dateline that was crossed on the way there is none on the way from there.
        let crossed = !is_from_node && was_there == is_beyond && arrival.class % of_half == 1;
        let target = if is_beyond { node } else { NodeId(header.via() * nodes) };
        let hop = match self.halves.towards(here, arrival, crossed, target) {
            Some(Hop { port, class }) => Hop { port, class: class + if is_beyond { of_half } else { 0 } },
            None => Hop { port: PortId(node.0 % nodes), class: arrival.class },
        };
        Candidate { hop, header }
    }
}
