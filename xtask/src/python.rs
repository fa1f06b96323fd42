//! The Python package: an environment of its own under the target folder, built, typed and tested there.

use crate::run::{Outcome, Steps, cargo, root};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Builds the package, checks its types and runs its tests; `rest` goes to pytest.
pub(crate) fn py(rest: &[OsString]) -> Outcome {
    steps(&mut Steps::default(), rest)
}

pub(crate) fn steps(steps: &mut Steps, rest: &[OsString]) -> Outcome {
    let environment = target().join("python");
    let program = |name: &str| {
        let mut command = Command::new(environment.join("bin").join(name));
        // maturin looks for the environment, and pip asks nobody.
        command.current_dir(root()).stdin(Stdio::null()).env("VIRTUAL_ENV", &environment);
        command.env("CARGO_TARGET_DIR", target());
        command
    };
    if !environment.join("bin/pip").exists() {
        let mut make = Command::new("python3");
        make.args(["-m", "venv", "--clear"]).arg(&environment).current_dir(root());
        let cure = "install Python 3.11 or later (python3, python3-venv)";
        steps.run(&mut make).map_err(|message| format!("{message}: {cure}"))?;
    }
    steps.run(program("pip").args([
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-r",
        "python/requirements.txt",
    ]))?;
    steps.run(program("maturin").args(["develop", "--quiet"]))?;
    steps.run(&mut program("mypy"))?;
    steps.run(program("stubtest").args(["flitway._flitway"]))?;
    // The tests hold results against those of the command line.
    steps.run(&mut cargo(&["build", "--quiet", "--package", "flitway"]))?;
    steps.run(program("python").args(["-m", "pytest"]).args(rest))
}

/// Where Cargo builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}
