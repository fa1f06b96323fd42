//! One case, measured on the way that users take: injectors, the fabric, and the observer of load points.

use super::case::{Case, SEED};
use super::clock::{median, spent};
use crate::Outcome;
use flitway_engine::Cycle;
use flitway_fabric::simulation::Counters;
use flitway_fabric::{Fabric, Simulation};
use flitway_process::Injector;
use flitway_report::recorder::Recorder;
use flitway_switch::AnyFabric;
use flitway_switch::hpp::{Hpp, HppSettings};
use flitway_wiring::NodeId;
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Stretches of simulated time, one behind the other in one run.
    pub(super) repeats: usize,
    /// Packet-hops in a stretch, about.
    pub(super) packet_hops: f64,
}

/// Medians over the stretches.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) case: Case,
    /// Processor time per packet-hop in nanoseconds: median, least, most.
    pub(super) nanos: [f64; 3],
    pub(super) flit_hops_per_second: f64,
    pub(super) cycles_per_second: f64,
    pub(super) events_per_packet_hop: f64,
    /// As a fraction of the injection rate; below the offered load the network is saturated.
    pub(super) accepted: f64,
    /// Of an idle switch port.
    pub(super) bytes_per_port: u64,
    /// Threads, and how many times faster they are than one, by the clock on the wall.
    pub(super) speed_up: Option<(u32, f64)>,
}

/// A case that runs.
struct Running {
    simulation: Simulation<Hpp, Injector, Recorder>,
    nodes: u32,
    bytes_per_port: u64,
}

/// What a stretch came to.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    wall: f64,
    processor: f64,
    cycles: f64,
    packet_hops: f64,
    flit_hops: f64,
    events: f64,
    flits: f64,
}

fn of_hpp(fabric: &AnyFabric) -> &Fabric<HppSettings> {
    let AnyFabric::Hpp(fabric) = fabric else { unreachable!("the cases of the bench are of HPP Switches") };
    fabric
}

impl Running {
    fn new(case: Case, threads: u32) -> Outcome<Self> {
        let session = case.session(threads)?;
        let traffic = case.traffic(&session)?;
        let (fabric, format) = (&session.fabric_for(&traffic), session.machine().packet);
        let nodes = fabric.nodes();
        let injectors =
            (0..nodes).map(|node| Injector::new(&traffic, NodeId(node), fabric.rails, SEED)).collect();
        let simulation = Simulation::new(of_hpp(fabric), injectors, threads, || Recorder::new(nodes));
        let [bytes_per_port, _] = fabric.bytes_per_port();
        let mut running = Running { simulation, nodes, bytes_per_port };
        let crossing = fabric.zero_load_cycles_max(format.mtu_bytes);
        running.stretch(10 * crossing);
        Ok(running)
    }

    /// Runs `cycles` more, in pieces as a measurement has them.
    fn stretch(&mut self, cycles: u64) -> Stretch {
        let (start, before) = (self.simulation.now(), self.simulation.counters());
        let spent = spent(|| {
            let _ = self.simulation.run_until(start + cycles, &AtomicBool::new(false));
        });
        let _ = self.simulation.gather_observers(Recorder::take);
        let after = self.simulation.counters();
        let more = |count: fn(&Counters) -> u64| (count(&after) - count(&before)) as f64;
        Stretch {
            wall: spent.wall,
            processor: spent.processor,
            cycles: self.simulation.now().since(start) as f64,
            packet_hops: more(|counters| counters.packet_hops),
            flit_hops: more(|counters| counters.flit_hops),
            events: more(|counters| counters.wakes),
            flits: more(|counters| counters.flits_delivered),
        }
    }
}

/// Measures `case` on one thread, and with `threads` beside it if that is more.
pub(super) fn measure(case: Case, effort: Effort, threads: u32) -> Outcome<Measured> {
    let cycles = ((effort.packet_hops / case.packet_hops_per_cycle()) as u64).max(100);
    let mut single = Running::new(case, 1)?;
    let mut several = if threads > 1 { Some(Running::new(case, threads)?) } else { None };
    let (mut stretches, mut ratios) = (Vec::new(), Vec::new());
    for _ in 0..effort.repeats {
        let stretch = single.stretch(cycles);
        stretches.push(stretch);
        // In turns, so that whatever disturbs the machine disturbs both.
        if let Some(several) = &mut several {
            ratios.push(stretch.wall / several.stretch(cycles).wall);
        }
    }
    let of = |value: fn(&Stretch) -> f64| median(stretches.iter().map(value).collect());
    let nanos = |stretch: &Stretch| 1e9 * stretch.processor / stretch.packet_hops;
    let all = || stretches.iter().map(nanos);
    Ok(Measured {
        case,
        nanos: [of(nanos), all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max)],
        flit_hops_per_second: of(|stretch| stretch.flit_hops / stretch.processor),
        cycles_per_second: of(|stretch| stretch.cycles / stretch.processor),
        events_per_packet_hop: of(|stretch| stretch.events / stretch.packet_hops),
        accepted: of(|stretch| stretch.flits / stretch.cycles) / f64::from(single.nodes),
        bytes_per_port: single.bytes_per_port,
        speed_up: (threads > 1).then(|| (threads, median(ratios))),
    })
}

/// Simulates `case` for `cycles` from cycle 0 and returns the packet-hops: the whole work of a comparison.
pub(super) fn simulate(case: Case, cycles: u64) -> Outcome<u64> {
    let session = case.session(1)?;
    let traffic = case.traffic(&session)?;
    let fabric = &session.fabric_for(&traffic);
    let nodes = fabric.nodes();
    let injectors =
        (0..nodes).map(|node| Injector::new(&traffic, NodeId(node), fabric.rails, SEED)).collect();
    let recorder = || Recorder::new(nodes);
    let mut simulation = Simulation::<Hpp, _, _>::new(of_hpp(fabric), injectors, 1, recorder);
    let _ = simulation.run_until(Cycle(cycles), &AtomicBool::new(false));
    Ok(simulation.counters().packet_hops)
}

impl Measured {
    pub(super) fn print_head() {
        println!(
            "\n{:<14} {:>5} {:>7} {:>8} {:>8} {:>15} {:>11} {:>9} {:>9} {:>7} {:>8}",
            "",
            "",
            "offered",
            "accepted",
            "ns per",
            "least and most",
            "M flit-hops",
            "k cycles",
            "events",
            "B",
            "speed-up"
        );
        println!(
            "{:<14} {:>5} {:>7} {:>8} {:>8} {:>15} {:>11} {:>9} {:>9} {:>7} {:>8}",
            "fabric", "flits", "load", "load", "p-hop", "", "per s", "per s", "per p-hop", "a port", ""
        );
    }

    pub(super) fn print(&self) {
        let [nanos, least, most] = self.nanos;
        let speed_up = self.speed_up.map_or_else(String::new, |(_, ratio)| format!("{ratio:.2}"));
        println!(
            "{:<14} {:>5} {:>7.2} {:>8.3} {nanos:>8.1} {:>15} {:>11.1} {:>9.1} {:>9.2} {:>7} {speed_up:>8}",
            self.case.network.name(),
            self.case.flits,
            self.case.offered(),
            self.accepted,
            format!("{least:.1} {most:.1}"),
            self.flit_hops_per_second / 1e6,
            self.cycles_per_second / 1e3,
            self.events_per_packet_hop,
            self.bytes_per_port,
        );
    }

    pub(super) fn to_json(&self) -> Value {
        let [nanos, least, most] = self.nanos;
        let mut object = json!({
            "fabric": self.case.network.name(),
            "nodes": self.case.network.nodes(),
            "packet_flits": self.case.flits,
            "offered_load": self.case.offered(),
            "accepted_load": self.accepted,
            "ns_per_packet_hop": { "median": nanos, "min": least, "max": most },
            "flit_hops_per_s": self.flit_hops_per_second,
            "cycles_per_s": self.cycles_per_second,
            "events_per_packet_hop": self.events_per_packet_hop,
            "bytes_per_port": self.bytes_per_port,
        });
        if let Some((threads, ratio)) = self.speed_up {
            object["threads"] = json!(threads);
            object["speed_up"] = json!(ratio);
        }
        object
    }
}
