//! What nodes, arbiters, links and readers of letters ask the memory for before their turn comes, where the state does not
//! fit into the cache of a core. Each step reads what the one before has asked for. It gains time, and changes nothing
//! else.

use super::port::Port;
use super::rows::{Letter, Rows};
use super::{LongShard, Net, VCS};
use crate::observer::Observer;
use flitway_engine::prefetch;

/// Turns from one step to the next.
pub(super) const STEP: usize = 8;

/// Turns from the first step to the turn itself, at most.
const LEAD: usize = 3 * STEP;

/// The turns before the first one of a list, in which what the first ones need is asked for: counted on from below zero.
pub(super) fn before_first() -> impl Iterator<Item = usize> {
    (0..LEAD).map(|turn| turn.wrapping_sub(LEAD))
}

impl<const V: usize, E, O> LongShard<V, E, O> {
    /// Asks for the nodes behind `index` in the list `due`, with their NIC ports; then for the inputs that they send to.
    #[inline(always)]
    pub(super) fn prefetch_nodes(&self, due: &[u32], index: usize) {
        // By number, so that no node has to be read.
        let nics =
            |node: u32| &self.net.nics[node as usize * self.net.rails as usize..][..self.net.rails as usize];
        if let Some(&node) = due.get(index.wrapping_add(STEP)) {
            prefetch::item(&self.nodes[node as usize]);
            prefetch::slice(nics(node));
        }
        if let Some(&node) = due.get(index.wrapping_add(STEP / 2)) {
            for nic in nics(node) {
                if let Some(port) = self.ports.get(nic.line.wire.peer.place as usize) {
                    prefetch::slice(&port.lanes);
                }
            }
        }
    }
}

impl<const V: usize, O: Observer> Net<V, O> {
    /// Asks for what the packets behind `index` in the list `letters` will need.
    #[inline(always)]
    pub(super) fn prefetch_letters(ports: &[Port<V>], letters: &[Letter], index: usize) {
        let Some(Letter { place, base, coming, route }) = letters.get(index.wrapping_add(LEAD)) else {
            return;
        };
        if (*place as usize) < ports.len() {
            let lane = Port::<V>::lane_at(coming.vc.into());
            prefetch::part(ports, *place as usize, lane);
            prefetch::part(ports, (base + route.hop().port.0) as usize, lane);
        }
    }

    /// Asks for what the arbiters behind `index` in the list `due` will need.
    #[inline(always)]
    pub(super) fn prefetch_arbiters(&self, ports: &[Port<V>], due: &[u32], index: usize) {
        if let Some(&arbiter) = due.get(index.wrapping_add(2 * STEP)) {
            let (place, vc) = (Rows::place_of(arbiter) as usize, Rows::vc_of(arbiter));
            prefetch::part(ports, place, Port::<V>::lane_at(vc));
            prefetch::element(ports, place);
        }
        if let Some(&arbiter) = due.get(index.wrapping_add(STEP)) {
            let (place, vc) = (Rows::place_of(arbiter) as usize, Rows::vc_of(arbiter));
            let first = ports[place].lanes[vc].output.requests.trailing_zeros();
            self.arbiters.prefetch(place * V + vc, first as usize);
            prefetch::part(ports, (self.bases[place] + first) as usize, Port::<V>::lane_at(vc));
        }
    }

    /// Asks for all of the ports whose links are behind `index` in the list `due`, since each of the inputs may have an advert;
    /// then for the FIFOs that packets leave, noted among the `sources`, then for the packets.
    #[inline(always)]
    pub(super) fn prefetch_links(
        &self,
        ports: &[Port<V>],
        due: &[u32],
        index: usize,
        sources: &mut [(u32, u8); STEP],
    ) {
        if let Some(&place) = due.get(index.wrapping_add(2 * STEP)) {
            prefetch::whole(ports, place as usize);
        }
        let turn = index.wrapping_add(STEP);
        if let Some(&place) = due.get(turn) {
            let Port { line, lanes, .. } = &ports[place as usize];
            let vc = line.waiting.trailing_zeros() as usize % VCS;
            // Where none waits any more any will do.
            let from =
                lanes.get(vc).map_or(0, |lane| self.bases[place as usize] + u32::from(lane.output.from));
            prefetch::part(ports, from as usize, Port::<V>::lane_at(vc));
            prefetch::element(ports, from as usize);
            sources[turn % STEP] = (from, vc as u8);
        }
        let (from, vc) = sources[index.wrapping_add(STEP / 2) % STEP];
        if let Some(lane) = ports.get(from as usize).and_then(|port| port.lanes.get(usize::from(vc))) {
            self.world.tokens.prefetch(lane.input.waiting.head());
        }
    }
}
