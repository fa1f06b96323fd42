//! The ideal NIC. It has no settings.

use flitway_nic::NicSettings;
use flitway_nic::ideal::IdealSettings;

use super::Model;
use crate::diagnostic::Diagnostics;
use crate::setting::Choice;
use crate::values::Values;

pub(crate) static MODEL: Model = Model {
    choice: Choice {
        name: "ideal",
        doc: "Passes everything on, in no time: it takes any packet at once, and each flit leaves the receive buffer as it comes.",
    },
    bus: None,
    settings: &[],
    page: PAGE,
    build,
};

const PAGE: &[&str] = &[
    "How it works. A packet is in the source queue of its NIC port in the cycle in which the process of the node sends it, \
     however many are there. The process hears of a packet in the cycle in which it is delivered. So nothing waits in a node \
     but for its own link, and nodes never hold back what comes to them.",
    "What happens in which cycle is said in crates/nic/src/ideal/mod.rs.",
];

fn build(_: &Values, _: &mut Diagnostics) -> Option<NicSettings> {
    Some(NicSettings::Ideal(IdealSettings))
}
