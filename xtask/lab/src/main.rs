//! The developer tasks that need Flitway itself; `cargo xtask` builds and runs this program.
//!
//! It uses the crates as their users do and knows nothing of what is inside them.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line talks to the terminal")]

mod bench;
mod campaign;
mod files;
mod generate;
mod golden;
mod prove;

use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;
use std::process::ExitCode;

/// As that of `flitway`.
#[global_allocator]
static MEMORY: MiMalloc = MiMalloc;

#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", max_term_width = 110)]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Write the reference pages in docs and the options of Python from the tables in the code
    Gen(generate::Arguments),
    /// Compare the tables in tests/golden with what the simulator says today
    Golden(golden::Arguments),
    /// Measure speed and size on fixed fabrics, and small parts one by one
    Bench(bench::Arguments),
    /// Hold the fast engine against the reference on random cases for as long as asked
    Campaign(campaign::Arguments),
    /// Check all claims about the protocols of barriers and links in every state of small worlds
    Prove(prove::Arguments),
}

/// What a task came to; an error is a sentence for a person.
type Outcome<T = ()> = Result<T, String>;

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Task::Gen(arguments) => generate::run(&arguments),
        Task::Golden(arguments) => golden::run(&arguments),
        Task::Bench(arguments) => bench::run(&arguments),
        Task::Campaign(arguments) => campaign::run(&arguments),
        Task::Prove(arguments) => prove::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
