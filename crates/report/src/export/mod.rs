//! A rail of a machine in the formats of others, as text.

mod dot;
mod graphml;
mod slurm;

use crate::facts::{has_rates, link_bits_per_second};
use flitway_fabric::Fabric;
use flitway_machine::{Dimension, Machine, units};
use flitway_wiring::topology::{End, Topology};
use flitway_wiring::{NodeId, SwitchId};

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Graphviz.
    Dot,
    /// GraphML.
    Graphml,
    /// `topology.conf` of Slurm.
    Slurm,
}

impl Format {
    /// All of them, each with its name.
    pub const ALL: &'static [(&'static str, Format)] =
        &[("dot", Format::Dot), ("graphml", Format::Graphml), ("slurm", Format::Slurm)];
}

/// A rail of `machine`, of which `fabric` has been built, in `format`. All rails are alike.
#[must_use]
pub fn export(machine: &Machine, fabric: &Fabric, format: Format) -> String {
    let fabric = Named { machine, topology: fabric.topology(), fabric };
    match format {
        Format::Dot => dot::text(&fabric),
        Format::Graphml => graphml::text(&fabric),
        Format::Slurm => slurm::text(&fabric),
    }
}

/// A rail with the names that its graph file gives, or `s0`, `s1`, ... and `n0`, `n1`, ....
struct Named<'a> {
    machine: &'a Machine,
    topology: &'a Topology,
    fabric: &'a Fabric,
}

/// A cable with its two ends: what each is called, and the port if it is that of a switch.
struct Cable {
    ends: [(String, Option<u32>); 2],
    class: String,
    length_mm: u64,
    /// Bits a second from its first end to the second, and back.
    bits_per_second: [u64; 2],
}

impl Named<'_> {
    /// Where the graph file says that a switch is drawn.
    fn spot(&self, switch: SwitchId) -> Option<[f64; 2]> {
        self.machine.graph.as_ref()?.spots.get(switch.index()).copied()
    }

    fn switch(&self, switch: SwitchId) -> String {
        let given = self.topology.names().switches().get(switch.index());
        given.map_or_else(|| format!("s{switch}"), String::clone)
    }

    fn node(&self, node: NodeId) -> String {
        let given = self.topology.names().nodes().get(node.index());
        given.map_or_else(|| format!("n{node}"), String::clone)
    }

    fn switches(&self) -> impl Iterator<Item = SwitchId> + use<> {
        (0..self.topology.switches()).map(SwitchId)
    }

    fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.topology.nodes()).map(NodeId)
    }

    fn end(&self, end: End) -> (String, Option<u32>) {
        match end {
            End::Node(node) => (self.node(node), None),
            End::Switch(switch, port) => (self.switch(switch), Some(port.0)),
        }
    }

    fn cables(&self) -> impl Iterator<Item = Cable> + '_ {
        self.topology.links().iter().enumerate().map(move |(number, link)| {
            let class = self.topology.classes()[link.class as usize].clone();
            let length_mm = link.length_mm.unwrap_or_else(|| self.machine.link.length_mm(&class));
            let bits_per_second = link_bits_per_second(self.machine, self.fabric, link);
            let given = self.machine.graph.as_ref().and_then(|graph| graph.class(number));
            let class = given.map_or(class, str::to_owned);
            Cable { ends: link.ends.map(|end| self.end(end)), class, length_mm, bits_per_second }
        })
    }

    /// Whether some cables carry less than others.
    fn has_rates(&self) -> bool {
        has_rates(self.fabric)
    }

    /// Whether links lead from their first end to the second one only.
    fn is_one_way(&self) -> bool {
        self.topology.is_one_way()
    }
}

/// The rate of a cable there, and that back if it is another, as they are written.
fn rates(cable: &Cable) -> [Option<String>; 2] {
    let [there, back] = cable.bits_per_second;
    [Some(there), Some(back).filter(|_| back != there)]
        .map(|bits| bits.map(|bits| units::format(bits, Dimension::BitRate)))
}

/// A length as it is written: `1.5 m`.
fn metres(millimetres: u64) -> String {
    let text = format!("{}.{:03}", millimetres / 1_000, millimetres % 1_000);
    format!("{} m", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_as_many_digits_as_they_need() {
        assert_eq!([0, 5, 1_500, 8_000, 12_340].map(metres), ["0 m", "0.005 m", "1.5 m", "8 m", "12.34 m"]);
    }

    #[test]
    fn every_format_names_every_switch_and_node() {
        let machine = Machine::load("fattree-128", &[]).unwrap();
        let fabric = machine.fabric();
        for (name, format) in Format::ALL {
            let text = export(&machine, &fabric, *format);
            assert!(text.contains("s31") && text.contains("127"), "{name}");
        }
    }
}
