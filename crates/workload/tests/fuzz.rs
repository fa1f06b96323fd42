//! Whatever the text, the reader answers: a graph whose ranks can run, or diagnostics that name a place in the text.
//!
//! Every case follows from its number. `cargo xtask fuzz --seconds 300` runs longer than a test does, and a failure
//! prints the number; `FLITWAY_FUZZ_CASE=n cargo test -p flitway-workload --test fuzz` repeats that one.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::io::Write;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use flitway_engine::random::{Purpose, Stream};
use flitway_engine::{Clock, Cycle, Picos};
use flitway_test_kit::fuzz::{self, pick};
use flitway_workload::Parts;
use flitway_workload::graph::goal::{self, Diagnostics, MOST};
use flitway_workload::graph::{Placement, RankCosts, RankId, RankRun, TaskGraph, TaskId};
use flitway_workload::traffic::size::Sizes;
use flitway_workload::traffic::{Shape, destination};

const SEEDS: [&str; 2] = [
    "num_ranks 3\n\nrank 0 {\nl1: calc 1500\nl2: send 8b to 1 tag 4 cpu 2 nic 1\nl2 requires l1\nsend 5b to 2 // no label\n\
     }\n\n/* a comment\n   over lines */ rank 2 { recv 5b from -1 tag -1 }\nrank 1 {\r\n\tl2 irequires l1\n\
     \tl1 : recv 8 b from 0 nic 3 tag 4\r\n  l2: calc 0 cpu 255 }\n",
    "num_ranks 2\nrank 0 {\na: calc 10\nb: send 4096b to 1 tag 1\nc: recv 4096b from 1 tag 2\nb requires a\nc requires a\n\
     d: calc 0\nd requires b\nd requires c\n}\nrank 1 {\na: send 4096b to 0 tag 2\nb: recv 4096b from 0 tag 1\n\
     b irequires a\n}\n",
];

/// What a slip of a person, or of a program, could put in.
const PIECES: &[&str] = &[
    "",
    "0",
    "1",
    "2",
    "-1",
    "-",
    "255",
    "256",
    "4294967295",
    "18446744073709551616",
    "b",
    "kb",
    "8b",
    ":",
    "{",
    "}",
    "{ }",
    "/*",
    "*/",
    "//",
    "\n",
    "\r\n",
    "\t",
    "\u{0}",
    "\u{feff}",
    "\u{b5}",
    "\u{1f600}",
    "l1",
    "l2",
    "a",
    "#0",
    "num_ranks 2\n",
    "num_ranks 4294967296\n",
    "num_ranks 1000000\n",
    "rank 1 {\n",
    "rank 9 {\n}\n",
    "calc 5\n",
    "x: calc 5\n",
    "send 1b to 0\n",
    "recv 1b from 0\n",
    "send 99999999999999999999b to 1\n",
    "l1 requires l2\n",
    "l2 requires l1\n",
    "l2 irequires l2\n",
    " tag 4294967294",
    " tag -1",
    " cpu 3",
    " nic 3",
    " nic 7 nic 8",
];

fn place(length: usize, random: &mut Stream) -> usize {
    random.below(length as u64 + 1) as usize
}

/// Damages the text in one place. Bytes, not characters: a file need not be UTF-8.
fn mutate(text: &mut Vec<u8>, random: &mut Stream) {
    match random.below(6) {
        0 | 1 => {
            let at = place(text.len(), random);
            text.splice(at..at, pick(random, PIECES).bytes());
        }
        2 => {
            let at = place(text.len(), random);
            let end = (at + random.below(12) as usize).min(text.len());
            text.drain(at..end);
        }
        3 => {
            let at = place(text.len(), random);
            text.insert(at, random.below(256) as u8);
        }
        4 => {
            // A line moves, disappears or comes twice.
            let mut lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
            let (from, to) = (place(lines.len() - 1, random), place(lines.len() - 1, random));
            let line = lines[from];
            if random.chance(1 << 63) {
                lines.remove(from);
            }
            if random.chance(1 << 63) {
                lines.insert(to.min(lines.len()), line);
            }
            *text = lines.join(&b'\n');
        }
        _ => text.truncate(place(text.len(), random)),
    }
}

fn packed(text: &[u8], random: &mut Stream) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    let mut packed = encoder.finish().unwrap();
    (0..random.below(3)).for_each(|_| mutate(&mut packed, random));
    packed
}

/// Runs one case.
fn run(number: u64) {
    let mut random = Stream::new(3, number, Purpose::Test);
    let mut text = pick(&mut random, &SEEDS).as_bytes().to_vec();
    (0..random.below(8)).for_each(|_| mutate(&mut text, &mut random));
    let is_packed = random.below(8) == 0;
    if is_packed {
        text = packed(&text, &mut random);
    }
    match goal::read(&text[..]) {
        Ok(graph) => use_graph(graph),
        Err(mistakes) => look_at(&mistakes, &text, is_packed),
    }
}

fn look_at(mistakes: &Diagnostics, text: &[u8], is_packed: bool) {
    assert!(!mistakes.list.is_empty() && mistakes.list.len() <= MOST);
    assert!(mistakes.omitted == 0 || mistakes.list.len() == MOST);
    for mistake in &mistakes.list {
        assert!(mistake.to_string().len() > 10);
        // Damage may have made a plain text look packed; then positions are those of what it unpacks to.
        let is_plain = !is_packed && !text.starts_with(&[0x1f, 0x8b]);
        if is_plain {
            let end = mistake.span.offset + u64::from(mistake.span.length);
            assert!(end <= text.len() as u64, "{mistake} lies beyond the end");
        }
    }
}

/// What has been read can be walked, placed and run; nobody answers here, so a run ends with its ranks waiting.
fn use_graph(graph: TaskGraph) {
    if graph.ranks() > 1_000 {
        return;
    }
    let costs = RankCosts {
        clock: Clock::new(1_000_000_000).unwrap(),
        send_overhead: Picos(700_000),
        receive_overhead: Picos(700_000),
    };
    assert!(Placement::linear(graph.ranks(), &Placement::everywhere(graph.ranks())).is_ok());
    let graph = Arc::new(graph);
    for rank in (0..graph.ranks()).map(RankId) {
        for task in (0..graph.tasks_of(rank)).map(TaskId) {
            assert!(!graph.label(rank, task).is_empty());
            assert!(graph.dependents(rank, task).all(|(other, _)| other.0 < graph.tasks_of(rank)));
        }
        let mut run = RankRun::new(&graph, rank, costs);
        let (mut now, mut out) = (Cycle::ZERO, Vec::new());
        while let Some(next) = run.advance(now, &mut out) {
            assert!(next > now, "time goes on");
            now = next;
        }
        assert!(out.iter().all(|message| message.destination.0 < graph.ranks()));
    }
}

#[test]
fn no_text_breaks_the_reader() {
    fuzz::run(20_000, run);
}

/// A traffic matrix, a list of sizes, a placement.
const LISTS: [&str; 3] = [
    "# to 0 1 2\n0 1 0.5\n1, 0, 2e3\n0.25; 0.5; 0\n",
    "# bytes weight\n64 3\n256 1\n1024 0.5\n",
    "0\n3 # rank 1\n2\n1\n",
];

/// What a slip of a person could put in.
const WORDS: &[&str] = &[
    "",
    "0",
    "1",
    "-1",
    "1e308",
    "1e-308",
    "0.1",
    "nan",
    "inf",
    "18446744073709551616",
    "65535",
    ",",
    ";",
    "#",
    "\n",
    "\r\n",
    "\t",
    "\u{feff}",
    "\u{0}",
    "\u{b5}",
    "one",
    "0x10",
    "1 2",
];

/// Runs one case: whatever the text, the readers of lists answer.
fn run_lists(number: u64) {
    let mut random = Stream::new(4, number, Purpose::Test);
    let mut text = pick(&mut random, &LISTS).to_owned();
    (0..random.below(8)).for_each(|_| fuzz::damage(&mut text, WORDS, &mut random));
    match destination::parse_with("matrix(fuzz)", &|_| Ok(text.clone())) {
        Ok(matrix) => {
            let shape = |nodes| Shape {
                nodes,
                dimensions: vec![nodes],
                parts: vec![Parts::switches(vec![0; nodes as usize])],
                found: None,
            };
            let fitted = (1..8).filter_map(|nodes| matrix.fit(&shape(nodes), 1).ok());
            fitted.for_each(|destinations| assert!(destinations.silent_nodes() <= 8));
        }
        Err(error) => assert!(error.to_string().len() > 10),
    }
    match Sizes::list(&text) {
        Ok(sizes) => {
            assert!(sizes.smallest() <= sizes.largest());
            assert!(
                (f64::from(sizes.smallest())..=f64::from(sizes.largest())).contains(&sizes.mean()),
                "{text:?}"
            );
        }
        Err(errors) => assert!(errors.iter().all(|error| error.to_string().len() > 10)),
    }
    let nodes = 1 + random.below(6) as u32;
    match Placement::from_text(&text, 4, nodes) {
        Ok(placement) => assert!((0..4).all(|rank| placement.node(RankId(rank)).0 < nodes)),
        Err(errors) => assert!(errors.iter().all(|error| error.to_string().len() > 10)),
    }
}

#[test]
fn no_text_breaks_the_readers_of_lists() {
    fuzz::run(20_000, run_lists);
}
