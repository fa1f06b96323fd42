//! Whatever the text, a reader answers: files that can be read back, or diagnostics that can be drawn.
//!
//! `FLITWAY_FUZZ_SECONDS=300 cargo test -p flitway-import --test fuzz` runs longer; `FLITWAY_FUZZ_CASE=n` repeats one case.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use flitway_engine::random::{Purpose, Stream};
use flitway_import::{Format, Inputs, import};
use flitway_machine::{Colour, GraphFile, Source};
use flitway_test_kit::fuzz::{self, damage, pick};
use std::sync::Arc;

const NET: &str = "# Topology file: generated on Mon\nswitchguid=0x10(10)\n\
    Switch 36 \"S-10\" # \"leaf a\" enhanced port 0 lid 2 lmc 0\n[1] \"H-20\"[1](21) # \"host-1 HCA-1\" lid 11 4xHDR\n\
    [2] \"H-30\"[1](31) # \"host-2 HCA-1\" lid 12 4xHDR\n[36] \"S-40\"[36] # \"leaf b\" lid 3 4xHDR\n\n\
    switchguid=0x40(40)\nSwitch 36 \"S-40\" # \"leaf b\" enhanced port 0 lid 3 lmc 0\n[36] \"S-10\"[36] # \"leaf a\" lid 2 4xHDR\n\
    [1] \"H-50\"[2](52) # \"host-3 mlx5_0\" lid 13 4xEDR\n\ncaguid=0x20\nCa 1 \"H-20\" # \"host-1 HCA-1\"\n\
    [1](21) \"S-10\"[1] # lid 11 lmc 1 \"leaf a\" lid 2 4xHDR\ncaguid=0x30\nCa 1 \"H-30\" # \"host-2 HCA-1\"\n\
    [1](31) \"S-10\"[2] # lid 12 lmc 0 \"leaf a\" lid 2 4xHDR\ncaguid=0x50\nCa 2 \"H-50\" # \"host-3 mlx5_0\"\n\
    [2](52) \"S-40\"[1] # lid 13 lmc 0 \"leaf b\" lid 3 4xEDR\n";

const TABLES: &str = "Unicast lids [0x0-0xe] of switch Lid 2 guid 0x10 (leaf a):\n  Lid  Out   Destination\n       Port     Info\n\
    0x0002 000 : (Switch portguid 0x10: 'leaf a')\n0x000b 001 : (Channel Adapter portguid 0x21: 'host-1 HCA-1')\n\
    0x000c 002 : (Channel Adapter portguid 0x31: 'host-2 HCA-1')\n0x000d 036 : (Channel Adapter portguid 0x52: 'host-3')\n\
    4 valid lids dumped\nUnicast lids [0x0-0xe] of switch Lid 3 guid 0x40 (leaf b):\n0x000b 036\n0x000c 036 # x\n0x000d 001 :\n";

/// `@` stands for what BookSim calls a router.
const BOOKSIM: &str = "@ 0 node 0 node 1 @ 1 15\n@ 1 node 2 @ 0 15 @ 2\n@ 2 node 3 2\n";

const GRAPHML: &str = "<?xml version=\"1.0\"?>\n<graphml>\n<key id=\"k\" for=\"edge\" attr.name=\"length\"/>\n\
    <key id=\"t\" for=\"node\" attr.name=\"type\"/>\n<graph edgedefault=\"undirected\">\n<node id=\"a\"/>\n\
    <node id=\"b\"><data key=\"t\">switch</data></node>\n<node id=\"c\"><data key=\"t\">host</data></node>\n\
    <edge source=\"a\" target=\"b\"><data key=\"k\">3 m</data></edge>\n<edge source=\"c\" target=\"a\"/>\n</graph>\n</graphml>\n";

/// The word of BookSim for a switch.
const SWITCH: &str = "router"; // of BookSim

/// A text of every format.
const TEXTS: &[(Format, &str)] = &[
    (Format::Ibnetdiscover, NET),
    (Format::Graphml, GRAPHML),
    (Format::Booksim, BOOKSIM),
    (Format::Edges, "# a list\na b\na c 3 m\nb c {'weight': 1}\nc d 4.5\nb,e\n"),
    (
        Format::Slurm,
        "# a tree\nSwitchName=s0 Nodes=n[0-3,7]\nSwitchName=s1 Nodes=n[4-6] LinkSpeed=1\n\
                     SwitchName=top \\\n  Switches=s[0-1]\n",
    ),
];

/// What a slip of a person, or of a program, could put in.
const PIECES: &[&str] = &[
    "",
    "0",
    "1",
    "-1",
    "37",
    "4294967295",
    "99999999999999999999",
    "[",
    "]",
    "[1]",
    "(",
    ")",
    "\"",
    "\"\"",
    "#",
    "=",
    ",",
    " ",
    "\n",
    "\r\n",
    "\t",
    "\u{0}",
    "\u{b5}",
    "\u{1f600}",
    "S-10",
    "H-20",
    "Switch",
    "Ca 1 \"x\"",
    "lid",
    "lmc 7",
    "4xHDR",
    "0x",
    "n0..n9",
    "port",
    "a..b",
    "[0-3]",
    "n[0-99999999]",
    "[3-1]",
    "<",
    ">",
    "</graph>",
    "&amp;",
    "3 m",
    "-5",
    "1e9",
];

#[test]
fn damaged_texts_are_answered() {
    fuzz::run(3_000, |number| {
        let mut random = Stream::new(4, number, Purpose::Test);
        let (format, text) = TEXTS[random.below(TEXTS.len() as u64) as usize];
        let mut text = text.replace('@', SWITCH);
        (0..random.below(5)).for_each(|_| damage(&mut text, PIECES, &mut random));
        let mut tables = Vec::new();
        if format == Format::Ibnetdiscover && random.chance(1 << 63) {
            let mut text = TABLES.to_owned();
            (0..random.below(4)).for_each(|_| damage(&mut text, PIECES, &mut random));
            tables.push(Arc::new(Source { name: "tables".to_owned(), text }));
        }
        let inputs = Inputs {
            fabrics: vec![Arc::new(Source { name: "net".to_owned(), text })],
            tables,
            nodes_per_switch: (random.chance(1 << 61)).then_some(2),
            format: random.chance(1 << 63).then_some(format),
            name: pick(&mut random, PIECES).to_owned(),
        };
        match import(&inputs) {
            Ok(made) => {
                let graph = GraphFile::from_text("made.graph", made.graph.clone());
                let graph = graph.unwrap_or_else(|problems| panic!("{}", problems.render(Colour::Plain)));
                assert_eq!(made.graph.matches("\nlink ").count(), graph.graph.links.len());
                assert!(!made.report.is_empty());
            }
            Err(problems) => assert!(problems.render(Colour::Plain).len() > 20),
        }
    });
}

#[test]
fn whole_texts_are_imported() {
    for (format, text) in TEXTS {
        let fabrics = vec![Arc::new(Source { name: "net".to_owned(), text: text.replace('@', SWITCH) })];
        let made = import(&Inputs { fabrics, name: "x".to_owned(), ..Inputs::default() });
        assert!(made.is_ok(), "{format:?}: {}", made.unwrap_err().render(Colour::Plain));
    }
}
