//! What the two ends do, with deviations.

use super::deviation::Deviation;
use super::wire::{Back, Forward, Use};
use super::world::{Fate, Open, Receiving, Sending, Slot, Snapshot, Violation, World};
use flitway_nic::th::end_to_end::{
    DataTag, Heard, Message, PacketSet, Phase, ReceiverTransfer, Receivers, Reception, SenderTransfer,
    Senders, TimedOut,
};
use flitway_wiring::NodeId;

const SENDER: NodeId = NodeId(0);
const RECEIVER: NodeId = NodeId(1);

fn set(mask: u8) -> PacketSet {
    (0..8).filter(|bit| mask >> bit & 1 == 1).collect()
}

fn mask(set: &PacketSet) -> u8 {
    set.iter().fold(0, |mask, packet| mask | 1 << packet)
}

impl World {
    fn tries(&self) -> u32 {
        self.tries.map_or(u32::MAX, u32::from)
    }

    /// Numbers of failures, where they matter.
    fn failures(&self, count: u32) -> u8 {
        if self.tries.is_some() { count as u8 } else { 0 }
    }

    fn generation(&self, generation: u32) -> u8 {
        if self.deviates(Deviation::NarrowGenerations) { generation as u8 & 1 } else { generation as u8 }
    }

    /// The contexts of the sender, as the protocol has them.
    fn senders(&self, now: &Snapshot) -> Senders {
        let mut all = Senders::new(self.senders as u32, self.tries());
        for (context, slot) in all.contexts.iter_mut().zip(&now.senders) {
            context.generation = slot.generation.into();
            context.transfer = slot.used.map(|it| SenderTransfer {
                to: RECEIVER,
                packets: self.packets.into(),
                phase: match it.open {
                    Open::Setup => Phase::Setup,
                    Open::BackOff => Phase::BackOff,
                    Open::To(receiver) => Phase::Open(receiver.wide()),
                },
                sent: it.sent.into(),
                again: set(it.again),
                failures: it.failures.into(),
                setup_nacks: 0,
            });
        }
        all
    }

    /// Puts them back; `operation` is that of a new one.
    fn put_senders(&self, now: &mut Snapshot, all: &Senders, operation: u8) {
        for (slot, context) in now.senders.iter_mut().zip(&all.contexts) {
            let operation = slot.used.map_or(operation, |it| it.operation);
            let used = context.transfer.as_ref().map(|it| Sending {
                operation,
                open: match it.phase {
                    Phase::Setup => Open::Setup,
                    Phase::BackOff => Open::BackOff,
                    Phase::Open(receiver) => Open::To(Use::of(receiver)),
                },
                sent: it.sent as u8,
                again: mask(&it.again),
                failures: self.failures(it.failures),
            });
            *slot = Slot { generation: self.generation(context.generation), used };
        }
    }

    fn receivers(&self, now: &Snapshot) -> Receivers {
        let mut all = Receivers::new(self.receivers as u32, self.tries());
        for (context, slot) in all.contexts.iter_mut().zip(&now.receivers) {
            context.generation = slot.generation.into();
            context.transfer = slot.used.map(|it| ReceiverTransfer {
                from: SENDER,
                sender: it.sender.wide(),
                packets: self.packets.into(),
                has: set(it.has),
                written: it.has.count_ones(),
                is_done: it.is_done,
                silent: it.silent.into(),
            });
        }
        all
    }

    fn put_receivers(&self, now: &mut Snapshot, all: &Receivers, operation: u8) {
        for (slot, context) in now.receivers.iter_mut().zip(&all.contexts) {
            let (operation, right) = slot.used.map_or((operation, 0), |it| (it.operation, it.right));
            let used = context.transfer.as_ref().map(|it| Receiving {
                sender: Use::of(it.sender),
                operation,
                has: mask(&it.has),
                right: right & mask(&it.has),
                is_done: it.is_done,
                silent: self.failures(it.silent),
            });
            *slot = Slot { generation: self.generation(context.generation), used };
        }
    }

    fn tell(&self, now: &mut Snapshot, packet: Forward) {
        now.forward.push(packet, self.forward);
    }

    fn answer(&self, now: &mut Snapshot, message: Message) {
        now.back.push(Back::of(message), self.back);
    }

    fn release(&self, now: &mut Snapshot, receiver: Use) {
        self.tell(now, Forward::Release(receiver));
    }

    pub(super) fn begin(&self, now: &mut Snapshot) {
        let operation = now.fates.iter().position(|fate| !fate.is_begun).expect("one has not begun");
        now.fates[operation].is_begun = true;
        self.begin_of(now, operation as u8);
    }

    fn begin_of(&self, now: &mut Snapshot, operation: u8) {
        let mut all = self.senders(now);
        let sender = all.open(RECEIVER, self.packets.into());
        self.put_senders(now, &all, operation);
        self.tell(now, Forward::Setup(Use::of(sender), operation));
    }

    fn sender(now: &Snapshot, context: u8) -> (Use, Sending) {
        let slot = now.senders[usize::from(context)];
        (Use { context, generation: slot.generation }, slot.used.expect("it is used"))
    }

    fn receiver(now: &Snapshot, context: u8) -> (Use, Receiving) {
        let slot = now.receivers[usize::from(context)];
        (Use { context, generation: slot.generation }, slot.used.expect("it is used"))
    }

    pub(super) fn send(&self, now: &mut Snapshot, context: u8) -> Option<Violation> {
        let (sender, Sending { operation, .. }) = Self::sender(now, context);
        let mut all = self.senders(now);
        let tag = all.send(sender.wide()).expect("one may go out");
        let is_last = tag.sequence + 1 == u32::from(self.packets);
        self.put_senders(now, &all, operation);
        self.tell(now, Forward::data(tag, operation));
        let is_told = is_last && self.deviates(Deviation::ToldWhenSent);
        is_told.then(|| self.told(now, operation)).flatten()
    }

    pub(super) fn send_again(&self, now: &mut Snapshot, context: u8) {
        let (sender, Sending { operation, .. }) = Self::sender(now, context);
        let mut all = self.senders(now);
        let tag = all.send_again(sender.wide()).expect("one is to go out again");
        self.put_senders(now, &all, operation);
        self.tell(now, Forward::data(tag, operation));
    }

    pub(super) fn set_up_again(&self, now: &mut Snapshot, context: u8) {
        let (sender, Sending { operation, .. }) = Self::sender(now, context);
        let mut all = self.senders(now);
        assert!(all.set_up_again(sender.wide()), "it backs off");
        self.put_senders(now, &all, operation);
        self.tell(now, Forward::Setup(sender, operation));
    }

    pub(super) fn time_out(&self, now: &mut Snapshot, context: u8) {
        let (sender, Sending { operation, .. }) = Self::sender(now, context);
        let mut all = self.senders(now);
        let expired = all.time_out(sender.wide());
        self.put_senders(now, &all, operation);
        match expired {
            TimedOut::Nothing => {}
            TimedOut::Setup => self.tell(now, Forward::Setup(sender, operation)),
            TimedOut::Ask(receiver) => self.tell(now, Forward::Ask(Use::of(receiver))),
            TimedOut::GivesUp(receiver) => {
                if let Some(receiver) = receiver {
                    self.release(now, Use::of(receiver));
                }
                self.give_up(now, operation);
            }
        }
    }

    fn give_up(&self, now: &mut Snapshot, operation: u8) {
        // Once is enough.
        let begins_again = now.senders[0].generation == 1 && self.deviates(Deviation::BeginsAgain);
        if begins_again {
            self.begin_of(now, operation);
        } else {
            now.fates[usize::from(operation)].is_over = true;
        }
    }

    pub(super) fn receiver_time_out(&self, now: &mut Snapshot, context: u8) {
        let (receiver, Receiving { operation, .. }) = Self::receiver(now, context);
        let mut all = self.receivers(now);
        let answer = all.time_out(receiver.wide());
        self.put_receivers(now, &all, operation);
        if let Some(answer) = answer {
            self.answer(now, answer.message);
        }
    }

    pub(super) fn finish(&self, now: &mut Snapshot, context: u8) -> Option<Violation> {
        let (receiver, Receiving { operation, right, .. }) = Self::receiver(now, context);
        let mut all = self.receivers(now);
        let answer = all.finish(receiver.wide()).expect("it is used");
        if self.deviates(Deviation::DoneForgets) {
            all.release(receiver.wide());
        }
        self.put_receivers(now, &all, operation);
        self.answer(now, answer.message);
        let fate = &mut now.fates[usize::from(operation)];
        if std::mem::replace(&mut fate.is_delivered, true) {
            return Some(Violation::Twice);
        }
        (right + 1 != 1 << self.packets).then_some(Violation::Wrong)
    }

    pub(super) fn refuse(&self, now: &mut Snapshot, context: u8, packet: u8) {
        let (receiver, Receiving { operation, .. }) = Self::receiver(now, context);
        let mut all = self.receivers(now);
        let answer = all.refuse(DataTag { receiver: receiver.wide(), sequence: packet.into() });
        self.put_receivers(now, &all, operation);
        self.answer(now, answer.expect("it is used").message);
    }

    /// Something comes to the receiver.
    pub(super) fn hear(&self, now: &mut Snapshot, packet: Forward, is_intact: bool) {
        let mut all = self.receivers(now);
        match packet {
            Forward::Setup(sender, operation) => {
                let answer = all.setup(SENDER, sender.wide(), self.packets.into());
                self.put_receivers(now, &all, operation);
                self.answer(now, answer);
            }
            Forward::Data(receiver, packet, operation) => {
                self.hear_data(now, all, (receiver, packet, operation), is_intact);
            }
            Forward::Ask(receiver) => {
                let answer = all.ask(receiver.wide());
                self.put_receivers(now, &all, 0);
                if let Some(answer) = answer {
                    self.answer(now, answer.message);
                }
            }
            Forward::Release(receiver) => {
                all.release(receiver.wide());
                self.put_receivers(now, &all, 0);
            }
        }
    }

    fn hear_data(
        &self,
        now: &mut Snapshot,
        mut all: Receivers,
        (mut receiver, packet, operation): (Use, u8, u8),
        is_intact: bool,
    ) {
        if self.deviates(Deviation::ReceiverUnnamed) {
            receiver.generation = now.receivers[usize::from(receiver.context)].generation;
        }
        let tag = DataTag { receiver: receiver.wide(), sequence: packet.into() };
        let believed = is_intact || self.deviates(Deviation::CrcUnchecked);
        let mut reception = all.data(tag, believed);
        let mut right = u8::from(is_intact) << packet;
        if reception == Reception::Duplicate && self.deviates(Deviation::DuplicatesCount) {
            let other = DataTag { sequence: 1 - tag.sequence, ..tag };
            reception = all.data(other, true);
            right = 0;
        }
        self.put_receivers(now, &all, operation);
        match reception {
            Reception::Accept => {
                let used = now.receivers[usize::from(receiver.context)].used.as_mut().expect("it is used");
                if used.operation == operation {
                    used.right |= right;
                }
            }
            Reception::Corrupt(answer) => self.answer(now, answer.message),
            Reception::Duplicate | Reception::Stale => {}
        }
    }

    /// What the sender takes an answer for.
    fn misheard(&self, now: &mut Snapshot, mut answer: Back) -> Back {
        let context = answer.uses().0.context;
        let slot = &mut now.senders[usize::from(context)];
        if self.deviates(Deviation::SenderUnnamed) {
            let (sender, receiver) = answer.uses();
            sender.generation = slot.generation;
            if let (Some(receiver), Some(Sending { open: Open::To(its), .. })) = (receiver, slot.used) {
                *receiver = its;
            }
        }
        if self.deviates(Deviation::SecondBelieved)
            && let (Back::Ack(sender, receiver), Some(sending)) = (answer, slot.used.as_mut())
            && sender.generation == slot.generation
            && sending.open != Open::To(receiver)
        {
            sending.open = Open::Setup;
        }
        answer
    }

    /// Something comes back to the sender.
    pub(super) fn hear_back(&self, now: &mut Snapshot, answer: Back) -> Option<Violation> {
        let mut answer = self.misheard(now, answer);
        let context = answer.uses().0.context;
        let operation = now.senders[usize::from(context)].used.map_or(0, |it| it.operation);
        let mut all = self.senders(now);
        let heard = all.hear(&answer.message());
        self.put_senders(now, &all, operation);
        match heard {
            Heard::Nothing | Heard::Opened(_) | Heard::BacksOff(..) | Heard::Again(..) => None,
            Heard::Late(_) if self.deviates(Deviation::LateUnanswered) => None,
            Heard::Late(receiver) => {
                self.release(now, Use::of(receiver));
                None
            }
            Heard::GivesUp(ends) => {
                self.release(now, Use::of(ends.receiver));
                self.give_up(now, operation);
                None
            }
            Heard::Done(ends) => {
                self.release(now, Use::of(ends.receiver));
                self.told(now, operation)
            }
        }
    }

    /// The process of the sender is told of an operation.
    fn told(&self, now: &mut Snapshot, operation: u8) -> Option<Violation> {
        let fate: &mut Fate = &mut now.fates[usize::from(operation)];
        fate.is_over = true;
        (!fate.is_delivered).then_some(Violation::TooEarly)
    }
}
