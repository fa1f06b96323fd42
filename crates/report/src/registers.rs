//! What the statistic registers of every port would hold: the counters of `--counters`.
//!
//! Counters are those of senders, by port and virtual channel. Whoever reads a chip's registers from time to time gets rows of
//! the same kind: with an interval, what was counted in each interval; without, what was counted from the start to the end.

use flitway_engine::{Clock, Cycle};
use flitway_fabric::observer::{
    BarrierDeparture, BarrierLoss, ComponentNumber, Departure, LinkObserver, MessageObserver, Miss,
    NicObserver, PacketName, Passage, SwitchObserver,
};
use flitway_fabric::{Delivery, Fabric, FlowKind};
use flitway_wiring::PortId;
use flitway_wiring::topology::Names;
use flitway_wiring::{NodeId, SwitchId};
use std::collections::BTreeMap;

/// What the registers of one port and virtual channel have counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Packets that the link has begun to send.
    pub packets: u64,
    /// Their flits, 0 for barrier packets, which are shorter than any other.
    pub flits: u64,
    /// Cycles in which a packet that the link or the crossbar could have let go lacked credits for it.
    pub cycles_without_credit: u64,
    /// Answers to packets of this NIC port that say that they were refused.
    pub refused: u64,
    /// Barrier packets lost here.
    pub lost: u64,
    /// Packets for groups that came in by this port and for which the table had no output.
    pub table_misses: u64,
}

flitway_engine::add_fields!(Counted { packets, flits, cycles_without_credit, refused, lost, table_misses });

/// Where something is counted: interval, component, port, and virtual channel; `None` for barrier packets.
type Place = (u64, ComponentNumber, u32, Option<u8>);

/// The registers that one shard has written.
#[derive(Clone, Debug)]
pub struct Registers {
    /// Cycles of an interval; one interval where it is `None`.
    every: Option<u64>,
    /// Nothing is counted from this cycle on.
    until: Cycle,
    switches: u32,
    first_node: ComponentNumber,
    /// Packets that have crossed a switch wait for credits.
    credits_at_link: bool,
    of: BTreeMap<Place, Counted>,
    /// Cycles that packets have waited for credits before crossing, until their links choose them.
    crossed: BTreeMap<(ComponentNumber, PacketName), u64>,
}

impl Registers {
    /// The registers of a run on `fabric`, read every so many cycles, up to cycle `until`.
    #[must_use]
    pub fn new(fabric: &Fabric, every: Option<u64>, until: Cycle) -> Self {
        let switches = fabric.topology().switches();
        Registers {
            every,
            until,
            switches,
            first_node: fabric.rails * switches,
            credits_at_link: fabric.chip.waits().credits_at_link,
            of: BTreeMap::new(),
            crossed: BTreeMap::new(),
        }
    }

    /// Those that all shards have written.
    pub fn add(&mut self, other: &Registers) {
        for (place, counted) in &other.of {
            *self.of.entry(*place).or_default() += *counted;
        }
    }

    /// What the registers at a place have counted by cycle `at`.
    fn at(
        &mut self,
        at: Cycle,
        component: ComponentNumber,
        port: PortId,
        vc: Option<u8>,
    ) -> Option<&mut Counted> {
        let interval = self.every.map_or(0, |every| at.0 / every);
        (at < self.until).then(|| self.of.entry((interval, component, port.0, vc)).or_default())
    }

    /// The names of the columns of [`rows`](Self::rows).
    pub const COLUMNS: [&str; 13] = [
        "until_ns",
        "rail",
        "component",
        "number",
        "port",
        "vc",
        "packets",
        "flits",
        "cycles_without_credit",
        "refused",
        "lost",
        "table_misses",
        "name",
    ];

    /// Everything that is not zero, in order of time: a row for each interval, port and virtual channel.
    pub fn rows<'a>(&'a self, clock: Clock, names: &'a Names) -> impl Iterator<Item = [String; 13]> + 'a {
        self.of.iter().map(move |(&(interval, component, port, vc), counted)| {
            let end = self.every.map_or(self.until.0, |every| ((interval + 1) * every).min(self.until.0));
            let is_node = component >= self.first_node;
            let (rail, number) = if is_node {
                (port, component - self.first_node)
            } else {
                (component / self.switches, component % self.switches)
            };
            [
                clock.nanos(end as f64).to_string(),
                rail.to_string(),
                if is_node { "node" } else { "switch" }.to_owned(),
                number.to_string(),
                if is_node { 0 } else { port }.to_string(),
                vc.map_or_else(|| "barrier".to_owned(), |vc| vc.to_string()),
                counted.packets.to_string(),
                counted.flits.to_string(),
                counted.cycles_without_credit.to_string(),
                counted.refused.to_string(),
                counted.lost.to_string(),
                counted.table_misses.to_string(),
                if is_node { names.node(NodeId(number)) } else { names.switch(SwitchId(number)) },
            ]
        })
    }
}

impl LinkObserver for Registers {
    fn departed(&mut self, departure: &Departure) {
        let Departure { packet, component, port, vc, flits, ready, free, chosen, .. } = *departure;
        let crossed = self.crossed.remove(&(component, packet)).unwrap_or(0);
        let waits_here = component >= self.first_node || self.credits_at_link;
        let waited = if waits_here { chosen.since(ready.max(free).min(chosen)) } else { crossed };
        if let Some(counted) = self.at(chosen, component, port, Some(vc)) {
            counted.packets += 1;
            counted.flits += u64::from(flits);
            counted.cycles_without_credit += waited;
        }
    }

    fn barrier_departed(&mut self, departure: &BarrierDeparture) {
        if let Some(counted) = self.at(departure.cycle, departure.component, departure.port, None) {
            counted.packets += 1;
        }
    }

    fn barrier_lost(&mut self, loss: &BarrierLoss) {
        if let Some(counted) = self.at(loss.cycle, loss.component, loss.port, None) {
            counted.lost += 1;
        }
    }
}

impl SwitchObserver for Registers {
    const WATCHES_SWITCHES: bool = false;

    fn passed(&mut self, passage: &Passage) {
        let since = passage.turn();
        let waited = since.map_or(0, |since| passage.granted.since(since));
        if waited > 0 && !self.credits_at_link {
            self.crossed.insert((passage.switch, passage.packet), waited);
        }
    }

    fn missed(&mut self, miss: &Miss) {
        if let Some(counted) = self.at(miss.cycle, miss.switch, miss.input, Some(miss.vc)) {
            counted.table_misses += 1;
        }
    }
}

impl NicObserver for Registers {
    fn delivered(&mut self, delivery: &Delivery) {
        if !delivery.flow.is(FlowKind::Refused) {
            return;
        }
        let (component, port) = (self.first_node + delivery.destination.0, PortId(delivery.rail.0));
        if let Some(counted) = self.at(delivery.delivered, component, port, Some(delivery.vc)) {
            counted.refused += 1;
        }
    }
}

impl MessageObserver for Registers {}
