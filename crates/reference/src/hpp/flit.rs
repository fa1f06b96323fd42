//! What moves: packets, their flits, adverts, and the channels that carry them.

use super::barrier::Signal;
use flitway_fabric::Packet;
use flitway_switch::hpp::HppSettings;
use flitway_wiring::NodeId;
use flitway_wiring::routing::Candidate;
use std::collections::VecDeque;

/// A packet since its creation, or a copy of one since it was made. Its flits carry its number.
#[derive(Clone, Debug)]
pub(super) struct Travelling {
    pub(super) source: NodeId,
    pub(super) packet: Packet,
    /// `n`
    pub(super) flits: u32,
    /// `u`
    pub(super) units: u32,
    /// The cycle in which its first flit was on the source's wire.
    pub(super) injected: Option<u64>,
    /// Links of switches that have chosen it.
    pub(super) hops: u16,
    /// What it has taken where it has chosen between two ways, and after how many hops that was.
    pub(super) taken: Vec<(u16, Candidate)>,
}

impl Travelling {
    pub(super) fn new(settings: &HppSettings, source: NodeId, packet: Packet) -> Self {
        let format = &settings.format;
        let payload = u32::from(packet.payload).div_ceil(format.flit_bytes);
        Travelling {
            source,
            packet,
            flits: format.header_flits + payload + format.trailer_flits,
            units: payload.div_ceil(settings.unit_flits).max(1),
            injected: None,
            hops: 0,
            taken: Vec::new(),
        }
    }

    /// "Unit `k` is complete with flit `header_flits + unit_flits (k + 1) - 1`, the last one with flit `n - 1`."
    fn unit_end(&self, settings: &HppSettings, unit: u32) -> u32 {
        if unit == self.units - 1 {
            self.flits - 1
        } else {
            settings.format.header_flits + settings.unit_flits * (unit + 1) - 1
        }
    }

    /// Units that are complete with flit `index` or a later one.
    pub(super) fn units_from(&self, settings: &HppSettings, index: u32) -> u64 {
        (0..self.units).filter(|&unit| self.unit_end(settings, unit) >= index).count() as u64
    }

    /// Flit `index` of this packet, which is number `packet`, for virtual channel `vc`.
    pub(super) fn flit(&self, settings: &HppSettings, packet: usize, index: u32, vc: usize) -> Flit {
        Flit {
            packet,
            index,
            vc,
            first: index == 0,
            last: index == self.flits - 1,
            completes_unit: (0..self.units).any(|unit| self.unit_end(settings, unit) == index),
        }
    }
}

/// One flit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flit {
    /// Its packet, by order of creation.
    pub(super) packet: usize,
    /// Its place in the packet.
    pub(super) index: u32,
    /// The virtual channel it is labelled with.
    pub(super) vc: usize,
    pub(super) first: bool,
    pub(super) last: bool,
    /// Whether a credit unit is complete with it.
    pub(super) completes_unit: bool,
}

/// What an advert says: a position, modulo `2^position_bits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AdvertWord {
    pub(super) vc: usize,
    pub(super) position: u64,
}

/// What is on a wire in one cycle.
#[derive(Clone, Copy, Debug)]
pub(super) enum Symbol {
    Flit(Flit),
    /// A flit of an advert; its last one carries the word.
    Advert(Option<AdvertWord>),
    /// A flit of a barrier packet, which is checked when the last one is there.
    Signal(Option<Signal>),
}

/// A port of a component, by position in the model's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Switch { switch: usize, port: usize },
    Nic(usize),
}

/// A channel: the sender's link control layer, the cable and the receiver's wire, as one shift register.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) from: Place,
    pub(super) to: Place,
    /// `line[k]` is on the receiver's wire in `k` cycles, `line[latency + k]` on the sender's.
    line: VecDeque<Option<Symbol>>,
    /// Symbols in it.
    symbols: usize,
    /// The same for sideband adverts, several at once.
    sideband: VecDeque<Vec<AdvertWord>>,
}

impl Channel {
    pub(super) fn new(from: Place, to: Place, latency: u32, transmit: u32) -> Self {
        assert!(latency >= 1 && transmit >= 1, "nothing is felt in the cycle in which it is sent");
        let places = (latency + transmit + 1) as usize;
        Channel {
            from,
            to,
            line: vec![None; places].into(),
            symbols: 0,
            sideband: vec![Vec::new(); places].into(),
        }
    }

    /// What is on the receiver's wire.
    pub(super) fn received(&self) -> Option<Symbol> {
        self.line[0]
    }

    /// What is on the receiver's own wires for adverts.
    pub(super) fn received_sideband(&self) -> &[AdvertWord] {
        &self.sideband[0]
    }

    /// Hands `symbol` to the sender's link control layer; `ahead` says that its start flit is out already, so that
    /// everything after it is one cycle earlier.
    pub(super) fn send(&mut self, symbol: Symbol, ahead: bool) {
        let place = self.line.len() - 1 - usize::from(ahead);
        assert!(self.line[place].is_none(), "a wire carries one flit a cycle");
        self.line[place] = Some(symbol);
        self.symbols += 1;
    }

    /// The same for a sideband advert.
    pub(super) fn send_sideband(&mut self, word: AdvertWord) {
        let last = self.sideband.len() - 1;
        self.sideband[last].push(word);
    }

    /// Ends the cycle: everything moves on by one.
    pub(super) fn shift(&mut self) {
        self.symbols -= usize::from(self.line[0].is_some());
        self.line.pop_front();
        self.line.push_back(None);
        self.sideband.rotate_left(1);
        if let Some(free) = self.sideband.back_mut() {
            free.clear();
        }
    }

    /// The data flits that it carries.
    pub(super) fn flits(&self) -> impl Iterator<Item = &Flit> {
        let line = self.line.iter().flatten().take(self.symbols);
        line.filter_map(|symbol| match symbol {
            Symbol::Flit(flit) => Some(flit),
            Symbol::Advert(_) | Symbol::Signal(_) => None,
        })
    }

    /// The barrier packets whose last flit it carries.
    pub(super) fn signals(&self) -> usize {
        self.line.iter().filter(|symbol| matches!(symbol, Some(Symbol::Signal(Some(_))))).count()
    }
}
