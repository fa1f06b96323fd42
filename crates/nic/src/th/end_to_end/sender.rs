//! The end that sends.

use super::{ContextUse, DataTag, Ends, Message, PacketSet};
use flitway_wiring::NodeId;

/// The sender contexts of a NIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Senders {
    /// Each of them; open for those who read registers.
    pub contexts: Box<[SenderContext]>,
    tries: u32,
}

/// A sender context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SenderContext {
    /// Of its present use, or the next one.
    pub generation: u32,
    /// What it is used for.
    pub transfer: Option<SenderTransfer>,
}

/// A transfer at its sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SenderTransfer {
    /// Whom it is for.
    pub to: NodeId,
    /// Packets that it has.
    pub packets: u32,
    /// How far its connection is.
    pub phase: Phase,
    /// Packets that have gone out; all, if it was refused.
    pub sent: u32,
    /// Those of them that are to go out again.
    pub again: PacketSet,
    /// Time-outs and refusals since it has heard something that it goes on with.
    pub failures: u32,
    /// How many times its SETUP was refused.
    pub setup_nacks: u32,
}

impl SenderTransfer {
    /// Whether its SETUP was refused: all of its packets go out again.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.setup_nacks > 0
    }
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// SETUP is out.
    Setup,
    /// It was refused, and the sender backs off.
    BackOff,
    /// It is open to a use of a receiver context.
    Open(ContextUse),
}

/// What an answer says to a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Nothing that it did not know.
    Nothing,
    /// The transfer is open: packets may go out.
    Opened(ContextUse),
    /// No receiver context is free; that many times until now. What is ready of it is dropped.
    BacksOff(ContextUse, u32),
    /// So many packets are to go out again that were not to, or could not.
    Again(ContextUse, u32),
    /// The transfer is over: all data are where they go. RELEASE goes to the receiver.
    Done(Ends),
    /// RELEASE goes to that receiver, whose transfer is over here.
    Late(ContextUse),
    /// The sender gives up. RELEASE goes to the receiver.
    GivesUp(Ends),
}

/// What comes of a time-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimedOut {
    /// Nothing: that use is over, or backs off.
    Nothing,
    /// SETUP goes out again.
    Setup,
    /// The receiver is asked how far it is.
    Ask(ContextUse),
    /// The sender gives up; RELEASE goes to the receiver if there is one.
    GivesUp(Option<ContextUse>),
}

impl Senders {
    /// So many contexts, which give up after `tries`.
    #[must_use]
    pub fn new(contexts: u32, tries: u32) -> Self {
        Senders { contexts: (0..contexts).map(|_| SenderContext::default()).collect(), tries }
    }

    /// Whether a context is free.
    #[must_use]
    pub fn has_free(&self) -> bool {
        self.contexts.iter().any(|it| it.transfer.is_none())
    }

    /// How many are used.
    #[must_use]
    pub fn used(&self) -> u32 {
        self.contexts.iter().filter(|it| it.transfer.is_some()).count() as u32
    }

    /// A transfer of `packets` to node `to` begins: [`Senders::setup`] goes out.
    ///
    /// # Panics
    /// If no context is free.
    pub fn open(&mut self, to: NodeId, packets: u32) -> ContextUse {
        let free = self.contexts.iter().position(|it| it.transfer.is_none()).expect("a context is free");
        let context = &mut self.contexts[free];
        let again = PacketSet::default();
        let phase = Phase::Setup;
        context.transfer =
            Some(SenderTransfer { to, packets, phase, sent: 0, again, failures: 0, setup_nacks: 0 });
        ContextUse { context: free as u16, generation: context.generation }
    }

    /// The transfer of a use that is not over.
    #[must_use]
    pub fn transfer(&self, sender: ContextUse) -> Option<&SenderTransfer> {
        let context = &self.contexts[usize::from(sender.context)];
        context.transfer.as_ref().filter(|_| context.generation == sender.generation)
    }

    fn transfer_mut(&mut self, sender: ContextUse) -> Option<&mut SenderTransfer> {
        let context = &mut self.contexts[usize::from(sender.context)];
        context.transfer.as_mut().filter(|_| context.generation == sender.generation)
    }

    fn free(&mut self, sender: ContextUse) {
        let context = &mut self.contexts[usize::from(sender.context)];
        context.generation += 1;
        context.transfer = None;
    }

    /// The SETUP of a use, and for whom.
    #[must_use]
    pub fn setup(&self, sender: ContextUse) -> Option<(NodeId, Message)> {
        let transfer = self.transfer(sender)?;
        Some((transfer.to, Message::Setup { sender, packets: transfer.packets }))
    }

    /// The receiver that a use is open to.
    #[must_use]
    pub fn receiver(&self, sender: ContextUse) -> Option<ContextUse> {
        match self.transfer(sender)?.phase {
            Phase::Open(receiver) => Some(receiver),
            Phase::Setup | Phase::BackOff => None,
        }
    }

    /// An answer has come. What is not an answer says nothing to a sender.
    pub fn hear(&mut self, message: &Message) -> Heard {
        match *message {
            Message::SetupAck(ends) => self.hear_ack(ends),
            Message::SetupNack { sender } => self.hear_setup_nack(sender),
            Message::Nack { ends, first, missing, is_full } => self.hear_nack(ends, first, missing, is_full),
            Message::Done(ends) => {
                if self.receiver(ends.sender) != Some(ends.receiver) {
                    return Heard::Late(ends.receiver);
                }
                self.free(ends.sender);
                Heard::Done(ends)
            }
            Message::Setup { .. } | Message::Ask { .. } | Message::Release { .. } => Heard::Nothing,
        }
    }

    /// A receiver has a context.
    fn hear_ack(&mut self, ends: Ends) -> Heard {
        let Some(transfer) = self.transfer_mut(ends.sender) else { return Heard::Late(ends.receiver) };
        match transfer.phase {
            Phase::Open(receiver) if receiver == ends.receiver => Heard::Nothing,
            // Rule 3.
            Phase::Open(_) => Heard::Late(ends.receiver),
            Phase::Setup | Phase::BackOff => {
                transfer.phase = Phase::Open(ends.receiver);
                transfer.failures = 0;
                match transfer.again.len() {
                    0 => Heard::Opened(ends.sender),
                    packets => Heard::Again(ends.sender, packets),
                }
            }
        }
    }

    fn hear_setup_nack(&mut self, sender: ContextUse) -> Heard {
        match self.transfer_mut(sender) {
            Some(transfer) if transfer.phase == Phase::Setup => {
                transfer.phase = Phase::BackOff;
                transfer.failures = 0;
                transfer.sent = transfer.packets;
                transfer.again = (0..transfer.packets).collect();
                transfer.setup_nacks = transfer.setup_nacks.saturating_add(1);
                Heard::BacksOff(sender, transfer.setup_nacks)
            }
            _ => Heard::Nothing,
        }
    }

    fn hear_nack(&mut self, ends: Ends, first: u32, missing: u64, is_full: bool) -> Heard {
        let tries = self.tries;
        let Some(transfer) = self.transfer_mut(ends.sender) else { return Heard::Late(ends.receiver) };
        if transfer.phase != Phase::Open(ends.receiver) {
            return self.hear_ack(ends);
        }
        if is_full {
            transfer.failures = transfer.failures.saturating_add(1);
            if transfer.failures > tries {
                self.free(ends.sender);
                return Heard::GivesUp(ends);
            }
        } else if missing != 0 {
            transfer.failures = 0;
        }
        let mut more = 0;
        for bit in (0..64).filter(|bit| missing >> bit & 1 == 1) {
            let sequence = first + bit;
            if sequence < transfer.sent {
                more += u32::from(transfer.again.insert(sequence));
            }
        }
        if more == 0 { Heard::Nothing } else { Heard::Again(ends.sender, more) }
    }

    /// The next packet of a transfer goes out for the first time, if it is open and there is one.
    pub fn send(&mut self, sender: ContextUse) -> Option<DataTag> {
        let receiver = self.receiver(sender)?;
        let transfer = self.transfer_mut(sender)?;
        let sequence = transfer.sent;
        if sequence == transfer.packets {
            return None;
        }
        transfer.sent += 1;
        Some(DataTag { receiver, sequence })
    }

    /// A packet of a transfer goes out again, if one is to.
    pub fn send_again(&mut self, sender: ContextUse) -> Option<DataTag> {
        let receiver = self.receiver(sender)?;
        let transfer = self.transfer_mut(sender)?;
        let sequence = transfer.again.first()?;
        transfer.again.remove(sequence);
        Some(DataTag { receiver, sequence })
    }

    /// A back-off is over. Says whether SETUP goes out again.
    pub fn set_up_again(&mut self, sender: ContextUse) -> bool {
        let transfer = self.transfer_mut(sender);
        transfer.filter(|it| it.phase == Phase::BackOff).is_some_and(|it| {
            it.phase = Phase::Setup;
            true
        })
    }

    /// The timer of a use has expired.
    pub fn time_out(&mut self, sender: ContextUse) -> TimedOut {
        let tries = self.tries;
        let Some(transfer) = self.transfer_mut(sender) else { return TimedOut::Nothing };
        let receiver = match transfer.phase {
            Phase::BackOff => return TimedOut::Nothing,
            Phase::Setup => None,
            Phase::Open(receiver) => Some(receiver),
        };
        transfer.failures = transfer.failures.saturating_add(1);
        if transfer.failures > tries {
            self.free(sender);
            return TimedOut::GivesUp(receiver);
        }
        receiver.map_or(TimedOut::Setup, TimedOut::Ask)
    }
}
