//! The object `flitway/result/1` of a run, made in one place. `docs/results.md` describes it.

use crate::workload::Run;
use crate::{schema, spread};
use flitway_machine::Machine;
use serde_json::{Value, json};

/// What a result says besides its points.
#[derive(Clone, Copy)]
pub struct Heading<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The seed.
    pub seed: u64,
    /// The command that makes the result.
    pub command: &'a [String],
    /// What ran.
    pub workload: &'a dyn Run,
}

impl std::fmt::Debug for Heading<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Heading").field("machine", &self.machine.name).finish_non_exhaustive()
    }
}

/// A result with these `points`.
#[must_use]
pub fn result(heading: Heading<'_>, points: Vec<Value>) -> Value {
    schema::written(object(heading, points))
}

/// The result of the same run with several seeds, each with its points.
#[must_use]
pub fn of_seeds(heading: Heading<'_>, runs: &[(u64, Vec<Value>)]) -> Value {
    let (points, spread) = spread::spread(runs);
    let mut result = object(heading, points);
    result["seeds"] = json!(runs.len());
    result["spread"] = json!(spread);
    schema::written(result)
}

fn object(heading: Heading<'_>, points: Vec<Value>) -> Value {
    let Heading { machine, seed, command, workload } = heading;
    json!({
        "schema": "flitway/result/1",
        "flitway": crate::VERSION,
        "machine": { "name": machine.name, "description": machine.to_json() },
        "command": command,
        "seed": seed,
        "workload": workload.to_json(),
        "points": points,
    })
}
