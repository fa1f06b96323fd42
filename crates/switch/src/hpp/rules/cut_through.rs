//! A granted packet can go to the link at once, without its TX FIFO being kept.
//!
//! **Condition.** The TX FIFO holds what crosses until a packet is ready for the link, and a unit of a packet that is granted
//! later is not freed before then, unless adverts have wires of their own.
//!
//! **Why it is sound.** A packet that finds its TX FIFO empty and its link free never fills the former before it goes on to
//! the latter. In the meantime no packet that is granted later can have freed a unit whose advert takes the link.

use crate::hpp::HppSettings;
use crate::hpp::timing::Timing;

pub(in crate::hpp) fn holds(timing: &Timing, settings: &HppSettings) -> bool {
    let first_unit = timing.felt_by_node(settings.format.packet_flits(1));
    let frees_later = timing.sideband || first_unit > timing.transmit_buffer;
    settings.tx_fifo >= settings.pipeline.transmit_buffer && frees_later
}

#[cfg(test)]
mod tests {
    use crate::hpp::rules::testing::{fabric, timing};

    #[test]
    fn a_fifo_that_fills_before_the_link_and_a_unit_freed_too_soon_forbid_it() {
        let holds = |tx_fifo, transmit_buffer, advert_flits| {
            let mut fabric = fabric();
            (fabric.chip.tx_fifo, fabric.chip.pipeline.transmit_buffer) = (tx_fifo, transmit_buffer);
            fabric.chip.advert.flits = advert_flits;
            timing(&fabric).cuts_through
        };
        assert!(holds(5, 5, 2) && !holds(4, 5, 2), "the FIFO holds what crosses until then");
        // The shortest packet has 6 flits, and its unit is free with the last.
        assert!(!holds(16, 6, 2) && holds(16, 6, 0), "an advert would take the link, if it went there");
    }
}
