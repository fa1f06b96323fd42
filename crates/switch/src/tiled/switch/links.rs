//! Links that are trained or down, switches that die, and what is lost with them. The paragraph *Faults* of the normative text.

use super::{Buffer, Output, Step, Switch};
use crate::tiled::mask::Mask;
use crate::tiled::packet_state::{Inbox, Rare};
use crate::tiled::{Cx, Shared};
use flitway_engine::Cycle;
use flitway_fabric::LossCause;
use flitway_fabric::bits::bits;
use flitway_fabric::observer::Observer;
use flitway_fabric::pool::{Ring, Slot};

impl Output {
    /// Whether what the switch accepts in cycle `now` at this port has been heard.
    pub(super) fn hears(&self, shared: &Shared, now: Cycle) -> bool {
        let received = Cycle(now.0 - u64::from(shared.settings.pipeline.input));
        self.sender.as_ref().is_none_or(|sender| sender.hears(received))
    }

    /// A packet of so many flits is accepted at this port.
    pub(super) fn note_accepted(&mut self, flits: u32) {
        if let Some(unreliable) = self.sender.as_mut().and_then(|sender| sender.unreliable()) {
            unreliable.note_accepted(flits);
        }
    }

    /// When something happens to its link next.
    fn link_next(&mut self) -> Cycle {
        let training = self.sender.as_mut().and_then(|sender| sender.training());
        training.map_or(Cycle::NEVER, |training| training.next())
    }
}

impl<M: Mask> Switch<M> {
    /// Looks at each link when something happens to it, and at all when the switch dies.
    pub(super) fn expect_faults(&mut self) {
        (0..self.outputs.len()).for_each(|port| self.expect_of_link(port));
        if self.death < Cycle::NEVER {
            self.schedule(Step::Link, 0, self.death);
        }
    }

    fn expect_of_link(&mut self, port: usize) {
        let next = self.outputs[port].link_next();
        if next < Cycle::NEVER {
            self.schedule(Step::Link, port, next);
        }
    }

    #[cold]
    pub(super) fn receive_rare(&mut self, inbox: &mut Inbox, start: Cycle) {
        for rare in inbox.rare.drain(..) {
            let (Rare::Signal(port, _) | Rare::GivenUp(port, _)) = rare;
            let port = usize::from(port);
            let training = self.outputs[port].sender.as_mut().and_then(|sender| sender.training());
            let Some(training) = training else { unreachable!("who hears of links has one") };
            let at = match rare {
                Rare::Signal(_, signal) => {
                    let at = signal.at;
                    training.expect(*signal);
                    at
                }
                Rare::GivenUp(_, given_up) => {
                    let at = given_up.at;
                    training.expect_given_up(given_up);
                    at
                }
            };
            self.schedule(Step::Link, port, at.max(start));
        }
    }

    /// Step 1 of the link of `port`, as far as it is about its state.
    #[cold]
    pub(super) fn train<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, port: usize) {
        if self.death <= now && !self.is_dead {
            self.die(cx, now);
        }
        self.train_link(cx, now, port);
        if port + 1 == self.outputs.len() {
            self.tell_loads(cx, now);
        }
    }

    fn train_link<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, port: usize) {
        let Output { sender, load, .. } = &mut self.outputs[port];
        let Some(sender) = sender else { return };
        let input = &mut self.inputs[port];
        input.settle(cx.shared, now);
        let has_changed = sender.train(cx, now, &mut input.receiver, |vc, flits| load[vc] -= flits);
        if has_changed {
            self.schedule(Step::Output, port, now);
            self.schedule(Step::Ack, port, now);
        }
        self.expect_of_link(port);
    }

    /// The switch dies in cycle `now`, with all packets in it.
    fn die<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        self.is_dead = true;
        for port in 0..self.inputs.len() {
            let receiver = &mut self.inputs[port].receiver;
            receiver.end_leaving(cx.shared, now);
            for queue in 0..self.vcs * self.columns {
                let queue = std::mem::take(&mut self.input_queues[port * self.vcs * self.columns + queue]);
                let held: Vec<(u8, u16)> =
                    cx.shared.pools.states.iter_ring(queue).map(|state| (state.vc, state.flits)).collect();
                for (vc, flits) in held {
                    self.inputs[port].receiver.give_back(cx.shared, now, vc.into(), flits.into());
                }
                self.lose_queue(cx, now, queue);
            }
        }
        self.input_columns.fill(M::NONE);
        self.input_vcs.fill(0);
        for number in 0..self.rows_in.len() {
            let buffer = std::mem::take(&mut self.rows_in[number]);
            self.lose_buffer(cx, now, &buffer);
        }
        for number in 0..self.columns_in.len() {
            let buffer = std::mem::take(&mut self.columns_in[number]);
            self.lose_buffer(cx, now, &buffer);
        }
        self.offering.fill(M::NONE);
        self.leaving.fill(M::NONE);
        (self.inside, self.starved) = (0, 0);
        for port in 0..self.outputs.len() {
            (self.outputs[port].waiting, self.outputs[port].is_starved) = (0, false);
            if let Some(sender) = &mut self.outputs[port].sender {
                sender.die(now);
                self.expect_of_link(port);
            }
        }
    }

    fn lose_buffer<O: Observer>(&self, cx: &mut Cx<'_, O>, now: Cycle, buffer: &Buffer) {
        bits(buffer.waiting.into()).for_each(|vc| self.lose_queue(cx, now, buffer.queues[vc]));
    }

    fn lose_queue<O: Observer>(&self, cx: &mut Cx<'_, O>, now: Cycle, mut queue: Ring) {
        while !queue.is_empty() {
            let slot = cx.shared.pools.states.unlink_from_ring(&mut queue);
            self.lose(cx, now, slot, LossCause::InDeadSwitch);
        }
    }

    /// The packet in `slot` is lost.
    fn lose<O: Observer>(&self, cx: &mut Cx<'_, O>, now: Cycle, slot: Slot, cause: LossCause) {
        let state = cx.shared.pools.states.take(slot);
        cx.counters.lose(&state.loss(now, self.number, cause), cx.observer);
    }

    /// The packet in `slot`, which has just been accepted at `input`, has nowhere to go.
    #[cold]
    pub(super) fn lose_without_route<O: Observer>(
        &mut self,
        cx: &mut Cx<'_, O>,
        now: Cycle,
        input: usize,
        slot: Slot,
    ) {
        let state = &cx.shared.pools.states[slot];
        let (vc, flits) = (usize::from(state.vc), u32::from(state.flits));
        self.lose(cx, now, slot, LossCause::NoRoute);
        self.inputs[input].receiver.give_back(cx.shared, now, vc, flits);
        let it = &self.inputs[input];
        let (due, left_at) = (it.receiver.due(cx.shared), it.free_at);
        let is_leaving = it.receiver.leaving().0 > 0;
        self.look_at_ack(input, due.max(now));
        if is_leaving {
            // With this one it may be enough for an acknowledgement when that has left.
            self.look_at_ack(input, left_at.max(now));
        }
    }

    /// The link of `output` is down: a packet that it would take leaves its column buffer, and is lost.
    #[cold]
    pub(super) fn discard<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, output: usize) {
        let it = &mut self.outputs[output];
        it.hear(cx.shared, now);
        let Some(sender) = &mut it.sender else { return };
        if it.waiting == 0 {
            return;
        }
        if sender.free_at > now {
            let free_at = sender.free_at;
            return self.schedule(Step::Output, output, free_at);
        }
        let requests = self.requests_of_link(cx.shared, now, output);
        if requests.vcs == 0 {
            return;
        }
        let vc = self.arbiters.output_vc.grant(output, requests.vcs);
        let row = requests.places[vc].grant(&mut self.arbiters.output_row, output * self.vcs + vc);
        let parts = cx.shared.parts.column;
        let slot =
            self.columns_in[output * self.rows + row].read(&mut cx.shared.pools.states, parts, now, vc);
        let flits = cx.shared.pools.states[slot].flits;
        let until = now + u64::from(flits);
        let it = &mut self.outputs[output];
        it.load[vc] -= u32::from(flits);
        if let Some(sender) = &mut it.sender {
            sender.free_at = until;
        }
        self.lose(cx, now, slot, LossCause::LinkDown);
        self.has_left(output, row, flits, until);
    }
}
