//! The Elite4, the switch of QsNetII, and the NIC ports that talk to it: wormhole with virtual channels that share a link flit
//! by flit, and paths that are held until the receiver has answered.
//!
//! Sources: qsnet2.txt, "Elite4 and physical links"; `mechanisms.md` 3.1 and 3.8; OQ-Q1, OQ-Q2, OQ-Q3, OQ-Q15, OQ-Q17,
//! OQ-Q18. What the paper leaves open is decided as said in `docs/decisions/0025-elite4-cycle-by-cycle.md`,
//! `docs/decisions/0028-broadcasts-of-elite4s.md`, `docs/decisions/0032-elite4s-that-break.md` and
//! `docs/decisions/0039-broadcasts-beside-what-breaks.md`.
//!
//! # What happens in which cycle
//!
//! This text is normative: the per-flit reference model is its plainest transcription, and the fast engine must agree with it
//! in every cycle. Names in code font are settings ([`EliteSettings`]).
//!
//! **Packets** of `p` payload bytes in `b` blocks are `header_flits + b block.header_flits + ceil(p / flit_bytes) +
//! trailer_flits` flits; one or more. Tags of the route, the check sum and the end of the packet are in header and trailer.
//!
//! **Virtual channels.** With `V` VCs and `c` classes (which divide `V`), the VCs of class `k` are `k (V / c)` and the
//! `V / c - 1` after it. A packet has *one* VC of each link that it crosses, from when it is given to it until it is free
//! again, and nobody else has it in between.
//!
//! **Channels.** A flit that a sender has *on its wire* in cycle `t` is on the receiver's wire in cycle `t + latency`. A
//! channel of less than a flit a cycle carries flits in its slots only ([`Rate`]). The rate may change
//! ([`Change`](flitway_fabric::Change)): from the cycle of the change on the slots are those of the new rate, and there are
//! none while the channel is stopped.
//!
//! **Buffers.** Each VC of an input of a switch has one of `buffer_flits`, and its sender so many credits in cycle 0; a flit
//! takes one. A flit on the wire in cycle `t` is *ready* from cycle `t + receive + route` on. For each flit that leaves the
//! buffer in cycle `t` the sender has a credit more from cycle `t + credit + latency` on. Channels to nodes need none, unless
//! NIC ports are bounded and hold packets.
//!
//! **Cycle `t`** of a switch, in this order.
//!
//! 1. *Answers* that come in cycle `t` free the VC of the output that they come to and the VC of the input whose packet had
//!    it: see below. Without `answer` both are free from the cycle after the one in which the last flit was sent.
//! 2. *Requests.* The first packet in a VC of an input that has no output requests from the cycle on in which its first flit
//!    is ready and the VC has been freed by the packet before. Those that request take their turns: who has requested for
//!    longest first, of equals the lowest input, and of that the lowest VC. With `priority` those of the high priority come
//!    before all others: packets, broadcasts too, of up to `up_to_bytes` of payload, and in cycle `t` those that have requested
//!    since cycle `t - ageing` or before. The routing gives one or more outputs, each with a
//!    class (with `selection` first: one). Those of which a VC of the class is free can be given. A packet that has a choice is
//!    given the one of which the fewest VCs are taken, of equals the first from the switch's *turn* on, going round; the turn
//!    is then the port after it, also if only one of several could be given. The turn is port 0 at first. The packet gets the
//!    lowest VC of the class that is free. If none can be given it waits.
//! 3. *Links.* In a slot each output sends a flit of one of its VCs: of those that have been given to a packet whose next flit
//!    is ready, and that have a credit, the first after the one that sent last, going round (first VC 0). The flit leaves
//!    its buffer, and is on the wire in cycle `t + transmit`. A flit can leave in the cycle in which its packet was given the
//!    output.
//!
//! **NIC port.** Packets wait in one queue. In cycle `t`, after answers, if all flits of the packets before have been sent, the
//! first one that was created before or in cycle `t` gets the lowest VC of class 0 that is free. In a slot it sends its next
//! flit if that has a credit; it is on the wire in cycle `t + transmit`. So the next packet goes out while the answer to the
//! one before is awaited, as long as there are VCs. A node takes every flit at once; a packet is *received*, and counts as
//! delivered, one cycle after its last flit was on the node's wire.
//!
//! **Answers** (`answer`). The path of a packet is held: its VCs are taken until the answer comes. A node that has received a
//! packet in cycle `t` has its answer on the wire in cycle `t + node`; one that comes to an output of a switch in cycle `t` is
//! on the wire of its input in cycle `t + switch`, and `latency` later at the other end. They have wires of their own. By
//! then all credits of the VC are back: `credit` is no longer than that takes.
//!
//! **Errors** ([`LinkErrors`]), where there are answers. A packet of which a link corrupts a flit is *corrupt* and goes on like
//! any other. Of what a component sends by a port a number is drawn for each flit, by the slot in which it goes; a channel may
//! have a probability of its own ([`channels`](LinkErrors::channels)) in the place of that of all. Packets are counted in the
//! order of their last flits. A node finds out when all of the packet has come: it delivers nothing, and its answer is a
//! *NACK*. A source that hears one in cycle `t` puts the packet before all others in its queue, and sends it again as if it
//! were new; for the first `repeats` times from cycle `t` on, then from cycle `t + back_off` on. What comes after it waits.
//!
//! An answer is one flit: for each that comes to a port a number is drawn, too, with the probability of the channel on which
//! the other end sends. If a link corrupts it, or is down in a cycle from that in which it is on the wire at one end up to that
//! in which it comes to the other one, it is *void* from there on: it frees what any other does, and its source, which does not
//! know whether the packet has been delivered, sends it again as after a NACK. Where answers are combined one that is void
//! makes a void one. Sources number their packets. A packet that a node has taken before is not delivered again, and is
//! answered as it was the first time. So each is delivered once. One that is given up is lost only if it has not been
//! delivered.
//!
//! **Faults** ([`Faults`], where there are answers). A link is *down* while the channel to one of its ends is cut, and for
//! ever when the switch at one of them is dead; both ends know so in the same cycle. Then no virtual channel of its outputs is
//! given. A packet that has one goes on: what is missing of it is made up, and it is *corrupt* if the link is down in a cycle
//! from that in which the virtual channel was given to it up to that in which its last flit is on the wire of the other end.
//! The answer to it comes as any other. An output whose link is down does not count among those that the routing gives. If
//! none is left, the packet is *refused*: it is given a virtual channel of the switch's *drain* instead, the lowest that is
//! free. The drain is an output with as many virtual channels as others, which takes a flit in every cycle without credits.
//! When the last flit has been sent in cycle `t`, a NACK comes to the drain in cycle `t + transmit + node + 3`, as if there
//! were a node at the end of a link of one cycle. A NIC port whose link is down in cycle `t` refuses the packet that it would
//! give a virtual channel then, and so the one that it would give one instead. A packet that has been refused, or answered
//! with a NACK, `attempts` times is *lost* in that cycle: it is not sent again. Tables around what is down
//! ([`reroute`](flitway_fabric::Simulation::reroute)) are those of packets that a NIC port gives a virtual channel in their
//! cycle or later; one for which they name no port of its first switch is lost in the cycle in which it would be given one. A
//! packet that is lost in cycle `t` before its NIC port has sent it has left its source queue, which a bounded NIC port tells
//! in cycle `t + 1`.
//!
//! **Broadcasts** (where there are answers). A packet for a range of nodes has virtual channel `V / c - 1` of each link; the
//! NIC port gives it that one alone. It climbs until a switch covers the range ([`Reach::by_first_links`], of the tables with
//! which it has begun), and goes down from there. In a switch to which it comes from below, that does not cover the range and
//! that has a port up, it requests a port up: with `roots` one, that of the one tree ([`Reach::first_up`]); with any, one of
//! those whose virtual channel is free ([`Reach::up_to`]), chosen as among the outputs of a packet that has a choice, turn
//! included. In any other it requests in the same cycle all ports down that lead to nodes of the range; each that is free is
//! given for itself, from the lowest on, and the packet goes on requesting those that are missing. *Copies* begin when they
//! have been given an output; each takes the flits at its own pace. A flit leaves the buffer in the cycle in which the last
//! output sends it. When answers to all copies have come, in cycle `t`, all of the outputs and the input are free from cycle
//! `t` on; the answer goes on as that to any other packet, and is a NACK if one of them was. So the whole range is sent to
//! again; a node delivers a copy once and answers those that come again as it did the first time.
//!
//! Where something breaks, a port up whose link is down does not count. If none is left, the broadcast is refused, as a packet
//! for one node is; but of the drain it takes virtual channel `V / c - 1`. Of the ports down those whose link is down in the
//! cycle in which it requests first are left out, and so are nodes of the range that are not below the switch in which it
//! turns. Those copies are refused: the broadcast is answered as if a NACK had come to them in that cycle. If no port is left,
//! the broadcast is refused. A copy that waits for an output whose link goes down later is given it all the same, and is
//! corrupt. A broadcast that is lost is lost for each node of the range that has been delivered no copy of it, and only for
//! those; its sender hears so in cycle `t + 1` if that is in cycle `t`, as of an answer that is false.
//!
//! **Stalls** ([`Faults`], where there are answers). A node that is *stalled* feeds its NIC port nothing: no virtual channel is
//! given there, nothing is refused, and no flit is sent. A packet of which some flits have been sent before cycle `t`, in which
//! that begins, and not all, holds its path. If it is not fed again in or before cycle `t + half_packet` it is *closed* in that
//! cycle: from then on what is missing of it is made up, as if it were fed, and it is corrupt. So it is answered with a NACK,
//! and sent again when the node goes on. A packet that has been closed is not fed again.
//!
//! **Tests.** A node that is delivered a copy in cycle `t`, by an ideal NIC port, can *deny* it in that cycle: its answer is
//! then *false*. Where answers are combined, any NACK makes a NACK, otherwise any that is false a false one. The sender hears
//! of the answer to a broadcast that comes to its NIC port in cycle `t`, unless that is a NACK, in cycle `t + 1`. That is the
//! network conditional: a Boolean test at all nodes of a range at once, on which its sender acts.
//!
//! **Bounded NIC ports** ([`NicPorts`]) keep what comes in a buffer for each VC, of two of the longest packets: channels to
//! nodes have so many credits then, and flits take them. The packets of a VC are delivered in their order: each when it is
//! received, but not before the last flit of the one before has left the buffer; several VCs from the lowest on. It is
//! answered when it is received. The NIC drains a packet that has been delivered in that cycle or later: from the cycle in
//! which it does, the packet's flits leave the buffer, one a cycle, each with a credit for the sender as from the buffer of a
//! switch. A packet whose last flit is sent for the first time in cycle `t` has left its source queue, and the NIC hears so,
//! in cycle `t + 1`. One that is corrupt, or a copy that comes again, leaves the buffer as if it were drained in the cycle in
//! which it would be delivered.
//!
//! With `when_full` refuse ([`WhenFull`]) channels to nodes need no credits: a bounded NIC port takes every flit. A packet that
//! is received in cycle `t` and is neither corrupt nor one that comes again is *accepted* if its buffer has room for it: if its
//! flits, and those of packets that have been accepted before on its virtual channel and have not left the buffer before cycle
//! `t`, are two of the longest packets or fewer. Otherwise it is refused: the answer is a NACK, and nothing else is left of it.
//! A packet that is corrupt, or comes again, takes no room. What is lost after `attempts` NACKs is *refused* if the last one
//! was that of a NIC port without room; where answers to copies are combined any other NACK counts more.
//!
//! If bounded NIC ports are *answering*, the NIC hears of the answer to any packet that comes to its NIC port in cycle `t`,
//! unless that is a NACK, in cycle `t + 1`; first of what has left the source queue.

mod forecast;
mod nic;
mod packet_state;
mod period;
mod sender;
pub mod settings;
mod switch;
mod theory;

pub use settings::{AnswerSettings, ElitePipeline, EliteSettings, PrioritySettings, Roots, WhenFull};

use flitway_engine::Cycle;
use flitway_fabric::component::{Components, Context, FabricShard, Letter};
use flitway_fabric::observer::Observer;
use flitway_fabric::simulation::{Architecture, Conservation, NodeWires, Plan, Wires};
use flitway_fabric::{Chip as _, Endpoint, Fabric, Faults, LinkErrors, NicPorts, Rate, Routings};
use flitway_wiring::reach::Reach;
use flitway_wiring::routing::Routing;
use flitway_wiring::{PortId, RailId};
use nic::Port;
use packet_state::{Inbox, Mail};
use period::Period;
use sender::Place;
use std::sync::OnceLock;
use switch::Switch;

type Cx<'a, O> = Context<'a, Elite, O>;

/// The architecture, as the simulation sees it.
#[derive(Debug)]
pub struct Elite;

/// What the switches and NIC ports of a shard share.
#[derive(Debug)]
pub struct Shared {
    settings: EliteSettings,
    /// Virtual channels, and how many of them are of a class.
    vcs: usize,
    lanes: usize,
    period: Period,
    errors: LinkErrors,
    faults: Faults,
    rails: u32,
    /// Links corrupt packets, or break.
    has_errors: bool,
    nic_ports: NicPorts,
    /// NIC ports that are full answer with a NACK.
    refuses: bool,
    /// Packets may be sent again.
    repeats: bool,
    /// Nodes take every flit at once.
    has_sinks: bool,
    /// Each is that of the packets that begin in its time.
    routings: Routings,
    /// Where broadcasts go by each of them, once there is one.
    reaches: Vec<OnceLock<Reach>>,
}

impl Shared {
    /// When the link of `place` is down.
    fn down_times(&self, place: Place) -> Vec<[Cycle; 2]> {
        self.faults.down_times(self.routings.first().topology(), self.rails, (place.component, place.port))
    }

    /// Where broadcasts go that have begun with the tables of that number.
    fn reach(&self, tables: u16) -> &Reach {
        let reach = || Reach::by_first_links(self.routings.numbered(tables));
        let known = &self.reaches[usize::from(tables)];
        known.get_or_init(|| reach().expect("broadcasts are planned where there is a way for them"))
    }
}

impl Architecture for Elite {
    type Chip = EliteSettings;
    type Shard<E: Endpoint, O: Observer> = FabricShard<Elite, E, O>;

    fn shard<E: Endpoint, O: Observer>(
        fabric: &Fabric<EliteSettings>,
        plan: Plan<E, O>,
    ) -> FabricShard<Elite, E, O> {
        FabricShard::new(fabric, plan)
    }

    /// What a link decides in cycle `t` is on the wire at the other end `transmit + latency` cycles later, and not felt before.
    /// That all of a packet has been sent is told a cycle later, and felt a cycle later too. A credit counts `credit + latency`
    /// cycles later, and an answer is heard `node + latency` or `switch + latency` later.
    fn lookahead(settings: &EliteSettings, _: &Fabric, latency: u32) -> u64 {
        let answer = settings.answer.map_or(u32::MAX, |answer| answer.node.min(answer.switch));
        u64::from(latency + settings.pipeline.transmit.min(settings.credit).min(answer))
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

impl Components for Elite {
    type Shared = Shared;
    type Mail = Mail;
    type Inbox = Inbox;
    type Switch = Switch;
    type Port = Port;

    fn shared(fabric: &Fabric<EliteSettings>) -> Shared {
        let settings = &fabric.chip;
        assert!(fabric.groups.is_empty() && fabric.barriers.is_empty(), "Elite4s have tables for no groups");
        let (vcs, classes) = (settings.vcs, fabric.routing.classes());
        assert!(
            vcs.is_multiple_of(classes),
            "{vcs} virtual channels are not {classes} classes of equal size"
        );
        let selection = fabric.routing.selection();
        assert_eq!(selection, settings.selection, "switches select as their settings say");
        assert!(
            settings.credit_max().is_none_or(|most| settings.credit <= most),
            "credits are back before the answer"
        );
        assert!(
            fabric.errors.are_none() || settings.answer.is_some(),
            "without answers nothing is sent again"
        );
        assert!(
            fabric.faults.are_none() || settings.answer.is_some() && settings.ports < u64::BITS,
            "where links break packets are answered, and the drain is a port more"
        );
        let has_errors = !(fabric.errors.are_none() && fabric.faults.are_none());
        let refuses = settings.offers().refuses && fabric.nic_ports.are_bounded();
        Shared {
            vcs: vcs as usize,
            lanes: (vcs / classes) as usize,
            period: Period::of(&fabric.rates, vcs),
            errors: fabric.errors.clone(),
            faults: fabric.faults.clone(),
            rails: fabric.rails,
            has_errors,
            nic_ports: fabric.nic_ports,
            refuses,
            repeats: has_errors || refuses,
            has_sinks: refuses || fabric.nic_ports == NicPorts::Ideal,
            routings: Routings::new(fabric.routing.clone()),
            reaches: vec![OnceLock::new()],
            settings: settings.clone(),
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

    fn reroute(shared: &mut Shared, at: Cycle, routing: &Routing) -> bool {
        let is_offered = !shared.faults.are_none();
        if is_offered {
            shared.routings.add(at, routing.clone());
            shared.reaches.push(OnceLock::new());
        }
        is_offered
    }

    fn audit(_: &Shared, inbox: &Inbox, books: &mut Conservation) {
        inbox.audit(books);
    }
}
