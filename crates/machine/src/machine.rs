//! The checked machine: complete, typed, cross-checked. Nothing has a default after this.

use flitway_engine::{Clock, Picos};
use flitway_fabric::faults::FirstLanes;
use flitway_fabric::packet::PacketFormat;
use flitway_fabric::{ANY_PAYLOAD, Barriers, Fabric, Faults, LinkErrors, Rates};
use flitway_switch::{AnyFabric, SwitchSettings};
use flitway_wiring::Groups;
use flitway_wiring::routing::{Routing, RoutingKind, table_entries_max};
use flitway_wiring::topology::{Topology, TopologySettings};
use std::path::PathBuf;
use std::sync::Arc;

use crate::convert::Value;
use crate::diagnostic::{Diagnostics, Source};
use crate::graph::GraphFile;
use crate::options::Options;
use crate::resolve::resolve;
use crate::schema::is_of_host;
use crate::section::link::LinkSettings;
use crate::section::nic::NodeSettings;
use crate::section::switch::Surroundings;
use crate::section::topology::Size;
use crate::section::{general, link, nic, packet, routing, switch, topology};
use crate::tables::TableFile;
use crate::units::Dimension;
use crate::values::Effective;

/// A machine that passed every check.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// What it is, in a sentence or two; may be empty.
    pub description: String,
    /// Identical networks that join the same nodes.
    pub rails: u32,
    /// The clock of switches, links and NIC ports.
    pub clock: Clock,
    /// The topology of one rail.
    pub topology: TopologySettings,
    /// The graph file behind the topology, with the names in it.
    pub graph: Option<GraphFile>,
    /// How paths are chosen.
    pub routing: RoutingKind,
    /// The forwarding tables, if they are.
    pub tables: Option<TableFile>,
    /// How payload becomes flits.
    pub packet: PacketFormat,
    /// The chip.
    pub switch: SwitchSettings,
    /// The cables.
    pub link: LinkSettings,
    /// The NIC of a node, and what the node does around its packets.
    pub nic: NodeSettings,
    /// Every setting with its value and who gave it, in the order of the reference page.
    pub effective: Vec<Effective>,
    /// What the user should know; never an error.
    pub warnings: Diagnostics,
    /// The files that it was read from.
    pub files: Vec<PathBuf>,
    /// The routing, where checking the machine took making it.
    made: Option<Routing>,
    /// Lanes that are bad from the start.
    first_lanes: FirstLanes,
    /// How large a rail is, known before it is built.
    pub(crate) size: Size,
}

/// Memory that a machine needs, about, in bytes, known before anything is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryNeeded {
    /// For the fabric: what is wired to what, and the tables of its routing.
    pub fabric: u64,
    /// For a simulation of it, beyond that, without packets.
    pub simulation: u64,
}

/// A length of time that is no whole number of cycles.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounding {
    /// What takes it, in words.
    pub what: String,
    /// Cycles as written.
    pub exact: f64,
    /// Cycles that it counts as.
    pub cycles: u64,
}

impl Options {
    /// Checks everything that was written: the second of the three steps.
    ///
    /// # Errors
    /// All problems, in the order of the text.
    pub fn check(self) -> Result<Machine, Diagnostics> {
        Machine::from_options(self)
    }
}

impl Machine {
    /// Loads a built-in machine or a machine file, with overrides `path=value`.
    ///
    /// ```
    /// use flitway_machine::Machine;
    /// let machine = Machine::load("dawning5000", &["switch.vcs=2".to_owned()]).expect("a built-in machine");
    /// assert_eq!(machine.rails, 4);
    /// let problems = Machine::load("dawning5000", &["switch.vc=2".to_owned()]).unwrap_err();
    /// assert!(problems.to_string().contains("did you mean `switch.vcs`?"));
    /// ```
    ///
    /// # Errors
    /// All problems of the file and the overrides, in the order of the text.
    pub fn load(name_or_path: &str, set: &[String]) -> Result<Machine, Diagnostics> {
        let mut options = Options::read(name_or_path)?;
        for text in set {
            options.set(text);
        }
        options.check()
    }

    /// The second step: from what was written to what is meant.
    fn from_options(mut options: Options) -> Result<Machine, Diagnostics> {
        let mut findings = std::mem::take(&mut options.findings);
        let mut sources: Vec<Arc<Source>> = vec![Arc::clone(&options.file)];
        sources.extend(options.sets.iter().cloned());
        let values = resolve(&options, &mut findings);
        let general = general::build(&values);
        let topology = topology::build(&values, &mut findings);
        let routing = routing::build(&values, topology.as_ref(), &mut findings);
        let packet = packet::build(&values, &mut findings);
        let link = link::build(&values, topology.as_ref(), &mut findings);
        let surroundings = Surroundings {
            clock: general::clock(&values),
            format: packet,
            topology: topology.as_ref(),
            routing: routing.as_ref().map(|routing| routing.kind),
            vc_classes: routing.as_ref().and_then(|routing| routing.classes),
            carried_hops: routing.as_ref().and_then(routing::Chosen::carried_hops),
            link: link.as_ref(),
        };
        let switch = switch::build(&values, &surroundings, &mut findings);
        let mut first_lanes = FirstLanes::default();
        if let (Some(link), Some(topology), Some(switch)) = (&link, &topology, &switch) {
            link::rates::check(&values, link, topology, switch.chip(), &mut findings);
            first_lanes = switch::tiled::first_lanes(&values, link, topology, switch.chip(), &mut findings);
        }
        let nic = nic::build(&values, &mut findings);
        let findings = findings.in_order(&sources);
        if findings.has_errors() {
            return Err(findings);
        }
        let parts = (general, topology, routing, packet, switch, link, nic);
        let (Some(general), Some(topology), Some(routing), Some(packet), Some(switch), Some(link), Some(nic)) =
            parts
        else {
            unreachable!("a part that cannot be built reports why");
        };
        let graph = topology.graph.as_ref().map(|graph| graph.path.clone());
        let tables = routing.tables.as_ref().map(|tables| tables.path.clone());
        let size = topology.size();
        Ok(Machine {
            files: options.read_from.into_iter().chain(graph).chain(tables).collect(),
            size,
            name: general.name,
            description: general.description,
            rails: general.rails,
            clock: general.clock,
            topology: topology.settings,
            graph: topology.graph,
            routing: routing.kind,
            tables: routing.tables,
            made: routing.made,
            first_lanes,
            packet,
            switch,
            link,
            nic,
            effective: values.into_effective(),
            warnings: findings,
        })
    }

    /// Where the routing is one for study, which can deadlock: the setting that makes it what it is otherwise, and how many
    /// classes of virtual channels that needs.
    #[must_use]
    pub fn routing_for_study(&self) -> Option<(&'static str, u32)> {
        let (flag, kind) = routing::for_study(self.routing)?;
        let routing = Routing::new(kind, Arc::clone(self.fabric().routing.topology())).ok()?;
        Some((flag.path, routing.classes()))
    }

    /// Cycles that a flit spends on a link of `class`, or on one of its own length: rounds up, at least 1.
    #[must_use]
    pub fn link_cycles(&self, class: &str, own_length_mm: Option<u64>) -> u32 {
        self.link.cycles(class, own_length_mm)
    }

    /// Every length of time that is no whole number of cycles, and what it counts as. Links of a length of their own are left
    /// out.
    #[must_use]
    pub fn roundings(&self) -> Vec<Rounding> {
        let topology = Topology::build(&self.topology).expect("a checked topology can be built");
        let is_wired = |class: usize| {
            topology.links().iter().any(|link| link.class as usize == class && link.length_mm.is_none())
        };
        let wired = topology.classes().iter().enumerate().filter(|&(class, _)| is_wired(class));
        let links = wired.map(|(_, class)| Rounding {
            what: format!("links of class `{class}`"),
            exact: self.link.cycles_before_rounding(class),
            cycles: self.link_cycles(class, None).into(),
        });
        // Links are above; within a host time is in picoseconds.
        let is_in_cycles = |path: &str| !path.starts_with("link.") && !is_of_host(path);
        let times = self.effective.iter().filter_map(|setting| match setting.value {
            Value::Quantity(picos, Dimension::Time) if is_in_cycles(setting.path.as_ref()) => {
                Some(Rounding {
                    what: format!("`{}`", setting.path),
                    exact: picos as f64 * self.clock.hertz() / 1e12,
                    cycles: self.clock.cycles_ceil(Picos(picos)).0,
                })
            }
            _ => None,
        });
        // To as many digits as there are in a sum of numbers with a fraction.
        links
            .chain(times)
            .filter(|it| (it.cycles as f64 - it.exact).abs() > 1e-9 * it.exact.max(1.0))
            .collect()
    }

    /// Memory that it needs. Nothing is built to find out, however large it is.
    #[must_use]
    pub fn memory_needed(&self) -> MemoryNeeded {
        /// A port with its end of a link, and a node with its place: measured with meshes and trees.
        const BUILT: [u64; 2] = [80, 100];
        let Size { nodes, switches, ports } = self.size;
        let has_tables = table_entries_max(self.routing, &self.topology).is_some();
        let tables = if has_tables { 2 * nodes * switches } else { 0 };
        let pair = Topology::build(&TopologySettings::Single { nodes: 2 }).expect("two nodes are few");
        let pair = Routing::new(RoutingKind::UpDown, Arc::new(pair)).expect("up*/down* goes with it");
        let alike = self.fabric_of(pair, &FirstLanes::default());
        let [switch_port, nic_port] = alike.bytes_per_port();
        MemoryNeeded {
            fabric: BUILT[0] * ports + BUILT[1] * nodes + tables,
            simulation: u64::from(self.rails) * (ports * switch_port + nodes * nic_port),
        }
    }

    /// The third step: the fabric, with nothing left to configure.
    ///
    /// # Panics
    /// If the fabric refuses what the checks of this crate let pass.
    #[must_use]
    pub fn fabric(&self) -> AnyFabric {
        let made = || {
            let built = topology::wired(&self.topology, self.graph.as_ref());
            let topology = built.expect("a checked topology can be built");
            Routing::new(self.routing, Arc::new(topology)).expect("a checked routing goes with its topology")
        };
        self.fabric_of(self.made.clone().unwrap_or_else(made), &self.first_lanes)
    }

    /// What links do to flits; a session says by which seed.
    fn link_errors(&self) -> LinkErrors {
        let bits = 8 * self.switch.chip().format().flit_bytes;
        LinkErrors { flit: link::probability_of_error(self.link.bit_errors, bits), ..LinkErrors::default() }
    }

    /// What the channels of `topology` carry.
    fn rates(&self, topology: &Topology) -> Rates {
        let chip = self.switch.chip();
        let coded = chip.link_rate();
        let rate = |bits: Option<u64>| {
            bits.map_or(Some(coded), |bits| self.link.rate(bits, chip.format().flit_bytes))
        };
        let classes: Vec<_> =
            topology.classes().iter().map(|class| rate(self.link.rates.bits_per_second(class))).collect();
        let own =
            |link: usize| self.graph.as_ref().and_then(|graph| graph.links.get(link)).map(|link| link.rates);
        let mut rates = Rates::full();
        for (number, link) in topology.links().iter().enumerate() {
            let ends = if link.is_one_way { &link.ends[..1] } else { &link.ends[..] };
            for (&end, own) in ends.iter().zip(own(number).unwrap_or_default()) {
                let found = if own.is_some() { rate(own) } else { classes[link.class as usize] };
                rates.set(end, found.expect("a checked machine has rates that are ratios"));
            }
        }
        rates
    }

    fn fabric_of(&self, routing: Routing, first_lanes: &FirstLanes) -> AnyFabric {
        let topology = routing.topology();
        let classes = topology.classes();
        let latencies = topology
            .links()
            .iter()
            .map(|link| self.link_cycles(&classes[link.class as usize], link.length_mm))
            .collect();
        let mut rates = self.rates(topology);
        if let Some(training) = self.switch.chip().training() {
            let is_up = first_lanes.set(topology, &training.lanes, &mut rates);
            assert!(is_up, "no link of a checked machine is down");
        }
        let bare = Fabric {
            routing,
            rails: self.rails,
            latencies,
            rates,
            errors: self.link_errors(),
            faults: Faults::default().after(first_lanes.clone()),
            groups: Groups::none(),
            barriers: Barriers::none(),
            payloads: ANY_PAYLOAD,
            nic_ports: self.nic.model.ports(),
            chip: (),
        };
        self.switch.clone().fabric(bare)
    }
}
