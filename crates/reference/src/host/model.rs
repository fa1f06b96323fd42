//! What a model of a NIC has around it, whatever the NIC: its node, time, what is due, memory and the way into the network; and
//! how the NIC becomes a host.

use super::agenda::Agenda;
use flitway_engine::random::{Purpose, Stream};
use flitway_engine::{Cycle, Picos};
use flitway_fabric::{BarrierId, Delivery, Flow, FlowKind, Outgoing, Packet, Ticket};
use flitway_nic::Place;
use flitway_nic::host::memory::Memory;
use flitway_nic::host::program::Program;
use flitway_nic::host::{AnyHost, HostCounts, NIC_PROCESS, Surroundings};
use flitway_wiring::{Destination, NodeId, RailId};
use std::fmt::Debug;

/// What a NIC has around it, whose packets say `L` and of which `D` are due.
#[derive(Debug)]
pub(crate) struct Around<L, D> {
    pub(crate) node: NodeId,
    pub(crate) surroundings: Surroundings<L>,
    /// The date, and the cycle in which it is dealt with.
    pub(crate) at: Picos,
    now: Cycle,
    /// What is due, in the order in which it was asked for.
    pub(crate) due: Agenda<D>,
    /// What it does in this call.
    packets: Vec<Packet>,
    pub(crate) drained: Vec<Ticket>,
    /// Groups of the switches to whose barrier it has come.
    pub(crate) come: Vec<BarrierId>,
    pub(crate) memory: Memory,
    lanes: Stream,
    flits: u64,
}

impl<L, D> Around<L, D> {
    pub(crate) fn new(place: Place, memory: Memory, surroundings: Surroundings<L>) -> Self {
        Around {
            node: place.node,
            surroundings,
            at: Picos(0),
            now: Cycle::ZERO,
            due: Agenda::new(),
            packets: Vec::new(),
            drained: Vec::new(),
            come: Vec::new(),
            memory,
            lanes: Stream::new(place.seed, place.node.0.into(), Purpose::Lane),
            flits: 0,
        }
    }

    /// Asks for `due` at `at`.
    pub(crate) fn ask(&mut self, at: Picos, due: D) {
        assert!(at >= self.at, "nothing is due before now");
        self.due.ask(at, due);
    }

    /// A date so much later.
    pub(crate) fn after(&self, time: Picos) -> Picos {
        Picos(self.at.0 + time.0)
    }

    /// Hands a packet to the NIC port of `rail`: the number of its content.
    pub(crate) fn hand(&mut self, to: NodeId, rail: RailId, payload: u16, content: L) -> u64 {
        let number = self.surroundings.contents.lay(self.node, content);
        self.packets.push(Packet {
            destination: Destination::Node(to),
            rail,
            lane: self.lanes.bits() as u32,
            payload,
            created: self.now,
            flow: Flow::new(FlowKind::Message, number).of_process(NIC_PROCESS),
        });
        number
    }

    /// It is cycle `now`.
    fn enter(&mut self, now: Cycle) {
        self.now = now;
        self.at = self.surroundings.clock.picos_floor(now);
    }

    fn leave(&mut self, out: &mut Outgoing) {
        self.packets.drain(..).for_each(|packet| out.push(packet));
        self.drained.drain(..).for_each(|ticket| out.drain(ticket));
        self.come.drain(..).for_each(|group| out.arrive(group));
    }
}

/// A model of a NIC, with processors and a bus.
pub(crate) trait Model: Debug + Send {
    /// What its packets say.
    type Content: Debug + Send;
    /// What is due.
    type Due: Debug + Send;

    fn around(&self) -> &Around<Self::Content, Self::Due>;

    fn around_mut(&mut self) -> &mut Around<Self::Content, Self::Due>;

    fn handle(&mut self, due: Self::Due);

    /// A packet of another NIC is in the NIC port.
    fn receive(&mut self, delivery: &Delivery, content: Self::Content);

    /// The packet with that content has left the source queue of `rail`.
    fn sent(&mut self, rail: RailId, number: u64);

    /// It has been answered, where NIC ports tell that.
    fn answered(&mut self, number: u64) {
        panic!("the answer to packet {number} is not told");
    }

    /// The group of the switches whose barrier it carries out.
    fn meets_as(&self) -> Option<BarrierId> {
        None
    }

    /// All nodes of that group have come.
    fn released(&mut self) {}

    /// Does what can be done now: after everything that was due, and each call.
    fn follow_up(&mut self) {}

    fn program(&self, process: usize) -> &dyn Program;

    /// What it has done until `at`, but for the flits that have come.
    fn counts(&self, at: Picos) -> HostCounts;

    /// Packets whose answers it awaits.
    fn unanswered(&self) -> usize {
        0
    }

    /// Whether nothing is under way in it, where nothing is due.
    fn is_idle(&self) -> bool;
}

/// A model as a host.
#[derive(Debug)]
pub(crate) struct Modelled<M>(pub(crate) M);

impl<M: Model> Modelled<M> {
    fn leave(&mut self, out: &mut Outgoing) {
        self.0.follow_up();
        self.0.around_mut().leave(out);
    }
}

impl<M: Model> AnyHost for Modelled<M> {
    fn run(&mut self, now: Cycle, out: &mut Outgoing) {
        self.0.around_mut().now = now;
        let until = self.0.around().surroundings.clock.picos_floor(now);
        while let Some((at, due)) = self.0.around_mut().due.first_by(until) {
            self.0.around_mut().at = at;
            self.0.handle(due);
            self.0.follow_up();
        }
        self.leave(out);
    }

    fn receive(&mut self, now: Cycle, delivery: &Delivery, out: &mut Outgoing) {
        let around = self.0.around_mut();
        around.enter(now);
        around.flits += u64::from(delivery.flits);
        let content = around.surroundings.contents.take(delivery.source, delivery.flow.tag);
        self.0.receive(delivery, content);
        self.leave(out);
    }

    fn sent(&mut self, now: Cycle, rail: RailId, flow: Flow, out: &mut Outgoing) {
        self.0.around_mut().enter(now);
        self.0.sent(rail, flow.tag);
        self.leave(out);
    }

    fn answered(&mut self, now: Cycle, flow: Flow, out: &mut Outgoing) {
        self.0.around_mut().enter(now);
        self.0.answered(flow.tag);
        self.leave(out);
    }

    fn released(&mut self, now: Cycle, group: BarrierId, out: &mut Outgoing) -> bool {
        let is_it = self.0.meets_as() == Some(group);
        if is_it {
            self.0.around_mut().enter(now);
            self.0.released();
            self.leave(out);
        }
        is_it
    }

    fn next(&self) -> Option<Cycle> {
        let around = self.0.around();
        around.due.next().map(|at| around.surroundings.clock.cycles_ceil(at))
    }

    fn program(&self, process: u8) -> &dyn Program {
        self.0.program(process.into())
    }

    fn memory(&mut self) -> &mut Memory {
        &mut self.0.around_mut().memory
    }

    fn counts(&self, at: Picos) -> HostCounts {
        HostCounts { flits: self.0.around().flits, ..self.0.counts(at) }
    }

    fn under_way(&self) -> u64 {
        self.0.around().surroundings.contents.under_way() as u64
    }

    fn unanswered(&self) -> u64 {
        self.0.unanswered() as u64
    }

    fn is_idle(&self) -> bool {
        self.0.around().due.next().is_none() && self.0.is_idle()
    }
}
