//! What arbiters and links ask the memory for before their turn comes, where the state does not fit into the cache of a core.
//! Each step reads what the one before has asked for.

use super::port::{NOBODY, Port};
use super::rows::{Letter, Rows};
use super::{Net, STRETCH};
use crate::bits::bits;
use crate::hpp::moment::Moment;
use crate::observer::Observer;
use crate::simulation::CACHES;
use flitway_engine::prefetch;

/// What of a shard the memory is asked for ahead. It gains time, and changes nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    /// Nothing, where the cache of one core holds everything.
    Nothing,
    /// What everybody needs, where the cache that cores share holds everything.
    Near,
    /// What some need, too.
    Far,
}

impl Ahead {
    /// What gains time where there are `bytes` of state.
    pub(super) fn of(bytes: u64) -> Self {
        let [own, shared] = CACHES;
        if bytes <= own {
            Ahead::Nothing
        } else if bytes <= shared {
            Ahead::Near
        } else {
            Ahead::Far
        }
    }
}

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
    pub(super) fn prefetch_arbiters<const FAR: bool>(&self, due: &[u32], index: usize) {
        if let Some(&arbiter) = due.get(index + 2 * STEP) {
            let port = &self.ports[Rows::place_of(arbiter) as usize];
            prefetch::line(&port.outputs[Rows::vc_of(arbiter)]);
            prefetch::line(&port.line);
        }
        if let Some(&arbiter) = due.get(index + STEP) {
            let (place, vc) = (Rows::place_of(arbiter), Rows::vc_of(arbiter));
            let port = &self.ports[place as usize];
            let first = port.outputs[vc].requests.trailing_zeros();
            self.arbiters.prefetch(place as usize * V + vc, first as usize);
            if let Some(from) = self.ports.get((self.bases[place as usize] + first) as usize) {
                prefetch::line(&from.inputs[vc]);
            }
            if FAR {
                port.prefetch_news(self.rows.now() + 2 * u64::from(STRETCH));
                let others = port.outputs[vc].requests & port.outputs[vc].requests.wrapping_sub(1);
                for other in bits(others) {
                    prefetch::line(&self.ports[self.bases[place as usize] as usize + other].inputs[vc]);
                }
            }
        }
    }

    /// Asks for what the link will need for the packet that has been granted output `vc` of `place`, if one has.
    #[inline(always)]
    pub(super) fn prefetch_granted<const FAR: bool>(&self, place: u32, vc: usize) {
        let Port { line, outputs, .. } = &self.ports[place as usize];
        let from = outputs[vc].from;
        if from != NOBODY {
            let port = &self.ports[(self.bases[place as usize] + u32::from(from)) as usize];
            prefetch::line(&port.line);
            self.world.tokens.prefetch(port.inputs[vc].waiting.head());
            if FAR
                && let Some(nic) = (line.wire.peer.place as usize).checked_sub(self.ports.len())
                && let Some(nic) = self.nics.get(nic)
            {
                nic.prefetch(vc);
            }
        }
    }

    /// Asks for what the links behind `index` in the list `due` will need.
    #[inline(always)]
    pub(super) fn prefetch_links<const FAR: bool>(&self, due: &[u32], index: usize) {
        if let Some(&place) = due.get(index + 2 * STEP) {
            let port = &self.ports[place as usize];
            prefetch::line(&port.line);
            prefetch::slice(&port.outputs);
        }
        if !FAR {
            return;
        }
        if let Some(&place) = due.get(index + STEP) {
            let port = &self.ports[place as usize];
            port.prefetch_news(self.rows.now() + 2 * u64::from(STRETCH));
            for (vc, from) in self.granted(place) {
                prefetch::line(&from.line);
                prefetch::line(&from.inputs[vc]);
            }
        }
        if let Some(&place) = due.get(index + STEP / 2) {
            for (vc, from) in self.granted(place) {
                self.world.tokens.prefetch(from.inputs[vc].waiting.head());
            }
        }
    }

    /// The VCs of which a packet waits for the link of `place`, and the port that it comes from.
    #[inline(always)]
    fn granted(&self, place: u32) -> impl Iterator<Item = (usize, &Port<V>)> {
        let Port { line, outputs, .. } = &self.ports[place as usize];
        let base = self.bases[place as usize];
        let from = move |vc: usize| &self.ports[(base + u32::from(outputs[vc].from)) as usize];
        bits(line.waiting.into()).map(move |vc| (vc, from(vc)))
    }
}

impl<const V: usize> Port<V> {
    /// Asks for the inputs that may have something to say before cycle `end`.
    #[inline(always)]
    fn prefetch_news(&self, end: Moment) {
        if self.line.is_due(end) {
            for (voice, input) in self.voices.iter().zip(&self.inputs) {
                if voice.news < end {
                    prefetch::line(input);
                }
            }
        }
    }
}
