//! The Python package: an environment of its own under the target folder, built, typed and tested there.

use crate::commands::built;
use crate::run::{Outcome, Steps, root};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The environment, under the target folder.
const ENVIRONMENT: &str = "python";

/// Builds the package, checks its types and runs its tests; `rest` goes to pytest.
pub(crate) fn py(rest: &[OsString]) -> Outcome {
    steps(&mut Steps::default(), rest)
}

pub(crate) fn steps(steps: &mut Steps, rest: &[OsString]) -> Outcome {
    environment(steps)?;
    steps.run(program("maturin").args(["develop", "--quiet"]))?;
    steps.run(&mut program("mypy"))?;
    steps.run(program("stubtest").args(["flitway._flitway"]))?;
    // The tests hold results against those of the command line.
    steps.work("cargo build --workspace --bin flitway", || built("flitway").map(|_| ()))?;
    steps.run(program("python").args(["-m", "pytest"]).args(rest))
}

/// Makes the environment, unless it is there, with what the package can use.
pub(crate) fn environment(steps: &mut Steps) -> Outcome {
    let environment = target().join(ENVIRONMENT);
    if !environment.join("bin/pip").exists() {
        make(steps, &environment)?;
    }
    let install = ["install", "--quiet", "--disable-pip-version-check", "-r", "python/requirements.txt"];
    steps.run(program("pip").args(install))
}

/// Makes an environment of Python with nothing in it.
pub(crate) fn make(steps: &mut Steps, environment: &Path) -> Outcome {
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--clear"]).arg(environment).current_dir(root());
    let cure = "install Python 3.11 or later (python3, python3-venv)";
    steps.run(&mut make).map_err(|message| format!("{message}: {cure}"))
}

/// A program of the environment.
pub(crate) fn program(name: &str) -> Command {
    let environment = target().join(ENVIRONMENT);
    let mut command = Command::new(environment.join("bin").join(name));
    // maturin looks for the environment, and pip asks nobody.
    command.current_dir(root()).stdin(Stdio::null()).env("VIRTUAL_ENV", &environment);
    command.env("CARGO_TARGET_DIR", target());
    command
}

/// Where Cargo builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}
