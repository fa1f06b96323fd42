//! The end of a channel that hears.

use super::{Acknowledgement, Numbers, Sequence};

/// What becomes of a packet that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reception {
    /// It is the next one, and goes on.
    Accept,
    /// It was accepted before, and is dropped.
    Duplicate,
    /// It is corrupt, or not its turn, and is dropped; it will come again.
    Discard,
}

/// Whether packets behind the expected one were discarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Gap {
    /// None.
    #[default]
    None,
    /// Some; the next acknowledgement is a NACK.
    Found,
    /// Some; a NACK has gone out.
    Told,
}

/// What has happened since the last acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct News {
    /// Packets accepted.
    pub packets: u16,
    /// Flits returned, of all VCs.
    pub flits: u32,
    /// Something came that asks for an answer though nothing has changed: a duplicate, or a training.
    pub is_asked: bool,
}

impl News {
    /// Whether there is any.
    #[inline]
    #[must_use]
    pub const fn is_any(&self) -> bool {
        self.packets as u32 | self.flits | self.is_asked as u32 != 0
    }
}

/// What one end knows of the packets that it has heard and the credits that it has returned. The default is the state of a
/// link that has never been used. Only its functions change it in operation; the fields are open for those who read registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Receiver<const VCS: usize> {
    /// The number of the next packet that it accepts.
    pub expected: Sequence,
    /// Whether it has missed that.
    pub gap: Gap,
    /// By VC, the flits returned so far.
    pub returned: [u16; VCS],
    /// What is not told.
    pub news: News,
}

impl<const VCS: usize> Default for Receiver<VCS> {
    fn default() -> Self {
        Receiver { expected: Sequence(0), gap: Gap::None, returned: [0; VCS], news: News::default() }
    }
}

impl<const VCS: usize> Receiver<VCS> {
    /// A packet has come, with this number if its CRC is right.
    #[inline]
    pub fn hear(&mut self, numbers: &Numbers, sequence: Option<Sequence>) -> Reception {
        match sequence {
            Some(sequence) if sequence == self.expected => {
                self.expected = numbers.after(self.expected, 1);
                self.gap = Gap::None;
                self.news.packets = self.news.packets.saturating_add(1);
                Reception::Accept
            }
            Some(sequence) if numbers.is_before(sequence, self.expected) => {
                self.news.is_asked = true;
                Reception::Duplicate
            }
            _ => {
                if self.gap == Gap::None {
                    self.gap = Gap::Found;
                }
                Reception::Discard
            }
        }
    }

    /// Flits of `vc` have left the buffer.
    #[inline]
    pub fn give_back(&mut self, numbers: &Numbers, vc: usize, flits: u32) {
        self.returned[vc] = numbers.count(self.returned[vc], flits);
        self.news.flits = self.news.flits.saturating_add(flits);
    }

    /// The link is back from a training: nothing is in flight, and the other end goes back.
    #[inline]
    pub fn resume(&mut self) {
        self.gap = Gap::None;
        self.news.is_asked = true;
    }

    /// Whether there is something to tell. A NACK is to go out at once, the rest may wait for more of it.
    #[inline]
    #[must_use]
    pub fn has_news(&self) -> bool {
        self.gap == Gap::Found || self.news.is_any()
    }

    /// The acknowledgement that would go out now.
    #[inline]
    #[must_use]
    pub fn acknowledgement(&self) -> Acknowledgement<VCS> {
        Acknowledgement { expected: self.expected, is_nack: self.gap == Gap::Found, returned: self.returned }
    }

    /// An acknowledgement goes out, whether there is news or not (rule 9).
    #[inline]
    pub fn tell(&mut self) -> Acknowledgement<VCS> {
        let told = self.acknowledgement();
        self.news = News::default();
        if self.gap == Gap::Found {
            self.gap = Gap::Told;
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::super::RetrySettings;
    use super::*;
    use Reception::{Accept, Discard, Duplicate};

    fn numbers(window: u32) -> Numbers {
        let settings = RetrySettings { window, sequence_bits: 3, count_bits: 3, flits_max: 7 };
        settings.numbers().expect("they are right")
    }

    /// Expects 6, and has nothing to tell.
    fn receiver() -> Receiver<2> {
        Receiver { expected: Sequence(6), ..Receiver::default() }
    }

    fn hear(receiver: &mut Receiver<2>, sequence: u16) -> Reception {
        receiver.hear(&numbers(4), Some(Sequence(sequence)))
    }

    #[test]
    fn packets_are_accepted_in_order_and_acknowledged_together() {
        let mut receiver = receiver();
        assert!(!receiver.has_news());
        assert_eq!([6, 7, 0].map(|sequence| hear(&mut receiver, sequence)), [Accept; 3]);
        assert_eq!(receiver.news, News { packets: 3, ..News::default() });
        let told = Acknowledgement { expected: Sequence(1), is_nack: false, returned: [0, 0] };
        assert_eq!((receiver.tell(), receiver.has_news()), (told, false));
        assert_eq!(receiver.tell(), told, "a heartbeat says it again");
    }

    #[test]
    fn a_gap_is_told_once_until_the_packet_comes() {
        let mut receiver = receiver();
        assert_eq!(hear(&mut receiver, 7), Discard);
        assert_eq!(receiver.hear(&numbers(4), None), Discard);
        assert_eq!(
            receiver.tell(),
            Acknowledgement { expected: Sequence(6), is_nack: true, returned: [0, 0] }
        );
        assert_eq!([7, 0, 1].map(|sequence| hear(&mut receiver, sequence)), [Discard; 3]);
        assert!(!receiver.has_news() && !receiver.acknowledgement().is_nack);
        assert_eq!((hear(&mut receiver, 6), hear(&mut receiver, 0)), (Accept, Discard));
        assert_eq!(
            receiver.tell(),
            Acknowledgement { expected: Sequence(7), is_nack: true, returned: [0, 0] }
        );
    }

    #[test]
    fn a_gap_that_is_closed_before_it_is_told_is_none() {
        let mut receiver = receiver();
        assert_eq!((hear(&mut receiver, 7), hear(&mut receiver, 6)), (Discard, Accept));
        assert!(!receiver.tell().is_nack);
    }

    #[test]
    fn a_corrupt_packet_is_a_gap_whatever_number_it_had() {
        let mut receiver = receiver();
        assert_eq!(receiver.hear(&numbers(4), None), Discard);
        assert!(receiver.tell().is_nack);
    }

    #[test]
    fn duplicates_are_dropped_and_answered() {
        let mut receiver = receiver();
        for sequence in [2, 3, 4, 5] {
            assert_eq!(hear(&mut receiver, sequence), Duplicate);
            assert_eq!(receiver.news, News { is_asked: true, ..News::default() });
            assert_eq!(
                receiver.tell(),
                Acknowledgement { expected: Sequence(6), is_nack: false, returned: [0, 0] }
            );
        }
    }

    #[test]
    fn with_a_window_beyond_half_of_the_numbers_what_may_be_a_duplicate_is_taken_for_one() {
        let mut receiver = receiver();
        let heard = [7, 0, 1].map(|sequence| receiver.hear(&numbers(6), Some(Sequence(sequence))));
        assert_eq!(heard, [Discard, Duplicate, Duplicate]);
    }

    #[test]
    fn flits_are_counted_by_vc_and_modulo() {
        let mut receiver = receiver();
        for (vc, flits) in [(1, 5), (0, 1), (1, 6)] {
            receiver.give_back(&numbers(4), vc, flits);
        }
        assert_eq!(receiver.news.flits, 12);
        assert_eq!(receiver.tell().returned, [1, 3]);
        assert!(!receiver.has_news());
    }

    #[test]
    fn after_a_training_it_speaks_first_and_a_gap_is_forgotten() {
        let mut receiver = receiver();
        hear(&mut receiver, 7);
        receiver.resume();
        assert!(receiver.has_news());
        assert_eq!(
            receiver.tell(),
            Acknowledgement { expected: Sequence(6), is_nack: false, returned: [0, 0] }
        );
        assert_eq!(hear(&mut receiver, 7), Discard);
        assert!(receiver.tell().is_nack, "a new gap is told");
    }
}
