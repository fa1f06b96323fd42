//! What NICs carry out, and what their packets say, as far as it is the same for all of them.

use super::Post;
use super::program::{Collective, Completion, CompletionKind, OperationId, Verb};
use super::story::Story;
use super::thread::Words;
use flitway_wiring::NodeId;
use std::collections::BTreeMap;

/// What a NIC carries out: a descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// The operation.
    pub of: OperationId,
    /// What it is.
    pub verb: Verb,
    /// The node that its packets are for, and the process there.
    pub to: (NodeId, u8),
    /// Data in bytes.
    pub bytes: u64,
    /// Where the data are: a process of this node, and a byte.
    pub source: (u8, u64),
    /// Where they come to, in the memory of the process that they are for; where a get reads.
    pub target: u64,
    /// It is the answer to a get.
    pub is_answer: bool,
    /// The process of this node wants to know when it has left.
    pub tells_left: bool,
    /// It is reliable from end to end.
    pub is_reliable: bool,
    /// The counted event that its data set.
    pub event: Option<u16>,
    /// What it has to do with those of other processes.
    pub collective: Collective,
    /// The protection key of the process that posted it, and whether it names physical addresses.
    pub key: u32,
    pub is_physical: bool,
    /// It is not carried out.
    pub is_illegal: bool,
    /// What it says to a thread.
    pub words: Option<Words>,
    /// Until now.
    pub story: Story,
}

/// What a packet says.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// The operation.
    pub of: OperationId,
    /// What it carries.
    pub what: Carries,
    /// The process that it is for.
    pub process: u8,
    /// Where in the memory of that process the data go; for a request, where they are.
    pub byte: u64,
    /// Data in bytes; of a request, those that it asks for.
    pub bytes: u64,
    /// Data of the whole operation.
    pub of_bytes: u64,
    /// Where the data are in the sender's memory; for a request, where they go.
    pub from: (u8, u64),
    /// The counted event of that process that they set.
    pub event: Option<u16>,
    /// They count as a control packet.
    pub triggers: bool,
    /// The protection key of the process that posted the operation, and whether that names physical addresses.
    pub key: u32,
    pub is_physical: bool,
    /// What it says to the thread of that process, if it is for that.
    pub words: Option<Words>,
    /// Until now.
    pub story: Story,
}

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// Data for a receive queue.
    Mini,
    /// Data of a put.
    Put,
    /// A request for data.
    Request,
    /// Data that were asked for.
    Answer,
    /// No data: a process may go on.
    Control,
}

/// A packet's content: what it says, and its bytes where memory has them.
#[derive(Debug)]
pub struct Content {
    /// What it says.
    pub header: Header,
    /// The data.
    pub data: Option<Box<[u8]>>,
}

impl Job {
    /// What is done for an operation that `process` of `node` posts.
    #[must_use]
    pub fn of(node: NodeId, process: u8, post: &Post) -> Self {
        let Post { operation, number, story, .. } = *post;
        let (source, target) = match operation.verb {
            Verb::Send | Verb::Put | Verb::Control | Verb::Event | Verb::Thread => {
                ((process, operation.here), operation.there)
            }
            _ => ((operation.process, operation.there), operation.here),
        };
        Job {
            of: OperationId { node, process, number },
            verb: operation.verb,
            to: (operation.node, operation.process),
            bytes: operation.bytes,
            source,
            target,
            is_answer: false,
            tells_left: operation.tells_left,
            is_reliable: operation.is_reliable,
            event: operation.event,
            collective: operation.collective,
            key: 0,
            is_physical: false,
            is_illegal: false,
            words: operation.words,
            story,
        }
    }

    /// What is done for a request of another node.
    #[must_use]
    pub fn answer(request: &Header) -> Self {
        Job {
            of: request.of,
            verb: Verb::Get,
            to: (request.of.node, request.of.process),
            bytes: request.bytes,
            source: (request.process, request.byte),
            target: request.from.1,
            is_answer: true,
            tells_left: false,
            is_reliable: false,
            event: None,
            collective: Collective::default(),
            key: request.key,
            is_physical: request.is_physical,
            is_illegal: false,
            words: None,
            story: request.story,
        }
    }

    /// Whether it asks another node for data.
    #[must_use]
    pub fn is_request(&self) -> bool {
        self.verb.comes_back() && !self.is_answer
    }

    /// What its packet with `bytes` of data from `offset` on says.
    #[must_use]
    pub fn header(&self, offset: u64, bytes: u64, story: Story) -> Header {
        let what = match self.verb {
            Verb::Send => Carries::Mini,
            Verb::Put => Carries::Put,
            Verb::Control => Carries::Control,
            _ if self.is_request() => Carries::Request,
            _ => Carries::Answer,
        };
        // A request says where data are and where they go; other packets have them.
        let (byte, from) = if what == Carries::Request {
            (self.source.1, (self.of.process, self.target))
        } else {
            (self.target + offset, (self.source.0, self.source.1 + offset))
        };
        let Job { of, to: (_, process), bytes: of_bytes, event, collective, .. } = *self;
        let Job { key, is_physical, words, .. } = *self;
        let triggers = collective.triggers;
        Header {
            of,
            what,
            process,
            byte,
            bytes,
            of_bytes,
            from,
            event,
            triggers,
            key,
            is_physical,
            words,
            story,
        }
    }

    /// Data from `offset` on up to where the address at the destination is a multiple of `most`.
    #[must_use]
    pub fn cut(&self, offset: u64, most: u64) -> u64 {
        (most - (self.target + offset) % most).min(self.bytes - offset)
    }

    /// The same up to where the address in memory is.
    #[must_use]
    pub fn read(&self, offset: u64, most: u64) -> u64 {
        (most - (self.source.1 + offset) % most).min(self.bytes - offset)
    }
}

impl Header {
    /// What a process sees of its operation.
    #[must_use]
    pub fn completion(&self, what: CompletionKind) -> Completion {
        let OperationId { node, process, number } = self.of;
        Completion { what, number, node, process, bytes: self.of_bytes, story: self.story }
    }
}

/// Operations of which data have come in part.
#[derive(Debug, Default)]
pub(crate) struct Arrivals(BTreeMap<OperationId, u64>);

impl Arrivals {
    /// The data of a packet have come; what its process sees of the operation, if they were the last.
    pub(crate) fn count(&mut self, header: &Header) -> Option<Completion> {
        let arrived = self.0.entry(header.of).or_default();
        *arrived += header.bytes;
        if *arrived < header.of_bytes {
            return None;
        }
        self.0.remove(&header.of);
        let is_put = header.what == Carries::Put;
        Some(header.completion(if is_put { CompletionKind::Received } else { CompletionKind::Fetched }))
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.0.is_empty()
    }
}

/// Operations whose process wants to know when they have left.
#[derive(Debug, Default)]
pub(crate) struct Departures {
    /// Packets that have been handed to a NIC port, by the number of their content.
    packets: BTreeMap<u64, Header>,
    /// Of their operations: how many of those have not left, and whether the last has been handed on.
    operations: BTreeMap<OperationId, (u32, bool)>,
}

impl Departures {
    /// A packet has been handed on: is it the last of its operation?
    pub(crate) fn hand(&mut self, number: u64, header: &Header, is_last: bool) {
        self.packets.insert(number, *header);
        let (packets, is_over) = self.operations.entry(header.of).or_default();
        *packets += 1;
        *is_over |= is_last;
    }

    /// A packet has left; what it says, if nobody waits for more of its operation.
    pub(crate) fn leave(&mut self, number: u64) -> Option<Header> {
        let header = self.packets.remove(&number)?;
        let (packets, is_over) = self.operations.get_mut(&header.of).expect("one that leaves");
        *packets -= 1;
        if *packets > 0 || !*is_over {
            return None;
        }
        self.operations.remove(&header.of);
        Some(header)
    }
}
