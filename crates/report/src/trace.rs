//! Steps of packets as a trace that Perfetto and Chrome's own viewer open: the trace event format, JSON.
//!
//! Every node and switch is a process, and every port of it a track on which the packets that its link sends follow each
//! other. What waits overlaps, so waits are asynchronous events: in a source queue from creation, in a switch from the
//! arrival of the first flit, each until it was let go. Times are simulated; the viewers count in microseconds.

use crate::watch::Step;
use flitway_engine::{Clock, Cycle};
use flitway_fabric::observer::{Departure, PacketName, Passage, end_at};
use flitway_fabric::{Delivery, Fabric};
use flitway_wiring::PortId;
use flitway_wiring::topology::Topology;
use flitway_wiring::{NodeId, SwitchId};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Steps that a trace holds at most.
pub const STEPS_MAX: usize = 200_000;

/// What a trace is made of.
#[derive(Clone, Copy, Debug)]
pub struct Trace<'a> {
    /// Where it happened.
    pub fabric: &'a Fabric,
    /// The clock.
    pub clock: Clock,
    /// The steps, in order of time.
    pub steps: &'a [Step],
    /// Steps that there was no room for.
    pub left_out: u64,
    /// Whose steps they are, in words.
    pub of: &'a str,
    /// The command that made it.
    pub command: &'a [String],
}

impl Trace<'_> {
    /// The file, piece by piece: what it is, then an event in each.
    pub fn pieces(&self) -> impl Iterator<Item = String> + '_ {
        let about = json!({
            "of": self.of,
            "steps": self.steps.len(),
            "left_out": self.left_out,
            "command": self.command.join(" "),
        });
        let head = format!("{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":[\n");
        let events = self.names().into_iter().chain(self.steps.iter().flat_map(|step| self.events(step)));
        let lines = events.enumerate().map(|(place, event)| {
            let comma = if place == 0 { "" } else { ",\n" };
            format!("{comma}{event}")
        });
        std::iter::once(head).chain(lines).chain(std::iter::once("\n]}\n".to_owned()))
    }

    fn topology(&self) -> &Topology {
        self.fabric.topology()
    }

    /// What a packet is called.
    fn name(&self, packet: PacketName) -> String {
        format!("node {} @{}", self.topology().names().node(packet.source), packet.injected.0)
    }

    fn first_node(&self) -> u32 {
        self.fabric.rails * self.fabric.topology().switches()
    }

    fn micros(&self, at: Cycle) -> f64 {
        self.clock.nanos(at.0 as f64) / 1e3
    }

    /// What the processes and tracks are called.
    fn names(&self) -> Vec<Value> {
        let (mut processes, mut tracks) = (BTreeSet::new(), BTreeSet::new());
        for step in self.steps {
            match step {
                Step::Departed(it) => {
                    processes.insert(it.component);
                    tracks.insert((it.component, it.port.0));
                }
                Step::Passed(it) => {
                    processes.insert(it.switch);
                }
                Step::Delivered(it) => {
                    processes.insert(self.first_node() + it.destination.0);
                }
            }
        }
        let process = |number: u32| {
            let name = match number.checked_sub(self.first_node()) {
                Some(node) => format!("node {}", self.topology().names().node(NodeId(node))),
                None => {
                    let switches = self.topology().switches();
                    let switch = self.topology().names().switch(SwitchId(number % switches));
                    format!("switch {switch} of rail {}", number / switches)
                }
            };
            json!({ "ph": "M", "name": "process_name", "pid": number, "args": { "name": name } })
        };
        let track = |(number, port): (u32, u32)| {
            let what = if number >= self.first_node() { "NIC port, rail" } else { "link of port" };
            let name = format!("{what} {port}");
            json!({ "ph": "M", "name": "thread_name", "pid": number, "tid": port, "args": { "name": name } })
        };
        processes.into_iter().map(process).chain(tracks.into_iter().map(track)).collect()
    }

    fn events(&self, step: &Step) -> Vec<Value> {
        match step {
            Step::Departed(departure) => self.departure(departure),
            Step::Passed(passage) => self.passage(passage),
            Step::Delivered(delivery) => vec![self.delivery(delivery)],
        }
    }

    /// On the link from its first flit to its last; before that, in a node, it waited in the source queue.
    fn departure(&self, it: &Departure) -> Vec<Value> {
        let latency = self.latency(it.component, it.port).map_or(0, |cycles| cycles);
        let on_wire = Cycle(it.arrives.0 - u64::from(latency));
        let mut events = Vec::new();
        if it.component >= self.first_node() {
            let wait = ("source queue", it.component, it.packet);
            events.extend(self.wait(wait, it.ready, it.chosen, &json!({ "vc": it.vc })));
        }
        events.push(json!({
            "ph": "X",
            "cat": "link",
            "name": self.name(it.packet),
            "pid": it.component,
            "tid": it.port.0,
            "ts": self.micros(on_wire),
            "dur": self.micros(Cycle(it.flits.into())),
            "args": {
                "vc": it.vc,
                "flits": it.flits,
                "ready_cycle": it.ready.0,
                "chosen_cycle": it.chosen.0,
                "arrives_cycle": it.arrives.0,
            },
        }));
        events
    }

    fn latency(&self, component: u32, port: PortId) -> Option<u32> {
        let topology = self.fabric.topology();
        let link = topology.link_of(end_at(topology, self.fabric.rails, component, port).1)?;
        Some(self.fabric.latencies[link.index()])
    }

    /// In a switch until it was granted.
    fn passage(&self, it: &Passage) -> Vec<Value> {
        let args = json!({
            "input": it.input.0,
            "vc": it.vc,
            "arrived_cycle": it.arrived.0,
            "ready_cycle": it.ready.0,
            "requested_cycle": it.requested.0,
            "output_free_cycle": it.turn().map(|turn| turn.0),
            "granted_cycle": it.granted.0,
        });
        self.wait(("input queue", it.switch, it.packet), it.arrived, it.granted, &args).into()
    }

    fn wait(
        &self,
        (what, component, packet): (&str, u32, PacketName),
        from: Cycle,
        until: Cycle,
        args: &Value,
    ) -> [Value; 2] {
        let id = format!("{}/{}/{component}", packet.source.0, packet.injected.0);
        let event = |phase: &str, at: Cycle| {
            json!({
                "ph": phase,
                "cat": what,
                "name": self.name(packet),
                "id": id,
                "pid": component,
                "tid": 0,
                "ts": self.micros(at),
                "args": args,
            })
        };
        [event("b", from), event("e", until)]
    }

    fn delivery(&self, it: &Delivery) -> Value {
        let packet = PacketName { source: it.source, injected: it.injected };
        json!({
            "ph": "i",
            "s": "p",
            "cat": "delivered",
            "name": format!("{} delivered", self.name(packet)),
            "pid": self.first_node() + it.destination.0,
            "tid": it.rail.0,
            "ts": self.micros(it.delivered),
            "args": {
                "created_cycle": it.created.0,
                "delivered_cycle": it.delivered.0,
                "packet_latency_ns": self.clock.nanos(it.delivered.since(it.created) as f64),
            },
        })
    }
}
