//! The barrier protocol in every state of small worlds, with and without its rules.
//!
//! `cargo xtask prove` checks the large worlds too; `docs/barrier-protocol.md` tells what was found.

mod checked;

use checked::{agree_with_an_independent_checker, check_quick, each_is_tested_and_has_a_name};
use flitway_reference::barrier::claims;

/// Topics of claims, with a test below for each.
const TOPICS: [&str; 12] = [
    "protocol", "timers", "rule 1", "rule 2", "rule 3", "rule 4", "rule 5", "rule 6", "rule 7", "rule 8",
    "rule 10", "repair",
];

fn check(topic: &str) {
    check_quick(claims(), topic);
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
    each_is_tested_and_has_a_name(claims(), &TOPICS);
}

#[test]
fn an_independent_checker_finds_the_same_states_and_the_same_shortest_violations() {
    let twice = agree_with_an_independent_checker(claims());
    assert!(twice > 20, "most quick worlds are small: {twice}");
}
