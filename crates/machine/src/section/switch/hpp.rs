//! The HPP Switch: its settings and checks. Sources: hpp-switch.txt sections 2.2 and 4, dawning5000.txt sections 3 and 6.

mod barrier;
mod multicast;

use flitway_engine::{Clock, Picos};
use flitway_fabric::arbiter::ArbiterKind;
use flitway_fabric::headroom::Headroom;
use flitway_fabric::packet::PacketFormat;
use flitway_switch::SwitchSettings;
use flitway_switch::hpp::settings::{AdvertSettings, HppSettings, Pipeline};
use flitway_wiring::routing::{Route, Selection};

use super::{
    ARCHITECTURE as ARCHITECTURE_SETTING, Architecture, ClassLimit, Surroundings, check_ports,
    check_selection, check_vcs, of_one_way_links,
};
use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::section::routing::Selects;
use crate::section::topology::{self, Topology};
use crate::section::{nic, packet, routing};
use crate::setting::{Choice, Kind, Setting, When, choices_of, settings};
use crate::units::{self, Dimension};
use crate::values::{Span, Values};

const NAME: &str = "hpp";

pub(crate) static ARCHITECTURE: Architecture = Architecture {
    choice: Choice {
        name: NAME,
        doc: "The HPP Switch: input queues and a crossbar of its own for each virtual channel, virtual cut-through, \
              absolute credits.",
    },
    has_vcs: true,
    retries: false,
    has_rates: false,
    takes_one_way_links: false,
    settings: &[SETTINGS, multicast::SETTINGS, barrier::SETTINGS],
    page: &[],
    build,
};

const HPP: When = When { selector: &ARCHITECTURE_SETTING, holds: |_, name| name == NAME };

settings! {
    static SETTINGS;

    /// Ports of the chip. The topology may leave some unused.
    PORTS = "switch.ports", Kind::Count { min: 2, max: 64 }, required, for HPP, example(16),
        source("hpp-switch.txt section 2.2 (P-HP-001)");

    /// Data virtual channels of each port. Each has its own input FIFO and its own crossbar; a packet never leaves its
    /// virtual channel, except for the second dateline class of a torus.
    VCS = "switch.vcs", Kind::Count { min: 1, max: 16 }, default(3), for HPP,
        source("hpp-switch.txt section 2.2 (P-HP-023, P-HP-024); the channel for barriers is not among them");

    /// Payload that the input FIFO of one virtual channel holds: a whole number of credit units, at least one packet of
    /// the MTU.
    BUFFER = "switch.buffer", Kind::Quantity { dimension: Dimension::Size, min: 1, max: 1 << 30 }, default("4 KiB"),
        for HPP, source("hpp-switch.txt section 3.2.2 (P-HP-028); dawning5000.txt section 6 (P-DN-055); OQ-D3, OQ-H11");

    /// Policy of the arbiter of each output of each crossbar.
    ARBITER = "switch.arbiter", choices_of!(ArbiterKind::ALL, kind => Choice { name: kind.name(), doc: kind.doc() }),
        default("matrix"), for HPP, source("hpp-switch.txt section 2.2 (P-HP-030)");

    /// How switches choose between two ways that a packet holds. They choose with `routing.algorithm = "ugal"` and `"par"`
    /// only: the source writes the minimal way and the one by an intermediate that it draws, and no other routing has a
    /// second one.
    SELECTION = "switch.selection", one of {
        /// The minimal one.
        FIRST = "first",
        /// The one whose output has the least load, where that of the way by the intermediate counts twice: credit units that
        /// are taken and that the switch does not know to have been given back, in all virtual channels of the link. Packets
        /// may overtake each other.
        LEAST_LOADED = "least-loaded",
    }, default("first"), for HPP, source("Kim et al., ISCA 2008, section 4.2; on HPP Switches [assumed]");

    /// Whether an idle output sends the start flit of the next packet ahead of time, which saves a cycle when a packet
    /// comes. A miss costs nothing (OQ-H4).
    SHOW_AHEAD = "switch.show_ahead", Kind::Flag, default(true), for HPP,
        source("hpp-switch.txt section 2.2 (P-HP-016, P-HP-017)");

    /// Depth of the FIFO between a crossbar output and the link.
    TX_FIFO = "switch.tx_fifo", Kind::Quantity { dimension: Dimension::Flits, min: 1, max: 65_535 },
        default("16 flits"), for HPP, source("hpp-switch.txt section 4 (P-HP-032)");

    /// Stages of the receiving link control layer. The sum of the five parts is the zero-load latency of the switch
    /// without show-ahead.
    RECEIVE = "switch.pipeline.receive", stages(0), default("2 cycles"), for HPP,
        source("hpp-switch.txt section 2.2 (P-HP-011)");

    /// Stages of input queuing.
    QUEUE = "switch.pipeline.queue", stages(0), default("3 cycles"), for HPP,
        source("hpp-switch.txt section 2.2 (P-HP-012)");

    /// Stages of routing, requesting, arbitrating and granting.
    ROUTE = "switch.pipeline.route", stages(1), default("4 cycles"), for HPP,
        source("hpp-switch.txt section 2.2 (P-HP-013)");

    /// Stages of the transmitting buffer; with show-ahead at least two.
    TRANSMIT_BUFFER = "switch.pipeline.transmit_buffer", stages(1), default("2 cycles"), for HPP,
        source("hpp-switch.txt section 2.2 (P-HP-014)");

    /// Stages of the transmitting link control layer.
    TRANSMIT = "switch.pipeline.transmit", stages(1), default("1 cycle"), for HPP,
        source("hpp-switch.txt section 2.2 (P-HP-015)");

    /// Payload that one credit stands for: a whole number of flits. A packet takes whole units, at least one.
    UNIT = "switch.credit.unit", Kind::Quantity { dimension: Dimension::Size, min: 1, max: 65_535 }, default("64 B"),
        for HPP, source("hpp-switch.txt section 2.2 (P-HP-034)");

    /// Length of a credit advert on the reverse channel, between packets. 0 stands for wires of their own that take no
    /// bandwidth.
    ADVERT = "switch.credit.advert", Kind::Quantity { dimension: Dimension::Flits, min: 0, max: 64 },
        default("2 flits"), for HPP, source("OQ-H3");

    /// An advert is repeated when none has been sent for this long, so that a lost one is healed.
    REFRESH = "switch.credit.refresh", Kind::SpanOrOff, default("1 us"), for HPP, source("OQ-H3");

    /// Width of the position counters of absolute credits. 2^position_bits exceeds twice the credit units of a buffer.
    POSITION_BITS = "switch.credit.position_bits", Kind::Count { min: 2, max: 31 }, default(16), for HPP,
        source("spec/mechanisms.md section 1.3 (P-HP-033)");
}

const fn stages(min: u64) -> Kind {
    Kind::Quantity { dimension: Dimension::Cycles, min, max: 1_000 }
}

fn build(
    values: &Values,
    surroundings: &Surroundings<'_>,
    findings: &mut Diagnostics,
) -> Option<SwitchSettings> {
    let (ports, vcs) = (values.count(&PORTS), values.count(&VCS));
    if let Some(ports) = ports {
        check_ports(values, &PORTS, ports, surroundings.topology, findings);
        check_links(values, surroundings.topology, findings);
    }
    if let Some(vcs) = vcs {
        let limit = ClassLimit { classes: Route::CLASSES, what: "which is what the route of a packet holds" };
        check_vcs(values, &VCS, vcs, limit, surroundings, findings);
    }
    if let Some(hops) = surroundings.carried_hops.filter(|hops| *hops > Route::HOPS) {
        let message = format!("packets carry their way, and one with service levels has {hops} hops here");
        let involved = [&super::ARCHITECTURE, &routing::ALGORITHM];
        let problem = values.conflict(Code::RoutingMisfit, &involved, message);
        findings.push(problem.expected(format!("ways of {} hops at most, or a tiled switch", Route::HOPS)));
    }
    let selection = selection(values, surroundings, findings);
    let arbiter = values.choice(&ARBITER).and_then(ArbiterKind::named);
    let (show_ahead, tx_fifo) = (values.flag(&SHOW_AHEAD), values.quantity_u32(&TX_FIFO));
    let pipeline = pipeline(values, show_ahead, findings);
    let units = buffer_units(values, surroundings.format, findings);
    let advert = advert(values, surroundings.clock, units.as_ref(), findings);
    let multicast = multicast::build(values, surroundings.clock, vcs, findings);
    let barrier = barrier::build(values, surroundings.clock, findings);
    let format = surroundings.format?;
    let units = units?;
    let settings = HppSettings {
        ports: ports?,
        vcs: vcs?,
        buffer_units: units.buffer,
        unit_flits: units.flits,
        arbiter: arbiter?,
        selection: selection?,
        show_ahead: show_ahead?,
        pipeline: pipeline?,
        tx_fifo: tx_fifo?,
        format,
        advert: advert?,
        multicast: multicast?,
        barrier: barrier?,
        lanes: nic::lanes(values)?,
        reply_lanes: nic::reply_lanes(values)?,
    };
    check_refresh(values, &settings, findings);
    check_headroom(values, &settings, surroundings, findings);
    check_adverts(values, &settings, findings);
    barrier::check_timer(values, &settings, surroundings, findings);
    Some(SwitchSettings::Hpp(settings))
}

/// How switches choose ways. Where no routing leaves them any they take what the source has written.
fn selection(
    values: &Values,
    surroundings: &Surroundings<'_>,
    findings: &mut Diagnostics,
) -> Option<Selection> {
    let is_by_load = values.choice(&SELECTION)? == LEAST_LOADED;
    let refuse = |why: &str, findings: &mut Diagnostics| {
        check_selection(values, Err(why), surroundings, findings);
        Some(Selection::First)
    };
    match routing::selects(surroundings.routing?) {
        Selects::Ways if is_by_load => Some(Selection::LeastLoaded),
        Selects::Ways => {
            check_selection(values, Ok((&SELECTION, LEAST_LOADED)), surroundings, findings);
            Some(Selection::First)
        }
        Selects::WaysByLoadsOfOthers => refuse("HPP Switches do not tell each other their loads", findings),
        Selects::Hops => refuse(
            "the source route of an HPP Switch names whole ways, and no hop that a switch on the way adds",
            findings,
        ),
        Selects::Nothing => {
            if is_by_load {
                warn_of_no_choice(values, findings);
            }
            Some(Selection::First)
        }
    }
}

fn warn_of_no_choice(values: &Values, findings: &mut Diagnostics) {
    let routing = values.choice(&routing::ALGORITHM).unwrap_or_default();
    let message = format!("HPP Switches have nothing to select: `{routing}` routing writes one way");
    let problem = values.conflict(Code::RoutingMisfit, &[&SELECTION, &routing::ALGORITHM], message);
    let help = values.fix(&SELECTION, &format!("\"{FIRST}\""));
    findings.push(problem.warning().expected("`ugal` or `par` routing").help(help));
}

/// Adverts take the way back that a one-way link does not have.
fn check_links(values: &Values, topology: Option<&Topology>, findings: &mut Diagnostics) {
    if let Some(topology) = topology.filter(|topology| topology.is_one_way()) {
        let message = format!(
            "HPP Switches need links that lead both ways, and those of topology \"{}\" lead one way",
            topology.kind()
        );
        let involved = [&ARCHITECTURE_SETTING, &topology::KIND];
        findings.push(
            values
                .conflict(Code::OneWayLinks, &involved, message)
                .expected("a topology whose links lead both ways: adverts share the channel back")
                .help(format!("write {} = {}", ARCHITECTURE_SETTING.key(), of_one_way_links())),
        );
    }
}

/// Adverts go before packets: if those that are repeated take all of the channel, no packet is ever sent.
fn check_refresh(values: &Values, settings: &HppSettings, findings: &mut Diagnostics) {
    let HppSettings { vcs, advert, .. } = *settings;
    let round = vcs * advert.flits;
    if let Some(refresh) = advert.refresh.filter(|&refresh| refresh <= round) {
        let cycles = |count: u32| units::format(u64::from(count), Dimension::Cycles);
        let message = format!(
            "adverts that are repeated every {} leave no room for packets: one for each of {vcs} virtual channels \
             takes the channel for {}",
            cycles(refresh),
            cycles(round)
        );
        findings.push(
            values
                .conflict(Code::RefreshTooShort, &[&REFRESH, &VCS, &ADVERT], message)
                .expected(format!("far more than {}, or \"off\"", cycles(round))),
        );
    }
}

/// Compares the buffer with what the longest link carries in a round trip. A buffer that does not hold two packets is
/// reported already, unless the round trip needs still more.
fn check_headroom(
    values: &Values,
    settings: &HppSettings,
    surroundings: &Surroundings<'_>,
    findings: &mut Diagnostics,
) -> Option<()> {
    let longest = surroundings.link?.longest(surroundings.topology?);
    let mtu = settings.format.mtu_bytes;
    let Headroom { latency, round_trip, units_needed, units } = settings.headroom_of(longest, mtu);
    let unit = values.quantity(&UNIT)?;
    if units < units_needed && u64::from(units_needed) > 2 * u64::from(mtu).div_ceil(unit) {
        let message = format!(
            "the buffer cannot keep a link of {} busy: credits come back after {round_trip} cycles, \
             so that packets of {} need {units_needed} credit units, and there are {units}",
            units::format(u64::from(latency), Dimension::Cycles),
            bytes(mtu)
        );
        let needed = units::format(u64::from(units_needed) * unit, Dimension::Size);
        findings.push(
            values
                .conflict(Code::ShortOfCredits, &[&BUFFER, &UNIT], message)
                .warning()
                .expected(format!("{needed} or more for full bandwidth")),
        );
    }
    Some(())
}

/// A unit in so many adverts is long enough that these take little of a channel.
const ADVERTS_IN_UNIT: u32 = 8;

/// Compares an advert with the credit unit that it tells of.
fn check_adverts(values: &Values, settings: &HppSettings, findings: &mut Diagnostics) {
    let (unit, advert) = (settings.unit_flits, settings.advert.flits);
    if 4 * advert < unit || advert == 0 {
        return;
    }
    let flits = |count: u32| format!("{count} flit{}", if count == 1 { "" } else { "s" });
    let message = format!(
        "adverts take much of the channels: each credit unit of {} that leaves a buffer is told with {} on the channel back",
        flits(unit),
        flits(advert)
    );
    let enough = u64::from(ADVERTS_IN_UNIT * advert * settings.format.flit_bytes);
    findings.push(
        values
            .conflict(Code::AdvertsCostBandwidth, &[&UNIT, &ADVERT, &packet::FLIT], message)
            .warning()
            .expected(format!(
                "a unit of {} or more, in a buffer of many",
                units::format(enough, Dimension::Size)
            )),
    );
}

fn pipeline(values: &Values, show_ahead: Option<bool>, findings: &mut Diagnostics) -> Option<Pipeline> {
    let [receive, queue, route, transmit_buffer, transmit] =
        [&RECEIVE, &QUEUE, &ROUTE, &TRANSMIT_BUFFER, &TRANSMIT].map(|setting| values.quantity_u32(setting));
    if show_ahead == Some(true) && transmit_buffer == Some(1) {
        let message = "show-ahead needs two stages of transmitting buffer, but there is 1".to_owned();
        findings.push(
            values
                .conflict(Code::PipelineTooShort, &[&TRANSMIT_BUFFER, &SHOW_AHEAD], message)
                .expected(format!("`{}` of at least 2 cycles", TRANSMIT_BUFFER.path))
                .help(format!("or {}", values.fix(&SHOW_AHEAD, "false"))),
        );
    }
    Some(Pipeline {
        receive: receive?,
        queue: queue?,
        route: route?,
        transmit_buffer: transmit_buffer?,
        transmit: transmit?,
    })
}

/// The sizes behind credits.
struct Units {
    /// Of one buffer.
    buffer: u32,
    /// Flits in a unit.
    flits: u32,
}

fn buffer_units(values: &Values, format: Option<PacketFormat>, findings: &mut Diagnostics) -> Option<Units> {
    let (buffer, unit) = (values.quantity_u32(&BUFFER), values.quantity_u32(&UNIT));
    let (buffer, unit) = (buffer?, unit?);
    if !buffer.is_multiple_of(unit) {
        let message = format!(
            "the buffer of {} is not a whole number of credit units of {}",
            bytes(buffer),
            bytes(unit)
        );
        let problem = values.conflict(Code::NotAMultiple, &[&BUFFER, &UNIT], message);
        findings.push(problem.expected(format!("a multiple of {unit} B")));
        return None;
    }
    let format = format?;
    let flit = format.flit_bytes;
    if !unit.is_multiple_of(flit) {
        let message =
            format!("the credit unit of {} is not a whole number of flits of {}", bytes(unit), bytes(flit));
        let problem = values.conflict(Code::NotAMultiple, &[&UNIT, &packet::FLIT], message);
        findings.push(problem.expected(format!("a multiple of {flit} B")));
        return None;
    }
    let (held, needed) = (buffer / unit, format.mtu_bytes.div_ceil(unit));
    let sizes = format!(
        "{} in units of {} is {held}, and a packet of {} takes {needed}",
        bytes(buffer),
        bytes(unit),
        bytes(format.mtu_bytes)
    );
    let settings = [&BUFFER, &packet::MTU, &UNIT];
    if held < needed {
        let message = format!("the buffer is too small for a packet: {sizes}");
        let problem = values.conflict(Code::BufferTooSmall, &settings, message);
        findings.push(problem.expected(format!("a buffer of at least {}", bytes(needed * unit))));
        return None;
    }
    if held < 2 * needed {
        let message = format!("the buffer does not hold two packets of the MTU: {sizes}");
        let problem = values.conflict(Code::StopAndWait, &settings, message).warning();
        findings.push(problem.expected(format!("{} or more for full bandwidth", bytes(2 * needed * unit))));
    }
    Some(Units { buffer: held, flits: unit / flit })
}

fn bytes(value: u32) -> String {
    units::format(u64::from(value), Dimension::Size)
}

fn advert(
    values: &Values,
    clock: Option<Clock>,
    units: Option<&Units>,
    findings: &mut Diagnostics,
) -> Option<AdvertSettings> {
    let (flits, bits) = (values.quantity_u32(&ADVERT), values.count(&POSITION_BITS));
    let refresh = values.span_or_off(&REFRESH);
    if let (Some(units), Some(bits)) = (units, bits) {
        let twice = 2 * u64::from(units.buffer);
        if 1_u64 << bits <= twice {
            let least = u64::BITS - twice.leading_zeros();
            let message = format!(
                "positions of {bits} bits are too narrow for a buffer of {} credit units: 2^{bits} must exceed {twice}",
                units.buffer
            );
            findings.push(
                values
                    .conflict(Code::PositionTooNarrow, &[&POSITION_BITS, &BUFFER, &UNIT], message)
                    .expected(format!("at least {least} bits")),
            );
        }
    }
    let refresh = match refresh? {
        None => None,
        Some(span) => Some(span_cycles(values, &REFRESH, span, clock?, findings)?),
    };
    Some(AdvertSettings { flits: flits?, refresh, position_bits: bits? })
}

/// Rounds up to the next cycle.
fn span_cycles(
    values: &Values,
    setting: &'static Setting,
    span: Span,
    clock: Clock,
    findings: &mut Diagnostics,
) -> Option<u32> {
    let cycles = match span {
        Span::Cycles(cycles) => u128::from(cycles),
        // In 128 bits, because an hour at a terahertz does not fit 64.
        Span::Time(Picos(picos)) => clock.cycles_ceil_of(picos.into(), 1),
    };
    let fits = u32::try_from(cycles).ok();
    if fits.is_none() {
        let message = format!("`{}` is {cycles} cycles", setting.path);
        let problem = values.conflict(Code::OutOfRange, &[setting], message);
        findings.push(problem.expected(format!("at most {} cycles, or \"off\"", u32::MAX)));
    }
    fits
}
