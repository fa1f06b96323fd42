//! Random settings of the NIC of Dawning 5000 and of the HPP Switches around it, and what its processes ask it for.

use super::{Dice, Plan, chips, with_latencies};
use flitway_engine::Picos;
use flitway_fabric::BarrierId;
use flitway_nic::host::HostSettings;
use flitway_nic::host::bus::Reference;
use flitway_nic::host::hyper_transport::HyperTransportSettings;
use flitway_nic::host::program::{Meeting, Operation, Submission, Verb};
use flitway_nic::nap::NapSettings;
use flitway_switch::SwitchSettings;
use flitway_wiring::NodeId;
use std::collections::{BTreeMap, BTreeSet};

/// What a process asks for, and how.
pub(super) fn what(dice: &mut Dice) -> (Verb, Submission) {
    dice.pick(&[
        (Verb::Send, Submission::Pio),
        (Verb::Send, Submission::Pio),
        (Verb::Send, Submission::Dma),
        (Verb::Put, Submission::Rendezvous),
        (Verb::Put, Submission::Rendezvous),
        (Verb::Put, Submission::Dma),
        (Verb::Get, Submission::Dma),
        (Verb::Load, Submission::Pio),
        (Verb::Store, Submission::Pio),
        (Verb::FetchAdd, Submission::Pio),
    ])
}

/// Its settings, but for the rings of NAP: see [`finish`].
pub(super) fn settings(dice: &mut Dice) -> NapSettings {
    let host = HostSettings { bus: bus(dice), poll: dice.time() };
    let mtu = dice.pick(&[64, 128, 128, 256, 512]);
    NapSettings {
        host,
        issue: dice.time(),
        depth: dice.pick(&[1, 1, 2, 3, 4, 5, 8, 16]),
        immediate: dice.pick(&[0, 1, 60, 128, 4_096]),
        slots: 0,
        peers: 0,
        slot: mtu.min(dice.pick(&[16, 17, 64, 100, 4_096])),
        events: dice.pick(&[1, 1, 2, 3, 4, 5, 8, 64]),
        engines: dice.between(1, 4),
        start: dice.time(),
        transmit: dice.time(),
        port_packets: dice.pick(&[1, 1, 2, 2, 4, 16]),
        receive: dice.time(),
        receive_buffer: mtu + dice.pick(&[0, 0, 1, 100, 1_000, 32_768]),
        words: dice.pick(&[1, 1, 2, 3, 8]),
        remote: dice.time(),
        barrier: Picos(0),
        mtu,
    }
}

/// Gives `settings` the rings of NAP that `plans` need, and these their locks.
pub(super) fn finish(dice: &mut Dice, seed: u64, settings: &mut NapSettings, plans: &mut [Vec<Plan>]) {
    *settings = divided(dice, *settings, plans);
    add_locks(seed, plans);
    add_barriers(seed, settings, plans);
}

/// The same with rings that all who send in `plans` have slots of: each a few, or one.
fn divided(dice: &mut Dice, settings: NapSettings, plans: &[Vec<Plan>]) -> NapSettings {
    // By ring: who sends to it.
    let mut senders: BTreeMap<(u32, u8), BTreeSet<(u32, u8)>> = BTreeMap::new();
    for (node, plans) in (0..).zip(plans) {
        for (process, plan) in (0..).zip(plans) {
            for Operation { verb, by, node: there, process: of, .. } in plan.start.iter().chain(&plan.then) {
                let (own, other) = ((node, process), (there.0, *of));
                if *verb == Verb::Send || *by == Submission::Rendezvous {
                    senders.entry(other).or_default().insert(own);
                }
                if *by == Submission::Rendezvous {
                    senders.entry(own).or_default().insert(other);
                }
            }
        }
    }
    let most = senders.values().map(BTreeSet::len).max().unwrap_or(0);
    let peers = most.max(1) as u32 + dice.pick(&[0, 0, 1, 5]);
    let slots = peers * dice.pick(&[1, 1, 2, 3, 4, 8]) + dice.below(peers.into()) as u32;
    NapSettings { slots, peers, ..settings }
}

/// The nodes whose processes meet by the switches, if some do.
pub(super) fn meeters(plans: &[Vec<Plan>]) -> Vec<NodeId> {
    let by_switches = |plan: &Plan| matches!(plan.setup.barrier, Some(Meeting::Switches(_)));
    let nodes = (0..).zip(plans).filter(|(_, plans)| plans.iter().any(by_switches));
    nodes.map(|(node, _)| NodeId(node)).collect()
}

/// In half of the cases processes of consecutive nodes meet, by the switches or up a tree: each as often, somewhere among what
/// it does first.
fn add_barriers(seed: u64, settings: &mut NapSettings, plans: &mut [Vec<Plan>]) {
    let dice = &mut Dice::new(seed, 2);
    if dice.one_in(2) {
        return;
    }
    settings.barrier = dice.time();
    let nodes = plans.len() as u32;
    let first = dice.below(u64::from(nodes) - 1) as u32;
    let count = dice.between(2, nodes - first);
    let (by_switches, arity) = (dice.one_in(2), dice.between(1, 3));
    let times = dice.between(1, 5);
    for (rank, plans) in (0..count).zip(&mut plans[first as usize..]) {
        let below = |rank: u32| (first + (rank * arity + 1).min(count)).min(first + count);
        let meeting = match by_switches {
            true => Meeting::Switches(BarrierId::new(0)),
            false => Meeting::Tree {
                parent: rank.checked_sub(1).map(|it| NodeId(first + it / arity)),
                children: below(rank)..below(rank + 1),
            },
        };
        let members = dice.between(1, plans.len() as u32) as usize;
        for plan in plans.iter_mut().rev().take(members) {
            plan.setup.barrier = Some(meeting.clone());
            for _ in 0..times {
                let barrier = Operation::plain(Verb::Barrier, Submission::Pio, (NodeId(first + rank), 0));
                let computes = if dice.one_in(4) { dice.time() } else { Picos(0) };
                let before = dice.below(plan.start.len() as u64 + 1) as usize;
                plan.start.insert(before, Operation { computes, ..barrier });
            }
        }
    }
}

/// In half of the cases processes take locks, of which there are few, and free some: in any order, now and then in vain.
fn add_locks(seed: u64, plans: &mut [Vec<Plan>]) {
    let dice = &mut Dice::new(seed, 1);
    if dice.one_in(2) {
        return;
    }
    let nodes = plans.len() as u32;
    let processes: Vec<u32> = plans.iter().map(|plans| plans.len() as u32).collect();
    let (homes, locks) = (dice.between(1, nodes), dice.between(1, 3));
    let most = dice.pick(&[2, 4, 12]);
    for (own, plan) in (0..).zip(plans).flat_map(|(own, plans)| plans.iter_mut().map(move |it| (own, it))) {
        for _ in 0..dice.below(most) {
            let home = match dice.below(homes.into()) as u32 {
                home if home == own => (own + 1) % nodes,
                home => home,
            };
            let process = dice.below(processes[home as usize].min(2).into()) as u8;
            let there = u64::from(dice.between(1, locks)) * 40;
            let of = |verb| Operation {
                there,
                ..Operation::plain(verb, Submission::Pio, (NodeId(home), process))
            };
            let first = dice.pick(&[Verb::Lock, Verb::Lock, Verb::TryLock, Verb::TryLock, Verb::Unlock]);
            let computes = if dice.one_in(3) { dice.time() } else { Picos(0) };
            let before = dice.below(plan.start.len() as u64 + 1) as usize;
            plan.start.insert(before, of(first));
            if !dice.one_in(6) {
                let before = dice.below(plan.then.len() as u64 + 1) as usize;
                plan.then.insert(before, Operation { computes, ..of(Verb::Unlock) });
            }
        }
    }
}

fn bus(dice: &mut Dice) -> HyperTransportSettings {
    let (clock, width) = match dice.is_coarse {
        true => dice.pick(&[((62_500_000, 1), 2), ((125_000_000, 1), 1), ((250_000_000, 1), 2)]),
        false => (
            dice.pick(&[(200_000_000, 1), (200_000_000, 1), (400_000_000, 3), (1_000_000_000, 1)]),
            dice.pick(&[1, 2, 2, 4]),
        ),
    };
    let bus = HyperTransportSettings {
        ports: dice.between(1, 2),
        clock,
        width,
        payload: dice.pick(&[16, 32, 64, 64]),
        request: dice.pick(&[4, 8, 8, 12]),
        response: dice.pick(&[4, 4, 8]),
        read_request: dice.pick(&[32, 64, 64, 256]),
        reads: dice.pick(&[1, 2, 4, 32]),
        write_latency: Default::default(),
        burst: dice.pick(&[8, 16, 48, 64, 64]),
        burst_time: dice.time(),
        post_latency: Default::default(),
        read_latency: Default::default(),
    };
    with_latencies(dice, bus, |bus, of| match of {
        Reference::Write => &mut bus.write_latency,
        Reference::Post => &mut bus.post_latency,
        Reference::Read | Reference::CachedRead => &mut bus.read_latency,
    })
}

/// An HPP Switch.
pub(super) fn chip(dice: &mut Dice, mtu: u32) -> SwitchSettings {
    let mut hpp = chips::hpp(chips::format(4, mtu));
    hpp.vcs = dice.between(1, 4);
    hpp.buffer_units = hpp.vcs * dice.between(1, 8);
    hpp.tx_fifo = dice.between(1, 4);
    SwitchSettings::Hpp(hpp)
}
