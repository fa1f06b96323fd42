//! The address translation cache.

use super::receive::Write;
use super::{Host, bus::Purpose};
use flitway_nic::host::atc::AtcSettings;
use flitway_nic::th::TRANSLATION;

/// A page of a process.
pub(super) type Page = (u8, u64);

/// Who waits for a translation.
#[derive(Debug)]
pub(super) enum Waiter {
    /// The transfer of a unit.
    Unit(usize),
    /// A packet or an event.
    Write(Box<Write>),
}

#[derive(Debug)]
pub(super) struct Atc {
    /// By set: pages, the least recently used one first.
    sets: Vec<Vec<Page>>,
    /// Pages that are read, and pages that are to be.
    reading: Vec<Page>,
    queue: Vec<Page>,
    /// Who waits for which, in the order of asking.
    waiting: Vec<(Page, Waiter)>,
}

impl Atc {
    pub(super) fn new(settings: &AtcSettings) -> Self {
        Atc {
            sets: vec![Vec::new(); (settings.entries / settings.ways) as usize],
            reading: Vec::new(),
            queue: Vec::new(),
            waiting: Vec::new(),
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.reading.is_empty() && self.queue.is_empty()
    }

    /// Consecutive pages are in consecutive sets; those of the next process begin a sixty-fourth of the sets, and one, later.
    fn set(&mut self, (process, page): Page) -> &mut Vec<Page> {
        let sets = self.sets.len() as u64;
        let set = (page + u64::from(process) * (sets / 64 + 1)) % sets;
        &mut self.sets[set as usize]
    }
}

impl Host {
    /// Looks for a page: whether it is there.
    pub(super) fn look(&mut self, page: Page) -> bool {
        let set = self.atc.set(page);
        let place = set.iter().position(|&it| it == page);
        if let Some(place) = place {
            let page = set.remove(place);
            set.push(page);
        }
        let is_there = place.is_some() || self.settings.atc.is_preloaded;
        *(if is_there { &mut self.atc_counts.hits } else { &mut self.atc_counts.misses }) += 1;
        is_there
    }

    /// `waiter` waits for a page that is not there.
    pub(super) fn wait_for(&mut self, page: Page, waiter: Waiter) {
        self.atc.waiting.push((page, waiter));
        if self.atc.reading.contains(&page) || self.atc.queue.contains(&page) {
            return;
        }
        if self.atc.reading.len() < self.settings.atc.misses as usize {
            self.read_page(page);
        } else {
            self.atc.queue.push(page);
        }
    }

    fn read_page(&mut self, page: Page) {
        self.atc.reading.push(page);
        self.read(Purpose::Translation(page), TRANSLATION);
    }

    /// The translation of `page` is there: the next is read, and then who waited goes on.
    pub(super) fn translation_read(&mut self, page: Page) {
        self.atc.reading.retain(|&it| it != page);
        let ways = self.settings.atc.ways as usize;
        let set = self.atc.set(page);
        if set.len() == ways {
            set.remove(0);
            self.atc_counts.replaced += 1;
        }
        self.atc.set(page).push(page);
        let (done, waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.atc.waiting).into_iter().partition(|(of, _)| *of == page);
        self.atc.waiting = waiting;
        if !self.atc.queue.is_empty() {
            let next = self.atc.queue.remove(0);
            self.read_page(next);
        }
        for (_, waiter) in done {
            match waiter {
                Waiter::Unit(unit) => self.page_known(unit),
                Waiter::Write(write) => self.write_translated(*write),
            }
        }
    }
}
