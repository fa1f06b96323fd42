//! `flitway run --seeds`: the same run with one seed after the other, and how far each number is from seed to seed.

use crate::args::RunArguments;
use crate::compare::{of_graph, of_size, offered};
use crate::failure::Failure;
use crate::layout::{broken, fitted};
use crate::progress::{Far, Line, stop_flag};
use crate::table::{bare_table, sizes_of};
use crate::task::{Prepared, Voice, fits_memory, prepared};
use flitway_experiment::result::{Heading, of_seeds};
use flitway_experiment::side_by_side::side_by_side;
use flitway_experiment::spread::QUANTITIES;
use flitway_experiment::workload::{Measured, Problem, Run};
use flitway_machine::Machine;
use flitway_report::session::Session;
use flitway_report::shown::load;
use serde_json::Value;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Columns before what is left of a line that is too long.
const LEGEND: usize = 4;

/// A seed that has been run, and its points.
type OfSeed = (u64, Vec<Value>);

/// Runs what `arguments` say with `count` seeds.
pub(crate) fn run(arguments: &RunArguments, count: u32) -> Result<(), Failure> {
    if arguments.counters.is_some() {
        let help = "leave it out, or run the seed that you want to look into alone: --seed N --counters FILE";
        return Err(Failure::input(
            "--counters: the counters of one run, and --seeds makes several",
            Some(help.to_owned()),
        ));
    }
    let name = arguments.machine.as_deref().unwrap_or_default();
    let Prepared { machine, workload, targets } = prepared(arguments, name)?;
    let (machine, workload) = (&machine, workload.as_run());
    let first = arguments.seed();
    let Some(end) = first.checked_add(count.into()) else {
        let message = format!("--seeds: there are no {count} seeds from {first} on");
        return Err(Failure::input(message, Some("begin with a smaller --seed".to_owned())));
    };
    let seeds: Vec<u64> = (first..end).collect();
    let session = Session::new(machine.clone(), first, arguments.threads);
    // Everything is fitted before anything runs, so that nothing is lost to a mistake of the last seed.
    for &seed in &seeds {
        let session = Session::new(machine.clone(), seed, 1);
        workload.fit(&session).map_err(Failure::workload)?;
    }
    let (_, beside) = session.dealt(seeds.len());
    fits_memory(session.fabric().bytes().saturating_mul(beside as u64))?;
    let mut voice = Voice::new(&targets);
    voice.say(|| fitted(&format!("{}; seeds {first} to {}", sizes_of(&session), end - 1), 2))?;
    let stop = stop_flag()?;
    let runs =
        of_all(&session, machine, workload, (&seeds, arguments.threads), &stop).map_err(Failure::workload)?;
    let command: Vec<String> = std::env::args().collect();
    let result = of_seeds(Heading { machine, seed: first, command: &command, workload }, &runs);
    voice.say(|| broken(&text(&result), LEGEND))?;
    targets.write(&result)?;
    fault(&runs)?;
    voice.end(&stop)
}

/// Runs `workload` with each of `seeds`, as many side by side as there are threads for; those that end before `stop`.
fn of_all(
    session: &Session,
    machine: &Machine,
    workload: &dyn Run,
    (seeds, threads): (&[u64], u32),
    stop: &AtomicBool,
) -> Result<Vec<OfSeed>, Vec<Problem>> {
    let (_, beside) = session.dealt(seeds.len());
    let threads = (threads / beside as u32).max(1);
    let (line, started) = (Line::new(), Instant::now());
    let far = |over: usize| {
        let far = Far::of(over, seeds.len(), over as f64, started.elapsed());
        line.message(format!("{far}a point here is all of a seed"));
    };
    far(0);
    let mut runs = Vec::new();
    let measure = |&seed: &u64, _: &mut dyn FnMut(_)| {
        let session = Session::new(machine.clone(), seed, threads);
        workload.run(&session, stop, &mut |_| {})
    };
    let over = |place: usize, outcome: Result<Option<Vec<Measured>>, Vec<Problem>>| {
        if let Some(points) = outcome? {
            runs.push((seeds[place], points.into_iter().map(|point| point.value).collect()));
            far(runs.len());
        }
        Ok::<(), Vec<Problem>>(())
    };
    side_by_side(seeds, beside, stop, measure, |_, _| (), over)?;
    line.clear();
    Ok(runs)
}

/// The table of the spread, and what it means.
fn text(result: &Value) -> String {
    let spread = result["spread"].as_array().map_or(&[][..], Vec::as_slice);
    let mut table = bare_table(&["offered", "", "mean", "least", "most", "seeds"]);
    for entry in spread {
        let loads = offered([entry.get("offered_load"), entry.get("multicast_offered_load")]);
        let mut shown = of_graph(entry["graph"].as_str(), of_size(entry.get("size_bytes"), loads));
        for (path, heading) in QUANTITIES {
            let of = &entry["quantities"][path[1..].replace('/', ".")];
            let number = |key: &str| {
                let number = of.get(key)?.as_f64()?;
                Some(if heading.ends_with(" ns") { format!("{number:.1}") } else { load(number, 4) })
            };
            let (Some(mean), Some(least), Some(most)) = (number("mean"), number("min"), number("max")) else {
                continue;
            };
            let half = number("ci95").map_or_else(String::new, |half| format!(" +-{half}"));
            let seeds = of["count"].to_string();
            let offered = std::mem::take(&mut shown);
            table.add_row([offered, heading.to_owned(), format!("{mean}{half}"), least, most, seeds]);
        }
    }
    format!(
        "\n{table}\n\n+-: half of the 95 % interval of the mean over seeds; seeds: those that have the number{}",
        verdicts(spread)
    )
}

/// Of how many seeds a point is not steady.
fn verdicts(spread: &[Value]) -> String {
    let lines = spread.iter().filter_map(|entry| {
        let others = entry["verdicts"].as_object()?.iter().filter(|(verdict, _)| *verdict != "steady");
        let others: Vec<String> = others.map(|(verdict, count)| format!("{verdict} with {count}")).collect();
        let load = offered([entry.get("offered_load"), entry.get("multicast_offered_load")]);
        let of = if load.is_empty() { String::new() } else { format!("load {load}: ") };
        (!others.is_empty()).then(|| format!("\n{of}{} of {} seeds", others.join(", "), entry["seeds"]))
    });
    lines.collect()
}

/// What the simulation found to be wrong with one seed is a fault of the run.
fn fault(runs: &[OfSeed]) -> Result<(), Failure> {
    let loses = |point: &Value| {
        let lost = point.pointer("/faults/lost").and_then(Value::as_object);
        lost.is_some_and(|lost| lost.values().any(|count| count.as_u64() > Some(0)))
    };
    let is_fault = |point: &Value| {
        point.get("deadlock").is_some()
            || point.pointer("/graph/completed") == Some(&Value::Bool(false))
            || loses(point)
    };
    let Some((seed, points)) = runs.iter().find(|(_, points)| points.iter().any(is_fault)) else {
        return Ok(());
    };
    let what = if points.iter().any(loses) {
        "packets are lost for good"
    } else if points.iter().any(|point| point.get("graph").is_some()) {
        "the task graph cannot finish"
    } else {
        "packets wait for each other for ever"
    };
    Err(Failure::Fault(format!("fault: {what} with seed {seed}; run that alone: --seed {seed}")))
}
