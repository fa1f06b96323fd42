//! Translations that are read over the bus, and who waits for them.

use super::receive::Write;
use super::{Host, bus::Purpose};
use crate::host::translation::Page;
use flitway_nic::th::TRANSLATION;

/// Who waits for a translation.
#[derive(Debug)]
pub(super) enum Waiter {
    /// The transfer of a unit.
    Unit(usize),
    /// A packet or an event.
    Write(Box<Write>),
}

impl Host {
    /// `waiter` waits for a page that is not there.
    pub(super) fn wait_for(&mut self, page: Page, waiter: Waiter) {
        if self.atc.wait_for(page, waiter) {
            self.read(Purpose::Translation(page), TRANSLATION);
        }
    }

    /// The translation of `page` is there: the next is read, and then who waited goes on.
    pub(super) fn translation_read(&mut self, page: Page) {
        let (waiters, next) = self.atc.found(page);
        if let Some(next) = next {
            self.read(Purpose::Translation(next), TRANSLATION);
        }
        for waiter in waiters {
            match waiter {
                Waiter::Unit(unit) => self.page_known(unit),
                Waiter::Write(write) => self.write_translated(*write),
            }
        }
    }
}
