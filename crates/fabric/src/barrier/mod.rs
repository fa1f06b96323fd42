//! Barriers inside the switch: the protocol of one group in one component, without time and without packets in flight.
//!
//! Sources: hpp-switch.txt sections 2.2 and 2.4; dawning5000.txt sections 4.2 and 4.3; `mechanisms.md` 1.7; OQ-H7,
//! OQ-H8, OQ-H14, OQ-H18. What the papers leave open is decided by checking every state of small worlds with this very
//! code (`crates/reference/src/barrier`); `docs/barrier-protocol.md` tells the results.
//!
//! This text is normative. What carries the packets, how long that takes, how long the timers run, and what a group's
//! number is, is the caller's business: it holds one [`State`] for each group and component.
//!
//! # The tree
//!
//! The switches and nodes of a group form a tree, written into every member by out-of-band management ([`Place`]): a
//! mask of the ports with children, and the port of the parent or none at the root. *Combine* goes up when everybody
//! below has arrived, *distribute* comes down when everybody has. Both can be lost, and a link only checks and drops;
//! so a *combine-ACK* answers each combine, and a child that waits for a distribute for long asks for it with a
//! *distribute-dun*. Each hop mends its own losses, nothing goes from end to end.
//!
//! # What happens on which event
//!
//! `S` is the sequence bit of the current operation, `s` that of a packet. Packets are sent in the order given.
//!
//! **Combine(s) from child c**
//! * `s = S`, bit c clear: set bit c. If now all bits are set at the root: *complete*, without an ACK. Elsewhere: ack(s) to
//!   c; if now all bits are set, combine(S) to the parent, arm the retransmission timer ([`DunStart::AtCombine`]: and the
//!   dun timer), phase *wait for ACK*.
//! * `s = S`, bit c set: ack(s) to c.
//! * `s != S`: ack(s), then distribute(s), to c.
//!
//! **Ack(s) from the parent**
//! * `s = S`, phase *wait for ACK*: stop the retransmission timer ([`DunStart::AtAck`]: arm the dun timer); phase
//!   *wait for distribute*.
//! * Otherwise: nothing.
//!
//! **Distribute(s) from the parent**
//! * `s = S`, phase *wait for ACK* or *wait for distribute*: *complete*.
//! * Otherwise: nothing.
//!
//! **Retransmission timer expires**
//! * Phase *wait for ACK*: combine(S) to the parent; arm it again.
//! * Otherwise: nothing.
//!
//! **Dun timer expires**
//! * Phase *wait for distribute* ([`DunStart::AtCombine`]: or *wait for ACK*): dun(S) to the parent; arm it again.
//! * Otherwise: nothing.
//!
//! **Dun(s) from child c**
//! * `s != S`: distribute(s) to c.
//! * `s = S`: nothing. The operation is not complete here, and this member's own dun timer sees to the level above.
//!
//! *Complete*: clear all bits, invert `S`, phase *collect*, stop both timers; then distribute(old `S`) to all children.
//!
//! A node is a member like a switch. Its children are its processes, each with a port number of its own; its NIC port has
//! another one. An arrival is the combine of a process with the current `S` ([`State::arrive`]), the distribute to all
//! children releases them, and a combine-ACK to a process says that its arrival is noted and goes nowhere.
//!
//! # Rules
//!
//! Why that is so, and what it demands of those who use it. Rules 1 to 6 are kept by this code; 7, 8 and 9 are the duty
//! of out-of-band management, 10 of the switch, 11 of switch and link.
//!
//! 1. All four kinds of packets carry S, and the receiver compares it, in a combine-ACK too. (That there is such a bit
//!    and what for: hpp-switch.txt 2.2 and 2.4; that ACK and dun need it: not in the papers.)
//! 2. A dun is answered only if its s is not the receiver's S: then, and only then, its operation is complete here. (The
//!    papers have the parent answer without a condition.)
//! 3. Arrivals are a bit for each child, not a count: combines come more than once. (Not in the papers.)
//! 4. A combine of the operation before is still ACKed, but not noted. Its sender has missed both the ACK and the
//!    distribute, and with the dun timer of the HPP Switch it would never ask. We send it the distribute as well, which
//!    saves it a run of the dun timer. (`mechanisms.md` 1.7; not in the papers. With the timers of Dawning 5000 it could be
//!    left unanswered.)
//! 5. Bits are cleared and S inverted before the first distribute leaves, in one step: a child that is released at once
//!    may arrive again while others still wait for their copy. (Not in the papers.)
//! 6. A distribute is accepted only while waiting, and before the combine-ACK it counts as that too. So the root does not
//!    ACK the combine that completes the operation: an ACK only stops the retransmission, and its distribute does that, 5
//!    cycles earlier for the child. To refuse a distribute before the ACK is slower, and right only together with rule 4,
//!    whose ACK such a child needs. (`mechanisms.md` 1.7; what an ACK is for: hpp-switch.txt 2.4, dawning5000.txt 4.3.)
//! 7. All members of a group begin with the same S. (Not in the papers; here it is always 0.)
//! 8. Before a group's number is used again, no packet of its earlier use is in flight. (Not in the papers; hpp-switch.txt
//!    2.2 only says that management sets up groups.)
//! 9. A member answers duns for its last operation until management removes the group: a distribute is not
//!    acknowledged, so no packet tells when nobody needs it any more. (Argued from the above.)
//! 10. What goes one way over a link is one FIFO for all kinds of barrier packets of a group, from the member that sends
//!     to the member that receives, answers and timers included. (Not in the papers. One bit of S is enough because a
//!     parent is in the operation of its child or the next one, and that holds only while nothing is overtaken.)
//! 11. Not every packet is lost, a timer that expires is armed again, and no combine is ACKed before its bit is set. Without
//!     these no protocol ends. (The papers have the first two; the last is what an ACK means.)
//!
//! Rule 10 within a chip: one queue for barrier packets at each input port and one at each output port, the engine takes
//! a port's packets in order, and timers put theirs into that same queue.

mod groups;
mod protocol;

pub use groups::{BarrierId, BarrierSettings, Barriers, Faults, Loss, Root};
pub use protocol::{
    Actions, Addressed, DunStart, Event, Packet, PacketKind, Phase, Place, Sequence, State, TimerChange, To,
};
