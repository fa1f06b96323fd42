//! A NIC port: a queue on one side, a sink on the other.

use super::{Flit, Travelling, Wires, World};
use flitway_engine::Cycle;
use flitway_fabric::{Delivery, NicPorts, Packet};
use flitway_switch::sp::SpSettings;
use flitway_wiring::{Destination, NodeId, NodeSet, RailId};
use std::collections::VecDeque;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Nic {
    rail: RailId,
    wires: Wires,
    credits: u32,
    queue: VecDeque<usize>,
    /// The next flit of the first packet.
    next: u32,
    /// A packet whose last flit was on the wire in the cycle before.
    complete: Option<usize>,
    /// Where NIC ports are bounded.
    bounded: Option<Bounded>,
    /// The next flit that comes, for each flit must follow the one before.
    expected: Option<Flit>,
}

impl Nic {
    /// The channel that it sends on.
    pub(super) fn out(&self) -> usize {
        self.wires.out
    }

    pub(super) fn new(settings: &SpSettings, rail: RailId, wires: Wires, nic_ports: NicPorts) -> Self {
        Nic {
            rail,
            wires,
            credits: settings.fifo_flits,
            queue: VecDeque::new(),
            next: 0,
            complete: None,
            bounded: (nic_ports == NicPorts::Bounded).then(Bounded::default),
            expected: None,
        }
    }

    pub(super) fn sender(&self) -> (Wires, u32) {
        (self.wires, self.credits)
    }

    pub(super) fn submit(
        &mut self,
        source: NodeId,
        packet: Packet,
        set: Option<Arc<NodeSet>>,
        world: &mut World,
    ) {
        let settings = &world.settings;
        let payload = u32::from(packet.payload);
        let (flits, header) = match set {
            Some(_) => (settings.worm_flits(payload), settings.bit_string_flits()),
            None => (settings.format.packet_flits(payload), settings.format.header_flits),
        };
        let climb = set.as_ref().map_or(0, |set| {
            let reach = world.reach.as_ref().expect("worms are sent where they can go");
            reach.climb(world.routing.topology(), source, set)
        });
        self.queue.push_back(world.packets.len());
        let header = header.max(1).min(flits);
        world.packets.push(Travelling { source, packet, set, flits, header, climb, injected: 0, hops: 0 });
        world.counters.packets_created += 1;
    }

    pub(super) fn cycle(&mut self, world: &mut World) {
        self.credits += world.channels[self.wires.out].credits[0];
        if let Some(flit) = world.channels[self.wires.back].received() {
            assert!(self.expected.is_none_or(|expected| expected == flit), "flits come in order");
            assert!(self.expected.is_some() || flit.index == 0, "a packet begins with its first flit");
            let is_last = world.is_last(flit);
            self.complete = is_last.then_some(flit.packet);
            self.expected = (!is_last).then_some(Flit { index: flit.index + 1, ..flit });
            if let Some(bounded) = &mut self.bounded {
                bounded.whole.extend(self.complete.take());
                bounded.stored += 1;
            }
        }
        if let Some(bounded) = &mut self.bounded
            && bounded.empty(world)
        {
            world.channels[self.wires.back].give_back(1);
        }
        let Some(&packet) = self.queue.front() else { return };
        if self.credits == 0 || !world.channels[self.wires.out].is_slot(world.now) {
            return;
        }
        self.credits -= 1;
        if self.next == 0 {
            world.packets[packet].injected = world.now + u64::from(world.settings.pipeline.transmit);
        }
        let flit = Flit { packet, index: self.next };
        world.channels[self.wires.out].send(flit);
        self.next += 1;
        if world.is_last(flit) {
            self.queue.pop_front();
            self.next = 0;
            if let Some(bounded) = &mut self.bounded {
                bounded.sent = Some(packet);
            }
        }
    }

    /// The channel that it receives from, and the flits in its buffer, if it is bounded.
    pub(super) fn buffer(&self) -> Option<(Wires, u32)> {
        Some((self.wires, self.bounded.as_ref()?.stored))
    }

    /// The packet that it delivers in this cycle.
    pub(super) fn deliver(&mut self, node: NodeId, world: &mut World) -> Option<Delivery> {
        let packet = match &mut self.bounded {
            None => self.complete.take(),
            Some(bounded) => bounded.deliver(),
        };
        Some(self.count_delivery(packet?, node, world))
    }

    /// The packet that left the source queue in the cycle before.
    pub(super) fn take_sent(&mut self) -> Option<usize> {
        self.bounded()?.sent.take()
    }

    /// The NIC drains the packet that was delivered last.
    pub(super) fn drain(&mut self) {
        let bounded = self.bounded().expect("the NIC port is bounded");
        assert!(bounded.is_delivered && bounded.leaving.is_none(), "it is drained once");
        bounded.leaving = Some(0);
    }

    fn bounded(&mut self) -> Option<&mut Bounded> {
        self.bounded.as_mut()
    }

    fn count_delivery(&self, packet: usize, node: NodeId, world: &mut World) -> Delivery {
        let travelling = &world.packets[packet];
        let packet = &travelling.packet;
        match (packet.destination, &travelling.set) {
            (Destination::Node(to), _) => assert_eq!(to, node, "packets arrive where they are sent to"),
            (_, set) => {
                let is_member = set.as_ref().is_some_and(|set| set.contains(node));
                assert!(is_member, "copies arrive where they are sent to");
            }
        }
        assert_eq!(packet.rail, self.rail, "packets do not change rails");
        let delivery = Delivery {
            source: travelling.source,
            destination: node,
            group: None,
            rail: packet.rail,
            vc: 0,
            payload: packet.payload,
            flits: travelling.flits as u16,
            hops: travelling.hops,
            created: packet.created,
            injected: Cycle(travelling.injected),
            delivered: Cycle(world.now),
            is_corrupt: false,
            flow: packet.flow,
        };
        world.counters.packets_delivered += 1;
        world.counters.flits_delivered += u64::from(travelling.flits);
        world.record.deliveries.push(delivery);
        delivery
    }
}

/// What a bounded NIC port keeps.
#[derive(Debug, Default)]
struct Bounded {
    /// Packets whose last flit is in the buffer; the first of them is delivered.
    whole: VecDeque<usize>,
    is_delivered: bool,
    /// Flits of the first packet that have left the buffer, if it is being drained.
    leaving: Option<u32>,
    /// Flits in the buffer.
    stored: u32,
    /// The packet whose last flit was sent in the cycle before, until it is told.
    sent: Option<usize>,
}

impl Bounded {
    fn deliver(&mut self) -> Option<usize> {
        let first = *self.whole.front().filter(|_| !self.is_delivered)?;
        self.is_delivered = true;
        Some(first)
    }

    /// "From the cycle in which it is drained on, its flits leave the buffer, one a cycle." Says whether one does.
    fn empty(&mut self, world: &World) -> bool {
        let (Some(leaving), Some(&first)) = (&mut self.leaving, self.whole.front()) else { return false };
        self.stored -= 1;
        *leaving += 1;
        if *leaving == world.flits_of(first) {
            self.whole.pop_front();
            (self.leaving, self.is_delivered) = (None, false);
        }
        true
    }
}
