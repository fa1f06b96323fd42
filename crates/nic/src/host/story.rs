//! Where the time of an operation went: its stages, which sum to its latency exactly.
//!
//! Each thing that travels for an operation (a descriptor, a read, a packet) has a [`Story`]: when the operation began, how
//! far the story has been told, and the time spent in each stage until then. What waits for several things goes on with the
//! story of the last one: so the story of a completion is that of the longest way to it.

use flitway_engine::Picos;

/// What takes time in a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// A processor writes a descriptor or a doorbell, or waits until it may.
    Processor,
    /// Writes over the bus, and descriptors that are read.
    Bus,
    /// Waiting in a submission queue.
    Submission,
    /// The command processor, with the engine that makes packets of commands.
    Command,
    /// The DMA engine: taking a descriptor, making packets, and waiting for that.
    Dma,
    /// The protocol engine: decoding a descriptor, cutting packets, and waiting for that.
    Engine,
    /// Waiting for a connection to be set up, or for data to be sent again.
    Connection,
    /// A translation of an address that was not in the cache.
    Translation,
    /// Data that are read over the bus.
    Read,
    /// The remote access unit, and waiting for it.
    Remote,
    /// Waiting for a lock that another process has.
    Lock,
    /// The barrier module, and waiting there until all have come.
    Barrier,
    /// The network interface: sending, receiving, parsing.
    Interface,
    /// The input processor.
    Input,
    /// The event processor.
    Event,
    /// The thread processor, and waiting for it.
    Thread,
    /// In the NIC, kept by a thread.
    Kept,
    /// Waiting for room: in the receive buffer, in the queue of a process, or for data of the DMA engine in the NIC port.
    Room,
    /// An interrupt, until it has been handled.
    Interrupt,
    /// Waiting for a processor that system software has.
    Noise,
    /// A process that polls its memory.
    Poll,
    /// A process that copies what it got to its place.
    Copy,
}

impl Unit {
    /// All of them.
    pub const ALL: [Unit; 22] = [
        Unit::Processor,
        Unit::Bus,
        Unit::Submission,
        Unit::Command,
        Unit::Dma,
        Unit::Engine,
        Unit::Connection,
        Unit::Translation,
        Unit::Read,
        Unit::Remote,
        Unit::Lock,
        Unit::Barrier,
        Unit::Interface,
        Unit::Input,
        Unit::Event,
        Unit::Thread,
        Unit::Kept,
        Unit::Room,
        Unit::Interrupt,
        Unit::Noise,
        Unit::Poll,
        Unit::Copy,
    ];

    /// Its name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Processor => "processor",
            Unit::Bus => "bus",
            Unit::Submission => "submission queues",
            Unit::Command => "command processor",
            Unit::Dma => "DMA engine",
            Unit::Engine => "protocol engine",
            Unit::Connection => "connection",
            Unit::Translation => "address translation",
            Unit::Read => "data read over the bus",
            Unit::Remote => "remote access unit",
            Unit::Lock => "waiting for a lock",
            Unit::Barrier => "barrier module",
            Unit::Interface => "network interface",
            Unit::Input => "input processor",
            Unit::Event => "event processor",
            Unit::Thread => "thread processor",
            Unit::Kept => "kept by a thread",
            Unit::Room => "waiting for room",
            Unit::Interrupt => "interrupt",
            Unit::Noise => "system noise",
            Unit::Poll => "polling",
            Unit::Copy => "copying",
        }
    }
}

/// Where time passes: in the node that began the operation, in the network, or in the other node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// In the node that began it.
    Near(Unit),
    /// In the NIC port that sends: waiting, and its pipeline; what is told of has left is there until then.
    NicPort,
    /// Links: serial links, cables, and the length of the packet itself.
    Links,
    /// Switches that have nothing else to do.
    Switches,
    /// What a packet takes longer than in an idle network.
    Contention,
    /// In the other node.
    Far(Unit),
}

impl Stage {
    /// How many there are.
    pub const COUNT: usize = 4 + 2 * Unit::ALL.len();

    /// The units of the other node, as an operation meets them.
    const FAR: [Unit; Unit::ALL.len()] = [
        Unit::Interface,
        Unit::Room,
        Unit::Input,
        Unit::Submission,
        Unit::Command,
        Unit::Dma,
        Unit::Engine,
        Unit::Connection,
        Unit::Translation,
        Unit::Read,
        Unit::Lock,
        Unit::Remote,
        Unit::Barrier,
        Unit::Thread,
        Unit::Kept,
        Unit::Event,
        Unit::Bus,
        Unit::Interrupt,
        Unit::Noise,
        Unit::Poll,
        Unit::Copy,
        Unit::Processor,
    ];

    /// All of them, as an operation for another node meets them.
    pub fn all() -> impl Iterator<Item = Stage> {
        let network = [Stage::NicPort, Stage::Links, Stage::Switches, Stage::Contention];
        let near = Unit::ALL.into_iter().map(Stage::Near);
        near.chain(network).chain(Stage::FAR.into_iter().map(Stage::Far))
    }

    /// Its place in [`Stage::all`].
    fn index(self) -> usize {
        match self {
            Stage::Near(unit) => unit as usize,
            Stage::NicPort => Unit::ALL.len(),
            Stage::Links => Unit::ALL.len() + 1,
            Stage::Switches => Unit::ALL.len() + 2,
            Stage::Contention => Unit::ALL.len() + 3,
            Stage::Far(unit) => {
                let place = Stage::FAR.iter().position(|it| *it == unit);
                Unit::ALL.len() + 4 + place.expect("every unit is in the list")
            }
        }
    }
}

/// What an operation has spent its time with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Story {
    begun: Picos,
    until: Picos,
    spent: [Picos; Stage::COUNT],
    /// It is in the node that did not begin it.
    is_far: bool,
}

impl Story {
    /// The story of an operation that begins at `at`.
    #[must_use]
    pub fn begin(at: Picos) -> Self {
        Story { begun: at, until: at, spent: [Picos(0); Stage::COUNT], is_far: false }
    }

    /// When it began.
    #[must_use]
    pub fn begun(&self) -> Picos {
        self.begun
    }

    /// Until when it has been told.
    #[must_use]
    pub fn until(&self) -> Picos {
        self.until
    }

    /// The time from its beginning until then.
    #[must_use]
    pub fn latency(&self) -> Picos {
        Picos(self.until.0 - self.begun.0)
    }

    /// The time spent in `stage`.
    #[must_use]
    pub fn spent(&self, stage: Stage) -> Picos {
        self.spent[stage.index()]
    }

    /// The time until `at` was spent in `unit` of the node that it is in.
    pub fn pass(&mut self, unit: Unit, at: Picos) {
        self.pass_stage(if self.is_far { Stage::Far(unit) } else { Stage::Near(unit) }, at);
    }

    /// The time until `at` was spent in `stage`.
    ///
    /// # Panics
    /// If `at` is earlier than what has been told.
    pub fn pass_stage(&mut self, stage: Stage, at: Picos) {
        assert!(at >= self.until, "a story goes on: {at:?} comes after {:?}", self.until);
        self.spent[stage.index()].0 += at.0 - self.until.0;
        self.until = at;
    }

    /// It goes on with `next`, which began later in the same node: the time until then was spent in `unit`.
    pub fn go_on(&mut self, unit: Unit, next: &Story) {
        self.pass_stage(Stage::Near(unit), next.begun);
        for stage in Stage::all() {
            self.pass_stage(stage, Picos(self.until.0 + next.spent(stage).0));
        }
    }

    /// It is in the other node now.
    pub fn cross(&mut self) {
        self.is_far = !self.is_far;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stage_has_its_place() {
        let places: Vec<usize> = Stage::all().map(Stage::index).collect();
        assert!(places.into_iter().eq(0..Stage::COUNT));
    }

    #[test]
    fn a_story_goes_on_with_another_one() {
        let mut next = Story::begin(Picos(500));
        next.pass(Unit::Bus, Picos(510));
        next.pass_stage(Stage::Links, Picos(515));
        let mut story = Story::begin(Picos(100));
        story.pass(Unit::Bus, Picos(130));
        story.go_on(Unit::Lock, &next);
        let stages = [Stage::Near(Unit::Bus), Stage::Near(Unit::Lock), Stage::Links];
        assert_eq!(stages.map(|stage| story.spent(stage).0), [40, 370, 5]);
        assert_eq!((story.begun(), story.until()), (Picos(100), Picos(515)));
    }

    #[test]
    fn stages_sum_to_the_latency() {
        let mut story = Story::begin(Picos(100));
        story.pass(Unit::Processor, Picos(130));
        story.pass_stage(Stage::Links, Picos(200));
        story.cross();
        story.pass(Unit::Interface, Picos(207));
        story.pass(Unit::Poll, Picos(250));
        let spent: Vec<u64> =
            Stage::all().map(|stage| story.spent(stage).0).filter(|&time| time > 0).collect();
        assert_eq!(spent, [30, 70, 7, 43]);
        assert_eq!(spent.iter().sum::<u64>(), story.latency().0);
    }
}
