//! Forwarding tables as `dump_lfts.sh`, `dump_fts`, `ibroute` and OpenSM itself print them.
//!
//! ```text
//! Unicast lids [0x0-0xe] of switch Lid 2 guid 0x2c9 (leaf-a):
//!   Lid  Out   Destination
//!        Port     Info
//! 0x000b 001 : (Channel Adapter portguid 0x2cb: 'host-1 HCA-1')
//! 2 valid lids dumped
//! ```
//!
//! A LID is that of a NIC port as the description of the fabric says, or the port GUID behind it does.

use crate::fabric::{Fabric, Read, Tables, counted};
use crate::lines::{Line, Text, lines};
use flitway_machine::{Source, show};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// How a line of a table reads.
const ENTRY: &str = "`LID PORT : (...)`, such as `0x000b 001 : (Channel Adapter portguid 0x2cb: 'host-1')`";

/// How a table begins.
const HEADING: &str = "`Unicast lids [...] of switch Lid 2 guid 0x2c9 (NAME):`";

/// The port that stands for none.
const UNREACHABLE: u32 = 255;

/// Whether `text` is such a table.
pub(crate) fn is_table(text: &str) -> bool {
    let heads = ["Unicast lids", "Multicast mlids"];
    text.lines().take(20).any(|line| heads.iter().any(|head| line.trim_start().starts_with(head)))
}

/// Reads tables of the switches of `fabric`.
pub(crate) fn read(sources: &[Arc<Source>], fabric: &Fabric) -> Read<Tables> {
    let known = Known::of(fabric);
    let mut tables = Tables::default();
    let mut counts = Counts::default();
    for source in sources {
        let mut reader = Reader {
            text: Text::new(source),
            fabric,
            known: &known,
            current: None,
            places: BTreeMap::new(),
            tables: &mut tables,
            counts: &mut counts,
        };
        lines(&source.text).for_each(|line| reader.line(&line));
        if reader.current.is_none() {
            reader.text.wrong(&(0..0), "there is no table in it", HEADING);
        }
        reader.text.done(())?;
    }
    counts.note(&mut tables);
    Ok(tables)
}

/// What addresses stand for. LIDs are of a subnet, the file that describes it.
pub(crate) struct Known {
    pub(crate) switches: BTreeMap<u64, usize>,
    named: BTreeMap<String, Vec<usize>>,
    guids: BTreeMap<u64, usize>,
    pub(crate) lids: BTreeMap<(usize, u32), usize>,
    /// LIDs of switches, and those of NIC ports beside the first one.
    pub(crate) others: BTreeMap<(usize, u32), Other>,
}

#[derive(Clone, Copy)]
pub(crate) enum Other {
    Switch,
    Further,
}

impl Known {
    pub(crate) fn of(fabric: &Fabric) -> Known {
        let mut known = Known {
            switches: BTreeMap::new(),
            named: BTreeMap::new(),
            guids: BTreeMap::new(),
            lids: BTreeMap::new(),
            others: BTreeMap::new(),
        };
        for (number, switch) in fabric.switches.iter().enumerate() {
            known.switches.extend(switch.guid.map(|guid| (guid, number)));
            known.named.entry(switch.name.clone()).or_default().push(number);
            known.others.extend(switch.lid.map(|lid| ((switch.file, lid), Other::Switch)));
        }
        for (number, nic) in fabric.nics.iter().enumerate() {
            known.guids.extend(nic.guid.map(|guid| (guid, number)));
            let Some(lid) = nic.lid else { continue };
            known.lids.insert((nic.file, lid), number);
            for further in 1..1_u32 << nic.lmc.min(7) {
                known.others.insert((nic.file, lid.saturating_add(further)), Other::Further);
            }
        }
        known
    }
}

/// Entries that are left out.
#[derive(Default)]
struct Counts {
    taken: usize,
    switches: usize,
    further: usize,
    unknown: usize,
    multicast: usize,
    /// Entries whose LID is that of another NIC port than their GUID.
    renumbered: usize,
}

impl Counts {
    fn note(&self, tables: &mut Tables) {
        tables.notes.taken.push(format!("{} of forwarding tables", counted(self.taken, "entry")));
        if self.renumbered > 0 {
            let count = counted(self.renumbered, "entry");
            tables.notes.guessed.push(format!(
                "{count} by GUID: the LID is that of another NIC port in the description, which is older or newer"
            ));
        }
        let dropped = [
            (self.switches, "for switches themselves"),
            (self.further, "for further LIDs of NIC ports (LMC): packets take the first LID"),
            (self.unknown, "for LIDs that the fabric does not have"),
            (self.multicast, "for multicast groups"),
        ];
        let dropped = dropped.iter().filter(|(count, _)| *count > 0);
        tables
            .notes
            .dropped
            .extend(dropped.map(|(count, what)| format!("{} {what}", counted(*count, "entry"))));
    }
}

/// Whose table it is.
#[derive(Clone, Copy)]
enum Current {
    Switch(usize),
    /// One that is not known, and reported.
    Unknown,
    Multicast,
}

struct Reader<'a> {
    text: Text,
    fabric: &'a Fabric,
    known: &'a Known,
    current: Option<Current>,
    places: BTreeMap<(usize, usize), Range<usize>>,
    tables: &'a mut Tables,
    counts: &'a mut Counts,
}

impl Reader<'_> {
    fn line(&mut self, line: &Line<'_>) {
        let body = line.text.trim();
        let is_heading = ["Lid ", "Port ", "MLid", "Ports:"].iter().any(|head| body.starts_with(head));
        if body.is_empty() || body.starts_with('#') || is_heading || body.ends_with("lids dumped") {
        } else if body.starts_with("Unicast lids") {
            self.current = Some(self.switch(body, &line.span()));
        } else if body.starts_with("Multicast mlids") {
            self.current = Some(Current::Multicast);
        } else if body.ends_with("mlids dumped") {
        } else {
            self.entry(body, line);
        }
    }

    /// The switch that a heading names: by GUID, or by a name that no other one has.
    fn switch(&mut self, body: &str, span: &Range<usize>) -> Current {
        let guid = body.split_once("guid ").and_then(|(_, rest)| crate::guid::of(rest));
        if let Some(switch) = guid.and_then(|guid| self.known.switches.get(&guid)) {
            return Current::Switch(*switch);
        }
        let name = body.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')')).map(|(name, _)| name);
        let name = name.map(|name| name.trim_matches(['\'', '"']));
        if let Some([switch]) = name.and_then(|name| self.known.named.get(name)).map(Vec::as_slice) {
            return Current::Switch(*switch);
        }
        match guid {
            Some(guid) => self.text.wrong(
                span,
                format!("no switch of the fabric has the GUID 0x{guid:016x}"),
                "tables of the switches that the description of the fabric has",
            ),
            None => self.text.wrong(span, "this heading names no switch that is known", HEADING),
        }
        Current::Unknown
    }

    /// `0x000b 001 : (Channel Adapter portguid 0x2cb: 'host-1 HCA-1')`
    fn entry(&mut self, body: &str, line: &Line<'_>) {
        let span = line.span();
        let switch = match self.current {
            Some(Current::Switch(switch)) => switch,
            Some(Current::Multicast) => {
                self.counts.multicast += 1;
                return;
            }
            Some(Current::Unknown) => return,
            None => return self.text.wrong(&span, "an entry before the first table", HEADING),
        };
        let mut words = body.split_whitespace();
        let lid = words.next().and_then(lid);
        let word = words.next().unwrap_or("");
        let port = if word.starts_with("UNREACH") { Some(UNREACHABLE) } else { word.parse::<u32>().ok() };
        let (Some(lid), Some(port)) = (lid, port) else {
            return self.text.wrong(&span, format!("`{}` is not an entry", show(body)), ENTRY);
        };
        let Some(nic) = self.nic(switch, lid, body) else { return };
        if port == 0 || port == UNREACHABLE {
            return;
        }
        let ports = self.fabric.switches[switch].ports.unwrap_or(UNREACHABLE - 1);
        if port > ports {
            let name = show(&self.fabric.switches[switch].name);
            return self.text.wrong(&span, format!("`{name}` has no port {port}"), &format!("1 to {ports}"));
        }
        let before = self.tables.entries.insert((switch, nic), port - 1);
        let first = self.places.insert((switch, nic), span.clone());
        match (before, first) {
            (Some(before), Some(first)) if before != port - 1 => {
                let message = "there is another port for this LID already".to_owned();
                self.text.contradicts(&span, message, (&first, "one port for each LID"));
            }
            (Some(before), None) if before != port - 1 => {
                let message = format!("a file before this one has port {} for this LID", before + 1);
                self.text.wrong(&span, message, "one port for each LID, in all files");
            }
            (Some(_), _) => {}
            (None, _) => self.counts.taken += 1,
        }
    }

    /// The NIC port that has the LID in the subnet of the switch.
    fn nic(&mut self, switch: usize, lid: u32, body: &str) -> Option<usize> {
        let place = (self.fabric.switches[switch].file, lid);
        let guid = body.split_once("portguid").and_then(|(_, rest)| crate::guid::of(rest));
        let of_guid = guid.and_then(|guid| self.known.guids.get(&guid)).copied();
        if let Some(&nic) = self.known.lids.get(&place) {
            // A LID may have been given to another one since; a GUID stays.
            let is_other = of_guid.is_some_and(|other| other != nic);
            self.counts.renumbered += usize::from(is_other);
            return of_guid.or(Some(nic));
        }
        match self.known.others.get(&place) {
            Some(Other::Switch) => self.counts.switches += 1,
            Some(Other::Further) => self.counts.further += 1,
            None => match of_guid {
                Some(nic) => return Some(nic),
                None if body.contains("Switch portguid") => self.counts.switches += 1,
                None => self.counts.unknown += 1,
            },
        }
        None
    }
}

/// A LID, in hexadecimal or not.
pub(crate) fn lid(word: &str) -> Option<u32> {
    match word.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

/// Notes where the switches of a rail have no port for a node.
pub(crate) fn note_holes(
    tables: &mut Tables,
    fabric: &Fabric,
    switches: &[usize],
    nodes: &[(String, usize)],
) {
    /// More are counted.
    const NAMED: usize = 3;
    let mut bare = 0;
    let mut holes = Vec::new();
    for &switch in switches {
        let lacks = |(_, nic): &&(String, usize)| !tables.entries.contains_key(&(switch, *nic));
        let lacking: Vec<_> = nodes.iter().filter(lacks).collect();
        match lacking.len() {
            0 => {}
            all if all == nodes.len() => bare += 1,
            _ => holes.extend(lacking.iter().map(|(node, _)| (switch, node.as_str()))),
        }
    }
    if bare > 0 {
        tables.notes.holes.push(format!("{} without a table", counted(bare, "switch")));
    }
    if !holes.is_empty() {
        let name = |switch: usize| show(&fabric.switches[switch].name);
        let first = holes
            .iter()
            .take(NAMED)
            .map(|(switch, node)| format!("`{}` for `{}`", name(*switch), show(node)));
        let first = first.collect::<Vec<_>>().join(", ");
        let more = if holes.len() > NAMED { ", ..." } else { "" };
        tables.notes.holes.push(format!("{} missing: {first}{more}", counted(holes.len(), "entry")));
    }
}
