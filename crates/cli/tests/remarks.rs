//! Lines under the table of `flitway run`: which points they hold for, and that they agree with each other.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::*;

const WATCHED: [&str; 4] = ["--warm-up", "100us", "--duration", "50us"];

/// The line of what is printed that begins with `start`, all of it.
fn line(text: &str, start: &str) -> String {
    let is_rest = |line: &&str| line.starts_with(&" ".repeat(21));
    let mut lines = text.lines().skip_while(|line| !line.trim_start().starts_with(start) || is_rest(line));
    let first = lines.next().unwrap_or_else(|| panic!("no line begins with {start}:\n{text}"));
    lines.take_while(is_rest).fold(first.to_owned(), |all, rest| all + " " + rest.trim_start())
}

fn printed(arguments: &[&str]) -> String {
    let output = flitway(&[&["run"], arguments].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.lines().all(|line| line.chars().count() <= 150), "{text}");
    text
}

#[test]
fn a_reason_names_all_loads_that_it_holds_for() {
    let one_fifo = ["hpp-switch", "--set", "switch.vcs=1", "--load", "0.2,0.7..1.0:0.1"];
    let text = printed(&[&one_fifo[..], &WATCHED].concat());
    assert!(line(&text, "limited by").contains("  at loads 0.700 to 1.000, arbitration: "), "{text}");
    assert!(line(&text, "fullest channel").contains("channel at load 0.700: "), "{text}");
    let ring = ["torus-8x8", "--set", "topology.dimensions=[16]", "--traffic", "tornado"];
    let text = printed(&[&ring[..], &["--load", "0.1,0.5,0.8"], &WATCHED].concat());
    assert!(line(&text, "unfair").starts_with("unfair: at loads 0.500, 0.800, "), "{text}");
}

#[test]
fn a_reason_of_multicasts_names_their_load_and_the_one_beside() {
    let of = |loads: &str, beside: &[&str]| {
        let arguments = ["hpp-switch", "--multicast", "broadcast", "--by", "binomial", "--multicast-load"];
        let text = printed(&[&arguments[..], &[loads], beside, &WATCHED].concat());
        line(&text, "limited by")
    };
    assert!(of("0.1,2,3", &[]).contains("  at loads 2.000, 3.000, "));
    assert!(of("2,3,4", &[]).contains("  at all loads, "));
    assert!(
        of("0.1,2", &["--load", "0.1,0.2"]).contains("  at loads 2.000 beside 0.100, 2.000 beside 0.200, ")
    );
    assert!(of("0.1", &["--load", "0.1,0.9"]).contains("  at unicast load 0.900, "));
}

#[test]
fn a_load_above_one_is_more_than_links_carry() {
    let short = ["--warm-up", "1us", "--duration", "2us"];
    let of = |arguments: &[&str]| printed(&[&["hpp-switch"], arguments, &short[..]].concat());
    let (own, of_copies) = ("\nload above 1: more than", "\nmulticast load above 1: more than");
    assert!(of(&["--load", "0.1,1.01"]).contains(own));
    assert!(!of(&["--load", "1"]).contains(own) && !of(&["--load", "max"]).contains(own));
    let multicast = ["--multicast", "broadcast", "--load", "1.5", "--multicast-load"];
    let text = of(&[&multicast[..], &["0.1"]].concat());
    assert!(text.contains(own) && !text.contains(of_copies), "{text}");
    assert!(of(&[&multicast[..], &["2"]].concat()).contains(of_copies));
}

/// Half of the nodes send at their limit to the others, one to one: the rest of the channels out of nodes carry adverts alone.
#[test]
fn channels_that_carry_adverts_alone_do_not_count() {
    let row =
        |node: usize| (0..16).map(|to| if node + 8 == to { "1" } else { "0" }).collect::<Vec<_>>().join(" ");
    let path = scratch("half.txt", &(0..16).map(row).collect::<Vec<_>>().join("\n"));
    let traffic = format!("matrix(file={})", path.display());
    let text = printed(&[&["hpp-switch", "--traffic", &traffic, "--load", "1.2"][..], &WATCHED].concat());
    assert!(line(&text, "limited by").contains("injection: "), "{text}");
    assert!(!text.contains("uneven"), "{text}");
}

#[test]
fn how_well_accepted_load_is_known_is_said_of_the_points_that_it_is_known_of() {
    let of = |loads: &str| {
        let tornado = ["torus-8x8", "--traffic", "tornado", "--load", loads];
        line(&printed(&[&tornado[..], &["--warm-up", "100us", "--duration", "60us"]].concat()), "accepted  ")
    };
    assert!(
        of("0.4,0.8").starts_with("  accepted         at load 0.800, known to "),
        "the other one is filling"
    );
    assert!(of("0.8").starts_with("  accepted         known to "));
}

#[test]
fn what_was_created_is_told_where_it_is_not_what_is_offered() {
    let of =
        |arguments: &[&str]| printed(&[arguments, &["--warm-up", "50us", "--duration", "50us"]].concat());
    let sample = of(&["hpp-switch", "--load", "0.5"]);
    assert!(line(&sample, "created").contains(" at load 0.500: so few packets"), "{sample}");
    let exact = of(&["hpp-switch", "--load", "0.5", "--arrival", "periodic"]);
    assert!(!exact.contains("\ncreated"), "{exact}");
    let greedy = of(&["hpp-switch", "--load", "max"]);
    assert!(!greedy.contains("\ncreated"), "{greedy}");
    let silent = of(&["mesh-8x8", "--traffic", "transpose", "--load", "0.05", "--arrival", "periodic"]);
    assert!(
        !silent.contains("\ncreated") && line(&silent, "silent").ends_with("up to 0.875 of it"),
        "{silent}"
    );
}

#[test]
fn a_full_channel_is_set_beside_its_stage() {
    let fullest = |arguments: &[&str]| {
        let text = printed(arguments);
        assert!(!text.contains("stands out"), "{text}");
        line(&text, "fullest channel")
    };
    let crowded =
        ["mesh-8x8", "--set", "topology.dimensions=[4, 4]", "--traffic", "transpose", "--load", "0.9"];
    let uneven = fullest(&[&crowded[..], &["--warm-up", "100us", "--duration", "500us"]].concat());
    assert!(
        uneven.contains("used channels between switches about") && uneven.ends_with(": the load is uneven")
    );
    let short = fullest(&["hpp-switch", "--load", "1.5", "--warm-up", "200us", "--duration", "20us"]);
    assert!(
        short.contains("about 100.0 %") && short.ends_with(": in so short a time that may be chance"),
        "{short}"
    );
    let one_fifo = ["hpp-switch", "--set", "switch.vcs=1", "--load", "0.9"];
    assert!(fullest(&[&one_fifo[..], &WATCHED].concat()).ends_with(" % in the mean"), "no channel is full");
}
