//! A complete description of a fabric: what is wired, what its tables say, and the switches.

pub mod chip;

use crate::link::lanes::Lanes;
use crate::{BarrierId, Barriers, Faults, LinkErrors, NicPorts, Rate, Rates};
use chip::{Chip, Windowed};
use flitway_wiring::routing::Routing;
use flitway_wiring::topology::{End, Topology};
use flitway_wiring::{GroupId, Groups, NodeId, NodeSet, SwitchId};
use std::ops::{Deref, RangeInclusive};

/// Nothing is promised of what packets carry.
pub const ANY_PAYLOAD: RangeInclusive<u32> = 0..=u32::MAX;

/// A complete description of a fabric of switches of one kind: nothing in it has a default.
///
/// `Fabric` alone stands for one of any kind, as everything above the loop asks it; one of a known kind can be asked the same.
#[derive(Clone, Debug)]
pub struct Fabric<C: ?Sized = dyn Chip> {
    /// The routing, with the topology of one rail.
    pub routing: Routing,
    /// Identical planes; each node has a NIC port in every one.
    pub rails: u32,
    /// Cycles from wire to wire, per link of the topology; at least 1.
    pub latencies: Vec<u32>,
    /// Flits per cycle, per channel of the topology.
    pub rates: Rates,
    /// What links do to flits.
    pub errors: LinkErrors,
    /// What breaks, and when.
    pub faults: Faults,
    /// What the tables of the switches say of multicast groups.
    pub groups: Groups,
    /// What their registers say of barrier groups.
    pub barriers: Barriers,
    /// Payload bytes of the packets which nodes send: a promise, without which ([`ANY_PAYLOAD`]) the simulation takes longer.
    /// NIC ports of HPP Switches panic at packets with more or fewer.
    pub payloads: RangeInclusive<u32>,
    /// How NIC ports deal with the NICs behind them.
    pub nic_ports: NicPorts,
    /// The switches, and the link layer that they share with the NIC ports.
    pub chip: C,
}

impl<C: Chip + 'static> Deref for Fabric<C> {
    type Target = Fabric;

    fn deref(&self) -> &Fabric {
        self
    }
}

impl Fabric<()> {
    /// The same with switches, where only they were missing.
    #[must_use]
    pub fn with_chip<C>(self, chip: C) -> Fabric<C> {
        let Fabric {
            routing,
            rails,
            latencies,
            rates,
            errors,
            faults,
            groups,
            barriers,
            payloads,
            nic_ports,
            chip: (),
        } = self;
        Fabric {
            routing,
            rails,
            latencies,
            rates,
            errors,
            faults,
            groups,
            barriers,
            payloads,
            nic_ports,
            chip,
        }
    }
}

impl<C: ?Sized> Fabric<C> {
    /// The topology of one rail.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        self.routing.topology()
    }

    /// Number of nodes.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.topology().nodes()
    }
}

impl Fabric {
    /// Whether those channels alone are slow whose links have bad lanes from the start, and as slow as they make them.
    #[must_use]
    pub fn lanes_explain_rates(&self) -> bool {
        let mut rates = Rates::full();
        let mut set = |lanes: &Lanes| self.faults.first().set(self.topology(), lanes, &mut rates);
        self.chip.training().is_none_or(|training| set(&training.lanes)) && rates == self.rates
    }

    /// Flits per cycle that the channel from `sender` carries at most of packets of `flits` flits: by its rate, and by what its
    /// sender may send before it has to hear of it, where `back` flits per cycle come the other way.
    #[must_use]
    pub fn carries(&self, sender: End, flits: u32, back: f64) -> f64 {
        let latency = self.topology().link_of(sender).map_or(0, |link| self.latencies[link.index()]);
        let channel = Windowed {
            latency,
            from_node: matches!(sender, End::Node(_)),
            to_node: matches!(self.receiver(sender), Some(End::Node(_))),
            is_answered: back > 0.0,
        };
        self.rates.of(sender).as_f64().min(self.chip.share_of_window(channel, flits))
    }

    /// Who receives what `sender` sends; `None` at a port where nothing is wired.
    #[must_use]
    pub fn receiver(&self, sender: End) -> Option<End> {
        match sender {
            End::Node(node) => {
                let (switch, port) = self.topology().home(node);
                Some(End::Switch(switch, port))
            }
            End::Switch(switch, port) => self.topology().wire(switch, port).map(|(_, end)| end),
        }
    }

    /// Memory that a simulation of it needs without packets and endpoints, about, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let topology = self.topology();
        let ports: u64 =
            (0..topology.switches()).map(|switch| u64::from(topology.ports(SwitchId(switch)))).sum();
        let [switch_port, nic_port] = self.bytes_per_port();
        u64::from(self.rails) * (ports * switch_port + u64::from(self.nodes()) * nic_port)
    }

    /// The same of a switch port and of a NIC port.
    #[must_use]
    pub fn bytes_per_port(&self) -> [u64; 2] {
        self.chip.bytes_per_port(self)
    }

    /// Packet latency in cycles from `source` to `destination` when nothing is in the way, in closed form, and the
    /// number of hops. Of slots that slow channels wait for nothing is counted.
    #[must_use]
    pub fn zero_load_cycles(&self, source: NodeId, destination: NodeId, payload_bytes: u32) -> (u64, u32) {
        let topology = self.topology();
        let mut links = u64::from(self.latencies[topology.node_link(source).index()]);
        let mut hops = 0;
        let mut slow = self.slow_cycles(self.rates.of(End::Node(source)), payload_bytes);
        for (switch, hop) in self.routing.path(source, destination) {
            slow = self
                .slower(slow, self.slow_cycles(self.rates.of(End::Switch(switch, hop.port)), payload_bytes));
            let link = topology.wire(switch, hop.port).map(|(link, _)| link);
            links += link.map_or(0, |link| u64::from(self.latencies[link.index()]));
            hops += 1;
        }
        (links + slow + self.chip.zero_load_cycles(hops, payload_bytes), hops)
    }

    /// Cycles that a packet of `payload_bytes` takes longer on a channel of `rate` than on one of the rate of the chip.
    #[must_use]
    pub fn slow_cycles(&self, rate: Rate, payload_bytes: u32) -> u64 {
        let usual = self.chip.link_rate();
        if rate == usual {
            return 0;
        }
        let rest = u64::from(self.chip.format().packet_flits(payload_bytes) - 1);
        let [slow, usual] = [rate, usual].map(|rate| {
            let (flits, cycles) = rate.ratio();
            (rest * u64::from(cycles)).div_ceil(flits.into())
        });
        slow.saturating_sub(usual)
    }

    /// What a channel and the next one on the way of a packet cost together, if alone they do so many cycles.
    #[must_use]
    pub fn slower(&self, first: u64, next: u64) -> u64 {
        if self.chip.moves_whole_packets() { first + next } else { first.max(next) }
    }

    /// No less than the packet latency between any two nodes when nothing is in the way.
    #[must_use]
    pub fn zero_load_cycles_max(&self, payload_bytes: u32) -> u64 {
        let hops = self.routing.hops_max();
        let longest = u64::from(self.latencies.iter().copied().max().unwrap_or(0));
        let slow = self.rates.iter().map(|rate| self.slow_cycles(rate, payload_bytes)).max().unwrap_or(0);
        (longest + slow) * u64::from(hops + 1) + self.chip.zero_load_cycles(hops, payload_bytes)
    }

    /// See [`Chip::zero_load_copies`].
    #[must_use]
    pub fn zero_load_copies(
        &self,
        source: NodeId,
        group: GroupId,
        root: u32,
        payload_bytes: u32,
    ) -> Option<Vec<(NodeId, u64)>> {
        self.chip.zero_load_copies(self, source, group, root, payload_bytes)
    }

    /// See [`Chip::zero_load_worm`].
    #[must_use]
    pub fn zero_load_worm(
        &self,
        source: NodeId,
        set: &NodeSet,
        payload_bytes: u32,
    ) -> Option<Vec<(NodeId, u64, u32)>> {
        self.chip.zero_load_worm(self, source, set, payload_bytes)
    }

    /// See [`Chip::zero_load_answer`].
    #[must_use]
    pub fn zero_load_answer(&self, source: NodeId, set: &NodeSet, payload_bytes: u32) -> Option<u64> {
        self.chip.zero_load_answer(self, source, set, payload_bytes)
    }

    /// See [`Chip::packet_interval`].
    #[must_use]
    pub fn packet_interval(&self, to: NodeId, payload_bytes: u32) -> u64 {
        self.chip.packet_interval(self, to, payload_bytes)
    }

    /// See [`Chip::zero_load_barrier_cycles`].
    #[must_use]
    pub fn zero_load_barrier_cycles(&self, group: BarrierId, last: NodeId, member: NodeId) -> Option<u64> {
        self.chip.zero_load_barrier_cycles(self, group, last, member)
    }
}
