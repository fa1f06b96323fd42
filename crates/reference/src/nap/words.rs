//! The remote access unit: words that are loaded, stored and added to. What goes for a lock goes the way of a word.

use super::bus::Purpose;
use super::channel::Ready;
use super::{Due, Host, Name, Operation, Packet, Peer, Sight, Story, Unit, What};
use flitway_engine::Picos;
use flitway_nic::host::memory::Address;
use flitway_nic::host::program::{CompletionKind, Verb};
use flitway_nic::nap::{ANSWER, LOAD, STORE};

/// A word that a process asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    pub(super) name: Name,
    pub(super) operation: Operation,
    pub(super) story: Story,
}

/// Both numbers, of as many bytes, the lowest first, added without what goes beyond.
fn sum(one: &[u8], two: &[u8]) -> Box<[u8]> {
    let mut carried = 0;
    let digit = |(one, two): (&u8, &u8)| {
        let digit = u16::from(*one) + u16::from(*two) + carried;
        carried = digit >> 8;
        (digit & 0xFF) as u8
    };
    one.iter().zip(two).map(digit).collect()
}

impl Host {
    /// The NIC has what a process asks for at `there`.
    pub(super) fn word_asked_for(&mut self, word: Word, there: Picos) {
        let ready = Picos(there.0 + self.settings.remote.0);
        let Word { name, operation, mut story } = word;
        story.pass(Unit::Remote, ready);
        let from = Peer { node: name.0, process: name.1 };
        let to = Peer { node: operation.node, process: operation.process };
        let source = Address { process: from.process, byte: operation.here };
        let mut packet = Packet::of_word(What::Word, name, operation, [from, to], story);
        let takes_word = matches!(operation.verb, Verb::Store | Verb::FetchAdd);
        packet.source = takes_word.then_some(source);
        packet.payload = if takes_word { STORE } else { LOAD };
        self.around.ask(ready, Due::WordReady(Box::new(packet)));
    }

    pub(super) fn word_ready(&mut self, packet: Box<Packet>) {
        self.ready.push(Ready::Alone(packet));
    }

    /// A packet that is for a word here is dealt with.
    pub(super) fn word_comes(&mut self, mut packet: Packet) {
        let bytes = packet.bytes as u32;
        let process = packet.to.process;
        match packet.operation.verb {
            Verb::Load => {
                let number = self.loads_begun;
                self.loads_begun += 1;
                self.loads.push((number, packet));
                self.read(process, Purpose::Load(number), bytes);
            }
            Verb::Store => {
                let (_, visible) = self.bus.post(process, self.around.at, bytes);
                let place = word_place(&packet);
                if let Some(data) = packet.data.take() {
                    self.around.ask(visible, Due::Landed(place, data));
                }
                packet.story.pass(Unit::Bus, visible);
                self.answer(packet, visible);
            }
            Verb::Lock => self.lock_asked_for(packet),
            Verb::TryLock => self.lock_tried(packet),
            Verb::Unlock => self.lock_given_back(packet),
            _ => {
                self.additions.push(packet);
                if self.additions.len() == 1 {
                    self.addition_begins();
                }
            }
        }
    }

    /// The first addition reads its word.
    fn addition_begins(&mut self) {
        let at = self.around.at;
        let first = &mut self.additions[0];
        first.story.pass(Unit::Remote, at);
        let (process, bytes) = (first.to.process, first.bytes as u32);
        self.read(process, Purpose::Addition, bytes);
    }

    /// A word that is loaded has been read.
    pub(super) fn word_loaded(&mut self, number: u64) {
        let place = self.loads.iter().position(|it| it.0 == number).expect("it is loaded");
        let (_, mut packet) = self.loads.remove(place);
        packet.story.pass(Unit::Read, self.around.at);
        packet.data = self.around.memory.read(word_place(&packet), packet.bytes);
        self.answer(packet, self.around.at);
    }

    /// The word of the first addition has been read: the sum is written.
    pub(super) fn word_to_add_to_read(&mut self) {
        let mut packet = self.additions[0].clone();
        packet.story.pass(Unit::Read, self.around.at);
        let place = word_place(&packet);
        let before = self.around.memory.read(place, packet.bytes);
        let (_, visible) = self.bus.post(packet.to.process, self.around.at, packet.bytes as u32);
        if let (Some(before), Some(added)) = (&before, &packet.data) {
            self.around.ask(visible, Due::Landed(place, sum(before, added)));
        }
        self.around.ask(visible, Due::AdditionOver);
        packet.data = before;
        self.answer(packet, self.around.at);
    }

    /// Memory has the sum: the next addition begins.
    pub(super) fn addition_is_over(&mut self) {
        self.additions.remove(0);
        if !self.additions.is_empty() {
            self.addition_begins();
        }
    }

    /// A word has been read, or will have been stored, at `done`.
    fn answer(&mut self, word: Packet, done: Picos) {
        self.answer_with(What::Answer, word, done);
    }

    /// What another node has asked for is done, or refused, at `done`.
    pub(super) fn answer_with(&mut self, what: What, word: Packet, done: Picos) {
        let ready = Picos(done.0 + self.settings.remote.0);
        let Packet { name, operation, from, to, mut story, data, .. } = word;
        story.pass(Unit::Remote, ready);
        let mut packet = Packet::of_word(what, name, operation, [to, from], story);
        packet.payload = ANSWER;
        packet.data = data.filter(|_| operation.verb != Verb::Store);
        self.around.ask(ready, Due::WordReady(Box::new(packet)));
    }

    /// The answer is dealt with: the word goes to the processor.
    pub(super) fn answer_comes(&mut self, packet: Packet) {
        let Packet { name, operation, what, mut story, data, .. } = packet;
        let process = name.1;
        match operation.verb {
            Verb::Lock => self.lock_is_there(process),
            _ => self.word_is_over(process),
        }
        let bytes = if operation.verb == Verb::Store { 0 } else { operation.bytes as u32 };
        let (_, visible) = self.bus.post(process, self.around.at, bytes);
        story.pass(Unit::Bus, visible);
        if let Some(data) = data {
            self.around.ask(visible, Due::Landed(Address { process, byte: operation.here }, data));
        }
        let kind = if what == What::No { CompletionKind::Refused } else { CompletionKind::Loaded };
        let completion = super::completion(kind, name, &operation, story);
        self.around.ask(visible, Due::Visible(process, Sight::Word(completion)));
    }
}

/// Where the word of a packet is, here.
fn word_place(packet: &Packet) -> Address {
    Address { process: packet.to.process, byte: packet.operation.there }
}
