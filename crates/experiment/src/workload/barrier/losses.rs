//! Barrier packets that are lost, as rules: the n-th of a kind, of a group, where it arrives.

use flitway_fabric::barrier::{Loss, Packet, PacketKind, Sequence};
use flitway_fabric::{BarrierId, Barriers, Fabric};
use flitway_machine::Place;
use flitway_wiring::PortId;
use flitway_wiring::topology::End;
use flitway_workload::catalog::{Catalog, Choice, ChoiceError, Entry, Parameter};

/// Reads the parameters of a rule.
pub type Reader = fn(&Choice) -> Result<LossRule, ChoiceError>;

/// What can be lost.
pub const CATALOG: Catalog<Reader> = Catalog::new(
    "barrier packet",
    &[
        (COMBINE, |choice| rule(Some(PacketKind::Combine), choice)),
        (COMBINE_ACK, |choice| rule(Some(PacketKind::CombineAck), choice)),
        (DISTRIBUTE, |choice| rule(Some(PacketKind::Distribute), choice)),
        (DISTRIBUTE_DUN, |choice| rule(Some(PacketKind::DistributeDun), choice)),
        (ANY, |choice| rule(None, choice)),
    ],
);

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "at",
        expected: "`node 12`, or `switch 5 port 7`, by number or by the names of a graph file",
        default: None,
        doc: "Where it arrives: the NIC port of a node, or a port of a switch, in the rail of its group.",
    },
    Parameter {
        name: "group",
        expected: "the number of a group, from 0",
        default: Some("0"),
        doc: "Of which group.",
    },
    Parameter {
        name: "nth",
        expected: "a number from 1 on",
        default: Some("1"),
        doc: "Which of those that arrive there, whatever else happens to those before.",
    },
];

const fn entry(name: &'static str, doc: &'static str) -> Entry {
    let details = "Barrier packets are not repeated by the link. Who waits for one sends again in time \
                   (`flitway explain switch.barrier.retransmit`), and the operation is over later.";
    Entry { name, aliases: &[], doc, details, parameters: PARAMETERS }
}

const COMBINE: Entry = entry("combine", "a combine: all below have arrived");
const COMBINE_ACK: Entry = entry("combine-ack", "the answer to a combine");
const DISTRIBUTE: Entry = entry("distribute", "a distribute: all have arrived, go on");
const DISTRIBUTE_DUN: Entry = entry("distribute-dun", "a distribute-dun: it asks for a distribute");
const ANY: Entry = entry("any", "a barrier packet of any kind");

/// A rule, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossRule {
    kind: Option<PacketKind>,
    at: Place,
    group: u32,
    nth: u64,
}

fn rule(kind: Option<PacketKind>, choice: &Choice) -> Result<LossRule, ChoiceError> {
    Ok(LossRule {
        kind,
        at: choice.value(0, Place::parse)?,
        group: choice.value(1, |text| text.parse().ok())?,
        nth: choice.value(2, |text| text.parse().ok().filter(|&nth| nth > 0))?,
    })
}

/// Reads rules, joined by `;`.
///
/// # Errors
/// If one is not in [`CATALOG`] or its parameters are wrong.
pub fn parse(text: &str) -> Result<Vec<LossRule>, ChoiceError> {
    let rule = |text: &str| {
        let (choice, read) = CATALOG.choose(text)?;
        read(&choice)
    };
    text.split(';').map(rule).collect()
}

impl LossRule {
    /// The rule in a fabric with the groups of `barriers`.
    ///
    /// # Errors
    /// Why nothing that it means ever arrives there.
    pub(super) fn fit(&self, fabric: &Fabric, barriers: &Barriers) -> Result<Loss, String> {
        let (topology, group) = (fabric.topology(), BarrierId(self.group));
        if self.group as usize >= barriers.len() {
            return Err(format!("there is no group {group}: there are {}, from 0", barriers.len()));
        }
        let (rail, switches) = (barriers.rail(group), topology.switches());
        let (place, port, component, node) = match self.at.end(topology)? {
            End::Node(node) => {
                let place = barriers.leaf(rail, node, group);
                (place, Barriers::leaf_ports().1, fabric.rails * switches + node.0, Some(node))
            }
            End::Switch(switch, port) => {
                (barriers.place(rail, switch, group), port, rail.0 * switches + switch.0, None)
            }
        };
        let here = node.map_or("there".to_owned(), |node| format!("at node {}", topology.names().node(node)));
        let place = place.ok_or_else(|| format!("nothing of group {group} comes through {here}"))?;
        let arrives = |kind| place.event(port, Packet { kind, sequence: Sequence::FIRST }).is_some();
        const ALL: [PacketKind; 4] =
            [PacketKind::Combine, PacketKind::CombineAck, PacketKind::Distribute, PacketKind::DistributeDun];
        let possible: Vec<String> =
            ALL.into_iter().filter(|&kind| arrives(kind)).map(|kind| format!("`{}`", name(kind))).collect();
        match self.kind {
            _ if possible.is_empty() => {
                Err(format!("port {port} is no part of the tree of group {group} in its rail, {rail}"))
            }
            Some(kind) if !arrives(kind) => {
                let there = possible.join(" and ");
                Err(format!("no `{}` of group {group} arrives {here}: only {there} do", name(kind)))
            }
            kind => {
                // A node has one port in a rail, and that is its number.
                let port = if node.is_some() { PortId(rail.0) } else { port };
                Ok(Loss { component, port, group, kind, nth: self.nth })
            }
        }
    }
}

fn name(kind: PacketKind) -> &'static str {
    match kind {
        PacketKind::Combine => COMBINE.name,
        PacketKind::CombineAck => COMBINE_ACK.name,
        PacketKind::Distribute => DISTRIBUTE.name,
        PacketKind::DistributeDun => DISTRIBUTE_DUN.name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read() {
        let rules = parse("combine(group=3, nth=2, at=switch 5 port 7); any(at=node 12)").unwrap();
        let combine = LossRule {
            kind: Some(PacketKind::Combine),
            at: Place::Switch("5".to_owned(), 7),
            group: 3,
            nth: 2,
        };
        assert_eq!(
            rules,
            [combine, LossRule { kind: None, at: Place::Node("12".to_owned()), group: 0, nth: 1 }]
        );
        for wrong in ["combine", "combine(at=7)", "combine(at=node 1, nth=0)", "comb(at=node 1)", ""] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
