//! The experiments that are built in, and finding the text of any.

use flitway_machine::input::WRITTEN_MAX;
use flitway_machine::{Code, Diagnostics, is_folder, is_path, not_built_in, or_built_in, read_text};
use std::path::{Path, PathBuf};

/// The experiments that are built in: name and text.
#[must_use]
pub fn builtin() -> &'static [(&'static str, &'static str)] {
    &[
        ("hpp-vcs", include_str!("../../../experiments/hpp-vcs.toml")),
        ("hpp-buffers", include_str!("../../../experiments/hpp-buffers.toml")),
        ("dawning5000-load", include_str!("../../../experiments/dawning5000-load.toml")),
        ("dawning5000-roots", include_str!("../../../experiments/dawning5000-roots.toml")),
        ("dawning5000-all-to-all", include_str!("../../../experiments/dawning5000-all-to-all.toml")),
        ("sp-multicast", include_str!("../../../experiments/sp-multicast.toml")),
        ("sp-bimodal", include_str!("../../../experiments/sp-bimodal.toml")),
        ("multicast-scaling", include_str!("../../../experiments/multicast-scaling.toml")),
        ("hpp-barrier-interval", include_str!("../../../experiments/hpp-barrier-interval.toml")),
        ("hpp-barrier-packet", include_str!("../../../experiments/hpp-barrier-packet.toml")),
        ("dawning5000-barrier", include_str!("../../../experiments/dawning5000-barrier.toml")),
        ("multi-rail", include_str!("../../../experiments/multi-rail.toml")),
        ("barrier-scaling", include_str!("../../../experiments/barrier-scaling.toml")),
        ("nrc-load", include_str!("../../../experiments/nrc-load.toml")),
        ("nrc-buffers", include_str!("../../../experiments/nrc-buffers.toml")),
        ("nrc-tiles", include_str!("../../../experiments/nrc-tiles.toml")),
        ("th-latency", include_str!("../../../experiments/th-latency.toml")),
        ("th-pairs", include_str!("../../../experiments/th-pairs.toml")),
        ("th-pairs-large", include_str!("../../../experiments/th-pairs-large.toml")),
        ("th-faults", include_str!("../../../experiments/th-faults.toml")),
        ("th-lanes", include_str!("../../../experiments/th-lanes.toml")),
        ("th-nic-latency", include_str!("../../../experiments/th-nic-latency.toml")),
        ("th-collectives", include_str!("../../../experiments/th-collectives.toml")),
        ("th-noise", include_str!("../../../experiments/th-noise.toml")),
        ("th-nic-rate", include_str!("../../../experiments/th-nic-rate.toml")),
        ("th-atc", include_str!("../../../experiments/th-atc.toml")),
        ("th-end-to-end", include_str!("../../../experiments/th-end-to-end.toml")),
        ("elan4-latency", include_str!("../../../experiments/elan4-latency.toml")),
        ("elan4-faults", include_str!("../../../experiments/elan4-faults.toml")),
        ("elan4-matching", include_str!("../../../experiments/elan4-matching.toml")),
        ("elan4-collectives", include_str!("../../../experiments/elan4-collectives.toml")),
        ("nap-latency", include_str!("../../../experiments/nap-latency.toml")),
        ("nap-barrier", include_str!("../../../experiments/nap-barrier.toml")),
        ("nap-lock", include_str!("../../../experiments/nap-lock.toml")),
        ("nap-striping", include_str!("../../../experiments/nap-striping.toml")),
        ("th-errors", include_str!("../../../experiments/th-errors.toml")),
        ("qsnet2-hold", include_str!("../../../experiments/qsnet2-hold.toml")),
        ("qsnet2-pairs", include_str!("../../../experiments/qsnet2-pairs.toml")),
        ("qsnet2-cable", include_str!("../../../experiments/qsnet2-cable.toml")),
        ("qsnet2-broadcast", include_str!("../../../experiments/qsnet2-broadcast.toml")),
        ("qsnet2-broadcast-rate", include_str!("../../../experiments/qsnet2-broadcast-rate.toml")),
        ("qsnet2-barrier", include_str!("../../../experiments/qsnet2-barrier.toml")),
        ("qsnet2-barrier-late", include_str!("../../../experiments/qsnet2-barrier-late.toml")),
    ]
}

/// The text of an experiment file and where it comes from.
pub(crate) struct ExperimentText {
    pub(crate) name: String,
    pub(crate) text: String,
    /// The file; `None` if it is built in.
    pub(crate) path: Option<PathBuf>,
    /// Where the paths in it begin.
    pub(crate) folder: PathBuf,
}

pub(crate) fn experiment_text(name_or_path: &str) -> Result<ExperimentText, Diagnostics> {
    if let Some((name, text)) = builtin().iter().find(|(name, _)| *name == name_or_path) {
        let name = format!("{name} (built in)");
        return Ok(ExperimentText { name, text: (*text).to_owned(), path: None, folder: PathBuf::new() });
    }
    let names: Vec<&str> = builtin().iter().map(|(name, _)| *name).collect();
    if !is_path(name_or_path) && !is_folder(name_or_path) {
        return Err(not_built_in(Code::UnknownExperiment, "experiment", name_or_path, &names).into());
    }
    let path = Path::new(name_or_path);
    let text = read_text(path, name_or_path, ("experiment file", WRITTEN_MAX), None)
        .map_err(|problem| or_built_in(problem, path, "experiment", &names))?;
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    Ok(ExperimentText { name: name_or_path.to_owned(), text, path: Some(path.to_owned()), folder })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_file_is_built_in() {
        let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments")).unwrap();
        let mut files: Vec<String> = files
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .filter_map(|name| name.strip_suffix(".toml").map(str::to_owned))
            .collect();
        let mut names: Vec<&str> = builtin().iter().map(|(name, _)| *name).collect();
        files.sort();
        names.sort_unstable();
        assert_eq!(files, names);
    }
}
