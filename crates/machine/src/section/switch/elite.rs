//! The Elite4 of QsNetII: its settings and checks. Source: qsnet2.txt, "Elite4 and physical links".

use flitway_engine::Picos;
use flitway_fabric::Chip;
use flitway_fabric::headroom::Headroom;
use flitway_fabric::packet::PacketFormat;
use flitway_switch::SwitchSettings;
use flitway_switch::elite::settings::VCS_MAX;
use flitway_switch::elite::{
    AnswerSettings, ElitePipeline, EliteSettings, PrioritySettings, Roots, WhenFull,
};
use flitway_wiring::routing::Selection;
use flitway_wiring::topology::TopologySettings;

use super::{
    ARCHITECTURE as ARCHITECTURE_SETTING, Architecture, ClassLimit, Surroundings, check_ports, check_vcs,
    of_one_way_links,
};
use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::section::link::LinkSettings;
use crate::section::topology::{self, Topology};
use crate::section::{link, nic, packet};
use crate::setting::{Choice, Kind, When, settings};
use crate::units::{self, Dimension};
use crate::values::Values;

const NAME: &str = "elite";

pub(crate) static ARCHITECTURE: Architecture = Architecture {
    choice: Choice {
        name: NAME,
        doc: "The Elite4 of QsNetII: wormhole with virtual channels that share a link flit by flit, source routes with adaptive \
              tags, and paths that are held until the receiver has answered.",
    },
    has_vcs: false,
    retries: true,
    has_rates: true,
    takes_one_way_links: false,
    settings: &[SETTINGS],
    page: PAGE,
    build,
};

const PAGE: &[&str] = &[
    "How it works. A packet gets a virtual channel of the output that its next tag names, as soon as one is free, and its flits \
     follow the first one, as far as there are credits; nobody else has that virtual channel before it is free again. The \
     virtual channels of a link share it flit by flit, in turns. An adaptive tag names all links up: a packet takes the one of \
     which the fewest virtual channels are taken, of equals in turns.",
    "Answers. With `switch.answer.hold` a packet keeps the virtual channels of its whole path until the receiver's answer has \
     come back along it, which frees them switch by switch. Meanwhile a source sends the next packet on another virtual channel: \
     with two of them it waits when both are held, so that short packets and long cables cost bandwidth. Without it a virtual \
     channel is free when the last flit has been sent.",
    "Broadcasts. With answers, a packet can be for consecutive nodes. It climbs to the lowest switch below which all of them are, \
     and is copied to the links down that lead to some; each copy takes flits at its own pace, as far as the buffer holds them. The \
     answers are combined on the way back, and all of the path is held until then. Two broadcasts by way of different roots can \
     wait for each other for ever, so `switch.broadcast.roots` keeps them to one tree.",
    "Links. With \"4b5b\" a channel carries 4 flits in 5 cycles. The raw rate of eight wires at 4/3 Gbit/s is 4 B in 3 ns: the \
     clock of such a machine is 1000/3 MHz.",
    "Faults. A link that breaks corrupts the packets on it, and nobody gets a virtual channel of it after that. An adaptive tag \
     takes another link up at once. A packet that has no way left in a switch is taken out of the network there and refused; its \
     source sends it again, `switch.answer.attempts` times, by the tables that management has made anew by then.",
    "Cycles. From the input pin to the output pin: the three parts of the pipeline, 7 here. What happens in which cycle is said \
     in crates/switch/src/elite/mod.rs, what the paper leaves open in docs/decisions/0025-elite4-cycle-by-cycle.md and \
     0032-elite4s-that-break.md.",
];

pub(crate) const ELITE: When = When { selector: &ARCHITECTURE_SETTING, holds: |_, name| name == NAME };

settings! {
    static SETTINGS;

    /// Ports of the chip. The topology may leave some unused.
    PORTS = "switch.ports", Kind::Count { min: 2, max: 64 }, required, for ELITE, example(8),
        source("qsnet2.txt introduction (P-QS-004)");

    /// Virtual channels of each link.
    VCS = "switch.vcs", Kind::Count { min: 1, max: VCS_MAX as u32 }, default(2), for ELITE,
        source("qsnet2.txt introduction (P-QS-006)");

    /// Buffer of each virtual channel at an input. It takes whole flits.
    BUFFER = "switch.buffer", Kind::Quantity { dimension: Dimension::Size, min: 1, max: 1 << 30 }, default("1 KiB"),
        for ELITE, source("OQ-Q1");

    /// What the tags of links up say.
    SELECTION = "switch.selection", one of {
        /// Which one: packets of a pair of nodes take one way.
        FIRST = "first",
        /// Adaptive: any. A packet takes the one of which the fewest virtual channels are taken, in turns among equals. Packets
        /// may overtake each other.
        LEAST_LOADED = "least-loaded",
    }, default("least-loaded"), for ELITE, source("OQ-Q2");

    /// Payload up to which a packet has the high priority: it is given outputs before all others. "0 B" for no priorities.
    PRIORITY = "switch.priority.up_to", Kind::Quantity { dimension: Dimension::Size, min: 0, max: 1 << 30 }, default("0 B"),
        for ELITE, source("[LIT] mechanisms.md 3.1; by size [assumed]");

    /// Time in which a packet of the low priority has waited for an output until it has the high one, too.
    AGEING = "switch.priority.ageing", Kind::Quantity { dimension: Dimension::Time, min: 0, max: 1_000_000_000 },
        default("10 us"), for ELITE, source("[LIT] mechanisms.md 3.1; how long [assumed]");

    /// By way of which switches broadcasts go.
    ROOTS = "switch.broadcast.roots", one of {
        /// By way of one tree, that of the first links up: those of a range have one root, and each link of the tree lets one
        /// after the other down.
        ONE = "one",
        /// By any links up that are free, which is faster until two of them wait for each other for ever.
        ANY = "any",
    }, default("one"), for ELITE, source("OQ-Q3");

    /// Whether a packet holds its path until the receiver's answer has come back.
    HOLD = "switch.answer.hold", Kind::Flag, default(true), for ELITE, source("OQ-Q18");

    /// From when all of a packet has been received to its answer on the wire.
    ANSWER_NODE = "switch.answer.node", stages(1), default("1 cycle"), for ELITE, source("[assumed] answered at once");

    /// Time of an answer from wire to wire of a switch.
    ANSWER_SWITCH = "switch.answer.switch", stages(1), default("7 cycles"), for ELITE,
        source("[assumed] as long as data (P-QS-007)");

    /// How often a source sends a packet again as soon as it hears that it was corrupt, ...
    REPEATS = "switch.answer.repeats", Kind::Count { min: 0, max: 65_535 }, default(16), for ELITE, source("OQ-Q12");

    /// ... and how long it waits after that each time.
    BACK_OFF = "switch.answer.back_off", Kind::Quantity { dimension: Dimension::Time, min: 0, max: 1_000_000_000 },
        default("1 us"), for ELITE, source("OQ-Q12");

    /// How often a packet is sent in vain before its source gives it up.
    ATTEMPTS = "switch.answer.attempts", Kind::Count { min: 1, max: 65_535 }, default(64), for ELITE,
        source("[assumed] OQ-Q12 has no end");

    /// How long a packet that has begun may go without being fed by a node that is stalled, before it is closed: its path is
    /// freed, and it is sent again.
    HALF_PACKET = "switch.answer.half_packet", Kind::Quantity { dimension: Dimension::Time, min: 1, max: 1_000_000_000 },
        default("10 us"), for ELITE, source("OQ-Q16");

    /// Sampling, alignment to the local clock, and the check sum. The sum of the three parts is the zero-load latency of the
    /// switch.
    RECEIVE = "switch.pipeline.receive", stages(0), default("2 cycles"), for ELITE,
        source("qsnet2.txt Table 3 (P-QS-007): 7 cycles of 3 ns; their parts [assumed]");

    /// Reading the tag, choosing an output, and the crossbar.
    ROUTE = "switch.pipeline.route", stages(1), default("3 cycles"), for ELITE,
        source("qsnet2.txt Table 3 (P-QS-007): 7 cycles of 3 ns; their parts [assumed]");

    /// The sending side.
    TRANSMIT = "switch.pipeline.transmit", stages(1), default("2 cycles"), for ELITE,
        source("qsnet2.txt Table 3 (P-QS-007): 7 cycles of 3 ns; their parts [assumed]");

    /// From a flit that leaves a buffer to its credit on the wire.
    CREDIT = "switch.credit.back", stages(1), default("1 cycle"), for ELITE, source("[assumed]");

    /// How links code data.
    CODING = "switch.link.coding", one of {
        /// 4 flits in 5 cycles: what optical links need.
        CODED = "4b5b",
        /// A flit in each cycle.
        RAW = "raw",
    }, default("4b5b"), for ELITE, source("qsnet2.txt Table 2 (P-QS-015); OQ-Q14");
}

const fn stages(min: u64) -> Kind {
    Kind::Quantity { dimension: Dimension::Cycles, min, max: 1_000 }
}

/// The longest link without optical fibres, which need coded data, in millimetres.
const COPPER_MAX_MM: u64 = 13_000;
/// Bits of a tag (mechanisms.md 3.1).
const TAG_BITS: u32 = 16;

fn build(
    values: &Values,
    surroundings: &Surroundings<'_>,
    findings: &mut Diagnostics,
) -> Option<SwitchSettings> {
    let (ports, vcs) = (values.count(&PORTS), values.count(&VCS));
    if let Some(ports) = ports {
        check_ports(values, &PORTS, ports, surroundings.topology, findings);
    }
    check_links(values, surroundings.topology, findings);
    if let Some(vcs) = vcs {
        let limit =
            ClassLimit { classes: VCS_MAX as u32, what: "as many virtual channels as a link can have" };
        check_vcs(values, &VCS, vcs, limit, surroundings, findings);
    }
    let is_coded = values.choice(&CODING)? == CODED;
    let refuses = values.choice(&nic::WHEN_FULL)? == nic::REFUSE;
    check_refusals(values, refuses, findings);
    let format = surroundings.format?;
    let settings = EliteSettings {
        ports: ports?,
        vcs: vcs?,
        buffer_flits: buffer(values, format, findings)?,
        selection: match values.choice(&SELECTION)? {
            LEAST_LOADED => Selection::LeastLoaded,
            _ => Selection::First,
        },
        priority: Some(PrioritySettings {
            up_to_bytes: values.quantity_u32(&PRIORITY)?,
            ageing: surroundings.clock?.cycles_ceil(Picos(values.quantity(&AGEING)?)).0 as u32,
        })
        .filter(|priority| priority.up_to_bytes > 0),
        roots: if values.choice(&ROOTS)? == ANY { Roots::Any } else { Roots::One },
        answer: values.flag(&HOLD)?.then_some(AnswerSettings {
            node: values.quantity_u32(&ANSWER_NODE)?,
            switch: values.quantity_u32(&ANSWER_SWITCH)?,
            repeats: values.count(&REPEATS)?,
            back_off: surroundings.clock?.cycles_ceil(Picos(values.quantity(&BACK_OFF)?)).0 as u32,
            attempts: values.count(&ATTEMPTS)?,
            half_packet: surroundings.clock?.cycles_ceil(Picos(values.quantity(&HALF_PACKET)?)).0 as u32,
            when_full: if refuses { WhenFull::Refuse } else { WhenFull::Hold },
        }),
        pipeline: ElitePipeline {
            receive: values.quantity_u32(&RECEIVE)?,
            route: values.quantity_u32(&ROUTE)?,
            transmit: values.quantity_u32(&TRANSMIT)?,
        },
        credit: values.quantity_u32(&CREDIT)?,
        is_coded,
        format,
    };
    check_credit(values, &settings, findings);
    check_errors(values, &settings, surroundings, findings);
    check_route(values, &settings, surroundings.topology, findings);
    if let (Some(link), Some(topology)) = (surroundings.link, surroundings.topology) {
        check_coding(values, is_coded, link, topology, findings);
        check_round_trip(values, settings.headroom(link.longest(topology)), findings);
    }
    Some(SwitchSettings::Elite(settings))
}

fn buffer(values: &Values, format: PacketFormat, findings: &mut Diagnostics) -> Option<u32> {
    let flits = values.quantity_u32(&BUFFER)? / format.flit_bytes;
    if flits == 0 {
        let message = format!("`{}` has no room for a flit", BUFFER.path);
        let problem = values.conflict(Code::BufferTooSmall, &[&BUFFER, &packet::FLIT], message);
        findings.push(problem.expected("one flit or more"));
        return None;
    }
    Some(flits)
}

/// Credits and answers take the way back that a one-way link does not have.
fn check_links(values: &Values, topology: Option<&Topology>, findings: &mut Diagnostics) {
    if let Some(topology) = topology.filter(|topology| topology.is_one_way()) {
        let message = format!(
            "Elite4s need links that lead both ways, and those of topology \"{}\" lead one way",
            topology.kind()
        );
        findings.push(
            values
                .conflict(Code::OneWayLinks, &[&ARCHITECTURE_SETTING, &topology::KIND], message)
                .expected("a topology whose links lead both ways: answers take the channel back")
                .help(format!("write {} = {}", ARCHITECTURE_SETTING.key(), of_one_way_links())),
        );
    }
}

/// When the answer to a packet comes back, all credits that it took are back.
fn check_credit(values: &Values, settings: &EliteSettings, findings: &mut Diagnostics) {
    let Some(most) = settings.credit_max() else { return };
    if settings.credit > most {
        let message = format!(
            "a credit would come back after the answer, which frees the virtual channel: it takes {} cycles",
            settings.credit
        );
        let involved = [&CREDIT, &ANSWER_NODE, &ANSWER_SWITCH];
        findings.push(
            values
                .conflict(Code::OutOfRange, &involved, message)
                .expected(format!("at most {most} cycles for `{}`", CREDIT.path)),
        );
    }
}

/// A refusal is an answer, and an ideal NIC port is never full.
fn check_refusals(values: &Values, refuses: bool, findings: &mut Diagnostics) {
    if !refuses {
        return;
    }
    if values.flag(&HOLD) == Some(false) {
        let message =
            "a NIC port that is full refuses packets, and without answers nothing is refused".to_owned();
        let problem = values.conflict(Code::NothingRefused, &[&nic::WHEN_FULL, &HOLD], message);
        findings.push(problem.expected("answers").help(values.fix(&HOLD, "true")));
    }
    let Some(model) = values.choice(&nic::MODEL) else { return };
    let fills = [nic::bounded::NAME, nic::elan4::NAME];
    if !fills.contains(&model) {
        let message = format!(
            "NIC ports refuse packets when they are full, and those of nic.model \"{model}\" never are"
        );
        let problem = values.conflict(Code::NothingRefused, &[&nic::WHEN_FULL, &nic::MODEL], message);
        let expected = format!("nic.model \"{}\" or \"{}\"", fills[0], fills[1]);
        findings.push(problem.expected(expected).help(values.fix(&nic::MODEL, "\"bounded\"")));
    }
}

/// Without answers nothing is sent again.
fn check_errors(
    values: &Values,
    settings: &EliteSettings,
    surroundings: &Surroundings<'_>,
    findings: &mut Diagnostics,
) {
    if settings.answer.is_none() && surroundings.link.is_some_and(|link| link.bit_errors > 0) {
        let message = "links get bits wrong, and without answers nothing is sent again".to_owned();
        let problem = values.conflict(Code::OutOfRange, &[&link::BIT_ERRORS, &HOLD], message);
        findings.push(problem.expected("no errors, or answers").help(values.fix(&HOLD, "true")));
    }
}

/// Switches of the longest way, where that is known before anything is built.
fn hops_of(topology: &TopologySettings) -> Option<u32> {
    match topology {
        TopologySettings::Single { .. } => Some(1),
        TopologySettings::FatTree { levels, .. } | TopologySettings::KaryNTree { levels, .. } => {
            Some(2 * levels - 1)
        }
        TopologySettings::Xgft { down, .. } => Some(2 * down.len() as u32 - 1),
        _ => None,
    }
}

/// The header has the tags of the longest way.
fn check_route(
    values: &Values,
    settings: &EliteSettings,
    topology: Option<&Topology>,
    findings: &mut Diagnostics,
) {
    let Some(hops) = topology.and_then(|topology| hops_of(&topology.settings)) else { return };
    let bits = u64::from(settings.format.header_flits) * 8 * u64::from(settings.format.flit_bytes);
    let needed = u64::from(hops) * u64::from(TAG_BITS);
    if needed > bits {
        let message = format!(
            "the longest way crosses {hops} switches, and a header of {} has no room for as many tags of {TAG_BITS} bits",
            units::format(settings.format.header_flits.into(), Dimension::Flits)
        );
        let flits = needed.div_ceil(8 * u64::from(settings.format.flit_bytes));
        findings.push(
            values
                .conflict(Code::RouteTooLong, &[&packet::HEADER, &topology::KIND], message)
                .expected(format!("{flits} flits or more"))
                .warning(),
        );
    }
}

/// Links that are too long for copper are optical, and coded.
fn check_coding(
    values: &Values,
    is_coded: bool,
    link: &LinkSettings,
    topology: &Topology,
    findings: &mut Diagnostics,
) {
    let longest = link.longest_mm(topology);
    if is_coded || longest <= COPPER_MAX_MM {
        return;
    }
    let message = format!(
        "a link of {} is optical, and optical links are coded",
        units::format(longest, Dimension::Length)
    );
    findings.push(
        values
            .conflict(Code::LinkUncoded, &[&CODING], message)
            .expected(format!("links of {} or less", units::format(COPPER_MAX_MM, Dimension::Length)))
            .help(values.fix(&CODING, "\"4b5b\""))
            .warning(),
    );
}

/// Compares the buffer with what the longest link carries in a round trip.
fn check_round_trip(values: &Values, headroom: Headroom, findings: &mut Diagnostics) {
    let Headroom { latency, round_trip, units_needed, units } = headroom;
    if units >= units_needed {
        return;
    }
    let latency = units::format(u64::from(latency), Dimension::Cycles);
    let share = 100.0 * f64::from(units) / f64::from(units_needed);
    let message = format!(
        "the buffer cannot keep a link of {latency} busy: a credit comes back after {round_trip} cycles, and {units} flits \
         allow a virtual channel about {share:.0} % of a flit a cycle",
    );
    findings.push(
        values
            .conflict(Code::ShortOfCredits, &[&BUFFER], message)
            .expected(format!("{units_needed} flits or more for full bandwidth"))
            .warning(),
    );
}
