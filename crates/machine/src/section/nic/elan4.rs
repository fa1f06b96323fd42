//! Elan4, the NIC of QsNetII: its settings and checks. Source: qsnet2.txt, "Elan4".

use flitway_engine::Picos;
use flitway_nic::NicSettings;
use flitway_nic::elan4::{COMMANDS, DESCRIPTOR, ElanSettings, ThreadSettings};
use flitway_nic::host::atc::AtcSettings;
use flitway_nic::host::bus::BusSettings as _;

use super::{MODEL as SELECTOR, Model};
use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::section::host::pci_x::{self, READ_REQUEST};
use crate::section::host::{Bus, check_power, count, size, size_of, time};
use crate::section::packet::MTU;
use crate::setting::{Choice, Kind, Setting, When, settings};
use crate::units::{self, Dimension};
use crate::values::Values;

pub(crate) static MODEL: Model = Model {
    choice: Choice {
        name: NAME,
        doc: "Elan4, the NIC of QsNetII, on the PCI-X bus of a host: command queues, short packets made of commands, a DMA \
              engine, and events in memory that processes poll.",
    },
    bus: Some(Bus::PciX),
    settings: SETTINGS,
    page: PAGE,
    build,
};

pub(crate) const NAME: &str = "elan4";

const PAGE: &[&str] = &[
    "What uses it. `--nic` runs operations through all of it: processors, bus, NIC, network. Whatever else runs on a machine \
     (synthetic traffic, task graphs, multicasts, barriers, trains) makes packets itself and hands them to the NIC ports, as \
     with the ideal NIC: it meets the network and not the NIC. It needs switches that answer packets, and one rail.",
    "How it works. A process writes commands with their data over the bus into a command queue of its own. The short transaction \
     engine (STEN) makes packets of them, two of which a queue has under way until they are answered; or a command is a \
     descriptor for the DMA engine, which reads the data over the bus and has two assemblers make packets of them, so that the \
     end of one DMA overlaps the start of the next. A get is a short packet with a descriptor for the DMA engine of the other \
     node. What comes in is written over the bus, and when all data of an operation have been, its event is set: a word in \
     memory that the process polls.",
    "A send is a packet of STEN for the input queue of the other process, a ring in the memory of its NIC. Its event brings it \
     over the bus with the word; the process copies it, and frees the slot. A message that finds no slot is refused: its own NIC \
     sends it again, at once or after a back-off, and it keeps its place in the command queue that it came from. So a process \
     that does not poll holds up those who send to it, and nobody else.",
    "An event can have a count and a block of commands, of up to 2 KiB, in the memory of the NIC. Data of a put can come into \
     that block; when the event has been set so many times it copies the block into a command queue, and so starts the next \
     packets without a processor: `put(0-1, chain=8)`.",
    "The bus carries one thing at a time, in either direction: PIO, the data that the DMA engine reads, what comes in and events \
     all wait for each other. `host.platform` says what computer it is in. A read takes 750 ns, and a processor is busy for \
     0.5 us with a DMA, so small puts go by STEN; what the processor has to write itself is slow for large ones.",
    "A process can have a thread on the thread processor, which runs a program: matching of sends with receives (`send(0-1, \
     match=1)`), a reduction (`reduce(0-63)`), a gather (`gather(0-63)`), or one of your own (`thread(0-63, program=FILE)`), in the \
     language of docs/elan4-threads.md. A message for a thread, or a command of its process, wakes it.",
    "Not modelled: heads of packets that leave before their tails are there, but a large DMA leaves as it is read; writes of a \
     processor that overtake each other; half-built packets and errors of a queue; reads of the thread processor over the bus, its \
     caches, faults of translation.",
    "What happens when is said in crates/nic/src/elan4/mod.rs, and of host and bus in crates/nic/src/host/.",
];

const OF_ELAN4: When = When { selector: &SELECTOR, holds: |_, name| name == NAME };

settings! {
    static SETTINGS;

    /// Time that a processor is busy to issue a DMA, until it has written the descriptor.
    ISSUE = "nic.issue", time(), default("500 ns"), for OF_ELAN4, source("P-QS-082, an input");

    /// A command queue, of which each process has one.
    QUEUE = "nic.queue", size(1024, 524_288), default("8 KiB"), for OF_ELAN4,
        source("qsnet2.txt \"Command processor\" (P-QS-040): 1 to 512 KB; which of them [assumed]");

    /// Time of a command through an empty queue.
    COMMAND = "nic.command", time(), default("15 ns"), for OF_ELAN4,
        source("qsnet2.txt \"Command queues\" (P-QS-044): at most three cycles, of 5 ns (OQ-Q7)");

    /// Time in which the command processor takes a word of 8 B.
    WORD = "nic.word", time(), default("8 ns"), for OF_ELAN4, source("qsnet2.txt Table 1 (P-QS-037): 1 GB/s");

    /// Time in which a packet is formed, of commands or of data that the DMA engine has, without the NIC port.
    FORM = "nic.form", time(), default("61.5 ns"), for OF_ELAN4,
        source("qsnet2.txt Table 3 (P-QS-078): 82.5 ns, of which the queue takes 15 ns and the NIC port two cycles; by DMA [assumed] the same");

    /// The most data of a packet of STEN: a power of two.
    STEN_PACKET = "nic.sten.packet", size(8, 4096), default("128 B"), for OF_ELAN4, source("[assumed], one block");

    /// Packets of a command queue that have not been answered at most.
    STEN_WINDOW = "nic.sten.window", count(1, 64), default(2), for OF_ELAN4,
        source("qsnet2.txt \"Short transaction engine processor\" (P-QS-034)");

    /// Packet assemblers of the DMA engine.
    DMA_ASSEMBLERS = "nic.dma.assemblers", count(1, 16), default(2), for OF_ELAN4,
        source("qsnet2.txt Table 1 (P-QS-061)");

    /// Time from when the DMA engine takes a descriptor until it reads.
    DMA_START = "nic.dma.start", time(), default("50 ns"), for OF_ELAN4, source("[assumed], ten cycles");

    /// Data that the DMA engine has asked for and not made packets of.
    DMA_BUFFER = "nic.dma.buffer", size(128, 1 << 24), default("2 KiB"), for OF_ELAN4,
        source("qsnet2.txt Table 1 (P-QS-067): read buffers");

    /// Packets of the DMA engine in the source queue of the NIC port, or on their way there.
    PORT_PACKETS = "nic.dma.port_packets", count(1, 64), default(2), for OF_ELAN4,
        source("[assumed], one for each assembler");

    /// Time of the input processor for a packet, without the NIC port.
    INPUT = "nic.input", time(), default("103.5 ns"), for OF_ELAN4,
        source("qsnet2.txt Table 3 (P-QS-077): 157.5 ns [INF] from the first flit, of which the 18 flits of a packet of 8 B take 54 ns");

    /// The input buffer.
    INPUT_BUFFER = "nic.input_buffer", size(64, 1 << 24), default("8 KiB"), for OF_ELAN4, source("[assumed]");

    /// Time of the event processor for an event.
    EVENT = "nic.event", time(), default("25 ns"), for OF_ELAN4,
        source("[assumed], five cycles; with a copy and a packet less than 250 ns (P-QS-048)");

    /// Slots of an input queue, of which each process has one. A slot has a message, which is a packet of STEN.
    INPUT_QUEUE_SLOTS = "nic.input_queue.slots", count(1, 65_536), default(64), for OF_ELAN4, source("[assumed]");

    /// Time in which a process copies a word of 8 B of a message to its place.
    INPUT_QUEUE_COPY = "nic.input_queue.copy", time(), default("4 ns"), for OF_ELAN4, source("[assumed], 2 GB/s");

    /// Refusals of a message, as the input queue is full, after which its source sends it again at once.
    INPUT_QUEUE_REPEATS = "nic.input_queue.repeats", count(0, 1024), default(16), for OF_ELAN4, source("OQ-Q12");

    /// Time that the source of a message waits after further refusals before it sends that again.
    INPUT_QUEUE_BACK_OFF = "nic.input_queue.back_off", time(), default("1 us"), for OF_ELAN4, source("OQ-Q12");

    /// Time in which the event processor copies a word of 8 B of the block of an event into a command queue.
    EVENT_COPY = "nic.event_copy", time(), default("5 ns"), for OF_ELAN4, source("qsnet2.txt Table 1 (P-QS-054): 1.6 GB/s");

    /// Time of the thread processor for a step of a program.
    THREAD_CYCLE = "nic.thread.cycle", time(), default("5 ns"), for OF_ELAN4,
        source("OQ-Q7, a clock of 200 MHz; with four steps for each further entry of a list 20 ns (OQ-Q6); one-cycle local load (P-QS-030)");

    /// Time in which the thread processor takes a thread.
    THREAD_SWITCH = "nic.thread.switch", time(), default("65 ns"), for OF_ELAN4,
        source("qsnet2.txt Table 1 and \"Input queues\" (P-QS-028)");

    /// Time in which a thread takes an item of its queue.
    THREAD_TAKE = "nic.thread.take", time(), default("172.5 ns"), for OF_ELAN4,
        source("qsnet2.txt Table 3 (P-QS-080): 300 ns to match a message of 8 B with the first entry of a list, of which the switch takes 65 ns, twelve steps 60 ns and the copy 2.5 ns");

    /// Time of the thread processor for a word of 8 B of what it copies.
    THREAD_COPY = "nic.thread.copy", time(), default("2.5 ns"), for OF_ELAN4,
        source("qsnet2.txt \"Input queues\" (P-QS-031): 3.2 GB/s");

    /// Time for which a processor is busy with an interrupt of its NIC, without the copy.
    INTERRUPT = "nic.interrupt", time(), default("5 us"), for OF_ELAN4,
        source("[assumed]; qsnet2.txt \"Input queues\": very expensive");

    /// Translations of each of the two TLBs.
    TLB_ENTRIES = "nic.tlb.entries", count(1, 65_536), default(64), for OF_ELAN4,
        source("qsnet2.txt \"Packet receipt\" (P-QS-057): 128 in both");

    /// Bytes of a page: a power of two.
    TLB_PAGE = "nic.tlb.page", size(4096, 1 << 30), default("8 KiB"), for OF_ELAN4,
        source("[assumed]; eight sizes are possible (P-QS-059)");

    /// Translations that a TLB seeks in SDRAM at a time.
    TLB_WALKS = "nic.tlb.walks", count(1, 1024), default(4), for OF_ELAN4,
        source("qsnet2.txt \"Packet receipt\" (P-QS-060): pipelined; four [assumed]");

    /// Time to find a translation in the hash table in SDRAM.
    TLB_WALK = "nic.tlb.walk", time(), default("100 ns"), for OF_ELAN4, source("[assumed], two reads of SDRAM");

    /// Time for which a processor is busy with a fault of its NIC: a page that the hash table has no translation of.
    TLB_FAULT = "nic.tlb.fault", time(), default("5 us"), for OF_ELAN4,
        source("[assumed], as an interrupt; qsnet2.txt \"Packet receipt\" (P-QS-060) says who deals with it");

    /// Whether the TLBs have all translations before the start, and so never miss.
    TLB_PRELOADED = "nic.tlb.preloaded", Kind::Flag, default(false), for OF_ELAN4, source("[assumed]");
}

fn build(values: &Values, findings: &mut Diagnostics) -> Option<NicSettings> {
    let host = pci_x::build(values, findings);
    let time = |setting| values.quantity(setting).map(Picos);
    let entries = values.count(&TLB_ENTRIES)?;
    let tlb = AtcSettings {
        entries,
        ways: entries,
        page: values.quantity(&TLB_PAGE)?,
        misses: values.count(&TLB_WALKS)?,
        is_preloaded: values.flag(&TLB_PRELOADED)?,
    };
    let settings = ElanSettings {
        host: host?,
        issue: time(&ISSUE)?,
        queue: values.quantity_u32(&QUEUE)?,
        command: time(&COMMAND)?,
        word_time: time(&WORD)?,
        form: time(&FORM)?,
        sten_packet: values.quantity_u32(&STEN_PACKET)?,
        window: values.count(&STEN_WINDOW)?,
        assemblers: values.count(&DMA_ASSEMBLERS)?,
        start: time(&DMA_START)?,
        dma_buffer: values.quantity_u32(&DMA_BUFFER)?,
        port_packets: values.count(&PORT_PACKETS)?,
        input: time(&INPUT)?,
        input_buffer: values.quantity_u32(&INPUT_BUFFER)?,
        event: time(&EVENT)?,
        event_copy: time(&EVENT_COPY)?,
        slots: values.count(&INPUT_QUEUE_SLOTS)?,
        copy: time(&INPUT_QUEUE_COPY)?,
        repeats: values.count(&INPUT_QUEUE_REPEATS)?,
        back_off: time(&INPUT_QUEUE_BACK_OFF)?,
        thread: ThreadSettings {
            cycle: time(&THREAD_CYCLE)?,
            switch: time(&THREAD_SWITCH)?,
            take: time(&THREAD_TAKE)?,
            copy: time(&THREAD_COPY)?,
        },
        interrupt: time(&INTERRUPT)?,
        tlb,
        walk: time(&TLB_WALK)?,
        fault: time(&TLB_FAULT)?,
        mtu: values.quantity_u32(&MTU)?,
    };
    let is_sound = check(values, &settings, findings);
    is_sound.then_some(NicSettings::Elan4(Box::new(settings)))
}

/// What goes beyond one value.
fn check(values: &Values, settings: &ElanSettings, findings: &mut Diagnostics) -> bool {
    let ElanSettings { host, issue, queue, sten_packet, dma_buffer, input_buffer, tlb, mtu, .. } = *settings;
    let (bus, page) = (host.bus, tlb.page);
    let mut is_sound = check_power(values, &TLB_PAGE, page, &format!("a page has {page} B"), findings)
        & check_power(values, &MTU, mtu.into(), &format!("packets have up to {mtu} B, the MTU"), findings)
        & check_power(
            values,
            &STEN_PACKET,
            sten_packet.into(),
            &format!("packets of STEN have up to {sten_packet} B"),
            findings,
        );
    let mut refuse = |all: &[&'static Setting], message: String, value: &str| {
        findings.push(values.conflict(Code::Host, all, message).help(values.fix(all[0], value)));
        is_sound = false;
    };
    if u64::from(mtu) > page {
        let message = format!("a packet of {}, the MTU, is more than a page of {page} B", size_of(mtu));
        refuse(&[&TLB_PAGE, &MTU, &SELECTOR], message, &size_of(mtu.next_power_of_two()));
    }
    for (least, what, setting) in
        [(sten_packet, "a packet of STEN", &STEN_PACKET), (DESCRIPTOR, "a get", &MTU)]
    {
        if least > mtu {
            let message = format!("{what} has {}, more than the MTU, {}", size_of(least), size_of(mtu));
            refuse(&[setting, &MTU, &SELECTOR], message, &size_of(mtu.max(DESCRIPTOR)));
        }
    }
    // What is being written, and what is free without the process knowing, less than a quarter.
    let commands = COMMANDS + sten_packet.max(DESCRIPTOR) + bus.burst;
    if commands + queue.div_ceil(4) > queue {
        let message = format!(
            "three quarters of a command queue of {} do not hold the commands of a packet and a burst, {}",
            size_of(queue),
            size_of(commands)
        );
        refuse(&[&QUEUE, &STEN_PACKET], message, &size_of((2 * commands).next_power_of_two()));
    }
    if dma_buffer < bus.read_request {
        let message = format!(
            "the DMA engine has {} for data, less than a read of {}",
            size_of(dma_buffer),
            size_of(bus.read_request)
        );
        refuse(&[&DMA_BUFFER, &READ_REQUEST], message, &size_of(4 * bus.read_request));
    }
    if input_buffer < mtu {
        let message =
            format!("the input buffer has {}, less than a packet of {}", size_of(input_buffer), size_of(mtu));
        refuse(&[&INPUT_BUFFER, &MTU], message, &size_of(4 * mtu));
    }
    let bursts = bus.burst_time.0 * u64::from(bus.bursts(DESCRIPTOR));
    if issue.0 < bursts {
        let least = units::format(bursts, Dimension::Time);
        let message =
            format!("`{}` is shorter than the {least} that a descriptor takes to write", ISSUE.path);
        refuse(&[&ISSUE], message, &least);
    }
    is_sound
}
