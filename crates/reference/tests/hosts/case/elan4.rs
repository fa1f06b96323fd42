//! Random settings of Elan4 and of the Elite4s around it, and what its processes ask it for.

use super::{Case, Dice, Kind, Nic, Plan, chips, operation, threads, with_latencies};
use flitway_engine::Picos;
use flitway_engine::random::{Purpose, Stream};
use flitway_fabric::LinkErrors;
use flitway_nic::elan4::{BLOCK, COMMANDS, DESCRIPTOR, ElanSettings, ThreadSettings};
use flitway_nic::host::HostSettings;
use flitway_nic::host::atc::AtcSettings;
use flitway_nic::host::bus::{BusSettings as _, Reference};
use flitway_nic::host::pci_x::PciXSettings;
use flitway_nic::host::program::{CountedEvent, Operation, Setup, Submission, Verb};
use flitway_switch::SwitchSettings;
use flitway_switch::elite::{AnswerSettings, WhenFull};
use flitway_wiring::NodeId;
use flitway_wiring::topology::TopologySettings;

/// What a process asks for, and how.
pub(super) fn what(dice: &mut Dice) -> (Verb, Submission) {
    dice.pick(&[
        (Verb::Put, Submission::Sten),
        (Verb::Put, Submission::Sten),
        (Verb::Put, Submission::Dma),
        (Verb::Put, Submission::Dma),
        (Verb::Get, Submission::Sten),
        (Verb::Send, Submission::Sten),
        (Verb::Send, Submission::Sten),
    ])
}

/// About the bus of an Opteron.
const OPTERON: PciXSettings = PciXSettings {
    clock: (133_000_000, 1),
    width: 8,
    overhead: 5,
    read_request: 512,
    reads: 12,
    write: 512,
    write_latency: Picos(600_000),
    burst: 64,
    burst_time: Picos(140_000),
    post_latency: Picos(300_000),
    read_latency: Picos(1_000_000),
};

impl Case {
    /// Process 0 of node 0 sends messages to process 0 of node 1, which `stops` polling for a millisecond or does not; process
    /// 1 of node 0 and a process of node 2 put and send data to process 1 of node 1.
    pub(crate) fn of_a_full_input_queue(stops: bool) -> Case {
        let mut dice = usual_dice();
        let issue = Picos(if stops { 1_000_000_000 } else { 500_000 });
        let elan4 = ElanSettings { issue, ..usual(&mut dice) };
        let operation = |verb, by, node, process, number: u64| Operation {
            bytes: 8,
            here: 8 * number,
            there: 1_000 * u64::from(process) + 8 * number,
            ..Operation::plain(verb, by, (NodeId(node), process))
        };
        let all = |verb, process, first: u64| {
            let operation = |number: u64| operation(verb, Submission::Sten, 1, process, first + number);
            Plan { start: (0..40).map(operation).collect(), ..Plan::default() }
        };
        // It is busy with that for so long.
        let busy = Plan { start: vec![operation(Verb::Put, Submission::Dma, 2, 0, 0)], ..Plan::default() };
        let plans = vec![
            vec![all(Verb::Send, 0, 0), all(Verb::Put, 1, 0)],
            vec![busy, Plan::default()],
            vec![all(Verb::Send, 1, 40)],
        ];
        Case::usual(&mut dice, elan4, plans)
    }

    /// Two processes of node 0 put data to one of node 1 by DMA, as many each; the second one has no valid address if it
    /// `errs`.
    pub(crate) fn of_a_broken_queue(errs: bool) -> Case {
        let mut dice = usual_dice();
        let usual = usual(&mut dice);
        let elan4 = ElanSettings {
            fault: Picos(5_000_000),
            tlb: AtcSettings { is_preloaded: false, ..usual.tlb },
            ..usual
        };
        let puts = |process: u8| {
            let put = move |number: u64| Operation {
                bytes: 600,
                here: 600 * number,
                there: 600 * number,
                ..Operation::plain(Verb::Put, Submission::Dma, (NodeId(1), process))
            };
            Plan { start: (0..40).map(put).collect(), ..Plan::default() }
        };
        let setup = Setup { valid: errs.then(Default::default), ..Setup::default() };
        let errant = Plan { setup, ..puts(1) };
        let others = vec![Plan::default(), Plan::default()];
        Case::usual(&mut dice, elan4, vec![vec![puts(0), errant], others, vec![Plan::default()]])
    }

    fn usual(dice: &mut Dice, elan4: ElanSettings, plans: Vec<Vec<Plan>>) -> Case {
        Case {
            nic: Nic::Elan4(elan4),
            chip: chip(dice, elan4.mtu),
            topology: TopologySettings::Single { nodes: 3 },
            errors: LinkErrors::default(),
            cycles: (1_000_000_000, 3),
            are_apart: false,
            may_last: false,
            plans,
            ..Case::of(Kind::Elan4, 7)
        }
    }
}

fn usual_dice() -> Dice {
    Dice { stream: Stream::new(7, 0, Purpose::Test), is_coarse: false }
}

/// About what machines of QsNetII have.
fn usual(dice: &mut Dice) -> ElanSettings {
    ElanSettings {
        host: HostSettings { bus: OPTERON, poll: Picos(100_000) },
        issue: Picos(500_000),
        queue: 65_536,
        command: Picos(15_000),
        word_time: Picos(8_000),
        form: Picos(61_500),
        sten_packet: 128,
        window: 2,
        dma_buffer: 8_192,
        input: Picos(100_000),
        input_buffer: 8_192,
        event: Picos(25_000),
        slots: 16,
        copy: Picos(4_000),
        repeats: 2,
        back_off: Picos(1_000_000),
        mtu: 2_048,
        ..settings(dice)
    }
}

pub(super) fn settings(dice: &mut Dice) -> ElanSettings {
    let host = HostSettings { bus: bus(dice), poll: dice.time() };
    let mtu = dice.pick(&[64, 128, 256, 512, 2_048]);
    let sten_packet = mtu.min(dice.pick(&[8, 16, 64, 128, 512]));
    let bursts = host.bus.burst_time.0 * u64::from(host.bus.bursts(DESCRIPTOR));
    let entries = dice.pick(&[1, 1, 2, 4, 64]);
    ElanSettings {
        host,
        issue: Picos(bursts + dice.time().0),
        queue: queue(COMMANDS + sten_packet.max(DESCRIPTOR) + host.bus.burst)
            + dice.pick(&[0, 0, 1, 100, 8_192]),
        command: dice.time(),
        word_time: Picos(dice.pick(if dice.is_coarse { &[0, 8_000, 16_000] } else { &[0, 1_000, 8_000] })),
        form: dice.time(),
        sten_packet,
        window: dice.pick(&[1, 2, 2, 3, 8]),
        assemblers: dice.between(1, 3),
        start: dice.time(),
        dma_buffer: host.bus.read_request + dice.pick(&[0, 0, 1, 100, 1_000, 8_192]),
        port_packets: dice.pick(&[1, 1, 2, 2, 4, 16]),
        input: dice.time(),
        input_buffer: mtu + dice.pick(&[0, 0, 1, 100, 1_000, 32_768]),
        event: dice.time(),
        event_copy: Picos(dice.pick(if dice.is_coarse { &[0, 8_000, 16_000] } else { &[0, 1_000, 8_000] })),
        slots: dice.pick(&[1, 1, 2, 5, 64]),
        copy: Picos(dice.pick(if dice.is_coarse { &[0, 16_000] } else { &[0, 1_000, 50_000] })),
        repeats: dice.between(0, 2),
        back_off: Picos(dice.time().0 * dice.pick(&[1, 8])),
        thread: ThreadSettings {
            cycle: Picos(dice.pick(if dice.is_coarse { &[0, 16_000] } else { &[0, 1_000, 5_000] })),
            switch: dice.time(),
            take: dice.time(),
            copy: Picos(dice.pick(if dice.is_coarse { &[0, 16_000] } else { &[0, 1_000, 2_500] })),
        },
        interrupt: Picos(dice.time().0 * dice.pick(&[1, 8])),
        tlb: AtcSettings {
            entries,
            ways: entries,
            page: dice.pick(&[4_096, 4_096, 8_192]),
            misses: dice.pick(&[1, 1, 2, 16]),
            is_preloaded: dice.one_in(4),
        },
        walk: dice.time(),
        fault: Picos(0),
        mtu,
    }
}

/// What there is beside operations: events, threads where operations may touch the same bytes, and faults of pages.
pub(super) fn add(
    dice: &mut Dice,
    settings: &mut ElanSettings,
    plans: &mut [Vec<Plan>],
    next: Option<&mut Vec<Vec<u64>>>,
    seed: u64,
) {
    let are_apart = next.is_some();
    add_events(dice, settings, plans, next);
    if !are_apart && !dice.one_in(3) {
        threads::add(dice, settings, plans);
    }
    let dice = &mut Dice { stream: Stream::new(seed, 1, Purpose::Test), ..*dice };
    if dice.one_in(2) {
        protect(dice, settings, plans);
    }
}

/// Counted events of some processes, and puts that set them. What an event starts sets only events with a higher place, so all
/// comes to an end.
fn add_events(
    dice: &mut Dice,
    settings: &ElanSettings,
    plans: &mut [Vec<Plan>],
    mut next: Option<&mut Vec<Vec<u64>>>,
) {
    let nic = Nic::Elan4(*settings);
    let processes: Vec<u32> = plans.iter().map(|plans| plans.len() as u32).collect();
    let counts: Vec<Vec<u64>> =
        plans.iter().map(|plans| plans.iter().map(|_| dice.pick(&[0, 1, 2, 3])).collect()).collect();
    let sets = |dice: &mut Dice, operation: &Operation, from: u64| {
        let events = counts[operation.node.index()][usize::from(operation.process)];
        let may = operation.verb == Verb::Put && events > from && dice.one_in(2);
        may.then(|| (from + dice.below(events - from)) as u16)
    };
    for (node, of_node) in (0..).zip(&mut *plans) {
        for (process, plan) in (0..).zip(of_node) {
            for operation in plan.start.iter_mut().chain(&mut plan.then) {
                operation.event = sets(dice, operation, 0);
            }
            for place in 0..counts[node as usize][usize::from(process)] {
                let (mut then, mut room) = (Vec::new(), u64::from(settings.queue).min(BLOCK));
                for _ in 0..dice.below(5) {
                    let mut one =
                        operation(dice, (&nic, false), (node, process), &processes, next.as_deref_mut());
                    one.by = Submission::Sten;
                    one.event = sets(dice, &one, place + 1);
                    let most = |bytes| match one.verb {
                        Verb::Get => u64::from(COMMANDS + DESCRIPTOR),
                        _ => bytes + (bytes / u64::from(settings.sten_packet) + 2) * u64::from(COMMANDS + 8),
                    };
                    if let Some(bytes) = [one.bytes, 1].into_iter().find(|bytes| most(*bytes) <= room) {
                        room -= most(bytes);
                        then.push(Operation { bytes, ..one });
                    }
                }
                plan.events.push(CountedEvent { count: dice.pick(&[1, 1, 2, 3]), then });
            }
        }
    }
}

/// Translations that are given on demand, and pages that are not valid. There are no events then, as blocks are not in pages.
fn protect(dice: &mut Dice, settings: &mut ElanSettings, plans: &mut [Vec<Plan>]) {
    settings.tlb.is_preloaded = false;
    settings.fault = Picos(dice.time().0 * dice.pick(&[1, 8, 30]));
    let has_threads = plans.iter().flatten().any(|plan| plan.thread.is_some());
    let [is_on_demand, checks] = [dice.one_in(2), !has_threads && dice.one_in(2)];
    let page = settings.tlb.page;
    for plan in plans.iter_mut().flatten() {
        let first = page * dice.below(2);
        let valid = first..first + page * dice.below(4);
        let valid = (checks && dice.one_in(2)).then(|| Box::from([valid]));
        plan.setup = Setup { valid, is_on_demand: is_on_demand && !dice.one_in(4), ..Setup::default() };
        if checks {
            plan.events.clear();
            plan.start.iter_mut().chain(&mut plan.then).for_each(|operation| operation.event = None);
        }
    }
}

/// The least command queue of which three quarters hold so many bytes.
fn queue(commands: u32) -> u32 {
    (commands..).find(|queue| commands + queue.div_ceil(4) <= *queue).expect("there is one")
}

fn bus(dice: &mut Dice) -> PciXSettings {
    let bus = PciXSettings {
        clock: match dice.is_coarse {
            true => dice.pick(&[(62_500_000, 1), (125_000_000, 1)]),
            false => dice.pick(&[(133_000_000, 1), (400_000_000, 3), (62_500_000, 1), (1_000_000_000, 1)]),
        },
        width: dice.pick(&[4, 8, 8, 16]),
        overhead: dice.between(1, 8),
        read_request: dice.pick(&[128, 256, 512, 512]),
        reads: dice.pick(&[1, 2, 4, 32]),
        write: dice.pick(&[128, 256, 512]),
        write_latency: Picos(0),
        burst: dice.pick(&[8, 32, 48, 64, 64, 128, 256]),
        burst_time: dice.time(),
        post_latency: Picos(0),
        read_latency: Picos(0),
    };
    with_latencies(dice, bus, |bus, of| match of {
        Reference::Write => &mut bus.write_latency,
        Reference::Post => &mut bus.post_latency,
        Reference::Read | Reference::CachedRead => &mut bus.read_latency,
    })
}

/// An Elite4 with answers.
pub(super) fn chip(dice: &mut Dice, mtu: u32) -> SwitchSettings {
    let mut elite = chips::elite(mtu);
    elite.vcs = dice.between(1, 4);
    elite.buffer_flits = dice.pick(&[4, 32, 100]);
    elite.answer = Some(AnswerSettings {
        node: dice.pick(&[1, 2, 12]),
        switch: dice.pick(&[1, 2, 5]),
        repeats: dice.between(0, 2),
        back_off: dice.pick(&[0, 1, 20, 300]),
        attempts: u32::MAX,
        half_packet: 3_334,
        when_full: dice.pick(&[WhenFull::Hold, WhenFull::Refuse]),
    });
    SwitchSettings::Elite(elite)
}

/// None, or so many that some of the longest packets, or many, are sent again.
pub(super) fn errors(dice: &mut Dice, mtu: u32) -> LinkErrors {
    let packets = dice.pick(&[0, 0, 6, 40]);
    let flits = u64::from(mtu.div_ceil(chips::ELITE_FLIT)) * packets;
    LinkErrors { flit: u64::MAX.checked_div(flits).unwrap_or(0), ..LinkErrors::default() }
}
