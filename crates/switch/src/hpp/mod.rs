//! The HPP Switch of Dawning 5000 and the NIC ports that talk to it.
//!
//! Sources: hpp-switch.txt sections 2.2 and 4; dawning5000.txt sections 3 and 6; `mechanisms.md` 1.2 to 1.4. What the
//! papers leave open is decided as said in `docs/decisions/0002-hpp-switch-cycle-by-cycle.md`.
//!
//! # What happens in which cycle
//!
//! This text is normative: the per-flit reference model is its plainest transcription, and the fast engine must agree
//! with it in every cycle. Names in code font are settings ([`HppSettings`]).
//!
//! **Packets.** A packet of `p` payload bytes is `n = header_flits + ceil(p / flit_bytes) + trailer_flits` flits. It
//! takes `u = max(1, ceil(payload flits / unit_flits))` credit units: header and trailer are kept beside the payload
//! RAM. Unit `k` (from 0) is complete with flit `header_flits + unit_flits (k + 1) - 1`, the last one with flit `n - 1`.
//!
//! **Channels.** A flit that a sender has *on its wire* in cycle `t` is on the receiver's wire in cycle `t + latency`.
//! Every port has a sender half and a receiver half; adverts for what a port receives travel on the channel that the
//! same port sends on.
//!
//! **Receiver.** A flit on a switch's wire in cycle `t` can cross the crossbar from cycle `t + receive + queue + route`
//! on. Data VC `v` of input `i` is a FIFO of whole packets. A NIC takes each flit out of its buffer in cycle
//! `t + receive`; a packet counts as delivered one cycle after its last flit was on the NIC's wire.
//!
//! **Bounded NIC ports** ([`NicPorts`]) keep what comes. The packets of a virtual channel are delivered in their order: each
//! one cycle after its last flit was on the NIC's wire, but not before the last flit of the one before has left the buffer;
//! several virtual channels from the lowest on. The NIC drains a packet that has been delivered in that cycle or later:
//! from the cycle in which it does, the packet's flits leave the buffer, one a cycle. A packet that the link has chosen in
//! cycle `t` has left its source queue, and the NIC hears so, in cycle `t + n`. In each cycle the NIC hears of deliveries,
//! rail by rail, then of barriers, then of what has been sent; then it acts; then the link decides.
//!
//! **Start.** At cycle 0 every limit and every advertised position is the capacity, and adverts count as sent in cycle 0.
//! VC 0 counts as served last and as advertised last; input 0 goes first at every arbiter.
//!
//! **Labels.** With `V` VCs and `c` classes (which divide `V`), label `k (V / c) + l` is lane `l` of class `k`. A NIC sends
//! in class 0, a packet for a node `d` on the lane that it names, modulo the number of lanes. *By flow*
//! ([`LaneChoice::ByFlow`](flitway_fabric::LaneChoice::ByFlow)) it is a lane of the pair instead: with
//! `e = (s * g + d) mod 2^32` of the node `s` that sends, `f = (e xor (e >> 15)) * g mod 2^32` and `g = 0x9E3779B1`, the
//! number `f >> 16` modulo the number of lanes. Then packets of
//! a pair keep their order in a rail. If replies have lanes of their own ([`ReplyLanes`](flitway_fabric::ReplyLanes)), of `n`
//! lanes, two or more, a reply takes one of the last `floor(n / 2)`, and any other packet for a node one of the others, each
//! counted from the first of them.
//!
//! **Ways.** The source writes the way of a packet into its header. Where the routing draws a way for each packet, a packet
//! draws by the number that it names for its lane ([`Routing::way_drawn`]), or all of a pair by 0 where lanes are by flow.
//!
//! **Two ways.** Where switches select by load (`selection`) and the routing names two ways, the minimal one and the one by
//! way of an intermediate that the source has drawn ([`Routing::names_ways`]), the header holds both. Each switch in which
//! the relation has both of them as candidates *chooses*: that of the source, and with PAR the one after a minimal local hop.
//! It does so in the first cycle in which the packet is the first of FIFO `(i, v)`, which is not crossing after step 3, and
//! had its first flit on the wire in or before cycle `t + 1 - receive - queue - route`; after step 3 and before step 4, in
//! which nothing is taken or given back, so that the order of inputs makes no difference. The load of an output is the sum
//! over the virtual channels of its link of `sent - (limit - capacity)`, the units taken that the sender does not know to
//! have been given back. The packet takes the candidate with the least load, times its weight ([`Routing::weight`]): the
//! minimal one among equals, and so if its load is no more than twice that of the other. From then on, in step 5 of the same
//! cycle too, that is the output to which it is routed in this switch, whatever the loads come to be. (Why so:
//! `docs/decisions/0038-two-ways-in-a-source-route.md`.)
//!
//! **Cycle `t`**, in this order:
//!
//! 1. *Credits.* An advert whose last flit was on the wire in cycle `t - receive` replaces the sender's limit of its VC.
//! 2. *Links.* Each link that has nothing on it decides what to send, in this order of preference:
//!    1. a barrier packet, if the first in the port's queue of them is ready: see below.
//!    2. an advert, if for some VC the position `capacity + units taken out of the FIFO before cycle t` differs from
//!       the one last advertised, or none has been sent for `refresh` cycles: the first such VC after the one
//!       advertised last. It is `advert.flits` long and says that position.
//!    3. a data packet: of the VCs that have one ready, the first after the VC served last. In a switch a packet is
//!       ready when it is the first in TX FIFO `v` and its first flit went in before or in cycle `t - transmit_buffer`.
//!       In a NIC it is ready when it is the first in the source queue of `v`, was created before or in cycle `t`,
//!       and the credits of `v` suffice for all of it; sending takes the credits.
//!
//!    What is chosen in cycle `t` has its flit `j` on the wire in cycle `t + transmit + j`, and the link can decide again
//!    in cycle `t + n`. *Show-ahead*: if the link had nothing on it in cycle `t - 1`, it has already sent the start flit,
//!    so all of that happens one cycle earlier. (Before cycle 0 links are busy.)
//! 3. *Crossbars.* A packet granted in an earlier cycle moves one flit from FIFO `(i, v)` to TX FIFO `(o, v)` of its
//!    output, unless the latter holds `tx_fifo` flits. Flit `j` of a packet chosen in cycle `t` leaves the TX FIFO in
//!    step 2 of cycle `t + j` and so makes room in that same cycle.
//! 4. *Multicast arbitration*, in crossbar `m = multicast.vc`: see below. A packet granted here is crossing, and has taken
//!    its credits, before step 5.
//! 5. *Arbitration.* Output `o` of crossbar `v` is free unless a packet is still crossing to it after step 3. Requests
//!    for a free output come from each input `i` whose FIFO `(i, v)` is not crossing after step 3, and whose first packet
//!    is routed to `o`, had its first flit on the wire in or before cycle `t + 1 - receive - queue - route`, and fits
//!    into the credits of the next hop: `limit - sent >= u`. The arbiter grants one of them; `sent` grows by `u`; its
//!    first flit can cross in cycle `t + 1`.
//!
//! The VC on the next link is the same, unless the routing changes the VC *class* (a torus dateline): then the packet
//! crosses the switch in the crossbar of the VC it came in on and is relabelled on the way out; credits and the packet's
//! next FIFO are those of the new label. Where two crossbars feed one VC label they take credits in the order of
//! (output, crossbar).
//!
//! # Multicast
//!
//! Sources: hpp-switch.txt section 2.3, dawning5000.txt section 5.1; `mechanisms.md` 1.5.
//!
//! A packet for a group travels on VC `m` from end to end and never changes it (there is one class). In the switches of
//! its way up, if it carries one, it is like any other packet. From then on each switch looks up its outputs `M`: the
//! ports that the table has for the group, without the port it came by unless the way up was carried
//! ([`Groups`]). It *requests* `M` in cycle `t` if it is the first packet of FIFO `(i, m)`, which is not
//! crossing after step 3, and had its first flit on the wire in or before cycle `t + 1 - receive - queue - route - lookup`.
//!
//! * **Bulletin** (step 4). A request can be granted if every output of `M` in crossbar `m` is free after step 3 and has
//!   `limit - sent >= u`. One arbiter, of the same kind as the others, grants one request per cycle and switch; `sent` grows
//!   by `u` at every output of `M`, and the first flit can cross in cycle `t + 1`.
//! * **Patience.** A request that was one already in cycle `t - patience` is *overdue*. At the beginning of step 4, if no
//!   request is favoured, the overdue one that has been a request for the longest (the lowest input among equals) becomes
//!   favoured, until it is granted. In steps 4 and 5 nothing else is granted in crossbar `m` at an output of its `M`.
//! * **One by one**, without the bulletin (step 5). The request stands at each output of `M` that has not been granted to it,
//!   like that of any packet. An output that is granted is no longer free, and takes its credits at once. The first flit
//!   can cross in the cycle after the one in which the last output was granted.
//! * **Copies** (step 3). The packet moves one flit to the TX FIFOs `(o, m)` of all `o` in `M` in the same cycle, unless one
//!   of them holds `tx_fifo` flits.
//! * **Gaps.** So copies wait for each other, and a link that has chosen one may find that its next flit is not there: flit
//!   `j` leaves the TX FIFO after flit `j - 1`, in a cycle after the one in which it went in. Until then the link sends
//!   nothing at all. What is said of flit `j` of a packet elsewhere in this text holds of a packet for a group with the
//!   cycle in which that flit is there: it is on the wire `transmit` cycles after it has left the TX FIFO (one less if the
//!   packet was sent ahead), the link can decide again one cycle after the last flit has left (or in that cycle), a flit
//!   can cross `receive + queue + route` cycles after it was on the wire, a NIC takes it out of its buffer `receive`
//!   cycles after.
//! * If `M` is empty the request needs nothing and stands in step 4 in either mode; once granted the packet crosses to
//!   nowhere, one flit a cycle, and counts as missed.
//!
//! # Barriers
//!
//! Sources: hpp-switch.txt sections 2.2 and 2.4, dawning5000.txt section 4; `mechanisms.md` 1.7; OQ-H7, OQ-H8, OQ-H14, OQ-H18.
//! What the packets say and what they lead to is the protocol of [`barrier`](flitway_fabric::barrier); here stands when.
//! Why so: `docs/decisions/0009-barriers-in-the-fabric.md`. Where the fabric has no barrier groups, none of this happens.
//!
//! A barrier packet is 5 flits. It carries group, kind and S, and travels in a virtual channel of its own, from the switch or
//! node of its group that makes it to the next one, without credits: one that finds a queue full is lost.
//!
//! * **Link** (step 2). What is said there of packets holds of barrier packets, show-ahead included. They wait for what a
//!   link has on it, gaps included, and for nothing else.
//! * **Check.** A packet whose first flit was on the wire of a switch port in cycle `t` has been checked in cycle
//!   `t + 5 + receive + queue`, one whose first flit was on the wire of a NIC port in cycle `t + 5`. In that cycle it is
//!   lost if a rule of [`Faults`](flitway_fabric::barrier::Faults) says so, or else with the probability `packet_error`, which
//!   is drawn for each packet that no rule takes, if it is not zero.
//! * **Input queue.** In the same cycle a packet at a switch port comes into the queue of the port, unless that holds
//!   `buffer_packets`: then it is lost.
//! * **Engine** of a switch, after the input queues. One event per cycle: the first packet in the queue of an input, or a
//!   timer of a group that expires. They take turns, in the order inputs, retransmission timer of group 0, its dun timer,
//!   timers of group 1 and so on: the first after the one that had its turn last. At first it is the turn of input 0.
//!   *Together* (not the default; OQ-H14): when an input has its turn with a combine, those that say the same (of the same
//!   group and S) and are the first in the queues of other inputs are taken in the same cycle, in the order of inputs after
//!   it, until one of them completes the operation at the root. Then there is no combine-ACK of the others either: the
//!   distribute is theirs, too. Who comes next is decided by the input that had the turn.
//! * **Timers.** One that is armed in cycle `t` expires from cycle `t + retransmit`, or `t + dun`, on, until it has had its
//!   turn, is stopped or armed again.
//! * **Output queue.** What an event makes goes into the queues of the ports in the same cycle, in the order of the protocol,
//!   unless the queue of its port holds four packets for each group of the fabric: then it is lost. The link
//!   chooses before that; a packet that it has chosen is no longer in the queue. What comes in in cycle `t` is
//!   ready for the link from cycle `t + route + engine + transmit_buffer` on. So a pass through an idle switch takes
//!   `depth + 5 + engine` cycles, one less with show-ahead.
//! * **NIC port.** No queues but that of its link, and no engine: everything happens in the cycle in which it is due,
//!   and what it makes is ready at once. First, after what is delivered on that rail, the endpoint is told of the
//!   operations that its arrivals have completed in the cycle before, in their order: that is so at the root of a
//!   group, if that is a node. Then a packet that has been checked; if it completes the operation, the endpoint is
//!   told. Then the arrivals of the endpoint in cycle `t`, in its order; then timers that expire, by group,
//!   retransmission before dun; then the link (step 2).
//! * **Shared order** (not `dedicated`; not in the papers but for comparison). In switches barrier packets keep the order of
//!   data VC 0, where multicast has another one. They take none of its room and need none of its credits. The first
//!   packet in the queue of input `i` takes part in the turns of the engine in cycle `t` if every packet of FIFO `(i, 0)`
//!   whose first flit was on the wire before its own has been granted before cycle `t`. A packet that came into the queue
//!   of output `o` in cycle `t` stands in TX FIFO `(o, 0)` behind the packets granted to that before cycle `t`, and before
//!   those granted later. When it is the first there it is a data packet of VC 0 to the link, instead of what step 2
//!   says of barrier packets. NIC ports do not share: what waits there is in the memory of the node.
//!
//! # Corner cases
//!
//! A one-flit packet or advert that was sent ahead leaves its link free in cycle `t` itself: the link decides again.
//! What it then chooses is not sent ahead. Whether sent ahead or not, flit `j` leaves the TX FIFO in cycle `t + j`: the start
//! flit that went out early is the link's own. TX FIFOs and the turns among them go by crossbar, adverts by label; an
//! advert's cycle, for observers, is that of the decision.
//!
//! *Sideband adverts* (`advert.flits = 0`) are sent in the first cycle in which the position differs, all VCs at once,
//! whatever the link does; they arrive like an advert of one flit that was not sent ahead, and are never repeated.

mod barrier;
mod barrier_link_sender;
mod batched;
mod credit;
mod credit_schedule;
mod link_sender;
mod nic;
mod packet_state;
mod rules;
pub mod settings;
mod shard;
mod switch;
mod theory;
mod timing;

pub use settings::{AdvertSettings, BarrierSettings, Gathering, HppSettings, MulticastSettings, Pipeline};
pub use theory::Ends;

use flitway_engine::Cycle;
use flitway_fabric::arbiter::ArbiterKind;
use flitway_fabric::component::{Components, Context};
use flitway_fabric::observer::Observer;
use flitway_fabric::simulation::{Architecture, Conservation, NodeWires, Plan, Wire, Wires};
use flitway_fabric::{Barriers, Endpoint, Fabric, NicPorts};
use flitway_wiring::routing::{Routing, Selection};
use flitway_wiring::{Groups, RailId};
use nic::Port;
use packet_state::{Inbox, Mail, Pools};
use shard::HppShard;
use std::ops::RangeInclusive;
use switch::Switch;
use timing::Timing;

/// The most VCs that a link has.
const VCS_MAX: usize = 16;

/// Flits and credit units of a packet, by payload.
fn lengths(settings: &HppSettings, timing: &Timing) -> Box<[(u16, u16)]> {
    let format = &settings.format;
    let length = |payload| {
        let units = timing.units(format.payload_flits(payload));
        (format.packet_flits(payload) as u16, units as u16)
    };
    (0..=format.mtu_bytes).map(length).collect()
}

/// Whether the switches of a fabric of HPP Switches work in batches.
#[must_use]
pub fn works_in_batches(fabric: &Fabric<HppSettings>) -> bool {
    Timing::new(&fabric.chip, fabric).is_batched
}

/// Whether adverts in a fabric of HPP Switches are posted where their senders look them up.
#[must_use]
pub fn posts_adverts(fabric: &Fabric<HppSettings>) -> bool {
    Timing::new(&fabric.chip, fabric).posts
}

type Cx<'a, O> = Context<'a, Hpp, O>;

/// The architecture, as the simulation sees it.
#[derive(Debug)]
pub struct Hpp;

/// What the switches and NIC ports of a shard share.
#[derive(Debug)]
pub struct Shared {
    timing: Timing,
    /// Flits and credit units of a packet, by payload.
    lengths: Box<[(u16, u16)]>,
    /// No packet has more or fewer bytes.
    payloads: RangeInclusive<u32>,
    arbiter: ArbiterKind,
    routing: Routing,
    groups: Groups,
    multicast: MulticastSettings,
    barriers: Barriers,
    barrier: BarrierSettings,
    nic_ports: NicPorts,
    /// The component number of the first node.
    first_node: u32,
    pools: Pools,
}

impl Architecture for Hpp {
    type Chip = HppSettings;
    type Shard<E: Endpoint, O: Observer> = HppShard<E, O>;

    fn shard<E: Endpoint, O: Observer>(fabric: &Fabric<HppSettings>, plan: Plan<E, O>) -> HppShard<E, O> {
        assert!(fabric.errors.are_none(), "links of HPP Switches send nothing again");
        assert!(fabric.faults.are_none(), "links of HPP Switches are not trained");
        assert!(fabric.rates.are_full(), "a link of an HPP Switch carries a flit in every cycle");
        HppShard::new(fabric, plan)
    }

    /// What a link decides in cycle `t` has its first flit at the other end `transmit + latency` cycles later, or one
    /// earlier with show-ahead. From then it takes a switch until it can request for a packet, a node until it has the
    /// shortest packet or its NIC port a unit to advertise, and a sender until the last flit of an advert has been received.
    /// A barrier packet is felt when it has been checked: by a node in the cycle after its last flit, by a switch then or
    /// later. That it keeps adverts and other packets waiting is felt as what they say themselves, which comes later still.
    fn lookahead(settings: &HppSettings, fabric: &Fabric, latency: u32) -> u64 {
        let pipeline = &settings.pipeline;
        let request = pipeline.receive + pipeline.queue + pipeline.route - 1;
        let advert = pipeline.receive + settings.advert.flits.max(1) - 1;
        let unit = settings.format.header_flits + settings.unit_flits;
        let felt = request.min(advert).min(settings.format.packet_flits(1)).min(unit);
        // The flit after a gap leaves a cycle after the decision that ends the gap, and is felt a cycle after it has come.
        let felt = if fabric.groups.is_empty() { felt } else { felt.min(2) };
        let felt = if fabric.barriers.is_empty() { felt } else { felt.min(BarrierSettings::PACKET_FLITS) };
        u64::from(pipeline.transmit - u32::from(settings.show_ahead) + latency + felt)
    }

    /// Long packets are not run switch by switch.
    fn takes_turns(fabric: &Fabric<HppSettings>) -> bool {
        !Timing::new(&fabric.chip, fabric).is_batched
    }
}

impl Components for Hpp {
    type Shared = Shared;
    type Mail = Mail;
    type Inbox = Inbox;
    type Switch = Switch;
    type Port = Port;

    fn shared(fabric: &Fabric<HppSettings>) -> Shared {
        let settings = &fabric.chip;
        let room = settings.barrier.groups as usize;
        assert!(fabric.barriers.len() <= room, "the registers of the switches hold all barrier groups");
        let has_both = !fabric.groups.is_empty() && !fabric.barriers.is_empty();
        assert!(
            settings.barrier.dedicated || settings.multicast.vc != 0 || !has_both,
            "barriers and multicast do not share a virtual channel"
        );
        let selection = fabric.routing.selection();
        assert_eq!(selection, settings.selection, "switches select as their settings say");
        let chooses = fabric.routing.chooses_ways();
        assert!(
            chooses || selection == Selection::First,
            "an HPP Switch chooses between two ways that the source has written"
        );
        assert!(fabric.groups.is_empty() || !chooses, "there are no groups where switches choose ways");
        let timing = Timing::new(settings, fabric);
        Shared {
            lengths: lengths(settings, &timing),
            payloads: fabric.payloads.clone(),
            arbiter: settings.arbiter,
            routing: fabric.routing.clone(),
            groups: fabric.groups.clone(),
            multicast: settings.multicast,
            barriers: fabric.barriers.clone(),
            barrier: settings.barrier,
            nic_ports: fabric.nic_ports,
            first_node: fabric.rails * fabric.topology().switches(),
            pools: Pools::new(&timing),
            timing,
        }
    }

    fn switch(shared: &mut Shared, number: u32, wires: &[Wires]) -> Switch {
        assert!(wires.iter().all(|it| it.out == it.back), "adverts go back on the link that packets come by");
        let wires: Vec<Option<Wire>> = wires.iter().map(|it| it.out).collect();
        Switch::new(shared, number, &wires)
    }

    fn port(shared: &mut Shared, number: u32, rail: RailId, wires: &NodeWires) -> Port {
        assert_eq!(wires.out, wires.back, "adverts go back on the link that packets come by");
        Port::new(shared, number, rail, wires.out)
    }

    fn accept(shared: &mut Shared, place: u32, inbox: &mut Inbox, mail: Mail, passed: Cycle) {
        shared.pools.accept(place, inbox, mail, passed);
    }

    fn audit(shared: &Shared, inbox: &Inbox, books: &mut Conservation) {
        inbox.packets.iter().for_each(|it| shared.pools.states[it.slot].audit(books));
        books.barrier_in_network += shared.pools.signals.iter(&inbox.signals).count() as u64;
    }
}
