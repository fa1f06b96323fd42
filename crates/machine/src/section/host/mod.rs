//! `[host]`: the processors, the memory and the bus of a node. Only nodes with a NIC on a bus have them, and the bus is the one
//! that the NIC has an interface to: each has a file here.

pub(crate) mod hyper_transport;
pub(crate) mod pci_x;
pub(crate) mod pcie;
pub(crate) mod platform;

use flitway_nic::host::bus::{BusSettings, Reference};

use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::section::nic;
use crate::setting::{Kind, Setting, When};
use crate::units::{self, Dimension};
use crate::values::Values;

/// What a NIC has an interface to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bus {
    HyperTransport,
    Pcie,
    PciX,
}

/// Settings of NICs on PCI Express.
const ON_PCIE: When = When {
    selector: &nic::MODEL,
    holds: |_, name| nic::named(name).is_some_and(|it| it.bus == Some(Bus::Pcie)),
};

/// Settings of NICs on HyperTransport.
const ON_HYPER_TRANSPORT: When = When {
    selector: &nic::MODEL,
    holds: |_, name| nic::named(name).is_some_and(|it| it.bus == Some(Bus::HyperTransport)),
};

/// Settings of NICs on PCI-X.
const ON_PCI_X: When = When {
    selector: &nic::MODEL,
    holds: |_, name| nic::named(name).is_some_and(|it| it.bus == Some(Bus::PciX)),
};

/// The longest time of a part of a node: a millisecond.
const TIME_MAX: u64 = 1_000_000_000;

pub(crate) const fn time() -> Kind {
    Kind::Quantity { dimension: Dimension::Time, min: 0, max: TIME_MAX }
}

pub(crate) const fn size(min: u64, max: u64) -> Kind {
    Kind::Quantity { dimension: Dimension::Size, min, max }
}

pub(crate) const fn count(min: u32, max: u32) -> Kind {
    Kind::Count { min, max }
}

/// What goes beyond one value of a bus: `read_request` is its setting, `latency` that of a latency.
fn check<S: BusSettings>(
    values: &Values,
    bus: &S,
    read_request: &'static Setting,
    latency: impl Fn(Reference) -> &'static Setting,
    findings: &mut Diagnostics,
) -> bool {
    let mut is_sound = check_power(
        values,
        read_request,
        bus.read_request().into(),
        &format!("the NIC reads {} at a time", size_of(bus.read_request())),
        findings,
    );
    if let Some(short) = bus.too_short() {
        let setting = latency(short.of);
        let what = if short.of == Reference::Write { "processor and bus take" } else { "the bus takes" };
        let least = units::format(short.least.0, Dimension::Time);
        let message = format!("`{}` is shorter than the {least} that {what} of it alone", setting.path);
        findings.push(values.conflict(Code::Host, &[setting], message).help(values.fix(setting, &least)));
        is_sound = false;
    }
    is_sound
}

/// Whether `bytes`, the value of `setting`, is a power of two; otherwise `what` it is for is told.
pub(crate) fn check_power(
    values: &Values,
    setting: &'static Setting,
    bytes: u64,
    what: &str,
    findings: &mut Diagnostics,
) -> bool {
    if bytes.is_power_of_two() {
        return true;
    }
    let down = units::format(1 << bytes.ilog2(), Dimension::Size);
    let problem = values.conflict(Code::Host, &[setting], format!("{what}, which is not a power of two"));
    findings.push(problem.help(values.fix(setting, &down)));
    false
}

/// A number of bytes, as it is written.
pub(crate) fn size_of(bytes: u32) -> String {
    units::format(bytes.into(), Dimension::Size)
}
