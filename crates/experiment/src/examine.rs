//! What follows from a machine, before anything runs: sizes and distances, whether it can deadlock, what its buffers must
//! hold, and how busy its channels will be. `docs/checks.md` describes it.

use crate::VERSION;
use crate::schema;
use crate::workload::{GraphFiles, Problem, Surroundings, Tasks, Workload, WorkloadOptions};
use flitway_fabric::chip::Copies;
use flitway_fabric::chip::Cost;
use flitway_fabric::headroom::Headroom;
use flitway_machine::units;
use flitway_report::bill::Bill;
use flitway_report::cabling::{cabling, cabling_json};
use flitway_report::channels::{Answers, ChannelLoads, Waiting, end_json, headroom, headroom_json};
use flitway_report::facts::Facts;
use flitway_report::session::Session;
use flitway_wiring::pattern::Pattern;
use flitway_wiring::worst::Worst;
use flitway_workload::traffic::destination::Search;
use flitway_workload::traffic::{Traffic, destination};
use serde_json::{Value, json};
use std::sync::Arc;

/// What follows from a machine.
#[derive(Debug)]
pub struct Examination {
    /// Sizes, distances, latencies.
    pub facts: Facts,
    /// Chips, ports and cables.
    pub bill: Bill,
    /// What the cables of a graph have in common; `None` where a formula says how switches are joined.
    pub cabling: Option<Pattern>,
    /// Which channels wait for which; `None` if the machine is too large for that.
    pub waiting: Option<Waiting>,
    /// What buffers must hold.
    pub headroom: Headroom,
    /// The pattern of traffic under which loads are expected.
    pub pattern: String,
    /// Loads of channels; `None` if the machine is too large, or too small for uniform traffic that nobody asked for.
    pub loads: Option<ChannelLoads>,
    /// If the pattern is the worst permutation: the one that was found.
    pub worst: Option<Worst>,
    /// If the pattern is pairs that share no channel: how many channels some do share all the same.
    pub shared: Option<u32>,
}

impl Examination {
    /// The pattern of traffic unless one is given.
    pub const TRAFFIC_DEFAULT: &str = "uniform";

    /// Examines the machine of `session`, with packets of the size `packet` (256 B, or the MTU if that is less, unless given),
    /// the pattern `traffic` and so many packets `outstanding`, all as written.
    ///
    /// # Errors
    /// If these are wrong, or do not fit the machine.
    pub fn new(
        session: &Session,
        packet: Option<&str>,
        traffic: Option<&str>,
        outstanding: Option<&str>,
    ) -> Result<Self, Vec<Problem>> {
        let (machine, fabric) = (session.machine(), session.fabric());
        let mtu = machine.packet.mtu_bytes;
        let unless_given = WorkloadOptions::default().fitted(mtu);
        let packet = packet.unwrap_or_else(|| unless_given.text("packet"));
        let payload = payload(packet, mtu).map_err(|problem| vec![problem])?;
        let pattern = traffic.unwrap_or(Self::TRAFFIC_DEFAULT);
        let fitted = match self::traffic(session, packet, pattern, outstanding) {
            // Uniform traffic needs two nodes; who asks for none is not told.
            Err(_) if traffic.is_none() && outstanding.is_none() => None,
            fitted => Some(fitted?),
        };
        let answers = fitted.as_ref().and_then(|traffic| Answers::new(machine, traffic));
        let waiting = Waiting::new(fabric, answers);
        let loads = fitted
            .as_ref()
            .zip(waiting.as_ref())
            .and_then(|(traffic, waiting)| ChannelLoads::new(waiting, fabric, traffic));
        let looks_for =
            |search| destination::parse(pattern).is_ok_and(|pattern| pattern.search() == Some(search));
        Ok(Examination {
            facts: Facts::new(machine, fabric, payload),
            bill: Bill::new(machine, fabric),
            cabling: cabling(fabric.topology()),
            waiting,
            headroom: headroom(fabric),
            worst: looks_for(Search::WorstCase).then(|| session.worst().cloned()).flatten(),
            shared: looks_for(Search::ContentionFree)
                .then(|| session.contention_free().map(|found| found.shared))
                .flatten(),
            pattern: pattern.to_owned(),
            loads,
        })
    }

    /// The object `flitway/check/1` of this examination of the machine of `session`.
    #[must_use]
    pub fn to_json(&self, session: &Session) -> Value {
        let machine = session.machine();
        let mut checked = json!({
            "schema": "flitway/check/1",
            "flitway": VERSION,
            "diagnostics": machine.warnings.to_json(),
            "machine": { "name": machine.name, "description": machine.to_json() },
            "facts": self.facts.to_json(),
            "bill": self.bill.to_json(),
            "credits": headroom_json(self.headroom),
        });
        let costs = session.fabric().chip.costs();
        if !costs.is_empty() {
            checked["switch_cost"] = costs.iter().map(cost_json).collect();
        }
        if let Some(pattern) = &self.cabling {
            checked["cabling"] = cabling_json(pattern);
        }
        if let Some(waiting) = &self.waiting {
            checked["deadlock"] = waiting.to_json();
            let copies = match session.fabric().chip.offers().copies {
                Copies::Free => None,
                Copies::FreeBy { setting, why } => {
                    Some(json!({ "free": true, "setting": setting, "why": why }))
                }
                Copies::Deadlock { setting } => Some(json!({ "free": false, "setting": setting })),
            };
            if let Some(copies) = copies {
                checked["deadlock"]["copies"] = copies;
            }
        }
        if let Some(loads) = &self.loads {
            checked["channel_loads"] = loads.to_json();
            checked["channel_loads"]["traffic"] = json!(self.pattern);
            if let Some(worst) = &self.worst {
                let found = json!({ "channel": end_json(worst.channel), "load": worst.load, "exact": worst.is_exact });
                checked["channel_loads"]["worst"] = found;
            }
            if let Some(shared) = self.shared {
                checked["channel_loads"]["shared"] = json!(shared);
            }
        }
        schema::written(checked)
    }

    /// The object `flitway/check/1` of what cannot be examined, because of these `diagnostics` or more.
    #[must_use]
    pub fn refused(diagnostics: Vec<Value>, has_more: bool) -> Value {
        let mut refused =
            json!({ "schema": "flitway/check/1", "flitway": VERSION, "diagnostics": diagnostics });
        if has_more {
            refused["has_more_diagnostics"] = json!(true);
        }
        schema::written(refused)
    }
}

fn cost_json(cost: &Cost) -> Value {
    let mut json = json!({ "organisation": cost.organisation });
    for (part, count) in &cost.parts {
        json[part.names()[0]] = json!(count);
    }
    json
}

fn payload(text: &str, mtu: u32) -> Result<u32, Problem> {
    let bytes = units::size(text).map_err(|error| {
        let problem = Problem::new("packet", format!("{error}: expected {}", error.expectation()));
        Problem { help: error.help(), ..problem }
    })?;
    u32::try_from(bytes)
        .ok()
        .filter(|bytes| (1..=mtu).contains(bytes))
        .ok_or_else(|| Problem::new("packet", format!("`{text}`: expected 1 B to the MTU, {mtu} B")))
}

/// The traffic of `pattern` at load 1.
fn traffic(
    session: &Session,
    packet: &str,
    pattern: &str,
    outstanding: Option<&str>,
) -> Result<Arc<Traffic>, Vec<Problem>> {
    let mut options = WorkloadOptions::default();
    for (name, text) in [("traffic", pattern), ("packet", packet), ("load", "1")] {
        options.set(name, text);
    }
    if let Some(text) = outstanding {
        options.set("outstanding", text);
    }
    let graphs = GraphFiles::default();
    let surroundings = Surroundings::of(session.machine(), &graphs);
    let Workload::Traffic(workload) = Workload::check(&options, &surroundings)? else {
        unreachable!("what has a pattern is synthetic traffic")
    };
    Ok(Arc::clone(&workload.tasks(session)?[0].traffic))
}
