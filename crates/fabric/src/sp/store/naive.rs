//! The naive model of a central buffer: a list of lists for each output. Builds with assertions hold the lists of
//! [`Central`](super::central::Central) against it after every cycle in which something happens.

use super::central::Written;
use crate::reach::ports;
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
}

impl Naive {
    pub(super) fn new(ports: usize) -> Self {
        Naive { queues: vec![VecDeque::new(); ports] }
    }

    pub(super) fn write_first(&mut self, written: &Written) {
        for output in ports(written.outputs) {
            self.queues[output.index()].push_back(Packet {
                input: written.input,
                is_whole: written.is_last,
                chunks: VecDeque::from([written.flits]),
            });
        }
    }

    pub(super) fn write_next(&mut self, written: &Written) {
        for output in ports(written.outputs) {
            let mut packets = self.queues[output.index()].iter_mut();
            let packet = packets.find(|packet| packet.input == written.input && !packet.is_whole);
            let packet = packet.expect("a packet has a first chunk before it has others");
            packet.chunks.push_back(written.flits);
            packet.is_whole = written.is_last;
        }
    }

    pub(super) fn read(&mut self, output: usize) {
        let packet = self.queues[output].front_mut().expect("who reads has something to read");
        packet.chunks.pop_front();
        if packet.is_whole && packet.chunks.is_empty() {
            self.queues[output].pop_front();
        }
    }

    /// A chunk goes through to `output`, where everything before it has been read.
    pub(super) fn pass(&mut self, output: usize, written: &Written, first: bool) {
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

    /// The flits of the chunks in the queue of `output`, by packet.
    pub(super) fn queue(&self, output: usize) -> Vec<Vec<u32>> {
        let chunks = |packet: &Packet| packet.chunks.iter().copied().collect();
        self.queues[output].iter().map(chunks).collect()
    }
}
