//! A switch, step by step.

mod tile;

use super::link::{Arrived, Port};
use super::{Flit, World};
use flitway_engine::Cycle;
use flitway_fabric::observer::{Grant, Outputs, Passage, SwitchObserver};
use flitway_fabric::{LossCause, ReplyLanes};
use flitway_switch::tiled::{LaneOut, TiledSettings};
use flitway_wiring::routing::{Arrival, Candidate, Selection, select};
use flitway_wiring::{PortId, SwitchId};
use std::collections::VecDeque;
use tile::{Moving, Tile, Waiting, choose};

#[derive(Debug)]
pub(super) struct Switch {
    number: u32,
    here: SwitchId,
    /// By port.
    tiles: Vec<Tile>,
    /// What gives back its room in the next cycle.
    returns: Vec<Return>,
    /// When it dies.
    death: u64,
}

/// A packet whose last flit has left a buffer.
#[derive(Clone, Copy, Debug)]
struct Return {
    buffer: Buffer,
    vc: usize,
    flits: u32,
}

#[derive(Clone, Copy, Debug)]
enum Buffer {
    /// Of this port.
    Input(usize),
    /// In the tile of this port, of the input in that column.
    Row(usize, usize),
    /// In the tile of this port, of the source row.
    Column(usize, usize),
}

impl Switch {
    pub(super) fn new(
        settings: &TiledSettings,
        number: u32,
        here: SwitchId,
        death: u64,
        ports: Vec<Option<Port>>,
    ) -> Self {
        let tiles = ports.into_iter().map(|port| Tile::new(settings, port)).collect();
        Switch { number, here, tiles, returns: Vec::new(), death }
    }

    /// The channel that a port sends on.
    pub(super) fn out(&self, port: usize) -> usize {
        self.tiles[port].port.as_ref().expect("what changes is wired").out
    }

    pub(super) fn ports(&self) -> impl Iterator<Item = &Port> {
        self.tiles.iter().filter_map(|tile| tile.port.as_ref())
    }

    pub(super) fn assert_books(&self, world: &World) {
        for tile in &self.tiles {
            let buffers = tile.row_buffers.iter().map(|it| (&it.room, &it.store));
            for (room, store) in buffers.chain(tile.column_buffers.iter().map(|it| (&it.room, &it.store))) {
                for vc in 0..world.vcs() {
                    assert!(store.len(vc) as u32 <= room.held(vc), "flits in a buffer have taken room");
                }
            }
        }
    }

    /// One cycle.
    pub(super) fn cycle(&mut self, world: &mut World) {
        if world.now == self.death {
            self.die(world);
        }
        if world.now >= self.death {
            return self.be_dead(world);
        }
        let has_retry = world.settings.retry.is_some();
        let input = world.settings.pipeline.input;
        for tile in &mut self.tiles {
            if let Some(port) = &mut tile.port {
                port.receive(input, has_retry, world);
            }
        }
        self.step_acknowledgements(world);
        self.step_loads(world);
        self.step_accepted(world);
        self.step_row_buses(world);
        self.step_subswitches(world);
        self.step_outputs(world);
    }

    /// "All packets in it are lost in that cycle."
    fn die(&mut self, world: &mut World) {
        for tile in &mut self.tiles {
            let lost: Vec<usize> = tile.packets().collect();
            lost.into_iter().for_each(|packet| world.lose(packet, self.number, LossCause::InDeadSwitch));
            let port = tile.port.take();
            *tile = Tile::new(&world.settings, port);
            if let Some(training) = tile.port.as_mut().and_then(|port| port.training.as_mut()) {
                training.die(world.now);
            }
        }
        self.returns.clear();
    }

    /// "What its links have begun goes on. They give up as others do."
    fn be_dead(&mut self, world: &mut World) {
        for port in self.tiles.iter_mut().filter_map(|tile| tile.port.as_mut()) {
            port.train(world);
            port.act(&mut vec![0; world.vcs()], world);
            port.send(world);
        }
    }

    /// Step 1.
    fn step_acknowledgements(&mut self, world: &mut World) {
        for Return { buffer, vc, flits } in std::mem::take(&mut self.returns) {
            match buffer {
                Buffer::Input(port) => self.port(port).give_back(vc, flits, world.now),
                Buffer::Row(port, column) => {
                    self.tiles[port].row_buffers[column].room.give_back(vc, flits);
                }
                Buffer::Column(port, row) => self.tiles[port].column_buffers[row].room.give_back(vc, flits),
            }
        }
        for tile in &mut self.tiles {
            let Some(port) = &mut tile.port else { continue };
            let mut returned = vec![0; world.vcs()];
            port.train(world);
            port.act(&mut returned, world);
            let heard = port.hear(world);
            for (load, (one, other)) in tile.loads.iter_mut().zip(returned.into_iter().zip(heard)) {
                *load -= one + other;
            }
        }
    }

    /// Between steps 1 and 2: "loads of other switches".
    fn step_loads(&mut self, world: &mut World) {
        let (now, receive) = (world.now, u64::from(world.settings.pipeline.receive));
        for tile in &mut self.tiles {
            let Some(port) = &tile.port else { continue };
            let loads = &mut world.channels[port.back()].loads;
            while loads.front().is_some_and(|(from, _)| *from <= now) {
                tile.told = loads.pop_front().expect("there is one").1;
            }
        }
        let told = world.routing.told_ports();
        if told.is_empty() || !now.is_multiple_of(world.settings.load_interval.into()) {
            return;
        }
        let load = |port: u32| self.tiles.get(port as usize).map_or(0, |tile| tile.loads.iter().sum());
        let loads: Vec<u32> = told.clone().map(load).collect();
        for (number, tile) in (0..).zip(&self.tiles) {
            if let Some(port) = tile.port.as_ref().filter(|_| !told.contains(&number)) {
                world.channels[port.out].tell(now, receive, loads.clone());
            }
        }
    }

    /// The load that the switch at the other end of `candidate` has told of the port by which its way goes on there.
    fn told(&self, candidate: Candidate, world: &World) -> u32 {
        let Some(port) = world.routing.beyond(self.here, candidate) else { return 0 };
        let place = port.0 - world.routing.told_ports().start;
        self.tiles[candidate.hop.port.index()].told.get(place as usize).copied().unwrap_or(0)
    }

    fn port(&mut self, port: usize) -> &mut Port {
        self.tiles[port].port.as_mut().expect("packets move by ports that are wired")
    }

    /// Step 2.
    fn step_accepted(&mut self, world: &mut World) {
        for input in 0..self.tiles.len() {
            let Some(port) = &mut self.tiles[input].port else { continue };
            let Some(Arrived { packet, vc, first, .. }) = port.accept(world) else { continue };
            assert!(port.accept(world).is_none(), "a port accepts one packet a cycle");
            let Some((output, leaves)) = self.route(input, vc, packet, world) else {
                let flits = world.flits_of(packet);
                world.lose(packet, self.number, LossCause::NoRoute);
                let port = self.port(input);
                (0..flits).for_each(|index| port.leave(vc, Flit { packet, index }, world.now));
                port.give_back(vc, flits, world.now);
                continue;
            };
            self.tiles[output].loads[leaves] += world.flits_of(packet);
            let column = output % world.settings.columns as usize;
            let (arrived, since) = (first, world.now);
            let waiting = Waiting { packet, input, came: vc, output, leaves, arrived, since, ready: since };
            self.tiles[input].queues[vc][column].push_back(waiting);
        }
    }

    /// The output that a packet takes, and the virtual channel by which it leaves; `None` if it has nowhere to go.
    fn route(&self, input: usize, came: usize, packet: usize, world: &mut World) -> Option<(usize, usize)> {
        let lanes = world.lanes();
        let arrival = Arrival { port: PortId::new(input), class: (came / lanes) as u8 };
        let mut candidates: Vec<Candidate> = Vec::new();
        let header = world.packets[packet].header;
        // It names the first one only, where switches do not select by load.
        world.routing().candidates(self.here, arrival, header, |candidate| candidates.push(candidate));
        candidates.retain(|candidate| {
            self.tiles.get(candidate.hop.port.index()).is_some_and(|tile| tile.port.is_some())
        });
        let (source, destination) = (world.packets[packet].source, header.destination());
        let injected = world.packets[packet].injected;
        let is_escape = |it: &Candidate| world.routing().is_escape(self.here, it.hop);
        let escapes: Vec<Candidate> = candidates.iter().copied().filter(is_escape).collect();
        let active: Vec<Candidate> = escapes.iter().copied().filter(|it| self.is_active(it)).collect();
        let likely = if active.is_empty() { &escapes } else { &active };
        let number = match world.settings.selection {
            Selection::Hashed => Some(select::of_flow(self.here, source, destination, likely.len())),
            Selection::Random => Some(select::of_packet(self.here, source, injected, likely.len())),
            Selection::First | Selection::LeastLoaded => None,
        };
        if let Some(number) = number {
            candidates = likely.get(number).copied().into_iter().collect();
        }
        let by_load = world.settings.selection == Selection::LeastLoaded;
        // Those that are no escapes go first, and need room that is certain.
        let private = world.settings.buffers.input.private;
        let flits = world.flits_of(packet);
        let routing = world.routing();
        let can_be_taken = |candidate: &&Candidate| {
            let (output, label) = self.way_out(candidate, came % lanes, world);
            let is_certain = self.tiles[output].loads[label] + flits <= private;
            !by_load || routing.is_escape(self.here, candidate.hop) || is_certain
        };
        let cost = |candidate: &&Candidate| {
            let tile = &self.tiles[candidate.hop.port.index()];
            let is_active = self.is_active(candidate);
            let load = tile.loads.iter().sum::<u32>() + self.told(**candidate, world);
            let load = load * routing.weight(**candidate);
            (!is_active, routing.is_escape(self.here, candidate.hop), load)
        };
        let chosen = *candidates.iter().filter(can_be_taken).min_by_key(cost)?;
        let way_out = self.way_out(&chosen, came % lanes, world);
        world.packets[packet].header = chosen.header;
        Some(way_out)
    }

    /// Whether the link of the output of `candidate` is active.
    fn is_active(&self, candidate: &Candidate) -> bool {
        self.tiles[candidate.hop.port.index()].port.as_ref().is_some_and(Port::is_active)
    }

    /// The output of `candidate`, and the virtual channel by which a packet on `lane` leaves by it.
    fn way_out(&self, candidate: &Candidate, lane: usize, world: &World) -> (usize, usize) {
        let lanes = world.lanes();
        let (output, class) = (candidate.hop.port.index(), usize::from(candidate.hop.class));
        let lane = match world.settings.lane {
            LaneOut::Kept => lane,
            LaneOut::LeastLoaded => {
                let shares = |other: &usize| match world.settings.reply_lanes {
                    ReplyLanes::Shared => true,
                    ReplyLanes::Own => (*other < lanes.div_ceil(2)) == (lane < lanes.div_ceil(2)),
                };
                let turns = (0..lanes).map(|place| (lane + place) % lanes).filter(shares);
                let load = |lane: &usize| self.tiles[output].loads[class * lanes + lane];
                turns.min_by_key(load).expect("there is a lane")
            }
        };
        (output, class * lanes + lane)
    }

    /// Step 3.
    fn step_row_buses(&mut self, world: &mut World) {
        for input in 0..self.tiles.len() {
            if self.tiles[input].on_bus.is_none() {
                self.grant_row_bus(input, world);
            }
            let Some(moving) = self.tiles[input].on_bus else { continue };
            let (there, column) = self.row_buffer(&moving.packet, world);
            let vc = moving.packet.came;
            self.port(input).leave(vc, moving.flit(), world.now);
            let from = world.now + u64::from(world.settings.pipeline.row);
            self.tiles[there].row_buffers[column].store.put(vc, moving.flit(), from);
            self.tiles[input].on_bus = moving.next(world);
            if self.tiles[input].on_bus.is_none() {
                self.tiles[input].bus_free = world.now + 1;
                self.gives_back(Buffer::Input(input), vc, moving.packet.packet, world);
            }
        }
    }

    /// The row buffer of a packet: the port in whose tile it is, and the column of its input.
    fn row_buffer(&self, waiting: &Waiting, world: &World) -> (usize, usize) {
        let columns = world.settings.columns as usize;
        (waiting.input / columns * columns + waiting.output % columns, waiting.input % columns)
    }

    fn grant_row_bus(&mut self, input: usize, world: &mut World) {
        if self.tiles[input].queues.iter().flatten().all(VecDeque::is_empty) {
            return;
        }
        let has_room = |vc: usize, first: &Waiting| {
            let (there, column) = self.row_buffer(first, world);
            self.tiles[there].row_buffers[column].room.has(vc, world.flits_of(first.packet))
        };
        let requests = |vc: usize| -> Vec<Option<usize>> {
            let queues = self.tiles[input].queues[vc].iter();
            let firsts = queues.map(|queue| queue.front().filter(|first| has_room(vc, first)));
            firsts.map(|first| first.map(|first| first.packet)).collect()
        };
        let requests: Vec<Vec<Option<usize>>> = (0..world.vcs()).map(requests).collect();
        let tile = &mut self.tiles[input];
        let chosen = choose(&mut tile.bus_arbiter, &mut tile.column_arbiters, &requests, world);
        let Some((vc, column)) = chosen else { return };
        let first = tile.queues[vc][column].pop_front().expect("who requests has a packet");
        tile.on_bus = Some(Moving::of(first));
        let (there, column) = self.row_buffer(&first, world);
        let pipeline = &world.settings.pipeline;
        let since = world.now + u64::from(pipeline.row);
        let ready = since + u64::from(pipeline.subswitch + pipeline.column);
        self.tiles[there].row_buffers[column].begin(Waiting { since, ready, ..first }, world);
        let passage = Passage {
            packet: world.packets[first.packet].name(),
            switch: self.number,
            input: PortId::new(input),
            vc: vc as u8,
            outputs: Outputs::One(PortId::new(first.output)),
            arrived: Cycle(first.arrived),
            ready: Cycle(first.since),
            requested: Cycle(first.since),
            free: Some(Cycle(self.tiles[input].bus_free)),
            granted: Cycle(world.now),
        };
        world.record.passed(&passage);
    }

    fn gives_back(&mut self, buffer: Buffer, vc: usize, packet: usize, world: &World) {
        self.returns.push(Return { buffer, vc, flits: world.flits_of(packet) });
    }

    /// Step 4.
    fn step_subswitches(&mut self, world: &mut World) {
        for there in 0..self.tiles.len() {
            if self.tiles[there].is_idle() {
                continue;
            }
            let offers = self.offers(there, world);
            for row in 0..world.settings.rows as usize {
                self.grant_channel(there, row, &offers, world);
            }
            for row in 0..world.settings.rows as usize {
                self.move_on_channel(there, row, world);
            }
        }
    }

    /// What each row buffer of a tile offers, with the requests that its arbiter has chosen among.
    fn offers(&self, there: usize, world: &World) -> Vec<Option<(Waiting, Vec<bool>)>> {
        let tile = &self.tiles[there];
        let columns = world.settings.columns as usize;
        let offer = |column: usize| {
            // No flit leaves it in this cycle.
            let mut moving = tile.channels.iter().filter_map(|channel| channel.moving);
            if moving.any(|moving| moving.packet.input % columns == column) {
                return None;
            }
            let buffer = &tile.row_buffers[column];
            let can_go = |first: &Waiting| {
                let channel = &tile.channels[first.output / columns];
                let room = &self.tiles[first.output].column_buffers[first.input / columns].room;
                first.since <= world.now
                    && channel.moving.is_none()
                    && room.has(first.leaves, world.flits_of(first.packet))
            };
            let firsts = buffer.queues.iter().map(|queue| queue.front().filter(|first| can_go(first)));
            let requests: Vec<Option<usize>> = firsts.map(|first| first.map(|first| first.packet)).collect();
            let requests = world.of_age(&requests);
            // "What is not chosen was not offered": the arbiter remembers a grant only when the channel takes it.
            let vc = buffer.arbiter.clone().grant(&requests)?;
            Some((buffer.queues[vc][0], requests))
        };
        (0..columns).map(offer).collect()
    }

    fn grant_channel(
        &mut self,
        there: usize,
        row: usize,
        offers: &[Option<(Waiting, Vec<bool>)>],
        world: &mut World,
    ) {
        let columns = world.settings.columns as usize;
        let for_row = |offer: &Option<(Waiting, Vec<bool>)>| {
            let waiting = offer.as_ref().map(|(waiting, _)| waiting);
            waiting.filter(|waiting| waiting.output / columns == row).map(|waiting| waiting.packet)
        };
        let requests: Vec<Option<usize>> = offers.iter().map(for_row).collect();
        let requests = world.of_age(&requests);
        let tile = &mut self.tiles[there];
        let Some(column) = tile.channels[row].arbiter.grant(&requests) else { return };
        let (packet, requests) = offers[column].as_ref().expect("what is chosen was offered");
        let buffer = &mut tile.row_buffers[column];
        let vc = buffer.arbiter.grant(requests).expect("it grants as it has offered");
        assert_eq!(vc, packet.came);
        buffer.queues[vc].pop_front();
        tile.channels[row].moving = Some(Moving::of(*packet));
        let pipeline = &world.settings.pipeline;
        let since = world.now + u64::from(pipeline.subswitch + pipeline.column);
        let source_row = packet.input / columns;
        self.tiles[packet.output].column_buffers[source_row].begin(Waiting { since, ..*packet }, world);
        let grant = Grant {
            cycle: Cycle(world.now),
            switch: self.number,
            output: PortId::new(packet.output),
            vc: packet.came as u8,
            input: PortId::new(packet.input),
        };
        world.record.granted(&grant);
    }

    fn move_on_channel(&mut self, there: usize, row: usize, world: &World) {
        let Some(moving) = self.tiles[there].channels[row].moving else { return };
        let columns = world.settings.columns as usize;
        let Waiting { packet, input, came, output, leaves, .. } = moving.packet;
        self.tiles[there].row_buffers[input % columns].store.take_first(came, moving.flit(), world.now);
        let pipeline = &world.settings.pipeline;
        let from = world.now + u64::from(pipeline.subswitch + pipeline.column);
        self.tiles[output].column_buffers[input / columns].store.put(leaves, moving.flit(), from);
        self.tiles[there].channels[row].moving = moving.next(world);
        if self.tiles[there].channels[row].moving.is_none() {
            self.gives_back(Buffer::Row(there, input % columns), came, packet, world);
        }
    }

    /// Steps 5 and 6.
    fn step_outputs(&mut self, world: &mut World) {
        for output in 0..self.tiles.len() {
            let tile = &mut self.tiles[output];
            let Some(port) = &tile.port else { continue };
            if port.is_down() && port.is_done(world.now) {
                tile.begin_discard(self.number, world);
            }
            if let Some((row, vc, moving)) = tile.discards {
                tile.column_buffers[row].store.take_first(vc, moving.flit(), world.now);
                let next = moving.next(world);
                tile.discards = next.map(|moving| (row, vc, moving));
                if next.is_none() {
                    self.gives_back(Buffer::Column(output, row), vc, moving.packet.packet, world);
                }
            }
            let tile = &mut self.tiles[output];
            let Some(port) = &tile.port else { continue };
            let was_free = port.is_free(world);
            let replays = port.is_replaying();
            let begins = was_free && (replays || tile.grant_link(world));
            let port = tile.port.as_mut().expect("it was there");
            if was_free && replays {
                port.repeat(world);
            }
            if let Some((flit, vc)) = port.send(world) {
                let row = tile.leaves_row.expect("what is sent is in a column buffer");
                tile.column_buffers[row].store.take_first(vc, flit, world.now);
                if world.is_last(flit) {
                    tile.leaves_row = None;
                    self.gives_back(Buffer::Column(output, row), vc, flit.packet, world);
                }
            }
            self.port(output).acknowledge(was_free && !begins, world);
        }
    }
}
