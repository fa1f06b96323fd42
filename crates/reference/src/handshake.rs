//! The handshake of a link, checked in every state of small worlds.
//!
//! A [`World`] is two ends that run the code of `flitway_fabric::link::handshake`, and a channel each way that loses anything
//! at any time. Each test of the lanes finds anything; an end may begin again at any time, because the link is silent or a
//! lane goes bad. *Safe*: two ends that are active agree on what both have found. *Live*: from every state, both can become
//! active.

use crate::explore::{Bits, Claim, Effort, Expected, Meaning, Model};
use flitway_fabric::link::handshake::{Handshake, Hello};

/// The most hellos on a channel.
const CAPACITY_MAX: usize = 3;

/// What a world does otherwise than the protocol says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deviation {
    /// Rule 1: the other end does not hear a test, and what is on the way survives it.
    TestUnheard,
    /// Rule 2: an end is active as soon as it has heard the other one, whatever that knows.
    NoEcho,
    /// Rule 3: hellos are not said again.
    NotRepeated,
}

/// What is checked.
#[derive(Clone, Copy, Debug)]
pub struct World {
    /// Different things that a test can find, at most 4.
    pub lane_states: u8,
    /// Hellos that can be on the way in one direction; one more is lost.
    pub capacity: usize,
    /// Whether an end that does not test its lanes may begin again.
    pub is_restarting: bool,
    /// What it does otherwise than the protocol says.
    pub deviation: Option<Deviation>,
}

/// Everything that there is at one moment, by end.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot {
    ends: [Handshake<u8>; 2],
    /// What comes to each end, the first to come first.
    hellos: [[Option<Hello<u8>>; CAPACITY_MAX]; 2],
    /// Whether the other end has heard the test that is going on.
    is_test_heard: [bool; 2],
}

/// What can happen next, at an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Its test is over, and has found this.
    Find(usize, u8),
    /// It says hello again.
    Repeat(usize),
    /// It begins again.
    Restart(usize),
    /// A hello comes.
    Hear(usize),
    /// Frames of the other end's test come.
    HearTest(usize),
    /// A hello to it is lost.
    Lose(usize, usize),
    /// A packet comes, from one end that is active to another.
    Packet(usize),
}

/// What a step leads to.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    next: Snapshot,
}

impl World {
    fn says_hello(&self, next: &mut Snapshot, end: usize) {
        let to = &mut next.hellos[1 - end][..self.capacity];
        if let (Some(hello), Some(place)) =
            (next.ends[end].hello(), to.iter_mut().find(|place| place.is_none()))
        {
            *place = Some(hello);
        }
    }

    fn hear(&self, next: &mut Snapshot, end: usize) {
        let mut hello = take(&mut next.hellos[end], 0);
        if let (Some(Deviation::NoEcho), Handshake::Training { found, .. }) = (self.deviation, next.ends[end])
        {
            hello.heard = Some(found);
        }
        if next.ends[end].hear(&hello).says_hello {
            self.says_hello(next, end);
        }
    }

    /// All steps that can be taken.
    fn steps(&self, now: &Snapshot) -> Vec<Step> {
        let mut steps = Vec::new();
        for (end, state) in now.ends.iter().enumerate() {
            let is_training = matches!(state, Handshake::Training { .. });
            let is_heard = now.is_test_heard[end] || self.deviation == Some(Deviation::TestUnheard);
            match state {
                Handshake::Testing if is_heard => {
                    steps.extend((0..self.lane_states).map(|found| Step::Find(end, found)));
                }
                Handshake::Testing => steps.push(Step::HearTest(1 - end)),
                _ => steps.extend(self.is_restarting.then_some(Step::Restart(end))),
            }
            if is_training && self.deviation != Some(Deviation::NotRepeated) {
                steps.push(Step::Repeat(end));
            }
            let are_active = now.ends.iter().all(|end| matches!(end, Handshake::Active { .. }));
            steps.extend(are_active.then_some(Step::Packet(end)));
            let on_the_way = now.hellos[end].iter().flatten().count();
            steps.extend((on_the_way > 0).then_some(Step::Hear(end)));
            steps.extend((0..on_the_way).map(|position| Step::Lose(end, position)));
        }
        steps
    }

    fn take(&self, snapshot: &Snapshot, step: Step) -> Outcome {
        let mut next = *snapshot;
        match step {
            Step::Find(end, found) => {
                next.ends[end].found(found);
                self.says_hello(&mut next, end);
            }
            Step::Repeat(end) => self.says_hello(&mut next, end),
            Step::Restart(end) => next.ends[end].restart(),
            Step::Hear(end) => self.hear(&mut next, end),
            Step::HearTest(end) => {
                next.ends[end].hear_test();
                next.is_test_heard[1 - end] = true;
                // What was said before the test has come out; what was said before it was heard comes out before it is over.
                next.hellos = [[None; CAPACITY_MAX]; 2];
            }
            Step::Packet(_) => {}
            Step::Lose(end, position) => drop(take(&mut next.hellos[end], position)),
        }
        for end in [0, 1] {
            let is_testing = |now: &Snapshot| now.ends[end] == Handshake::Testing;
            if !is_testing(&next) || !is_testing(snapshot) {
                next.is_test_heard[end] = false;
            }
        }
        Outcome { next }
    }
}

/// Takes a hello from a channel.
fn take(channel: &mut [Option<Hello<u8>>; CAPACITY_MAX], position: usize) -> Hello<u8> {
    let hello = channel[position].expect("a hello is on the way there");
    channel.copy_within(position + 1.., position);
    channel[CAPACITY_MAX - 1] = None;
    hello
}

impl Model for World {
    type Snapshot = Snapshot;
    type Step = Step;
    type Outcome = Outcome;
    const STUCK: &'static str = "from here on the ends do not both become active";

    fn first(&self) -> Snapshot {
        assert!(self.lane_states <= 4 && self.capacity <= CAPACITY_MAX, "a snapshot has room for all");
        Snapshot {
            ends: [Handshake::Testing; 2],
            hellos: [[None; CAPACITY_MAX]; 2],
            is_test_heard: [false; 2],
        }
    }

    fn each(&self, snapshot: &Snapshot, mut visit: impl FnMut(Step, &Outcome)) {
        self.steps(snapshot).into_iter().for_each(|step| visit(step, &self.take(snapshot, step)));
    }

    fn next(outcome: &Outcome) -> &Snapshot {
        &outcome.next
    }

    fn meaning(outcome: &Outcome) -> Meaning {
        match outcome.next.ends {
            [Handshake::Active { found, heard }, Handshake::Active { found: other, heard: back }] => {
                if (found, heard) == (back, other) { Meaning::Progress } else { Meaning::Unsafe }
            }
            _ => Meaning::Nothing,
        }
    }

    fn width(&self) -> usize {
        2 * (2 + 3 + 2 + 1) + 2 * CAPACITY_MAX * (1 + 2 + 3 + 1)
    }

    fn key(&self, snapshot: &Snapshot) -> u128 {
        let mut bits = Bits::NONE;
        let known = |heard: Option<u8>| heard.map_or(0, |heard| 4 + u32::from(heard));
        for (end, is_test_heard) in snapshot.ends.into_iter().zip(snapshot.is_test_heard) {
            bits.push(is_test_heard.into(), 1);
            let (phase, found, heard) = match end {
                Handshake::Testing => (0, 0, None),
                Handshake::Training { found, heard } => (1, found, heard),
                Handshake::Active { found, heard } => (2, found, Some(heard)),
            };
            bits.push(phase, 2);
            bits.push(known(heard), 3);
            bits.push(found.into(), 2);
        }
        for hello in snapshot.hellos.into_iter().flatten() {
            let none = Hello { found: 0, heard: None, is_active: false };
            let Hello { found, heard, is_active } = hello.unwrap_or(none);
            bits.push(hello.is_some().into(), 1);
            bits.push(found.into(), 2);
            bits.push(known(heard), 3);
            bits.push(is_active.into(), 1);
        }
        bits.value
    }

    fn snapshot(&self, key: u128) -> Snapshot {
        let mut bits = Bits { value: key, width: self.width() };
        let mut snapshot = self.first();
        let known = |bits: u32| bits.checked_sub(4).map(|heard| heard as u8);
        for (end, is_test_heard) in snapshot.ends.iter_mut().zip(&mut snapshot.is_test_heard) {
            *is_test_heard = bits.pull(1) == 1;
            let (phase, heard, found) = (bits.pull(2), known(bits.pull(3)), bits.pull(2) as u8);
            *end = match (phase, heard) {
                (0, _) => Handshake::Testing,
                (2, Some(heard)) => Handshake::Active { found, heard },
                _ => Handshake::Training { found, heard },
            };
        }
        for place in snapshot.hellos.as_flattened_mut() {
            let is_some = bits.pull(1) == 1;
            let (found, heard, is_active) = (bits.pull(2) as u8, known(bits.pull(3)), bits.pull(1) == 1);
            *place = is_some.then_some(Hello { found, heard, is_active });
        }
        snapshot
    }

    fn line(&self, before: &Snapshot, step: Step, outcome: &Outcome) -> String {
        let name = |end: usize| ["A", "B"][end];
        let hello = |end: usize, position: usize| {
            before.hellos[end][position].map_or(String::new(), |Hello { found, heard, .. }| {
                format!("hello({found}, {})", heard.map_or("-".to_owned(), |heard| heard.to_string()))
            })
        };
        let (end, event) = match step {
            Step::Find(end, found) => (end, format!("{} has found {found}", name(end))),
            Step::Repeat(end) => (end, format!("{} says hello again", name(end))),
            Step::Restart(end) => (end, format!("{} begins again", name(end))),
            Step::Hear(end) => (end, format!("{} comes to {}", hello(end, 0), name(end))),
            Step::HearTest(end) => (end, format!("{} hears the test of {}", name(end), name(1 - end))),
            Step::Packet(end) => (end, format!("a packet comes to {}", name(end))),
            Step::Lose(end, at) => (end, format!("{} to {} is lost", hello(end, at), name(end))),
        };
        let is_active = |ends: [Handshake<u8>; 2]| matches!(ends[end], Handshake::Active { .. });
        let becomes_active = is_active(outcome.next.ends) && !is_active(before.ends);
        if becomes_active { format!("{event}: it is active") } else { event }
    }

    fn violation(&self, _: &Outcome) -> String {
        "both are active and do not agree".to_owned()
    }
}

/// What is claimed of the handshake.
#[must_use]
pub fn claims() -> Vec<Claim<World>> {
    use Deviation::{NoEcho, NotRepeated, TestUnheard};
    use Expected::{SafeAndLive, Stuck, Unsafe};
    let world = |lane_states, capacity| World { lane_states, capacity, is_restarting: true, deviation: None };
    let once = World { is_restarting: false, ..world(2, 1) };
    let without = |deviation, world| World { deviation: Some(deviation), ..world };
    let claim = |name, expected, world| Claim { name, world, expected, effort: Effort::Quick };
    vec![
        claim("protocol: 2 lane states, capacity 1", SafeAndLive, world(2, 1)),
        claim("protocol: 2 lane states, capacity 2", SafeAndLive, world(2, 2)),
        claim("protocol: 2 lane states, capacity 3", SafeAndLive, world(2, 3)),
        claim("protocol: 4 lane states, capacity 2", SafeAndLive, world(4, 2)),
        claim("protocol: 4 lane states, capacity 3", SafeAndLive, world(4, 3)),
        claim("protocol: no end begins again", SafeAndLive, once),
        claim("rule 1: the other end does not hear a test", Unsafe(11), without(TestUnheard, world(2, 2))),
        claim("rule 2: active when the other end is heard", SafeAndLive, without(NoEcho, world(2, 2))),
        claim("rule 3: hellos are not said again", SafeAndLive, without(NotRepeated, world(2, 2))),
        claim("rule 3: the same, and no end begins again", Stuck(5), without(NotRepeated, once)),
    ]
}
