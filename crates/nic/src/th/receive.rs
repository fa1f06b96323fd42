//! The receive path. See points 7 to 9 of the header of this module.

use super::atc::{Look, Page};
use super::ring::Ring;
use super::{
    AtDesk, Carries, DOORBELL, ENTRY_HEAD, EQ_PAGE, EVENT, Job, MPQ_PAGE, OperationId, Rings, Says, Th,
    ThEvent, ThLetter, ThSettings, Waiter,
};
use crate::host::memory::Address;
use crate::host::pcie::plus;
use crate::host::program::{News, Verb, What};
use crate::host::story::Unit;
use flitway_fabric::Delivery;
use std::collections::{BTreeMap, VecDeque};

/// What the NIC has received.
#[derive(Debug)]
pub(super) struct Receive {
    /// Free bytes of the receive buffer.
    room: u32,
    /// Packets that wait for room in NIC ports.
    waiting: VecDeque<(Delivery, ThLetter)>,
    /// By process.
    mpqs: Box<[Ring<Write>]>,
    eqs: Box<[Ring<Write>]>,
    /// By process: where what it sees next stands.
    told: Box<[VecDeque<Rings>]>,
    /// Data of operations that have come in part, in bytes.
    arrived: BTreeMap<OperationId, u64>,
}

/// A packet in the receive buffer.
#[derive(Debug)]
pub struct Incoming {
    says: Says,
    payload: u32,
    data: Option<Box<[u8]>>,
}

/// What is written into memory, and read by a process if it has `news`.
#[derive(Debug)]
pub(super) struct Write {
    what: Writes,
    /// Of which process.
    process: u8,
    says: Says,
    /// Bytes of the receive buffer that it has.
    payload: u32,
    data: Option<Box<[u8]>>,
    news: Option<News>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writes {
    Mini,
    Data,
    Event,
}

impl Receive {
    pub(super) fn new(settings: &ThSettings, processes: usize) -> Self {
        Receive {
            room: settings.receive_buffer,
            waiting: VecDeque::new(),
            mpqs: (0..processes).map(|_| Ring::new(settings.mpq)).collect(),
            eqs: (0..processes).map(|_| Ring::new(settings.eq)).collect(),
            told: (0..processes).map(|_| VecDeque::new()).collect(),
            arrived: BTreeMap::new(),
        }
    }

    fn ring(&mut self, ring: Rings, process: u8) -> &mut Ring<Write> {
        match ring {
            Rings::Mpq => &mut self.mpqs[usize::from(process)],
            Rings::Eq => &mut self.eqs[usize::from(process)],
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        let mut rings = self.mpqs.iter().chain(&self.eqs);
        self.waiting.is_empty() && rings.all(Ring::is_idle) && self.arrived.is_empty()
    }
}

impl Th {
    /// A packet is in a NIC port.
    pub(super) fn take_in(&mut self, desk: &mut AtDesk<'_>, delivery: &Delivery, mut letter: ThLetter) {
        desk.cross(&mut letter.says.story, delivery);
        if self.receive.waiting.is_empty() && self.receive.room >= u32::from(delivery.payload) {
            self.accept(desk, delivery, letter);
        } else {
            self.counts.held += 1;
            self.receive.waiting.push_back((*delivery, letter));
        }
    }

    /// A packet goes into the receive buffer, which has room.
    fn accept(&mut self, desk: &mut AtDesk<'_>, delivery: &Delivery, letter: ThLetter) {
        let ThLetter { mut says, data } = letter;
        let payload = u32::from(delivery.payload);
        self.receive.room -= payload;
        desk.drain(delivery);
        let parsed = plus(plus(desk.at, self.settings.receive), self.settings.parse);
        says.story.pass(Unit::Room, desk.at);
        says.story.pass(Unit::Interface, parsed);
        desk.ask(parsed, ThEvent::Parsed(Incoming { says, payload, data }));
    }

    /// Bytes of the receive buffer are free.
    pub(super) fn freed(&mut self, desk: &mut AtDesk<'_>, bytes: u32) {
        self.receive.room += bytes;
        while let Some((delivery, _)) = self.receive.waiting.front()
            && self.receive.room >= u32::from(delivery.payload)
            && let Some((delivery, letter)) = self.receive.waiting.pop_front()
        {
            self.accept(desk, &delivery, letter);
        }
    }

    /// A packet has been parsed.
    pub(super) fn parsed(&mut self, desk: &mut AtDesk<'_>, incoming: Incoming) {
        let Incoming { says, payload, data } = incoming;
        let process = says.process;
        let write = |what, news| Write { what, process, says, payload, data, news };
        match says.what {
            Carries::Mini => {
                let news = news(What::Received, &says);
                self.enter(desk, Rings::Mpq, write(Writes::Mini, Some(news)));
            }
            Carries::Put | Carries::Answer => {
                let page = self.atc.page(process, says.byte);
                self.write_to(desk, page, write(Writes::Data, None));
            }
            Carries::Request => {
                self.submissions.request(Job {
                    of: says.of,
                    verb: Verb::Get,
                    to: (says.of.node, says.of.process),
                    bytes: says.bytes,
                    source: (process, says.byte),
                    target: says.from.1,
                    is_answer: true,
                    tells_left: false,
                    story: says.story,
                });
                self.freed(desk, payload);
                self.schedule(desk);
            }
        }
    }

    /// An event for a process.
    pub(super) fn raise(&mut self, desk: &mut AtDesk<'_>, process: u8, news: News) {
        // Only its story is asked for.
        let of = OperationId { node: news.node, process: news.process, number: news.number };
        let says = Says {
            of,
            what: Carries::Put,
            process,
            byte: 0,
            bytes: 0,
            of_bytes: news.bytes,
            from: (0, 0),
            story: news.story,
        };
        let write = Write { what: Writes::Event, process, says, payload: 0, data: None, news: Some(news) };
        self.enter(desk, Rings::Eq, write);
    }

    /// Something gets an entry of a queue of its process, or waits for one.
    fn enter(&mut self, desk: &mut AtDesk<'_>, ring: Rings, write: Write) {
        let process = write.process;
        match self.receive.ring(ring, process).enter(write) {
            Ok(write) => self.write_entry(desk, ring, write),
            Err(number) => {
                self.counts.waited[ring as usize] += 1;
                desk.ask(plus(desk.at, self.settings.hold), ThEvent::GivesUp(ring, process, number));
            }
        }
    }

    /// Something has an entry.
    fn write_entry(&mut self, desk: &mut AtDesk<'_>, ring: Rings, mut write: Write) {
        write.says.story.pass(Unit::Room, desk.at);
        let page = match ring {
            Rings::Mpq => MPQ_PAGE,
            Rings::Eq => EQ_PAGE,
        };
        self.write_to(desk, (write.process, page), write);
    }

    /// Something is written into `page`, when that has been translated.
    fn write_to(&mut self, desk: &mut AtDesk<'_>, page: Page, write: Write) {
        let mut write = Some(write);
        let look =
            self.translate(desk, page, || Waiter::Write(Box::new(write.take().expect("it waits once"))));
        if look == Look::Hit
            && let Some(write) = write
        {
            self.write(desk, write);
        }
    }

    /// Something is written into memory.
    pub(super) fn write(&mut self, desk: &mut AtDesk<'_>, write: Write) {
        let Write { what, process, mut says, payload, data, news } = write;
        says.story.pass(Unit::Translation, desk.at);
        let bytes = match what {
            Writes::Mini => payload + ENTRY_HEAD,
            Writes::Data => payload,
            Writes::Event => EVENT,
        };
        let posted = desk.bus.post(desk.at, bytes);
        if let Some(data) = data {
            let to = Address { process, byte: says.byte };
            desk.ask(posted.visible, ThEvent::Landed(to, data));
        }
        if payload > 0 {
            desk.ask(posted.sent, ThEvent::Freed(payload));
        }
        if let Some(mut news) = news {
            let ring = if what == Writes::Mini { Rings::Mpq } else { Rings::Eq };
            self.receive.told[usize::from(process)].push_back(ring);
            news.story = says.story;
            news.story.pass(Unit::Bus, posted.visible);
            desk.tell(posted.visible, process, news);
        }
        if what == Writes::Data {
            self.count(desk, &says);
        }
    }

    /// Data of an operation are on their way into memory; when all are, its process gets an event.
    fn count(&mut self, desk: &mut AtDesk<'_>, says: &Says) {
        let arrived = self.receive.arrived.entry(says.of).or_default();
        *arrived += says.bytes;
        if *arrived == says.of_bytes {
            self.receive.arrived.remove(&says.of);
            let what = if says.what == Carries::Put { What::Received } else { What::Fetched };
            self.raise(desk, says.process, news(what, says));
        }
    }

    /// Entries of a queue are free.
    pub(super) fn entries_free(&mut self, desk: &mut AtDesk<'_>, ring: Rings, process: u8, entries: u32) {
        for write in self.receive.ring(ring, process).free(entries) {
            self.write_entry(desk, ring, write);
        }
    }

    /// What waits for an entry gives up, if it waits still.
    pub(super) fn gives_up(&mut self, desk: &mut AtDesk<'_>, ring: Rings, process: u8, number: u64) {
        if let Some(write) = self.receive.ring(ring, process).give_up(number) {
            self.counts.dropped[ring as usize] += 1;
            self.freed(desk, write.payload);
        }
    }

    /// A process has seen what it was told next.
    pub(super) fn process_saw(&mut self, desk: &mut AtDesk<'_>, process: u8) {
        let ring = self.receive.told[usize::from(process)].pop_front().expect("it was told");
        if let Some(entries) = self.receive.ring(ring, process).see() {
            let there = desk.bus.write(desk.at, DOORBELL);
            desk.ask(there, ThEvent::Seen(ring, process, entries));
        }
    }
}

/// What a process sees of an operation.
fn news(what: What, says: &Says) -> News {
    let Says { of, of_bytes, story, .. } = *says;
    News { what, number: of.number, node: of.node, process: of.process, bytes: of_bytes, story }
}
