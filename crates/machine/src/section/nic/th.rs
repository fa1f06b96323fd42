//! The NIC of TH Express-2: its settings and checks. Source: th-express-2.txt sections 2.2, 4.1 and 4.2.

use flitway_engine::Picos;
use flitway_nic::NicSettings;
use flitway_nic::host::atc::AtcSettings;
use flitway_nic::th::{DESCRIPTOR, EndToEndSettings, MINI_PACKET, ThSettings};

use super::{MODEL as SELECTOR, Model, OVERHEAD_MAX};
use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::section::host::pcie::{self, READ_REQUEST};
use crate::section::host::{Bus, check_power, count, size, size_of, time};
use crate::section::{greatest_divisor, packet};
use crate::setting::{Choice, Kind, Setting, When, settings};
use crate::units::Dimension;
use crate::values::Values;

pub(crate) static MODEL: Model = Model {
    choice: Choice {
        name: NAME,
        doc: "The NIC of TH Express-2, on the bus of a host: queues of descriptors, a protocol engine, an address translation \
              cache, and queues in memory that processes poll.",
    },
    bus: Some(Bus::Pcie),
    settings: SETTINGS,
    page: PAGE,
    build,
};

const NAME: &str = "th";

const PAGE: &[&str] = &[
    "What uses it. `--nic` runs operations through all of it: processors, bus, NIC, network. Whatever else runs on a machine \
     (synthetic traffic, task graphs, multicasts, barriers, trains) makes packets itself and hands them to the NIC ports, as \
     with the ideal NIC: it meets the network and not the NIC.",
    "How it works. A process posts a descriptor of 128 B: into a queue on the chip (HDQ), which costs processor time and saves a \
     read, or into one in memory (SDQ), of which it tells by a doorbell. Units of the protocol engine take descriptors from all \
     queues in turn (section 2.2.1). A mini-packet, and a put of up to 96 B, has its data in the descriptor; a larger put \
     reads them over the bus, a get has the other NIC do so. What comes in is written over the bus: mini-packets into the \
     receive queue of a process (MPQ), data to their address, and when all data of an operation are there an event (EQ).",
    "Addresses are virtual. The NIC has translations in a cache (ATC) and reads others from memory (section 2.2.2). Nothing else \
     waits for that.",
    "Full queues. A mini-packet that finds its MPQ full, or an event its EQ, waits in the NIC, and is dropped after `nic.hold` \
     (OQ-T7). A full receive buffer keeps packets in the NIC port, which presses back into the network.",
    "Protection. Each process has a key, and its packets have it too; what is for a process that has another key, or for an address \
     that the system software has not set up for it, is discarded, recorded in a queue (INTQ), and saved in another (EPQ) for the \
     system software. A descriptor whose own addresses are not valid comes back as an event (sections 2.2.2, 2.2.3, 4.1). A process \
     that sleeps is woken by an interrupt (`nic.interrupt`), which goes through the INTQ.",
    "Reliable operations. With `reliable=yes` (`flitway explain put`) a connection is set up before each transfer, which has a \
     context at both ends (sections 2.2.3 and 4.2.4); each packet has a number and a CRC of its own, and what is lost, or was \
     corrupted where no link saw it, is sent again. A get is two transfers. Who finds no context waits: a queue of descriptors at \
     the sender, or the set-up, which is refused and said again. A full queue has a packet refused, not dropped.",
    "What happens when is said in crates/nic/src/th/mod.rs, and of host and bus in crates/nic/src/host/.",
];

const OF_TH: When = When { selector: &SELECTOR, holds: |_, name| name == NAME };

settings! {
    static SETTINGS;

    /// Submission queues on the chip (HDQ). The first processes of a node have one each.
    HDQS = "nic.hdqs", count(1, 32), default(8), for OF_TH, source("th-express-2.txt section 2.2.1 (P-TH-033)");

    /// Descriptors that each holds.
    HDQ_DEPTH = "nic.hdq_depth", count(1, 4096), default(16), for OF_TH, source("[assumed]; the paper gives none (P-TH-076)");

    /// Submission queues in memory (SDQ): processes that a node can have.
    SDQS = "nic.sdqs", count(1, 32), default(32), for OF_TH, source("th-express-2.txt section 2.2.1 (P-TH-034)");

    /// Descriptors that each holds.
    SDQ_DEPTH = "nic.sdq_depth", count(1, 65_536), default(256), for OF_TH, source("[assumed]");

    /// Groups of queues in memory. Each has memory on the chip for descriptors that have been read.
    SDQ_GROUPS = "nic.sdq_groups", count(1, 32), default(8), for OF_TH,
        source("th-express-2.txt section 2.2.1 (P-TH-035)");

    /// Descriptors that the memory of a group holds.
    GROUP_ROOM = "nic.group_descriptors", count(1, 4096), default(16), for OF_TH, source("[assumed]");

    /// Descriptors of a queue that the NIC reads at a time.
    FETCH = "nic.fetch", count(1, 32), default(4), for OF_TH,
        source("th-express-2.txt section 4.1.1 (P-TH-077): one or several; four [assumed]");

    /// Units of the protocol engine.
    UNITS = "nic.units", count(1, 64), default(4), for OF_TH,
        source("th-express-2.txt section 2.2.2 (P-TH-038): several; four [assumed]");

    /// Time in which a unit decodes a descriptor and makes a packet.
    DECODE = "nic.decode", time(), default("80 ns"), for OF_TH, source("OQ-T9");

    /// Time between two descriptors that a unit takes, where they have their data.
    INTERVAL = "nic.interval", time(), default("10 ns"), for OF_TH,
        source("th-express-2.txt section 2.2.2: pipelined; the time [assumed]");

    /// Data that a unit has asked the memory for and not sent on.
    UNIT_BUFFER = "nic.unit_buffer", size(512, 1 << 24), default("8 KiB"), for OF_TH, source("[assumed]");

    /// The most data of a put that its descriptor holds.
    IMMEDIATE = "nic.immediate", size(0, 96), default("96 B"), for OF_TH,
        source("th-express-2.txt section 4.2.2 (P-TH-085)");

    /// Time of the network interface for a packet that is sent, without the NIC port.
    TRANSMIT = "nic.transmit", time(), default("29.4 ns"), for OF_TH,
        source("OQ-T9: 60 ns, of which the NIC port of TH Express-2 takes 13 cycles");

    /// Packets in the source queue of a NIC port, or on their way there.
    PORT_PACKETS = "nic.port_packets", count(1, 4096), default(16), for OF_TH,
        source("[assumed], what the time of the network interface needs and twice that");

    /// Time of the network interface for a packet that has come, without the NIC port.
    RECEIVE = "nic.receive", time(), default("34.1 ns"), for OF_TH,
        source("OQ-T9: 60 ns, of which the NIC port of TH Express-2 takes 11 cycles");

    /// Time in which a packet that has come is parsed.
    PARSE = "nic.parse", time(), default("60 ns"), for OF_TH, source("OQ-T9");

    /// The receive buffer of the NIC.
    RECEIVE_BUFFER = "nic.receive_buffer", size(64, 1 << 30), default("32 KiB"), for OF_TH, source("[assumed]");

    /// Entries of the queue of mini-packets (MPQ) of a process.
    MPQ = "nic.mpq", count(1, 1 << 20), default(1024), for OF_TH, source("[assumed]");

    /// Entries of the queue of events (EQ) of a process.
    EQ = "nic.eq", count(1, 1 << 20), default(1024), for OF_TH, source("[assumed]");

    /// Time that a mini-packet or an event waits for an entry before it is dropped.
    HOLD = "nic.hold", time(), default("10 us"), for OF_TH, source("OQ-T7");

    /// Entries of the queue of records that the system software reads (INTQ), one for each interrupt.
    INTQ = "nic.intq", count(1, 1 << 20), default(64), for OF_TH,
        source("[assumed]; the queue: th-express-2.txt section 4.1.2 (P-TH-079, P-TH-080)");

    /// Entries of the queue of error packets (EPQ); 0 if they are not saved.
    EPQ = "nic.epq", count(0, 1 << 20), default(64), for OF_TH,
        source("[assumed]; the queue: th-express-2.txt section 4.1.2 (P-TH-081)");

    /// Time in which the system software handles an interrupt: from when memory has its record until the process that it is for
    /// goes on.
    INTERRUPT = "nic.interrupt", time(), default("2 us"), for OF_TH, source("[assumed]; the paper gives none");

    /// Translations that the address translation cache (ATC) holds.
    ATC_ENTRIES = "nic.atc.entries", count(1, 1 << 24), default(1_048_576), for OF_TH,
        source("th-express-2.txt section 2.2.2 (P-TH-041)");

    /// Places in it that a page may have; a divisor of the entries.
    ATC_WAYS = "nic.atc.ways", count(1, 64), default(8), for OF_TH,
        source("th-express-2.txt section 2.2.2 (P-TH-042)");

    /// Bytes of a page: a power of two.
    ATC_PAGE = "nic.atc.page", size(4096, 1 << 30), default("4 KiB"), for OF_TH, source("OQ-T20");

    /// Translations that it reads from memory at a time.
    ATC_MISSES = "nic.atc.misses", count(1, 1024), default(16), for OF_TH, source("OQ-T20");

    /// Whether it has all translations before the start, and so never misses.
    ATC_PRELOADED = "nic.atc.preloaded", Kind::Flag, default(false), for OF_TH,
        source("th-express-2.txt section 2.2.2 (P-TH-045)");

    /// Contexts of senders of reliable transfers. A queue whose next descriptor finds none pauses.
    SENDERS = "nic.end_to_end.senders", count(1, 4096), default(256), for OF_TH,
        source("th-express-2.txt section 2.2.3 (P-TH-047)");

    /// Contexts of receivers of reliable transfers. Who finds none is refused, and asks again.
    RECEIVERS = "nic.end_to_end.receivers", count(1, 4096), default(256), for OF_TH,
        source("th-express-2.txt section 2.2.3 (P-TH-048)");

    /// Time after which a sender that has heard nothing since it last sent something asks the receiver how far that is. A
    /// receiver to which nothing has come for twice as long says so itself.
    TIMEOUT = "nic.end_to_end.timeout", wait(), default("50 us"), for OF_TH, source("OQ-T19; twice as long [assumed]");

    /// Time that a sender waits which was refused a context for the first time. Each time in a row it is doubled.
    BACK_OFF = "nic.end_to_end.back_off", wait(), default("2 us"), for OF_TH, source("OQ-T19");

    /// The longest such time.
    BACK_OFF_MAX = "nic.end_to_end.back_off_max", wait(), default("32 us"), for OF_TH, source("OQ-T19");

    /// Time-outs, and refusals of a packet for want of an entry, in a row, after which an end gives a transfer up. Refusals of
    /// contexts do not count.
    TRIES = "nic.end_to_end.tries", count(1, 1 << 20), default(100), for OF_TH, source("[assumed]; the paper gives none");

    /// Bytes of a packet without data, for the set-up and the end of a transfer.
    CONTROL = "nic.end_to_end.control", size(1, 64), default("16 B"), for OF_TH, source("[assumed]");

    /// Bytes of a packet with data for its context, its number and its CRC.
    OVERHEAD = "nic.end_to_end.overhead", size(0, 64), default("8 B"), for OF_TH,
        source("[assumed]: 4 B for context and number, 4 B for the CRC");
}

fn build(values: &Values, findings: &mut Diagnostics) -> Option<NicSettings> {
    let host = pcie::build(values, findings);
    let atc = atc(values, findings);
    let time = |setting| values.quantity(setting).map(Picos);
    let mtu = values.quantity_u32(&packet::MTU);
    let settings = ThSettings {
        host: host?,
        store: time(&pcie::STORE)?,
        hdqs: values.count(&HDQS)?,
        hdq_depth: values.count(&HDQ_DEPTH)?,
        sdqs: values.count(&SDQS)?,
        sdq_depth: values.count(&SDQ_DEPTH)?,
        sdq_groups: values.count(&SDQ_GROUPS)?,
        group_room: values.count(&GROUP_ROOM)?,
        fetch: values.count(&FETCH)?,
        units: values.count(&UNITS)?,
        decode: time(&DECODE)?,
        interval: time(&INTERVAL)?,
        unit_buffer: values.quantity_u32(&UNIT_BUFFER)?,
        immediate: values.quantity_u32(&IMMEDIATE)?,
        transmit: time(&TRANSMIT)?,
        port_packets: values.count(&PORT_PACKETS)?,
        receive: time(&RECEIVE)?,
        parse: time(&PARSE)?,
        receive_buffer: values.quantity_u32(&RECEIVE_BUFFER)?,
        mpq: values.count(&MPQ)?,
        eq: values.count(&EQ)?,
        hold: time(&HOLD)?,
        intq: values.count(&INTQ)?,
        epq: values.count(&EPQ)?,
        interrupt: time(&INTERRUPT)?,
        atc: atc?,
        end_to_end: end_to_end(values)?,
        mtu: mtu?,
    };
    check(values, &settings, findings).then_some(NicSettings::Th(Box::new(settings)))
}

/// A time that something waits, which is not none.
const fn wait() -> Kind {
    Kind::Quantity { dimension: Dimension::Time, min: 1_000, max: OVERHEAD_MAX }
}

fn end_to_end(values: &Values) -> Option<EndToEndSettings> {
    let time = |setting| values.quantity(setting).map(Picos);
    Some(EndToEndSettings {
        senders: values.count(&SENDERS)?,
        receivers: values.count(&RECEIVERS)?,
        timeout: time(&TIMEOUT)?,
        back_off: [time(&BACK_OFF)?, time(&BACK_OFF_MAX)?],
        tries: values.count(&TRIES)?,
        control: values.quantity_u32(&CONTROL)?,
        overhead: values.quantity_u32(&OVERHEAD)?,
    })
}

fn atc(values: &Values, findings: &mut Diagnostics) -> Option<AtcSettings> {
    let settings = AtcSettings {
        entries: values.count(&ATC_ENTRIES)?,
        ways: values.count(&ATC_WAYS)?,
        page: values.quantity(&ATC_PAGE)?,
        misses: values.count(&ATC_MISSES)?,
        is_preloaded: values.flag(&ATC_PRELOADED)?,
    };
    let AtcSettings { entries, ways, page, .. } = settings;
    let mut is_sound = true;
    if !entries.is_multiple_of(ways) {
        let message = format!("{entries} translations do not fill sets of {ways}");
        let fix = values.fix(&ATC_ENTRIES, &(entries.next_multiple_of(ways)).to_string());
        findings.push(values.conflict(Code::Host, &[&ATC_ENTRIES, &ATC_WAYS], message).help(fix));
        is_sound = false;
    }
    is_sound &= check_power(values, &ATC_PAGE, page, &format!("a page has {page} B"), findings);
    is_sound.then_some(settings)
}

/// What goes beyond one value.
fn check(values: &Values, settings: &ThSettings, findings: &mut Diagnostics) -> bool {
    let ThSettings { host, mtu, sdqs, sdq_groups, fetch, unit_buffer, receive_buffer, .. } = *settings;
    let request = host.bus.read_request;
    let mut is_sound = true;
    let mut refuse =
        |setting: &'static Setting, others: &[&'static Setting], message: String, value: &str| {
            let all: Vec<&'static Setting> = std::iter::once(setting).chain(others.iter().copied()).collect();
            findings.push(values.conflict(Code::Host, &all, message).help(values.fix(setting, value)));
            is_sound = false;
        };
    // A mini-packet is not cut, and no packet is larger than a page.
    let (least, most) = ((MINI_PACKET as u32).next_power_of_two(), 4096);
    if !mtu.is_power_of_two() || mtu < least || mtu > most {
        let message = format!(
            "packets are cut where addresses are a multiple of {}, the MTU; this NIC needs a power of two of {} to {}",
            size_of(mtu),
            size_of(least),
            size_of(most)
        );
        refuse(&packet::MTU, &[&SELECTOR], message, &size_of(1 << mtu.clamp(least, most).ilog2()));
    }
    if !sdqs.is_multiple_of(sdq_groups) {
        let message = format!("{sdqs} queues in memory cannot be dealt to {sdq_groups} groups");
        let groups = greatest_divisor(sdqs.into(), sdq_groups);
        refuse(&SDQ_GROUPS, &[&SDQS], message, &groups.to_string());
    }
    if fetch * DESCRIPTOR > request {
        let message =
            format!("{fetch} descriptors of {DESCRIPTOR} B are more than one read of {}", size_of(request));
        refuse(&FETCH, &[&READ_REQUEST], message, &(request / DESCRIPTOR).to_string());
    }
    // What is left of one read, less than a packet, waits for the next.
    if unit_buffer < request + mtu {
        let message = format!(
            "a unit has {} for data, less than a read of {} and a packet of {}: a transfer could stick",
            size_of(unit_buffer),
            size_of(request),
            size_of(mtu)
        );
        let least = size_of((request + mtu).next_power_of_two());
        refuse(&UNIT_BUFFER, &[&READ_REQUEST, &packet::MTU], message, &least);
    }
    let overhead = settings.end_to_end.overhead;
    if mtu >= least && mtu - overhead.min(mtu) < MINI_PACKET as u32 {
        let message = format!(
            "a mini-packet of {MINI_PACKET} B with {} for context, number and CRC is more than a packet of {}",
            size_of(overhead),
            size_of(mtu)
        );
        refuse(&OVERHEAD, &[&packet::MTU], message, &size_of(mtu - MINI_PACKET as u32));
    }
    let [first, longest] = settings.end_to_end.back_off;
    if first > longest {
        let message = "the first back-off is longer than the longest".to_owned();
        refuse(&BACK_OFF_MAX, &[&BACK_OFF], message, &format!("{} ps", first.0));
    }
    if receive_buffer < mtu {
        let message = format!(
            "the receive buffer has {}, less than a packet of {}",
            size_of(receive_buffer),
            size_of(mtu)
        );
        refuse(&RECEIVE_BUFFER, &[&packet::MTU], message, &size_of(4 * mtu));
    }
    is_sound
}
