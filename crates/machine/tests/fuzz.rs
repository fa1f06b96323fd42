//! Whatever the text, the reader answers: a machine that can be built, or diagnostics that can be drawn.
//!
//! Every case follows from its number. `FLITWAY_FUZZ_SECONDS=300 cargo test -p flitway-machine --test fuzz` runs longer,
//! and a failure prints the number; `FLITWAY_FUZZ_CASE=n` repeats that one.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use flitway_engine::random::{Purpose, Stream};
use flitway_fabric::topology::TopologySettings;
use flitway_machine::{Colour, Machine, Options, Origin, builtin, schema};

const GRAPH: &str = "switch a b c\nnode n0..n3\nlink a:0 - n0\nlink b:0 - n1 3 m\nlink c:0 - n2\nlink c:1 - n3\n\
                     link a:2 - b:2 10 m\nlink b:3 - c:3\n";

/// What a slip of a person could put in.
const PIECES: &[&str] = &[
    "",
    "0",
    "1",
    "2",
    "3",
    "-1",
    "17",
    "4096",
    "1e9",
    "0.5",
    "true",
    "[4, 4]",
    "[]",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    "\"\"\"",
    "=",
    "#",
    "\n",
    "\r\n",
    "\t",
    ".",
    "..",
    ":",
    "-",
    "\"4 KiB\"",
    "\"1 KB\"",
    "\"5 ns/m\"",
    "\"off\"",
    "\"99999999999999999999 m\"",
    "18446744073709551616",
    "\u{0}",
    "\u{feff}",
    "\u{b5}",
    "\u{1f600}",
    "[switch]",
    "[[nic]]",
    "\"mesh\"",
    "\"torus\"",
    "\"graph\"",
    "\"single\"",
    "n0..n9",
    "n0..n4000000000",
    "a:63",
    "inf",
    "nan",
    "0x",
    "2024-01-01",
    "topology.kind = \"mesh\"\n",
    "dimensions = [3, 5]\n",
    "nodes_per_switch = 2\n",
];

fn pick<'a>(random: &mut Stream, list: &[&'a str]) -> &'a str {
    list[random.below(list.len() as u64) as usize]
}

fn boundary(text: &str, random: &mut Stream) -> usize {
    let mut at = random.below(text.len() as u64 + 1) as usize;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn mutate(text: &mut String, random: &mut Stream) {
    match random.below(6) {
        0 => {
            let at = boundary(text, random);
            text.insert_str(at, pick(random, PIECES));
        }
        1 => {
            let (a, b) = (boundary(text, random), boundary(text, random));
            let end = a.min(b) + (a.max(b) - a.min(b)).min(12);
            let end = (a.min(b)..=end)
                .rev()
                .find(|&at| text.is_char_boundary(at))
                .expect("its start is a boundary");
            text.replace_range(a.min(b)..end, "");
        }
        2..4 => {
            // Another value for a key.
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            if !lines.is_empty() {
                let line = random.below(lines.len() as u64) as usize;
                let key = lines[line].split('=').next().unwrap_or("").to_owned();
                lines[line] = format!("{key}= {}", pick(random, PIECES));
            }
            *text = lines.join("\n");
        }
        4 => {
            let mut lines: Vec<&str> = text.lines().collect();
            if lines.len() > 1 {
                let (a, b) =
                    (random.below(lines.len() as u64) as usize, random.below(lines.len() as u64) as usize);
                if random.chance(1 << 63) {
                    lines.swap(a, b);
                } else {
                    lines.remove(a);
                }
            }
            *text = lines.join("\n");
        }
        _ => {
            let byte = char::from(random.below(256) as u8);
            let at = boundary(text, random);
            text.insert(at, byte);
        }
    }
}

fn random_set(random: &mut Stream) -> String {
    let settings: Vec<&str> = schema::settings().map(|setting| setting.path).collect();
    let mut text = format!("{}={}", pick(random, &settings), pick(random, PIECES));
    if random.chance(1 << 62) {
        mutate(&mut text, random);
    }
    text
}

/// Runs one case. What passes every check must be buildable.
fn run(number: u64, folder: &Path) {
    let mut random = Stream::new(2, number, Purpose::Test);
    let mut text = builtin()[random.below(builtin().len() as u64) as usize].1.to_owned();
    if random.chance(1 << 62) {
        let mut graph = GRAPH.to_owned();
        (0..random.below(6)).for_each(|_| mutate(&mut graph, &mut random));
        std::fs::write(folder.join("fuzz.graph"), graph).expect("the folder of the test can be written");
        text = include_str!("mistakes/base.toml")
            .replace("kind = \"fat-tree\"\nports = 4\nlevels = 2", "kind = \"graph\"\nfile = \"fuzz.graph\"")
            .replace("d-mod-k", "up-down");
    }
    (0..random.below(6)).for_each(|_| mutate(&mut text, &mut random));
    let mut options = Options::from_text("fuzz.toml", text, folder);
    (0..random.below(3)).for_each(|_| options.set(&random_set(&mut random)));
    match options.check() {
        Ok(machine) => build(&machine),
        Err(problems) => {
            assert!(!problems.is_empty());
            let plain = problems.render(Colour::Plain);
            assert!(plain.len() > 20 && !problems.render(Colour::Ansi).is_empty());
        }
    }
}

fn build(machine: &Machine) {
    assert!(
        machine
            .effective
            .iter()
            .all(|effective| effective.origin == Origin::Default || effective.location.is_some())
    );
    assert!(machine.to_json().is_object());
    let small = match &machine.topology {
        TopologySettings::FatTree { ports, levels } => *ports <= 16 && *levels <= 3,
        TopologySettings::KaryNTree { arity, levels } => *arity <= 8 && *levels <= 3,
        TopologySettings::Mesh { dimensions, .. } | TopologySettings::Torus { dimensions, .. } => {
            dimensions.iter().map(|&size| u64::from(size)).product::<u64>() <= 4_096
        }
        TopologySettings::Single { .. } | TopologySettings::Graph(_) => true,
    };
    if small {
        assert!(machine.fabric().nodes() > 0);
    }
}

fn number_from(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn no_text_breaks_the_reader() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
    std::fs::create_dir_all(&folder).unwrap();
    if let Some(number) = number_from("FLITWAY_FUZZ_CASE") {
        return run(number, &folder);
    }
    let limit = number_from("FLITWAY_FUZZ_SECONDS").map(Duration::from_secs);
    let start = Instant::now();
    let mut number = 0;
    while limit.map_or(number < 1_500, |limit| start.elapsed() < limit) {
        let outcome = catch_unwind(AssertUnwindSafe(|| run(number, &folder)));
        assert!(outcome.is_ok(), "repeat with FLITWAY_FUZZ_CASE={number}");
        number += 1;
    }
}
