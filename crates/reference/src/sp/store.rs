//! A central buffer as lists of lists.

use super::Flit;
use std::collections::{BTreeMap, VecDeque};

/// Chunks, and the packets for each output.
#[derive(Debug)]
pub(super) struct Buffer {
    chunks: BTreeMap<u64, Chunk>,
    next_number: u64,
    pub(super) queues: Vec<VecDeque<Stored>>,
}

#[derive(Debug)]
struct Chunk {
    flits: Vec<Flit>,
    readers: u32,
    leads_up: bool,
}

/// A packet for one output: what of it has been written and not read.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) input: usize,
    /// The copy for this output.
    pub(super) packet: usize,
    chunks: VecDeque<u64>,
    pub(super) is_whole: bool,
}

impl Buffer {
    pub(super) fn new(ports: usize) -> Self {
        Buffer {
            chunks: BTreeMap::new(),
            next_number: 0,
            queues: (0..ports).map(|_| VecDeque::new()).collect(),
        }
    }

    pub(super) fn full(&self) -> u32 {
        self.chunks.len() as u32
    }

    pub(super) fn leading_up(&self) -> u32 {
        self.chunks.values().filter(|chunk| chunk.leads_up).count() as u32
    }

    /// Puts a chunk into the buffer for packets that begin with it, at their outputs.
    pub(super) fn begin(
        &mut self,
        input: usize,
        flits: &[Flit],
        copies: &[(usize, usize)],
        is_last: bool,
        leads_up: bool,
    ) {
        let number = self.put(flits, copies.len() as u32, leads_up);
        for &(output, packet) in copies {
            let chunks = VecDeque::from([number]);
            self.queues[output].push_back(Stored { input, packet, chunks, is_whole: is_last });
        }
    }

    /// Puts another chunk of the packet that `input` writes into the buffer.
    pub(super) fn go_on(
        &mut self,
        input: usize,
        flits: &[Flit],
        copies: &[(usize, usize)],
        is_last: bool,
        leads_up: bool,
    ) {
        let number = self.put(flits, copies.len() as u32, leads_up);
        for &(output, packet) in copies {
            let mut stored = self.queues[output].iter_mut();
            let stored = stored.find(|it| it.input == input && it.packet == packet);
            let stored = stored.expect("a packet that goes on has begun");
            stored.chunks.push_back(number);
            stored.is_whole = is_last;
        }
    }

    fn put(&mut self, flits: &[Flit], readers: u32, leads_up: bool) -> u64 {
        self.next_number += 1;
        self.chunks.insert(self.next_number, Chunk { flits: flits.to_vec(), readers, leads_up });
        self.next_number
    }

    pub(super) fn can_read(&self, output: usize) -> bool {
        self.queues[output].front().is_some_and(|stored| !stored.chunks.is_empty())
    }

    /// Reads the next chunk for `output`: its flits, as those of the copy.
    pub(super) fn read(&mut self, output: usize) -> Vec<Flit> {
        let stored = self.queues[output].front_mut().expect("there is something to read");
        let number = stored.chunks.pop_front().expect("there is a chunk to read");
        let packet = stored.packet;
        if stored.is_whole && stored.chunks.is_empty() {
            self.queues[output].pop_front();
        }
        let chunk = self.chunks.get_mut(&number).expect("a chunk that is to be read is there");
        chunk.readers -= 1;
        let flits = chunk.flits.iter().map(|flit| Flit { packet, ..*flit }).collect();
        if chunk.readers == 0 {
            self.chunks.remove(&number);
        }
        flits
    }
}

impl Stored {
    /// A packet of which nothing has been written that has not been read.
    pub(super) fn empty(input: usize, packet: usize) -> Self {
        Stored { input, packet, chunks: VecDeque::new(), is_whole: false }
    }
}
