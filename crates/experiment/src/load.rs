//! From the text of an experiment file, or the name of one, to an experiment.

use crate::builtin::experiment_text;
use crate::check::check;
use crate::experiment::{Experiment, Overrides};
use crate::options::Options;
use flitway_machine::Diagnostics;
use std::path::Path;

impl Experiment {
    /// Loads a built-in experiment or an experiment file. Nothing runs.
    ///
    /// # Errors
    /// Everything that is wrong with it, with its machines and with its workloads, in the order of the text.
    pub fn load(name_or_path: &str, overrides: &Overrides) -> Result<Experiment, Diagnostics> {
        let loaded = experiment_text(name_or_path)?;
        let experiment = Self::from_text(&loaded.name, loaded.text, &loaded.folder, overrides)?;
        Ok(Experiment { read_from: loaded.path, ..experiment })
    }

    /// Takes `text` for the content of the experiment file `name`, whose paths begin in `folder`.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn from_text(
        name: &str,
        text: String,
        folder: &Path,
        overrides: &Overrides,
    ) -> Result<Experiment, Diagnostics> {
        check(Options::from_text(name, text, folder), overrides)
    }
}
