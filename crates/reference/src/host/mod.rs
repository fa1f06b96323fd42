//! What the models of hosts have in common, whatever the NIC: what is around it and due, translations, and how packets
//! cross the network.

pub(crate) mod agenda;
pub(crate) mod model;
pub(crate) mod noise;
pub(crate) mod translation;

use flitway_engine::Cycle;
use flitway_fabric::Delivery;
use flitway_nic::host::story::{Stage, Story};
use flitway_nic::host::{IdleTime, Surroundings};

/// The story of a packet from when it was handed to a NIC port until it is delivered.
pub(crate) fn cross<L>(surroundings: &Surroundings<L>, story: &mut Story, delivery: &Delivery) {
    let IdleTime { all, switches } =
        (surroundings.idle)(delivery.source, delivery.destination, delivery.payload);
    let taken = delivery.delivered.0 - delivery.injected.0;
    let idle = all.min(taken);
    let links = idle - switches.min(idle);
    let cycles =
        [(Stage::NicPort, 0), (Stage::Links, links), (Stage::Switches, idle), (Stage::Contention, taken)];
    for (stage, cycles) in cycles {
        story.pass_stage(stage, surroundings.clock.picos_floor(Cycle(delivery.injected.0 + cycles)));
    }
    story.cross();
}
