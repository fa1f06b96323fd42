//! Forwarding tables from outside, as subnet managers make them: each switch has a port for each node.
//!
//! A packet keeps its class of virtual channels unless the entry says another; what the nodes of a switch send begins in the
//! class that the switch says of the destination, 0 unless it does. So classes by hop can be written. Where there are service
//! levels, and an entry says no class, it is that of the [level](ServiceLevels).

use super::{Arrival, Candidate, Header, Hop, LEVELS, Relation, Routing, ServiceLevels, from_nodes};
use crate::topology::{End, Topology};
use crate::{NodeId, PortId, SwitchId};
use std::sync::Arc;

/// A port, and perhaps a class, for every switch and node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardingTables {
    nodes: usize,
    /// By switch and node: the port, or [`NONE`].
    ports: Vec<u16>,
    /// The same: the class of the hop, or [`KEPT`]; empty if every class is kept.
    classes: Vec<u8>,
    /// The same: the class in which packets of the switch's own nodes begin; empty if that is 0 for all.
    starts: Vec<u8>,
    levels: Option<ServiceLevels>,
}

/// More faults are not listed.
const FAULTS_MAX: usize = 100;
/// No port.
const NONE: u16 = u16::MAX;
/// The class that a packet has come in on.
const KEPT: u8 = u8::MAX;

/// What is wrong with tables on a topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableFault {
    /// Packets for `node` come to `at`, which has no entry for it.
    NoEntry {
        /// The switch.
        at: SwitchId,
        /// Whom the packets are for.
        node: NodeId,
        /// A node whose packets come there.
        source: NodeId,
    },
    /// The port of an entry has no link, or is not there.
    NoLink {
        /// The switch.
        at: SwitchId,
        /// Whom the packets are for.
        node: NodeId,
    },
    /// The port of an entry leads to another node.
    OtherNode {
        /// The switch.
        at: SwitchId,
        /// Whom the packets are for.
        node: NodeId,
        /// Where the port leads.
        other: NodeId,
    },
    /// Packets for `node` go round for ever.
    Loop {
        /// Whom the packets are for.
        node: NodeId,
        /// The switches, in the order in which they are passed.
        switches: Vec<SwitchId>,
    },
    /// Packets from `source` for `node` are dropped at `at`, since their service level has no class there.
    Dropped {
        /// The switch.
        at: SwitchId,
        /// The port by which they come there, and that by which they were to leave.
        ports: [PortId; 2],
        /// Whom they are for.
        node: NodeId,
        /// Whose they are.
        source: NodeId,
        /// Their level.
        level: u8,
    },
}

/// What is known of the way from a switch to one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Nothing,
    /// It is on the way that is being walked.
    Walked,
    /// Switches on the way, this one included; or that it does not lead there.
    Way(Option<u32>),
}

impl ForwardingTables {
    /// Tables without entries.
    #[must_use]
    pub fn new(switches: u32, nodes: u32) -> Self {
        let entries = switches as usize * nodes as usize;
        ForwardingTables {
            nodes: nodes as usize,
            ports: vec![NONE; entries],
            classes: Vec::new(),
            starts: Vec::new(),
            levels: None,
        }
    }

    /// Packets have service levels.
    pub fn set_levels(&mut self, levels: ServiceLevels) {
        self.levels = Some(levels);
    }

    /// Those of `routing`; nothing if packets for a node go different ways from one switch, as their headers say or as they
    /// have come there, or change their class on the way.
    #[must_use]
    pub fn of(routing: &Routing) -> Option<Self> {
        let nodes = || (0..routing.topology().nodes()).map(NodeId);
        if !routing.is_plain() {
            return None;
        }
        let mut tables = Self::new(routing.topology().switches(), routing.topology().nodes());
        for (source, node) in nodes().flat_map(|source| nodes().map(move |node| (source, node))) {
            let mut class = None;
            for (here, hop) in routing.path(source, node) {
                if tables.port(here, node).is_some_and(|port| port != hop.port)
                    || class.is_some_and(|class| class != hop.class)
                {
                    return None;
                }
                tables.set(here, node, hop.port, None);
                if class.is_none() && hop.class > 0 {
                    tables.begin(here, node, hop.class);
                }
                class = Some(hop.class);
            }
        }
        Some(tables)
    }

    /// Packets for `node` leave `here` by `port`, and on `class` if one is given.
    ///
    /// # Panics
    /// If there is no such switch or node, or a port or class that large.
    pub fn set(&mut self, here: SwitchId, node: NodeId, port: PortId, class: Option<u8>) {
        let at = self.place(here, node);
        assert!(port.0 < NONE.into(), "a port is below {NONE}");
        self.ports[at] = port.0 as u16;
        if let Some(class) = class {
            put(&mut self.classes, self.ports.len(), KEPT, at, class);
        }
    }

    /// What the nodes of `here` send to `node` begins in `class`.
    ///
    /// # Panics
    /// If there is no such switch or node, or a class that large.
    pub fn begin(&mut self, here: SwitchId, node: NodeId, class: u8) {
        let at = self.place(here, node);
        put(&mut self.starts, self.ports.len(), 0, at, class);
    }

    /// The port for `node` at `here`.
    #[must_use]
    pub fn port(&self, here: SwitchId, node: NodeId) -> Option<PortId> {
        Some(self.ports[self.place(here, node)]).filter(|port| *port != NONE).map(|port| PortId(port.into()))
    }

    /// Classes that they use.
    #[must_use]
    pub fn classes(&self) -> u32 {
        let used = self.classes.iter().chain(&self.starts).filter(|class| **class != KEPT);
        let said = 1 + u32::from(used.copied().max().unwrap_or(0));
        self.levels.as_ref().map_or(said, |levels| said.max(levels.classes()))
    }

    /// The class of the hop to port `to` of a packet that has come by `arrival`, from a node of the switch or not, and has that
    /// level; nothing if it is dropped.
    fn class(&self, here: SwitchId, node: NodeId, arrival: Arrival, is_first: bool, level: u8) -> Option<u8> {
        let at = self.place(here, node);
        match (self.classes.get(at), &self.levels) {
            (Some(&class), _) if class != KEPT => Some(class),
            (_, Some(levels)) => levels.class(here, arrival.port, PortId(self.ports[at].into()), level),
            _ if is_first => Some(self.starts.get(at).copied().unwrap_or(0)),
            _ => Some(arrival.class),
        }
    }

    fn place(&self, here: SwitchId, node: NodeId) -> usize {
        assert!(node.index() < self.nodes, "there is no {node}");
        here.index() * self.nodes + node.index()
    }

    /// Whether every packet reaches its destination, and then the most switches that one crosses.
    ///
    /// # Errors
    /// What is wrong, a hundred things at most.
    pub fn check(&self, topology: &Topology) -> Result<u32, Vec<TableFault>> {
        let longest = self.check_ports(topology)?;
        let dropped = self.dropped(topology);
        if dropped.is_empty() { Ok(longest) } else { Err(dropped) }
    }

    /// The same of ports alone.
    fn check_ports(&self, topology: &Topology) -> Result<u32, Vec<TableFault>> {
        let (mut faults, mut longest) = (Vec::new(), 1);
        let mut known = vec![Known::Nothing; topology.switches() as usize];
        for node in (0..topology.nodes()).map(NodeId) {
            known.fill(Known::Nothing);
            for source in (0..topology.nodes()).map(NodeId) {
                match self.walk(topology, source, node, &mut known) {
                    Ok(way) => longest = longest.max(way.unwrap_or(0)),
                    Err(fault) => faults.push(fault),
                }
                if faults.len() >= FAULTS_MAX {
                    return Err(faults);
                }
            }
        }
        if faults.is_empty() { Ok(longest) } else { Err(faults) }
    }

    /// Where packets are dropped for their service level; their ports are right.
    fn dropped(&self, topology: &Topology) -> Vec<TableFault> {
        let nodes = || (0..topology.nodes()).map(NodeId);
        let Some(levels) = self.levels.as_ref().filter(|levels| levels.may_drop()) else { return Vec::new() };
        let pairs = nodes().flat_map(|source| nodes().map(move |node| (source, node)));
        let faults = pairs.filter_map(|(source, node)| {
            let level = levels.level(source, node);
            let ((mut here, port), mut class) = (topology.home(source), 0);
            let mut arrival = Arrival { port, class };
            let mut is_first = true;
            loop {
                let to = self.port(here, node)?;
                let Some(next) = self.class(here, node, arrival, is_first, level) else {
                    return Some(TableFault::Dropped {
                        at: here,
                        ports: [arrival.port, to],
                        node,
                        source,
                        level,
                    });
                };
                class = next;
                let Some((_, End::Switch(next, port))) = topology.wire(here, to) else { return None };
                (here, arrival, is_first) = (next, Arrival { port, class }, false);
            }
        });
        faults.take(FAULTS_MAX).collect()
    }

    /// The switches on the way of packets of `source` to `node`; nothing of one that is known to be wrong.
    fn walk(
        &self,
        topology: &Topology,
        source: NodeId,
        node: NodeId,
        known: &mut [Known],
    ) -> Result<Option<u32>, TableFault> {
        let (mut here, mut way) = (topology.home(source).0, Vec::new());
        let end = loop {
            match known[here.index()] {
                Known::Way(rest) => break Ok(rest),
                Known::Walked => {
                    let first = way.iter().position(|it| *it == here).unwrap_or(0);
                    break Err(TableFault::Loop { node, switches: way[first..].to_vec() });
                }
                Known::Nothing => {}
            }
            known[here.index()] = Known::Walked;
            way.push(here);
            let Some(port) = self.port(here, node) else {
                break Err(TableFault::NoEntry { at: here, node, source });
            };
            let wired = Some(port).filter(|port| port.0 < topology.ports(here));
            match wired.and_then(|port| topology.wire(here, port)) {
                None => break Err(TableFault::NoLink { at: here, node }),
                Some((_, End::Node(end))) if end == node => break Ok(Some(0)),
                Some((_, End::Node(other))) => break Err(TableFault::OtherNode { at: here, node, other }),
                Some((_, End::Switch(next, _))) => here = next,
            }
        };
        let mut rest = end.as_ref().ok().copied().flatten();
        for switch in way.iter().rev() {
            rest = rest.map(|rest| rest + 1);
            known[switch.index()] = Known::Way(rest);
        }
        end.map(|_| rest)
    }
}

/// Puts `value` at `at` of a list of so many that are `unless` given; it is empty while all are.
fn put(list: &mut Vec<u8>, len: usize, unless: u8, at: usize, value: u8) {
    assert!(usize::from(value) < LEVELS, "classes are below {LEVELS}");
    if list.is_empty() {
        list.resize(len, unless);
    }
    list[at] = value;
}

/// Routing by tables.
#[derive(Debug)]
pub(super) struct ByTables {
    tables: Arc<ForwardingTables>,
    classes: u32,
    hops_max: u32,
    /// Per switch and port: whether packets of nodes come in there.
    is_from_node: Vec<Vec<bool>>,
}

impl ByTables {
    pub(super) fn new(topology: &Topology, tables: Arc<ForwardingTables>) -> Result<Self, Vec<TableFault>> {
        let hops_max = tables.check(topology)?;
        Ok(ByTables { classes: tables.classes(), tables, hops_max, is_from_node: from_nodes(topology) })
    }
}

impl Relation for ByTables {
    fn classes(&self) -> u32 {
        self.classes
    }

    fn hops_max(&self) -> Option<u32> {
        Some(self.hops_max)
    }

    fn start(&self, source: NodeId, destination: NodeId, _: u64) -> Header {
        let header = Header::to(destination);
        match &self.tables.levels {
            Some(levels) => header.in_phase(levels.level(source, destination).into()),
            None => header,
        }
    }

    fn is_plain(&self) -> bool {
        self.tables.levels.is_none()
    }

    fn tells_nodes_apart(&self) -> bool {
        self.tables.levels.is_some()
    }

    fn next(&self, here: SwitchId, arrival: Arrival, header: Header) -> Candidate {
        let node = header.destination();
        let is_first = self.is_from_node[here.index()][arrival.port.index()];
        let class = self.tables.class(here, node, arrival, is_first, header.phase() as u8);
        let port = PortId(self.tables.ports[self.tables.place(here, node)].into());
        Candidate { hop: Hop { port, class: class.expect("tables drop no packet") }, header }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{conformance, routing};
    use super::super::{RoutingError, RoutingKind};
    use super::*;
    use crate::dependency::{Dependencies, Verdict};
    use crate::topology::{Arrangement, DragonflyShape, RandomRegular, TopologySettings};

    #[test]
    fn tables_lead_as_the_routing_that_they_are_of() {
        let random = RandomRegular { switches: 12, degree: 3, nodes_per_switch: 2, seed: 5 };
        let ring = TopologySettings::Torus { dimensions: vec![7], nodes_per_switch: 1 };
        for settings in [TopologySettings::RandomRegular(random), ring] {
            let minimal = routing(RoutingKind::Minimal, &settings);
            let tables = Arc::new(ForwardingTables::of(&minimal).unwrap());
            let topology = Arc::clone(minimal.topology());
            let by_tables = Routing::by_tables(topology, Arc::clone(&tables)).unwrap();
            assert_eq!((by_tables.classes(), by_tables.hops_max()), (minimal.classes(), minimal.hops_max()));
            let nodes = minimal.topology().nodes();
            for (a, b) in (0..nodes).flat_map(|a| (0..nodes).map(move |b| (NodeId(a), NodeId(b)))) {
                assert!(by_tables.path(a, b).eq(minimal.path(a, b)), "{a} to {b}");
            }
            conformance(&by_tables);
            assert_eq!(
                Routing::new(RoutingKind::Tables, Arc::clone(minimal.topology())).err(),
                Some(RoutingError::Tables)
            );
        }
    }

    /// Service levels of a clockwise ring of five: the level is the source, in class 1 behind switch 0.
    fn levels_of_a_ring(topology: &Topology) -> ServiceLevels {
        let mut levels = ServiceLevels::new(5, 5);
        for (source, node) in (0..5).flat_map(|a| (0..5).map(move |b| (a, b))) {
            levels.set_level(NodeId(source), NodeId(node), source as u8);
        }
        for here in (0..5).map(SwitchId) {
            let classes = std::array::from_fn(|source| Some(u8::from(here.index() < source)));
            levels.set_classes(here, None, if here.0 == 0 { [None; LEVELS] } else { classes });
            let ports = || (0..topology.ports(here)).map(PortId);
            for pair in ports().flat_map(|from| ports().map(move |to| (from, to))).filter(|_| here.0 == 0) {
                levels.set_classes(here, Some(pair), classes);
            }
        }
        levels
    }

    #[test]
    fn packets_whose_level_has_no_class_are_told() {
        let settings = TopologySettings::Torus { dimensions: vec![5], nodes_per_switch: 1 };
        let topology = Arc::new(Topology::build(&settings).unwrap());
        let minimal = routing(RoutingKind::UpDown, &settings);
        let mut tables = ForwardingTables::of(&minimal).unwrap();
        let mut levels = ServiceLevels::new(5, 5);
        levels.set_level(NodeId(2), NodeId(3), 4);
        levels.set_classes(SwitchId(3), None, std::array::from_fn(|level| (level == 0).then_some(0)));
        tables.set_levels(levels);
        let faults = tables.check(&topology).unwrap_err();
        let [TableFault::Dropped { at, node, source, level, .. }] = faults[..] else { panic!("{faults:?}") };
        assert_eq!((at, node, source, level), (SwitchId(3), NodeId(3), NodeId(2), 4));
    }

    /// A ring of three with a node at each: clockwise tables in classes by hop are free of deadlock, in one class they are not.
    #[test]
    fn an_entry_can_say_the_class_of_its_hop() {
        let settings = TopologySettings::Torus { dimensions: vec![5], nodes_per_switch: 1 };
        let topology = Arc::new(Topology::build(&settings).unwrap());
        let [mut one, mut by_hop] = [(); 2].map(|()| ForwardingTables::new(5, 5));
        for (here, node) in (0..5).flat_map(|a| (0..5).map(move |b| (a, b))) {
            let left = (node + 5 - here) % 5;
            let away = (0..topology.ports(SwitchId(here))).map(PortId);
            let next = if left == 0 {
                End::Node(NodeId(node))
            } else {
                End::Switch(SwitchId((here + 1) % 5), PortId(0))
            };
            let leads = |end: End| match (end, next) {
                (End::Switch(a, _), End::Switch(b, _)) => a == b,
                (end, next) => end == next,
            };
            let port = away
                .into_iter()
                .find(|port| topology.wire(SwitchId(here), *port).is_some_and(|it| leads(it.1)));
            one.set(SwitchId(here), NodeId(node), port.unwrap(), None);
            // From 0, the farther the less.
            by_hop.set(
                SwitchId(here),
                NodeId(node),
                port.unwrap(),
                Some(if left == 0 { 3 } else { 4 - left as u8 }),
            );
        }
        let mut by_level = one.clone();
        by_level.set_levels(levels_of_a_ring(&topology));
        let routing = |tables| Routing::by_tables(Arc::clone(&topology), Arc::new(tables)).unwrap();
        conformance(&routing(by_hop));
        let by_level = routing(by_level);
        crate::dependency::tests::is_free(&by_level);
        assert_eq!((by_level.classes(), by_level.is_plain()), (2, false));
        let classes = |source, node| by_level.path(NodeId(source), NodeId(node)).map(|(_, hop)| hop.class);
        assert!(classes(3, 2).eq([0, 0, 1, 1, 1]) && classes(1, 4).eq([0; 4]));
        let of_one = Dependencies::of(&routing(one));
        assert!(matches!(of_one.verdict(), Verdict::Cyclic(_)), "{of_one:?}");
    }

    /// What goes another way by way of another, or changes its class on the way, no table can say.
    #[test]
    fn not_every_routing_has_tables() {
        let dragonfly = TopologySettings::Dragonfly(DragonflyShape {
            groups: 3,
            switches_per_group: 2,
            nodes_per_switch: 1,
            global_ports: 1,
            arrangement: Arrangement::PalmTree,
        });
        assert_eq!(ForwardingTables::of(&routing(RoutingKind::Valiant, &dragonfly)), None);
        let torus = TopologySettings::Torus { dimensions: vec![8, 8], nodes_per_switch: 1 };
        assert_eq!(ForwardingTables::of(&routing(RoutingKind::DimensionOrder, &torus)), None);
        let tree = TopologySettings::FatTree { ports: 4, levels: 3 };
        let (own, up_down) = (routing(RoutingKind::DModK, &tree), routing(RoutingKind::UpDown, &tree));
        assert!(ForwardingTables::of(&own).is_some() && ForwardingTables::of(&up_down).is_some());
    }

    #[test]
    fn tables_that_lead_nowhere_are_told_once() {
        let settings = TopologySettings::Mesh { dimensions: vec![3], nodes_per_switch: 1 };
        let minimal = routing(RoutingKind::Minimal, &settings);
        let (topology, right) = (minimal.topology(), ForwardingTables::of(&minimal).unwrap());
        assert_eq!(right.check(topology), Ok(3));
        let towards = |here, node| right.port(SwitchId(here), NodeId(node)).unwrap();
        let wrong = |here, node, port| {
            let mut tables = right.clone();
            tables.set(SwitchId(here), NodeId(node), port, None);
            tables.check(topology).unwrap_err()
        };
        let (at, node) = (SwitchId(1), NodeId(2));
        assert_eq!(wrong(1, 2, PortId(60)), [TableFault::NoLink { at, node }]);
        assert_eq!(wrong(1, 2, towards(1, 1)), [TableFault::OtherNode { at, node, other: NodeId(1) }]);
        let looped = wrong(1, 2, towards(1, 0));
        assert_eq!(looped, [TableFault::Loop { node, switches: vec![SwitchId(0), SwitchId(1)] }]);
        let mut empty = ForwardingTables::new(3, 3);
        empty.set(SwitchId(0), NodeId(0), towards(0, 0), None);
        let faults = empty.check(topology).unwrap_err();
        assert_eq!(faults.len(), 8, "each switch lacks two or three nodes: {faults:?}");
        assert!(
            faults.contains(&TableFault::NoEntry { at, node: NodeId(0), source: NodeId(1) }),
            "{faults:?}"
        );
    }
}
