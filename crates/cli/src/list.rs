//! `flitway list`: everything that has a name.

use crate::args::ListArguments;
use crate::failure::Failure;
use crate::layout::fitted;
use crate::output::say;
use flitway_experiment::faults;
use flitway_experiment::workload::barrier::losses;
use flitway_experiment::workload::nic;
use flitway_machine::{architectures, builtin, nearest, nics};
use flitway_process::multicaster::RootPolicy;
use flitway_report::session::barrier::BY;
use flitway_report::session::multicast::By;
use flitway_workload::catalog::Entry;
use flitway_workload::graph::placement;
use flitway_workload::multicast::members;
use flitway_workload::traffic::{arrival, destination, size};
use std::fmt::Write;

/// A section: its name, its title and its lines of name and meaning.
type Section = (&'static str, &'static str, Vec<(String, String)>);

/// Lists what `arguments` say.
pub(crate) fn list(arguments: &ListArguments) -> Result<(), Failure> {
    let sections = sections();
    let chosen: Vec<&Section> = match &arguments.what {
        None => sections.iter().collect(),
        Some(what) => {
            let found: Vec<&Section> = sections.iter().filter(|section| section.0 == what).collect();
            if found.is_empty() {
                let names: Vec<&str> = sections.iter().map(|section| section.0).collect();
                let meant = nearest(what, names.iter().copied());
                let meant = meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
                return Err(Failure::input(
                    format!("there is no list of `{what}`"),
                    Some(format!("expected one of: {}{meant}", names.join(", "))),
                ));
            }
            found
        }
    };
    let mut text = String::new();
    for (_, title, lines) in chosen {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{title}");
        let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, meaning) in lines {
            let _ = writeln!(text, "{}", fitted(&format!("  {name:width$}  {meaning}"), width + 4));
        }
        text.push('\n');
    }
    text.push_str("`flitway explain NAME` tells more of each.");
    say(&text)
}

fn sections() -> Vec<Section> {
    let machines =
        builtin().iter().map(|(name, text)| ((*name).to_owned(), value_of(text, "description"))).collect();
    let experiments = flitway_experiment::builtin()
        .iter()
        .map(|(name, text)| ((*name).to_owned(), value_of(text, "title")))
        .collect();
    let entries = |entries: Vec<&'static Entry>| {
        entries.into_iter().map(|entry| (entry.name.to_owned(), meaning(entry))).collect()
    };
    let own = |list: Vec<(&'static str, &'static str)>| {
        list.into_iter().map(|(name, doc)| (name.to_owned(), doc.to_owned())).collect()
    };
    vec![
        ("machines", "Machines", machines),
        ("experiments", "Experiments (--experiment)", experiments),
        ("traffic", "Traffic patterns (--traffic)", entries(destination::CATALOG.entries().collect())),
        ("sizes", "Packet sizes (--packet)", entries(size::CATALOG.entries().collect())),
        ("arrivals", "Arrivals (--arrival)", entries(arrival::CATALOG.entries().collect())),
        ("placements", "Placements of ranks (--placement)", entries(placement::CATALOG.entries().collect())),
        ("groups", "Groups (--multicast, --barrier)", entries(members::CATALOG.entries().collect())),
        (
            "multicast-by",
            "How multicasts are carried out (--by)",
            own(By::TABLE.map(|row| (row.0, row.2)).to_vec()),
        ),
        ("barrier-by", "How barriers are carried out (--by)", own(BY.map(|row| (row.0, row.2)).to_vec())),
        ("lose", "Barrier packets (--lose)", entries(losses::CATALOG.entries().collect())),
        ("faults", "Faults (--faults)", entries(faults::CATALOG.entries().collect())),
        ("roots", "Roots of multicasts (--root)", own(RootPolicy::TABLE.map(|row| (row.0, row.2)).to_vec())),
        ("architectures", "Switch architectures (switch.architecture)", own(architectures())),
        ("nics", "NICs (nic.model)", own(nics())),
        ("nic-operations", "NIC operations (--nic)", entries(nic::CATALOG.entries().collect())),
    ]
}

/// The text that a built-in file gives to `key`.
fn value_of(text: &str, key: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{key} = \"")));
    line.and_then(|line| line.strip_suffix('"')).unwrap_or("").to_owned()
}

fn meaning(entry: &Entry) -> String {
    if entry.aliases.is_empty() {
        return entry.doc.to_owned();
    }
    let aliases: Vec<&str> = entry.aliases.iter().map(|alias| alias.name).collect();
    format!("{} (also: {})", entry.doc, aliases.join(", "))
}
