//! The classical results of adaptive routing in a dragonfly of switches that select by load: Kim, Dally, Scott and Abts, ISCA
//! 2008, section 4.2; Jiang, Kim and Dally, ISCA 2009.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod common;

use common::choice;
use flitway_engine::Cycle;
use flitway_machine::Machine;
use flitway_report::measure::Verdict;
use flitway_report::point::Point;
use flitway_report::session::{Patience, Session};
use flitway_report::theory::Theory;
use flitway_workload::Fraction;
use flitway_workload::traffic::{Traffic, TrafficChoice, destination};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Nine groups of four switches with two nodes and two global ports each: a = 2 p = 2 h.
const DRAGONFLY: &str =
    "topology={kind=\"dragonfly\", switches_per_group=4, nodes_per_switch=2, global_ports=2}";
const NODES: u32 = 72;
const OF_A_GROUP: u32 = 8;

/// The dragonfly of the switches of `machine`, with what else is set.
fn dragonfly(machine: &str, routing: &str, vcs: u32, more: &[&str]) -> Session {
    let (routing, vcs) = (format!("routing={{algorithm=\"{routing}\"}}"), format!("switch.vcs={vcs}"));
    let set = [
        DRAGONFLY,
        &routing,
        &vcs,
        "link.length={node=\"1 m\", switch=\"1 m\"}",
        "nic.vc=by-packet",
        "switch.selection=least-loaded",
    ];
    let set: Vec<String> = set.iter().chain(more).map(|&text| text.to_owned()).collect();
    Session::new(Machine::load(machine, &set).unwrap(), 1, 1)
}

fn session(routing: &str, vcs: u32) -> Session {
    dragonfly("th-frame", routing, vcs, &["switch.buffers.row=4 KiB", "switch.buffers.column=4 KiB"])
}

fn of_hpp(routing: &str, vcs: u32) -> Session {
    dragonfly("hpp-switch", routing, vcs, &[])
}

/// Each node sends to the nodes of the next group.
fn to_the_next_group() -> String {
    let group = |node: u32| node / OF_A_GROUP;
    let is_next = |source, node| (group(source) + 1) % (NODES / OF_A_GROUP) == group(node);
    let line = |source| {
        (0..NODES).map(|node| if is_next(source, node) { "1 " } else { "0 " }).collect::<String>() + "\n"
    };
    (0..NODES).map(line).collect()
}

fn traffic(session: &Session, pattern: &str, percent: u64) -> Arc<Traffic> {
    let destinations = destination::parse_with(pattern, &|_| Ok(to_the_next_group())).unwrap();
    let choice = TrafficChoice { destinations, ..choice("uniform", "256B", "bernoulli") };
    Arc::new(session.traffic(&choice, Fraction::percent(percent)).unwrap())
}

fn point(session: &Session, pattern: &str, percent: u64) -> Point {
    let patience = Patience { precision: 0.02, warm_up: Some(Cycle(12_000)), duration: Some(Cycle(10_000)) };
    let traffic = traffic(session, pattern, percent);
    session.point(&traffic, percent as f64 / 100.0, patience, &AtomicBool::new(false), &mut |_| {})
}

fn mean(point: &Point) -> f64 {
    point.packet_latency.as_ref().unwrap().mean
}

/// Adversarial traffic: of minimal routing the one link between two groups takes 1 / (a p) = 1 / 8, Valiant's takes near a
/// half, and it takes half of uniform traffic too; UGAL and PAR take of each what the better one does.
#[test]
fn ugal_takes_uniform_traffic_as_minimal_routing_and_adversarial_traffic_as_valiant() {
    const ADVERSARIAL: &str = "matrix(next)";
    let takes = |point: &Point, load: f64| (point.accepted_load - load).abs() < 0.02;
    let (minimal, valiant) = (session("minimal", 2), session("valiant", 6));
    let of = |session: &Session| (point(session, "uniform", 80), point(session, ADVERSARIAL, 40));
    let (uniform, adversarial) = of(&minimal);
    assert!(takes(&uniform, 0.8) && adversarial.accepted_load <= 0.127, "{}", adversarial.accepted_load);
    assert_eq!(adversarial.verdict, Verdict::Saturated);
    let (halved, by_way) = of(&valiant);
    assert!(halved.accepted_load < 0.6 && takes(&by_way, 0.4), "{}", halved.accepted_load);
    for session in [session("ugal", 6), session("par", 8)] {
        let (straight, around) = of(&session);
        assert!(takes(&straight, 0.8) && takes(&around, 0.4), "{}", around.accepted_load);
        // Nearly all of uniform traffic goes minimally.
        let more = straight.hops_mean - uniform.hops_mean;
        assert!(mean(&straight) < 1.1 * mean(&uniform) && more < 0.3, "{more} hops more");
        assert!(around.hops_mean > adversarial.hops_mean);
        // What switches choose no theory tells.
        assert_eq!(Theory::new(session.fabric(), &traffic(&session, "uniform", 80)), None);
    }
}

/// The same on HPP Switches, whose sources write both ways; and there, too, the packets of PAR wait for less than those of
/// UGAL. A packet is several credit units, so that an output that sends one has more than twice the load of an idle one: with
/// uniform traffic, too, some go by way.
#[test]
fn on_hpp_switches_too_ugal_and_par_take_what_the_better_way_does() {
    const ADVERSARIAL: &str = "matrix(next)";
    let takes = |point: &Point, load: f64| (point.accepted_load - load).abs() < 0.02;
    let (minimal, valiant) = (of_hpp("minimal", 4), of_hpp("valiant", 6));
    let (uniform, adversarial) = (point(&minimal, "uniform", 60), point(&minimal, ADVERSARIAL, 40));
    assert!(takes(&uniform, 0.6) && adversarial.accepted_load <= 0.125, "{}", adversarial.accepted_load);
    assert_eq!(adversarial.verdict, Verdict::Saturated);
    let halved = point(&valiant, "uniform", 60);
    assert!(halved.accepted_load < 0.55, "{}", halved.accepted_load);
    let times = [("ugal", 6), ("par", 8)].map(|(routing, vcs)| {
        let session = of_hpp(routing, vcs);
        let (straight, around) = (point(&session, "uniform", 60), point(&session, ADVERSARIAL, 40));
        let accepted = (straight.accepted_load, around.accepted_load);
        assert!(takes(&straight, 0.6) && takes(&around, 0.4), "{routing}: {accepted:?}");
        let more = straight.hops_mean - uniform.hops_mean;
        assert!(more < 0.8 && around.hops_mean > straight.hops_mean, "{routing}: {more} hops more");
        assert_eq!(Theory::new(session.fabric(), &traffic(&session, "uniform", 60)), None);
        mean(&around)
    });
    assert!(times[1] < 0.85 * times[0], "{times:?}");
}

/// PAR corrects what the switch of the source has not seen, and so its packets wait for less.
#[test]
fn par_is_faster_than_ugal_where_the_minimal_way_is_full_behind_the_first_switch() {
    let of = |routing, vcs| mean(&point(&session(routing, vcs), "matrix(next)", 40));
    let (ugal, par) = (of("ugal", 6), of("par", 8));
    assert!(par < 0.85 * ugal, "{par} of {ugal}");
}

/// All shortest ways with escapes: adversarial traffic of a torus that dimension order sends over few channels.
#[test]
fn adaptive_shortest_ways_take_more_than_dimension_order_and_never_stop() {
    let accepted = |routing: &str| {
        let routing = format!("routing={{algorithm=\"{routing}\"}}");
        let set = [
            "topology={kind=\"torus\", dimensions=[6, 6]}",
            &routing,
            "switch.vcs=4",
            "switch.selection=least-loaded",
            "switch.buffers.organisation=samq",
            "link.length={node=\"1 m\", switch=\"1 m\"}",
            "nic.vc=by-packet",
        ];
        let session = Session::new(Machine::load("th-frame", &set.map(str::to_owned)).unwrap(), 1, 1);
        let point = point(&session, "transpose", 60);
        assert_ne!(point.verdict, Verdict::Deadlock);
        point.accepted_load
    };
    let (adaptive, fixed) = (accepted("adaptive"), accepted("dimension-order"));
    assert!(adaptive > 1.05 * fixed, "{adaptive} and {fixed}");
}

/// Tornado traffic of a ring of eight and of an 8 x 8 torus: dimension order keeps one direction of each ring busy, three
/// channels for each packet, and takes a third; by way of any switch all channels carry the same, and it takes near a half, as
/// of any other traffic. (Dally and Towles, Principles and Practices of Interconnection Networks, 2004, section 9.1.1.)
#[test]
fn valiant_takes_near_half_of_tornado_traffic_on_tori_and_dimension_order_a_third() {
    let accepted = |dimensions: &str, routing: &str, pattern: &str, load: u64| {
        let topology = format!("topology={{kind=\"torus\", dimensions={dimensions}}}");
        let routing = format!("routing={{algorithm=\"{routing}\"}}");
        let set = [
            &topology,
            &routing,
            "switch.vcs=8",
            "switch.buffers.organisation=samq",
            "switch.buffers.row=4 KiB",
            "switch.buffers.column=4 KiB",
            "link.length={node=\"1 m\", switch=\"1 m\"}",
            "nic.vc=by-packet",
        ];
        let session = Session::new(Machine::load("th-frame", &set.map(str::to_owned)).unwrap(), 1, 1);
        let point = point(&session, pattern, load);
        assert_ne!(point.verdict, Verdict::Deadlock);
        point.accepted_load
    };
    for dimensions in ["[8]", "[8, 8]"] {
        let straight = accepted(dimensions, "dimension-order", "tornado", 60);
        assert!(straight <= 0.335, "{dimensions}: {straight}");
        for pattern in ["tornado", "uniform"] {
            let by_way = accepted(dimensions, "valiant", pattern, 44);
            assert!((by_way - 0.44).abs() < 0.02, "{dimensions} {pattern}: {by_way}");
        }
        let most = accepted(dimensions, "valiant", "tornado", 50);
        assert!(most > 0.335 && most < 0.505, "{dimensions}: {most}");
    }
}
