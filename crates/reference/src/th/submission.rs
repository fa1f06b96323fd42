//! Posting, fetching and scheduling of descriptors.

use super::bus::Purpose;
use super::engine::Job;
use super::{Due, Host, Name, Operation, Part, Story};
use flitway_engine::Picos;
use flitway_nic::host::program::{Collective, Submission};
use flitway_nic::th::{DESCRIPTOR, DOORBELL, POINTER};

/// The queue of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    Hdq(usize),
    Sdq(usize),
}

/// A descriptor, or a request of another node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Descriptor {
    pub(super) job: Job,
    /// How a processor of this node posts it.
    pub(super) by: Option<Submission>,
    pub(super) story: Story,
    /// Of the last of a fetch: descriptors of that.
    fetched: Option<u32>,
    /// It has waited for a context.
    waited: bool,
}

impl Descriptor {
    pub(super) fn of(name: Name, operation: &Operation, story: Story) -> Self {
        let job = Job::of(name, operation);
        Descriptor { job, by: Some(operation.by), story, fetched: None, waited: false }
    }

    /// A request of another node, which `job` answers.
    pub(super) fn request(job: Job, story: Story) -> Self {
        Descriptor { job, by: None, story, fetched: None, waited: false }
    }
}

impl Host {
    /// A processor writes a descriptor: the time that it takes.
    pub(super) fn write_descriptor(&mut self, process: u8, by: Submission, descriptor: Descriptor) -> Picos {
        let (burst, burst_time) = (self.settings.host.bus.burst, self.settings.host.bus.burst_time);
        let (queue, mut left, mut time) = match by {
            Submission::Hdq => (Queue::Hdq(process.into()), DESCRIPTOR, Picos(0)),
            Submission::Sdq => (Queue::Sdq(process.into()), DOORBELL, self.settings.store),
            _ => panic!("the NIC of TH Express-2 has two kinds of queues, and no {by:?}"),
        };
        while left > 0 {
            let bytes = left.min(burst);
            left -= bytes;
            time.0 += burst_time.0;
            self.around.ask(self.around.after(time), Due::Burst(queue, descriptor, bytes, left == 0));
        }
        time
    }

    /// A burst has been written, and goes over the bus.
    pub(super) fn burst(&mut self, queue: Queue, mut descriptor: Descriptor, bytes: u32, is_last: bool) {
        let there = self.bus.write(self.around.at, bytes);
        if is_last {
            descriptor.story.pass(Part::Processor, self.around.at);
            descriptor.story.pass(Part::Bus, there);
            let due = match queue {
                Queue::Hdq(queue) => Due::Written(queue, descriptor),
                Queue::Sdq(queue) => Due::Rung(queue, descriptor),
            };
            self.around.ask(there, due);
        }
    }

    pub(super) fn in_hdq(&mut self, queue: usize, descriptor: Descriptor) {
        self.sources[queue].push(descriptor);
        self.schedule();
    }

    pub(super) fn rung(&mut self, queue: usize, descriptor: Descriptor) {
        self.known[queue].push(descriptor);
        self.fetch();
    }

    pub(super) fn has_room(&mut self, queue: Queue, count: u32) {
        let (Queue::Hdq(process) | Queue::Sdq(process)) = queue;
        let processor = &mut self.processors[process];
        match queue {
            Queue::Hdq(_) => processor.hdq_room += count,
            Queue::Sdq(_) => processor.sdq_room += count,
        }
        self.go_on(process as u8);
    }

    fn group(&self, queue: usize) -> usize {
        queue / (self.settings.sdqs / self.settings.sdq_groups) as usize
    }

    /// Reads queues in memory, in turns, as long as one may be read.
    pub(super) fn fetch(&mut self) {
        let queues = self.known.len();
        while let Some(queue) =
            (0..queues).map(|step| (self.sdq_turn + step) % queues).find(|&queue| self.may_be_read(queue))
        {
            let room = self.group_room[self.group(queue)];
            let count = (self.known[queue].len() as u32).min(room).min(self.settings.fetch);
            let group = self.group(queue);
            self.group_room[group] -= count;
            self.sdq_turn = (queue + 1) % queues;
            self.counts.fetches += 1;
            let mut read: Vec<Descriptor> = self.known[queue].drain(..count as usize).collect();
            read.iter_mut().for_each(|it| it.story.pass(Part::Submission, self.around.at));
            read[count as usize - 1].fetched = Some(count);
            self.reading[queue] = read;
            self.read(Purpose::Descriptors(queue), count * DESCRIPTOR);
        }
    }

    fn may_be_read(&self, queue: usize) -> bool {
        let has_room = self.group_room[self.group(queue)] > 0;
        !self.known[queue].is_empty() && self.reading[queue].is_empty() && has_room
    }

    pub(super) fn descriptors_read(&mut self, queue: usize) {
        let mut read = std::mem::take(&mut self.reading[queue]);
        read.iter_mut().for_each(|it| it.story.pass(Part::Bus, self.around.at));
        self.sources[self.settings.hdqs as usize + queue].extend(read);
        self.schedule();
        self.fetch();
    }

    /// Free units take descriptors, as long as there are both.
    pub(super) fn schedule(&mut self) {
        let sources = self.sources.len();
        loop {
            let free = (0..self.settings.units as usize).filter(|&unit| !self.units[unit].is_busy);
            let free: Vec<usize> = free.collect();
            // One that has nodes left of a collective descriptor goes before all others.
            if let Some(&unit) = free.iter().find(|&&unit| self.units[unit].left.is_some())
                && let Some((job, mut story)) = self.units[unit].left.take()
            {
                story.pass(Part::Engine, self.around.at);
                self.carry_out(unit, job, story);
                continue;
            }
            let Some(&unit) = free.first() else { break };
            let has_context = self.connections.has_sender();
            let may_take = |first: &Descriptor| has_context || !first.job.is_reliable;
            let mut turns = (0..sources).map(|step| (self.source_turn + step) % sources);
            let source = turns.find(|&source| {
                let first = self.sources[source].first();
                first.is_some_and(|first| may_take(first) && !self.lacks_control(source, first))
            });
            if !has_context {
                self.pass_over();
            }
            let Some(source) = source else { break };
            self.source_turn = (source + 1) % sources;
            let mut descriptor = self.sources[source].remove(0);
            self.give_room_back(source, &descriptor);
            self.goes_on(source, &mut descriptor);
            self.take(unit, descriptor);
            // The memory of a group has room.
            self.fetch();
        }
    }

    /// The process of a source; none of requests.
    fn process_of(&self, source: usize) -> Option<usize> {
        let hdqs = self.settings.hdqs as usize;
        let process = if source < hdqs { source } else { source - hdqs };
        (source + 1 < self.sources.len()).then_some(process)
    }

    /// Whether the `first` of a source waits for control packets that have not come.
    fn lacks_control(&self, source: usize, first: &Descriptor) -> bool {
        let waits = first.job.collective.waits as usize;
        self.process_of(source).is_some_and(|process| self.kept[process].len() < waits)
    }

    /// A descriptor that is taken takes the control packets that it has waited for, and goes on with the story that is the
    /// last: its own, that of the last of those, or if it waits for none and follows, that of the one before it.
    fn goes_on(&mut self, source: usize, descriptor: &mut Descriptor) {
        let Some(process) = self.process_of(source) else { return };
        let Collective { waits, follows, .. } = descriptor.job.collective;
        let mut other = if follows { self.taken_last[source] } else { None };
        for _ in 0..waits {
            other = Some(self.kept[process].remove(0));
        }
        if let Some(other) = other
            && other.until() > descriptor.story.until()
        {
            descriptor.story = other;
        }
        descriptor.story.pass(Part::Submission, self.around.at);
        self.taken_last[source] = Some(descriptor.story);
    }

    /// A control packet is kept for a process. It is counted if the first of none of its queues waits for it.
    pub(super) fn keep(&mut self, process: u8, story: Story) {
        let kept = &mut self.kept[usize::from(process)];
        kept.push(story);
        let count = kept.len();
        self.counts.controls[0] += 1;
        let sources = (0..self.sources.len()).filter(|&it| self.process_of(it) == Some(process.into()));
        let mut firsts = sources.filter_map(|source| self.sources[source].first());
        if !firsts.any(|first| first.job.collective.waits as usize >= count) {
            self.counts.controls[1] += 1;
        }
    }

    /// Descriptors that need a context, and wait for one, are counted when they are passed over first.
    fn pass_over(&mut self) {
        for source in &mut self.sources {
            let Some(first) = source.first_mut() else { continue };
            if first.job.is_reliable && !first.waited {
                first.waited = true;
                self.connections.has_waited();
            }
        }
    }

    /// A descriptor is taken out of `source`.
    fn give_room_back(&mut self, source: usize, descriptor: &Descriptor) {
        let hdqs = self.settings.hdqs as usize;
        if source < hdqs {
            self.counts.descriptors[0] += 1;
            self.tell_room(Queue::Hdq(source), 1);
        } else if source < hdqs + self.known.len() {
            self.counts.descriptors[1] += 1;
            let queue = source - hdqs;
            let group = self.group(queue);
            self.group_room[group] += 1;
            if let Some(count) = descriptor.fetched {
                self.tell_room(Queue::Sdq(queue), count);
            }
        } else {
            self.counts.descriptors[2] += 1;
        }
    }

    fn tell_room(&mut self, queue: Queue, count: u32) {
        let (_, visible) = self.bus.post(self.around.at, POINTER);
        self.around.ask(visible, Due::Room(queue, count));
    }
}
