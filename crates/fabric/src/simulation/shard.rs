//! One shard: some switches and some nodes, their mail and their calendar.

use super::node::Node;
use super::{Architecture, ChannelMail, Context, Effects, Letter, PortModel, Post, Rest, SwitchModel};
use crate::observer::Observer;
use crate::{Endpoint, Outgoing};
use flitway_engine::Cycle;
use flitway_engine::calendar::Calendar;
use flitway_engine::window::{Shard, Window};
use std::iter::Sum;
use std::ops::Add;

/// Totals since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Things that components did: one per due slot of a switch, one per active cycle of a node.
    pub events: u64,
    /// Packets handed to NIC ports.
    pub packets_created: u64,
    /// Packets that have reached their destination.
    pub packets_delivered: u64,
    /// Their flits.
    pub flits_delivered: u64,
    /// Packets that the link of a switch has chosen.
    pub packet_hops: u64,
    /// Their flits.
    pub flit_hops: u64,
    /// Adverts sent.
    pub adverts: u64,
}

impl Add for Counters {
    type Output = Counters;

    fn add(self, other: Counters) -> Counters {
        Counters {
            events: self.events + other.events,
            packets_created: self.packets_created + other.packets_created,
            packets_delivered: self.packets_delivered + other.packets_delivered,
            flits_delivered: self.flits_delivered + other.flits_delivered,
            packet_hops: self.packet_hops + other.packet_hops,
            flit_hops: self.flit_hops + other.flit_hops,
            adverts: self.adverts + other.adverts,
        }
    }
}

impl Sum for Counters {
    fn sum<I: Iterator<Item = Counters>>(all: I) -> Counters {
        all.fold(Counters::default(), Add::add)
    }
}

/// The books of a fabric. Each component enters what it holds; [`Conservation::holds`] says whether the sums agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conservation {
    /// Packets handed to NIC ports.
    pub created: u64,
    /// Packets that have reached their destination.
    pub delivered: u64,
    /// Packets in source queues, FIFOs and on links.
    pub in_network: u64,
    /// Credit units that senders have taken since the start.
    pub units_sent: u64,
    /// Credit units that receivers have given back since the start.
    pub units_freed: u64,
    /// Credit units of packets that are on a link or in a receiver's FIFO.
    pub units_held: u64,
}

impl Conservation {
    /// Whether every packet and every credit unit is accounted for.
    #[must_use]
    pub fn holds(&self) -> bool {
        // Positions are counted modulo 2^32, so their sums are compared so.
        let balance = self.units_sent.wrapping_sub(self.units_freed).wrapping_sub(self.units_held) as u32;
        self.created == self.delivered + self.in_network && balance == 0
    }
}

impl Sum for Conservation {
    fn sum<I: Iterator<Item = Conservation>>(all: I) -> Conservation {
        all.fold(Conservation::default(), |a, b| Conservation {
            created: a.created + b.created,
            delivered: a.delivered + b.delivered,
            in_network: a.in_network + b.in_network,
            units_sent: a.units_sent + b.units_sent,
            units_freed: a.units_freed + b.units_freed,
            units_held: a.units_held + b.units_held,
        })
    }
}

pub(super) struct FabricShard<A: Architecture, E, O> {
    shared: A::Shared,
    switches: Vec<A::Switch>,
    nodes: Vec<Node<A::Port, E>>,
    calendar: Calendar,
    window_length: u64,
    post: Post<A::Mail>,
    /// Mail of windows before, by place.
    inboxes: Vec<Vec<A::Mail>>,
    /// Places that wait for mail without a date.
    waiting: Vec<bool>,
    observer: O,
    counters: Counters,
    // Kept between windows for their memory.
    due: Vec<u64>,
    out: Outgoing,
}

/// What a shard is made of.
pub(super) struct Parts<A: Architecture, E, O> {
    pub(super) number: u32,
    pub(super) shards: u32,
    pub(super) window_length: u64,
    pub(super) shared: A::Shared,
    pub(super) switches: Vec<A::Switch>,
    pub(super) nodes: Vec<Node<A::Port, E>>,
    pub(super) observer: O,
}

impl<A: Architecture, E: Endpoint, O: Observer> FabricShard<A, E, O> {
    pub(super) fn new(parts: Parts<A, E, O>) -> Self {
        let places = parts.switches.len() + parts.nodes.len();
        let mut calendar = Calendar::new(places);
        for node in parts.switches.len()..places {
            calendar.schedule(node as u32, 0);
        }
        FabricShard {
            shared: parts.shared,
            switches: parts.switches,
            nodes: parts.nodes,
            calendar,
            window_length: parts.window_length,
            post: Post {
                shard: parts.number,
                here: (0..places).map(|_| Vec::new()).collect(),
                addressed: Vec::new(),
                away: (0..parts.shards).map(|_| Vec::new()).collect(),
            },
            inboxes: (0..places).map(|_| Vec::new()).collect(),
            waiting: vec![false; places],
            observer: parts.observer,
            counters: Counters::default(),
            due: Vec::new(),
            out: Vec::new(),
        }
    }

    pub(super) fn node(&self, place: u32) -> &Node<A::Port, E> {
        &self.nodes[place as usize - self.switches.len()]
    }

    pub(super) fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    pub(super) fn counters(&self) -> Counters {
        self.counters
    }

    pub(super) fn settle(&mut self, now: Cycle) {
        let mut cx = Context {
            shared: &mut self.shared,
            effects: Effects {
                post: &mut self.post,
                observer: &mut self.observer,
                counters: &mut self.counters,
            },
        };
        for switch in &mut self.switches {
            switch.settle(&mut cx, now);
        }
        for port in self.nodes.iter_mut().flat_map(|node| &mut node.ports) {
            port.settle(&mut cx, now);
        }
        let quiet = self.post.addressed.is_empty() && self.post.away.iter().all(Vec::is_empty);
        debug_assert!(quiet, "whatever somebody needs to know has been said when the window ended");
    }

    pub(super) fn audit(&self, now: Cycle) -> Conservation {
        let mut books = Conservation {
            created: self.counters.packets_created,
            delivered: self.counters.packets_delivered,
            ..Conservation::default()
        };
        for switch in &self.switches {
            switch.audit(&self.shared, now, &mut books);
        }
        for port in self.nodes.iter().flat_map(|node| &node.ports) {
            port.audit(&self.shared, now, &mut books);
        }
        // Mail that nobody has read yet is still on a link.
        for mail in self.inboxes.iter().flatten() {
            mail.audit(&mut books);
        }
        books
    }

    /// Has the component at `place`, which has got mail, run by cycle `by`; without a date only if it waits.
    #[inline]
    fn call(&mut self, place: u32, by: Cycle) {
        if by != Cycle::NEVER {
            self.calendar.schedule(place, by.0 / self.window_length);
        } else if self.waiting[place as usize] {
            // The calendar stands before the next window; that is when it is to be read.
            self.calendar.schedule(place, 0);
        }
    }

    fn run_place(&mut self, place: usize, until: Cycle) -> Rest {
        let mut cx = Context {
            shared: &mut self.shared,
            effects: Effects {
                post: &mut self.post,
                observer: &mut self.observer,
                counters: &mut self.counters,
            },
        };
        let inbox = &mut self.inboxes[place];
        if let Some(switch) = self.switches.get_mut(place) {
            inbox.drain(..).for_each(|mail| switch.receive(cx.shared, mail));
            return switch.run(&mut cx, until);
        }
        let node = &mut self.nodes[place - self.switches.len()];
        for mail in inbox.drain(..) {
            node.ports[mail.port()].receive(cx.shared, mail);
        }
        node.run(&mut cx, until, &mut self.out)
    }
}

impl<A: Architecture, E: Endpoint, O: Observer> Shard for FabricShard<A, E, O> {
    type Mail = Letter<A::Mail>;

    fn receive(&mut self, letter: Self::Mail) {
        self.inboxes[letter.place as usize].push(letter.mail);
        self.call(letter.place, letter.by);
    }

    fn run(&mut self, window: Window, outbox: &mut [Vec<Self::Mail>]) {
        let mut due = std::mem::take(&mut self.due);
        self.calendar.take(window.number, &mut due);
        for (word, mut bits) in due.iter().copied().enumerate().filter(|&(_, bits)| bits != 0) {
            while bits != 0 {
                let place = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let rest = self.run_place(place, window.end);
                self.waiting[place] = rest.waits;
                if rest.next != Cycle::NEVER {
                    self.calendar.schedule(place as u32, rest.next.0 / self.window_length);
                }
            }
        }
        self.due = due;
        // The mail of this window is to be read from the next on.
        let mut addressed = std::mem::take(&mut self.post.addressed);
        for (place, by) in addressed.drain(..) {
            let (inbox, new) = (&mut self.inboxes[place as usize], &mut self.post.here[place as usize]);
            if inbox.is_empty() {
                std::mem::swap(inbox, new);
            } else {
                inbox.append(new);
            }
            self.call(place, by);
        }
        self.post.addressed = addressed;
        for (away, outbox) in self.post.away.iter_mut().zip(outbox) {
            std::mem::swap(away, outbox);
        }
    }

    fn next_window(&self) -> Option<u64> {
        self.calendar.next()
    }
}
