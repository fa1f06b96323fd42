//! What a switch asks the memory for before it runs, in three stages after its own lines and its inbox: each reads what the
//! one before asked for.

use super::{Long, NOBODY, Port};
use crate::bits::bits;
use crate::hpp::moment::Moment;
use crate::hpp::{Hpp, Shared};
use crate::pool::Slot;
use crate::simulation::Post;
use flitway_engine::prefetch;

impl<const V: usize> Long<V> {
    /// The packets that come, and the ports of which something is due.
    #[inline]
    pub(super) fn prefetch_first(&self, shared: &Shared, packets: &[Slot], until: Moment) {
        packets.iter().for_each(|&slot| shared.pools.tokens.prefetch(slot));
        for port in bits(self.rows.ports_due(until)) {
            let Port { link, voices, outputs, .. } = &self.ports[port];
            prefetch::line(link);
            prefetch::line(voices);
            prefetch::slice(outputs);
        }
    }

    /// What these packets go through, and those that request there.
    #[inline]
    pub(super) fn prefetch_second(&self, shared: &Shared, packets: &[Slot], until: Moment) {
        for token in packets.iter().map(|&slot| &shared.pools.tokens[slot]) {
            let (to, vc) = (token.route.hop().port.index(), usize::from(token.vc));
            self.prefetch_input(token.port.into(), vc);
            let Port { link, voices, outputs, .. } = &self.ports[to];
            prefetch::line(link);
            prefetch::line(voices);
            prefetch::line(&outputs[vc]);
            self.arbiters.prefetch(to * V + vc, token.port.into());
        }
        for port in bits(self.rows.ports_due(until)) {
            for (vc, output) in self.ports[port].outputs.iter().enumerate() {
                for from in bits(output.requests) {
                    self.prefetch_input(from, vc);
                    self.arbiters.prefetch(port * V + vc, from);
                }
                if output.from != NOBODY {
                    self.prefetch_input(output.from.into(), vc);
                }
            }
        }
    }

    /// Where they go next.
    #[inline]
    pub(super) fn prefetch_third(&self, shared: &Shared, packets: &[Slot], until: Moment, post: &Post<Hpp>) {
        let tokens = &shared.pools.tokens;
        for token in packets.iter().map(|&slot| &tokens[slot]) {
            let to = &self.ports[token.route.hop().port.index()];
            post.prefetch_inbox(to.link.wire.peer);
            to.prefetch_news(until);
            self.ports[usize::from(token.port)].prefetch_news(until);
        }
        for port in bits(self.rows.ports_due(until)).map(|port| &self.ports[port]) {
            post.prefetch_inbox(port.link.wire.peer);
            port.prefetch_news(until);
            for (vc, output) in port.outputs.iter().enumerate() {
                let granted = if output.from == NOBODY { 0 } else { 1 << output.from };
                for from in bits(output.requests | granted) {
                    tokens.prefetch(self.ports[from].inputs[vc].waiting.head());
                }
            }
        }
    }

    /// Asks for FIFO `vc` of `port`, and for what it takes to advertise what leaves it.
    #[inline]
    fn prefetch_input(&self, port: usize, vc: usize) {
        let Port { link, voices, inputs, .. } = &self.ports[port];
        prefetch::line(link);
        prefetch::line(voices);
        prefetch::line(&inputs[vc]);
    }
}

impl<const V: usize> Port<V> {
    /// Asks for the inputs that may have something to say before `until`.
    #[inline]
    fn prefetch_news(&self, until: Moment) {
        if self.link.is_due(until) {
            let due = self.voices.iter().zip(&self.inputs).filter(|(voice, _)| voice.news < until);
            due.for_each(|(_, input)| prefetch::line(input));
        }
    }
}
