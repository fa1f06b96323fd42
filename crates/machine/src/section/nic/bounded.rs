//! The bounded NIC, and its reply queue.

use flitway_nic::NicSettings;
use flitway_nic::bounded::BoundedSettings;

use super::{MODEL as SELECTOR, Model};
use crate::diagnostic::Diagnostics;
use crate::setting::{Choice, Kind, When, settings};
use crate::values::Values;

pub(crate) static MODEL: Model = Model {
    choice: Choice {
        name: NAME,
        doc: "The ideal one with a reply queue that can be full: then requests stay in the receive buffer, and hold back what \
              comes after them on their virtual channel.",
    },
    bus: None,
    settings: SETTINGS,
    page: PAGE,
    build,
};

pub(crate) const NAME: &str = "bounded";

const PAGE: &[&str] = &[
    "How it works. It sends as the ideal NIC does, and counts the replies in each rail that have not been sent. A request that \
     is delivered while they are as many as the reply queue has places stays in the receive buffer until one of them has left; \
     all else is taken at once. So replies that wait for the network hold back requests, and in virtual channels that both \
     share packets can wait for each other for ever: `nic.reply_vcs = \"own\"` keeps them apart. Only traffic that is \
     answered, such as `--traffic 'uniform(reply=64B)'`, has requests and replies.",
    "What happens in which cycle is said in crates/nic/src/bounded/mod.rs.",
];

const OF_BOUNDED: When = When { selector: &SELECTOR, holds: |_, name| name == NAME };

settings! {
    static SETTINGS;

    /// Replies that a NIC holds in each rail until they have been sent. With as many as there can be requests under way to it
    /// no request ever waits.
    REPLY_QUEUE = "nic.reply_queue", Kind::Count { min: 1, max: 1 << 20 }, default(4), for OF_BOUNDED, example(16),
        source("[assumed]");
}

fn build(values: &Values, _: &mut Diagnostics) -> Option<NicSettings> {
    Some(NicSettings::Bounded(BoundedSettings { replies: values.count(&REPLY_QUEUE)? }))
}
