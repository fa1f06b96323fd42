//! Service levels, as those of InfiniBand: a packet has the one that its source says for its destination, and every switch has
//! a map that says which class of virtual channels a level takes from one port to another.

use crate::{NodeId, PortId, SwitchId};
use std::collections::BTreeMap;

/// Levels that there are.
pub const LEVELS: usize = 16;

/// The class that each level takes; nothing where packets of a level are dropped.
pub type Classes = [Option<u8>; LEVELS];

/// Of a fabric: the level of each pair of nodes, and the maps of its switches. Unless told otherwise all packets have level 0,
/// and a level takes the class of its own number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceLevels {
    nodes: usize,
    /// By source and destination; empty while all are 0.
    levels: Vec<u8>,
    /// By switch.
    maps: Vec<ClassMap>,
}

/// The map of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ClassMap {
    /// From ports and to ports of which nothing else is said.
    others: Classes,
    ports: BTreeMap<(PortId, PortId), Classes>,
}

impl ServiceLevels {
    /// Those of a fabric of so many switches and nodes.
    #[must_use]
    pub fn new(switches: u32, nodes: u32) -> Self {
        let own = std::array::from_fn(|level| Some(level as u8));
        let map = ClassMap { others: own, ports: BTreeMap::new() };
        ServiceLevels { nodes: nodes as usize, levels: Vec::new(), maps: vec![map; switches as usize] }
    }

    /// Packets of `source` for `destination` have `level`.
    ///
    /// # Panics
    /// If there is no such node or level.
    pub fn set_level(&mut self, source: NodeId, destination: NodeId, level: u8) {
        assert!(
            usize::from(level) < LEVELS && destination.index() < self.nodes,
            "there is such a level and node"
        );
        if self.levels.is_empty() {
            self.levels.resize(self.nodes * self.nodes, 0);
        }
        self.levels[source.index() * self.nodes + destination.index()] = level;
    }

    /// The level of packets of `source` for `destination`.
    #[must_use]
    pub fn level(&self, source: NodeId, destination: NodeId) -> u8 {
        let at = source.index() * self.nodes + destination.index();
        self.levels.get(at).copied().unwrap_or(0)
    }

    /// At `here` levels take these classes, from port `from` to port `to`, or between all ports of which nothing else is said.
    ///
    /// # Panics
    /// If there is no such switch.
    pub fn set_classes(&mut self, here: SwitchId, ports: Option<(PortId, PortId)>, classes: Classes) {
        let map = &mut self.maps[here.index()];
        match ports {
            Some(ports) => _ = map.ports.insert(ports, classes),
            None => map.others = classes,
        }
    }

    /// The class that packets of `level` take at `here` from port `from` to port `to`; nothing if they are dropped.
    #[must_use]
    pub fn class(&self, here: SwitchId, from: PortId, to: PortId, level: u8) -> Option<u8> {
        let map = &self.maps[here.index()];
        map.ports.get(&(from, to)).unwrap_or(&map.others)[usize::from(level)]
    }

    /// Levels that packets have: bit `i` is level `i`.
    fn used(&self) -> u16 {
        if self.levels.is_empty() { 1 } else { self.levels.iter().fold(0, |used, level| used | 1 << level) }
    }

    /// What levels that packets have can take.
    fn taken(&self) -> impl Iterator<Item = Option<u8>> + '_ {
        let used = self.used();
        let maps = self.maps.iter().flat_map(|map| map.ports.values().chain([&map.others]));
        maps.flat_map(move |classes| {
            (0..LEVELS).filter(move |level| used >> level & 1 == 1).map(|level| classes[level])
        })
    }

    /// Whether packets of a level that some have may be dropped.
    pub(super) fn may_drop(&self) -> bool {
        self.taken().any(|class| class.is_none())
    }

    /// Classes of virtual channels that they need.
    pub(super) fn classes(&self) -> u32 {
        1 + u32::from(self.taken().flatten().max().unwrap_or(0))
    }
}
