//! What the Elite4 says of itself, and its closed forms.

use super::settings::EliteSettings;
use super::{nic, switch};
use flitway_fabric::chip::{Chip, Offers, Waits};
use flitway_fabric::headroom::{Headroom, Longest};
use flitway_fabric::{Fabric, PacketFormat, Rate};
use flitway_wiring::routing::Selection;

impl Chip for EliteSettings {
    fn ports(&self) -> u32 {
        self.ports
    }

    fn vcs(&self) -> u32 {
        self.vcs
    }

    fn link_rate(&self) -> Rate {
        self.rate()
    }

    fn format(&self) -> PacketFormat {
        self.format
    }

    fn offers(&self) -> Offers {
        Offers {
            virtual_channels: true,
            input_fifos: false,
            groups: None,
            sets: None,
            barriers: None,
            copies_can_deadlock: None,
            one_way_links: false,
            rates: true,
            changes: true,
            errors: self.answer.is_some(),
            faults: false,
        }
    }

    fn selection(&self) -> Selection {
        self.selection
    }

    fn bytes_per_port(&self, _: &Fabric) -> [u64; 2] {
        let vcs = self.vcs as usize;
        [switch::bytes_per_port(vcs), nic::bytes_per_port(vcs)].map(|bytes| bytes as u64)
    }

    fn waits(&self) -> Waits {
        Waits {
            output: Some("virtual channels of the outputs taken by others"),
            link: Some("link taken by other virtual channels, or no credits"),
            credits_at_link: true,
        }
    }

    fn through_cycles(&self) -> u32 {
        self.pipeline.depth()
    }

    /// On channels of less than a flit a cycle a link may wait for its slot, of which nothing is counted.
    fn zero_load_cycles(&self, hops: u32, payload_bytes: u32) -> u64 {
        let stages = u64::from(hops) * u64::from(self.pipeline.depth());
        let (flits, cycles) = self.rate().ratio();
        let rest = u64::from(self.format.packet_flits(payload_bytes) - 1);
        let rest = (rest * u64::from(cycles)).div_ceil(u64::from(flits));
        u64::from(self.pipeline.transmit) + stages + rest + 1
    }

    /// From a flit that is sent to its credit: over the link, through the buffer, and back.
    fn headroom(&self, longest: Longest) -> Headroom {
        let latency = longest.switches.map_or(longest.nodes, |switches| switches.max(longest.nodes));
        let round_trip = self.pipeline.transmit + self.pipeline.ready() + self.credit + 2 * latency;
        Headroom { latency, round_trip, units_needed: round_trip, units: self.buffer_flits }
    }
}
