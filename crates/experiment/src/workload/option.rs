//! The options of workloads, as data. From this one table come the command line with its help, the keys of experiment
//! files, the arguments of the Python package and `docs/workload-options.md`.
//!
//! A new option is a row here, and the code that uses it; `cargo xtask gen` brings the rest up to date.

use super::KindId::{self, Barrier, Graph, Mix, Multicast, Together, Traffic, Train};

/// What an option is about: a section of the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Synthetic traffic, and how long to measure.
    Traffic,
    /// Multicast operations.
    Multicast,
    /// Barriers.
    Barrier,
    /// A train of packets.
    Train,
    /// Task graphs.
    Graph,
}

impl Part {
    /// All of them, in the order of the help.
    pub const ALL: [Part; 5] = [Part::Traffic, Part::Multicast, Part::Barrier, Part::Train, Part::Graph];

    /// The heading of its section.
    #[must_use]
    pub fn heading(self) -> &'static str {
        match self {
            Part::Traffic => "Synthetic traffic",
            Part::Multicast => "Multicast (beside synthetic traffic, if a --load is given)",
            Part::Barrier => {
                "Barriers (--traffic, --packet, --arrival and --load then say what runs beside them)"
            }
            Part::Train => "Train (--packet says how large)",
            Part::Graph => "Task graph",
        }
    }
}

/// What kind of value an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Text in a syntax of its own, for which this word stands in the help.
    Text(&'static str),
    /// A file, or a word instead of one; this stands for it in the help.
    File(&'static str),
    /// Loads: fractions, ranges or `max`. They are what a run sweeps, a point for each.
    Loads,
    /// A fraction.
    Fraction,
    /// A size with its unit.
    Size,
    /// A time with its unit.
    Time,
    /// A whole number.
    Count,
    /// None: the option is there or not.
    Flag,
}

/// An option of workloads.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadOption {
    /// Its key in experiment files and Python; the command line has `-` for `_`.
    pub name: &'static str,
    /// What it is about.
    pub part: Part,
    /// What it takes.
    pub value: Value,
    /// What joins its values to one text, where it can be given several times.
    pub separator: Option<&'static str>,
    /// The kinds of workload that take it.
    pub kinds: &'static [KindId],
    /// What it is unless given; nothing if it then has no effect, or follows from others.
    pub default: Option<&'static str>,
    /// The help, in which `{}` stands for the default.
    help: &'static str,
}

impl WorkloadOption {
    /// What it says in the help.
    #[must_use]
    pub fn help(&self) -> String {
        self.help.replace("{}", self.default.unwrap_or_default())
    }

    /// The option as the command line has it: `--warm-up`.
    #[must_use]
    pub fn argument(&self) -> String {
        argument(self.name)
    }

    /// Whether some kind of workload takes both.
    #[must_use]
    pub fn goes_with(&self, other: &WorkloadOption) -> bool {
        self.kinds.iter().any(|kind| other.kinds.contains(kind))
    }
}

/// An option as the command line has it.
#[must_use]
pub fn argument(option: &str) -> String {
    format!("--{}", option.replace('_', "-"))
}

/// Kinds that are measured until the numbers are precise.
const MEASURED: &[KindId] = &[Traffic, Multicast, Barrier, Together];

/// Kinds beside which synthetic traffic can run, and that itself.
const WITH_TRAFFIC: &[KindId] = &[Traffic, Multicast, Barrier, Together, Mix];

/// What joins values of which none has two lines.
const LINES: Option<&str> = Some("\n");

macro_rules! options {
    ($($name:ident { $($row:tt)* })*) => {
        /// The options of a workload as they are written: `--warm-up 5us` is `warm_up` with the text `5us`.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct WorkloadOptions {
            $(
                #[doc = concat!("The text of `", stringify!($name), "`, if it is given.")]
                pub $name: Option<String>,
            )*
        }

        impl WorkloadOptions {
            /// Every option.
            pub const TABLE: &'static [WorkloadOption] = &[$(WorkloadOption {
                name: stringify!($name),
                $($row)*
            }),*];

            /// The name of every option.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// The text given for the option `name`.
            #[must_use]
            pub fn get(&self, name: &str) -> Option<&str> {
                match name {
                    $(stringify!($name) => self.$name.as_deref(),)*
                    _ => None,
                }
            }

            /// Gives `text` for the option `name`; false if there is no such option.
            pub fn set(&mut self, name: &str, text: String) -> bool {
                match name {
                    $(stringify!($name) => self.$name = Some(text),)*
                    _ => return false,
                }
                true
            }
        }
    };
}

options! {
    traffic {
        part: Part::Traffic, value: Value::Text("PATTERN"), separator: None, kinds: WITH_TRAFFIC,
        default: Some("uniform"),
        help: "To whom: {} (unless given), transpose, hotspot(nodes=0+5, fraction=10%), ... (see `flitway list`)",
    }
    packet {
        part: Part::Traffic, value: Value::Size, separator: None,
        kinds: &[Traffic, Multicast, Barrier, Together, Train, Mix],
        default: Some("256B"),
        help: "How large: {} (unless given), bimodal(64B, 1KiB, 20%), range(8B, 1KiB), file(sizes.txt)",
    }
    arrival {
        part: Part::Traffic, value: Value::Text("ARRIVAL"), separator: None, kinds: WITH_TRAFFIC,
        default: Some("bernoulli"),
        help: "When: {} (unless given), exponential, bursts(...), periodic, saturating",
    }
    load {
        part: Part::Traffic, value: Value::Loads, separator: None, kinds: WITH_TRAFFIC,
        default: Some("0.1..0.9:0.1"),
        help: "Offered load as a fraction of a node's injection rate: one (0.3), a range ({}, unless given), \
               several of both (0.1,0.3..0.9:0.2) or `max` (sources that always have a packet)",
    }
    precision {
        part: Part::Traffic, value: Value::Fraction, separator: None, kinds: MEASURED,
        default: Some("2%"),
        help: "Run each point until the 95 % confidence interval of the mean latency is this narrow (either side); \
               {} unless given",
    }
    warm_up {
        part: Part::Traffic, value: Value::Time, separator: None, kinds: MEASURED,
        default: None,
        help: "Warm-up in simulated time, instead of finding it from the data",
    }
    duration {
        part: Part::Traffic, value: Value::Time, separator: None, kinds: MEASURED,
        default: None,
        help: "Simulated time to measure after the warm-up, instead of running to the precision; without --warm-up at \
               least this long, since a warm-up is found in twenty fiftieths of it or more",
    }
    multicast {
        part: Part::Multicast, value: Value::Text("GROUPS"), separator: None, kinds: &[Multicast, Together, Mix],
        default: None,
        help: "Among whom: broadcast, random(members=16, groups=16), nodes(0+4+8-15); with worms fresh(receivers=4)",
    }
    multicast_load {
        part: Part::Multicast, value: Value::Loads, separator: None, kinds: &[Multicast, Together, Mix],
        default: Some("0.1"),
        help: "Copies to be delivered as a fraction of what the nodes can receive: {} (unless given), several, a range, \
               `max`",
    }
    multicast_packet {
        part: Part::Multicast, value: Value::Size, separator: None, kinds: &[Multicast, Together, Mix],
        default: Some("256B"),
        help: "How large: {} (unless given) and whatever --packet takes",
    }
    by {
        part: Part::Multicast, value: Value::Text("METHOD"), separator: None, kinds: &[Multicast, Barrier],
        default: Some("hardware"),
        help: "How: {} (unless given), ranges, sequence, binomial, postal; of barriers: {} (unless given), node-root, \
               three-trips, central-counter, pairwise",
    }
    multicast_by {
        part: Part::Multicast, value: Value::Text("METHOD"), separator: None, kinds: &[Together, Mix],
        default: Some("hardware"),
        help: "The same of multicasts beside barriers, a task graph or a train, instead of --by",
    }
    root {
        part: Part::Multicast, value: Value::Text("POLICY"), separator: None, kinds: &[Multicast, Together, Mix],
        default: Some("table"),
        help: "By way of which root of the tree: {} (unless given), random, llp, llp-ec, hlse",
    }
    // OQ-D5: nobody says how old.
    staleness {
        part: Part::Multicast, value: Value::Time, separator: None, kinds: &[Multicast, Together, Mix],
        default: Some("50 us"),
        help: "How old the load of switches becomes that llp, llp-ec and hlse know: {} unless given",
    }
    overheads {
        part: Part::Multicast, value: Value::Flag, separator: None, kinds: &[Multicast, Barrier, Together, Mix],
        default: None,
        help: "Nodes spend nic.send_overhead and nic.receive_overhead on each packet of an operation, of barriers also \
               on each arrival and release",
    }
    barrier {
        part: Part::Barrier, value: Value::Text("GROUPS"), separator: None, kinds: &[Barrier, Together, Mix],
        default: None,
        help: "Among whom: all, random(members=16, groups=16), nodes(0+4+8-15)",
    }
    barrier_by {
        part: Part::Barrier, value: Value::Text("METHOD"), separator: None, kinds: &[Together, Mix],
        default: Some("hardware"),
        help: "How, beside multicasts, a task graph or a train, instead of --by",
    }
    // OQ-H9: nobody says how often.
    interval {
        part: Part::Barrier, value: Value::Time, separator: None, kinds: &[Barrier, Together, Mix],
        default: Some("50 us"),
        help: "From the beginning of a barrier to that of the next in its group, if it is over by then: {} unless given",
    }
    imbalance {
        part: Part::Barrier, value: Value::Time, separator: None, kinds: &[Barrier, Together, Mix],
        default: Some("0 us"),
        help: "Each process is late by a random time of up to so much: {} unless given",
    }
    lose {
        part: Part::Barrier, value: Value::Text("PACKET"), separator: Some("; "), kinds: &[Barrier, Together, Mix],
        default: None,
        help: "Lose a barrier packet: combine(at=switch 5 port 7, group=3, nth=2), any(at=node 12); as often as needed",
    }
    train {
        part: Part::Train, value: Value::Text("FROM-TO"), separator: None, kinds: &[Train, Mix],
        default: None,
        help: "Send packets from one node to another, all at once: 0-15; beside synthetic traffic if a --load is given, and \
               beside multicasts, barriers and task graphs",
    }
    // dawning5000.txt section 3.1 sends so many.
    count {
        part: Part::Train, value: Value::Count, separator: None, kinds: &[Train, Mix],
        default: Some("10000"),
        help: "How many: {} unless given",
    }
    graph {
        part: Part::Graph, value: Value::File("FILE"), separator: LINES, kinds: &[Graph, Mix],
        default: None,
        help: "Run a task graph (GOAL text, plain or gzip; `-`: from standard input), beside synthetic traffic if a \
               --load is given, and beside multicasts, barriers and a train; several run side by side",
    }
    placement {
        part: Part::Graph, value: Value::File("PLACEMENT"), separator: LINES, kinds: &[Graph, Mix],
        default: Some("linear"),
        help: "Where ranks run: {} (unless given) or random, on nodes that no graph before has, or a file with a node \
               number for each rank; one for all graphs, or one for each",
    }
}

impl WorkloadOptions {
    /// The options that are given, with their text.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        Self::NAMES.iter().filter_map(|name| Some((*name, self.get(name)?)))
    }

    /// The text of the option `name`: what is given, or what it is unless given.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_else(|| default_of(name))
    }

    /// The options that are loads, over which a run sweeps.
    pub fn loads() -> impl Iterator<Item = &'static str> {
        Self::TABLE.iter().filter(|option| option.value == Value::Loads).map(|option| option.name)
    }
}

/// The option `name`.
pub(super) fn named(name: &str) -> Option<&'static WorkloadOption> {
    WorkloadOptions::TABLE.iter().find(|option| option.name == name)
}

/// What the option `name` is unless given; nothing if it has no default.
#[must_use]
pub fn default_of(name: &str) -> &'static str {
    named(name).and_then(|option| option.default).unwrap_or("")
}

/// The values of an option that can be given several times, a line each.
pub(super) fn several(text: Option<&str>) -> Vec<&str> {
    text.map_or_else(Vec::new, |text| text.split('\n').collect())
}

/// The values of such an option as one text.
pub(super) fn joined(values: impl IntoIterator<Item = String>) -> String {
    values.into_iter().collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_taken_and_every_default_is_told_once() {
        for option in WorkloadOptions::TABLE {
            assert!(!option.kinds.is_empty(), "{}", option.name);
            // The methods of operations side by side are those of `by`.
            let refers = option.name.ends_with("_by");
            assert_eq!(option.help.contains("{}"), option.default.is_some() && !refers, "{}", option.name);
        }
    }
}
