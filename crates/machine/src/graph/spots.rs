//! Where the switches of a graph file are drawn.

use super::statement::Spot;
use super::{Kind, Reader};
use crate::code::Code;
use crate::diagnostic::Diagnostic;
use crate::nearest::nearest;
use crate::units::show;
use std::collections::BTreeMap;

impl Reader {
    /// By switch, what lines `at` say; nothing if there are none. They are to name each switch once, and no two share a place.
    pub(super) fn spots(&mut self, said: &[Spot]) -> Vec<[f64; 2]> {
        let mut spots: Vec<Option<&Spot>> = vec![None; self.switches.len()];
        let mut taken: BTreeMap<[u64; 2], &Spot> = BTreeMap::new();
        for spot in said {
            let Some(switch) = self.spot(spot) else { continue };
            if let Some(first) = spots[switch] {
                let message = format!("switch `{}` has two places", show(&spot.switch.text));
                self.twice(spot, first, message, "one line `at` for each switch");
                continue;
            }
            spots[switch] = Some(spot);
            // Zero and minus zero are one place.
            let key = spot.at.map(|coordinate| (coordinate + 0.0).to_bits());
            if let Some(first) = taken.insert(key, spot) {
                let [one, other] = [&spot.switch.text, &first.switch.text].map(|name| show(name));
                let message = format!("switch `{one}` would cover switch `{other}`");
                self.twice(spot, first, message, "a place of its own for each switch");
            }
        }
        let without: Vec<usize> = (0..spots.len()).filter(|&switch| spots[switch].is_none()).collect();
        if let (Some(&first), false) = (without.first(), taken.is_empty()) {
            let name = &self.switches[first];
            let more = match without.len() {
                1 => String::new(),
                count => format!(", nor have {} more", count - 1),
            };
            let message = format!("switch `{}` has no line `at`{more}", show(&name.text));
            let problem = Diagnostic::error(Code::GraphLine, self.at(&name.span), message);
            self.findings.push(problem.expected("`at SWITCH X Y` for all switches, or for none"));
        }
        spots.into_iter().flatten().map(|spot| spot.at).collect()
    }

    /// The number of the switch that `spot` is about.
    fn spot(&mut self, spot: &Spot) -> Option<usize> {
        let name = &spot.switch;
        let message = match self.names.get(&name.text) {
            Some((Kind::Switch, number, _)) => return Some(*number as usize),
            Some(_) => format!("`{}` is a node, and nodes are drawn with their switches", show(&name.text)),
            None => format!("no switch is named `{}`", show(&name.text)),
        };
        let switches = self.switches.iter().map(|switch| switch.text.as_str());
        let meant = nearest(&name.text, switches);
        let problem = Diagnostic::error(Code::GraphUnknown, self.at(&name.span), message)
            .expected("the name of a switch that the file declares")
            .maybe_help(meant.map(|name| format!("did you mean `{name}`?")));
        self.findings.push(problem);
        None
    }

    fn twice(&mut self, spot: &Spot, first: &Spot, message: String, expected: &str) {
        let problem = Diagnostic::error(Code::GraphDuplicate, self.at(&spot.switch.span), message)
            .related(self.at(&first.switch.span), "first here")
            .expected(expected);
        self.findings.push(problem);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{GraphFile, parse};
    use crate::diagnostic::Diagnostics;

    /// A file of two switches and these lines.
    fn read(lines: &str) -> Result<GraphFile, String> {
        let mut findings = Diagnostics::default();
        let text = format!("switch a b\nnode n\nlink a:0 - n\nlink a:1 - b:0\n{lines}");
        parse("test.graph", text, &mut findings).ok_or_else(|| findings.to_string())
    }

    #[test]
    fn places_are_those_of_the_switches_whatever_the_order_of_the_lines() {
        assert_eq!(read("at b 3 -1.5\nat a 0 1e3\n").unwrap().spots, [[0.0, 1000.0], [3.0, -1.5]]);
        assert!(read("").unwrap().spots.is_empty());
    }

    #[test]
    fn all_switches_have_one_place_each_or_none_has() {
        for (lines, told) in [
            ("at a 0 0\n", "switch `b` has no line `at`"),
            ("at a 0 0\nat b 1 0\nat a 2 0\n", "switch `a` has two places"),
            ("at a 0 0\nat b -0 0\n", "switch `b` would cover switch `a`"),
            ("at a 0 0\nat c 1 0\n", "no switch is named `c`"),
            ("at a 0 0\nat n 1 0\n", "`n` is a node, and nodes are drawn with their switches"),
            ("at a 0\n", "a switch and its two coordinates are expected"),
            ("at a 0 1 2\n", "a switch and its two coordinates are expected"),
            ("at a 0 left\n", "`left` is not a number"),
            ("at a 0 NaN\n", "`NaN` is not a number"),
            ("at a 0 1e10\n", "`1e10` is too far away"),
        ] {
            let problem = read(lines).unwrap_err();
            assert!(problem.contains(told), "{problem}");
        }
    }
}
