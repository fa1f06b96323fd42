//! The end of a channel that sends.

use super::{Acknowledgement, Numbers, Sequence};

/// What one end knows of the packets that it has sent and the credits that came back. The default is the state of a link
/// that has never been used. Only its functions change it in operation; the fields are open for those who read registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sender<const VCS: usize> {
    /// The number of the oldest packet that is not acknowledged; of the next one if there is none.
    pub base: Sequence,
    /// Packets in the replay buffer: those that are not acknowledged.
    pub held: u16,
    /// The place in the replay buffer of the packet that goes out next; `held` if that is a new one.
    pub cursor: u16,
    /// By VC, the count of flits returned that was heard last.
    pub returned: [u16; VCS],
}

/// A packet that goes out again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Its place in the replay buffer, from the front.
    pub position: u32,
    /// Its number.
    pub sequence: Sequence,
}

/// What an acknowledgement says to a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard<const VCS: usize> {
    /// So many packets leave the replay buffer at the front.
    pub released: u32,
    /// So many that have gone out will go out again because of it. Not zero says that the sender goes back.
    pub repeated: u32,
    /// By VC, the flits whose credits come back.
    pub returned: [u32; VCS],
}

impl<const VCS: usize> Default for Sender<VCS> {
    fn default() -> Self {
        Sender { base: Sequence(0), held: 0, cursor: 0, returned: [0; VCS] }
    }
}

impl<const VCS: usize> Sender<VCS> {
    /// Whether a new packet may go out.
    #[inline]
    #[must_use]
    pub fn may_send(&self, numbers: &Numbers) -> bool {
        !self.is_replaying() && u32::from(self.held) < numbers.window()
    }

    /// A new packet goes out: it has this number, and is to be put into the replay buffer at the back. Its credits are debited
    /// now, and not when it goes out again (rule 7).
    ///
    /// # Panics
    /// If none may.
    #[inline]
    pub fn send(&mut self, numbers: &Numbers) -> Sequence {
        assert!(self.may_send(numbers), "a new packet goes out behind all others, and within the window");
        let sequence = numbers.after(self.base, self.held);
        self.held += 1;
        self.cursor = self.held;
        sequence
    }

    /// Whether a packet of the replay buffer is next.
    #[inline]
    #[must_use]
    pub fn is_replaying(&self) -> bool {
        self.cursor < self.held
    }

    /// The packet that is next goes out again, if there is one.
    #[inline]
    pub fn replay(&mut self, numbers: &Numbers) -> Option<Replay> {
        let position = self.cursor;
        if position == self.held {
            return None;
        }
        self.cursor += 1;
        Some(Replay { position: position.into(), sequence: numbers.after(self.base, position) })
    }

    /// An acknowledgement has come. One that acknowledges what was never sent acknowledges nothing.
    #[inline]
    pub fn hear(&mut self, numbers: &Numbers, told: &Acknowledgement<VCS>) -> Heard<VCS> {
        let returned = std::array::from_fn(|vc| numbers.counted(told.returned[vc], self.returned[vc]));
        self.returned = told.returned;
        let released = numbers.since(told.expected, self.base);
        if released > self.held {
            return Heard { released: 0, repeated: 0, returned };
        }
        self.base = told.expected;
        self.held -= released;
        self.cursor = self.cursor.saturating_sub(released);
        let repeated = if told.is_nack { self.go_back() } else { 0 };
        Heard { released: released.into(), repeated, returned }
    }

    /// Everything that is not acknowledged goes out again: the timer has expired, or the link is back from a training. Says how
    /// many packets that have gone out since it last went back.
    #[inline]
    pub fn go_back(&mut self) -> u32 {
        std::mem::take(&mut self.cursor).into()
    }

    /// What is not acknowledged will never be sent again: the other end, which is known not to have it, takes what comes next
    /// in its place.
    #[inline]
    pub fn forget(&mut self) {
        (self.held, self.cursor) = (0, 0);
    }

    /// Packets that are not acknowledged. While there are any, the timer runs.
    #[inline]
    #[must_use]
    pub fn held(&self) -> u32 {
        self.held.into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::RetrySettings;
    use super::*;

    fn numbers() -> Numbers {
        let settings = RetrySettings { window: 4, sequence_bits: 3, count_bits: 3, flits_max: 7 };
        settings.numbers().expect("they are right")
    }

    /// A sender that has sent so many packets, whose base has the number 6.
    fn sender(packets: u32) -> Sender<1> {
        let mut sender = Sender { base: Sequence(6), ..Sender::default() };
        for _ in 0..packets {
            sender.send(&numbers());
        }
        sender
    }

    fn hear(sender: &mut Sender<1>, expected: u16, is_nack: bool) -> (u32, u32) {
        let told = Acknowledgement { expected: Sequence(expected), is_nack, returned: [0] };
        let heard = sender.hear(&numbers(), &told);
        (heard.released, heard.repeated)
    }

    /// The numbers of all packets that go out again.
    fn replay(sender: &mut Sender<1>) -> Vec<u16> {
        std::iter::from_fn(|| sender.replay(&numbers())).map(|replay| replay.sequence.0).collect()
    }

    #[test]
    fn new_packets_are_numbered_in_turn_until_the_window_is_full() {
        let mut sender = sender(0);
        let sent: Vec<u16> = (0..4).map(|_| sender.send(&numbers()).0).collect();
        assert_eq!(sent, [6, 7, 0, 1]);
        assert!(!sender.may_send(&numbers()) && sender.replay(&numbers()).is_none());
        assert_eq!(hear(&mut sender, 7, false), (1, 0));
        assert!(sender.may_send(&numbers()));
        assert_eq!(sender.send(&numbers()), Sequence(2));
    }

    #[test]
    #[should_panic(expected = "within the window")]
    fn no_packet_goes_out_beyond_the_window() {
        sender(5);
    }

    #[test]
    fn an_acknowledgement_releases_all_before_it_and_repeats_nothing() {
        let mut sender = sender(4);
        assert_eq!(hear(&mut sender, 6, false), (0, 0));
        assert_eq!(hear(&mut sender, 1, false), (3, 0));
        assert_eq!((sender.base, sender.held(), sender.is_replaying()), (Sequence(1), 1, false));
        assert_eq!(hear(&mut sender, 2, false), (1, 0));
        assert_eq!(sender.held(), 0, "the timer stops");
    }

    #[test]
    fn a_nack_acknowledges_all_before_it_and_has_the_rest_go_out_again_before_new_packets() {
        let mut sender = sender(4);
        assert_eq!(hear(&mut sender, 7, true), (1, 3));
        assert!(!sender.may_send(&numbers()), "the window has room, but old packets are first");
        assert_eq!(sender.replay(&numbers()), Some(Replay { position: 0, sequence: Sequence(7) }));
        assert_eq!(replay(&mut sender), [0, 1]);
        assert_eq!(sender.send(&numbers()), Sequence(2));
    }

    #[test]
    fn a_nack_of_the_packet_that_is_next_repeats_nothing() {
        let mut sender = sender(4);
        sender.go_back();
        assert_eq!(hear(&mut sender, 6, true), (0, 0), "6 has not gone out yet");
        assert_eq!(hear(&mut sender, 0, true), (2, 0), "the cursor moves on to 0");
        assert_eq!(replay(&mut sender), [0, 1]);
        assert_eq!(hear(&mut sender, 2, true), (2, 0), "2 was never sent");
        assert_eq!(sender.send(&numbers()), Sequence(2));
    }

    #[test]
    fn while_it_replays_an_acknowledgement_goes_on_and_a_nack_of_a_new_gap_goes_back_to_it() {
        let mut sender = sender(4);
        assert_eq!(sender.go_back(), 4);
        let again = [0, 1, 2].map(|_| sender.replay(&numbers()).map(|replay| replay.sequence.0));
        assert_eq!(again, [Some(6), Some(7), Some(0)]);
        assert_eq!(hear(&mut sender, 7, false), (1, 0));
        assert_eq!(hear(&mut sender, 0, true), (1, 1), "of 0 and 1 the first has gone out again");
        assert_eq!(replay(&mut sender), [0, 1]);
    }

    #[test]
    fn what_was_never_sent_is_not_acknowledged() {
        let mut sender = sender(2);
        for expected in [1, 2, 5] {
            assert_eq!(hear(&mut sender, expected, true), (0, 0));
        }
        assert_eq!((sender.held(), sender.is_replaying()), (2, false));
    }

    #[test]
    fn a_count_heals_those_that_were_lost_before_it() {
        let mut sender = sender(1);
        let told = |returned| Acknowledgement { expected: Sequence(6), is_nack: false, returned: [returned] };
        let came: Vec<u32> = [3, 3, 2].map(|count| sender.hear(&numbers(), &told(count)).returned[0]).into();
        assert_eq!(came, [3, 0, 7]);
    }
}
