//! What arbiters and links ask the memory for before their turn comes, where the state does not fit into the cache of a core.
//! Each step reads what the one before has asked for. It gains time, and changes nothing else.

use super::Net;
use super::rows::{Letter, Rows};
use crate::observer::Observer;
use flitway_engine::prefetch;

/// Turns from one step to the next.
const STEP: usize = 8;

impl<const V: usize, O: Observer> Net<V, O> {
    /// Asks for what the packets behind `index` in the list `letters` will need.
    #[inline(always)]
    pub(super) fn prefetch_letters(&self, letters: &[Letter], index: usize) {
        let Some((place, coming)) = letters.get(index + 3 * STEP) else { return };
        if let Some(port) = self.ports.get(*place as usize) {
            let to = self.bases[*place as usize] + coming.route.hop().port.0;
            prefetch::line(&port.inputs[usize::from(coming.vc)]);
            prefetch::line(&self.ports[to as usize].outputs[usize::from(coming.vc)]);
        }
    }

    /// Asks for what the arbiters behind `index` in the list `due` will need.
    #[inline(always)]
    pub(super) fn prefetch_arbiters(&self, due: &[u32], index: usize) {
        if let Some(&arbiter) = due.get(index + 2 * STEP) {
            let port = &self.ports[Rows::place_of(arbiter) as usize];
            prefetch::line(&port.outputs[Rows::vc_of(arbiter)]);
            prefetch::line(&port.line);
        }
        if let Some(&arbiter) = due.get(index + STEP) {
            let (place, vc) = (Rows::place_of(arbiter), Rows::vc_of(arbiter));
            let first = self.ports[place as usize].outputs[vc].requests.trailing_zeros();
            self.arbiters.prefetch(place as usize * V + vc, first as usize);
            if let Some(from) = self.ports.get((self.bases[place as usize] + first) as usize) {
                prefetch::line(&from.inputs[vc]);
            }
        }
    }

    /// Asks for what the links behind `index` in the list `due` will need, wherever there may be adverts to send.
    #[inline(always)]
    pub(super) fn prefetch_links(&self, due: &[u32], index: usize) {
        if let Some(&place) = due.get(index + 2 * STEP) {
            prefetch::item(&self.ports[place as usize]);
        }
    }
}
