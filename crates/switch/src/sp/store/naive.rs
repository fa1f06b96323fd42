//! The naive model of a central buffer: a list of lists for each output. Builds with assertions hold the lists of
//! [`Central`](super::central::Central) against it after every cycle in which something happens.

use super::central::Written;
use flitway_wiring::reach::ports;
use std::collections::VecDeque;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Packet {
    input: usize,
    /// Its last chunk has been written.
    is_whole: bool,
    chunks: VecDeque<u32>,
}

/// Queues of packets, by output.
#[derive(Debug)]
pub(super) struct Naive {
    queues: Vec<VecDeque<Packet>>,
    has_changed: bool,
    /// Kept for its memory.
    counts: Vec<u8>,
}

impl Naive {
    pub(super) fn new(ports: usize) -> Self {
        Naive { queues: vec![VecDeque::new(); ports], has_changed: false, counts: Vec::new() }
    }

    pub(super) fn write_first(&mut self, written: &Written) {
        self.has_changed = true;
        for output in ports(written.outputs) {
            self.queues[output.index()].push_back(Packet {
                input: written.input,
                is_whole: written.is_last,
                chunks: VecDeque::from([written.flits]),
            });
        }
    }

    pub(super) fn write_next(&mut self, written: &Written) {
        self.has_changed = true;
        for output in ports(written.outputs) {
            let mut packets = self.queues[output.index()].iter_mut();
            let packet = packets.find(|packet| packet.input == written.input && !packet.is_whole);
            let packet = packet.expect("a packet has a first chunk before it has others");
            packet.chunks.push_back(written.flits);
            packet.is_whole = written.is_last;
        }
    }

    pub(super) fn read(&mut self, output: usize) {
        self.has_changed = true;
        let packet = self.queues[output].front_mut().expect("who reads has something to read");
        packet.chunks.pop_front();
        if packet.is_whole && packet.chunks.is_empty() {
            self.queues[output].pop_front();
        }
    }

    /// A chunk goes through to `output`, where everything before it has been read.
    pub(super) fn pass(&mut self, output: usize, written: &Written, first: bool) {
        self.has_changed = true;
        let queue = &mut self.queues[output];
        match (first, written.is_last) {
            (true, false) => {
                let chunks = VecDeque::new();
                queue.push_back(Packet { input: written.input, is_whole: false, chunks });
            }
            (false, true) => _ = queue.pop_front(),
            _ => {}
        }
    }

    /// Whether something has changed since the last call.
    pub(super) fn has_changed(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    /// A zero for each of `chunks` chunks, to be given back.
    pub(super) fn counts(&mut self, chunks: usize) -> Vec<u8> {
        let mut counts = std::mem::take(&mut self.counts);
        counts.clear();
        counts.resize(chunks, 0);
        counts
    }

    /// Takes back what [`Naive::counts`] has given.
    pub(super) fn keep(&mut self, counts: Vec<u8>) {
        self.counts = counts;
    }

    /// The flits of the chunks in the queue of `output`, by packet.
    pub(super) fn queue(&self, output: usize) -> impl Iterator<Item = &VecDeque<u32>> {
        self.queues[output].iter().map(|packet| &packet.chunks)
    }
}
