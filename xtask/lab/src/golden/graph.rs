//! The table of a task graph, on two machines: what each rank did with its time.

use super::FOLDER;
use crate::Outcome;
use crate::files::{Made, root};
use flitway_machine::Machine;
use flitway_report::graph::GraphResult;
use flitway_report::session::Session;
use flitway_workload::graph::{Placement, goal};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The graphs: `NAME.goal` beside the tables.
pub(super) const GRAPHS: &[&str] = &["halo-8"];

/// A tree with several rails, and a grid.
const MACHINES: [&str; 2] = ["dawning5000", "mesh-8x8"];

pub(super) fn table(name: &str) -> Outcome<Made> {
    let mut text = format!("# {name}.goal, linear placement. New values: `cargo xtask golden --accept`.\n");
    for machine in MACHINES {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{}", on_machine(name, machine)?);
    }
    Ok(Made { path: format!("{FOLDER}/{name}.txt"), text })
}

fn on_machine(name: &str, machine: &str) -> Outcome<String> {
    let path = root().join(FOLDER).join(format!("{name}.goal"));
    let file =
        std::fs::File::open(&path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    let graph =
        goal::read(std::io::BufReader::new(file)).map_err(|mistakes| format!("{name}.goal: {mistakes}"))?;
    let machine = Machine::load(machine, &[]).map_err(|problems| problems.to_string())?;
    let session = Session::new(machine, 1, 1);
    let placement = Placement::linear(graph.ranks(), &Placement::everywhere(session.fabric().nodes()))
        .map_err(|error| error.to_string())?;
    let exchange = session.exchange(&Arc::new(graph), placement, 0).map_err(|error| error.to_string())?;
    let results = session.graphs(&[exchange], &AtomicBool::new(false), &mut |_| {});
    Ok(results.iter().map(|result| rows(&session, result)).collect())
}

fn rows(session: &Session, result: &GraphResult) -> String {
    let nanos = |cycles: u64| format!("{:.1}", session.machine().clock.nanos(cycles as f64));
    let (summary, counters) = (&result.summary, &result.counters);
    let (name, rails) = (&session.machine().name, session.machine().rails);
    let completion = summary.completion.map_or_else(|| "never".to_owned(), |completion| nanos(completion.0));
    let mut text = format!(
        "{name}, rails {rails}: completed after {completion} ns; messages {}, bytes {}, packets {}, packet-hops {}\n",
        summary.messages, summary.bytes, counters.packets_delivered, counters.packet_hops
    );
    let titles = ["completed ns", "computing ns", "overhead ns", "waiting ns"];
    let _ = writeln!(
        text,
        "{:>4} {:>13} {:>13} {:>13} {:>13}",
        "rank", titles[0], titles[1], titles[2], titles[3]
    );
    for rank in &summary.ranks {
        let completed = rank.completion.map_or_else(|| "never".to_owned(), |completion| nanos(completion.0));
        let times = [completed, nanos(rank.computing), nanos(rank.overhead), nanos(rank.waiting)];
        let _ = writeln!(
            text,
            "{:>4} {:>13} {:>13} {:>13} {:>13}",
            rank.rank, times[0], times[1], times[2], times[3]
        );
    }
    text
}
