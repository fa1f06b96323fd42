//! The whole shard decides in batches of cycles: nodes, then arbiters, then links.
//!
//! **Condition.** Nothing is beside packets for one node, in one VC class and up to four VCs, with ideal NIC ports and
//! adverts on the channel, and switches choose no ways. Packets are promised to be so long that nothing that is decided acts
//! on what the others of the switch decide within a batch: from the grant of a packet, and from its choice by the link, until
//! it has crossed, and from its choice until it has freed a unit, there is a batch at least. A packet is ready for the link
//! within a batch of its grant. What is counted fits: units in 16 bits, spans of time in 32 bits beside the time from the
//! epoch.
//!
//! **Why it is sound.** See [`batched`](crate::hpp::batched): within a batch the order of parts does not matter, and after a
//! look from outside links decide at once for all cycles that arbiters are ahead of them.

use crate::hpp::timing::{NO_REFRESH, Timing, longest};
use crate::hpp::{HppSettings, batched};
use flitway_fabric::{Fabric, NicPorts};

pub(in crate::hpp) fn holds(timing: &Timing, fabric: &Fabric, settings: &HppSettings) -> bool {
    is_plain(timing, fabric) && is_counted(timing, fabric, settings) && is_far(timing, fabric, settings)
}

/// Nothing is beside packets that goes other ways.
fn is_plain(timing: &Timing, fabric: &Fabric) -> bool {
    fabric.groups.is_empty()
        && fabric.barriers.is_empty()
        && fabric.routing.classes() == 1
        && !fabric.routing.chooses_ways()
        && fabric.nic_ports == NicPorts::Ideal
        && timing.vcs <= batched::VCS
        && !timing.sideband
}

/// What is counted fits.
fn is_counted(timing: &Timing, fabric: &Fabric, settings: &HppSettings) -> bool {
    // Spans of time that are counted in 32 bits beside that from the epoch, and such as reach back from a cycle.
    let refresh = if timing.refresh == NO_REFRESH { 0 } else { timing.refresh };
    let ahead = [longest(fabric), refresh, timing.transmit, timing.receive, timing.to_crossbar];
    let is_short =
        ahead.iter().all(|&span| span < 1 << 28) && u64::from(timing.tx_fifo) < batched::KEPT_LEAST;
    // While a link is busy nothing is advertised: for a packet and an advert of each VC, at most.
    let largest = u64::from(settings.format.packet_flits(settings.format.mtu_bytes));
    let busy = largest + batched::VCS as u64 * timing.advert_flits + u64::from(batched::BATCH) * 8;
    is_short && busy < batched::KEPT && timing.capacity <= batched::UNITS
}

/// What is decided acts a batch later at least, and is ready for the link within one.
fn is_far(timing: &Timing, fabric: &Fabric, settings: &HppSettings) -> bool {
    let shortest = u64::from(settings.format.packet_flits(*fabric.payloads.start()));
    let crossed = (shortest + timing.transmit_buffer).saturating_sub(timing.tx_fifo.into());
    let freed = shortest.min(timing.first_unit.into()).saturating_sub(timing.tx_fifo.into());
    let batch = u64::from(batched::BATCH);
    shortest.min(crossed).min(freed) >= batch && timing.to_link() <= batch
}

#[cfg(test)]
mod tests {
    use crate::hpp::HppSettings;
    use crate::hpp::rules::testing::{fabric, timing};
    use flitway_fabric::{Fabric, NicPorts};

    #[test]
    fn packets_just_long_enough_are_batched_and_others_not() {
        let holds = |change: fn(&mut Fabric<HppSettings>)| {
            let mut fabric = fabric();
            // 32 flits: 16 beyond the TX FIFO.
            fabric.payloads = 54..=256;
            change(&mut fabric);
            timing(&fabric).is_batched
        };
        assert!(holds(|_| ()));
        assert!(!holds(|it| it.payloads = 52..=256), "a flit less");
        assert!(!holds(|it| it.chip.tx_fifo = 17), "a flit more in the TX FIFO");
        assert!(!holds(|it| it.chip.unit_flits = 27), "the first unit ends a flit earlier");
        assert!(holds(|it| it.chip.pipeline.transmit_buffer = 15));
        assert!(!holds(|it| it.chip.pipeline.transmit_buffer = 16), "the link is later than a batch");
        assert!(holds(|it| it.chip.vcs = 4) && !holds(|it| it.chip.vcs = 5), "four VCs");
        assert!(!holds(|it| it.chip.advert.flits = 0), "adverts on wires of their own");
        assert!(!holds(|it| it.nic_ports = NicPorts::Bounded));
        assert!(!holds(|it| it.chip.buffer_units = 1 << 15), "16 bits");
    }
}
