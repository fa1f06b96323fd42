//! What theory says of the channels of a machine before anything runs: whether packets can wait for each other for ever,
//! what a buffer must hold, and how busy traffic keeps each channel.
//!
//! Both follow from the routing relation. The walk takes time in proportion to nodes x switches, and the loads to the square
//! of the nodes; machines that are too large for that get no answer, and never a guess.

use crate::facts::has_rates;
use crate::theory::rate_between_switches;
use flitway_fabric::headroom::{Headroom, Longest};
use flitway_fabric::{Fabric, ReplyLanes};
use flitway_machine::Machine;
use flitway_wiring::Destination;
use flitway_wiring::NodeId;
use flitway_wiring::dependency::{Channel, Cycle, Dependencies, Dependency, Loads, Loss, Lost, Verdict};
use flitway_wiring::routing::load_of_shortest;
use flitway_wiring::topology::{End, Topology};
use flitway_workload::traffic::Traffic;
use flitway_workload::traffic::destination::Destinations;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Nodes x switches up to which dependencies are walked: some seconds, half a minute for tori without structure.
const STEPS_MAX: u64 = 1 << 29;

/// Nodes up to which loads are computed.
pub const LOADS_NODES_MAX: u32 = 4_096;

/// Ways up to which they are, where packets between two nodes go different ways.
const WAYS_MAX: u64 = 1 << 28;

/// Channels that are named among the busiest.
const BUSIEST: usize = 5;

/// Loads that differ by no more are equal: sums of many fractions are rounded.
const ROUNDING: f64 = 1e-9;

/// What replies wait for, where packets are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// Nodes take any number of requests at once, and replies wait there.
    Unlimited,
    /// The reply queue of a NIC holds as many as there can be requests under way to it.
    Fit,
    /// A NIC that is full refuses requests, which are sent again.
    Refused,
    /// A NIC keeps requests until there is room for their replies, which have virtual channels of their own.
    Own,
    /// The same on the same virtual channels.
    Shared,
}

impl Answers {
    /// How packets of `traffic` are answered on `machine`, if they are.
    #[must_use]
    pub fn new(machine: &Machine, traffic: &Traffic) -> Option<Self> {
        let replies = traffic.replies()?;
        let Some(places) = machine.nic.model.reply_places() else { return Some(Answers::Unlimited) };
        let under_way =
            replies.outstanding.map(|each| each.saturating_mul(senders_max(traffic.destinations())));
        if machine.switch.chip().offers().refuses {
            return Some(Answers::Refused);
        }
        Some(match machine.nic.reply_lanes {
            ReplyLanes::Own => Answers::Own,
            ReplyLanes::Shared if under_way.is_some_and(|requests| requests <= places) => Answers::Fit,
            ReplyLanes::Shared => Answers::Shared,
        })
    }

    /// The word for it in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Answers::Unlimited => "unlimited",
            Answers::Fit => "fit",
            Answers::Refused => "refused",
            Answers::Own => "own",
            Answers::Shared => "shared",
        }
    }
}

/// The most nodes that send to one.
fn senders_max(destinations: &Destinations) -> u32 {
    let nodes = || (0..destinations.nodes()).map(NodeId);
    let senders = |node| nodes().filter(|&source| destinations.weight(source, node) > 0.0).count() as u32;
    if destinations.is_uniform() { destinations.nodes() - 1 } else { nodes().map(senders).max().unwrap_or(0) }
}

/// Who waits for whom in a rail.
#[derive(Clone, Debug)]
pub struct Waiting {
    dependencies: Dependencies,
    /// What replies wait for, if packets are answered.
    pub answers: Option<Answers>,
    /// Channels that some packet takes, by class.
    pub channels: u64,
    /// Whether they can wait for each other for ever.
    pub verdict: Verdict,
}

impl Waiting {
    /// Who waits for whom in `fabric`, where packets are answered so, if they are; `None` if it is too large to walk.
    #[must_use]
    pub fn new(fabric: &Fabric, answers: Option<Answers>) -> Option<Self> {
        let topology = fabric.topology();
        let starts = fabric.routing.starts_max();
        if u64::from(topology.nodes()) * u64::from(topology.switches()) * starts > STEPS_MAX {
            return None;
        }
        let dependencies = match answers {
            Some(Answers::Shared) => Dependencies::with_replies(&fabric.routing),
            _ => Dependencies::of(&fabric.routing),
        };
        let (channels, verdict) = (dependencies.channels().count() as u64, dependencies.verdict());
        Some(Waiting { dependencies, answers, channels, verdict })
    }

    /// Number of dependencies.
    #[must_use]
    pub fn dependencies(&self) -> u64 {
        self.dependencies.len()
    }

    /// A packet that does not arrive; `None` if every node reaches every other.
    #[must_use]
    pub fn lost(&self) -> Option<Lost> {
        self.dependencies.lost()
    }

    /// The cycle, if there is one.
    #[must_use]
    pub fn cycle(&self) -> Option<&Cycle> {
        match &self.verdict {
            Verdict::Cyclic(cycle) => Some(cycle),
            Verdict::Free(_) => None,
        }
    }

    /// As an object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut waiting = json!({
            "channels": self.channels,
            "dependencies": self.dependencies(),
            "free": self.cycle().is_none(),
            "all_reachable": self.lost().is_none(),
        });
        if let Some(answers) = self.answers {
            waiting["replies"] = json!(answers.name());
        }
        if let Some(cycle) = self.cycle() {
            waiting["cycle"] = cycle.dependencies.iter().map(dependency_json).collect();
            waiting["smallest"] = json!(cycle.is_smallest);
        }
        if let Some(lost) = self.lost() {
            waiting["lost"] = json!({
                "source": lost.source.0,
                "destination": lost.destination.0,
                "how": how(lost.how),
            });
        }
        waiting
    }
}

/// What becomes of a packet that is lost, in words.
#[must_use]
pub fn how(loss: Loss) -> String {
    match loss {
        Loss::Unwired(switch, port) => {
            format!("it is sent by port {port} of switch {switch}, which has no link")
        }
        Loss::WrongNode(node) => format!("it comes to node {node}"),
        Loss::NoEscape(switch) => {
            format!("in switch {switch} it may take no escape channel, and so it can wait for ever")
        }
        Loss::Circles(channel) => format!("it takes {} again and again", name(channel.sender)),
    }
}

fn name(sender: End) -> String {
    match sender {
        End::Node(node) => format!("the link of node {node}"),
        End::Switch(switch, port) => format!("port {port} of switch {switch}"),
    }
}

/// What credits need on the longest link of `fabric`, for packets of the MTU.
#[must_use]
pub fn headroom(fabric: &Fabric) -> Headroom {
    fabric.chip.headroom(Longest::of(fabric.topology(), &fabric.latencies))
}

/// That as an object.
#[must_use]
pub fn headroom_json(headroom: Headroom) -> Value {
    json!({
        "link_cycles": headroom.latency,
        "round_trip_cycles": headroom.round_trip,
        "units_needed": headroom.units_needed,
        "units": headroom.units,
    })
}

fn dependency_json(dependency: &Dependency) -> Value {
    let Dependency { from, to, witness } = dependency;
    let destination = match witness.destination {
        Destination::Node(node) => json!({ "node": node.0 }),
        Destination::Group(group, root) => json!({ "group": group.0, "root": root }),
        Destination::Nodes(id) => json!({ "nodes": id.nodes }),
    };
    json!({
        "from": channel_json(*from),
        "to": channel_json(*to),
        "source": witness.source.0,
        "destination": destination,
    })
}

fn channel_json(channel: Channel) -> Value {
    let mut value = end_json(channel.sender);
    value["class"] = json!(channel.class);
    value
}

/// The sender of a channel as an object.
#[must_use]
pub fn end_json(end: End) -> Value {
    match end {
        End::Node(node) => json!({ "node": node.0 }),
        End::Switch(switch, port) => json!({ "switch": switch.0, "port": port.0 }),
    }
}

/// How busy traffic keeps the channels of a rail when every node sends at its full rate, if there were room for all of it:
/// 1 is a flit in every cycle. Header and trailer count, adverts do not; classes of virtual channels share a channel.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelLoads {
    /// Channels: two for each link.
    pub channels: u32,
    /// Mean load.
    pub mean: f64,
    /// Load of the busiest channel.
    pub max: f64,
    /// The offered load at which the fullest channel is full, at most 1.
    pub bound: f64,
    /// Whether switches select among outputs, and each was given an equal part of what comes there: then `bound` is no limit,
    /// as switches that select by load can share it out better.
    pub are_shared: bool,
    /// That load if all ways were shortest ones, balanced, whether or not packets could then wait for each other for ever; no
    /// less than `bound`, unless packets go by way of others. `None` where channels between switches have several rates.
    pub shortest_bound: Option<f64>,
    /// Whether some channels carry less than a flit in every cycle, or than what their coding leaves of it, or windows allow
    /// less.
    pub has_rates: bool,
    /// What windows of packets that are not acknowledged allow, where they allow less than some channels carry.
    pub window: Option<Allowed>,
    /// By class of link and direction, fullest first.
    pub classes: Vec<ClassLoad>,
    /// Some of those that are as full as the fullest, in order.
    pub busiest: Vec<End>,
    /// And how many there are.
    pub busiest_count: u32,
}

/// What part of a full channel the senders may take at most whose window closes first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allowed {
    /// Where packets come the other way, and acknowledgements go with them at once.
    pub answered: f64,
    /// Where none do, and acknowledgements go alone, after their time.
    pub alone: f64,
}

/// The loads of one direction of a class of links.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassLoad {
    /// The class of links: `node`, `level-1`, `dimension-0`.
    pub class: String,
    /// The direction: `out of nodes`, `into nodes`, `up`, `down`, `higher`, `lower`, or `either`.
    pub direction: &'static str,
    /// How many channels there are.
    pub channels: u32,
    /// Their mean load.
    pub mean: f64,
    /// The load of the busiest of them.
    pub max: f64,
    /// The load of the fullest of them, as a part of what it can carry.
    pub fullest: f64,
}

/// Whether loads would take too long.
#[must_use]
pub fn has_too_many_ways(fabric: &Fabric) -> bool {
    let nodes = u64::from(fabric.topology().nodes());
    nodes > LOADS_NODES_MAX.into() || nodes * nodes * fabric.routing.starts_max() > WAYS_MAX
}

impl ChannelLoads {
    /// The loads of `traffic`, replies included; `None` for a machine that is too large, or whose packets do not all arrive.
    #[must_use]
    pub fn new(waiting: &Waiting, fabric: &Fabric, traffic: &Traffic) -> Option<Self> {
        let topology = fabric.topology();
        let is_unknown = has_too_many_ways(fabric) || fabric.routing.is_adaptive();
        if is_unknown || waiting.lost().is_some() {
            return None;
        }
        let weight = |source: NodeId, node: NodeId| traffic.weight(source, node);
        let Loads { of, are_shared } = waiting.dependencies.loads(weight);
        let mut loads: Vec<(End, f64)> = Vec::new();
        for (channel, load) in of {
            match loads.last_mut() {
                Some((sender, total)) if *sender == channel.sender => *total += load,
                _ => loads.push((channel.sender, load)),
            }
        }
        let flits = fabric.chip.format().packet_flits(traffic.sizes().mean().round().max(1.0) as u32);
        let carried = carried(fabric, &loads, flits);
        let fullness = |&(sender, load): &(End, f64)| load / carried(sender);
        let window = window(fabric, &loads, flits);
        let fullest_of = |of_nodes: bool| {
            let of = loads.iter().filter(|&&(sender, _)| !of_nodes || is_of_node(topology, sender));
            of.map(fullness).fold(0.0, f64::max)
        };
        let fullest = fullest_of(false);
        let bound_of_routing = fullest.recip().min(1.0);
        let shortest = rate_between_switches(fabric).map(|rate| {
            let between = load_of_shortest(topology, weight) / rate.as_f64();
            let bound = between.max(fullest_of(true)).recip().min(1.0);
            // The routing's own ways may be better balanced than a search makes them, but ways by intermediates are not
            // shortest.
            if fabric.routing.is_plain() { bound.max(bound_of_routing) } else { bound }
        });
        let is_fullest = |it: &&(End, f64)| it.1 > 0.0 && fullness(it) >= fullest * (1.0 - ROUNDING);
        let busiest = || loads.iter().filter(is_fullest).map(|&(sender, _)| sender);
        Some(ChannelLoads {
            channels: loads.len() as u32,
            mean: loads.iter().map(|&(_, load)| load).sum::<f64>() / loads.len() as f64,
            max: loads.iter().map(|&(_, load)| load).fold(0.0, f64::max),
            bound: bound_of_routing,
            are_shared,
            shortest_bound: shortest,
            has_rates: has_rates(fabric) || window.is_some(),
            window,
            classes: classes(fabric, &loads, &carried),
            busiest: busiest().take(BUSIEST).collect(),
            busiest_count: busiest().count() as u32,
        })
    }

    /// What part of the load that balanced shortest paths would allow the routing does not.
    #[must_use]
    pub fn cost(&self) -> Option<f64> {
        self.shortest_bound.map(|shortest| 1.0 - self.bound / shortest)
    }

    /// As an object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let class = |class: &ClassLoad| {
            let mut value = json!({
                "class": class.class,
                "direction": class.direction,
                "channels": class.channels,
                "mean": class.mean,
                "max": class.max,
            });
            if self.has_rates {
                value["fullest"] = json!(class.fullest);
            }
            value
        };
        let mut value = json!({
            "channels": self.channels,
            "mean": self.mean,
            "max": self.max,
            "bound": self.bound,
            "classes": self.classes.iter().map(class).collect::<Vec<_>>(),
            "busiest": self.busiest.iter().copied().map(end_json).collect::<Vec<_>>(),
            "busiest_count": self.busiest_count,
        });
        if self.are_shared {
            value["evenly"] = json!(true);
        }
        if let Some(Allowed { answered, alone }) = self.window {
            value["window"] = json!({ "answered": answered, "alone": alone });
        }
        if let Some(bound) = self.shortest_bound {
            value["shortest_bound"] = json!(bound);
        }
        value
    }
}

/// Whether the channel out of `sender` leads from or to a node.
fn is_of_node(topology: &Topology, sender: End) -> bool {
    match sender {
        End::Node(_) => true,
        End::Switch(switch, port) => matches!(topology.wire(switch, port), Some((_, End::Node(_)))),
    }
}

/// What the channel from a sender carries of packets of `flits`, where channels have these `loads`.
fn carried<'a>(fabric: &'a Fabric, loads: &'a [(End, f64)], flits: u32) -> impl Fn(End) -> f64 + 'a {
    let load_of: BTreeMap<End, f64> = loads.iter().copied().collect();
    move |sender| {
        let back = fabric.receiver(sender).and_then(|receiver| load_of.get(&receiver));
        fabric.carries(sender, flits, back.copied().unwrap_or(0.0))
    }
}

/// What windows allow, of the channels with these `loads`, where they allow less than the rate of one of them.
fn window(fabric: &Fabric, loads: &[(End, f64)], flits: u32) -> Option<Allowed> {
    let used = || loads.iter().filter(|(_, load)| *load > 0.0).map(|&(sender, _)| sender);
    let least = |back: f64| used().map(|sender| fabric.carries(sender, flits, back)).fold(1.0, f64::min);
    let closes = |sender: End| fabric.carries(sender, flits, 0.0) < fabric.rates.of(sender).as_f64();
    used().any(closes).then(|| Allowed { answered: least(1.0), alone: least(0.0) })
}

/// The loads by class and direction, busiest first, then in the order of the classes.
fn classes(fabric: &Fabric, loads: &[(End, f64)], carried: &impl Fn(End) -> f64) -> Vec<ClassLoad> {
    let topology = fabric.topology();
    let mut found: Vec<ClassLoad> = Vec::new();
    for &(sender, load) in loads {
        let link = topology.link_of(sender);
        let Some(link) = link.map(|link| &topology.links()[link.index()]) else { continue };
        let class = &topology.classes()[link.class as usize];
        let direction = direction(topology, link.ends, sender);
        let known = found.iter().position(|one| one.class == *class && one.direction == direction);
        let known = known.unwrap_or_else(|| {
            found.push(ClassLoad {
                class: class.clone(),
                direction,
                channels: 0,
                mean: 0.0,
                max: 0.0,
                fullest: 0.0,
            });
            found.len() - 1
        });
        let entry = &mut found[known];
        entry.channels += 1;
        entry.mean += load;
        entry.max = entry.max.max(load);
        entry.fullest = entry.fullest.max(load / carried(sender));
    }
    found.iter_mut().for_each(|one| one.mean /= f64::from(one.channels));
    let place = |one: &ClassLoad| topology.classes().iter().position(|class| *class == one.class);
    // Stable, and to as many digits as are equal on every machine.
    found.sort_by_key(|one| (place(one), one.direction));
    found.sort_by_key(|one| std::cmp::Reverse((one.fullest / ROUNDING).round() as u64));
    found
}

pub(crate) fn direction(topology: &Topology, ends: [End; 2], sender: End) -> &'static str {
    match ends {
        _ if matches!(sender, End::Node(_)) => "out of nodes",
        [End::Node(_), _] | [_, End::Node(_)] => "into nodes",
        [first, _] => topology.directions()[usize::from(first != sender)],
    }
}
