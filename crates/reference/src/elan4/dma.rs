//! The DMA engine: the run queue, the prefetcher, and the assemblers.

use super::{
    Address, Due, Header, Host, Maker, Name, NodeId, Outbound, Page, Side, Story, Unit, Waiter, What,
};

/// What the DMA engine carries out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Descriptor {
    pub(super) name: Name,
    /// Data of a put, or those that a get asks for.
    pub(super) what: What,
    pub(super) node: NodeId,
    pub(super) bytes: u64,
    /// Data that have been asked for before, when it was put off.
    pub(super) first: u64,
    /// Where the data are in this node, and where they go in the other.
    pub(super) from: Address,
    pub(super) to: Address,
    pub(super) tells_left: bool,
    /// The counted event that its data set.
    pub(super) event: Option<u16>,
    pub(super) story: Story,
}

/// What the prefetcher does with the descriptor that it has, which is that of the last assembly.
#[derive(Debug)]
pub(super) struct Prefetch {
    descriptor: Descriptor,
    has_begun: bool,
    asked: u64,
    /// The page in which its last read began.
    page: Option<Page>,
    /// It waits for the translation of that.
    waits: bool,
}

/// An assembler with its descriptor.
#[derive(Debug)]
pub(super) struct Assembly {
    descriptor: Descriptor,
    /// Bytes that have been asked for and have not come; those that have come and are in no packet, by read; and those that
    /// are in packets.
    to_come: u64,
    there: Vec<(u64, Story)>,
    packed: u64,
    /// Those that will be: fewer than all if the rest has been put off.
    until: u64,
}

impl Host {
    /// A descriptor is in the run queue.
    pub(super) fn runs(&mut self, descriptor: Descriptor) {
        self.counts.descriptors[0] += 1;
        self.counts.descriptors[1] += u64::from(descriptor.what == What::Answer);
        self.runs_again(descriptor);
    }

    /// The rest of one that was put off is in the run queue.
    pub(super) fn runs_again(&mut self, descriptor: Descriptor) {
        self.run_queue.push(descriptor);
        self.take_descriptor();
    }

    /// The prefetcher does without the page that it waits for: what it puts off.
    pub(super) fn put_off(&mut self) -> Descriptor {
        let prefetch = self.prefetch.take().expect("what it waits for is of what it has");
        let assembly = self.assemblies.last_mut().expect("its descriptor has an assembler");
        assembly.until = prefetch.asked;
        if assembly.packed == assembly.until {
            self.assemblies.pop();
        }
        Descriptor { first: prefetch.asked, ..prefetch.descriptor }
    }

    /// The prefetcher takes a descriptor, if it has none and an assembler is free.
    pub(super) fn take_descriptor(&mut self) {
        let assembler_is_free = self.assemblies.len() < self.settings.assemblers as usize;
        if self.prefetch.is_some() || !assembler_is_free || self.run_queue.is_empty() {
            return;
        }
        let descriptor = self.run_queue.remove(0);
        let Descriptor { first, bytes: until, .. } = descriptor;
        self.assemblies.push(Assembly { descriptor, to_come: 0, there: Vec::new(), packed: first, until });
        self.prefetch =
            Some(Prefetch { descriptor, has_begun: false, asked: first, page: None, waits: false });
        self.around.ask(self.around.after(self.settings.start), Due::Begins);
    }

    pub(super) fn begins(&mut self) {
        self.prefetch.as_mut().expect("the prefetcher begins with what it has").has_begun = true;
        self.read_on();
    }

    /// The prefetcher asks for data, as long as they fit, and the page is known.
    fn read_on(&mut self) {
        loop {
            let at = self.around.at;
            let Some(bytes) = self.next_read() else { return };
            let Some(prefetch) = &mut self.prefetch else { return };
            if !prefetch.has_begun
                || prefetch.waits
                || self.buffered + bytes > self.settings.dma_buffer.into()
            {
                return;
            }
            prefetch.descriptor.story.pass(Unit::Dma, at);
            let from = prefetch.descriptor.from.after(prefetch.asked);
            let page = (from.process, from.byte / self.settings.tlb.page);
            if prefetch.page != Some(page) {
                prefetch.page = Some(page);
                prefetch.waits = true;
                if !self.tlbs[Side::Dma as usize].look(page) {
                    self.wait_for(Side::Dma, page, Waiter::Prefetcher);
                    return;
                }
            }
            self.request_data(bytes);
        }
    }

    /// The bytes of the next read: up to where addresses are a multiple of the greatest.
    fn next_read(&self) -> Option<u64> {
        let greatest = u64::from(self.settings.host.bus.read_request);
        let Prefetch { descriptor, asked, .. } = self.prefetch.as_ref()?;
        let from = descriptor.from.byte + asked;
        Some((descriptor.bytes - asked).min(greatest - from % greatest))
    }

    /// The translation that the prefetcher has waited for is there.
    pub(super) fn page_known(&mut self) {
        let at = self.around.at;
        let prefetch = self.prefetch.as_mut().expect("the prefetcher waits with what it has");
        prefetch.descriptor.story.pass(Unit::Translation, at);
        let bytes = self.next_read().expect("it has not asked for all");
        self.request_data(bytes);
        self.read_on();
    }

    /// Asks for the next `bytes`.
    fn request_data(&mut self, bytes: u64) {
        let prefetch = self.prefetch.as_mut().expect("the prefetcher asks for what it has");
        prefetch.waits = false;
        prefetch.asked += bytes;
        self.buffered += bytes;
        self.reads.push((bytes, prefetch.descriptor.story));
        let has_asked_all = prefetch.asked == prefetch.descriptor.bytes;
        self.assemblies.last_mut().expect("its descriptor has an assembler").to_come += bytes;
        self.read(bytes as u32);
        if has_asked_all {
            self.prefetch = None;
            self.take_descriptor();
        }
    }

    /// Data are there: reads are completed in order, so they are of the first descriptor that waits for some.
    pub(super) fn data_read(&mut self, bytes: u64) {
        let (asked, mut story) = self.reads.remove(0);
        assert_eq!(asked, bytes, "reads are completed in order");
        story.pass(Unit::Read, self.around.at);
        let assembly = self.assemblies.iter_mut().find(|assembly| assembly.to_come > 0);
        let assembly = assembly.expect("what was read was asked for");
        assembly.to_come -= bytes;
        assembly.there.push((bytes, story));
        self.assemble();
    }

    /// Data that are there become packets, as long as there may be more of those.
    fn assemble(&mut self) {
        let (mtu, form) = (u64::from(self.settings.mtu), self.around.after(self.settings.form));
        while self.in_port < self.settings.port_packets {
            let Some(place) = self.assemblies.iter().position(|assembly| !assembly.there.is_empty()) else {
                return;
            };
            let assembly = &mut self.assemblies[place];
            let descriptor = assembly.descriptor;
            let (to, from) = (descriptor.to.after(assembly.packed), descriptor.from.after(assembly.packed));
            let (bytes, mut story) = assembly.take_up_to(mtu - to.byte % mtu);
            story.pass(Unit::Room, self.around.at);
            story.pass(Unit::Dma, form);
            let Descriptor { name, what, node, bytes: of, tells_left, event, .. } = descriptor;
            let header = Header { name, what, to, bytes, of, event, back: from, words: None };
            let packet = Outbound {
                maker: Maker::Dma,
                node,
                header,
                payload: bytes as u16,
                from: Some(from),
                tells_left,
                story,
            };
            if assembly.packed == assembly.until {
                self.assemblies.remove(place);
            }
            self.in_port += 1;
            self.buffered -= bytes;
            self.around.ask(form, Due::Handed(packet));
            self.read_on();
            self.take_descriptor();
        }
    }

    /// A packet has left the source queue of the NIC port.
    pub(super) fn has_left(&mut self, number: u64) {
        let packet = self.under_way.iter().find(|it| it.0 == number).map(|it| it.1);
        if packet.expect("a packet leaves before it is answered").maker == Maker::Dma {
            self.in_port -= 1;
            self.assemble();
        }
    }
}

impl Assembly {
    /// Takes the first data that are there, up to `most`, for a packet: how many, and the story of the last of them.
    fn take_up_to(&mut self, most: u64) -> (u64, Story) {
        let mut taken = 0;
        loop {
            let (bytes, story) = &mut self.there[0];
            let part = (*bytes).min(most - taken);
            let story = *story;
            *bytes -= part;
            taken += part;
            if *bytes == 0 {
                self.there.remove(0);
            }
            if taken == most || self.there.is_empty() {
                self.packed += taken;
                return (taken, story);
            }
        }
    }
}
