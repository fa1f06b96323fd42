//! What every reader makes: a fabric of switches, NIC ports and cables, in nobody's format.

use flitway_machine::Diagnostics;
use std::collections::BTreeMap;

/// A fabric as it was described.
#[derive(Debug, Default)]
pub(crate) struct Fabric {
    pub(crate) switches: Vec<Switch>,
    pub(crate) nics: Vec<NicPort>,
    pub(crate) cables: Vec<Cable>,
    pub(crate) notes: Notes,
    /// What is on the wire beside the payload.
    pub(crate) framing: Framing,
}

/// A switch.
#[derive(Debug, Default)]
pub(crate) struct Switch {
    /// As its description calls it.
    pub(crate) name: String,
    /// Its ports, if they are said.
    pub(crate) ports: Option<u32>,
    pub(crate) guid: Option<u64>,
    pub(crate) lid: Option<u32>,
    /// Of several files the one that has it: LIDs are of one subnet.
    pub(crate) file: usize,
    /// Where it is drawn, if that is said: from the left, and from the top.
    pub(crate) spot: Option<[f64; 2]>,
}

/// A NIC port: where a node is linked.
#[derive(Debug, Default)]
pub(crate) struct NicPort {
    /// The node that has it.
    pub(crate) node: String,
    /// What it is called where it is a node of its own.
    pub(crate) name: String,
    pub(crate) guid: Option<u64>,
    /// The GUID of what it is a port of.
    pub(crate) device: Option<u64>,
    pub(crate) lid: Option<u32>,
    /// Its further LIDs are the next ones, up to 2^lmc with the first.
    pub(crate) lmc: u32,
    /// As of a switch.
    pub(crate) file: usize,
}

/// One end of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    /// A switch, and the port where the description says one.
    Switch(usize, Option<u32>),
    /// A NIC port.
    Nic(usize),
}

/// A cable. At most one of its ends is a NIC port.
#[derive(Clone, Debug)]
pub(crate) struct Cable {
    pub(crate) ends: [End; 2],
    /// From the first end to the second, and back.
    pub(crate) rates: [Option<Rate>; 2],
    pub(crate) length_mm: Option<u64>,
    /// What kind of cable it is called.
    pub(crate) class: Option<String>,
}

impl Fabric {
    /// Adds what another file, the one of number `file`, describes.
    pub(crate) fn add(&mut self, other: Fabric, file: usize) {
        let (switches, nics) = (self.switches.len(), self.nics.len());
        self.switches.extend(other.switches.into_iter().map(|switch| Switch { file, ..switch }));
        self.nics.extend(other.nics.into_iter().map(|nic| NicPort { file, ..nic }));
        let end = |end| match end {
            End::Switch(switch, port) => End::Switch(switch + switches, port),
            End::Nic(nic) => End::Nic(nic + nics),
        };
        self.cables.extend(other.cables.into_iter().map(|it| Cable { ends: it.ends.map(end), ..it }));
        self.framing = other.framing;
        self.notes.add(other.notes);
    }
}

impl Notes {
    /// Adds other notes; what is said already is not said again.
    pub(crate) fn add(&mut self, other: Notes) {
        let lists = [
            (&mut self.taken, other.taken),
            (&mut self.guessed, other.guessed),
            (&mut self.dropped, other.dropped),
            (&mut self.holes, other.holes),
        ];
        for (list, more) in lists {
            for note in more {
                if !list.contains(&note) {
                    list.push(note);
                }
            }
        }
    }
}

/// What a cable carries, in bit/s, as an exact fraction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rate {
    pub(crate) bits: u64,
    pub(crate) seconds: u64,
    /// As the description calls it.
    pub(crate) label: String,
}

/// Bytes before and after the payload of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Framing {
    /// So many; of InfiniBand.
    Bytes { header: u64, trailer: u64 },
    /// Nobody says.
    #[default]
    Unknown,
}

/// What is to be told of an import.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    pub(crate) taken: Vec<String>,
    pub(crate) guessed: Vec<String>,
    pub(crate) dropped: Vec<String>,
    /// Where forwarding tables have no entry.
    pub(crate) holes: Vec<String>,
}

/// Forwarding tables: the port by which packets for a NIC port leave a switch.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub(crate) entries: BTreeMap<(usize, usize), u32>,
    /// Service levels, if a file says some.
    pub(crate) levels: Option<Levels>,
    pub(crate) notes: Notes,
}

/// Service levels, and the classes that they take.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    /// By NIC port that sends and NIC port that receives, where one is said.
    pub(crate) levels: BTreeMap<(usize, usize), u8>,
    /// By switch, and the ports in and out: the class of each level; nothing where it is dropped.
    pub(crate) maps: BTreeMap<(usize, u32, u32), [Option<u8>; 16]>,
}

/// What a reader answers.
pub(crate) type Read<T> = Result<T, Diagnostics>;

/// `count` of `what`, in the plural if it is not one.
pub(crate) fn counted(count: usize, what: &str) -> String {
    match what {
        _ if count == 1 => format!("1 {what}"),
        "entry" => format!("{count} entries"),
        "vertex" => format!("{count} vertices"),
        _ if what.ends_with("ch") => format!("{count} {what}es"),
        _ => format!("{count} {what}s"),
    }
}
