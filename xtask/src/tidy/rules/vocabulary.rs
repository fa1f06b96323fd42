//! One word for one thing (docs/design: *message, packet, flit, node, NIC, switch, port, virtual channel, channel,
//! link, rail, sender, receiver*). A synonym in code, settings, pages or output is a bug: readers take it for another
//! thing.
//!
//! Only words that never mean anything else here are listed; `host`, `plane` and `terminal` have honest uses. A line
//! that names another tool may use that tool's word.

use super::super::{Findings, Rule, tree::Tree};

pub(in super::super) const RULE: Rule = Rule { name: "vocabulary", check };

/// The synonym in the singular, our word, and why.
const SYNONYMS: &[(&str, &str, &str)] = &[
    ("phit", "flit", "a flit is what a channel carries in a cycle; there is nothing smaller"),
    ("router", "switch", "the chip; routing is a relation and no box"),
    ("virtual lane", "virtual channel", "a lane is the choice that a packet keeps from end to end"),
    ("end node", "node", "a node is an endpoint by definition"),
    ("compute node", "node", "what a node does is the workload's business"),
    ("endpoint node", "node", "a node is an endpoint by definition"),
    ("processing element", "node", "what a node does is the workload's business"),
    ("network adapter", "NIC", "one word"),
    ("network interface card", "NIC", "one word"),
    ("datagram", "packet", "one word"),
    ("throughput", "accepted load", "a fraction of the injection rate, so that machines can be compared"),
    ("goodput", "accepted payload", "say which load, in the words of the result"),
    ("injected load", "offered load", "what is offered need not be injected"),
    ("hop latency", "zero-load latency", "latency is of packets; say from where to where"),
];

/// Tools with words of their own.
const TOOLS: &[&str] = &[
    "BookSim",
    "ibsim",
    "Garnet",
    "Noxim",
    "CAMINOS",
    "SuperSim",
    "htsim",
    "LogGOPSim",
    "CODES",
    "SST",
    "SimGrid",
    "TOPAZ",
];

fn check(tree: &Tree, findings: &mut Findings) {
    let own = "xtask/src/tidy/rules/vocabulary.rs";
    for file in tree.written().filter(|file| file.path != own) {
        for (number, line) in file.lines() {
            if TOOLS.iter().any(|tool| line.contains(tool)) {
                continue;
            }
            let words = words(line);
            for (synonym, word, why) in
                SYNONYMS.iter().filter(|(synonym, ..)| words.contains(&format!(" {synonym} ")))
            {
                findings.add(&file.path, number, format!("`{synonym}` ({why}); write `{word}`"));
            }
        }
    }
}

/// The words of a line, in lower case and in the singular, between blanks: `RouterPort`, `router_port` and
/// `router-ports` are all ` router port `. Other punctuation separates phrases: `End::Node` is ` end | node `.
fn words(line: &str) -> String {
    let mut words = String::from(" ");
    let mut before = ' ';
    for letter in line.chars() {
        let boundary = letter.is_uppercase() && before.is_lowercase();
        if !letter.is_alphanumeric() || boundary {
            end_word(&mut words);
        }
        if !letter.is_alphanumeric() && !" _-".contains(letter) {
            words.push_str("| ");
        }
        if letter.is_alphanumeric() {
            words.extend(letter.to_lowercase());
        }
        before = letter;
    }
    end_word(&mut words);
    words
}

fn end_word(words: &mut String) {
    if words.ends_with(' ') {
        return;
    }
    if words.ends_with('s') && !words.ends_with("ss") {
        words.pop();
    }
    words.push(' ');
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::found;
    use super::*;

    #[test]
    fn synonyms_are_found_in_names_comments_and_pages() {
        let bad = [
            ("crates/a/src/a.rs", "struct RouterPort;\nlet phits = 1; // of the end node\n"),
            ("README.md", "Throughput by Virtual Lanes\n"),
        ];
        let lines = found(&RULE, &bad);
        let expected =
            ["README.md:1: `throughput`", "README.md:1: `virtual lane`", "crates/a/src/a.rs:1: `router`"];
        for (line, start) in lines.iter().zip(expected) {
            assert!(line.starts_with(start), "{line}");
        }
        assert!(lines[2].ends_with("; write `switch`") && lines.len() == 5, "{lines:?}");
    }

    #[test]
    fn parts_of_other_words_and_other_tools_pass() {
        let good = [
            (
                "crates/a/src/a.rs",
                "fn route() { enrouter(); send_node_s() } // End::Node, lanes, the end; nodes\n",
            ),
            ("docs/a.md", "CAMINOS calls a switch a router.\n"),
        ];
        assert_eq!(found(&RULE, &good), [""; 0]);
    }
}
