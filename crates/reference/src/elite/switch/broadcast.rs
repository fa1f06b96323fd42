//! The paragraph *Broadcasts*.

use super::{Request, Switch};
use crate::elite::{Travelling, Verdict, World};
use flitway_switch::elite::Roots;
use flitway_wiring::PortId;
use flitway_wiring::reach::ports;

/// What becomes of a broadcast in a switch.
#[derive(Clone, Debug)]
pub(super) struct Copies {
    /// Outputs that it requests: all of them, or one of them where it climbs. The drain is the one after all ports.
    wants: Vec<usize>,
    climbs: bool,
    given: Vec<usize>,
    answers: Vec<Verdict>,
    /// Answers that stand for copies that were refused: none, or one for all of them.
    refused: usize,
    vc: usize,
}

impl Switch {
    /// A broadcast that requests is given every output that is free.
    pub(super) fn grant_copies(&mut self, request: &Request, world: &mut World) {
        let (port, vc) = (request.port, request.vc);
        let mut copies = match self.ports[port].inputs[vc].copies.take() {
            Some(copies) => copies,
            None => self.copies(port, request.packet, world),
        };
        while let Some((output, has_choice)) = self.next_output(&copies, world) {
            if has_choice {
                self.turn = (output + 1) % self.ports.len();
            }
            let climbs = copies.climbs;
            copies.wants.retain(|&wanted| !climbs && wanted != output);
            copies.given.push(output);
            let copy = Travelling { of: Some(request.packet), ..world.packets[request.packet].clone() };
            world.packets.push(copy);
            self.hand(request, world.packets.len() - 1, (PortId::new(output), copies.vc), world);
        }
        let input = &mut self.ports[port].inputs[vc];
        input.is_given = copies.wants.is_empty();
        input.copies = Some(copies);
    }

    /// "In a switch to which it comes from below, that does not cover the range and that has a port up, it requests a port up.
    /// In any other, all ports down that lead to nodes of the range." Some copies are refused there and then.
    fn copies(&self, port: usize, packet: usize, world: &mut World) -> Copies {
        let Travelling { range, tables, .. } = &world.packets[packet];
        let reach = world.reaches[*tables].as_ref();
        let (reach, range) = reach.zip(range.as_ref()).expect("a broadcast has a range, and ways to it");
        let comes_from_above = ports(reach.up(self.here)).any(|above| above.index() == port);
        let covers = reach.covers(self.here, range);
        let up = match world.settings.roots {
            Roots::One => reach.first_up(self.here),
            Roots::Any => reach.up_to(self.here, range),
        };
        let vc = world.broadcast_vc();
        if !comes_from_above && !covers && up != 0 {
            let wants = ports(up).map(PortId::index).collect();
            return Copies { wants, climbs: true, given: Vec::new(), answers: Vec::new(), refused: 0, vc };
        }
        let mut wants: Vec<usize> = ports(reach.outputs(self.here, range)).map(PortId::index).collect();
        let all = wants.len();
        wants.retain(|&output| self.is_up(output, world));
        let lacks_some = wants.len() < all || !comes_from_above && !covers;
        if wants.is_empty() {
            wants.push(self.ports.len());
        }
        world.counters.packets_copied += wants.len() as u64 - 1;
        let answers = if lacks_some { vec![Verdict::Nack] } else { Vec::new() };
        Copies { wants, climbs: false, given: Vec::new(), refused: answers.len(), answers, vc }
    }

    fn is_up(&self, output: usize, world: &World) -> bool {
        self.ports[output].wires.is_some_and(|wires| !world.channels[wires.out].is_down(world.now))
    }

    /// The next output that it is given, and whether that is one of several.
    fn next_output(&self, copies: &Copies, world: &World) -> Option<(usize, bool)> {
        let drain = self.ports.len();
        let is_free = |&output: &usize| {
            let lanes = if output == drain { &self.drain.0 } else { &self.ports[output].lanes };
            lanes[copies.vc].packet.is_none()
        };
        if !copies.climbs || copies.wants.is_empty() {
            return copies.wants.iter().copied().filter(is_free).min().map(|output| (output, false));
        }
        let up: Vec<usize> =
            copies.wants.iter().copied().filter(|&output| self.is_up(output, world)).collect();
        if up.is_empty() {
            return Some((drain, false)).filter(|(output, _)| is_free(output));
        }
        let rank = |&output: &usize| {
            let taken = self.ports[output].lanes.iter().filter(|lane| lane.packet.is_some()).count();
            (taken, (output + drain - self.turn) % drain)
        };
        let best = up.iter().copied().filter(is_free).min_by_key(rank);
        best.map(|output| (output, up.len() > 1))
    }

    /// "A flit leaves the buffer in the cycle in which the last output sends it": whether that has just been.
    pub(super) fn is_last_to_take(&self, (port, vc): (usize, usize), index: u32) -> bool {
        let Some(copies) = &self.ports[port].inputs[vc].copies else { return true };
        let has_taken = |&output: &usize| self.ports[output].lanes[copies.vc].sent > index;
        copies.wants.is_empty() && copies.given.iter().all(has_taken)
    }

    /// An answer has come to a packet of an input, or to a copy of it. Returns the one to the packet, if it is known now.
    pub(super) fn combine(&mut self, (port, vc): (usize, usize), verdict: Verdict) -> Option<Verdict> {
        let Some(copies) = &mut self.ports[port].inputs[vc].copies else { return Some(verdict) };
        copies.answers.push(verdict);
        let all = copies.wants.is_empty() && copies.answers.len() == copies.given.len() + copies.refused;
        let said = |verdict| copies.answers.contains(&verdict);
        let worst = if said(Verdict::Void) {
            Verdict::Void
        } else if said(Verdict::Nack) {
            Verdict::Nack
        } else if said(Verdict::Full) {
            Verdict::Full
        } else if said(Verdict::False) {
            Verdict::False
        } else {
            Verdict::True
        };
        all.then_some(worst)
    }

    /// Frees what the copies of a broadcast have held.
    pub(super) fn release_copies(&mut self, (port, vc): (usize, usize), now: u64) {
        let Some(copies) = self.ports[port].inputs[vc].copies.take() else { return };
        for output in copies.given {
            self.release(output, copies.vc, now);
        }
    }
}
