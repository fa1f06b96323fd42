//! Where it was measured: without that a time says nothing.

use serde_json::{Value, json};
use std::process::Command;

/// Facts of the machine and of the build.
#[derive(Clone, Debug)]
pub(super) struct Host {
    processor: String,
    cores: usize,
    /// Processes that wanted a core in the last minute.
    load_average: Option<f64>,
    rustc: String,
    commit: String,
}

impl Host {
    pub(super) fn look() -> Self {
        let unknown = || "unknown".to_owned();
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let information = read("/proc/cpuinfo");
        let processor =
            information.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        Host {
            processor: processor.map_or_else(unknown, |(_, name)| name.to_owned()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            load_average: read("/proc/loadavg").split(' ').next().and_then(|text| text.parse().ok()),
            rustc: said(&["rustc", "--version"]).unwrap_or_else(unknown),
            commit: said(&["git", "describe", "--always", "--dirty"]).unwrap_or_else(unknown),
        }
    }

    /// How this program was built.
    fn profile() -> &'static str {
        if cfg!(debug_assertions) { "with debug assertions: TIMES MEAN NOTHING" } else { "release" }
    }

    pub(super) fn print(&self) {
        let load = self.load_average.map_or_else(|| "unknown".to_owned(), |load| format!("{load:.2}"));
        println!("{}, {} cores, load average {load}", self.processor, self.cores);
        println!("{}, {}, commit {}", self.rustc, Host::profile(), self.commit);
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "processor": self.processor,
            "cores": self.cores,
            "load_average": self.load_average,
            "rustc": self.rustc,
            "profile": Host::profile(),
            "commit": self.commit,
        })
    }
}

/// The first line that a program prints.
fn said(command: &[&str]) -> Option<String> {
    let output =
        Command::new(command[0]).args(&command[1..]).current_dir(crate::files::root()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.lines().next().map(str::to_owned))?
}
