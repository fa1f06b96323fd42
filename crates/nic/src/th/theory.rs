//! What an operation takes in an idle machine, in closed form, if it needs one packet of data and all translations are known.

use super::{ENTRY_HEAD, EVENT, MINI_PACKET, REQUEST, ThSettings};
use crate::host::bus::{BusSettings, REFERENCE_BYTES, Reference, plus};
use crate::host::pcie::PcieSettings;
use crate::host::program::{Operation, Submission, Verb};
use crate::host::{Network, Way};
use flitway_engine::Picos;

/// See [`OnABus::seen_at`](crate::host::OnABus::seen_at).
pub(super) fn seen_at(settings: &ThSettings, operation: &Operation, network: Network<'_>) -> Option<Picos> {
    let ThSettings { host, decode, transmit, receive, parse, mtu, immediate, .. } = *settings;
    let Operation { verb, bytes, here, there, by, .. } = *operation;
    let bus = host.bus;
    let is_whole = |from: u64, least: u32| from % u64::from(least) + bytes <= u64::from(least);
    let has_data = match verb {
        Verb::Send => bytes <= MINI_PACKET,
        Verb::Put => bytes <= immediate.into(),
        _ => false,
    };
    let [source, target] = if verb == Verb::Get { [there, here] } else { [here, there] };
    let is_one = has_data || (is_whole(source, bus.read_request) && is_whole(target, mtu));
    if !is_one || (verb == Verb::Send && !has_data) {
        return None;
    }
    let bytes = bytes as u32;
    let mut at = descriptor_at(settings, by)?;
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
        _ => plus(bus.tlps(bytes), bus.tlps(EVENT)),
    };
    Some(plus(plus(plus(at, written), bus.flight(Reference::Post)), host.poll))
}

/// When the NIC has a descriptor that is posted at the start.
fn descriptor_at(settings: &ThSettings, by: Submission) -> Option<Picos> {
    let ThSettings { host, .. } = *settings;
    match by {
        Submission::Hdq => Some(host.bus.write_latency),
        Submission::Sdq => {
            let rung = plus(plus(settings.store, host.bus.burst_time), host.bus.tlp(super::DOORBELL));
            let rung = plus(rung, host.bus.flight(Reference::Write));
            Some(plus(rung, host.bus.cached_read_latency))
        }
        _ => None,
    }
}

/// A read of `bytes` of memory.
fn read(bus: &PcieSettings, bytes: u32) -> Picos {
    Picos(bus.read_latency.0 - bus.tlps(REFERENCE_BYTES).0 + bus.tlps(bytes).0)
}
