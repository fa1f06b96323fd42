//! The way of a packet in stages, what each could carry and what it did: which one is full says why a network is
//! saturated.
//!
//! * **Source queue**: packets that sources create wait there for the NIC port. Configured is the offered load.
//! * **Injection**: the channels out of nodes.
//! * **Network**: the channels between switches.
//! * **Ejection**: the channels into nodes.
//!
//! A channel of full rate could carry a flit in every cycle: that is load 1. Headers and trailers count, adverts do not; so a
//! channel whose other direction is busy too is full somewhat below 1, the more so the shorter packets are. Channels are
//! compared by their *share*: what part of what they carry they did carry, by their rate, their good lanes and their window.

mod carried;

use crate::measure::{Measurement, Unsettled, Verdict};
use carried::Carried;
use flitway_engine::Cycle;
use flitway_fabric::Fabric;
use flitway_wiring::NodeId;
use flitway_wiring::topology::{End, Topology};
use flitway_wiring::{PortId, SwitchId};
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::collections::HashMap;

/// A channel that carries this part of what it can, with what adverts for the other direction take, is full.
pub const FULL: f64 = 0.95;

/// Channels that are named among the busiest.
const BUSIEST: usize = 10;

/// One direction of a link of one rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelEnds {
    /// The rail.
    pub rail: u32,
    /// Who sends.
    pub from: End,
    /// Who receives.
    pub to: End,
}

/// The channels of `fabric` in the order in which a [`Measurement`] has them; `None` for a port that is not wired.
pub fn channels(fabric: &Fabric) -> impl Iterator<Item = Option<ChannelEnds>> + '_ {
    let topology = fabric.topology();
    let of_switches = (0..fabric.rails).flat_map(move |rail| {
        (0..topology.switches()).map(SwitchId).flat_map(move |switch| {
            (0..topology.ports(switch)).map(PortId).map(move |port| {
                let (_, to) = topology.wire(switch, port)?;
                Some(ChannelEnds { rail, from: End::Switch(switch, port), to })
            })
        })
    });
    let of_nodes = (0..topology.nodes()).map(NodeId).flat_map(move |node| {
        let (switch, port) = topology.home(node);
        let (from, to) = (End::Node(node), End::Switch(switch, port));
        (0..fabric.rails).map(move |rail| Some(ChannelEnds { rail, from, to }))
    });
    of_switches.chain(of_nodes)
}

/// A stage that consists of channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Out of nodes.
    Injection,
    /// Between switches.
    Network,
    /// Into nodes.
    Ejection,
}

impl ChannelEnds {
    /// Its ends and its rail, in words, with the names of `topology`.
    #[must_use]
    pub fn named(&self, topology: &Topology) -> String {
        let [from, to] = [self.from, self.to].map(|end| topology.names().end(end));
        format!("{from} to {to}, rail {}", self.rail)
    }

    /// The stage that the channel belongs to.
    #[must_use]
    pub fn stage(&self) -> Stage {
        match (self.from, self.to) {
            (End::Node(_), _) => Stage::Injection,
            (_, End::Node(_)) => Stage::Ejection,
            _ => Stage::Network,
        }
    }
}

impl Stage {
    /// Where its channels are.
    #[must_use]
    pub fn place(self) -> &'static str {
        match self {
            Stage::Injection => "out of nodes",
            Stage::Network => "between switches",
            Stage::Ejection => "into nodes",
        }
    }
}

/// What limits a saturated network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The NIC ports that send do so at all that their channels can carry.
    Injection,
    /// A channel between switches is full.
    Network,
    /// A node receives all that its channel can carry.
    Ejection,
    /// No class of channels is full in the mean, and no single one stands out: packets wait for outputs that others have,
    /// behind packets that do, or for room.
    Arbitration,
    /// No class of channels is full, and senders wait to hear that packets of their windows have come.
    Window,
    /// As under arbitration, where a hundredth of the packets or more is lost for good or sent again.
    Faults,
}

impl Limit {
    /// Its word in tables and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Limit::Injection => "injection",
            Limit::Network => "network",
            Limit::Ejection => "ejection",
            Limit::Arbitration => "arbitration",
            Limit::Window => "window",
            Limit::Faults => "faults",
        }
    }

    /// The stage that is full, if one is.
    fn stage(self) -> Option<Stage> {
        match self {
            Limit::Injection => Some(Stage::Injection),
            Limit::Network => Some(Stage::Network),
            Limit::Ejection => Some(Stage::Ejection),
            Limit::Arbitration | Limit::Window | Limit::Faults => None,
        }
    }

    /// Whether the nodes are the limit, and no better fabric would help.
    #[must_use]
    pub fn is_endpoint(self) -> bool {
        matches!(self, Limit::Injection | Limit::Ejection)
    }

    /// What it means, for people.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Limit::Faults => {
                "what broke: many packets are lost for good or sent again, and no class of channels is full"
            }
            Limit::Injection => "endpoint-limited: the NIC ports send all that their channels can carry",
            Limit::Network => "a channel between switches is full",
            Limit::Ejection => "endpoint-limited: a node receives all that its channel can carry",
            Limit::Window => "links wait to hear that the packets of their windows have come",
            Limit::Arbitration => {
                "no class of channels is full in the mean: packets wait for outputs that others have, behind packets that do, \
                 or for room"
            }
        }
    }
}

/// The load of the channels of a stage, 1 for a flit in every cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StageLoad {
    /// How many there are.
    pub channels: u32,
    /// Their mean load.
    pub mean: f64,
    /// The mean over those that carry packets.
    pub mean_busy: f64,
    /// The load of the busiest.
    pub max: f64,
}

/// What a channel carried, and what it could have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChannelLoad {
    /// Which one.
    pub channel: ChannelEnds,
    /// Flits per cycle that it carried.
    pub load: f64,
    /// Flits per cycle that it could carry in that time: by its rate, its good lanes, and its window of packets.
    pub could: f64,
}

impl ChannelLoad {
    /// What it carried as a part of what it could. One that could carry nothing is not full.
    #[must_use]
    pub fn share(&self) -> f64 {
        if self.could > 0.0 { self.load / self.could } else { 0.0 }
    }
}

/// What was measured of the stages of a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Stages {
    /// Injection, network, ejection, in flits per cycle.
    pub loads: [StageLoad; 3],
    /// The same as parts of what each channel could carry.
    pub shares: [StageLoad; 3],
    /// The busiest channels, by their shares, busiest first.
    pub busiest: Vec<ChannelLoad>,
    /// What limits it, if it is saturated and has filled.
    pub limit: Option<Limit>,
    /// The channel that shows it: the fullest of the stage that limits, or of all.
    pub fullest: Option<Fullest>,
    /// What is slow about its link, where it is full (or nothing is) and carries less than others: `link "node 3" at 4 of 8
    /// lanes`.
    pub slow: Option<String>,
}

/// The fullest channel, and how it stands to the others of its stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Fullest {
    /// Which one.
    pub channel: ChannelEnds,
    /// The same in words, with the names that its ends have been given.
    pub name: String,
    /// About how much of it is taken, by adverts too.
    pub taken: f64,
    /// Whether there are adverts on it.
    pub has_adverts: bool,
    /// The same in the mean over the channels of its stage that carry packets.
    pub mean: f64,
    /// Whether it is fuller than those by more than chance.
    pub stands_out: bool,
}

impl Stages {
    /// The numbers of the object `channel_load` of a point: path and unit.
    pub const FIELDS: &[(&str, &str)] = &[
        ("channel_load.injection.mean", "flits per cycle"),
        ("channel_load.injection.max", "flits per cycle"),
        ("channel_load.injection.mean_share", "fraction of what a channel carries"),
        ("channel_load.injection.max_share", "fraction of what a channel carries"),
        ("channel_load.network.mean", "flits per cycle"),
        ("channel_load.network.max", "flits per cycle"),
        ("channel_load.network.mean_share", "fraction of what a channel carries"),
        ("channel_load.network.max_share", "fraction of what a channel carries"),
        ("channel_load.ejection.mean", "flits per cycle"),
        ("channel_load.ejection.max", "flits per cycle"),
        ("channel_load.ejection.mean_share", "fraction of what a channel carries"),
        ("channel_load.ejection.max_share", "fraction of what a channel carries"),
    ];

    /// What `measurement` says of `fabric`; `None` if its channels were not measured.
    #[must_use]
    pub fn new(fabric: &Fabric, measurement: &Measurement) -> Option<Self> {
        let sent_of = measurement.sent_of.as_ref()?;
        let carried = Carried::of_measurement(fabric, measurement);
        let all = named(&carried, sent_of);
        // While it changes, what will limit it is not yet full.
        let is_even = matches!(measurement.unsettled, None | Some(Unsettled::Imprecise));
        let limits = (measurement.verdict == Verdict::Saturated && is_even)
            .then(|| what_limits(&carried, measurement, &all));
        let Some((limit, fullest, slow)) = limits else { return Some(Stages::of(&all)) };
        Some(Stages { limit: Some(limit), fullest, slow, ..Stages::of(&all) })
    }

    /// The same of a whole run on `fabric`, in which channels have the loads `load_of` in the mean until cycle `end`, with
    /// packets of `flits` in the mean; nothing limits it.
    #[must_use]
    pub fn of_run(fabric: &Fabric, load_of: &[f64], end: Cycle, flits: f64) -> Self {
        Stages::of(&named(&Carried::new(fabric, [Cycle::ZERO, end], flits), load_of))
    }

    fn of(all: &[ChannelLoad]) -> Self {
        let loads: Vec<_> = all.iter().map(|it| (it.channel, it.load)).collect();
        let shares: Vec<_> = all.iter().map(|it| (it.channel, it.share())).collect();
        // Channels that are equally busy stay in order.
        let order = |&a: &usize, &b: &usize| shares[b].1.total_cmp(&shares[a].1).then(a.cmp(&b));
        let mut busiest: Vec<usize> = (0..all.len()).collect();
        if busiest.len() > BUSIEST {
            busiest.select_nth_unstable_by(BUSIEST, order);
            busiest.truncate(BUSIEST);
        }
        busiest.sort_unstable_by(order);
        let busiest = busiest.into_iter().map(|place| all[place]).collect();
        Stages {
            loads: stage_loads(&loads, &loads),
            shares: stage_loads(&shares, &loads),
            busiest,
            limit: None,
            fullest: None,
            slow: None,
        }
    }

    /// These, and the object of them that a result has.
    #[must_use]
    pub fn with_json(self, topology: &Topology) -> (Self, Value) {
        let value = self.to_json(topology);
        (self, value)
    }

    /// The object `channel_load` of a point.
    #[must_use]
    pub fn to_json(&self, topology: &Topology) -> Value {
        let names = ["injection", "network", "ejection"];
        let mut object = json!({});
        let stages = names.iter().zip(self.loads.iter().zip(&self.shares));
        for (name, (load, share)) in stages.filter(|(_, (load, _))| load.channels > 0) {
            object[name] = json!({
                "channels": load.channels,
                "mean": load.mean,
                "max": load.max,
                "mean_share": share.mean,
                "max_share": share.max,
            });
        }
        let busy = |busy: &ChannelLoad| {
            json!({
                "rail": busy.channel.rail,
                "class": class(topology, &busy.channel),
                "from": end(busy.channel.from),
                "to": end(busy.channel.to),
                "load": busy.load,
                "share": busy.share(),
            })
        };
        object["busiest"] = self.busiest.iter().map(busy).collect();
        object
    }
}

/// The wired channels of a fabric with what each could have `carried` and their loads, of those of all channels.
fn named(carried: &Carried<'_>, load_of: &[f64]) -> Vec<ChannelLoad> {
    channel_loads(carried, load_of).into_iter().flatten().collect()
}

/// The shares of all channels of `fabric`, of their loads in `measurement`; 0 for a port that is not wired. `None` if channels
/// were not measured.
pub(crate) fn shares_of(fabric: &Fabric, measurement: &Measurement) -> Option<Vec<f64>> {
    let carried = Carried::of_measurement(fabric, measurement);
    measurement.sent_of.as_ref().map(|load_of| shares(&carried, load_of))
}

/// The same of a whole run, in which channels have the loads `load_of` in the mean until cycle `end`.
pub(crate) fn shares_of_run(fabric: &Fabric, load_of: &[f64], end: Cycle, flits: f64) -> Vec<f64> {
    shares(&Carried::new(fabric, [Cycle::ZERO, end], flits), load_of)
}

fn shares(carried: &Carried<'_>, load_of: &[f64]) -> Vec<f64> {
    let loads = channel_loads(carried, load_of).into_iter();
    loads.map(|load| load.map_or(0.0, |load| load.share())).collect()
}

/// What each channel carried and could have; `None` for a port that is not wired.
fn channel_loads(carried: &Carried<'_>, load_of: &[f64]) -> Vec<Option<ChannelLoad>> {
    let all = || channels(carried.fabric()).zip(load_of);
    // What comes the other way matters to windows alone.
    let ends = |channel: ChannelEnds| (channel.rail, channel.from, channel.to);
    let back: HashMap<_, _> = if carried.has_windows() {
        all().filter_map(|(channel, &load)| Some((ends(channel?), load))).collect()
    } else {
        HashMap::new()
    };
    let of = |(channel, &load): (Option<ChannelEnds>, &f64)| {
        let channel = channel?;
        let back = back.get(&(channel.rail, channel.to, channel.from)).copied().unwrap_or(0.0);
        Some(ChannelLoad { channel, load, could: carried.of(&channel, back) })
    };
    all().map(of).collect()
}

/// The loads of the stages, of the loads of all channels, if `carried` is what they carry of packets.
fn stage_loads(all: &[(ChannelEnds, f64)], carried: &[(ChannelEnds, f64)]) -> [StageLoad; 3] {
    let (mut loads, mut busy) = ([StageLoad::default(); 3], [(0_u32, 0.0); 3]);
    for ((channel, load), (_, carried)) in all.iter().zip(carried) {
        let stage = &mut loads[channel.stage() as usize];
        stage.channels += 1;
        stage.mean += load;
        stage.max = stage.max.max(*load);
        if *carried > 0.0 {
            let (count, sum) = &mut busy[channel.stage() as usize];
            (*count, *sum) = (*count + 1, *sum + load);
        }
    }
    for (stage, (count, sum)) in loads.iter_mut().zip(busy) {
        stage.mean_busy = sum / f64::from(count.max(1));
        stage.mean /= f64::from(stage.channels.max(1));
    }
    loads
}

/// What limits a saturated point, whose channels have the loads `all`, the channel that shows it, and what is slow about its
/// link, if that is why.
fn what_limits(
    carried: &Carried<'_>,
    measurement: &Measurement,
    all: &[ChannelLoad],
) -> (Limit, Option<Fullest>, Option<String>) {
    let (fabric, total) = (carried.fabric(), &measurement.total);
    let flits = flits_of(measurement);
    let packet = total.delivered_flits as f64 / packets_of(measurement) / measurement.duration.max(1) as f64;
    let share = fabric.chip.credit_share(total.payload as f64 / total.packets.max(1) as f64, flits);
    let back: HashMap<_, _> =
        all.iter().map(|it| ((it.channel.rail, it.channel.from, it.channel.to), it.load)).collect();
    // As a part of what the channel can carry.
    let occupied = |it: &ChannelLoad| {
        let ChannelEnds { rail, from, to } = it.channel;
        (it.channel, it.share() + share * back.get(&(rail, to, from)).unwrap_or(&0.0))
    };
    let occupied: Vec<(ChannelEnds, f64)> = all.iter().map(occupied).collect();
    // What each node receives, and the most that one of its channels is occupied.
    let mut received_by = vec![(0.0, 0.0_f64); fabric.nodes() as usize];
    for (it, (_, occupied)) in all.iter().zip(&occupied) {
        if let End::Node(node) = it.channel.to {
            let (all, most) = &mut received_by[node.index()];
            (*all, *most) = (*all + it.load, most.max(*occupied));
        }
    }
    let is_denied = |(&wanted, &(received, most)): (&f64, &(f64, f64))| {
        most >= FULL && stands_out(wanted, received, packet)
    };
    // Of packets for groups and sets of nodes it is not known what each node is to receive.
    let is_denied =
        total.operations.copies > 0 || measurement.wanted_by.iter().zip(&received_by).any(is_denied);
    // A channel that carries nothing but adverts is none that is used.
    let carried_of: Vec<_> = all.iter().map(|it| (it.channel, it.load)).collect();
    let loads = stage_loads(&occupied, &carried_of);
    let taken_by = || all.iter().zip(occupied.iter().map(|(_, taken)| *taken));
    let is_slow = |(it, taken): (&ChannelLoad, f64)| {
        it.channel.stage() == Stage::Injection && taken >= FULL && carried.slow(it).is_some()
    };
    let limit = match limit(&loads, packet, is_denied) {
        // Nodes whose links are slower than others send all that they can.
        Limit::Arbitration if taken_by().any(is_slow) => Limit::Injection,
        Limit::Arbitration if has_faults(measurement) => Limit::Faults,
        limit => limit,
    };
    let shows = |(it, _): &(&ChannelLoad, f64)| limit.stage().is_none_or(|stage| it.channel.stage() == stage);
    // The slowest of those that are full, and the first of equals.
    let rank = |&(it, taken): &(&ChannelLoad, f64)| [taken.min(FULL), -it.could, taken];
    let is_above = |a: &_, b: &_| rank(a).partial_cmp(&rank(b)).unwrap_or(Ordering::Equal);
    let fullest = taken_by().filter(shows).rev().max_by(is_above);
    let limit = match fullest {
        Some((it, _)) if limit == Limit::Arbitration && carried.is_windowed(it) => Limit::Window,
        _ => limit,
    };
    let beside = |(it, taken): (&ChannelLoad, f64)| {
        let mean = loads[it.channel.stage() as usize].mean_busy;
        Fullest {
            channel: it.channel,
            name: it.channel.named(fabric.topology()),
            taken,
            has_adverts: share > 0.0,
            mean,
            stands_out: stands_out(taken, mean, packet),
        }
    };
    // Behind packets that wait for a slow channel, others wait as well, so that it is not always full itself.
    let is_full = |(_, taken): &(_, f64)| *taken >= FULL || limit.stage().is_none();
    let slow = fullest.filter(is_full).and_then(|(it, _)| carried.slow(it));
    (limit, fullest.map(beside), slow)
}

/// Packets that were delivered in the measured time, copies too; at least 1.
fn packets_of(measurement: &Measurement) -> f64 {
    let total = &measurement.total;
    (total.packets + total.operations.copies).max(1) as f64
}

/// Flits of such a packet in the mean.
fn flits_of(measurement: &Measurement) -> f64 {
    measurement.total.delivered_flits as f64 / packets_of(measurement)
}

/// Whether of a hundred packets one or more is lost for good, or sent again on a link.
fn has_faults(measurement: &Measurement) -> bool {
    let counters = &measurement.counters;
    100 * counters.lost.sum() >= counters.packets_created.max(1)
        || 100 * counters.link.repeated >= counters.packet_hops.max(1)
}

/// Standard deviations by which the busiest channel must stand out from a stage that is not full as a whole: the busiest of
/// some thousand equal ones is four above their mean by chance.
const OUTSTANDING: f64 = 5.0;

/// Whether a load of `max` is not one by chance among those of `mean`, when a packet takes the part `packet` of the measured
/// time: as many packets come at random to a channel of the mean load.
fn stands_out(max: f64, mean: f64, packet: f64) -> bool {
    max - mean > OUTSTANDING * (mean * packet).sqrt()
}

/// If all nodes that send do so at the full rate, nothing behind them limits more. Otherwise it is the full stage that comes
/// last on the way: those before it are full because of it. `packet` is the part of the measured time that a packet takes.
/// `is_denied`: more is created for a node with a full channel than it receives. One that receives all that happens to be sent
/// to it limits nobody while something else is full.
fn limit(loads: &[StageLoad; 3], packet: f64, is_denied: bool) -> Limit {
    let [injection, network, ejection] = loads;
    let is_full = |stage: &StageLoad| {
        stage.mean_busy >= FULL || stage.max >= FULL && stands_out(stage.max, stage.mean_busy, packet)
    };
    if injection.mean_busy >= FULL {
        Limit::Injection
    } else if ejection.mean_busy >= FULL || is_full(ejection) && (is_denied || !is_full(network)) {
        Limit::Ejection
    } else if is_full(network) {
        Limit::Network
    } else {
        Limit::Arbitration
    }
}

/// The class of the link of a channel.
#[must_use]
pub fn class<'a>(topology: &'a Topology, channel: &ChannelEnds) -> &'a str {
    let link = topology.link_of(channel.from);
    let link = link.map(|link| &topology.links()[link.index()]);
    link.map_or("", |link| &topology.classes()[link.class as usize])
}

fn end(end: End) -> Value {
    match end {
        End::Node(node) => json!({ "node": node.0 }),
        End::Switch(switch, port) => json!({ "switch": switch.0, "port": port.0 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_that_carries_adverts_alone_does_not_count_as_used() {
        let injection = |node: u32, load| {
            let (from, to) = (End::Node(NodeId(node)), End::Switch(SwitchId(0), PortId(node)));
            (ChannelEnds { rail: 0, from, to }, load)
        };
        let carried = [injection(0, 0.5), injection(1, 0.75), injection(2, 0.0)];
        let taken = [injection(0, 0.5), injection(1, 1.0), injection(2, 0.25)];
        let [injection, ..] = stage_loads(&taken, &carried);
        assert_eq!((injection.mean, injection.mean_busy, injection.max), (1.75 / 3.0, 0.75, 1.0));
    }

    #[test]
    fn the_limit_is_the_last_full_stage_unless_all_that_send_are_at_their_limit() {
        let stage = |mean_busy, max| StageLoad { channels: 8, mean: mean_busy, mean_busy, max };
        let of = |injection, network, ejection| limit(&[injection, network, ejection], 0.001, true);
        assert_eq!(of(stage(0.97, 0.97), stage(0.5, 0.97), stage(0.5, 0.97)), Limit::Injection);
        assert_eq!(of(stage(0.3, 0.97), stage(0.5, 0.97), stage(0.5, 0.97)), Limit::Ejection);
        assert_eq!(of(stage(0.3, 0.97), stage(0.5, 0.97), stage(0.5, 0.9)), Limit::Network);
        assert_eq!(of(stage(0.3, 0.5), StageLoad::default(), stage(0.5, 0.9)), Limit::Arbitration);
        // A node receives much because much is sent to it, and no more than that.
        let loads = [stage(0.3, 0.96), stage(0.2, 0.99), stage(0.2, 0.96)];
        assert_eq!(
            (limit(&loads, 0.001, true), limit(&loads, 0.001, false)),
            (Limit::Ejection, Limit::Network)
        );
        // One of many that is full by chance is not what limits.
        assert_eq!(of(stage(0.3, 0.5), StageLoad::default(), stage(0.85, 0.96)), Limit::Arbitration);
    }
}
