//! NICs on hosts are held against their reference models on random cases: what processes see, and when, what is in memory at
//! the end, and what is counted. Both are on the same fast fabric.
//!
//! `FLITWAY_CASE=SEED` replays one case, `FLITWAY_CASES=COUNT` runs so many.

mod hosts;

use flitway_engine::Picos;
use flitway_nic::host::program::{Completion, CompletionKind, Submission};
use flitway_nic::host::story::{Stage, Unit};
use hosts::case::{Case, Kind, RESULT, Verb, ends};
use hosts::{Engine, Outcome, run};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Cases of each kind.
const fn cases(kind: Kind) -> u64 {
    match kind {
        Kind::Th => 400,
        Kind::Elan4 => 600,
        Kind::Nap => 400,
    }
}

/// What cases have come to: nothing of it may be missing from a campaign.
#[derive(Debug, Default)]
struct Coverage {
    counted: std::collections::BTreeMap<&'static str, u64>,
}

impl Coverage {
    fn add(&mut self, case: &Case, outcome: &Outcome) {
        let mut add = |name, count| *self.counted.entry(name).or_default() += count;
        Verb::ALL.iter().for_each(|verb| add(verb.name(), 0));
        Submission::ALL.iter().for_each(|by| add(by.name(), 0));
        for (_, operation) in case.posted(outcome) {
            add(operation.verb.name(), 1);
            add(operation.by.name(), 1);
        }
        for node in &outcome.nodes {
            node.counts.nic.iter().chain(&node.counts.full).for_each(|(name, count)| add(name, *count));
            add("reads that waited for a tag", node.counts.bus.reads_waited);
            let noises = [Stage::Near(Unit::Noise), Stage::Far(Unit::Noise)];
            let late = node.seen.iter().flatten();
            let late = late.filter(|(_, it)| noises.iter().any(|stage| it.story.spent(*stage).0 > 0));
            add("completions that waited for system noise", late.count() as u64);
        }
        add("cases that ended", outcome.has_ended.into());
        add("packets that came corrupt", outcome.counters.link.nacks);
    }
}

/// What is wrong with a case, if anything.
fn failure(case: &Case, coverage: &mut Coverage) -> Option<String> {
    let check = AssertUnwindSafe(|| match compare(case) {
        Ok(outcome) => {
            coverage.add(case, &outcome);
            None
        }
        Err(difference) => Some(difference),
    });
    catch_unwind(check).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        Some(text.unwrap_or_else(|| "it panics".to_owned()))
    })
}

fn compare(case: &Case) -> Result<Outcome, String> {
    let engine = run(case, Engine::Fast, 1);
    let reference = run(case, Engine::Reference, 1);
    if let Some(difference) = engine.difference(&reference) {
        return Err(format!("engine, then reference: {difference}"));
    }
    if case.seed.is_multiple_of(4)
        && let Some(difference) = run(case, Engine::Fast, 2).difference(&engine)
    {
        return Err(format!("on two threads, then on one: {difference}"));
    }
    for node in &engine.nodes {
        for (at, completion) in node.seen.iter().flatten() {
            let spent = Stage::all().map(|stage| completion.story.spent(stage).0);
            if spent.sum::<u64>() != completion.story.latency().0 || completion.story.until() != *at {
                return Err(format!("stages do not sum to the latency: {completion:?} at {at:?}"));
            }
        }
        let may_be_left =
            case.has_collectives() || case.is_protected() || case.has_threads() || case.has_locks();
        if engine.has_ended && !node.is_idle && !may_be_left {
            return Err("a host is not idle at the end".to_owned());
        }
    }
    if !case.has_kept_what_is_not_valid(&engine) {
        return Err("memory has been written to at an address that is not valid".to_owned());
    }
    if !barriers_hold(case, &engine) {
        return Err("a process goes on from a barrier before all have come".to_owned());
    }
    if case.are_apart && engine.has_ended && !case.has_collectives() {
        all_data_are_there(case, &engine)?;
    }
    Ok(engine)
}

/// Whether no process sees the end of a barrier of barrier modules before all have begun to come to it.
fn barriers_hold(case: &Case, outcome: &Outcome) -> bool {
    // Of each member, when it began each of its barriers and saw the end, in order.
    let mut members: Vec<Vec<[Picos; 2]>> = Vec::new();
    for (node, of) in outcome.nodes.iter().enumerate() {
        for (process, seen) in of.seen.iter().enumerate().filter(|it| case.meets(node, it.0)) {
            let all = seen.iter().filter(|(_, it)| {
                it.what == CompletionKind::Reached
                    && (it.node.index(), usize::from(it.process)) == (node, process)
            });
            members.push(all.map(|(at, it)| [it.story.begun(), *at]).collect());
        }
    }
    let rounds = members.first().map_or(0, Vec::len);
    members.iter().all(|member| member.len() == rounds)
        && (0..rounds).all(|round| {
            let begun = members.iter().map(|member| member[round][0]).max();
            members.iter().map(|member| member[round][1]).min() > begun
        })
}

/// Where no two operations touch the same bytes, each that was posted has brought what was there before.
fn all_data_are_there(case: &Case, outcome: &Outcome) -> Result<(), String> {
    let is_of =
        |completion: &Completion, name| (completion.node.0, completion.process, completion.number) == name;
    for (name, operation) in case.posted(outcome) {
        let (node, process, _) = name;
        let Some(is_carried_out) = case.is_carried_out(&operation, (node, process)) else { continue };
        let [from, to] = ends(&operation, (node, process));
        let has_come = match operation.verb {
            Verb::Send => {
                outcome.nodes[to.0 as usize].seen[usize::from(to.1)].iter().any(|(_, completion)| {
                    completion.what == CompletionKind::Received && is_of(completion, name)
                })
            }
            _ => true,
        } || operation.is_reliable;
        let before = |(node, process, first): (u32, u8, u64)| -> Vec<u8> {
            (first..first + operation.bytes).map(|byte| case.first_byte(node, process, byte)).collect()
        };
        let is_after = |(node, process, first): (u32, u8, u64), bytes: Vec<u8>| {
            let memory = &outcome.nodes[node as usize].memory[usize::from(process)];
            memory[first as usize..][..bytes.len()] == bytes
        };
        let is_there = match operation.verb {
            Verb::FetchAdd => is_after(from, before(to)) && is_after(to, sum(&before(from), &before(to))),
            _ => is_after(to, before(if has_come && is_carried_out { from } else { to })),
        };
        if !is_there {
            return Err(format!("the data of {operation:?} of {name:?} are not as they should be"));
        }
    }
    Ok(())
}

/// Both words, the lowest byte first, added, without what goes beyond.
fn sum(one: &[u8], two: &[u8]) -> Vec<u8> {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
    word(one).wrapping_add(word(two)).to_le_bytes()[..one.len()].to_vec()
}

/// The smallest case that fails: without each operation that it fails without.
fn shrink(mut case: Case) -> (Case, String) {
    let mut why = failure(&case, &mut Coverage::default()).expect("it fails");
    loop {
        let tried = case.smaller().into_iter().try_for_each(|smaller| {
            match failure(&smaller, &mut Coverage::default()) {
                Some(failure) => ControlFlow::Break((smaller, failure)),
                None => ControlFlow::Continue(()),
            }
        });
        match tried {
            ControlFlow::Break(found) => (case, why) = found,
            ControlFlow::Continue(()) => return (case, why),
        }
    }
}

fn check(kind: Kind, seed: u64, coverage: &mut Coverage) {
    let case = Case::of(kind, seed);
    if failure(&case, coverage).is_some() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let (case, why) = shrink(case);
        std::panic::set_hook(hook);
        panic!("{case:#?}\n{why}\nBefore it was cut down: FLITWAY_CASE={seed}, of {kind:?}");
    }
}

/// Checks random cases of `kind`, which come to everything that is counted, and to all operations and ways, but for `not`.
fn check_all(kind: Kind, not: &[&str]) {
    let mut coverage = Coverage::default();
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>());
    let number = |name| number(name).map(|number| number.unwrap_or_else(|_| panic!("{name} is a number")));
    if let Some(seed) = number("FLITWAY_CASE") {
        return check(kind, seed, &mut coverage);
    }
    if kind == Kind::Th {
        // Of collective operations.
        for verb in [Verb::Control, Verb::Event] {
            coverage.counted.entry(verb.name()).or_default();
        }
    }
    if kind == Kind::Nap {
        for verb in [Verb::Lock, Verb::TryLock, Verb::Unlock, Verb::Barrier] {
            coverage.counted.entry(verb.name()).or_default();
        }
    }
    (0..number("FLITWAY_CASES").unwrap_or(cases(kind))).for_each(|seed| check(kind, seed, &mut coverage));
    for (name, count) in coverage.counted {
        assert_eq!(count > 100, !not.contains(&name), "{name}: {count}");
    }
}

#[test]
fn engine_and_reference_of_the_nic_of_th_express_2_agree_on_random_cases() {
    let words = ["remote-load", "remote-store", "fetch-add"];
    let ways = ["sten", "dma", "pio", "rendezvous"];
    check_all(Kind::Th, &[&words[..], &ways].concat());
}

#[test]
fn engine_and_reference_of_elan4_agree_on_random_cases() {
    let verbs = ["remote-load", "remote-store", "fetch-add"];
    // What is refused ten thousand times is tested beside this.
    let others = ["hdq", "sdq", "pio", "rendezvous", "messages refused too often, dropped"];
    check_all(Kind::Elan4, &[&verbs[..], &others].concat());
}

/// A process that does not poll for a millisecond: its input queue is full, and what comes for it is refused until it polls
/// again. What others on its node are sent comes as soon as without it, but for a hundredth.
#[test]
fn a_process_that_stops_polling_holds_up_those_who_send_to_it_alone() {
    let [polls, stops] = [false, true].map(|stops| {
        let case = Case::of_a_full_input_queue(stops);
        compare(&case).unwrap_or_else(|difference| panic!("{difference}"))
    });
    let refused = |outcome: &Outcome| {
        let counted =
            outcome.nodes[1].counts.nic.iter().find(|(name, _)| name.starts_with("messages refused"));
        counted.map(|(_, count)| *count)
    };
    assert_eq!(refused(&polls), Some(0));
    assert!(refused(&stops) > Some(100), "{:?}", refused(&stops));
    let dates = |outcome: &Outcome, process: usize| -> Vec<u64> {
        outcome.nodes[1].seen[process].iter().map(|(at, _)| at.0).collect()
    };
    let received = dates(&stops, 0);
    assert!(received.len() == 40 && received.iter().all(|at| *at > 1_000_000_000), "{received:?}");
    let [without, beside] = [&polls, &stops].map(|outcome| dates(outcome, 1));
    assert_eq!((without.len(), beside.len()), (80, 80));
    let last = |dates: &[u64]| dates[79];
    assert!(last(&beside) < last(&without) * 101 / 100, "{} {}", last(&without), last(&beside));
}

/// A process that puts data where it has no key for: nothing of it is written, and what the system software cannot take in time
/// is not recorded, so that nobody waits for it.
#[test]
fn an_errant_process_reaches_nobody_and_holds_up_nobody() {
    let [allowed, errant] = [false, true].map(|errs| {
        let case = Case::of_an_errant_process(errs);
        compare(&case).unwrap_or_else(|difference| panic!("{difference}"))
    });
    let counted = |name: &str| {
        let counts = &errant.nodes[1].counts.nic;
        counts.iter().find(|(it, _)| *it == name).map(|(_, count)| *count)
    };
    let [discarded, saved, unrecorded] =
        ["illegal packets discarded", "illegal packets saved in the EPQ", "illegal packets without a record"]
            .map(counted);
    assert_eq!(discarded, Some(200));
    assert!(saved > Some(4) && unrecorded > Some(100), "{saved:?} {unrecorded:?}");
    let dates = |outcome: &Outcome, process: usize| -> Vec<u64> {
        outcome.nodes[1].seen[process].iter().map(|(at, _)| at.0).collect()
    };
    assert_eq!([&allowed, &errant].map(|outcome| dates(outcome, 1).len()), [200, 0]);
    let [beside, without] = [&allowed, &errant].map(|outcome| dates(outcome, 0));
    assert_eq!(without.len(), 200);
    let last = |dates: &[u64]| dates[199];
    assert!(last(&without) <= last(&beside), "{} {}", last(&without), last(&beside));
}

/// A process without a valid page: its transfers fail or are dropped, and those of the process beside it, through the same DMA
/// engine, arrive no later.
#[test]
fn an_errant_process_breaks_its_own_queue_alone() {
    let [allowed, errant] = [false, true].map(|errs| {
        let case = Case::of_a_broken_queue(errs);
        compare(&case).unwrap_or_else(|difference| panic!("{difference}"))
    });
    let dates = |outcome: &Outcome, process: usize| -> Vec<u64> {
        outcome.nodes[1].seen[process].iter().map(|(at, _)| at.0).collect()
    };
    assert_eq!([&allowed, &errant].map(|outcome| dates(outcome, 1).len()), [40, 0]);
    let [beside, without] = [&allowed, &errant].map(|outcome| dates(outcome, 0));
    assert_eq!(without.len(), 40);
    assert!(without[39] <= beside[39], "{} {}", without[39], beside[39]);
    let told = errant.nodes[0].seen[1].iter();
    let failed = told.filter(|(_, completion)| completion.what == CompletionKind::Failed).count() as u64;
    let counts = &errant.nodes[0].counts.nic;
    let counted = |name: &str| counts.iter().find(|(it, _)| *it == name).map(|(_, count)| *count);
    let dropped = counted("commands dropped, as their queue is in error");
    assert_eq!(counted("of those, faults of addresses that are not valid"), Some(failed));
    assert!(failed > 0 && dropped == Some(40 - failed), "{failed} {dropped:?}");
}

/// What threads add up and gather is there, in order, on trees of all sizes, with the data in packets and by DMA.
#[test]
fn threads_reduce_and_gather_what_processes_have() {
    for nodes in 2..=8 {
        let at = |outcome: &Outcome, node: u32, byte: u64, bytes: u64| {
            outcome.nodes[node as usize].memory[0][byte as usize..][..bytes as usize].to_vec()
        };
        let case = Case::of_a_tree("reduce", nodes, 0);
        let outcome = compare(&case).unwrap_or_else(|difference| panic!("{nodes}: {difference}"));
        for node in 0..nodes {
            let sum = at(&outcome, node, RESULT, 8);
            assert_eq!(sum, u64::from(nodes * (nodes + 1) / 2).to_le_bytes(), "{nodes}: {node}");
            assert_eq!(outcome.nodes[node as usize].seen[0].len(), 2);
        }
        for bytes in [1, 8, 96, 97, 3_000] {
            let case = Case::of_a_tree("gather", nodes, bytes);
            let outcome =
                compare(&case).unwrap_or_else(|difference| panic!("{nodes}, {bytes}: {difference}"));
            for of_node in &outcome.nodes {
                assert_eq!((of_node.counts.fault.clone(), of_node.seen[0].len()), (None, 2), "{bytes} B");
            }
            // Data of its own that do not fit into a command are where they are.
            let first = u32::from(bytes > 96);
            for node in first..nodes {
                let own = (0..bytes).map(|byte| case.first_byte(node, 0, byte)).collect::<Vec<_>>();
                let there = at(&outcome, 0, RESULT + u64::from(node) * bytes, bytes);
                assert!(there == own, "{bytes} B of node {node} of {nodes}");
            }
        }
    }
}

/// A message that a thread refuses ten thousand times is dropped, and those behind it at their first refusal.
#[test]
fn what_is_refused_for_ever_is_dropped() {
    let outcome = compare(&Case::of_refusals()).unwrap_or_else(|difference| panic!("{difference}"));
    let counted = |node: usize, name: &str| {
        let of = outcome.nodes[node].counts.nic.iter().find(|(counter, _)| *counter == name);
        of.map(|(_, count)| *count)
    };
    assert_eq!(counted(0, "messages refused too often, dropped"), Some(3));
    // Two are under way at a time.
    let refused = counted(1, "messages refused by threads").unwrap();
    assert!((10_000..=20_001).contains(&refused), "{refused}");
    assert!(outcome.nodes[0].is_idle && outcome.nodes[0].seen[0].len() == 3);
}

#[test]
fn engine_and_reference_of_the_nic_of_dawning_5000_agree_on_random_cases() {
    check_all(Kind::Nap, &["hdq", "sdq", "sten", "packets that came corrupt"]);
}
