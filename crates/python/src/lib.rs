//! What Python cannot do itself, for the package in `python/flitway`: checking machines and workloads, running them, keeping
//! points. It knows **no** semantics of its own: text goes in as in files and on the command line, JSON comes out as from
//! `--json`, and the Python part makes types of it.
//!
//! * Nothing here holds Python's lock while it simulates; see [`attend`].
//! * Wrong input is an exception of `flitway._errors`, with every diagnostic; see [`errors`].
//! * A panic does not cross: it becomes `InternalError`, which is a bug of ours.

mod attend;
mod errors;
mod experiment;
mod machine;
mod run;

use mimalloc::MiMalloc;
use pyo3::prelude::*;

/// As that of the command line. It is for what is allocated here; Python has its own.
#[global_allocator]
static MEMORY: MiMalloc = MiMalloc;

/// The private binary part of `flitway`.
#[pymodule]
mod _flitway {
    #[pymodule_export]
    use super::experiment::{Experiment, Store};
    #[pymodule_export]
    use super::machine::{
        builtin_experiments, builtin_machines, check_machine, check_settings, result_schema,
    };
    #[pymodule_export]
    use super::run::{parquet, run, run_point, workload_options};

    /// The version that results name.
    #[pymodule_export]
    const VERSION: &str = flitway_experiment::VERSION;
}
