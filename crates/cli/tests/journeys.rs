//! The journeys of the documentation: every command of `flitway` that they show is run, and prints what they show.
//! `FLITWAY_ACCEPT=1 cargo test -p flitway --test journeys` writes what is printed today, but for blocks with `...`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::shown::{check_commands, is_accepted, is_shown};
use std::path::Path;

/// Runs the commands of a page of `docs/` in a folder of its own, with the trace of the examples in it.
fn check(name: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("journeys").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let trace = "lammps-lj-32.goal.gz";
    std::fs::copy(root.join("examples/06-lammps").join(trace), folder.join(trace)).unwrap();
    let path = root.join("docs").join(name);
    let mut page = std::fs::read_to_string(&path).unwrap();
    check_commands(&mut page, &folder);
    if is_accepted() {
        std::fs::write(path, page).unwrap();
    }
}

#[test]
fn own_fabric() {
    check("own-fabric.md");
}

#[test]
fn own_application() {
    check("own-application.md");
}

#[test]
fn reproduce() {
    check("reproduce.md");
}

#[test]
fn the_index_names_every_page() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let index = std::fs::read_to_string(docs.join("README.md")).unwrap();
    for entry in std::fs::read_dir(docs).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            name == "README.md" || index.contains(&format!("]({name}")),
            "docs/README.md does not name {name}"
        );
    }
}

#[test]
fn what_is_left_out_is_left_out_and_nothing_else() {
    let printed = "a\nb\nc\nd\n";
    for (shown, is) in [
        ("a\nb\nc\nd\n", true),
        ("a\nb\nc\n", false),
        ("b\nc\nd\n", false),
        ("...\nc\nd\n", true),
        ("a\n...\nd\n", true),
        ("a\n...\n", true),
        ("...\nb\n...\n", true),
        ("...\nb\n", false),
        ("...\nx\n...\n", false),
        ("...\nc\n...\nb\n...\n", false),
    ] {
        assert_eq!(is_shown(shown, printed), is, "{shown}");
    }
}
