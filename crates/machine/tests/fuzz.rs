//! Whatever the text, the reader answers: a machine that can be built, or diagnostics that can be drawn.
//!
//! Every case follows from its number. `FLITWAY_FUZZ_SECONDS=300 cargo test -p flitway-machine --test fuzz` runs longer,
//! and a failure prints the number; `FLITWAY_FUZZ_CASE=n` repeats that one.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::path::Path;

use flitway_engine::random::{Purpose, Stream};
use flitway_machine::{Colour, Machine, Options, Origin, builtin, schema};
use flitway_test_kit::fuzz::{self, damage, pick};
use flitway_wiring::topology::TopologySettings;

const GRAPH: &str = "switch a b c\nnode n0..n3\nlink a:0 - n0\nlink b:0 - n1 3 m\nlink c:0 - n2\nlink c:1 - n3\n\
                     link a:2 - b:2 10 m\nlink b:3 - c:3\n";

const TABLES: &str = "switch a\nto n0 port 0\nto n1..n3 port 2\nswitch b\nto n0 port 2\nto n1 port 0\nto n2..n3 port 3\n\
                      switch c\nto n0..n1 port 3 class 1\nto n2 port 0\nto 3 port 1\nbegin n0 class 1\n";

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
    " port 3",
    " class 2",
    "begin n1",
    "inf",
    "nan",
    "0x",
    "2024-01-01",
    "topology.kind = \"mesh\"\n",
    "dimensions = [3, 5]\n",
    "nodes_per_switch = 2\n",
];

fn random_set(random: &mut Stream) -> String {
    let settings: Vec<&str> = schema::settings().map(|setting| setting.path).collect();
    let mut text = format!("{}={}", pick(random, &settings), pick(random, PIECES));
    if random.chance(1 << 62) {
        damage(&mut text, PIECES, random);
    }
    text
}

/// Runs one case. What passes every check must be buildable.
fn run(number: u64, folder: &Path) {
    let mut random = Stream::new(2, number, Purpose::Test);
    let mut text = builtin()[random.below(builtin().len() as u64) as usize].1.to_owned();
    if random.chance(1 << 62) {
        let mut graph = GRAPH.to_owned();
        (0..random.below(6)).for_each(|_| damage(&mut graph, PIECES, &mut random));
        std::fs::write(folder.join("fuzz.graph"), graph).expect("the folder of the test can be written");
        let mut tables = TABLES.to_owned();
        (0..random.below(4)).for_each(|_| damage(&mut tables, PIECES, &mut random));
        std::fs::write(folder.join("fuzz.tables"), tables).expect("the folder of the test can be written");
        let routing = pick(&mut random, &["\"up-down\"", "\"tables\"\nfile = \"fuzz.tables\""]);
        text = include_str!("mistakes/base.toml")
            .replace("kind = \"fat-tree\"\nports = 4\nlevels = 2", "kind = \"graph\"\nfile = \"fuzz.graph\"")
            .replace("\"d-mod-k\"", routing);
    }
    (0..random.below(6)).for_each(|_| damage(&mut text, PIECES, &mut random));
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
        TopologySettings::Stages { arity, stages, .. } => *arity <= 8 && *stages <= 3,
        TopologySettings::Xgft { down, up, .. } => {
            [down, up].iter().all(|it| it.iter().map(|&count| u64::from(count)).product::<u64>() <= 1_000)
        }
        TopologySettings::ThTree(tree) => tree.chips() <= 1_000,
        TopologySettings::Dragonfly(shape) => shape.groups * shape.switches_per_group <= 4_096,
        TopologySettings::DragonflyPlus(shape) => shape.groups * (shape.leaves + shape.spines) <= 1_000,
        TopologySettings::SlimFly { q, .. } => *q <= 20,
        TopologySettings::RandomRegular(graph) => graph.switches <= 1_000,
        TopologySettings::Mesh { dimensions, .. }
        | TopologySettings::Torus { dimensions, .. }
        | TopologySettings::HyperX { dimensions, .. } => {
            dimensions.iter().map(|&size| u64::from(size)).product::<u64>() <= 4_096
        }
        TopologySettings::Single { .. } | TopologySettings::Graph(_) => true,
    };
    if small {
        assert!(machine.fabric().nodes() > 0);
    }
}

#[test]
fn no_text_breaks_the_reader() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
    std::fs::create_dir_all(&folder).unwrap();
    fuzz::run(1_500, |number| run(number, &folder));
}
