//! `[link]`: cables, and the time that a flit spends on them.
//!
//! A link of length `l` takes `ceil((fixed + l x propagation) / cycle)` cycles, at least one, in each direction. What its
//! channels carry is in `rates`.

pub(crate) mod rates;

use flitway_engine::{Clock, Picos};
use flitway_fabric::headroom::Longest;
use flitway_wiring::topology::End;

use crate::code::Code;
use crate::diagnostic::{Diagnostic, Diagnostics, Location};
use crate::section::topology::{self, Links, Topology};
use crate::section::{general, switch};
use crate::setting::{Kind, Setting, When, settings};
use crate::units::{self, Dimension};
use crate::values::Values;
use rates::LinkRates;

/// The longest cable, 100 km, in millimetres.
const LENGTH_MAX: u64 = 100_000_000;
/// Bits in a petabit.
pub(crate) const PETABIT: u64 = 1_000_000_000_000_000;
/// The slowest link, in cycles.
const CYCLES_MAX: u64 = 1_000_000;

const LENGTH: Kind = Kind::Quantity { dimension: Dimension::Length, min: 0, max: LENGTH_MAX };

settings! {
    pub(crate) static SETTINGS;

    /// Delay of a cable for each metre.
    PROPAGATION = "link.propagation", Kind::Quantity { dimension: Dimension::Propagation, min: 0, max: 1_000_000 },
        default("5 ns/m"), source("hpp-switch.txt section 3.4 (P-HP-076)");

    /// Delay of each link whatever its length: SerDes, connectors and the like, in one direction.
    FIXED = "link.fixed", Kind::Quantity { dimension: Dimension::Time, min: 0, max: 1_000_000_000_000 },
        default("0 ns"), example("60 ns"), source("OQ-D8");

    /// Bits that a link gets wrong. A packet or an acknowledgement with a wrong one is lost, and sent again.
    pub(crate) BIT_ERRORS = "link.bit_errors", Kind::Quantity { dimension: Dimension::BitErrors, min: 0, max: PETABIT },
        default("0 errors/Tbit"), for OF_RETRY, example("1 errors/Gbit"), source("th-express-2.txt section 4.3.2: that there are some; 0 [assumed]");

    /// Length of the links between nodes and switches.
    LENGTH_NODE = "link.length.node", LENGTH, required, example("8 m"), source("hpp-switch.txt section 3.4 (P-HP-075)");

    /// Length of the links between switches, where nothing below or in the graph file says another.
    LENGTH_SWITCH = "link.length.switch", LENGTH, required, for OF_SWITCHES, example("8 m"),
        source("hpp-switch.txt section 3.4 (P-HP-075)");

    /// Length of the links between switch levels N and N + 1 of a tree; level 1 is the one with the nodes.
    LENGTH_LEVEL = "link.length.level-N", LENGTH, optional, for OF_CLASSES, example("3 m"), source("Flitway");

    /// Length of the links between chips of one NRM of a th-tree: traces of a board.
    LENGTH_WITHIN_NRM = "link.length.within-nrm", LENGTH, optional, for OF_CLASSES, example("30 cm"),
        source("th-express-2.txt section 3 (P-TH-058)");

    /// Length of the links between the NRMs and the leaf switches of a th-tree.
    LENGTH_NRM_LEAF = "link.length.nrm-leaf", LENGTH, optional, for OF_CLASSES, example("10 m"), source("Flitway");

    /// Length of the links between the leaf and the root switches of a th-tree.
    LENGTH_LEAF_ROOT = "link.length.leaf-root", LENGTH, optional, for OF_CLASSES, example("20 m"), source("Flitway");

    /// Length of the links between chips of one root switch of a th-tree.
    LENGTH_WITHIN_ROOT = "link.length.within-root", LENGTH, optional, for OF_CLASSES, example("30 cm"),
        source("Flitway");

    /// Length of the links between stages N and N + 1 of an omega network or a butterfly; stage 1 is the one that nodes
    /// send to.
    LENGTH_STAGE = "link.length.stage-N", LENGTH, optional, for OF_CLASSES, example("3 m"), source("Flitway");

    /// Length of the links of dimension N of a mesh, a torus or a HyperX, counted from 0.
    LENGTH_DIMENSION = "link.length.dimension-N", LENGTH, optional, for OF_CLASSES, example("50 cm"), source("Flitway");

    /// Length of the links within a group of a dragonfly or dragonfly-plus.
    LENGTH_LOCAL = "link.length.local", LENGTH, optional, for OF_CLASSES, example("2 m"), source("Flitway");

    /// Length of the links between groups of a dragonfly or dragonfly-plus.
    LENGTH_GLOBAL = "link.length.global", LENGTH, optional, for OF_CLASSES, example("20 m"), source("Flitway");
}

/// What a class of links can have of its own.
#[derive(Clone, Copy)]
struct OfClass {
    length: &'static Setting,
    rate: &'static Setting,
}

/// What the classes of `links` can have.
fn of_classes(links: Links) -> &'static [OfClass] {
    const fn of(length: &'static Setting, rate: &'static Setting) -> OfClass {
        OfClass { length, rate }
    }
    match links {
        Links::None | Links::Alike => &[],
        Links::Levels => const { &[of(&LENGTH_LEVEL, &rates::LEVEL)] },
        Links::Boards => {
            const {
                &[
                    of(&LENGTH_WITHIN_NRM, &rates::WITHIN_NRM),
                    of(&LENGTH_NRM_LEAF, &rates::NRM_LEAF),
                    of(&LENGTH_LEAF_ROOT, &rates::LEAF_ROOT),
                    of(&LENGTH_WITHIN_ROOT, &rates::WITHIN_ROOT),
                ]
            }
        }
        Links::Stages => const { &[of(&LENGTH_STAGE, &rates::STAGE)] },
        Links::Dimensions | Links::Rings => const { &[of(&LENGTH_DIMENSION, &rates::DIMENSION)] },
        Links::Groups => const { &[of(&LENGTH_LOCAL, &rates::LOCAL), of(&LENGTH_GLOBAL, &rates::GLOBAL)] },
    }
}

/// Settings of links that send again what was lost.
const OF_RETRY: When = When {
    selector: &switch::ARCHITECTURE,
    holds: |_, name| switch::named(name).is_some_and(|it| it.retries),
};

/// Lengths of all links between switches.
const OF_SWITCHES: When =
    When { selector: &topology::KIND, holds: |_, kind| topology::links(kind) != Links::None };

/// Lengths and rates of classes of links between switches.
const OF_CLASSES: When = When {
    selector: &topology::KIND,
    holds: |setting, kind| {
        let all = of_classes(topology::links(kind)).iter().flat_map(|it| [it.length, it.rate]);
        all.into_iter().any(|it| std::ptr::eq(it, setting))
    },
};

/// The links of a machine by class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSettings {
    clock: Clock,
    /// Delay of every link.
    pub fixed: Picos,
    /// Delay of a cable for each metre, in picoseconds.
    pub propagation_picos_per_metre: u64,
    /// Length of the links to nodes.
    pub node_mm: u64,
    /// Length of the links between switches; `None` if the topology has none.
    pub switch_mm: Option<u64>,
    /// Class and length of those links between switches that differ.
    pub overrides: Vec<(String, u64)>,
    /// Bits that a link gets wrong, of 10^15.
    pub bit_errors: u64,
    /// What links carry.
    pub rates: LinkRates,
}

impl LinkSettings {
    /// Length of the links of `class`: `node`, or a class of links between switches.
    #[must_use]
    pub fn length_mm(&self, class: &str) -> u64 {
        if class == "node" {
            return self.node_mm;
        }
        let exact = self.overrides.iter().find(|(name, _)| name == class).map(|(_, length)| *length);
        exact.or(self.switch_mm).unwrap_or(self.node_mm)
    }

    /// Cycles that a flit spends on a link of `class`, or on one of its own length: rounds up, at least 1.
    ///
    /// # Panics
    /// If `own_length_mm` is longer than a checked machine allows.
    #[must_use]
    pub fn cycles(&self, class: &str, own_length_mm: Option<u64>) -> u32 {
        let length_mm = own_length_mm.unwrap_or_else(|| self.length_mm(class));
        u32::try_from(self.exact_cycles(length_mm)).expect("a checked machine has no link of 2^32 cycles")
    }

    /// The same before it is rounded up.
    #[must_use]
    pub fn cycles_before_rounding(&self, class: &str) -> f64 {
        let cable = self.length_mm(class) as f64 * self.propagation_picos_per_metre as f64 / 1_000.0;
        (self.fixed.0 as f64 + cable) * self.clock.hertz() / 1e12
    }

    /// Length of the longest link that `topology` wires.
    pub(crate) fn longest_mm(&self, topology: &Topology) -> u64 {
        let classes = topology.wired_classes.iter().map(|class| self.length_mm(class));
        let of_graph = topology.graph.iter().flat_map(|file| &file.graph.links);
        let own = of_graph.filter_map(|link| link.length_mm);
        classes.chain(own).fold(self.node_mm, u64::max)
    }

    /// Cycles of the longest links of `topology`.
    pub(crate) fn longest(&self, topology: &Topology) -> Longest {
        let (mut nodes, mut switches) = (self.cycles("node", None), None);
        if let Some(file) = &topology.graph {
            nodes = 0;
            for link in &file.graph.links {
                if link.ends.iter().any(|end| matches!(end, End::Node(_))) {
                    nodes = nodes.max(self.cycles("node", link.length_mm));
                } else {
                    switches = switches.max(Some(self.cycles("switch", link.length_mm)));
                }
            }
        }
        for class in &topology.wired_classes {
            switches = switches.max(Some(self.cycles(class, None)));
        }
        Longest { nodes, switches }
    }

    /// Exact: the product is in thousandths of a picosecond, 128 bits wide.
    fn exact_cycles(&self, length_mm: u64) -> u128 {
        let cable = u128::from(length_mm) * u128::from(self.propagation_picos_per_metre);
        let total = u128::from(self.fixed.0) * 1_000 + cable;
        self.clock.cycles_ceil_of(total, 1_000).max(1)
    }
}

pub(crate) fn build(
    values: &Values,
    topology: Option<&Topology>,
    findings: &mut Diagnostics,
) -> Option<LinkSettings> {
    let mut overrides = Vec::new();
    let mut places = Vec::new();
    let classes = of_classes(topology::links(values.choice(&topology::KIND).unwrap_or_default()));
    for (class, length, location) in classes.iter().flat_map(|it| values.quantities(it.length)) {
        if let Some(problem) = unknown_class(&class, topology, location.as_ref()) {
            findings.push(problem);
        }
        overrides.push((class, length));
        places.push(location);
    }
    let (fixed, propagation) = (values.quantity(&FIXED), values.quantity(&PROPAGATION));
    let (node, switch) = (values.quantity(&LENGTH_NODE), values.quantity(&LENGTH_SWITCH));
    let links = LinkSettings {
        clock: general::clock(values)?,
        fixed: Picos(fixed?),
        propagation_picos_per_metre: propagation?,
        node_mm: node?,
        switch_mm: switch,
        overrides,
        bit_errors: values.quantity(&BIT_ERRORS).unwrap_or(0),
        rates: rates::build(values, topology, findings),
    };
    let mut lengths = vec![(Some(links.node_mm), values.location(&LENGTH_NODE))];
    lengths.push((links.switch_mm, values.location(&LENGTH_SWITCH)));
    lengths.extend(links.overrides.iter().map(|(_, length)| Some(*length)).zip(places));
    for link in topology.and_then(|topology| topology.graph.as_ref()).iter().flat_map(|graph| &graph.links) {
        lengths.push((link.length_mm, Some(link.location.clone())));
    }
    let slow = lengths.into_iter().find_map(|(length, at)| {
        let cycles = links.exact_cycles(length?);
        (cycles > u128::from(CYCLES_MAX)).then_some((length?, at, cycles))
    });
    if let Some((length, at, cycles)) = slow {
        findings.push(too_slow(values, &links, length, at, cycles));
        return None;
    }
    Some(links)
}

fn too_slow(
    values: &Values,
    links: &LinkSettings,
    length_mm: u64,
    at: Option<Location>,
    cycles: u128,
) -> Diagnostic {
    let alone = LinkSettings { propagation_picos_per_metre: 0, ..links.clone() };
    // Point at the delay if it is too long by itself, else at the length.
    let at = if alone.exact_cycles(0) > u128::from(CYCLES_MAX) { values.location(&FIXED).or(at) } else { at };
    let message = format!(
        "a link of {} takes {cycles} cycles ({} fixed, {} propagation)",
        units::format(length_mm, Dimension::Length),
        units::format(links.fixed.0, Dimension::Time),
        units::format(links.propagation_picos_per_metre, Dimension::Propagation)
    );
    Diagnostic::error(Code::LinkTooLong, at, message).expected(format!("at most {CYCLES_MAX} cycles"))
}

fn unknown_class(class: &str, topology: Option<&Topology>, at: Option<&Location>) -> Option<Diagnostic> {
    let topology = topology?;
    if topology.classes.iter().any(|name| name == class) {
        return None;
    }
    let message = format!("the topology has no links `{class}`");
    let expected = match (topology.classes.first(), topology.classes.last()) {
        (Some(first), Some(last)) if first != last => format!("`{first}` to `{last}`"),
        (Some(only), _) => format!("`{only}`"),
        _ => "no override: there are no links between switches".to_owned(),
    };
    Some(Diagnostic::error(Code::NoSuchClass, at.cloned(), message).expected(expected))
}

/// The probability that one of so many bits is wrong, in units of 2^-64, as many of which as there are bits may be missing:
/// the power is rounded down in each step.
#[must_use]
pub fn probability_of_error(errors_per_petabit: u64, bits: u32) -> u64 {
    if errors_per_petabit == 0 {
        return 0;
    }
    let right = (u128::from(PETABIT - errors_per_petabit) << 64) / u128::from(PETABIT);
    let all_right = (0..bits).fold(1_u128 << 64, |power, _| (power * right) >> 64);
    u64::try_from((1_u128 << 64) - all_right).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_lost_if_one_of_its_bits_is_wrong() {
        let probability = |errors| probability_of_error(errors, 80) as f64 / 2_f64.powi(64);
        assert_eq!(probability_of_error(0, 80), 0);
        assert_eq!(probability_of_error(PETABIT, 80), u64::MAX);
        for errors in [100, 10_000_000, PETABIT / 1_000, PETABIT / 2] {
            let exact = -(80.0 * (-(errors as f64) / PETABIT as f64).ln_1p()).exp_m1();
            let ratio = probability(errors) / exact;
            assert!((ratio - 1.0).abs() < 1e-5, "{errors} errors in a petabit: {ratio} of {exact}");
        }
    }

    fn links(hertz: u64, fixed: u64, propagation: u64) -> LinkSettings {
        LinkSettings {
            clock: Clock::new(hertz).unwrap(),
            fixed: Picos(fixed),
            propagation_picos_per_metre: propagation,
            node_mm: 8_000,
            switch_mm: Some(3_000),
            bit_errors: 0,
            rates: LinkRates::default(),
            overrides: vec![("level-2".to_owned(), 12_000)],
        }
    }

    #[test]
    fn eight_metres_at_five_nanoseconds_are_thirteen_cycles_of_the_hpp_switch() {
        // hpp-switch.txt section 3.4: l = 40 ns; at 312.5 MHz that is 12.5 cycles.
        assert_eq!(links(312_500_000, 0, 5_000).cycles("node", None), 13);
    }

    #[test]
    fn the_prototype_link_is_ten_cycles_exactly() {
        // OQ-D8: 0.1 us at 100 MHz; 60 ns fixed and 8 m at 5 ns/m.
        let links = links(100_000_000, 60_000, 5_000);
        assert_eq!(links.cycles("node", None), 10);
        assert_eq!(links.cycles("node", Some(8_001)), 11, "a millimetre more waits for the next edge");
    }

    #[test]
    fn a_class_without_its_own_length_has_that_of_switches() {
        let links = links(1_000_000_000, 0, 1_000);
        assert_eq!([links.cycles("level-1", None), links.cycles("level-2", None)], [3, 12]);
        assert_eq!(links.cycles("switch", Some(0)), 1, "no link takes no time");
    }
}
