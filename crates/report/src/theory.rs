//! What theory says of synthetic traffic on a machine, to stand beside what is measured.
//!
//! * **Zero-load latency**: the closed form, weighted with the traffic matrix; a packet of mean size.
//! * **Channel bound**: routes are fixed, or drawn with equal chances, so the traffic matrix gives the load of every channel;
//!   this is the offered load at which the busiest one is full (header and trailer count, adverts do not; channels into nodes
//!   are among them, and replies load the way back). Beyond it, nodes behind that channel get no more; others may, so the mean
//!   accepted load can rise further.
//! * **Bisection bound**: the offered load at which the links between the two halves of the nodes would be full, if routes
//!   shared them evenly; above 1 they never are. No routing does better, so the channel bound is at most this. Unknown for
//!   an irregular topology.
//! * **Head-of-line limit**: with one FIFO per input, sources that always have a packet, uniform traffic among the *other*
//!   nodes and packets of one size, a switch of `N` ports accepts no more than this; adverts take links beside it. Karol,
//!   Hluchyj and Morgan (*IEEE Trans. Comm.* 35(12), 1987) let nodes send to themselves too, which nodes here never do, and
//!   find less: 0.75 for two ports, which without that never wait.

use flitway_engine::Clock;
use flitway_fabric::{Fabric, Rate};
use flitway_wiring::NodeId;
use flitway_wiring::routing::{Arrival, Hop};
use flitway_wiring::topology::End;
use flitway_wiring::{PortId, SwitchId};
use flitway_workload::traffic::Traffic;
use serde_json::{Value, json};

/// The bounds for one traffic on one machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Theory {
    /// Mean packet latency in cycles when nothing is in the way.
    pub zero_load_cycles: f64,
    /// The offered load at which the busiest channel is full: a fraction of the injection rate, at most 1. Of channels out of
    /// and into nodes alone, where switches [select](Theory::selects).
    pub channel_bound: f64,
    /// Whether switches select among outputs, so that what channels between them carry is up to them.
    pub selects: bool,
    /// The offered load at which the links between the halves of the nodes are full, if routes share them evenly: a fraction
    /// of the injection rate, which may exceed 1; infinite if nothing crosses. `None` for an irregular topology.
    pub bisection_bound: Option<f64>,
    /// Expected load of the fullest channel out of nodes, between switches and into nodes, when every node offers its full
    /// injection rate, as a part of what each can carry. So at a lower load it is that fraction of it. Zero between switches
    /// that [select](Theory::selects).
    pub fullest: [f64; 3],
    /// What a switch with one FIFO per input accepts of uniform traffic; `None` unless it is that: a single switch with a
    /// single VC, uniform traffic, packets of one size.
    pub head_of_line: Option<f64>,
}

/// Nodes up to which the traffic matrix is walked.
const NODES_MAX: u32 = 2_048;

impl Theory {
    /// The stage whose busiest channel is full first: that one is the channel bound.
    #[must_use]
    pub fn first_full(&self) -> &'static str {
        let [injection, network, ejection] = self.fullest;
        if injection > network.max(ejection) {
            "out of a node"
        } else if network > ejection {
            "between switches"
        } else {
            "into a node"
        }
    }

    /// [`fullest`](Theory::fullest), where it is known.
    #[must_use]
    pub(crate) fn expected(&self) -> [Option<f64>; 3] {
        let [injection, network, ejection] = self.fullest.map(Some);
        [injection, network.filter(|_| !self.selects), ejection]
    }

    /// The names of its numbers under `theory` in the result of a point, and their units.
    pub const FIELDS: &[(&str, &str)] = &[
        ("theory.zero_load_latency_ns", "ns"),
        ("theory.channel_bound", "fraction of the injection rate"),
        ("theory.bisection_bound", "fraction of the injection rate"),
        ("theory.head_of_line", "fraction of the injection rate"),
    ];

    /// The object `theory` of a point.
    #[must_use]
    pub fn to_json(&self, clock: Clock) -> Value {
        let mut theory = json!({
            "zero_load_latency_ns": clock.nanos(self.zero_load_cycles),
            "channel_bound": self.channel_bound,
        });
        let rest = [("bisection_bound", self.bisection_bound), ("head_of_line", self.head_of_line)];
        for (name, bound) in rest {
            if let Some(bound) = bound.filter(|bound| bound.is_finite()) {
                theory[name] = json!(bound);
            }
        }
        theory
    }

    /// The bounds of `traffic` on `fabric`; `None` for machines whose traffic matrix is too large to walk, and where ways
    /// follow from what switches select.
    #[must_use]
    pub fn new(fabric: &Fabric, traffic: &Traffic) -> Option<Self> {
        let nodes = fabric.nodes();
        // Where switches choose the way nobody knows what channels carry.
        if nodes > NODES_MAX || fabric.routing.is_adaptive() {
            return None;
        }
        let topology = fabric.topology();
        let payload = traffic.sizes().mean().round().max(1.0) as u32;
        let flits = fabric.chip.format().packet_flits(payload);
        let mut ways = Ways::new(fabric, payload);
        let mut loads = Loads::new(fabric, traffic, ways.channels());
        let (mut sums, mut sent_by) = (Sums::default(), Vec::new());
        let upper: Vec<bool> = (0..nodes).map(|node| topology.is_in_upper_half(NodeId(node))).collect();
        // How many nodes are in the lower half and in the upper one.
        let above = upper.iter().filter(|is_upper| **is_upper).count();
        let halves = [upper.len() - above, above];
        for (source, &is_upper) in (0..nodes).map(NodeId).zip(&upper) {
            ways.begin_at(source);
            loads.begin_at(source, &ways);
            sums.sent = 0.0;
            if let Loads::Even { weight, asked, .. } = loads {
                sums.add_even([asked, weight], &ways, source);
                (0..halves[usize::from(!is_upper)])
                    .for_each(|_| sums.across[usize::from(is_upper)] += weight);
            } else {
                let pairs = (0..nodes).map(NodeId).zip(upper.iter().zip(&ways.cycles));
                let side = |half: bool| (half != is_upper).then_some(usize::from(is_upper));
                for (destination, (&half, cycles)) in pairs {
                    let asked = traffic.destinations().weight(source, destination);
                    let weight = traffic.weight(source, destination);
                    if weight != 0.0 {
                        sums.add([asked, weight], ways.injection + cycles.0, side(half));
                        loads.add(weight, &ways, destination);
                    }
                }
            }
            sent_by.push(sums.sent);
        }
        let Sums { latency, weights, across, .. } = sums;
        let mut fullest = fullest_of(fabric, (&ways.first, &loads.of_channels()), &sent_by, flits);
        let selects = fabric.routing.has_choice();
        if selects {
            fullest[1] = 0.0;
        }
        let bisection = bisection_flits(fabric);
        Some(Theory {
            zero_load_cycles: latency / weights,
            channel_bound: fullest.into_iter().fold(0.0, f64::max).recip().min(1.0),
            bisection_bound: bisection.map(|flits| flits / across[0].max(across[1])),
            selects,
            fullest,
            head_of_line: head_of_line(fabric, traffic),
        })
    }
}

/// Sums over pairs of nodes.
#[derive(Default)]
struct Sums {
    /// Weights times cycles, and weights.
    latency: f64,
    weights: f64,
    /// Weights of the pairs of a source.
    sent: f64,
    /// Weights of the pairs that cross from one half of the nodes to the other, by the half of the source.
    across: [f64; 2],
}

impl Sums {
    /// Adds the pairs of `source` with all other nodes, which have these weights, but for those across: one after the other, as
    /// [`Self::add`] does it.
    fn add_even(&mut self, [created, weight]: [f64; 2], ways: &Ways<'_>, source: NodeId) {
        let (before, after) = ways.cycles.split_at(source.index());
        for (cycles, _) in before.iter().chain(&after[1..]) {
            self.latency += created * (ways.injection + cycles);
            self.weights += created;
            self.sent += weight;
        }
    }

    /// Adds a pair of these weights, that of what is created and that with replies, whose packets take so many `cycles` and
    /// perhaps cross from a side.
    #[inline(always)]
    fn add(&mut self, [created, weight]: [f64; 2], cycles: f64, side: Option<usize>) {
        self.latency += created * cycles;
        self.weights += created;
        self.sent += weight;
        if let Some(side) = side {
            self.across[side] += weight;
        }
    }
}

/// Expected loads of channels, by their numbers. Where all pairs of nodes have the same weight and a single way, it is enough
/// to count the ways over each channel.
enum Loads {
    Even { weight: f64, asked: f64, ways: Vec<u32> },
    Uneven(Vec<f64>),
}

impl Loads {
    fn new(fabric: &Fabric, traffic: &Traffic, channels: usize) -> Self {
        let destinations = traffic.destinations();
        if destinations.is_uniform() && fabric.routing.is_plain() {
            let [from, to] = [0, 1].map(NodeId);
            let (weight, asked) = (traffic.weight(from, to), destinations.weight(from, to));
            Loads::Even { weight, asked, ways: vec![0; channels] }
        } else {
            Loads::Uneven(vec![0.0; channels])
        }
    }

    /// Counts the ways from `source` to every other node, where that is enough.
    fn begin_at(&mut self, source: NodeId, from_switch: &Ways<'_>) {
        let Loads::Even { ways, .. } = self else { return };
        ways.iter_mut().zip(&from_switch.over).for_each(|(ways, over)| *ways += over);
        from_switch.to(source).0.iter().for_each(|&channel| ways[channel as usize] -= 1);
    }

    /// Adds the load of a pair of nodes whose ways lead to `destination`.
    #[inline(always)]
    fn add(&mut self, weight: f64, ways: &Ways<'_>, destination: NodeId) {
        let Loads::Uneven(channels) = self else { return };
        let (taken, chance) = ways.to(destination);
        for &channel in taken {
            channels[channel as usize] += weight * chance;
        }
    }

    /// One weight is added after the other, as where they differ: so the sums are the same to the last bit.
    fn of_channels(self) -> Vec<f64> {
        let (weight, ways) = match self {
            Loads::Even { weight, ways, .. } => (weight, ways),
            Loads::Uneven(channels) => return channels,
        };
        let most = ways.iter().copied().max().unwrap_or(0);
        let sum = |sum: &mut f64, _| Some(std::mem::replace(sum, *sum + weight));
        let sums: Vec<f64> = (0..=most).scan(0.0, sum).collect();
        ways.iter().map(|&ways| sums[ways as usize]).collect()
    }
}

/// The ways from one switch to every node, walked once for all nodes of the switch, unless the routing tells them apart.
struct Ways<'a> {
    fabric: &'a Fabric,
    payload: u32,
    /// By switch: the number of its first channel.
    first: Vec<u32>,
    /// By channel: cycles on its link, and those that a packet takes longer because it is slow.
    links: Vec<(u64, u64)>,
    /// By channel: the switch that it leads to, and its port there.
    leads: Vec<Option<(SwitchId, PortId)>>,
    switch: Option<SwitchId>,
    /// Cycles on the link from the node that sends.
    injection: f64,
    /// Cycles that a packet takes longer there.
    slow: u64,
    /// By destination: where its ways begin in `taken`, and at the end where the last one ends.
    begins: Vec<u32>,
    taken: Vec<u32>,
    /// By channel: ways over it.
    over: Vec<u32>,
    /// By destination: cycles from the switch on, when nothing is in the way, those of the NIC port included; the mean over its
    /// ways, and the chance of each.
    cycles: Vec<(f64, f64)>,
}

impl<'a> Ways<'a> {
    fn new(fabric: &'a Fabric, payload: u32) -> Self {
        let topology = fabric.topology();
        let (mut first, mut links, mut leads) = (vec![0], Vec::new(), Vec::new());
        for switch in (0..topology.switches()).map(SwitchId) {
            for port in (0..topology.ports(switch)).map(PortId) {
                let link = topology.wire(switch, port);
                let latency = link.map_or(0, |(link, _)| u64::from(fabric.latencies[link.index()]));
                let rate = fabric.rates.of(End::Switch(switch, port));
                links.push((latency, fabric.slow_cycles(rate, payload)));
                leads.push(match link {
                    Some((_, End::Switch(next, port))) => Some((next, port)),
                    _ => None,
                });
            }
            first.push(links.len() as u32);
        }
        Ways {
            fabric,
            payload,
            first,
            over: vec![0; links.len()],
            links,
            leads,
            switch: None,
            injection: 0.0,
            slow: 0,
            begins: Vec::new(),
            taken: Vec::new(),
            cycles: Vec::new(),
        }
    }

    fn channels(&self) -> usize {
        self.links.len()
    }

    /// From now on ways are those from `source`.
    fn begin_at(&mut self, source: NodeId) {
        let topology = self.fabric.topology();
        self.injection = f64::from(self.fabric.latencies[topology.node_link(source).index()]);
        let home = topology.home(source).0;
        let slow = self.fabric.slow_cycles(self.fabric.rates.of(End::Node(source)), self.payload);
        let before = (self.switch.replace(home), std::mem::replace(&mut self.slow, slow));
        if before == (Some(home), slow) && !self.fabric.routing.tells_nodes_apart() {
            return;
        }
        self.begins.clear();
        self.begins.push(0);
        self.taken.clear();
        self.cycles.clear();
        for destination in (0..topology.nodes()).map(NodeId) {
            let routing = &self.fabric.routing;
            let (mut count, mut cycles) = (1, 0);
            if routing.is_plain() {
                cycles += self.walk_to(source, destination);
            } else {
                let paths = routing.paths(source, destination);
                count = paths.len();
                for path in paths {
                    cycles += self.walk(path);
                }
            }
            self.begins.push(self.taken.len() as u32);
            self.cycles.push((cycles as f64 / count as f64, (count as f64).recip()));
        }
        self.over.fill(0);
        self.taken.iter().for_each(|&channel| self.over[channel as usize] += 1);
    }

    /// Notes the channels of the only way. Returns its cycles as [`Self::walk`] does.
    fn walk_to(&mut self, source: NodeId, destination: NodeId) -> u64 {
        let (mut here, mut arrival) = self.fabric.routing.start(source);
        let mut so_far = Walked { links: 0, slow: self.slow, hops: 0 };
        loop {
            let hop = self.fabric.routing.next(here, arrival, destination);
            let channel = self.cross(here, hop, &mut so_far);
            let Some((next, port)) = self.leads[channel as usize] else { return self.cycles_of(&so_far) };
            (here, arrival) = (next, Arrival { port, class: hop.class });
        }
    }

    /// Notes the channels of `path`. Returns its cycles from the first switch on, when nothing is in the way.
    fn walk(&mut self, path: impl Iterator<Item = (SwitchId, Hop)>) -> u64 {
        let mut so_far = Walked { links: 0, slow: self.slow, hops: 0 };
        for (switch, hop) in path {
            self.cross(switch, hop, &mut so_far);
        }
        self.cycles_of(&so_far)
    }

    /// Notes the channel of a hop, and what it costs.
    #[inline(always)]
    fn cross(&mut self, switch: SwitchId, hop: Hop, so_far: &mut Walked) -> u32 {
        let channel = self.first[switch.index()] + hop.port.0;
        self.taken.push(channel);
        let (cycles, longer) = self.links[channel as usize];
        so_far.links += cycles;
        so_far.hops += 1;
        if longer > 0 {
            so_far.slow = self.fabric.slower(so_far.slow, longer);
        }
        channel
    }

    fn cycles_of(&self, &Walked { links, slow, hops }: &Walked) -> u64 {
        links + slow + self.fabric.chip.zero_load_cycles(hops, self.payload)
    }

    /// The channels out of switches on its ways, and the chance of each way.
    fn to(&self, destination: NodeId) -> (&[u32], f64) {
        let [begin, end] = [destination.index(), destination.index() + 1].map(|at| self.begins[at] as usize);
        (&self.taken[begin..end], self.cycles[destination.index()].1)
    }
}

/// What a way has cost so far: cycles on links, those that packets take longer on slow ones, switches.
struct Walked {
    links: u64,
    slow: u64,
    hops: u32,
}

/// Flits per cycle of the links between the halves of the nodes each way, where they are known and carry the same.
fn bisection_flits(fabric: &Fabric) -> Option<f64> {
    let links = fabric.topology().bisection_links()?;
    Some(links as f64 * rate_between_switches(fabric)?.as_f64())
}

/// The rate of the channels between switches; `None` if they have several. Where there are none it is that of all channels.
#[must_use]
pub fn rate_between_switches(fabric: &Fabric) -> Option<Rate> {
    let topology = fabric.topology();
    let links =
        topology.links().iter().filter(|link| link.ends.iter().all(|end| matches!(end, End::Switch(..))));
    let senders = links.flat_map(|link| if link.is_one_way { &link.ends[..1] } else { &link.ends[..] });
    let mut rates = senders.map(|&end| fabric.rates.of(end));
    let first = rates.next().unwrap_or(fabric.chip.link_rate());
    rates.all(|rate| rate == first).then_some(first)
}

/// The most that a channel has to carry of what it can, of packets of `flits`: out of a node, between switches and into a node.
/// `channels` has by switch the number of its first channel, and their loads; `sent_by` has those of the channels out of nodes.
fn fullest_of(fabric: &Fabric, (first, channels): (&[u32], &[f64]), sent_by: &[f64], flits: u32) -> [f64; 3] {
    let topology = fabric.topology();
    let load_of = |sender: End| match sender {
        End::Node(node) => sent_by[node.index()],
        End::Switch(switch, port) => channels[first[switch.index()] as usize + port.index()],
    };
    let fullness =
        |sender: End, receiver: End| load_of(sender) / fabric.carries(sender, flits, load_of(receiver));
    let mut fullest = [0.0_f64; 3];
    let mut add = |sender: End, stage: usize| {
        if let Some(receiver) = fabric.receiver(sender) {
            fullest[stage] = fullest[stage].max(fullness(sender, receiver));
        }
    };
    (0..topology.nodes()).for_each(|node| add(End::Node(NodeId(node)), 0));
    for switch in (0..topology.switches()).map(SwitchId) {
        for sender in (0..topology.ports(switch)).map(|port| End::Switch(switch, PortId(port))) {
            let is_into_node = matches!(fabric.receiver(sender), Some(End::Node(_)));
            add(sender, if is_into_node { 2 } else { 1 });
        }
    }
    fullest
}

/// The head-of-line limit without packets to oneself, by ports: a Markov chain up to five ports, beyond that a slotted
/// simulation with a standard error of 0.00004.
const HEAD_OF_LINE: [(u32, f64); 23] = [
    (2, 1.0),
    (3, 0.75),
    (4, 0.690_496),
    (5, 0.660_796),
    (6, 0.643_96),
    (7, 0.633_12),
    (8, 0.625_63),
    (9, 0.620_18),
    (10, 0.616),
    (11, 0.612_77),
    (12, 0.610_14),
    (13, 0.607_92),
    (14, 0.606_08),
    (15, 0.604_59),
    (16, 0.603_26),
    (20, 0.599_45),
    (24, 0.597),
    (28, 0.595_26),
    (32, 0.593_98),
    (40, 0.592_21),
    (48, 0.591_1),
    (56, 0.590_31),
    (64, 0.589_71),
];

fn head_of_line(fabric: &Fabric, traffic: &Traffic) -> Option<f64> {
    let chip = &fabric.chip;
    let sizes = traffic.sizes();
    let is_alone = traffic.replies().is_none();
    let is_uniform = traffic.destinations().is_uniform() && sizes.smallest() == sizes.largest() && is_alone;
    if !chip.offers().input_fifos || chip.vcs() != 1 || fabric.topology().switches() != 1 || !is_uniform {
        return None;
    }
    let ports = fabric.nodes();
    let above = HEAD_OF_LINE.iter().position(|&(of, _)| of >= ports)?;
    let (of, limit) = HEAD_OF_LINE[above];
    if of == ports || above == 0 {
        return (of == ports).then_some(limit);
    }
    // Between two of them it is linear in the reciprocal of the ports, to four digits.
    let (fewer, more) = (HEAD_OF_LINE[above - 1], (of, limit));
    let part = (1.0 / f64::from(fewer.0) - 1.0 / f64::from(ports))
        / (1.0 / f64::from(fewer.0) - 1.0 / f64::from(more.0));
    Some(fewer.1 + part * (more.1 - fewer.1))
}
