//! What packets cannot do without that others have, for [`flitway_fabric::deadlock`].
//!
//! The packets of an input buffer are stuck if the first one of each of its queues is: its row buffer has no room, and gets
//! some when the first packet there goes on, which waits for room in a column buffer, and there for room at the
//! other end of the link. Any of them that goes on makes room for the link that leads here.

use super::Switch;
use crate::tiled::Shared;
use crate::tiled::mask::Mask;
use crate::tiled::packet_state::PacketState;
use flitway_engine::Cycle;
use flitway_fabric::deadlock::{Fifo, Need, Side, Waiting};
use flitway_wiring::{Destination, PortId};

impl<M: Mask> Switch<M> {
    /// Packets that cannot move at the end of cycle `now - 1`: those of inputs, and those that wait for a link.
    pub(super) fn stuck(&self, shared: &Shared, now: Cycle) -> Vec<Waiting> {
        let places = (0..self.inputs.len()).flat_map(|port| (0..self.vcs).map(move |vc| (port, vc)));
        let inputs = places.clone().filter_map(|(port, vc)| self.stuck_at_input(shared, now, port, vc));
        let outputs = places.filter_map(|(port, vc)| self.stuck_at_output(shared, now, port, vc));
        inputs.chain(outputs).collect()
    }

    fn stuck_at_input(&self, shared: &Shared, now: Cycle, input: usize, vc: usize) -> Option<Waiting> {
        let (row, place) = self.place(input);
        let it = &self.inputs[input];
        if it.free_at > now || shared.pools.states.first(&it.coming).is_some() {
            return None;
        }
        let mut first = None;
        let mut alternatives = Vec::new();
        let states = &shared.pools.states;
        for column in self.input_columns[input * self.vcs + vc].places() {
            let head = self.input_queues[(input * self.vcs + vc) * self.columns + column];
            let number = self.tile(row, column) * self.columns + place;
            let buffer = &self.rows_in[number];
            // Those of other virtual channels in it make room too, if they have some that is shared.
            let vcs = buffer.room.sharers(shared.parts.row).chain([vc]);
            let mut heads = vcs.filter_map(|vc| states.first_of_ring(buffer.queues[vc])).peekable();
            if buffer.free_at > now || heads.peek().is_none() {
                return None;
            }
            first = first.or_else(|| states.first_of_ring(head));
            alternatives.extend(
                heads.map(|state| Need::Queue { output: PortId(state.port.into()), vc: state.out_vc }),
            );
        }
        Some(self.waiting_at(Side::Input, input, vc, first?, alternatives))
    }

    fn stuck_at_output(&self, shared: &Shared, now: Cycle, output: usize, vc: usize) -> Option<Waiting> {
        let sender = self.outputs[output].sender.as_ref().filter(|sender| sender.is_active())?;
        let heads = (0..self.rows).filter_map(|row| {
            shared.pools.states.first_of_ring(self.columns_in[output * self.rows + row].queues[vc])
        });
        let mut first = None;
        for state in heads {
            if state.at >= now || sender.takes(shared, vc, state.flits.into()) {
                return None;
            }
            first = first.or(Some(state));
        }
        let need = |vc: usize| Need::Space {
            output: PortId::new(output),
            vc: vc as u8,
            units: 1,
            sent: sender.heard(vc).into(),
        };
        let alternatives = sender.lacks_of(shared.parts.input, vc).map(need).collect();
        Some(self.waiting_at(Side::Output, output, vc, first?, alternatives))
    }

    fn waiting_at(
        &self,
        side: Side,
        port: usize,
        vc: usize,
        state: &PacketState,
        alternatives: Vec<Need>,
    ) -> Waiting {
        Waiting {
            fifo: Fifo { switch: self.number, port: PortId::new(port), vc: vc as u8, side },
            source: state.source,
            destination: Destination::Node(state.header.destination()),
            feeds: 0,
            needs: Vec::new(),
            alternatives,
        }
    }
}
