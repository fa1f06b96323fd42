//! The retry protocol of a link: what makes a reliable channel of one that loses and corrupts, without time.
//!
//! Sources: th-express-2.txt section 4.3.2; `mechanisms.md` 2.3; OQ-T11, OQ-T12. The paper names the protocol, a CRC,
//! heartbeats and credits, and no more; what it leaves open is decided by checking every state of small worlds with this
//! very code (`crates/reference/src/retry`). `docs/retry-protocol.md` tells the results.
//!
//! This text is normative. When something goes out, how long that takes, how long the timer runs, and the packets themselves
//! are the caller's business: it holds one [`Sender`] for each channel that it sends on, with a queue of packets beside it
//! whose front is the oldest that is not acknowledged (the *replay buffer*), and one [`Receiver`] for each channel that it
//! hears. What the receiver has to say travels the other way, as an [`Acknowledgement`].
//!
//! # What happens on which event
//!
//! Sequence numbers are counted modulo 2^b, flits returned modulo 2^w ([`Numbers`]). At the sender: *base* is the oldest
//! packet that is not acknowledged, *held* how many there are from it on, and the *cursor* the next of them to go out; if the
//! cursor is behind all of them, a new packet is next.
//!
//! **A packet may go out**
//! * The cursor is on a packet of the replay buffer: that one goes out again, and the cursor moves on ([`Sender::replay`]).
//! * Else, if fewer than W are held: a new packet may, with the number after the last one ([`Sender::send`]). It is put into
//!   the replay buffer, and its credits are debited.
//! * Each carries an acknowledgement of the present moment; one that goes out again as well.
//!
//! **An acknowledgement(n, is NACK, counts) comes** ([`Sender::hear`])
//! * All packets before n are released from the replay buffer; a cursor on one of them moves to n.
//! * NACK, and the cursor is beyond n: it *goes back* to n. If it is on n, nothing is repeated.
//! * Of each VC as many flits come back as the count is ahead of the one heard last.
//! * It is believed whatever becomes of the packet that it came with, as long as the CRC is right.
//!
//! **The timer expires** ([`Sender::go_back`])
//! * The cursor goes back to the base. The timer runs while a packet is held; it begins again with each that is released, and
//!   when it has expired.
//!
//! **A packet comes** ([`Receiver::hear`]); e is the number that is expected
//! * CRC wrong, so nothing in it is believed: *discard*; it leaves a gap.
//! * Number e: *accept*, e + 1 is expected; there is no gap any more.
//! * One of the W numbers before e: *duplicate*; it is dropped, and that is news.
//! * Any other: *discard*; what is before it is lost, which is a gap.
//!
//! A gap is news once: the next acknowledgement, whichever it is, is a NACK. No other one follows until e has been accepted.
//!
//! **Flits leave the buffer behind the receiver** ([`Receiver::give_back`])
//! * The count of their VC moves on. That is news.
//!
//! **An acknowledgement goes out** ([`Receiver::tell`])
//! * While there is news ([`Receiver::has_news`]), within some time; and from time to time when there is none.
//! * It says e, whether it is the NACK of a gap, and the count of each VC. Then there is no news.
//!
//! **The link is trained again** (with all that was on the way in both directions lost)
//! * The sender goes back ([`Sender::go_back`]), the receiver forgets a gap and has news ([`Receiver::resume`]). Numbers,
//!   counts and the replay buffer stay as they are.
//!
//! # Rules
//!
//! Why that is so, and what it demands of those who use it.
//!
//! 1. W < 2^b. With W = 2^b a window that is sent again, because all its acknowledgements were lost, is taken for the next
//!    one. With W ≤ 2^(b - 1) duplicates can be told from packets behind a gap; with more, such packets are taken for
//!    duplicates, and the gap is found when the timer expires.
//! 2. Packets are accepted in order only. (Keeping those behind a gap needs W ≤ 2^(b - 1), and a buffer that is no FIFO.)
//! 3. A timer: a gap is found by what comes behind it, so that of a last packet, or of a NACK that is lost, is found by
//!    nobody else.
//! 4. Duplicates are answered. Else the sender of packets whose last acknowledgement is lost goes back for ever.
//! 5. One NACK for each gap: all that is in flight behind a gap is discarded, and the sender has gone back by then. A NACK for
//!    each would have it go back as often: right, but slow.
//! 6. A NACK acknowledges what is before it.
//! 7. Credits are debited when a packet goes out for the first time, and not again; dropped duplicates return none.
//! 8. What comes back is a count of all that came back so far, never an increment: the next acknowledgement heals one that
//!    was lost. No VC may have room for 2^w flits, since a count that moves on by 2^w says nothing.
//! 9. Acknowledgements go out when there is no news too: heartbeats carry one. The one that returned the last credits may
//!    have been lost, and then its sender has no packet that could bring another.
//! 10. A packet that goes out again carries the acknowledgement of that moment. An old one would be a count that runs
//!     backwards, which is one that runs far ahead.
//! 11. A channel is a FIFO that loses; both directions of a link are trained together, and no packet of before comes
//!     after.
//! 12. Training leaves numbers, counts and the replay buffer as they are, at both ends. What was accepted and not acknowledged
//!     would come twice, what was lost would never come.
//! 13. Not every packet and every acknowledgement is lost. Without this no protocol ends.

mod numbers;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub use numbers::{Numbers, RetryError, RetrySettings, Sequence};
pub use receiver::{Gap, News, Receiver, Reception};
pub use sender::{Heard, Replay, Sender};

/// What a receiver tells the sender of its channel. `VCS` is the number of virtual channels whose credits are returned so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Acknowledgement<const VCS: usize> {
    /// The number of the packet that is expected: all before it are acknowledged.
    pub expected: Sequence,
    /// Whether packets behind it came and were discarded, so that it has to come again.
    pub is_nack: bool,
    /// By VC, the flits that have left the receiver's buffer since the link was built, modulo 2^w.
    pub returned: [u16; VCS],
}
