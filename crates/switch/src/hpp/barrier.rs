//! What switches and NIC ports have in common of barriers: packets on their way, the registers of groups with their timers,
//! and faults.

use super::{BarrierSettings, Shared};
use flitway_engine::Cycle;
use flitway_engine::random::Stream;
use flitway_fabric::barrier::{
    Actions, BarrierId, Event, Loss, Packet, PacketKind, Place, State, TimerChange,
};
use flitway_fabric::observer::BarrierDeparture;
use flitway_fabric::observer::{BarrierLoss, ComponentNumber, LossReason};
use flitway_fabric::pool::{Slot, linked};
use flitway_fabric::simulation::BarrierCounters;
use flitway_wiring::PortId;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Flits of a barrier packet.
pub(super) const FLITS: u64 = BarrierSettings::PACKET_FLITS as u64;
/// Kinds of barrier packets: so many of each group fit into the queue of an output.
const KINDS: usize = 4;

/// A barrier packet.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Signal {
    /// On a link and before its check: when the first flit is on the receiver's wire. In the queue of an output: when it
    /// is ready for the link.
    pub(super) at: Cycle,
    #[serde(skip)]
    pub(super) next: Slot,
    pub(super) group: BarrierId,
    /// On a link: the port that it goes to.
    pub(super) port: u16,
    pub(super) packet: Packet,
}

linked!(Signal);

/// The timers of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    Retransmit,
    Dun,
}

impl Timer {
    pub(super) const ALL: [Timer; 2] = [Timer::Retransmit, Timer::Dun];

    fn event(self) -> Event {
        match self {
            Timer::Retransmit => Event::RetransmitExpired,
            Timer::Dun => Event::DunExpired,
        }
    }
}

/// The registers of a group in a component that is in its tree.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) place: Place,
    state: State,
    /// When its timers expire; `NEVER` while they are stopped.
    expires: [Cycle; 2],
}

impl Member {
    pub(super) fn new(place: Place) -> Self {
        Member { place, state: State::default(), expires: [Cycle::NEVER; 2] }
    }

    /// Takes in `packet`, which has come by `port`.
    pub(super) fn take(
        &mut self,
        settings: &BarrierSettings,
        now: Cycle,
        port: PortId,
        packet: Packet,
    ) -> Actions {
        let event = self.place.event(port, packet).expect("both ends of a link know the same tree");
        let actions = self.state.next(&self.place, settings.dun_start, event);
        self.set_timers(settings, now, &actions);
        actions
    }

    /// What it knows.
    pub(super) fn state(&self) -> State {
        self.state
    }

    /// The process behind port `process` arrives.
    pub(super) fn arrive(&mut self, settings: &BarrierSettings, now: Cycle, process: PortId) -> Actions {
        let actions = self.state.arrive(&self.place, settings.dun_start, process);
        self.set_timers(settings, now, &actions);
        actions
    }

    /// It is the turn of `timer`, which has expired.
    pub(super) fn expire(&mut self, settings: &BarrierSettings, now: Cycle, timer: Timer) -> Actions {
        debug_assert!(self.expires(timer) <= now);
        self.expires[timer as usize] = Cycle::NEVER;
        let actions = self.state.next(&self.place, settings.dun_start, timer.event());
        self.set_timers(settings, now, &actions);
        actions
    }

    fn set_timers(&mut self, settings: &BarrierSettings, now: Cycle, actions: &Actions) {
        let changes = [(actions.retransmit, settings.retransmit), (actions.dun, settings.dun)];
        for (expires, (change, cycles)) in self.expires.iter_mut().zip(changes) {
            match change {
                TimerChange::Keep => {}
                TimerChange::Arm => *expires = now + u64::from(cycles),
                TimerChange::Stop => *expires = Cycle::NEVER,
            }
        }
    }

    /// When `timer` expires.
    pub(super) fn expires(&self, timer: Timer) -> Cycle {
        self.expires[timer as usize]
    }

    /// When the next of its timers expires.
    pub(super) fn next_expiry(&self) -> Cycle {
        self.expires[0].min(self.expires[1])
    }
}

/// What can befall the packets that arrive at one port.
#[derive(Clone, Debug)]
pub(super) struct Check {
    errors: Stream,
    packet_error: u64,
    /// Each rule with the packets that it has counted.
    rules: Box<[(Loss, u64)]>,
}

impl Check {
    pub(super) fn new(shared: &Shared, component: ComponentNumber, port: PortId) -> Self {
        let faults = shared.barriers.faults();
        let here = |loss: &&Loss| loss.component == component && loss.port == port;
        Check {
            errors: faults.bit_errors(component, port),
            packet_error: shared.barrier.packet_error,
            rules: faults.losses.iter().filter(here).map(|&loss| (loss, 0)).collect(),
        }
    }

    /// Why `signal` is lost, if it is.
    pub(super) fn fault(&mut self, signal: &Signal) -> Option<LossReason> {
        let mut is_lost = false;
        for (loss, seen) in &mut self.rules {
            if loss.counts(signal.group, signal.packet) {
                *seen += 1;
                is_lost |= *seen == loss.nth;
            }
        }
        if is_lost {
            return Some(LossReason::Rule);
        }
        let is_wrong = self.packet_error > 0 && self.errors.chance(self.packet_error);
        is_wrong.then_some(LossReason::BitError)
    }
}

impl Signal {
    /// What observers are told when the link of `port` of `component` has chosen it, so that its first flit is on the wire
    /// there in cycle `leaves`.
    pub(super) fn departs(
        &self,
        now: Cycle,
        component: ComponentNumber,
        port: PortId,
        leaves: Cycle,
    ) -> BarrierDeparture {
        BarrierDeparture { cycle: now, component, port, group: self.group, packet: self.packet, leaves }
    }

    /// What observers are told when it is lost at `port` of `component`.
    pub(super) fn lost(
        &self,
        now: Cycle,
        component: ComponentNumber,
        port: PortId,
        reason: LossReason,
    ) -> BarrierLoss {
        BarrierLoss { cycle: now, component, port, group: self.group, packet: self.packet, reason }
    }
}

/// Takes the first packet out of `coming` if it `is_checked`.
pub(super) fn pop_checked<T>(coming: &mut VecDeque<T>, is_checked: impl Fn(&T) -> bool) -> Option<T> {
    if is_checked(coming.front()?) { coming.pop_front() } else { None }
}

/// Packets that the queue of an output holds, in a fabric of so many groups.
pub(super) fn output_room(shared: &Shared) -> usize {
    KINDS * shared.barriers.len()
}

/// Counts what `actions` say that a timer has led to.
pub(super) fn count_timer(counters: &mut BarrierCounters, actions: &Actions) {
    for sent in actions.sends.iter().flatten() {
        match sent.packet.kind {
            PacketKind::Combine => counters.retransmissions += 1,
            PacketKind::DistributeDun => counters.duns += 1,
            PacketKind::CombineAck | PacketKind::Distribute => {}
        }
    }
}
