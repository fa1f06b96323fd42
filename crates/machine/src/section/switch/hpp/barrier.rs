//! `[switch.barrier]`: barriers inside the switch. Sources: hpp-switch.txt sections 2.2, 2.4 and 3.3, dawning5000.txt section
//! 4.

use flitway_engine::{Clock, Picos};
use flitway_fabric::barrier::DunStart;
use flitway_switch::hpp::HppSettings;
use flitway_switch::hpp::settings::BarrierSettings;

use super::{HPP, Surroundings, span_cycles};
use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::section::link::{PETABIT, probability_of_error};
use crate::setting::{Kind, Setting, settings};
use crate::units::Dimension;
use crate::values::{Span, Values};

/// An hour.
const LONGEST: u64 = 3_600_000_000_000_000;
/// Bits in which errors are counted.
/// Bytes of a barrier packet.
const PACKET: u32 = BarrierSettings::PACKET_BITS / 8;

settings! {
    pub(super) static SETTINGS;

    /// Barrier groups that the registers of a switch hold: as many as there can be in the whole network.
    GROUPS = "switch.barrier.groups", Kind::Count { min: 1, max: 1_024 }, default(16), for HPP,
        source("hpp-switch.txt section 2.2 (P-HP-052)");

    /// Whether barrier packets have a virtual channel of their own, which goes first. Otherwise they keep the order of
    /// data VC 0 in switches: behind what came or was granted before them, without priority. They take no data credits.
    DEDICATED = "switch.barrier.dedicated", Kind::Flag, default(true), for HPP,
        source("hpp-switch.txt section 2.2 (P-HP-031), dawning5000.txt section 4.2 (P-DN-081, P-DN-082); false for \
                comparison");

    /// What the queue for barrier packets of each input holds: as many packets of 10 B as fit. There are no credits for
    /// them; one that finds the queue full is lost, and sent again in time.
    BUFFER = "switch.barrier.buffer", Kind::Quantity { dimension: Dimension::Size, min: PACKET as u64, max: 1 << 20 },
        default("128 B"), for HPP, source("dawning5000.txt section 6 (P-DN-056)");

    /// What a barrier packet spends in the barrier module, beyond the stages of the pipeline and its own five flits.
    ENGINE = "switch.barrier.engine", Kind::Quantity { dimension: Dimension::Cycles, min: 0, max: 1_000 },
        default("4 cycles"), for HPP,
        source("hpp-switch.txt section 3.3: 128 ns for two passes of 20 cycles, each 11 with show-ahead, 5 flits and 4 [INF]");

    /// A combine is sent again when it has not been acknowledged for this long; switches and NIC ports alike.
    RETRANSMIT = "switch.barrier.retransmit", Kind::Quantity { dimension: Dimension::Time, min: 1, max: LONGEST },
        default("10 us"), for HPP, source("OQ-H7");

    /// A distribute is asked for when it has not come for this long. It also has not while other members are late: then
    /// asking is harmless, but takes packets.
    DUN = "switch.barrier.dun", Kind::Quantity { dimension: Dimension::Time, min: 1, max: LONGEST }, default("100 us"),
        for HPP, source("OQ-H7");

    /// How many combines the barrier module of a switch notes in a cycle. No paper says.
    COMBINES = "switch.barrier.combines", one of {
        /// One event in a cycle, of whatever kind and group.
        ONE_BY_ONE = "one-by-one",
        /// Combines of one group that wait at several inputs set their bits in one cycle; other events as before.
        TOGETHER = "together",
    }, default("one-by-one"), for HPP, source("OQ-H14");

    /// From when on the time until a distribute is asked for counts.
    DUN_START = "switch.barrier.dun_start", one of {
        /// When the combine is acknowledged, as in the HPP Switch.
        AT_ACK = "at-ack",
        /// When the combine is sent, as in Dawning 5000.
        AT_COMBINE = "at-combine",
    }, default("at-ack"), for HPP,
        source("hpp-switch.txt section 2.4 (P-HP-061); dawning5000.txt section 4.3 (P-DN-085)");

    /// Bits that a link gets wrong, of those of barrier packets: a packet of 80 bits with a wrong one is lost. What
    /// happens to other packets then is not modelled.
    BIT_ERRORS = "switch.barrier.bit_errors", Kind::Quantity { dimension: Dimension::BitErrors, min: 0, max: PETABIT },
        default("0 errors/Tbit"), for HPP, example("0.1 errors/Tbit"),
        source("dawning5000.txt section 4.1 (P-DN-088): 1e-13; 0 [assumed]");
}

pub(super) fn build(
    values: &Values,
    clock: Option<Clock>,
    findings: &mut Diagnostics,
) -> Option<BarrierSettings> {
    let mut cycles = |setting: &'static Setting| {
        let time = Picos(values.quantity(setting)?);
        span_cycles(values, setting, Span::Time(time), clock?, findings)
    };
    let (retransmit, dun) = (cycles(&RETRANSMIT), cycles(&DUN));
    let dun_start = match values.choice(&DUN_START)? {
        AT_COMBINE => DunStart::AtCombine,
        _ => DunStart::AtAck,
    };
    Some(BarrierSettings {
        groups: values.count(&GROUPS)?,
        dedicated: values.flag(&DEDICATED)?,
        buffer_packets: values.quantity_u32(&BUFFER)? / PACKET,
        engine: values.quantity_u32(&ENGINE)?,
        together: values.choice(&COMBINES)? == TOGETHER,
        retransmit: retransmit?,
        dun: dun?,
        dun_start,
        packet_error: probability_of_error(values.quantity(&BIT_ERRORS)?, BarrierSettings::PACKET_BITS),
    })
}

/// Compares the retransmission timer with the time that an answer over the longest link takes.
pub(super) fn check_timer(
    values: &Values,
    settings: &HppSettings,
    surroundings: &Surroundings<'_>,
    findings: &mut Diagnostics,
) -> Option<()> {
    let longest = surroundings.link?.longest(surroundings.topology?);
    let answer = settings.barrier_answer_cycles(longest);
    if settings.barrier.retransmit <= answer {
        let message = format!(
            "`{}` is too short: it expires after {} cycles, and a combine-ACK can take {answer}, so that combines are sent \
             again though nothing is lost",
            RETRANSMIT.path, settings.barrier.retransmit
        );
        let nanos = surroundings.clock?.nanos(f64::from(answer));
        let problem = values.conflict(Code::TimerTooShort, &[&RETRANSMIT], message).warning();
        findings.push(problem.expected(format!("more than {nanos:.0} ns")));
    }
    Some(())
}
