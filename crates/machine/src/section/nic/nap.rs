//! The NIC of Dawning 5000: its settings and checks. Source: dawning5000.txt sections 3.2 and 6.

use flitway_engine::Picos;
use flitway_nic::NicSettings;
use flitway_nic::nap::NapSettings;

use super::{MODEL as SELECTOR, Model};
use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::section::host::{Bus, count, hyper_transport, size, time};
use crate::section::packet::MTU;
use crate::setting::{Choice, When, settings};
use crate::values::Values;

pub(crate) static MODEL: Model = Model {
    choice: Choice {
        name: NAME,
        doc: "The NIC of Dawning 5000, on the HyperTransport of a host: NAP channels into rings of slots, MSG channels into \
              memory, DMA engines that spread packets over rails, and words of other nodes.",
    },
    bus: Some(Bus::HyperTransport),
    settings: SETTINGS,
    page: PAGE,
    build,
};

const NAME: &str = "nap";

const PAGE: &[&str] = &[
    "What uses it. `--nic` runs operations through all of it: processors, bus, NIC, network. Whatever else runs on a machine \
     (synthetic traffic, task graphs, multicasts, barriers, trains) makes packets itself and hands them to the NIC ports, as \
     with the ideal NIC: it meets the network and not the NIC.",
    "How it works. A process has a pair of channels. NAP is for short messages (`send`): the processor writes small data with \
     their descriptor, of larger ones the NIC reads them over the bus; they come into slots of a ring in the memory of the other \
     process, which it polls. MSG is for long ones (`put`): data go straight to their address, and when all are there an event \
     record goes into another ring. The address is asked for by NAP first (`by=rendezvous`), or known (`by=dma`). A `get` has the \
     other NIC send. Four DMA engines take packets of all channels in turn, and rails take the packets in turn, so those of one \
     operation go over all rails; packets of NAP are put in order by the NIC that receives them.",
    "Credits. The slots of a ring are divided among up to `nic.nap.peers` senders. A sender needs a credit for each packet, and \
     waits without one, in its own queue. Credits come back with packets that go the other way, or by themselves when half of \
     them are owed.",
    "Words. `remote-load`, `remote-store` and `fetch-add` are one packet and its answer, without a library: addresses are \
     physical all over the machine, and nothing is translated.",
    "Locks. Each address has a lock, which the NIC of its node keeps. A process of another node that asks for it waits there for \
     its turn, or is refused and tries again: `lock(0-15)`, `by=retry`.",
    "Barriers. The barrier module has the processes of its node as leaves: when all have come it says so to the switches, where \
     those combine barriers, or up a tree of NICs; when all nodes have come it writes so into the memory of each: `barrier(0-15)`, \
     with `--processes`.",
    "The bus. Each of two HyperTransport ports carries 6.4 Gbit/s each way; process i belongs to port i mod 2. \
     `host.platform` says what the processors take: solved from 1.4 us for software and both NICs, which is an input.",
    "Not modelled: copies out of slots, end-to-end time-outs, multicasts into \
     rings, rails that fail.",
    "What happens when is said in crates/nic/src/nap/mod.rs, and of host and bus in crates/nic/src/host/.",
];

const OF_NAP: When = When { selector: &SELECTOR, holds: |_, name| name == NAME };

settings! {
    static SETTINGS;

    /// Time of the library for an operation, before the processor writes it.
    ISSUE = "nic.issue", time(), default("294 ns"), for OF_NAP,
        source("solved from 1.4 us (spec/mechanisms.md 1.8, OQ-H17): 700 ns less the network's 100 ns, a burst, the bus, 100 ns and the NIC");

    /// Descriptors that the queue of a channel holds.
    DEPTH = "nic.queue", count(8, 65_536), default(16), for OF_NAP, source("[assumed]");

    /// The most data of a message that the processor writes with its descriptor; of a larger one the NIC reads them.
    IMMEDIATE = "nic.immediate", size(0, 4096), default("128 B"), for OF_NAP,
        source("spec/mechanisms.md 1.8: data by PIO or DMA; where they cross [assumed]");

    /// Slots of the ring of a NAP channel.
    SLOTS = "nic.nap.slots", count(1, 65_536), default(64), for OF_NAP, source("OQ-D7");

    /// Data of a slot, and of a packet of a NAP channel; no more than the MTU.
    SLOT = "nic.nap.slot", size(16, 4096), default("1 KiB"), for OF_NAP, source("OQ-D7");

    /// Processes of other nodes that may send to a ring: its slots are divided among them.
    PEERS = "nic.nap.peers", count(1, 65_536), default(16), for OF_NAP, source("[assumed], the nodes of one switch");

    /// Entries of the ring of event records of an MSG channel.
    EVENTS = "nic.msg.events", count(1, 1 << 20), default(1024), for OF_NAP, source("[assumed]");

    /// DMA engines.
    ENGINES = "nic.engines", count(1, 64), default(4), for OF_NAP,
        source("dawning5000.txt section 3.2 (P-DN-030): several; one for each rail [assumed]");

    /// Time from when an engine takes a packet until it reads its data, or has made it if it has them.
    START = "nic.start", time(), default("100 ns"), for OF_NAP, source("[assumed], ten cycles of the prototype, of the 1.4 us");

    /// Time from when a packet is ready until it is in the source queue of a NIC port.
    TRANSMIT = "nic.transmit", time(), default("50 ns"), for OF_NAP, source("[assumed], five cycles of the prototype, of the 1.4 us");

    /// Packets in the source queue of a NIC port, or on their way there.
    PORT_PACKETS = "nic.port_packets", count(1, 4096), default(2), for OF_NAP, source("[assumed], one behind the one that is sent");

    /// Time from when a packet is out of the NIC port until the NIC deals with it.
    RECEIVE = "nic.receive", time(), default("150 ns"), for OF_NAP, source("[assumed], as long as sending takes, of the 1.4 us");

    /// The receive buffer of the NIC; a packet of the MTU at least.
    RECEIVE_BUFFER = "nic.receive_buffer", size(64, 1 << 30), default("16 KiB"), for OF_NAP,
        source("[assumed], four packets for each rail");

    /// Words of other nodes that a process has under way at most.
    WORDS = "nic.words", count(1, 4096), default(8), for OF_NAP, source("[assumed]");

    /// Time of the remote access unit for a word that is asked for, and for one that is answered.
    REMOTE = "nic.remote", time(), default("100 ns"), for OF_NAP, source("[assumed], as an engine");

    /// Time of the barrier module for a process, or a node, that has come, and for that all have.
    BARRIER = "nic.barrier", time(), default("100 ns"), for OF_NAP, source("[assumed], as an engine");
}

fn build(values: &Values, findings: &mut Diagnostics) -> Option<NicSettings> {
    let host = hyper_transport::build(values, findings);
    let time = |setting| values.quantity(setting).map(Picos);
    let bytes = |setting| values.quantity_u32(setting);
    let settings = NapSettings {
        host: host?,
        issue: time(&ISSUE)?,
        depth: values.count(&DEPTH)?,
        immediate: bytes(&IMMEDIATE)?,
        slots: values.count(&SLOTS)?,
        peers: values.count(&PEERS)?,
        slot: bytes(&SLOT)?.min(bytes(&MTU)?),
        events: values.count(&EVENTS)?,
        engines: values.count(&ENGINES)?,
        start: time(&START)?,
        transmit: time(&TRANSMIT)?,
        port_packets: values.count(&PORT_PACKETS)?,
        receive: time(&RECEIVE)?,
        receive_buffer: bytes(&RECEIVE_BUFFER)?.max(bytes(&MTU)?),
        words: values.count(&WORDS)?,
        remote: time(&REMOTE)?,
        barrier: time(&BARRIER)?,
        mtu: bytes(&MTU)?,
    };
    check(values, &settings, findings).then_some(NicSettings::Nap(Box::new(settings)))
}

/// What goes beyond one value.
fn check(values: &Values, settings: &NapSettings, findings: &mut Diagnostics) -> bool {
    let NapSettings { slots, peers, .. } = *settings;
    if peers <= slots {
        return true;
    }
    let message = format!("{slots} slots of a ring cannot be divided among {peers} senders: some had none");
    let problem = values.conflict(Code::Host, &[&SLOTS, &PEERS], message);
    findings.push(problem.help(values.fix(&SLOTS, &peers.to_string())));
    false
}
