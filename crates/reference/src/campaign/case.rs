//! One case: a fabric, what its nodes send and when they arrive at barriers.

use crate::script::{ASKS, Arrivals, Script};
use flitway_engine::Cycle;
use flitway_fabric::barrier::{BarrierSettings, Faults};
use flitway_fabric::{ANY_PAYLOAD, Barriers, Endpoint, Fabric, NicPorts, Outgoing, Packet, Rates, Up};
use flitway_switch::hpp::HppSettings;
use flitway_switch::sp::SpSettings;
use flitway_switch::{AnyFabric, SwitchSettings};
use flitway_test_kit::nic::{NicSettings, TestNic};
use flitway_wiring::multicast::{Ascent, GroupSettings};
use flitway_wiring::routing::{Routing, RoutingKind};
use flitway_wiring::topology::{Topology, TopologySettings};
use flitway_wiring::{Groups, NodeSet};
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A case: everything that decides what happens, and how to look at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Where it came from.
    pub seed: u64,
    /// The topology of a rail.
    pub topology: TopologySettings,
    /// The routing on it.
    pub routing: RoutingKind,
    /// Rails.
    pub rails: u32,
    /// Cycles of each link of a rail.
    pub latencies: Vec<u32>,
    /// The switches, if they are HPP Switches.
    pub settings: HppSettings,
    /// The switches, if they are SP Switches.
    pub sp: Option<SpPart>,
    /// How packets for groups climb.
    pub ascent: Ascent,
    /// The groups.
    pub groups: Vec<GroupSettings>,
    /// What each node sends, by time of creation.
    pub scripts: Vec<Vec<Packet>>,
    /// The barrier groups.
    pub barriers: Vec<BarrierSettings>,
    /// What happens to their packets.
    pub faults: Faults,
    /// When each node arrives at which barriers.
    pub arrivals: Vec<Vec<Arrivals>>,
    /// The NICs of nodes, if their ports are bounded.
    pub test_nics: Option<NicSettings>,
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
}

/// What a case of SP Switches has beside others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpPart {
    /// The switches.
    pub settings: SpSettings,
    /// The sets that packets are for, by the number that their destination gives.
    pub sets: Vec<Arc<NodeSet>>,
    /// Flits per cycle of each channel.
    pub rates: Rates,
}

impl Case {
    /// The fabric, unless topology, routing and latencies do not go together (when a case has been cut down).
    #[must_use]
    pub fn fabric(&self) -> Option<AnyFabric> {
        let topology = Arc::new(Topology::build(&self.topology).ok()?);
        let fits = topology.nodes() as usize == self.scripts.len()
            && self.arrivals.len() == self.scripts.len()
            && topology.links().len() == self.latencies.len()
            && (self.sp.is_some() || topology.ports_max() <= self.settings.ports);
        let routing = Routing::new(self.routing, topology).ok().filter(|_| fits)?;
        let groups = match &self.groups[..] {
            [] => Groups::none(),
            groups => Groups::new(&routing, self.ascent, groups).ok()?,
        };
        let barriers = Barriers::new(&routing, &self.barriers).ok()?.with_faults(self.faults.clone());
        let (switch, vcs) = match &self.sp {
            Some(sp) => (SwitchSettings::Sp(sp.settings.clone()), 1),
            None => (SwitchSettings::Hpp(self.settings.clone()), self.settings.vcs),
        };
        let bare = Fabric {
            routing,
            rails: self.rails,
            latencies: self.latencies.clone(),
            rates: self.sp.as_ref().map_or_else(Rates::full, |sp| sp.rates.clone()),
            groups,
            barriers,
            payloads: if self.promises { self.payloads() } else { ANY_PAYLOAD },
            nic_ports: if self.test_nics.is_some() { NicPorts::Bounded } else { NicPorts::Ideal },
            chip: (),
        };
        vcs.is_multiple_of(bare.routing.classes()).then(|| switch.fabric(bare))
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

    /// Whether a packet asks for a reply.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.scripts.iter().flatten().any(|packet| packet.flow.tag & ASKS != 0)
    }

    /// The NICs of nodes, if their ports are bounded.
    #[must_use]
    pub fn nics(&self) -> Option<Vec<TestNic<Script>>> {
        let nic = |script| Some(TestNic::new(self.test_nics?, self.rails, script));
        self.endpoints().into_iter().map(nic).collect()
    }

    /// The endpoints, or what is above the NICs.
    #[must_use]
    pub fn endpoints(&self) -> Vec<Script> {
        let sets = self.sp.as_ref().map_or(&[][..], |sp| &sp.sets);
        let nodes = self.scripts.iter().zip(&self.arrivals);
        nodes.map(|(packets, arrivals)| Script::new(packets, sets, arrivals)).collect()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {:?} with {:?}, {} rails", self.seed, self.topology, self.routing, self.rails)?;
        writeln!(f, "latencies {:?}", self.latencies)?;
        match &self.sp {
            Some(sp) => {
                writeln!(f, "{:#?}", sp.settings)?;
                writeln!(f, "{:?}", sp.rates)?;
                for (number, set) in sp.sets.iter().enumerate() {
                    let nodes: Vec<u32> = set.iter().map(|node| node.0).collect();
                    writeln!(f, "set {number}: {nodes:?}")?;
                }
            }
            None => writeln!(f, "{:#?}", self.settings)?,
        }
        let Case { promises, threads, pauses, limit, margin, .. } = self;
        writeln!(
            f,
            "shortest packet promised: {promises}, {threads} threads, pauses at {pauses:?}, limit {limit}, margin {margin}"
        )?;
        if let Some(settings) = self.test_nics {
            writeln!(f, "{settings:?}")?;
        }
        if !self.groups.is_empty() {
            writeln!(f, "{:?} groups {:?}", self.ascent, self.groups)?;
        }
        if !self.barriers.is_empty() {
            writeln!(f, "barriers {:?}, {:?}", self.barriers, self.faults)?;
            for (node, arrivals) in self.arrivals.iter().enumerate().filter(|(_, list)| !list.is_empty()) {
                writeln!(f, "  node {node}: {arrivals:?}")?;
            }
        }
        writeln!(f, "{} packets:", self.packets())?;
        for (node, packets) in self.scripts.iter().enumerate() {
            for Packet { destination, rail, lane, payload, created, flow } in packets.iter().take(20) {
                let what = format!("{payload} B, rail {rail}, lane {lane}, {flow:?}");
                writeln!(f, "  cycle {created}: {node} -> {destination:?}, {what}")?;
            }
            if packets.len() > 20 {
                writeln!(f, "  ... {} more of node {node}", packets.len() - 20)?;
            }
        }
        Ok(())
    }
}

/// A script of which no packet asks for a reply: whether it is told of deliveries makes no difference.
#[derive(Clone, Debug)]
pub(super) struct Deaf(pub(super) Script);

impl Endpoint for Deaf {
    const REACTS: bool = false;

    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        self.0.wake(now, out)
    }

    fn hear(&mut self, now: Cycle, up: Up<'_>, out: &mut Outgoing) -> Option<Cycle> {
        self.0.hear(now, up, out)
    }
}
