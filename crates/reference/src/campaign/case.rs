//! One case: a fabric and what its nodes send.

use flitway_engine::Cycle;
use flitway_fabric::hpp::HppSettings;
use flitway_fabric::multicast::{Ascent, GroupSettings};
use flitway_fabric::routing::{Routing, RoutingKind};
use flitway_fabric::topology::{Topology, TopologySettings};
use flitway_fabric::{Delivery, Destination, Endpoint, Fabric, Groups, Outgoing, Packet, SwitchSettings};
use std::fmt;
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
    /// The switches.
    pub settings: HppSettings,
    /// How packets for groups climb.
    pub ascent: Ascent,
    /// The groups.
    pub groups: Vec<GroupSettings>,
    /// What each node sends, by time of creation.
    pub scripts: Vec<Vec<Packet>>,
    /// Threads of the fast engine.
    pub threads: u32,
    /// A cycle in which the fast engine is stopped, settled and audited, before it goes on.
    pub pause: Option<Cycle>,
    /// Where to give up, delivered or not.
    pub limit: Cycle,
    /// Cycles to go on after the last delivery.
    pub margin: u64,
}

impl Case {
    /// The fabric, unless topology, routing and latencies do not go together (when a case has been cut down).
    #[must_use]
    pub fn fabric(&self) -> Option<Fabric> {
        let topology = Arc::new(Topology::build(&self.topology).ok()?);
        let fits = topology.nodes() as usize == self.scripts.len()
            && topology.links().len() == self.latencies.len()
            && topology.ports_max() <= self.settings.ports;
        let routing = Routing::new(self.routing, topology).ok().filter(|_| fits)?;
        let groups = match &self.groups[..] {
            [] => Groups::none(),
            groups => Groups::new(&routing, self.ascent, groups).ok()?,
        };
        self.settings.vcs.is_multiple_of(routing.classes()).then(|| Fabric {
            routing,
            rails: self.rails,
            latencies: self.latencies.clone(),
            switch: SwitchSettings::Hpp(self.settings.clone()),
            groups,
        })
    }

    /// Packets of all nodes.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.scripts.iter().map(Vec::len).sum()
    }

    /// The endpoints for the fast engine.
    #[must_use]
    pub fn endpoints(&self) -> Vec<Script> {
        self.scripts
            .iter()
            .map(|packets| Script { packets: packets.iter().rev().copied().collect() })
            .collect()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {:?} with {:?}, {} rails", self.seed, self.topology, self.routing, self.rails)?;
        writeln!(f, "latencies {:?}", self.latencies)?;
        writeln!(f, "{:#?}", self.settings)?;
        let Case { threads, pause, limit, margin, .. } = self;
        writeln!(f, "{threads} threads, pause at {pause:?}, limit {limit}, margin {margin}")?;
        if !self.groups.is_empty() {
            writeln!(f, "{:?} groups {:?}", self.ascent, self.groups)?;
        }
        writeln!(f, "{} packets:", self.packets())?;
        for (node, packets) in self.scripts.iter().enumerate() {
            for Packet { destination, rail, lane, payload, created, tag } in packets.iter().take(20) {
                let what = format!("{payload} B, rail {rail}, lane {lane}, tag {tag}");
                writeln!(f, "  cycle {created}: {node} -> {destination:?}, {what}")?;
            }
            if packets.len() > 20 {
                writeln!(f, "  ... {} more of node {node}", packets.len() - 20)?;
            }
        }
        Ok(())
    }
}

/// The bit of a tag that asks for a reply.
pub const ASKS: u64 = 1 << 32;

/// The reply to a packet that asks for one: as long as that, and asking for nothing.
#[must_use]
pub fn reply(delivery: &Delivery) -> Option<Packet> {
    (delivery.tag & ASKS != 0).then_some(Packet {
        destination: Destination::Node(delivery.source),
        rail: delivery.rail,
        lane: delivery.tag as u32,
        payload: delivery.payload,
        created: delivery.delivered,
        tag: delivery.tag & !ASKS,
    })
}

/// An endpoint that sends given packets at given times, and replies.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Last created first.
    packets: Vec<Packet>,
}

impl Endpoint for Script {
    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        while let Some(packet) = self.packets.pop_if(|packet| packet.created <= now) {
            out.push(packet);
        }
        self.packets.last().map(|packet| packet.created)
    }

    fn deliver(&mut self, _: Cycle, delivery: &Delivery, out: &mut Outgoing) -> Option<Cycle> {
        out.extend(reply(delivery));
        self.packets.last().map(|packet| packet.created)
    }
}
