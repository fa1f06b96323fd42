//! Links of several rates: what theory and `check` say of them, beside what is measured.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::choice;
use flitway_engine::Cycle;
use flitway_machine::Machine;
use flitway_report::bill::Bill;
use flitway_report::channels::{ChannelLoads, Waiting};
use flitway_report::point::Point;
use flitway_report::session::{Patience, Session};
use flitway_report::stages::Limit;
use flitway_report::theory::Theory;
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
    let patience = Patience { precision: 0.02, warm_up: Some(Cycle(20_000)), duration: Some(Cycle(40_000)) };
    session.point(
        &traffic(session, percent),
        percent as f64 / 100.0,
        patience,
        &AtomicBool::new(false),
        |_| {},
    )
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
    let limit = point(&session, 100).stages.and_then(|(stages, _)| stages.limit);
    assert_eq!(limit, Some(Limit::Injection));
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
