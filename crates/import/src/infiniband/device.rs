//! The lines of a block: the device, and its ports.

use crate::fabric::Rate;
use crate::guid;
use crate::rate;
use std::collections::BTreeMap;
use std::ops::Range;

/// What a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Switch,
    /// A channel adapter of a node.
    Ca,
    /// One that a switch has inside, to add numbers up.
    Aggregation,
    /// Joins subnets of InfiniBand.
    Subnets,
}

/// The GUID of a port, its LID, and the LMC.
type Address = (Option<u64>, Option<u32>, u32);

/// A device with its block.
#[derive(Clone, Debug)]
pub(super) struct Device {
    pub(super) kind: Kind,
    pub(super) ports: u32,
    pub(super) id: String,
    description: Option<String>,
    pub(super) guid: Option<u64>,
    pub(super) lid: Option<u32>,
    pub(super) span: Range<usize>,
    /// By port, of a channel adapter.
    pub(super) addresses: BTreeMap<u32, Address>,
}

/// A line of a port.
#[derive(Clone, Debug)]
pub(super) struct PortLine {
    pub(super) number: u32,
    pub(super) guid: Option<u64>,
    pub(super) to: String,
    pub(super) to_port: u32,
    pub(super) lid: Option<u32>,
    pub(super) lmc: u32,
    pub(super) rate: Option<Rate>,
}

/// `switchguid=0x2c9(2c9)` and the like, with the GUID if it is that of a device; `None` if it is no such line.
pub(super) fn guid_line(body: &str) -> Option<Option<u64>> {
    let (key, value) = body.split_once('=')?;
    let is_key = !key.is_empty() && key.chars().all(|letter| letter.is_ascii_lowercase());
    let is_guid = ["switchguid", "caguid", "hcaguid", "rtguid"].contains(&key);
    is_key.then(|| guid::of(value).filter(|_| is_guid))
}

/// The GUID that an id such as `S-0002c90300aa0000` holds.
pub(super) fn guid_of(id: &str) -> Option<u64> {
    let (kind, digits) = id.split_once('-')?;
    let is_id = kind.len() == 1 && digits.len() == 16 && digits.bytes().all(|it| it.is_ascii_hexdigit());
    is_id.then(|| guid::of(digits)).flatten()
}

/// The text in quotes that comes next, and what stands behind it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    text.split_once('"')?.1.split_once('"')
}

/// The number behind the word `key`.
fn number_behind(text: &str, key: &str) -> Option<u32> {
    let mut words = text.split_whitespace();
    words.find(|word| *word == key)?;
    words.next()?.parse().ok()
}

/// The number in brackets that `text` begins with, and what stands behind it.
fn bracket(text: &str) -> Option<(u32, &str)> {
    let (number, rest) = text.strip_prefix('[')?.split_once(']')?;
    Some((number.trim().parse().ok()?, rest))
}

/// The GUID in parentheses that `text` begins with, and what stands behind it.
fn parenthesis(text: &str) -> (Option<u64>, &str) {
    let found = text.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    found.map_or((None, text), |(inner, rest)| (guid::of(inner), rest))
}

impl Device {
    /// `Switch 36 "S-2c9" # "leaf-a" enhanced port 0 lid 2 lmc 0`
    pub(super) fn read(body: &str) -> Option<Device> {
        let (word, rest) = body.split_once(char::is_whitespace)?;
        let kind = match word.to_ascii_lowercase().as_str() {
            "switch" => Kind::Switch,
            "ca" | "hca" => Kind::Ca,
            "rt" => Kind::Subnets,
            other => (other == ROUTING).then_some(Kind::Subnets)?,
        };
        let (count, rest) = rest.trim_start().split_once(char::is_whitespace)?;
        let ports = count.parse::<u32>().ok().filter(|ports| (1..=255).contains(ports))?;
        let (id, rest) = rest.trim_start().strip_prefix('"')?.split_once('"')?;
        let behind = quoted(rest);
        let description = behind.map(|(text, _)| text.trim().to_owned()).filter(|text| !text.is_empty());
        let is_inside = description.as_ref().is_some_and(|text| text.contains("Aggregation Node"));
        Some(Device {
            kind: if kind == Kind::Ca && is_inside { Kind::Aggregation } else { kind },
            ports,
            id: id.to_owned(),
            description,
            guid: None,
            lid: number_behind(behind.map_or(rest, |(_, rest)| rest), "lid"),
            span: 0..0,
            addresses: BTreeMap::new(),
        })
    }

    /// What people call it.
    pub(super) fn name(&self) -> &str {
        self.description.as_deref().unwrap_or(&self.id)
    }

    /// The node whose channel adapter it is: the first of two words, if the other one names an adapter: `HCA-1`, `mlx5_0`.
    pub(super) fn node(&self) -> &str {
        let name = self.name();
        let Some((node, adapter)) = name.rsplit_once(char::is_whitespace) else { return name };
        let is_adapter = adapter.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && adapter.contains(['-', '_'])
            && adapter.ends_with(|letter: char| letter.is_ascii_digit());
        let node = node.trim_end();
        if is_adapter && !node.contains(char::is_whitespace) { node } else { name }
    }
}

/// The word of ibsim for it.
const ROUTING: &str = "router"; // of ibsim

impl PortLine {
    /// `[1](2cb) "S-2c9"[1] # lid 11 lmc 0 "leaf-a" lid 2 4xHDR`
    pub(super) fn read(body: &str) -> Option<PortLine> {
        let (number, rest) = bracket(body)?;
        let (guid, rest) = parenthesis(rest);
        // What may stand between: the number that is printed on a chassis, as in `[ext 5]`.
        let (between, rest) = rest.split_once('"')?;
        let is_nothing = between.chars().all(|it| it.is_ascii_alphanumeric() || " \t[]".contains(it));
        let (to, rest) = rest.split_once('"').filter(|_| is_nothing)?;
        let (to_port, rest) = bracket(rest.trim_start())?;
        let own = rest.split('"').next().unwrap_or("");
        Some(PortLine {
            number,
            guid,
            to: to.to_owned(),
            to_port,
            lid: number_behind(own, "lid"),
            lmc: number_behind(own, "lmc").unwrap_or(0).min(7),
            rate: rest.rsplit('"').next().unwrap_or("").split_whitespace().find_map(rate::infiniband),
        })
    }
}
