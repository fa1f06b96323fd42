//! The output of `ibnetdiscover`, and net files of `ibsim`, which are the same without what a living fabric adds.
//!
//! ```text
//! switchguid=0x2c9(2c9)
//! Switch  36 "S-2c9"   # "leaf-a" enhanced port 0 lid 2 lmc 0
//! [1]  "H-2ca"[1](2cb)   # "host-1 HCA-1" lid 11 4xHDR
//!
//! caguid=0x2ca
//! Ca  1 "H-2ca"   # "host-1 HCA-1"
//! [1](2cb)  "S-2c9"[1]   # lid 11 lmc 0 "leaf-a" lid 2 4xHDR
//! ```
//!
//! A block begins with the kind of a device, its ports and its id, and lists its cables. Each cable stands in the blocks of
//! both of its ends, or in one.

mod device;

use crate::fabric::{Cable, End, Fabric, Framing, NicPort, Rate, Read, Switch, counted};
use crate::lines::{Text, lines};
use device::{Device, Kind, PortLine};
use flitway_machine::{Source, nearest, show};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// How a line of a port reads.
const PORT: &str = "`[PORT] \"ID\"[PORT]`, with what is at the other end of the cable";

/// Reads such a text.
pub(crate) fn read(source: &Arc<Source>) -> Read<Fabric> {
    let mut reader =
        Reader { text: Text::new(source), devices: Vec::new(), ids: BTreeMap::new(), cables: Vec::new() };
    let mut guid = None;
    for line in lines(&source.text) {
        let body = line.text.trim();
        // `ibnetdiscover -g` groups the blocks by chassis.
        let is_group = ["Chassis ", "Non-Chassis "].iter().any(|head| body.starts_with(head));
        if body.is_empty() || body.starts_with('#') || is_group {
        } else if let Some(found) = device::guid_line(body) {
            guid = found.or(guid);
        } else if body.starts_with('[') {
            reader.port(body, &line.span());
        } else {
            reader.device(body, &line.span(), guid.take());
        }
    }
    let fabric = reader.fabric();
    reader.text.done(fabric)
}

struct Reader {
    text: Text,
    devices: Vec<Device>,
    ids: BTreeMap<String, usize>,
    /// Each with the device in whose block it stands.
    cables: Vec<(usize, PortLine, Range<usize>)>,
}

/// A port of a device.
type Place = (usize, u32);

impl Reader {
    fn device(&mut self, body: &str, span: &Range<usize>, guid: Option<u64>) {
        let Some(mut device) = Device::read(body) else {
            let expected = "`Switch PORTS \"ID\"`, `Ca PORTS \"ID\"`, or a line of a port below one";
            return self.text.wrong(span, format!("`{}` begins no block", show(body)), expected);
        };
        device.guid = guid.or_else(|| device::guid_of(&device.id));
        device.span = span.clone();
        if let Some(first) = self.ids.get(&device.id) {
            let message = format!("`{}` has a block already", show(&device.id));
            let first = self.devices[*first].span.clone();
            return self.text.contradicts(span, message, (&first, "one block for each device"));
        }
        self.ids.insert(device.id.clone(), self.devices.len());
        self.devices.push(device);
    }

    fn port(&mut self, body: &str, span: &Range<usize>) {
        let Some(device) = self.devices.len().checked_sub(1) else {
            let expected = "`Switch PORTS \"ID\"` or `Ca PORTS \"ID\"` above it";
            return self.text.wrong(span, "a port before the first device", expected);
        };
        let Some(port) = PortLine::read(body) else {
            return self.text.wrong(span, format!("`{}` is not a port", show(body)), PORT);
        };
        let (ports, id) = (self.devices[device].ports, self.devices[device].id.clone());
        if port.number == 0 || port.number > ports {
            let message = format!("`{}` has no port {}", show(&id), port.number);
            return self.text.wrong(span, message, &format!("1 to {ports}"));
        }
        self.devices[device].addresses.insert(port.number, (port.guid, port.lid, port.lmc));
        self.cables.push((device, port, span.clone()));
    }

    /// All cables, once each, with their rate; what contradicts itself is reported.
    fn joined(&mut self) -> BTreeMap<(Place, Place), Option<Rate>> {
        let mut ends: BTreeMap<Place, (Place, Range<usize>)> = BTreeMap::new();
        let mut joined = BTreeMap::new();
        for (device, port, span) in std::mem::take(&mut self.cables) {
            let here = (device, port.number);
            let Some(&other) = self.ids.get(&port.to) else {
                let meant = nearest(&port.to, self.ids.keys().map(String::as_str));
                let meant = meant.map_or_else(String::new, |id| format!("; did you mean \"{id}\"?"));
                let message = format!("no device is called `{}`", show(&port.to));
                self.text.wrong(&span, message, &format!("a device that has a block{meant}"));
                continue;
            };
            let there = (other, port.to_port);
            if port.to_port == 0 || port.to_port > self.devices[other].ports {
                let message = format!("`{}` has no port {}", show(&port.to), port.to_port);
                self.text.wrong(&span, message, &format!("1 to {}", self.devices[other].ports));
                continue;
            }
            let mut agree = true;
            for (end, to) in [(here, there), (there, here)] {
                let (known, first) = ends.entry(end).or_insert_with(|| (to, span.clone()));
                if *known != to {
                    let message =
                        format!("port {} of `{}` has two cables", end.1, show(&self.devices[end.0].id));
                    let first = first.clone();
                    self.text.contradicts(
                        &span,
                        message,
                        (&first, "one cable at a port, the same from both ends"),
                    );
                    agree = false;
                    break;
                }
            }
            if agree {
                let rate = joined.entry((here.min(there), here.max(there))).or_insert(None);
                *rate = rate.take().or(port.rate);
            }
        }
        joined
    }

    fn fabric(&mut self) -> Fabric {
        let joined = self.joined();
        let mut fabric = Fabric { framing: Framing::Bytes { header: 20, trailer: 6 }, ..Fabric::default() };
        let mut linked: BTreeMap<usize, usize> = BTreeMap::new();
        let ends = joined.keys().flat_map(|(a, b)| [a.0, b.0]);
        ends.for_each(|device| *linked.entry(device).or_default() += 1);
        let (kept, left_out): (Vec<_>, Vec<_>) =
            joined.into_iter().partition(|((a, b), _)| self.why_not(*a, *b).is_none());
        let switches = self.switches(&mut fabric);
        let is_ca = |place: &Place| self.devices[place.0].kind == Kind::Ca;
        // In the order of their blocks, not of the switches that they are linked to.
        let mut places: Vec<Place> = kept.iter().flat_map(|((a, b), _)| [*a, *b]).filter(is_ca).collect();
        places.sort_unstable();
        let nics: BTreeMap<Place, usize> = places.iter().copied().zip(0..).collect();
        fabric.nics =
            places.iter().map(|&(device, port)| nic(&self.devices[device], port, linked[&device])).collect();
        let end = |place: Place| match nics.get(&place) {
            Some(&nic) => End::Nic(nic),
            None => End::Switch(switches[&place.0], Some(place.1 - 1)),
        };
        let cables = kept.into_iter().map(|((a, b), rate)| {
            let rates = [rate.clone(), rate];
            Cable { ends: [end(a), end(b)], rates, length_mm: None, class: None }
        });
        fabric.cables = cables.collect();
        self.note_left_out(left_out.iter().map(|(ends, _)| *ends), &linked, &mut fabric);
        fabric
    }

    /// Adds the switches, and says which device is which.
    fn switches(&self, fabric: &mut Fabric) -> BTreeMap<usize, usize> {
        let mut switches = BTreeMap::new();
        for (number, device) in self.devices.iter().enumerate().filter(|(_, it)| it.kind == Kind::Switch) {
            switches.insert(number, fabric.switches.len());
            let (name, lid) = (device.name().to_owned(), device.lid);
            fabric.switches.push(Switch {
                name,
                ports: Some(device.ports),
                guid: device.guid,
                lid,
                ..Switch::default()
            });
        }
        switches
    }

    /// Why a cable between these ports is left out.
    fn why_not(&self, a: Place, b: Place) -> Option<&'static str> {
        match [self.devices[a.0].kind, self.devices[b.0].kind] {
            [Kind::Subnets, _] | [_, Kind::Subnets] => Some("to a device that joins subnets"),
            [Kind::Aggregation, _] | [_, Kind::Aggregation] => Some("to an aggregation node inside a switch"),
            [Kind::Ca, Kind::Ca] => Some("between two channel adapters"),
            _ if a.0 == b.0 => Some("from a switch to itself"),
            _ => None,
        }
    }

    fn note_left_out(
        &self,
        cables: impl Iterator<Item = (Place, Place)>,
        linked: &BTreeMap<usize, usize>,
        fabric: &mut Fabric,
    ) {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        cables.filter_map(|(a, b)| self.why_not(a, b)).for_each(|why| *counts.entry(why).or_default() += 1);
        let notes = counts.into_iter().map(|(why, count)| format!("{} {why}", counted(count, "cable")));
        fabric.notes.dropped.extend(notes);
        let is_idle =
            |(number, device): &(usize, &Device)| device.kind == Kind::Ca && !linked.contains_key(number);
        let idle = self.devices.iter().enumerate().filter(is_idle).count();
        if idle > 0 {
            fabric.notes.dropped.push(format!("{} without a cable", counted(idle, "channel adapter")));
        }
        let ports = "port 1 of a switch is its port 0 here, and so on: the port of its management is no port of a graph";
        fabric.notes.taken.push(ports.to_owned());
    }
}

/// Port `port` of a channel adapter, of whose ports so many have a cable.
fn nic(device: &Device, port: u32, linked: usize) -> NicPort {
    let (guid, lid, lmc) = device.addresses.get(&port).copied().unwrap_or_default();
    let name = device.name();
    let name = if linked > 1 { format!("{name} p{port}") } else { name.to_owned() };
    NicPort { node: device.node().to_owned(), name, guid, device: device.guid, lid, lmc, file: 0 }
}

#[cfg(test)]
mod tests;
