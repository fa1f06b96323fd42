//! What only somebody who asks for it pays for: the slowest packets of a measurement, and every step of chosen ones.
//!
//! Which packets are the slowest is known when they have arrived, and by then it is too late to write down what happened to
//! them. So a run is made twice: the second is the same to the cycle, and in it the packets to look at are known beforehand.
//! That takes no memory for packets that nobody will ask about, and no sampling.

use crate::latencies::{Latencies, latencies, record};
use crate::registers::Registers;
use flitway_engine::Cycle;
use flitway_fabric::observer::{
    BarrierDeparture, BarrierLoss, Departure, LinkObserver, MessageObserver, Miss, NicObserver, PacketName,
    Passage, SwitchObserver,
};
use flitway_fabric::{Delivery, Fabric};
use std::cmp::Reverse;

/// Packets that are kept as the slowest.
const SLOWEST: usize = 10;

/// The slowest packets so far, slowest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slowest(Vec<Delivery>);

impl Slowest {
    /// The packets.
    #[must_use]
    pub fn packets(&self) -> &[Delivery] {
        &self.0
    }

    /// Takes in another packet.
    fn record(&mut self, delivery: &Delivery) {
        let is_full = self.0.len() == SLOWEST;
        if is_full && self.0.last().is_some_and(|last| key(last) <= key(delivery)) {
            return;
        }
        let place = self.0.partition_point(|other| key(other) <= key(delivery));
        self.0.insert(place, *delivery);
        self.0.truncate(SLOWEST);
    }

    /// Takes in those of another shard, or another batch.
    pub fn add(&mut self, other: &Slowest) {
        other.0.iter().for_each(|delivery| self.record(delivery));
    }
}

/// Slowest first; of equals, an order that does not depend on who saw them first.
fn key(delivery: &Delivery) -> impl Ord + use<> {
    let Delivery { source, destination, rail, injected, .. } = *delivery;
    (Reverse(delivery.delivered.since(delivery.created)), injected, source, rail, destination)
}

/// Whose steps are written down.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Packets, by rail and name.
    packets: Vec<(u32, PacketName)>,
    /// Nodes: all packets that they send.
    sources: Vec<bool>,
    /// Switches of a rail: all packets that cross them, there.
    switches: Vec<bool>,
}

impl Selection {
    /// These packets.
    #[must_use]
    pub fn packets<'a>(deliveries: impl IntoIterator<Item = &'a Delivery>) -> Self {
        let mut packets: Vec<(u32, PacketName)> =
            deliveries.into_iter().map(|delivery| (delivery.rail.0, name(delivery))).collect();
        packets.sort_unstable();
        Selection { packets, ..Selection::default() }
    }

    /// All packets that these nodes send.
    #[must_use]
    pub fn sources(fabric: &Fabric, nodes: &[u32]) -> Self {
        Selection { sources: mask(fabric.nodes(), nodes), ..Selection::default() }
    }

    /// What happens in these switches, in every rail.
    #[must_use]
    pub fn switches(fabric: &Fabric, switches: &[u32]) -> Self {
        Selection { switches: mask(fabric.topology().switches(), switches), ..Selection::default() }
    }

    fn has_packet(&self, rail: u32, packet: PacketName) -> bool {
        self.sources.get(packet.source.index()).is_some_and(|chosen| *chosen)
            || self.packets.binary_search(&(rail, packet)).is_ok()
    }

    fn has_switch(&self, switch: u32) -> bool {
        self.switches.get(switch as usize).is_some_and(|chosen| *chosen)
    }
}

fn mask(count: u32, chosen: &[u32]) -> Vec<bool> {
    let mut mask = vec![false; count as usize];
    chosen.iter().for_each(|&number| mask[number as usize] = true);
    mask
}

fn name(delivery: &Delivery) -> PacketName {
    PacketName { source: delivery.source, injected: delivery.injected }
}

/// A step of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// A link has chosen it.
    Departed(Departure),
    /// It has been let across a switch.
    Passed(Passage),
    /// It has arrived.
    Delivered(Delivery),
}

impl Step {
    /// When it was decided.
    #[must_use]
    pub fn cycle(&self) -> Cycle {
        match self {
            Step::Departed(departure) => departure.chosen,
            Step::Passed(passage) => passage.granted,
            Step::Delivered(delivery) => delivery.delivered,
        }
    }

    /// An order of steps that does not depend on who saw them first.
    fn key(&self) -> impl Ord + use<> {
        match self {
            Step::Departed(it) => (it.chosen, 1, it.component, it.port.0, it.vc, it.packet),
            Step::Passed(it) => (it.granted, 0, it.switch, it.input.0, it.vc, it.packet),
            Step::Delivered(it) => (it.delivered, 2, it.destination.0, it.rail.0, 0, name(it)),
        }
    }
}

/// The steps of chosen packets.
#[derive(Clone, Debug)]
pub struct Steps {
    selection: Selection,
    /// Steps before this cycle are not looked at.
    from: Cycle,
    /// How many are written down at most: the first.
    room: usize,
    /// Those, and as many again that may be later.
    steps: Vec<Step>,
    left_out: u64,
    switches: u32,
    first_node: u32,
}

impl Steps {
    /// Steps of what `selection` says in a run on `fabric`, from cycle `from` on, as many as there is `room` for.
    #[must_use]
    pub fn new(fabric: &Fabric, selection: Selection, from: Cycle, room: usize) -> Self {
        let switches = fabric.topology().switches();
        let first_node = fabric.rails * switches;
        Steps { selection, from, room, steps: Vec::new(), left_out: 0, switches, first_node }
    }

    /// Those that all shards have watched, in order of time, and how many there was no room for.
    #[must_use]
    pub fn join(watches: Vec<Watch>) -> (Vec<Step>, u64) {
        Steps::join_all(watches.into_iter().filter_map(|watch| watch.steps).map(|steps| *steps).collect())
    }

    fn join_all(parts: Vec<Steps>) -> (Vec<Step>, u64) {
        let room = parts.first().map_or(0, |part| part.room);
        let mut left_out = parts.iter().map(|part| part.left_out).sum();
        let mut steps: Vec<Step> = parts.into_iter().flat_map(|part| part.steps).collect();
        steps.sort_by_key(Step::key);
        left_out += steps.len().saturating_sub(room) as u64;
        steps.truncate(room);
        (steps, left_out)
    }

    fn push(&mut self, step: Step) {
        if step.cycle() < self.from {
            return;
        }
        self.steps.push(step);
        // They are told in no order: components run one after the other, and deliveries may be told early.
        if self.steps.len() > self.room.saturating_mul(2) {
            self.steps.select_nth_unstable_by_key(self.room, Step::key);
            self.left_out += (self.steps.len() - self.room) as u64;
            self.steps.truncate(self.room);
        }
    }
}

impl LinkObserver for Steps {
    fn departed(&mut self, departure: &Departure) {
        let Departure { component, packet, port, .. } = *departure;
        let is_node = component >= self.first_node;
        let rail = if is_node { port.0 } else { component / self.switches };
        let is_chosen = !is_node && self.selection.has_switch(component % self.switches);
        if is_chosen || self.selection.has_packet(rail, packet) {
            self.push(Step::Departed(*departure));
        }
    }
}

impl SwitchObserver for Steps {
    fn passed(&mut self, passage: &Passage) {
        let (rail, switch) = (passage.switch / self.switches, passage.switch % self.switches);
        if self.selection.has_switch(switch) || self.selection.has_packet(rail, passage.packet) {
            self.push(Step::Passed(*passage));
        }
    }
}

impl NicObserver for Steps {
    fn delivered(&mut self, delivery: &Delivery) {
        if self.selection.has_packet(delivery.rail.0, name(delivery)) {
            self.push(Step::Delivered(*delivery));
        }
    }
}

impl MessageObserver for Steps {}

/// The observer of what is asked for; of nothing, unless something is.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    keeps_slowest: bool,
    slowest: Slowest,
    latencies: Option<Box<Latencies>>,
    steps: Option<Box<Steps>>,
    registers: Option<Box<Registers>>,
}

impl Watch {
    /// One that keeps the slowest packets, if it is to.
    #[must_use]
    pub fn slowest(keeps_slowest: bool) -> Self {
        Watch { keeps_slowest, ..Watch::default() }
    }

    /// With the latencies of all packets, where nobody else keeps them.
    #[must_use]
    pub fn with_latencies(self) -> Self {
        let latencies = self.keeps_slowest.then(|| Box::new(latencies()));
        Watch { latencies, ..self }
    }

    /// The latencies of all packets.
    #[must_use]
    pub fn latencies(&self) -> Option<&Latencies> {
        self.latencies.as_deref()
    }

    /// One that writes down steps.
    #[must_use]
    pub fn steps(steps: Steps) -> Self {
        Watch { steps: Some(Box::new(steps)), ..Watch::default() }
    }

    /// One that writes down what registers count.
    #[must_use]
    pub fn registers(registers: Registers) -> Self {
        Watch { registers: Some(Box::new(registers)), ..Watch::default() }
    }

    /// What the registers of all shards have counted.
    #[must_use]
    pub fn join_registers(watches: Vec<Watch>) -> Option<Registers> {
        let mut all = watches.into_iter().filter_map(|watch| watch.registers);
        let mut first = *all.next()?;
        all.for_each(|other| first.add(&other));
        Some(first)
    }

    /// Whether it writes down what packets do on their way.
    #[inline]
    fn follows(&self) -> bool {
        self.steps.is_some() | self.registers.is_some()
    }

    /// Looks at a packet that has arrived.
    #[inline(never)]
    fn look(&mut self, delivery: Delivery) {
        if self.keeps_slowest {
            self.slowest.record(&delivery);
        }
        if let Some(latencies) = &mut self.latencies {
            let latency = delivery.delivered.since(delivery.created);
            record(latencies, latency, 1);
        }
        if let Some(steps) = &mut self.steps {
            steps.delivered(&delivery);
        }
        if let Some(registers) = &mut self.registers {
            registers.delivered(&delivery);
        }
    }

    /// The slowest packets since the last call.
    pub fn take_slowest(&mut self) -> Slowest {
        std::mem::take(&mut self.slowest)
    }
}

impl LinkObserver for Watch {
    #[inline]
    fn follows_departures(&self) -> bool {
        self.follows()
    }

    #[inline]
    fn departed(&mut self, departure: &Departure) {
        if let Some(steps) = &mut self.steps {
            steps.departed(departure);
        }
        if let Some(registers) = &mut self.registers {
            registers.departed(departure);
        }
    }

    fn barrier_departed(&mut self, departure: &BarrierDeparture) {
        if let Some(registers) = &mut self.registers {
            registers.barrier_departed(departure);
        }
    }

    fn barrier_lost(&mut self, loss: &BarrierLoss) {
        if let Some(registers) = &mut self.registers {
            registers.barrier_lost(loss);
        }
    }
}

impl SwitchObserver for Watch {
    #[inline]
    fn follows_passages(&self) -> bool {
        self.follows()
    }

    #[inline]
    fn passed(&mut self, passage: &Passage) {
        if let Some(steps) = &mut self.steps {
            steps.passed(passage);
        }
        if let Some(registers) = &mut self.registers {
            registers.passed(passage);
        }
    }

    fn missed(&mut self, miss: &Miss) {
        if let Some(registers) = &mut self.registers {
            registers.missed(miss);
        }
    }
}

impl NicObserver for Watch {
    #[inline(always)]
    fn delivered(&mut self, delivery: &Delivery) {
        if self.keeps_slowest | self.latencies.is_some() | self.follows() {
            self.look(*delivery);
        }
    }
}

impl MessageObserver for Watch {}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_fabric::Flow;
    use flitway_wiring::NodeId;
    use flitway_wiring::RailId;

    fn delivery(source: u32, injected: u64, latency: u64) -> Delivery {
        Delivery {
            source: NodeId(source),
            destination: NodeId(9),
            group: None,
            rail: RailId(0),
            vc: 0,
            payload: 64,
            flits: 37,
            hops: 1,
            created: Cycle(injected),
            injected: Cycle(injected),
            delivered: Cycle(injected + latency),
            is_corrupt: false,
            flow: Flow::default(),
        }
    }

    #[test]
    fn the_first_steps_are_kept_in_whatever_order_they_are_told() {
        let all: Vec<Step> =
            (0..100).map(|turn| Step::Delivered(delivery(turn as u32, turn * 37 % 101, 5))).collect();
        let steps = |room: usize, told: &[Step]| {
            let (selection, switches) = (Selection::default(), 1);
            let mut steps = Steps {
                selection,
                from: Cycle(10),
                room,
                steps: Vec::new(),
                left_out: 0,
                switches,
                first_node: 1,
            };
            told.iter().for_each(|step| steps.push(*step));
            steps
        };
        let (whole, none) = Steps::join_all(vec![steps(usize::MAX, &all)]);
        assert_eq!((whole.len(), none), (95, 0));
        for room in [0, 1, 7, 60, 95] {
            for cut in [0, 20, 77] {
                let (kept, left_out) =
                    Steps::join_all(vec![steps(room, &all[..cut]), steps(room, &all[cut..])]);
                assert_eq!(left_out as usize, 95 - room, "room for {room}");
                assert!(
                    kept.iter().map(Step::key).eq(whole[..room].iter().map(Step::key)),
                    "room for {room}"
                );
            }
        }
    }

    #[test]
    fn the_slowest_are_the_same_whoever_saw_them() {
        let all: Vec<Delivery> =
            (0..60).map(|turn| delivery(turn as u32 % 7, 10 + turn, 100 + turn * 17 % 31)).collect();
        let of = |deliveries: &[Delivery]| {
            let mut slowest = Slowest::default();
            deliveries.iter().for_each(|delivery| slowest.record(delivery));
            slowest
        };
        let whole = of(&all);
        for cut in [1, 13, 40] {
            let (mut part, other) = (of(&all[cut..]), of(&all[..cut]));
            part.add(&other);
            assert_eq!(part, whole);
        }
        let latencies: Vec<u64> =
            whole.packets().iter().map(|packet| packet.delivered.since(packet.created)).collect();
        assert!(latencies.len() == SLOWEST && latencies.is_sorted_by(|a, b| a >= b), "{latencies:?}");
        assert_eq!(latencies[0], 130);
    }
}
