//! A node that feeds its NIC port nothing for a time, and packets that are closed. The paragraph *Stalls* of the text in
//! `elite/mod.rs`.

use super::{ALL, Port};
use crate::elite::Shared;
use crate::elite::forecast::Forecast;
use crate::elite::sender::{Lane, Place};
use flitway_engine::Cycle;

/// When a node is stalled, and what has come of it.
#[derive(Debug)]
pub(super) struct Stalls {
    /// In order and apart.
    times: Box<[[Cycle; 2]]>,
    is_stalled: bool,
    /// When the packet that is half-sent is closed.
    closes_at: Cycle,
    /// The virtual channel of the packet that has been closed, until it has gone.
    closed: Option<usize>,
}

impl Stalls {
    /// Those of the NIC port at `place`.
    pub(super) fn new(shared: &Shared, place: Place) -> Self {
        let times = shared.faults.stall_times(place.component, place.port).into();
        Stalls { times, is_stalled: false, closes_at: Cycle::NEVER, closed: None }
    }

    /// Whether nothing is fed.
    pub(super) const fn is_stalled(&self) -> bool {
        self.is_stalled
    }

    /// When a stall matters next, after cycle `now`.
    pub(super) fn next(&self, now: Option<Cycle>) -> Cycle {
        let dates = self.times.iter().flatten().copied().chain([self.closes_at]);
        dates.filter(|at| now.is_none_or(|now| *at > now)).fold(Cycle::NEVER, Cycle::min)
    }

    /// The packet of `vc` has gone. Says whether part of it was made up.
    pub(super) fn made_up(&mut self, vc: usize) -> bool {
        self.closed.take_if(|closed| *closed == vc).is_some()
    }
}

impl Port {
    /// What a stall does in cycle `now`.
    pub(super) fn note_stalls(&mut self, shared: &Shared, now: Cycle) {
        let Port { stalls, sender, flits, .. } = self;
        let half = sender.lanes.iter().position(Lane::is_sending);
        if stalls.times.iter().any(|&[_, until]| until == now) {
            (stalls.is_stalled, stalls.closes_at, *flits) = (false, Cycle::NEVER, Forecast::new(ALL));
        }
        if stalls.times.iter().any(|&[from, _]| from == now) {
            stalls.is_stalled = true;
            if let Some(vc) = half.filter(|vc| stalls.closed != Some(*vc)) {
                let lane = &sender.lanes[vc];
                *flits = Forecast::new(lane.taken());
                if lane.sent_of_packet() > 0 {
                    let answer = shared.settings.answer.expect("where nodes stall packets are answered");
                    stalls.closes_at = now + u64::from(answer.half_packet);
                }
            }
        }
        if stalls.closes_at <= now {
            (stalls.closes_at, stalls.closed, *flits) = (Cycle::NEVER, half, Forecast::new(ALL));
        }
    }
}
