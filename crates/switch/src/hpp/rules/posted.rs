//! Adverts on wires of their own are posted ahead of time, where their senders look them up.
//!
//! **Condition.** Adverts have wires of their own, and buffers are so small that a sender may always come to need an advert:
//! they hold no more than the [slack](super::slack). (Where switches choose ways by load it always does.) Packets and links
//! are so short that an advert counts within the span of a schedule. NIC ports are ideal: what leaves a bounded one is not
//! known ahead.
//!
//! **Why it is sound.** Two sides run for two windows, the packet granted last leaves from the next cycle on, and a NIC port
//! that knows more waits. So from the start of a window until an advert counts that becomes known then no more cycles pass
//! than a schedule has bits, and none is posted twice.

use crate::hpp::timing::{Timing, longest, window};
use crate::hpp::{HppSettings, credit_schedule};
use flitway_fabric::{Fabric, NicPorts};

pub(in crate::hpp) fn holds(timing: &Timing, fabric: &Fabric, settings: &HppSettings) -> bool {
    timing.sideband
        && fabric.nic_ports == NicPorts::Ideal
        && timing.capacity <= timing.slack.min(timing.nic_slack)
        && ahead(timing, fabric, settings) <= credit_schedule::SPAN
}

/// Cycles from the start of a window until an advert counts that becomes known then, at most.
fn ahead(timing: &Timing, fabric: &Fabric, settings: &HppSettings) -> u64 {
    let largest = settings.format.mtu_bytes.min(*fabric.payloads.end());
    let largest = u64::from(settings.format.packet_flits(largest));
    2 * window(settings, fabric) + 1 + largest + timing.transmit + longest(fabric) + timing.receive
}

#[cfg(test)]
mod tests {
    use crate::hpp::HppSettings;
    use crate::hpp::rules::testing::{fabric, timing};
    use flitway_fabric::{Fabric, NicPorts};

    #[test]
    fn adverts_that_count_just_in_time_are_posted_and_others_not() {
        let holds = |change: fn(&mut Fabric<HppSettings>)| {
            let mut fabric = fabric();
            (fabric.chip.advert.flits, fabric.chip.unit_flits, fabric.chip.buffer_units) = (0, 8, 16);
            // A window is 5 cycles; 10 + 1 + 47 + 1 + 3 + 2 are 64.
            fabric.payloads = 1..=84;
            change(&mut fabric);
            timing(&fabric).posts
        };
        assert!(holds(|_| ()));
        assert!(!holds(|it| it.payloads = 1..=86), "a flit more");
        assert!(!holds(|it| it.latencies[1] = 4), "a cycle more on one link");
        assert!(!holds(|it| it.chip.advert.flits = 1), "adverts on the channel");
        assert!(!holds(|it| it.nic_ports = NicPorts::Bounded));
        let mut fabric = fabric();
        (fabric.chip.advert.flits, fabric.chip.unit_flits, fabric.payloads) = (0, 8, 1..=84);
        let slack = timing(&fabric).slack.min(timing(&fabric).nic_slack);
        for (units, posts) in [(slack, true), (slack + 1, false)] {
            fabric.chip.buffer_units = units;
            assert_eq!(timing(&fabric).posts, posts, "{units} units of a slack of {slack}");
        }
    }
}
