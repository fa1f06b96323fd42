//! Experiments: a file that says what to run, what to vary, what to plot and what to state becomes points, results, plot
//! data and sentences with numbers in them. Also the home of workloads as they are written, checked.
//!
//! This crate knows no terminal and no arguments, and prints nothing. It simulates nothing itself: `flitway-report` runs
//! each point.
//!
//! The way through it:
//!
//! ```text
//! text -> Options (as written) -> Experiment (checked) -> points -> Runner -> results -> Report (plots, findings)
//! ```
//!
//! Each [`Point`] stands for itself: it can be run anywhere, in any order, and its [`key`](Point::key) is a digest of
//! everything that its result depends on. So a program that spreads points over processes of its own needs four calls:
//!
//! ```
//! use flitway_experiment::{Experiment, Overrides, Point};
//! use std::sync::atomic::AtomicBool;
//!
//! let text = r#"
//! name = "example"
//! [run]
//! machine = "hpp-switch"
//! load = 0.3
//! duration = "20 us"
//! [[vary]]
//! over = "switch.vcs"
//! values = [1, 3]
//! [[finding]]
//! text = """
//! Three VCs take {packet_latency_ns.mean at switch.vcs=3 / packet_latency_ns.mean at switch.vcs=1 as %} of the latency
//! of one."""
//! "#;
//! let experiment = Experiment::from_text("example.toml", text.into(), ".".as_ref(), &Overrides::default()).unwrap();
//! let results = experiment.points().iter().map(|point| {
//!     let elsewhere = Point::from_description(&point.description()).unwrap();
//!     elsewhere.run(&AtomicBool::new(false)).unwrap()
//! });
//! let report = experiment.gather(results.collect());
//! let finding = report.findings[0].as_deref().unwrap();
//! assert!(finding.starts_with("Three VCs take "), "{finding}");
//! ```

mod builtin;
mod check;
mod examine;
mod experiment;
pub mod faults;
mod finding;
pub mod frame;
mod load;
mod options;
mod plot;
mod point;
pub mod result;
mod runner;
pub mod schema;
mod select;
pub mod side_by_side;
pub mod spread;
mod store;
mod value;
mod vary;
pub mod views;
pub mod whole;
pub mod workload;

pub use builtin::builtin;
pub use examine::Examination;
pub use experiment::{Experiment, Overrides, Report};
pub use plot::{Mark, Plot, PlotData, Series};
pub use point::{Point, RunError, command};
pub use runner::{Progress, Runner, RunnerError};
pub use store::{Store, StoreError};
pub use vary::Axis;
pub use workload::{Workload, WorkloadOptions};

/// The version that results name.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
