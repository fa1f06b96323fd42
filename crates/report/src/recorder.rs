//! The observer that a measurement is made with: what was created and delivered, batch by batch.

use crate::barriers::{Barriers, Signs};
use crate::fault_record::FaultRecord;
use crate::latencies::{Latencies, Short, latencies};
use crate::link_counts::ErrorRecord;
use crate::operations::{Copies, Operations};
use crate::order::Order;
use crate::replies::Replies;
use crate::stations::Transits;
use crate::watch::{Slowest, Watch};
use flitway_engine::Cycle;
use flitway_fabric::observer::{
    BarrierDeparture, BarrierLoss, BarrierNote, BarrierPassage, ComponentNumber, Departure, LinkChange,
    LinkError, LinkObserver, Loss, LossReason, MessageObserver, Miss, NicObserver, Passage, Receipt, Request,
    SwitchObserver,
};
use flitway_fabric::{BarrierId, Delivery, Flow, FlowKind, Packet};
use flitway_process::multicaster::OperationTag;
use flitway_process::synchroniser::{BarrierTag, Word};
use flitway_wiring::{Destination, NodeId, RailId};
use std::sync::Arc;

/// What happened in one batch: packets count where they are delivered, or created.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Packets handed to NIC ports, and their flits.
    pub created: u64,
    /// Flits of the packets created, of packets for groups once for each copy that is to be delivered.
    pub created_flits: u64,
    /// Flits of the packets created, of each packet once: what NIC ports have to send.
    pub queued_flits: u64,
    /// Flits that NIC ports have sent, which recorders do not see, or discarded.
    pub injected_flits: u64,
    /// Flits of packets that are lost for good.
    pub lost_flits: u64,
    /// Those of them that NIC ports have discarded instead of sending them.
    pub discarded_flits: u64,
    /// Flits delivered, those of multicast operations included.
    pub delivered_flits: u64,
    /// What has been seen of multicast operations, which do not count in the rest.
    pub operations: Operations,
    /// What has been seen of barriers, whose messages do not count in the rest either.
    pub barriers: Barriers,
    /// What has been seen of replies, which do not count in the rest either.
    pub replies: Replies,
    /// Packets delivered.
    pub packets: u64,
    /// Those of them that came after a newer one of their pair, where that is looked at.
    pub reordered: u64,
    /// Their flits.
    pub flits: u64,
    /// Their payload bytes.
    pub payload: u64,
    /// Their hops.
    pub hops: u64,
    /// Sum of their packet latencies in cycles.
    pub packet_latency: u64,
    /// Sum of their network latencies in cycles.
    pub network_latency: u64,
    /// The largest packet latency, exactly.
    pub packet_latency_max: u64,
    /// The largest network latency, exactly.
    pub network_latency_max: u64,
    /// Their packet latencies.
    pub packet_latencies: Latencies,
    /// Their network latencies.
    pub network_latencies: Latencies,
    /// The slowest packets, those of operations included, where somebody asks for them.
    pub slowest: Slowest,
}

impl Default for Batch {
    fn default() -> Self {
        Batch {
            created: 0,
            created_flits: 0,
            queued_flits: 0,
            injected_flits: 0,
            lost_flits: 0,
            discarded_flits: 0,
            delivered_flits: 0,
            operations: Operations::default(),
            barriers: Barriers::default(),
            replies: Replies::default(),
            packets: 0,
            reordered: 0,
            flits: 0,
            payload: 0,
            hops: 0,
            packet_latency: 0,
            network_latency: 0,
            packet_latency_max: 0,
            network_latency_max: 0,
            packet_latencies: latencies(),
            network_latencies: latencies(),
            slowest: Slowest::default(),
        }
    }
}

impl Batch {
    /// Adds what another shard, or another batch, has seen.
    pub fn add(&mut self, other: &Batch) {
        // A field that is left out does not compile.
        let Batch {
            created,
            created_flits,
            queued_flits,
            injected_flits,
            lost_flits,
            discarded_flits,
            delivered_flits,
            operations,
            barriers,
            replies,
            packets,
            reordered,
            flits,
            payload,
            hops,
            packet_latency,
            network_latency,
            packet_latency_max,
            network_latency_max,
            packet_latencies,
            network_latencies,
            slowest,
        } = other;
        for (sum, part) in [
            (&mut self.created, created),
            (&mut self.created_flits, created_flits),
            (&mut self.queued_flits, queued_flits),
            (&mut self.injected_flits, injected_flits),
            (&mut self.lost_flits, lost_flits),
            (&mut self.discarded_flits, discarded_flits),
            (&mut self.delivered_flits, delivered_flits),
            (&mut self.packets, packets),
            (&mut self.reordered, reordered),
            (&mut self.flits, flits),
            (&mut self.payload, payload),
            (&mut self.hops, hops),
            (&mut self.packet_latency, packet_latency),
            (&mut self.network_latency, network_latency),
        ] {
            *sum += part;
        }
        self.operations.add(operations);
        self.barriers.add(barriers);
        self.replies.add(replies);
        self.slowest.add(slowest);
        self.packet_latency_max = self.packet_latency_max.max(*packet_latency_max);
        self.network_latency_max = self.network_latency_max.max(*network_latency_max);
        for (sum, part) in
            [(&mut self.packet_latencies, packet_latencies), (&mut self.network_latencies, network_latencies)]
        {
            sum.add(part).expect("histograms of one precision that grow as needed can be added");
        }
    }

    /// Flits that the network is rid of: delivered, or lost.
    #[must_use]
    pub fn gone_flits(&self) -> u64 {
        self.delivered_flits + self.lost_flits
    }

    /// Mean packet latency in cycles, of the packets delivered.
    #[must_use]
    pub fn mean_packet_latency(&self) -> f64 {
        self.packet_latency as f64 / self.packets as f64
    }
}

/// Records what one shard sees.
#[derive(Clone, Debug)]
pub struct Recorder {
    batch: Batch,
    /// Latencies that are not in the batch yet: those of packets, and those in the network.
    short: [Short; 2],
    /// Flits delivered since the start, by the node that sent them.
    delivered_of: Vec<u64>,
    /// Flits of packets for one node created since the start, by that node.
    wanted_by: Vec<u64>,
    /// By group of the switches: copies of a packet for it that are delivered.
    copies_of: Arc<[u32]>,
    /// Copies of operations seen since the last call.
    copies: Copies,
    /// Nodes tell of these copies themselves.
    has_receipts: bool,
    /// What the switches have done for barriers since the last call.
    signs: Signs,
    /// Barriers on their way through switches.
    transits: Transits,
    /// What somebody asks for.
    watch: Watch,
    /// What is seen of faults, where something breaks.
    faults: Option<Box<FaultRecord>>,
    /// What links have counted of errors.
    errors: ErrorRecord,
    /// The order of packets, where they may be reordered.
    order: Option<Box<Order>>,
}

impl Recorder {
    /// A recorder for `nodes` nodes.
    #[must_use]
    pub fn new(nodes: u32) -> Self {
        Recorder {
            batch: Batch::default(),
            short: [Short::default(), Short::default()],
            delivered_of: vec![0; nodes as usize],
            wanted_by: vec![0; nodes as usize],
            copies_of: Arc::new([]),
            copies: Copies::default(),
            has_receipts: false,
            signs: Signs::default(),
            transits: Transits::default(),
            watch: Watch::default(),
            faults: None,
            errors: ErrorRecord::default(),
            order: None,
        }
    }

    /// With an eye on the order of packets, if there is one.
    pub(crate) fn with_order(self, order: Option<Order>) -> Self {
        Recorder { order: order.map(Box::new), ..self }
    }

    /// With an eye on faults, if there is one.
    #[must_use]
    pub fn with_faults(self, faults: Option<FaultRecord>) -> Self {
        Recorder { faults: faults.map(Box::new), ..self }
    }

    /// What has been seen of faults since the start, where something breaks.
    #[must_use]
    pub fn faults(&self) -> Option<&FaultRecord> {
        self.faults.as_deref()
    }

    /// CRC errors before cycle `until` that have not been read, which now are.
    pub fn read_errors(&mut self, until: Cycle) -> Vec<LinkError> {
        self.faults.as_mut().map_or_else(Vec::new, |faults| faults.read(until))
    }

    /// What links have counted of errors since the start.
    #[must_use]
    pub fn errors(&self) -> &ErrorRecord {
        &self.errors
    }

    /// With groups in the switches: `copies_of` says how many copies of a packet for each are delivered.
    #[must_use]
    pub fn with_groups(self, copies_of: &Arc<[u32]>) -> Self {
        Recorder { copies_of: Arc::clone(copies_of), ..self }
    }

    /// Whether nodes tell themselves of the copies of operations that they have received.
    #[must_use]
    pub fn with_receipts(self, has_receipts: bool) -> Self {
        Recorder { has_receipts, ..self }
    }

    /// With what somebody asks for.
    #[must_use]
    pub fn with_watch(self, watch: Watch) -> Self {
        Recorder { watch, ..self }
    }

    /// What somebody asks for.
    pub fn watch_mut(&mut self) -> &mut Watch {
        &mut self.watch
    }

    /// The copies of multicast operations that have been delivered since the last call.
    pub fn take_copies(&mut self) -> Copies {
        std::mem::take(&mut self.copies)
    }

    /// What the switches have done for barriers since the last call.
    pub fn take_signs(&mut self) -> Signs {
        std::mem::take(&mut self.signs)
    }

    /// What has been seen since the last call.
    pub fn take(&mut self) -> Batch {
        let slowest = self.watch.take_slowest();
        let Batch { packet_latencies, network_latencies, .. } = &mut self.batch;
        for (short, latencies) in self.short.iter_mut().zip([packet_latencies, network_latencies]) {
            short.enter(latencies);
        }
        Batch { slowest, ..std::mem::take(&mut self.batch) }
    }

    /// Flits delivered since the start, by the node that sent them.
    #[must_use]
    pub fn delivered_of(&self) -> &[u64] {
        &self.delivered_of
    }

    /// Flits of packets for one node created since the start, by that node.
    #[must_use]
    pub fn wanted_by(&self) -> &[u64] {
        &self.wanted_by
    }

    /// Takes in a packet of synthetic traffic, but for the latencies in the network, which are recorded as they come.
    #[inline(always)]
    fn record_traffic(&mut self, delivery: &Delivery) {
        let batch = &mut self.batch;
        if let Some(order) = &mut self.order {
            batch.reordered += u64::from(order.is_late(delivery));
        }
        let packet_latency = delivery.delivered.since(delivery.created);
        let network_latency = delivery.delivered.since(delivery.injected);
        batch.packets += 1;
        batch.flits += u64::from(delivery.flits);
        batch.payload += u64::from(delivery.payload);
        batch.hops += u64::from(delivery.hops);
        batch.packet_latency += packet_latency;
        batch.network_latency += network_latency;
        batch.packet_latency_max = batch.packet_latency_max.max(packet_latency);
        batch.network_latency_max = batch.network_latency_max.max(network_latency);
        let [packet_short, network_short] = &mut self.short;
        packet_short.record(packet_latency, &mut batch.packet_latencies);
        network_short.record(network_latency, &mut batch.network_latencies);
        self.delivered_of[delivery.source.index()] += u64::from(delivery.flits);
    }

    /// Takes in a request or a reply, a packet of a message, or a packet of a multicast operation or of a barrier.
    #[inline(never)]
    fn record_other(&mut self, delivery: Delivery) {
        if delivery.flow.is(FlowKind::Request) {
            self.record_traffic(&delivery);
        } else if delivery.flow.is(FlowKind::Reply) {
            self.batch.replies.record(&delivery);
        } else if let Some(tag) = OperationTag::of(delivery.flow).filter(|_| !self.has_receipts) {
            self.copies.record(tag, &delivery);
        }
    }
}

impl LinkObserver for Recorder {
    #[inline]
    fn follows_departures(&self) -> bool {
        self.watch.follows_departures()
    }

    #[inline]
    fn departed(&mut self, departure: &Departure) {
        self.watch.departed(departure);
    }

    fn lost(&mut self, loss: &Loss) {
        let flits = u64::from(loss.flits);
        self.batch.lost_flits += flits;
        if !loss.was_sent {
            self.batch.discarded_flits += flits;
        }
        if let Some(faults) = &mut self.faults {
            faults.lose(loss);
        }
    }

    fn link_erred(&mut self, error: &LinkError) {
        self.errors.enter(error);
        if let Some(faults) = &mut self.faults {
            faults.err(error);
        }
    }

    fn link_changed(&mut self, change: &LinkChange) {
        if let Some(faults) = &mut self.faults {
            faults.changes.push(*change);
        }
    }

    fn barrier_departed(&mut self, departure: &BarrierDeparture) {
        self.watch.barrier_departed(departure);
        self.transits.depart(departure, &mut self.batch.barriers.stations);
    }

    fn barrier_lost(&mut self, loss: &BarrierLoss) {
        self.watch.barrier_lost(loss);
        self.signs.losses.push((loss.cycle, loss.group, loss.packet.sequence));
        if loss.reason == LossReason::Rule {
            self.signs.by_rule.push(*loss);
        }
    }
}

impl SwitchObserver for Recorder {
    const WATCHES_SWITCHES: bool = false;

    #[inline]
    fn follows_passages(&self) -> bool {
        self.watch.follows_passages()
    }

    #[inline]
    fn passed(&mut self, passage: &Passage) {
        self.watch.passed(passage);
    }

    fn missed(&mut self, miss: &Miss) {
        self.watch.missed(miss);
    }

    fn completed(&mut self, now: Cycle, _: ComponentNumber, group: BarrierId) {
        self.signs.completions.push((now, group));
    }

    fn barrier_noted(&mut self, note: &BarrierNote) {
        self.transits.note(note);
    }
}

impl NicObserver for Recorder {
    #[inline]
    fn created(&mut self, now: Cycle, _: NodeId, packet: &Packet, flits: u32) {
        if packet.flow.is(FlowKind::Request) {
            // It has been told of when it came into being.
            return;
        }
        let flits = u64::from(flits);
        if let Some(faults) = &mut self.faults {
            faults.create(now, flits);
        }
        let copies = match packet.destination {
            Destination::Node(_) => 1,
            Destination::Group(group, _) => self.copies_of[group.index()],
            Destination::Nodes(id) => id.nodes,
        };
        if let Destination::Node(node) = packet.destination {
            self.wanted_by[node.index()] += flits;
        }
        self.batch.created_flits += flits * u64::from(copies);
        self.batch.queued_flits += flits;
        if packet.flow.is(FlowKind::Traffic) {
            self.batch.created += 1;
        } else if packet.flow.is(FlowKind::Reply) {
            self.batch.replies.created_flits += flits;
        }
    }

    fn answered(&mut self, _: Cycle, _: NodeId, _: RailId, (flow, is_true): (Flow, bool)) {
        let is_test = |tag: BarrierTag| matches!(tag.word, Word::Tested(_));
        if BarrierTag::of(flow).is_some_and(is_test) {
            self.batch.barriers.tests += 1;
            self.batch.barriers.false_tests += u64::from(!is_true);
        }
    }

    #[inline(always)]
    fn delivered(&mut self, delivery: &Delivery) {
        self.watch.delivered(delivery);
        if let Some(faults) = &mut self.faults {
            faults.deliver(delivery.delivered, delivery.flits.into());
        }
        self.batch.delivered_flits += u64::from(delivery.flits);
        if !delivery.flow.is(FlowKind::Traffic) {
            return self.record_other(*delivery);
        }
        self.record_traffic(delivery);
    }
}

impl MessageObserver for Recorder {
    fn received(&mut self, _: NodeId, receipt: &Receipt) {
        if let Some(tag) = OperationTag::of(receipt.flow) {
            self.copies.enter(tag, receipt.flits, receipt.received.since(receipt.created));
        }
    }

    fn requested(&mut self, _: NodeId, request: &Request) {
        let flits = u64::from(request.flits);
        self.wanted_by[request.destination.index()] += flits;
        self.batch.created_flits += flits;
        self.batch.queued_flits += flits;
        self.batch.created += 1;
    }

    fn synchronised(&mut self, _: NodeId, passage: &BarrierPassage) {
        self.signs.passages.push(*passage);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_that_are_counted_first_are_recorded_as_if_one_by_one() {
        let mut short = Short::default();
        let (mut counted, mut plain) = (latencies(), latencies());
        for latency in [0, 1, 7, 7, 1_999, 2_000, 2_047, 2_048, 2_049, 1 << 40, 7, 1_999] {
            short.record(latency, &mut counted);
            plain.record(latency).unwrap();
        }
        assert_ne!(counted, plain, "some are only counted so far");
        for _ in 0..2 {
            short.enter(&mut counted);
            assert_eq!(counted, plain, "all are recorded, and none twice");
        }
    }
}
