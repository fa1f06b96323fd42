//! A train of packets on a machine: how long it takes, and what the multi-rail model says of it.

use super::Session;
use super::nodes::{ask_process, on_kinds};
use super::operations::Operations;
use crate::memory::peak_rss_bytes;
use crate::watch::Watch;
use flitway_engine::window::Outcome;
use flitway_engine::{Clock, Cycle};
use flitway_fabric::simulation::Counters;
use flitway_process::Train;
use flitway_process::train::TrainSettings;
use flitway_wiring::NodeId;
use flitway_wiring::topology::End;
use serde_json::{Value, json};
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// A train, as asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainChoice {
    /// Who sends.
    pub from: u32,
    /// To whom.
    pub to: u32,
    /// How many packets.
    pub count: u32,
    /// Payload of each in bytes.
    pub payload: u32,
}

/// A train that is fitted to a machine.
#[derive(Clone, Copy, Debug)]
pub struct TrainRun(TrainChoice);

impl TrainRun {
    /// To whom it goes.
    pub(super) fn to(self) -> NodeId {
        NodeId(self.0.to)
    }

    /// How many packets there are.
    pub(super) fn count(self) -> u32 {
        self.0.count
    }
}

/// Why a train does not fit a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainMisfit {
    /// There is no such node.
    NoNode {
        /// The node asked for.
        node: u32,
        /// Nodes there are.
        nodes: u32,
    },
    /// The payload is above the MTU.
    AboveMtu {
        /// Bytes asked for.
        payload: u32,
        /// Bytes that a packet can have.
        mtu: u32,
    },
}

impl fmt::Display for TrainMisfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrainMisfit::NoNode { node, nodes } => {
                write!(f, "there is no node {node}: the machine has {nodes}, numbered from 0")
            }
            TrainMisfit::AboveMtu { payload, mtu } => {
                write!(f, "packets of {payload} B exceed the MTU, {mtu} B")
            }
        }
    }
}

impl std::error::Error for TrainMisfit {}

/// What a train came to.
#[derive(Clone, Debug)]
pub struct TrainResult {
    /// What was sent.
    pub choice: TrainChoice,
    /// Cycles from the beginning to the last packet delivered; `None` if somebody stopped it.
    pub time: Option<u64>,
    /// Cycles to the last packet that was delivered by then.
    pub last: u64,
    /// Cycles by the multi-rail model (dawning5000.txt section 3.1, in the form of `mechanisms.md` 1.9; OQ-D1): a switch
    /// passes a packet of a rail every T_switch, or as fast as the link is.
    pub model: f64,
    /// Cycles if links alone set the pace.
    pub pipelined: f64,
    /// Totals.
    pub counters: Counters,
    /// Wall-clock time of the run.
    pub wall: Duration,
    /// The most memory that the process had used by its end, where the system tells.
    pub peak_rss_bytes: Option<u64>,
    clock: Clock,
}

impl TrainResult {
    /// The numbers of the object that `--json` has in `points`, but for those of the computer it ran on: path and unit.
    pub const FIELDS: &[(&str, &str)] = &[
        ("packets", "packets"),
        ("train.time_ns", "ns"),
        ("train.packets_per_us", "packets per us"),
        ("train.model_ns", "ns"),
        ("train.pipelined_ns", "ns"),
        ("events", "events"),
        ("packet_hops", "packets"),
        ("flit_hops", "flits"),
        ("adverts", "adverts"),
    ];

    /// The time in nanoseconds; `None` if somebody stopped it.
    #[must_use]
    pub fn time_ns(&self) -> Option<f64> {
        self.time.map(|cycles| self.clock.nanos(cycles as f64))
    }

    /// The time to the last packet that was delivered, in nanoseconds, whether somebody stopped it or not.
    #[must_use]
    pub fn last_ns(&self) -> f64 {
        self.clock.nanos(self.last as f64)
    }

    /// The time of the model in nanoseconds.
    #[must_use]
    pub fn model_ns(&self) -> f64 {
        self.clock.nanos(self.model)
    }

    /// The time that links alone would need, in nanoseconds.
    #[must_use]
    pub fn pipelined_ns(&self) -> f64 {
        self.clock.nanos(self.pipelined)
    }

    /// The object that `--json` has in `points`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut train = json!({});
        if let Some(time) = self.time_ns() {
            train["time_ns"] = json!(time);
            train["packets_per_us"] = json!(f64::from(self.choice.count) / time * 1_000.0);
        }
        train["model_ns"] = json!(self.model_ns());
        train["pipelined_ns"] = json!(self.pipelined_ns());
        let mut point = json!({
            "packets": self.counters.packets_created,
            "train": train,
            "events": self.counters.events,
            "packet_hops": self.counters.packet_hops,
            "flit_hops": self.counters.flit_hops,
            "adverts": self.counters.adverts,
            "wall_s": self.wall.as_secs_f64(),
        });
        if let Some(bytes) = self.peak_rss_bytes {
            point["peak_rss_bytes"] = json!(bytes);
        }
        point
    }
}

impl Session {
    /// Fits `choice` to the machine.
    ///
    /// # Errors
    /// What does not fit.
    pub fn fit_train(&self, choice: TrainChoice) -> Result<TrainRun, TrainMisfit> {
        let (nodes, mtu) = (self.fabric.nodes(), self.machine.packet.mtu_bytes);
        match choice {
            TrainChoice { from: node, .. } | TrainChoice { to: node, .. } if node >= nodes => {
                Err(TrainMisfit::NoNode { node, nodes })
            }
            TrainChoice { payload, .. } if payload > mtu => Err(TrainMisfit::AboveMtu { payload, mtu }),
            _ => Ok(TrainRun(choice)),
        }
    }

    /// Runs a train to its end.
    pub fn train(&self, run: TrainRun, stop: &AtomicBool, progress: &mut dyn FnMut(Cycle)) -> TrainResult {
        /// Cycles between two looks at the clock on the wall.
        const STRIDE: u64 = 1 << 14;
        let mut promised = self.fabric.clone();
        promised.payloads = run.0.payload..=run.0.payload;
        let job = Operations::new(self, None, None, None).with_ends(&[], Some(run));
        on_kinds!(self, &promised, kinds => {
            let started = Instant::now();
            let mut simulation = self.simulation_of(&job, kinds, &Watch::default(), None);
            let receiver = loop {
                let outcome = simulation.run_stride(STRIDE, stop);
                let receiver = ask_process(&mut simulation, run.to(), |it| it.train().cloned());
                let receiver = receiver.expect("the train that it was given");
                if outcome != Outcome::Reached || receiver.received() == run.count() {
                    break receiver;
                }
                progress(simulation.now());
            };
            simulation.settle();
            self.train_result(run, &receiver, simulation.counters(), started.elapsed())
        })
    }

    /// The part of `node` in a train.
    pub(super) fn train_of(&self, run: TrainRun, node: NodeId) -> Train {
        let settings = TrainSettings {
            from: NodeId(run.0.from),
            to: run.to(),
            count: run.count(),
            payload: run.0.payload as u16,
            rails: self.fabric.rails,
            seed: self.seed,
        };
        Train::new(settings, node)
    }

    /// What a train has come to, whose `receiver` is this.
    pub(super) fn train_result(
        &self,
        run: TrainRun,
        receiver: &Train,
        counters: Counters,
        wall: Duration,
    ) -> TrainResult {
        let TrainRun(choice) = run;
        let last = receiver.last().0;
        let time = (receiver.received() == choice.count).then_some(last);
        let [model, pipelined] = self.train_theory(choice);
        let (peak_rss_bytes, clock) = (peak_rss_bytes(), self.machine.clock);
        TrainResult { choice, time, last, model, pipelined, counters, wall, peak_rss_bytes, clock }
    }

    /// Cycles by the multi-rail model, and if links alone set the pace: that of the slowest on the way.
    fn train_theory(&self, choice: TrainChoice) -> [f64; 2] {
        let (from, to) = (NodeId(choice.from), NodeId(choice.to));
        let first = self.fabric.zero_load_cycles(from, to, choice.payload).0 as f64;
        let others = f64::from(choice.count.saturating_sub(1)) / f64::from(self.fabric.rails);
        let flits = self.machine.packet.packet_flits(choice.payload);
        let hops = self.fabric.routing.path(from, to).map(|(switch, hop)| End::Switch(switch, hop.port));
        let carried = std::iter::once(End::Node(from)).chain(hops);
        // Nothing comes the other way that acknowledgements could go with.
        let carried = carried.map(|end| self.fabric.carries(end, flits, 0.0));
        let flits = f64::from(flits) / carried.fold(1.0, f64::min);
        let through = f64::from(self.fabric.chip.through_cycles());
        [first + others * flits.max(through), first + others * flits]
    }
}
