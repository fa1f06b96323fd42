//! Deviations from the protocol: what people get wrong.
//!
//! The production code has no way to break its rules, and needs none: what it hears and says is changed on the way, or put
//! back after it ([`super::ends`]).

/// What a world does otherwise than the protocol says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deviation {
    /// Rule 1: data name a receiver context, not its use.
    ReceiverUnnamed,
    /// Rule 2: answers name a sender context, not its use, and are believed whoever they are from.
    SenderUnnamed,
    /// Rule 3: a sender goes over to the context that it hears of last.
    SecondBelieved,
    /// Rule 4: the receiver frees its context with DONE.
    DoneForgets,
    /// Rule 5: a sender does not answer what it hears of a transfer that is over.
    LateUnanswered,
    /// Rule 6: the receiver has no timer.
    NoReceiverTimer,
    /// Rule 7: the sender has no timer.
    NoSenderTimer,
    /// Rule 8: a duplicate counts as the packet that is missing.
    DuplicatesCount,
    /// Rule 9: a sender that gives up begins again.
    BeginsAgain,
    /// Rule 10: generations have one bit.
    NarrowGenerations,
    /// The CRC of data is not checked.
    CrcUnchecked,
    /// A SETUP that is refused is not said again.
    NackEnds,
    /// The sender tells its process when all packets have gone out.
    ToldWhenSent,
}
