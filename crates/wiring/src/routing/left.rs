//! What is left of a fabric of which something is down.

use super::rtb::Down;
use crate::topology::{End, Topology};
use crate::{PortId, SwitchId};

/// Which switches and links are left.
#[derive(Debug)]
pub(crate) struct Left {
    is_dead: Vec<bool>,
    is_cut: Vec<bool>,
}

impl Left {
    /// Of `topology`, without what is `down`; all of it, if nothing is.
    pub(crate) fn of(topology: &Topology, down: Option<&Down>) -> Self {
        let mut left = Left {
            is_dead: vec![false; topology.switches() as usize],
            is_cut: vec![false; topology.links().len()],
        };
        if let Some(Down { switches, links }) = down {
            switches.iter().for_each(|switch| left.is_dead[switch.index()] = true);
            links.iter().for_each(|link| left.is_cut[link.index()] = true);
        }
        left
    }

    /// Whether `switch` is left.
    pub(super) fn has_switch(&self, switch: SwitchId) -> bool {
        !self.is_dead[switch.index()]
    }

    /// Whether `port` of `here` is wired, and its link and both of its ends are left.
    pub(crate) fn has(&self, topology: &Topology, here: SwitchId, port: PortId) -> bool {
        topology.wire(here, port).is_some_and(|(link, end)| {
            let has_end = match end {
                End::Switch(next, _) => self.has_switch(next),
                End::Node(_) => true,
            };
            has_end && self.has_switch(here) && !self.is_cut[link.index()]
        })
    }
}
