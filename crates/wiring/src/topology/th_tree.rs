//! The fat tree of Tianhe-2: built from one chip, which makes up the switch boards of frames (NRM), leaf switches and root
//! switches.
//!
//! Source: th-express-2.txt section 3 and figure 3. The nodes of a *frame* are on an *NRM* of lower and upper chips, which
//! are a fat tree of two levels; an upper port of every NRM of a *group* leads to each *leaf switch* of the group, which is one
//! chip; and a port of the leaf switches of all groups to each *root switch*, again lower and upper chips. Some frames are
//! a *cabinet*, which no link knows of.
//!
//! * Half of the ports of a chip lead up, half down, but where there is no way up. Between a lower and an upper chip of
//!   an NRM or a root switch there are as many links as ports allow: port `q` of those up leads to upper chip `q mod u`,
//!   over link `q / u`, and comes in there at port `i w + q / u` of lower chip `i`, with `w` links from each.
//! * Port `p` up of an NRM is on its upper chip `p mod u` and leads to leaf switch `p` of the group, at the port of its
//!   frame. So the upper chips stay alike when fewer ports are used, with which leaf and root switches shrink.
//! * Port `v` up of leaf switch `j` leads to root switch `j v_max + v`, whose lower chips have a port for each group.
//! * Nodes are numbered by group, frame and place in the frame, and are in order on the lower chips, as evenly as can be.
//! * Chips are numbered stage by stage, from the nodes up: lower chips of NRMs, upper ones, leaf switches, lower chips of
//!   root switches, upper ones; in a stage by what they are part of, in order.
//! * What is there once is joined by nothing: without a second group there are no root switches, and without a second frame
//!   no leaf switches.

use super::parts::Parts;
use super::{Builder, End, Layout, Shape, Structure, Topology, TopologyError};
use crate::{NodeId, PortId, SwitchId};

/// What such a tree is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThTree {
    /// Ports of a chip.
    pub chip_ports: u32,
    /// Nodes of a frame.
    pub nodes_per_frame: u32,
    /// Lower chips of an NRM, which have the nodes.
    pub lower_chips: u32,
    /// Upper chips of an NRM.
    pub upper_chips: u32,
    /// Ports up of an NRM that are used: as many as a group has leaf switches.
    pub up_ports_per_nrm: u32,
    /// Frames of a cabinet; the last one of a group may have fewer.
    pub frames_per_cabinet: u32,
    /// Frames of a group.
    pub frames_per_group: u32,
    /// Ports of the chip that a leaf switch is.
    pub leaf_ports: u32,
    /// Groups.
    pub groups: u32,
    /// Lower chips of a root switch, which have a port for each group.
    pub root_lower_chips: u32,
    /// Upper chips of a root switch.
    pub root_upper_chips: u32,
}

/// What a chip is, from the nodes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// A lower chip of an NRM.
    NrmLower,
    /// An upper chip of an NRM.
    NrmUpper,
    /// A leaf switch.
    Leaf,
    /// A lower chip of a root switch.
    RootLower,
    /// An upper chip of a root switch.
    RootUpper,
}

impl Stage {
    /// All, from the nodes up.
    pub const ALL: [Stage; 5] =
        [Stage::NrmLower, Stage::NrmUpper, Stage::Leaf, Stage::RootLower, Stage::RootUpper];
}

/// Where a chip is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chip {
    /// What it is.
    pub stage: Stage,
    /// Of which frame (counted through the groups), group or root switch.
    pub of: u32,
    /// Which one of it.
    pub index: u32,
}

/// Counts that do not go together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The fields of [`ThTree`], the one to change first.
    pub counts: &'static [&'static str],
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub expected: String,
}

/// Classes of links, from the nodes up.
const CLASSES: [&str; 5] = ["node", "within-nrm", "nrm-leaf", "leaf-root", "within-root"];

impl ThTree {
    /// The counts that do not go together.
    #[must_use]
    pub fn misfits(&self) -> Vec<Misfit> {
        let none = || [None, None, None];
        let [leaves, roots] = [self.has_leaves(), self.has_roots()];
        let misfits = [
            self.misfits_of_nrms(),
            if leaves { self.misfits_of_leaves() } else { none() },
            if roots { self.misfits_of_roots() } else { none() },
        ];
        std::iter::once(odd("a chip", self.chip_ports, &["chip_ports"]))
            .chain(misfits.into_iter().flatten())
            .flatten()
            .collect()
    }

    fn misfits_of_nrms(&self) -> [Option<Misfit>; 3] {
        let (ports_down, ports_left) = (self.lower_chips * self.half(), self.up_ports_max());
        let up = if ports_left > 0 {
            format!("at most {ports_left} ports up")
        } else {
            "fewer lower chips".to_owned()
        };
        [
            self.unshared("an NRM", self.upper_chips, &["upper_chips", "chip_ports"]),
            unless(
                self.nodes_per_frame <= ports_down,
                &["nodes_per_frame", "lower_chips", "chip_ports"],
                format!(
                    "{} nodes, but the lower chips of an NRM have {ports_down} ports down",
                    self.nodes_per_frame
                ),
                format!("at most {ports_down} nodes in a frame"),
            ),
            unless(
                self.up_ports_per_nrm <= ports_left,
                &["up_ports_per_nrm", "upper_chips", "lower_chips", "chip_ports"],
                format!(
                    "{} ports up, but the upper chips of an NRM have {ports_left} left",
                    self.up_ports_per_nrm
                ),
                up,
            ),
        ]
    }

    fn misfits_of_leaves(&self) -> [Option<Misfit>; 3] {
        let ports_down = self.leaf_half();
        let frames = unless(
            self.frames_per_group <= ports_down,
            &["frames_per_group", "leaf_ports"],
            format!("{} frames, but a leaf switch has {ports_down} ports down", self.frames_per_group),
            format!("at most {ports_down} frames in a group"),
        );
        [odd("a leaf switch", self.leaf_ports, &["leaf_ports"]), frames, None]
    }

    fn misfits_of_roots(&self) -> [Option<Misfit>; 3] {
        let (ports_down, needed) = (self.groups_max(), self.root_lower_chips * self.root_links());
        [
            unless(
                self.groups <= ports_down,
                &["groups", "root_lower_chips", "chip_ports"],
                format!(
                    "{} groups, but the lower chips of a root switch have {ports_down} ports down",
                    self.groups
                ),
                format!("at most {ports_down} groups"),
            ),
            self.unshared("a root switch", self.root_upper_chips, &["root_upper_chips", "chip_ports"]),
            unless(
                needed <= self.chip_ports,
                &["root_lower_chips", "root_upper_chips", "chip_ports"],
                format!(
                    "the lower chips of a root switch lead to {needed} ports of an upper one, which has {}",
                    self.chip_ports
                ),
                "fewer lower chips, or more upper ones".to_owned(),
            ),
        ]
    }

    /// That the `upper` chips of something cannot all have as many links.
    fn unshared(&self, whose: &str, upper: u32, counts: &'static [&'static str]) -> Option<Misfit> {
        let half = self.half();
        let message = format!(
            "the {half} ports up of a lower chip of {whose} cannot be shared by {upper} upper chips alike"
        );
        let expected = format!("a number of upper chips that divides {half}");
        unless(half.is_multiple_of(upper), counts, message, expected)
    }

    /// Ports up of a chip, and down, where it has both.
    fn half(&self) -> u32 {
        self.chip_ports / 2
    }

    /// Ports up of a leaf switch, and down.
    fn leaf_half(&self) -> u32 {
        self.leaf_ports / 2
    }

    /// Links between a lower and an upper chip of an NRM.
    fn nrm_links(&self) -> u32 {
        self.half() / self.upper_chips
    }

    /// Links between a lower and an upper chip of a root switch.
    fn root_links(&self) -> u32 {
        self.half() / self.root_upper_chips
    }

    /// Ports that the upper chips of an NRM have left to lead up.
    #[must_use]
    pub fn up_ports_max(&self) -> u32 {
        self.upper_chips * self.chip_ports.saturating_sub(self.lower_chips * self.nrm_links())
    }

    /// Groups that root switches have ports for.
    #[must_use]
    pub fn groups_max(&self) -> u32 {
        self.root_lower_chips * self.half()
    }

    /// Whether there are leaf switches.
    #[must_use]
    pub fn has_leaves(&self) -> bool {
        self.groups > 1 || self.frames_per_group > 1
    }

    /// Whether there are root switches.
    #[must_use]
    pub fn has_roots(&self) -> bool {
        self.groups > 1
    }

    /// Nodes of a group.
    #[must_use]
    pub fn nodes_per_group(&self) -> u32 {
        self.frames_per_group * self.nodes_per_frame
    }

    /// Number of nodes.
    #[must_use]
    pub fn nodes(&self) -> u64 {
        u64::from(self.groups) * u64::from(self.frames_per_group) * u64::from(self.nodes_per_frame)
    }

    /// Number of chips.
    #[must_use]
    pub fn chips(&self) -> u64 {
        Stage::ALL.into_iter().map(|stage| self.chips_of(stage)).sum()
    }

    /// Chips of a stage.
    #[must_use]
    pub fn chips_of(&self, stage: Stage) -> u64 {
        self.owners(stage) * u64::from(self.chips_each(stage))
    }

    /// NRMs, groups or root switches: what the chips of `stage` are part of.
    fn owners(&self, stage: Stage) -> u64 {
        let groups = u64::from(self.groups);
        match stage {
            Stage::NrmLower | Stage::NrmUpper => groups * u64::from(self.frames_per_group),
            Stage::Leaf if self.has_leaves() => groups,
            Stage::RootLower | Stage::RootUpper if self.has_roots() => {
                u64::from(self.up_ports_per_nrm) * u64::from(self.leaf_half())
            }
            _ => 0,
        }
    }

    /// Chips of each of them.
    #[must_use]
    pub fn chips_each(&self, stage: Stage) -> u32 {
        match stage {
            Stage::NrmLower => self.lower_chips,
            Stage::NrmUpper => self.upper_chips,
            Stage::Leaf => self.up_ports_per_nrm,
            Stage::RootLower => self.root_lower_chips,
            Stage::RootUpper => self.root_upper_chips,
        }
    }

    /// The chip at that place.
    #[must_use]
    pub fn switch(&self, stage: Stage, of: u32, index: u32) -> SwitchId {
        let below: u64 = Stage::ALL.into_iter().filter(|&it| it < stage).map(|it| self.chips_of(it)).sum();
        SwitchId(below as u32 + of * self.chips_each(stage) + index)
    }

    /// Every chip, in the order of their numbers.
    pub fn places(&self) -> impl Iterator<Item = Chip> {
        Stage::ALL.into_iter().flat_map(move |stage| {
            let of = 0..self.owners(stage) as u32;
            of.flat_map(move |of| (0..self.chips_each(stage)).map(move |index| Chip { stage, of, index }))
        })
    }

    /// The ports up of a chip that are used; none at the top.
    #[must_use]
    pub fn ports_up(&self, chip: Chip) -> std::ops::Range<u32> {
        let (first, count) = match chip.stage {
            Stage::NrmLower => (self.half(), self.half()),
            Stage::NrmUpper if self.has_leaves() => {
                let ports = (self.up_ports_per_nrm + self.upper_chips - 1 - chip.index) / self.upper_chips;
                (self.lower_chips * self.nrm_links(), ports)
            }
            Stage::Leaf if self.has_roots() => (self.leaf_half(), self.leaf_half()),
            Stage::RootLower => (self.half(), self.half()),
            _ => (0, 0),
        };
        first..first + count
    }

    /// The lower chip of an NRM that has a node of the frame, and the port.
    #[must_use]
    pub fn place_in_frame(&self, node: u32) -> (u32, PortId) {
        let (few, more) = (self.nodes_per_frame / self.lower_chips, self.nodes_per_frame % self.lower_chips);
        // The first chips have one more each.
        let beyond = node.checked_sub(more * (few + 1));
        let (chip, port) = match beyond {
            Some(rest) => (more + rest / few, rest % few),
            None => (node / (few + 1), node % (few + 1)),
        };
        (chip, PortId(port))
    }

    /// The ports down of an upper chip of an NRM to a lower one.
    #[must_use]
    pub fn ports_to_lower(&self, lower: u32) -> std::ops::Range<u32> {
        lower * self.nrm_links()..(lower + 1) * self.nrm_links()
    }

    /// The ports down of an upper chip of a root switch towards a group.
    #[must_use]
    pub fn root_ports_to(&self, group: u32) -> std::ops::Range<u32> {
        let lower = group / self.half();
        lower * self.root_links()..(lower + 1) * self.root_links()
    }

    /// The lower chip of a root switch that has the port of a group, and that port.
    #[must_use]
    pub fn root_port_of(&self, group: u32) -> (u32, PortId) {
        (group / self.half(), PortId(group % self.half()))
    }

    /// Ports that its largest chip needs.
    #[must_use]
    pub fn ports_max(&self) -> u32 {
        let leaf = match (self.has_leaves(), self.has_roots()) {
            (false, _) => 0,
            (true, false) => self.frames_per_group,
            (true, true) => self.leaf_ports,
        };
        self.chip_ports.max(leaf)
    }

    /// Classes of links between chips, and whether there are some of each.
    #[must_use]
    pub fn link_classes(&self) -> [(&'static str, bool); 4] {
        let wired = [true, self.has_leaves(), self.has_roots(), self.has_roots()];
        std::array::from_fn(|at| (CLASSES[at + 1], wired[at]))
    }
}

impl Structure for ThTree {
    fn hops_max(&self) -> Option<u32> {
        Some(match () {
            () if self.groups > self.half() => 9,
            () if self.has_roots() => 7,
            () if self.has_leaves() => 5,
            () if self.lower_chips > 1 => 3,
            () => 1,
        })
    }

    /// Half of the groups, or of the frames of the only one, are cut off where they have the fewest links up.
    fn bisection_links(&self, topology: &Topology) -> Option<u64> {
        let [nodes, up_ports] = [self.nodes_per_frame, self.up_ports_per_nrm].map(u64::from);
        let of_frame = nodes.min(up_ports);
        let frames = u64::from(self.frames_per_group);
        if self.has_roots() {
            let of_group = (frames * of_frame).min(up_ports * u64::from(self.leaf_half()));
            return self.groups.is_multiple_of(2).then(|| u64::from(self.groups / 2) * of_group);
        }
        if self.has_leaves() {
            return self.frames_per_group.is_multiple_of(2).then_some(frames / 2 * of_frame);
        }
        Some(u64::from(topology.nodes() / 2))
    }

    /// Links are built from below.
    fn directions(&self) -> [&'static str; 2] {
        ["up", "down"]
    }

    fn parts(&self, topology: &Topology) -> Option<Vec<Parts>> {
        let (frames, per_cabinet) = (self.frames_per_group, self.frames_per_cabinet);
        let cabinets = frames.div_ceil(per_cabinet);
        let part = |name: &str, of: &dyn Fn(u32) -> u32| Parts {
            name: name.to_owned(),
            of: (0..topology.nodes()).map(|node| of(node / self.nodes_per_frame)).collect(),
        };
        let parts = [
            part("frames", &|frame| frame),
            part("cabinets", &|frame| frame / frames * cabinets + frame % frames / per_cabinet),
            part("groups", &|frame| frame / frames),
        ];
        Some(parts.into_iter().filter(|parts| parts.of.iter().any(|&part| part > 0)).collect())
    }

    fn levels(&self) -> Option<(&'static [&'static str], &'static str)> {
        let names =
            &["lower chips of NRMs", "upper chips of NRMs", "leaf switches", "lower chips", "upper chips"];
        Some((names, "root switch"))
    }

    fn layout(&self, _: &Topology) -> Layout<'_> {
        Layout::Levels
    }
}

fn unless(fits: bool, counts: &'static [&'static str], message: String, expected: String) -> Option<Misfit> {
    (!fits).then_some(Misfit { counts, message, expected })
}

/// That something has an odd number of ports.
fn odd(what: &str, ports: u32, counts: &'static [&'static str]) -> Option<Misfit> {
    let expected = "an even number: half of the ports lead up, half down".to_owned();
    unless(ports.is_multiple_of(2), counts, format!("{what} has {ports} ports, an odd number"), expected)
}

pub(super) fn build(tree: &ThTree) -> Result<Topology, TopologyError> {
    let ThTree { chip_ports, leaf_ports, .. } = *tree;
    let counts = [tree.nodes_per_frame, tree.lower_chips, tree.upper_chips, tree.up_ports_per_nrm];
    let more = [tree.frames_per_cabinet, tree.frames_per_group, tree.groups];
    let roots = [tree.root_lower_chips, tree.root_upper_chips];
    if [&counts[..], &more, &roots, &[chip_ports, leaf_ports]]
        .concat()
        .iter()
        .any(|count| !(1..=1 << 16).contains(count))
    {
        return Err(TopologyError::Size("a th-tree has 1 to 65536 of everything".into()));
    }
    if let Some(misfit) = tree.misfits().first() {
        return Err(TopologyError::Size(format!("{}: expected {}", misfit.message, misfit.expected)));
    }
    let mut builder = Builder::new(tree.nodes(), tree.chips(), CLASSES.map(str::to_owned).to_vec())?;
    for node in 0..tree.nodes() as u32 {
        let (frame, place) = (node / tree.nodes_per_frame, node % tree.nodes_per_frame);
        let (chip, port) = tree.place_in_frame(place);
        let end = End::Switch(tree.switch(Stage::NrmLower, frame, chip), port);
        builder.link([End::Node(NodeId(node)), end], 0);
    }
    for (number, chip) in (0..).zip(tree.places()) {
        for (up, port) in (0..).zip(tree.ports_up(chip)) {
            let (above, class) = above(tree, chip, up);
            builder.link([End::Switch(SwitchId(number), PortId(port)), above], class);
        }
    }
    builder.finish(Shape::ThTree(tree.clone()))
}

/// Where port `up` of those up of `chip` leads, and the class of its link.
fn above(tree: &ThTree, chip: Chip, up: u32) -> (End, u32) {
    let Chip { stage, of, index } = chip;
    let (stage, of, other, port, class) = match stage {
        Stage::NrmLower => {
            let (other, link) = (up % tree.upper_chips, up / tree.upper_chips);
            (Stage::NrmUpper, of, other, index * tree.nrm_links() + link, 1)
        }
        Stage::NrmUpper => {
            let leaf = up * tree.upper_chips + index;
            (Stage::Leaf, of / tree.frames_per_group, leaf, of % tree.frames_per_group, 2)
        }
        Stage::Leaf => {
            let (lower, port) = tree.root_port_of(of);
            (Stage::RootLower, index * tree.leaf_half() + up, lower, port.0, 3)
        }
        Stage::RootLower | Stage::RootUpper => {
            let (other, link) = (up % tree.root_upper_chips, up / tree.root_upper_chips);
            (Stage::RootUpper, of, other, index * tree.root_links() + link, 4)
        }
    };
    (End::Switch(tree.switch(stage, of, other), PortId(port)), class)
}

#[cfg(test)]
pub(crate) mod tests;
