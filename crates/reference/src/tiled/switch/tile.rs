//! A tile: a port, the row buffers of the inputs in its row, the channels to the rows of its column, and the column buffers of
//! its output.

use crate::arbiter::Arbiter;
use crate::tiled::link::Port;
use crate::tiled::room::{Room, Store};
use crate::tiled::{Flit, World, arbiter};
use flitway_fabric::LossCause;
use flitway_fabric::observer::ComponentNumber;
use flitway_switch::tiled::TiledSettings;
use std::collections::VecDeque;

/// A packet in a switch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) packet: usize,
    pub(super) input: usize,
    /// The virtual channel by which it came.
    pub(super) came: usize,
    pub(super) output: usize,
    /// That by which it leaves.
    pub(super) leaves: usize,
    /// When its first flit was on the wire.
    pub(super) arrived: u64,
    /// Since when the buffer that it is in has it.
    pub(super) since: u64,
    /// When the column buffer could have it, as far as is known.
    pub(super) ready: u64,
}

/// A packet that goes on, a flit in each cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moving {
    pub(super) packet: Waiting,
    index: u32,
}

impl Moving {
    pub(super) fn of(packet: Waiting) -> Self {
        Moving { packet, index: 0 }
    }

    /// The flit that goes on in this cycle.
    pub(super) fn flit(&self) -> Flit {
        Flit { packet: self.packet.packet, index: self.index }
    }

    /// What is left for the next cycle.
    pub(super) fn next(self, world: &World) -> Option<Self> {
        (!world.is_last(self.flit())).then_some(Moving { index: self.index + 1, ..self })
    }
}

#[derive(Debug)]
pub(super) struct Tile {
    /// If it is wired. Its buffer is the input buffer.
    pub(super) port: Option<Port>,

    /// Packets in the input buffer, by virtual channel and column of the output.
    pub(super) queues: Vec<Vec<VecDeque<Waiting>>>,
    pub(super) bus_arbiter: Arbiter,
    /// By virtual channel.
    pub(super) column_arbiters: Vec<Arbiter>,
    pub(super) on_bus: Option<Moving>,
    /// The cycle after the last in which a flit went over the bus.
    pub(super) bus_free: u64,

    /// Of the inputs of its row, by their column.
    pub(super) row_buffers: Vec<RowBuffer>,
    /// To the rows of its column.
    pub(super) channels: Vec<ColumnChannel>,

    /// By source row.
    pub(super) column_buffers: Vec<ColumnBuffer>,
    link_arbiter: Arbiter,
    /// By virtual channel.
    row_arbiters: Vec<Arbiter>,
    /// The source row of the packet that leaves.
    pub(super) leaves_row: Option<usize>,
    /// The packet that is discarded, because the link is down: its source row and virtual channel.
    pub(super) discards: Option<(usize, usize, Moving)>,
    /// By virtual channel: flits of the packets that have taken it and have not, as far as is heard, given back their room at
    /// the other end.
    pub(super) loads: Vec<u32>,
    /// The loads that the switch at the other end has told last.
    pub(super) told: Vec<u32>,
}

#[derive(Clone, Debug)]
pub(super) struct RowBuffer {
    pub(super) room: Room,
    pub(super) store: Store,
    /// By virtual channel by which packets came.
    pub(super) queues: Vec<VecDeque<Waiting>>,
    pub(super) arbiter: Arbiter,
}

/// What leads out of a subswitch.
#[derive(Clone, Debug)]
pub(super) struct ColumnChannel {
    pub(super) arbiter: Arbiter,
    pub(super) moving: Option<Moving>,
}

#[derive(Clone, Debug)]
pub(super) struct ColumnBuffer {
    pub(super) room: Room,
    pub(super) store: Store,
    /// By virtual channel by which packets leave.
    queues: Vec<VecDeque<Waiting>>,
}

/// "An arbiter chooses among the VCs, then one of that VC among the places." The packets that request stand by virtual channel
/// and place.
pub(super) fn choose(
    of_vcs: &mut Arbiter,
    of_places: &mut [Arbiter],
    requests: &[Vec<Option<usize>>],
    world: &World,
) -> Option<(usize, usize)> {
    let oldest: Vec<Option<usize>> = requests.iter().map(|places| world.oldest(places)).collect();
    let vc = of_vcs.grant(&world.of_age(&oldest))?;
    let place = of_places[vc].grant(&world.of_age(&requests[vc])).expect("a packet of the VC requests");
    Some((vc, place))
}

impl RowBuffer {
    /// A packet begins to move there.
    pub(super) fn begin(&mut self, packet: Waiting, world: &World) {
        self.room.take(packet.came, world.flits_of(packet.packet));
        self.queues[packet.came].push_back(packet);
    }
}

impl ColumnBuffer {
    /// A packet begins to move there.
    pub(super) fn begin(&mut self, packet: Waiting, world: &World) {
        self.room.take(packet.leaves, world.flits_of(packet.packet));
        self.queues[packet.leaves].push_back(packet);
    }
}

impl Tile {
    pub(super) fn new(settings: &TiledSettings, port: Option<Port>) -> Self {
        let (rows, columns, vcs) = (settings.rows as usize, settings.columns as usize, settings.vcs as usize);
        let arbiter = |inputs| arbiter(settings, inputs);
        let [row, column] = [settings.buffers.row, settings.buffers.column];
        let row_buffer = RowBuffer {
            room: Room::new(row, vcs),
            store: Store::new(row, vcs),
            queues: vec![VecDeque::new(); vcs],
            arbiter: arbiter(vcs),
        };
        let column_buffer = ColumnBuffer {
            room: Room::new(column, vcs),
            store: Store::new(column, vcs),
            queues: vec![VecDeque::new(); vcs],
        };
        Tile {
            port,
            queues: vec![vec![VecDeque::new(); columns]; vcs],
            bus_arbiter: arbiter(vcs),
            column_arbiters: vec![arbiter(columns); vcs],
            on_bus: None,
            bus_free: 0,
            row_buffers: vec![row_buffer; columns],
            channels: vec![ColumnChannel { arbiter: arbiter(columns), moving: None }; rows],
            column_buffers: vec![column_buffer; rows],
            link_arbiter: arbiter(vcs),
            row_arbiters: vec![arbiter(rows); vcs],
            leaves_row: None,
            discards: None,
            loads: vec![0; vcs],
            told: Vec::new(),
        }
    }

    /// Whether no packet is in its row buffers, nor on the way out of one.
    pub(super) fn is_idle(&self) -> bool {
        let mut queues = self.row_buffers.iter().flat_map(|buffer| &buffer.queues);
        queues.all(VecDeque::is_empty) && self.channels.iter().all(|channel| channel.moving.is_none())
    }

    /// All packets in its buffers.
    pub(super) fn packets(&self) -> impl Iterator<Item = usize> {
        let inputs = self.queues.iter().flatten();
        let rows = self.row_buffers.iter().flat_map(|buffer| &buffer.queues);
        let columns = self.column_buffers.iter().flat_map(|buffer| &buffer.queues);
        inputs.chain(rows).chain(columns).flatten().map(|waiting| waiting.packet)
    }

    /// The first packets of the column buffers that can go, by virtual channel and row.
    fn requests(&self, world: &World, can_go: impl Fn(usize, &Waiting) -> bool) -> Vec<Vec<Option<usize>>> {
        let first = |vc: usize, buffer: &ColumnBuffer| {
            buffer.queues[vc].front().filter(|first| can_go(vc, first)).map(|first| first.packet)
        };
        let of_vc = |vc: usize| self.column_buffers.iter().map(|buffer| first(vc, buffer)).collect();
        (0..world.vcs()).map(of_vc).collect()
    }

    /// "An end that is down takes the packets that its link would take, whatever room and window there are."
    pub(super) fn begin_discard(&mut self, number: ComponentNumber, world: &mut World) {
        let requests = self.requests(world, |_, first| first.since <= world.now);
        let Some((vc, row)) = choose(&mut self.link_arbiter, &mut self.row_arbiters, &requests, world) else {
            return;
        };
        let first = self.column_buffers[row].queues[vc].pop_front().expect("who requests has a packet");
        let flits = world.flits_of(first.packet);
        self.port.as_mut().expect("it has a link").discard(flits, world.now);
        self.loads[vc] -= flits;
        world.lose(first.packet, number, LossCause::LinkDown);
        self.discards = Some((row, vc, Moving::of(first)));
    }

    /// Step 5. Says whether a packet begins.
    pub(super) fn grant_link(&mut self, world: &mut World) -> bool {
        if self.column_buffers.iter().flat_map(|buffer| &buffer.queues).all(VecDeque::is_empty) {
            return false;
        }
        let port = self.port.as_ref().expect("packets leave by ports that are wired");
        let can_go = |vc: usize, first: &Waiting| {
            first.since <= world.now && port.takes(vc, world.flits_of(first.packet), world)
        };
        let requests = self.requests(world, can_go);
        let Some((vc, row)) = choose(&mut self.link_arbiter, &mut self.row_arbiters, &requests, world) else {
            return false;
        };
        let port = self.port.as_mut().expect("it was there");
        let first = self.column_buffers[row].queues[vc].pop_front().expect("who requests has a packet");
        self.leaves_row = Some(row);
        port.begin(first.packet, vc, first.ready, world);
        world.packets[first.packet].hops += 1;
        world.counters.packet_hops += 1;
        world.counters.flit_hops += u64::from(world.flits_of(first.packet));
        true
    }
}
