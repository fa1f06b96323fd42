//! The chunks of a central buffer, and the lists that keep their order.
//!
//! Source: multidestination-worms.txt sections 4.1 and 4.2.1. Each chunk has a *next packet* and a *next chunk*; each output
//! a first and a last packet and a first chunk; each input the chunk it wrote last. One thing is done otherwise than the
//! paper says: an output that reads a chunk before the next one is written finds no next chunk. It then waits, and who
//! writes the chunk tells it (OQ-S5); no room is allocated ahead.

#[cfg(debug_assertions)]
use super::naive::Naive;
use crate::sp::packet_state::PacketState;
use crate::sp::settings::{CentralSettings, NextPacket};
use flitway_wiring::reach::{Ports, ports};

/// A place in the buffer; `NIL` is none.
type Place = u16;
const NIL: Place = Place::MAX;

#[derive(Clone, Copy, Debug)]
struct Chunk {
    /// The next chunk of the same packet.
    next: Place,
    /// Outputs that have not read it.
    count: u8,
    flits: u32,
    /// The input that wrote it.
    input: u8,
    is_last: bool,
    leads_up: bool,
}

/// What is known of a chunk that is written.
#[derive(Clone, Copy, Debug)]
pub(in crate::sp) struct Written {
    pub(in crate::sp) input: usize,
    pub(in crate::sp) outputs: Ports,
    pub(in crate::sp) flits: u32,
    pub(in crate::sp) is_last: bool,
    pub(in crate::sp) leads_up: bool,
    /// Its room has been reserved.
    pub(in crate::sp) is_reserved: bool,
}

/// A chunk that has been read.
#[derive(Debug)]
pub(in crate::sp) struct Read {
    pub(in crate::sp) flits: u32,
    /// The packet, with its first chunk.
    pub(in crate::sp) state: Option<Box<PacketState>>,
}

/// What an output knows of its queue.
#[derive(Clone, Copy, Debug)]
struct Reader {
    first_packet: Place,
    last_packet: Place,
    first_chunk: Place,
    /// It has begun a packet and not read its last chunk; that packet comes from there.
    from: Option<u8>,
}

/// A central buffer.
#[derive(Debug)]
pub(in crate::sp) struct Central {
    settings: CentralSettings,
    chunks: Box<[Chunk]>,
    /// The packets, at their first chunks.
    states: Box<[Option<Box<PacketState>>]>,
    /// By chunk, or by output and chunk where the memories are separate.
    next_packet: Box<[Place]>,
    readers: Box<[Reader]>,
    /// By input: the chunk written last, or the first chunks of its packet where those are still the last.
    last_chunks: Box<[Vec<Place>]>,
    empty: Vec<Place>,
    /// Chunks that are neither full nor reserved.
    free: u32,
    /// Chunks of packets whose output leads up.
    leading_up: u32,
    /// Outputs for which a chunk is there to read.
    readable: Ports,
    #[cfg(debug_assertions)]
    naive: Naive,
}

impl Central {
    pub(in crate::sp) fn new(settings: CentralSettings, ports: usize) -> Self {
        let chunks = settings.chunks as usize;
        assert!(chunks < usize::from(NIL), "a central buffer has fewer than {NIL} chunks");
        let chunk = Chunk { next: NIL, count: 0, flits: 0, input: 0, is_last: false, leads_up: false };
        let reader = Reader { first_packet: NIL, last_packet: NIL, first_chunk: NIL, from: None };
        let memories = if settings.next_packet == NextPacket::Separate { ports } else { 1 };
        Central {
            settings,
            chunks: vec![chunk; chunks].into(),
            states: (0..chunks).map(|_| None).collect(),
            next_packet: vec![NIL; chunks * memories].into(),
            readers: vec![reader; ports].into(),
            last_chunks: vec![Vec::new(); ports].into(),
            empty: (0..chunks as Place).rev().collect(),
            free: settings.chunks,
            leading_up: 0,
            readable: 0,
            #[cfg(debug_assertions)]
            naive: Naive::new(ports),
        }
    }

    /// Whether the order is kept in one memory, so that the first chunk of a packet is written once for each output.
    pub(in crate::sp) fn copies_first_chunks(&self) -> bool {
        self.settings.next_packet == NextPacket::Shared
    }

    /// Chunks that it holds.
    pub(in crate::sp) fn chunks(&self) -> u32 {
        self.settings.chunks
    }

    /// Chunks that are neither full nor reserved.
    pub(in crate::sp) fn free(&self) -> u32 {
        self.free
    }

    /// Chunks of packets whose output leads up.
    pub(in crate::sp) fn leading_up(&self) -> u32 {
        self.leading_up
    }

    /// Sets `chunks` of the free ones aside.
    pub(in crate::sp) fn reserve(&mut self, chunks: u32) {
        self.free -= chunks;
    }

    fn link(&self, output: usize, place: Place) -> usize {
        let base = if self.copies_first_chunks() { 0 } else { output * self.chunks.len() };
        base + usize::from(place)
    }

    fn put(&mut self, written: &Written, count: u32) -> Place {
        let place = self.empty.pop().expect("who writes has room");
        if !written.is_reserved {
            self.free -= 1;
        }
        self.leading_up += u32::from(written.leads_up);
        self.chunks[usize::from(place)] = Chunk {
            next: NIL,
            count: count as u8,
            flits: written.flits,
            input: written.input as u8,
            is_last: written.is_last,
            leads_up: written.leads_up,
        };
        place
    }

    /// Writes the first chunk of a packet for `written.outputs`: one output, or all of them where memories are separate. The
    /// packet's other chunks follow when all its outputs have their first one.
    pub(in crate::sp) fn write_first(&mut self, written: &Written, state: Box<PacketState>) {
        #[cfg(debug_assertions)]
        self.naive.write_first(written);
        let place = self.put(written, written.outputs.count_ones());
        self.states[usize::from(place)] = Some(state);
        for output in ports(written.outputs).map(|port| port.index()) {
            let link = self.link(output, place);
            self.next_packet[link] = NIL;
            let reader = self.readers[output];
            if reader.first_packet == NIL {
                self.readers[output].first_packet = place;
            } else {
                let last = self.link(output, reader.last_packet);
                self.next_packet[last] = place;
            }
            self.readers[output].last_packet = place;
            self.look(output);
        }
        self.last_chunks[written.input].push(place);
        if written.is_last {
            self.last_chunks[written.input].clear();
        }
    }

    /// Writes another chunk of the packet of an input, which all of `written.outputs` read.
    pub(in crate::sp) fn write_next(&mut self, written: &Written) {
        #[cfg(debug_assertions)]
        self.naive.write_next(written);
        let place = self.put(written, written.outputs.count_ones());
        self.append(written, place);
        if written.is_last {
            self.last_chunks[written.input].clear();
        } else {
            self.last_chunks[written.input].push(place);
        }
    }

    /// Hangs `place` behind the last chunks of its packet. Outputs that have read those wait, and are told.
    fn append(&mut self, written: &Written, place: Place) {
        for last in self.last_chunks[written.input].drain(..) {
            self.chunks[usize::from(last)].next = place;
        }
        for output in ports(written.outputs).map(|port| port.index()) {
            let reader = &mut self.readers[output];
            if reader.first_chunk == NIL && reader.from == Some(written.input as u8) {
                reader.first_chunk = place;
                self.readable |= 1 << output;
            }
        }
    }

    /// The outputs for which a chunk is there to read.
    #[inline]
    pub(in crate::sp) fn readable(&self) -> Ports {
        self.readable
    }

    /// Notes whether a chunk is there for `output` to read.
    fn look(&mut self, output: usize) {
        let reader = &self.readers[output];
        let chunk = if reader.from.is_some() { reader.first_chunk } else { reader.first_packet };
        self.readable = self.readable & !(1 << output) | u64::from(chunk != NIL) << output;
    }

    /// Whether `output` has read all that has been written of the packet of `input`, and that packet is the one it sends
    /// or, if the chunk to come is the `first`, would be.
    pub(in crate::sp) fn waits_for(&self, output: usize, input: usize, first: bool) -> bool {
        let reader = &self.readers[output];
        if first {
            reader.from.is_none() && reader.first_packet == NIL
        } else {
            reader.first_chunk == NIL && reader.from == Some(input as u8)
        }
    }

    /// A chunk goes through from an input to an output that waits for it.
    pub(in crate::sp) fn pass(&mut self, output: usize, written: &Written, first: bool) {
        debug_assert!(self.waits_for(output, written.input, first), "what goes through is waited for");
        #[cfg(debug_assertions)]
        self.naive.pass(output, written, first);
        self.readers[output].from = (!written.is_last).then_some(written.input as u8);
        self.look(output);
    }

    /// The input that the packet comes by of which `output` has begun to read and not read the last chunk.
    pub(in crate::sp) fn comes_from(&self, output: usize) -> Option<usize> {
        self.readers[output].from.map(usize::from)
    }

    /// The outputs for which there are chunks.
    pub(in crate::sp) fn holders(&self) -> Ports {
        let holds = |(output, reader): (usize, &Reader)| {
            u64::from(reader.first_packet != NIL || reader.first_chunk != NIL) << output
        };
        self.readers.iter().enumerate().map(holds).sum()
    }

    /// Reads the next chunk for `output`.
    pub(in crate::sp) fn read(&mut self, output: usize) -> Read {
        #[cfg(debug_assertions)]
        self.naive.read(output);
        let is_first = self.readers[output].from.is_none();
        let place = if is_first {
            let place = self.readers[output].first_packet;
            self.readers[output].first_packet = self.next_packet[self.link(output, place)];
            place
        } else {
            self.readers[output].first_chunk
        };
        let chunk = &mut self.chunks[usize::from(place)];
        chunk.count -= 1;
        let chunk = *chunk;
        let reader = &mut self.readers[output];
        (reader.from, reader.first_chunk) =
            if chunk.is_last { (None, NIL) } else { (Some(chunk.input), chunk.next) };
        self.look(output);
        let mut state = None;
        if chunk.count == 0 {
            state = self.states[usize::from(place)].take();
            self.release(place, &chunk);
        } else if is_first {
            state.clone_from(&self.states[usize::from(place)]);
        }
        Read { flits: chunk.flits, state }
    }

    fn release(&mut self, place: Place, chunk: &Chunk) {
        // Nothing follows what is no longer there: the outputs that wait are told.
        self.last_chunks[usize::from(chunk.input)].retain(|&last| last != place);
        self.leading_up -= u32::from(chunk.leads_up);
        self.free += 1;
        self.empty.push(place);
    }

    /// Holds the lists and counters against a naive model, `reserved` chunks being set aside, if something has changed.
    #[cfg(debug_assertions)]
    pub(in crate::sp) fn check(&mut self, reserved: u32) {
        if !self.naive.has_changed() {
            return;
        }
        let (chunks, empty) = (self.settings.chunks, self.empty.len() as u32);
        assert_eq!(self.free + reserved, empty, "a chunk is full, reserved or free");
        let mut counts = self.naive.counts(chunks as usize);
        for output in 0..self.readers.len() {
            self.check_queue(output, &mut counts);
        }
        let mut full = 0;
        for (chunk, &count) in self.chunks.iter().zip(&counts) {
            assert_eq!(chunk.count, count, "a chunk counts those who have to read it");
            full += u32::from(count > 0);
        }
        assert_eq!(full + empty, chunks, "no chunk is lost");
        self.naive.keep(counts);
    }

    /// The lists of `output` are those of the naive model, packet by packet and chunk by chunk; counts what they lead to.
    #[cfg(debug_assertions)]
    fn check_queue(&self, output: usize, counts: &mut [u8]) {
        let reader = &self.readers[output];
        let mut expected = self.naive.queue(output);
        let mut walk = |mut place: Place| {
            let mut chunks = expected.next().expect("a packet in the lists is one of the naive model").iter();
            while place != NIL {
                let chunk = &self.chunks[usize::from(place)];
                counts[usize::from(place)] += 1;
                assert_eq!(Some(&chunk.flits), chunks.next(), "a chunk of output {output}");
                place = chunk.next;
            }
            assert_eq!(chunks.next(), None, "the lists of output {output} hold all chunks");
        };
        if reader.from.is_some() {
            walk(reader.first_chunk);
        }
        let mut place = reader.first_packet;
        while place != NIL {
            walk(place);
            place = self.next_packet[self.link(output, place)];
        }
        assert!(expected.next().is_none(), "the lists of output {output} hold all packets");
    }
}
