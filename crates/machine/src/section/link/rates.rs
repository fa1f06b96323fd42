//! `[link.rate]`: what the channels of a link carry, where that is less than a flit in every cycle.
//!
//! A rate is written in bits a second of flits, headers and trailers included, and is an exact ratio to clock x flit: so many
//! flits in so many cycles, for each direction alike. A graph file can give each direction of a link its own.

use flitway_fabric::Rate;
use flitway_fabric::chip::Chip;

use super::{LinkSettings, OF_CLASSES, OF_SWITCHES, PETABIT, of_classes, unknown_class};
use crate::code::Code;
use crate::diagnostic::{Diagnostic, Diagnostics, Location};
use crate::section::switch;
use crate::section::topology::{self, Topology};
use crate::setting::{Kind, settings};
use crate::units::{self, Dimension};
use crate::values::Values;

/// The most cycles that a ratio has.
const CYCLES_MAX: u32 = 1_000;

const RATE: Kind = Kind::Quantity { dimension: Dimension::BitRate, min: 1, max: 10 * PETABIT };

settings! {
    pub(crate) static SETTINGS;

    /// What a link between a node and its switch carries in each direction, headers and trailers included; clock x flit unless
    /// given, or what the coding of the links leaves of it. An exact ratio to that, in small numbers.
    NODE = "link.rate.node", RATE, optional, example("600 Mbit/s"), source("Flitway");

    /// The same of the links between switches, where nothing below or in the graph file says another.
    SWITCH = "link.rate.switch", RATE, optional, for OF_SWITCHES, example("600 Mbit/s"), source("Flitway");

    /// The same of the links between switch levels N and N + 1 of a tree.
    pub(super) LEVEL = "link.rate.level-N", RATE, optional, for OF_CLASSES, example("600 Mbit/s"), source("Flitway");

    /// The same of the links between chips of one NRM of a th-tree.
    pub(super) WITHIN_NRM = "link.rate.within-nrm", RATE, optional, for OF_CLASSES, example("56 Gbit/s"), source("Flitway");

    /// The same of the links between the NRMs and the leaf switches of a th-tree.
    pub(super) NRM_LEAF = "link.rate.nrm-leaf", RATE, optional, for OF_CLASSES, example("56 Gbit/s"), source("Flitway");

    /// The same of the links between the leaf and the root switches of a th-tree.
    pub(super) LEAF_ROOT = "link.rate.leaf-root", RATE, optional, for OF_CLASSES, example("56 Gbit/s"), source("Flitway");

    /// The same of the links between chips of one root switch of a th-tree.
    pub(super) WITHIN_ROOT = "link.rate.within-root", RATE, optional, for OF_CLASSES, example("56 Gbit/s"), source("Flitway");

    /// The same of the links between stages N and N + 1 of an omega network or a butterfly.
    pub(super) STAGE = "link.rate.stage-N", RATE, optional, for OF_CLASSES, example("600 Mbit/s"), source("Flitway");

    /// The same of the links of dimension N of a mesh, a torus or a HyperX, counted from 0.
    pub(super) DIMENSION = "link.rate.dimension-N", RATE, optional, for OF_CLASSES, example("600 Mbit/s"), source("Flitway");

    /// The same of the links within a group of a dragonfly or dragonfly-plus.
    pub(super) LOCAL = "link.rate.local", RATE, optional, for OF_CLASSES, example("600 Mbit/s"), source("Flitway");

    /// The same of the links between groups of a dragonfly or dragonfly-plus.
    pub(super) GLOBAL = "link.rate.global", RATE, optional, for OF_CLASSES, example("600 Mbit/s"), source("Flitway");
}

/// What links carry, where something is said of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkRates {
    /// By class: bits a second.
    of_classes: Vec<(String, u64)>,
}

impl LinkRates {
    /// Whether something is said of some.
    pub(crate) fn are_said(&self) -> bool {
        !self.of_classes.is_empty()
    }

    /// Bits a second of the links of `class`: `node`, or a class of links between switches. `None` if nothing is said of them.
    #[must_use]
    pub fn bits_per_second(&self, class: &str) -> Option<u64> {
        let of = |class: &str| self.of_classes.iter().find(|(name, _)| name == class).map(|(_, bits)| *bits);
        of(class).or_else(|| if class == "node" { None } else { of("switch") })
    }
}

impl LinkSettings {
    /// Flits of `flit_bytes` per cycle that are `bits` a second, to the bit; `None` if that is no ratio of small numbers, or
    /// more than one.
    #[must_use]
    pub fn rate(&self, bits: u64, flit_bytes: u32) -> Option<Rate> {
        let ((part, whole), seconds) = (self.part(bits, flit_bytes), u128::from(self.clock.as_ratio().1));
        (1..=CYCLES_MAX).find_map(|cycles| {
            let many = u128::from(cycles);
            let flits = (part * many + whole / 2) / whole;
            let is_it = (flits * whole).abs_diff(part * many) < many * seconds;
            Rate::new(u32::try_from(flits).ok().filter(|_| is_it)?, cycles)
        })
    }

    /// `bits` a second and a flit in every cycle, in the same unit.
    fn part(&self, bits: u64, flit_bytes: u32) -> (u128, u128) {
        let (cycles, seconds) = self.clock.as_ratio();
        (u128::from(bits) * u128::from(seconds), u128::from(cycles) * u128::from(flit_bytes) * 8)
    }

    /// Gbit/s of so many flits of `flit_bytes` per cycle.
    fn gigabits(&self, flits: f64, flit_bytes: u32) -> String {
        format!("{:.3} Gbit/s", flits * self.clock.hertz() * f64::from(flit_bytes) * 8.0 / 1e9)
    }

    /// The slowest that is said of the links that `topology` wires, if it is a rate.
    pub(crate) fn slowest(&self, topology: &Topology, flit_bytes: u32) -> Rate {
        let of_graph = topology.graph.iter().flat_map(|file| &file.links).flat_map(|link| link.rates);
        let said = self.rates.of_classes.iter().map(|(_, bits)| *bits).chain(of_graph.flatten());
        said.min().and_then(|bits| self.rate(bits, flit_bytes)).unwrap_or(Rate::FULL)
    }
}

/// What the machine file says: class, bits a second, where.
fn said(values: &Values) -> impl Iterator<Item = (String, u64, Option<Location>)> {
    let kind = values.choice(&topology::KIND).unwrap_or_default();
    let of_classes = of_classes(topology::links(kind)).iter().map(|it| it.rate);
    [&NODE, &SWITCH].into_iter().chain(of_classes).flat_map(|setting| values.quantities(setting))
}

pub(super) fn build(values: &Values, topology: Option<&Topology>, findings: &mut Diagnostics) -> LinkRates {
    let mut of_classes = Vec::new();
    for (class, bits, location) in said(values) {
        let is_of_all = class == NODE.key() || class == SWITCH.key();
        let problem = (!is_of_all).then(|| unknown_class(&class, topology, location.as_ref())).flatten();
        if let Some(problem) = problem {
            findings.push(problem);
        }
        of_classes.push((class, bits));
    }
    LinkRates { of_classes }
}

/// Checks what is said of links against what the channels of `chip` can carry.
pub(crate) fn check(
    values: &Values,
    link: &LinkSettings,
    topology: &Topology,
    chip: &dyn Chip,
    findings: &mut Diagnostics,
) {
    let of_classes = said(values).map(|(class, bits, at)| (format!("`link.rate.{class}`"), bits, at));
    let of_graph = topology.graph.iter().flat_map(|file| &file.links).flat_map(|placed| {
        let at = || Some(placed.location.clone());
        placed.rates.into_iter().flatten().map(move |bits| ("the rate of the link".to_owned(), bits, at()))
    });
    let mut has_slow = false;
    for (what, bits, at) in of_classes.chain(of_graph) {
        if let Err(problem) = check_rate(link, chip, (&what, bits), at.as_ref()) {
            findings.push(problem);
        } else if !has_slow
            && !chip.offers().rates
            && link.rate(bits, chip.format().flit_bytes) != Some(Rate::FULL)
        {
            has_slow = true;
            findings.push(not_offered(values, &what, bits, at));
        }
        if findings.has_more() {
            return;
        }
    }
}

/// One rate, of `what`.
fn check_rate(
    link: &LinkSettings,
    chip: &dyn Chip,
    (what, bits): (&str, u64),
    at: Option<&Location>,
) -> Result<(), Diagnostic> {
    let flit_bytes = chip.format().flit_bytes;
    let ((part, whole), (flits, cycles)) = (link.part(bits, flit_bytes), chip.link_rate().ratio());
    let shown = units::format(bits, Dimension::BitRate);
    if part * u128::from(cycles) > whole * u128::from(flits) {
        let coded = if chip.link_rate().is_full() { "" } else { ", as the links are coded" };
        let message = format!("{what} is {shown}: more than a channel carries");
        let most = link.gigabits(chip.link_rate().as_f64(), flit_bytes);
        let problem = Diagnostic::error(Code::OutOfRange, at.cloned(), message);
        return Err(problem
            .expected(format!("at most {most}, clock x flit{coded}"))
            .help("raise `clock` or `packet.flit`, and say the rate of the other links"));
    }
    if link.rate(bits, flit_bytes).is_some() {
        return Ok(());
    }
    let flits = ((part * u128::from(CYCLES_MAX) + whole / 2) / whole).max(1);
    let nearest = flits * whole / u128::from(CYCLES_MAX) / u128::from(link.clock.as_ratio().1);
    let nearest = units::format(u64::try_from(nearest).unwrap_or(u64::MAX), Dimension::BitRate);
    let message = format!("{what} is {shown}, which is no ratio of small numbers to clock x flit");
    Err(Diagnostic::error(Code::OutOfRange, at.cloned(), message).expected(format!(
        "so many flits in at most {CYCLES_MAX} cycles; the nearest are {flits} in {CYCLES_MAX}: {nearest}"
    )))
}

/// The switches know no rates.
fn not_offered(values: &Values, what: &str, bits: u64, at: Option<Location>) -> Diagnostic {
    let name = values.choice(&switch::ARCHITECTURE).unwrap_or_default();
    let message = format!(
        "switches of architecture \"{name}\" send a flit in every cycle, and {what} is {}",
        units::format(bits, Dimension::BitRate)
    );
    Diagnostic::error(Code::NoRates, at, message)
        .expected(format!("{}, whose links can be slower", switch::of_rates()))
        .help("where all links are alike, clock x flit is their rate")
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_engine::{Clock, Picos};

    fn links(clock: Clock) -> LinkSettings {
        LinkSettings {
            clock,
            fixed: Picos(0),
            propagation_picos_per_metre: 5_000,
            node_mm: 2_000,
            switch_mm: Some(8_000),
            overrides: Vec::new(),
            bit_errors: 0,
            rates: LinkRates { of_classes: vec![("switch".to_owned(), 50), ("global".to_owned(), 20)] },
        }
    }

    #[test]
    fn rates_are_exact_ratios_in_small_numbers() {
        let links = links(Clock::new(1_562_500_000).unwrap());
        let rate = |bits| links.rate(bits, 32).map(Rate::ratio);
        assert_eq!(rate(400_000_000_000), Some((1, 1)));
        assert_eq!(rate(100_000_000_000), Some((1, 4)));
        assert_eq!(rate(56_000_000_000), Some((7, 50)));
        assert_eq!([rate(400_000_000_001), rate(100_000_000_001), rate(0)], [None; 3]);
        // FDR, 600/11 Gbit/s, is no whole number of bits a second.
        assert_eq!([54_545_454_545, 54_545_454_546].map(rate), [Some((3, 22)); 2]);
        assert_eq!(rate(54_545_454_540), None);
    }

    #[test]
    fn a_class_of_which_nothing_is_said_has_the_rate_of_switches() {
        let links = links(Clock::new(1_000_000_000).unwrap());
        let of = |class| links.rates.bits_per_second(class);
        assert_eq!([of("node"), of("local"), of("global")], [None, Some(50), Some(20)]);
    }
}
