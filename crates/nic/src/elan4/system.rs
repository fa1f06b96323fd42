//! Translations that there are not, and command queues in error (qsnet2.txt, "Packet receipt" and "Command queues";
//! mechanisms 3.2, 3.7; P-QS-043, P-QS-060).
//!
//! 27. **Faults.** The hash table has translations of all valid pages of a process from the start, or, where it has them *on
//!     demand*, of each from when the driver has written it there. A page is valid if all of its addresses are, and if it is of
//!     a process that is not there. When a walk finds no translation, an interrupt goes over the bus, of [`INTERRUPT`] bytes.
//!     Then the TLB seeks the next page that is to be sought. TLBs that have all translations from the start do not fault.
//! 28. **The driver.** The processor of the process that has the page is interrupted, and deals with that for `fault`. If the
//!     page is not valid and the DMA engine was to read it for a process of this node, the driver tells that process that its
//!     operation has failed. Then it writes [`ENTRY`] bytes to the NIC. When they are there, and the page is valid, the hash
//!     table has its translation.
//! 29. **The DMA engine** goes on without what faults: after the next walk, if there is one, has begun, the prefetcher has no
//!     descriptor. The one that it had keeps its assembler until what has been asked for is in packets. What is left of it,
//!     from the read that has waited on, is behind the others in the run queue when the translation is there, and begins anew.
//! 30. **Data that have come** wait in the input buffer. When the translation is there their page is sought again, behind those
//!     that are to be.
//! 31. **Errors.** When the NIC hears that a page is not valid, data that wait for it are dropped, and their room in the input
//!     buffer is free; of what has been put off nothing more is read. If that is of a process of this node the command queue of
//!     the process is in error from then on: commands in it are dropped, and such as come, and their room is free. No other
//!     queue is. Packets that were taken from it go on.
//!
//! What waits for the driver waits for an address translation, as its story says. What a thread reads and writes by itself, and
//! what a process copies, needs no translation.

use super::{Elan4, ElanContext, ElanEvent, Message, Side, Waiter};
use crate::host::atc::Page;
use crate::host::program::{Completion, CompletionKind, OperationId, Setup};
use crate::host::story::{Story, Unit};
use crate::host::transfer::Job;
use std::collections::BTreeSet;

/// Bytes of an interrupt on the bus. Source: \[assumed\], a word.
pub const INTERRUPT: u32 = 8;
/// Bytes of a translation, as the driver writes it. Source: \[assumed\], two words.
pub const ENTRY: u32 = 16;

/// What the system software has set up, and the hash table.
#[derive(Debug)]
pub(super) struct System {
    /// By process.
    setups: Box<[Setup]>,
    /// Pages given on demand.
    given: BTreeSet<Page>,
}

/// A page without a translation.
#[derive(Debug)]
pub struct Fault {
    side: Side,
    page: Page,
    /// What the DMA engine has put off, and behind how many bytes of it.
    rest: Option<(Job, u64)>,
}

impl System {
    pub(super) fn new(processes: usize) -> Self {
        System { setups: vec![Setup::default(); processes].into(), given: BTreeSet::new() }
    }

    pub(super) fn admit(&mut self, process: u8, setup: Setup) {
        self.setups[usize::from(process)] = setup;
    }

    /// Whether a page of so many bytes is valid.
    fn is_valid(&self, (process, page): Page, bytes: u64) -> bool {
        self.setups.get(usize::from(process)).is_none_or(|setup| setup.has(page * bytes, bytes))
    }

    /// Whether the hash table has the translation of a page of so many bytes.
    pub(super) fn has(&self, page: Page, bytes: u64) -> bool {
        let is_on_demand = self.setups.get(usize::from(page.0)).is_some_and(|setup| setup.is_on_demand);
        self.is_valid(page, bytes) && (!is_on_demand || self.given.contains(&page))
    }
}

impl Fault {
    /// What has been put off, if a process of this node has begun it.
    fn own(&self, cx: &ElanContext<'_>) -> Option<&Job> {
        self.rest.as_ref().map(|(job, _)| job).filter(|job| !job.is_answer && job.of.node == cx.node)
    }
}

impl Elan4 {
    /// A walk has found no translation.
    pub(super) fn fault(&mut self, cx: &mut ElanContext<'_>, side: Side, page: Page) {
        self.counts.page_faults[side as usize] += 1;
        let next = self.tlbs[side as usize].next();
        let rest = (side == Side::Dma).then(|| {
            self.tlbs[side as usize].forget(page);
            self.put_off()
        });
        let (node, process, story) = (cx.node, page.0, Story::begin(cx.at));
        let what = CompletionKind::Interrupted;
        let completion = Completion { what, number: u64::MAX, node, process, bytes: 0, story };
        self.messages.tell(process, &completion, Message::of_fault(Fault { side, page, rest }));
        let posted = cx.bus.post(cx.at, INTERRUPT);
        cx.tell(posted.visible, process, completion);
        self.walk(cx, side, next);
        if side == Side::Dma {
            self.fetch(cx);
        }
    }

    /// The driver has dealt with a fault.
    pub(super) fn driver_answers(&mut self, cx: &mut ElanContext<'_>, fault: Fault) {
        if !self.system.is_valid(fault.page, self.settings.tlb.page)
            && let Some(job) = fault.own(cx)
        {
            let (OperationId { node, process, number }, mut story) = (job.of, job.story);
            story.pass(Unit::Translation, cx.at);
            let what = CompletionKind::Failed;
            cx.tell(cx.at, process, Completion { what, number, node, process, bytes: job.bytes, story });
        }
        let there = cx.bus.write(cx.at, ENTRY);
        cx.ask(there, ElanEvent::Handled(Box::new(fault)));
    }

    /// The NIC hears what becomes of a fault.
    pub(super) fn handled(&mut self, cx: &mut ElanContext<'_>, fault: Fault) {
        let Fault { side, page, rest } = fault;
        if !self.system.is_valid(page, self.settings.tlb.page) {
            return self.drop_illegal(cx, &fault);
        }
        self.system.given.insert(page);
        if let Some((mut job, first)) = rest {
            job.story.pass(Unit::Translation, cx.at);
            return self.runs_from(cx, job, first);
        }
        let seeks = self.tlbs[side as usize].seek(page);
        self.walk(cx, side, seeks.then_some(page));
    }

    /// What has faulted is dropped.
    fn drop_illegal(&mut self, cx: &mut ElanContext<'_>, fault: &Fault) {
        self.counts.illegal += 1;
        if let Some(job) = fault.own(cx) {
            self.counts.commands_dropped += self.commands.fail(cx, job.of.process);
        }
        if fault.side == Side::Input {
            for waiter in self.tlbs[Side::Input as usize].forget(fault.page) {
                let Waiter::Write(write) = waiter else { panic!("data wait for that page") };
                self.freed(cx, write.payload);
            }
        }
    }
}
