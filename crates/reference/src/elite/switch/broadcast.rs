//! The paragraph *Broadcasts*.

use super::{Request, Switch};
use crate::elite::{Travelling, Verdict, World};
use flitway_switch::elite::Roots;
use flitway_wiring::PortId;
use flitway_wiring::reach::ports;

/// What becomes of a broadcast in a switch.
#[derive(Clone, Debug)]
pub(super) struct Copies {
    /// Outputs that it requests: all of them, or one of them.
    wants: Vec<usize>,
    has_choice: bool,
    given: Vec<usize>,
    answers: Vec<Verdict>,
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
        while let Some(output) = self.next_output(&copies) {
            if copies.has_choice {
                copies.wants.clear();
                self.turn = (output + 1) % self.ports.len();
            }
            copies.wants.retain(|&wanted| wanted != output);
            copies.given.push(output);
            let copy = Travelling { of: Some(request.packet), ..world.packets[request.packet].clone() };
            world.packets.push(copy);
            self.hand(request, world.packets.len() - 1, (PortId::new(output), copies.vc), world);
        }
        let input = &mut self.ports[port].inputs[vc];
        input.is_given = copies.wants.is_empty();
        input.copies = Some(copies);
    }

    /// "In a switch to which it comes from below and that does not cover the range, it requests a port up. In any other, all
    /// ports down that lead to nodes of the range."
    fn copies(&self, port: usize, packet: usize, world: &mut World) -> Copies {
        let (reach, range) = (world.reach.as_ref(), world.packets[packet].range.as_ref());
        let (reach, range) = reach.zip(range).expect("a broadcast has a range, and ways to it");
        let up = reach.up(self.here);
        let comes_from_above = ports(up).any(|above| above.index() == port);
        let goes_down = comes_from_above || reach.covers(self.here, range);
        let mask = if goes_down { reach.outputs(self.here, range) } else { up };
        let mut wants: Vec<usize> = ports(mask).map(PortId::index).collect();
        if !goes_down && world.settings.roots == Roots::One {
            wants.truncate(1);
        }
        if goes_down {
            world.counters.packets_copied += wants.len() as u64 - 1;
        }
        let has_choice = !goes_down && wants.len() > 1;
        Copies { wants, has_choice, given: Vec::new(), answers: Vec::new(), vc: world.broadcast_vc() }
    }

    fn next_output(&self, copies: &Copies) -> Option<usize> {
        let is_free = |&output: &usize| self.ports[output].lanes[copies.vc].packet.is_none();
        let free = copies.wants.iter().copied().filter(is_free);
        let count = self.ports.len();
        let rank = |&output: &usize| {
            let taken = self.ports[output].lanes.iter().filter(|lane| lane.packet.is_some()).count();
            (taken, (output + count - self.turn) % count)
        };
        if copies.has_choice { free.min_by_key(rank) } else { free.min() }
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
        let all = copies.wants.is_empty() && copies.answers.len() == copies.given.len();
        let said = |verdict| copies.answers.contains(&verdict);
        let worst = if said(Verdict::Nack) {
            Verdict::Nack
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
