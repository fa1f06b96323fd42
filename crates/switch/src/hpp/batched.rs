//! A shard in which every packet is long: it decides in batches. What happens in which cycle is said in the
//! [parent module](super); here stands why the order does not matter.
//!
//! What is decided in a switch acts there a while later. A grant of cycle `g` reaches the link in cycle
//! `g + 1 + transmit_buffer`, and frees nothing before the packet of `n` flits has crossed. A choice of the link in cycle `d`
//! lets the rest of the packet out of the TX FIFO, so that it has crossed in cycle `max(g + n, d + n - 1 - tx_fifo)`, and
//! lets it out of the input FIFO, whose first unit that ends beyond the TX FIFO, with flit `f`, has left no earlier than in
//! cycle `d + f - tx_fifo`. What is sent to another switch or node, and what a receiver advertises, acts there no sooner than
//! after the lookahead of the fabric, which is the length of a window. So for a *batch* of cycles that is no longer than
//! the least of these distances and lies in one window, all nodes of the shard do what they do, one after the other, each for
//! the whole batch; then all arbiters decide; then all links, for a batch that begins `1 + transmit_buffer` later, which
//! is no longer than a batch either: they are kept back at a look from outside, and then decide for all of it at once.
//! Nothing has to be sorted, and no packet is under way of which it is not known when it will have crossed: of one that has
//! been granted nothing leaves that anybody hears of before its link chooses it, so it stays at the head of its FIFO until
//! then.
//!
//! Everything that will happen has a date, so it is told at once: a packet is put into the FIFO at the other end when its link
//! chooses it, and requests there, from the cycle on in which it can.

mod ahead;
mod arbiters;
mod arrive;
mod build;
mod context;
mod links;
mod lists;
mod look;
mod nic;
mod node;
mod port;
mod receiver;
mod sender;

use super::link_sender::Owner;
use super::packet_state::Mail;
use context::BatchedCx;
use flitway_engine::Cycle;
use flitway_engine::calendar::Calendar;
use flitway_engine::time32::{Time, Time32};
use flitway_engine::window::{Shard, Window};
use flitway_engine::worklist::Bucket;
use flitway_fabric::arbiter::ArbiterBank;
use flitway_fabric::bits::BitSet;
use flitway_fabric::component;
use flitway_fabric::observer::Observer;
use flitway_fabric::simulation::ShardModel;
use flitway_fabric::{Endpoint, Outgoing};
use lists::{Letter, Lists};
use nic::Nic;
use node::Node;
use port::Port;
use std::collections::VecDeque;

pub(super) use build::bytes_per_port;

/// The most VCs of such a switch.
pub(super) const VCS: usize = 4;

/// The most units of a buffer: twice as many are a number of 16 bits.
pub(super) const UNITS: u32 = (1 << 15) - 1;

/// Cycles of a batch, at most. Where windows are shorter, a batch is a window.
pub(super) const BATCH: u32 = 16;

/// Cycles that have passed and can at least be told from each other, as far as decisions need that.
pub(super) const KEPT_LEAST: u64 = 1 << 10;

/// Cycles that have passed and can be told from each other: observers are told for how long a packet has waited. Where
/// everything is checked they are the least that will do.
pub(super) const KEPT: u64 = if cfg!(debug_assertions) { KEPT_LEAST } else { 1 << 28 };

/// Cycles after which the epoch is moved on. Where everything is checked that happens often.
const EPOCH: u64 = if cfg!(debug_assertions) { KEPT + (BATCH * lists::SEEN) as u64 } else { 1 << 29 };

/// Windows that are run at a time where there is one shard.
const STRETCH: u64 = 64;

/// Cycles from the epoch that can be reached.
const FAR: u64 = 1 << 30;

/// A shard of HPP Switches of `V` VCs, and of nodes.
#[derive(Debug)]
pub struct BatchedShard<const V: usize, E, O> {
    /// The ports of the switches. They stand beside what acts on them: nothing of that has to be read again because a port has
    /// been written.
    ports: Vec<Port<V>>,
    network: Network<V, O>,
    nodes: Vec<Node<E>>,
    /// Nodes that have something to do that is too far ahead for buckets, by batch from cycle 0.
    calendar: Calendar,
    inbox: Vec<component::Letter<Mail>>,
    // Kept for their memory.
    far: Vec<u32>,
    due: Bucket,
    out: Outgoing,
}

/// What acts on the ports of a shard. They stand side by side: those of the first switch, of the second one and so on; then,
/// counted on, the NIC ports of the first node, of the second one and so on. That number is the *place* of a port.
///
/// Where the cache of a core does not hold everything, the switches are divided into *blocks* that it holds, and each
/// batch is run block by block, every node with the block of its first switch. What one block sends to another is kept as a
/// letter until it is felt, and so is what comes from another shard. Blocks begin at multiples of their size, and no switch is
/// in two of them: what is not needed of a block stays unconnected.
#[derive(Debug)]
struct Network<const V: usize, O> {
    cx: BatchedCx<O>,
    nics: Vec<Nic<V>>,
    /// The place of the first of them.
    first_nic: u32,
    /// The block that the node of each NIC port runs with.
    nic_blocks: Vec<u32>,
    /// The switches, by their first ports.
    switches: Vec<Switch>,
    /// The first port of the switch of each port.
    bases: Vec<u32>,
    /// NIC ports of a node.
    rails: u32,
    /// Whether the cache of a core does not hold everything.
    asks_ahead: bool,
    arbiters: ArbiterBank,
    lists: Lists,
    /// Packets of which nodes are still to be told.
    undelivered: usize,
    /// By node: when it is to be run, as far as somebody has said so.
    node_at: Vec<Cycle>,
    /// By place: those that may have news that the other end needs, and when the first of them has, as far as known.
    with_pending_adverts: BitSet,
    news_at: Time32,
    /// The first cycle in which links have not decided.
    links_from: Time32,
    window_length: u64,
    /// Adverts that senders have heard of, in that order, and that count soon: from when on, and the place and the VC.
    heard: VecDeque<(Cycle, u32, u8)>,
    /// Nobody looks from outside before this cycle.
    horizon: Cycle,
    /// Whether nodes need not be told of what is delivered to them.
    nodes_are_deaf: bool,
    // Kept for their memory.
    due: Bucket,
    news: Vec<u32>,
    read: Vec<Letter>,
}

/// A switch: where its ports stand.
#[derive(Clone, Copy, Debug)]
struct Switch {
    first: u32,
    ports: u32,
    /// Its component number.
    number: u32,
}

/// The cycle that time is counted from once all has been settled up to `now`: so long before that what matters of the time
/// before `now` can still be told. Batches stay in their buckets, which come again after a `round`.
fn epoch_before(now: Cycle, round: u64) -> Cycle {
    Cycle(now.since(Cycle(KEPT)) / round * round)
}

impl<const V: usize, E: Endpoint, O: Observer> Shard for BatchedShard<V, E, O> {
    type Mail = component::Letter<Mail>;

    fn receive(&mut self, letter: Self::Mail) {
        self.inbox.push(letter);
    }

    fn run(&mut self, window: Window, outbox: &mut [Vec<Self::Mail>]) {
        let mut start = window.start;
        while start < window.end {
            let end = start + self.network.window_length;
            self.run_window(start, end, window.horizon);
            if end == window.end {
                break;
            }
            // It was given several windows, and goes on to the next of them with work.
            start = self.next_window().map_or(window.end, |next| Cycle(next * self.network.window_length));
        }
        for (away, outbox) in self.network.cx.mail.away.iter_mut().zip(outbox.iter_mut()) {
            std::mem::swap(away, outbox);
        }
    }

    fn next_window(&self) -> Option<u64> {
        let epoch = self.network.cx.timing.epoch;
        let now = self.network.lists.now().cycle(epoch);
        let of_ports = self.network.lists.next().unwrap_or(Time32::NEVER).min(self.network.news_at);
        let of_ports = if of_ports == Time32::NEVER { Cycle::NEVER } else { of_ports.cycle(epoch) };
        let of_nodes = self.calendar.next().map_or(Cycle::NEVER, |batch| Cycle(batch * self.network.batch()));
        // Letters are read in the next window.
        let next = if self.inbox.is_empty() { of_ports.min(of_nodes) } else { now };
        (next != Cycle::NEVER).then(|| next.max(now).0 / self.network.window_length)
    }

    fn stretch(&self) -> u64 {
        STRETCH
    }
}

impl<const V: usize, E: Endpoint, O: Observer> BatchedShard<V, E, O> {
    /// Runs through a window of one lookahead.
    fn run_window(&mut self, start: Cycle, end: Cycle, horizon: Cycle) {
        if self.is_far(start) {
            self.settle(start);
        }
        let epoch = self.network.cx.timing.epoch;
        let (first, until) = (Time32::of(start, epoch), Time32::of(end, epoch));
        self.network.open(&mut self.ports, first, horizon);
        for letter in std::mem::take(&mut self.inbox) {
            self.network.accept(&mut self.ports, letter, start);
        }
        while self.network.lists.now() < until {
            self.take_far_nodes();
            if self.network.lists.is_idle() {
                self.network.skip(until, self.calendar.next());
                continue;
            }
            let end = self.network.lists.end().min(until);
            let upto = self.network.links_upto(end);
            for turn in 0..self.network.lists.blocks() {
                let block = self.network.lists.block_in(turn);
                if self.network.lists.is_idle_in(block) {
                    continue;
                }
                self.network.lists.turn_to(block);
                if self.network.lists.has_letters() {
                    self.network.read_letters(&mut self.ports);
                }
                self.run_nodes(end);
                self.network.arbitrate_all(&mut self.ports, end);
                self.network.decide_all(&mut self.ports, end, upto);
            }
            self.network.links_from = upto;
            self.network.lists.pass(end);
        }
        self.network.finish(&mut self.ports, until);
        // Several shards have their books in common: those are looked at when all of them rest.
        debug_assert!(
            self.network.cx.mail.away.len() > 1 || self.audit(end).holds(),
            "every packet and every credit unit is somewhere: {:?}",
            self.audit(end)
        );
    }

    /// Whether the epoch is so long before `now` that it has to be moved on.
    fn is_far(&self, now: Cycle) -> bool {
        now.since(self.network.cx.timing.epoch) > EPOCH
    }

    /// The nodes that have something to do in the batch of now, or soon, are put into buckets.
    fn take_far_nodes(&mut self) {
        let (epoch, length) = (self.network.cx.timing.epoch, self.network.batch());
        let far = self.network.lists.far().cycle(epoch);
        while let Some(batch) = self.calendar.next().filter(|&batch| Cycle(batch * length) < far) {
            let mut due = std::mem::take(&mut self.far);
            self.calendar.take(batch, &mut due);
            let at = Time32::of(Cycle(batch * length), epoch).max(self.network.lists.now());
            for &node in &due {
                self.network.lists.call_node(node, self.nodes[node as usize].block, at);
            }
            self.far = due;
        }
    }

    /// The nodes of the block that runs do what they have to do before cycle `end`, with which the batch ends.
    #[inline(never)]
    fn run_nodes(&mut self, end: Time32) {
        let mut due = std::mem::take(&mut self.due);
        self.network.lists.take_nodes(&mut due);
        let epoch = self.network.cx.timing.epoch;
        let (end_cycle, far) = (end.cycle(epoch), self.network.lists.far().cycle(epoch));
        if self.network.asks_ahead {
            self.prefetch_first_nodes(&due);
        }
        for (turn, &index) in due.iter().enumerate() {
            if self.network.asks_ahead {
                self.prefetch_nodes(&due, turn);
            }
            let node = &mut self.nodes[index as usize];
            if std::mem::replace(&mut node.seen, end_cycle) == end_cycle {
                continue;
            }
            if self.network.node_at[index as usize] < end_cycle {
                self.network.node_at[index as usize] = Cycle::NEVER;
                let next = node.run(&mut self.network, &mut self.ports, end_cycle, &mut self.out);
                self.network.node_at[index as usize] = next;
            }
            let next = self.network.node_at[index as usize];
            if next < far {
                self.network.lists.wake_node(index, Time32::of(next, epoch));
            } else if next != Cycle::NEVER {
                self.calendar.schedule(index, next.0 / self.network.batch());
            }
        }
        self.due = due;
    }
}

impl<const V: usize, O: Observer> Network<V, O> {
    /// Begins a window: links do what a look from outside has kept them from.
    fn open(&mut self, ports: &mut [Port<V>], start: Time32, horizon: Cycle) {
        self.lists.pass(start);
        self.horizon = horizon;
        let upto = self.links_upto(start);
        if self.links_from < upto {
            for block in 0..self.lists.blocks() {
                self.lists.turn_to(block);
                self.decide_all(ports, start, upto);
            }
            self.links_from = upto;
        }
    }

    /// Cycles of a batch.
    fn batch(&self) -> u64 {
        self.lists.batch_length().into()
    }

    /// Goes on to the next batch in which something is due, perhaps in the `batch` of the calendar, or to the end of the
    /// window.
    fn skip(&mut self, until: Time32, batch: Option<u64>) {
        let epoch = self.cx.timing.epoch;
        let of_nodes = batch.map_or(Time32::NEVER, |batch| Time32::of(Cycle(batch * self.batch()), epoch));
        let next = self.lists.next().unwrap_or(Time32::NEVER).min(of_nodes);
        let next = next.max(self.lists.end()).min(until);
        self.links_from = self.links_upto(next);
        self.lists.pass(next);
    }

    /// The cycle before which links can decide once arbiters have for the cycles before `end`.
    #[inline(always)]
    fn links_upto(&self, end: Time32) -> Time32 {
        let BatchedCx { timing, .. } = &self.cx;
        (end + timing.to_link()).min(Time32::of(self.horizon, timing.epoch))
    }

    /// Ends a window before `until`: what the other ends of links may come to need is said now.
    fn finish(&mut self, ports: &mut [Port<V>], until: Time32) {
        self.news_at = Time32::NEVER;
        let mut news = std::mem::take(&mut self.news);
        self.with_pending_adverts.collect(&mut news);
        for &place in &news {
            let next = match (place as usize).checked_sub(ports.len()) {
                None => {
                    let owner = self.owner(place);
                    let port = &mut ports[place as usize];
                    port.link.finish(&mut port.advert_timers, &mut port.lanes, until, owner, &mut self.cx)
                }
                Some(nic) => self.nics[nic].finish(until, &mut self.cx),
            };
            if next == Cycle::NEVER {
                self.with_pending_adverts.remove(place);
            } else {
                self.news_at = self.news_at.min(Time32::of(next, self.cx.timing.epoch));
            }
        }
        self.news = news;
        self.tell_all(ports, until.cycle(self.cx.timing.epoch));
    }

    /// The component number of the switch of the port at `place`.
    #[inline]
    fn number(&self, place: u32) -> u32 {
        self.switches[self.switches.partition_point(|switch| switch.first <= place) - 1].number
    }

    /// Whose port is at `place`. Only observers of switches want to know.
    #[inline(always)]
    fn owner(&self, place: u32) -> Owner {
        if !O::WATCHES_SWITCHES {
            return Owner { component: 0, port: 0, is_nic: false };
        }
        Owner {
            component: self.number(place),
            port: (place - self.bases[place as usize]) as u8,
            is_nic: false,
        }
    }
}
