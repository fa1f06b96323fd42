//! How the two ends of a link come to know that both have agreed, without time.
//!
//! Sources: th-express-2.txt section 4.3.2 ("Handshaking protocol negotiates working data rate between the two connected
//! ports"; "each port transfers heart beating packet periodically when the link is in idle state"); `mechanisms.md` 2.3;
//! OQ-T12. How the handshake goes is in none of them; that both ends agree is checked in every state of small worlds with this
//! very code (`crates/reference/src/handshake`).
//!
//! This text is normative. How long it takes to test lanes, when a hello is sent again and how many heartbeats are missed until
//! a link counts as silent is the caller's business: it holds one [`Handshake`] for each end of a link.
//!
//! An end *tests* its lanes, with frames of its own, during which it hears nothing else; then it is in *training* with what
//! it has found, and says so in a [`Hello`], again and again, with what it has heard of the other end; it is *active* when it
//! knows what the other end has found and that the other end knows what it has found itself. So both ends compute the same
//! from the same states of all lanes ([`Lanes::agree`](super::lanes::Lanes::agree)). If no rate comes of them the link is down,
//! though both are active, until one of them tests its lanes again.
//!
//! **The lanes are tested** ([`Handshake::found`])
//! * Training with what was found; nothing is heard of the other end. Hello.
//!
//! **Frames of a test come** ([`Handshake::hear_test`])
//! * In training: what was heard of the other end is forgotten.
//! * Active: *test* the lanes.
//!
//! **A hello comes** ([`Handshake::hear`])
//! * While lanes are tested: nothing.
//! * In training: what the other end has found is noted. If it says back what was found here: *active*. Hello, unless the other
//!   end is active.
//! * Active, and the hello says what both are known here to have found: the other end may not know yet. Hello, unless
//!   it is active.
//! * Active, and it says anything else: *test* the lanes.
//!
//! **The link is silent** (heartbeats are missed), or a lane goes bad ([`Handshake::restart`])
//! * *Test* the lanes.
//!
//! **A while passes in training**
//! * Hello: the last one may have been lost.
//!
//! Rules:
//!
//! 1. A test takes longer than a round trip, and the other end hears its frames. So all that was on the way before comes out
//!    before the test is over, and nobody remembers an earlier test. (Saying back what was heard is not enough: a lane may
//!    go bad and come back, and then an old answer fits.)
//! 2. An end is active only when what it has found was said back. (They would agree without, but the first to be active
//!    would send to one that hears nothing yet.)
//! 3. Hellos are said again, and an end that is active answers one that may not know. (Else a lost hello is healed only by
//!    silence, from which the ends begin again.)
//! 4. What comes to an end that is not active is lost, for the retry protocol to send again.

use serde::{Deserialize, Serialize};

/// What an end says while the link is trained. `T` is what it finds out about its lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Hello<T> {
    /// What it has found.
    pub found: T,
    /// What it has heard that the other end has found.
    pub heard: Option<T>,
    /// Whether it is active.
    pub is_active: bool,
}

/// One end of a link. The default is a port whose lanes are not tested yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Handshake<T> {
    /// It tests its lanes, or there is no link.
    #[default]
    Testing,
    /// It waits for the other end.
    Training {
        /// What it has found.
        found: T,
        /// What it has heard that the other end has found.
        heard: Option<T>,
    },
    /// Both ends know what both have found.
    Active {
        /// What it has found.
        found: T,
        /// What the other end has found.
        heard: T,
    },
}

/// What a hello leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// A hello is to be sent.
    pub says_hello: bool,
    /// The link is active now, and was not.
    pub becomes_active: bool,
    /// The lanes are to be tested again.
    pub restarts: bool,
}

impl<T: Copy + PartialEq> Handshake<T> {
    /// The lanes are to be tested again.
    #[inline]
    pub fn restart(&mut self) {
        *self = Handshake::Testing;
    }

    /// The lanes are tested.
    #[inline]
    pub fn found(&mut self, found: T) {
        *self = Handshake::Training { found, heard: None };
    }

    /// What this end says; nothing while it tests.
    #[inline]
    #[must_use]
    pub fn hello(&self) -> Option<Hello<T>> {
        match *self {
            Handshake::Testing => None,
            Handshake::Training { found, heard } => Some(Hello { found, heard, is_active: false }),
            Handshake::Active { found, heard } => Some(Hello { found, heard: Some(heard), is_active: true }),
        }
    }

    /// Frames have come with which the other end tests its lanes. Says whether those here are to be tested again.
    #[inline]
    pub fn hear_test(&mut self) -> bool {
        match self {
            Handshake::Testing => false,
            Handshake::Training { heard, .. } => {
                *heard = None;
                false
            }
            Handshake::Active { .. } => {
                self.restart();
                true
            }
        }
    }

    /// A hello has come.
    #[inline]
    pub fn hear(&mut self, hello: &Hello<T>) -> Answer {
        let says_hello = !hello.is_active;
        match *self {
            Handshake::Testing => Answer::default(),
            Handshake::Training { found, .. } if hello.heard == Some(found) => {
                *self = Handshake::Active { found, heard: hello.found };
                Answer { says_hello, becomes_active: true, restarts: false }
            }
            Handshake::Training { found, .. } => {
                *self = Handshake::Training { found, heard: Some(hello.found) };
                Answer { says_hello, ..Answer::default() }
            }
            Handshake::Active { found, heard } if hello.found == heard && hello.heard == Some(found) => {
                Answer { says_hello, ..Answer::default() }
            }
            Handshake::Active { .. } => {
                self.restart();
                Answer { restarts: true, ..Answer::default() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An end that has found its lanes to be so.
    fn trained(found: u8) -> Handshake<u8> {
        let mut end = Handshake::default();
        end.found(found);
        end
    }

    /// What one end says, the other hears.
    fn tell(from: &Handshake<u8>, to: &mut Handshake<u8>) -> Answer {
        to.hear(&from.hello().expect("it does not test its lanes"))
    }

    /// Two ends that are active, and have found 1 and 2.
    fn linked() -> (Handshake<u8>, Handshake<u8>) {
        let (mut one, mut other) = (trained(1), trained(2));
        assert_eq!(tell(&one, &mut other), Answer { says_hello: true, ..Answer::default() });
        let becomes_active = Answer { says_hello: true, becomes_active: true, restarts: false };
        assert_eq!(tell(&other, &mut one), becomes_active);
        assert_eq!(tell(&one, &mut other), Answer { says_hello: false, ..becomes_active });
        assert_eq!(one, Handshake::Active { found: 1, heard: 2 });
        assert_eq!(other, Handshake::Active { found: 2, heard: 1 });
        (one, other)
    }

    #[test]
    fn three_hellos_make_both_ends_active_with_what_both_have_found() {
        linked();
    }

    #[test]
    fn hellos_of_ends_that_are_active_are_not_answered() {
        let (one, mut other) = linked();
        assert_eq!(tell(&one, &mut other), Answer::default());
    }

    #[test]
    fn an_end_that_is_active_answers_one_that_may_not_know() {
        let (mut one, _) = linked();
        let again = Hello { found: 2, heard: Some(1), is_active: false };
        assert_eq!(one.hear(&again), Answer { says_hello: true, ..Answer::default() });
    }

    #[test]
    fn an_end_begins_again_when_the_other_one_has() {
        for (found, heard) in [(2, None), (3, None), (3, Some(1)), (2, Some(4))] {
            let (mut one, _) = linked();
            let answer = one.hear(&Hello { found, heard, is_active: false });
            assert_eq!(answer, Answer { restarts: true, ..Answer::default() });
            assert_eq!(one, Handshake::Testing);
        }
    }

    #[test]
    fn a_test_at_the_other_end_has_an_end_forget_or_begin_again() {
        let (mut one, _) = linked();
        assert!(one.hear_test() && !one.hear_test());
        assert_eq!(one, Handshake::Testing);
        let mut end = trained(1);
        tell(&trained(2), &mut end);
        assert!(!end.hear_test());
        assert_eq!(end, trained(1));
    }

    #[test]
    fn an_end_that_tests_its_lanes_says_and_hears_nothing() {
        let mut end = Handshake::default();
        assert_eq!(end.hello(), None);
        assert_eq!(tell(&trained(1), &mut end), Answer::default());
        assert_eq!(end, Handshake::Testing);
    }

    #[test]
    fn what_an_earlier_test_was_answered_does_not_count() {
        let mut end = trained(1);
        assert!(!end.hear(&Hello { found: 2, heard: Some(0), is_active: true }).becomes_active);
        assert_eq!(end, Handshake::Training { found: 1, heard: Some(2) });
    }
}
