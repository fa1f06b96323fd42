//! What nodes, arbiters, links and readers of letters ask the memory for before their turn comes, where the state does not
//! fit into the cache of a core. Each step reads what the one before has asked for. It gains time, and changes nothing
//! else.

use super::lists::{Letter, Lists};
use super::nic::Nic;
use super::port::Port;
use super::{BatchedShard, Network, VCS};
use flitway_engine::prefetch;
use flitway_fabric::observer::Observer;

/// Turns from one step to the next.
pub(super) const STEP: usize = 8;

/// Turns from the first step to the turn itself, where there is but one step.
const LEAD: usize = 3 * STEP;

impl<const V: usize, E, O> BatchedShard<V, E, O> {
    /// Asks for what the first nodes of the list `due` need, before the first turn.
    #[inline(always)]
    pub(super) fn prefetch_first_nodes(&self, due: &[u32]) {
        due.iter().take(STEP).for_each(|&node| self.prefetch_node(node));
        due.iter().take(STEP / 2).for_each(|&node| self.prefetch_inputs(node));
    }

    /// Asks for the nodes behind `index` in the list `due`, with their NIC ports; then for the inputs that they send to.
    #[inline(always)]
    pub(super) fn prefetch_nodes(&self, due: &[u32], index: usize) {
        if let Some(&node) = due.get(index + STEP) {
            self.prefetch_node(node);
        }
        if let Some(&node) = due.get(index + STEP / 2) {
            self.prefetch_inputs(node);
        }
    }

    #[inline(always)]
    fn prefetch_node(&self, node: u32) {
        prefetch::item(&self.nodes[node as usize]);
        prefetch::slice(self.nics_of(node));
    }

    #[inline(always)]
    fn prefetch_inputs(&self, node: u32) {
        for nic in self.nics_of(node) {
            if let Some(port) = self.ports.get(nic.link.wire.peer.place as usize) {
                prefetch::slice(&port.lanes);
            }
        }
    }

    /// By number, so that no node has to be read.
    #[inline(always)]
    fn nics_of(&self, node: u32) -> &[Nic<V>] {
        let rails = self.network.rails as usize;
        &self.network.nics[node as usize * rails..][..rails]
    }
}

impl<const V: usize, O: Observer> Network<V, O> {
    /// Asks for what the first packets of the list `letters` need, before the first turn.
    #[inline(always)]
    pub(super) fn prefetch_first_letters(ports: &[Port<V>], letters: &[Letter]) {
        letters.iter().take(LEAD).for_each(|letter| Self::prefetch_letter(ports, letter));
    }

    /// Asks for what the packets behind `index` in the list `letters` will need.
    #[inline(always)]
    pub(super) fn prefetch_letters(ports: &[Port<V>], letters: &[Letter], index: usize) {
        if let Some(letter) = letters.get(index + LEAD) {
            Self::prefetch_letter(ports, letter);
        }
    }

    #[inline(always)]
    fn prefetch_letter(ports: &[Port<V>], &Letter { place, base, coming, route }: &Letter) {
        if (place as usize) < ports.len() {
            let lane = Port::<V>::lane_at(coming.vc.into());
            prefetch::part(ports, place as usize, lane);
            prefetch::part(ports, (base + route.hop().port.0) as usize, lane);
        }
    }

    /// Asks for what the first arbiters of the list `due` need, before the first turn.
    #[inline(always)]
    pub(super) fn prefetch_first_arbiters(&self, ports: &[Port<V>], due: &[u32]) {
        due.iter().take(2 * STEP).for_each(|&arbiter| Self::prefetch_output(ports, arbiter));
        due.iter().take(STEP).for_each(|&arbiter| self.prefetch_request(ports, arbiter));
    }

    /// Asks for the outputs of the arbiters behind `index` in the list `due`; then for the inputs that request them.
    #[inline(always)]
    pub(super) fn prefetch_arbiters(&self, ports: &[Port<V>], due: &[u32], index: usize) {
        if let Some(&arbiter) = due.get(index + 2 * STEP) {
            Self::prefetch_output(ports, arbiter);
        }
        if let Some(&arbiter) = due.get(index + STEP) {
            self.prefetch_request(ports, arbiter);
        }
    }

    #[inline(always)]
    fn prefetch_output(ports: &[Port<V>], arbiter: u32) {
        let (place, vc) = (Lists::place_of(arbiter) as usize, Lists::vc_of(arbiter));
        prefetch::part(ports, place, Port::<V>::lane_at(vc));
        prefetch::element(ports, place);
    }

    #[inline(always)]
    fn prefetch_request(&self, ports: &[Port<V>], arbiter: u32) {
        let (place, vc) = (Lists::place_of(arbiter) as usize, Lists::vc_of(arbiter));
        let first = ports[place].lanes[vc].output.requests.trailing_zeros();
        self.arbiters.prefetch(place * V + vc, first as usize);
        prefetch::part(ports, (self.bases[place] + first) as usize, Port::<V>::lane_at(vc));
    }

    /// Asks for what the links of the first ports of the list `due` need, before the first turn, and notes the FIFOs that
    /// packets leave.
    #[inline(always)]
    pub(super) fn prefetch_first_links(&self, ports: &[Port<V>], due: &[u32]) -> [(u32, u8); STEP] {
        let mut sources = [(0, 0); STEP];
        due.iter().take(2 * STEP).for_each(|&place| prefetch::whole(ports, place as usize));
        due.iter()
            .zip(&mut sources)
            .for_each(|(&place, source)| *source = self.prefetch_source(ports, place));
        sources.iter().take(STEP / 2).for_each(|&source| self.prefetch_packet(ports, source));
        sources
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
        if let Some(&place) = due.get(index + 2 * STEP) {
            prefetch::whole(ports, place as usize);
        }
        if let Some(&place) = due.get(index + STEP) {
            sources[index % STEP] = self.prefetch_source(ports, place);
        }
        self.prefetch_packet(ports, sources[(index + STEP / 2) % STEP]);
    }

    /// Asks for the FIFO that the next packet leaves over the link at `place`, and says where that is.
    #[inline(always)]
    fn prefetch_source(&self, ports: &[Port<V>], place: u32) -> (u32, u8) {
        let Port { link, lanes, .. } = &ports[place as usize];
        let vc = link.waiting.trailing_zeros() as usize % VCS;
        // Where none waits any more any will do.
        let from = lanes.get(vc).map_or(0, |lane| self.bases[place as usize] + u32::from(lane.output.from));
        prefetch::part(ports, from as usize, Port::<V>::lane_at(vc));
        prefetch::element(ports, from as usize);
        (from, vc as u8)
    }

    /// Asks for the packet that is the first of a FIFO.
    #[inline(always)]
    fn prefetch_packet(&self, ports: &[Port<V>], (from, vc): (u32, u8)) {
        if let Some(lane) = ports.get(from as usize).and_then(|port| port.lanes.get(usize::from(vc))) {
            self.cx.states.prefetch(lane.input.waiting.head());
        }
    }
}
