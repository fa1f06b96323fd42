//! What is handed out: the program and the wheel, built, and tried as somebody who has nothing else.

use crate::python::{environment, make, program, target};
use crate::run::{Outcome, Steps, cargo, root};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The most bytes that the program has, and the wheel: debug lines alone would make four times as many.
const BYTES_MAX: u64 = 12_000_000;

/// The profile of the program, after which Cargo calls its folder.
const PROFILE: &str = "dist";

/// Builds both into `target/dist`, and tries each.
pub(crate) fn dist() -> Outcome {
    let mut steps = Steps::default();
    let folder = target().join(PROFILE);
    steps.run(&mut cargo(&["build", "--quiet", "--profile", PROFILE, "--package", "flitway"]))?;
    environment(&mut steps)?;
    wheels(&folder).iter().try_for_each(fs::remove_file).map_err(|error| error.to_string())?;
    let build = ["build", "--quiet", "--locked", "--release", "--strip", "--out"];
    steps.run(program("maturin").args(build).arg(&folder))?;
    let binary = folder.join("flitway");
    let [wheel] = &wheels(&folder)[..] else { return Err("maturin has built no wheel".to_owned()) };
    steps.run(Command::new(&binary).args(["run", "hpp-switch", "--load", "0.3"]).stdin(Stdio::null()))?;
    try_wheel(&mut steps, wheel, &folder.join("try"))?;
    for path in [&binary, wheel] {
        let bytes = fs::metadata(path).map_err(|error| error.to_string())?.len();
        let shown = path.strip_prefix(root()).unwrap_or(path).display();
        println!("{shown}: {:.1} MB", bytes as f64 / 1e6);
        if bytes > BYTES_MAX {
            return Err(format!("{shown} has {bytes} bytes, and {BYTES_MAX} are the most"));
        }
    }
    Ok(())
}

/// The wheels in a folder.
fn wheels(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path());
    files.filter(|path| path.extension() == Some(OsStr::new("whl"))).collect()
}

/// Installs a wheel into an environment that has nothing else, and runs something there.
fn try_wheel(steps: &mut Steps, wheel: &Path, environment: &Path) -> Outcome {
    make(steps, environment)?;
    let python = || {
        let mut command = Command::new(environment.join("bin/python"));
        // Not in the root, whose folders Python would take for packages.
        command.current_dir(environment).stdin(Stdio::null());
        command
    };
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"];
    steps.run(python().args(install).arg(wheel))?;
    let lines = "import flitway; print(flitway.run('hpp-switch', load=0.3)[0])";
    steps.run(python().args(["-c", lines]))
}
