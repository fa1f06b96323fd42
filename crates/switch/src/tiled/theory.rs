//! What the tiled switch says of itself, and its closed forms.

use super::settings::{TiledPipeline, TiledSettings};
use super::{nic, switch};
use flitway_fabric::chip::{Chip, Copies, Cost, LinkTraining, Offers, Waits, Windowed};
use flitway_fabric::headroom::{Headroom, Longest};
use flitway_fabric::{Fabric, PacketFormat};
use flitway_wiring::routing::Selection;

impl Chip for TiledSettings {
    fn ports(&self) -> u32 {
        self.ports()
    }

    fn vcs(&self) -> u32 {
        self.vcs
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
            answers: None,
            barriers: None,
            copies: Copies::Free,
            one_way_links: false,
            rates: true,
            changes: true,
            errors: self.retry.is_some(),
            faults: self.retry.is_some(),
            refuses: false,
        }
    }

    fn costs(&self) -> Vec<Cost> {
        self.costs_of_chip()
    }

    fn training(&self) -> Option<LinkTraining> {
        self.retry.map(|_| LinkTraining { lanes: self.lanes(), test: self.training.test })
    }

    fn selection(&self) -> Selection {
        self.selection
    }

    fn bytes_per_port(&self, _: &Fabric) -> [u64; 2] {
        let [columns, rows, vcs] = [self.columns, self.rows, self.vcs].map(|it| it as usize);
        [switch::bytes_per_port(columns, rows, vcs), nic::bytes_per_port(vcs)].map(|bytes| bytes as u64)
    }

    fn waits(&self) -> Waits {
        Waits {
            output: Some("row bus taken by others, or no room in the row buffer"),
            link: Some("subswitch or link taken by others, or no credits"),
            credits_at_link: true,
        }
    }

    /// Without retry there is no window.
    fn share_of_window(&self, channel: Windowed, flits: u32) -> f64 {
        self.retry.map_or(1.0, |retry| self.share_of(channel, flits, retry.window))
    }

    fn through_cycles(&self) -> u32 {
        self.pipeline.depth()
    }

    fn through_parts(&self) -> Vec<(&'static str, u32)> {
        let TiledPipeline { receive, input, row, subswitch, column, output, link, transmit } = self.pipeline;
        vec![
            ("receive", receive),
            ("input", input),
            ("row", row),
            ("subswitch", subswitch),
            ("column", column),
            ("output", output),
            ("link", link),
            ("transmit", transmit),
        ]
    }

    fn moves_whole_packets(&self) -> bool {
        true
    }

    fn zero_load_cycles(&self, hops: u32, payload_bytes: u32) -> u64 {
        let rest = u64::from(self.format.packet_flits(payload_bytes) - 1);
        // Where links retry, a switch has all of a packet before it goes on.
        let checks = if self.retry.is_some() { u64::from(hops) * rest } else { 0 };
        let (nic, pipeline) = (self.pipeline.nic_to_wire() + self.pipeline.receive, self.pipeline.depth());
        u64::from(nic) + u64::from(hops) * u64::from(pipeline) + checks + rest
    }

    /// From the cycle in which an output begins a packet: the packet arrives, is accepted, crosses the row bus, and gives back
    /// its room; the acknowledgement of that waits for its time and comes back. One with others costs up to their length.
    fn headroom(&self, longest: Longest) -> Headroom {
        let flits = self.format.packet_flits(self.format.mtu_bytes);
        let round_trip = self.window_cycles(longest, flits) + flits;
        let latency = longest_of(longest);
        let input = self.buffers.input;
        // What is kept for others no virtual channel has.
        let units = input.private + input.shared(self.vcs);
        Headroom { latency, round_trip, units_needed: round_trip + flits, units }
    }
}

fn longest_of(longest: Longest) -> u32 {
    longest.switches.map_or(longest.nodes, |switches| switches.max(longest.nodes))
}

impl TiledSettings {
    /// Cycles from the beginning of a packet of the MTU on one of the longest links until it is heard that it was accepted, if
    /// it takes `flits` cycles to be sent.
    #[must_use]
    pub fn window_cycles(&self, longest: Longest, flits: u32) -> u32 {
        let one_way = self.pipeline.output_to_wire() + longest_of(longest) + self.pipeline.receive + flits;
        let told = self.ack.delay.min(self.ack.packets.saturating_mul(flits));
        2 * one_way + self.pipeline.input + told
    }

    /// What part of their cycles the longest links carry packets of the MTU in if they keep `window` of them and nothing comes
    /// the other way, about.
    #[must_use]
    pub fn share_of_window_one_way(&self, longest: Longest, window: u32) -> f64 {
        let flits = self.format.packet_flits(self.format.mtu_bytes);
        let share = |latency: u32, from_node: bool| {
            let channel = Windowed { latency, from_node, to_node: false, is_answered: false };
            self.share_of(channel, flits, window)
        };
        let between = longest.switches.map_or(1.0, |latency| share(latency, false));
        share(longest.nodes, true).min(between)
    }

    /// What part of a full `channel` a sender takes at most that keeps `window` packets of `flits` flits.
    ///
    /// Of the packet that closes the window it is heard at the earliest when all of it has come, has been accepted, and an
    /// acknowledgement of one flit has gone back at once. One that finds no packet to go along with goes alone: after
    /// `ack.packets` packets, or, if the window closes before, `ack.delay` after the first.
    fn share_of(&self, channel: Windowed, flits: u32, window: u32) -> f64 {
        let Windowed { latency, from_node, to_node, is_answered } = channel;
        let TiledPipeline { receive, input, .. } = self.pipeline;
        let to_wire = |of_node: bool| match of_node {
            true => self.pipeline.nic_to_wire(),
            false => self.pipeline.output_to_wire(),
        };
        let input = if to_node { 0 } else { input };
        // Beside the flits of the packet.
        let round_trip = to_wire(from_node) + to_wire(to_node) + 2 * (latency + receive) + input - 1;
        let (flits, window, round_trip) = (u64::from(flits), u64::from(window), u64::from(round_trip));
        if is_answered {
            return ((window * flits) as f64 / (flits + round_trip) as f64).min(1.0);
        }
        let delay = u64::from(self.ack.delay);
        let acknowledged = u64::from(self.ack.packets).min(1 + delay / flits);
        let [carried, period] = if window < acknowledged {
            [window * flits, flits + round_trip + delay]
        } else {
            [
                acknowledged * flits,
                (acknowledged * flits + round_trip).saturating_sub((window - acknowledged) * flits),
            ]
        };
        (carried as f64 / period.max(1) as f64).min(1.0)
    }
}
