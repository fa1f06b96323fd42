//! The bill of a fabric: chips, ports and cables, over all rails.
//!
//! Every link of the topology is a cable, whatever it is made of: one with a channel each way, or, where links are one-way,
//! with one. What is counted is what the machine describes, and no spare of it.

use crate::facts::{has_rates, link_bits_per_second};
use flitway_fabric::Fabric;
use flitway_machine::Machine;
use flitway_wiring::{PortId, SwitchId};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What a fabric is made of, over all rails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bill {
    /// Switches.
    pub switches: u64,
    /// Ports of a switch.
    pub ports_per_switch: u32,
    /// Ports of switches that have a cable.
    pub ports_used: u64,
    /// NIC ports, each with a cable.
    pub nic_ports: u64,
    /// Cables, by class in the order of the classes, the short ones first.
    pub cables: Vec<Cables>,
}

/// Cables of one class and length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cables {
    /// The class of their links.
    pub class: String,
    /// How long one is.
    pub length_mm: u64,
    /// Bits a second from its first end to the second, and back, if some links carry less than others.
    pub bits_per_second: Option<[u64; 2]>,
    /// How many there are.
    pub count: u64,
}

impl Cables {
    /// The length of one in metres.
    #[must_use]
    pub fn length_metres(&self) -> f64 {
        self.length_mm as f64 / 1e3
    }

    /// The length of all of them in metres.
    #[must_use]
    pub fn metres(&self) -> f64 {
        self.count as f64 * self.length_mm as f64 / 1e3
    }
}

impl Bill {
    /// The bill of `machine`, of which `fabric` has been built.
    #[must_use]
    pub fn new(machine: &Machine, fabric: &Fabric) -> Self {
        let (topology, rails) = (fabric.topology(), u64::from(fabric.rails));
        let ports_per_switch = fabric.chip.ports();
        let used = |switch: SwitchId| {
            let is_used = |port: &PortId| {
                topology.wire(switch, *port).is_some() || topology.feeder(switch, *port).is_some()
            };
            (0..ports_per_switch).map(PortId).filter(is_used).count() as u64
        };
        let mut counts: BTreeMap<(u32, u64, Option<[u64; 2]>), u64> = BTreeMap::new();
        let has_rates = has_rates(fabric);
        for link in topology.links() {
            let of_class = || machine.link.length_mm(&topology.classes()[link.class as usize]);
            let length = link.length_mm.unwrap_or_else(of_class);
            let bits = has_rates.then(|| link_bits_per_second(machine, fabric, link));
            *counts.entry((link.class, length, bits)).or_default() += rails;
        }
        let cables = counts.into_iter().map(|((class, length_mm, bits_per_second), count)| {
            let class = topology.classes()[class as usize].clone();
            Cables { class, length_mm, bits_per_second, count }
        });
        Bill {
            switches: u64::from(topology.switches()) * rails,
            ports_per_switch,
            ports_used: (0..topology.switches()).map(|switch| used(SwitchId(switch))).sum::<u64>() * rails,
            nic_ports: u64::from(topology.nodes()) * rails,
            cables: cables.collect(),
        }
    }

    /// Ports of switches.
    #[must_use]
    pub fn ports(&self) -> u64 {
        self.switches * u64::from(self.ports_per_switch)
    }

    /// Ports of switches that have no cable.
    #[must_use]
    pub fn ports_free(&self) -> u64 {
        self.ports() - self.ports_used
    }

    /// Cables of all classes.
    #[must_use]
    pub fn cable_count(&self) -> u64 {
        self.cables.iter().map(|cables| cables.count).sum()
    }

    /// The length of all cables in metres.
    #[must_use]
    pub fn cable_metres(&self) -> f64 {
        self.cables.iter().map(Cables::metres).sum()
    }

    /// As an object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let cables = |cables: &Cables| {
            let mut value = json!({
                "class": cables.class,
                "length_m": cables.length_metres(),
                "count": cables.count,
                "metres": cables.metres(),
            });
            if let Some([there, back]) = cables.bits_per_second {
                value["bits_per_second"] = json!({ "there": there, "back": back });
            }
            value
        };
        json!({
            "switches": self.switches,
            "ports_per_switch": self.ports_per_switch,
            "ports_used": self.ports_used,
            "ports_free": self.ports_free(),
            "nic_ports": self.nic_ports,
            "cables": self.cables.iter().map(cables).collect::<Vec<_>>(),
            "cable_count": self.cable_count(),
            "cable_metres": self.cable_metres(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bill(name: &str, set: &[&str]) -> Bill {
        let set: Vec<String> = set.iter().map(|&text| text.to_owned()).collect();
        let machine = Machine::load(name, &set).unwrap();
        Bill::new(&machine, &machine.fabric())
    }

    fn cables(bill: &Bill) -> Vec<(&str, u64, u64)> {
        bill.cables.iter().map(|cables| (cables.class.as_str(), cables.length_mm, cables.count)).collect()
    }

    #[test]
    fn a_full_tree_uses_all_of_its_ports() {
        // 80 switches of 8 ports: 128 links to nodes, and as many between two levels.
        let tree = bill("fattree-128", &["link.length.level-2=20 m"]);
        assert_eq!((tree.switches, tree.ports(), tree.ports_used, tree.ports_free()), (80, 640, 640, 0));
        assert_eq!(cables(&tree), [("node", 8_000, 128), ("level-1", 8_000, 128), ("level-2", 20_000, 128)]);
        assert_eq!((tree.cable_count(), tree.cable_metres()), (384, 4_608.0));
    }

    #[test]
    fn rails_are_counted_and_ports_at_a_border_are_free() {
        // 4 x 4 switches: 2 x 12 links in the grid; a corner has two of its four links, a side three.
        let mesh = bill("mesh-8x8", &["topology.dimensions=[4, 4]", "rails=2"]);
        assert_eq!((mesh.switches, mesh.nic_ports), (32, 32));
        assert_eq!(mesh.ports_used, 2 * (16 + 2 * 24));
        assert_eq!(mesh.ports_used + mesh.ports_free(), 32 * u64::from(mesh.ports_per_switch));
        assert_eq!(mesh.cables.iter().map(|cables| cables.count).collect::<Vec<_>>(), [32, 24, 24]);
    }

    #[test]
    fn a_one_way_link_is_a_cable_and_a_port_in_and_out_is_one() {
        // Two stages of 8 switches of 8 x 8: cables into the first, between them, and out of the last.
        let omega = bill("sp-omega-64", &[]);
        assert_eq!((omega.switches, omega.ports_free()), (16, 0));
        assert_eq!(omega.cable_count(), 3 * 64);
    }
}
