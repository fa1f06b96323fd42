//! What explains most of what went wrong: a link, its lanes, or a switch.

use crate::fault_record::FaultRecord;
use crate::link_counts::{Channel, ErrorRecord, place};
use flitway_fabric::observer::{LinkState, TrainingReason, component_at, end_at};
use flitway_fabric::{Fabric, LossCause};
use flitway_wiring::topology::{End, LinkId};
use flitway_wiring::{PortId, RailId, SwitchId};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What explains most of the CRC errors, losses and links down of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// It, in words.
    pub what: String,
    /// Its share of them, from 0 to 1.
    pub share: f64,
}

/// A link, in its rail.
type Link = (RailId, LinkId);

/// What went wrong, by where it did: CRC errors, packets lost, and ends of links that fell silent, went down or were trained
/// because of lanes, each of which counts as one.
struct Evidence<'a> {
    fabric: &'a Fabric,
    links: BTreeMap<Link, u64>,
    /// Of these the trainings.
    lanes: BTreeMap<Link, u64>,
    switches: BTreeMap<(RailId, SwitchId), u64>,
}

impl Explained {
    /// What explains most of what `record` and `errors` have of a run on `fabric`; `None` where nothing went wrong. A switch
    /// does if more than half of its links are affected, and it explains more than any of them. What tables have no port for
    /// they lose, and no link: such losses do not count.
    #[must_use]
    pub fn of(record: &FaultRecord, errors: &ErrorRecord, fabric: &Fabric) -> Option<Explained> {
        let evidence = Evidence::new(record, errors, fabric);
        let total = evidence.links.values().chain(evidence.switches.values()).sum::<u64>();
        let best_link =
            evidence.links.iter().map(|(&link, &count)| (count, link)).rev().max_by_key(|it| it.0);
        let best_switch = evidence.affected().into_iter().rev().max_by_key(|it| it.0);
        let of_link = best_link.map_or(0, |it| it.0);
        let alike = evidence.links.values().filter(|&&count| count == of_link).count();
        let (count, what) = match (best_switch, best_link) {
            (Some((count, (rail, switch))), _) if count > of_link => {
                let in_rail = if fabric.rails > 1 { format!("rail {rail}, ") } else { String::new() };
                (count, format!("{in_rail}switch {}", fabric.topology().names().switch(switch)))
            }
            (_, Some((count, link))) if alike == 1 => (count, evidence.words(link)),
            (_, Some((count, link))) => {
                (count, format!("{}, and as much each {} more", evidence.words(link), alike - 1))
            }
            _ => return None,
        };
        Some(Explained { what, share: count as f64 / total as f64 })
    }

    /// The object that `--json` has.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({ "what": self.what, "share": self.share })
    }
}

impl<'a> Evidence<'a> {
    fn new(record: &FaultRecord, errors: &ErrorRecord, fabric: &'a Fabric) -> Self {
        let (links, lanes, switches) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut it = Evidence { fabric, links, lanes, switches };
        for (channel, counts) in errors.channels() {
            it.enter(channel, counts.crc_errors);
        }
        let mut gone: BTreeMap<u32, BTreeSet<PortId>> = BTreeMap::new();
        for change in &record.changes {
            let channel = (change.component, change.port);
            match change.state {
                // First the one, and then the other.
                LinkState::Trains(TrainingReason::Silent) | LinkState::Down => {
                    let is_new = gone.entry(change.component).or_default().insert(change.port);
                    it.enter(channel, u64::from(is_new));
                }
                LinkState::Trains(TrainingReason::Lanes) => {
                    it.enter(channel, 1);
                    *it.lanes.entry(it.link(channel)).or_default() += 1;
                }
                LinkState::Trains(_) | LinkState::Active(_) => {}
            }
        }
        let of_no_link = |cause| matches!(cause, LossCause::NoRoute | LossCause::Refused);
        for loss in record.losses.iter().filter(|loss| !of_no_link(loss.cause)) {
            // Where one link of a component went down, that link lost it.
            let ports = gone.get(&loss.component).filter(|ports| ports.len() == 1);
            let (rail, end) = end_at(fabric.topology(), fabric.rails, loss.component, PortId(0));
            match (ports.and_then(BTreeSet::first), end) {
                (Some(&port), _) if loss.cause != LossCause::InDeadSwitch => {
                    it.enter((loss.component, port), 1)
                }
                (_, End::Switch(switch, _)) => *it.switches.entry((rail, switch)).or_default() += 1,
                (_, End::Node(_)) => {}
            }
        }
        it
    }

    fn link(&self, (component, port): Channel) -> Link {
        let topology = self.fabric.topology();
        let (rail, end) = end_at(topology, self.fabric.rails, component, port);
        (rail, topology.link_of(end).expect("what has a state is wired"))
    }

    fn enter(&mut self, channel: Channel, count: u64) {
        if count > 0 {
            *self.links.entry(self.link(channel)).or_default() += count;
        }
    }

    /// Switches of whose links more than half are affected, each with what went wrong in it and on them.
    fn affected(&self) -> Vec<(u64, (RailId, SwitchId))> {
        let topology = self.fabric.topology();
        let mut sums: BTreeMap<(RailId, SwitchId), (u64, u32)> = BTreeMap::new();
        for (&(rail, link), &count) in &self.links {
            for end in topology.links()[link.index()].ends {
                if let End::Switch(switch, _) = end {
                    let sum = sums.entry((rail, switch)).or_default();
                    *sum = (sum.0 + count, sum.1 + 1);
                }
            }
        }
        let is_affected = |&((_, switch), (_, affected)): &((RailId, SwitchId), (u64, u32))| {
            let wired =
                (0..topology.ports(switch)).filter(|&port| topology.wire(switch, PortId(port)).is_some());
            2 * affected as usize > wired.count()
        };
        let with_own = |(it, (count, _))| (count + self.switches.get(&it).copied().unwrap_or(0), it);
        sums.into_iter().filter(is_affected).map(with_own).collect()
    }

    /// A link, or its lanes where most of what went wrong on it is their training.
    fn words(&self, link: Link) -> String {
        let topology = self.fabric.topology();
        let ends = topology.links()[link.1.index()].ends;
        let [first, second] = ends.map(|end| {
            place(topology, self.fabric.rails, component_at(topology, self.fabric.rails, link.0, end))
        });
        let of_lanes = self.lanes.get(&link).copied().unwrap_or(0);
        let lanes = if 2 * of_lanes > self.links[&link] { "lanes of the link" } else { "link" };
        format!("{lanes} between {first} and {second}")
    }
}
