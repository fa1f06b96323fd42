//! Operations of NICs between two nodes: closed forms, streams, losses.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use flitway_machine::Machine;
use flitway_report::session::Session;
use flitway_report::session::nic::program::{Submission, Verb, Waits};
use flitway_report::session::nic::{CollectiveKind, GroupChoice, Manner, NicChoice, NicMisfit, NicResult};
use std::sync::atomic::AtomicBool;

const PUT: NicChoice = NicChoice {
    verb: Verb::Put,
    nodes: [0, 1],
    by: Submission::Hdq,
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

fn session(machine: &str, set: &[&str], threads: u32) -> Session {
    let set: Vec<String> = set.iter().map(|&text| text.to_owned()).collect();
    Session::new(Machine::load(machine, &set).unwrap_or_else(|problems| panic!("{problems}")), 1, threads)
}

fn run(session: &Session, choice: NicChoice) -> NicResult {
    let run = session.fit_nic(choice).unwrap();
    session.nic(&run, None, &AtomicBool::new(false), &mut |_| {})
}

/// The first operation of an idle machine takes what the closed form says, to the picosecond, and its stages sum to that.
#[test]
fn unloaded_operations_take_what_the_closed_form_says() {
    assert_eq!(unloaded(false, Manner::USUAL), 4 * 2 * (9 + 9 + 6));
}

/// The record and the interrupt go up the bus behind what has come.
#[test]
fn who_sleeps_is_woken_when_the_closed_form_says() {
    let sleeps = Manner { waits: Waits::Sleeping, ..Manner::USUAL };
    assert_eq!(unloaded(false, sleeps), 4 * 2 * (9 + 9 + 6));
    assert_eq!(unloaded(true, sleeps), 4 * 2 * (9 + 9 + 6));
}

/// Physical addresses take as long as virtual ones of which all translations are there, and less than others.
#[test]
fn physical_addresses_need_no_translation() {
    let physical = Manner { is_physical: true, ..Manner::USUAL };
    assert_eq!(unloaded(false, physical), 4 * 2 * (9 + 9 + 6));
    let session = session("nrc", &[], 1);
    let many =
        |manner| run(&session, NicChoice { count: 20, manner: Manner { buffers: 50, ..manner }, ..PUT });
    let [virtual_, physical] = [Manner::USUAL, physical].map(many);
    let misses = |result: &NicResult| {
        let counted = result.counters_of(1).iter().find(|it| it.0 == "translations read from memory");
        counted.map(|it| it.1)
    };
    // The queue of events is at virtual addresses, and so are the buffers, one for each put.
    assert_eq!([&virtual_, &physical].map(misses), [Some(21), Some(1)]);
    assert!(virtual_.mean_ns() > physical.mean_ns());
}

/// The same with a connection, of which the set-up and the data overlap. An MTU of 256 B has no room for 250 B and what
/// names them.
#[test]
fn unloaded_reliable_operations_take_what_the_closed_form_says() {
    assert_eq!(unloaded(true, Manner::USUAL), 4 * 2 * (9 + 9 + 6));
}

/// How many operations were tried.
fn unloaded(is_reliable: bool, manner: Manner) -> u32 {
    let machines = [("nrc", [0, 23]), ("th-frame", [3, 30]), ("th-group", [5, 380]), ("hpp-switch", [0, 9])];
    let mut tried = 0;
    for (machine, nodes) in machines {
        let session = session(machine, &["nic.model=th", "nic.atc.preloaded=true"], 1);
        for verb in [Verb::Send, Verb::Put, Verb::Get] {
            for by in [Submission::Hdq, Submission::Sdq] {
                for bytes in [1, 8, 60, 96, 97, 120, 121, 250, 256] {
                    let choice = NicChoice { verb, nodes, by, bytes, is_reliable, manner, ..PUT };
                    if verb == Verb::Send && bytes > 120 {
                        continue;
                    }
                    let result = run(&session, choice);
                    let latencies = result.latencies();
                    let expected = result.zero_load.map(|time| time.0);
                    // On the HPP Switch an MTU has more.
                    let is_whole = !is_reliable || bytes <= 248 || machine == "hpp-switch";
                    assert_eq!(expected.is_some(), is_whole, "{machine}: {choice:?}");
                    let first = latencies.first().copied();
                    assert_eq!(first.filter(|_| is_whole), expected, "{machine}: {choice:?}");
                    let sum: f64 = result.stages().iter().map(|(_, ns)| ns).sum();
                    assert!((sum * 1e3 - latencies[0] as f64).abs() < 1e-3, "{machine}: {choice:?}: {sum}");
                    tried += 1;
                }
            }
        }
    }
    tried
}

/// 660 ns beside the hops, as OQ-T9 splits them: a mini-packet from chip to chip is those, a hop of 42 cycles, two cables of a
/// metre, its second flit, and what the bus needs for its eight bytes of header.
#[test]
fn a_small_message_takes_the_660_ns_of_its_ends_beside_its_hop() {
    let session = session("nrc", &["nic.atc.preloaded=true"], 1);
    let result = run(&session, NicChoice { verb: Verb::Send, ..PUT });
    let cycle = 33.0 / 14.0;
    let hop = (42.0 + 1.0 + 1.0) * cycle + 2.0 * (5.0_f64 / cycle).ceil() * cycle;
    let beside = result.mean_ns().unwrap() - hop;
    assert!((beside - 660.0).abs() < cycle, "{beside} ns");
}

/// A long stream fills the link: 256 B in nine flits of 32 B.
#[test]
fn a_stream_of_large_puts_is_limited_by_the_link_and_small_ones_by_the_processor() {
    let session = session("nrc", &[], 1);
    let large =
        run(&session, NicChoice { bytes: 64 << 10, count: 400, warm_up: 40, outstanding: Some(16), ..PUT });
    let link = 8.0 / 9.0 * 32.0 * 14.0 / 33.0 * 1e3;
    let bandwidth = large.bandwidth_mb_per_s().unwrap();
    // The 16 that are under way at both ends are as far as they happen to be.
    let share = bandwidth / link;
    assert!((1.0 - 16.0 / 360.0..1.001).contains(&share), "{bandwidth} of {link} MB/s");
    let limit = large.limit().unwrap();
    assert!(
        [("link into the node", 1), ("link out of the node", 0)].contains(&(limit.part, limit.side)),
        "{limit:?}"
    );
    let small = run(&session, NicChoice { count: 200, warm_up: 20, outstanding: Some(16), ..PUT });
    assert_eq!(small.limit().unwrap().part, "processor");
    // Two bursts of 16 ns, and a poll of 70 ns, since it sees that each has left.
    assert!((small.processor_ns().unwrap()[0] - 102.0).abs() < 1e-6, "{:?}", small.processor_ns());
}

/// An event queue that fills faster than its process sees: events wait, and are dropped when that takes too long.
#[test]
fn what_finds_its_queue_full_waits_or_is_dropped() {
    let stream = NicChoice { count: 100, warm_up: 0, outstanding: Some(32), ..PUT };
    let slow = ["nic.eq=4", "host.poll=1 us"];
    let waits = run(&session("nrc", &[&slow[..], &["nic.hold=1 ms"]].concat(), 1), stream);
    let counter = |result: &NicResult, name: &str| {
        result.counters_of(1).iter().find(|(it, _)| *it == name).map(|&(_, count)| count).unwrap()
    };
    assert!(waits.is_complete);
    assert!(counter(&waits, "events that waited for an entry") > 0);
    let drops = run(&session("nrc", &[&slow[..], &["nic.hold=100 ns"]].concat(), 1), stream);
    assert!(!drops.is_complete && !drops.is_stopped);
    let dropped = counter(&drops, "events dropped");
    assert!(dropped > 0);
    assert_eq!(drops.latencies().len() as u64 + dropped, 100);
}

#[test]
fn threads_change_nothing() {
    let choice =
        NicChoice { nodes: [1, 383], bytes: 3000, count: 20, outstanding: Some(4), processes: 3, ..PUT };
    let [one, two] =
        [1, 2].map(|threads| run(&session("th-group", &[], threads), choice).to_json()["nic"].clone());
    assert_eq!(one, two);
    let reliable = NicChoice { is_reliable: true, ..choice };
    let [one, two] =
        [1, 2].map(|threads| run(&session("th-group", &[], threads), reliable).to_json()["nic"].clone());
    assert_eq!(one, two);
}

#[test]
fn what_does_not_fit_is_told() {
    let nrc = session("nrc", &[], 1);
    let misfit = |choice| nrc.fit_nic(choice).unwrap_err().to_string();
    assert_eq!(
        misfit(NicChoice { nodes: [0, 24], ..PUT }),
        "there is no node 24: the machine has 24, numbered from 0"
    );
    assert!(misfit(NicChoice { verb: Verb::Send, bytes: 121, ..PUT }).contains("120 B"));
    assert!(misfit(NicChoice { bytes: 200_000_000, ..PUT }).contains("128000000 B"));
    assert!(misfit(NicChoice { processes: 9, ..PUT }).contains("8 queues of kind HDQ"));
    assert!(nrc.fit_nic(NicChoice { processes: 9, by: Submission::Sdq, ..PUT }).is_ok());
    let ideal = session("mesh-8x8", &[], 1);
    assert_eq!(ideal.fit_nic(PUT).unwrap_err(), NicMisfit::NoOperations);
}

/// A barrier, or a broadcast, of nodes 5 to 68.
fn group(kind: CollectiveKind, is_offloaded: bool) -> NicChoice {
    let verb = if kind == CollectiveKind::Barrier { Verb::Send } else { Verb::Put };
    let bytes = if kind == CollectiveKind::Barrier { 0 } else { 1000 };
    let group = Some(GroupChoice { kind, is_offloaded, arity: 4, by_messages: false });
    NicChoice { verb, nodes: [5, 68], bytes, group, count: 3, warm_up: 1, ..PUT }
}

#[test]
fn a_barrier_by_the_nics_takes_less_time_than_by_the_hosts_and_hardly_any_of_processors() {
    let [offloaded, by_hosts] = [true, false].map(|is_offloaded| {
        let result = run(&session("th-group", &[], 1), group(CollectiveKind::Barrier, is_offloaded));
        assert!(result.is_complete);
        assert_eq!(result.latencies().len(), 64 * 3, "all processes see each");
        result
    });
    assert!(offloaded.mean_ns() < by_hosts.mean_ns());
    let busy = |result: &NicResult| result.processor_ns().unwrap()[0];
    assert!(busy(&offloaded) < busy(&by_hosts) / 2.0, "{} {}", busy(&offloaded), busy(&by_hosts));
    let sum: f64 = offloaded.stages().iter().map(|(_, ns)| ns).sum();
    assert!((sum - offloaded.mean_ns().unwrap()).abs() < 1e-6, "stages sum to the latency");
    assert_eq!(offloaded.to_json()["nic"]["operation"], "barrier");
}

#[test]
fn a_broadcast_comes_to_all_but_its_root_on_any_number_of_threads() {
    for is_offloaded in [true, false] {
        let results = [1, 2].map(|threads| {
            run(&session("th-group", &[], threads), group(CollectiveKind::Broadcast, is_offloaded))
        });
        assert!(results[0].is_complete);
        assert_eq!(results[0].latencies().len(), 63 * 3);
        assert_eq!(results[0].to_json()["nic"], results[1].to_json()["nic"]);
    }
}

#[test]
fn operations_of_many_nodes_are_those_of_one_nic_but_for_barriers() {
    let choice = group(CollectiveKind::Broadcast, true);
    let other = session("dawning5000", &[], 1);
    let misfit = other.fit_nic(NicChoice { by: Submission::Dma, ..choice }).unwrap_err();
    assert_eq!(misfit, NicMisfit::NoCollectives { by_hosts: false });
    assert!(misfit.help().unwrap().contains("nic.model=th"));
    let barrier = |by_nic| NicChoice { by: Submission::Pio, ..group(CollectiveKind::Barrier, by_nic) };
    assert!(other.fit_nic(barrier(true)).is_ok(), "its barrier module");
    assert_eq!(other.fit_nic(barrier(false)), Err(NicMisfit::NoCollectives { by_hosts: true }));
    let gather =
        |nodes| NicChoice { nodes, by: Submission::Rendezvous, ..group(CollectiveKind::Gather, false) };
    assert_eq!(other.fit_nic(gather([0, 63])), Err(NicMisfit::Senders { senders: 63, most: 16 }));
    let result = run(&other, gather([0, 16]));
    assert!(result.is_complete, "as many as its ring has slots for");
}
