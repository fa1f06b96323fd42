//! Loads that switches tell each other, for routings that know them: the paragraph *Loads of other switches* of the normative
//! text.

use super::{Step, Switch};
use crate::tiled::mask::Mask;
use crate::tiled::packet_state::Inbox;
use crate::tiled::{Cx, Shared};
use flitway_engine::Cycle;
use flitway_fabric::observer::Observer;
use flitway_wiring::routing::{Candidate, Routing, Selection};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::Range;

/// What a switch tells the switch at the other end of a link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Loads {
    /// The port there that hears it.
    pub(in crate::tiled) port: u16,
    /// From when on it is known.
    pub(in crate::tiled) at: Cycle,
    /// By port that is told of.
    loads: Box<[u32]>,
}

/// What a switch has told and has been told.
#[derive(Debug)]
pub(super) struct Told {
    /// Ports whose loads are told.
    ports: Range<u32>,
    /// The same of this switch, as it told them last. Who is told nothing knows that they are 0, and that nothing has changed.
    last: Box<[u32]>,
    /// When it tells them next, as far as it has to.
    next: Cycle,
    /// By port.
    heard: Box<[Heard]>,
}

/// What has come by a port.
#[derive(Debug, Default)]
struct Heard {
    known: Box<[u32]>,
    coming: VecDeque<Loads>,
}

impl Told {
    /// That of a switch of so many ports; `None` where the switch does not choose by loads of others.
    pub(super) fn new(shared: &Shared, ports: usize) -> Option<Box<Self>> {
        let told = shared.routings.at(Cycle::ZERO).told_ports();
        let is_used = shared.settings.selection == Selection::LeastLoaded && !told.is_empty();
        is_used.then(|| {
            let heard = (0..ports).map(|_| Heard::default()).collect();
            let last = vec![0; told.len()].into();
            Box::new(Told { last, ports: told, next: Cycle::NEVER, heard })
        })
    }
}

impl<M: Mask> Switch<M> {
    /// Takes in what has come.
    #[cold]
    pub(super) fn receive_loads(&mut self, inbox: &mut Inbox) {
        for loads in inbox.loads.drain(..) {
            let Some(told) = &mut self.told else { unreachable!("who is told loads uses them") };
            told.heard[usize::from(loads.port)].coming.push_back(loads);
        }
    }

    /// The load that is known in cycle `now` of the port by which the way of `candidate` goes on in the next switch.
    pub(super) fn told_load(&mut self, now: Cycle, routing: &Routing, candidate: Candidate) -> u32 {
        let Some(told) = &mut self.told else { return 0 };
        let Some(port) = routing.beyond(self.here, candidate) else { return 0 };
        let heard = &mut told.heard[candidate.hop.port.index()];
        while heard.coming.front().is_some_and(|loads| loads.at <= now) {
            heard.known = heard.coming.pop_front().map_or_else(Box::default, |it| it.loads);
        }
        heard.known.get((port.0 - told.ports.start) as usize).copied().unwrap_or(0)
    }

    /// The load of `output` has grown in cycle `now`.
    #[inline]
    pub(super) fn note_load(&mut self, shared: &Shared, now: Cycle, output: usize) {
        if self.told.as_ref().is_some_and(|told| told.ports.contains(&(output as u32))) {
            self.expect_to_tell(shared, now);
        }
    }

    /// The next telling is at the next multiple of the interval, when links have done their part of step 1.
    fn expect_to_tell(&mut self, shared: &Shared, now: Cycle) {
        let interval = u64::from(shared.settings.load_interval);
        let next = Cycle((now.0 / interval + 1) * interval);
        if let Some(told) = self.told.as_mut().filter(|told| told.next != next) {
            told.next = next;
            self.schedule(Step::Link, self.outputs.len() - 1, next);
        }
    }

    /// Tells the loads of cycle `now`, if that is when it does and they have changed.
    #[cold]
    pub(super) fn tell_loads<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        let is_dead = self.is_dead;
        let Some(told) = self.told.as_mut().filter(|told| told.next == now && !is_dead) else { return };
        let outputs = &mut self.outputs;
        let loads: Box<[u32]> = told
            .ports
            .clone()
            .map(|port| {
                outputs.get_mut(port as usize).map_or(0, |output| {
                    output.hear(cx.shared, now);
                    output.load.iter().sum()
                })
            })
            .collect();
        if loads != told.last {
            for (_, output) in (0..).zip(outputs.iter()).filter(|(port, _)| !told.ports.contains(port)) {
                if let Some(sender) = &output.sender {
                    sender.tell_loads(cx, now, &loads);
                }
            }
        }
        let is_any = loads.iter().any(|&load| load > 0);
        told.last = loads;
        if is_any {
            self.expect_to_tell(cx.shared, now);
        }
    }
}

impl Loads {
    pub(in crate::tiled) fn new(port: u16, at: Cycle, loads: &[u32]) -> Self {
        Loads { port, at, loads: loads.into() }
    }
}
