//! Protection, and what the system software has to do with: see points 22 to 27 of the header of this module.

use super::{
    DOORBELL, Header, INTERRUPT, Job, RECORD, REQUEST, SystemRings, Th, ThContext, ThEvent, ThSettings,
};
use crate::host::bus::plus;
use crate::host::program::Setup;
use crate::host::ring::Ring;
use crate::host::transfer::Carries;
use flitway_engine::Picos;

/// What the INTQ says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// A packet was illegal, and perhaps saved in the EPQ.
    Error {
        /// It was.
        is_saved: bool,
    },
    /// Something has come for a process that sleeps.
    Wakes(u8),
}

/// What the system software has set up, and the queues that it reads.
#[derive(Debug)]
pub(super) struct System {
    /// By process.
    setups: Box<[Setup]>,
    /// By process: it sleeps, and nothing has come since it said so.
    sleeping: Box<[bool]>,
    intq: Ring<Record>,
    epq: Ring<()>,
    /// When it has handled all that it knows of.
    free: Picos,
}

impl System {
    pub(super) fn new(settings: &ThSettings, processes: usize) -> Self {
        System {
            setups: vec![Setup::default(); processes].into(),
            sleeping: vec![false; processes].into(),
            intq: Ring::new(settings.intq),
            epq: Ring::new(settings.epq),
            free: Picos(0),
        }
    }

    pub(super) fn admit(&mut self, process: u8, setup: Setup) {
        self.setups[usize::from(process)] = setup;
    }

    /// Gives `job`, which a process of this node has posted, what it has of that process, and says whether it is illegal. It
    /// may hold its data.
    pub(super) fn check(&self, job: &mut Job, holds_data: bool) {
        let setup = &self.setups[usize::from(job.of.process)];
        (job.key, job.is_physical) = (setup.key, setup.is_physical);
        let here = if job.is_request() { job.target } else { job.source.1 };
        job.is_illegal = !setup.is_physical && !holds_data && !setup.has(here, job.bytes);
    }

    /// Whether a packet is legal.
    pub(super) fn allows(&self, header: &Header) -> bool {
        let Header { process, byte, bytes, key, is_physical, .. } = *header;
        let names_data = !matches!(header.what, Carries::Mini | Carries::Control);
        let allows =
            |setup: &Setup| key == setup.key && (is_physical || !names_data || setup.has(byte, bytes));
        self.setups.get(usize::from(process)).is_some_and(allows)
    }

    /// Something has come for `process`: whether it is woken for that.
    pub(super) fn wakes(&mut self, process: u8) -> bool {
        std::mem::take(&mut self.sleeping[usize::from(process)])
    }

    pub(super) fn is_idle(&self) -> bool {
        self.intq.is_idle()
    }
}

impl Th {
    /// A packet with `payload` bytes is discarded.
    pub(super) fn discard_illegal(&mut self, cx: &mut ThContext<'_>, payload: u32) {
        self.counts.illegal[1] += 1;
        if !self.system.intq.has_room() {
            self.counts.saved[1] += 1;
            return self.freed(cx, payload);
        }
        let is_saved = self.system.epq.enter_if_free();
        if is_saved {
            self.counts.saved[0] += 1;
            let posted = cx.bus.post(cx.at, payload + u32::from(REQUEST));
            cx.ask(posted.sent, ThEvent::Freed(payload));
        } else {
            self.freed(cx, payload);
        }
        self.record(cx, Record::Error { is_saved });
    }

    /// A record gets an entry of the INTQ, or waits for one.
    pub(super) fn record(&mut self, cx: &mut ThContext<'_>, record: Record) {
        self.counts.records += 1;
        if let Ok(record) = self.system.intq.enter(record) {
            write_record(cx, record);
        }
    }

    /// Memory has a record and its interrupt: the system software handles it in its turn.
    pub(super) fn interrupts(&mut self, cx: &mut ThContext<'_>, record: Record) {
        let System { free, .. } = &mut self.system;
        *free = plus((*free).max(cx.at), self.settings.interrupt);
        cx.ask(*free, ThEvent::Handled(record));
    }

    /// The system software has handled a record.
    pub(super) fn handled(&mut self, cx: &mut ThContext<'_>, record: Record) {
        let System { intq, epq, .. } = &mut self.system;
        let packets = matches!(record, Record::Error { is_saved: true }).then(|| epq.see()).flatten();
        for (ring, entries) in [(SystemRings::Intq, intq.see()), (SystemRings::Epq, packets)] {
            if let Some(entries) = entries {
                let there = cx.bus.write(cx.at, DOORBELL);
                cx.ask(there, ThEvent::Taken(ring, entries));
            }
        }
        if let Record::Wakes(process) = record {
            cx.wake(process, self.settings.interrupt);
        }
    }

    /// Entries of a queue are free.
    pub(super) fn taken(&mut self, cx: &mut ThContext<'_>, ring: SystemRings, entries: u32) {
        match ring {
            SystemRings::Intq => {
                self.system.intq.free(entries).into_iter().for_each(|record| write_record(cx, record));
            }
            SystemRings::Epq => drop(self.system.epq.free(entries)),
        }
    }

    /// A process sleeps.
    pub(super) fn process_sleeps(&mut self, cx: &mut ThContext<'_>, process: u8) {
        if self.has_told(process) {
            self.record(cx, Record::Wakes(process));
        } else {
            self.system.sleeping[usize::from(process)] = true;
        }
    }
}

/// A record is written, and its interrupt behind it.
fn write_record(cx: &mut ThContext<'_>, record: Record) {
    cx.bus.post(cx.at, RECORD);
    let posted = cx.bus.post(cx.at, INTERRUPT);
    cx.ask(posted.visible, ThEvent::Interrupts(record));
}
