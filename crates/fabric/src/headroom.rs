//! Credit headroom: how much of a buffer a link needs so that credits never keep it waiting.
//!
//! A sender learns a round trip late that the receiver has room again. What follows is the text of the HPP Switch
//! ([`hpp`](crate::hpp)) for one virtual channel that has the link to itself, while nothing goes the other way and nothing
//! stands in the way behind the receiver: a packet of `n` flits is granted every `n` cycles. Less than that leaves the link
//! idle between packets. Adverts that wait behind packets on the reverse channel need up to a packet more.

use crate::hpp::{BarrierSettings, HppSettings};
use crate::sp::SpSettings;
use crate::{Fabric, SwitchSettings};
use flitway_wiring::topology::{End, Topology};

/// What the link of the longest round trip needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// Cycles that a flit spends on the link.
    pub latency: u32,
    /// Cycles from the grant of a packet until its first credit unit can be granted again.
    pub round_trip: u32,
    /// Credit units that packets of the given size need for full bandwidth.
    pub units_needed: u32,
    /// Credit units that there are.
    pub units: u32,
}

/// The two ends of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// From a node to a switch.
    IntoSwitch,
    /// From a switch to a node.
    IntoNode,
    /// Between two switches.
    Switches,
}

impl Headroom {
    /// Of a channel between `ends` whose link takes `latency` cycles, for packets of `payload_bytes`.
    #[must_use]
    pub fn new(settings: &HppSettings, ends: Ends, latency: u32, payload_bytes: u32) -> Self {
        let (pipeline, format) = (&settings.pipeline, &settings.format);
        // From the grant to the first flit on the wire. A NIC grants when its link decides. A link that is idle for the one
        // cycle that show-ahead saves carries flits without a gap all the same.
        let transmit = pipeline.transmit - u32::from(settings.show_ahead);
        let send = match ends {
            Ends::IntoSwitch => transmit,
            Ends::IntoNode | Ends::Switches => 1 + pipeline.transmit_buffer + transmit,
        };
        // From the wire of the receiver until the flit leaves its buffer.
        let receive = match ends {
            Ends::IntoNode => pipeline.receive,
            Ends::IntoSwitch | Ends::Switches => pipeline.receive + pipeline.queue + pipeline.route,
        };
        // From there to the sender's new limit: the reverse channel is idle, so that a start flit goes ahead.
        let ahead = u32::from(settings.show_ahead && settings.advert.flits > 0);
        let last_flit = settings.advert.flits.max(1) - 1;
        let back = 1 + pipeline.transmit - ahead + last_flit + latency + pipeline.receive;
        let flits = format.packet_flits(payload_bytes);
        let taken = format.payload_flits(payload_bytes).div_ceil(settings.unit_flits).max(1);
        // The last unit of a packet is complete with its last flit.
        let complete = |unit: u32| {
            let full = format.header_flits + settings.unit_flits * (unit + 1) - 1;
            if unit + 1 == taken { flits - 1 } else { full }
        };
        let returns = |unit: u32| send + latency + receive + complete(unit) + back;
        // Whoever is granted finds out the units of each packet before that have not come back: of the one before, those
        // that take more than the time of one packet, of the one before that, of two.
        let still_out = |unit: u32| (returns(unit) - 1) / flits;
        Headroom {
            latency,
            round_trip: returns(0),
            units_needed: taken + (0..taken).map(still_out).sum::<u32>(),
            units: settings.buffer_units,
        }
    }

    /// The same in `fabric`, whichever its switches are, for packets of the MTU.
    #[must_use]
    pub fn of_fabric(fabric: &Fabric) -> Self {
        let longest = Longest::of(fabric.topology(), &fabric.latencies);
        match &fabric.switch {
            SwitchSettings::Hpp(settings) => {
                Headroom::of_longest(settings, longest, settings.format.mtu_bytes)
            }
            SwitchSettings::Sp(settings) => Headroom::of_flits(settings, longest),
        }
    }

    /// Of the longest of these links where each flit takes a credit: one for each cycle until it comes back. The links into
    /// nodes need none.
    #[must_use]
    pub fn of_flits(settings: &SpSettings, longest: Longest) -> Self {
        let latency = longest.switches.map_or(longest.nodes, |switches| switches.max(longest.nodes));
        let round_trip = settings.pipeline.depth() + settings.credit + 2 * latency;
        Headroom { latency, round_trip, units_needed: round_trip, units: settings.fifo_flits }
    }

    /// Of the channel that needs most, where these are the longest links.
    #[must_use]
    pub fn of_longest(settings: &HppSettings, longest: Longest, payload_bytes: u32) -> Self {
        let of = |ends, latency| Headroom::new(settings, ends, latency, payload_bytes);
        let nodes = [Ends::IntoSwitch, Ends::IntoNode].map(|ends| of(ends, longest.nodes));
        let switches = longest.switches.map(|latency| of(Ends::Switches, latency));
        let worse = |one: Headroom, other: Headroom| {
            let need = |headroom: Headroom| (headroom.units_needed, headroom.round_trip);
            if need(other) > need(one) { other } else { one }
        };
        nodes.into_iter().chain(switches).fold(nodes[0], worse)
    }
}

/// Cycles from the combine of a switch or NIC port until its combine-ACK has come back, at the earliest, over the worst of
/// these links: when the retransmission timer expires before, each combine is sent twice.
#[must_use]
pub fn barrier_answer(settings: &HppSettings, longest: Longest) -> u32 {
    let pass = settings.barrier_pass_cycles() as u32;
    let transmit = settings.pipeline.transmit - u32::from(settings.show_ahead);
    let node = transmit + pass + BarrierSettings::PACKET_FLITS + 2 * longest.nodes;
    longest.switches.map_or(node, |latency| node.max(2 * (pass + latency)))
}

/// Cycles of the longest links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Longest {
    /// Between nodes and switches.
    pub nodes: u32,
    /// Between switches; `None` if there are none.
    pub switches: Option<u32>,
}

impl Longest {
    /// Of `topology`, whose links take `latencies`.
    #[must_use]
    pub fn of(topology: &Topology, latencies: &[u32]) -> Self {
        let mut longest = Longest { nodes: 0, switches: None };
        for (link, &latency) in topology.links().iter().zip(latencies) {
            if link.ends.iter().any(|end| matches!(end, End::Node(_))) {
                longest.nodes = longest.nodes.max(latency);
            } else {
                longest.switches = longest.switches.max(Some(latency));
            }
        }
        longest
    }
}
