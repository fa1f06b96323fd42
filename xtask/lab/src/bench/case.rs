//! What is measured: fabrics, packets, loads.

use crate::Outcome;
use flitway_machine::{Machine, Options};
use flitway_report::session::Session;
use flitway_switch::SwitchSettings;
use flitway_switch::hpp::{AdvertSettings, Pipeline};
use flitway_workload::Fraction;
use flitway_workload::traffic::size::Sizes;
use flitway_workload::traffic::{Traffic, TrafficChoice, arrival, destination};
use std::path::Path;
use std::sync::Arc;

pub(super) const SEED: u64 = 1;

/// A fabric of HPP Switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Network {
    /// The k-ary 3-tree, k^3 nodes.
    Tree {
        /// k.
        arity: u32,
    },
    /// FT(16,3): 1,024 nodes.
    FatTree,
    /// The 8x8 mesh of `peers.md` W1: a node and 2 VCs of 8 flits on a switch, adverts on wires of their own, a pipeline
    /// of 5 cycles and links of 1.
    Mesh,
}

/// All fabrics, the smallest first.
pub(super) const NETWORKS: [Network; 6] = [
    Network::Mesh,
    Network::Tree { arity: 4 },
    Network::Tree { arity: 8 },
    Network::FatTree,
    Network::Tree { arity: 16 },
    Network::Tree { arity: 26 },
];

impl Network {
    pub(super) fn name(self) -> String {
        match self {
            Network::Tree { .. } => format!("tree-{}", self.nodes()),
            Network::FatTree => "fat-tree-1024".to_owned(),
            Network::Mesh => "mesh-64".to_owned(),
        }
    }

    pub(super) fn nodes(self) -> u32 {
        match self {
            Network::Tree { arity } => arity.pow(3),
            Network::FatTree => 1_024,
            Network::Mesh => 64,
        }
    }

    /// Flits of the packets it is measured with, header and trailer included.
    fn flits(self) -> &'static [u32] {
        match self {
            Network::Mesh => &[1],
            _ => &[32, 128, 512],
        }
    }

    fn settings(self) -> Vec<String> {
        let lines: &[&str] = match self {
            Network::Tree { .. } => {
                &["topology.kind=k-ary-n-tree", "topology.levels=3", "routing.algorithm=d-mod-k"]
            }
            Network::FatTree => &[
                "topology.kind=fat-tree",
                "topology.ports=16",
                "topology.levels=3",
                "routing.algorithm=d-mod-k",
            ],
            Network::Mesh => &[
                "topology.kind=mesh",
                "topology.dimensions=[8, 8]",
                "topology.nodes_per_switch=1",
                "routing.algorithm=dimension-order",
                "link.length.node=0 m",
                "link.length.switch=0 m",
            ],
        };
        let mut settings: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
        if let Network::Tree { arity } = self {
            settings.extend([format!("topology.arity={arity}"), format!("switch.ports={}", 2 * arity)]);
        }
        settings
    }

    fn machine(self) -> Outcome<Machine> {
        let mut options =
            Options::from_text("base.toml", include_str!("base.toml").to_owned(), Path::new("."));
        for setting in self.settings() {
            options.set(&setting);
        }
        let mut machine = options.check().map_err(|problems| problems.to_string())?;
        if self == Network::Mesh {
            one_flit_packets(&mut machine);
        }
        Ok(machine)
    }
}

/// Packets of one flit with nothing around it, which no machine file can ask for; the least favourable case for an
/// engine that works at the cost of packets.
fn one_flit_packets(machine: &mut Machine) {
    machine.packet.header_flits = 0;
    machine.packet.trailer_flits = 0;
    machine.packet.mtu_bytes = machine.packet.flit_bytes;
    let SwitchSettings::Hpp(settings) = &mut machine.switch else {
        unreachable!("the mesh is one of HPP Switches")
    };
    settings.format = machine.packet;
    settings.vcs = 2;
    settings.unit_flits = 1;
    settings.buffer_units = 8;
    settings.show_ahead = false;
    settings.advert = AdvertSettings { flits: 0, refresh: None, ..settings.advert };
    settings.pipeline = Pipeline { receive: 1, queue: 1, route: 1, transmit_buffer: 1, transmit: 1 };
}

/// One thing to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) network: Network,
    /// Of a packet, header and trailer included.
    pub(super) flits: u32,
    /// Offered, in percent of the injection rate.
    pub(super) load: u64,
}

impl Case {
    pub(super) fn name(self) -> String {
        format!("{}/{}/{}", self.network.name(), self.flits, self.offered())
    }

    pub(super) fn offered(self) -> f64 {
        self.load as f64 / 100.0
    }

    pub(super) fn session(self, threads: u32) -> Outcome<Session> {
        Ok(Session::new(self.network.machine()?, SEED, threads))
    }

    /// Uniform Bernoulli traffic of packets of its length.
    pub(super) fn traffic(self, session: &Session) -> Outcome<Arc<Traffic>> {
        let format = session.machine().packet;
        let payload = (self.flits - format.header_flits - format.trailer_flits) * format.flit_bytes;
        let sizes = Sizes::Fixed(u16::try_from(payload).map_err(|error| error.to_string())?);
        let destinations = destination::parse("uniform").map_err(|error| error.to_string())?;
        let arrivals = arrival::parse("bernoulli").map_err(|error| error.to_string())?;
        let choice = TrafficChoice { destinations, sizes, arrivals, replies: None };
        session
            .traffic(&choice, Fraction::percent(self.load))
            .map(Arc::new)
            .map_err(|error| error.to_string())
    }

    /// Packet-hops in a cycle, about: to know how long to run.
    pub(super) fn packet_hops_per_cycle(self) -> f64 {
        let hops = match self.network {
            Network::Mesh => 6.3,
            _ => 4.8,
        };
        f64::from(self.network.nodes()) * self.offered() / f64::from(self.flits) * hops
    }
}

/// Which cases to measure.
#[derive(Clone, Debug, Default)]
pub(super) struct Selection {
    pub(super) nodes: Vec<u32>,
    pub(super) flits: Vec<u32>,
    pub(super) loads: Vec<u64>,
    pub(super) quick: bool,
}

/// The loads that are measured, in percent.
const LOADS: [u64; 4] = [10, 30, 60, 90];

pub(super) fn cases(selection: &Selection) -> Vec<Case> {
    let wanted = |list: &[u32], value: u32| list.is_empty() || list.contains(&value);
    let loads = if selection.loads.is_empty() { &LOADS[..] } else { &selection.loads };
    let mut cases = Vec::new();
    for network in NETWORKS.into_iter().filter(|network| wanted(&selection.nodes, network.nodes())) {
        for &flits in network.flits().iter().filter(|&&flits| wanted(&selection.flits, flits)) {
            cases.extend(loads.iter().map(|&load| Case { network, flits, load }));
        }
    }
    let is_quick =
        |case: &Case| case.flits <= 32 && case.network.nodes() <= 1_024 && [10, 60].contains(&case.load);
    cases.retain(|case| !selection.quick || is_quick(case));
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fabric_can_be_built_and_has_its_nodes() {
        for network in NETWORKS.into_iter().filter(|network| network.nodes() <= 1_024) {
            let case = Case { network, flits: network.flits()[0], load: 10 };
            let session = case.session(1).unwrap();
            assert_eq!(session.fabric().nodes(), network.nodes());
            let traffic = case.traffic(&session).unwrap();
            let flits = f64::from(case.flits);
            assert!((traffic.rate().as_f64() * flits - 0.1).abs() < 1e-12, "{}", case.name());
        }
    }

    #[test]
    fn cases_can_be_selected() {
        assert_eq!(cases(&Selection::default()).len(), 4 + 5 * 3 * 4);
        let one = Selection { nodes: vec![512], flits: vec![32], loads: vec![60], quick: false };
        assert_eq!(cases(&one).iter().map(|case| case.name()).collect::<Vec<_>>(), ["tree-512/32/0.6"]);
        assert!(cases(&Selection { quick: true, ..Selection::default() }).len() <= 8);
    }
}
