//! Elan4 on the machines of QsNetII: closed forms, what limits a stream, what overlaps, what does not fit.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use flitway_machine::Machine;
use flitway_nic::host::story::Unit;
use flitway_report::session::Session;
use flitway_report::session::nic::program::{Submission, Verb};
use flitway_report::session::nic::{Manner, NicChoice, NicMisfit, NicResult, Stage};
use std::sync::atomic::AtomicBool;

const PUT: NicChoice = NicChoice {
    verb: Verb::Put,
    nodes: [0, 1],
    by: Submission::Sten,
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

const STREAM: NicChoice = NicChoice { count: 200, warm_up: 20, outstanding: Some(8), ..PUT };

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

/// The first operation of an idle machine takes what the closed form says, to the picosecond, and its stages sum to that. On
/// links that are coded flits wait for their slots, of which the closed form of the network counts nothing.
#[test]
fn unloaded_operations_take_what_the_closed_form_says() {
    let machines = [
        ("elite4", [0, 7], "opteron"),
        ("qsnet2-64", [0, 63], "xeon-em64t"),
        ("qsnet2-64", [63, 1], "itanium2"),
        ("qsnet2-512", [500, 3], "opteron"),
    ];
    let ways = [
        (Verb::Put, Submission::Sten, [1, 8, 13, 64, 127, 128]),
        (Verb::Put, Submission::Dma, [1, 8, 100, 128, 511, 512]),
        (Verb::Get, Submission::Sten, [1, 8, 100, 128, 511, 512]),
        (Verb::Send, Submission::Sten, [1, 8, 13, 64, 127, 128]),
    ];
    for (machine, nodes, platform) in machines {
        let platform = format!("host.platform={platform}");
        let session = session(machine, &["nic.tlb.preloaded=true", "switch.link.coding=raw", &platform], 1);
        for (verb, by, sizes) in ways {
            for bytes in sizes {
                let choice = NicChoice { verb, nodes, by, bytes, ..PUT };
                let result = run(&session, choice);
                let latency = result.latencies()[0];
                assert_eq!(Some(latency), result.zero_load.map(|time| time.0), "{machine}: {choice:?}");
                let stages = sum(&result, |_| true) * 1e3;
                assert!((stages - latency as f64).abs() < 1e-3, "{machine}: {choice:?}: {stages}");
            }
        }
    }
}

/// Chains take what the closed form says, and no processor: a link of one takes less than 250 ns of the NICs (mechanisms 3.6)
/// beside the network, and what a processor does is done once.
#[test]
fn chains_take_what_the_closed_form_says_and_no_processor() {
    let session = session("qsnet2-64", &["nic.tlb.preloaded=true"], 1);
    for nodes in [[0, 1], [63, 1]] {
        for bytes in [1, 8, 100, 128] {
            let results = [1, 2, 3, 16].map(|chain| run(&session, NicChoice { nodes, bytes, chain, ..PUT }));
            for result in &results {
                let choice = result.choice;
                assert_eq!(Some(result.latencies()[0]), result.zero_load.map(|time| time.0), "{choice:?}");
                let stages = sum(result, |_| true) * 1e3;
                assert!((stages - result.latencies()[0] as f64).abs() < 1e-3, "{choice:?}: {stages}");
            }
            let [one, .., many] = results;
            let of_nics = |result: &NicResult| {
                sum(result, |stage| {
                    let units = [Unit::Input, Unit::Event, Unit::Command, Unit::Submission];
                    units.iter().any(|unit| [Stage::Near(*unit), Stage::Far(*unit)].contains(&stage))
                })
            };
            let link = (of_nics(&many) - of_nics(&one)) / 15.0;
            assert!(bytes > 8 || (100.0..250.0).contains(&link), "{link}");
            let fired = many.counters_of(0)[6].1 + many.counters_of(1)[6].1;
            assert_eq!(
                (many.counters_of(0)[6].0, fired),
                ("events that copied a block into a command queue", 15)
            );
            let busy = |result: &NicResult| result.processor_ns().unwrap()[0];
            assert!(busy(&many) < 2.1 * busy(&one), "{} {}", busy(&one), busy(&many));
        }
    }
    let misfit = |choice| session.fit_nic(choice).unwrap_err().to_string();
    assert!(misfit(NicChoice { by: Submission::Dma, chain: 2, ..PUT }).contains("use `by=sten`"));
    assert!(misfit(NicChoice { bytes: 2_000, chain: 2, ..PUT }).contains("2 KiB"));
}

/// Mechanisms 3.9: a remote write of 8 B takes 0.85, 1.14 and 1.6 us, which are inputs. What is not in the network is that less
/// 105 ns, for which the first flit needs 51 ns (two cycles of a NIC port, 21 ns of the switch, cables of 24 ns) and the others
/// 54 ns.
#[test]
fn platforms_are_solved_from_what_a_remote_write_takes() {
    for (platform, input) in [("opteron", 850.0), ("xeon-em64t", 1_140.0), ("itanium2", 1_600.0)] {
        let platform = format!("host.platform={platform}");
        let result = run(&session("elite4", &["nic.tlb.preloaded=true", &platform], 1), PUT);
        let outside = sum(&result, |stage| matches!(stage, Stage::Near(_) | Stage::Far(_)));
        assert!((outside - (input - 105.0)).abs() < 0.01, "{platform}: {outside}");
    }
}

/// qsnet2.txt, "Packet generation": "the Elan4 direct memory access (DMA) engine can read from the PCI-X bus at up to 920
/// Mbytes/s", and "one DMA's completion overlaps the next DMA's startup".
#[test]
fn dmas_in_a_row_overlap_and_fill_the_bus() {
    let preloaded = "nic.tlb.preloaded=true";
    let large = NicChoice { by: Submission::Dma, bytes: 64 << 10, ..STREAM };
    let result = run(&session("elite4", &[preloaded], 1), large);
    let bandwidth = result.bandwidth_mb_per_s().unwrap();
    assert!((890.0..923.0).contains(&bandwidth), "{bandwidth} MB/s");
    assert_eq!(result.limit().unwrap().part, "bus");
    // 4 KiB take 4.4 us of the bus; with one assembler each DMA waits for the end of the one before.
    let short = NicChoice { bytes: 4 << 10, ..large };
    let [one, two] = ["1", "2"].map(|count| {
        let assemblers = format!("nic.dma.assemblers={count}");
        run(&session("elite4", &[preloaded, &assemblers], 1), short).rate_per_s().unwrap()
    });
    assert!(two > 1.05 * one, "{one} and {two} a second");
}

/// qsnet2.txt: STEN "can handle two outstanding packets for each command queue".
#[test]
fn a_queue_waits_for_an_answer_when_its_window_is_full() {
    let choice = NicChoice { nodes: [0, 63], bytes: 64, ..STREAM };
    let waits = |window: &str| {
        let window = format!("nic.sten.window={window}");
        let fast = ["host.burst_time=20 ns", "host.poll=1 ns"];
        let result = run(&session("qsnet2-64", &[&fast[..], &[&window]].concat(), 1), choice);
        let waits = result.busy().into_iter().find(|it| it.part == "wait for answers of a command queue");
        (waits.unwrap().share, result.rate_per_s().unwrap())
    };
    let [one, two] = ["1", "2"].map(waits);
    assert!(one.0 > 0.7 && two.1 > 1.5 * one.1, "{one:?} {two:?}");
}

/// qsnet2.txt, "Input queues": a process can "reject the packets in the hope that the sending process would retransmit them
/// later". What finds a queue full comes again until it has been accepted: each message is seen once.
#[test]
fn what_finds_its_input_queue_full_is_refused_and_comes_again() {
    let choice = NicChoice { verb: Verb::Send, bytes: 64, ..STREAM };
    let run = |set: &[&str]| run(&session("elite4", set, 1), choice);
    let counted = |result: &NicResult, side: usize, name: &str| {
        result.counters_of(side).iter().find(|(it, _)| it.starts_with(name)).unwrap().1
    };
    let fits = run(&[]);
    assert_eq!(counted(&fits, 1, "messages refused"), 0);
    let [at_once, later] = ["1024", "0"].map(|repeats| {
        let repeats = format!("nic.input_queue.repeats={repeats}");
        run(&[
            "nic.input_queue.slots=4",
            "nic.input_queue.copy=1 us",
            "nic.input_queue.back_off=2 us",
            &repeats,
        ])
    });
    let [refused, again] = [&at_once, &later].map(|result| counted(result, 1, "messages refused"));
    assert!(later.latencies().len() == 200 && again > 20 && refused > 2 * again, "{refused} {again}");
    for result in [&at_once, &later] {
        assert_eq!(counted(result, 1, "messages accepted"), 220);
        assert_eq!(counted(result, 0, "messages sent again"), counted(result, 1, "messages refused"));
    }
}

/// A queue that is much shorter than the commands of an operation: its process waits for room, and nothing sticks.
#[test]
fn commands_wait_for_room_in_a_short_queue() {
    let choice = NicChoice { bytes: 5_000, count: 20, ..STREAM };
    for burst in ["host.burst=8 B", "host.burst=128 B"] {
        let session =
            session("elite4", &["nic.queue=1 KiB", "host.write_latency=3 us", "nic.issue=2 us", burst], 1);
        run(&session, choice);
        run(&session, NicChoice { by: Submission::Dma, processes: 3, ..choice });
        run(&session, NicChoice { verb: Verb::Get, processes: 3, ..choice });
    }
}

#[test]
fn threads_change_nothing() {
    let choice =
        NicChoice { nodes: [1, 62], bytes: 3_000, count: 20, outstanding: Some(4), processes: 3, ..PUT };
    for (verb, by) in [
        (Verb::Put, Submission::Sten),
        (Verb::Put, Submission::Dma),
        (Verb::Get, Submission::Sten),
        (Verb::Send, Submission::Sten),
    ] {
        let bytes = if verb == Verb::Send { 100 } else { choice.bytes };

        let of = |threads| {
            run(&session("qsnet2-64", &[], threads), NicChoice { verb, by, bytes, ..choice }).to_json()
        };
        assert_eq!(of(1)["nic"], of(2)["nic"]);
    }
}

#[test]
fn what_does_not_fit_is_told() {
    let qsnet2 = session("elite4", &[], 1);
    assert_eq!(qsnet2.nic_way(Verb::Put, None), Ok(Submission::Sten));
    let misfit = |verb, by| qsnet2.nic_way(verb, Some(by)).unwrap_err().to_string();
    let text = "the NIC of this machine has no put with `queue=hdq`: it has `by=sten` and `by=dma`";
    assert_eq!(misfit(Verb::Put, Submission::Hdq), text);
    assert!(misfit(Verb::Get, Submission::Dma).contains("it has `by=sten`"));
    assert!(misfit(Verb::Load, Submission::Sten).contains("it has send and put and get"));
    let long = qsnet2.fit_nic(NicChoice { verb: Verb::Send, bytes: 129, ..PUT }).unwrap_err().to_string();
    assert_eq!(long, "129 B are more than one send takes, 128 B (nic.sten.packet)");
    for set in ["rails=2", "switch.answer.hold=false"] {
        let other = session("elite4", &[set], 1);
        assert!(matches!(other.fit_nic(PUT).unwrap_err(), NicMisfit::Misses(_)), "{set}");
    }
}
