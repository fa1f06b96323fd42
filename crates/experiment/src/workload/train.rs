//! A train of packets from one node to another.

use super::option::{ValueKind, WorkloadOption};
use super::{
    Described, Kind, KindId, Measured, Outcome, Problem, Surroundings, Tasks, Workload, WorkloadOptions,
};
use flitway_machine::units;
use flitway_report::measure::Progress;
use flitway_report::memory;
use flitway_report::session::Session;
use flitway_report::session::train::{TrainChoice, TrainMisfit, TrainResult, TrainRun};
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

pub(super) const KIND: Kind = Kind {
    id: KindId::Train,
    name: "a train",
    selectors: &["train"],
    asks: Kind::is_selected,
    example: "0-15",
    heading: "Train (--packet says how large)",
    options: &[
        WorkloadOption::new(
            "train",
            KindId::Train,
            ValueKind::Text("FROM-TO"),
            "Send packets from one node to another, all at once: 0-15; beside synthetic traffic if a --load is \
             given, and beside multicasts, barriers and task graphs",
        ),
        // dawning5000.txt section 3.1 sends so many.
        WorkloadOption::new(
            "count",
            KindId::Train,
            ValueKind::Count,
            "How many: {} unless given; of NIC operations 10 for each process, 1000 with --outstanding, --load or --faults",
        )
        .default("10000"),
    ],
    shares: &["packet"],
    of_a_point: None,
    fields: &[TrainResult::FIELDS],
    check,
};

/// A train, checked.
#[derive(Clone, Debug)]
pub struct TrainWorkload {
    /// Who sends to whom, how many, how large.
    pub choice: TrainChoice,
    /// The size, as written.
    pub packet: String,
}

fn check(options: &WorkloadOptions, _: &Surroundings<'_>) -> Result<Workload, Vec<Problem>> {
    let mut problems = Vec::new();
    let text = options.get("train").unwrap_or("");
    let numbers = text
        .split_once('-')
        .and_then(|(from, to)| Some((from.trim().parse::<u32>().ok()?, to.trim().parse::<u32>().ok()?)));
    // A switch would send the packets back, which says nothing of a network.
    let ends = numbers.filter(|(from, to)| from != to);
    if ends.is_none() {
        let wrong =
            if numbers.is_some() { "this is one node; expected two" } else { "expected two node numbers" };
        problems.push(Problem::new("train", format!("`{text}`: {wrong}, such as `0-15`")));
    }
    let count_text = options.text("count");
    let count = count_text.parse().ok().filter(|count| (1..=10_000_000).contains(count));
    if count.is_none() {
        let message = format!("`{count_text}`: expected a number from 1 to 10000000");
        problems.push(Problem::new("count", message));
    }
    let packet = options.text("packet").to_owned();
    let payload = match units::size(&packet) {
        Ok(bytes) => u32::try_from(bytes).ok().filter(|&bytes| bytes > 0),
        Err(error) => {
            let problem = Problem::new("packet", format!("{error}: expected {}", error.expectation()));
            problems.push(Problem { help: error.help(), ..problem });
            return Err(problems);
        }
    };
    if payload.is_none() {
        problems.push(Problem::new("packet", format!("`{packet}`: expected 1 B to the MTU")));
    }
    match (ends, count, payload) {
        (Some((from, to)), Some(count), Some(payload)) => {
            let choice = TrainChoice { from, to, count, payload };
            Ok(Workload::Train(Box::new(TrainWorkload { choice, packet })))
        }
        _ => Err(problems),
    }
}

/// The option that is most likely at fault.
fn misfit(error: TrainMisfit) -> Problem {
    let option = match error {
        TrainMisfit::NoNode { .. } => "train",
        TrainMisfit::AboveMtu { .. } => "packet",
    };
    Problem::new(option, error.to_string())
}

impl Described for TrainWorkload {
    fn to_json(&self) -> Value {
        let TrainChoice { from, to, count, .. } = self.choice;
        json!({ "train": format!("{from}-{to}"), "count": count.to_string(), "packet": self.packet })
    }

    fn identity(&self) -> Value {
        self.to_json()
    }

    fn has_views(&self) -> bool {
        false
    }
}

impl Tasks for TrainWorkload {
    type Task = TrainRun;
    type Outcome = TrainResult;

    fn tasks(&self, session: &Session) -> Result<Vec<TrainRun>, Vec<Problem>> {
        let run = session.fit_train(self.choice).map_err(misfit)?;
        // All packets are there at once, in a list that doubles.
        let count = self.choice.count;
        let needed = u64::from(count) * 2 * memory::BYTES_PER_PACKET;
        memory::fits_for(needed, &format!("a train of {count} packets"))
            .map_err(|message| Problem::new("count", message))?;
        Ok(vec![run])
    }

    fn measure(
        &self,
        session: &Session,
        task: &TrainRun,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> TrainResult {
        session.train(*task, stop, &mut |now| progress(Progress::at(now)))
    }
}

impl Outcome for TrainResult {
    fn is_stopped(&self) -> bool {
        self.time.is_none()
    }

    fn measured(self) -> Vec<Measured> {
        vec![Measured { value: self.to_json(), details: None }]
    }
}
