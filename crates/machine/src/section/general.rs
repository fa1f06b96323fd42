//! The top of the file: name, description, rails, clock.

use flitway_engine::Clock;

use crate::setting::{Kind, settings};
use crate::values::Values;

settings! {
    pub(crate) static SETTINGS;

    /// Name of the machine, as results and reports print it.
    NAME = "name", Kind::Text { least: 1 }, required, example("dawning5000"), source("Flitway");

    /// What the machine is, in a sentence or two.
    DESCRIPTION = "description", Kind::Text { least: 0 }, default(""), example("1,024 nodes, 16-port switches"),
        source("Flitway");

    /// Identical networks that join the same nodes. Each node has one NIC port in each rail; packets never change the
    /// rail.
    RAILS = "rails", Kind::Count { min: 1, max: 16 }, default(1), example(4),
        source("dawning5000.txt sections 3.1 and 6 (P-DN-010, P-DN-012)");

    /// The clock of switches, links and NIC ports. A channel carries one flit in each cycle, so that its bandwidth is
    /// clock x flit. An exact fraction is written as such: "14/33 GHz".
    CLOCK = "clock", Kind::Frequency { min: 1_000, max: 1_000_000_000_000 }, required, example("312.5 MHz"),
        source("hpp-switch.txt section 4 (P-HP-007)");
}

/// The top of the file.
pub(crate) struct General {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) rails: u32,
    pub(crate) clock: Clock,
}

pub(crate) fn build(values: &Values) -> Option<General> {
    let clock = clock(values);
    let (name, description) = (values.text(&NAME), values.text(&DESCRIPTION));
    Some(General {
        rails: values.count(&RAILS)?,
        clock: clock?,
        name: name?.to_owned(),
        description: description?.to_owned(),
    })
}

/// The clock alone, for sections that can be checked although the rest of this one is wrong.
pub(crate) fn clock(values: &Values) -> Option<Clock> {
    values.frequency(&CLOCK).and_then(|(hertz, divisor)| Clock::ratio(hertz, divisor))
}
