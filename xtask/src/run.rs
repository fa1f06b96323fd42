//! Running steps: what is run is printed before, and how long it took after.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What a step came to; an error is a sentence for a person.
pub(crate) type Outcome<T = ()> = Result<T, String>;

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    // Cargo sets the variable at run time too, so a binary that was built elsewhere finds the tree it is run in.
    let own = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    own.parent().map(Path::to_owned).unwrap_or(own)
}

/// Cargo in the root of the workspace.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root()).stdin(Stdio::null());
    command
}

/// Whether Cargo has a subcommand that rustup installs as a component.
pub(crate) fn has_component(subcommand: &str) -> bool {
    let mut command = cargo(&[subcommand, "--version"]);
    let output = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    output.is_ok_and(|status| status.success())
}

/// A step that is over.
#[derive(Debug)]
struct Done {
    name: String,
    time: Duration,
    word: &'static str,
}

/// The steps of a command.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    done: Vec<Done>,
}

impl Steps {
    /// Runs a program; it must succeed.
    pub(crate) fn run(&mut self, command: &mut Command) -> Outcome {
        let line = line_of(command);
        self.work(&line, || {
            let status = command.status().map_err(|error| format!("`{line}` cannot be started: {error}"))?;
            if status.success() { Ok(()) } else { Err(format!("`{line}` has failed ({status})")) }
        })
    }

    /// Does something within this process.
    pub(crate) fn work(&mut self, name: &str, work: impl FnOnce() -> Outcome) -> Outcome {
        println!("\n> {name}");
        let started = Instant::now();
        let outcome = work();
        let time = started.elapsed();
        let word = if outcome.is_ok() { "done" } else { "FAILED" };
        println!("< {word} in {:.1} s", time.as_secs_f64());
        self.done.push(Done { name: name.to_owned(), time, word });
        outcome
    }

    /// All steps with their times.
    pub(crate) fn print_times(&self) {
        println!("\n{:>8}  {:<6}  step", "s", "");
        for Done { name, time, word } in &self.done {
            println!("{:>8.1}  {word:<6}  {name}", time.as_secs_f64());
        }
        let total: Duration = self.done.iter().map(|done| done.time).sum();
        println!("{:>8.1}  in all", total.as_secs_f64());
    }
}

/// The command as a person would type it.
fn line_of(command: &Command) -> String {
    let program =
        Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let settings = command
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{}='{}'", name.display(), value?.display())));
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    settings.chain([program]).chain(arguments).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_a_person_would_type_it() {
        let mut command = Command::new("/usr/bin/cargo");
        command.args(["doc", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(line_of(&command), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps");
    }

    #[test]
    fn a_step_that_fails_is_an_error_with_its_command() {
        let error = Steps::default().run(&mut Command::new("false")).unwrap_err();
        assert!(error.starts_with("`false` has failed"), "{error}");
        let error = Steps::default().run(&mut Command::new("no-such-program")).unwrap_err();
        assert!(error.starts_with("`no-such-program` cannot be started"), "{error}");
    }

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("Cargo.lock").exists() && root().join("xtask").exists());
    }
}
