//! The protocol of reliable operations, from end to end, without time (th-express-2.txt, sections 2.2.3 and 4.2.4;
//! `mechanisms.md` 2.8; OQ-T7, OQ-T19).
//!
//! The paper names contexts of senders and receivers, a connection that is set up before each transfer and closed at its end,
//! a user-level CRC, a time-out and what happens when contexts run out. What it leaves open is decided by looking at every
//! state of small worlds with this very code (`crates/reference/src/end_to_end`). `docs/end-to-end-protocol.md` tells the
//! results.
//!
//! This text is normative. When something goes out, how long that takes, how long timers run, and the data are the caller's
//! business: a NIC holds [`Senders`] for the transfers that it sends and [`Receivers`] for those that it receives.
//!
//! # Contexts and their uses
//!
//! A *transfer* is so many packets from one node to another, numbered from 0. While it lasts it has a context at its sender and
//! one at its receiver. A context is used again and again; a [`ContextUse`] is the context and its *generation*, which is one
//! higher with each use. A packet names uses, not contexts, so what is late, of an older use, fits none.
//!
//! # What happens on which event
//!
//! **A transfer begins** at the sender ([`Senders::open`]): it takes the free context with the lowest number and says
//! SETUP(its use, packets). If no context is free it does not begin.
//!
//! **SETUP(s, packets) comes** ([`Receivers::setup`])
//! * A context is held by use s of that node: SETUP_ACK(s, r), r being the use of that context.
//! * Else the free context with the lowest number is taken for it: SETUP_ACK(s, r).
//! * If none is free: SETUP_NACK(s).
//!
//! **SETUP_ACK(s, r) comes** ([`Senders::hear`])
//! * s is not open yet: it is *open* to r now, and its packets may go out, in order, each for the first time as DATA(r, n); if
//!   it was refused, all of them again.
//! * s is open to r: nothing.
//! * s is over, or open to another use: RELEASE(r).
//!
//! **SETUP_NACK(s) comes**, and s is not open and does not back off already: it *backs off*; it says SETUP(s) again when that
//! is over ([`Senders::set_up_again`]). It is *refused*: from now on its packets are as if all had gone out and were to go out
//! again, and who has some of them ready drops them. Otherwise nothing happens.
//!
//! **DATA(r, n) comes** ([`Receivers::data`])
//! * r is over: *stale*; it is dropped.
//! * r has packet n: *duplicate*; it is dropped.
//! * Its CRC is wrong: *corrupt*; it is dropped, and NACK(s, r, n) goes out.
//! * Else *accept*: r has packet n. There may be gaps before it.
//!
//! **An accepted packet finds no room where it goes** ([`Receivers::refuse`]): r does not have it any more, and a NACK(s, r, n)
//! goes out that says so (*full*).
//!
//! **All packets of a transfer are dealt with** ([`Receivers::finish`]): DONE(s, r). The context is kept.
//!
//! **NACK(s, r, missing) comes**
//! * s is open to r: those missing ones that have gone out go out again ([`Senders::send_again`]), the lowest number first.
//! * s is not open yet: it is open to r now.
//! * s is over, or open to another use: RELEASE(r).
//!
//! **DONE(s, r) comes**
//! * s is open to r: the transfer is over, the sender's process may be told; the context is free. RELEASE(r).
//! * Otherwise: RELEASE(r).
//!
//! **RELEASE(r) comes** ([`Receivers::release`]), and r is not over: its context is free.
//!
//! **The sender's timer expires** ([`Senders::time_out`])
//! * s is not open: SETUP(s) again. It does not run while s backs off.
//! * s is open to r: ASK(r).
//!
//! **ASK(r) comes, or the receiver's timer expires** ([`Receivers::ask`], [`Receivers::time_out`]), and r is not over: the
//! receiver says how far it is: DONE(s, r), or a NACK of up to 64 numbers, of which the first is the first that it does not
//! have; it may say that none is missing.
//!
//! **Either end gives up**: the sender when its timer has expired, or it was told *full*, more than so many times since
//! anything else was heard that it goes on with (SETUP_ACK, SETUP_NACK, a NACK that is not *full* and says that something is
//! missing): its context is free, and if it was open RELEASE(r) goes out. The receiver when its timer has expired more than so
//! many times since something came for r: its context is free.
//!
//! # Rules
//!
//! Why that is so.
//!
//! 1. A packet is accepted by the use of a receiver context, not by the context: a late SETUP makes a context for a transfer
//!    that is over, and late DATA of that would be delivered to it, again.
//! 2. An answer is heard by the use of a sender context: the DONE of an older transfer would have the sender tell its process
//!    of a transfer that has not arrived.
//! 3. A sender stays with the first receiver use that it hears of. A second one is of a SETUP that came late, when the receiver
//!    had given up the first; data for both would be delivered twice.
//! 4. The receiver keeps its context after DONE until RELEASE: a DONE that is lost is said again when it is asked for. (Nobody
//!    can know that the *last* packet of a protocol has arrived: here that is RELEASE, and if it is lost the receiver says DONE
//!    again, which the sender answers without knowing the transfer any more. So what is in doubt is never whether data were
//!    delivered, only when a context is free.)
//! 5. So what fits no use is answered by RELEASE, if a receiver waits for an answer.
//! 6. The receiver has a timer, too: a RELEASE that is lost, and a context for a late SETUP, are known to nobody else.
//! 7. The sender has a timer: a SETUP that is lost is known to nobody else.
//! 8. Duplicates are dropped by number, and count for nothing.
//! 9. A sender that gives up does not begin again: it cannot know whether its data were delivered. It has its process not told
//!    of anything. A transfer is delivered at most once, whatever happens.
//! 10. Generations do not come back while a packet of the older use may be in the network: here they have 32 bits.
//! 11. A transfer that is refused holds nothing but its context: packets that it kept could be in the way of the transfer whose
//!     end it waits for, and that one would wait for ever, since a refusal is no failure.
//! 12. Not every packet is lost. Without this no protocol ends; with it, and without giving up, every transfer is delivered
//!     once, and its sender hears so.
//!
//! A receiver context may be used again as soon as RELEASE has come, since the sender has said so about this very use, and
//! sends nothing for it any more; what is in the network for it is stale then.

mod packets;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub use packets::PacketSet;
pub use receiver::{Answer, ReceiverContext, ReceiverTransfer, Receivers, Reception};
pub use sender::{Heard, Phase, SenderContext, SenderTransfer, Senders, TimedOut};

/// One use of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContextUse {
    /// The number of the context at its node.
    pub context: u16,
    /// How often it was used before.
    pub generation: u32,
}

/// Both ends of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ends {
    /// At the sender.
    pub sender: ContextUse,
    /// At the receiver.
    pub receiver: ContextUse,
}

/// What names a packet of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DataTag {
    /// At the receiver.
    pub receiver: ContextUse,
    /// Which packet of the transfer.
    pub sequence: u32,
}

/// What goes from end to end beside data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// A sender asks for a context.
    Setup {
        /// Who.
        sender: ContextUse,
        /// Packets of its transfer.
        packets: u32,
    },
    /// It has one.
    SetupAck(Ends),
    /// None is free.
    SetupNack {
        /// For whom.
        sender: ContextUse,
    },
    /// A sender asks how far a receiver is.
    Ask {
        /// Whom.
        receiver: ContextUse,
    },
    /// Packets are missing.
    Nack {
        /// Of which transfer.
        ends: Ends,
        /// Which: bit i is packet `first` + i.
        first: u32,
        /// The same.
        missing: u64,
        /// They have come, and found no room.
        is_full: bool,
    },
    /// All data are where they go.
    Done(Ends),
    /// The transfer is over at the sender.
    Release {
        /// The receiver that may forget it.
        receiver: ContextUse,
    },
}
