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
