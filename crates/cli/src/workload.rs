//! The options of workloads as arguments of `flitway run`, from their table.

use clap::error::Error;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use flitway_experiment::WorkloadOptions;
use flitway_experiment::workload::WorkloadOption;
use flitway_experiment::workload::option::ValueKind;

/// The options of the workload, as written.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkloadArguments(WorkloadOptions);

impl WorkloadArguments {
    /// The options.
    pub(crate) fn options(&self) -> &WorkloadOptions {
        &self.0
    }
}

impl Args for WorkloadArguments {
    fn augment_args(command: Command) -> Command {
        command.args(WorkloadOptions::table().iter().map(|option| argument(option)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// `option` as an argument.
fn argument(option: &WorkloadOption) -> Arg {
    let argument = Arg::new(option.name)
        .long(option.name.replace('_', "-"))
        .help_heading(option.heading())
        .help(option.help())
        .action(match option.value {
            ValueKind::Flag => ArgAction::SetTrue,
            _ if option.separator.is_some() => ArgAction::Append,
            _ => ArgAction::Set,
        });
    // What begins with `-` is then refused with its reason, not as an option that does not exist.
    match option.value {
        ValueKind::Flag => argument,
        ValueKind::Text(stands) | ValueKind::File(stands) => argument.value_name(stands),
        ValueKind::Loads => argument.value_name("LOAD").allow_negative_numbers(true),
        ValueKind::Count => argument.value_name("N").allow_negative_numbers(true),
        ValueKind::Fraction => argument.value_name("FRACTION").allow_hyphen_values(true),
        ValueKind::Size => argument.value_name("SIZE").allow_hyphen_values(true),
        ValueKind::Time => argument.value_name("TIME").allow_hyphen_values(true),
    }
}

/// The text that `matches` have for `option`.
fn text(option: &WorkloadOption, matches: &ArgMatches) -> Option<String> {
    if option.value == ValueKind::Flag {
        return matches.get_flag(option.name).then(|| "true".to_owned());
    }
    let values: Vec<&str> = matches.get_many::<String>(option.name)?.map(String::as_str).collect();
    Some(values.join(option.separator.unwrap_or_default()))
}

impl FromArgMatches for WorkloadArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut arguments = WorkloadArguments::default();
        arguments.update_from_arg_matches(matches)?;
        Ok(arguments)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for option in WorkloadOptions::table() {
            if let Some(text) = text(option, matches) {
                self.0.set(option.name, text);
            }
        }
        Ok(())
    }
}
