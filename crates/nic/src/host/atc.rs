//! The address translation cache: pages of processes, in sets, the least recently used one replaced.

use std::collections::{BTreeMap, VecDeque};

/// The settings of an address translation cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtcSettings {
    /// Translations that it holds; a multiple of the ways.
    pub entries: u32,
    /// Places that the translation of a page may have.
    pub ways: u32,
    /// Bytes of a page.
    pub page: u64,
    /// Translations that are read from memory at a time.
    pub misses: u32,
    /// It has been filled with all translations before the start, and never misses.
    pub is_preloaded: bool,
}

/// A page of a process.
pub(crate) type Page = (u8, u64);

/// What comes of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// It is there.
    Hit,
    /// It is not. Whoever asked waits.
    Miss {
        /// The translation is to be read from memory now.
        reads: bool,
    },
}

/// What an address translation cache has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtcCounts {
    /// Looks that found the translation.
    pub hits: u64,
    /// Looks that did not.
    pub misses: u64,
    /// Translations that were replaced.
    pub replaced: u64,
}

/// An address translation cache, and who waits for what it reads.
#[derive(Clone, Debug)]
pub(crate) struct Atc<W> {
    settings: AtcSettings,
    /// By set, if it has any: its pages, the least recently used first. Made when it is needed, for there are many nodes.
    sets: BTreeMap<u64, Vec<Page>>,
    /// Who waits for a page, in the order of asking.
    waiting: BTreeMap<Page, Vec<W>>,
    /// Pages to be read, when fewer are.
    queue: VecDeque<Page>,
    /// Pages that are read.
    reading: u32,
    counts: AtcCounts,
}

impl<W> Atc<W> {
    /// An empty one.
    pub(crate) fn new(settings: AtcSettings) -> Self {
        Atc {
            settings,
            sets: BTreeMap::new(),
            waiting: BTreeMap::new(),
            queue: VecDeque::new(),
            reading: 0,
            counts: AtcCounts::default(),
        }
    }

    /// The page in which `byte` of `process` is.
    pub(crate) fn page(&self, process: u8, byte: u64) -> Page {
        (process, byte / self.settings.page)
    }

    /// What it has done.
    pub(crate) fn counts(&self) -> AtcCounts {
        self.counts
    }

    /// The set of a page: consecutive pages are in consecutive sets, those of different processes far apart.
    fn set(&self, (process, page): Page) -> u64 {
        let sets = u64::from(self.settings.entries / self.settings.ways);
        page.wrapping_add(u64::from(process) * (sets / 64 + 1)) % sets
    }

    /// Looks for the translation of `page`; `waiter` waits if it is not there.
    pub(crate) fn look(&mut self, page: Page, waiter: impl FnOnce() -> W) -> Look {
        if self.settings.is_preloaded {
            self.counts.hits += 1;
            return Look::Hit;
        }
        let set = self.set(page);
        if let Some(pages) = self.sets.get_mut(&set)
            && let Some(place) = pages.iter().position(|&it| it == page)
        {
            pages.remove(place);
            pages.push(page);
            self.counts.hits += 1;
            return Look::Hit;
        }
        self.counts.misses += 1;
        let waiters = self.waiting.entry(page).or_default();
        waiters.push(waiter());
        let is_first = waiters.len() == 1;
        Look::Miss { reads: is_first && self.seek(page) }
    }

    /// The translation of `page`, which something waits for, is to be read: whether now.
    pub(crate) fn seek(&mut self, page: Page) -> bool {
        let reads = self.reading < self.settings.misses;
        if reads {
            self.reading += 1;
        } else {
            self.queue.push_back(page);
        }
        reads
    }

    /// The translation of `page` has been read: who waited for it, and the page to be read next.
    pub(crate) fn fill(&mut self, page: Page) -> (Vec<W>, Option<Page>) {
        let (set, ways) = (self.set(page), self.settings.ways as usize);
        let pages = self.sets.entry(set).or_default();
        if pages.len() == ways {
            pages.remove(0);
            self.counts.replaced += 1;
        }
        pages.push(page);
        let next = self.next();
        (self.forget(page), next)
    }

    /// A read is over: the page to be read next.
    pub(crate) fn next(&mut self) -> Option<Page> {
        let next = self.queue.pop_front();
        if next.is_none() {
            self.reading -= 1;
        }
        next
    }

    /// Nothing waits for the translation of `page` any more: who did.
    pub(crate) fn forget(&mut self, page: Page) -> Vec<W> {
        self.waiting.remove(&page).unwrap_or_default()
    }

    /// Whether nothing waits for a translation.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: AtcSettings =
        AtcSettings { entries: 8, ways: 2, page: 4096, misses: 2, is_preloaded: false };

    /// Looks for `page` as `waiter`, and fills it if it is to be read.
    fn touch(atc: &mut Atc<u32>, page: u64) -> bool {
        match atc.look((0, page), || 0) {
            Look::Hit => true,
            Look::Miss { reads } => {
                assert!(reads);
                assert_eq!(atc.fill((0, page)), (vec![0], None));
                false
            }
        }
    }

    #[test]
    fn the_least_recently_used_page_of_a_set_is_replaced() {
        let mut atc = Atc::new(SMALL);
        // 4 sets of 2: pages 1, 5 and 9 share one.
        let hits = [1, 5, 1, 9, 1, 5, 2].map(|page| touch(&mut atc, page));
        assert_eq!(hits, [false, false, true, false, true, false, false]);
        assert_eq!(atc.counts(), AtcCounts { hits: 2, misses: 5, replaced: 2 });
    }

    #[test]
    fn misses_of_a_page_wait_together_and_few_pages_are_read_at_a_time() {
        let mut atc = Atc::new(SMALL);
        let looks = [(1, 'a'), (2, 'b'), (1, 'c'), (3, 'd')].map(|(page, who)| atc.look((0, page), || who));
        let reads = |reads| Look::Miss { reads };
        assert_eq!(looks, [reads(true), reads(true), reads(false), reads(false)]);
        assert_eq!(atc.fill((0, 1)), (vec!['a', 'c'], Some((0, 3))));
        assert_eq!(atc.fill((0, 3)), (vec!['d'], None));
        assert_eq!(atc.fill((0, 2)), (vec!['b'], None));
        assert!(atc.is_idle());
        assert_eq!(atc.look((0, 3), || 'e'), Look::Hit);
    }

    #[test]
    fn one_that_has_been_filled_before_never_misses() {
        let mut atc = Atc::<()>::new(AtcSettings { is_preloaded: true, ..SMALL });
        assert!((0..100).all(|page| atc.look((1, page), || ()) == Look::Hit));
    }
}
