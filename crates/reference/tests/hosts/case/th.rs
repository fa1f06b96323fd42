//! Random settings of the NIC of TH Express-2, and what its processes ask it for.

use super::{Breaks, Case, Dice, Kind, Nic, OPERATIONS, PROCESSES, Plan, chips, with_latencies};
use flitway_engine::Picos;
use flitway_engine::random::{Purpose, Stream};
use flitway_fabric::LinkErrors;
use flitway_nic::host::HostSettings;
use flitway_nic::host::atc::AtcSettings;
use flitway_nic::host::bus::Reference;
use flitway_nic::host::pcie::PcieSettings;
use flitway_nic::host::program::{Collective, Operation, Setup, Submission, Verb, Waits};
use flitway_nic::th::{EndToEndSettings, ThSettings};
use flitway_switch::SwitchSettings;
use flitway_switch::tiled::RetrySettings;
use flitway_wiring::NodeId;
use flitway_wiring::topology::TopologySettings;

/// About those of TH Express-2.
const USUAL: ThSettings = ThSettings {
    host: HostSettings {
        bus: PcieSettings {
            lanes: 16,
            generation: 3,
            payload: 256,
            overhead: 26,
            read_request: 512,
            reads: 32,
            write_latency: Picos(180_000),
            burst: 64,
            burst_time: Picos(20_000),
            post_latency: Picos(150_000),
            read_latency: Picos(300_000),
            cached_read_latency: Picos(200_000),
        },
        poll: Picos(70_000),
    },
    store: Picos(20_000),
    hdqs: 8,
    hdq_depth: 16,
    sdqs: 32,
    sdq_depth: 256,
    sdq_groups: 8,
    group_room: 16,
    fetch: 4,
    units: 4,
    decode: Picos(80_000),
    interval: Picos(10_000),
    unit_buffer: 8_192,
    immediate: 96,
    transmit: Picos(30_000),
    port_packets: 16,
    receive: Picos(30_000),
    parse: Picos(60_000),
    receive_buffer: 32_768,
    mpq: 1024,
    eq: 1024,
    hold: Picos(10_000_000),
    intq: 8,
    epq: 4,
    interrupt: Picos(2_000_000),
    atc: AtcSettings { entries: 64, ways: 8, page: 4_096, misses: 16, is_preloaded: false },
    end_to_end: EndToEndSettings {
        senders: 256,
        receivers: 256,
        timeout: Picos(50_000_000),
        back_off: [Picos(2_000_000), Picos(32_000_000)],
        tries: 100,
        control: 16,
        overhead: 8,
    },
    mtu: 256,
};

impl Case {
    /// Process 0 of node 0 puts data into the memory of process 0 of node 1, and that of node 2 into process 1 of node 1, whose
    /// key it does not have, if it `errs`.
    pub(crate) fn of_an_errant_process(errs: bool) -> Case {
        let mut dice = Dice { stream: Stream::new(7, 0, Purpose::Test), is_coarse: false };
        let puts = |process| {
            let put = move |number: u64| Operation {
                bytes: 8,
                here: 8 * number,
                there: 8 * number,
                ..Operation::plain(Verb::Put, Submission::Sdq, (NodeId(1), process))
            };
            Plan { start: (0..200).map(put).collect(), ..Plan::default() }
        };
        let errant = Plan { setup: Setup { key: u32::from(errs), ..Setup::default() }, ..puts(1) };
        Case {
            nic: Nic::Th(USUAL),
            chip: chips::chip(dice.below(1), USUAL.mtu),
            topology: TopologySettings::Single { nodes: 3 },
            errors: LinkErrors::default(),
            rails: 1,
            cycles: (1_000_000_000, 3),
            are_apart: true,
            may_last: false,
            plans: vec![vec![puts(0)], vec![Plan::default(), Plan::default()], vec![errant]],
            ..Case::of(Kind::Elan4, 7)
        }
    }
}

/// What a process asks for, and how.
pub(super) fn what(
    dice: &mut Dice,
    settings: &ThSettings,
    process: u8,
    has_collectives: bool,
) -> (Verb, Submission) {
    let mut verb = dice.pick(&[Verb::Send, Verb::Send, Verb::Put, Verb::Put, Verb::Get]);
    if has_collectives && dice.one_in(3) {
        verb = dice.pick(&[Verb::Control, Verb::Control, Verb::Event]);
    }
    let has_hdq = u32::from(process) < settings.hdqs;
    let by = if has_hdq { dice.pick(&[Submission::Hdq, Submission::Sdq]) } else { Submission::Sdq };
    (verb, by)
}

/// What an operation has to do with those of other processes, all of which may be for nodes up to `last`. Only where `may_copy`
/// it brings data to several.
pub(super) fn collective(dice: &mut Dice, operation: &Operation, last: u32, may_copy: bool) -> Collective {
    let copies = operation.verb == Verb::Control || operation.verb == Verb::Put && may_copy;
    let further = if copies && dice.one_in(2) { dice.between(0, last - operation.node.0) } else { 0 };
    let waits = if dice.one_in(3) { dice.between(1, 3) } else { 0 };
    let triggers = operation.verb == Verb::Put && dice.one_in(2);
    Collective { waits, further, triggers, follows: dice.one_in(2) }
}

/// Where ends are patient, or descriptors wait for control packets, no process waits for room in its submission queue, so that
/// all of them see what has come: otherwise ends can wait for each other.
pub(super) fn settings(dice: &mut Dice, are_patient: bool) -> ThSettings {
    let host = HostSettings { bus: bus(dice), poll: dice.time() };
    let store = dice.time();
    let mtu = dice.pick(&[128, 128, 256, 512]);
    let request = host.bus.read_request;
    let sdq_groups = dice.between(1, 3);
    let ways = dice.between(1, 2);
    let depth = [(); 2].map(|()| if are_patient { OPERATIONS } else { dice.between(1, 4) });
    ThSettings {
        host,
        store,
        hdqs: dice.between(1, PROCESSES),
        hdq_depth: depth[0],
        sdqs: sdq_groups * dice.between(PROCESSES.div_ceil(sdq_groups), 4),
        sdq_depth: depth[1],
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
        intq: dice.pick(&[1, 1, 2, 3, 5, 64]),
        epq: dice.pick(&[0, 1, 2, 5, 64]),
        interrupt: Picos(dice.time().0 * dice.pick(&[1, 8, 64])),
        hold: Picos(dice.pick(&[0, 16_000, 100_000, 1_000_000, 10_000_000])),
        atc: AtcSettings {
            entries: ways * dice.between(1, 4),
            ways,
            page: dice.pick(&[4_096, 4_096, 8_192]),
            misses: dice.pick(&[1, 1, 2, 16]),
            is_preloaded: dice.one_in(4),
        },
        end_to_end: end_to_end(dice, are_patient),
        mtu,
    }
}

/// Few contexts and short time-outs. Ends that are patient never give up, and their time-outs are not so short that what is
/// said in vain fills the network for ever; others give up soon.
fn end_to_end(dice: &mut Dice, are_patient: bool) -> EndToEndSettings {
    let first = dice.time();
    let time_outs = match are_patient {
        true => &[8_000_000, 20_000_000, 40_000_000],
        false => &[320_000, 1_000_000, 4_000_000],
    };
    EndToEndSettings {
        senders: dice.pick(&[1, 1, 2, 3, 8]),
        receivers: dice.pick(&[1, 1, 2, 3, 8]),
        timeout: Picos(dice.pick(time_outs) + dice.time().0),
        back_off: [first, Picos(first.0 * dice.pick(&[1, 3, 8]))],
        tries: if are_patient { u32::MAX } else { dice.pick(&[0, 1, 3, 10]) },
        control: dice.pick(&[8, 16, 64]),
        overhead: dice.pick(&[1, 8, 8]),
    }
}

/// What the system software has set up for processes: two keys, of which one is that of most, valid addresses, which operations
/// often miss, physical ones, and interrupts. Some operations name a process that is not there.
pub(super) fn protect(dice: &mut Dice, plans: &mut [Vec<Plan>]) {
    let [keys, addresses, sleeps] = [dice.one_in(2), dice.one_in(2), dice.one_in(2)];
    let is_physical = dice.one_in(4);
    let counts: Vec<usize> = plans.iter().map(Vec::len).collect();
    for plan in plans.iter_mut().flatten() {
        let range = |dice: &mut Dice| {
            let from = dice.below(4_000);
            from..from + dice.pick(&[1, 96, 2_000, 9_000])
        };
        let has_all = !addresses || dice.one_in(2);
        let valid = (!has_all).then(|| (0..dice.between(0, 3)).map(|_| range(dice)).collect());
        plan.setup = Setup {
            key: u32::from(keys && dice.one_in(3)),
            valid,
            is_physical: is_physical && dice.one_in(2),
            is_on_demand: false,
            waits: if sleeps && dice.one_in(2) { Waits::Sleeping } else { Waits::Polling },
            noise: None,
            barrier: None,
        };
        for operation in plan.start.iter_mut().chain(&mut plan.then) {
            if keys && operation.collective.further == 0 && dice.one_in(8) {
                operation.process = counts[operation.node.index()] as u8;
            }
        }
    }
}

/// A switch, and what befalls its links: of a tiled one, errors that no check of links shows, others, and breaks.
pub(super) fn chip(
    dice: &mut Dice,
    settings: &ThSettings,
    is_reliable: bool,
) -> (SwitchSettings, LinkErrors, Breaks) {
    let has_errors = is_reliable && dice.one_in(2);
    let mut chip = chips::chip(if has_errors { 3 } else { dice.below(4) }, settings.mtu);
    let mut errors = LinkErrors::default();
    let SwitchSettings::Tiled(tiled) = &mut chip else { return (chip, errors, Breaks::Never) };
    if !has_errors {
        return (chip, errors, Breaks::Never);
    }
    tiled.retry = Some(RetrySettings {
        window: dice.pick(&[1, 4, 16]),
        sequence_bits: 6,
        timeout: dice.pick(&[150, 600]),
        heartbeat: dice.pick(&[30, 100]),
    });
    errors.undetected = u64::MAX / dice.pick(&[10, 30, 100]);
    errors.flit = if dice.one_in(3) { u64::MAX / dice.pick(&[30, 300]) } else { 0 };
    let ends_well = if settings.end_to_end.tries == u32::MAX { Breaks::Mended } else { Breaks::Broken };
    (chip, errors, dice.pick(&[Breaks::Never, Breaks::Mended, ends_well]))
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
