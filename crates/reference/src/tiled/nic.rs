//! A NIC port: a queue for each virtual channel on one side, a buffer that empties by itself, or is drained, on the other.

use super::link::{Arrived, Port};
use super::{Flit, World, arbiter, destination};
use crate::arbiter::Arbiter;
use crate::lanes::lane;
use flitway_engine::Cycle;
use flitway_fabric::observer::ComponentNumber;
use flitway_fabric::{Delivery, LossCause, NicPorts, Packet};
use flitway_switch::tiled::TiledSettings;
use flitway_wiring::{NodeId, RailId};
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Nic {
    rail: RailId,
    pub(super) port: Port,
    /// By virtual channel.
    waiting: Vec<VecDeque<usize>>,
    arbiter: Arbiter,
    /// Packets that have left their queue in the cycle before, until they are told.
    sent: Vec<usize>,
    /// Packets that it has accepted, by virtual channel, and what becomes of the first.
    kept: Vec<Kept>,
    is_bounded: bool,
    /// Packets whose last flit has left the buffer in the cycle before.
    returns: Vec<(usize, u32)>,
    /// A packet that is discarded, and the cycle of its last flit.
    discarded: Option<(usize, u64)>,
    /// The node among the components.
    number: ComponentNumber,
}

#[derive(Clone, Debug, Default)]
struct Kept {
    packets: VecDeque<usize>,
    is_delivered: bool,
    /// Flits of the first that have left the buffer, if it is being drained.
    leaving: Option<u32>,
}

impl Nic {
    pub(super) fn new(
        settings: &TiledSettings,
        number: ComponentNumber,
        rail: RailId,
        port: Port,
        nic_ports: NicPorts,
    ) -> Self {
        let vcs = settings.vcs as usize;
        Nic {
            rail,
            port,
            waiting: vec![VecDeque::new(); vcs],
            arbiter: arbiter(settings, vcs),
            sent: Vec::new(),
            kept: vec![Kept::default(); vcs],
            is_bounded: nic_ports == NicPorts::Bounded,
            returns: Vec::new(),
            discarded: None,
            number,
        }
    }

    /// An endpoint hands over `packet`. "A NIC sends in class 0."
    pub(super) fn submit(&mut self, source: NodeId, packet: Packet, world: &mut World) {
        let choice = (world.settings.lanes, world.settings.reply_lanes);
        let vc = lane(choice, source, destination(&packet), &packet, world.lanes());
        let number = world.create(source, packet);
        self.waiting[vc].push_back(number);
    }

    /// The packets that it delivers in this cycle. It is asked before anything else happens in it.
    pub(super) fn deliver(&mut self, node: NodeId, world: &mut World) -> Vec<Delivery> {
        for (vc, flits) in std::mem::take(&mut self.returns) {
            self.port.give_back(vc, flits, world.now);
        }
        self.port.train(world);
        while let Some(Arrived { packet, vc, .. }) = self.port.accept(world) {
            world.counters.link.undetected += u64::from(world.packets[packet].is_wrong);
            self.kept[vc].packets.push_back(packet);
        }
        let mut delivered = Vec::new();
        for (vc, kept) in self.kept.iter_mut().enumerate() {
            if let Some(&packet) = kept.packets.front()
                && !kept.is_delivered
            {
                kept.is_delivered = true;
                delivered.push((packet, vc));
            }
        }
        if !self.is_bounded {
            for &(packet, vc) in &delivered {
                self.empty_at_once(packet, vc, world);
            }
        }
        delivered.into_iter().map(|(packet, vc)| self.count(packet, vc, node, world)).collect()
    }

    /// "Ideal NIC ports give back the room of a packet in the cycle in which it is delivered."
    fn empty_at_once(&mut self, packet: usize, vc: usize, world: &World) {
        let flits = world.flits_of(packet);
        (0..flits).for_each(|index| self.port.leave(vc, Flit { packet, index }, world.now));
        self.port.give_back(vc, flits, world.now);
        self.kept[vc] = Kept::default();
    }

    /// The packets that left their queue in the cycle before.
    pub(super) fn take_sent(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.sent)
    }

    /// The NIC drains the packet on `vc` that was delivered last.
    pub(super) fn drain(&mut self, vc: u8) {
        let kept = &mut self.kept[usize::from(vc)];
        assert!(kept.is_delivered && kept.leaving.is_none(), "what has been delivered is drained, once");
        kept.leaving = Some(0);
    }

    pub(super) fn cycle(&mut self, world: &mut World) {
        self.port.receive(0, true, world);
        self.port.train(world);
        self.port.act(&mut vec![0; world.vcs()], world);
        self.port.hear(world);
        self.empty(world);
        self.discard(world);
        let was_free = self.port.is_free(world);
        let replays = self.port.is_replaying();
        let begins = was_free && (replays || self.begin(world));
        if was_free && replays {
            self.port.repeat(world);
        }
        if let Some((flit, _)) = self.port.send(world)
            && world.is_last(flit)
        {
            self.sent.push(flit.packet);
        }
        self.port.acknowledge(was_free && !begins, world);
    }

    /// "An end that is down takes the packets that its link would take."
    fn discard(&mut self, world: &mut World) {
        if self.port.is_down() && self.port.is_done(world.now) {
            let is_created = |&packet: &usize| world.packets[packet].packet.created.0 <= world.now;
            let requests: Vec<bool> =
                self.waiting.iter().map(|waiting| waiting.front().is_some_and(is_created)).collect();
            if let Some(vc) = self.arbiter.grant(&requests) {
                let packet = self.waiting[vc].pop_front().expect("who requests has a packet");
                self.port.discard(world.flits_of(packet), world.now);
                world.lose(packet, self.number, LossCause::LinkDown);
                self.discarded = Some((packet, world.now + u64::from(world.flits_of(packet)) - 1));
            }
        }
        if let Some((packet, _)) = self.discarded.take_if(|(_, last)| *last == world.now) {
            self.sent.push(packet);
        }
    }

    /// "From the cycle in which it does, the packet's flits leave the buffer, one a cycle."
    fn empty(&mut self, world: &World) {
        for (vc, kept) in self.kept.iter_mut().enumerate() {
            let Some(index) = kept.leaving else { continue };
            let packet = kept.packets[0];
            self.port.leave(vc, Flit { packet, index }, world.now);
            kept.leaving = Some(index + 1);
            if index + 1 == world.flits_of(packet) {
                kept.packets.pop_front();
                (kept.is_delivered, kept.leaving) = (false, None);
                self.returns.push((vc, index + 1));
            }
        }
    }

    fn begin(&mut self, world: &mut World) -> bool {
        let requests = |(vc, waiting): (usize, &VecDeque<usize>)| {
            waiting.front().is_some_and(|&packet| {
                let is_created = world.packets[packet].packet.created.0 <= world.now;
                is_created && self.port.takes(vc, world.flits_of(packet), world)
            })
        };
        let requests: Vec<bool> = self.waiting.iter().enumerate().map(requests).collect();
        let Some(vc) = self.arbiter.grant(&requests) else { return false };
        let packet = self.waiting[vc].pop_front().expect("who requests has a packet");
        let pipeline = &world.settings.pipeline;
        world.packets[packet].injected = world.now + u64::from(pipeline.link + pipeline.transmit);
        let ready = world.packets[packet].packet.created.0;
        self.port.begin(packet, vc, ready, world);
        true
    }

    fn count(&self, packet: usize, vc: usize, node: NodeId, world: &mut World) -> Delivery {
        let travelling = &world.packets[packet];
        let packet = &travelling.packet;
        assert_eq!(destination(packet), node, "packets arrive where they are sent to");
        assert_eq!(packet.rail, self.rail, "packets do not change rails");
        let delivery = Delivery {
            source: travelling.source,
            destination: node,
            group: None,
            rail: packet.rail,
            vc: vc as u8,
            payload: packet.payload,
            flits: travelling.flits as u16,
            hops: travelling.hops,
            created: packet.created,
            injected: Cycle(travelling.injected),
            delivered: Cycle(world.now),
            is_corrupt: travelling.is_wrong,
            flow: packet.flow,
        };
        world.counters.packets_delivered += 1;
        world.counters.flits_delivered += u64::from(travelling.flits);
        world.record.deliveries.push(delivery);
        delivery
    }
}
