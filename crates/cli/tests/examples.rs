//! The gallery: every command of every example is run, and prints and draws what the example shows.
//!
//! Each is a page as `common::shown` reads it. A picture is a file that the experiment of the example has drawn.
//! `FLITWAY_ACCEPT=1 cargo test -p flitway --test examples` writes what is printed and drawn today, but for blocks with `...`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::shown::{check_commands, is_accepted};
use std::path::{Path, PathBuf};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// A copy of the folder of an example, for this test run.
fn copy(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("examples").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    for entry in std::fs::read_dir(examples().join(name)).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
    }
    folder
}

fn check(name: &str) {
    let (folder, path) = (copy(name), examples().join(name).join("README.md"));
    let mut page = std::fs::read_to_string(&path).unwrap();
    check_commands(&mut page, &folder);
    let pictures: Vec<&str> = page.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    let pictures: Vec<&str> = pictures.into_iter().filter(|link| link.ends_with(".svg")).collect();
    assert!(!pictures.is_empty(), "{name} shows no picture");
    for picture in pictures {
        let results = std::fs::read_dir(folder.join("results")).unwrap();
        let drawn = results.map(|entry| entry.unwrap().path().join(picture)).find(|path| path.is_file());
        let drawn = std::fs::read_to_string(drawn.expect("an experiment has drawn it")).unwrap();
        let shown = examples().join(name).join(picture);
        if is_accepted() {
            std::fs::write(&shown, &drawn).unwrap();
        }
        assert!(
            std::fs::read_to_string(&shown).is_ok_and(|text| text == drawn),
            "{name}/{picture} is another"
        );
    }
    if is_accepted() {
        std::fs::write(path, page).unwrap();
    }
}

macro_rules! gallery {
    ($($test:ident $name:literal)*) => {
        $(#[test] fn $test() { check($name); })*

        /// Every folder, in order.
        const NAMES: &[&str] = &[$($name),*];
    };
}

gallery! {
    how_many_virtual_channels "01-virtual-channels"
    how_large_a_buffer "02-buffer-size"
    whether_a_routing_can_deadlock "03-deadlock-free"
    what_a_second_rail_gives "04-second-rail"
    multicast_in_software_or_hardware "05-multicast"
    what_the_network_costs_lammps "06-lammps"
    which_of_two_fabrics "07-two-fabrics"
    whether_minimal_routing_is_enough "08-dragonfly"
    which_of_three_topologies "09-three-topologies"
    whether_a_fabric_has_credit_loops "10-credit-loops"
    what_a_cube_mesh_carries "11-cube-mesh"
}

#[test]
fn every_example_is_run_and_listed() {
    let list = std::fs::read_to_string(examples().join("README.md")).unwrap();
    let mut folders: Vec<String> = std::fs::read_dir(examples())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    folders.sort();
    assert_eq!(folders, NAMES);
    assert!(folders.iter().all(|name| list.contains(&format!("]({name}/)"))), "{list}");
}
