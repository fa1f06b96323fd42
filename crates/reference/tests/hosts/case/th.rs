//! Random settings of the NIC of TH Express-2, and what its processes ask it for.

use super::{Dice, PROCESSES, with_latencies};
use flitway_engine::Picos;
use flitway_nic::host::HostSettings;
use flitway_nic::host::atc::AtcSettings;
use flitway_nic::host::bus::Reference;
use flitway_nic::host::pcie::PcieSettings;
use flitway_nic::host::program::{Submission, Verb};
use flitway_nic::th::{EndToEndSettings, ThSettings};

/// What a process asks for, and how.
pub(super) fn what(dice: &mut Dice, settings: &ThSettings, process: u8) -> (Verb, Submission) {
    let verb = dice.pick(&[Verb::Send, Verb::Send, Verb::Put, Verb::Put, Verb::Get]);
    let has_hdq = u32::from(process) < settings.hdqs;
    let by = if has_hdq { dice.pick(&[Submission::Hdq, Submission::Sdq]) } else { Submission::Sdq };
    (verb, by)
}

pub(super) fn settings(dice: &mut Dice) -> ThSettings {
    let host = HostSettings { bus: bus(dice), poll: dice.time() };
    let store = dice.time();
    let mtu = dice.pick(&[128, 128, 256, 512]);
    let request = host.bus.read_request;
    let sdq_groups = dice.between(1, 3);
    let ways = dice.between(1, 2);
    ThSettings {
        host,
        store,
        hdqs: dice.between(1, PROCESSES),
        hdq_depth: dice.between(1, 4),
        sdqs: sdq_groups * dice.between(PROCESSES.div_ceil(sdq_groups), 4),
        sdq_depth: dice.between(1, 4),
        sdq_groups,
        group_room: dice.between(1, 5),
        fetch: dice.between(1, request / 128),
        units: dice.between(1, 3),
        decode: dice.time(),
        interval: dice.time(),
        unit_buffer: request + mtu + dice.pick(&[0, 0, 100, 1_000, 8_192]),
        immediate: dice.pick(&[0, 1, 60, 96]),
        transmit: dice.time(),
        port_packets: dice.pick(&[1, 1, 2, 4, 16]),
        receive: dice.time(),
        parse: dice.time(),
        receive_buffer: mtu + dice.pick(&[0, 0, 1, 100, 1_000, 32_768]),
        mpq: dice.pick(&[1, 1, 2, 3, 4, 5, 8, 64]),
        eq: dice.pick(&[1, 1, 2, 3, 4, 5, 8, 64]),
        hold: Picos(dice.pick(&[0, 16_000, 100_000, 1_000_000, 10_000_000])),
        atc: AtcSettings {
            entries: ways * dice.between(1, 4),
            ways,
            page: dice.pick(&[4_096, 4_096, 8_192]),
            misses: dice.pick(&[1, 1, 2, 16]),
            is_preloaded: dice.one_in(4),
        },
        end_to_end: EndToEndSettings {
            senders: 1,
            receivers: 1,
            timeout: Picos(50_000_000),
            back_off: [Picos(2_000_000), Picos(32_000_000)],
            tries: 100,
            control: 16,
            overhead: 8,
        },
        mtu,
    }
}

fn bus(dice: &mut Dice) -> PcieSettings {
    let bus = PcieSettings {
        lanes: dice.pick(&[1, 2, 4, 8, 16]),
        generation: dice.between(1, 5),
        payload: dice.pick(&[64, 128, 256]),
        overhead: dice.between(8, 30),
        read_request: dice.pick(&[128, 256, 512]),
        reads: dice.pick(&[1, 2, 3, 32]),
        write_latency: Picos(0),
        burst: dice.pick(&[8, 48, 64, 128, 256]),
        burst_time: dice.time(),
        post_latency: Picos(0),
        read_latency: Picos(0),
        cached_read_latency: Picos(0),
    };
    with_latencies(dice, bus, |bus, of| match of {
        Reference::Write => &mut bus.write_latency,
        Reference::Post => &mut bus.post_latency,
        Reference::Read => &mut bus.read_latency,
        Reference::CachedRead => &mut bus.cached_read_latency,
    })
}
