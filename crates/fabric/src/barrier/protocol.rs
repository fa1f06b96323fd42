//! The state machine of one barrier group in one component.

use flitway_wiring::PortId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The operation number of a barrier, modulo two: the bit S of every barrier packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sequence(bool);

impl Sequence {
    /// Of the first operation after a group was set up (rule 7).
    pub const FIRST: Sequence = Sequence::of(0);

    /// Of an operation, counted from zero since the group was set up.
    #[inline]
    #[must_use]
    pub const fn of(operation: u64) -> Self {
        Sequence(operation & 1 == 1)
    }

    /// Of the operation after this one, and of the one before.
    #[inline]
    #[must_use]
    pub const fn other(self) -> Self {
        Sequence(!self.0)
    }

    /// The bit on the wire.
    #[inline]
    #[must_use]
    pub const fn bit(self) -> u8 {
        self.0 as u8
    }
}

/// What a barrier packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PacketKind {
    /// Child to parent: everybody below me has arrived.
    Combine,
    /// Parent to child: your combine is noted.
    CombineAck,
    /// Parent to child: everybody has arrived.
    Distribute,
    /// Child to parent: where is my distribute?
    DistributeDun,
}

/// What a barrier packet says, less its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Packet {
    /// What it is for.
    pub kind: PacketKind,
    /// The operation it belongs to (rule 1).
    pub sequence: Sequence,
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            PacketKind::Combine => "combine",
            PacketKind::CombineAck => "ack",
            PacketKind::Distribute => "distribute",
            PacketKind::DistributeDun => "dun",
        };
        write!(f, "{kind}({})", self.sequence.bit())
    }
}

/// Where a component stands in the tree of a group. Out-of-band management writes it, nothing in band changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    children: u64,
    parent: Option<PortId>,
}

impl Place {
    /// Children on the ports in the mask `children`; at the root there is no parent.
    ///
    /// # Panics
    /// If there is no child, or the parent is beyond port 63 or is a child too.
    #[must_use]
    pub const fn new(children: u64, parent: Option<PortId>) -> Self {
        assert!(children != 0, "a member of a group has somebody to wait for");
        if let Some(PortId(port)) = parent {
            assert!(port < 64, "ports are a mask of 64 bits");
            assert!(children >> port & 1 == 0, "the parent is no child");
        }
        Place { children, parent }
    }

    /// The ports with children.
    #[inline]
    #[must_use]
    pub const fn children(&self) -> u64 {
        self.children
    }

    /// The port of the parent; none at the root.
    #[inline]
    #[must_use]
    pub const fn parent(&self) -> Option<PortId> {
        self.parent
    }

    /// Whether what is sent `to` somebody leaves by `port`.
    #[inline]
    #[must_use]
    pub fn leaves_by(&self, to: To, port: PortId) -> bool {
        match to {
            To::Parent => self.parent == Some(port),
            To::Child(child) => child == port,
            To::Children => self.children >> port.0 & 1 == 1,
        }
    }

    /// What the arrival of `packet` on `port` means here. Nothing, if the tree has no link there or the packet goes the
    /// wrong way on it: then somebody's place is wrong, and the packet is to be dropped and counted.
    #[inline]
    #[must_use]
    pub fn event(&self, port: PortId, packet: Packet) -> Option<Event> {
        let (from, sequence) = (port, packet.sequence);
        let is_child = port.0 < 64 && self.children >> port.0 & 1 == 1;
        let is_parent = self.parent == Some(port);
        match packet.kind {
            PacketKind::Combine if is_child => Some(Event::Combine { from, sequence }),
            PacketKind::DistributeDun if is_child => Some(Event::Dun { from, sequence }),
            PacketKind::CombineAck if is_parent => Some(Event::Ack { sequence }),
            PacketKind::Distribute if is_parent => Some(Event::Distribute { sequence }),
            _ => None,
        }
    }
}

/// What can happen to a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A combine came from a child.
    Combine {
        /// The child's port.
        from: PortId,
        /// The packet's S.
        sequence: Sequence,
    },
    /// A dun came from a child.
    Dun {
        /// The child's port.
        from: PortId,
        /// The packet's S.
        sequence: Sequence,
    },
    /// A combine-ACK came from the parent.
    Ack {
        /// The packet's S.
        sequence: Sequence,
    },
    /// A distribute came from the parent.
    Distribute {
        /// The packet's S.
        sequence: Sequence,
    },
    /// The retransmission timer has expired.
    RetransmitExpired,
    /// The dun timer has expired.
    DunExpired,
}

/// When the dun timer starts: where the two papers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DunStart {
    /// With the combine-ACK (hpp-switch.txt section 2.4).
    AtAck,
    /// With the combine, together with the retransmission timer (dawning5000.txt section 4.3).
    AtCombine,
}

/// What a component waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Phase {
    /// For its children. The root knows no other phase.
    #[default]
    Collect,
    /// For the combine-ACK of its parent.
    WaitAck,
    /// For the distribute of its parent.
    WaitDistribute,
}

/// Whom a packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// The parent.
    Parent,
    /// One child.
    Child(PortId),
    /// Every child, each a copy, in the order of their ports.
    Children,
}

/// A packet to send, and whom to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addressed {
    /// Whom to.
    pub to: To,
    /// What.
    pub packet: Packet,
}

/// What to do with a timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimerChange {
    /// Leave it as it is.
    #[default]
    Keep,
    /// Start it from zero, whether it runs or not.
    Arm,
    /// Stop it, if it runs.
    Stop,
}

/// What an event leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Actions {
    /// Packets to send, in the order in which they enter the queues (rule 10).
    pub sends: [Option<Addressed>; 2],
    /// For the retransmission timer.
    pub retransmit: TimerChange,
    /// For the dun timer.
    pub dun: TimerChange,
    /// The operation is complete here: everybody in the whole group has arrived.
    pub completed: bool,
}

/// The registers of a group in one component. Its default is the state after set-up. Only [`State::next`] changes it in
/// operation; the fields are open for those who read registers: statistics, the check of the protocol, hardware.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    /// A bit for each child whose combine of the current operation is noted (rule 3).
    pub arrived: u64,
    /// S of the current operation.
    pub sequence: Sequence,
    /// What it waits for.
    pub phase: Phase,
}

impl State {
    /// Takes one step. The header of [this module](super) is the text of this function.
    #[inline]
    pub fn next(&mut self, place: &Place, dun_start: DunStart, event: Event) -> Actions {
        match event {
            Event::Combine { from, sequence } => self.combine(place, dun_start, from, sequence),
            Event::Dun { from, sequence } if sequence != self.sequence => {
                Actions::of([Some(to_child(from, PacketKind::Distribute, sequence)), None])
            }
            Event::Ack { sequence } if sequence == self.sequence && self.phase == Phase::WaitAck => {
                self.phase = Phase::WaitDistribute;
                Actions { retransmit: TimerChange::Stop, dun: dun_start.at_ack(), ..Actions::default() }
            }
            Event::Distribute { sequence } if sequence == self.sequence && self.phase != Phase::Collect => {
                self.complete()
            }
            Event::RetransmitExpired if self.phase == Phase::WaitAck => {
                let combine = self.upward(PacketKind::Combine);
                Actions { retransmit: TimerChange::Arm, ..Actions::of([Some(combine), None]) }
            }
            Event::DunExpired if self.is_dunning(dun_start) => {
                let dun = self.upward(PacketKind::DistributeDun);
                Actions { dun: TimerChange::Arm, ..Actions::of([Some(dun), None]) }
            }
            _ => Actions::default(),
        }
    }

    /// A process of this node arrives: the combine of a local child. The combine-ACK that this sends to the child says that
    /// the arrival is noted and goes nowhere; the distribute, then or later, releases the process.
    ///
    /// # Panics
    /// If the process has not been released since it arrived last.
    #[inline]
    pub fn arrive(&mut self, place: &Place, dun_start: DunStart, process: PortId) -> Actions {
        assert!(self.arrived >> process.0 & 1 == 0, "a process waits until it is released");
        self.next(place, dun_start, Event::Combine { from: process, sequence: self.sequence })
    }

    #[inline]
    fn combine(&mut self, place: &Place, dun_start: DunStart, from: PortId, sequence: Sequence) -> Actions {
        debug_assert!(place.children >> from.0 & 1 == 1, "a combine comes from a child");
        let ack = Some(to_child(from, PacketKind::CombineAck, sequence));
        if sequence != self.sequence {
            return Actions::of([ack, Some(to_child(from, PacketKind::Distribute, sequence))]);
        }
        let before = self.arrived;
        self.arrived |= 1 << from.0;
        if self.arrived == before || self.arrived != place.children {
            return Actions::of([ack, None]);
        }
        if place.parent.is_none() {
            // The distribute counts as the ACK (rule 6).
            return self.complete();
        }
        self.phase = Phase::WaitAck;
        let combine = self.upward(PacketKind::Combine);
        Actions {
            retransmit: TimerChange::Arm,
            dun: dun_start.at_combine(),
            ..Actions::of([ack, Some(combine)])
        }
    }

    /// S flips and the bits clear at once, before the distributes leave (rule 5).
    #[inline]
    fn complete(&mut self) -> Actions {
        let packet = Packet { kind: PacketKind::Distribute, sequence: self.sequence };
        *self = State { arrived: 0, sequence: self.sequence.other(), phase: Phase::Collect };
        let distribute = Some(Addressed { to: To::Children, packet });
        Actions {
            retransmit: TimerChange::Stop,
            dun: TimerChange::Stop,
            completed: true,
            ..Actions::of([distribute, None])
        }
    }

    #[inline]
    fn is_dunning(&self, dun_start: DunStart) -> bool {
        match self.phase {
            Phase::Collect => false,
            Phase::WaitAck => dun_start == DunStart::AtCombine,
            Phase::WaitDistribute => true,
        }
    }

    #[inline]
    fn upward(&self, kind: PacketKind) -> Addressed {
        Addressed { to: To::Parent, packet: Packet { kind, sequence: self.sequence } }
    }
}

#[inline]
fn to_child(port: PortId, kind: PacketKind, sequence: Sequence) -> Addressed {
    Addressed { to: To::Child(port), packet: Packet { kind, sequence } }
}

impl Actions {
    #[inline]
    fn of(sends: [Option<Addressed>; 2]) -> Self {
        Actions { sends, ..Actions::default() }
    }
}

impl DunStart {
    #[inline]
    fn at_combine(self) -> TimerChange {
        if self == DunStart::AtCombine { TimerChange::Arm } else { TimerChange::Keep }
    }

    #[inline]
    fn at_ack(self) -> TimerChange {
        if self == DunStart::AtAck { TimerChange::Arm } else { TimerChange::Keep }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZERO: Sequence = Sequence::FIRST;
    const ONE: Sequence = Sequence::FIRST.other();
    const PARENT: PortId = PortId(2);
    /// Two children, on the first and on the last port.
    const SWITCH: Place = Place::new(1 | 1 << 63, Some(PARENT));
    const ROOT: Place = Place::new(1 | 1 << 63, None);

    /// A component to which things happen.
    struct Subject {
        place: Place,
        dun_start: DunStart,
        state: State,
    }

    impl Subject {
        fn new(place: Place, dun_start: DunStart) -> Self {
            Subject { place, dun_start, state: State::default() }
        }

        /// In the phase where it waits for the ACK of operation 0.
        fn waiting(dun_start: DunStart) -> Self {
            let mut subject = Subject::new(SWITCH, dun_start);
            subject.receive(0, PacketKind::Combine, ZERO);
            subject.receive(63, PacketKind::Combine, ZERO);
            subject
        }

        /// In operation 1, nobody arrived.
        fn second(place: Place) -> Self {
            let mut subject = Subject::new(place, DunStart::AtAck);
            subject.receive(0, PacketKind::Combine, ZERO);
            subject.receive(63, PacketKind::Combine, ZERO);
            if place.parent.is_some() {
                subject.receive(2, PacketKind::Distribute, ZERO);
            }
            assert_eq!(subject.state, State { sequence: ONE, ..State::default() });
            subject
        }

        fn receive(&mut self, port: u32, kind: PacketKind, sequence: Sequence) -> String {
            let event = self.place.event(PortId(port), Packet { kind, sequence });
            self.happen(event.expect("the packet goes the right way"))
        }

        fn happen(&mut self, event: Event) -> String {
            show(&self.state.next(&self.place, self.dun_start, event))
        }
    }

    /// Actions as a line.
    fn show(actions: &Actions) -> String {
        let mut words = Vec::new();
        for Addressed { to, packet } in actions.sends.iter().flatten() {
            words.push(match to {
                To::Parent => format!("{packet} up"),
                To::Child(port) => format!("{packet} to {port}"),
                To::Children => format!("{packet} to all"),
            });
        }
        for (name, change) in [("retransmit", actions.retransmit), ("dun", actions.dun)] {
            match change {
                TimerChange::Keep => {}
                TimerChange::Arm => words.push(format!("arm {name}")),
                TimerChange::Stop => words.push(format!("stop {name}")),
            }
        }
        words.extend(actions.completed.then(|| "completed".to_owned()));
        words.join(", ")
    }

    use PacketKind::{Combine, CombineAck, Distribute, DistributeDun};

    #[test]
    fn a_combine_is_noted_and_acked_and_the_last_one_goes_on_to_the_parent() {
        for (dun_start, timers) in
            [(DunStart::AtAck, "arm retransmit"), (DunStart::AtCombine, "arm retransmit, arm dun")]
        {
            let mut switch = Subject::new(SWITCH, dun_start);
            assert_eq!(switch.receive(63, Combine, ZERO), "ack(0) to 63");
            assert_eq!(switch.state, State { arrived: 1 << 63, ..State::default() });
            let last = switch.receive(0, Combine, ZERO);
            assert_eq!(last, format!("ack(0) to 0, combine(0) up, {timers}"));
            assert_eq!(switch.state.phase, Phase::WaitAck);
        }
    }

    #[test]
    fn the_last_combine_completes_the_operation_at_the_root() {
        let mut root = Subject::new(ROOT, DunStart::AtAck);
        assert_eq!(root.receive(0, Combine, ZERO), "ack(0) to 0");
        let complete = "distribute(0) to all, stop retransmit, stop dun, completed";
        assert_eq!(root.receive(63, Combine, ZERO), complete, "the distribute is the ACK");
        assert_eq!(root.state, State { sequence: ONE, ..State::default() });
    }

    #[test]
    fn a_combine_that_is_noted_already_is_only_acked() {
        let mut switch = Subject::new(SWITCH, DunStart::AtAck);
        switch.receive(0, Combine, ZERO);
        assert_eq!(switch.receive(0, Combine, ZERO), "ack(0) to 0");
        switch.receive(63, Combine, ZERO);
        let waiting = switch.state;
        assert_eq!(switch.receive(63, Combine, ZERO), "ack(0) to 63");
        assert_eq!(switch.state, waiting, "the parent is not told again");
    }

    #[test]
    fn a_combine_of_the_operation_before_is_acked_and_answered_but_not_noted() {
        for place in [SWITCH, ROOT] {
            let mut subject = Subject::second(place);
            assert_eq!(subject.receive(0, Combine, ZERO), "ack(0) to 0, distribute(0) to 0");
            assert_eq!(subject.state, State { sequence: ONE, ..State::default() });
        }
    }

    #[test]
    fn an_ack_of_this_operation_stops_the_retransmission() {
        for (dun_start, timers) in
            [(DunStart::AtAck, "stop retransmit, arm dun"), (DunStart::AtCombine, "stop retransmit")]
        {
            let mut switch = Subject::waiting(dun_start);
            assert_eq!(switch.receive(2, CombineAck, ONE), "", "of another operation");
            assert_eq!(switch.receive(2, CombineAck, ZERO), timers);
            assert_eq!(switch.state.phase, Phase::WaitDistribute);
            assert_eq!(switch.receive(2, CombineAck, ZERO), "", "a second one");
        }
        assert_eq!(
            Subject::new(SWITCH, DunStart::AtAck).receive(2, CombineAck, ZERO),
            "",
            "before the combine"
        );
    }

    #[test]
    fn a_distribute_of_this_operation_completes_it_with_and_without_the_ack() {
        for with_ack in [true, false] {
            let mut switch = Subject::waiting(DunStart::AtAck);
            if with_ack {
                switch.receive(2, CombineAck, ZERO);
            }
            assert_eq!(switch.receive(2, Distribute, ONE), "", "of another operation");
            let complete = "distribute(0) to all, stop retransmit, stop dun, completed";
            assert_eq!(switch.receive(2, Distribute, ZERO), complete);
            assert_eq!(switch.state, State { sequence: ONE, ..State::default() });
            assert_eq!(switch.receive(2, Distribute, ZERO), "", "a second one");
        }
    }

    #[test]
    fn a_distribute_before_everybody_below_has_arrived_is_refused() {
        let mut switch = Subject::new(SWITCH, DunStart::AtAck);
        switch.receive(0, Combine, ZERO);
        for sequence in [ZERO, ONE] {
            assert_eq!(switch.receive(2, Distribute, sequence), "");
        }
        assert_eq!(switch.state, State { arrived: 1, ..State::default() });
    }

    #[test]
    fn the_retransmission_timer_repeats_the_combine_until_the_ack() {
        let mut switch = Subject::new(SWITCH, DunStart::AtAck);
        assert_eq!(switch.happen(Event::RetransmitExpired), "", "nothing to repeat");
        let mut switch = Subject::waiting(DunStart::AtAck);
        for _ in 0..2 {
            assert_eq!(switch.happen(Event::RetransmitExpired), "combine(0) up, arm retransmit");
        }
        switch.receive(2, CombineAck, ZERO);
        assert_eq!(switch.happen(Event::RetransmitExpired), "", "stopped");
    }

    #[test]
    fn the_dun_timer_asks_for_the_distribute_from_where_the_papers_start_it() {
        for (dun_start, before_ack) in [(DunStart::AtAck, ""), (DunStart::AtCombine, "dun(0) up, arm dun")] {
            assert_eq!(Subject::new(SWITCH, dun_start).happen(Event::DunExpired), "", "nobody waits");
            let mut switch = Subject::waiting(dun_start);
            assert_eq!(switch.happen(Event::DunExpired), before_ack);
            switch.receive(2, CombineAck, ZERO);
            for _ in 0..2 {
                assert_eq!(switch.happen(Event::DunExpired), "dun(0) up, arm dun");
            }
            switch.receive(2, Distribute, ZERO);
            assert_eq!(switch.happen(Event::DunExpired), "", "stopped");
        }
    }

    #[test]
    fn a_dun_is_answered_only_for_an_operation_that_is_complete_here() {
        for place in [SWITCH, ROOT] {
            let mut subject = Subject::second(place);
            let before = subject.state;
            assert_eq!(subject.receive(63, DistributeDun, ZERO), "distribute(0) to 63");
            assert_eq!(subject.receive(63, DistributeDun, ONE), "", "not complete here");
            assert_eq!(subject.state, before);
        }
        let mut waiting = Subject::waiting(DunStart::AtAck);
        assert_eq!(waiting.receive(0, DistributeDun, ZERO), "", "its own dun timer covers the level above");
    }

    #[test]
    fn a_node_is_a_switch_whose_children_are_processes() {
        let place = Place::new(0b11, Some(PARENT));
        let mut node = State::default();
        assert_eq!(show(&node.arrive(&place, DunStart::AtAck, PortId(1))), "ack(0) to 1");
        let last = node.arrive(&place, DunStart::AtAck, PortId(0));
        assert_eq!(show(&last), "ack(0) to 0, combine(0) up, arm retransmit");
        let release = node.next(&place, DunStart::AtAck, Event::Distribute { sequence: ZERO });
        assert_eq!(show(&release), "distribute(0) to all, stop retransmit, stop dun, completed");
        assert_eq!(show(&node.arrive(&place, DunStart::AtAck, PortId(0))), "ack(1) to 0");
    }

    #[test]
    #[should_panic(expected = "a process waits until it is released")]
    fn a_process_does_not_arrive_twice() {
        let place = Place::new(0b11, Some(PARENT));
        let mut node = State::default();
        node.arrive(&place, DunStart::AtAck, PortId(1));
        node.arrive(&place, DunStart::AtAck, PortId(1));
    }

    #[test]
    fn packets_from_outside_the_tree_or_the_wrong_way_are_no_events() {
        for kind in [Combine, CombineAck, Distribute, DistributeDun] {
            let packet = Packet { kind, sequence: ZERO };
            let goes_up = matches!(kind, Combine | DistributeDun);
            assert_eq!(SWITCH.event(PortId(0), packet).is_some(), goes_up);
            assert_eq!(SWITCH.event(PARENT, packet).is_some(), !goes_up);
            assert_eq!(SWITCH.event(PortId(1), packet), None, "no member");
            assert_eq!(SWITCH.event(PortId(64), packet), None, "no port of the mask");
            assert_eq!(ROOT.event(PARENT, packet), None, "the root has no parent");
        }
    }

    #[test]
    fn all_64_ports_can_have_children_and_the_state_is_two_words() {
        let place = Place::new(u64::MAX, None);
        let mut state = State::default();
        for port in 0..63 {
            assert!(!state.arrive(&place, DunStart::AtAck, PortId(port)).completed);
        }
        assert!(state.arrive(&place, DunStart::AtAck, PortId(63)).completed);
        assert_eq!(size_of::<State>(), 16);
    }
}
