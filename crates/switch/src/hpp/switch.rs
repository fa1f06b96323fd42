//! The switch at packet cost. What it does in which cycle is said in the [parent module](super).
//!
//! A granted packet moves in *runs* of one flit a cycle, so three decisions describe all of its flits: the grant, the
//! choice by the link, and (if its TX FIFO filled up meanwhile) where it stalls. An [`Agenda`] slot stands for each
//! decision that is due: first the links of a cycle, then the arbiters.

mod barrier;
mod chooser;
mod multicast;
mod parts;
mod staging;
mod waiting;

use super::barrier_link_sender::{BarrierLinkSender, settle_told};
use super::credit::{AdvertTimer, Receiver, Sender};
use super::link_sender::{Receives, ShardCx};
use super::packet_state::Inbox;
use super::{Cx, Hpp, Shared};
use barrier::Barrier;
use chooser::Chooser;
use flitway_engine::agenda::Agenda;
use flitway_engine::{Cycle, prefetch};
use flitway_fabric::arbiter::ArbiterBank;
use flitway_fabric::bits::bits;
use flitway_fabric::component::{PostOf, Rest, Stage, SwitchModel};
use flitway_fabric::deadlock::Waiting;
use flitway_fabric::observer::Observer;
use flitway_fabric::pool::List;
use flitway_fabric::simulation::{Conservation, Wire};
use flitway_wiring::PortId;
use multicast::Multicast;
use parts::Parts;

/// An HPP Switch.
#[derive(Debug)]
pub struct Switch {
    number: u32,
    vcs: usize,
    /// Senders that wait for adverts.
    waits_for_credit: u32,
    /// Ports that may have news that the other end needs.
    with_pending_adverts: u64,
    /// The end of the window that is being run or was run last.
    until: Cycle,
    agenda: Agenda,
    /// The sending half of each port. Where nothing is connected nothing is ever routed to, nor received.
    links: Box<[BarrierLinkSender]>,
    /// By `port * vcs + vc`, like all that follows.
    advert_timers: Box<[AdvertTimer]>,
    inputs: Box<[Input]>,
    outputs: Box<[Output]>,
    arbiters: ArbiterBank,
    /// Where there are groups.
    multicast: Option<Box<Multicast>>,
    /// Where there are barriers.
    barrier: Option<Box<Barrier>>,
    /// Where switches choose ways.
    chooser: Option<Box<Chooser>>,
    /// Barrier packets share the order of VC 0.
    shares_order: bool,
    /// There are groups or barriers, or packets whose way is chosen. What every packet goes through is compiled twice, so that
    /// it is not asked for them where there are none.
    is_collective: bool,
    /// The slot of the agenda of the first arbiter.
    first_arbiter: usize,
    /// Where adverts are posted: the schedule of the first sender.
    first_board: usize,
}

/// One input FIFO.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Input {
    receiver: Receiver,
    /// Packets that have not been granted yet, some of them still on the way.
    waiting: List,
    port: u8,
    vc: u8,
    /// Its first packet is for a group and gathers its outputs one by one.
    gathers: bool,
    /// Of the first waiting packet, once it is known when it begins to request: that cycle, its credit units, and the
    /// output whose sender has the VC that it takes on the next link.
    units: u16,
    next: u16,
    requests_from: Cycle,
}

impl Input {
    /// The output whose sender has to have credits for its first packet, which requests `output`.
    #[inline(always)]
    fn next_output<const COLLECTIVE: bool>(&self, output: usize) -> usize {
        if COLLECTIVE && self.gathers { output } else { usize::from(self.next) }
    }
}

/// One output of one crossbar, with its TX FIFO and the sender half of the VC of the same number.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Output {
    sender: Sender,
    port: u8,
    vc: u8,
    /// The input port that a packet crosses from.
    from: u8,
    /// Somebody waits for credits, and no advert that has come can help.
    is_starved: bool,
    /// Flits of the packets granted and not yet chosen by the link.
    granted_flits: u32,
    granted: List,
    /// When the first of them is ready for the link; `NEVER` if there is none.
    ready: Cycle,
    /// The cycle in which the last flit of the packet now crossing crosses; `NEVER` while that is open.
    crossed: Cycle,
    /// Inputs whose first packet requests this output, now or from a known cycle on.
    requests: u64,
}

const _: () = assert!(size_of::<Input>() == 64 && size_of::<Output>() == 64, "one cache line each");

impl<C: ShardCx> Receives<Cycle, C> for Input {
    type Half = Receiver;

    #[inline]
    fn receiver(&mut self) -> &mut Receiver {
        &mut self.receiver
    }
}

impl Switch {
    pub(super) fn new(shared: &mut Shared, number: u32, wires: &[Option<Wire>]) -> Self {
        let (timing, ports) = (&shared.timing, wires.len());
        shared.pools.schedules.add_place();
        let first_board = shared.pools.schedules.add_ports(timing, ports);
        let vcs = timing.vcs;
        let planes = ports * vcs;
        let input = |index: usize| Input {
            receiver: Receiver::new(timing),
            waiting: List::default(),
            port: (index / vcs) as u8,
            vc: (index % vcs) as u8,
            gathers: false,
            units: 0,
            next: 0,
            requests_from: Cycle::ZERO,
        };
        let output = |index: usize| Output {
            sender: Sender::new(timing),
            port: (index / vcs) as u8,
            vc: (index % vcs) as u8,
            from: 0,
            is_starved: false,
            granted_flits: 0,
            granted: List::default(),
            ready: Cycle::NEVER,
            crossed: Cycle::ZERO,
            requests: 0,
        };
        let multicast = Multicast::new(shared, number, ports);
        let barrier = Barrier::new(shared, number, ports);
        let chooser = Chooser::new(shared);
        let phases = [chooser.is_some(), multicast.is_some(), barrier.is_some()];
        let first_arbiter = ports + phases.into_iter().filter(|&is_there| is_there).count();
        Switch {
            number,
            vcs,
            waits_for_credit: 0,
            with_pending_adverts: 0,
            until: Cycle::ZERO,
            agenda: Agenda::new(first_arbiter + planes),
            links: (0..)
                .zip(wires)
                .map(|(port, wire)| BarrierLinkSender::new(timing, number, port, *wire, false))
                .collect(),
            advert_timers: vec![AdvertTimer::new(timing); planes].into(),
            inputs: (0..planes).map(input).collect(),
            outputs: (0..planes).map(output).collect(),
            arbiters: ArbiterBank::new(shared.arbiter, planes, ports),
            shares_order: barrier.is_some() && !shared.barrier.dedicated,
            is_collective: phases.contains(&true),
            multicast,
            barrier,
            chooser,
            first_arbiter,
            first_board,
        }
    }

    /// What packets go through.
    #[inline(always)]
    fn parts(&mut self) -> Parts<'_> {
        Parts {
            number: self.number,
            vcs: self.vcs,
            until: self.until,
            shares_order: self.shares_order,
            first_arbiter: self.first_arbiter,
            first_board: self.first_board,
            waits_for_credit: &mut self.waits_for_credit,
            with_pending_adverts: &mut self.with_pending_adverts,
            agenda: &mut self.agenda,
            links: &mut self.links,
            advert_timers: &mut self.advert_timers,
            inputs: &mut self.inputs,
            outputs: &mut self.outputs,
            arbiters: &mut self.arbiters,
            multicast: &mut self.multicast,
            barrier: &mut self.barrier,
            chooser: &mut self.chooser,
        }
    }
}

/// Bytes of a switch per port.
pub(super) fn bytes_per_port(vcs: usize, ports: usize) -> usize {
    let per_vc =
        size_of::<AdvertTimer>() + size_of::<Input>() + size_of::<Output>() + ArbiterBank::bytes(ports);
    let slots = ports * (1 + vcs);
    size_of::<BarrierLinkSender>() + vcs * per_vc + (size_of::<Switch>() + Agenda::bytes(slots)) / ports
}

impl SwitchModel<Hpp> for Switch {
    fn receive(&mut self, shared: &mut Shared, inbox: &mut Inbox, start: Cycle) {
        self.agenda.pass(start);
        if self.is_collective {
            self.parts().receive::<true>(shared, inbox);
        } else {
            self.parts().receive::<false>(shared, inbox);
        }
    }

    #[inline]
    fn prefetch(&self, shared: &Shared, post: &PostOf<Hpp>, place: usize, until: Cycle, stage: Stage) {
        let packets = &post.inbox_of(place).packets;
        match stage {
            Stage::Itself => prefetch::item(self),
            Stage::Mail => {
                self.agenda.prefetch(until);
                prefetch::slice(packets);
            }
            Stage::First => self.prefetch_first(shared, packets, until),
            // Where a packet goes on is not known before its way is chosen.
            Stage::Second | Stage::Third if self.chooser.is_some() => {}
            Stage::Second => self.prefetch_second(shared, packets, until),
            Stage::Third => self.prefetch_third(shared, packets, until, post),
            Stage::Ports => {
                self.agenda.prefetch(until);
                prefetch::slice(packets);
                prefetch::slice(&self.links);
                prefetch::slice(&self.advert_timers);
            }
            Stage::Queues => {
                packets.iter().for_each(|it| shared.pools.states.prefetch(it.slot));
                prefetch::slice(&self.inputs);
                prefetch::slice(&self.outputs);
                self.arbiters.prefetch_all();
            }
        }
    }

    fn run<O: Observer>(&mut self, cx: &mut Cx<'_, O>, until: Cycle) -> Rest {
        self.until = until;
        if self.is_collective {
            self.parts().work::<true, O>(cx);
        } else {
            self.parts().work::<false, O>(cx);
        }
        let mut next = self.agenda.next().unwrap_or(Cycle::NEVER);
        for port in bits(self.with_pending_adverts) {
            let vcs = port * self.vcs..(port + 1) * self.vcs;
            let (advert_timers, inputs) = (&mut self.advert_timers[vcs.clone()], &mut self.inputs[vcs]);
            let link = &mut self.links[port];
            let news = if cx.shared.timing.sideband {
                link.finish_sideband(inputs, cx)
            } else {
                link.finish(advert_timers, inputs, until, cx)
            };
            match news {
                Cycle::NEVER => self.with_pending_adverts &= !(1 << port),
                news => next = next.min(news),
            }
        }
        Rest { next, waits: self.waits_for_credit > 0 }
    }

    fn settle<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        let Some(last) = now.0.checked_sub(1).map(Cycle) else { return };
        if cx.shared.timing.posts {
            return self.inputs.iter_mut().for_each(|input| settle_told(&mut input.receiver, last, cx));
        }
        let vcs = self.vcs;
        for input in 0..self.inputs.len() {
            self.parts().catch_up_with(input / vcs, input, last, cx);
        }
    }

    fn waiting(&self, shared: &Shared, now: Cycle) -> Vec<Waiting> {
        self.packets_waiting(shared, now)
    }

    fn position(&self, shared: &Shared, port: PortId, vc: u8, now: Cycle) -> u32 {
        self.position_of(shared, port, vc, now)
    }

    fn queued_flits(&self, shared: &Shared, inbox: &Inbox, now: Cycle) -> u64 {
        let states = &shared.pools.states;
        let waiting = self.inputs.iter().flat_map(|input| states.iter(&input.waiting));
        let coming = inbox.packets.iter().map(|it| &states[it.slot]);
        let come = waiting.chain(coming).filter(|state| state.at < now).map(|state| u64::from(state.flits));
        come.sum::<u64>() + self.outputs.iter().map(|output| u64::from(output.granted_flits)).sum::<u64>()
    }

    fn sent_flits(&self, port: PortId) -> Option<u64> {
        Some(self.links[port.index()].sent)
    }

    fn audit(&self, shared: &Shared, now: Cycle, books: &mut Conservation) {
        for input in &self.inputs {
            input.receiver.audit(&shared.timing, now, books);
            shared.pools.audit(&input.waiting, books);
        }
        self.audit_kept(books);
        self.audit_signals(books);
        for output in &self.outputs {
            books.units_sent += u64::from(output.sender.sent());
            // Their credits on the next link have been taken already.
            shared.pools.audit(&output.granted, books);
        }
    }
}
