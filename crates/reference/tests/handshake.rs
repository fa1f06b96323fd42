//! The handshake of links in every state of small worlds.

mod checked;

use checked::{agree_with_an_independent_checker, check_quick, each_is_tested_and_has_a_name};
use flitway_reference::handshake::claims;

/// Topics of claims, with a test below for each.
const TOPICS: [&str; 4] = ["protocol", "rule 1", "rule 2", "rule 3"];

fn check(topic: &str) {
    check_quick(claims(), topic);
}

#[test]
fn ends_that_are_active_agree_and_both_become_active_whatever_is_lost() {
    check("protocol");
}

#[test]
fn rule_1_a_test_is_heard_and_outlives_what_was_on_the_way() {
    check("rule 1");
}

#[test]
fn rule_2_an_end_that_is_active_was_said_back_what_it_has_found() {
    check("rule 2");
}

#[test]
fn rule_3_hellos_are_said_again_or_silence_heals_them() {
    check("rule 3");
}

#[test]
fn every_claim_is_tested_and_has_a_name_of_its_own() {
    each_is_tested_and_has_a_name(claims(), &TOPICS);
}

#[test]
fn an_independent_checker_finds_the_same_states_and_the_same_shortest_violations() {
    assert_eq!(agree_with_an_independent_checker(claims()), claims().len());
}
