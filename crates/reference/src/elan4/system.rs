//! Pages without a translation, what the driver does about them, and command queues in error.

use super::dma::Descriptor;
use super::{CompletionKind, Due, Found, Host, Name, Page, Side, Story, Unit, Waiter, What, completion};
use flitway_engine::Picos;
use flitway_nic::elan4::{ENTRY, INTERRUPT};

/// A page that a TLB has sought in vain.
#[derive(Debug)]
pub(super) struct PageFault {
    side: Side,
    page: Page,
    /// What the DMA engine has put off for it.
    rest: Option<Descriptor>,
}

impl PageFault {
    /// The operation of a process of `node` that is put off, if it is one.
    fn own(&self, node: flitway_wiring::NodeId) -> Option<(Name, u64, Story)> {
        let rest = self.rest?;
        (rest.what == What::Put && rest.name.0 == node).then_some((rest.name, rest.bytes, rest.story))
    }
}

impl Host {
    /// Whether all addresses of a page are valid.
    fn is_valid(&self, (process, page): Page) -> bool {
        let bytes = self.settings.tlb.page;
        let (first, last) = (page * bytes, page * bytes + bytes - 1);
        let Some(processor) = self.processors.get(usize::from(process)) else { return true };
        let valid = processor.program.setup().valid;
        valid.is_none_or(|ranges| ranges.iter().any(|range| range.contains(&first) && range.contains(&last)))
    }

    /// Whether the hash table has the translation of a page.
    pub(super) fn is_translated(&self, page: Page) -> bool {
        let processor = self.processors.get(usize::from(page.0));
        let is_on_demand = processor.is_some_and(|it| it.program.setup().is_on_demand);
        self.is_valid(page) && (!is_on_demand || self.given.contains(&page))
    }

    /// A walk has found nothing.
    pub(super) fn page_is_missing(&mut self, side: Side, page: Page) {
        self.counts.page_faults[side as usize] += 1;
        let next = self.tlbs[side as usize].given_up(page);
        let rest = (side == Side::Dma).then(|| {
            self.tlbs[side as usize].leave(page);
            self.put_off()
        });
        let (_, visible) = self.bus.post(self.around.at, INTERRUPT);
        let nothing = (self.around.node, page.0, u64::MAX);
        let told = completion(CompletionKind::Interrupted, nothing, 0, Story::begin(self.around.at));
        let found = Found::Fault(Box::new(PageFault { side, page, rest }));
        self.around.ask(visible, Due::Visible(page.0, told, Some(found)));
        self.seek(side, next);
        if side == Side::Dma {
            self.take_descriptor();
        }
    }

    /// The driver has dealt with a fault.
    pub(super) fn driver_answers(&mut self, fault: PageFault) {
        let at = self.around.at;
        if let Some((name, bytes, mut story)) =
            fault.own(self.around.node).filter(|_| !self.is_valid(fault.page))
        {
            story.pass(Unit::Translation, at);
            let told = completion(CompletionKind::Failed, name, bytes, story);
            self.around.ask(at, Due::Visible(name.1, told, None));
        }
        let there = self.bus.write(at, ENTRY);
        self.around.ask(there, Due::DriverHasAnswered(fault));
    }

    /// The NIC has what the driver has written.
    pub(super) fn driver_has_answered(&mut self, fault: PageFault) {
        let (side, page) = (fault.side, fault.page);
        if self.is_valid(page) {
            self.given.push(page);
            match fault.rest {
                Some(mut rest) => {
                    rest.story.pass(Unit::Translation, self.around.at);
                    self.runs_again(rest);
                }
                None if self.tlbs[side as usize].seek(page) => self.seek(side, Some(page)),
                None => {}
            }
            return;
        }
        self.counts.illegal += 1;
        if let Some((name, ..)) = fault.own(self.around.node) {
            self.queue_breaks(name.1);
        }
        if side == Side::Input {
            for waiter in self.tlbs[side as usize].leave(page) {
                let Waiter::Input(write) = waiter else { panic!("only data wait for pages that come") };
                self.has_left_buffer(write.bytes());
            }
        }
    }

    /// The command queue of a process is in error from now on.
    fn queue_breaks(&mut self, process: u8) {
        let at: Picos = self.around.at;
        let queue = &mut self.queues[usize::from(process)];
        queue.is_in_error = true;
        queue.goes_on(at);
        let commands = std::mem::take(&mut queue.commands);
        self.drop_commands(process, &commands);
    }
}
