//! The tiled switch, the chip (NRC) of TH Express-2, and the NIC ports that talk to it: rows and columns of tiles, a port in
//! each; buffers at the crossing points that many virtual channels share; links that tell what they have received.
//!
//! Sources: th-express-2.txt sections 2.1 and 4.3; `mechanisms.md` 2.2 to 2.4; OQ-T3, OQ-T4, OQ-T6, OQ-T11. The organisation
//! is that of J. Kim et al., ISCA 2005. What the paper leaves open is decided as said in
//! `docs/decisions/0022-tiled-switch-cycle-by-cycle.md`.
//!
//! # What happens in which cycle
//!
//! This text is normative: the per-flit reference model is its plainest transcription, and the fast engine must agree with it
//! in every cycle. Names in code font are settings ([`TiledSettings`]).
//!
//! **Tiles.** Port `p` belongs to the tile in row `p / columns` and column `p mod columns`. A packet from input `i` to output
//! `o` crosses three buffers: the *input buffer* of `i`; over the row bus of `i` the *row buffer* of `i` in the tile that is
//! in the row of `i` and the column of `o`; through the subswitch of that tile, and over its channel to the row of `o`, the
//! *column buffer* of that source row in the tile of `o`. From there it goes to the link of `o`.
//!
//! **Packets** of `p` payload bytes are `header_flits + ceil(p / flit_bytes) + trailer_flits` flits; one or more. They move
//! as a whole: where one goes on in cycle `t`, its flit `j` does in cycle `t + j`, or on a link in the `j`-th slot after the
//! first.
//!
//! **Virtual channels.** With `V` VCs and `c` classes (which divide `V`), VC `k (V / c) + l` is lane `l` of class `k`. A NIC
//! sends in class 0, on the lane of [`LaneChoice`](flitway_fabric::LaneChoice), among those that
//! [`ReplyLanes`](flitway_fabric::ReplyLanes) leave it; where a switch chooses the lane, it does among the same. A packet is in
//! the VC by which it came in the input buffer and in the row buffer, and in that by which it leaves in the column buffer: so
//! it waits for no VC that the routing does not have it wait for.
//!
//! **Buffers.** A buffer of `flits` flits has `private` ones for each VC, and what is left is *shared* by all. A VC that
//! holds `u` flits takes `max(0, u - private)` of the shared part. A packet *has room* if with all of its flits in its VC no
//! more of the shared part is taken than there is. Who writes into a buffer keeps the count: a packet takes its room when it
//! begins to move there. A packet that leaves a buffer and whose last flit does so in cycle `t` gives its room back in cycle
//! `t + 1`. Since the private part holds the longest packet, no VC keeps another out for ever. A static partition has no
//! shared part.
//!
//! **Channels.** A flit that a sender has *on its wire* in cycle `t` is on the receiver's wire in cycle `t + latency`. A
//! channel of less than a flit a cycle carries flits in its slots only ([`Rate`]); what has begun keeps its rate to the end,
//! and what begins from the cycle of a change on has the new one. A channel that is stopped begins nothing.
//!
//! **Receiving.** Of a packet let `a` be the cycle in which its first flit is on the wire of the receiver, and `b` that of
//! its last. With `retry` a switch has all of it checked before it goes on, and *receives* it in cycle `b + receive + input`;
//! without, as soon as it can go on without a gap, in cycle `max(a, b - (n - 1)) + receive + input` for `n` flits. A NIC port
//! receives it in cycle `b + receive`. What is received is *accepted* unless the retry protocol drops it; a packet that a NIC
//! port accepts counts as delivered in that cycle.
//!
//! **Acknowledgements.** The receiver of a channel tells its sender, on the channel the other way, how many packets it has
//! accepted so far and how many flits of each VC have given back their room so far: absolute numbers. *News* is a packet
//! accepted, with `retry`, or a packet that gives back its room, and has not been told. An acknowledgement goes along with
//! every packet that a link begins and says what has happened in that cycle or before. Alone it takes one flit, in a slot in
//! which the link is free and begins no packet. That is done when so many packets as `ack.packets` have been accepted, with
//! `retry`, or have given back their room, since the last acknowledgement, or when the oldest news is `ack.delay` cycles old.
//! An acknowledgement, or a packet that it goes along with, whose last flit is on the wire of the receiver in cycle `b` is
//! heard in cycle `b + receive`.
//!
//! **Window.** With `retry` a sender keeps each packet until it has heard that it is accepted, and begins no new one while it
//! keeps `window` of them.
//!
//! **Errors** ([`LinkErrors`]). A packet of which a link corrupts a flit is *corrupt*, with the acknowledgement that goes
//! along, and so is an acknowledgement that goes alone: nothing in it is believed. Of what a component sends by a port a
//! number is drawn for each flit, by the slot in which it goes; a channel may have a probability of its own
//! ([`channels`](LinkErrors::channels)) in the place of that of all. What is corrupt arrives like anything else. Of every
//! packet that goes, or goes again, another number is drawn, by the cycle in which it is begun: whether the link makes it
//! *wrong*, which no check shows. If such a packet is accepted it stays wrong on all links that follow; NIC ports that accept
//! one count it.
//!
//! **Retry** is the protocol of [`flitway_fabric::link::retry`], whose text is part of this one: numbers of `sequence_bits`, a
//! receiver that accepts, drops duplicates and what is behind a gap, and a sender that goes back. What is dropped takes no
//! room. Beside what is said above, a duplicate is news, and so is a gap, of which an acknowledgement is due at once; one that
//! is closed before was none. Packets that go out again go before all others, a packet in the next slot in which the link is
//! free; they take no room, the window does not matter, and an acknowledgement goes along. The timer of a sender that keeps
//! packets expires `timeout` cycles after the last of these: a packet was begun when it kept none; it heard of packets accepted
//! that it did not know of; the timer expired. In that cycle it goes back, after it has heard what is heard. *Heartbeats*: in a
//! slot in which the link is free, has begun nothing in this cycle and none in `heartbeat` cycles before, it says its last
//! acknowledgement again, alone, but that it is no NACK. What was heard says nothing new: such heartbeats are left out, of
//! rules and totals too.
//!
//! **Faults** ([`Faults`]). Each end of a link runs the protocol of [`flitway_fabric::link::handshake`], whose text is part of
//! this one. At the start all ends are *active*, and have agreed on the lanes as they are then ([`first`](Faults::first)): the
//! rate is one of those of the fabric. One that is not begins nothing, neither packets nor acknowledgements; what it has begun
//! goes on to its end. What an end would hear or receive (a packet in cycle `b + receive`) in a cycle in which it is not
//! active, or in which the channel to it is cut, is lost; it is no gap. Frames of a test and hellos take no slots, are not
//! corrupted, and are on the wire like flits of that cycle; an end hears them `receive` cycles later, also when it is not
//! active, unless the channel is cut then. The frames of a test are heard once, when they begin.
//! In cycle `t`, in this order:
//!
//! * What breaks or is mended in cycle `t`. The lanes of the channel to an end have other states, or that channel is mended:
//!   the end *tests*. It is cut: nothing, but heartbeats are missed from then on.
//! * Frames of a test, and hellos.
//! * It has been cut for `training.misses` times `heartbeat` cycles: the end tests. (The last heartbeat is taken to have come
//!   just before the cut.)
//! * The last test began `training.test` cycles ago: it is over. What was found are the states of the lanes of the channel to
//!   this end, of which none works if it is cut.
//! * The end has not been active for `training.give_up` cycles: it is *down*. So is one that has become active by the
//!   handshake where no rate comes of the lanes of both ends.
//!
//! An end that becomes active in cycle `t`, and whose lanes give a rate, is not down any more. Its channel has that rate. The
//! hello that it was made active by says what an acknowledgement of the cycle in which it was sent would have said: that is
//! heard. Then it goes back, the timer is set, and there is news, as if a duplicate had come. While an end is not active its
//! timer does not run.
//!
//! An end that is down takes the packets that its link would take, whatever room and window there are, as if its link were of
//! full rate, and they are lost: they leave their column buffer or source queue, and their load is gone, at once. What it has
//! sent and what is not acknowledged is *given up*. When the link is up again the first hello says how much of that had been
//! accepted; the room of the rest comes back. (That is counted at the other end, as many cycles later as a frame of a test
//! takes, and says which of it is lost.)
//!
//! A switch that is *dead* does nothing from that cycle on. All packets in it are lost in that cycle; what its links have
//! begun goes on. Its ends are not active; they give up as others do.
//!
//! **Tables** may be written while a fabric runs, with `retry`: all switches and NIC ports have the new ones in the same cycle.
//! A packet is routed by those of the cycle in which it is accepted, and gets its header by those of the cycle in which it is
//! created.
//!
//! **Loads of other switches.** Some routings know them
//! ([`Routing::told_ports`](flitway_wiring::routing::Routing::told_ports)). In each cycle that is a multiple of `load_interval`
//! a switch tells over each of its other links how much the load of each of those ports is, when acknowledgements have been
//! heard (step 1). That takes no slot, and neither errors nor faults are in its way; a dead switch tells nothing. What is told
//! is on the receiver's wire when a flit of that cycle would be, and known `receive` cycles later, from the start of the cycle.
//!
//! **Age** ([`Arbitration::ByAge`]). Arbiters are round robin, and choose among the oldest packets only: of all that request
//! those whose first flit was on the wire of their source in the earliest cycle. Of a VC the oldest packet counts that
//! requests. A NIC port chooses round robin: what waits there has not entered the network. This is the age since injection of
//! Dally and Towles (section 15.4) and of Abts and Weisser (SC 2007), whose packets carry it in their header.
//!
//! **Cycle `t`** of a switch, in this order; arbiters are those of `arbiter`, and a grant is always used.
//!
//! 1. What the paragraph on *faults* says. *Acknowledgements* are heard, and then timers expire. Room that is given back in
//!    cycle `t` counts.
//! 2. *Packets received*, from the lowest input on; those that are accepted go on. The routing gives one or more outputs, each
//!    with a class. With `selection` by load the packet takes the output of the least load, the first in the order of the
//!    routing among equals; outputs whose link is not active come after all others. *Hashed* it takes the one with the number
//!    that the pair of nodes and the switch give ([`of_flow`](flitway_wiring::routing::select::of_flow)), *random* the one with
//!    that of the packet and the switch ([`of_packet`](flitway_wiring::routing::select::of_packet)): among the escapes (see
//!    below) whose link is active, or among all escapes if none is, in the order of the routing. Else it takes the first one. A
//!    packet for which the routing names no port that is wired is lost, and gives back its room in cycle `t`. The load of an
//!    output and VC are the flits of the packets that have taken it and have not, as far as acknowledgements say, given back
//!    their room at the other end of its link; that of an output is the sum over its VCs, and with it the load last told of the
//!    port by which the way goes on at the other end ([`Routing::beyond`](flitway_wiring::routing::Routing::beyond)). Some
//!    routings have a load count several times ([`Routing::weight`](flitway_wiring::routing::Routing::weight)), and name
//!    outputs that are no *escapes* ([`Routing::is_escape`](flitway_wiring::routing::Routing::is_escape)). Such an output is
//!    taken only if its room is certain: with the packet, the load of the output and VC is no more than the private part of the
//!    input buffer at the other end. Of those that can be taken the ones that are no escapes come before the others. So who
//!    waits for an output that is no escape waits for no room. With `lane` kept the packet goes out on the lane on which it
//!    came; by load on the lane of the output and class that has the least load, of equals the first from the lane on which it
//!    came on, going round. Then it waits in its input buffer, in the queue of its VC and of the column of its output.
//! 3. *Row buses.* That of input `i` is free if no flit goes over it in cycle `t`. A queue requests if the first packet in it
//!    has room in its row buffer. An arbiter of the input chooses among the VCs of which a queue requests, then one of that
//!    VC among the columns. The packet goes over the bus from cycle `t` on, its row buffer has it in cycle `t + row`.
//! 4. *Subswitches.* A row buffer that no flit leaves in cycle `t` offers one packet: of those that are the first of their VC
//!    in it, that it has had since cycle `t` or before, whose channel is free in cycle `t` and which have room in their
//!    column buffer, the one that an arbiter of the row buffer chooses by VC. Of the packets that are offered to a channel an
//!    arbiter of the channel chooses one by input. It goes from cycle `t` on, and its column buffer has it in cycle `t +
//!    subswitch + column`. What is not chosen was not offered.
//! 5. *Outputs.* A sender that has gone back sends again first. A link is free from the cycle after the last slot of what it
//!    began last. In a slot in which it is free a packet requests that is the first of its VC in a column buffer of that
//!    output, which has had it since cycle `t` or before, and that has room in the input buffer at the other end, if the
//!    window is open. An arbiter of the output chooses among the VCs that request, then one of that VC among the rows. The
//!    packet leaves from cycle `t` on, a flit in each slot; flits are on the wire `output + link + transmit` cycles later.
//! 6. *Acknowledgements alone*, in a slot in which the link is free and has begun nothing in step 5, if they are due; else
//!    heartbeats.
//!
//! **NIC port.** Packets wait in a queue for each VC. In cycle `t` an arbiter chooses, like that of an output, among the VCs
//! whose first packet was created before or in cycle `t` and has room in the input buffer at the other end. Flits are on the
//! wire `link + transmit` cycles after they were sent. Acknowledgements go as from a switch. Ideal NIC ports give back the
//! room of a packet in the cycle in which it is delivered.
//!
//! **Bounded NIC ports** ([`NicPorts`]) have a buffer like an input. The packets of a virtual channel are delivered in their
//! order, each not before the last flit of the one before has left the buffer; several virtual channels from the lowest on.
//! The NIC drains a packet that has been delivered in that cycle or later: from the cycle in which it does, the packet's
//! flits leave the buffer, one a cycle. A packet whose last slot is cycle `t` has left its source queue, and the NIC hears
//! so, in cycle `t + 1`.

mod cost;
mod link;
mod mask;
mod nic;
mod packet_state;
mod requests;
mod room;
pub mod settings;
mod switch;
mod theory;
mod training;
mod unreliable;

pub use settings::{
    AckSettings, Arbitration, BufferSettings, LaneOut, RetrySettings, TiledBuffers, TiledPipeline,
    TiledSettings, TrainingSettings,
};

use flitway_engine::Cycle;
use flitway_fabric::component::{Components, Context, FabricShard, Letter};
use flitway_fabric::link::retry::Numbers;
use flitway_fabric::observer::Observer;
use flitway_fabric::simulation::{Architecture, Conservation, NodeWires, Plan, Wires};
use flitway_fabric::{Endpoint, Fabric, Faults, LinkErrors, NicPorts, Rate, Routings};
use flitway_wiring::routing::Routing;
use flitway_wiring::{PortId, RailId};
use nic::Port;
use packet_state::{Inbox, Mail, Pools};
use room::Parts;
use switch::AnySwitch;

type Cx<'a, O> = Context<'a, Tiled, O>;

/// The architecture, as the simulation sees it.
#[derive(Debug)]
pub struct Tiled;

/// What the switches and NIC ports of a shard share.
#[derive(Debug)]
pub struct Shared {
    settings: TiledSettings,
    /// Virtual channels, and how many of them are of a class.
    vcs: usize,
    lanes: usize,
    parts: BufferParts,
    /// Rails of the fabric.
    rails: u32,
    /// Whether links acknowledge packets, and how they count.
    retries: bool,
    numbers: Numbers,
    /// Something corrupts flits or breaks.
    is_unreliable: bool,
    errors: LinkErrors,
    faults: Faults,
    nic_ports: NicPorts,
    routings: Routings,
    pools: Pools,
}

/// How the buffers are divided.
#[derive(Clone, Copy, Debug)]
struct BufferParts {
    input: Parts,
    row: Parts,
    column: Parts,
}

impl Shared {
    /// Whether links lose packets.
    #[inline]
    fn is_unreliable(&self) -> bool {
        self.is_unreliable
    }

    /// When a switch accepts a packet whose flits, so many, are on its wire from cycle `first` to cycle `last`.
    #[inline]
    fn accepted_at(&self, first: Cycle, last: Cycle, flits: u32) -> Cycle {
        let TiledPipeline { receive, input, .. } = self.settings.pipeline;
        let whole = if self.retries { last } else { first.max(Cycle(last.0 - u64::from(flits - 1))) };
        whole + u64::from(receive + input)
    }
}

impl Architecture for Tiled {
    type Chip = TiledSettings;
    type Shard<E: Endpoint, O: Observer> = FabricShard<Tiled, E, O>;

    fn shard<E: Endpoint, O: Observer>(
        fabric: &Fabric<TiledSettings>,
        plan: Plan<E, O>,
    ) -> FabricShard<Tiled, E, O> {
        FabricShard::new(fabric, plan)
    }

    /// What a NIC port begins in cycle `t` is on the wire at the other end `link + transmit + latency` cycles later, and a
    /// switch takes longer; nothing is heard or accepted there before `receive` cycles more.
    fn lookahead(settings: &TiledSettings, _: &Fabric, latency: u32) -> u64 {
        u64::from(latency + settings.pipeline.nic_to_wire() + settings.pipeline.receive)
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

impl Components for Tiled {
    type Shared = Shared;
    type Mail = Mail;
    type Inbox = Inbox;
    type Switch = AnySwitch;
    type Port = Port;

    fn shared(fabric: &Fabric<TiledSettings>) -> Shared {
        let settings = &fabric.chip;
        let is_unreliable = !(fabric.errors.are_none() && fabric.faults.are_none());
        assert!(
            fabric.groups.is_empty() && fabric.barriers.is_empty(),
            "tiled switches have tables for no groups"
        );
        let (vcs, classes) = (settings.vcs, fabric.routing.classes());
        assert!(
            vcs.is_multiple_of(classes),
            "{vcs} virtual channels are not {classes} classes of equal size"
        );
        assert!(!is_unreliable || settings.retry.is_some(), "links without retry send nothing again");
        assert!(
            fabric.faults.are_none() || fabric.lanes_explain_rates(),
            "where links are trained the rate is what their ends agree on"
        );
        let selection = fabric.routing.selection();
        assert_eq!(selection, settings.selection, "switches select as their settings say");
        let TiledBuffers { input, row, column } = settings.buffers;
        let parts = |buffer| Parts::new(buffer, vcs);
        Shared {
            vcs: vcs as usize,
            lanes: (vcs / classes) as usize,
            parts: BufferParts { input: parts(input), row: parts(row), column: parts(column) },
            rails: fabric.rails,
            retries: settings.retry.is_some(),
            numbers: settings.numbers(),
            is_unreliable,
            errors: fabric.errors.clone(),
            faults: fabric.faults.clone(),
            nic_ports: fabric.nic_ports,
            routings: Routings::new(fabric.routing.clone()),
            pools: Pools::default(),
            settings: settings.clone(),
        }
    }

    fn switch(shared: &mut Shared, number: u32, wires: &[Wires]) -> AnySwitch {
        AnySwitch::new(shared, number, wires)
    }

    fn port(shared: &mut Shared, number: u32, rail: RailId, wires: &NodeWires) -> Port {
        Port::new(shared, number, rail, wires)
    }

    fn accept(shared: &mut Shared, _: u32, inbox: &mut Inbox, mail: Mail, _: Cycle) {
        inbox.accept(&mut shared.pools, mail);
    }

    fn reroute(shared: &mut Shared, at: Cycle, routing: &Routing) -> bool {
        if shared.retries {
            shared.routings.add(at, routing.clone());
        }
        shared.retries
    }

    fn audit(shared: &Shared, inbox: &Inbox, books: &mut Conservation) {
        inbox.audit(shared, books);
    }
}
