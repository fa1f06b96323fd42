//! `prove`: the claims about the barrier protocol, each checked in every state of its world.

use crate::Outcome;
use flitway_reference::barrier::{Claim, Effort, Exploration, Verdict, claims, explore};
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
    let is_wanted = |claim: &Claim| {
        claim.name.contains(&arguments.only) && (claim.effort == Effort::Quick || !arguments.quick)
    };
    let wanted: Vec<Claim> = claims().into_iter().filter(is_wanted).collect();
    if wanted.is_empty() {
        return Err(format!("no claim has `{}` in its name", arguments.only));
    }
    println!("{:<68}{:>10}{:>12}{:>6}{:>8}  outcome", "claim", "states", "transitions", "depth", "s");
    let mut refuted = Vec::new();
    for claim in &wanted {
        let started = Instant::now();
        let found = explore(&claim.world);
        show(claim, &found, started.elapsed().as_secs_f64(), arguments.witness);
        refuted.extend(claim.refute(&found));
    }
    if refuted.is_empty() { Ok(()) } else { Err(refuted.join("\n")) }
}

fn show(claim: &Claim, found: &Exploration, seconds: f64, with_witness: bool) {
    let (outcome, witness) = match &found.verdict {
        Verdict::SafeAndLive => ("safe and live".to_owned(), None),
        Verdict::Unsafe(witness) => (format!("unsafe after {} steps", witness.steps()), Some(witness)),
        Verdict::Stuck(states, witness) => {
            (format!("stuck after {} steps, in {states} states", witness.steps()), Some(witness))
        }
    };
    let Exploration { states, transitions, depth, .. } = found;
    println!("{:<68}{states:>10}{transitions:>12}{depth:>6}{seconds:>8.1}  {outcome}", claim.name);
    if let Some(witness) = witness.filter(|_| with_witness) {
        println!("{witness}");
    }
}
