//! A place in a fabric, as rules and settings name it: the NIC port of a node, or a port of a switch.

use crate::nearest::nearest;
use crate::units::show;
use flitway_fabric::link::lanes::{LaneState, LaneStates, Lanes};
use flitway_wiring::topology::{End, Topology};
use flitway_wiring::{NodeId, PortId, SwitchId};

/// A place, as written: an end of a link, by what the graph file calls the node or switch, or by its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The NIC port of a node.
    Node(String),
    /// A port of a switch.
    Switch(String, u32),
}

impl Place {
    /// Reads `node 12`, `switch 5 port 7`, or `switch leaf0 port 7`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            ["node", node] => Some(Place::Node(node.to_owned())),
            ["switch", switch, "port", port] => Some(Place::Switch(switch.to_owned(), port.parse().ok()?)),
            _ => None,
        }
    }

    /// The end that it is in `topology`, whether something is wired there or not.
    ///
    /// # Errors
    /// What there is not.
    pub fn end(&self, topology: &Topology) -> Result<End, String> {
        match self {
            Place::Node(node) => Ok(End::Node(node_called(node, topology)?)),
            Place::Switch(switch, port) => {
                let (switch, ports) = switch_called(switch, topology).map(|it| (it, topology.ports(it)))?;
                if *port >= ports {
                    let name = topology.names().switch(switch);
                    return Err(format!("there is no port {port} of switch {name}: it has {ports}, from 0"));
                }
                Ok(End::Switch(switch, PortId(*port)))
            }
        }
    }

    /// The two ends of its link in `topology`, that one first.
    ///
    /// # Errors
    /// What there is not.
    pub fn ends(&self, topology: &Topology) -> Result<[End; 2], String> {
        let end = self.end(topology)?;
        let other = match end {
            End::Node(node) => {
                let (switch, port) = topology.home(node);
                End::Switch(switch, port)
            }
            End::Switch(switch, port) => {
                let none = || {
                    let name = topology.names().switch(switch);
                    format!("nothing is wired to port {port} of switch {name}")
                };
                topology.wire(switch, port).ok_or_else(none)?.1
            }
        };
        Ok([end, other])
    }
}

/// The switch of `topology` that is called `text`, or has that number.
///
/// # Errors
/// That there is none.
pub fn switch_called(text: &str, topology: &Topology) -> Result<SwitchId, String> {
    let count = format!("a rail has {}", topology.switches());
    topology.find_switch(text).ok_or_else(|| none("switch", text, &count, topology.names().switches()))
}

/// The node of `topology` that is called `text`, or has that number.
///
/// # Errors
/// That there is none.
fn node_called(text: &str, topology: &Topology) -> Result<NodeId, String> {
    let count = format!("the machine has {}", topology.nodes());
    topology.find_node(text).ok_or_else(|| none("node", text, &count, topology.names().nodes()))
}

/// That no `what` is called `text`, and what may be meant.
fn none(what: &str, text: &str, count: &str, names: &[String]) -> String {
    let text = show(text);
    match (names.first(), nearest(&text, names.iter().map(String::as_str))) {
        (_, Some(name)) => format!("no {what} is called `{text}`; did you mean `{name}`?"),
        (Some(first), None) => format!("no {what} is called `{text}`: {count}, from `{first}` on"),
        (None, None) => format!("there is no {what} {text}: {count}, from 0"),
    }
}

/// The states of the lanes of a link where so many are good, the first ones, at so many Gbit/s at most; all of them, and the
/// highest of `rates`, which are those of `lanes`, unless given.
///
/// # Errors
/// What a link of these lanes has not.
pub fn lane_states(
    lanes: &Lanes,
    rates: &[u32],
    good: Option<u32>,
    gigabits: Option<u32>,
) -> Result<LaneStates, String> {
    let count = lanes.count();
    let good = good.unwrap_or(count);
    if good > count {
        return Err(format!("read {good} good lanes, expected up to {count}, which are all that a link has"));
    }
    let best = match gigabits {
        None => 0,
        Some(rate) => rates.iter().position(|&it| it == rate).ok_or_else(|| {
            let known: Vec<String> = rates.iter().map(ToString::to_string).collect();
            format!(
                "read {rate} Gbit/s, expected a rate of a lane of this machine: {} Gbit/s",
                known.join(", ")
            )
        })?,
    };
    let state = |lane: u32| if lane < good { LaneState::at(best as u8) } else { LaneState::DEAD };
    Ok(LaneStates::new(&(0..count).map(state).collect::<Vec<_>>()))
}
