//! One case: a fabric, what its nodes send and when they arrive at barriers.

use super::tables::routing;
use crate::script::{ASKS, Arrivals, Script, Scripted, TESTS};
use flitway_engine::Cycle;
use flitway_fabric::barrier::{BarrierSettings, Faults};
use flitway_fabric::faults::{Fault, FirstLanes};
use flitway_fabric::link::lanes::LaneStates;
use flitway_fabric::{
    ANY_PAYLOAD, Barriers, Change, ChangeKind, Endpoint, Fabric, LinkErrors, NicPorts, Outgoing, Packet,
    Rate, Rates, Up,
};
use flitway_nic::{NicModel, Place};
use flitway_switch::{AnyFabric, SwitchSettings};
use flitway_test_kit::test_nic::{TestNic, TestNicSettings};
use flitway_wiring::multicast::{Ascent, GroupSettings};
use flitway_wiring::routing::{Down, Routing, RoutingKind};
use flitway_wiring::topology::{End, LinkId, Topology, TopologySettings};
use flitway_wiring::{Groups, NodeId, NodeSet, RailId, SwitchId};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A case: everything that decides what happens, and how to look at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The topology of a rail.
    pub topology: TopologySettings,
    /// The routing on it.
    pub routing: RoutingKind,
    /// Rails.
    pub rails: u32,
    /// Cycles of each link of a rail.
    pub latencies: Vec<u32>,
    /// The channels of a rail that do not carry a flit in every cycle.
    pub rates: Vec<Slow>,
    /// What becomes of them, in any order.
    pub changes: Vec<Changed>,
    /// The switches.
    pub chip: SwitchSettings,
    /// The NICs of nodes, if their ports are bounded.
    pub test_nics: Option<TestNicSettings>,
    /// Whether those are answering, too: NICs hear of the answer to each packet.
    pub answering: bool,
    /// How packets for groups climb.
    pub ascent: Ascent,
    /// The groups.
    pub groups: Vec<GroupSettings>,
    /// The sets of nodes that packets are for, by the number that their destination gives.
    pub sets: Vec<Vec<NodeId>>,
    /// The barrier groups.
    pub barriers: Vec<BarrierSettings>,
    /// What happens to their packets.
    pub faults: Faults,
    /// What links do to flits.
    pub errors: LinkErrors,
    /// What breaks.
    pub broken: Vec<Fault>,
    /// Lanes that do not all work at the highest rate from the start.
    pub first_lanes: Vec<FirstLane>,
    /// What a manager writes, by date.
    pub tables: Vec<Written>,
    /// When each node arrives at which barriers.
    pub arrivals: Vec<Vec<Arrivals>>,
    /// Whether the fast engine is promised that packets are as long as they are.
    pub promises: bool,
    /// Threads of the fast engine.
    pub threads: u32,
    /// Cycles in which the fast engine is stopped, settled and audited, before it goes on; in order.
    pub pauses: Vec<Cycle>,
    /// Where to give up, delivered or not.
    pub limit: Cycle,
    /// Cycles to go on after the last delivery.
    pub margin: u64,
    /// What each node sends, by time of creation.
    pub scripts: Vec<Vec<Packet>>,
}

/// A channel that carries so many flits in so many cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slow {
    /// The end that sends on it.
    pub sender: End,
    /// Flits.
    pub flits: u32,
    /// Cycles.
    pub cycles: u32,
}

/// How the lanes of a channel work from the start, in all rails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstLane {
    /// The end that it comes to.
    pub end: End,
    /// Its lanes.
    pub states: LaneStates,
}

/// Tables around what is down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The first cycle in which they count.
    pub at: Cycle,
    /// Switches that they avoid.
    pub switches: Vec<SwitchId>,
    /// Links, by number.
    pub links: Vec<u32>,
}

/// A channel of one rail that carries so many flits in so many cycles from a cycle on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The first cycle.
    pub at: Cycle,
    /// In which rail.
    pub rail: RailId,
    /// The end that sends on it.
    pub sender: End,
    /// Flits; 0 while it is stopped.
    pub flits: u32,
    /// Cycles.
    pub cycles: u32,
}

impl Case {
    /// A case in which nothing is sent: one rail, links of one cycle, one thread.
    ///
    /// # Panics
    /// If the topology cannot be built.
    #[must_use]
    pub fn plain(topology: TopologySettings, chip: SwitchSettings) -> Self {
        let built = Topology::build(&topology).expect("the topology of a case can be built");
        let nodes = built.nodes() as usize;
        Case {
            routing: if built.is_one_way() { RoutingKind::DestinationTag } else { RoutingKind::UpDown },
            topology,
            rails: 1,
            latencies: vec![1; built.links().len()],
            rates: Vec::new(),
            changes: Vec::new(),
            chip,
            test_nics: None,
            answering: false,
            ascent: Ascent::Table,
            groups: Vec::new(),
            sets: Vec::new(),
            barriers: Vec::new(),
            faults: Faults::default(),
            errors: LinkErrors::default(),
            broken: Vec::new(),
            first_lanes: Vec::new(),
            tables: Vec::new(),
            arrivals: vec![Vec::new(); nodes],
            promises: false,
            threads: 1,
            pauses: Vec::new(),
            limit: Cycle(10_000),
            margin: 50,
            scripts: vec![Vec::new(); nodes],
        }
    }

    /// The fabric, unless its parts do not go together (when a case has been cut down).
    #[must_use]
    pub fn fabric(&self) -> Option<AnyFabric> {
        let topology = Arc::new(Topology::build(&self.topology).ok()?);
        let chip = self.chip.chip();
        let fits = topology.nodes() as usize == self.scripts.len()
            && self.arrivals.len() == self.scripts.len()
            && topology.links().len() == self.latencies.len()
            && topology.ports_max() <= chip.ports()
            && (self.errors.are_none() || chip.offers().errors)
            && (!self.answering || self.test_nics.is_some() && chip.offers().answers.is_some())
            && (self.sets.is_empty() || chip.offers().sets.is_some())
            && (self.tables.is_empty() || chip.offers().faults)
            && (self.tables.is_empty() || chip.training().is_some() || !self.broken.is_empty())
            && (self.broken.is_empty() || chip.offers().faults)
            && (self.broken.is_empty() || chip.training().is_none() || self.rates.is_empty())
            && (self.first_lanes.is_empty() || chip.training().is_some());
        let routing = routing(self.routing, topology).ok().filter(|_| fits)?;
        let groups = match &self.groups[..] {
            [] => Groups::none(),
            groups => Groups::new(&routing, self.ascent, groups).ok()?,
        };
        let barriers = Barriers::new(&routing, &self.barriers).ok()?.with_faults(self.faults.clone());
        let mut rates = self.rates()?;
        let states = self.first_lanes.iter().map(|it| (it.end, it.states)).collect();
        let first = FirstLanes { states };
        if let Some(training) = chip.training() {
            first.set(routing.topology(), &training.lanes, &mut rates).then_some(())?;
        }
        let bare = Fabric {
            routing,
            rails: self.rails,
            latencies: self.latencies.clone(),
            rates,
            errors: self.errors.clone(),
            faults: flitway_fabric::Faults::new(self.broken.clone()).after(first),
            groups,
            barriers,
            payloads: if self.promises { self.payloads() } else { ANY_PAYLOAD },
            nic_ports: match (self.test_nics, self.answering) {
                (None, _) => NicPorts::Ideal,
                (Some(_), false) => NicPorts::Bounded,
                (Some(_), true) => NicPorts::Answering,
            },
            chip: (),
        };
        chip.vcs().is_multiple_of(bare.routing.classes()).then(|| self.chip.clone().fabric(bare))
    }

    fn rates(&self) -> Option<Rates> {
        let mut rates = Rates::full();
        for slow in &self.rates {
            rates.set(slow.sender, Rate::new(slow.flits, slow.cycles)?);
        }
        Some(rates)
    }

    /// What changes during the run.
    #[must_use]
    pub fn changes(&self) -> Vec<Change> {
        let change = |changed: &Changed| {
            let Changed { at, rail, sender, flits, cycles } = *changed;
            Change { at, rail, kind: ChangeKind::Rate { sender, rate: Rate::new(flits, cycles) } }
        };
        self.changes.iter().map(change).collect()
    }

    /// The routing of the tables that are written, each with its date.
    #[must_use]
    pub fn written(&self, routing: &Routing) -> Vec<(Cycle, Routing)> {
        let around = |written: &Written| {
            let links = written.links.iter().copied().map(LinkId).collect();
            let down = Down { switches: written.switches.clone(), links };
            Some((written.at, routing.around(&down).ok()?.0))
        };
        self.tables.iter().filter_map(around).collect()
    }

    /// Bytes of the packets. Replies are as long as what asks for them, answers of NICs a byte.
    fn payloads(&self) -> RangeInclusive<u32> {
        let payloads = || self.scripts.iter().flatten().map(|packet| u32::from(packet.payload));
        let least = if self.test_nics.is_some() { 1 } else { u32::MAX };
        payloads().min().unwrap_or(0).min(least)..=payloads().max().unwrap_or(0)
    }

    /// Packets of all nodes.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.scripts.iter().map(Vec::len).sum()
    }

    /// Whether a packet asks for a reply, or is a test.
    #[must_use]
    pub fn reacts(&self) -> bool {
        self.scripts.iter().flatten().any(|packet| packet.flow.tag & (ASKS | TESTS) != 0)
    }

    /// The NICs of nodes, if their ports are bounded.
    #[must_use]
    pub fn nics(&self) -> Option<Vec<TestNic<Deaf>>> {
        let place = |node| Place { node, rails: self.rails, seed: 0 };
        let nic = |(node, script)| Some(self.test_nics?.nic(place(node), Deaf(script)));
        (0..).map(NodeId).zip(self.endpoints()).map(nic).collect()
    }

    /// The endpoints, or what is above the NICs.
    #[must_use]
    pub fn endpoints(&self) -> Vec<Script> {
        let sets: Vec<_> = self.sets.iter().map(|set| Arc::new(NodeSet::new(set.iter().copied()))).collect();
        let nodes = self.scripts.iter().zip(&self.arrivals);
        nodes.map(|(packets, arrivals)| Script::new(packets, &sets, arrivals)).collect()
    }
}

/// A script that is told of no deliveries: it does not reply.
#[derive(Clone, Debug)]
pub struct Deaf(pub(super) Script);

impl Endpoint for Deaf {
    const REACTS: bool = false;

    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        self.0.wake(now, out)
    }

    fn hear(&mut self, now: Cycle, up: Up<'_>, out: &mut Outgoing) -> Option<Cycle> {
        self.0.hear(now, up, out)
    }
}

impl Scripted for Deaf {
    fn is_done(&self) -> bool {
        self.0.is_done()
    }
}
