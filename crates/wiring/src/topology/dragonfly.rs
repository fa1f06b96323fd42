//! Dragonflies: groups of switches, each joined to all others of its group, and groups joined by global links.
//!
//! Source: Kim, Dally, Scott and Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008: a group has *a*
//! switches, a switch *p* nodes and *h* global links; there are up to *a h + 1* groups. Where there are fewer, two groups are
//! joined by as many links as all pairs can have, `a h / (g - 1)` rounded down, and ports that are left over have none.
//!
//! Which global port leads where is the *arrangement* (Camarero, Vallejo and Beivide, *ACM TACO* 11(4), 2014). The global
//! ports of a group are numbered through its switches, and the first `g - 1`, the next `g - 1` and so on lead to all other
//! groups: in the *absolute* arrangement by their number, in the *palm tree* to the group before, the one before that, and
//! so on, around.
//!
//! The first ports of a switch hold its nodes; then come those to the others of its group, by number, then the global ones.

use super::{Builder, End, Layout, Shape, Spots, Structure, Topology, TopologyError};
use crate::{PortId, SwitchId};

/// Which global port leads to which group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// To the groups before, the nearest first.
    PalmTree,
    /// To the other groups by their number.
    Absolute,
}

/// What a dragonfly is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DragonflyShape {
    /// Groups.
    pub groups: u32,
    /// a: switches of a group.
    pub switches_per_group: u32,
    /// p: nodes on every switch.
    pub nodes_per_switch: u32,
    /// h: global ports of a switch.
    pub global_ports: u32,
    /// Which of them leads where.
    pub arrangement: Arrangement,
}

impl DragonflyShape {
    fn checked(self) -> Result<Self, TopologyError> {
        let DragonflyShape { groups, switches_per_group, nodes_per_switch, global_ports, .. } = self;
        if [groups, switches_per_group, nodes_per_switch].contains(&0) {
            let what =
                "a dragonfly has at least one group, of at least one switch, with at least one node each";
            return Err(TopologyError::Size(what.into()));
        }
        let most = 1 + u64::from(switches_per_group) * u64::from(global_ports);
        if u64::from(groups) > most {
            return Err(TopologyError::Size(format!(
                "{groups} groups: their global ports join {most} at most"
            )));
        }
        Ok(self)
    }

    /// Links between two groups.
    #[must_use]
    pub fn links_between_groups(&self) -> u32 {
        self.switches_per_group * self.global_ports / (self.groups - 1).max(1)
    }

    /// The group of a switch.
    #[must_use]
    pub fn group(&self, switch: SwitchId) -> u32 {
        switch.0 / self.switches_per_group
    }

    /// The port from one switch to another of its group.
    #[must_use]
    pub fn local_port(&self, here: SwitchId, there: SwitchId) -> PortId {
        let (here, there) = (here.0 % self.switches_per_group, there.0 % self.switches_per_group);
        PortId(self.nodes_per_switch + if there < here { there } else { there - 1 })
    }

    /// The switch and port of `group` at its end of the `copy`th link to the group `other`.
    #[must_use]
    pub fn global_end(&self, group: u32, other: u32, copy: u32) -> (SwitchId, PortId) {
        let place = match self.arrangement {
            Arrangement::PalmTree => (group + self.groups - other - 1) % self.groups,
            Arrangement::Absolute => other - u32::from(other > group),
        };
        let number = copy * (self.groups - 1) + place;
        let switch = group * self.switches_per_group + number / self.global_ports;
        (SwitchId(switch), PortId(self.all_global_ports().start + number % self.global_ports))
    }

    /// Whether `port` is a global one.
    #[must_use]
    pub fn is_global(&self, port: PortId) -> bool {
        port.0 >= self.all_global_ports().start
    }

    /// The global ports of a switch, the last of its ports.
    #[must_use]
    pub fn all_global_ports(&self) -> std::ops::Range<u32> {
        let first = self.nodes_per_switch + self.switches_per_group - 1;
        first..first + self.global_ports
    }

    fn switches(&self) -> u64 {
        u64::from(self.groups) * u64::from(self.switches_per_group)
    }
}

impl Structure for DragonflyShape {
    /// At most two switches of the own group and two of the other.
    fn hops_max(&self) -> Option<u32> {
        let local = u32::from(self.switches_per_group > 1);
        Some(1 + local + if self.groups > 1 { 1 + local } else { 0 })
    }

    /// Between halves of the groups, if they can be halved.
    fn bisection_links(&self, _: &Topology) -> Option<u64> {
        let half = u64::from(self.groups / 2);
        self.groups.is_multiple_of(2).then(|| half * half * u64::from(self.links_between_groups()))
    }

    /// A group is a row.
    fn node_dimensions(&self, _: &Topology) -> Vec<u32> {
        vec![self.switches_per_group * self.nodes_per_switch, self.groups]
    }

    /// Groups in a circle, the switches of each in a smaller one.
    fn layout(&self, topology: &Topology) -> Layout<'_> {
        let around = |place: u32, of: u32| {
            let angle =
                std::f64::consts::TAU * f64::from(place) / f64::from(of) - std::f64::consts::FRAC_PI_2;
            [angle.cos(), angle.sin()]
        };
        let radius = (std::f64::consts::PI / f64::from(self.groups.max(2))).sin().min(0.5) * 0.72;
        let spot = |switch| {
            let group = around(self.group(SwitchId(switch)), self.groups);
            let within = around(switch % self.switches_per_group, self.switches_per_group);
            [0, 1].map(|axis| group[axis] + radius * within[axis])
        };
        Layout::Spots(Spots::new((0..topology.switches()).map(spot).collect(), false))
    }
}

pub(super) fn build(shape: DragonflyShape) -> Result<Topology, TopologyError> {
    let shape = shape.checked()?;
    let (switches, per_group) = (shape.switches(), shape.switches_per_group);
    let nodes = switches.checked_mul(shape.nodes_per_switch.into());
    let nodes = nodes.ok_or_else(|| TopologyError::Size("the nodes are too many".into()))?;
    let mut builder = Builder::new(nodes, switches, ["node", "local", "global"].map(str::to_owned).to_vec())?;
    builder.nodes(shape.nodes_per_switch);
    for here in (0..switches as u32).map(SwitchId) {
        let end = (shape.group(here) + 1) * per_group;
        for there in (here.0 + 1..end).map(SwitchId) {
            let ends = [
                End::Switch(here, shape.local_port(here, there)),
                End::Switch(there, shape.local_port(there, here)),
            ];
            builder.link(ends, 1);
        }
    }
    for copy in 0..shape.links_between_groups() {
        for group in 0..shape.groups {
            for other in group + 1..shape.groups {
                // Where the palm tree leads from one group by its first ports it arrives from the other by its last.
                let ends = [(group, other), (other, group)].map(|(one, other)| {
                    let (switch, port) = shape.global_end(one, other, copy);
                    End::Switch(switch, port)
                });
                builder.link(ends, 2);
            }
        }
    }
    builder.finish(Shape::Dragonfly(shape))
}
