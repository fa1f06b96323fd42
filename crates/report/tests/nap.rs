//! The NIC of Dawning 5000 on machines of HPP Switches: closed forms, what limits a stream, rails, what does not fit.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use flitway_engine::Picos;
use flitway_machine::Machine;
use flitway_report::session::Session;
use flitway_report::session::nic::program::{Submission, Verb};
use flitway_report::session::nic::{
    CollectiveKind, GroupChoice, LockChoice, Manner, NicChoice, NicMisfit, NicResult, Stage, Taking,
};
use std::sync::atomic::AtomicBool;

const SEND: NicChoice = NicChoice {
    verb: Verb::Send,
    nodes: [0, 1],
    by: Submission::Pio,
    is_reliable: false,
    bytes: 8,
    count: 1,
    warm_up: 0,
    outstanding: None,
    processes: 1,
    chain: 1,
    manner: Manner::USUAL,
    group: None,
    matching: None,
    lock: None,
    noise: None,
};

const PUT: NicChoice = NicChoice { verb: Verb::Put, by: Submission::Dma, ..SEND };

/// Every way of every operation, and sizes that are one packet.
const WAYS: [(Verb, Submission, [u64; 6]); 8] = [
    (Verb::Send, Submission::Pio, [1, 8, 13, 128, 129, 1024]),
    (Verb::Send, Submission::Dma, [1, 8, 63, 64, 65, 1024]),
    (Verb::Put, Submission::Rendezvous, [1, 8, 63, 64, 1000, 1024]),
    (Verb::Put, Submission::Dma, [1, 8, 63, 64, 1000, 1024]),
    (Verb::Get, Submission::Dma, [1, 8, 63, 64, 1000, 1024]),
    (Verb::Load, Submission::Pio, [1, 2, 3, 4, 5, 8]),
    (Verb::Store, Submission::Pio, [1, 2, 3, 4, 5, 8]),
    (Verb::FetchAdd, Submission::Pio, [1, 2, 3, 4, 5, 8]),
];

fn session(machine: &str, set: &[&str], threads: u32) -> Session {
    let set: Vec<String> = set.iter().map(|&text| text.to_owned()).collect();
    Session::new(Machine::load(machine, &set).unwrap_or_else(|problems| panic!("{problems}")), 1, threads)
}

fn run(session: &Session, choice: NicChoice) -> NicResult {
    let run = session.fit_nic(choice).unwrap();
    let result = session.nic(&run, None, &AtomicBool::new(false), &mut |_| {});
    assert!(result.is_complete, "{choice:?}");
    result
}

fn sum(result: &NicResult, holds: impl Fn(Stage) -> bool) -> f64 {
    result.stages().iter().filter(|(stage, _)| holds(*stage)).map(|(_, ns)| ns).sum()
}

fn counter(result: &NicResult, side: usize, name: &str) -> u64 {
    result.counters_of(side).iter().find(|(it, _)| *it == name).map(|(_, count)| *count).unwrap()
}

/// The first operation of an idle machine takes what the closed form says, to the picosecond, and its stages sum to that.
/// Adverts that are repeated meet packets on the link, of which the closed form of the network counts nothing.
#[test]
fn unloaded_operations_take_what_the_closed_form_says() {
    let machines: [(&str, [u32; 2], &[&str]); 4] = [
        ("dawning5000-single", [0, 15], &[]),
        (
            "dawning5000-single",
            [3, 2],
            &[
                "host.bus.ports=1",
                "host.burst=8 B",
                "host.write_latency=500 ns",
                "nic.immediate=0 B",
                "rails=3",
            ],
        ),
        ("hpp-switch", [1, 9], &["host.bus.read_request=16 B", "host.bus.reads=64", "nic.start=33 ns"]),
        ("dawning5000", [1000, 3], &[]),
    ];
    for (machine, nodes, set) in machines {
        let session = session(machine, &[set, &["switch.credit.refresh=off"]].concat(), 1);
        for (verb, by, sizes) in WAYS {
            for bytes in sizes {
                let choice = NicChoice { verb, nodes, by, bytes, ..SEND };
                let result = run(&session, choice);
                let latency = result.latencies()[0];
                assert_eq!(Some(latency), result.zero_load.map(|time| time.0), "{machine}: {choice:?}");
                let stages = sum(&result, |_| true) * 1e3;
                assert!((stages - latency as f64).abs() < 1e-3, "{machine}: {choice:?}: {stages}");
            }
        }
    }
}

/// Mechanisms 1.8: "software + both NICs 1.4 us; two links incl. SerDes 0.2 us; switch 0.13 us; sum 1.73 us", an input.
#[test]
fn hosts_are_solved_from_the_budget_of_a_message() {
    let result = run(&session("dawning5000-single", &[], 1), SEND);
    assert_eq!(result.latencies(), [1_730_000]);
    let network = 130_000 + 200_000;
    // A cycle of the NIC port and nine flits are in the sender's half.
    let near = sum(&result, |stage| matches!(stage, Stage::Near(_))) * 1e3 + 100_000.0;
    let far = sum(&result, |stage| matches!(stage, Stage::Far(_))) * 1e3;
    assert_eq!((near, far, near + far), (700_000.0, 700_000.0, 1_730_000.0 - f64::from(network)));
}

/// dawning5000.txt section 3.2: the NIC does "data distribution and aggregation across multiple network layers".
#[test]
fn packets_of_one_operation_go_over_all_rails() {
    let bandwidth = |rails: &str, choice: NicChoice| {
        let machine = session("dawning5000-single", &[&format!("rails={rails}")], 1);
        run(&machine, NicChoice { bytes: 64 << 10, count: 4, ..choice }).bandwidth_mb_per_s().unwrap()
    };
    for choice in [PUT, NicChoice { verb: Verb::Get, ..PUT }, NicChoice { by: Submission::Rendezvous, ..PUT }]
    {
        let [one, two, four] = ["1", "2", "4"].map(|rails| bandwidth(rails, choice));
        // A link carries 2 B in 10 ns, with 10 B beside 1 KiB of data.
        assert!((185.0..198.1).contains(&one), "{choice:?}: {one} MB/s");
        assert!(two > 1.85 * one && four > 3.2 * one, "{choice:?}: {one}, {two}, {four} MB/s");
        // A port of the bus carries 64 B in 85 ns.
        assert!(four < 752.9, "{choice:?}: {four} MB/s");
    }
}

/// P-DN-040 to P-DN-042: two HyperTransport interfaces of 6.4 Gbit/s. Processes of one port share it, those of both do not.
#[test]
fn ports_of_the_bus_carry_what_their_processes_move() {
    let stream = NicChoice { bytes: 16 << 10, count: 60, warm_up: 6, outstanding: Some(4), ..PUT };
    let of = |ports: &str, processes| {
        let machine =
            session("hpp-switch", &["rails=4", &format!("host.bus.ports={ports}"), "nic.engines=16"], 1);
        let result = run(&machine, NicChoice { processes, ..stream });
        (result.bandwidth_mb_per_s().unwrap(), result.limit().map(|limit| limit.part))
    };
    let [one, shared, own] = [of("1", 1), of("1", 2), of("2", 2)];
    // 64 B are 72 B of a write: 711 MB/s come in through a port, less the event records.
    for (bandwidth, limit) in [one, shared] {
        assert!((640.0..711.2).contains(&bandwidth), "{bandwidth} MB/s");
        assert_eq!(limit, Some("bus from the NIC"));
    }
    assert!(own.0 > 1.8 * one.0, "{one:?} {own:?}");
}

/// A sender has so many credits of a ring, and waits for them to come back.
#[test]
fn a_stream_of_messages_waits_for_credits() {
    let stream = NicChoice { bytes: 512, count: 200, warm_up: 20, outstanding: Some(16), ..SEND };
    let of = |peers: &str| {
        let result =
            run(&session("dawning5000-single", &["rails=4", &format!("nic.nap.peers={peers}")], 1), stream);
        (result.rate_per_s().unwrap(), result.limit().map(|limit| limit.part), counter(&result, 0, LACKED))
    };
    const LACKED: &str = "packets that lacked a credit";
    let [four, all] = ["16", "1"].map(of);
    assert_eq!(four.1, Some("wait for credits of a NAP channel"));
    assert!(all.0 > 1.5 * four.0 && all.2 == 0 && four.2 > 100, "{four:?} {all:?}");
}

/// A ping-pong brings credits back with its own packets, a stream by packets of their own.
#[test]
fn credits_come_back_with_what_goes_the_other_way() {
    let machine = session("dawning5000-single", &[], 1);
    const ALONE: &str = "packets that bring credits alone";
    let ping_pong = run(&machine, NicChoice { count: 50, ..SEND });
    assert_eq!([0, 1].map(|side| counter(&ping_pong, side, ALONE)), [0, 0]);
    let stream = run(&machine, NicChoice { count: 50, outstanding: Some(4), ..SEND });
    assert_eq!([0, 1].map(|side| counter(&stream, side, ALONE)), [0, 25], "two of four at a time");
}

/// A lock of the first node, which all others up to the last hand round.
fn lock(nodes: [u32; 2], taking: Taking, hold: u64) -> NicChoice {
    let lock = Some(LockChoice { taking, hold: Picos(hold) });
    NicChoice { verb: taking.verb(), nodes, bytes: 0, count: 5, lock, ..SEND }
}

/// A lock that is free takes what the closed form says; its stages sum to that, and to what those take that wait.
#[test]
fn locks_take_what_the_closed_form_says() {
    for machine in ["dawning5000-single", "hpp-switch"] {
        let session = session(machine, &["switch.credit.refresh=off", "nic.remote=37 ns"], 1);
        for taking in [Taking::Turn, Taking::Again(Picos(300_000))] {
            let free = run(&session, NicChoice { count: 1, ..lock([3, 4], taking, 0) });
            assert_eq!(Some(free.latencies()[0]), free.zero_load.map(|time| time.0), "{machine}: {taking:?}");
            for choice in [lock([3, 4], taking, 0), lock([0, 9], taking, 500_000)] {
                let result = run(&session, choice);
                let mean = result.mean_ns().unwrap();
                let stages = sum(&result, |_| true);
                assert!((stages - mean).abs() < 1e-3, "{machine}: {choice:?}: {stages} {mean}");
            }
        }
    }
}

/// A lock is of one process at a time: each gets it after the one before has begun to free it. By the NIC it is handed over in
/// the time of one that is free, but for phases of the clock and contention, and who asks gets it when all others have had it
/// once. One word under way of each process is enough.
#[test]
fn locks_are_of_one_process_at_a_time_and_handed_over_in_turn() {
    let hold = 700_000;
    let machine = session("dawning5000-single", &["rails=4", "nic.words=1"], 1);
    let choice = NicChoice { processes: 2, ..lock([0, 15], Taking::Turn, hold) };
    let result = run(&machine, choice);
    assert_eq!((result.latencies().len(), result.hand_overs().len()), (150, 149));
    let (idle, mean) = (result.zero_load.unwrap().0, result.hand_over_ns().unwrap() * 1e3);
    let all = result.hand_overs();
    assert!(all.iter().all(|&time| time >= idle && time < idle * 3 / 2), "{idle}: {all:?}");
    assert!(*result.latencies().last().unwrap() < 30 * (hold + idle * 3 / 2), "the turn of each comes");
    let rate = result.rate_per_s().unwrap();
    assert!((rate * (mean + hold as f64) / 1e12 - 1.0).abs() < 0.01, "{rate} {mean}");
    assert_eq!(counter(&result, 0, "locks waited for"), 149);
    assert_eq!(result.processor_ns(), None);

    let tries = NicChoice { processes: 2, ..lock([0, 15], Taking::Again(Picos(0)), hold) };
    let result = run(&machine, tries);
    let refused = counter(&result, 0, "locks refused");
    assert!(refused > 1_000, "{refused}");
    assert_eq!([LOCKS_AT_ONCE, "locks waited for"].map(|name| counter(&result, 0, name)), [150, 0]);
    assert!(result.hand_overs().iter().all(|&time| time >= idle / 2), "{:?}", result.hand_overs());
}

/// A barrier of all nodes from the one to the other.
fn barrier(nodes: [u32; 2], processes: u32, by_messages: bool) -> NicChoice {
    let kind = CollectiveKind::Barrier;
    let group = Some(GroupChoice { kind, is_offloaded: true, arity: 4, by_messages });
    NicChoice { nodes, processes, bytes: 0, count: 5, warm_up: 2, group, ..SEND }
}

/// Mechanisms 1.7: a NIC is a node of the tree of switches "whose children are local processes".
#[test]
fn processes_of_nodes_meet_by_their_nics_and_the_switches() {
    let machine = session("dawning5000-single", &["rails=2"], 1);
    let mean = |processes, by_messages| {
        let result = run(&machine, barrier([0, 15], processes, by_messages));
        assert_eq!(result.latencies().len(), 16 * 5 * processes as usize);
        assert_eq!([0, 1].map(|side| counter(&result, side, "barriers")), [7, 7]);
        let packets = [0, 1].map(|side| counter(&result, side, "packets of barriers"));
        // The root tells four children, the last node its parent.
        assert_eq!(packets, if by_messages { [28, 7] } else { [0, 0] });
        let mean = result.mean_ns().unwrap();
        assert!((sum(&result, |_| true) - mean).abs() < 1e-3, "stages sum to it");
        mean
    };
    let [one, four, sixteen] = [1, 4, 16].map(|processes| mean(processes, false));
    assert!(one < four && four < sixteen && sixteen < 4.0 * one, "{one} {four} {sixteen}");
    let messages = mean(1, true);
    assert!(messages > 1.5 * one, "two levels of NICs up and down: {one} {messages}");
    // One way to the module and back, and the switch in between.
    let alone = session("dawning5000-single", &["nic.barrier=0 ns"], 1);
    let without = run(&alone, barrier([0, 15], 1, false)).mean_ns().unwrap();
    assert!((one - without - 200.0).abs() < 20.0, "twice 100 ns: {one} {without}");
}

#[test]
fn barriers_that_do_not_fit_are_told() {
    let other = session("nrc", &[], 1);
    let misfit = |choice| other.fit_nic(NicChoice { by: Submission::Hdq, ..choice }).unwrap_err().to_string();
    assert!(misfit(barrier([0, 1], 1, true)).contains("no barrier module"));
    assert!(misfit(barrier([0, 1], 2, false)).contains("one process of each"));
}

const LOCKS_AT_ONCE: &str = "locks taken at once";

#[test]
fn threads_change_nothing() {
    let choice = NicChoice { nodes: [1, 9], count: 10, outstanding: Some(4), processes: 3, ..SEND };
    for (verb, by, [.., bytes]) in WAYS {
        let bytes = if bytes > 8 { 3_000 } else { bytes };
        let of = |threads| {
            run(&session("hpp-switch", &["rails=2"], threads), NicChoice { verb, by, bytes, ..choice })
        };
        assert_eq!(of(1).to_json()["nic"], of(2).to_json()["nic"]);
    }
    let of = |choice, threads| run(&session("hpp-switch", &["rails=2"], threads), choice).to_json();
    let all = [lock([0, 9], Taking::Turn, 0), barrier([0, 9], 3, false), barrier([0, 9], 2, true)];
    all.into_iter().for_each(|choice| assert_eq!(of(choice, 1)["nic"], of(choice, 2)["nic"]));
}

#[test]
fn what_does_not_fit_is_told() {
    let machine = session("dawning5000-single", &[], 1);
    assert_eq!(machine.nic_way(Verb::Send, None), Ok(Submission::Pio));
    assert_eq!(machine.nic_way(Verb::Put, None), Ok(Submission::Rendezvous));
    let misfit = |verb, by| machine.nic_way(verb, Some(by)).unwrap_err().to_string();
    let text = "the NIC of this machine has no put with `by=pio`: it has `by=rendezvous` and `by=dma`";
    assert_eq!(misfit(Verb::Put, Submission::Pio), text);
    let word = NicChoice { verb: Verb::Load, bytes: 9, ..SEND };
    assert!(matches!(machine.fit_nic(word).unwrap_err(), NicMisfit::TooLarge { most: 8, .. }));
    assert!(machine.fit_nic(NicChoice { processes: 33, ..SEND }).is_err());
    let tiny = session("dawning5000-single", &["packet.mtu=8 B"], 1);
    assert!(matches!(tiny.fit_nic(SEND).unwrap_err(), NicMisfit::Misses(_)), "other workloads run there");
    let other = session("nrc", &[], 1);
    assert!(matches!(other.nic_way(Verb::FetchAdd, None).unwrap_err(), NicMisfit::NoOperation { .. }));
}
