//! Small parts, one by one, through their public interfaces.

use super::clock::{median, spent};
use flitway_engine::Cycle;
use flitway_engine::agenda::Agenda;
use flitway_engine::calendar::Calendar;
use flitway_engine::random::{Purpose, Stream};
use flitway_fabric::arbiter::{ArbiterBank, ArbiterKind};
use flitway_fabric::packet::PacketFormat;
use flitway_fabric::{
    ANY_PAYLOAD, Barriers, Endpoint, Fabric, Flow, LinkErrors, NicPorts, Outgoing, Packet, Rates, Simulation,
    Unobserved, Up,
};
use flitway_fabric::{LaneChoice, ReplyLanes};
use flitway_switch::hpp::{AdvertSettings, BarrierSettings, Hpp, HppSettings, MulticastSettings, Pipeline};
use flitway_wiring::NodeId;
use flitway_wiring::routing::{Routing, RoutingKind, Selection};
use flitway_wiring::topology::{Topology, TopologySettings};
use flitway_wiring::{Destination, Groups, RailId};
use serde_json::{Value, json};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A part: processor time of one operation in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Part {
    name: &'static str,
    median: f64,
    least: f64,
}

/// Samples of each part.
const SAMPLES: usize = 15;

/// Seconds that a sample takes at least.
const SAMPLE: f64 = 0.01;

/// Random numbers that are made before the clock starts.
const PREPARED: usize = 4_096;

pub(super) fn measure() -> Vec<Part> {
    vec![
        agenda(),
        calendar(),
        arbiter("arbiter, matrix: grant of 16 inputs", ArbiterKind::Matrix),
        arbiter("arbiter, round robin: grant of 16 inputs", ArbiterKind::RoundRobin),
        draw(),
        way(),
        credits(),
    ]
}

impl Part {
    pub(super) fn print_head() {
        println!("\n{:<52} {:>8} {:>8}", "part", "ns", "least");
    }

    pub(super) fn print(&self) {
        println!("{:<52} {:>8.2} {:>8.2}", self.name, self.median, self.least);
    }

    pub(super) fn to_json(&self) -> Value {
        json!({ "part": self.name, "ns": { "median": self.median, "min": self.least } })
    }
}

/// Times `operation`, called again and again with the numbers of its calls.
fn part(name: &'static str, mut operation: impl FnMut(usize)) -> Part {
    let mut count = 1_000;
    let mut sample = |count: usize| spent(|| (0..count).for_each(&mut operation)).processor;
    while sample(count) < SAMPLE {
        count *= 2;
    }
    let times: Vec<f64> = (0..SAMPLES).map(|_| 1e9 * sample(count) / count as f64).collect();
    let least = times.iter().copied().fold(f64::INFINITY, f64::min);
    Part { name, median: median(times), least }
}

fn prepared(bound: u64) -> Vec<u64> {
    let mut stream = Stream::new(1, 0, Purpose::Test);
    (0..PREPARED).map(|_| stream.below(bound)).collect()
}

/// A switch of 16 ports and 3 VCs has 64 slots; what comes out is due again within 40 cycles.
fn agenda() -> Part {
    let delays = prepared(40);
    let mut agenda = Agenda::new(64);
    (0..16).for_each(|slot| agenda.schedule(slot, Cycle(slot as u64)));
    part("agenda: pop and schedule, 16 of 64 slots due", |call| {
        if let Some((now, slot)) = agenda.pop(Cycle::NEVER) {
            agenda.schedule(slot, now + 1 + delays[call % PREPARED]);
        }
    })
}

/// 1,344 components, as FT(16,3) has; one operation is the take of a window with 64 components, which come again.
fn calendar() -> Part {
    let ahead = prepared(8);
    let mut calendar = Calendar::new(1_344);
    (0..64).for_each(|component| calendar.schedule(component * 21, 0));
    let mut due = Vec::new();
    part("calendar: take of a window and schedule of its work", |call| {
        let Some(window) = calendar.next() else { return };
        calendar.take(window, &mut due);
        for &component in &due {
            calendar.schedule(component, window + 1 + ahead[(call + component as usize) % PREPARED]);
        }
    })
}

fn arbiter(name: &'static str, kind: ArbiterKind) -> Part {
    let requests: Vec<u64> = prepared(1 << 16).into_iter().map(|requests| requests.max(1)).collect();
    let mut bank = ArbiterBank::new(kind, 48, 16);
    part(name, |call| {
        black_box(bank.grant(call % 48, requests[call % PREPARED]));
    })
}

fn draw() -> Part {
    let mut stream = Stream::new(1, 0, Purpose::Test);
    part("random: a number below 1,023", |_| {
        black_box(stream.below(1_023));
    })
}

fn way() -> Part {
    let topology = Topology::build(&TopologySettings::FatTree { ports: 16, levels: 3 });
    let topology = Arc::new(topology.expect("FT(16,3) can be built"));
    let routing = Routing::new(RoutingKind::DModK, topology).expect("d-mod-k goes with fat trees");
    let ends = prepared(1_024);
    part("routing: the header of a packet in FT(16,3), d-mod-k", |call| {
        let (source, destination) = (ends[call % PREPARED], ends[(call * 7 + 1) % PREPARED]);
        black_box(routing.way(NodeId(source as u32), NodeId(destination as u32)));
    })
}

/// Cycles between two packets: about as many as two FIFOs that hold two packets let through.
const PERIOD: u64 = 60;

/// Two nodes on a switch, one VC, FIFOs of two units and packets of one: the sender waits for every advert, so each
/// packet is two grants of credits, two adverts and two limits told. One operation is a packet.
fn credits() -> Part {
    let topology = Topology::build(&TopologySettings::Single { nodes: 2 }).expect("two nodes can be joined");
    let topology = Arc::new(topology);
    let routing = Routing::new(RoutingKind::UpDown, Arc::clone(&topology)).expect("it routes anything");
    let fabric = Fabric {
        latencies: vec![20; topology.links().len()],
        routing,
        rails: 1,
        groups: Groups::none(),
        barriers: Barriers::none(),
        payloads: ANY_PAYLOAD,
        nic_ports: NicPorts::Ideal,
        rates: Rates::full(),
        errors: LinkErrors::default(),
        faults: flitway_fabric::Faults::default(),
        chip: HppSettings {
            ports: 2,
            vcs: 1,
            buffer_units: 2,
            unit_flits: 32,
            arbiter: ArbiterKind::Matrix,
            selection: Selection::First,
            show_ahead: true,
            pipeline: Pipeline { receive: 2, queue: 3, route: 4, transmit_buffer: 2, transmit: 1 },
            tx_fifo: 16,
            format: PacketFormat {
                flit_bytes: 2,
                header_flits: 4,
                trailer_flits: 1,
                mtu_bytes: 64,
                block: None,
            },
            advert: AdvertSettings { flits: 2, refresh: None, position_bits: 8 },
            multicast: MulticastSettings::published(0),
            barrier: BarrierSettings::published(),
            lanes: LaneChoice::ByPacket,
            reply_lanes: ReplyLanes::Shared,
        },
    };
    let sources = [1, 0].map(|other| Steady { destination: NodeId(other), next: 0 });
    let mut simulation = Simulation::<Hpp, _, _>::new(&fabric, sources.into(), 1, || Unobserved);
    let stop = AtomicBool::new(false);
    part("credits: a packet through two FIFOs that hold two", |_| {
        let until = simulation.counters().packets_delivered + 1;
        while simulation.counters().packets_delivered < until {
            simulation.run_until(simulation.now() + 1, &stop);
        }
    })
}

/// Sends a packet every so often.
#[derive(Clone, Copy, Debug)]
struct Steady {
    destination: NodeId,
    next: u64,
}

impl Endpoint for Steady {
    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        let (destination, rail) = (Destination::Node(self.destination), RailId(0));
        out.push(Packet { destination, rail, lane: 0, payload: 64, created: now, flow: Flow::default() });
        self.next = now.0 + PERIOD;
        Some(Cycle(self.next))
    }

    fn hear(&mut self, _: Cycle, _: Up<'_>, _: &mut Outgoing) -> Option<Cycle> {
        Some(Cycle(self.next))
    }
}
