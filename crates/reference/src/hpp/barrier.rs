//! Barrier packets: the section *Barriers* of the normative text, as far as switches and NIC ports have it in common.

use super::World;
use flitway_engine::Cycle;
use flitway_engine::random::Stream;
use flitway_fabric::BarrierId;
use flitway_fabric::barrier::{
    Actions, Event, Faults, Loss, Packet, PacketKind, Place, State, TimerChange, To,
};
use flitway_fabric::observer::{BarrierLoss, ComponentNumber, LossReason};
use flitway_wiring::PortId;
use std::collections::VecDeque;

/// A barrier packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Signal {
    pub(super) group: BarrierId,
    pub(super) packet: Packet,
}

/// A group in a component of its tree.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) place: Place,
    state: State,
    /// The cycle from which on the retransmission timer has expired, and the dun timer, while they run.
    retransmit: Option<u64>,
    dun: Option<u64>,
}

impl Member {
    pub(super) fn new(place: Place) -> Self {
        Member { place, state: State::default(), retransmit: None, dun: None }
    }

    /// `event` happens.
    pub(super) fn happen(&mut self, event: Event, world: &World) -> Actions {
        let settings = &world.settings.barrier;
        let actions = self.state.next(&self.place, settings.dun_start, event);
        set(&mut self.retransmit, actions.retransmit, world.now + u64::from(settings.retransmit));
        set(&mut self.dun, actions.dun, world.now + u64::from(settings.dun));
        actions
    }

    /// What it knows.
    pub(super) fn state(&self) -> State {
        self.state
    }

    /// The process on `port` arrives.
    pub(super) fn arrive(&mut self, port: PortId, world: &World) -> Actions {
        let sequence = self.state.sequence;
        self.happen(Event::Combine { from: port, sequence }, world)
    }

    /// What a timer does that has expired: the retransmission timer first.
    pub(super) fn expired(&self, now: u64) -> [bool; 2] {
        [self.retransmit, self.dun].map(|expires| expires.is_some_and(|at| at <= now))
    }

    /// The timer that has expired has had its turn.
    pub(super) fn expire(&mut self, is_dun: bool, world: &mut World) -> Actions {
        let event = if is_dun { Event::DunExpired } else { Event::RetransmitExpired };
        *(if is_dun { &mut self.dun } else { &mut self.retransmit }) = None;
        let actions = self.happen(event, world);
        for sent in actions.sends.iter().flatten() {
            let counters = &mut world.counters.barrier;
            match sent.packet.kind {
                PacketKind::Combine => counters.retransmissions += 1,
                PacketKind::DistributeDun => counters.duns += 1,
                other => panic!("a timer does not send {other:?}"),
            }
        }
        actions
    }

    /// The ports that `to` names.
    pub(super) fn ports(&self, to: To) -> Vec<usize> {
        let children = (0..64).filter(|port| self.place.children() >> port & 1 == 1);
        match to {
            To::Parent => self.place.parent().iter().map(|port| port.index()).collect(),
            To::Child(port) => vec![port.index()],
            To::Children => children.collect(),
        }
    }
}

fn set(timer: &mut Option<u64>, change: TimerChange, expires: u64) {
    match change {
        TimerChange::Keep => {}
        TimerChange::Arm => *timer = Some(expires),
        TimerChange::Stop => *timer = None,
    }
}

/// What a port has for barrier packets.
#[derive(Debug)]
pub(super) struct Lane {
    place: (ComponentNumber, PortId),
    errors: Stream,
    rules: Vec<Loss>,
    /// Packets that each rule has counted.
    counted: Vec<u64>,
    /// Packets that have come, with the cycle in which their last flit was on the wire, and how many packets of VC 0 had
    /// come before.
    coming: VecDeque<(u64, Signal, u64)>,
    /// The queue of the output, with the cycle in which each came in, and how many packets had been granted to TX FIFO 0
    /// before.
    output: VecDeque<(u64, Signal, u64)>,
    /// Packets of VC 0 that have come, and that the link has chosen.
    pub(super) came: u64,
    pub(super) chosen: u64,
}

impl Lane {
    pub(super) fn new(faults: &Faults, place: (ComponentNumber, PortId)) -> Self {
        let rules: Vec<Loss> = faults.losses.clone();
        let rules: Vec<Loss> =
            rules.into_iter().filter(|rule| (rule.component, rule.port) == place).collect();
        Lane {
            place,
            errors: faults.bit_errors(place.0, place.1),
            counted: vec![0; rules.len()],
            rules,
            coming: VecDeque::new(),
            output: VecDeque::new(),
            came: 0,
            chosen: 0,
        }
    }

    /// The last flit of `signal` is on the wire.
    pub(super) fn receive(&mut self, signal: Signal, now: u64) {
        self.coming.push_back((now, signal, self.came));
    }

    /// The packet that has been checked in this cycle, `stages` cycles after the one after its last flit, if it is not lost,
    /// and how many packets of VC 0 had come before.
    pub(super) fn checked(&mut self, stages: u32, world: &mut World) -> Option<(Signal, u64)> {
        let &(last_flit, signal, before) = self.coming.front()?;
        if last_flit + 1 + u64::from(stages) > world.now {
            return None;
        }
        self.coming.pop_front();
        let mut is_lost = false;
        for (rule, counted) in self.rules.iter().zip(&mut self.counted) {
            if rule.group == signal.group && (rule.kind.is_none() || rule.kind == Some(signal.packet.kind)) {
                *counted += 1;
                is_lost = is_lost || *counted == rule.nth;
            }
        }
        let probability = world.settings.barrier.packet_error;
        let reason = if is_lost {
            LossReason::Rule
        } else if probability > 0 && self.errors.chance(probability) {
            LossReason::BitError
        } else {
            return Some((signal, before));
        };
        self.lose(signal, reason, world);
        None
    }

    /// `signal` is lost.
    pub(super) fn lose(&self, signal: Signal, reason: LossReason, world: &mut World) {
        let counters = &mut world.counters.barrier;
        match reason {
            LossReason::Rule | LossReason::BitError => counters.lost_by_fault += 1,
            LossReason::InputFull | LossReason::OutputFull => counters.lost_by_full_queue += 1,
        }
        let (cycle, (component, port)) = (Cycle(world.now), self.place);
        let Signal { group, packet } = signal;
        world.record.losses.push(BarrierLoss { cycle, component, port, group, packet, reason });
    }

    /// `signal` comes into the queue of the output, when `before` packets have been granted to TX FIFO 0.
    pub(super) fn put(&mut self, signal: Signal, before: u64, world: &mut World) {
        world.counters.barrier.made += 1;
        if self.output.len() == 4 * world.barriers.len() {
            self.lose(signal, LossReason::OutputFull, world);
        } else {
            self.output.push_back((world.now, signal, before));
        }
    }

    /// Whether the first packet in the queue of the output, which takes `stages` cycles to the link, is ready.
    pub(super) fn is_ready(&self, stages: u32, now: u64) -> bool {
        self.output.front().is_some_and(|(came_in, ..)| came_in + u64::from(stages) <= now)
    }

    /// Whether the link has chosen all packets of VC 0 that are before the first one in the queue of the output.
    pub(super) fn is_next_of_vc_0(&self) -> bool {
        self.output.front().is_some_and(|&(.., before)| before == self.chosen)
    }

    /// The link chooses it.
    pub(super) fn choose(&mut self, world: &mut World) -> Signal {
        world.counters.barrier.sent += 1;
        self.output.pop_front().expect("a packet that is chosen is ready").1
    }

    /// Packets that it holds.
    pub(super) fn packets(&self) -> usize {
        self.coming.len() + self.output.len()
    }
}
