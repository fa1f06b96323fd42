//! What switches and NICs have in common: a port with its credits, its adverts and its link scheduler. Steps 1 and 2.

use super::World;
use super::barrier::{Lane, Signal};
use super::flit::{AdvertWord, Flit, Symbol};
use crate::arbiter::first_after;
use flitway_engine::Cycle;
use flitway_fabric::observer::{Advert, BarrierDeparture, ComponentNumber};
use flitway_switch::hpp::{BarrierSettings, HppSettings};
use flitway_wiring::PortId;
use std::collections::VecDeque;

/// The VC that counts as served last, and as advertised last, before any has been: a register that is reset to zero.
const RESET_TURN: usize = 0;

/// Both halves of a port.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) credits: Credits,
    pub(super) book: AdvertBook,
    link: Link,
    /// For barrier packets.
    pub(super) lane: Lane,
    /// The channel it receives on.
    pub(super) incoming: usize,
    /// The channel it sends on.
    pub(super) outgoing: usize,
}

/// The sender's view of the buffers at the other end, per virtual channel, modulo `2^position_bits`.
#[derive(Debug)]
pub(super) struct Credits {
    mask: u64,
    /// The position last advertised.
    limit: Vec<u64>,
    /// Units sent, ever.
    sent: Vec<u64>,
    /// Adverts in the receiving link control layer, with the cycle in which their last flit was on the wire.
    arriving: VecDeque<(u64, AdvertWord)>,
}

impl Credits {
    fn new(settings: &HppSettings) -> Self {
        let vcs = settings.vcs as usize;
        Credits {
            mask: mask(settings),
            limit: vec![u64::from(settings.buffer_units); vcs],
            sent: vec![0; vcs],
            arriving: VecDeque::new(),
        }
    }

    /// `limit - sent`
    pub(super) fn available(&self, vc: usize) -> u64 {
        self.limit[vc].wrapping_sub(self.sent[vc]) & self.mask
    }

    /// "The units taken that the sender does not know to have been given back", of all virtual channels.
    pub(super) fn load(&self, capacity: u32) -> u64 {
        (0..self.sent.len()).map(|vc| u64::from(capacity) - self.available(vc)).sum()
    }

    /// Takes the credits of a whole packet.
    pub(super) fn take(&mut self, vc: usize, units: u32) {
        assert!(self.available(vc) >= u64::from(units), "a sender sends what it has credits for");
        self.sent[vc] = (self.sent[vc] + u64::from(units)) & self.mask;
    }

    /// The limit, modulo `2^position_bits`.
    fn limit(&self, vc: usize) -> u64 {
        self.limit[vc]
    }

    /// Step 1.
    fn step(&mut self, now: u64, receive: u32) {
        while let Some((on_wire, word)) = self.arriving.front().copied()
            && on_wire + u64::from(receive) == now
        {
            self.limit[word.vc] = word.position;
            self.arriving.pop_front();
        }
    }
}

/// What a receiver has freed and said, per virtual channel.
#[derive(Debug)]
pub(super) struct AdvertBook {
    mask: u64,
    capacity: u64,
    /// Units taken out of the FIFO, ever. Only observers see more than `position_bits` of it.
    freed: Vec<u64>,
    /// The position last advertised.
    advertised: Vec<u64>,
    /// When that was.
    advertised_at: Vec<u64>,
    /// The virtual channel advertised last.
    last: usize,
}

impl AdvertBook {
    fn new(settings: &HppSettings) -> Self {
        let vcs = settings.vcs as usize;
        AdvertBook {
            mask: mask(settings),
            capacity: u64::from(settings.buffer_units),
            freed: vec![0; vcs],
            advertised: vec![u64::from(settings.buffer_units); vcs],
            advertised_at: vec![0; vcs],
            last: RESET_TURN,
        }
    }

    /// A unit has been taken out of the FIFO of `vc`.
    pub(super) fn free(&mut self, vc: usize) {
        self.freed[vc] += 1;
    }

    /// The position to advertise.
    fn position(&self, vc: usize) -> u64 {
        (self.capacity + self.freed[vc]) & self.mask
    }

    fn has_news(&self, vc: usize) -> bool {
        self.position(vc) != self.advertised[vc]
    }

    /// The virtual channel whose advert is due, if any is.
    fn due(&self, now: u64, refresh: Option<u32>) -> Option<usize> {
        let old =
            |vc: usize| refresh.is_some_and(|refresh| now - self.advertised_at[vc] >= u64::from(refresh));
        first_after(self.last, self.freed.len(), |vc| self.has_news(vc) || old(vc))
    }

    /// Says the position of `vc`.
    fn advertise(&mut self, place: (ComponentNumber, PortId), vc: usize, world: &mut World) -> AdvertWord {
        let position = self.position(vc);
        world.counters.adverts += 1;
        if self.has_news(vc) {
            world.record.adverts.push(Advert {
                cycle: Cycle(world.now),
                component: place.0,
                port: place.1,
                vc: vc as u8,
                position: (self.capacity + self.freed[vc]) as u32,
            });
        }
        self.advertised[vc] = position;
        self.advertised_at[vc] = world.now;
        self.last = vc;
        AdvertWord { vc, position }
    }
}

/// Positions are kept in `position_bits` bits.
fn mask(settings: &HppSettings) -> u64 {
    let bits = settings.advert.position_bits;
    assert!(1 << bits > 2 * u64::from(settings.buffer_units), "position_bits exceeds log2(2 x buffer_units)");
    (1 << bits) - 1
}

/// Where a link takes its data from: the TX FIFOs of a switch output, or the source queues of a NIC.
pub(super) trait Source {
    /// Whether a packet of `vc` is ready.
    fn ready(&self, vc: usize, credits: &Credits, world: &World) -> bool;

    /// That packet has been chosen. Returns its length in flits.
    fn start(&mut self, vc: usize, credits: &mut Credits, world: &mut World) -> u32;

    /// Whether barrier packets share the order of VC 0.
    fn shares_order(&self, world: &World) -> bool;

    /// Cycles from the queue of barrier packets to the link.
    fn stages_of_signals(&self, world: &World) -> u32;

    /// The next flit of the packet chosen last, if it is there; it will be on the wire in cycle `on_wire`.
    fn next_flit(&mut self, vc: usize, on_wire: u64, world: &mut World) -> Option<Flit>;
}

/// The link scheduler.
#[derive(Debug)]
struct Link {
    /// What is being sent.
    sending: Option<Sending>,
    /// The first cycle in which there is nothing on the link.
    free_from: u64,
    /// The virtual channel served last.
    served: usize,
}

#[derive(Clone, Copy, Debug)]
struct Sending {
    what: What,
    flits: u32,
    next: u32,
    /// Whether its start flit was sent ahead of time.
    ahead: bool,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Advert(AdvertWord),
    Data { vc: usize },
    Signal(Signal),
}

impl Port {
    pub(super) fn new(settings: &HppSettings, lane: Lane, incoming: usize, outgoing: usize) -> Self {
        Port {
            lane,
            credits: Credits::new(settings),
            book: AdvertBook::new(settings),
            link: Link { sending: None, free_from: 0, served: RESET_TURN },
            incoming,
            outgoing,
        }
    }

    /// Takes what is on the wire: adverts to the credits, a data flit to the caller.
    pub(super) fn receive(&mut self, world: &World) -> Option<Flit> {
        let channel = &world.channels[self.incoming];
        let sideband = channel.received_sideband().iter();
        self.credits.arriving.extend(sideband.map(|&word| (world.now, word)));
        match channel.received() {
            Some(Symbol::Flit(flit)) => Some(flit),
            Some(Symbol::Advert(Some(word))) => {
                self.credits.arriving.push_back((world.now, word));
                None
            }
            Some(Symbol::Signal(Some(signal))) => {
                self.lane.receive(signal, world.now);
                None
            }
            Some(Symbol::Advert(None) | Symbol::Signal(None)) | None => None,
        }
    }

    /// Step 1.
    pub(super) fn step_credits(&mut self, world: &World) {
        self.credits.step(world.now, world.settings.pipeline.receive);
    }

    /// Step 2, at port `place.1` of component `place.0`.
    pub(super) fn step_link(
        &mut self,
        place: (ComponentNumber, PortId),
        source: &mut impl Source,
        world: &mut World,
    ) {
        if world.settings.advert.flits == 0 {
            for vc in 0..world.settings.vcs as usize {
                if self.book.has_news(vc) {
                    let word = self.book.advertise(place, vc, world);
                    world.channels[self.outgoing].send_sideband(word);
                }
            }
        }
        // Twice round when what was sent ahead ends, so that the link decides again in the same cycle.
        loop {
            if self.link.sending.is_none() {
                self.decide(place, source, world);
            }
            let Some(mut sending) = self.link.sending else { return };
            let Some(symbol) = sending.next_symbol(source, world) else { return };
            world.channels[self.outgoing].send(symbol, sending.ahead);
            let ended = sending.next == sending.flits;
            self.link.free_from = world.now + 1 - u64::from(sending.ahead);
            self.link.sending = Some(sending).filter(|_| !ended);
            if !(ended && sending.ahead) {
                return;
            }
        }
    }

    /// The link has nothing on it: what does it send?
    fn decide(&mut self, place: (ComponentNumber, PortId), source: &mut impl Source, world: &mut World) {
        let now = world.now;
        let advert = world.settings.advert;
        let due = self.book.due(now, advert.refresh).filter(|_| advert.flits > 0);
        let (shares, is_ready) =
            (source.shares_order(world), self.lane.is_ready(source.stages_of_signals(world), now));
        let (what, flits) = if !shares && is_ready {
            (What::Signal(self.lane.choose(world)), BarrierSettings::PACKET_FLITS)
        } else if let Some(vc) = due {
            (What::Advert(self.book.advertise(place, vc, world)), advert.flits)
        } else {
            let is_signals_turn = shares && self.lane.is_next_of_vc_0();
            let ready = |vc| match vc {
                0 if is_signals_turn => is_ready,
                _ => source.ready(vc, &self.credits, world),
            };
            let vcs = world.settings.vcs as usize;
            let Some(vc) = first_after(self.link.served, vcs, ready) else { return };
            self.link.served = vc;
            if vc == 0 && is_signals_turn {
                (What::Signal(self.lane.choose(world)), BarrierSettings::PACKET_FLITS)
            } else {
                self.lane.chosen += u64::from(vc == 0);
                (What::Data { vc }, source.start(vc, &mut self.credits, world))
            }
        };
        let ahead = world.settings.show_ahead && self.link.free_from < now;
        if let What::Signal(Signal { group, packet }) = what {
            let leaves = Cycle(now + u64::from(world.settings.pipeline.transmit) - u64::from(ahead));
            let (component, port) = place;
            let departure = BarrierDeparture { cycle: Cycle(now), component, port, group, packet, leaves };
            world.record.departures.push(departure);
        }
        self.link.sending = Some(Sending { what, flits, next: 0, ahead });
    }

    /// Whether a barrier packet is being sent whose last flit is still to come.
    pub(super) fn is_sending_signal(&self) -> bool {
        self.link.sending.is_some_and(|sending| matches!(sending.what, What::Signal(_)))
    }

    /// Units of `vc` that have been freed and of which the sender at the other end, with credits `theirs`, has not
    /// heard.
    pub(super) fn unheard(&self, vc: usize, theirs: &Credits) -> u64 {
        self.book.position(vc).wrapping_sub(theirs.limit(vc)) & self.book.mask
    }
}

impl Sending {
    fn next_symbol(&mut self, source: &mut impl Source, world: &mut World) -> Option<Symbol> {
        let symbol = match self.what {
            What::Advert(word) => Symbol::Advert(Some(word).filter(|_| self.next + 1 == self.flits)),
            What::Signal(signal) => Symbol::Signal(Some(signal).filter(|_| self.next + 1 == self.flits)),
            What::Data { vc } => {
                let on_wire = world.now + u64::from(world.settings.pipeline.transmit) - u64::from(self.ahead);
                Symbol::Flit(source.next_flit(vc, on_wire, world)?)
            }
        };
        self.next += 1;
        Some(symbol)
    }
}
