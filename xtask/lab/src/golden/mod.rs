//! `golden`: small tables of physical quantities, one file for each built-in machine, some of them on
//! other topologies, and task graph. They are kept in
//! `tests/golden` and must not change unless somebody wants them to.
//!
//! Everything in them follows from machine, workload and seed, so they are compared byte for byte.

mod graph;
mod machine;

use crate::Outcome;
use crate::files::{Made, compare, root, write};
use std::sync::Mutex;

#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Write today's values; a commit of its own says why they have changed
    #[arg(long)]
    accept: bool,
}

const FOLDER: &str = "tests/golden";

/// A file to be made.
type Job = Box<dyn FnOnce() -> Outcome<Made> + Send>;

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut files = together(jobs())?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    if arguments.accept {
        write(&files)?;
        println!("commit them by themselves, with the reason why they have changed");
        return Ok(());
    }
    let mut wrong: Vec<String> = compare(&files).into_iter().map(str::to_owned).collect();
    wrong.extend(orphans(&files)?);
    if !wrong.is_empty() {
        let cure =
            "if that is meant, run `cargo xtask golden --accept` and commit it by itself with the reason";
        return Err(format!("golden tables differ: {}; {cure}", wrong.join(", ")));
    }
    println!("{} golden tables are as they were", files.len());
    Ok(())
}

fn jobs() -> Vec<Job> {
    let machines = machine::tables().into_iter().map(|table| -> Job { Box::new(move || table.make()) });
    let graphs = graph::GRAPHS.iter().map(|&name| -> Job { Box::new(|| graph::table(name)) });
    machines.chain(graphs).collect()
}

/// Does all jobs on two threads.
fn together(jobs: Vec<Job>) -> Outcome<Vec<Made>> {
    let queue = Mutex::new(jobs);
    let done = Mutex::new(Vec::new());
    let lock = "no thread panics while it holds the lock";
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(job) = queue.lock().expect(lock).pop() else { break };
                    let made = job();
                    done.lock().expect(lock).push(made);
                }
            });
        }
    });
    done.into_inner().expect(lock).into_iter().collect()
}

/// Tables in the tree that nobody makes.
fn orphans(files: &[Made]) -> Outcome<Vec<String>> {
    let mut orphans = Vec::new();
    let unreadable = |error: std::io::Error| format!("{FOLDER} cannot be read: {error}");
    for entry in std::fs::read_dir(root().join(FOLDER)).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name().to_string_lossy().into_owned();
        let path = format!("{FOLDER}/{name}");
        if name.ends_with(".txt") && files.iter().all(|file| file.path != path) {
            orphans.push(format!("{path} (nobody makes it: remove it)"));
        }
    }
    Ok(orphans)
}
