//! The workload: what was asked for, as text, becomes a checked [`Workload`] that a session can run.
//!
//! There is one way in for the command line, for experiment files and for programs: [`WorkloadOptions`], text as a
//! person writes it. Which kind of workload is meant follows from the options that are given. A kind is one file here: a
//! [`Kind`] (what asks for it, its check, what it measures) and a type that implements [`Described`] and [`Tasks`]; beside
//! that a line in `kinds!`, and the rows of its options in [`option`].

pub mod barrier;
pub mod beside;
mod broken;
pub mod graph;
mod kind;
pub(crate) mod load;
pub mod mix;
pub mod multicast;
pub mod nic;
pub mod option;
pub mod run;
pub mod together;
pub mod traffic;
pub mod train;
mod written;

use flitway_engine::{Clock, Cycle};
use flitway_machine::{Machine, nearest, units};
use std::path::{Path, PathBuf};

pub use barrier::BarrierWorkload;
pub use graph::{GraphFiles, GraphWorkload};
pub use kind::Kind;
pub use load::Load;
pub use mix::MixWorkload;
pub use multicast::MulticastWorkload;
pub use nic::NicWorkload;
pub use option::{WorkloadOption, WorkloadOptions, argument};
pub use run::{Described, Measured, Outcome, Run, Step, Tasks, Tell};
pub use together::TogetherWorkload;
pub use traffic::TrafficWorkload;
pub use train::TrainWorkload;
pub use written::Written;

impl WorkloadOptions {
    /// The files that they name, each with its option.
    #[must_use]
    pub fn files(&self) -> Vec<(&'static str, PathBuf)> {
        let mut files = traffic::files(self);
        files.extend(graph::files(self));
        files.extend(nic::files(self));
        files
    }

    /// The same options with paths that begin in `folder`, for another current directory.
    #[must_use]
    pub fn within(mut self, folder: &Path) -> Self {
        traffic::place_files(&mut self, folder);
        graph::place_files(&mut self, folder);
        nic::place_files(&mut self, folder);
        self
    }
}

impl From<Problem> for Vec<Problem> {
    fn from(problem: Problem) -> Self {
        vec![problem]
    }
}

/// What is wrong with an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The option.
    pub option: &'static str,
    /// What is wrong with it.
    pub message: String,
    /// The likely fix.
    pub help: Option<String>,
    /// The mistakes of a file that it names, drawn; they say all that the message says.
    pub picture: Option<String>,
}

impl Problem {
    /// What is wrong with `option`, in a sentence.
    #[must_use]
    pub fn new(option: &'static str, message: impl Into<String>) -> Self {
        Problem { option, message: message.into(), help: None, picture: None }
    }

    /// Adds the likely fix.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        Problem { help: Some(help.into()), ..self }
    }

    /// The option as the command line has it: `--warm-up`.
    #[must_use]
    pub fn argument(&self) -> String {
        argument(self.option)
    }
}

/// `problem` blames an option that nobody has given: then the option that asks for this kind of workload is told, and what the
/// other is unless given.
fn blame_what_is_given(problem: Problem, written: &Written, selector: &'static str) -> Problem {
    if problem.option == selector || written.is_given(problem.option) {
        return problem;
    }
    let unless = format!(
        "{} (unless given, {} is `{}`)",
        problem.message,
        problem.argument(),
        written.text(problem.option)
    );
    Problem { option: selector, message: unless, ..problem }
}

/// The row of `table` that `text` names.
fn named<T: Copy>(
    option: &'static str,
    text: &str,
    table: &'static [(&'static str, T, &'static str)],
    problems: &mut Vec<Problem>,
) -> Option<T> {
    let found = table.iter().find(|(name, ..)| *name == text).map(|row| row.1);
    if found.is_none() {
        let names: Vec<&str> = table.iter().map(|row| row.0).collect();
        let problem = Problem::new(option, format!("`{text}`: expected one of {}", names.join(", ")));
        let meant = nearest(text, names).map(|name| format!("did you mean `{name}`?"));
        problems.push(Problem { help: meant, ..problem });
    }
    found
}

/// The time of an option, in cycles.
fn time(
    option: &'static str,
    text: &str,
    around: &Surroundings<'_>,
    problems: &mut Vec<Problem>,
) -> Option<Cycle> {
    match units::time(text) {
        Ok(span) => Some(around.clock.cycles_ceil(span)),
        Err(error) => {
            let problem = Problem::new(option, format!("{error}: expected {}", error.expectation()));
            problems.push(Problem { help: error.help(), ..problem });
            None
        }
    }
}

/// An option that is true or false; false unless given.
fn flag(options: &WorkloadOptions, option: &'static str, problems: &mut Vec<Problem>) -> Option<bool> {
    match options.get(option).unwrap_or("false") {
        "true" => Some(true),
        "false" => Some(false),
        other => {
            problems.push(Problem::new(option, format!("`{other}`: expected `true` or `false`")));
            None
        }
    }
}

/// `a`, `a and b`, `a, b and c`.
fn listed(items: impl Iterator<Item = String>, last: &str) -> String {
    let items: Vec<String> = items.collect();
    match &items[..] {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}

/// What a workload is checked against. Whether it fits the machine is asked later, by [`Run::fit`].
#[derive(Debug)]
pub struct Surroundings<'a> {
    /// The clock of the machine, in whose cycles times are.
    pub clock: Clock,
    /// The largest payload of a packet of the machine, in bytes.
    pub mtu_bytes: u32,
    /// The task graphs read so far.
    pub graphs: &'a GraphFiles,
}

impl<'a> Surroundings<'a> {
    /// Those of `machine`.
    #[must_use]
    pub fn of(machine: &Machine, graphs: &'a GraphFiles) -> Self {
        Surroundings { clock: machine.clock, mtu_bytes: machine.packet.mtu_bytes, graphs }
    }
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $name:ident: $module:ident::$workload:ident;)*) => {
        /// The kinds of workload, as the table of options names them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum KindId {
            $($(#[doc = $doc])+ $name,)*
        }

        /// A checked workload.
        #[derive(Clone, Debug)]
        pub enum Workload {
            $($(#[doc = $doc])+ $name(Box<$module::$workload>),)*
        }

        /// The kinds, in the order in which it is asked which is meant.
        static KINDS: &[Kind] = &[$($module::KIND),*];

        impl Workload {
            /// What every kind can do.
            #[must_use]
            pub fn as_run(&self) -> &dyn Run {
                match self {
                    $(Workload::$name(workload) => &**workload,)*
                }
            }
        }
    };
}

// Those that more options ask for come first. Synthetic traffic is last: it is meant where nothing else is asked for.
kinds! {
    /// Task graphs and a train beside others.
    Mix: mix::MixWorkload;
    /// Task graphs.
    Graph: graph::GraphWorkload;
    /// Multicast operations and barriers.
    Together: together::TogetherWorkload;
    /// Multicast operations.
    Multicast: multicast::MulticastWorkload;
    /// Barriers.
    Barrier: barrier::BarrierWorkload;
    /// Operations of NICs.
    Nic: nic::NicWorkload;
    /// A train of packets.
    Train: train::TrainWorkload;
    /// Synthetic traffic.
    Traffic: traffic::TrafficWorkload;
}

impl Workload {
    /// Checks `options`.
    ///
    /// # Errors
    /// All that is wrong with them.
    pub fn check(
        options: &WorkloadOptions,
        surroundings: &Surroundings<'_>,
    ) -> Result<Workload, Vec<Problem>> {
        let options = &options.fitted(surroundings.mtu_bytes);
        let kind = Kind::of(options);
        let given = options.given().map(|(name, _)| name);
        let misplaced: Vec<Problem> =
            given.filter(|name| !kind.takes(name)).map(|name| kind.misplaced(name)).collect();
        let checked = (kind.check)(options, surroundings);
        match checked {
            Ok(workload) if misplaced.is_empty() => Ok(workload),
            Ok(_) => Err(misplaced),
            Err(problems) => Err([misplaced, problems].concat()),
        }
    }
}
