//! What a switch costs, counted in parts: for the comparison of multidestination-worms.txt sections 4.2, 5.2 and 5.3.
//!
//! With `k` ports, chunks of `c` flits and flits of `f` bits. A *flit-MUX* is flit-wide and chooses one of `k` flits, or one
//! of the `c` flits of a chunk. *Wires* are those that run from the ports' own modules to the MUXs of others: as many as
//! these MUXs have inputs. The three organisations of an input buffer have the same timing.

use super::settings::{NextPacket, Organisation, SpSettings, Store};
use flitway_fabric::chip::{Cost, CostPart};

const CENTRAL: &str = "central buffer";

/// Bits that tell `count` things apart.
fn bits_for(count: u64) -> u64 {
    u64::from(u64::BITS - count.saturating_sub(1).leading_zeros())
}

fn parts(flit_muxes: u64, ram_bits: u64, register_bits: u64, wires: u64) -> Vec<(CostPart, u64)> {
    vec![
        (CostPart::FlitMuxes, flit_muxes),
        (CostPart::RamBits, ram_bits),
        (CostPart::RegisterBits, register_bits),
        (CostPart::Wires, wires),
    ]
}

impl SpSettings {
    /// What a switch costs: one row for a central buffer, one for each organisation of input buffers.
    pub(super) fn parts(&self) -> Vec<Cost> {
        let (ports, chunk) = (u64::from(self.ports), u64::from(self.chunk_flits));
        let flit = 8 * u64::from(self.format.flit_bytes);
        let fifos = ports * u64::from(self.fifo_flits) * flit;
        // A chunk counts up to as many readers as there are outputs.
        let counter = if self.replicates_from_store() { bits_for(ports + 1) } else { 0 };
        if let Store::Central(central) = self.store {
            let chunks = u64::from(central.chunks);
            let pointer = bits_for(chunks + 1);
            let next_packets = if central.next_packet == NextPacket::Separate { ports } else { 1 };
            // First and last packet and first chunk of an output, last chunk of an input.
            let pointers = 4 * ports * pointer;
            let parts = parts(
                ports + chunk,
                fifos + chunks * (chunk * flit + (1 + next_packets) * pointer + counter),
                2 * ports * chunk * flit + pointers,
                ports * ports * flit + ports * chunk * flit,
            );
            return vec![Cost { organisation: CENTRAL.to_owned(), is_chosen: true, parts }];
        }
        let counters = ports * u64::from(self.fifo_flits).div_ceil(chunk) * counter;
        let row = |organisation: Organisation, flit_muxes, registers: u64, wires| Cost {
            organisation: organisation.name().to_owned(),
            is_chosen: self.store == Store::Input(organisation),
            parts: parts(flit_muxes, fifos + counters, registers * flit, wires),
        };
        let (whole, narrow) = (ports * ports * chunk * flit, ports * ports * flit);
        let of = |organisation: Organisation| match organisation {
            // A chunk-wide MUX and a chunk register at each output.
            Organisation::ChunkWide => row(organisation, ports * chunk, ports * chunk, whole),
            // A staircase of c, c - 1, ... 1 flits at each input, a flit at each output.
            Organisation::RegisterStaircase => {
                row(organisation, ports * chunk + ports, ports * chunk * (chunk + 1) / 2 + ports, narrow)
            }
            // A flit behind each of the c memories of an input, a flit at each output.
            Organisation::SplitRam => row(organisation, ports * chunk + ports, ports * chunk + ports, narrow),
        };
        Organisation::ALL.into_iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sp::{CentralSettings, Replication, SpAscent, SpPipeline, WormSettings};
    use flitway_fabric::packet::PacketFormat;

    fn count(cost: &Cost, part: CostPart) -> u64 {
        cost.parts.iter().find(|(it, _)| *it == part).unwrap().1
    }

    fn switch(store: Store, fifo_flits: u32) -> SpSettings {
        SpSettings {
            ports: 8,
            store,
            chunk_flits: 8,
            fifo_flits,
            pipeline: SpPipeline { receive: 1, route: 4, transmit: 1 },
            credit: 1,
            format: PacketFormat {
                flit_bytes: 2,
                header_flits: 1,
                trailer_flits: 0,
                mtu_bytes: 512,
                block: None,
            },
            ascent: SpAscent::Adaptive,
            worms: WormSettings { bits: 16, replication: Replication::Asynchronous },
        }
    }

    /// "(k^2 + k) flit-MUXs" (section 5.2.1), k^2 for the chunk-wide crossbar (P-MW-038 to P-MW-040).
    #[test]
    fn input_buffers_take_the_multiplexers_that_the_paper_counts() {
        let costs = switch(Store::Input(Organisation::SplitRam), 320).parts();
        let muxes: Vec<u64> = costs.iter().map(|cost| count(cost, CostPart::FlitMuxes)).collect();
        assert_eq!(muxes, [64, 72, 72]);
        assert_eq!(count(&costs[0], CostPart::Wires), 8 * count(&costs[1], CostPart::Wires));
    }

    /// 5 KB of packets on either chip (P-MW-020, P-MW-031), and 4 bits to count to 8.
    #[test]
    fn both_switches_have_the_same_memory_for_packets() {
        let packets = 5 * 1_024 * 8;
        let input = &switch(Store::Input(Organisation::SplitRam), 320).parts()[0];
        assert_eq!(count(input, CostPart::RamBits), packets + 8 * 40 * 4);
        let central = CentralSettings { chunks: 256, next_packet: NextPacket::Shared };
        let shared = switch(Store::Central(central), 64).parts();
        assert_eq!(count(&shared[0], CostPart::RamBits), packets + 256 * (2 * 9 + 4));
        let separate = CentralSettings { next_packet: NextPacket::Separate, ..central };
        let separate = switch(Store::Central(separate), 64).parts();
        assert_eq!(
            count(&separate[0], CostPart::RamBits) - count(&shared[0], CostPart::RamBits),
            256 * 7 * 9
        );
    }
}
