//! A comparison with another program, side by side: ours and theirs run in turns, each as a process of its own from
//! start to end, and processor times are compared pair by pair.

use super::case::{Case, SEED};
use super::clock::{children_time, median};
use crate::Outcome;
use serde_json::{Value, json};
use std::process::{Command, Stdio};

/// What is run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opponent<'a> {
    /// For `sh -c`, with `{nodes}`, `{flits}`, `{load}`, `{cycles}` and `{seed}`.
    pub(super) template: &'a str,
    pub(super) cycles: u64,
    pub(super) pairs: usize,
}

/// Processor seconds of one pair.
#[derive(Clone, Copy, Debug)]
struct Pair {
    ours: f64,
    theirs: f64,
}

impl Pair {
    fn ratio(&self) -> f64 {
        self.theirs / self.ours
    }
}

pub(super) fn compare(case: Case, opponent: Opponent<'_>) -> Outcome<Value> {
    let theirs = filled(opponent.template, case, opponent.cycles);
    println!("\n{} for {} cycles, against: {theirs}", case.name(), opponent.cycles);
    println!("{:>4} {:>9} {:>9} {:>13}", "pair", "ours s", "theirs s", "theirs / ours");
    let mut pairs = Vec::new();
    for number in 1..=opponent.pairs {
        let pair =
            Pair { ours: timed(&mut ours(case, opponent.cycles)?)?, theirs: timed(&mut shell(&theirs))? };
        println!("{number:>4} {:>9.2} {:>9.2} {:>13.2}", pair.ours, pair.theirs, pair.ratio());
        pairs.push(pair);
    }
    let ratio = median(pairs.iter().map(Pair::ratio).collect());
    println!("median of the ratios: {ratio:.2}");
    Ok(json!({
        "case": case.name(),
        "cycles": opponent.cycles,
        "command": theirs,
        "ours_s": pairs.iter().map(|pair| pair.ours).collect::<Vec<_>>(),
        "theirs_s": pairs.iter().map(|pair| pair.theirs).collect::<Vec<_>>(),
        "median_ratio": ratio,
    }))
}

fn filled(template: &str, case: Case, cycles: u64) -> String {
    template
        .replace("{nodes}", &case.network.nodes().to_string())
        .replace("{flits}", &case.flits.to_string())
        .replace("{load}", &case.offered().to_string())
        .replace("{cycles}", &cycles.to_string())
        .replace("{seed}", &SEED.to_string())
}

/// This program, simulating one case and nothing else.
fn ours(case: Case, cycles: u64) -> Outcome<Command> {
    let program =
        std::env::current_exe().map_err(|error| format!("this program is not to be found: {error}"))?;
    let mut command = Command::new(program);
    command.args(["bench", "--nodes", &case.network.nodes().to_string(), "--flits", &case.flits.to_string()]);
    command.args(["--load", &case.offered().to_string(), "--simulate", &cycles.to_string()]);
    Ok(command)
}

fn shell(line: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", line]).stdin(Stdio::null());
    command
}

/// Processor seconds of a process and its children, start and end included.
fn timed(command: &mut Command) -> Outcome<f64> {
    let before = children_time();
    let status = command.stdout(Stdio::null()).status();
    let status = status.map_err(|error| format!("{command:?} cannot be started: {error}"))?;
    if !status.success() {
        return Err(format!("{command:?} has failed ({status})"));
    }
    Ok((children_time() - before).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::super::case::Network;
    use super::*;

    #[test]
    fn the_command_says_what_to_simulate() {
        let case = Case { network: Network::Tree { arity: 8 }, flits: 32, load: 60 };
        let filled = filled("sim -n {nodes} -f {flits} -l {load} -c {cycles} -s {seed}", case, 1_000);
        assert_eq!(filled, "sim -n 512 -f 32 -l 0.6 -c 1000 -s 1");
    }

    #[test]
    fn a_command_that_fails_is_no_measurement() {
        assert!(timed(&mut shell("exit 3")).unwrap_err().contains("has failed"));
    }
}
