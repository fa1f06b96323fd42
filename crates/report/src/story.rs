//! The life of a packet, hop by hop: where it waited, and for what.
//!
//! * **Source queue**: packets that its node created before it were sent first.
//! * **Credits**: the way was free, but there was no room behind the next link.
//! * **Input queue**: packets before it in the same queue of a switch had to go first.
//! * **Output**: other packets went to the output that it wanted (arbitration). For a packet to a group: until all outputs
//!   were free and had room.
//! * **Link**: other virtual channels, or adverts, had the link. In an SP Switch: other packets had the output, while it was in
//!   the store.
//!
//! In an SP Switch a packet waits for an output where another packet keeps it (lock step) and, before it is in the central
//! buffer, for the write port and for room; for credits it waits when it is at the link.
//!
//! The rest of its time it moved: through pipelines, over cables, and flit by flit behind its own head.

use crate::watch::Step;
use flitway_engine::{Clock, Cycle};
use flitway_fabric::observer::{Departure, Passage};
use flitway_fabric::{Delivery, Fabric};
use flitway_wiring::NodeId;
use flitway_wiring::topology::End;
use flitway_wiring::{PortId, SwitchId};
use serde_json::{Value, json};

/// What a packet waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Earlier packets of its node.
    SourceQueue,
    /// Earlier packets in its queue of a switch.
    InputQueue,
    /// An output that others had.
    Output,
    /// Room behind the next link.
    Credits,
    /// A link that others had.
    Link,
}

impl Wait {
    /// All of them, in the order of the way.
    pub const ALL: [Wait; 5] = [Wait::SourceQueue, Wait::InputQueue, Wait::Output, Wait::Credits, Wait::Link];

    /// Its key in JSON.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Wait::SourceQueue => "source_queue",
            Wait::InputQueue => "input_queue",
            Wait::Output => "output",
            Wait::Credits => "credits",
            Wait::Link => "link",
        }
    }
}

/// A time in which a packet waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// For what.
    pub wait: Wait,
    /// From when on.
    pub from: Cycle,
    /// Until when.
    pub until: Cycle,
}

/// A node or switch on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stay {
    /// The switch; `None` for the source.
    pub switch: Option<u32>,
    /// The ports of a switch that it came in and left by.
    pub ports: Option<(PortId, PortId)>,
    /// The virtual channel that it left on.
    pub vc: u8,
    /// When its first flit came: at the source, when it was created.
    pub arrived: Cycle,
    /// When its first flit arrives at the other end of the link that it left by.
    pub left: Cycle,
    /// What it waited for here.
    pub waits: Vec<Waiting>,
}

/// The life of a packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Story {
    /// Its end.
    pub delivery: Delivery,
    /// Its way, the source first.
    pub stays: Vec<Stay>,
}

fn waits(parts: &[(Wait, Cycle, Cycle)]) -> Vec<Waiting> {
    let real = parts.iter().filter(|(_, from, until)| until > from);
    real.map(|&(wait, from, until)| Waiting { wait, from, until }).collect()
}

impl Story {
    /// The life of the packet that ended with `delivery`, from the `steps` of a run in order of time; `None` if some of it is
    /// missing.
    #[must_use]
    pub fn new(fabric: &Fabric, delivery: &Delivery, steps: &[Step]) -> Option<Self> {
        let (topology, rail) = (fabric.topology(), delivery.rail.0);
        let switches = topology.switches();
        let own =
            |source: NodeId, injected: Cycle| source == delivery.source && injected == delivery.injected;
        let departure = |component: u32, port: PortId| {
            steps.iter().find_map(|step| match step {
                Step::Departed(it) if it.component == component && it.port == port => {
                    own(it.packet.source, it.packet.injected).then_some(*it)
                }
                _ => None,
            })
        };
        // A worm may cross a switch on its way up and again on its way down.
        let passage = |switch: u32, output: PortId| {
            steps.iter().find_map(|step| match step {
                Step::Passed(it) if it.switch == rail * switches + switch && it.outputs.contain(output) => {
                    own(it.packet.source, it.packet.injected).then_some(*it)
                }
                _ => None,
            })
        };
        // Back from the end: a packet for a group has gone elsewhere too.
        let credits_at_link = fabric.chip.waits().credits_at_link;
        let (mut at, mut port) = topology.exit(delivery.destination);
        let mut stays = Vec::new();
        loop {
            let passage = passage(at.0, port)?;
            let left = departure(rail * switches + at.0, port)?;
            let free = if credits_at_link { left.free.max(left.ready) } else { left.chosen };
            stays.push(crossing(&passage, &left, free, at));
            match topology.feeder(at, passage.input)?.1 {
                End::Switch(before, by) => (at, port) = (before, by),
                End::Node(node) => {
                    let number = fabric.rails * switches + node.0;
                    stays.push(start(&departure(number, PortId(rail))?));
                    break;
                }
            }
            if stays.len() > steps.len() {
                return None;
            }
        }
        stays.reverse();
        Some(Story { delivery: *delivery, stays })
    }

    /// Cycles that it waited for `wait`, all in all.
    #[must_use]
    pub fn waited(&self, wait: Wait) -> u64 {
        let waits = self.stays.iter().flat_map(|stay| &stay.waits).filter(|one| one.wait == wait);
        waits.map(|one| one.until.since(one.from)).sum()
    }

    /// As an object. Times are nanoseconds since it was created.
    #[must_use]
    pub fn to_json(&self, clock: Clock) -> Value {
        let created = self.delivery.created;
        let nanos = |cycles: u64| clock.nanos(cycles as f64);
        let since = |at: Cycle| nanos(at.since(created));
        let stay = |stay: &Stay| {
            let mut value = match stay.switch {
                Some(switch) => json!({ "switch": switch }),
                None => json!({ "node": self.delivery.source.0 }),
            };
            if let Some((input, output)) = stay.ports {
                value["input"] = json!(input.0);
                value["output"] = json!(output.0);
            }
            value["vc"] = json!(stay.vc);
            value["arrived_ns"] = json!(since(stay.arrived));
            value["left_ns"] = json!(since(stay.left));
            let wait = |one: &Waiting| json!({ "for": one.wait.key(), "from_ns": since(one.from), "until_ns": since(one.until) });
            value["waits"] = stay.waits.iter().map(wait).collect();
            value
        };
        let total = self.delivery.delivered.since(created);
        let waited = Wait::ALL.map(|wait| self.waited(wait));
        let mut sums = json!({});
        for (wait, cycles) in Wait::ALL.into_iter().zip(waited) {
            sums[wait.key()] = json!(nanos(cycles));
        }
        json!({
            "source": self.delivery.source.0,
            "destination": self.delivery.destination.0,
            "rail": self.delivery.rail.0,
            "to_group": self.delivery.group.is_some(),
            "payload_bytes": self.delivery.payload,
            "created_ns": nanos(created.0),
            "packet_latency_ns": nanos(total),
            "waited_ns": sums,
            "moving_ns": nanos(total - waited.iter().sum::<u64>()),
            "stays": self.stays.iter().map(stay).collect::<Vec<_>>(),
        })
    }
}

fn start(departure: &Departure) -> Stay {
    let Departure { ready, free, chosen, .. } = *departure;
    let turn = free.max(ready);
    Stay {
        switch: None,
        ports: None,
        vc: departure.vc,
        arrived: ready,
        left: departure.arrives,
        waits: waits(&[(Wait::SourceQueue, ready, turn), (Wait::Credits, turn, chosen)]),
    }
}

/// A stay in a switch, given since when it has waited for nothing but credits at the link.
fn crossing(passage: &Passage, departure: &Departure, free: Cycle, switch: SwitchId) -> Stay {
    let Passage { arrived, ready, requested, granted, .. } = *passage;
    let turn = passage.turn().unwrap_or(granted);
    Stay {
        switch: Some(switch.0),
        ports: Some((passage.input, departure.port)),
        vc: departure.vc,
        arrived,
        left: departure.arrives,
        waits: waits(&[
            (Wait::InputQueue, ready, requested),
            (Wait::Output, requested, turn),
            (Wait::Credits, turn, granted),
            (Wait::Link, departure.ready, free),
            (Wait::Credits, free, departure.chosen),
        ]),
    }
}
