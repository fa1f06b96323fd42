//! Keys, valid addresses, and the two queues that the system software reads.

use super::{Due, Header, Host, Verb};
use crate::th::engine::Job;
use flitway_nic::th::{DOORBELL, INTERRUPT, RECORD, REQUEST, ThSettings};
use std::ops::Range;

/// What a record of the INTQ is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    Error,
    /// An error whose packet is in the EPQ.
    SavedError,
    /// Something has come for a process that sleeps.
    ForProcess(u8),
}

/// Entries of a queue.
#[derive(Debug)]
pub(super) struct Entries {
    all: u32,
    /// Those that the NIC knows to be free.
    pub(super) free: u32,
    /// Those that have been handled, and of which the NIC knows nothing.
    handled: u32,
}

impl Entries {
    fn new(all: u32) -> Self {
        Entries { all, free: all, handled: 0 }
    }

    /// One more has been handled: how many are told of, if a quarter have been.
    fn handle(&mut self) -> Option<u32> {
        self.handled += 1;
        let tells = self.handled * 4 >= self.all;
        tells.then(|| std::mem::take(&mut self.handled))
    }
}

#[derive(Debug)]
pub(super) struct System {
    /// The INTQ, what waits for an entry of it, and the EPQ.
    records: Entries,
    pub(super) waiting: Vec<Record>,
    pub(super) packets: Entries,
    /// Records that memory has, the first of which is being handled.
    todo: Vec<Record>,
    /// By process: it has said that it sleeps, and nothing has come since. Entries that went up the bus and were not seen.
    sleeps: Vec<bool>,
    pub(super) unseen: Vec<u32>,
}

impl System {
    pub(super) fn new(settings: &ThSettings, processes: usize) -> Self {
        System {
            records: Entries::new(settings.intq),
            waiting: Vec::new(),
            packets: Entries::new(settings.epq),
            todo: Vec::new(),
            sleeps: vec![false; processes],
            unseen: vec![0; processes],
        }
    }
}

impl Host {
    /// Whether `bytes` from `byte` on are valid for a process.
    fn is_valid(&self, process: usize, byte: u64, bytes: u64) -> bool {
        let Some(valid) = self.processors[process].program.setup().valid else { return true };
        let has = |range: &Range<u64>| range.start <= byte && byte < range.end && byte + bytes <= range.end;
        valid.iter().any(has)
    }

    /// A unit takes a descriptor that a process of this node has posted.
    pub(super) fn is_taken_of_its_process(&mut self, job: &mut Job) {
        let process = usize::from(job.name.1);
        let setup = self.processors[process].program.setup();
        (job.key, job.is_physical) = (setup.key, setup.is_physical);
        let touches_memory = job.verb == Verb::Get || self.is_transfer(job);
        job.is_illegal =
            touches_memory && !setup.is_physical && !self.is_valid(process, job.here.byte, job.bytes);
        if job.is_illegal {
            self.counts.illegal[0] += 1;
            job.collective.further = 0;
        }
    }

    pub(super) fn is_legal(&self, header: &Header) -> bool {
        let process = usize::from(header.to.process);
        if process >= self.processors.len() || self.processors[process].program.setup().key != header.key {
            return false;
        }
        match header.verb {
            Verb::Send | Verb::Control => true,
            _ => header.is_physical || self.is_valid(process, header.to.byte, header.bytes),
        }
    }

    /// An illegal packet that has `room` in the receive buffer.
    pub(super) fn discard(&mut self, room: u64) {
        self.counts.illegal[1] += 1;
        if self.system.records.free == 0 || !self.system.waiting.is_empty() {
            self.counts.saved[1] += 1;
            self.has_left_buffer(room);
            return;
        }
        if self.system.packets.free == 0 {
            self.has_left_buffer(room);
            self.record(Record::Error);
            return;
        }
        self.system.packets.free -= 1;
        self.counts.saved[0] += 1;
        let (left, _) = self.bus.post(self.around.at, room as u32 + u32::from(REQUEST));
        self.around.ask(left, Due::Left(room));
        self.record(Record::SavedError);
    }

    fn record(&mut self, record: Record) {
        self.counts.records += 1;
        self.system.waiting.push(record);
        self.write_records();
    }

    /// Writes the records for which there are entries.
    fn write_records(&mut self) {
        while self.system.records.free > 0 && !self.system.waiting.is_empty() {
            self.system.records.free -= 1;
            let record = self.system.waiting.remove(0);
            self.bus.post(self.around.at, RECORD);
            let (_, visible) = self.bus.post(self.around.at, INTERRUPT);
            self.around.ask(visible, Due::Recorded(record));
        }
    }

    pub(super) fn records_taken(&mut self, count: u32) {
        self.system.records.free += count;
        self.write_records();
    }

    /// Memory has a record.
    pub(super) fn recorded(&mut self, record: Record) {
        self.system.todo.push(record);
        if self.system.todo.len() == 1 {
            self.around.ask(self.around.after(self.settings.interrupt), Due::Handled(record));
        }
    }

    /// The first record has been handled.
    pub(super) fn handled(&mut self, record: Record) {
        self.system.todo.remove(0);
        if let Some(&next) = self.system.todo.first() {
            self.around.ask(self.around.after(self.settings.interrupt), Due::Handled(next));
        }
        if let Some(count) = self.system.records.handle() {
            let there = self.bus.write(self.around.at, DOORBELL);
            self.around.ask(there, Due::FreeOfRecords(count));
        }
        match record {
            Record::Error => {}
            Record::SavedError => {
                if let Some(count) = self.system.packets.handle() {
                    let there = self.bus.write(self.around.at, DOORBELL);
                    self.around.ask(there, Due::FreeOfPackets(count));
                }
            }
            Record::ForProcess(process) => self.around.ask(self.around.at, Due::Wakes(process)),
        }
    }

    pub(super) fn says_it_sleeps(&mut self, process: u8) {
        let there = self.bus.write(self.around.at, DOORBELL);
        self.around.ask(there, Due::Sleeps(process));
    }

    pub(super) fn hears_of_sleep(&mut self, process: u8) {
        self.system.sleeps[usize::from(process)] = true;
        self.wake_for_what_came(process);
    }

    /// An entry for a process has gone up the bus.
    pub(super) fn has_come(&mut self, process: u8) {
        self.system.unseen[usize::from(process)] += 1;
        self.wake_for_what_came(process);
    }

    fn wake_for_what_came(&mut self, process: u8) {
        let place = usize::from(process);
        if self.system.sleeps[place] && self.system.unseen[place] > 0 {
            self.system.sleeps[place] = false;
            self.record(Record::ForProcess(process));
        }
    }
}
