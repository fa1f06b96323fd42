//! One operation of a NIC, again and again, between processes of two nodes: what is measured with `--nic`.
//!
//! Process `i` of the one node, the *caller*, has to do with process `i` of the other. **Ping-pong**: what is sent or put is
//! answered by the same operation the other way, and the next one follows when the answer has been seen; a get, or a word, is
//! followed by the next when its data have been. **A stream**: so many are under way from a caller; the next one follows when
//! one of them has left its NIC, or a get's data have been seen. **A chain**: operations to and fro, each but the first started
//! by the event of the one before, without a processor, in the place of one.

use flitway_engine::Picos;
use flitway_nic::host::program::{
    Completion, CompletionKind, CountedEvent, Operation, Program, Setup, Submission, Verb, Waits,
};
use flitway_nic::host::story::{Stage, Story};
use flitway_wiring::NodeId;
use std::any::Any;

/// How processes go about their operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// How they find out what comes.
    pub waits: Waits,
    /// They name physical addresses.
    pub is_physical: bool,
    /// The NIC gets translations of their pages when it faults on them.
    pub is_on_demand: bool,
    /// They have so many buffers, 1 at least, each at the beginning of a page of its own, and use one after the other.
    pub buffers: u32,
}

impl Manner {
    /// Polling, virtual addresses, translations that are there, one buffer.
    pub const USUAL: Manner =
        Manner { waits: Waits::Polling, is_physical: false, is_on_demand: false, buffers: 1 };

    /// What the system software sets up for that.
    #[must_use]
    pub fn setup(&self) -> Setup {
        let Manner { waits, is_physical, is_on_demand, .. } = *self;
        Setup { waits, is_physical, is_on_demand, ..Setup::default() }
    }
}

/// A buffer begins at a multiple of that.
const PAGE: u64 = 4096;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatorSettings {
    /// What the caller does.
    pub verb: Verb,
    /// How descriptors reach the NIC.
    pub by: Submission,
    /// Whether they are reliable from end to end.
    pub is_reliable: bool,
    /// The callers' node, and the other one.
    pub nodes: [NodeId; 2],
    /// Data of each in bytes.
    pub bytes: u64,
    /// How many of each caller count.
    pub count: u32,
    /// How many of each caller come before those.
    pub warm_up: u32,
    /// How many of a caller are under way; `None` for ping-pong.
    pub outstanding: Option<u32>,
    /// Operations in a row, to and fro, 1 at least: each but the first is started by the event of the one before.
    pub chain: u32,
    /// How processes go about it.
    pub manner: Manner,
}

impl OperatorSettings {
    /// Operations of a caller, those of its warm-up included.
    #[must_use]
    pub fn all(&self) -> u32 {
        self.count + self.warm_up
    }

    /// Operation `number` of `process` on the node at `from`: its data are, and come to, the beginning of a page.
    #[must_use]
    pub fn operation(&self, from: usize, process: u8, number: u32) -> Operation {
        let buffer = u64::from(number % self.manner.buffers) * self.bytes.next_multiple_of(PAGE);
        Operation {
            bytes: self.bytes,
            here: buffer,
            there: (1 << 40) + buffer,
            // Who reads data knows when they are there.
            tells_left: self.outstanding.is_some() && !self.verb.comes_back(),
            is_reliable: self.is_reliable,
            // The first of a chain sets the event that starts the second.
            event: (self.chain > 1).then_some(0),
            ..Operation::plain(self.verb, self.by, (self.nodes[1 - from], process))
        }
    }

    /// Whether the caller sees the end of an operation.
    #[must_use]
    pub fn comes_back(&self) -> bool {
        self.verb.comes_back() || self.chain.is_multiple_of(2)
    }

    /// The counted events of `process` on the node at `from`: event `n` is set by operation `n` of a chain, and starts the next
    /// one, with the data that have come.
    fn events(&self, from: usize, process: u8) -> Vec<CountedEvent> {
        let event = |number| {
            let event = (number + 1 < self.chain).then_some(number as u16);
            let next = self.operation(from, process, 0);
            let next = Operation { here: next.there, tells_left: false, event, ..next };
            CountedEvent { count: 1, then: vec![next] }
        };
        (1..self.chain).map(event).collect()
    }
}

/// One end: the process of the caller, or that of the other node.
#[derive(Clone, Debug)]
pub struct Operator {
    settings: OperatorSettings,
    process: u8,
    is_caller: bool,
    posted: u32,
    done: Done,
}

/// What an end has seen of the operations that brought data to it, those of the warm-up aside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// The latency of each in picoseconds.
    pub latencies: Vec<u64>,
    /// The time spent in each stage, summed up, in the order of [`Stage::all`].
    pub spent: Vec<u64>,
    /// When each was seen.
    pub dates: Vec<Picos>,
    /// How many it has seen in all.
    pub seen: u32,
    /// When it had seen its warm-up.
    pub warm: Picos,
    /// When each began, those of the warm-up too.
    pub begun: Vec<Picos>,
}

impl Done {
    /// When the last was seen.
    #[must_use]
    pub fn last(&self) -> Picos {
        self.dates.last().copied().unwrap_or(self.warm)
    }
}

impl Operator {
    /// The caller, or the other end, of `process`.
    #[must_use]
    pub fn new(settings: OperatorSettings, process: u8, is_caller: bool) -> Self {
        Operator { settings, process, is_caller, posted: 0, done: Done::default() }
    }

    /// What it has seen.
    #[must_use]
    pub fn done(&self) -> &Done {
        &self.done
    }

    /// Whether it has seen all that it is to see.
    #[must_use]
    pub fn is_done(&self) -> bool {
        let OperatorSettings { outstanding, .. } = self.settings;
        let sees = match outstanding {
            _ if self.settings.comes_back() => self.is_caller,
            None => true,
            Some(_) => !self.is_caller,
        };
        !sees || self.done.seen == self.settings.all()
    }

    fn post(&mut self, todo: &mut Vec<Operation>) {
        if self.posted < self.settings.all() {
            todo.push(self.settings.operation(usize::from(!self.is_caller), self.process, self.posted));
            self.posted += 1;
        }
    }
}

impl Done {
    pub(crate) fn record(&mut self, story: &Story, warm_up: u32) {
        self.seen += 1;
        self.begun.push(story.begun());
        if self.seen <= warm_up {
            self.warm = story.until();
            return;
        }
        self.latencies.push(story.latency().0);
        self.spent.resize(Stage::COUNT, 0);
        for (sum, stage) in self.spent.iter_mut().zip(Stage::all()) {
            *sum += story.spent(stage).0;
        }
        self.dates.push(story.until());
    }
}

impl Program for Operator {
    fn act(&mut self, _: Picos, completion: Option<&Completion>, todo: &mut Vec<Operation>) {
        let OperatorSettings { warm_up, outstanding, .. } = self.settings;
        let Some(completion) = completion else {
            if self.is_caller {
                (0..outstanding.unwrap_or(1)).for_each(|_| self.post(todo));
            }
            return;
        };
        match completion.what {
            CompletionKind::Left => self.post(todo),
            CompletionKind::Fetched | CompletionKind::Loaded => {
                self.done.record(&completion.story, warm_up);
                self.post(todo);
            }
            CompletionKind::Received => {
                self.done.record(&completion.story, warm_up);
                if outstanding.is_none() {
                    self.post(todo);
                }
            }
            // Of operations of many processes, of locks and of threads, and what it does not do.
            CompletionKind::Reached
            | CompletionKind::Refused
            | CompletionKind::Interrupted
            | CompletionKind::Failed => {}
        }
    }

    fn events(&self) -> Vec<CountedEvent> {
        self.settings.events(usize::from(!self.is_caller), self.process)
    }

    fn setup(&self) -> Setup {
        self.settings.manner.setup()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUTS: OperatorSettings = OperatorSettings {
        verb: Verb::Put,
        by: Submission::Hdq,
        is_reliable: false,
        nodes: [NodeId(3), NodeId(5)],
        bytes: 8,
        count: 2,
        warm_up: 1,
        outstanding: None,
        chain: 1,
        manner: Manner::USUAL,
    };

    fn completion(what: CompletionKind, at: u64) -> Completion {
        let story = Story::begin(Picos(at));
        Completion { what, number: 0, node: NodeId(0), process: 0, bytes: 8, story }
    }

    /// To whom each act posts.
    fn acts(operator: &mut Operator, completion: &[Completion]) -> Vec<Vec<u32>> {
        let mut act = |completion| {
            let mut todo = Vec::new();
            operator.act(Picos(0), completion, &mut todo);
            todo.iter().map(|operation| operation.node.0).collect()
        };
        std::iter::once(act(None)).chain(completion.iter().map(|completion| act(Some(completion)))).collect()
    }

    #[test]
    fn both_ends_of_a_ping_pong_answer_until_all_have_been_seen() {
        let received = [10, 20, 30].map(|at| completion(CompletionKind::Received, at));
        let mut caller = Operator::new(PUTS, 0, true);
        assert_eq!(acts(&mut caller, &received[..2]), [vec![5], vec![5], vec![5]]);
        assert!(!caller.is_done());
        let mut other = Operator::new(PUTS, 0, false);
        assert_eq!(acts(&mut other, &received), [vec![], vec![3], vec![3], vec![3]]);
        assert!(other.is_done() && other.done().latencies.len() == 2, "one warms up");
        assert_eq!((other.done().warm, other.done().last()), (Picos(10), Picos(30)));
    }

    #[test]
    fn a_stream_goes_on_when_an_operation_has_left() {
        let stream = OperatorSettings { outstanding: Some(2), ..PUTS };
        let mut caller = Operator::new(stream, 0, true);
        let left = [completion(CompletionKind::Left, 1); 3];
        assert_eq!(acts(&mut caller, &left), [vec![5, 5], vec![5], vec![], vec![]]);
        assert!(caller.is_done(), "it sees no data");
        let mut other = Operator::new(stream, 0, false);
        assert_eq!(acts(&mut other, &[completion(CompletionKind::Received, 9)]), [vec![], vec![]]);
    }

    #[test]
    fn buffers_are_used_one_after_the_other() {
        let manner = Manner { buffers: 3, ..Manner::USUAL };
        let puts = OperatorSettings { bytes: 5_000, manner, ..PUTS };
        let places =
            |number| [puts.operation(0, 0, number).here, puts.operation(0, 0, number).there - (1 << 40)];
        assert_eq!([0, 1, 2, 3].map(places), [[0; 2], [8_192; 2], [16_384; 2], [0; 2]]);
    }

    #[test]
    fn a_get_is_seen_by_who_asked() {
        let gets = OperatorSettings { verb: Verb::Get, count: 1, warm_up: 0, ..PUTS };
        let mut caller = Operator::new(gets, 0, true);
        assert_eq!(acts(&mut caller, &[completion(CompletionKind::Fetched, 4)]), [vec![5], vec![]]);
        let stream = OperatorSettings { outstanding: Some(3), ..gets };
        assert!(
            !stream.operation(0, 0, 0).tells_left,
            "the next one follows when the data have been seen, not before"
        );
        assert!(caller.is_done() && Operator::new(gets, 0, false).is_done());
    }
}
