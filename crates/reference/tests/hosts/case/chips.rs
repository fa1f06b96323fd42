//! A switch of each kind, small and plain.

use flitway_fabric::arbiter::ArbiterKind;
use flitway_fabric::link::lanes::LaneSettings;
use flitway_fabric::packet::{BlockFormat, PacketFormat};
use flitway_fabric::{LaneChoice, Rate, ReplyLanes};
use flitway_switch::SwitchSettings;
use flitway_switch::elite::{ElitePipeline, EliteSettings, Roots};
use flitway_switch::hpp::{AdvertSettings, BarrierSettings, HppSettings, MulticastSettings, Pipeline};
use flitway_switch::sp::{Organisation, Replication, SpAscent, SpPipeline, SpSettings, Store, WormSettings};
use flitway_switch::tiled::{
    AckSettings, Arbitration, BufferSettings, LaneOut, TiledBuffers, TiledPipeline, TiledSettings,
    TrainingSettings,
};
use flitway_wiring::routing::Selection;

const PORTS: u32 = 8;

/// One of them, with packets of up to `mtu` bytes.
pub(super) fn chip(number: u64, mtu: u32) -> SwitchSettings {
    match number {
        0 => SwitchSettings::Hpp(hpp(format(4, mtu))),
        1 => SwitchSettings::Sp(sp(format(2, mtu))),
        2 => SwitchSettings::Elite(elite(mtu)),
        _ => SwitchSettings::Tiled(tiled(format(32, mtu))),
    }
}

pub(super) fn format(flit_bytes: u32, mtu_bytes: u32) -> PacketFormat {
    PacketFormat { flit_bytes, header_flits: 1, trailer_flits: 0, mtu_bytes, block: None }
}

pub(super) fn hpp(format: PacketFormat) -> HppSettings {
    HppSettings {
        ports: PORTS,
        vcs: 2,
        buffer_units: 16,
        unit_flits: format.packet_flits(format.mtu_bytes),
        arbiter: ArbiterKind::LeastRecentlyGranted,
        selection: Selection::First,
        show_ahead: false,
        pipeline: Pipeline { receive: 1, queue: 1, route: 1, transmit_buffer: 1, transmit: 1 },
        tx_fifo: 2,
        format,
        advert: AdvertSettings { flits: 0, refresh: None, position_bits: 16 },
        multicast: MulticastSettings::published(0),
        barrier: BarrierSettings::published(),
        lanes: LaneChoice::ByPacket,
        reply_lanes: ReplyLanes::Shared,
    }
}

fn sp(format: PacketFormat) -> SpSettings {
    SpSettings {
        ports: PORTS,
        store: Store::Input(Organisation::SplitRam),
        chunk_flits: 4,
        fifo_flits: 32,
        pipeline: SpPipeline { receive: 1, route: 4, transmit: 1 },
        credit: 1,
        format,
        ascent: SpAscent::Routed,
        worms: WormSettings { bits: 0, replication: Replication::Asynchronous },
    }
}

pub(super) const ELITE_FLIT: u32 = 4;

/// An Elite4 without answers.
pub(super) fn elite(mtu: u32) -> EliteSettings {
    let format = format(ELITE_FLIT, mtu);
    EliteSettings {
        ports: PORTS,
        vcs: 2,
        buffer_flits: 32,
        selection: Selection::LeastLoaded,
        priority: None,
        roots: Roots::One,
        answer: None,
        pipeline: ElitePipeline { receive: 2, route: 3, transmit: 2 },
        credit: 1,
        is_coded: false,
        format: PacketFormat { block: Some(BlockFormat { bytes: 32, header_flits: 1 }), ..format },
    }
}

fn tiled(format: PacketFormat) -> TiledSettings {
    let buffer = BufferSettings { flits: 64, private: 9 };
    TiledSettings {
        rows: 2,
        columns: 4,
        vcs: 4,
        buffers: TiledBuffers { input: buffer, row: buffer, column: buffer },
        arbiter: Arbitration::ByGrants(ArbiterKind::RoundRobin),
        selection: Selection::First,
        load_interval: 16,
        lane: LaneOut::Kept,
        lanes: LaneChoice::ByPacket,
        reply_lanes: ReplyLanes::Shared,
        pipeline: TiledPipeline {
            receive: 3,
            input: 1,
            row: 2,
            subswitch: 1,
            column: 1,
            output: 1,
            link: 1,
            transmit: 3,
        },
        retry: None,
        ack: AckSettings { packets: 2, delay: 20 },
        training: TrainingSettings {
            test: 400,
            misses: 2,
            give_up: 1_000,
            lanes: LaneSettings { lanes: 8, discarded_max: 4, rates: vec![Rate::FULL] },
        },
        format,
    }
}
