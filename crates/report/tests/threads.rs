//! Threads of Elan4: matching by list length and by what becomes of unexpected messages, reductions, gathers, programs of
//! users.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use flitway_engine::Picos;
use flitway_machine::Machine;
use flitway_machine::thread::parse_program;
use flitway_nic::host::story::Unit;
use flitway_nic::host::thread::FaultKind;
use flitway_report::session::Session;
use flitway_report::session::nic::program::{Submission, Verb};
use flitway_report::session::nic::{
    CollectiveKind, GroupChoice, Manner, MatchChoice, NicChoice, NicMisfit, NicResult, Stage, Unexpected,
};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const MATCH: MatchChoice = MatchChoice { place: 1, unexpected: Unexpected::Keep, late: Picos(0) };

const SEND: NicChoice = NicChoice {
    verb: Verb::Send,
    nodes: [0, 1],
    by: Submission::Sten,
    is_reliable: false,
    bytes: 8,
    count: 4,
    warm_up: 2,
    outstanding: None,
    processes: 1,
    chain: 1,
    manner: Manner::USUAL,
    group: None,
    matching: Some(MATCH),
    lock: None,
    noise: None,
};

fn session(machine: &str, set: &[&str], threads: u32) -> Session {
    let set: Vec<String> = set.iter().map(|&text| text.to_owned()).collect();
    Session::new(Machine::load(machine, &set).unwrap_or_else(|problems| panic!("{problems}")), 1, threads)
}

fn run(session: &Session, choice: NicChoice, program: Option<&str>) -> NicResult {
    let program = program.map(|text| Arc::new(parse_program("own", text).unwrap()));
    let run = session.fit_nic_with(choice, program).unwrap();
    session.nic(&run, None, &AtomicBool::new(false), &mut |_| {})
}

fn run_all(session: &Session, choice: NicChoice) -> NicResult {
    let result = run(session, choice, None);
    assert!(result.is_complete && result.fault.is_none(), "{choice:?}");
    result
}

/// The mean time in a unit of either node, in nanoseconds.
fn spent(result: &NicResult, unit: Unit) -> f64 {
    let of = [Stage::Near(unit), Stage::Far(unit)];
    result.stages().iter().filter(|(stage, _)| of.contains(stage)).map(|(_, ns)| ns).sum()
}

fn stages_sum_to_the_latency(result: &NicResult) {
    let stages: f64 = result.stages().iter().map(|(_, ns)| ns).sum();
    let mean = result.mean_ns().unwrap();
    assert!((stages - mean).abs() < 1e-3, "{:?}: {stages} {mean}", result.choice);
}

fn counted(result: &NicResult, name: &str) -> u64 {
    (0..2)
        .flat_map(|side| result.counters_of(side))
        .filter(|(it, _)| *it == name)
        .map(|(_, count)| count)
        .sum()
}

/// A match takes what the closed form says but for the phase of the clock, a cycle for each packet: 300 ns of the thread
/// processor (P-QS-080), and 20 ns more for each further entry of the list (OQ-Q6).
#[test]
fn a_match_takes_300_ns_and_20_for_each_further_entry() {
    let session = session("qsnet2-64", &["nic.tlb.preloaded=true", "switch.link.coding=raw"], 1);
    let cycle = 3.0;
    for bytes in [1, 8, 64, 112, 113, 512] {
        for place in [1, 2, 7, 100] {
            let matching = Some(MatchChoice { place, ..MATCH });
            let result = run_all(&session, NicChoice { bytes, matching, warm_up: 3, ..SEND });
            let idle = result.zero_load.unwrap().as_nanos();
            for latency in result.latencies() {
                let late = *latency as f64 / 1e3 - idle;
                assert!((-cycle..4.0 * cycle).contains(&late), "{bytes} B, {place}: {late}");
            }
            stages_sum_to_the_latency(&result);
            let thread = spent(&result, Unit::Thread);
            if bytes == 8 {
                assert_eq!(thread, 300.0 + 20.0 * f64::from(place - 1));
            }
        }
    }
}

/// Who is late by 20 us: a message that is kept is there soon after, one that is refused comes again and again, and an
/// interrupt costs the processor. None of that touches what is expected.
#[test]
fn three_answers_to_what_is_not_expected() {
    let session = session("qsnet2-64", &["nic.tlb.preloaded=true"], 1);
    let late = Picos(20_000_000);
    for bytes in [8, 4096] {
        let [keep, refuse, interrupt] = Unexpected::ALL.map(|unexpected| {
            let matching = Some(MatchChoice { unexpected, late, ..MATCH });
            let result = run_all(&session, NicChoice { bytes, matching, ..SEND });
            stages_sum_to_the_latency(&result);
            let expected = Some(MatchChoice { unexpected, ..MATCH });
            let expected = run_all(&session, NicChoice { bytes, matching: expected, ..SEND });
            let plain = run_all(&session, NicChoice { bytes, ..SEND });
            assert_eq!(expected.latencies(), plain.latencies(), "{unexpected:?}");
            result
        });
        let refused = "messages refused by threads";
        assert_eq!((counted(&keep, refused), counted(&interrupt, refused)), (0, 0));
        assert!(counted(&refuse, refused) > 50, "{}", counted(&refuse, refused));
        let packets = |result: &NicResult| result.counters.packets_created;
        assert!(packets(&refuse) > 2 * packets(&keep), "{} {}", packets(&refuse), packets(&keep));
        let [of_keep, of_refuse, of_interrupt] = [&keep, &refuse, &interrupt]
            .map(|result| (result.mean_ns().unwrap(), result.processor_ns().unwrap()));
        assert!(of_keep.0 < of_refuse.0, "{} {}", of_keep.0, of_refuse.0);
        let is_small = bytes == 8;
        // An interrupt takes 5 us, one for every message of the other node; what large ones say is kept.
        let more = of_interrupt.1[1] - of_keep.1[1];
        assert!(if is_small { (2_400.0..2_700.0).contains(&more) } else { more.abs() < 1.0 }, "{more}");
        assert!(of_interrupt.1[0] - of_keep.1[0] < 50.0);
        assert!(spent(&keep, Unit::Kept) > 5_000.0);
    }
}

/// With many under way the thread processor is what limits short messages, and is named.
#[test]
fn the_thread_processor_limits_a_stream() {
    let session = session("qsnet2-64", &["nic.tlb.preloaded=true"], 1);
    let stream = NicChoice { count: 200, warm_up: 20, outstanding: Some(8), ..SEND };
    let result = run_all(&session, stream);
    let limit = result.limit().unwrap();
    assert_eq!((limit.part, limit.side), ("thread processor", 1));
    let rate = result.rate_per_s().unwrap();
    assert!((0.5e6..3e6).contains(&rate), "{rate}");
    let long = run_all(&session, NicChoice { matching: Some(MatchChoice { place: 200, ..MATCH }), ..stream });
    assert!(long.rate_per_s().unwrap() < rate / 5.0, "{:?}", long.rate_per_s());
    assert!(counted(&long, "counted by programs of threads") > 200 * 200);
    assert!(counted(&result, "threads taken by the thread processor") >= 1);
    let large = NicChoice { bytes: 113, ..stream };
    assert_eq!(session.fit_nic(large).unwrap_err(), NicMisfit::Fetched { bytes: 113 });
}

fn group(kind: CollectiveKind, is_offloaded: bool, bytes: u64) -> NicChoice {
    let verb = match (is_offloaded, kind) {
        (true, _) => Verb::Thread,
        (_, CollectiveKind::Gather) => Verb::Put,
        _ => Verb::Send,
    };
    let group = Some(GroupChoice { kind, is_offloaded, arity: 4, by_messages: false });
    NicChoice { verb, nodes: [3, 24], bytes, group, matching: None, ..SEND }
}

/// The processor of the root has less to do when threads reduce and gather.
#[test]
fn threads_take_reductions_and_gathers_off_the_hosts() {
    let session = session("qsnet2-64", &[], 1);
    for (kind, bytes, done) in
        [(CollectiveKind::Reduce, 8, 22), (CollectiveKind::Gather, 16, 1), (CollectiveKind::Gather, 3_000, 1)]
    {
        let [threads, hosts] = [true, false].map(|by| run_all(&session, group(kind, by, bytes)));
        for result in [&threads, &hosts] {
            assert_eq!(result.latencies().len(), 4 * done, "{kind:?}");
        }
        stages_sum_to_the_latency(&threads);
        let [of_threads, of_hosts] = [&threads, &hosts].map(|result| result.processor_ns().unwrap()[0]);
        assert!(of_threads < of_hosts / 2.0, "{kind:?}: {of_threads} {of_hosts}");
    }
    let th = flitway_report::session::Session::new(Machine::load("th-frame", &[]).unwrap(), 1, 1);
    assert_eq!(th.fit_nic(group(CollectiveKind::Reduce, true, 8)).unwrap_err(), NicMisfit::NoThreads);
    assert_eq!(th.fit_nic(NicChoice { by: Submission::Hdq, ..SEND }).unwrap_err(), NicMisfit::NoThreads);
    run_all(&th, NicChoice { by: Submission::Hdq, ..group(CollectiveKind::Gather, false, 100) });
}

#[test]
fn results_are_the_same_on_any_number_of_threads() {
    for choice in [group(CollectiveKind::Gather, true, 300), NicChoice { processes: 3, ..SEND }] {
        let results = [1, 2, 4].map(|threads| {
            let result = run_all(&session("qsnet2-64", &[], threads), choice);
            (result.latencies().to_vec(), result.counters.packet_hops, result.counters_of(0).to_vec())
        });
        assert!(results[1] == results[0] && results[2] == results[0], "{choice:?}");
    }
}

/// A program of a user runs, and one that is wrong ends with what is wrong and in which line.
#[test]
fn programs_of_users_run_or_say_why_not() {
    let session = session("qsnet2-64", &[], 1);
    let choice = group(CollectiveKind::Threads, true, 8);
    let right = run(&session, choice, Some("next: wait\nfree r7\nevent\njump next\n"));
    assert!(right.is_complete && right.latencies().len() == 4 * 22);
    let fault = |text: &str| {
        let result = run(&session, choice, Some(text));
        let (node, fault) = result.fault.clone().expect("it cannot go on");
        assert!(!result.is_complete && result.to_json()["nic"]["fault"]["line"] == fault.line);
        (node, fault.line, fault.kind)
    };
    assert_eq!(fault("a: add r1, r1, 1\njump a\n"), (3, 1, FaultKind::NeverEnds));
    assert_eq!(fault("wait\nload r2, r0, 4\n"), (3, 2, FaultKind::NotAligned(4)));
    assert_eq!(fault("wait\nset r2, 0x200000\nstore r2, r2\n"), (3, 3, FaultKind::NoMemory(0x20_0000)));
    assert_eq!(fault("wait\nfree r1\n"), (3, 2, FaultKind::NoSlot(0)));
    assert_eq!(fault("wait\nrefuse r7\n"), (3, 2, FaultKind::NoMessage(1 << 20 | 64 << 12)));
    assert_eq!(fault("wait\nset r2, 64\nsend r2, 1\n"), (3, 3, FaultKind::NoNode(64)));
    assert_eq!(
        fault("wait\nset r2, 1\nset r3, 81\nsend r2, 6, r0, r3\n"),
        (3, 4, FaultKind::TooLong(129, 128))
    );
    assert_eq!(fault("wait\nset r2, 1\ndma r2, r0, r0, r0, process\n"), (3, 3, FaultKind::NoDma(0)));
    // Slots that are never free: what is refused too often is dropped, and the run ends.
    let full =
        "add r20, r1, 0\nset r10, 4\nnext: wait\nbeq r20, 1, next\nsend r10, 1\nfree r7\nevent\njump next\n";
    let few = self::session("qsnet2-64", &["nic.input_queue.slots=2"], 1);
    let program = Some(Arc::new(parse_program("own", full).unwrap()));
    let run = few.fit_nic_with(NicChoice { nodes: [3, 4], ..choice }, program).unwrap();
    let result = few.nic(&run, None, &AtomicBool::new(false), &mut |_| {});
    assert!(!result.is_complete && counted(&result, "messages refused too often, dropped") > 0);
}
