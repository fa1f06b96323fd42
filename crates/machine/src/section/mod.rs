//! The parts of a machine. Each file has the settings of its part as data, and the function that turns their values
//! into the part, with the checks that go beyond one value.

pub(crate) mod general;
pub(crate) mod link;
pub(crate) mod nic;
pub(crate) mod packet;
pub(crate) mod routing;
pub(crate) mod switch;
pub(crate) mod topology;

use crate::schema::Setting;

/// The tables of settings, in the order of the reference page.
pub(crate) fn tables() -> impl Iterator<Item = &'static [&'static Setting]> {
    let before: [&'static [&'static Setting]; 5] =
        [general::SETTINGS, topology::SETTINGS, routing::SETTINGS, packet::SETTINGS, switch::SETTINGS];
    let after: [&'static [&'static Setting]; 2] = [link::SETTINGS, nic::SETTINGS];
    let architectures = switch::ARCHITECTURES.iter().map(|architecture| architecture.settings);
    let nics = nic::MODELS.iter().map(|model| model.settings);
    before.into_iter().chain(architectures).chain(after).chain(nics)
}
