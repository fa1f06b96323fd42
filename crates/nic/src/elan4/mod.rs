//! Elan4, the NIC of QsNetII (qsnet2.txt, "Elan4"; mechanisms 3.2 to 3.7).
//!
//! # The parts
//!
//! A *command queue* for each process, a ring in the memory of the NIC (SDRAM) that the process appends to by writing to a page
//! of the bus. The *command processor*, which takes commands out of them. The *short transaction engine* (STEN), which makes
//! packets of commands. The *DMA engine*: a run queue of descriptors, a prefetcher, two packet assemblers. The *input processor*,
//! which carries out what packets say. The *event processor*. Two *translation buffers* (TLB), one for addresses that the DMA
//! engine reads, one for those that the input processor writes. The bus is `pci_x`; what a processor does is said in `host`.
//!
//! # What happens when
//!
//! Names in code font are settings (`ElanSettings`). Commands and data are in bytes; times are in picoseconds.
//!
//! 1. **Commands.** A put by STEN is cut into packets that end where addresses in the memory of the destination are a multiple
//!    of `sten_packet`; the commands of each are [`COMMANDS`] and its data, rounded up to words of [`WORD`]. A get is one
//!    packet, with a descriptor: [`COMMANDS`] and [`DESCRIPTOR`]. A put by DMA is one command, its descriptor.
//! 2. **Posting.** The processor writes the commands of an operation in their order, in bursts of `bus.burst` (the last of an
//!    operation may have less), one behind the other, each of which takes it `bus.burst_time`; a burst goes over the bus when
//!    it has been written. Before each it waits until, as far as it knows, the queue has room for it. It knows at once what it
//!    takes itself. For a put by DMA it waits for room for the descriptor, and is then busy for `issue`; its bursts are the
//!    last part of that. A command is in the queue when the last burst that has a part of it has reached the NIC.
//! 3. **Command processor.** When it is free it takes the first command (all the commands of a packet are one) of a queue:
//!    queues take turns, and the search begins behind the one from which it took last. A queue whose first command is a packet
//!    is passed over while `window` packets of it have not been answered. It is free again after `word_time` for each word of
//!    the command, begun ones too.
//! 4. **STEN.** A packet reaches its NIC port `command + form` after its command was taken. It is *answered* when the NIC port
//!    says so. What the network refuses the NIC port sends again by itself.
//! 5. **Room.** Commands of a packet are free when it has been answered, a descriptor when it is taken. Whenever a quarter of
//!    the queue or more has become free since it last did, the NIC writes so into memory: [`POINTER`] bytes. When memory has
//!    them the process knows of it, in no time.
//! 6. **DMA engine.** A descriptor is in the run queue `command` after it was taken; one that a get has brought, `command`
//!    after the input processor has dealt with its packet. The prefetcher takes the first when it has none and an assembler is
//!    free, which the descriptor has from then on; it begins `start` later. It reads the data in order, in reads that end where
//!    addresses are a multiple of the greatest read of the bus, as long as what has been asked for and is not in a packet fits
//!    into `dma_buffer`. Before a read that fits and begins in another page than the one before, the page is translated. When
//!    it has asked for all data it has none.
//! 7. **Assemblers.** Whenever fewer than `port_packets` packets of the DMA engine are on their way to the NIC port or in its
//!    source queue, and data of a descriptor are there that are in no packet, they become one, of the descriptor that came
//!    first: all that are there, but none beyond where the address at the destination is a multiple of the MTU. It reaches the
//!    NIC port `form` later. The assembler is free when the last data are in a packet.
//! 8. **What packets carry** is what memory has there when they reach the NIC port. Their lane is a random number.
//! 9. **Receiving.** A packet is drained out of the NIC port as soon as the input buffer has room for its bytes, in the order of
//!    delivery. `input` later the input processor deals with it:
//!    * *data*: the page of the first byte is translated, and they are written, in writes of at most that of the bus. When all
//!      data of an operation have been, its event is set: the one here for a put, the one of the process that asked for a get.
//!    * *a descriptor*: see 6. Descriptors have a memory of their own, without limit.
//!
//!    Room in the input buffer is free when the last write has left the chip, and that of a descriptor when it is dealt with.
//! 10. **Events.** The event processor takes `event` for each, one after the other in the order in which they are set. Then it
//!     writes a word of [`EVENT`] bytes into memory, which the process polls. When all packets of an operation that wants it
//!     have been answered, an event is set for its own process: its data may be overwritten.
//! 11. **Translation.** One that a TLB has takes no time. Another one takes `walk`, to find it in the hash table in SDRAM; what
//!     asked waits, and so do further reads of the prefetcher; nothing else does. So many are sought at a time by each TLB, in
//!     the order of asking. Of the pages of a TLB the one that was used least recently is replaced. Words of events need none.
//!
//! What comes of something in no time comes at once, before whatever else has that date. Where several things come of one, they
//! come in the order in which the points above name them.
