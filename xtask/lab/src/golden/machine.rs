//! The table of a built-in machine: sizes, latencies when nothing is in the way, latencies and accepted load under load.

use super::FOLDER;
use crate::Outcome;
use crate::files::Made;
use flitway_engine::Cycle;
use flitway_machine::Machine;
use flitway_report::facts::{Distance, Facts};
use flitway_report::point::Point;
use flitway_report::session::{Patience, Session};
use flitway_report::theory::Theory;
use flitway_workload::Fraction;
use flitway_workload::traffic::size::Sizes;
use flitway_workload::traffic::{Traffic, TrafficChoice, arrival, destination};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// One rail of several identical ones says as much, and is faster.
const SET: &str = "rails=1";
const SEED: u64 = 1;
/// Cycles measured of a small machine, and of a large one, which has more packets in them. Half as many go before.
const MEASURED: [u64; 2] = [20_000, 5_000];
/// Nodes of a large machine.
const LARGE: u32 = 256;
/// Nodes of a machine that is too large to be measured under load here.
const HUGE: u32 = 4_096;
/// Bytes.
const PAYLOADS: [u32; 3] = [8, 256, 1024];
/// Patterns that every machine fits, and the loads that they offer in percent.
const TRAFFIC: &[(&str, &[u64])] = &[
    ("uniform", &[10, 30, 50, 70, 90, 100]),
    ("bit-complement", &[60]),
    ("shuffle", &[60]),
    ("tornado", &[60]),
    ("neighbor", &[60]),
    ("random-permutation", &[60]),
    ("hotspot", &[60]),
];

/// Machines that are built in on other topologies: the name of the table, the machine and what is set.
const OTHERS: &[(&str, &str, &[&str])] = &[
    (
        "nrc-mesh",
        "nrc",
        &[
            r#"topology={kind="mesh", dimensions=[4, 4], nodes_per_switch=2}"#,
            "routing.algorithm=dimension-order",
            r#"link.length={node="1 m", switch="1 m"}"#,
        ],
    ),
    (
        "nrc-torus",
        "nrc",
        &[
            r#"topology={kind="torus", dimensions=[4, 4], nodes_per_switch=2}"#,
            r#"routing={algorithm="dimension-order", dateline=true}"#,
            r#"link.length={node="1 m", switch="1 m"}"#,
        ],
    ),
];

/// The tables that are made.
pub(super) fn tables() -> Vec<Table> {
    let built_in =
        flitway_machine::builtin().iter().map(|&(name, _)| Table { name, machine: name, set: &[] });
    let others = OTHERS.iter().map(|&(name, machine, set)| Table { name, machine, set });
    built_in.chain(others).collect()
}

/// A table that is to be made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    name: &'static str,
    machine: &'static str,
    set: &'static [&'static str],
}

impl Table {
    /// Makes it.
    pub(super) fn make(self) -> Outcome<Made> {
        let set: Vec<String> = [SET].iter().chain(self.set).map(|&set| set.to_owned()).collect();
        let machine = Machine::load(self.machine, &set).map_err(|problems| problems.to_string())?;
        table(self.name, &self.title(), machine)
    }

    /// The machine and what is set.
    fn title(self) -> String {
        let set = self.set.iter().map(|set| format!("\n# and {set}"));
        format!("{} with {SET}{}", self.machine, set.collect::<String>())
    }
}

fn table(name: &str, title: &str, machine: Machine) -> Outcome<Made> {
    let session = Session::new(machine, SEED, 1);
    let facts = PAYLOADS.map(|payload| Facts::new(session.machine(), session.fabric(), payload));
    let mut text = head(title, &session, &facts[0]);
    text.push_str(&zero_load(&facts));
    if session.fabric().nodes() < HUGE {
        text.push_str(&under_load(&session)?);
    }
    Ok(Made { path: format!("{FOLDER}/{name}.txt"), text })
}

fn head(title: &str, session: &Session, facts: &Facts) -> String {
    let (nodes, switches, links) = (facts.nodes, facts.switches_per_rail, facts.links_per_rail);
    let hops = facts.hops_mean;
    let clock = session.machine().clock.hertz() / 1e6;
    format!(
        "# {title}. New values: `cargo xtask golden --accept`.\n\n\
         nodes {nodes}, switches {switches}, links {links}, mean hops {hops:.3}, clock {clock} MHz\n\n"
    )
}

fn zero_load(facts: &[Facts; 3]) -> String {
    let titles = PAYLOADS.map(|payload| format!("{payload} B"));
    let mut text = format!(
        "Packet latency when nothing is in the way, in ns; nearest..farthest pair where they differ.\n\
         {:>4} {:>9} {:>18} {:>18} {:>18}\n",
        "hops", "of pairs", titles[0], titles[1], titles[2]
    );
    for (place, distance) in facts[0].distances.iter().enumerate() {
        let latencies = [0, 1, 2].map(|payload| span(&facts[payload].distances[place]));
        let share = distance.share * 100.0;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:>4} {share:>7.2} % {:>18} {:>18} {:>18}",
            distance.hops, latencies[0], latencies[1], latencies[2]
        );
    }
    text
}

fn span(distance: &Distance) -> String {
    let (least, most) = (distance.latency_min_ns, distance.latency_max_ns);
    if least == most { format!("{least:.1}") } else { format!("{least:.1}..{most:.1}") }
}

fn under_load(session: &Session) -> Outcome<String> {
    let measured = MEASURED[usize::from(session.fabric().nodes() >= LARGE)];
    let mut text = format!(
        "\n256 B packets, Bernoulli arrivals, seed {SEED}, {} cycles of warm-up, {measured} measured.\n\
         Latencies in ns, of the packets delivered. Full: offered load at which the busiest channel is full.\n\
         {:<18} {:>7} {:>7} {:>8} {:>12} {:>12} {:>12}\n",
        measured / 2,
        "traffic",
        "full",
        "offered",
        "accepted",
        "packet mean",
        "network mean",
        "packet max"
    );
    for (pattern, loads) in TRAFFIC {
        let mut full = None;
        for &load in *loads {
            let (choice, fraction) = (choice(pattern)?, Fraction::percent(load));
            let traffic = session.traffic(&choice, fraction).map_err(|error| error.to_string())?;
            // It depends on the pattern only.
            let full = full.get_or_insert_with(|| {
                Theory::new(session.fabric(), &traffic).map_or(f64::NAN, |theory| theory.channel_bound)
            });
            let point = point(session, traffic, fraction, measured);
            let _ = writeln!(text, "{pattern:<18} {full:>7.3} {}", row(&point));
        }
    }
    Ok(text)
}

fn choice(pattern: &str) -> Outcome<TrafficChoice> {
    Ok(TrafficChoice {
        destinations: destination::parse(pattern).map_err(|error| error.to_string())?,
        sizes: Sizes::Fixed(256),
        arrivals: arrival::parse("bernoulli").map_err(|error| error.to_string())?,
        replies: None,
    })
}

fn point(session: &Session, traffic: Traffic, load: Fraction, measured: u64) -> Point {
    let (warm_up, duration) = (Some(Cycle(measured / 2)), Some(Cycle(measured)));
    let patience = Patience { precision: 0.02, warm_up, duration };
    session.point(&Arc::new(traffic), load.as_f64(), patience, &AtomicBool::new(false), &mut |_| {})
}

fn row(point: &Point) -> String {
    let latencies = point.packet_latency.as_ref().zip(point.network_latency.as_ref());
    let latencies = latencies.map_or_else(String::new, |(packet, network)| {
        format!("{:>12.3} {:>12.3} {:>12.1}", packet.mean, network.mean, packet.max)
    });
    format!("{:>7.3} {:>8.3} {latencies}", point.offered_load, point.accepted_load)
}
