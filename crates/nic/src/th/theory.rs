//! What an operation takes in an idle machine, in closed form, if it needs one packet of data and all translations are known.

use super::{ENTRY_HEAD, EVENT, INTERRUPT, MINI_PACKET, RECORD, REQUEST, ThSettings};
use crate::host::bus::{BusSettings, REFERENCE_BYTES, Reference, plus};
use crate::host::pcie::PcieSettings;
use crate::host::program::{Operation, Submission, Verb};
use crate::host::{Network, Way};
use flitway_engine::Picos;

/// See [`OnABus::seen_at`](crate::host::OnABus::seen_at).
pub(super) fn seen_at(settings: &ThSettings, operation: &Operation, network: Network<'_>) -> Option<Picos> {
    let ThSettings { host, decode, transmit, receive, parse, end_to_end, .. } = *settings;
    let Operation { verb, bytes, by, is_reliable, .. } = *operation;
    let bus = host.bus;
    let has_data = holds_data(settings, operation);
    if !is_one_packet(settings, operation) {
        return None;
    }
    let bytes = bytes as u32;
    let overhead = if is_reliable { end_to_end.overhead as u16 } else { 0 };
    let sent = |at: Picos, way, payload| {
        let there = network(plus(at, transmit), way, payload);
        plus(plus(there, receive), parse)
    };
    // When data that are there at `data` can be sent, if their descriptor is decoded at `at`.
    let opened = |at: Picos, way: Way, data: Picos| {
        if !is_reliable {
            return data;
        }
        let control = end_to_end.control as u16;
        let back = if way == Way::There { Way::Back } else { Way::There };
        sent(sent(at, way, control), back, control).max(data)
    };
    let mut at = plus(descriptor_at(settings, by)?, decode);
    if verb == Verb::Get {
        at = plus(sent(opened(at, Way::There, at), Way::There, REQUEST + overhead), decode);
        let data = plus(at, read(&bus, bytes));
        at = sent(opened(at, Way::Back, data), Way::Back, bytes as u16 + overhead);
    } else {
        let data = if has_data { at } else { plus(at, read(&bus, bytes)) };
        at = sent(opened(at, Way::There, data), Way::There, bytes as u16 + overhead);
    }
    let written = match verb {
        Verb::Send => bus.tlps(bytes + ENTRY_HEAD),
        _ => plus(bus.tlps(bytes), bus.tlps(EVENT)),
    };
    Some(plus(plus(plus(at, written), bus.flight(Reference::Post)), host.poll))
}

/// See [`OnABus::wakes_in`](crate::host::OnABus::wakes_in).
pub(super) fn wakes_in(settings: &ThSettings) -> Picos {
    let bus = settings.host.bus;
    plus(plus(bus.tlps(RECORD), bus.tlps(INTERRUPT)), settings.interrupt)
}

/// Whether its descriptor holds the data of an operation.
fn holds_data(settings: &ThSettings, operation: &Operation) -> bool {
    match operation.verb {
        Verb::Send => operation.bytes <= MINI_PACKET,
        Verb::Put => operation.bytes <= settings.immediate.into(),
        _ => false,
    }
}

/// Whether one read and one packet have all its data.
fn is_one_packet(settings: &ThSettings, operation: &Operation) -> bool {
    let ThSettings { host, mtu, end_to_end, atc, .. } = *settings;
    let Operation { verb, bytes, here, there, is_reliable, .. } = *operation;
    if holds_data(settings, operation) {
        return true;
    }
    let [source, target] = if verb == Verb::Get { [there, here] } else { [here, there] };
    let is_whole = |from: u64, least: u64| from % least + bytes <= least;
    let is_cut = match is_reliable {
        false => !is_whole(target, mtu.into()),
        true => bytes > u64::from(mtu - end_to_end.overhead) || !is_whole(target, atc.page),
    };
    verb != Verb::Send && !is_cut && is_whole(source, host.bus.read_request.into())
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
