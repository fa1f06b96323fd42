//! `campaign`: random cases on the reference and on the fast engine, for as long as asked.

use crate::Outcome;
use flitway_reference::campaign::{self, Case, Extent, Finding};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// How long
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u64,
    /// The seed of the first case; by default from the clock, so that each campaign is another one
    #[arg(long, value_name = "SEED")]
    from: Option<u64>,
    /// Begin with the seed of this day (UTC): the same all day, and another one tomorrow
    #[arg(long, conflicts_with = "from")]
    today: bool,
    /// Run the case of this seed only
    #[arg(long, value_name = "SEED", conflicts_with_all = ["seconds", "from", "today"])]
    replay: Option<u64>,
    /// Run the case in this file only: one that was printed when it failed
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seconds", "from", "today", "replay"])]
    case: Option<PathBuf>,
    /// Threads, each with a case of its own
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: u32,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let failed = |finding: Box<Finding>| {
        print!("{finding}");
        "reference and engine differ: the case is printed, and can be kept in crates/reference/tests/cases"
            .to_owned()
    };
    if let Some(path) = &arguments.case {
        let name = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
        let case: Case = text.parse().map_err(|error| format!("{name}: {error}"))?;
        let coverage = campaign::check(&case).map_err(failed)?;
        if coverage.cases == 0 {
            return Err(format!("{name}: the parts of this case do not go together"));
        }
        println!("{name}: both engines agree\n{coverage:#?}");
        return Ok(());
    }
    if let Some(seed) = arguments.replay {
        let coverage = campaign::replay(seed).map_err(failed)?;
        println!("case {seed}: both engines agree\n{coverage:#?}");
        return Ok(());
    }
    let step = if arguments.today { SECONDS_OF_A_DAY } else { 1 };
    let first = arguments.from.unwrap_or_else(|| from_clock(step));
    println!("# Cases from seed {first} on, for {} s on {} threads", arguments.seconds, arguments.threads);
    let extent = Extent::Time(Duration::from_secs(arguments.seconds));
    let coverage = campaign::campaign(first, extent, arguments.threads).map_err(failed)?;
    println!("both engines agree on all of them\n{coverage:#?}");
    Ok(())
}

const SECONDS_OF_A_DAY: u64 = 86_400;

/// A thousand million seeds for each second, from the last whole `step` of seconds on: campaigns on different days do not meet.
fn from_clock(step: u64) -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    (since - since % step) * 1_000_000_000
}
