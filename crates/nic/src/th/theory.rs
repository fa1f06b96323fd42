//! What an operation takes in an idle machine, in closed form, if it needs one packet of data and all translations are known.

use super::{ENTRY_HEAD, EVENT, MINI_PACKET, REQUEST, ThSettings};
use crate::host::pcie::{PcieSettings, REFERENCE_BYTES, Reference, plus};
use crate::host::program::{Operation, Submission, Verb};
use flitway_engine::Picos;

/// Which way a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To the node that the operation names.
    There,
    /// From it.
    Back,
}

/// When the process that it brings data to has seen `operation`, which is posted at `begin`; `network` says when a packet of so
/// many bytes that reaches the NIC port at some date is delivered. `None` if it needs more than one read or packet of data.
pub fn seen_at(
    settings: &ThSettings,
    operation: &Operation,
    begin: Picos,
    network: &dyn Fn(Picos, Way, u16) -> Picos,
) -> Option<Picos> {
    let ThSettings { host, decode, transmit, receive, parse, mtu, immediate, .. } = *settings;
    let Operation { verb, bytes, here, there, by, .. } = *operation;
    let bus = host.bus;
    let is_whole = |from: u64, least: u32| from % u64::from(least) + bytes <= u64::from(least);
    let has_data = match verb {
        Verb::Send => bytes <= MINI_PACKET,
        Verb::Put => bytes <= immediate.into(),
        Verb::Get => false,
    };
    let [source, target] = if verb == Verb::Get { [there, here] } else { [here, there] };
    let is_one = has_data || (is_whole(source, bus.read_request) && is_whole(target, mtu));
    if !is_one || (verb == Verb::Send && !has_data) {
        return None;
    }
    let bytes = bytes as u32;
    let mut at = descriptor_at(settings, by, begin);
    let sent = |at: Picos, way, payload| {
        let there = network(plus(at, transmit), way, payload);
        plus(plus(there, receive), parse)
    };
    at = plus(at, decode);
    if verb == Verb::Get {
        at = plus(sent(at, Way::There, REQUEST), decode);
        at = sent(plus(at, read(&bus, bytes)), Way::Back, bytes as u16);
    } else {
        let data = if has_data { Picos(0) } else { read(&bus, bytes) };
        at = sent(plus(at, data), Way::There, bytes as u16);
    }
    let written = match verb {
        Verb::Send => bus.tlps(bytes + ENTRY_HEAD),
        Verb::Put | Verb::Get => plus(bus.tlps(bytes), bus.tlps(EVENT)),
    };
    Some(plus(plus(plus(at, written), bus.flight(Reference::Post)), host.poll))
}

/// When the NIC has a descriptor.
fn descriptor_at(settings: &ThSettings, by: Submission, begin: Picos) -> Picos {
    let ThSettings { host, .. } = *settings;
    match by {
        Submission::Hdq => plus(begin, host.bus.write_latency),
        Submission::Sdq => {
            let rung = plus(plus(host.store, host.bus.burst_time), host.bus.tlp(super::DOORBELL));
            let rung = plus(plus(begin, rung), host.bus.flight(Reference::Write));
            plus(rung, host.bus.cached_read_latency)
        }
    }
}

/// A read of `bytes` of memory.
fn read(bus: &PcieSettings, bytes: u32) -> Picos {
    Picos(bus.read_latency.0 - bus.tlps(REFERENCE_BYTES).0 + bus.tlps(bytes).0)
}
