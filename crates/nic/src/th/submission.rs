//! Submission: descriptors on their way to a unit. See points 1 to 3 of the header of this module.

use super::{DESCRIPTOR, DOORBELL, Job, POINTER, Purpose, Queue, ThContext, ThEvent, ThSettings};
use crate::host::bus::{Place, Read, plus};
use crate::host::program::{Operation, Submission};
use crate::host::story::{Story, Unit};
use crate::host::{Post, Posting};
use flitway_engine::Picos;
use flitway_wiring::NodeId;
use std::collections::VecDeque;

/// The submission queues, and the requests of other nodes.
#[derive(Debug)]
pub(super) struct Submissions {
    hdqs: Box<[Hdq]>,
    sdqs: Box<[Sdq]>,
    /// Descriptors in the memory of each group, or on their way there.
    groups: Box<[u32]>,
    sdqs_per_group: usize,
    requests: VecDeque<Job>,
    /// By process: the control packets that have come for it and that nothing has waited for, with their stories.
    controls: Box<[VecDeque<Story>]>,
    /// By queue, HDQs first: the story of the descriptor that was taken last, until then.
    before: Box<[Option<Story>]>,
    /// By queue, as they take turns: its first descriptor has been passed over for want of a context.
    passed_over: Box<[bool]>,
    /// Where the search for a queue to read, and for a descriptor, begins.
    next_fetch: usize,
    next_take: usize,
}

/// What a process and the NIC know of a queue on the chip.
#[derive(Debug)]
struct Hdq {
    /// Descriptors that may be written, as far as the process knows.
    room: u32,
    waits: bool,
    descriptors: VecDeque<Post>,
}

/// What they know of a queue in memory.
#[derive(Debug)]
struct Sdq {
    room: u32,
    waits: bool,
    /// In memory and not read.
    written: VecDeque<Post>,
    /// Those of them that the NIC knows of.
    rung: u32,
    /// Being read.
    reading: VecDeque<Post>,
    /// On the chip; the last of a fetch with how many these were.
    fetched: VecDeque<(Post, Option<u32>)>,
}

/// Where a descriptor was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    Hdq,
    Sdq,
    Requests,
}

impl Submissions {
    pub(super) fn new(settings: &ThSettings, processes: usize) -> Self {
        let ThSettings { hdqs, hdq_depth, sdqs, sdq_depth, sdq_groups, .. } = *settings;
        let hdq = || Hdq { room: hdq_depth, waits: false, descriptors: VecDeque::new() };
        let sdq = || Sdq {
            room: sdq_depth,
            waits: false,
            written: VecDeque::new(),
            rung: 0,
            reading: VecDeque::new(),
            fetched: VecDeque::new(),
        };
        let [of_hdqs, of_sdqs] = [hdqs, sdqs].map(|queues| processes.min(queues as usize));
        Submissions {
            hdqs: (0..of_hdqs).map(|_| hdq()).collect(),
            sdqs: (0..of_sdqs).map(|_| sdq()).collect(),
            passed_over: vec![false; of_hdqs + of_sdqs + 1].into(),
            groups: vec![0; sdq_groups as usize].into(),
            sdqs_per_group: (sdqs / sdq_groups) as usize,
            requests: VecDeque::new(),
            before: vec![None; of_hdqs + of_sdqs].into(),
            controls: (0..processes).map(|_| VecDeque::new()).collect(),
            next_fetch: 0,
            next_take: 0,
        }
    }

    /// A processor comes to an operation.
    pub(super) fn post(
        &mut self,
        cx: &mut ThContext<'_>,
        process: u8,
        post: &Post,
        settings: &ThSettings,
    ) -> Posting {
        let place = usize::from(process);
        let queue = match post.operation.by {
            Submission::Hdq => Queue::Hdq(process),
            Submission::Sdq => Queue::Sdq(process),
            by => panic!("operations are fitted to the NIC, which has no {by:?}"),
        };
        let (room, waits) = match queue {
            Queue::Hdq(_) => (&mut self.hdqs[place].room, &mut self.hdqs[place].waits),
            Queue::Sdq(_) => (&mut self.sdqs[place].room, &mut self.sdqs[place].waits),
        };
        if *room == 0 {
            *waits = true;
            return Posting::Waits;
        }
        *room -= 1;
        let bus = *cx.bus.settings();
        let (begins, bytes) = match queue {
            Queue::Hdq(_) => (cx.at, DESCRIPTOR),
            Queue::Sdq(_) => (plus(cx.at, settings.store), DOORBELL),
        };
        // All are asked for now, so that none of the next descriptor comes in between, however fast a processor is.
        let (mut left, mut written) = (bytes, begins);
        while left > 0 {
            written = plus(written, bus.burst_time);
            cx.ask(written, ThEvent::Burst(queue, *post, left));
            left -= bus.burst.min(left);
        }
        Posting::Until(written)
    }

    /// A processor has written a burst; `left` bytes had not been written before.
    pub(super) fn burst(&mut self, cx: &mut ThContext<'_>, queue: Queue, mut post: Post, left: u32) {
        let bytes = cx.bus.settings().burst.min(left);
        let there = cx.bus.write(cx.at, bytes);
        if left > bytes {
            return;
        }
        post.story.pass(Unit::Processor, cx.at);
        post.story.pass(Unit::Bus, there);
        match queue {
            Queue::Hdq(queue) => cx.ask(there, ThEvent::Written(queue, post)),
            Queue::Sdq(queue) => {
                self.sdqs[usize::from(queue)].written.push_back(post);
                cx.ask(there, ThEvent::Rung(queue));
            }
        }
    }

    /// A descriptor is in an HDQ.
    pub(super) fn written(&mut self, queue: u8, post: Post) {
        self.hdqs[usize::from(queue)].descriptors.push_back(post);
    }

    /// A doorbell has been rung.
    pub(super) fn rung(&mut self, queue: u8) {
        self.sdqs[usize::from(queue)].rung += 1;
    }

    /// A process knows of more room in a queue.
    pub(super) fn has_room(&mut self, cx: &mut ThContext<'_>, queue: Queue, count: u32) {
        let (room, waits, process) = match queue {
            Queue::Hdq(process) => {
                let hdq = &mut self.hdqs[usize::from(process)];
                (&mut hdq.room, &mut hdq.waits, process)
            }
            Queue::Sdq(process) => {
                let sdq = &mut self.sdqs[usize::from(process)];
                (&mut sdq.room, &mut sdq.waits, process)
            }
        };
        *room += count;
        if std::mem::take(waits) {
            cx.release(cx.at, process);
        }
    }

    /// Reads every queue that may be read: how many.
    pub(super) fn fetch(&mut self, cx: &mut ThContext<'_>, settings: &ThSettings) -> u64 {
        let mut fetches = 0;
        let queues = self.sdqs.len();
        while let Some(queue) = (0..queues)
            .map(|step| (self.next_fetch + step) % queues)
            .find(|&queue| self.may_read(queue, settings))
        {
            let group = &mut self.groups[queue / self.sdqs_per_group];
            let sdq = &mut self.sdqs[queue];
            let count = sdq.rung.min(settings.fetch).min(settings.group_room - *group);
            *group += count;
            sdq.rung -= count;
            sdq.reading.extend(sdq.written.drain(..count as usize));
            sdq.reading.iter_mut().for_each(|post| post.story.pass(Unit::Submission, cx.at));
            let tag = Purpose::Descriptors(queue as u8).tag();
            cx.read(Read { tag, bytes: count * DESCRIPTOR, place: Place::Cache });
            self.next_fetch = (queue + 1) % queues;
            fetches += 1;
        }
        fetches
    }

    fn may_read(&self, queue: usize, settings: &ThSettings) -> bool {
        let sdq = &self.sdqs[queue];
        let has_room = self.groups[queue / self.sdqs_per_group] < settings.group_room;
        sdq.rung > 0 && sdq.reading.is_empty() && has_room
    }

    /// What is being read of a queue is there.
    pub(super) fn fetched(&mut self, at: Picos, queue: u8) {
        let sdq = &mut self.sdqs[usize::from(queue)];
        let count = sdq.reading.len();
        for (place, mut post) in (1..).zip(sdq.reading.drain(..)) {
            post.story.pass(Unit::Bus, at);
            sdq.fetched.push_back((post, (place == count).then_some(count as u32)));
        }
    }

    /// A request of another node.
    pub(super) fn request(&mut self, job: Job) {
        self.requests.push_back(job);
    }

    /// A control packet is kept for `process`: whether nothing waits for it yet.
    pub(super) fn keep(&mut self, process: u8, story: Story) -> bool {
        let place = usize::from(process);
        self.controls[place].push_back(story);
        let of_hdq = self.hdqs.get(place).and_then(|hdq| hdq.descriptors.front());
        let of_sdq = self.sdqs.get(place).and_then(|sdq| sdq.fetched.front()).map(|(post, _)| post);
        let came = self.controls[place].len();
        let waits = |post: &Post| post.operation.collective.waits as usize >= came;
        !of_hdq.into_iter().chain(of_sdq).any(waits)
    }

    /// Whether the first descriptor of a queue, as they take turns, is reliable; nothing if there is none, or if it waits for
    /// control packets.
    fn first(&self, place: usize) -> Option<bool> {
        let (hdqs, sdqs) = (self.hdqs.len(), self.sdqs.len());
        let (post, process) = match place.checked_sub(hdqs) {
            None => (self.hdqs[place].descriptors.front()?, place),
            Some(queue) if queue < sdqs => (&self.sdqs[queue].fetched.front()?.0, queue),
            Some(_) => return Some(self.requests.front()?.is_reliable),
        };
        let Operation { is_reliable, collective, .. } = post.operation;
        (self.controls[process].len() >= collective.waits as usize).then_some(is_reliable)
    }

    /// What `process` does for a descriptor of the queue at `place` that does not wait any more: it goes on with the story of
    /// the last control packet that it has waited for, or of the descriptor before it, if that came after it.
    fn begun(&mut self, at: Picos, (node, process): (NodeId, usize), place: usize, post: &Post) -> Job {
        let mut job = Job::of(node, process as u8, post);
        let collective = post.operation.collective;
        let last = self.controls[process].drain(..collective.waits as usize).next_back();
        let before = self.before[place].filter(|_| collective.follows);
        if let Some(story) = last.or(before).filter(|story| story.until() > job.story.until()) {
            job.story = story;
        }
        job.story.pass(Unit::Submission, at);
        self.before[place] = Some(job.story);
        job
    }

    /// A unit looks for a descriptor: without a free context it passes over those that need one. How many are that for the
    /// first time.
    pub(super) fn pass_over(&mut self, has_context: bool) -> u64 {
        if has_context {
            return 0;
        }
        let mut more = 0;
        for place in 0..self.passed_over.len() {
            if self.first(place) == Some(true) {
                more += u64::from(!std::mem::replace(&mut self.passed_over[place], true));
            }
        }
        more
    }

    /// The descriptor whose turn it is, and where it comes from; without a free context, of those that need none.
    pub(super) fn take(
        &mut self,
        cx: &mut ThContext<'_>,
        node: NodeId,
        has_context: bool,
    ) -> Option<(Job, From)> {
        let (hdqs, sdqs) = (self.hdqs.len(), self.sdqs.len());
        let all = hdqs + sdqs + 1;
        let has_one = |place: usize| self.first(place).is_some_and(|needs| has_context || !needs);
        let place = (0..all).map(|step| (self.next_take + step) % all).find(|&place| has_one(place))?;
        self.next_take = (place + 1) % all;
        self.passed_over[place] = false;
        match place.checked_sub(hdqs) {
            None => {
                let post = self.hdqs[place].descriptors.pop_front()?;
                self.give_back(cx, Queue::Hdq(place as u8), 1);
                Some((self.begun(cx.at, (node, place), place, &post), From::Hdq))
            }
            Some(queue) if queue < sdqs => {
                let (post, last) = self.sdqs[queue].fetched.pop_front()?;
                self.groups[queue / self.sdqs_per_group] -= 1;
                if let Some(count) = last {
                    self.give_back(cx, Queue::Sdq(queue as u8), count);
                }
                Some((self.begun(cx.at, (node, queue), place, &post), From::Sdq))
            }
            Some(_) => Some((self.requests.pop_front()?, From::Requests)),
        }
    }

    /// Tells a process of room in its queue.
    fn give_back(&self, cx: &mut ThContext<'_>, queue: Queue, count: u32) {
        let posted = cx.bus.post(cx.at, POINTER);
        cx.ask(posted.visible, ThEvent::Room(queue, count));
    }

    /// Whether no descriptor is anywhere.
    pub(super) fn is_idle(&self) -> bool {
        let is_idle = |sdq: &Sdq| sdq.written.is_empty() && sdq.reading.is_empty() && sdq.fetched.is_empty();
        let hdqs_are = self.hdqs.iter().all(|hdq| hdq.descriptors.is_empty());
        let none_came = self.controls.iter().all(VecDeque::is_empty);
        hdqs_are && self.sdqs.iter().all(is_idle) && self.requests.is_empty() && none_came
    }
}
