//! For shells and packagers: completions and the man page, from the same description of the arguments as the help.

use crate::args::Arguments;
use crate::failure::Failure;
use crate::output::say;
use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory};
use flitway_experiment::WorkloadOptions;
use flitway_import::Format;
use flitway_machine::schema;

/// Prints the completions of `shell`, with the names of machines and experiments and the paths of settings.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut known(), "flitway", &mut script);
    say(String::from_utf8_lossy(&script).trim_end())
}

/// The command, with what its arguments may be as far as that is known. It only completes: it parses nothing.
fn known() -> Command {
    let machines: Vec<&str> = flitway_machine::builtin().iter().map(|(name, _)| *name).collect();
    let experiments: Vec<&str> = flitway_experiment::builtin().iter().map(|(name, _)| *name).collect();
    let mut settings: Vec<String> = schema::settings().map(|setting| format!("{}=", setting.path)).collect();
    settings.sort_unstable();
    settings.dedup();
    let mut command = Arguments::command();
    for name in ["run", "check"] {
        let (machines, settings) = (machines.clone(), settings.clone());
        command = command.mut_subcommand(name, |command| {
            command
                .mut_arg("machine", |machine| machine.value_parser(PossibleValuesParser::new(machines)))
                .mut_arg("set", |set| set.value_parser(PossibleValuesParser::new(settings)))
        });
    }
    let formats: Vec<&str> = Format::ALL.iter().map(|(name, _)| *name).collect();
    command = command.mut_subcommand("import", |import| {
        import.mut_arg("format", |format| format.value_parser(PossibleValuesParser::new(formats)))
    });
    command.mut_subcommand("run", |run| {
        let run = run.mut_arg("experiment", |experiment| {
            experiment.value_parser(PossibleValuesParser::new(experiments))
        });
        // Some shells do not offer what does not go with what is there.
        run.mut_args(|argument| {
            let id = argument.get_id().clone();
            let Some(option) = WorkloadOptions::table().iter().find(|option| id == option.name) else {
                return argument;
            };
            let others = WorkloadOptions::table().iter().filter(|other| !option.goes_with(other));
            argument.conflicts_with_all(others.map(|other| other.name))
        })
    })
}

/// Prints the man page, as roff: of `flitway`, or of one of its commands.
pub(crate) fn man(command: Option<&str>) -> Result<(), Failure> {
    let all = Arguments::command();
    let page = match command {
        None => all,
        Some(name) => {
            let names = all.get_subcommands().map(Command::get_name).collect::<Vec<_>>().join(", ");
            let found = all.find_subcommand(name).cloned();
            let missing =
                || Failure::input(format!("there is no command `{name}`, expected one of {names}"), None);
            found.ok_or_else(missing)?.name(format!("flitway-{name}"))
        }
    };
    let mut text = Vec::new();
    // Writing to a vector does not fail.
    let _ = clap_mangen::Man::new(page).render(&mut text);
    say(String::from_utf8_lossy(&text).trim_end())
}
