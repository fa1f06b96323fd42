//! `bench`: speed and size on fixed fabrics, on the way that users take; small parts one by one; and a comparison with
//! another program.
//!
//! Times are processor times, medians of several stretches of one run. They are for comparison on one machine: a claim
//! needs both sides measured in one run.

mod against;
mod case;
mod clock;
mod host;
mod measure;
mod micro;

use crate::Outcome;
use against::Opponent;
use case::{Case, Selection, cases};
use host::Host;
use measure::{Effort, Measured};
use micro::Part;
use serde_json::{Value, json};

#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Fewer cases and shorter ones: an idea in half a minute
    #[arg(long)]
    quick: bool,
    /// Only fabrics of so many nodes: 64, 512, 1024, 4096, 17576
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    nodes: Vec<u32>,
    /// Only packets of so many flits, header and trailer included: 32, 128, 512 (and 1 on the mesh)
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    flits: Vec<u32>,
    /// These loads instead of 0.1, 0.3, 0.6 and 0.9
    #[arg(long, value_name = "LOAD,...", value_delimiter = ',', value_parser = percent)]
    load: Vec<u64>,
    /// Measure with so many threads beside one, and print how many times faster they are
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: u32,
    /// Write the result as JSON to a file, or to standard output with `-`
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Run another program on the same workload, in turns with ours, and print the ratio of processor times; {nodes},
    /// {flits}, {load}, {cycles} and {seed} in it are replaced
    #[arg(long, value_name = "COMMAND")]
    against: Option<String>,
    /// Cycles that both simulate
    #[arg(long, value_name = "N", default_value_t = 100_000, requires = "against")]
    cycles: u64,
    /// Simulate the one selected case for so many cycles and nothing else
    #[arg(long, value_name = "CYCLES", hide = true)]
    simulate: Option<u64>,
}

/// A load such as `0.6`, in whole percent.
fn percent(text: &str) -> Result<u64, String> {
    let load: f64 = text.parse().map_err(|_| "expected a number such as 0.6".to_owned())?;
    let percent = (load * 100.0).round();
    let is_whole = (percent - load * 100.0).abs() < 1e-6;
    if is_whole && (1.0..=100.0).contains(&percent) {
        Ok(percent as u64)
    } else {
        Err("expected whole hundredths from 0.01 to 1".to_owned())
    }
}

const FULL: Effort = Effort { repeats: 5, packet_hops: 1_000_000.0 };
const QUICK: Effort = Effort { repeats: 3, packet_hops: 300_000.0 };

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let (nodes, flits, loads) = (arguments.nodes.clone(), arguments.flits.clone(), arguments.load.clone());
    let cases = cases(&Selection { nodes, flits, loads, quick: arguments.quick });
    if cases.is_empty() {
        return Err("no case is selected; leave out --nodes, --flits or --quick".to_owned());
    }
    if let Some(cycles) = arguments.simulate {
        let hops: Outcome<Vec<u64>> = cases.iter().map(|&case| measure::simulate(case, cycles)).collect();
        println!("{} packet-hops", hops?.iter().sum::<u64>());
        return Ok(());
    }
    let host = Host::look();
    host.print();
    let result = match &arguments.against {
        Some(template) => comparison(&cases, arguments, template)?,
        None => measurement(&cases, arguments)?,
    };
    write_json(arguments.json.as_deref(), &host, result)
}

fn measurement(cases: &[Case], arguments: &Arguments) -> Outcome<Value> {
    let effort = if arguments.quick { QUICK } else { FULL };
    println!(
        "HPP Switches of 3 VCs x 4 KiB, links of 13 cycles, one rail, uniform Bernoulli traffic; mesh: 2 VCs x 8 flits,\n\
         links of 1 cycle. Flits include header (4) and trailer (1), on the mesh none. One thread, processor time,\n\
         median of {} stretches of {} packet-hops. Accepted below offered: saturated. p-hop: packet-hop.",
        effort.repeats, effort.packet_hops
    );
    if arguments.threads > 1 {
        println!("Speed-up: {} threads against one by the clock on the wall, in turns.", arguments.threads);
    }
    Measured::print_head();
    let mut measured = Vec::new();
    for &case in cases {
        let result = measure::measure(case, effort, arguments.threads)?;
        result.print();
        measured.push(result.to_json());
    }
    Part::print_head();
    let parts = micro::measure();
    parts.iter().for_each(Part::print);
    Ok(json!({ "cases": measured, "parts": parts.iter().map(Part::to_json).collect::<Vec<_>>() }))
}

fn comparison(cases: &[Case], arguments: &Arguments, template: &str) -> Outcome<Value> {
    let pairs = if arguments.quick { QUICK.repeats } else { FULL.repeats };
    let opponent = Opponent { template, cycles: arguments.cycles, pairs };
    let compared: Outcome<Vec<Value>> = cases.iter().map(|&case| against::compare(case, opponent)).collect();
    Ok(json!({ "comparisons": compared? }))
}

fn write_json(target: Option<&str>, host: &Host, result: Value) -> Outcome {
    let Some(target) = target else { return Ok(()) };
    let mut object = json!({ "schema": "flitway/bench/1", "host": host.to_json() });
    if let (Value::Object(object), Value::Object(result)) = (&mut object, result) {
        object.extend(result);
    }
    let text = format!("{object:#}\n");
    if target == "-" {
        print!("{text}");
        return Ok(());
    }
    std::fs::write(target, text).map_err(|error| format!("{target} cannot be written: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_whole_hundredths() {
        assert_eq!(percent("0.6"), Ok(60));
        assert_eq!(percent("0.07"), Ok(7));
        assert!(percent("0.123").is_err() && percent("0").is_err() && percent("1.1").is_err());
    }

    #[test]
    fn a_short_measurement_comes_to_numbers() {
        let case = case::cases(&Selection { quick: true, ..Selection::default() })[2];
        let result = measure::measure(case, Effort { repeats: 1, packet_hops: 2_000.0 }, 2).unwrap();
        assert!(result.nanos[0] > 0.0 && result.events_per_packet_hop >= 1.0 && result.bytes_per_port > 0);
        assert!((result.accepted - case.offered()).abs() < 0.05, "{}", result.accepted);
        assert!(measure::simulate(case, 5_000).unwrap() > 0);
    }
}
