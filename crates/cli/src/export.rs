//! `flitway export`: a machine as others describe fabrics.

use crate::args::ExportArguments;
use crate::failure::Failure;
use crate::inputs;
use crate::output::{Target, colour, warn};
use crate::task::too_large;
use flitway_report::export::{Format, export as exported};
use flitway_report::memory;
use std::path::Path;

/// The option that names where the text goes.
const OUT: &str = "--out";

/// Writes the fabric that `arguments` name.
pub(crate) fn export(arguments: &ExportArguments) -> Result<(), Failure> {
    let format = format(&arguments.format)?;
    let machine = inputs::machine(&arguments.machine.machine, &arguments.machine.set)?;
    memory::fits_machine(&machine, false).map_err(too_large)?;
    if !machine.warnings.is_empty() {
        warn(&machine.warnings.render(colour()));
    }
    let target = Target::new(OUT, &arguments.out);
    if let Target::File { option, path } = &target {
        inputs::keep(&[(option, Path::new(path))], &machine.files)?;
    }
    target.probe()?;
    target.write(&exported(&machine, &machine.fabric(), format))
}

fn format(name: &str) -> Result<Format, Failure> {
    let found = Format::ALL.iter().find(|(known, _)| *known == name);
    found.map(|(_, format)| *format).ok_or_else(|| {
        let names = Format::ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        Failure::input(format!("--format {name}: there is no such format, expected one of {names}"), None)
    })
}
