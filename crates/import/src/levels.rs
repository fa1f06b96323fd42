//! Service levels and the virtual channels that they take, as OpenSM and its tools print them.
//!
//! ```text
//! Switch 0x0000000000000010, base LID 1, "leaf-1"               # opensm-sl2vl.dump: for each port in and port out
//! #in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15
//! 1   35  : 0  1  0  1  0  1  0  1  0  1  0  1  0  1  0  15
//!
//! Channel Adapter 0x0000000000000041, base LID 11, "node1 HCA-1", port 1   # opensm-path-records.dump
//! # LID  : SL : MTU : RATE
//! 0x000D : 1  : 4   : 12
//!
//! 0x0000000000000031 13 1                                       # paths for ibdmchk: GUID of the source, LID, level
//! ```
//!
//! Lane 15 is that of management: data of a level that has it are dropped.

use crate::fabric::{Fabric, Levels, Notes, Read, counted};
use crate::lines::{Line, Text, lines};
use crate::opensm::{Known, Other, lid};
use flitway_machine::{Source, show};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The lane of management.
const MANAGEMENT: u8 = 15;
/// How a line of a map reads.
const ROW: &str = "`IN OUT : LANE ...` with 16 lanes, such as `1   35  : 0  1  0  1 ...`";
/// How a line of a path reads.
const RECORD: &str = "`LID : SL : MTU : RATE`, such as `0x000D : 1  : 4   : 12`";
/// The same for ibdmchk.
const PATH: &str = "`GUID LID LEVEL`, such as `0x0000000000000031 13 1`";

/// What a file is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Maps,
    Records,
    Paths,
}

impl Kind {
    fn of(text: &str) -> Option<Kind> {
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let comments = text.lines().map(str::trim).filter(|line| line.starts_with('#'));
        let headings: Vec<String> = comments.take(4).map(words).collect();
        let mut data = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        if headings.iter().any(|line| line.starts_with("#in out :")) {
            Some(Kind::Maps)
        } else if headings.iter().any(|line| line.starts_with("# LID : SL :")) {
            Some(Kind::Records)
        } else {
            data.next().is_some_and(|line| path(line).is_some()).then_some(Kind::Paths)
        }
    }
}

/// Whether `text` says service levels.
pub(crate) fn is_levels(text: &str) -> bool {
    Kind::of(text).is_some()
}

/// `0x0000000000000031 13 1`
fn path(line: &str) -> Option<(u64, u32, u8)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [guid, lid, level] = words[..] else { return None };
    let guid = u64::from_str_radix(guid.strip_prefix("0x")?, 16).ok()?;
    Some((guid, lid.parse().ok()?, level.parse().ok().filter(|level| *level < 16)?))
}

/// Reads what `sources` say of the levels of `fabric`.
pub(crate) fn read(sources: &[Arc<Source>], fabric: &Fabric, notes: &mut Notes) -> Read<Levels> {
    let known = Known::of(fabric);
    let devices = devices(fabric);
    let mut levels = Levels::default();
    let mut counts = Counts::default();
    for source in sources {
        let kind = Kind::of(&source.text).expect("it was seen to say levels");
        let mut reader = Reader {
            text: Text::new(source),
            kind,
            known: &known,
            devices: &devices,
            fabric,
            current: None,
            levels: &mut levels,
            counts: &mut counts,
        };
        lines(&source.text).for_each(|line| reader.line(&line));
        reader.text.done(())?;
    }
    counts.note(&levels, notes);
    Ok(levels)
}

/// NIC ports by GUID, of a port or of the one that has it alone.
fn devices(fabric: &Fabric) -> BTreeMap<u64, usize> {
    let mut of_device: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (number, nic) in fabric.nics.iter().enumerate() {
        of_device.entry(nic.device.unwrap_or_default()).or_default().push(number);
    }
    let alone = of_device.into_iter().filter(|(guid, ports)| *guid != 0 && ports.len() == 1);
    let mut devices: BTreeMap<u64, usize> = alone.map(|(guid, ports)| (guid, ports[0])).collect();
    devices.extend(fabric.nics.iter().enumerate().filter_map(|(number, nic)| Some((nic.guid?, number))));
    devices
}

/// What is taken and left out.
#[derive(Default)]
struct Counts {
    rows: usize,
    paths: usize,
    of_nics: usize,
    of_management: usize,
    of_switches: usize,
    further: usize,
    unknown: usize,
}

impl Counts {
    fn note(&self, levels: &Levels, notes: &mut Notes) {
        let (rows, paths) = (counted(self.rows, "row"), counted(self.paths, "path"));
        notes
            .taken
            .push(format!("{rows} of maps from service levels to virtual channels, levels of {paths}"));
        if self.paths == 0 {
            notes.guessed.push("all packets have service level 0: no file says those of paths".to_owned());
        }
        if levels.maps.is_empty() {
            notes
                .guessed
                .push("a service level takes the virtual channel of its number: no file has maps".to_owned());
        }
        let dropped = [
            (self.of_nics, "row", "of NIC ports, which have no way to choose"),
            (self.of_management, "row", "of ports of management"),
            (self.of_switches, "path", "from or to switches themselves"),
            (self.further, "path", "to further LIDs of NIC ports (LMC)"),
            (self.unknown, "path", "of what the fabric does not have"),
        ];
        let dropped = dropped.iter().filter(|(count, ..)| *count > 0);
        notes.dropped.extend(dropped.map(|(count, what, why)| format!("{} {why}", counted(*count, what))));
    }
}

/// Whose lines follow.
#[derive(Clone, Copy)]
enum Current {
    Switch(usize),
    Nic(usize),
    Unknown,
}

struct Reader<'a> {
    text: Text,
    kind: Kind,
    known: &'a Known,
    devices: &'a BTreeMap<u64, usize>,
    fabric: &'a Fabric,
    current: Option<Current>,
    levels: &'a mut Levels,
    counts: &'a mut Counts,
}

impl Reader<'_> {
    fn line(&mut self, line: &Line<'_>) {
        let body = line.text.trim();
        if body.is_empty() || body.starts_with('#') {
            return;
        }
        if self.kind == Kind::Paths {
            return self.path(body, line);
        }
        if body.contains(", base LID ") {
            self.current = Some(self.heading(body));
            return;
        }
        let Some(current) = self.current else {
            let expected = "`Switch GUID, base LID ...` or `Channel Adapter GUID, base LID ...` above it";
            return self.text.wrong(&line.span(), "a line before the first heading", expected);
        };
        match self.kind {
            Kind::Maps => self.row(current, body, line),
            _ => self.record(current, body, line),
        }
    }

    /// `Switch 0x0000000000000010, base LID 1, "leaf-1"`
    fn heading(&self, body: &str) -> Current {
        let guid = body.split_once("0x").and_then(|(_, rest)| crate::guid::of(rest));
        let switch = guid.and_then(|guid| self.known.switches.get(&guid));
        match (switch, guid.and_then(|guid| self.devices.get(&guid))) {
            (Some(switch), _) => Current::Switch(*switch),
            (None, Some(nic)) => Current::Nic(*nic),
            (None, None) => Current::Unknown,
        }
    }

    /// `1   35  : 0  1  0  1 ...`
    fn row(&mut self, current: Current, body: &str, line: &Line<'_>) {
        let parsed = body.split_once(':').and_then(|(ports, lanes)| {
            let ports: Vec<u32> = ports.split_whitespace().map_while(|word| word.parse().ok()).collect();
            let lanes: Vec<u8> = lanes.split_whitespace().map_while(|word| word.parse().ok()).collect();
            let lanes: [u8; 16] = lanes.try_into().ok()?;
            let [from, to] = ports[..] else { return None };
            lanes.iter().all(|lane| *lane <= MANAGEMENT).then_some((from, to, lanes))
        });
        let Some((from, to, lanes)) = parsed else {
            let message = format!("`{}` is not a row of a map", show(body));
            return self.text.wrong(&line.span(), message, ROW);
        };
        match current {
            Current::Switch(_) if from == 0 || to == 0 => self.counts.of_management += 1,
            Current::Switch(switch) => {
                self.counts.rows += 1;
                let classes = lanes.map(|lane| (lane != MANAGEMENT).then_some(lane));
                self.levels.maps.insert((switch, from - 1, to - 1), classes);
            }
            Current::Nic(_) => self.counts.of_nics += 1,
            Current::Unknown => self.counts.unknown += 1,
        }
    }

    /// `0x000D : 1  : 4   : 12`, or `0x000D : UNREACHABLE`
    fn record(&mut self, current: Current, body: &str, line: &Line<'_>) {
        let words: Vec<&str> = body.split(':').map(str::trim).collect();
        let parsed = match words[..] {
            [word, "UNREACHABLE"] if lid(word).is_some() => return,
            [word, level, _, _] => lid(word).zip(level.parse::<u8>().ok().filter(|level| *level < 16)),
            _ => None,
        };
        let Some((lid, level)) = parsed else {
            return self.text.wrong(&line.span(), format!("`{}` is not a path", show(body)), RECORD);
        };
        match current {
            Current::Nic(source) => self.level(source, lid, level),
            Current::Switch(_) => self.counts.of_switches += 1,
            Current::Unknown => self.counts.unknown += 1,
        }
    }

    /// `0x0000000000000031 13 1`
    fn path(&mut self, body: &str, line: &Line<'_>) {
        let Some((guid, lid, level)) = path(body) else {
            return self.text.wrong(&line.span(), format!("`{}` is not a path", show(body)), PATH);
        };
        match self.devices.get(&guid) {
            Some(source) => self.level(*source, lid, level),
            None if self.known.switches.contains_key(&guid) => self.counts.of_switches += 1,
            None => self.counts.unknown += 1,
        }
    }

    /// Packets of a NIC port to a LID have a level.
    fn level(&mut self, source: usize, lid: u32, level: u8) {
        let place = (self.fabric.nics[source].file, lid);
        match (self.known.lids.get(&place), self.known.others.get(&place)) {
            (Some(nic), _) => {
                self.counts.paths += 1;
                self.levels.levels.insert((source, *nic), level);
            }
            (None, Some(Other::Switch)) => self.counts.of_switches += 1,
            (None, Some(Other::Further)) => self.counts.further += 1,
            (None, None) => self.counts.unknown += 1,
        }
    }
}
