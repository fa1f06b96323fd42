//! A place in a fabric, as rules and settings name it: the NIC port of a node, or a port of a switch.

use flitway_fabric::link::lanes::{LaneState, LaneStates, Lanes};
use flitway_wiring::topology::{End, Topology};
use flitway_wiring::{NodeId, PortId, SwitchId};

/// A place: an end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The NIC port of a node.
    Node(u32),
    /// A port of a switch.
    Switch(u32, u32),
}

impl Place {
    /// Reads `node 12`, or `switch 5 port 7`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            ["node", node] => Some(Place::Node(node.parse().ok()?)),
            ["switch", switch, "port", port] => Some(Place::Switch(switch.parse().ok()?, port.parse().ok()?)),
            _ => None,
        }
    }

    /// The two ends of its link in `topology`, that one first.
    ///
    /// # Errors
    /// What there is not.
    pub fn ends(self, topology: &Topology) -> Result<[End; 2], String> {
        let (switches, nodes) = (topology.switches(), topology.nodes());
        match self {
            Place::Node(node) if node < nodes => {
                let (switch, port) = topology.home(NodeId(node));
                Ok([End::Node(NodeId(node)), End::Switch(switch, port)])
            }
            Place::Node(node) => Err(format!("there is no node {node}: the machine has {nodes}, from 0")),
            Place::Switch(switch, _) if switch >= switches => {
                Err(format!("there is no switch {switch}: a rail has {switches}, from 0"))
            }
            Place::Switch(switch, port) if port >= topology.ports(SwitchId(switch)) => {
                let ports = topology.ports(SwitchId(switch));
                Err(format!("there is no port {port} of switch {switch}: it has {ports}, from 0"))
            }
            Place::Switch(switch, port) => match topology.wire(SwitchId(switch), PortId(port)) {
                Some((_, end)) => Ok([End::Switch(SwitchId(switch), PortId(port)), end]),
                None => Err(format!("nothing is wired to port {port} of switch {switch}")),
            },
        }
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
