//! The SP Switch and the NIC ports that talk to it: buffered wormhole with credits for each flit, behind it a central
//! buffer that all ports share or large input FIFOs, and packets for sets of nodes that are replicated in the switches.
//!
//! Sources: multidestination-worms.txt sections 3 to 5 and 7.1; `mechanisms.md` 4; OQ-S1 to OQ-S18. What the paper leaves
//! open is decided as said in `docs/decisions/0010-sp-switch-cycle-by-cycle.md`.
//!
//! # What happens in which cycle
//!
//! This text is normative: the per-flit reference model is its plainest transcription, and the fast engine must agree
//! with it in every cycle. Names in code font are settings ([`SpSettings`]).
//!
//! **Packets.** A packet of `p` payload bytes for one node is `header_flits + ceil(p / flit_bytes) + trailer_flits` flits.
//! One for a set of nodes, a *worm*, has a bit string in place of the header, `h = ceil(bits / (8 flit_bytes))` flits. Every
//! branch of it carries the same header. A header is at least one flit here, of the payload if need be. Chunk `c` of a
//! packet is its flits `chunk_flits c` up to `chunk_flits (c + 1) - 1`, or to its last one.
//!
//! **Channels.** A flit that a sender has *on its wire* in cycle `t` is on the receiver's wire in cycle `t + latency`. The
//! sender of a channel to a switch has `fifo_flits` credits in cycle 0; a flit takes one. Channels to nodes
//! need none, unless NIC ports are bounded. A
//! channel of less than a flit a cycle carries flits in its slots only ([`Rate`]): in other cycles its
//! sender sends none. The rate may change ([`Change`](flitway_fabric::Change)): from the cycle of the change on the slots are
//! those of the new rate, and there are none while the channel is stopped.
//!
//! **Input FIFO**, one for each port. A flit on the wire in cycle `t` takes its place in it in cycle `t`, and is *ready*
//! from cycle `t + receive + route` on. For each flit that leaves it in cycle `t` the sender of the channel has a credit
//! more from cycle `t + credit + latency` on.
//!
//! **NIC port.** Packets wait in one queue and are sent one after the other, a flit a cycle: in cycle `t` the next flit of
//! the first one, if it was created before or in cycle `t`, there is a credit and `t` is a slot; it is on the wire in
//! cycle `t + transmit`. A node takes every flit at once; a packet counts as delivered one cycle after its last flit was
//! on the node's wire.
//!
//! **Bounded NIC ports** ([`NicPorts`]) keep what comes in a buffer of two of the longest packets: channels to nodes have so
//! many credits then, and flits take them. Packets are delivered in their order: each one cycle after its last flit was on
//! the node's wire, but not before the last flit of the one before has left the buffer. The NIC drains a packet that has been
//! delivered in that cycle or later: from the cycle in which it does, the packet's flits leave the buffer, one a cycle, each
//! with a credit for the sender as from an input FIFO. A packet whose last flit is sent in cycle `t` has left its source
//! queue, and the NIC hears so, in cycle `t + 1`.
//!
//! **Cycle `t`** of a switch, in this order. *Least recently served* starts with port 0 before port 1 and so on.
//!
//! 1. *Credits* that count from cycle `t` on are added.
//! 2. *Chunk registers* (central buffer). An input that is *storing* a packet, and whose chunk register does not hold a whole
//!    chunk, moves the packet's next flit from its FIFO into the register if it is ready.
//! 3. *Write port* (central buffer). An input whose register holds a whole chunk asks to write it. One of those that can be
//!    written is, the least recently served input first: see below. The register is empty then, and the input no
//!    longer storing if the chunk was the packet's last.
//! 4. *Read ports*. Central buffer: there is one; an output asks if its own chunk register is empty, it is not taken by the
//!    crossbar, and the next chunk is there of the packet that it is sending or, if it is sending none, the first of
//!    the first packet in its queue. Input buffer: there is one for each input, and an output asks that of the input
//!    it serves if its register is empty and all flits of the next chunk are ready. The least recently served
//!    output reads: its chunk register holds the chunk. What is read in an input FIFO leaves it when all outputs of
//!    the packet have read it, all flits of the chunk in that cycle.
//! 5. *Links*. Each output whose register is not empty sends its next flit if it has a credit and a slot. Each input that is
//!    *crossing* sends the next flit of its packet, if it is ready, to all outputs of the packet, if each has a credit and a
//!    slot: the flit leaves the FIFO. A flit sent is on the wire in cycle `t + transmit`. With the last flit of a packet an
//!    output is done with it; with the last flit that crosses, or the last chunk of an input FIFO that has been read by all,
//!    the input is.
//! 6. *Requests*. Each input that is done with the packets before (neither storing nor crossing nor serving one) and whose
//!    first packet has had the last flit of its header on the wire in or before cycle `t + 1 - receive - route` requests,
//!    least recently granted input first; its outputs are chosen then. The number of packets that have been given an output
//!    and that it is not done with is its *load*.
//!    * A packet with one output, which has no load: the packet is crossing from cycle `t + 1` on. (Input buffer: only in the
//!      first cycle in which it could request. Later its flits lie in the chunk memory.)
//!    * Otherwise with a central buffer it is storing from cycle `t + 1` on. With an input buffer it is put down at each of
//!      its outputs.
//!    * That output, or those outputs, have it in their load from then on. An output is *taken* by the crossbar from the
//!      cycle in which it is given to a packet that crosses.
//!
//!    After that, input buffer: each output that is idle (it sends no packet and is not taken by the crossbar) takes one of
//!    the inputs that are put down at it, the first after the one it took last (at first: input 0). It reads from
//!    cycle `t + 1` on.
//!
//! # Which outputs
//!
//! A packet for one node: with `ascent` adaptive on a tree, the port down to it or, if it is not below, one of the ports up;
//! else the one of the routing. A worm has a count, the switches that it still has to climb to the lowest from which all of
//! its set is reached ([`Reach`]). While that is not zero its output is one of the ports up, and it is
//! one less for each. Then its outputs are those whose reachability string has a bit in common with its own, the port by
//! which it came included. *Replicating* is a worm with two outputs or more.
//!
//! Where there are several ports up: the first, from the switch's turn on and going round, that has no load, or else that
//! with the least load (the first of those in the same order); the turn is the port after it then. The turn is port 0 at
//! first. Without adaptive `ascent` a worm takes number `source mod n` of the `n` ports up.
//!
//! # The central buffer
//!
//! It holds `chunks`. Each output has a queue of packets, in the order in which their first chunks are written (or, of
//! the same packet, from the lowest output on). Of a replicating packet the first chunk is written once for each output,
//! from the lowest on, each time as a request of its own (`next_packet` shared), or once for all (`next_packet` separate).
//! All others are written once. A chunk counts those who have still to read it: one, for a first chunk with `next_packet`
//! shared, or else the outputs of its packet. With the last of them it is free, for writes from cycle `t + 1` on.
//!
//! *Admission* (section 4.2.2). A replicating packet of `c` chunks and `k` outputs is admitted when `c + k - 1` chunks (`c`
//! with `next_packet` separate) are neither full nor reserved; so many are reserved for it then. In step 3, first, if no
//! input claims, the least recently served of those that ask to write the first chunk of a replicating packet that is not
//! admitted claims. Then, if the input that claims can be admitted, it is, and claims no longer.
//!
//! What can be written: a chunk of an admitted packet, into its reserve. A chunk of another packet, if no input claims, one
//! chunk is neither full nor reserved and, where its output leads up, fewer than `chunks - spared` hold packets whose output
//! does; `spared` is what the largest worm takes that is replicated to all ports. Or else, of another packet, the chunk that
//! its output needs next: the output's register is empty, it is not taken by the crossbar, and it has read all of the packet
//! that has been written, or the chunk is the first, the queue is empty and the output sends nothing. That chunk goes
//! *through*: it is read in the same cycle, takes the read port too, and no room.
//!
//! # Lock-step replication
//!
//! With `replication` in lock step, a replicating packet crosses, in either switch, and its outputs are gathered one by one
//! in step 6: in each cycle, in the order of the requests, the input asks for each output that it has not got, from the
//! lowest on. If nobody else has asked for that output before, it is *kept* for the input; if it has no load then, the input
//! has it: it is in the load, and no longer kept. While an output is kept for an input, packets of others that would be
//! given it wait. When it has all, the packet is crossing from cycle `t + 1` on.

mod cost;
mod link;
mod nic;
mod packet_state;
pub mod settings;
mod store;
mod switch;
mod theory;

pub use settings::{
    CentralSettings, NextPacket, Organisation, Replication, SpAscent, SpPipeline, SpSettings, Store,
    WormSettings,
};

use flitway_engine::Cycle;
use flitway_fabric::component::{Components, Context, FabricShard, Letter};
use flitway_fabric::observer::Observer;
use flitway_fabric::simulation::{Architecture, Conservation, NodeWires, Plan, Wires};
use flitway_fabric::{Chip, Endpoint, Fabric, NicPorts, Rate};
use flitway_wiring::reach::Reach;
use flitway_wiring::routing::Routing;
use flitway_wiring::{PortId, RailId};
use nic::Port;
use packet_state::{Inbox, Mail};
use std::sync::Arc;
use switch::Switch;

type Cx<'a, O> = Context<'a, Sp, O>;

/// The architecture, as the simulation sees it.
#[derive(Debug)]
pub struct Sp;

/// What the switches and NIC ports of a shard share.
#[derive(Debug)]
pub struct Shared {
    settings: SpSettings,
    nic_ports: NicPorts,
    routing: Routing,
    reach: Option<Arc<Reach>>,
}

impl Shared {
    /// Cycles from a flit on the wire to the first in which it can leave the FIFO.
    #[inline]
    fn delay(&self) -> u64 {
        u64::from(self.settings.pipeline.receive + self.settings.pipeline.route)
    }

    fn reach(&self) -> &Reach {
        self.reach.as_deref().expect("who has ports up, or sends worms, has reachability strings")
    }
}

impl Architecture for Sp {
    type Chip = SpSettings;
    type Shard<E: Endpoint, O: Observer> = FabricShard<Sp, E, O>;

    fn shard<E: Endpoint, O: Observer>(
        fabric: &Fabric<SpSettings>,
        plan: Plan<E, O>,
    ) -> FabricShard<Sp, E, O> {
        FabricShard::new(fabric, plan)
    }

    /// What a link decides in cycle `t` is on the wire at the other end `transmit + latency` cycles later. A node has the
    /// packet a cycle later at the earliest; a switch requests for it, or moves it, `receive + route - 1` cycles later
    /// at the earliest. A credit counts `credit + latency` cycles later.
    fn lookahead(settings: &SpSettings, _: &Fabric, latency: u32) -> u64 {
        let SpPipeline { receive, route, transmit } = settings.pipeline;
        let flit = transmit + 1.min(receive + route - 1);
        u64::from(latency + flit.min(settings.credit))
    }

    /// A packet that has begun goes on without a gap while there are credits.
    fn decides_ahead(settings: &SpSettings) -> u64 {
        let mtu = settings.format.mtu_bytes;
        settings.format.packet_flits(mtu).max(settings.worm_flits(mtu)).into()
    }

    fn change_of_rate<E: Endpoint, O: Observer>(
        place: u32,
        port: PortId,
        at: Cycle,
        rate: Option<Rate>,
    ) -> Option<Letter<Mail>> {
        Some(Letter { place, by: at, mail: Mail::Pace(port.0 as u16, at, rate) })
    }
}

impl Components for Sp {
    type Shared = Shared;
    type Mail = Mail;
    type Inbox = Inbox;
    type Switch = Switch;
    type Port = Port;

    fn shared(fabric: &Fabric<SpSettings>) -> Shared {
        let settings = &fabric.chip;
        assert!(
            fabric.groups.is_empty() && fabric.barriers.is_empty(),
            "SP Switches have tables for no groups"
        );
        assert_eq!(fabric.routing.classes(), 1, "a link of an SP Switch is one virtual channel");
        let selection = fabric.routing.selection();
        assert_eq!(selection, settings.selection(), "switches select as their settings say");
        assert!(fabric.errors.are_none(), "links of SP Switches send nothing again");
        assert!(fabric.faults.are_none(), "links of SP Switches are not trained");
        assert!(fabric.routing.is_plain(), "packets in SP Switches know their destination only");
        let reach = Reach::new(&fabric.routing).map(Arc::new);
        Shared {
            settings: settings.clone(),
            nic_ports: fabric.nic_ports,
            routing: fabric.routing.clone(),
            reach,
        }
    }

    fn switch(shared: &mut Shared, number: u32, wires: &[Wires]) -> Switch {
        Switch::new(shared, number, wires)
    }

    fn port(shared: &mut Shared, number: u32, rail: RailId, wires: &NodeWires) -> Port {
        Port::new(shared, number, rail, wires)
    }

    fn accept(_: &mut Shared, _: u32, inbox: &mut Inbox, mail: Mail, _: Cycle) {
        inbox.accept(mail);
    }

    fn audit(_: &Shared, inbox: &Inbox, books: &mut Conservation) {
        inbox.audit(books);
    }
}
