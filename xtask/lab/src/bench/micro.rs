//! Small parts, one by one, through their public interfaces.

use super::clock::{median, spent};
use flitway_engine::agenda::Agenda;
use flitway_engine::calendar::Calendar;
use flitway_engine::random::{Purpose, Stream};
use flitway_engine::{Cycle, NodeId};
use flitway_fabric::arbiter::{ArbiterBank, ArbiterKind};
use flitway_fabric::routing::{Routing, RoutingKind};
use flitway_fabric::topology::{Topology, TopologySettings};
use serde_json::{Value, json};
use std::hint::black_box;
use std::sync::Arc;

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
        path(),
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
        for (word, &bits) in due.iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                let component = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                calendar.schedule(component as u32, window + 1 + ahead[(call + component) % PREPARED]);
            }
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

fn path() -> Part {
    let topology = Topology::build(&TopologySettings::FatTree { ports: 16, levels: 3 });
    let topology = Arc::new(topology.expect("FT(16,3) can be built"));
    let routing = Routing::new(RoutingKind::DModK, topology).expect("d-mod-k goes with fat trees");
    let ends = prepared(1_024);
    part("routing: a whole path in FT(16,3), d-mod-k", |call| {
        let (source, destination) = (ends[call % PREPARED], ends[(call * 7 + 1) % PREPARED]);
        black_box(routing.path(NodeId(source as u32), NodeId(destination as u32)).count());
    })
}
