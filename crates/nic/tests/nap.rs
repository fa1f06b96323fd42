//! The NIC of Dawning 5000 with small rings, queues and buffers: all data arrive, in order, and nothing sticks.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod common;

use common::{fabric, run};
use flitway_engine::Picos;
use flitway_engine::random::{Purpose, Stream};
use flitway_nic::host::HostSettings;
use flitway_nic::host::hyper_transport::HyperTransportSettings;
use flitway_nic::host::program::{CompletionKind, Operation, Submission, Verb};
use flitway_nic::host::story::Stage;
use flitway_nic::nap::NapSettings;
use flitway_wiring::NodeId;

/// Nodes, and processes of each.
const NODES: u32 = 4;
const PROCESSES: u8 = 2;

/// Everything small: two credits for each sender, packets of 32 B.
const SMALL: NapSettings = NapSettings {
    host: HostSettings {
        bus: HyperTransportSettings {
            ports: 2,
            clock: (200_000_000, 1),
            width: 2,
            payload: 64,
            request: 8,
            response: 4,
            read_request: 16,
            reads: 3,
            write_latency: Picos(296_000),
            burst: 16,
            burst_time: Picos(16_000),
            post_latency: Picos(120_000),
            read_latency: Picos(600_000),
        },
        poll: Picos(50_000),
    },
    issue: Picos(30_000),
    depth: 8,
    immediate: 24,
    slots: 16,
    peers: 8,
    slot: 24,
    events: 3,
    engines: 3,
    start: Picos(7_000),
    transmit: Picos(5_000),
    port_packets: 1,
    receive: Picos(11_000),
    receive_buffer: 40,
    words: 2,
    remote: Picos(9_000),
    barrier: Picos(8_000),
    mtu: 32,
};

fn send(node: u32, process: u8, bytes: u64) -> Operation {
    let (verb, by) = (Verb::Send, Submission::Pio);
    Operation { bytes, ..Operation::plain(verb, by, (NodeId(node), process)) }
}

/// A random operation of a process, which reads and writes bytes that no other one writes.
fn random(dice: &mut Stream, node: u32, process: u8, number: u64) -> Operation {
    let mut pick = |of: u64| dice.bits() % of;
    let (verb, by) = [
        (Verb::Send, Submission::Pio),
        (Verb::Send, Submission::Dma),
        (Verb::Put, Submission::Rendezvous),
        (Verb::Put, Submission::Dma),
        (Verb::Get, Submission::Dma),
        (Verb::Load, Submission::Pio),
        (Verb::Store, Submission::Pio),
    ][pick(7) as usize];
    let other = (node + 1 + pick(u64::from(NODES) - 1) as u32) % NODES;
    let bytes = if matches!(verb, Verb::Load | Verb::Store) { 1 + pick(8) } else { 1 + pick(150) };
    let place = (u64::from(node) * 2 + u64::from(process)) * 100 + number;
    // What is read is below a million, what is written above; those of each operation are its own.
    let [read, written] = [pick(1_000), 1_000_000 + place * 256 + pick(64)];
    let [here, there] =
        if matches!(verb, Verb::Get | Verb::Load) { [written, read] } else { [read, written] };
    let to = pick(u64::from(PROCESSES)) as u8;
    Operation {
        bytes,
        here,
        there,
        tells_left: pick(2) == 0,
        ..Operation::plain(verb, by, (NodeId(other), to))
    }
}

/// What memory has at the start.
fn first(node: u32, process: u8, byte: u64) -> u8 {
    (byte * 7 + byte / 256 + u64::from(node) * 31 + u64::from(process) * 101) as u8
}

/// Whether each of so many random operations has brought its data, and was seen as often as it should be.
fn all_arrive(settings: &NapSettings, seed: u64, rails: u32) {
    let mut dice = Stream::new(seed, 0, Purpose::Lane);
    let operations = |dice: &mut Stream, node, process| {
        (0..30).map(|number| random(dice, node, process, number)).collect::<Vec<_>>()
    };
    let scripts: Vec<Vec<Vec<Operation>>> = (0..NODES)
        .map(|node| (0..PROCESSES).map(|process| operations(&mut dice, node, process)).collect())
        .collect();
    let outcome = run(settings, &fabric(rails), &scripts, first, 1);
    for (node, of_node) in (0..).zip(&scripts) {
        for (process, operations) in (0..).zip(of_node) {
            for (number, operation) in (0..).zip(operations) {
                let Operation { verb, node: to, process: there, bytes, .. } = *operation;
                let is_back = matches!(verb, Verb::Get | Verb::Load);
                let ends = [(node, process, operation.here), (to.0, there, operation.there)];
                let [from, into] = if is_back { [ends[1], ends[0]] } else { ends };
                for byte in 0..bytes {
                    let expected = first(from.0, from.1, from.2 + byte);
                    let kept = outcome.byte(into.0, into.1, into.2 + byte);
                    assert_eq!(kept, expected, "{seed}: byte {byte} of {operation:?} of {node}.{process}");
                }
                let who = if verb.comes_back() { (node, process) } else { (to.0, there) };
                let seen = outcome.seen(who.0, who.1).iter().filter(|(_, it)| {
                    let is_it = (it.node.0, it.process, it.number) == (node, process, number);
                    is_it && it.what != CompletionKind::Left
                });
                let seen: Vec<_> = seen.collect();
                assert_eq!(seen.len(), 1, "{seed}: {operation:?} is seen once");
                let (at, completion) = seen[0];
                let spent: u64 = Stage::all().map(|stage| completion.story.spent(stage).0).sum();
                assert_eq!(spent, completion.story.latency().0, "{seed}: stages sum to the latency");
                assert_eq!(completion.story.until(), *at, "{seed}: the story is told to its end");
                let left = outcome.seen(node, process).iter();
                let left = left.filter(|(_, it)| it.what == CompletionKind::Left && it.number == number);
                let wants = operation.tells_left && !verb.comes_back();
                assert_eq!(
                    left.filter(|(_, it)| it.node.0 == node).count(),
                    usize::from(wants),
                    "{operation:?}"
                );
            }
        }
    }
}

#[test]
fn all_data_arrive_and_nothing_sticks() {
    for seed in 0..12 {
        all_arrive(&SMALL, seed, 1 + seed as u32 % 2);
    }
    let single = NapSettings { slots: 8, events: 1, engines: 1, words: 1, ..SMALL };
    let large = NapSettings { slots: 64, engines: 8, receive_buffer: 4096, port_packets: 4, ..SMALL };
    for seed in 12..20 {
        all_arrive(&single, seed, 2);
        all_arrive(&large, seed, 2);
    }
}

/// Packets of a process go over two rails and lanes drawn at random, and overtake each other there.
#[test]
fn messages_of_a_process_are_seen_in_order() {
    let settings = NapSettings { slots: 64, engines: 4, port_packets: 2, ..SMALL };
    let sends: Vec<Operation> = (0..60).map(|number| send(1, 0, 1 + number * 37 % 90)).collect();
    let others: Vec<Operation> = (0..60).map(|number| send(1, 0, 1 + number * 11 % 24)).collect();
    let scripts = vec![vec![sends], vec![vec![]], vec![others], vec![vec![]]];
    let outcome = run(&settings, &fabric(2), &scripts, first, 1);
    for source in [0, 2] {
        let from = outcome.seen(1, 0).iter().filter(|(_, it)| it.node.0 == source);
        assert!(from.map(|(_, it)| it.number).eq(0..60), "those of node {source}");
    }
    let early: u64 = outcome.counter(1, "packets that came before their turn");
    assert!(early > 0, "some came before their turn");
}

/// Two processes that send to each other more than queues, rings and the network hold, and see nothing before they have posted
/// all: each waits for room with its processor, and for credits that only the other's processor can return.
#[test]
fn full_queues_do_not_wait_for_each_other_in_a_circle() {
    let settings = NapSettings { slots: 8, ..SMALL };
    let to = |node| (0..100).map(|_| send(node, 0, 20)).collect::<Vec<_>>();
    let scripts = vec![vec![to(1)], vec![to(2)], vec![to(0)], vec![vec![]]];
    let outcome = run(&settings, &fabric(1), &scripts, first, 1);
    for node in 0..3 {
        assert_eq!(outcome.seen(node, 0).len(), 100, "node {node}");
        assert!(outcome.counter(node, "packets that lacked a credit") > 10, "one credit each");
    }
}

/// What lacks a credit keeps what is behind it in its queue, and nothing else.
#[test]
fn nobody_else_waits_for_credits_of_a_process() {
    let slow = NapSettings { slots: 8, host: HostSettings { poll: Picos(5_000_000), ..SMALL.host }, ..SMALL };
    let to_slow: Vec<Operation> = (0..20).map(|_| send(1, 0, 8)).collect();
    let put = Operation { verb: Verb::Get, by: Submission::Dma, there: 0, here: 1_000_000, ..send(2, 0, 8) };
    let scripts = vec![vec![to_slow, vec![put]], vec![vec![]], vec![vec![]], vec![vec![]]];
    let outcome = run(&slow, &fabric(1), &scripts, first, 1);
    let (got, _) = outcome.seen(0, 1)[0];
    assert!(got < Picos(8_000_000), "{got:?}: one poll");
    let (last, _) = *outcome.seen(1, 0).last().unwrap();
    assert!(last > Picos(100_000_000), "{last:?}: twenty of them");
}

/// A word that all add to: none is lost, and each has seen another sum.
#[test]
fn additions_of_all_nodes_are_one_after_the_other() {
    let add = Operation {
        verb: Verb::FetchAdd,
        there: 64,
        here: 1 << 20,
        bytes: 8,
        by: Submission::Pio,
        ..send(0, 0, 8)
    };
    let adds: Vec<Operation> =
        (0..10).map(|number| Operation { here: (1 << 20) + 8 * number, ..add }).collect();
    let scripts = vec![vec![vec![]], vec![adds.clone(), adds.clone()], vec![adds.clone()], vec![adds]];
    let one = |_: u32, _: u8, byte: u64| u8::from(byte >= 1 << 20 && byte.is_multiple_of(8));
    let outcome = run(&SMALL, &fabric(2), &scripts, one, 1);
    let word = |node, process, byte: u64| {
        let bytes: Vec<u8> = (0..8).map(|place| outcome.byte(node, process, byte + place)).collect();
        u64::from_le_bytes(bytes.try_into().unwrap())
    };
    assert_eq!(word(0, 0, 64), 40, "all were added");
    let places = [(1, 0), (1, 1), (2, 0), (3, 0)]
        .into_iter()
        .flat_map(|(node, process)| (0..10).map(move |number| (node, process, (1 << 20) + 8 * number)));
    let mut were: Vec<u64> = places.map(|(node, process, byte)| word(node, process, byte)).collect();
    were.sort_unstable();
    assert!(were.into_iter().eq(0..40), "each was another one");
}

#[test]
fn threads_change_nothing() {
    let mut dice = Stream::new(77, 0, Purpose::Lane);
    let scripts: Vec<Vec<Vec<Operation>>> = (0..NODES)
        .map(|node| vec![(0..30).map(|number| random(&mut dice, node, 0, number)).collect::<Vec<_>>()])
        .map(|mut of: Vec<Vec<Operation>>| {
            of.iter_mut().flatten().for_each(|it| it.process = 0);
            of
        })
        .collect();
    let of = |threads| run(&SMALL, &fabric(2), &scripts, first, threads);
    let one = of(1);
    for threads in [2, 3] {
        assert!(of(threads) == one, "{threads} threads");
    }
}

/// A ring of event records that has one entry: who waits gets it when the process has seen the one before, and none is lost.
#[test]
fn event_records_wait_for_entries() {
    let poll = Picos(5_000_000);
    let slow = NapSettings { events: 1, host: HostSettings { poll, ..SMALL.host }, ..SMALL };
    let put = Operation { verb: Verb::Put, by: Submission::Dma, there: 1 << 20, ..send(1, 0, 20) };
    let scripts = vec![vec![vec![put; 20]], vec![vec![]], vec![vec![]], vec![vec![]]];
    let outcome = run(&slow, &fabric(2), &scripts, first, 1);
    assert_eq!(outcome.seen(1, 0).len(), 20);
    assert!(outcome.counter(1, "event records that waited for an entry") >= 18);
}
