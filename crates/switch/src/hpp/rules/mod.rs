//! When the engine may take a shorter way: one rule a file, each with its condition, why it is sound, and a test of its
//! border.
//!
//! The shorter ways change nothing of what happens in which cycle; if one of these conditions were wrong, they would. The
//! campaign draws settings on both sides of each.

pub(super) mod batched;
pub(super) mod cut_through;
pub(super) mod posted;
pub(super) mod slack;

#[cfg(test)]
mod testing {
    use crate::hpp::timing::Timing;
    use crate::hpp::{AdvertSettings, BarrierSettings, HppSettings, MulticastSettings, Pipeline};
    use flitway_fabric::arbiter::ArbiterKind;
    use flitway_fabric::packet::PacketFormat;
    use flitway_fabric::{
        ANY_PAYLOAD, Barriers, Fabric, Faults, LaneChoice, LinkErrors, NicPorts, Rates, ReplyLanes,
    };
    use flitway_wiring::Groups;
    use flitway_wiring::routing::{Routing, RoutingKind, Selection};
    use flitway_wiring::topology::{Topology, TopologySettings};
    use std::sync::Arc;

    /// A fabric of one switch, with links of three cycles, and packets of 5 flits beside their payload.
    pub(super) fn fabric() -> Fabric<HppSettings> {
        let topology = Arc::new(Topology::build(&TopologySettings::Single { nodes: 4 }).unwrap());
        Fabric {
            latencies: vec![3; topology.links().len()],
            routing: Routing::new(RoutingKind::UpDown, topology).unwrap(),
            rails: 1,
            rates: Rates::full(),
            errors: LinkErrors::default(),
            faults: Faults::default(),
            groups: Groups::none(),
            barriers: Barriers::none(),
            payloads: ANY_PAYLOAD,
            nic_ports: NicPorts::Ideal,
            chip: HppSettings {
                ports: 4,
                vcs: 1,
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
            },
        }
    }

    pub(super) fn timing(fabric: &Fabric<HppSettings>) -> Timing {
        Timing::new(&fabric.chip, fabric)
    }
}
