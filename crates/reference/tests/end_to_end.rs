//! The protocol of reliable operations in every state of small worlds, with and without its rules.
//!
//! `cargo xtask prove` checks the large worlds too; `docs/end-to-end-protocol.md` tells what was found.

mod checked;

use checked::{agree_with_an_independent_checker, check_quick, each_is_tested_and_has_a_name};
use flitway_reference::end_to_end::claims;

/// Topics of claims, with a test below for each.
const TOPICS: [&str; 15] = [
    "protocol",
    "giving up",
    "rule 1",
    "rule 2",
    "rule 3",
    "rule 4",
    "rule 5",
    "rule 6",
    "rule 7",
    "rule 8",
    "rule 9",
    "rule 10",
    "refusals",
    "the CRC",
    "DONE",
];

fn check(topic: &str) {
    check_quick(claims(), topic);
}

#[test]
fn operations_are_delivered_once_and_told_of_over_a_network_that_loses_corrupts_doubles_and_reorders() {
    check("protocol");
}

#[test]
fn ends_that_give_up_deliver_at_most_once_and_wait_for_nobody() {
    check("giving up");
}

#[test]
fn rule_1_data_name_the_use_of_a_receiver_context() {
    check("rule 1");
}

#[test]
fn rule_2_answers_name_the_use_of_a_sender_context() {
    check("rule 2");
}

#[test]
fn rule_3_a_sender_stays_with_the_first_context() {
    check("rule 3");
}

#[test]
fn rule_4_the_receiver_keeps_its_context_after_done() {
    check("rule 4");
}

#[test]
fn rule_5_what_is_late_is_answered_by_release() {
    check("rule 5");
}

#[test]
fn rule_6_the_receiver_has_a_timer() {
    check("rule 6");
}

#[test]
fn rule_7_the_sender_has_a_timer() {
    check("rule 7");
}

#[test]
fn rule_8_duplicates_count_for_nothing() {
    check("rule 8");
}

#[test]
fn rule_9_a_sender_that_gives_up_does_not_begin_again() {
    check("rule 9");
}

#[test]
fn rule_10_generations_do_not_come_back() {
    check("rule 10");
}

#[test]
fn a_refused_setup_is_said_again() {
    check("refusals");
}

#[test]
fn the_crc_of_data_is_checked() {
    check("the CRC");
}

#[test]
fn a_sender_is_told_after_done() {
    check("DONE");
}

#[test]
fn every_claim_is_tested_and_has_a_name_of_its_own() {
    each_is_tested_and_has_a_name(claims(), &TOPICS);
}

#[test]
fn an_independent_checker_finds_the_same_states_and_the_same_shortest_violations() {
    let twice = agree_with_an_independent_checker(claims());
    assert!(twice > 10, "most quick worlds are small: {twice}");
}
