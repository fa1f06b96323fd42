//! Broadcasts in a switch: a packet that goes on by several outputs, each of which takes its flits at its own pace, until all
//! of them have been answered. The paragraph *Broadcasts* of the normative text.

use super::Switch;
use crate::elite::forecast::Run;
use crate::elite::packet_state::{Mail, PacketState, Verdict};
use crate::elite::period::{Period, Places};
use crate::elite::sender::post;
use crate::elite::settings::{EliteSettings, Roots};
use crate::elite::{Cx, Shared};
use flitway_engine::Cycle;
use flitway_fabric::observer::Observer;
use flitway_wiring::reach::{Ports, ports};
use flitway_wiring::{NodeSet, PortId};
use std::sync::Arc;

/// What becomes of a broadcast that an incoming virtual channel holds.
#[derive(Debug)]
pub(super) struct Copies {
    pub(super) state: Box<PacketState>,
    /// Outputs that it requests: all of them, or where it climbs one. The drain comes after all others.
    pub(super) wants: Ports,
    pub(super) climbs: bool,
    /// Outputs that it has been given.
    pub(super) given: Ports,
    /// Copies that there will be, that have been sent, and that have been answered.
    count: u32,
    sent: u32,
    answered: u32,
    /// What the answers say so far, and who has none of it by what they say.
    verdict: Verdict,
    missing: NodeSet,
    /// One of the answers was void.
    is_void: bool,
    /// How credits come back, as told.
    told: Places,
}

impl Copies {
    /// Copies that have been given no output.
    pub(super) fn missing(&self) -> u32 {
        self.count - self.given.count_ones()
    }

    /// A copy has been sent. Says whether all have.
    pub(super) fn part(&mut self) -> bool {
        self.sent += 1;
        self.sent == self.count
    }
}

/// How many flits of a broadcast an output has sent, and in which pattern it goes on.
#[derive(Clone, Copy, Debug)]
struct Branch {
    sent: u64,
    places: Places,
}

/// How flits of a broadcast leave the buffer: when the last of its `branches` sends them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Leaving {
    /// How many have.
    before: u64,
    /// The pattern in which they do.
    places: Places,
    /// It goes on as long as those of the branches do.
    is_steady: bool,
}

impl Leaving {
    /// In the period from cycle `now` on, of a packet of so many `flits`.
    fn of(branches: &[Branch], flits: u64, period: Period, now: Cycle) -> Option<Self> {
        let least = |branches: &[Branch]| branches.iter().map(|branch| branch.sent).min();
        let before = least(branches)?;
        let (mut moving, mut gone, mut places) = (branches.to_vec(), before, Places::NONE);
        for at in (0..period.cycles()).map(|cycles| now + cycles) {
            for branch in &mut moving {
                let sends = period.count(branch.places, at, at + 1);
                branch.sent = flits.min(branch.sent + sends);
            }
            let left = least(&moving)?;
            if left > gone {
                (places, gone) = (period.with(places, at), left);
            }
        }
        // One of them is the last, and never overtakes another.
        let is_last = |branch: &Branch| branch.sent == before && branch.places == places;
        let is_faster = |branch: &Branch| branch.places.count() >= places.count();
        let is_steady = branches.iter().any(is_last) && branches.iter().all(is_faster);
        Some(Leaving { before, places, is_steady })
    }
}

impl Switch {
    /// Gives outputs to the broadcast of an incoming virtual channel that requests since cycle `asked`. Returns them, as bits.
    pub(super) fn grant_copies<O: Observer>(
        &mut self,
        cx: &mut Cx<'_, O>,
        now: Cycle,
        (asked, number): (Cycle, u16),
    ) -> u64 {
        let input = usize::from(number);
        if let Some(state) = self.inputs[input].heads.pop_front() {
            let copies = self.copies(cx.shared, now, PortId::new(input / self.vcs), state);
            cx.counters.packets_copied += u64::from(copies.count - 1);
            self.inputs[input].copies = Some(Box::new(copies));
        }
        let vc = EliteSettings::broadcast_vc(cx.shared.lanes);
        let mut granted = 0;
        while let Some((port, has_choice)) = self.next_output(now, input, vc) {
            let Some(copies) = &mut self.inputs[input].copies else { break };
            if has_choice {
                self.turn = (port.0 + 1) % self.ports;
            }
            copies.wants &= if copies.climbs { 0 } else { !(1 << port.0) };
            copies.given |= 1 << port.0;
            granted |= 1 << port.0;
            let state = copies.state.clone();
            self.hand(cx, now, (asked, number), (port, vc), state);
        }
        granted
    }

    /// What becomes of the broadcast `state` here, which has come by `port` and requests in cycle `now` for the first time.
    fn copies(&self, shared: &Shared, now: Cycle, port: PortId, state: Box<PacketState>) -> Copies {
        let (reach, here) = (shared.reach(state.tables), self.here);
        let range = state.range.as_ref().expect("a broadcast has a range");
        let comes_down = reach.up(here) >> port.0 & 1 == 1;
        let goes_down = comes_down || reach.covers(here, range);
        let up = match shared.settings.roots {
            _ if goes_down => 0,
            Roots::One => reach.first_up(here),
            Roots::Any => reach.up_to(here, range),
        };
        let (mut wants, mut missing) = (up, NodeSet::default());
        if up == 0 {
            wants = reach.outputs(here, range);
            if !goes_down {
                missing = range.without(reach.below(here));
            }
            for port in ports(wants).filter(|port| self.is_down(*port, now)) {
                missing.add_all(&range.of_both(reach.string(here, port)));
                wants &= !(1 << port.0);
            }
            if wants == 0 {
                wants = 1 << self.ports;
            }
        }
        Copies {
            climbs: up != 0,
            count: if up == 0 { wants.count_ones() } else { 1 },
            state,
            wants,
            given: 0,
            sent: 0,
            answered: 0,
            verdict: if missing.is_empty() { Verdict::True } else { Verdict::Nack },
            missing,
            is_void: false,
            told: Places::NONE,
        }
    }

    /// The next output that the broadcast of incoming virtual channel `input` takes, if `vc` of one is free in cycle `now`, and
    /// whether it could be another one.
    fn next_output(&self, now: Cycle, input: usize, vc: usize) -> Option<(PortId, bool)> {
        let copies = self.inputs[input].copies.as_ref().filter(|copies| copies.wants != 0)?;
        let is_free = |port: &PortId| {
            let output = self.outputs.get(port.index()).and_then(Option::as_ref);
            output.is_some_and(|output| output.lanes[vc].owner.is_none())
        };
        if !copies.climbs {
            return ports(copies.wants).find(is_free).map(|port| (port, false));
        }
        let up = self.ports_up(copies, now);
        let wanted = if up == 0 { 1 << self.ports } else { up };
        let count = self.ports;
        let rank = |port: &PortId| (self.taken_vcs(*port), (port.0 + count - self.turn) % count);
        let best = ports(wanted).filter(is_free).min_by_key(rank)?;
        Some((best, wanted.count_ones() > 1))
    }

    /// The ports up that a broadcast requests, as far as their links are up in cycle `now`.
    pub(super) fn ports_up(&self, copies: &Copies, now: Cycle) -> Ports {
        ports(copies.wants).filter(|port| !self.is_down(*port, now)).fold(0, |up, port| up | 1 << port.0)
    }

    /// Whether the broadcast of incoming virtual channel `input` requests more outputs.
    pub(super) fn wants_more(&self, input: usize) -> bool {
        self.inputs[input].copies.as_ref().is_some_and(|copies| copies.wants != 0)
    }

    /// `run` has told of flits of a broadcast: its outputs are looked at when that matters to them.
    pub(super) fn revise_copies(&mut self, shared: &Shared, run: &Run) {
        let number = usize::from(run.port) * self.vcs + usize::from(run.vc);
        let vc = EliteSettings::broadcast_vc(shared.lanes);
        let given = self.inputs[number].copies.as_ref().map_or(0, |copies| copies.given);
        for port in ports(given) {
            let Some(output) = &self.outputs[port.index()] else { continue };
            let at = output.revises_at(shared.period, vc, run, output.lanes[vc].taken());
            self.call(port.0 as u16, at);
        }
    }

    /// The copy of a broadcast that has `vc` of output `number` has been answered. With the last of them the path is free.
    pub(super) fn combine<O>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, number: usize, vc: usize) {
        let Some(output) = &mut self.outputs[number] else { return };
        let (is_drain, lane) = (output.is_drain, &mut output.lanes[vc]);
        lane.answer_at = Cycle::NEVER;
        let (verdict, is_void, missing) = (lane.verdict, lane.is_void, lane.missing.take());
        let Some(owner) = lane.owner.map(usize::from) else { return };
        let Some(copies) = &mut self.inputs[owner].copies else { return };
        copies.answered += 1;
        copies.verdict = copies.verdict.max(verdict);
        copies.is_void |= is_void;
        if let Some(range) = copies.state.range.as_ref().filter(|_| verdict.is_nack()) {
            match missing {
                Some(nodes) => copies.missing.add_all(&nodes),
                None if copies.climbs => copies.missing.add_all(range),
                None if is_drain => {}
                None => {
                    let reach = cx.shared.reach(copies.state.tables);
                    copies.missing.add_all(&range.of_both(reach.string(self.here, PortId::new(number))));
                }
            }
        }
        if copies.answered < copies.count {
            return;
        }
        let Some(copies) = self.inputs[owner].copies.take() else { return };
        for port in ports(copies.given) {
            self.free_output(cx.shared, now, port.index(), vc);
        }
        self.free_input(cx.shared, now, owner);
        let Copies { verdict, missing, is_void, .. } = *copies;
        let missing = verdict.is_nack().then(|| Arc::new(missing));
        self.answer(cx, now, owner, (verdict, is_void), missing);
    }

    /// Tells whoever sends to inputs that have broadcasts how credits come back from cycle `now` on, where that is news.
    pub(super) fn give_back_of_copies<O>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        self.copies_due = Cycle::NEVER;
        for number in 0..self.inputs.len() {
            let Some(leaving) = self.leaving(cx.shared, now, number) else { continue };
            if !leaving.is_steady {
                self.copies_due = now + cx.shared.period.cycles();
            }
            self.tell_leaving(cx, now, number, leaving);
        }
    }

    /// How flits of the broadcast of incoming virtual channel `number` leave from cycle `now` on, as far as its sender has to
    /// know.
    fn leaving(&self, shared: &Shared, now: Cycle, number: usize) -> Option<Leaving> {
        let copies = self.inputs[number].copies.as_ref().filter(|copies| copies.wants == 0)?;
        let (flits, room) = (u64::from(copies.state.flits), u64::from(shared.settings.buffer_flits));
        let (vc, period) = (EliteSettings::broadcast_vc(shared.lanes), shared.period);
        if flits <= room {
            return None;
        }
        let branch = |port: PortId| {
            let output = self.outputs[port.index()].as_ref()?;
            let lane = &output.lanes[vc];
            let sent = lane.sent_of_packet() + output.sent_before(period, vc, now) - lane.sent;
            let places = if lane.has_begun { lane.told } else { Places::NONE };
            Some(Branch { sent, places }).filter(|branch| branch.sent < flits)
        };
        let branches: Vec<Branch> = ports(copies.given).filter_map(branch).collect();
        // What has room for the rest of the packet needs no more credits.
        Leaving::of(&branches, flits, period, now).filter(|leaving| flits - leaving.before > room)
    }

    fn tell_leaving<O>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, number: usize, leaving: Leaving) {
        let (input, settings) = (&mut self.inputs[number], &cx.shared.settings);
        let (Some(copies), Some(back)) = (&mut input.copies, &self.backs[number / self.vcs]) else { return };
        if copies.told == leaving.places {
            return;
        }
        copies.told = leaving.places;
        let cycles = u64::from(settings.credit + back.latency);
        let none_left = u64::from(settings.buffer_flits) + input.taken;
        let run = Run {
            port: back.port,
            vc: (number % self.vcs) as u8,
            at: now + cycles,
            before: none_left + leaving.before,
            places: cx.shared.period.later(leaving.places, cycles),
            end: none_left + u64::from(copies.state.flits),
        };
        post(cx.post, back, run.at, Mail::Credits(run));
    }
}
