//! Links of several rates: what theory and `check` say of them, beside what is measured.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::choice;
use flitway_engine::Cycle;
use flitway_fabric::faults::{Fault, FaultKind, Faults, PortFault};
use flitway_fabric::link::LinkErrors;
use flitway_fabric::link::lanes::{LaneState, LaneStates};
use flitway_machine::Machine;
use flitway_report::bill::Bill;
use flitway_report::channels::{ChannelLoads, Waiting};
use flitway_report::faults::FaultPlan;
use flitway_report::measure::Verdict;
use flitway_report::point::Point;
use flitway_report::session::{Patience, Session};
use flitway_report::stages::Limit;
use flitway_report::theory::Theory;
use flitway_wiring::PortId;
use flitway_workload::Fraction;
use flitway_workload::traffic::Traffic;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn session(machine: &str, set: &[&str]) -> Session {
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    Session::new(Machine::load(machine, &set).unwrap_or_else(|problems| panic!("{problems}")), 1, 1)
}

fn traffic(session: &Session, percent: u64) -> Arc<Traffic> {
    let choice = choice("uniform", "256B", "bernoulli");
    Arc::new(session.traffic(&choice, Fraction::percent(percent)).unwrap())
}

fn point(session: &Session, percent: u64) -> Point {
    point_of(session, &traffic(session, percent), percent)
}

fn point_of(session: &Session, traffic: &Arc<Traffic>, percent: u64) -> Point {
    let patience = Patience { precision: 0.02, warm_up: Some(Cycle(20_000)), duration: Some(Cycle(40_000)) };
    session.point(traffic, percent as f64 / 100.0, patience, &AtomicBool::new(false), &mut |_| {})
}

/// Machines with links of half the rate: of nodes, of some switches, of all of them; and load at which links of nodes are full.
const HALF: [(&str, &[&str], f64); 5] = [
    ("sp-switch-16", &["link.rate.node=600 Mbit/s"], 0.5),
    ("sp-switch-16-input", &["link.rate.level-1=600 Mbit/s"], 1.0),
    ("nrc", &["link.rate.node=54303030303 bit/s"], 0.5),
    ("th-frame", &["link.rate.within-nrm=56 Gbit/s"], 1.0),
    ("qsnet2-64", &["link.rate.level-2=5333333333 bit/s"], 1.0),
];

fn half() -> impl Iterator<Item = (&'static str, Session, f64)> {
    HALF.iter().map(|&(machine, set, full)| (machine, session(machine, set), full))
}

#[test]
fn slow_channels_add_to_the_closed_form_what_is_measured() {
    for (machine, session, _) in half() {
        let theory = Theory::new(session.fabric(), &traffic(&session, 0));
        // Where switches choose by load there is none.
        let Some(theory) = theory else { continue };
        let measured = point(&session, 1).packet_latency.unwrap().mean;
        let closed = session.machine().clock.nanos(theory.zero_load_cycles);
        let excess = measured / closed - 1.0;
        assert!((-0.02..0.06).contains(&excess), "{machine}: {measured} against {closed}");
    }
}

#[test]
fn no_network_accepts_more_than_its_fullest_channel_and_what_is_full_is_told() {
    for (machine, session, full) in half() {
        let Some(theory) = Theory::new(session.fabric(), &traffic(&session, 50)) else { continue };
        let point = point(&session, 100);
        assert!(theory.channel_bound <= full + 1e-9, "{machine}: {theory:?}");
        assert!(point.accepted_load <= theory.channel_bound * 1.01, "{machine}: {theory:?} {point:?}");
    }
    let session = session("nrc", &["link.rate.node=54303030303 bit/s"]);
    // All links of a chip alone are equally slow.
    assert_eq!(limits(&session, "uniform", 100), (Some(Limit::Injection), None));
}

/// What limits a point of traffic of this pattern, and what is slow about the link that shows it.
fn limits(session: &Session, pattern: &str, percent: u64) -> (Option<Limit>, Option<String>) {
    let choice = choice(pattern, "256B", "bernoulli");
    let traffic = Arc::new(session.traffic(&choice, Fraction::percent(percent)).unwrap());
    let (stages, _) = point_of(session, &traffic, percent).stages.unwrap();
    (stages.limit, stages.slow)
}

#[test]
fn a_class_of_links_that_are_slower_than_others_is_what_limits() {
    // Packets for others wait behind those for the slow links, which are not quite full.
    let session = session("sp-switch-16-input", &["link.rate.level-1=300 Mbit/s"]);
    let slow = Some("links \"level-1\" at 1 flit in 4 cycles".to_owned());
    assert_eq!(limits(&session, "uniform", 100), (Some(Limit::Arbitration), slow));
}

#[test]
fn a_window_that_closes_is_what_limits_and_no_more_is_accepted_than_it_allows() {
    // Acknowledgements that wait for nothing come as early as they can: so the bound is reached.
    for window in [1, 4] {
        let window = format!("switch.link.window={window}");
        let session = session("nrc", &[&window, "switch.link.ack_delay=0 ns"]);
        let theory = Theory::new(session.fabric(), &traffic(&session, 50)).unwrap();
        let reached = point(&session, 100).accepted_load / theory.channel_bound;
        assert!((0.85..=1.0).contains(&reached), "{window}: {reached} of {theory:?}");
    }
    for window in [1, 2, 4, 8, 12] {
        let session = session("nrc", &[&format!("switch.link.window={window}")]);
        let theory = Theory::new(session.fabric(), &traffic(&session, 50)).unwrap();
        let point = point(&session, 100);
        assert!(point.accepted_load <= theory.channel_bound * 1.001, "{window}: {theory:?} {point:?}");
        assert_eq!(theory.channel_bound < 1.0, window < 8, "{window}: {theory:?}");
    }
    let session = session("nrc", &["switch.link.window=4"]);
    let slow = Some("links \"node\", whose window allows 51 % of the full rate".to_owned());
    assert_eq!(limits(&session, "tornado", 100), (Some(Limit::Window), slow));
}

#[test]
fn packets_that_switches_send_several_ways_are_reordered_and_counted() {
    let reordered = |machine: &str, set: &[&str]| point(&session(machine, set), 70).reordered;
    let several = reordered("sp-switch-64", &["switch.ascent=adaptive"]);
    assert_eq!(reordered("th-frame", &[]), None, "one way");
    assert!(several > Some(0), "{several:?}");
}

/// The link of node 3 is given up in the warm-up: what is for it, and what it would send, is lost and nowhere held.
#[test]
fn packets_that_are_lost_are_not_held() {
    let session = session("nrc", &[]);
    let cut = Fault {
        at: Cycle(0),
        component: session.fabric().topology().switches() + 3,
        kind: FaultKind::Port(PortId(0), PortFault::Lanes(LaneStates::new(&[LaneState::DEAD; 8]))),
    };
    let plan = FaultPlan { faults: Faults::new(vec![cut]), errors: LinkErrors::default(), manager: None };
    let session = session.with_faults(plan);
    let choice = choice("uniform", "256B", "bernoulli");
    let traffic = Arc::new(session.traffic(&choice, Fraction::percent(30)).unwrap());
    let patience = Patience { precision: 0.02, warm_up: Some(Cycle(40_000)), duration: Some(Cycle(80_000)) };
    let point = session.point(&traffic, 0.3, patience, &AtomicBool::new(false), &mut |_| {});
    let lost = point.faults.as_ref().unwrap().lost.sum();
    assert!(lost > 1_000 && point.accepted_load < 0.28, "{lost} {point:?}");
    assert_eq!((point.verdict, point.unsettled), (Verdict::Steady, None), "{point:?}");
}

/// Each node sends to another one, so that only what goes to node 3 and comes from there is slower with four lanes of eight.
#[test]
fn a_full_link_with_bad_lanes_is_what_limits() {
    let session = session("nrc", &[]);
    let (all, half) = ([LaneState::default(); 8], [LaneState::default(); 4]);
    let at_node = |at: u64, states: &[LaneState]| Fault {
        at: Cycle(at),
        component: session.fabric().topology().switches() + 3,
        kind: FaultKind::Port(PortId(0), PortFault::Lanes(LaneStates::new(states))),
    };
    let run = |list: Vec<Fault>, percent: u64| {
        let plan = FaultPlan { faults: Faults::new(list), errors: LinkErrors::default(), manager: None };
        limits(&session.clone().with_faults(plan), "tornado", percent)
    };
    assert_eq!(run(Vec::new(), 80), (None, None));
    let slow = |limit, text: &str| (Some(limit), Some(format!("link \"node 3\" at {text}")));
    assert_eq!(run(vec![at_node(0, &half)], 80), slow(Limit::Ejection, "4 of 8 lanes"));
    // With five bad lanes all of them run at a lower rate, here at the third, 5 of 14 Gbit/s: so do those of the other channel.
    assert_eq!(
        run(vec![at_node(0, &[LaneState::at(2); 8])], 95),
        slow(Limit::Injection, "8 of 8 lanes, each at 5/14 of its rate")
    );
    // Mended before it is measured.
    assert_eq!(run(vec![at_node(0, &half), at_node(100, &all)], 80), (None, None));
}

/// A link whose lanes are bad from the start carries what one carries whose lanes go bad in the first cycle; and what it does
/// is the same whether something else breaks in the run or not.
#[test]
fn lanes_that_are_bad_from_the_start_limit_and_the_bounds_know_of_them() {
    let bad = session("nrc", &["switch.link.lane_states=node 3: 4; switch 0 port 7: 8 at 5 Gbit/s"]);
    let four = Some("link \"node 3\" at 4 of 8 lanes".to_owned());
    let of_five = Some("link \"node 7\" at 8 of 8 lanes, each at 5/14 of its rate".to_owned());
    let three = session("nrc", &["switch.link.lane_states=node 3: 4"]);
    assert_eq!(limits(&three, "tornado", 80), (Some(Limit::Ejection), four));
    let seven = session("nrc", &["switch.link.lane_states=switch 0 port 7: 8 at 5 Gbit/s"]);
    assert_eq!(limits(&seven, "tornado", 80), (Some(Limit::Ejection), of_five));
    let bound =
        |session: &Session| Theory::new(session.fabric(), &traffic(session, 50)).unwrap().channel_bound;
    assert!((bound(&bad) - 5.0 / 14.0).abs() < 1e-9 && (bound(&three) - 0.5).abs() < 1e-9);
    let whole = bad.clone().with_faults(FaultPlan {
        faults: Faults::new(vec![Fault { at: Cycle(10_000_000), component: 0, kind: FaultKind::Dead }]),
        errors: LinkErrors::default(),
        manager: None,
    });
    let [plain, trained] = [&bad, &whole].map(|session| point(session, 30));
    assert_eq!(plain.packet_latency, trained.packet_latency);
    assert_eq!((plain.accepted_load, plain.packets), (trained.accepted_load, trained.packets));
}

#[test]
fn check_counts_cables_by_rate_and_finds_the_fullest_channel() {
    let session = session("sp-switch-16", &["link.rate.level-1=300 Mbit/s"]);
    let bill = Bill::new(session.machine(), session.fabric());
    let cables: Vec<_> =
        bill.cables.iter().map(|it| (it.class.as_str(), it.bits_per_second, it.count)).collect();
    assert_eq!(cables, [("node", Some([1_200_000_000; 2]), 16), ("level-1", Some([300_000_000; 2]), 16)]);
    let waiting = Waiting::new(session.fabric(), None).unwrap();
    let loads = ChannelLoads::new(&waiting, session.fabric(), &traffic(&session, 50)).unwrap();
    // 12 of 15 other nodes are behind level 1, whose channels are full at a quarter of the load.
    assert!((loads.bound - 15.0 / 12.0 / 4.0).abs() < 1e-9, "{loads:?}");
    assert_eq!((loads.classes[0].class.as_str(), loads.has_rates), ("level-1", true));
    assert!((loads.shortest_bound.unwrap() - loads.bound).abs() < 1e-9);
}
