//! A translation cache: pages in sets, those that are sought, and who waits for them.

use flitway_nic::host::atc::{AtcCounts, AtcSettings};

/// A page of a process.
pub(crate) type Page = (u8, u64);

#[derive(Debug)]
pub(crate) struct Translations<W> {
    settings: AtcSettings,
    /// By set: pages, the least recently used one first.
    sets: Vec<Vec<Page>>,
    /// Pages that are sought, and pages that are to be.
    sought: Vec<Page>,
    queue: Vec<Page>,
    /// Who waits for which, in the order of asking.
    waiting: Vec<(Page, W)>,
    pub(crate) counts: AtcCounts,
}

impl<W> Translations<W> {
    pub(crate) fn new(settings: &AtcSettings) -> Self {
        Translations {
            settings: *settings,
            sets: (0..settings.entries / settings.ways).map(|_| Vec::new()).collect(),
            sought: Vec::new(),
            queue: Vec::new(),
            waiting: Vec::new(),
            counts: AtcCounts::default(),
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.sought.is_empty() && self.queue.is_empty()
    }

    /// Consecutive pages are in consecutive sets; those of the next process begin a sixty-fourth of the sets, and one, later.
    fn set(&mut self, (process, page): Page) -> &mut Vec<Page> {
        let sets = self.sets.len() as u64;
        let set = (page + u64::from(process) * (sets / 64 + 1)) % sets;
        &mut self.sets[set as usize]
    }

    /// Looks for a page: whether it is there.
    pub(crate) fn look(&mut self, page: Page) -> bool {
        let set = self.set(page);
        let place = set.iter().position(|&it| it == page);
        if let Some(place) = place {
            let page = set.remove(place);
            set.push(page);
        }
        let is_there = place.is_some() || self.settings.is_preloaded;
        *(if is_there { &mut self.counts.hits } else { &mut self.counts.misses }) += 1;
        is_there
    }

    /// `waiter` waits for a page that is not there: whether that is to be sought now.
    pub(crate) fn wait_for(&mut self, page: Page, waiter: W) -> bool {
        let others_wait = self.waiting.iter().any(|(of, _)| *of == page);
        self.waiting.push((page, waiter));
        !others_wait && self.seek(page)
    }

    /// A page that is waited for is to be sought: whether now.
    pub(crate) fn seek(&mut self, page: Page) -> bool {
        if self.sought.len() == self.settings.misses as usize {
            self.queue.push(page);
            return false;
        }
        self.sought.push(page);
        true
    }

    /// The translation of `page` is there: who has waited for it, and the page that is to be sought next.
    pub(crate) fn found(&mut self, page: Page) -> (Vec<W>, Option<Page>) {
        let ways = self.settings.ways as usize;
        let set = self.set(page);
        if set.len() == ways {
            set.remove(0);
            self.counts.replaced += 1;
        }
        self.set(page).push(page);
        let next = self.given_up(page);
        (self.leave(page), next)
    }

    /// `page` is not sought any more: the page that is to be sought next.
    pub(crate) fn given_up(&mut self, page: Page) -> Option<Page> {
        self.sought.retain(|&it| it != page);
        let next = (!self.queue.is_empty()).then(|| self.queue.remove(0));
        self.sought.extend(next);
        next
    }

    /// Nothing waits for `page` any more: what has.
    pub(crate) fn leave(&mut self, page: Page) -> Vec<W> {
        let (done, waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.waiting).into_iter().partition(|(of, _)| *of == page);
        self.waiting = waiting;
        done.into_iter().map(|(_, waiter)| waiter).collect()
    }
}
