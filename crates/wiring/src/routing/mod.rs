//! Routing: a pure relation from (where a packet is, how it came, what its header says) to the hops that it may take next.
//!
//! A [`Relation`] can be walked by the checker, hop by hop, without a simulation. Where it names several candidates a
//! [`Selection`] chooses among them, in the switches. Sources of a source-routed network walk it once per packet, by its first
//! candidates, and put the hops into the header; a [`Route`] is that header field.

mod adaptive;
mod around;
mod balance;
mod d_mod_k;
mod destination_tag;
mod dimension_order;
mod dragonfly;
mod error;
mod header;
mod hyperx;
mod layered;
mod left;
mod levels;
mod multi_path;
mod route;
pub mod rtb;
mod s_mod_k;
pub mod select;
mod source_route;
mod tables;
mod ugal;
mod up_down;
mod valiant;
mod ways;
mod xgft;

pub use balance::load_of_shortest;
pub use error::RoutingError;
pub use header::Header;
pub(crate) use left::Left;
pub use levels::{Classes, LEVELS, ServiceLevels};
pub use route::Route;
pub use select::Selection;
pub use tables::{ForwardingTables, TableFault};
pub(crate) use up_down::{spanning_tree, tree_around};

use crate::NodeId;
use crate::topology::{End, Shape, Topology, TopologySettings};
use crate::{PortId, SwitchId};
use rtb::Oblivious;
pub use rtb::{Down, Hole};
use std::ops::Range;
use std::sync::Arc;

/// How a packet has come to a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arrival {
    /// The port it came in by.
    pub port: PortId,
    /// The class of the virtual channel it came in on.
    pub class: u8,
}

/// Where it goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hop {
    /// The port it leaves by.
    pub port: PortId,
    /// The class of virtual channel it takes on that link. The `V` virtual channels of a link are divided into
    /// classes of equal size; within its class a packet keeps its *lane*.
    pub class: u8,
}

/// A hop that a packet may take, and its header after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The hop.
    pub hop: Hop,
    /// The header on the link.
    pub header: Header,
}

/// A routing algorithm on one topology.
pub trait Relation: Send + Sync + std::fmt::Debug {
    /// Classes of virtual channels that it needs to be free of deadlock.
    fn classes(&self) -> u32 {
        1
    }

    /// The header of a packet at its source; `draw` is a random number, for those that choose an intermediate switch.
    fn start(&self, source: NodeId, destination: NodeId, draw: u64) -> Header {
        let _ = (source, draw);
        Header::to(destination)
    }

    /// Every header that [`start`](Relation::start) can give.
    fn starts(&self, source: NodeId, destination: NodeId) -> Vec<Header> {
        vec![self.start(source, destination, 0)]
    }

    /// No less than the switches that any way crosses, where the relation knows better than its topology.
    fn hops_max(&self) -> Option<u32> {
        None
    }

    /// Whether headers say no more than the destination, on the whole way.
    fn is_plain(&self) -> bool {
        true
    }

    /// Whether what comes from two nodes of a switch may take different hops to one destination.
    fn tells_nodes_apart(&self) -> bool {
        false
    }

    /// Destinations, this one among them and numbered one after the other, for which packets that have come to `here` by one
    /// channel have the same candidates. Of a relation with more than one, headers are plain and all hops escapes, and a
    /// switch tells its own nodes apart from all others.
    fn alike(&self, here: SwitchId, destination: NodeId) -> Range<u32> {
        let _ = here;
        destination.0..destination.0 + 1
    }

    /// The first candidate of a packet at switch `here`. The last hop is the destination's own port.
    fn next(&self, here: SwitchId, arrival: Arrival, header: Header) -> Candidate;

    /// Tells `take` all candidates, the first one first, each hop once.
    fn candidates(&self, here: SwitchId, arrival: Arrival, header: Header, take: &mut dyn FnMut(Candidate)) {
        take(self.next(here, arrival, header));
    }

    /// Whether packets have several candidates somewhere.
    fn has_choice(&self) -> bool {
        false
    }

    /// Whether `hop` from `here` is an escape: packets of every state have such a candidate, and only these must be free of
    /// cyclic dependence (Duato, *IEEE Trans. Parallel and Distributed Systems* 4(12), 1993).
    fn is_escape(&self, here: SwitchId, hop: Hop) -> bool {
        let _ = (here, hop);
        true
    }

    /// Whether its first candidates are not what packets take where switches select: then nothing follows from them.
    fn is_adaptive(&self) -> bool {
        false
    }

    /// Whether its candidates are whole ways: from the one that a packet takes to the next switch with several, if there is
    /// one, or to its destination, there is one candidate at each switch; and whoever chooses need know no loads but its own.
    /// So a source route can hold them.
    fn names_ways(&self) -> bool {
        false
    }

    /// How much what waits for a candidate counts, where a switch selects by load.
    fn weight(&self, candidate: Candidate) -> u32 {
        let _ = candidate;
        1
    }

    /// Ports of every switch whose loads it tells the switches that its other ports lead to.
    fn told_ports(&self) -> Range<u32> {
        0..0
    }

    /// The way from `source` by first candidates, where there is a faster way to it than hop by hop.
    fn way(&self, source: NodeId, destination: NodeId) -> Option<Route> {
        let _ = (source, destination);
        None
    }
}

/// Which routing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutingKind {
    /// Destination modulo k on the way up a fat tree (OQ-D13); the way down is unique.
    DModK,
    /// One dimension after the other, from 0, on a mesh, a torus or a HyperX; with dateline classes on a torus.
    DimensionOrder,
    /// The same with one class on a torus too, where packets can then wait for each other for ever.
    DimensionOrderWithoutDateline,
    /// Shortest path of up links followed by down links in a breadth-first order, on any topology whose links lead both ways.
    UpDown,
    /// Shortest paths: on a dragonfly with a class of virtual channels before and after the global link, on any other topology
    /// with as many layers of virtual channels as its paths need.
    Minimal,
    /// The same with one class, where packets can then wait for each other for ever.
    MinimalInOneClass,
    /// One of all shortest paths, drawn for each packet or each pair of nodes.
    MultiPath,
    /// Source modulo k on the way up a fat tree.
    SModK,
    /// Shortest paths as switches select, with an escape layer.
    Adaptive,
    /// Minimally or by way of an intermediate, as the switch of the source selects (UGAL-L).
    Ugal,
    /// The same in a dragonfly whose switches know the loads of the others in their group (UGAL-G).
    UgalG,
    /// The same as UGAL-L in a dragonfly, where the switch after a first local hop may change its mind (PAR).
    Par,
    /// Valiant's: minimally by way of a group of a dragonfly, or a switch of a HyperX, a mesh or a torus, that is drawn for
    /// each packet.
    Valiant,
    /// The only way through a unidirectional multistage network: a digit of the destination for each stage.
    DestinationTag,
    /// Routing-table buffers, which begin with the port that goes by the input.
    Rtb,
    /// The same by the destination.
    RtbByDestination,
    /// Forwarding tables from outside: see [`Routing::by_tables`].
    Tables,
}

/// The most pairs of a switch and a node for which `kind` has tables on what `settings` describe; `None` if it has none there.
/// An entry takes two bytes, and laying a path into a layer more time than finding it.
#[must_use]
pub fn table_entries_max(kind: RoutingKind, settings: &TopologySettings) -> Option<u64> {
    let is_dragonfly = matches!(settings, TopologySettings::Dragonfly(_));
    match kind {
        RoutingKind::UpDown | RoutingKind::MultiPath | RoutingKind::Tables | RoutingKind::Adaptive => {
            Some(TABLE_ENTRIES_MAX)
        }
        RoutingKind::Minimal | RoutingKind::MinimalInOneClass if is_dragonfly => None,
        RoutingKind::MinimalInOneClass => Some(TABLE_ENTRIES_MAX),
        RoutingKind::Minimal => Some(LAYERED_MAX),
        _ => None,
    }
}

/// Classes of virtual channels that `kind` needs on what `settings` describe; `None` where only building it tells.
#[must_use]
pub fn classes(kind: RoutingKind, settings: &TopologySettings) -> Option<u32> {
    match (kind, settings) {
        (RoutingKind::DimensionOrder, TopologySettings::Torus { .. }) => Some(2),
        (RoutingKind::Minimal, TopologySettings::Dragonfly(_)) => Some(2),
        (RoutingKind::Minimal | RoutingKind::MultiPath | RoutingKind::Tables, _) => None,
        (RoutingKind::Valiant | RoutingKind::Ugal | RoutingKind::UgalG, TopologySettings::Dragonfly(_)) => {
            Some(3)
        }
        (RoutingKind::Par, _) | (RoutingKind::Valiant, TopologySettings::Torus { .. }) => Some(4),
        (RoutingKind::Valiant | RoutingKind::Ugal | RoutingKind::Adaptive, _) => Some(2),
        _ => Some(1),
    }
}

/// Pairs of a switch and a node in the largest tables.
const TABLE_ENTRIES_MAX: u64 = 1 << 30;
/// The same where paths are laid into layers.
const LAYERED_MAX: u64 = 1 << 26;

/// The relation of `kind` on `topology`.
fn relation(kind: RoutingKind, topology: &Topology) -> Result<Arc<dyn Relation>, RoutingError> {
    let has_classes = kind != RoutingKind::MinimalInOneClass;
    let pairs = u64::from(topology.nodes()) * u64::from(topology.switches());
    Ok(match (kind, topology.shape()) {
        (RoutingKind::DModK, Shape::Tree(shape)) => Arc::new(d_mod_k::DModK::new(shape, topology)),
        (RoutingKind::DModK, Shape::Xgft(shape)) => Arc::new(xgft::Xgft::new(shape)),
        (RoutingKind::DModK, _) => return Err(RoutingError::NotATree),
        (RoutingKind::DimensionOrder, Shape::Grid(shape)) => {
            Arc::new(dimension_order::DimensionOrder::new(shape))
        }
        (RoutingKind::DimensionOrderWithoutDateline, Shape::Grid(shape)) => {
            Arc::new(dimension_order::DimensionOrder::without_dateline(shape))
        }
        (RoutingKind::DimensionOrder, Shape::HyperX(shape)) => Arc::new(hyperx::HyperX::new(shape)),
        (RoutingKind::DimensionOrder | RoutingKind::DimensionOrderWithoutDateline, _) => {
            return Err(RoutingError::NotAGrid);
        }
        (RoutingKind::DestinationTag, Shape::Stages(shape)) => {
            Arc::new(destination_tag::DestinationTag::new(shape))
        }
        (RoutingKind::DestinationTag, _) => return Err(RoutingError::NotStages),
        (RoutingKind::Rtb | RoutingKind::RtbByDestination, Shape::ThTree(tree)) => {
            if rtb::items_of_all(tree) > rtb::ITEMS_MAX {
                return Err(RoutingError::TooLarge);
            }
            Arc::new(rtb::Rtb::new(tree, topology, oblivious(kind), &Down::default()).0)
        }
        (RoutingKind::Rtb | RoutingKind::RtbByDestination, _) => return Err(RoutingError::NotAThTree),
        (RoutingKind::Minimal | RoutingKind::MinimalInOneClass, Shape::Dragonfly(shape)) => {
            Arc::new(dragonfly::Dragonfly::new(shape, has_classes))
        }
        (RoutingKind::Valiant | RoutingKind::Ugal | RoutingKind::UgalG | RoutingKind::Par, _) => {
            return by_intermediates(kind, topology);
        }
        (RoutingKind::SModK, Shape::Tree(shape)) => Arc::new(s_mod_k::SModK::new(shape, topology)),
        (RoutingKind::SModK, Shape::Xgft(shape)) => Arc::new(s_mod_k::SModKXgft::new(shape)),
        (RoutingKind::SModK, _) => return Err(RoutingError::NotAFullTree),
        (RoutingKind::Tables, _) => return Err(RoutingError::Tables),
        _ if topology.is_one_way() => return Err(RoutingError::OneWay),
        (RoutingKind::Minimal, _) if pairs > LAYERED_MAX => return Err(RoutingError::TooLarge),
        _ if pairs > TABLE_ENTRIES_MAX => return Err(RoutingError::TooLarge),
        (RoutingKind::UpDown, _) => Arc::new(up_down::UpDown::new(topology)),
        (RoutingKind::Adaptive, _) => Arc::new(adaptive::Adaptive::new(topology)),
        (RoutingKind::MultiPath, _) => {
            let relation = multi_path::MultiPath::new(topology, Route::HOPS);
            Arc::new(relation.ok_or(RoutingError::TooLong)?)
        }
        (RoutingKind::Minimal | RoutingKind::MinimalInOneClass, _) => {
            Arc::new(layered::Layered::new(topology, has_classes))
        }
    })
}

/// The same of a routing by intermediates.
fn by_intermediates(kind: RoutingKind, topology: &Topology) -> Result<Arc<dyn Relation>, RoutingError> {
    use ugal::Ugal;
    use valiant::{ValiantDragonfly, ValiantGrid, ValiantHyperX};
    let relation: Arc<dyn Relation> = match (kind, topology.shape()) {
        (RoutingKind::Par, Shape::Dragonfly(shape)) => {
            Arc::new(Ugal::local(ValiantDragonfly::progressive(shape)))
        }
        (RoutingKind::UgalG, Shape::Dragonfly(shape)) => Arc::new(Ugal::global(ValiantDragonfly::new(shape))),
        (RoutingKind::Par | RoutingKind::UgalG, _) => return Err(RoutingError::NotADragonfly),
        (RoutingKind::Ugal, Shape::Dragonfly(shape)) => Arc::new(Ugal::local(ValiantDragonfly::new(shape))),
        (RoutingKind::Ugal, Shape::HyperX(shape)) => Arc::new(Ugal::local(ValiantHyperX::new(shape))),
        (_, Shape::Dragonfly(shape)) => Arc::new(ValiantDragonfly::new(shape)),
        (RoutingKind::Ugal, _) => return Err(RoutingError::NoAlternatives),
        (_, Shape::HyperX(shape)) => Arc::new(ValiantHyperX::new(shape)),
        // However long: the header of a packet on its way says no more than the intermediate, which routes hold.
        (_, Shape::Grid(shape)) => return Ok(Arc::new(ValiantGrid::new(shape))),
        _ => return Err(RoutingError::NoIntermediates),
    };
    if relation.hops_max().is_some_and(|hops| hops > Route::HOPS) {
        return Err(RoutingError::TooLong);
    }
    Ok(relation)
}

/// How routing-table buffers choose where switches do not.
fn oblivious(kind: RoutingKind) -> Oblivious {
    if kind == RoutingKind::RtbByDestination { Oblivious::ByDestination } else { Oblivious::ByInput }
}

/// By switch and port: whether packets of nodes come in there.
fn from_nodes(topology: &Topology) -> Vec<Vec<bool>> {
    let of = |here: SwitchId| {
        let ports = (0..topology.ports(here)).map(PortId);
        ports.map(|port| matches!(topology.feeder(here, port), Some((_, End::Node(_))))).collect()
    };
    (0..topology.switches()).map(SwitchId).map(of).collect()
}

/// A routing on its topology.
#[derive(Clone, Debug)]
pub struct Routing {
    kind: RoutingKind,
    topology: Arc<Topology>,
    relation: Arc<dyn Relation>,
    selection: Selection,
    is_plain: bool,
    /// By source and destination, in a small network whose hops a header field holds.
    ways: Arc<[Route]>,
    /// What it leads around.
    down: Option<Arc<Down>>,
}

/// Pairs of nodes up to which their ways are kept: half a MiB.
const PAIRS: u64 = 1 << 16;

impl Routing {
    /// Prepares `kind` on `topology`.
    ///
    /// # Errors
    /// If the two do not go together.
    pub fn new(kind: RoutingKind, topology: Arc<Topology>) -> Result<Self, RoutingError> {
        let relation = relation(kind, &topology)?;
        Ok(Self::of(kind, topology, relation))
    }

    /// The same with forwarding tables.
    ///
    /// # Errors
    /// If packets do not reach their destinations.
    pub fn by_tables(topology: Arc<Topology>, tables: Arc<ForwardingTables>) -> Result<Self, RoutingError> {
        let relation = tables::ByTables::new(&topology, tables).map_err(|_| RoutingError::Tables)?;
        Ok(Self::of(RoutingKind::Tables, topology, Arc::new(relation)))
    }

    /// The same with what a manager writes when something is `down`: the tables of routing-table buffers, where d-mod-k and
    /// s-mod-k lead around it in a tree, or up*/down* tables of what is left; and the items, or nodes, that are left without a
    /// port.
    ///
    /// # Errors
    /// If the routing has no such tables.
    pub fn around(&self, down: &Down) -> Result<(Self, Vec<Hole>), RoutingError> {
        let topology = &self.topology;
        let (relation, holes): (Arc<dyn Relation>, _) = match (self.kind, topology.shape()) {
            (RoutingKind::Rtb | RoutingKind::RtbByDestination, Shape::ThTree(tree)) => {
                let (tables, holes) = rtb::Rtb::new(tree, topology, oblivious(self.kind), down);
                (Arc::new(tables), holes)
            }
            (RoutingKind::DModK | RoutingKind::SModK, Shape::Tree(_) | Shape::Xgft(_)) => {
                let all = relation(RoutingKind::DModK, topology)?;
                let own = relation(self.kind, topology)?;
                let (around, holes) = around::Around::new(topology, own, all, down);
                (Arc::new(around), holes)
            }
            // From one switch there is one way to each node.
            (RoutingKind::UpDown, _) if topology.switches() > 1 => {
                let (around, holes) = up_down::UpDown::around(topology, down);
                (Arc::new(around), holes)
            }
            _ => return Err(RoutingError::NoTables),
        };
        // Ways are those of a fabric in which nothing is down.
        let (kind, selection) = (self.kind, self.selection);
        let (topology, is_plain) = (Arc::clone(topology), relation.is_plain());
        let down = Some(Arc::new(down.clone()));
        Ok((Routing { kind, topology, relation, selection, is_plain, ways: Arc::new([]), down }, holes))
    }

    /// What it leads around, if it is one that a manager has [written](Self::around).
    #[must_use]
    pub fn down(&self) -> Option<&Down> {
        self.down.as_deref()
    }

    fn of(kind: RoutingKind, topology: Arc<Topology>, relation: Arc<dyn Relation>) -> Self {
        let selection = Selection::First;
        let is_plain = relation.is_plain();
        let (ways, down): (Arc<[Route]>, _) = (Arc::new([]), None);
        let mut routing = Routing { kind, topology, relation, selection, is_plain, ways, down };
        let nodes = routing.topology.nodes();
        let is_small = u64::from(nodes) * u64::from(nodes) <= PAIRS;
        if is_small && routing.is_plain() && Route::holds(routing.topology.ports_max(), routing.classes()) {
            let pairs =
                (0..nodes).flat_map(|source| (0..nodes).map(move |node| (NodeId(source), NodeId(node))));
            routing.ways = pairs.map(|(source, node)| routing.walk(source, node)).collect();
        }
        routing
    }

    /// Which routing it is.
    #[must_use]
    pub fn kind(&self) -> RoutingKind {
        self.kind
    }

    /// The topology it routes on.
    #[must_use]
    pub fn topology(&self) -> &Arc<Topology> {
        &self.topology
    }

    /// Classes of virtual channels it needs.
    #[must_use]
    pub fn classes(&self) -> u32 {
        self.relation.classes()
    }

    /// The same with switches that select so.
    #[must_use]
    pub fn with_selection(self, selection: Selection) -> Self {
        Routing { selection, ..self }
    }

    /// How switches select among candidates.
    #[inline]
    #[must_use]
    pub fn selection(&self) -> Selection {
        self.selection
    }

    /// The first candidate of a packet for `destination`, whose header says no more.
    #[inline]
    #[must_use]
    pub fn next(&self, here: SwitchId, arrival: Arrival, destination: NodeId) -> Hop {
        debug_assert!(self.relation.is_plain(), "{self:?} needs the header of the packet");
        self.relation.next(here, arrival, Header::to(destination)).hop
    }

    /// Tells `take` the candidates of a packet with this header among which switches select, the first one first.
    #[inline]
    pub fn candidates(
        &self,
        here: SwitchId,
        arrival: Arrival,
        header: Header,
        mut take: impl FnMut(Candidate),
    ) {
        match self.selection {
            Selection::First => take(self.relation.next(here, arrival, header)),
            Selection::Hashed | Selection::Random | Selection::LeastLoaded => {
                self.relation.candidates(here, arrival, header, &mut take);
            }
        }
    }

    /// Tells `take` the first candidate of a packet with this header.
    pub(crate) fn candidates_of_first(
        &self,
        here: SwitchId,
        arrival: Arrival,
        header: Header,
        take: impl FnOnce(Candidate),
    ) {
        take(self.relation.next(here, arrival, header));
    }

    /// The first candidate of a packet with this header.
    #[must_use]
    pub fn first(&self, here: SwitchId, arrival: Arrival, header: Header) -> Candidate {
        self.relation.next(here, arrival, header)
    }

    /// See [`Relation::start`].
    #[must_use]
    pub fn header(&self, source: NodeId, destination: NodeId, draw: u32) -> Header {
        self.relation.start(source, destination, draw.into())
    }

    /// How many headers packets between two nodes can start with, at the most.
    #[must_use]
    pub fn starts_max(&self) -> u64 {
        let last = NodeId(self.topology.nodes() - 1);
        self.starts(NodeId(0), last).len() as u64
    }

    /// See [`Relation::starts`].
    pub(crate) fn starts(&self, source: NodeId, destination: NodeId) -> Vec<Header> {
        self.relation.starts(source, destination)
    }

    /// See [`Relation::is_plain`].
    #[inline]
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// See [`Relation::tells_nodes_apart`].
    #[must_use]
    pub fn tells_nodes_apart(&self) -> bool {
        self.relation.tells_nodes_apart()
    }

    /// See [`Relation::alike`].
    pub(crate) fn alike(&self, here: SwitchId, destination: NodeId) -> Range<u32> {
        self.relation.alike(here, destination)
    }

    /// See [`Relation::is_adaptive`].
    #[must_use]
    pub fn is_adaptive(&self) -> bool {
        self.relation.is_adaptive()
    }

    /// Whether packets go by what switches select.
    #[must_use]
    pub fn has_choice(&self) -> bool {
        self.selection != Selection::First && self.relation.has_choice()
    }

    /// See [`Relation::weight`].
    #[must_use]
    pub fn weight(&self, candidate: Candidate) -> u32 {
        self.relation.weight(candidate)
    }

    /// See [`Relation::told_ports`].
    #[must_use]
    pub fn told_ports(&self) -> Range<u32> {
        self.relation.told_ports()
    }

    /// The [told port](Relation::told_ports) by which a packet goes on that takes `candidate` from `here`, by a port that is
    /// none itself: what waits for it counts with what waits for the candidate, where a switch selects by load.
    #[must_use]
    pub fn beyond(&self, here: SwitchId, candidate: Candidate) -> Option<PortId> {
        let told = self.told_ports();
        if told.is_empty() || told.contains(&candidate.hop.port.0) {
            return None;
        }
        let (there, arrival) = self.follow(here, candidate.hop)?;
        Some(self.first(there, arrival, candidate.header).hop.port).filter(|port| told.contains(&port.0))
    }

    /// See [`Relation::is_escape`].
    #[must_use]
    pub fn is_escape(&self, here: SwitchId, hop: Hop) -> bool {
        self.relation.is_escape(here, hop)
    }

    /// How a packet of `source` arrives at its first switch.
    #[must_use]
    pub fn start(&self, source: NodeId) -> (SwitchId, Arrival) {
        let (switch, port) = self.topology.home(source);
        (switch, Arrival { port, class: 0 })
    }

    /// The switch and arrival after `hop` from `here`; `None` when the hop leads to a node.
    #[must_use]
    pub fn follow(&self, here: SwitchId, hop: Hop) -> Option<(SwitchId, Arrival)> {
        match self.topology.wire(here, hop.port) {
            Some((_, End::Switch(next, port))) => Some((next, Arrival { port, class: hop.class })),
            Some((_, End::Node(_))) | None => None,
        }
    }

    /// The hops of a packet from `source` to `destination`, by first candidates, or where switches hash, as they do.
    pub fn path(&self, source: NodeId, destination: NodeId) -> impl Iterator<Item = (SwitchId, Hop)> {
        self.path_of(source, self.relation.start(source, destination, 0))
    }

    /// The same of every header that a packet can start with, each as likely as the others.
    pub fn paths(
        &self,
        source: NodeId,
        destination: NodeId,
    ) -> impl ExactSizeIterator<Item = impl Iterator<Item = (SwitchId, Hop)>> {
        self.starts(source, destination).into_iter().map(move |header| self.path_of(source, header))
    }

    fn path_of(&self, source: NodeId, mut header: Header) -> impl Iterator<Item = (SwitchId, Hop)> {
        let mut at = Some(self.start(source));
        std::iter::from_fn(move || {
            let (here, arrival) = at?;
            let next = match self.selection {
                Selection::Hashed => self.hashed(source, here, arrival, header),
                _ => self.relation.next(here, arrival, header),
            };
            (at, header) = (self.follow(here, next.hop), next.header);
            Some((here, next.hop))
        })
    }

    /// No less than the hops of any packet: switches crossed between the two most distant nodes, where the relation or the
    /// topology tells, or its number of switches.
    #[must_use]
    pub fn hops_max(&self) -> u32 {
        self.relation.hops_max().unwrap_or_else(|| self.topology.hops_max())
    }
}

#[cfg(test)]
pub(crate) mod tests;
