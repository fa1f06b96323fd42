//! Deviations from the protocol: what people get wrong.
//!
//! The production code has no way to break its rules, and needs none: what it hears and says is changed on the way, or put
//! back after it ([`super::ends`]).

/// What a world does otherwise than the protocol says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deviation {
    /// Rule 1: the wire carries a bit less of sequence numbers than the window needs.
    SequenceTooNarrow,
    /// Rule 2: a copy of the packet behind the expected one is kept, and delivered behind it.
    OutOfOrderKept,
    /// Rule 3: there is no timer.
    NoTimer,
    /// Rule 4: duplicates are not answered.
    DuplicatesUnanswered,
    /// Rule 5: a NACK for each packet that is discarded.
    NackForEach,
    /// Rule 5, the other way: a NACK is heard as any acknowledgement.
    NoNack,
    /// Rule 5, the other way: a NACK that comes while the sender replays is not heeded.
    NackUnheededInReplay,
    /// Rule 6: the number in an acknowledgement is taken for the last packet that came, not for the next.
    NumberOfTheLast,
    /// Rule 7: a packet that goes out again costs credits again.
    DebitedAgain,
    /// Rule 7: a duplicate that is dropped returns credits.
    DuplicatesReturned,
    /// Rule 8: acknowledgements carry the flits returned since the one before.
    Increments,
    /// Rule 8: the wire carries a bit less of counts than the buffer needs.
    CountTooNarrow,
    /// Rule 10: packets of the other direction that go out again carry the acknowledgement of the first time.
    OldAcknowledgements,
    /// Rule 11: packets overtake each other.
    PacketsOvertake,
    /// Rule 11: acknowledgements overtake each other.
    AnswersOvertake,
    /// Rule 12: training has sequence numbers begin again, at both ends; the replay buffer is kept.
    TrainingRenumbers,
    /// Rule 12: training has the receiver begin again, and the sender not.
    TrainingRenumbersReceiver,
    /// Rule 12: training empties the replay buffer, and has sequence numbers begin again.
    TrainingEmpties,
    /// Rule 12: training gives the sender all credits, and has counts begin again.
    TrainingRefills,
}
