//! The barrier protocol in every state of small worlds, with and without its rules.
//!
//! `cargo xtask prove` checks the large worlds too; `docs/barrier-protocol.md` tells what was found.

use flitway_reference::barrier::{World, claims};
use flitway_reference::explore::{Claim, Effort, Expected, Model as _, explore};
use stateright::{Checker, Model, Property};

/// Topics of claims, with a test below for each.
const TOPICS: [&str; 12] = [
    "protocol", "timers", "rule 1", "rule 2", "rule 3", "rule 4", "rule 5", "rule 6", "rule 7", "rule 8",
    "rule 10", "repair",
];

fn quick_claims() -> Vec<Claim<World>> {
    claims().into_iter().filter(|claim| claim.effort == Effort::Quick).collect()
}

/// Checks all quick claims of a topic.
fn check(topic: &str) {
    let claims: Vec<Claim<World>> =
        quick_claims().into_iter().filter(|claim| claim.topic() == topic).collect();
    assert!(!claims.is_empty(), "{topic} has claims");
    let refuted: Vec<String> =
        claims.iter().filter_map(|claim| claim.refute(&explore(&claim.world))).collect();
    assert!(refuted.is_empty(), "\n{}", refuted.join("\n"));
}

#[test]
fn the_protocol_is_safe_and_live_on_fifo_channels_that_lose_and_duplicate() {
    check("protocol");
}

#[test]
fn it_is_with_the_dun_timer_of_either_paper() {
    check("timers");
}

#[test]
fn rule_1_all_packets_carry_s_and_it_is_checked() {
    check("rule 1");
}

#[test]
fn rule_2_a_dun_is_answered_only_for_a_complete_operation() {
    check("rule 2");
}

#[test]
fn rule_3_arrivals_are_bits_and_no_count() {
    check("rule 3");
}

#[test]
fn rule_4_a_stale_combine_is_acked_unless_duns_need_no_ack() {
    check("rule 4");
}

#[test]
fn rule_5_s_flips_before_the_first_distribute_leaves() {
    check("rule 5");
}

#[test]
fn rule_6_a_distribute_counts_as_the_ack_or_is_refused_where_rule_4_holds() {
    check("rule 6");
}

#[test]
fn rule_7_all_begin_with_the_same_s() {
    check("rule 7");
}

#[test]
fn rule_8_nothing_of_an_earlier_set_up_is_on_the_way() {
    check("rule 8");
}

#[test]
fn rule_10_all_barrier_packets_of_a_channel_keep_their_order() {
    check("rule 10");
}

#[test]
fn a_dun_that_counts_as_a_combine_repairs_nothing_but_a_combine_with_every_dun_does() {
    check("repair");
}

#[test]
fn every_claim_is_tested_and_has_a_name_of_its_own() {
    let claims = claims();
    for (index, claim) in claims.iter().enumerate() {
        assert!(TOPICS.contains(&claim.topic()), "{}", claim.name);
        assert!(claims[..index].iter().all(|other| other.name != claim.name), "{}", claim.name);
    }
}

/// A world as an independent model checker takes it. A leaf that is released too early is a state of its own.
#[derive(Clone)]
struct Checked(World);

impl Model for Checked {
    type State = Option<u128>;
    type Action = Option<u128>;

    fn init_states(&self) -> Vec<Self::State> {
        vec![Some(self.0.first_key())]
    }

    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>) {
        actions.extend(state.iter().flat_map(|&key| self.0.next_keys(key)));
    }

    fn next_state(&self, _: &Self::State, action: Self::Action) -> Option<Self::State> {
        Some(action)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("nobody is released too early", |_, state: &Self::State| state.is_some())]
    }
}

/// The largest world that a test checks twice.
const STATES_MAX: usize = 40_000;

#[test]
fn an_independent_checker_finds_the_same_states_and_the_same_shortest_violations() {
    let mut twice = 0;
    for claim in quick_claims() {
        let own = explore(&claim.world);
        if own.states > STATES_MAX {
            continue;
        }
        twice += 1;
        let checker = Checked(claim.world.clone()).checker().spawn_bfs().join();
        let steps = checker.discovery("nobody is released too early").map(|path| path.into_actions().len());
        match claim.expected {
            Expected::Unsafe(length) => assert_eq!(steps, Some(length), "{}", claim.name),
            Expected::SafeAndLive | Expected::Stuck(_) => {
                assert_eq!(steps, None, "{}", claim.name);
                assert_eq!(checker.unique_state_count(), own.states, "{}", claim.name);
            }
        }
    }
    assert!(twice > 20, "most quick worlds are small: {twice}");
}
