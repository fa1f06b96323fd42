//! `prove`: the claims about the protocols that are state machines, each checked in every state of its world.

use crate::Outcome;
use flitway_reference::explore::{Claim, Effort, Exploration, Model, Verdict, explore};
use flitway_reference::{barrier, end_to_end, handshake, retry};
use std::time::Instant;

#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Only claims with this text in their name
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Only claims that take seconds; the tests check these too
    #[arg(long)]
    quick: bool,
    /// Show the shortest way to what must not be
    #[arg(long)]
    witness: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    println!("{:<76}{:>10}{:>12}{:>6}{:>8}  outcome", "claim", "states", "transitions", "depth", "s");
    let mut refuted = Vec::new();
    let checked = check(arguments, "barrier", barrier::claims(), &mut refuted)
        + check(arguments, "retry", retry::claims(), &mut refuted)
        + check(arguments, "handshake", handshake::claims(), &mut refuted)
        + check(arguments, "end to end", end_to_end::claims(), &mut refuted);
    if checked == 0 {
        return Err(format!("no claim has `{}` in its name", arguments.only));
    }
    if refuted.is_empty() { Ok(()) } else { Err(refuted.join("\n")) }
}

/// Checks those claims about a protocol that are wanted, and says how many.
fn check<M: Model>(
    arguments: &Arguments,
    protocol: &str,
    claims: Vec<Claim<M>>,
    refuted: &mut Vec<String>,
) -> usize {
    let mut checked = 0;
    for claim in claims {
        let name = format!("{protocol}, {}", claim.name);
        if !name.contains(&arguments.only) || (claim.effort == Effort::Long && arguments.quick) {
            continue;
        }
        checked += 1;
        let started = Instant::now();
        let found = explore(&claim.world);
        show(&name, &found, started.elapsed().as_secs_f64(), arguments.witness);
        refuted.extend(claim.refute(&found));
    }
    checked
}

fn show(name: &str, found: &Exploration, seconds: f64, with_witness: bool) {
    let (outcome, witness) = match &found.verdict {
        Verdict::SafeAndLive => ("safe and live".to_owned(), None),
        Verdict::Unsafe(witness) => (format!("unsafe after {} steps", witness.steps()), Some(witness)),
        Verdict::Stuck(states, witness) => {
            (format!("stuck after {} steps, in {states} states", witness.steps()), Some(witness))
        }
    };
    let Exploration { states, transitions, depth, .. } = found;
    println!("{name:<76}{states:>10}{transitions:>12}{depth:>6}{seconds:>8.1}  {outcome}");
    if let Some(witness) = witness.filter(|_| with_witness) {
        println!("{witness}");
    }
}
