//! A receiver need not tell adverts to a sender that has at least so many units more than have arrived from it: the *slack*.
//!
//! **Why it is sound.** What a sender has taken without our knowing is bounded: flits cross to one link at one a cycle (per
//! class), so since the last packet that we know of no more can have crossed than a full TX FIFO and the cycles until now,
//! and one packet may have been granted beyond that. While the rest still holds the largest packet, the old limit answers
//! every question as the new one would. It is enough to look when a packet has been read: until then nothing here changes for
//! the worse. Where two sides take turns the sender is a window ahead when we look, but we have read all of that, so a window
//! is enough there too.
//!
//! Where switches choose ways by what has not been given back, every advert is told.

use crate::hpp::HppSettings;
use crate::hpp::timing::{Timing, longest, window};
use flitway_fabric::Fabric;

/// The slack of a receiver that reads of a packet no later than `felt` cycles after its first flit.
pub(in crate::hpp) fn units(timing: &Timing, fabric: &Fabric, settings: &HppSettings, felt: u64) -> u32 {
    if fabric.routing.chooses_ways() {
        return u32::MAX;
    }
    let (longest, window) = (longest(fabric), window(settings, fabric));
    // From a decision at the sender to our having read it, and from our advert to its counting there.
    let unread = timing.transmit + longest + felt + window;
    // Where switches decide in batches their links enter adverts beyond the end of the window.
    let entered_ahead = if timing.is_batched { timing.to_link() } else { 0 };
    let pending =
        timing.transmit + longest + timing.advert_flits.max(1) + timing.receive + window + entered_ahead;
    let crossed = u64::from(timing.tx_fifo) + unread + pending;
    let smallest = u64::from(settings.format.packet_flits(1)).min(settings.unit_flits.into());
    let classes = u64::from(fabric.routing.classes());
    let largest = u64::from(timing.units(settings.format.payload_flits(settings.format.mtu_bytes)));
    (classes * (crossed / smallest + 1 + largest) + largest).try_into().unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use crate::hpp::rules::testing::{fabric, timing};
    use flitway_wiring::routing::{Routing, RoutingKind, Selection};
    use flitway_wiring::topology::{Topology, TopologySettings};
    use std::sync::Arc;

    #[test]
    fn where_switches_choose_ways_no_buffer_has_slack() {
        let mut fabric = fabric();
        let dimensions = vec![3];
        let hyperx = TopologySettings::HyperX { dimensions, links: vec![1], nodes_per_switch: 1 };
        let topology = Arc::new(Topology::build(&hyperx).unwrap());
        fabric.latencies = vec![3; topology.links().len()];
        fabric.chip.vcs = 2;
        fabric.routing = Routing::new(RoutingKind::Ugal, topology).unwrap();
        assert!(timing(&fabric).slack < u32::MAX && timing(&fabric).nic_slack < u32::MAX);
        fabric.routing = fabric.routing.clone().with_selection(Selection::LeastLoaded);
        assert_eq!((timing(&fabric).slack, timing(&fabric).nic_slack), (u32::MAX, u32::MAX));
    }

    #[test]
    fn the_slack_is_what_may_have_crossed_and_two_of_the_largest_packets() {
        // In units of 6 flits: 16 in the TX FIFO, 1 + 3 + 8 + 6 unread, 1 + 3 + 2 + 2 + 6 pending; packets of 4 units.
        let mut fabric = fabric();
        let window = super::window(&fabric.chip, &fabric);
        let felt = timing(&fabric).felt_by_switch();
        let crossed = 16 + (1 + 3 + felt + window) + (1 + 3 + 2 + 2 + window);
        assert_eq!(u64::from(timing(&fabric).slack), crossed / 6 + 1 + 4 + 4);
        let before = timing(&fabric).slack;
        fabric.latencies.fill(3 + 60);
        assert!(timing(&fabric).slack >= before + 2 * 60 / 6, "a longer link hides more");
    }
}
