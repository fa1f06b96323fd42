//! Why operations do not fit a machine, and what to write instead.

use flitway_nic::host::program::{Submission, Verb};
use flitway_process::operator::Manner;
use std::fmt;

/// Why operations do not fit a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NicMisfit {
    /// Its NIC has none.
    NoOperations,
    /// It has no such operation.
    NoOperation {
        /// What is done.
        verb: Verb,
        /// Those that it has.
        has: [Option<Verb>; Verb::ALL.len()],
    },
    /// It cannot be asked for it so.
    NoWay {
        /// What is done.
        verb: Verb,
        /// How it was to be submitted.
        by: Submission,
        /// How it can be.
        ways: &'static [Submission],
    },
    /// It has no operations that are reliable from end to end.
    NotReliable,
    /// Its processes do not sleep, or do not name physical addresses.
    NoSetup(Manner),
    /// It does not carry out operations of many nodes.
    NoCollectives {
        /// Hosts were to, with its control packets.
        by_hosts: bool,
    },
    /// More processes send to one than its memory has room for.
    Senders {
        /// How many do.
        senders: u32,
        /// How many can.
        most: u32,
    },
    /// It has no threads.
    NoThreads,
    /// Nobody tells who sends data of which a thread has the DMA engine send them that they have left.
    Fetched {
        /// Data of each in bytes.
        bytes: u64,
    },
    /// It cannot work on this network.
    Misses(&'static str),
    /// There is no such node.
    NoNode {
        /// The node asked for.
        node: u32,
        /// Nodes there are.
        nodes: u32,
    },
    /// They have too much data.
    TooLarge {
        /// What is done.
        verb: Verb,
        /// Data asked for in bytes.
        bytes: u64,
        /// The most in bytes.
        most: u64,
        /// Where that stands.
        source: &'static str,
        /// What takes as many.
        instead: Option<Verb>,
    },
    /// There are not as many queues.
    NoQueue {
        /// How descriptors reach the NIC.
        by: Submission,
        /// Queues of that kind.
        queues: u32,
        /// Queues of the other kind.
        others: u32,
    },
}

impl fmt::Display for NicMisfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NicMisfit::NoOperations => {
                f.write_str("the NIC of this machine has no operations: it passes packets on")
            }
            NicMisfit::NoOperation { verb, has } => {
                let has: Vec<&str> = has.iter().flatten().map(|verb| verb.name()).collect();
                write!(f, "the NIC of this machine has no {}: it has {}", verb.name(), has.join(" and "))
            }
            NicMisfit::NoWay { verb, by, ways } => write!(
                f,
                "the NIC of this machine has no {} with `{}`: it has {}",
                verb.name(),
                written(*by),
                ways.iter().map(|&way| format!("`{}`", written(way))).collect::<Vec<_>>().join(" and ")
            ),
            NicMisfit::NotReliable => {
                f.write_str("the NIC of this machine has no operations that are reliable from end to end")
            }
            NicMisfit::NoSetup(manner) if manner.is_physical => {
                f.write_str("operations of the NIC of this machine have one kind of addresses")
            }
            NicMisfit::NoSetup(manner) if manner.is_on_demand => f.write_str(
                "the NIC of this machine has all translations in memory or in its caches: it does not fault",
            ),
            NicMisfit::NoSetup(_) => f.write_str("the NIC of this machine wakes nobody: its processes poll"),
            NicMisfit::NoCollectives { by_hosts: true } => f.write_str(
                "processors carry out this operation with other NICs only, as it needs their messages",
            ),
            NicMisfit::NoCollectives { .. } => {
                f.write_str("the NIC of this machine does not carry out this operation of many nodes")
            }
            NicMisfit::Senders { senders, most } => write!(
                f,
                "{senders} processes send messages to one, whose ring has slots for {most} (`nic.nap.peers`)"
            ),
            NicMisfit::NoThreads => f.write_str("the NIC of this machine has no thread processor"),
            NicMisfit::Fetched { bytes } => write!(
                f,
                "{bytes} B do not fit into the packet of a message: the other NIC fetches them, and the sender does not hear when"
            ),
            NicMisfit::Misses(what) => f.write_str(what),
            NicMisfit::NoNode { node, nodes } => {
                write!(f, "there is no node {node}: the machine has {nodes}, numbered from 0")
            }
            NicMisfit::TooLarge { verb, bytes, most, source, .. } => {
                write!(f, "{bytes} B are more than one {} takes, {most} B ({source})", verb.name())
            }
            NicMisfit::NoQueue { by, queues, .. } => write!(
                f,
                "the NIC has {queues} queues of kind {}, one for each process",
                by.name().to_uppercase()
            ),
        }
    }
}

/// How an operation is submitted, as it is written.
fn written(by: Submission) -> String {
    format!("{}={}", by.parameter(), by.name())
}

impl std::error::Error for NicMisfit {}

impl NicMisfit {
    /// The likely fix.
    #[must_use]
    pub fn help(self) -> Option<String> {
        match self {
            NicMisfit::NoOperations => {
                let text = "use `--set nic.model=th`, the NIC of TH Express-2 (`flitway explain th`), \
                            `--set nic.model=nap`, that of Dawning 5000, or on Elite4s `--set nic.model=elan4`, that of QsNetII";
                Some(text.to_owned())
            }
            NicMisfit::NotReliable => {
                Some("leave `reliable=yes` out, or use `--set nic.model=th`, which has them".to_owned())
            }
            NicMisfit::NoSetup(manner) if manner.is_on_demand => Some(
                "leave `translations=on-demand` out, or use a machine of QsNetII, such as `qsnet2-64`, whose TLBs are not preloaded"
                    .to_owned(),
            ),
            NicMisfit::NoSetup(manner) => {
                let what = if manner.is_physical { "addresses=physical" } else { "wait=interrupt" };
                Some(format!(
                    "leave `{what}` out, or use `--set nic.model=th`, the NIC of TH Express-2, which has it"
                ))
            }
            NicMisfit::Senders { senders, .. } => Some(format!(
                "use fewer nodes or a smaller `arity`, or `--set nic.nap.peers={senders}` and as many `nic.nap.slots` at least"
            )),
            NicMisfit::NoCollectives { by_hosts: true } => Some(
                "use `by=nic` if the operation has it, or `--set nic.model=th`, the NIC of TH Express-2".to_owned(),
            ),
            NicMisfit::NoCollectives { .. } => {
                Some("use `--set nic.model=th`, the NIC of TH Express-2, which has them".to_owned())
            }
            NicMisfit::NoThreads => Some(
                "use a machine of QsNetII, such as `qsnet2-64`, or on Elite4s `--set nic.model=elan4`"
                    .to_owned(),
            ),
            NicMisfit::Fetched { .. } => Some("leave --outstanding out, or use less data".to_owned()),
            NicMisfit::NoNode { .. } | NicMisfit::Misses(_) => None,
            NicMisfit::NoOperation { has, .. } => {
                has.into_iter().flatten().next().map(|verb| format!("use `{}`", verb.name()))
            }
            NicMisfit::NoWay { ways, .. } => ways.first().map(|&way| format!("use `{}`", written(way))),
            NicMisfit::TooLarge { instead: Some(verb), .. } => {
                Some(format!("use `{}`, which takes more", verb.name()))
            }
            NicMisfit::TooLarge { most, .. } => Some(format!("use several of up to {most} B")),
            NicMisfit::NoQueue { by: Submission::Hdq, others, .. } => {
                Some(format!("use `queue=sdq`: there are {others} of those"))
            }
            NicMisfit::NoQueue { queues, .. } => Some(format!("use `--processes {queues}`")),
        }
    }
}
