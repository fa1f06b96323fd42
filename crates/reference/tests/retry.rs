//! The retry protocol of links in every state of small worlds, with and without its rules.
//!
//! `cargo xtask prove` checks the large worlds too; `docs/retry-protocol.md` tells what was found.

mod checked;

use checked::{agree_with_an_independent_checker, check_quick, each_is_tested_and_has_a_name};
use flitway_reference::retry::claims;

/// Topics of claims, with a test below for each.
const TOPICS: [&str; 14] = [
    "protocol", "training", "rule 1", "rule 2", "rule 3", "rule 4", "rule 5", "rule 6", "rule 7", "rule 8",
    "rule 9", "rule 10", "rule 11", "rule 12",
];

fn check(topic: &str) {
    check_quick(claims(), topic);
}

#[test]
fn packets_come_once_and_in_order_and_all_credits_come_back_over_channels_that_lose_and_corrupt() {
    check("protocol");
}

#[test]
fn a_link_that_is_trained_again_loses_nothing_and_brings_nothing_twice() {
    check("training");
}

#[test]
fn rule_1_a_window_is_smaller_than_the_sequence_space() {
    check("rule 1");
}

#[test]
fn rule_2_copies_out_of_order_are_dropped() {
    check("rule 2");
}

#[test]
fn rule_3_a_timer_finds_what_no_later_packet_shows() {
    check("rule 3");
}

#[test]
fn rule_4_duplicates_are_answered_or_heartbeats_do_it() {
    check("rule 4");
}

#[test]
fn rule_5_nacks_are_for_speed_only() {
    check("rule 5");
}

#[test]
fn rule_6_the_number_is_that_of_the_next_packet() {
    check("rule 6");
}

#[test]
fn rule_7_credits_are_debited_once_and_returned_once() {
    check("rule 7");
}

#[test]
fn rule_8_what_is_returned_is_a_count_wider_than_the_buffer() {
    check("rule 8");
}

#[test]
fn rule_9_acknowledgements_go_out_without_news_too() {
    check("rule 9");
}

#[test]
fn rule_10_a_packet_that_goes_out_again_carries_a_new_acknowledgement() {
    check("rule 10");
}

#[test]
fn rule_11_channels_keep_the_order() {
    check("rule 11");
}

#[test]
fn rule_12_training_leaves_numbers_counts_and_the_replay_buffer() {
    check("rule 12");
}

#[test]
fn every_claim_is_tested_and_has_a_name_of_its_own() {
    each_is_tested_and_has_a_name(claims(), &TOPICS);
}

#[test]
fn an_independent_checker_finds_the_same_states_and_the_same_shortest_violations() {
    let twice = agree_with_an_independent_checker(claims());
    assert!(twice > 20, "most quick worlds are small: {twice}");
}
