//! The end that receives.

use super::{ContextUse, DataTag, Ends, Message, PacketSet};
use flitway_wiring::NodeId;

/// The receiver contexts of a NIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receivers {
    /// Each of them; open for those who read registers.
    pub contexts: Box<[ReceiverContext]>,
    tries: u32,
}

/// A receiver context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiverContext {
    /// Of its present use, or the next one.
    pub generation: u32,
    /// What it is used for.
    pub transfer: Option<ReceiverTransfer>,
}

/// A transfer at its receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiverTransfer {
    /// Whose it is.
    pub from: NodeId,
    /// The context there.
    pub sender: ContextUse,
    /// Packets that it has.
    pub packets: u32,
    /// Those that have come.
    pub has: PacketSet,
    /// Of those, how many have been dealt with.
    pub written: u32,
    /// All data are where they go.
    pub is_done: bool,
    /// Time-outs since something came.
    pub silent: u32,
}

/// What becomes of a packet of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reception {
    /// It goes on.
    Accept,
    /// It has come before.
    Duplicate,
    /// Its CRC is wrong: that answer goes out.
    Corrupt(Answer),
    /// Its transfer is over.
    Stale,
}

/// What a receiver says, and to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// To whom.
    pub to: NodeId,
    /// What.
    pub message: Message,
}

impl ReceiverTransfer {
    /// How far it is.
    fn status(&self, receiver: ContextUse) -> Answer {
        let ends = Ends { sender: self.sender, receiver };
        let message = if self.is_done {
            Message::Done(ends)
        } else {
            let first = self.has.first_missing().min(self.packets);
            Message::Nack { ends, first, missing: self.has.missing(first, self.packets), is_full: false }
        };
        Answer { to: self.from, message }
    }

    /// One packet has to come again.
    fn nack(&self, tag: DataTag, is_full: bool) -> Answer {
        let ends = Ends { sender: self.sender, receiver: tag.receiver };
        Answer { to: self.from, message: Message::Nack { ends, first: tag.sequence, missing: 1, is_full } }
    }
}

impl Receivers {
    /// So many contexts, which give up after `tries`.
    #[must_use]
    pub fn new(contexts: u32, tries: u32) -> Self {
        Receivers { contexts: (0..contexts).map(|_| ReceiverContext::default()).collect(), tries }
    }

    /// How many are used.
    #[must_use]
    pub fn used(&self) -> u32 {
        self.contexts.iter().filter(|it| it.transfer.is_some()).count() as u32
    }

    /// The transfer of a use that is not over.
    #[must_use]
    pub fn transfer(&self, receiver: ContextUse) -> Option<&ReceiverTransfer> {
        let context = &self.contexts[usize::from(receiver.context)];
        context.transfer.as_ref().filter(|_| context.generation == receiver.generation)
    }

    fn transfer_mut(&mut self, receiver: ContextUse) -> Option<&mut ReceiverTransfer> {
        let context = &mut self.contexts[usize::from(receiver.context)];
        context.transfer.as_mut().filter(|_| context.generation == receiver.generation)
    }

    /// SETUP of node `from` has come: SETUP_ACK or SETUP_NACK.
    pub fn setup(&mut self, from: NodeId, sender: ContextUse, packets: u32) -> Message {
        let is_of = |it: &ReceiverContext| {
            it.transfer.as_ref().is_some_and(|it| (it.from, it.sender) == (from, sender))
        };
        let held = self.contexts.iter().position(is_of);
        let place = held.or_else(|| self.contexts.iter().position(|it| it.transfer.is_none()));
        let Some(place) = place else { return Message::SetupNack { sender } };
        let context = &mut self.contexts[place];
        if held.is_none() {
            let has = PacketSet::default();
            context.transfer =
                Some(ReceiverTransfer { from, sender, packets, has, written: 0, is_done: false, silent: 0 });
        }
        let receiver = ContextUse { context: place as u16, generation: context.generation };
        Message::SetupAck(Ends { sender, receiver })
    }

    /// A packet of data has come, whole or not.
    pub fn data(&mut self, tag: DataTag, is_intact: bool) -> Reception {
        let Some(transfer) = self.transfer_mut(tag.receiver) else { return Reception::Stale };
        transfer.silent = 0;
        if transfer.has.contains(tag.sequence) {
            Reception::Duplicate
        } else if is_intact {
            transfer.has.insert(tag.sequence);
            Reception::Accept
        } else {
            Reception::Corrupt(transfer.nack(tag, false))
        }
    }

    /// A packet that was accepted has been dealt with. Says whether all are now; nothing if that use is over.
    pub fn written(&mut self, receiver: ContextUse) -> Option<bool> {
        let transfer = self.transfer_mut(receiver)?;
        transfer.written += 1;
        Some(transfer.written == transfer.packets)
    }

    /// A packet that was accepted, or the event of the transfer that it completed, finds no room: it has to come again.
    pub fn refuse(&mut self, tag: DataTag) -> Option<Answer> {
        let transfer = self.transfer_mut(tag.receiver)?;
        if transfer.written == transfer.packets {
            transfer.written -= 1;
        }
        transfer.has.remove(tag.sequence);
        Some(transfer.nack(tag, true))
    }

    /// All data of a transfer are where they go: DONE.
    pub fn finish(&mut self, receiver: ContextUse) -> Option<Answer> {
        let transfer = self.transfer_mut(receiver)?;
        transfer.is_done = true;
        Some(transfer.status(receiver))
    }

    /// A sender has asked how far a receiver is.
    pub fn ask(&mut self, receiver: ContextUse) -> Option<Answer> {
        let transfer = self.transfer_mut(receiver)?;
        transfer.silent = 0;
        Some(transfer.status(receiver))
    }

    /// A sender has said that a transfer is over. Says whether that is news.
    pub fn release(&mut self, receiver: ContextUse) -> bool {
        let is_held = self.transfer(receiver).is_some();
        if is_held {
            let context = &mut self.contexts[usize::from(receiver.context)];
            context.generation += 1;
            context.transfer = None;
        }
        is_held
    }

    /// The timer of a use has expired: what is said then. Nothing if it is over, or is so now since it has given up.
    pub fn time_out(&mut self, receiver: ContextUse) -> Option<Answer> {
        let tries = self.tries;
        let transfer = self.transfer_mut(receiver)?;
        transfer.silent = transfer.silent.saturating_add(1);
        if transfer.silent > tries {
            self.release(receiver);
            return None;
        }
        Some(transfer.status(receiver))
    }
}
