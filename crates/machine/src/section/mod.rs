//! The parts of a machine. Each file has the settings of its part as data, and the function that turns their values
//! into the part, with the checks that go beyond one value.

pub(crate) mod general;
pub(crate) mod host;
pub(crate) mod link;
pub(crate) mod nic;
pub(crate) mod packet;
pub(crate) mod routing;
pub(crate) mod switch;
pub(crate) mod topology;

use crate::setting::Setting;

/// The greatest divisor of `number` that is no more than `most`.
fn greatest_divisor(number: u64, most: u32) -> u32 {
    (1..=most).rev().find(|&divisor| number.is_multiple_of(divisor.into())).unwrap_or(1)
}

/// The tables of settings, in the order of the reference page.
pub(crate) fn tables() -> impl Iterator<Item = &'static [&'static Setting]> {
    type Table = &'static [&'static Setting];
    let before: [Table; 2] = [general::SETTINGS, topology::SETTINGS];
    let kinds = topology::KINDS.iter().map(|row| row.settings);
    let between: [Table; 4] = [routing::SETTINGS, routing::rtb::SETTINGS, packet::SETTINGS, switch::SETTINGS];
    let after: [Table; 8] = [
        packet::BLOCKS,
        link::SETTINGS,
        link::rates::SETTINGS,
        nic::SETTINGS,
        host::pcie::SETTINGS,
        host::pci_x::SETTINGS,
        host::platform::SETTINGS,
        host::hyper_transport::SETTINGS,
    ];
    let architectures =
        switch::ARCHITECTURES.iter().flat_map(|architecture| architecture.settings.iter().copied());
    let nics = nic::MODELS.iter().map(|model| model.settings);
    before.into_iter().chain(kinds).chain(between).chain(architectures).chain(after).chain(nics)
}
