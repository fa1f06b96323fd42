use super::*;
use crate::PlanError;
use crate::testing::run_observed;
use flitway_fabric::Flow;
use flitway_fabric::barrier::Faults;
use flitway_fabric::chip::Repeats;
use flitway_wiring::routing::{Routing, RoutingKind};
use flitway_wiring::topology::{Topology, TopologySettings};
use flitway_workload::barrier::{Barrier, BarrierChoice};
use flitway_workload::multicast::members;
use std::collections::BTreeMap;

const LATENCY: u64 = 50;
const SEND: u64 = 3;
const RECEIVE: u64 = 2;

fn plan(members: &str, method: Method, interval: u64, imbalance: u64) -> Result<Arc<BarrierPlan>, PlanError> {
    let choice = BarrierChoice { members: members::parse(members).unwrap(), interval, imbalance };
    let barrier = Arc::new(Barrier::build(&choice, 16, 3).unwrap());
    let tree = Topology::build(&TopologySettings::FatTree { ports: 4, levels: 3 }).unwrap();
    let routing = Routing::new(RoutingKind::DModK, Arc::new(tree)).unwrap();
    let settings = PlanSettings {
        method,
        barriers_max: 16,
        groups_max: 2,
        shares_with_multicast: false,
        rails: 2,
        send_overhead: SEND,
        receive_overhead: RECEIVE,
        ranges: matches!(method, Method::Conditional).then_some(Repeats { at_once: 2, back_off: 70 }),
        faults: Faults::default(),
        seed: 3,
    };
    BarrierPlan::new(&barrier, &routing, settings).map(Arc::new)
}

/// The passages of every operation that all members have passed by cycle `end`.
fn operations(plan: &Arc<BarrierPlan>, end: u64) -> Vec<Vec<BarrierPassage>> {
    let mut nodes: Vec<Synchroniser> = (0..16).map(|node| Synchroniser::new(plan, NodeId(node))).collect();
    let (_, events) = run_observed(&mut nodes, &[LATENCY, LATENCY], end);
    let mut operations: BTreeMap<(u32, u32), Vec<BarrierPassage>> = BTreeMap::new();
    for event in events {
        let MessageEvent::Synchronised(passage) = event else { panic!("there are barriers only") };
        operations.entry((passage.group, passage.operation)).or_default().push(passage);
    }
    operations.retain(|&(group, _), passages| passages.len() == plan.members(group) as usize);
    operations.into_values().collect()
}

fn last_arrival(passages: &[BarrierPassage]) -> Cycle {
    passages.iter().map(|passage| passage.arrived).max().unwrap()
}

#[test]
fn nobody_goes_on_before_everybody_has_arrived() {
    for method in [Method::CentralCounter, Method::PairWise, Method::Conditional] {
        for members in ["broadcast", "nodes(1+4-9+15)", "nodes(2+3)", "random(members=5, groups=6)"] {
            for (interval, imbalance) in [(0, 0), (7, 0), (40, 300)] {
                let plan = plan(members, method, interval, imbalance).unwrap();
                let operations = operations(&plan, 30_000);
                assert!(operations.len() > 50, "{method:?} {members}: {} operations", operations.len());
                for passages in &operations {
                    let last = last_arrival(passages);
                    assert!(passages.iter().all(|it| it.released >= last), "{method:?}: {passages:?}");
                }
            }
        }
    }
}

#[test]
fn a_round_is_a_message_and_its_overheads() {
    for (members, rounds) in [("nodes(2+3)", 1), ("nodes(0-4)", 3), ("broadcast", 4)] {
        let plan = plan(members, Method::PairWise, 100, 0).unwrap();
        let operations = operations(&plan, 5_000);
        assert!(operations.len() > 8);
        for passages in &operations {
            let last = last_arrival(passages);
            let cycles = rounds * (SEND + LATENCY + RECEIVE);
            assert!(passages.iter().all(|it| it.released == last + cycles), "{passages:?}");
        }
    }
}

#[test]
fn the_one_that_counts_takes_and_sends_one_after_the_other() {
    let plan = plan("nodes(0-4)", Method::CentralCounter, 100, 0).unwrap();
    let operations = operations(&plan, 5_000);
    // The first operation begins at once for all.
    let released = operations[0].iter().map(|it| it.released.since(it.arrived)).collect::<Vec<_>>();
    let counted = SEND + LATENCY + 4 * RECEIVE;
    let others = (1..=4).map(|place| counted + place * SEND + LATENCY + RECEIVE);
    let mut expected: Vec<u64> = others.chain([counted + 4 * SEND]).collect();
    expected.sort_unstable();
    let mut released = released;
    released.sort_unstable();
    assert_eq!(released, expected);
}

/// Writes, tests and their answers, and the release: of each range, one after the other on the processor of the first member.
#[test]
fn a_conditional_is_a_test_and_a_release() {
    for (members, ranges) in [("nodes(2-5)", 1), ("broadcast", 1), ("nodes(0-3+5-7+9)", 3)] {
        let plan = plan(members, Method::Conditional, 1_000, 0).unwrap();
        let first = plan.first(0);
        let operations = operations(&plan, 50_000);
        assert!(operations.len() > 40);
        for passages in &operations {
            let last = last_arrival(passages);
            let tested = SEND + ranges * SEND + 2 * LATENCY + RECEIVE;
            let slowest = passages.iter().map(|it| it.released).max().unwrap();
            assert_eq!(slowest, last + tested + ranges * SEND + LATENCY + RECEIVE, "{members} {first}");
        }
    }
}

/// A test that was false is made again at once as often as the machine says, and later after a while.
#[test]
fn false_tests_are_made_again() {
    let plan = plan("nodes(2-5)", Method::Conditional, 4_000, 4_000).unwrap();
    let mut nodes: Vec<Synchroniser> = (0..16).map(|node| Synchroniser::new(&plan, NodeId(node))).collect();
    let (packets, _) = run_observed(&mut nodes, &[LATENCY, LATENCY], 100_000);
    let tests = packets
        .iter()
        .filter(|(_, _, packet)| BarrierTag::of(packet.flow).is_some_and(|tag| tag.word == Word::Tested(0)));
    let tests: Vec<(u64, bool)> =
        tests.map(|(at, _, packet)| (*at, BarrierTag::of(packet.flow).unwrap().is_odd)).collect();
    let operations = tests.chunk_by(|a, b| a.1 == b.1).filter(|tests| tests.len() > 5);
    let round_trip = 2 * LATENCY + RECEIVE + SEND;
    let mut count = 0;
    for tests in operations {
        count += 1;
        let gaps: Vec<u64> = tests.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        assert_eq!(gaps[..2], [round_trip; 2]);
        assert!(gaps[2..].iter().all(|&gap| gap == round_trip + 70), "{gaps:?}");
    }
    assert!(count > 3, "{count} operations with many tests");
}

#[test]
fn switches_have_room_for_so_many_groups() {
    let needed = |members, method| match plan(members, method, 1, 0) {
        Ok(plan) => Ok(plan.barriers().len()),
        Err(PlanError::TooManyGroups { needed, room }) => Err((needed, room)),
        Err(other) => panic!("{other}"),
    };
    assert_eq!(needed("random(members=3, groups=16)", Method::Switches), Ok(16));
    assert_eq!(needed("random(members=3, groups=17)", Method::Switches), Err((17, 16)));
    assert_eq!(needed("random(members=3, groups=17)", Method::PairWise), Ok(0));
    assert_eq!(needed("random(members=3, groups=3)", Method::ThreeTrips), Err((3, 2)));
}

#[test]
fn tags_are_read_as_they_are_written() {
    let tests = [Word::Tested(0), Word::Tested((1 << 24) - 1)];
    for word in
        [Word::Arrived, Word::Released, Word::Asked, Word::Round(0), Word::Round(23)].into_iter().chain(tests)
    {
        for is_odd in [false, true] {
            let tag = BarrierTag { group: 0xAB_CDEF, is_odd, word };
            assert_eq!(BarrierTag::of(tag.into()), Some(tag));
            assert_eq!(crate::multicaster::OperationTag::of(tag.into()), None);
        }
    }
    let other = crate::multicaster::OperationTag { group: 0x7FFF, source: NodeId(1), sequence: 2 };
    assert_eq!((BarrierTag::of(other.into()), BarrierTag::of(Flow::traffic(1 << 62))), (None, None));
}
