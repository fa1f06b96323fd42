//! What a chip costs, counted in parts, beside two crossbars of as many ports.
//!
//! With `R` rows and `C` columns, `P = R C` ports, `V` virtual channels and flits of `f` bits. A *crosspoint* is an input of a
//! multiplexer one flit wide. *Wires* end at the port of a tile and come from that of another. The input buffers are the same
//! in all three.
//!
//! * **Tiles**: row buses, each with a tap at `C` tiles; a subswitch of `C` by `R` in each tile; column channels, of which `R`
//!   end at each output, at a multiplexer of `R`. Arbiters are those of the model: of each input for its bus over virtual
//!   channels and columns, of each row buffer over virtual channels, of each column channel over the inputs of its row, and of
//!   each output over virtual channels and rows.
//! * **A buffer at each crosspoint**: one row of `P` tiles.
//! * **A crossbar without buffers**: each output has a multiplexer over all inputs. Of arbiters each input has one over its
//!   virtual channels, each output one over all inputs.

use super::settings::TiledSettings;
use flitway_fabric::chip::{Cost, CostPart};

impl TiledSettings {
    /// What a chip costs.
    pub(super) fn costs_of_chip(&self) -> Vec<Cost> {
        let (rows, columns) = (self.rows.into(), self.columns.into());
        let ports = rows * columns;
        let mut costs = vec![Cost {
            organisation: format!("tiles {rows} x {columns}"),
            is_chosen: true,
            parts: self.tiles(rows, columns),
        }];
        if rows > 1 {
            let parts = self.tiles(1, ports);
            costs.push(Cost { organisation: format!("tiles 1 x {ports}"), is_chosen: false, parts });
        }
        costs.push(Cost { organisation: "crossbar".to_owned(), is_chosen: false, parts: self.crossbar() });
        costs
    }

    fn flit_bits(&self) -> u64 {
        8 * u64::from(self.format.flit_bytes)
    }

    fn tiles(&self, rows: u64, columns: u64) -> Vec<(CostPart, u64)> {
        let (ports, vcs) = (rows * columns, u64::from(self.vcs));
        let [input, row, column] =
            [self.buffers.input, self.buffers.row, self.buffers.column].map(|buffer| u64::from(buffer.flits));
        let of_bus = vcs + vcs * columns;
        let of_subswitch = columns * vcs + rows * columns;
        let of_output = vcs + vcs * rows;
        parts(
            ports * (rows * columns + rows),
            vcs.max(columns).max(rows),
            ports * (of_bus + of_subswitch + of_output),
            ports * (input + columns * row + rows * column) * self.flit_bits(),
            ports * (columns + rows) * self.flit_bits(),
        )
    }

    fn crossbar(&self) -> Vec<(CostPart, u64)> {
        let (ports, vcs) = (u64::from(self.ports()), u64::from(self.vcs));
        parts(
            ports * ports,
            ports.max(vcs),
            ports * (ports + vcs),
            ports * u64::from(self.buffers.input.flits) * self.flit_bits(),
            ports * ports * self.flit_bits(),
        )
    }
}

fn parts(crosspoints: u64, largest: u64, inputs: u64, ram_bits: u64, wires: u64) -> Vec<(CostPart, u64)> {
    vec![
        (CostPart::Crosspoints, crosspoints),
        (CostPart::LargestArbiter, largest),
        (CostPart::ArbiterInputs, inputs),
        (CostPart::RamBits, ram_bits),
        (CostPart::Wires, wires),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::settings::*;
    use super::*;
    use flitway_fabric::arbiter::ArbiterKind;
    use flitway_fabric::link::lanes::LaneSettings;
    use flitway_fabric::{LaneChoice, PacketFormat, Rate, ReplyLanes};
    use flitway_wiring::routing::Selection;

    fn chip(rows: u32, columns: u32) -> TiledSettings {
        let buffer = |flits| BufferSettings { flits, private: 9 };
        TiledSettings {
            rows,
            columns,
            vcs: 4,
            buffers: TiledBuffers { input: buffer(1_024), row: buffer(64), column: buffer(64) },
            arbiter: ArbiterKind::RoundRobin,
            selection: Selection::First,
            lane: LaneOut::Kept,
            lanes: LaneChoice::ByFlow,
            reply_lanes: ReplyLanes::Shared,
            pipeline: TiledPipeline {
                receive: 11,
                input: 4,
                row: 3,
                subswitch: 4,
                column: 3,
                output: 4,
                link: 2,
                transmit: 11,
            },
            retry: None,
            ack: AckSettings { packets: 8, delay: 85 },
            training: TrainingSettings {
                test: 400,
                misses: 2,
                give_up: 1_000,
                lanes: LaneSettings { lanes: 8, discarded_max: 4, rates: vec![Rate::FULL] },
            },
            format: PacketFormat {
                flit_bytes: 32,
                header_flits: 1,
                trailer_flits: 0,
                mtu_bytes: 256,
                block: None,
            },
        }
    }

    #[test]
    fn tiles_have_small_arbiters_and_a_crossbar_the_fewest_buffers() {
        // The chip of TH Express-2: 4 x 6 tiles, 4 virtual channels, flits of 32 B (P-TH-019, P-TH-106, OQ-T3).
        let costs = chip(4, 6).costs_of_chip();
        let names: Vec<&str> = costs.iter().map(|cost| cost.organisation.as_str()).collect();
        assert_eq!(names, ["tiles 4 x 6", "tiles 1 x 24", "crossbar"]);
        let of = |part: CostPart| -> Vec<u64> {
            let count = |cost: &Cost| cost.parts.iter().find(|(it, _)| *it == part).unwrap().1;
            costs.iter().map(count).collect()
        };
        assert_eq!(of(CostPart::Crosspoints), [24 * 28, 24 * 25, 24 * 24]);
        assert_eq!(of(CostPart::LargestArbiter), [6, 24, 24]);
        assert_eq!(of(CostPart::Wires), [24 * 10 * 256, 24 * 25 * 256, 24 * 24 * 256]);
        let [tiles, row, crossbar] = of(CostPart::RamBits)[..] else { panic!("three organisations") };
        // 32 KiB at an input, 2 KiB in each of 6 row and 4 column buffers; 24 and 1 in one row.
        assert_eq!(tiles, 24 * (32 + 6 * 2 + 4 * 2) * 1_024 * 8);
        assert_eq!(row, 24 * (32 + 24 * 2 + 2) * 1_024 * 8);
        assert_eq!(crossbar, 24 * 32 * 1_024 * 8);
        assert_eq!(chip(1, 8).costs_of_chip().len(), 2, "one row is tiles and a buffer at each crosspoint");
    }
}
