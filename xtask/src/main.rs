//! `cargo xtask COMMAND`: every developer task as one command. CI runs the same ones.
//!
//! This program knows **no** crate of Flitway, so it builds in seconds and works while they do not compile. What needs
//! Flitway itself (`gen`, `golden`, `bench`, `campaign`, `prove`) is the package `lab/`, run from here.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line talks to the terminal")]

mod commands;
mod dist;
mod gate;
mod python;
mod run;
mod tidy;

use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::process::ExitCode;

/// Every developer task of Flitway as one command.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", max_term_width = 110)]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Check format, lints and documentation: rustfmt, Clippy and rustdoc with warnings denied
    Check,
    /// Run all tests: unit, conformance, property, differential, command line, documentation
    Test(TestArguments),
    /// Check what the compiler does not: sizes, words, promises, sources, manifests; in less than a second
    Tidy,
    /// Write the reference pages in docs and the options of Python from the tables in the code; --check: are they current?
    #[command(disable_help_flag = true)]
    Gen(LabArguments),
    /// Compare the tables in tests/golden with what the simulator says today; --accept: write them
    #[command(disable_help_flag = true)]
    Golden(LabArguments),
    /// Measure speed and size on fixed fabrics, and small parts one by one; --against: compare with another program
    #[command(disable_help_flag = true)]
    Bench(LabArguments),
    /// Hold the fast engine against the reference on random cases for as long as asked
    #[command(disable_help_flag = true)]
    Campaign(LabArguments),
    /// Check all claims about the protocols of barriers and links in every state of small worlds, the large ones too
    #[command(disable_help_flag = true)]
    Prove(LabArguments),
    /// Feed the readers of machine files, experiment files and task graphs with damaged text for as long as asked
    Fuzz(FuzzArguments),
    /// Check licences, sources and duplicates of what is built in (deny.toml); needs cargo-deny
    Deny,
    /// Compare the instructions of small runs with those accepted; needs valgrind
    Gate(GateArguments),
    /// Build the Python package into an environment under target/, check its types and run its tests; needs Python 3.11
    Py(PyArguments),
    /// Build what is handed out, the stripped program and the wheel, into target/dist, and try both; takes minutes
    Dist,
    /// Everything that must pass before a change lands: check, tidy, gen --check, golden, test,
    /// a campaign of today, gate, py
    Ci,
}

#[derive(Args, Debug)]
struct TestArguments {
    /// Passed to `cargo test`: a package (-p flitway-fabric), a name, ...
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    rest: Vec<OsString>,
}

#[derive(Args, Debug)]
struct LabArguments {
    /// Passed on; --help tells
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    rest: Vec<OsString>,
}

#[derive(Args, Debug)]
struct PyArguments {
    /// Passed to pytest: a file, -k NAME, ...
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    rest: Vec<OsString>,
}

#[derive(Args, Debug)]
struct GateArguments {
    /// Accept what is measured
    #[arg(long)]
    accept: bool,
}

#[derive(Args, Debug)]
struct FuzzArguments {
    /// Seconds for each reader
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u32,
    /// Let libFuzzer guide the damage by coverage; needs cargo-fuzz
    #[arg(long)]
    coverage: bool,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Task::Check => commands::check(),
        Task::Test(arguments) => commands::test(&arguments.rest),
        Task::Tidy => tidy::run(),
        Task::Gen(arguments) => commands::lab("gen", &arguments.rest),
        Task::Golden(arguments) => commands::lab("golden", &arguments.rest),
        Task::Bench(arguments) => commands::lab("bench", &arguments.rest),
        Task::Campaign(arguments) => commands::lab("campaign", &arguments.rest),
        Task::Prove(arguments) => commands::lab("prove", &arguments.rest),
        Task::Fuzz(arguments) => commands::fuzz(arguments.seconds, arguments.coverage),
        Task::Deny => commands::deny(),
        Task::Gate(arguments) => gate::gate(arguments.accept),
        Task::Py(arguments) => python::py(&arguments.rest),
        Task::Dist => dist::dist(),
        Task::Ci => commands::ci(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("\nxtask: {message}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent_and_every_command_says_what_it_does() {
        let command = Arguments::command();
        command.clone().debug_assert();
        for task in command.get_subcommands() {
            assert!(task.get_about().is_some(), "{}", task.get_name());
        }
    }

    #[test]
    fn what_follows_a_lab_command_is_passed_on_as_it_is() {
        let arguments =
            Arguments::try_parse_from(["xtask", "bench", "--quick", "--json", "-", "--help"]).unwrap();
        let Task::Bench(lab) = arguments.command else { panic!("bench") };
        assert_eq!(lab.rest, ["--quick", "--json", "-", "--help"]);
    }
}
