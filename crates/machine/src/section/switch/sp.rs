//! The SP Switch, with a central buffer or with input buffers: its settings and checks. Source: multidestination-worms.txt
//! sections 3 to 5 and 7.1.

use flitway_fabric::Chip;
use flitway_fabric::headroom::Headroom;
use flitway_switch::SwitchSettings;
use flitway_switch::sp::{
    CentralSettings, NextPacket, Organisation, Replication, SpAscent, SpPipeline, SpSettings, Store,
    WormSettings,
};
use flitway_wiring::routing::RoutingKind;

use super::{ARCHITECTURE as ARCHITECTURE_SETTING, Architecture, Surroundings, check_ports, check_selection};
use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::section::topology::{self, Topology};
use crate::section::{packet, routing};
use crate::setting::{Choice, Kind, Setting, When, settings};
use crate::units::{self, Dimension};
use crate::values::Values;

const CENTRAL: &str = "central-buffer";
const INPUT: &str = "input-buffer";

/// The settings of both stand with the first.
pub(crate) static CENTRAL_ARCHITECTURE: Architecture = Architecture {
    choice: Choice {
        name: CENTRAL,
        doc: "The SP Switch: buffered wormhole with a credit for each flit, a crossbar for packets whose output is idle, and \
              a central buffer that all ports share for the others and for worms.",
    },
    has_vcs: false,
    retries: false,
    has_rates: true,
    takes_one_way_links: true,
    settings: &[SETTINGS],
    page: CENTRAL_PAGE,
    build,
};

pub(crate) static INPUT_ARCHITECTURE: Architecture = Architecture {
    choice: Choice {
        name: INPUT,
        doc: "An SP Switch with input buffers: buffered wormhole with a credit for each flit, and input FIFOs that are read \
              in chunks in place of a central buffer; worms are replicated from the head of the FIFO.",
    },
    has_vcs: false,
    retries: false,
    has_rates: true,
    takes_one_way_links: true,
    settings: &[],
    page: INPUT_PAGE,
    build,
};

const CENTRAL_PAGE: &[&str] = &[
    "How it works. A packet whose output is idle crosses flit by flit. Any other is put together to chunks in a register of \
     its input; one chunk is written into the buffer and one read in each cycle, by the least recently served input and \
     output. Packets for one output leave in the order in which their first chunks were written: each chunk has a next \
     packet and a next chunk, each output a first and last packet and a first chunk, each input the chunk written last \
     (section 4.1). A packet for one node goes in as far as there is room; the rest stays in the FIFO and on the links \
     behind it (buffered wormhole). A chunk that its output waits for needs no room.",
    "Worms. A worm that leaves by one port is like any packet. One with more is stored once; each chunk counts the outputs \
     that have still to read it, and is free with the last (section 4.2). Its first chunk is written once for each output, or \
     once for all where each output has a next-packet memory of its own (section 4.2.1). It is admitted when all of it has \
     room that is neither full nor reserved, which is reserved for it then (section 4.2.2). So it leaves its input \
     whatever becomes of the outputs, and cannot deadlock; without room the least recently served one claims what comes \
     free (OQ-S11).",
    "Cycles. From the input pin to the output pin: receive + route + transmit, 6 here, and the flits of the header but for \
     the first. \
     Through the buffer 7 more with chunks of 8 flits: a chunk is written and read in the cycle in which its last flit is \
     there. A first chunk that is written for k outputs takes k cycles of the write port, and the rest comes k - 1 cycles \
     later. A chunk read is free for writing in the next cycle.",
    "What happens in which cycle is said in crates/switch/src/sp/mod.rs, what the paper leaves open in \
     docs/decisions/0010-sp-switch-cycle-by-cycle.md; what the parts cost, `flitway check sp-switch-16` prints.",
];

const INPUT_PAGE: &[&str] = &[
    "How it works. The FIFO of each input is a memory of chunks with one port to write and one to read. A packet that could \
     request for the first time and finds its output idle crosses flit by flit (OQ-S7). Any other stays, and is put down at \
     its outputs; an output that is idle takes one of the inputs put down at it, round-robin (OQ-S6), and reads its packet \
     chunk by chunk into a register of its own. One output reads in an input in each cycle, the least recently served; with \
     chunks of as many flits as there are ports all can send at full rate. Packets behind the first one wait, whatever \
     output they want: head-of-line blocking is what it pays for having no shared memory.",
    "Worms. Each output reads the chunks of a worm at its own pace, and may be a packet ahead of another; a chunk counts those \
     that have not read it, and leaves the FIFO with the last of them (section 5.1). The FIFO holds the largest worm: so the \
     first worm is there as a whole in the end, whatever its outputs wait for, and cannot deadlock.",
    "Cycles. From the input pin to the output pin: receive + route + transmit, 6 here, and the flits of the header but for \
     the first. \
     Through the memory 7 more with chunks of 8 flits: a chunk is read in the cycle in which its last flit is ready. Each \
     further output of a worm has its first chunk a cycle later. The credits of a chunk go back all in the cycle in which it \
     leaves.",
    "The organisations of section 5.2 take the same time: a staircase of registers behind one memory, or several memories that \
     outputs visit in turn, both in place of chunk-wide multiplexers. They differ in cost only, which `flitway check \
     sp-switch-16-input` prints.",
    "What happens in which cycle is said in crates/switch/src/sp/mod.rs, what the paper leaves open in \
     docs/decisions/0010-sp-switch-cycle-by-cycle.md.",
];

const SP: When = When { selector: &ARCHITECTURE_SETTING, holds: |_, name| name == CENTRAL || name == INPUT };
const OF_CENTRAL: When = When { selector: &ARCHITECTURE_SETTING, holds: |_, name| name == CENTRAL };
const OF_INPUT: When = When { selector: &ARCHITECTURE_SETTING, holds: |_, name| name == INPUT };

settings! {
    static SETTINGS;

    /// Ports of the chip. The topology may leave some unused.
    PORTS = "switch.ports", Kind::Count { min: 2, max: 64 }, required, for SP, example(8),
        source("multidestination-worms.txt section 7.1 (P-MW-002)");

    /// What the store writes or reads in one cycle: as many flits as the chip has ports, so that one port of the memory
    /// keeps all links busy.
    CHUNK = "switch.chunk", Kind::Quantity { dimension: Dimension::Flits, min: 1, max: 1_024 }, default("8 flits"),
        for SP, source("multidestination-worms.txt sections 4.1 and 7.1 (P-MW-010)");

    /// Flits that the FIFO of an input holds: as many credits has the sender.
    FIFO = "switch.fifo", Kind::Quantity { dimension: Dimension::Flits, min: 1, max: 65_535 }, default("64 flits"),
        for OF_CENTRAL, source("multidestination-worms.txt section 7.1 (P-MW-019)");

    /// Flits that the FIFO of an input holds: as many credits has the sender. It holds the largest worm, unless worms
    /// are replicated in lock step.
    LARGE_FIFO = "switch.fifo", Kind::Quantity { dimension: Dimension::Flits, min: 1, max: 65_535 },
        default("320 flits"), for OF_INPUT, source("multidestination-worms.txt section 7.1 (P-MW-031)");

    /// How the memory of an input FIFO is built. Every packet takes the same time in each; `flitway check` prints what
    /// they cost.
    ORGANISATION = "switch.organisation", one of {
        /// A memory as wide as a chunk, a chunk-wide multiplexer and a chunk register at each output: k^2 flit-MUXs for
        /// k ports and chunks of k flits, and k times the wires of the others.
        CHUNK_WIDE = "chunk-wide",
        /// Behind the memory of an input a staircase of registers of k, k - 1, ... 1 flits: each passes one flit to the
        /// output and the rest on, so that an output can read in every cycle; k^2 + k flit-MUXs.
        REGISTER_STAIRCASE = "register-staircase",
        /// k memories of one flit in place of one of a chunk, which an output visits one after the other; k^2 + k
        /// flit-MUXs, and fewer registers.
        SPLIT_RAM = "split-ram",
    }, default("register-staircase"), for OF_INPUT, example("split-ram"),
        source("multidestination-worms.txt sections 5.1 and 5.2 (P-MW-038 to P-MW-040)");

    /// How packets choose among the ports up.
    ASCENT = "switch.ascent", one of {
        /// On a tree with d-mod-k: an idle port, in turn, or else the one with the fewest packets. Packets of a pair of
        /// nodes may overtake each other.
        ADAPTIVE = "adaptive",
        /// The port of the routing; for worms, one that depends on their source. Packets keep their order.
        ROUTED = "routed",
    }, default("adaptive"), for SP, source("multidestination-worms.txt section 3.3 (P-MW-046); OQ-S8");

    /// Chunks that the central buffer holds: at least the largest worm, with the copies of its first chunk, unless
    /// worms are replicated in lock step.
    CHUNKS = "switch.central_buffer.chunks", Kind::Count { min: 1, max: 65_534 }, default(256), for OF_CENTRAL,
        source("multidestination-worms.txt section 7.1 (P-MW-011, P-MW-028)");

    /// How the central buffer keeps the order of packets.
    NEXT_PACKET = "switch.central_buffer.next_packet", one of {
        /// One field for each chunk. The first chunk of a worm is written once for each output.
        SHARED = "shared",
        /// A memory for each output. It is written once.
        SEPARATE = "separate",
    }, default("shared"), for OF_CENTRAL, source("multidestination-worms.txt section 4.2.1 (P-MW-025, P-MW-026)");

    /// Stages of receiving. The sum of the three parts is the zero-load latency of the crossbar.
    RECEIVE = "switch.pipeline.receive", stages(0), default("1 cycle"), for SP,
        source("multidestination-worms.txt section 7.1 (P-MW-007); OQ-S3");

    /// Stages of reading the FIFO, routing, requesting and granting.
    ROUTE = "switch.pipeline.route", stages(1), default("4 cycles"), for SP,
        source("multidestination-worms.txt section 7.1 (P-MW-008)");

    /// Stages of transmitting.
    TRANSMIT = "switch.pipeline.transmit", stages(1), default("1 cycle"), for SP,
        source("multidestination-worms.txt section 7.1 (P-MW-007); OQ-S3");

    /// What a credit takes on its way back, beside the cable, after the flit has left the FIFO.
    CREDIT = "switch.credit.back", stages(1), default("1 cycle"), for SP, source("OQ-S9");

    /// Bits of the header of a worm, one for each node; the flits of it stand in place of the header of other packets.
    /// 0 for switches without worms.
    BIT_STRING = "switch.multicast.bit_string", Kind::Count { min: 0, max: 65_535 }, default(0), for SP, example(16),
        source("multidestination-worms.txt section 3.2 (P-MW-042); OQ-S2");

    /// How a worm is copied to several outputs.
    REPLICATION = "switch.multicast.replication", one of {
        /// Each output takes the worm out of the store at its own pace.
        ASYNCHRONOUS = "asynchronous",
        /// Flit by flit to all outputs together, which are kept until the last one comes: strict wormhole. It can
        /// deadlock.
        LOCK_STEP = "lock-step",
    }, default("asynchronous"), for SP, source("multidestination-worms.txt section 3.1 (P-MW-049)");
}

const fn stages(min: u64) -> Kind {
    Kind::Quantity { dimension: Dimension::Cycles, min, max: 1_000 }
}

fn build(
    values: &Values,
    surroundings: &Surroundings<'_>,
    findings: &mut Diagnostics,
) -> Option<SwitchSettings> {
    let ports = values.count(&PORTS);
    if let Some(ports) = ports {
        check_ports(values, &PORTS, ports, surroundings.topology, findings);
    }
    let is_central = values.choice(&ARCHITECTURE_SETTING) == Some(CENTRAL);
    let store = if is_central {
        let next_packet = match values.choice(&NEXT_PACKET)? {
            SEPARATE => NextPacket::Separate,
            _ => NextPacket::Shared,
        };
        Store::Central(CentralSettings { chunks: values.count(&CHUNKS)?, next_packet })
    } else {
        Store::Input(match values.choice(&ORGANISATION)? {
            CHUNK_WIDE => Organisation::ChunkWide,
            SPLIT_RAM => Organisation::SplitRam,
            _ => Organisation::RegisterStaircase,
        })
    };
    let pipeline = SpPipeline {
        receive: values.quantity_u32(&RECEIVE)?,
        route: values.quantity_u32(&ROUTE)?,
        transmit: values.quantity_u32(&TRANSMIT)?,
    };
    let replication = match values.choice(&REPLICATION)? {
        LOCK_STEP => Replication::LockStep,
        _ => Replication::Asynchronous,
    };
    let ascent = if values.choice(&ASCENT)? == ROUTED { SpAscent::Routed } else { SpAscent::Adaptive };
    let settings = SpSettings {
        ports: ports?,
        store,
        chunk_flits: values.quantity_u32(&CHUNK)?,
        fifo_flits: values.quantity_u32(fifo_of(store))?,
        pipeline,
        credit: values.quantity_u32(&CREDIT)?,
        format: surroundings.format?,
        ascent,
        worms: WormSettings { bits: values.count(&BIT_STRING)?, replication },
    };
    check_routing(values, &settings, surroundings, findings);
    check_nodes(values, &settings, surroundings, findings);
    check_sizes(values, &settings, findings);
    check_headroom(values, &settings, surroundings, findings);
    Some(SwitchSettings::Sp(settings))
}

fn fifo_of(store: Store) -> &'static Setting {
    if store.is_input() { &LARGE_FIFO } else { &FIFO }
}

/// A link is one virtual channel, and worms climb a tree.
fn check_routing(
    values: &Values,
    settings: &SpSettings,
    surroundings: &Surroundings<'_>,
    findings: &mut Diagnostics,
) {
    if surroundings.routing.is_some_and(|kind| routing::selects(kind) != routing::Selects::Nothing) {
        let why = "an SP Switch routes by destination alone, in one virtual channel";
        check_selection(values, Err(why), surroundings, findings);
        return;
    }
    let help = routing::fix(values, routing::UP_DOWN);
    let classes = surroundings.vc_classes.unwrap_or(1);
    if classes > 1 {
        let routing = values.choice(&routing::ALGORITHM).unwrap_or_default();
        let kind = surroundings.topology.map_or("", Topology::kind);
        let message = format!(
            "{routing} routing on a {kind} needs {classes} virtual channels, and a link of this switch is one"
        );
        let involved = [&ARCHITECTURE_SETTING, &topology::KIND, &routing::ALGORITHM];
        let problem = values.conflict(Code::TooFewVcs, &involved, message);
        findings.push(problem.expected("a routing with one class of virtual channels").help(help));
    } else if surroundings.routing.is_some_and(routing::draws) {
        let routing = values.choice(&routing::ALGORITHM).unwrap_or_default();
        let message =
            format!("this switch routes by destination alone, and {routing} routing draws a path for it");
        let problem =
            values.conflict(Code::RoutingMisfit, &[&ARCHITECTURE_SETTING, &routing::ALGORITHM], message);
        findings.push(problem.expected("a routing with one path for each destination").help(help));
    } else if surroundings.carried_hops.is_some() {
        let message = "this switch routes by destination alone, and packets have service levels".to_owned();
        let involved = [&ARCHITECTURE_SETTING, &routing::ALGORITHM];
        let problem = values.conflict(Code::RoutingMisfit, &involved, message);
        findings.push(problem.expected("forwarding tables without service levels").help(help));
    } else if settings.worms.bits > 0
        && surroundings.routing == Some(RoutingKind::DModK)
        && surroundings.topology.is_some_and(|topology| topology.has_parallel_links)
    {
        let message =
            "worms reach each node through one port of a switch, and over parallel links there are several";
        let involved = [&BIT_STRING, &topology::KIND, &routing::ALGORITHM];
        let problem = values.conflict(Code::RoutingMisfit, &involved, message.to_owned());
        findings.push(problem.expected("no parallel links for d-mod-k, or a bit string of 0").help(help));
    } else if settings.worms.bits > 0 && surroundings.routing.is_some_and(|kind| !routing::leads_worms(kind))
    {
        let routing = values.choice(&routing::ALGORITHM).unwrap_or_default();
        let message = format!(
            "worms climb a tree of links and are replicated on their way down: {routing} routing has none"
        );
        let problem = values.conflict(Code::RoutingMisfit, &[&BIT_STRING, &routing::ALGORITHM], message);
        findings.push(problem.expected("d-mod-k or up-down, or a bit string of 0").help(help));
    }
}

/// The bit string has a bit for each node.
fn check_nodes(
    values: &Values,
    settings: &SpSettings,
    surroundings: &Surroundings<'_>,
    findings: &mut Diagnostics,
) {
    let bits = settings.worms.bits;
    let Some(nodes) = surroundings.topology.map(|topology| topology.nodes) else { return };
    if bits > 0 && u64::from(bits) < nodes {
        let message = format!("a bit string of {bits} bits names {bits} nodes, and there are {nodes}");
        findings.push(
            values
                .conflict(Code::BitStringTooShort, &[&BIT_STRING, &topology::KIND], message)
                .expected(format!("at least {nodes}, or 0 for no worms")),
        );
    }
}

/// What has to fit into the buffers for packets to move at all, and for replication to be free of deadlock.
fn check_sizes(values: &Values, settings: &SpSettings, findings: &mut Diagnostics) {
    let fifo = fifo_of(settings.store);
    let flits = |count: u32| units::format(u64::from(count), Dimension::Flits);
    let mut too_small = |involved: &[&'static Setting], needed: u32, what: &str, or: &str| {
        if settings.fifo_flits < needed {
            let message = format!("the FIFO of {} is too small: {what}", flits(settings.fifo_flits));
            let problem = values.conflict(Code::BufferTooSmall, involved, message);
            findings.push(problem.expected(format!("at least {}{or}", flits(needed))));
        }
    };
    let header = settings.format.header_flits;
    too_small(&[fifo, &packet::HEADER], header, &format!("a header takes {}", flits(header)), "");
    let bit_string = settings.bit_string_flits();
    let worm = settings.worm_flits(settings.format.mtu_bytes);
    if !settings.store.is_input() {
        too_small(&[fifo, &BIT_STRING], bit_string, &format!("a bit string takes {}", flits(bit_string)), "");
    } else if settings.replicates_from_store() {
        let what = format!("a worm of the MTU takes {} and is replicated out of it", flits(worm));
        too_small(&[fifo, &packet::MTU, &BIT_STRING], worm, &what, ", or worms in lock step");
    } else {
        too_small(&[fifo, &BIT_STRING], bit_string, &format!("a bit string takes {}", flits(bit_string)), "");
        let chunk = settings.chunk_flits;
        too_small(&[fifo, &CHUNK], chunk, &format!("it is read in chunks of {}", flits(chunk)), "");
    }
    let Store::Central(central) = settings.store else { return };
    let needed = settings.chunks_spared();
    if central.chunks < needed {
        let message = format!(
            "the central buffer of {} chunks is too small: a worm of the MTU, {}, takes {needed} chunks to be \
             replicated to all ports",
            central.chunks,
            flits(worm)
        );
        findings.push(
            values
                .conflict(Code::BufferTooSmall, &[&CHUNKS, &packet::MTU, &BIT_STRING], message)
                .expected(format!("at least {needed} chunks, or worms in lock step")),
        );
    }
}

/// Compares the FIFO with the round trip of the longest link.
fn check_headroom(
    values: &Values,
    settings: &SpSettings,
    surroundings: &Surroundings<'_>,
    findings: &mut Diagnostics,
) {
    let (Some(link), Some(topology)) = (surroundings.link, surroundings.topology) else { return };
    let Headroom { latency, round_trip, units_needed, units } = settings.headroom(link.longest(topology));
    if units < units_needed {
        let message = format!(
            "the FIFO cannot keep a link of {} busy: credits come back after {round_trip} cycles, and it holds {}",
            units::format(u64::from(latency), Dimension::Cycles),
            units::format(u64::from(units), Dimension::Flits),
        );
        findings.push(
            values
                .conflict(Code::ShortOfCredits, &[fifo_of(settings.store)], message)
                .warning()
                .expected(format!("{units_needed} flits or more for full bandwidth")),
        );
    }
}
