//! `flitway`: arguments and rendering, nothing else.
//!
//! The way through a run, one function each:
//! machine file -> [`Machine`](flitway_machine::Machine) -> [`Session`](flitway_report::session::Session) (fabric and
//! workload) -> simulation -> point -> table, chart, JSON.
//!
//! Exit status: 0 done; 1 the simulation found a fault in the network or the graph; 2 wrong input, nothing run, or a result
//! that cannot be written; 130 interrupted.

mod args;
mod cabling;
mod channels;
mod chart;
mod check;
mod compare;
mod counters;
mod experiment;
mod explain;
mod export;
mod failure;
mod faults;
mod import;
mod inputs;
mod layout;
mod list;
mod output;
mod plot;
mod progress;
mod remarks;
mod report;
mod run;
mod seeds;
mod shell;
mod sources;
mod table;
mod task;
mod trace;
mod words;
mod workload;

use args::{Arguments, Command};
use clap::Parser;
use failure::Failure;
use mimalloc::MiMalloc;
use std::process::ExitCode;

/// What is large is in huge pages where the system gives them, and large networks wait less for page tables.
#[global_allocator]
static MEMORY: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    if let Err(failure) = args::all_text() {
        return output::fail(failure);
    }
    let arguments = Arguments::try_parse().unwrap_or_else(|error| args::refuse(error, output::complain));
    output::set_manner(arguments.manner);
    let done = match &arguments.command {
        Command::Run(run) => match run.seeds {
            Some(count) => seeds::run(run, count),
            None => run::run(run),
        },
        Command::Check(check) => check::check(check),
        Command::List(list) => list::list(list),
        Command::Explain(explain) => explain::explain(explain),
        Command::Compare(compare) => compare::compare(compare),
        Command::Import(arguments) => import::import(arguments),
        Command::Export(arguments) => export::export(arguments),
        Command::Completions(completions) => shell::completions(completions.shell),
        Command::Man(man) => shell::man(man.command.as_deref()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Silenced) => ExitCode::SUCCESS,
        Err(failure) => output::fail(failure),
    }
}
