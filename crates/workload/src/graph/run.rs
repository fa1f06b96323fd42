//! The state machine of one rank: what is ready, what its cpus do, what it waits for. No network.
//!
//! Whoever drives it calls [`RankRun::advance`] in cycle 0, in every cycle that it asks for and after every arrival; it
//! hands over messages. In one cycle things happen in this order: tasks whose time has come complete, in the order of
//! cpus; what they allow becomes ready, in the order of the file; idle cpus start the first of their queues. This is
//! repeated until nothing more happens in the cycle, because `calc 0` takes no time. Messages that arrive in a cycle
//! come after all that.

use super::matching::{Envelope, Matching, MessageId, Wanted};
use super::{Event, RankId, RankSummary, TaskGraph, TaskId, Work};
use flitway_engine::{Clock, Cycle, Picos};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// What communication costs a cpu, and how nanoseconds become cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankCosts {
    /// o_s: cpu time of a send, rounded up to whole cycles.
    pub send_overhead: Picos,
    /// o_r: cpu time of a receive after the last byte has arrived, rounded up to whole cycles.
    pub receive_overhead: Picos,
    /// The network clock.
    pub clock: Clock,
}

/// A message on its way from a rank to the NIC of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandOver {
    /// What the receiver will see.
    pub envelope: Envelope,
    /// The rank that it is for.
    pub destination: RankId,
    /// The rail that it must take, if the graph says so.
    pub nic: Option<u8>,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Waits for dependencies.
    Waiting,
    /// Ready: in the queue of a cpu, or, a receive, posted.
    Ready,
    /// A receive that has taken a message.
    Matched,
    /// On a cpu.
    Running,
    /// Done.
    Completed,
}

/// A message that has been announced and whose receive has not begun its overhead.
#[derive(Debug, Default)]
struct Incoming {
    receive: Option<TaskId>,
    complete: bool,
}

#[derive(Debug)]
struct Cpu {
    number: u8,
    queue: VecDeque<TaskId>,
    current: Option<(TaskId, Cycle)>,
}

/// One rank at work.
#[derive(Debug)]
pub struct RankRun {
    graph: Arc<TaskGraph>,
    rank: RankId,
    clock: Clock,
    send_overhead: u64,
    receive_overhead: u64,
    states: Box<[State]>,
    waits: Box<[u32]>,
    unfinished: usize,
    cpus: Box<[Cpu]>,
    /// Tasks whose last dependency has just been met.
    released: VecDeque<TaskId>,
    matching: Matching,
    incoming: HashMap<MessageId, Incoming>,
    /// Messages announced so far, by source and tag.
    announced: HashMap<(RankId, u64), u64>,
    begun: bool,
    now: Cycle,
    summary: RankSummary,
}

impl RankRun {
    /// A rank before its first cycle.
    #[must_use]
    pub fn new(graph: &Arc<TaskGraph>, rank: RankId, costs: RankCosts) -> Self {
        let tasks = graph.tasks_of(rank);
        let mut numbers: Vec<u8> = (0..tasks).map(|task| graph.task(rank, TaskId(task)).cpu).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let cpu = |number| Cpu { number, queue: VecDeque::new(), current: None };
        RankRun {
            graph: Arc::clone(graph),
            rank,
            clock: costs.clock,
            send_overhead: costs.clock.cycles_ceil(costs.send_overhead).0,
            receive_overhead: costs.clock.cycles_ceil(costs.receive_overhead).0,
            states: vec![State::Waiting; tasks as usize].into(),
            waits: (0..tasks).map(|task| graph.waits(rank, TaskId(task))).collect(),
            unfinished: tasks as usize,
            cpus: numbers.into_iter().map(cpu).collect(),
            released: VecDeque::new(),
            matching: Matching::default(),
            incoming: HashMap::new(),
            announced: HashMap::new(),
            begun: false,
            now: Cycle::ZERO,
            summary: empty_summary(rank, (tasks == 0).then_some(Cycle::ZERO)),
        }
    }

    /// The rank.
    #[must_use]
    pub fn rank(&self) -> RankId {
        self.rank
    }

    /// The graph.
    #[must_use]
    pub fn graph(&self) -> &TaskGraph {
        &self.graph
    }

    /// True when all tasks have completed.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.unfinished == 0
    }

    /// What it did with its time, up to the last call.
    #[must_use]
    pub fn summary(&self) -> RankSummary {
        self.summary
    }

    /// Does all that happens in cycle `now`; messages that are sent go to `out`. Returns the next cycle in which
    /// something happens without an arrival.
    pub fn advance(&mut self, now: Cycle, out: &mut Vec<HandOver>) -> Option<Cycle> {
        self.account(now);
        if !self.begun {
            self.begun = true;
            let free = (0..self.waits.len()).filter(|&task| self.waits[task] == 0);
            self.released.extend(free.map(TaskId::new));
        }
        loop {
            self.settle();
            let completed = self.complete_due(now, out);
            self.settle();
            let started = self.start_idle(now);
            if !completed && !started && self.released.is_empty() {
                break;
            }
        }
        self.cpus.iter().filter_map(|cpu| cpu.current.map(|(_, end)| end)).min()
    }

    /// The head of a message has arrived and it is the turn of the message among those of its source: it takes a
    /// receive, or waits for one. [`RankRun::advance`] has been called in this cycle, and is called again.
    pub fn announce(&mut self, envelope: Envelope) {
        *self.announced.entry((envelope.message.source, envelope.tag)).or_default() += 1;
        let receive = self.matching.come(envelope);
        if let Some(task) = receive {
            self.take(task, envelope);
        }
        let known = self.incoming.insert(envelope.message, Incoming { receive, complete: false });
        assert!(known.is_none(), "{:?} is announced once", envelope.message);
    }

    /// The last byte of an announced message has arrived. [`RankRun::advance`] has been called in this cycle, and is
    /// called again.
    ///
    /// # Panics
    /// If the message has not been announced, or has been completed before.
    pub fn complete(&mut self, message: MessageId) {
        let incoming =
            self.incoming.get_mut(&message).expect("a message completes once, after its announcement");
        incoming.complete = true;
        if let Some(task) = incoming.receive {
            self.incoming.remove(&message);
            self.enqueue(task);
        }
    }

    /// Adds the time since the last call to what the cpus were doing.
    fn account(&mut self, now: Cycle) {
        debug_assert!(now >= self.now, "time goes on");
        let span = now.since(self.now);
        self.now = now;
        if span == 0 || self.is_finished() {
            return;
        }
        let mut running = self.cpus.iter().filter_map(|cpu| cpu.current).peekable();
        if running.peek().is_none() {
            self.summary.waiting += span;
        } else if running.any(|(task, _)| self.is_calc(task)) {
            self.summary.computing += span;
        } else {
            self.summary.overhead += span;
        }
    }

    fn is_calc(&self, task: TaskId) -> bool {
        matches!(self.graph.task(self.rank, task).work, Work::Calc { .. })
    }

    /// Makes released tasks ready; a receive starts at once, which may release more.
    fn settle(&mut self) {
        while let Some(task) = self.released.pop_front() {
            debug_assert_eq!(self.states[task.index()], State::Waiting);
            self.states[task.index()] = State::Ready;
            match self.graph.task(self.rank, task).work {
                Work::Calc { .. } | Work::Send { .. } => self.enqueue(task),
                Work::Recv { from, tag, .. } => {
                    self.notify(task, Event::Started);
                    if let Some(envelope) = self.matching.post(Wanted { source: from, tag }, task) {
                        self.take(task, envelope);
                        self.bind(task, envelope.message);
                    }
                }
            }
        }
    }

    /// A receive takes a message.
    fn take(&mut self, task: TaskId, envelope: Envelope) {
        debug_assert_eq!(self.states[task.index()], State::Ready);
        self.states[task.index()] = State::Matched;
        let asked = self.graph.task(self.rank, task).work;
        if matches!(asked, Work::Recv { bytes, .. } if envelope.bytes > bytes) {
            self.summary.truncated += 1;
        }
        self.summary.bytes_received += envelope.bytes;
        self.summary.messages_received += 1;
    }

    /// A receive has taken a message that came before it.
    fn bind(&mut self, task: TaskId, message: MessageId) {
        let incoming = self.incoming.get_mut(&message).expect("an unexpected message has been announced");
        if incoming.complete {
            self.incoming.remove(&message);
            self.enqueue(task);
        } else {
            incoming.receive = Some(task);
        }
    }

    fn enqueue(&mut self, task: TaskId) {
        let number = self.graph.task(self.rank, task).cpu;
        let cpu =
            self.cpus.binary_search_by_key(&number, |cpu| cpu.number).expect("every cpu named is there");
        self.cpus[cpu].queue.push_back(task);
    }

    /// Completes what ends in this cycle.
    fn complete_due(&mut self, now: Cycle, out: &mut Vec<HandOver>) -> bool {
        let mut any = false;
        for cpu in 0..self.cpus.len() {
            let due = self.cpus[cpu].current.filter(|&(_, end)| end <= now);
            if let Some((task, end)) = due {
                debug_assert_eq!(end, now, "rank {} is woken in the cycle that it asked for", self.rank);
                self.cpus[cpu].current = None;
                self.finish(task, now, out);
                any = true;
            }
        }
        any
    }

    fn finish(&mut self, task: TaskId, now: Cycle, out: &mut Vec<HandOver>) {
        self.states[task.index()] = State::Completed;
        self.unfinished -= 1;
        if self.unfinished == 0 {
            self.summary.completion = Some(now);
        }
        let task_data = self.graph.task(self.rank, task);
        if let Work::Send { to, bytes, tag } = task_data.work {
            self.summary.messages_sent += 1;
            self.summary.bytes_sent += bytes;
            let message = MessageId { source: self.rank, task };
            let envelope = Envelope { message, tag, bytes };
            out.push(HandOver { envelope, destination: to, nic: task_data.nic });
        }
        self.notify(task, Event::Completed);
    }

    /// Starts the first of its queue on every idle cpu.
    fn start_idle(&mut self, now: Cycle) -> bool {
        let mut any = false;
        for cpu in 0..self.cpus.len() {
            if self.cpus[cpu].current.is_some() {
                continue;
            }
            let Some(task) = self.cpus[cpu].queue.pop_front() else { continue };
            any = true;
            self.states[task.index()] = State::Running;
            let span = self.occupy(task);
            self.cpus[cpu].current = Some((task, Cycle(now.0.saturating_add(span))));
        }
        any
    }

    /// How long a task occupies its cpu.
    fn occupy(&mut self, task: TaskId) -> u64 {
        let span = match self.graph.task(self.rank, task).work {
            Work::Calc { nanos } => {
                let span = self.clock.cycles_ceil(Picos(nanos.saturating_mul(1_000))).0;
                self.summary.calc_busy = self.summary.calc_busy.saturating_add(span);
                span
            }
            Work::Send { .. } => {
                self.summary.send_busy += self.send_overhead;
                self.send_overhead
            }
            Work::Recv { .. } => {
                self.summary.receive_busy += self.receive_overhead;
                // It started when it was posted.
                return self.receive_overhead;
            }
        };
        self.notify(task, Event::Started);
        span
    }

    /// Tells the dependents of a task.
    fn notify(&mut self, task: TaskId, event: Event) {
        for (dependent, awaited) in self.graph.dependents(self.rank, task) {
            if awaited == event {
                let waits = &mut self.waits[dependent.index()];
                *waits -= 1;
                if *waits == 0 {
                    self.released.push_back(dependent);
                }
            }
        }
    }

    pub(super) fn state(&self, task: TaskId) -> State {
        self.states[task.index()]
    }

    pub(super) fn unfinished(&self) -> usize {
        self.unfinished
    }

    /// Messages with this tag from this source that have been announced.
    pub(super) fn announced(&self, source: RankId, tag: u64) -> u64 {
        self.announced.get(&(source, tag)).copied().unwrap_or(0)
    }

    /// Messages that came and were never received.
    pub(super) fn unexpected(&self) -> impl Iterator<Item = Envelope> + '_ {
        self.matching.unexpected()
    }
}

fn empty_summary(rank: RankId, completion: Option<Cycle>) -> RankSummary {
    RankSummary {
        rank,
        completion,
        computing: 0,
        overhead: 0,
        waiting: 0,
        calc_busy: 0,
        send_busy: 0,
        receive_busy: 0,
        messages_sent: 0,
        bytes_sent: 0,
        messages_received: 0,
        bytes_received: 0,
        truncated: 0,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::goal;
    use super::*;

    /// Nanoseconds are cycles; o_s is 3, o_r is 5.
    pub(in super::super) fn runs(goal: &str) -> Vec<RankRun> {
        let graph = Arc::new(goal::read(goal.as_bytes()).unwrap());
        let clock = Clock::new(1_000_000_000).unwrap();
        let costs = RankCosts { send_overhead: Picos(3_000), receive_overhead: Picos(5_000), clock };
        (0..graph.ranks()).map(|rank| RankRun::new(&graph, RankId(rank), costs)).collect()
    }

    /// Runs ranks over a network that takes `latency` cycles, to the end.
    pub(in super::super) fn run(runs: &mut [RankRun], latency: u64) {
        let mut next: Vec<Option<Cycle>> = vec![Some(Cycle::ZERO); runs.len()];
        let mut flying: Vec<(Cycle, HandOver)> = Vec::new();
        let mut out = Vec::new();
        loop {
            let due = next.iter().flatten().chain(flying.iter().map(|(at, _)| at)).min();
            let Some(&now) = due else { break };
            for (run, next) in runs.iter_mut().zip(&mut next) {
                *next = run.advance(now, &mut out);
            }
            let (landed, still) = flying.into_iter().partition(|&(at, _)| at == now);
            flying = still;
            let landed: Vec<(Cycle, HandOver)> = landed;
            for (_, message) in landed {
                let run = &mut runs[message.destination.index()];
                run.announce(message.envelope);
                run.complete(message.envelope.message);
                next[message.destination.index()] = run.advance(now, &mut out);
            }
            flying.extend(out.drain(..).map(|message| (now + latency, message)));
        }
    }

    fn completions(goal: &str, latency: u64) -> Vec<Option<u64>> {
        let mut runs = runs(goal);
        run(&mut runs, latency);
        runs.iter().map(|run| run.summary().completion.map(|cycle| cycle.0)).collect()
    }

    #[test]
    fn a_ping_pong_takes_two_overheads_and_the_latency_each_way() {
        let goal = "num_ranks 2
            rank 0 {
                a: send 8b to 1 tag 0
                b: recv 8b from 1 tag 0
            }
            rank 1 {
                a: recv 8b from 0 tag 0
                b: send 8b to 0 tag 0
                b requires a
            }";
        // 3 + 100 + 5, then 3 on rank 1, 100 + 5 back.
        assert_eq!(completions(goal, 100), [Some(216), Some(111)]);
    }

    #[test]
    fn requires_waits_for_the_end_and_irequires_for_the_start() {
        let goal = |word: &str| {
            format!(
                "num_ranks 1\nrank 0 {{\na: calc 10\nb: calc 7 cpu 1\nb {word} a\nc: calc 1 cpu 2\nc {word} b\n}}"
            )
        };
        assert_eq!(completions(&goal("requires"), 1), [Some(18)]);
        assert_eq!(completions(&goal("irequires"), 1), [Some(10)]);
    }

    #[test]
    fn a_receive_starts_when_it_is_posted() {
        let goal = "num_ranks 1\nrank 0 {\nr: recv 1b from 0 tag 1\ns: send 1b to 0 tag 1\ns irequires r\n}";
        assert_eq!(completions(goal, 10), [Some(3 + 10 + 5)]);
    }

    #[test]
    fn tasks_share_one_cpu_unless_they_name_others() {
        assert_eq!(completions("num_ranks 1\nrank 0 {\ncalc 10\ncalc 5\n}", 1), [Some(15)]);
        assert_eq!(completions("num_ranks 1\nrank 0 {\ncalc 10\ncalc 5 cpu 1\n}", 1), [Some(10)]);
    }

    #[test]
    fn time_is_computing_overhead_or_waiting() {
        let goal = "num_ranks 2
            rank 0 {
                a: calc 20
                b: send 8b to 1 tag 0
                b requires a
            }
            rank 1 {
                a: recv 4b from 0 tag 0
                b: calc 30 cpu 1
            }";
        let mut runs = runs(goal);
        run(&mut runs, 100);
        let second = runs[1].summary();
        assert_eq!(second.completion, Some(Cycle(128)));
        assert_eq!([second.computing, second.overhead, second.waiting], [30, 5, 93]);
        assert_eq!([second.calc_busy, second.send_busy, second.receive_busy], [30, 0, 5]);
        assert_eq!((second.messages_received, second.bytes_received, second.truncated), (1, 8, 1));
        assert!((second.communication_share() - 98.0 / 128.0).abs() < 1e-12);
        let first = runs[0].summary();
        assert_eq!([first.computing, first.overhead, first.waiting], [20, 3, 0]);
    }

    #[test]
    fn equal_messages_are_received_in_the_order_of_sending() {
        // The receive of rank 1 that is posted first takes the message that was sent first.
        let goal = "num_ranks 2
            rank 0 {
                a: send 1b to 1 tag 4
                b: send 2b to 1 tag 4
            }
            rank 1 {
                x: recv 2b from 0 tag 4
                w: calc 50
                y: recv 1b from -1 tag -1
                y requires w
            }";
        let mut runs = runs(goal);
        run(&mut runs, 7);
        assert!(runs.iter().all(RankRun::is_finished));
        assert_eq!(runs[1].summary().truncated, 1, "y took the two bytes of b");
    }

    #[test]
    fn the_overhead_begins_with_the_last_byte_and_matching_with_the_first() {
        let mut runs = runs(
            "num_ranks 2\nrank 0 {\nsend 9b to 1\nsend 1b to 1\n}\nrank 1 {\nx: recv 9b from 0\ny: recv 1b from 0\n}",
        );
        let mut out = Vec::new();
        assert_eq!(runs[1].advance(Cycle(0), &mut out), None);
        assert_eq!(runs[0].advance(Cycle(0), &mut out), Some(Cycle(3)));
        runs[0].advance(Cycle(3), &mut out);
        runs[0].advance(Cycle(6), &mut out);
        let [long, short] = [out[0].envelope, out[1].envelope];
        let run = &mut runs[1];
        run.advance(Cycle(20), &mut out);
        run.announce(long);
        run.announce(short);
        run.complete(short.message);
        assert_eq!(run.advance(Cycle(20), &mut out), Some(Cycle(25)), "the short one is complete first");
        assert_eq!(run.advance(Cycle(25), &mut out), None);
        run.advance(Cycle(40), &mut out);
        run.complete(long.message);
        assert_eq!(run.advance(Cycle(40), &mut out), Some(Cycle(45)));
        run.advance(Cycle(45), &mut out);
        assert_eq!((run.summary().completion, run.summary().truncated), (Some(Cycle(45)), 0));
    }

    #[test]
    fn a_rank_without_tasks_is_finished_at_once() {
        assert_eq!(completions("num_ranks 1\nrank 0 {\n}", 1), [Some(0)]);
    }

    #[test]
    fn a_long_chain_of_tasks_without_duration_takes_no_stack() {
        let mut goal = String::from("num_ranks 1\nrank 0 {\nl0: recv 1b from 0 tag 0\n");
        for task in 1..50_000 {
            goal.push_str(&format!("l{task}: recv 1b from 0 tag {task}\nl{task} irequires l{}\n", task - 1));
        }
        goal.push('}');
        let mut runs = runs(&goal);
        run(&mut runs, 1);
        assert_eq!(runs[0].unfinished(), 50_000);
        assert_eq!(runs[0].state(TaskId(49_999)), State::Ready);
    }
}
