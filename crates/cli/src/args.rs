//! The arguments. Scripts depend on them.

use crate::failure::Failure;
use crate::workload::WorkloadArguments;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use flitway_experiment::{Overrides, WorkloadOptions};
use flitway_machine::schema::named;
use flitway_machine::{Dimension, printable, show};

/// Simulates HPC interconnection networks exactly, at the cost of packets.
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 110)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) manner: MannerArguments,
}

/// How any command talks.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct MannerArguments {
    /// Colours of messages: on a terminal that can show them (auto), always or never
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    /// Print no text: only what is asked for with `-`, and errors
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Also tell what a simulation cost: events, packet-hops, seconds
    #[arg(long, short, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Show no line of progress
    #[arg(long, global = true)]
    pub(crate) no_progress: bool,
}

/// When messages have colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a workload on a machine, or an experiment
    Run(Box<RunArguments>),
    /// Check a machine and tell what follows from it: all problems at once, or sizes, distances, latencies, whether it can
    /// deadlock, how busy its channels will be
    Check(CheckArguments),
    /// List machines, experiments, traffic, packet sizes, arrivals, switch architectures and NICs
    List(ListArguments),
    /// Explain a setting (`switch.vcs`), a table (`switch.credit`), a name (`torus`, `tornado`, `dawning5000`), a word of the
    /// output (`saturated`), a source (`OQ-Q12`, `P-HP-007`) or a code
    Explain(ExplainArguments),
    /// Compare results, or results of experiments, point by point
    Compare(CompareArguments),
    /// Import a fabric that others have described: the output of ibnetdiscover, with the tables of OpenSM, and more formats
    Import(ImportArguments),
    /// Write the fabric of a machine for other programs: Graphviz, GraphML, Slurm
    Export(ExportArguments),
    /// Print the completions of a shell, with the names of machines and the paths of settings
    Completions(CompletionsArguments),
    /// Print the man page, of a command if one is named, as roff for `man -l -`
    Man(ManArguments),
}

/// A machine.
#[derive(Args, Debug)]
pub(crate) struct MachineArguments {
    /// A built-in name (see `flitway list`), a path to a machine file, or `-` for one from standard input
    pub(crate) machine: String,
    /// Override a setting of the machine file, as often as needed
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct RunArguments {
    /// A built-in name (see `flitway list`), a path to a machine file, or `-` for one from standard input
    #[arg(required_unless_present = "experiment")]
    pub(crate) machine: Option<String>,
    /// Override a setting of the machine file, as often as needed
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) workload: WorkloadArguments,
    #[command(flatten)]
    pub(crate) experiment: ExperimentArguments,
    /// Seed of every random choice; 1 unless given
    #[arg(long, help_heading = OF_ANY_RUN, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    pub(crate) seed: Option<u64>,
    /// Run everything with so many seeds, from --seed on, and show how far each number is from seed to seed: its mean with
    /// half of the 95 % interval, the least and the most
    #[arg(long, help_heading = OF_ANY_RUN, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=10_000), conflicts_with_all = ["report", "trace"])]
    pub(crate) seeds: Option<u32>,
    /// Threads; the result does not depend on them. An experiment, or a sweep on a small machine, runs so many points side by
    /// side
    #[arg(long, help_heading = OF_ANY_RUN, default_value_t = 1, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) threads: u32,
    /// Write the result as JSON to a file, or to standard output with `-` (then nothing else is printed there)
    #[arg(long, help_heading = OF_ANY_RUN, value_name = "FILE")]
    pub(crate) json: Option<String>,
    /// Write the points as Parquet, a row for each, to a file, or to standard output with `-`
    #[arg(long, help_heading = OF_ANY_RUN, value_name = "FILE")]
    pub(crate) parquet: Option<String>,
    /// Write the points as CSV, a row for each, to a file, or to standard output with `-`
    #[arg(long, help_heading = OF_ANY_RUN, value_name = "FILE")]
    pub(crate) csv: Option<String>,
    /// Write a report page: one HTML file to look at, to print, to send. Each point of a run is run twice for it. Not for
    /// a train without a task graph
    #[arg(long, help_heading = OF_ANY_RUN, value_name = "FILE.html")]
    pub(crate) report: Option<String>,
    /// Write what happened to chosen packets of the last point as a trace, for Perfetto or Chrome's own viewer. Not for a
    /// train without a task graph
    #[arg(long, help_heading = OF_ANY_RUN, value_name = "FILE")]
    pub(crate) trace: Option<String>,
    /// Of what: the slowest packets (slowest), all packets that nodes send (nodes(0+4-7)), or all that cross switches
    /// (switches(0+1))
    #[arg(long, help_heading = OF_ANY_RUN, value_name = "WHAT", default_value = "slowest", requires = "trace")]
    pub(crate) trace_of: String,
    /// Write what the statistic registers of every port and virtual channel count, as CSV: packets, flits, cycles without
    /// credit, refused, lost, table misses. Each run is made a second time for it. Not for trains
    #[arg(long, help_heading = OF_ANY_RUN, value_name = "FILE", conflicts_with = "train")]
    pub(crate) counters: Option<String>,
    /// Read the registers every so often (10us), not at the end alone
    #[arg(long, help_heading = OF_ANY_RUN, value_name = "TIME", requires = "counters")]
    pub(crate) every: Option<String>,
}

impl RunArguments {
    /// Whether more is to be seen of the points than their results.
    pub(crate) fn has_details(&self) -> bool {
        self.views().iter().any(|(_, is_given)| *is_given)
    }

    /// What can be seen of them beyond those, and whether it is asked for.
    pub(crate) fn views(&self) -> [(&'static str, bool); 3] {
        let given = [self.report.is_some(), self.trace.is_some(), self.counters.is_some()];
        [("report", given[0]), ("trace", given[1]), ("counters", given[2])]
    }
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

/// What any run takes.
const OF_ANY_RUN: &str = "Any run";

/// What an experiment says itself, and so nobody else does.
fn of_a_run() -> impl Iterator<Item = &'static str> {
    let options = WorkloadOptions::names().iter().copied().filter(|name| !Overrides::OPTIONS.contains(name));
    ["machine", "seeds", "trace", "counters", "every"].into_iter().chain(options)
}

/// An experiment.
#[derive(Args, Debug)]
#[command(next_help_heading = "Experiment")]
pub(crate) struct ExperimentArguments {
    /// Run everything that an experiment file says, or a built-in experiment (see `flitway list`). Only --set, --seed,
    /// --precision, --duration, --threads, --json, --parquet, --csv, --report and --out go with it
    #[arg(long, value_name = "NAME|FILE", conflicts_with_all = of_a_run())]
    pub(crate) experiment: Option<String>,
    /// Folder for the data of its plots and for finished points, which a second run finds there; results/NAME unless given
    #[arg(long, value_name = "FOLDER", requires = "experiment", conflicts_with_all = of_a_run())]
    pub(crate) out: Option<String>,
}

impl RunArguments {
    /// The seed.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }
}

#[derive(Args, Debug)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) machine: MachineArguments,
    /// Payload of the packets whose zero-load latency is shown: 256B, or the MTU if that is less, unless given
    #[arg(long, value_name = "SIZE")]
    pub(crate) packet: Option<String>,
    /// Traffic whose load of each channel is shown: uniform (unless given), transpose, ... (see `flitway list`)
    #[arg(long, value_name = "PATTERN")]
    pub(crate) traffic: Option<String>,
    /// Packets of a node that may be under way without their replies, with a pattern such as `uniform(reply=64B)`
    #[arg(long, value_name = "N")]
    pub(crate) outstanding: Option<String>,
    /// Write the facts as JSON to a file, or to standard output with `-`
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<String>,
    /// End with status 1 if the machine can deadlock, if a VC alone cannot keep its longest link busy, or if there is any
    /// warning
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub(crate) deny: Vec<Deny>,
}

/// What is a fault for `flitway check --deny`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Deny {
    Deadlock,
    Credits,
    Warnings,
}

#[derive(Args, Debug)]
pub(crate) struct ListArguments {
    /// Only this: machines, experiments, traffic, sizes, arrivals, architectures or nics
    #[arg(value_name = "WHAT")]
    pub(crate) what: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct ExplainArguments {
    /// A setting, a table of settings, anything that `flitway list` names, an option of `flitway run`, a word, phrase or field
    /// of results, a design value or an open question that a source names, or an error code
    #[arg(value_name = "PATH|NAME|WORD|CODE", allow_hyphen_values = true, required = true)]
    pub(crate) topic: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct CompletionsArguments {
    /// Of which shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub(crate) struct ManArguments {
    /// Of which command
    pub(crate) command: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct CompareArguments {
    /// Results of `flitway run --json`, or of experiments: the first one, and those that are held against it
    #[arg(required = true, num_args = 2.., value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// Write the comparison as JSON to a file, or to standard output with `-` (then nothing else is printed there)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct ImportArguments {
    /// Descriptions of the fabric, several if it falls apart into networks
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// Forwarding tables of it, as `dump_lfts.sh`, `ibroute` and OpenSM print them; and service levels: `opensm-sl2vl.dump`,
    /// `opensm-path-records.dump`, paths for `ibdmchk`
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) tables: Vec<String>,
    /// Where the files go: a folder, or how they begin (`mine/fabric` for mine/fabric.toml, mine/fabric.graph)
    #[arg(long, value_name = "FOLDER|PREFIX")]
    pub(crate) out: String,
    /// The format of the descriptions, where their content does not tell: ibnetdiscover (also for ibsim), booksim, edges,
    /// slurm, graphml
    #[arg(long, value_name = "NAME")]
    pub(crate) format: Option<String>,
    /// Nodes that each switch has, where a list of edges or GraphML names none; else vertices with one edge are nodes
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=63))]
    pub(crate) nodes_per_switch: Option<u32>,
}

#[derive(Args, Debug)]
pub(crate) struct ExportArguments {
    #[command(flatten)]
    pub(crate) machine: MachineArguments,
    /// What to write: dot (Graphviz), graphml, slurm (`topology.conf`). Of several rails one is written: all are alike
    #[arg(long, value_name = "NAME")]
    pub(crate) format: String,
    /// Where it goes: a file, or standard output with `-`
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) out: String,
}

/// Ends the process with what is wrong with the arguments, or with the help that they ask for. `complain` prints harmlessly.
#[expect(clippy::exit, reason = "as clap ends the process itself")]
pub(crate) fn refuse(mut error: clap::Error, complain: fn(&str)) -> ! {
    let arguments: Vec<String> = std::env::args().collect();
    let tip = torn_quantity(&arguments)
        .map(|quantity| format!("a value of two words is put in quotes: '{quantity}'"))
        .or_else(|| torn_override(&arguments))
        .or_else(|| option_of_another_command(&error))
        .or_else(|| machine_of_an_experiment(&error));
    if let Some(tip) = tip.filter(|_| error.use_stderr()) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    }
    let text = error.render().to_string();
    // What is not of clap alone may hold anything.
    if printable(&text) != text {
        complain(text.trim_end());
        std::process::exit(error.exit_code());
    }
    error.exit()
}

/// What to write for an override without `=`, as in `--set rails 2`.
fn torn_override(arguments: &[String]) -> Option<String> {
    let torn = arguments.windows(3).find(|three| {
        three[0] == "--set" && named(&three[1]).next().is_some() && !three[2].starts_with('-')
    })?;
    Some(format!("an override has a `=`: --set {}={}", torn[1], torn[2]))
}

/// Refuses an argument that is not UTF-8: results repeat their command, and JSON is UTF-8.
pub(crate) fn all_text() -> Result<(), Failure> {
    let Some(wrong) = std::env::args_os().find(|argument| argument.to_str().is_none()) else { return Ok(()) };
    let message = format!("the argument `{}` is not UTF-8 text", show(&wrong.to_string_lossy()));
    let help = "rename the file, or make a link to it: `ln -s FILE name`";
    Err(Failure::input(message, Some(help.to_owned())))
}

/// That an experiment says itself what it runs on.
fn machine_of_an_experiment(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidArg) else { return None };
    let is_machine = error.kind() == ErrorKind::ArgumentConflict && wrong == "[MACHINE]";
    is_machine.then(|| "an experiment names its machines itself: leave the machine out".to_owned())
}

/// Whose option it is that the command does not take.
fn option_of_another_command(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidArg) else { return None };
    let name = wrong.strip_prefix("--").filter(|_| error.kind() == ErrorKind::UnknownArgument)?;
    let arguments = Arguments::command();
    let mut commands = arguments.get_subcommands();
    let takes = |command: &&clap::Command| command.get_arguments().any(|it| it.get_long() == Some(name));
    let owner = commands.find(takes)?.get_name();
    Some(format!("`{wrong}` is an option of `flitway {owner}`"))
}

/// What the help of `flitway run` says of an option, named with or without hyphens before it.
pub(crate) fn explained(name: &str) -> Option<String> {
    let name = name.trim_start_matches('-');
    let arguments = Arguments::command();
    let run = arguments.find_subcommand("run")?;
    let option = run.get_arguments().find(|it| it.get_long() == Some(name))?;
    let values = option.get_value_names().unwrap_or_default().iter().map(|value| format!(" {value}"));
    let values = values.collect::<String>();
    Some(format!("--{name}{values} (option of `flitway run`): {}", option.get_help()?))
}

/// A quantity that a shell has torn in two, as in `--duration 5 us`.
fn torn_quantity(arguments: &[String]) -> Option<String> {
    let is_unit = |text: &str| {
        Dimension::ALL.iter().flat_map(|dimension| dimension.units()).any(|unit| unit.symbol == text)
    };
    let torn = arguments
        .windows(2)
        .find(|two| two[0].ends_with(|last: char| last.is_ascii_digit()) && is_unit(&two[1]))?;
    Some(torn.join(" "))
}
