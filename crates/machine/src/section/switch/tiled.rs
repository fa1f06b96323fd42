//! The tiled switch of TH Express-2: its settings and checks. Source: th-express-2.txt sections 2.1 and 4.3.

use flitway_engine::{Clock, Picos};
use flitway_fabric::Chip;
use flitway_fabric::Rate;
use flitway_fabric::headroom::Headroom;
use flitway_fabric::link::lanes::{LANES_MAX, LaneError, LaneSettings, RATES_MAX};
use flitway_fabric::packet::PacketFormat;
use flitway_switch::SwitchSettings;
use flitway_switch::tiled::settings::{PORTS_MAX, VCS_MAX};
use flitway_switch::tiled::{
    AckSettings, Arbitration, BufferSettings, LaneOut, RetrySettings, TiledBuffers, TiledPipeline,
    TiledSettings, TrainingSettings,
};
use flitway_wiring::routing::Selection;

mod states;
pub(crate) use states::first_lanes;

use super::{
    ARCHITECTURE as ARCHITECTURE_SETTING, Architecture, ClassLimit, Surroundings, check_ports,
    check_selection, check_vcs, of_one_way_links,
};
use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::section::topology::{self, Topology};
use crate::section::{link, nic, packet};
use crate::setting::{Choice, Kind, Setting, When, choices_of, settings};
use crate::units::{self, Dimension};
use crate::values::Values;

const NAME: &str = "tiled";

pub(crate) static ARCHITECTURE: Architecture = Architecture {
    choice: Choice {
        name: NAME,
        doc: "The network chip of TH Express-2: tiles in rows and columns, each with a port, buffers at the crossing points \
              that the virtual channels share (DAMQ), virtual cut-through, and links that acknowledge.",
    },
    has_vcs: true,
    retries: true,
    has_rates: true,
    takes_one_way_links: false,
    settings: &[SETTINGS],
    page: PAGE,
    build,
};

const PAGE: &[&str] = &[
    "How it works. Port p has the tile in row p / columns and column p mod columns. A packet goes from its input buffer over \
     the row bus of its input, which is its own, to the row buffer in the column of its output; through the subswitch of that \
     tile and over a channel of the column to the column buffer of its row in the tile of the output; and from there, one of \
     as many rows as there are, to the link (section 2.1.2). So the one large crossbar is many small ones. Each step moves a \
     whole packet, and asks for room for all of it.",
    "Buffers. Each is one memory for all virtual channels (DAMQ): a private part for each, of whole packets, so that none keeps \
     another out, and a shared part for whoever needs it. The sender keeps the count: flits sent and not heard of as \
     returned. With \"samq\" the memory is cut into equal parts, one for each virtual channel.",
    "Links. With retry a packet goes on when all of it has been checked; the sender keeps it until it is acknowledged, \
     `switch.link.window` of them at most. An acknowledgement says absolute numbers, packets accepted and flits returned by \
     virtual channel, and goes along with every packet; alone it takes a flit that no packet wants.",
    "Arbiters. Round robin gives each input of a stage as much as the others, so that along a chain of switches each halves what \
     is left for those behind it. \"age\" lets the packet go first that entered the network first, at all of them: those that \
     come far then take as long, once they are in the network, as those that come from near (Abts and Weisser, SC 2007).",
    "Other switches that are the same machine: rows = 1 is a crossbar with a buffer at each crosspoint; rows = 8 and columns = 8 \
     is the shape of the Cray BlackWidow switch (YARC). A chip has up to 512 ports.",
    "Cycles. From the input pin to the output pin: the eight parts of the pipeline, 42 here, and with retry the flits of the \
     packet but for the first. What happens in which cycle is said in crates/switch/src/tiled/mod.rs, what the paper leaves open \
     in docs/decisions/0022-tiled-switch-cycle-by-cycle.md.",
];

const TILED: When = When { selector: &ARCHITECTURE_SETTING, holds: |_, name| name == NAME };

settings! {
    static SETTINGS;

    /// Rows of tiles. Rows times columns are the ports of the chip, 2 to 512; the topology may leave some unused.
    ROWS = "switch.rows", Kind::Count { min: 1, max: PORTS_MAX }, required, for TILED, example(4),
        source("th-express-2.txt section 2.1.2 (P-TH-019)");

    /// Columns of tiles.
    COLUMNS = "switch.columns", Kind::Count { min: 1, max: PORTS_MAX }, required, for TILED, example(6),
        source("th-express-2.txt section 2.1.2 (P-TH-019)");

    /// Virtual channels of each link.
    VCS = "switch.vcs", Kind::Count { min: 1, max: VCS_MAX as u32 }, default(4), for TILED,
        source("th-express-2.txt section 4.3.2 (P-TH-106)");

    /// Policy of all arbiters of the chip.
    ARBITER = "switch.arbiter", choices_of!(Arbitration::ALL, it => Choice { name: it.name(), doc: it.doc() }),
        default("round-robin"), for TILED, source("OQ-T4");

    /// How packets choose among the outputs that the routing names.
    SELECTION = "switch.selection", one of {
        /// The first one: packets of a pair of nodes keep their order.
        FIRST = "first",
        /// One by a hash of source, destination and switch, as in ECMP: packets of a pair of nodes keep their order.
        HASHED = "hashed",
        /// One by a number drawn for each packet and switch: packets are sprayed, and may overtake each other.
        RANDOM = "random",
        /// The one with the least load: flits of packets that have taken it and have not given back their room at the other
        /// end of its link. Packets may overtake each other.
        LEAST_LOADED = "least-loaded",
    }, default("first"), for TILED, source("th-express-2.txt section 4.3.3 (P-TH-111, P-TH-112)");

    /// How often a switch tells the others of its group the loads of its global links, where packets choose by them
    /// (`routing.algorithm = "ugal-g"`); other routings need it not. The others know a load as much later as a flit would come.
    LOAD_INTERVAL = "switch.load_interval", stages(1), default("16 cycles"), for TILED, source("[assumed]");

    /// Which lane of the class that the routing names a packet leaves by.
    LANE = "switch.lane", one of {
        /// The one by which it came.
        KEPT = "kept",
        /// The one with the least load.
        LANE_BY_LOAD = "least-loaded",
    }, default("kept"), for TILED, source("[assumed]; the paper has four identical virtual channels");

    /// How virtual channels share the memory of a buffer.
    ORGANISATION = "switch.buffers.organisation", one of {
        /// A dynamically allocated multi-queue: a private part for each virtual channel, and a part for all. Where packets of
        /// one class of virtual channels wait they take the part for all, and leave those of other classes their private parts:
        /// under traffic that a routing in several classes cannot carry, much less is accepted than its channels could.
        DAMQ = "damq",
        /// A statically allocated multi-queue: equal parts, one for each virtual channel, so that no class takes those of
        /// others.
        SAMQ = "samq",
    }, default("damq"), for TILED, source("th-express-2.txt section 2.1.2 (P-TH-027)");

    /// The private part of each virtual channel in every buffer, in packets of the MTU. With "samq" it is what is there.
    PRIVATE = "switch.buffers.private", Kind::Count { min: 1, max: 65_535 }, default(1), for TILED,
        source("th-express-2.txt section 4.3.2 (P-TH-107): a small part [assumed]");

    /// Memory of the buffer of an input.
    INPUT_BUFFER = "switch.buffers.input", size(), default("32 KiB"), for TILED, source("OQ-T4");

    /// Memory of the buffer of an input in each column.
    ROW_BUFFER = "switch.buffers.row", size(), default("2 KiB"), for TILED, source("OQ-T4");

    /// Memory of the buffer of an output for each row.
    COLUMN_BUFFER = "switch.buffers.column", size(), default("2 KiB"), for TILED, source("OQ-T4");

    /// Serial links and physical coding of the receiving side. The sum of the eight parts is the zero-load latency of the
    /// switch for a packet of one flit.
    RECEIVE = "switch.pipeline.receive", stages(1), default("11 cycles"), for TILED, source("OQ-T4");

    /// Checking, routing, and writing into the input buffer.
    INPUT = "switch.pipeline.input", stages(0), default("4 cycles"), for TILED, source("OQ-T4");

    /// The row bus.
    ROW = "switch.pipeline.row", stages(1), default("3 cycles"), for TILED, source("OQ-T4");

    /// The subswitch of a tile.
    SUBSWITCH = "switch.pipeline.subswitch", stages(1), default("4 cycles"), for TILED, source("OQ-T4");

    /// The channel of a column.
    COLUMN = "switch.pipeline.column", stages(0), default("3 cycles"), for TILED, source("OQ-T4");

    /// The multiplexer of an output.
    OUTPUT = "switch.pipeline.output", stages(0), default("4 cycles"), for TILED, source("OQ-T4");

    /// The link layer of the sending side.
    LINK = "switch.pipeline.link", stages(0), default("2 cycles"), for TILED, source("OQ-T4");

    /// Physical coding and serial links of the sending side.
    TRANSMIT = "switch.pipeline.transmit", stages(1), default("11 cycles"), for TILED, source("OQ-T4");

    /// Whether links check packets, acknowledge them and send them again. Without it a packet goes on before all of it has
    /// come.
    RETRY = "switch.link.retry", Kind::Flag, default(true), for TILED,
        source("th-express-2.txt section 4.3.2 (P-TH-104, P-TH-105)");

    /// Packets that a sender keeps until they are acknowledged, and so sends without an acknowledgement.
    WINDOW = "switch.link.window", Kind::Count { min: 1, max: 65_535 }, default(64), for TILED, source("OQ-T11");

    /// Bits of the number of a packet. The window is less than the numbers that they tell apart; with no more than half of
    /// them each gap is found by the next packet that comes.
    SEQUENCE_BITS = "switch.link.sequence_bits", Kind::Count { min: 1, max: 16 }, default(8), for TILED,
        source("th-express-2.txt section 4.3.2: that there is a number; its width [assumed]");

    /// Time without an acknowledgement after which a sender sends all that it keeps again: longer than a round trip with what
    /// an acknowledgement waits for.
    TIMEOUT = "switch.link.timeout", Kind::Quantity { dimension: Dimension::Time, min: 1, max: 1_000_000_000 },
        default("5 us"), for TILED, source("OQ-T11");

    /// Time in which a link begins nothing after which it says its last acknowledgement again.
    HEARTBEAT = "switch.link.heartbeat", Kind::Quantity { dimension: Dimension::Time, min: 1, max: 1_000_000_000 },
        default("1 us"), for TILED, source("OQ-T12");

    /// Heartbeats that do not come until a link counts as silent, and is trained again.
    MISSES = "switch.link.misses", Kind::Count { min: 1, max: 1_000 }, default(16), for TILED, source("OQ-T12");

    /// Time in which a link tests its lanes when it is trained: longer than a round trip, so that all that was on the way is
    /// over. Links are trained when something breaks (`--faults`).
    TRAINING = "switch.link.training", Kind::Quantity { dimension: Dimension::Time, min: 1, max: 1_000_000_000 },
        default("10 us"), for TILED, source("th-express-2.txt section 4.3.1: that lanes are tested; the time [assumed]");

    /// Time after which an end of a link that carries nothing gives up: packets for it are lost from then on.
    GIVE_UP = "switch.link.give_up", Kind::Quantity { dimension: Dimension::Time, min: 1, max: 1_000_000_000 },
        default("50 us"), for TILED, source("[assumed]");

    /// Lanes of a link in each direction. All of them together carry a flit a cycle, however many they are: their number counts
    /// where some are bad.
    LANES = "switch.link.lanes", Kind::Count { min: 1, max: LANES_MAX }, default(8), for TILED,
        source("th-express-2.txt section 2.1.1 (P-TH-012)");

    /// Lanes that a link can do without at the rate that the others have; with more bad ones all take the next lower rate.
    DISCARDED_LANES = "switch.link.discarded_lanes", Kind::Count { min: 0, max: LANES_MAX - 1 }, default(4), for TILED,
        source("th-express-2.txt section 4.3.1 (P-TH-099)");

    /// Rates of a lane in Gbit/s, from the highest, which is that of a link in order, to the lowest. Their ratios count: at the
    /// highest a link carries a flit a cycle, whatever it is.
    LANE_RATES = "switch.link.lane_rates", Kind::Counts { min: 1, max: 10_000, longest: RATES_MAX }, default([14, 10, 5]),
        for TILED, source("th-express-2.txt sections 2.1.1 and 4.3.1 (P-TH-013, P-TH-098)");

    /// Links with bad lanes, by one end, with the lanes that are good and what they run at, if less than the highest rate:
    /// `"node 3: 5; switch 80 port 7: 8 at 10 Gbit/s"`. Said is how the channel works that comes to that end; the two ends
    /// agree on what works in both directions. Links begin so, in all rails alike.
    LANE_STATES = "switch.link.lane_states", Kind::Text { least: 0 }, optional, for TILED, example("node 3: 5"),
        source("th-express-2.txt section 4.3.1 (P-TH-098, P-TH-099)");

    /// An acknowledgement goes alone when so many packets have been received since the last one, ...
    ACK_PACKETS = "switch.link.ack_packets", Kind::Count { min: 1, max: 65_535 }, default(8), for TILED, source("OQ-T11");

    /// ... or when the first of them is so old.
    ACK_DELAY = "switch.link.ack_delay", Kind::Quantity { dimension: Dimension::Time, min: 0, max: 1_000_000_000 },
        default("200 ns"), for TILED, source("OQ-T11");
}

const fn stages(min: u64) -> Kind {
    Kind::Quantity { dimension: Dimension::Cycles, min, max: 1_000 }
}

const fn size() -> Kind {
    Kind::Quantity { dimension: Dimension::Size, min: 1, max: 1 << 30 }
}

fn build(
    values: &Values,
    surroundings: &Surroundings<'_>,
    findings: &mut Diagnostics,
) -> Option<SwitchSettings> {
    let (rows, columns, vcs) = (values.count(&ROWS), values.count(&COLUMNS), values.count(&VCS));
    if let (Some(rows), Some(columns)) = (rows, columns) {
        check_shape(values, rows, columns, findings);
        check_ports(values, &COLUMNS, rows * columns, surroundings.topology, findings);
        check_links(values, surroundings.topology, findings);
    }
    if let Some(vcs) = vcs {
        let limit =
            ClassLimit { classes: VCS_MAX as u32, what: "as many virtual channels as a link can have" };
        check_vcs(values, &VCS, vcs, limit, surroundings, findings);
    }
    let arbiter = values.choice(&ARBITER).and_then(Arbitration::named);
    let selection = match values.choice(&SELECTION)? {
        LEAST_LOADED => Selection::LeastLoaded,
        HASHED => Selection::Hashed,
        RANDOM => Selection::Random,
        _ => Selection::First,
    };
    if selection != Selection::LeastLoaded {
        check_selection(values, Ok((&SELECTION, LEAST_LOADED)), surroundings, findings);
    }
    let lane = if values.choice(&LANE)? == LANE_BY_LOAD { LaneOut::LeastLoaded } else { LaneOut::Kept };
    let format = surroundings.format?;
    let buffers = buffers(values, vcs?, format, findings);
    let settings = TiledSettings {
        rows: rows?,
        columns: columns?,
        vcs: vcs?,
        buffers: buffers?,
        arbiter: arbiter?,
        selection,
        load_interval: values.quantity_u32(&LOAD_INTERVAL)?,
        lane,
        lanes: nic::lanes(values)?,
        reply_lanes: nic::reply_lanes(values)?,
        pipeline: TiledPipeline {
            receive: values.quantity_u32(&RECEIVE)?,
            input: values.quantity_u32(&INPUT)?,
            row: values.quantity_u32(&ROW)?,
            subswitch: values.quantity_u32(&SUBSWITCH)?,
            column: values.quantity_u32(&COLUMN)?,
            output: values.quantity_u32(&OUTPUT)?,
            link: values.quantity_u32(&LINK)?,
            transmit: values.quantity_u32(&TRANSMIT)?,
        },
        training: training(values, surroundings.clock?, findings)?,
        retry: values.flag(&RETRY)?.then_some(retry(values, surroundings.clock?)?),
        ack: AckSettings {
            packets: values.count(&ACK_PACKETS)?,
            delay: cycles(values.quantity(&ACK_DELAY)?, surroundings.clock?),
        },
        format,
    };
    check_numbers(values, &settings, findings)?;
    check_errors(values, &settings, surroundings, findings);
    check_round_trip(values, &settings, surroundings, findings);
    Some(SwitchSettings::Tiled(settings))
}

/// What links that retry need; without retry a machine may say it as well.
fn retry(values: &Values, clock: Clock) -> Option<RetrySettings> {
    Some(RetrySettings {
        window: values.count(&WINDOW)?,
        sequence_bits: values.count(&SEQUENCE_BITS)?,
        timeout: cycles(values.quantity(&TIMEOUT)?, clock).max(1),
        heartbeat: cycles(values.quantity(&HEARTBEAT)?, clock).max(1),
    })
}

/// How links are trained. The lanes are checked.
fn training(values: &Values, clock: Clock, findings: &mut Diagnostics) -> Option<TrainingSettings> {
    let rates = values.counts(&LANE_RATES)?;
    let of_highest = |&rate: &u32| Rate::new(rate, rates[0]);
    let lanes = LaneSettings {
        lanes: values.count(&LANES)?,
        discarded_max: values.count(&DISCARDED_LANES)?,
        // A rate above the first is refused below, as one that does not descend.
        rates: rates.iter().map(|rate| of_highest(rate).unwrap_or(Rate::FULL)).collect(),
    };
    if let Err(error) = lanes.clone().check() {
        let involved: &[&'static Setting] = match error {
            LaneError::Lanes(_) | LaneError::AllDiscarded => &[&LANES, &DISCARDED_LANES],
            LaneError::Rates(_) | LaneError::NotDescending(_) | LaneError::TooFine(_) => &[&LANE_RATES],
        };
        let (message, expected) = match error {
            LaneError::AllDiscarded => (
                format!("{error}: it has {}, and up to {} may be bad", lanes.lanes, lanes.discarded_max),
                format!("`{}` of less than {}", DISCARDED_LANES.path, lanes.lanes),
            ),
            _ => (
                error.to_string(),
                "rates from the highest to the lowest, and lanes that are left".to_owned(),
            ),
        };
        let problem = values.conflict(Code::OutOfRange, involved, message);
        let problem = problem.expected(expected);
        findings.push(match (&error, lanes.lanes.checked_sub(1)) {
            (LaneError::AllDiscarded, Some(most)) => {
                problem.help(values.fix(&DISCARDED_LANES, &most.min(lanes.lanes / 2).to_string()))
            }
            _ => problem,
        });
        return None;
    }
    Some(TrainingSettings {
        test: cycles(values.quantity(&TRAINING)?, clock).max(1),
        misses: values.count(&MISSES)?,
        give_up: cycles(values.quantity(&GIVE_UP)?, clock).max(1),
        lanes,
    })
}

/// Rounds up to the next cycle; a millisecond at a terahertz fits.
fn cycles(picos: u64, clock: Clock) -> u32 {
    clock.cycles_ceil(Picos(picos)).0 as u32
}

fn check_shape(values: &Values, rows: u32, columns: u32, findings: &mut Diagnostics) {
    let ports = rows * columns;
    if !(2..=PORTS_MAX).contains(&ports) {
        let message =
            format!("{rows} x {columns} tiles are {ports} port{}", if ports == 1 { "" } else { "s" });
        let problem = values.conflict(Code::OutOfRange, &[&ROWS, &COLUMNS], message);
        findings.push(problem.expected(format!("2 to {PORTS_MAX} ports")));
    }
}

/// Acknowledgements take the way back that a one-way link does not have.
fn check_links(values: &Values, topology: Option<&Topology>, findings: &mut Diagnostics) {
    if let Some(topology) = topology.filter(|topology| topology.is_one_way()) {
        let message = format!(
            "tiled switches need links that lead both ways, and those of topology \"{}\" lead one way",
            topology.kind()
        );
        findings.push(
            values
                .conflict(Code::OneWayLinks, &[&ARCHITECTURE_SETTING, &topology::KIND], message)
                .expected("a topology whose links lead both ways: acknowledgements take the channel back")
                .help(format!("write {} = {}", ARCHITECTURE_SETTING.key(), of_one_way_links())),
        );
    }
}

fn buffers(
    values: &Values,
    vcs: u32,
    format: PacketFormat,
    findings: &mut Diagnostics,
) -> Option<TiledBuffers> {
    let packet = format.packet_flits(format.mtu_bytes);
    let is_static = values.choice(&ORGANISATION)? == SAMQ;
    let packets = values.count(&PRIVATE)?;
    let mut buffer = |setting| buffer(values, setting, (vcs, packets, is_static), packet, format, findings);
    let (input, row, column) = (buffer(&INPUT_BUFFER), buffer(&ROW_BUFFER), buffer(&COLUMN_BUFFER));
    Some(TiledBuffers { input: input?, row: row?, column: column? })
}

/// One buffer for packets of so many flits; `parts` are its virtual channels, the packets of a private part, and whether there
/// is nothing else.
fn buffer(
    values: &Values,
    setting: &'static Setting,
    parts: (u32, u32, bool),
    packet: u32,
    format: PacketFormat,
    findings: &mut Diagnostics,
) -> Option<BufferSettings> {
    let (vcs, packets, is_static) = parts;
    let size = values.quantity_u32(setting)?;
    let flits = size / format.flit_bytes;
    let of_flits = |flits: u64| units::format(flits * u64::from(format.flit_bytes), Dimension::Size);
    if flits > FLITS_MAX {
        let message = format!("`{}` is {flits} flits", setting.path);
        let problem = values.conflict(Code::OutOfRange, &[setting, &packet::FLIT], message);
        findings.push(problem.expected(format!("at most {FLITS_MAX} flits, {}", of_flits(FLITS_MAX.into()))));
        return None;
    }
    if is_static && flits / vcs >= packet {
        return Some(BufferSettings { flits: flits / vcs * vcs, private: flits / vcs });
    }
    let packets = if is_static { 1 } else { packets };
    let needed = u64::from(vcs) * u64::from(packets) * u64::from(packet);
    if u64::from(flits) < needed {
        let each = if packets == 1 { "a packet".to_owned() } else { format!("{packets} packets") };
        let take = if packets == 1 { "takes" } else { "take" };
        let message = format!(
            "`{}` of {} is too small: {each} of {packet} flits for each of {vcs} virtual channels {take} {}",
            setting.path,
            units::format(size.into(), Dimension::Size),
            of_flits(needed)
        );
        let involved = [setting, &PRIVATE, &VCS, &packet::MTU];
        let problem = values.conflict(Code::BufferTooSmall, &involved, message);
        let fit = flits / (vcs * packet);
        let fewer = if fit > 0 && !is_static {
            format!(", or `{}` of at most {fit}", PRIVATE.path)
        } else {
            String::new()
        };
        findings.push(problem.expected(format!("at least {}{fewer}", of_flits(needed))));
        return None;
    }
    Some(BufferSettings { flits, private: packets * packet })
}

/// The most flits of a buffer.
const FLITS_MAX: u32 = 65_535;

/// What is lost is sent again by retry alone.
fn check_errors(
    values: &Values,
    settings: &TiledSettings,
    surroundings: &Surroundings<'_>,
    findings: &mut Diagnostics,
) {
    if settings.retry.is_none() && surroundings.link.is_some_and(|link| link.bit_errors > 0) {
        let message = "links get bits wrong, and without retry nothing is sent again".to_owned();
        let problem = values.conflict(Code::OutOfRange, &[&link::BIT_ERRORS, &RETRY], message);
        findings.push(problem.expected("no errors, or retry").help(values.fix(&RETRY, "true")));
    }
}

/// Compares the window with the sequence numbers.
fn check_numbers(values: &Values, settings: &TiledSettings, findings: &mut Diagnostics) -> Option<()> {
    let Some(RetrySettings { window, sequence_bits: bits, .. }) = settings.retry else { return Some(()) };
    let most = (1 << bits) - 1;
    if window > most {
        let message = format!(
            "sequence numbers of {bits} bits tell {} packets apart, and a window of {window} that is sent again would be taken \
             for the next one",
            most + 1
        );
        let problem = values.conflict(Code::OutOfRange, &[&WINDOW, &SEQUENCE_BITS], message);
        findings.push(problem.expected(format!("a window of at most {most} packets")));
        return None;
    }
    Some(())
}

/// Compares the times of training with what is on the way, and with each other.
fn check_training(values: &Values, settings: &TiledSettings, round_trip: u32, findings: &mut Diagnostics) {
    let Some(training) = settings.training() else { return };
    let least = training.least_test(round_trip, settings.format.packet_flits(settings.format.mtu_bytes));
    let mut warn = |involved: &[&'static Setting], message: String, least: u64| {
        let problem = values.conflict(Code::TimerTooShort, involved, message).warning();
        findings.push(problem.expected(format!("more than {least} cycles")));
    };
    let test = u64::from(training.test);
    if test <= least {
        let message = format!(
            "`{}` is too short: lanes are tested for {test} cycles, and what is on the way takes up to {least}; runs in which \
             something breaks (`--faults`) are refused",
            TRAINING.path
        );
        warn(&[&TRAINING], message, least);
    }
    if u64::from(settings.training.give_up) <= test {
        let message = format!(
            "`{}` is too short: an end gives up after {} cycles, and lanes are tested for {test}, so that every link is given up \
             whose lanes change, and loses packets",
            GIVE_UP.path, settings.training.give_up
        );
        warn(&[&GIVE_UP, &TRAINING], message, test);
    }
}

/// Compares the buffer of an input and the window with what the longest link carries in a round trip.
fn check_round_trip(
    values: &Values,
    settings: &TiledSettings,
    surroundings: &Surroundings<'_>,
    findings: &mut Diagnostics,
) {
    let (Some(link), Some(topology)) = (surroundings.link, surroundings.topology) else { return };
    let longest = link.longest(topology);
    let Headroom { latency, round_trip, units_needed, units: most } = settings.headroom(longest);
    let latency = units::format(u64::from(latency), Dimension::Cycles);
    if most < units_needed {
        let message = format!(
            "the input buffer cannot keep a link of {latency} busy: room comes back after {round_trip} cycles, and a virtual \
             channel has {most} of {} flits at most",
            settings.buffers.input.flits
        );
        let problem = values.conflict(Code::ShortOfCredits, &[&INPUT_BUFFER], message).warning();
        findings.push(problem.expected(format!("{units_needed} flits or more for full bandwidth")));
    }
    let Some(RetrySettings { window, timeout, .. }) = settings.retry else { return };
    let flits = settings.format.packet_flits(settings.format.mtu_bytes);
    let (few, cycles) = link.slowest(topology, settings.format.flit_bytes).ratio();
    let slowest = (u64::from(flits) * u64::from(cycles)).div_ceil(few.into()) as u32;
    let answer = settings.window_cycles(longest, slowest);
    if timeout <= answer {
        let message = format!(
            "`{}` is too short: it expires after {timeout} cycles, and an acknowledgement can take {answer}, so that packets are \
             sent again though nothing is lost",
            TIMEOUT.path
        );
        let problem = values.conflict(Code::TimerTooShort, &[&TIMEOUT], message).warning();
        findings.push(problem.expected(format!("more than {answer} cycles")));
    }
    check_training(values, settings, round_trip, findings);
    let share = settings.share_of_window_one_way(longest, window);
    if share < 1.0 {
        let is_enough = |&window: &u32| settings.share_of_window_one_way(longest, window) >= 1.0;
        let needed = (window..).find(is_enough).unwrap_or(window);
        let share = 100.0 * share;
        let message = format!(
            "a window of {window} packet{} cannot keep a link of {latency} busy: it allows about {share:.0} % of its bandwidth \
             with packets of the MTU one way",
            if window == 1 { "" } else { "s" },
        );
        let problem = values.conflict(Code::ShortOfCredits, &[&WINDOW, &packet::MTU], message).warning();
        findings.push(problem.expected(format!("{needed} packets or more for full bandwidth")));
    }
}
