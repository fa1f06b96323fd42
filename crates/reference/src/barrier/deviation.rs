//! Deviations from the protocol: the same code, with what it hears or says changed on the way.
//!
//! The production code has no way to break its rules, and needs none.

use flitway_fabric::barrier::{
    Actions, Addressed, DunStart, Event, Packet, PacketKind, Phase, Place, State, To,
};
use flitway_wiring::PortId;

/// What a world does otherwise than the protocol says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deviation {
    /// Rule 1: packets carry no S. A dun then counts as one for the last operation if its sender has not arrived.
    NoSequence,
    /// Rule 1: a combine-ACK is believed whatever its S is.
    AckUnchecked,
    /// Rule 2: every dun is answered.
    DunAlwaysAnswered,
    /// Rule 3: combines are counted, whoever they come from.
    ArrivalsCounted,
    /// Rule 4: a combine of the operation before is dropped.
    StaleCombineDropped,
    /// Rule 4, half: a combine of the operation before gets its ACK, but no distribute.
    StaleCombineOnlyAcked,
    /// Rule 4, the other half: a combine of the operation before gets the distribute, but no ACK.
    StaleCombineNotAcked,
    /// Rule 5: the root flips S after the first distribute has left.
    FlipAfterFirst,
    /// Rule 5 kept, but the distributes of the root leave in a step of their own, before which it hears nothing more.
    DistributeLater,
    /// Rule 6: a distribute is refused before the combine-ACK.
    DistributeOnlyAfterAck,
    /// A tempting repair: a dun of the current operation counts as a combine.
    DunCountsAsCombine,
    /// A repair: the dun timer sends the combine again as well.
    CombineWithDun,
}

/// What a member holds beside its [`State`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Registers {
    pub(super) state: State,
    /// Under [`Deviation::FlipAfterFirst`] and [`Deviation::DistributeLater`]: distributes are still to leave.
    pub(super) distributing: bool,
}

impl Registers {
    /// [`State::next`], with deviations.
    pub(super) fn next(
        &mut self,
        deviations: &[Deviation],
        place: &Place,
        dun_start: DunStart,
        event: Event,
    ) -> Actions {
        let before = self.state;
        let heard =
            deviations.iter().try_fold(event, |event, deviation| deviation.hear(&before, place, event));
        let Some(heard) = heard else { return Actions::default() };
        let mut actions = self.state.next(place, dun_start, heard);
        for deviation in deviations {
            deviation.say(&before, place, event, self, &mut actions);
        }
        actions
    }

    /// Does what was put off.
    pub(super) fn finish(&mut self, deviations: &[Deviation], place: &Place) -> Actions {
        let mut actions = Actions { completed: true, ..Actions::default() };
        self.distributing = false;
        if deviations.contains(&Deviation::DistributeLater) {
            let sequence = self.state.sequence.other();
            let packet = Packet { kind: PacketKind::Distribute, sequence };
            actions.sends[0] = Some(Addressed { to: To::Children, packet });
            return actions;
        }
        let others = (0..64).filter(|&port| place.children() >> port & 1 == 1).skip(1);
        for (send, port) in actions.sends.iter_mut().zip(others) {
            *send = Some(distribute(PortId(port), &self.state));
        }
        self.state = State { sequence: self.state.sequence.other(), ..State::default() };
        actions
    }
}

fn distribute(port: PortId, state: &State) -> Addressed {
    let packet = Packet { kind: PacketKind::Distribute, sequence: state.sequence };
    Addressed { to: To::Child(port), packet }
}

impl Deviation {
    /// What a member hears instead of `event`, if anything.
    fn hear(self, state: &State, place: &Place, event: Event) -> Option<Event> {
        let own = state.sequence;
        let heard = match (self, event) {
            (Deviation::NoSequence, Event::Combine { from, .. }) => Event::Combine { from, sequence: own },
            (Deviation::NoSequence, Event::Dun { from, .. }) => {
                let has_arrived = state.arrived >> from.0 & 1 == 1;
                Event::Dun { from, sequence: if has_arrived { own } else { own.other() } }
            }
            (Deviation::NoSequence, Event::Distribute { .. }) => Event::Distribute { sequence: own },
            (Deviation::NoSequence | Deviation::AckUnchecked, Event::Ack { .. }) => {
                Event::Ack { sequence: own }
            }
            (Deviation::ArrivalsCounted, Event::Combine { from, sequence }) if sequence == own => {
                let free = place.children() & !state.arrived;
                let from = if free == 0 { from } else { PortId(free.trailing_zeros()) };
                Event::Combine { from, sequence }
            }
            (Deviation::StaleCombineDropped, Event::Combine { sequence, .. }) if sequence != own => {
                return None;
            }
            (Deviation::DistributeOnlyAfterAck, Event::Distribute { .. })
                if state.phase == Phase::WaitAck =>
            {
                return None;
            }
            (Deviation::DunCountsAsCombine, Event::Dun { from, sequence }) if sequence == own => {
                Event::Combine { from, sequence }
            }
            _ => event,
        };
        Some(heard)
    }

    /// Changes what a member does about `event`, in which it was in state `before`.
    fn say(self, before: &State, place: &Place, event: Event, now: &mut Registers, actions: &mut Actions) {
        match (self, event) {
            (Deviation::DunAlwaysAnswered, Event::Dun { from, sequence }) if sequence == before.sequence => {
                actions.sends[0] = Some(distribute(from, before));
            }
            // The ACK goes to the child that sent, whatever bit stands for it.
            (Deviation::ArrivalsCounted, Event::Combine { from, .. }) => {
                if let Some(Addressed { to: To::Child(port), .. }) = &mut actions.sends[0] {
                    *port = from;
                }
            }
            (Deviation::StaleCombineOnlyAcked, Event::Combine { sequence, .. })
                if sequence != before.sequence =>
            {
                actions.sends[1] = None;
            }
            (Deviation::StaleCombineNotAcked, Event::Combine { sequence, .. })
                if sequence != before.sequence =>
            {
                actions.sends[0] = None;
            }
            (Deviation::FlipAfterFirst, Event::Combine { .. })
                if actions.completed && place.parent().is_none() =>
            {
                let first = PortId(place.children().trailing_zeros());
                let state = State { arrived: place.children(), ..*before };
                *now = Registers { state, distributing: true };
                actions.sends[0] = Some(distribute(first, before));
            }
            (Deviation::DistributeLater, Event::Combine { .. })
                if actions.completed && place.parent().is_none() =>
            {
                now.distributing = true;
                actions.sends[0] = None;
            }
            (Deviation::CombineWithDun, Event::DunExpired) if actions.sends[0].is_some() => {
                let packet = Packet { kind: PacketKind::Combine, sequence: before.sequence };
                actions.sends[1] = Some(Addressed { to: To::Parent, packet });
            }
            _ => {}
        }
    }
}
