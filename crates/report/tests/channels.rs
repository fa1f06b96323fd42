//! Channel loads in closed form, and against the bound that stands beside measurements.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::choice;
use flitway_machine::Machine;
use flitway_report::channels::{ChannelLoads, Waiting};
use flitway_report::session::Session;
use flitway_report::theory::Theory;
use flitway_wiring::topology::End;
use flitway_wiring::{PortId, SwitchId};
use flitway_workload::Fraction;
use flitway_workload::traffic::Traffic;

fn loads(machine: &str, set: &[&str], pattern: &str) -> (ChannelLoads, Theory) {
    let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
    let session = Session::new(Machine::load(machine, &set).unwrap(), 1, 1);
    let choice = choice(pattern, "64B", "bernoulli");
    let traffic: Traffic = session.traffic(&choice, Fraction::ONE).unwrap();
    let waiting = Waiting::new(session.fabric(), None).unwrap();
    let loads = ChannelLoads::new(&waiting, session.fabric(), &traffic).unwrap();
    (loads, Theory::new(session.fabric(), &traffic).unwrap())
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn uniform_traffic_fills_a_fat_tree_from_below() {
    // FT(8, 3): of 127 other nodes 3 hang on the same leaf switch, and 15 in the same half of the levels.
    let (loads, _) = loads("fattree-128", &[], "uniform");
    let shares: Vec<(&str, &str, f64)> =
        loads.classes.iter().map(|one| (one.class.as_str(), one.direction, one.max)).collect();
    let expected = [
        ("node", "into nodes", 1.0),
        ("node", "out of nodes", 1.0),
        ("level-1", "down", 124.0 / 127.0),
        ("level-1", "up", 124.0 / 127.0),
        ("level-2", "down", 112.0 / 127.0),
        ("level-2", "up", 112.0 / 127.0),
    ];
    for (one, other) in shares.iter().zip(expected) {
        assert!((one.0, one.1) == (other.0, other.1) && is_near(one.2, other.2), "{shares:?}");
    }
    assert!(is_near(loads.bound, 1.0) && loads.channels == 2 * 3 * 128);
}

#[test]
fn a_ring_of_eight_carries_a_mean_of_two_hops_in_two_directions() {
    // Seven others, 1 + 2 + 3 + 4 + 3 + 2 + 1 = 16 links away in all, over two directions.
    let (loads, _) = loads("torus-8x8", &["topology.dimensions=[8]", "switch.vcs=2"], "uniform");
    let ring: Vec<_> = loads.classes.iter().filter(|one| one.class == "dimension-0").collect();
    assert!(ring.iter().all(|one| is_near(one.mean, 16.0 / 7.0 / 2.0)), "{ring:?}");
    // Half way round, even coordinates go up and odd ones down, so that neighbouring channels differ.
    assert!(is_near(loads.max, (6.0 + 2.0) / 7.0), "{loads:?}");
    assert!(is_near(loads.bound, 7.0 / 8.0));
}

#[test]
fn a_hotspot_is_the_busiest_channel_by_name() {
    let (loads, _) = loads("hpp-switch", &[], "hotspot(nodes=3, fraction=100%)");
    assert_eq!((loads.busiest, loads.busiest_count), (vec![End::Switch(SwitchId(0), PortId(3))], 1));
    assert!(loads.max > 15.0 - 1e-9 && is_near(loads.bound, 1.0 / loads.max));
}

#[test]
fn the_bound_is_the_one_that_runs_print() {
    for machine in ["hpp-switch", "mesh-8x8", "torus-8x8", "fattree-128"] {
        for pattern in ["uniform", "tornado", "neighbor", "hotspot(nodes=1, fraction=30%)", "random"] {
            let (loads, theory) = loads(machine, &[], pattern);
            assert!(is_near(loads.bound, theory.channel_bound), "{machine}, {pattern}");
        }
    }
}

/// What all nodes of a leaf send to nodes that d-mod-k sends up by one port goes over one channel. Drawn among all shortest
/// paths it goes over all of them: Clos networks are rearrangeable, and in the mean the load is even.
#[test]
fn drawn_paths_spread_what_destinations_do_not() {
    let bound = |routing: &str, pattern: &str| {
        loads("fattree-128", &[&format!("routing.algorithm={routing}")], pattern).0.bound
    };
    for (pattern, by_destination) in [("bit-reverse", 1.0 / 7.0), ("shuffle", 0.5), ("tornado", 1.0)] {
        assert!(is_near(bound("d-mod-k", pattern), by_destination), "{pattern}");
        assert!(is_near(bound("multi-path", pattern), 1.0), "{pattern}");
    }
}

/// An Elite4 takes any free link up, so that transposed pairs, of which four share a link by destination, all get through.
#[test]
fn where_switches_select_links_between_them_are_shared_evenly_and_are_no_bound() {
    let (selected, theory) = loads("qsnet2-64", &[], "transpose");
    let network: Vec<_> = selected.classes.iter().filter(|one| one.class != "node").collect();
    // The fullest leaf switches send to others alone, and three quarters of that beyond the sixteen nodes of theirs.
    let expected = |class: &str| if class == "level-1" { 1.0 } else { 0.75 };
    assert!(network.iter().all(|one| is_near(one.max, expected(&one.class))), "{network:?}");
    assert!(selected.are_shared && is_near(selected.bound, 1.0), "{selected:?}");
    assert!(theory.selects && is_near(theory.channel_bound, 1.0), "{theory:?}");
    assert_eq!(theory.first_full(), "into a node");

    let (first, theory) = loads("qsnet2-64", &["switch.selection=first"], "transpose");
    assert!(!first.are_shared && is_near(first.bound, 0.25), "{first:?}");
    assert!(!theory.selects && is_near(theory.channel_bound, 0.25), "{theory:?}");
}

/// All packets of a pair hash to one way: nothing is shared out, and the fullest channel is a bound, below that of equal parts.
#[test]
fn where_switches_hash_loads_are_those_of_the_ways_that_pairs_take() {
    let [even, hashed] = ["random", "hashed"].map(|selection| {
        loads("th-group", &[&format!("switch.selection={selection}")], "random-permutation").0
    });
    assert!(even.are_shared && !hashed.are_shared);
    assert!(hashed.bound < even.bound && is_near(hashed.bound, 1.0 / hashed.max), "{hashed:?}");
    assert!(is_near(hashed.max.fract(), 0.0), "whole packets of whole pairs: {}", hashed.max);
    assert!(is_near(hashed.mean, even.mean), "no way is longer than another");
}
