//! Every switch keeps what every switch must: see the kit. A new one has a test here.

use flitway_fabric::arbiter::ArbiterKind;
use flitway_fabric::link::lanes::LaneSettings;
use flitway_fabric::packet::{BlockFormat, PacketFormat};
use flitway_fabric::{LaneChoice, Rate, ReplyLanes};
use flitway_switch::elite::{AnswerSettings, Elite, ElitePipeline, EliteSettings, Roots, WhenFull};
use flitway_switch::hpp::{AdvertSettings, BarrierSettings, Hpp, HppSettings, MulticastSettings, Pipeline};
use flitway_switch::sp::{
    CentralSettings, NextPacket, Organisation, Replication, Sp, SpAscent, SpPipeline, SpSettings, Store,
    WormSettings,
};
use flitway_switch::tiled::{
    AckSettings, Arbitration, BufferSettings, LaneOut, RetrySettings, Tiled, TiledBuffers, TiledPipeline,
    TiledSettings, TrainingSettings,
};
use flitway_test_kit::switch::conforms;
use flitway_wiring::routing::Selection;

/// All packets are one flit: payload alone.
const ONE_FLIT: PacketFormat =
    PacketFormat { flit_bytes: 64, header_flits: 0, trailer_flits: 0, mtu_bytes: 64, block: None };

/// At most nine.
const NINE_FLITS: PacketFormat =
    PacketFormat { flit_bytes: 32, header_flits: 1, trailer_flits: 0, mtu_bytes: 256, block: None };

#[test]
fn hpp_switches_conform() {
    let plain = HppSettings {
        ports: 8,
        vcs: 2,
        buffer_units: 16,
        unit_flits: 32,
        arbiter: ArbiterKind::Matrix,
        selection: Selection::First,
        show_ahead: true,
        pipeline: Pipeline { receive: 2, queue: 3, route: 4, transmit_buffer: 2, transmit: 1 },
        tx_fifo: 16,
        format: PacketFormat {
            flit_bytes: 2,
            header_flits: 4,
            trailer_flits: 1,
            mtu_bytes: 256,
            block: None,
        },
        advert: AdvertSettings { flits: 2, refresh: Some(400), position_bits: 16 },
        multicast: MulticastSettings::published(0),
        barrier: BarrierSettings::published(),
        lanes: LaneChoice::ByPacket,
        reply_lanes: ReplyLanes::Shared,
    };
    let sideband = AdvertSettings { flits: 0, refresh: None, ..plain.advert };
    // So small that credit updates are posted ahead of time.
    let format = PacketFormat { mtu_bytes: 16, ..plain.format };
    let small = HppSettings { advert: sideband, unit_flits: 8, buffer_units: 8, format, ..plain.clone() };
    let arbiters = ArbiterKind::ALL.iter().map(|&arbiter| HppSettings {
        vcs: 4,
        show_ahead: false,
        arbiter,
        ..plain.clone()
    });
    let one_flit = HppSettings { advert: sideband, unit_flits: 1, format: ONE_FLIT, ..plain.clone() };
    let mut cases: Vec<HppSettings> = arbiters.chain([small, one_flit, plain.clone()]).collect();
    cases.push(HppSettings { advert: sideband, buffer_units: 8, lanes: LaneChoice::ByFlow, ..plain });
    let mail = conforms::<Hpp>(&cases);
    assert!(mail.iter().eq(&["Advert", "CreditRun", "Packet", "Run", "Signal"]), "{mail:?}");
}

#[test]
fn sp_switches_conform() {
    let central = Store::Central(CentralSettings { chunks: 64, next_packet: NextPacket::Shared });
    let plain = SpSettings {
        ports: 8,
        store: central,
        chunk_flits: 8,
        fifo_flits: 16,
        pipeline: SpPipeline { receive: 1, route: 4, transmit: 1 },
        credit: 1,
        format: PacketFormat {
            flit_bytes: 2,
            header_flits: 1,
            trailer_flits: 0,
            mtu_bytes: 128,
            block: None,
        },
        ascent: SpAscent::Adaptive,
        worms: WormSettings { bits: 0, replication: Replication::Asynchronous },
    };
    let worms = WormSettings { bits: 16, ..plain.worms };
    let mail = conforms::<Sp>(&[
        plain.clone(),
        SpSettings { ascent: SpAscent::Routed, fifo_flits: 3, ..plain.clone() },
        SpSettings { format: ONE_FLIT, ..plain.clone() },
        SpSettings { store: Store::Input(Organisation::SplitRam), fifo_flits: 96, worms, ..plain },
    ]);
    assert!(mail.iter().eq(&["Credits", "Flits", "Head", "Pace", "Whole"]), "{mail:?}");
}

#[test]
fn tiled_switches_conform() {
    let buffer = |flits, private| BufferSettings { flits, private };
    let plain = TiledSettings {
        rows: 2,
        columns: 4,
        vcs: 4,
        buffers: TiledBuffers { input: buffer(256, 9), row: buffer(64, 9), column: buffer(64, 9) },
        arbiter: Arbitration::ByGrants(ArbiterKind::RoundRobin),
        selection: Selection::First,
        load_interval: 16,
        lane: LaneOut::Kept,
        lanes: LaneChoice::ByFlow,
        reply_lanes: ReplyLanes::Shared,
        pipeline: TiledPipeline {
            receive: 11,
            input: 4,
            row: 3,
            subswitch: 4,
            column: 3,
            output: 4,
            link: 2,
            transmit: 11,
        },
        retry: Some(RetrySettings { window: 64, sequence_bits: 8, timeout: 2_122, heartbeat: 425 }),
        ack: AckSettings { packets: 8, delay: 85 },
        training: TrainingSettings {
            test: 400,
            misses: 2,
            give_up: 1_000,
            lanes: LaneSettings { lanes: 8, discarded_max: 4, rates: vec![Rate::FULL] },
        },
        format: NINE_FLITS,
    };
    let shortest = TiledPipeline {
        receive: 1,
        input: 0,
        row: 1,
        subswitch: 1,
        column: 0,
        output: 0,
        link: 0,
        transmit: 1,
    };
    let partition = TiledBuffers { input: buffer(36, 9), row: buffer(36, 9), column: buffer(36, 9) };
    let mail = conforms::<Tiled>(&[
        plain.clone(),
        TiledSettings { selection: Selection::LeastLoaded, lane: LaneOut::LeastLoaded, ..plain.clone() },
        TiledSettings { rows: 1, columns: 8, retry: None, buffers: partition, ..plain.clone() },
        TiledSettings {
            rows: 8,
            columns: 1,
            vcs: 2,
            pipeline: shortest,
            arbiter: Arbitration::ByGrants(ArbiterKind::Matrix),
            lanes: LaneChoice::ByPacket,
            reply_lanes: ReplyLanes::Shared,
            ack: AckSettings { packets: 1, delay: 0 },
            retry: Some(RetrySettings { window: 2, sequence_bits: 2, timeout: 300, heartbeat: 50 }),
            ..plain.clone()
        },
        TiledSettings { arbiter: Arbitration::ByAge, ..plain.clone() },
        TiledSettings { vcs: 3, selection: Selection::LeastLoaded, ..plain.clone() },
        TiledSettings { format: ONE_FLIT, ..plain },
    ]);
    assert!(mail.iter().eq(&["Ack", "GivenUp", "Loads", "Pace", "Packet", "Signal"]), "{mail:?}");
}

#[test]
fn elite4s_conform() {
    let plain = EliteSettings {
        ports: 8,
        vcs: 2,
        buffer_flits: 32,
        selection: Selection::LeastLoaded,
        priority: None,
        roots: Roots::One,
        answer: Some(AnswerSettings {
            node: 1,
            switch: 7,
            repeats: 16,
            back_off: 20,
            attempts: 100,
            half_packet: 3_334,
            when_full: WhenFull::Hold,
        }),
        pipeline: ElitePipeline { receive: 2, route: 3, transmit: 2 },
        credit: 1,
        is_coded: false,
        format: PacketFormat {
            flit_bytes: 4,
            header_flits: 8,
            trailer_flits: 4,
            mtu_bytes: 128,
            block: Some(BlockFormat { bytes: 32, header_flits: 4 }),
        },
    };
    let mail = conforms::<Elite>(&[
        plain.clone(),
        EliteSettings { selection: Selection::First, answer: None, buffer_flits: 12, ..plain.clone() },
        EliteSettings {
            pipeline: ElitePipeline { receive: 0, route: 1, transmit: 1 },
            buffer_flits: 6,
            answer: Some(AnswerSettings {
                node: 1,
                switch: 1,
                repeats: 16,
                back_off: 20,
                attempts: 100,
                half_packet: 3_334,
                when_full: WhenFull::Hold,
            }),
            ..plain.clone()
        },
        // Whoever holds a path for a flit needs many.
        EliteSettings { format: ONE_FLIT, vcs: 4, ..plain },
    ]);
    assert!(mail.iter().eq(&["Answer", "Corrupt", "Credits", "Flits", "Head", "Pace"]), "{mail:?}");
}
