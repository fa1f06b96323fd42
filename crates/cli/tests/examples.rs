//! The gallery: every command of every example is run, and prints and draws what the example shows.
//!
//! In the `README.md` of an example a block `sh` has commands, a line each, and the block `text` after it what they print. A
//! line `...` stands for lines that are left out; a fault, which goes to standard error, stands after the rest. A picture is a
//! file that the experiment of the example has drawn. `FLITWAY_ACCEPT=1 cargo test -p flitway --test examples` writes what
//! is printed and drawn today, but for blocks with `...`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::{Path, PathBuf};
use std::process::Command;

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

/// What the commands of a block print.
fn printed(folder: &Path, commands: &str) -> String {
    let mut all = String::new();
    for command in commands.lines() {
        let words: Vec<&str> = command.split_whitespace().collect();
        assert_eq!(words.first(), Some(&"flitway"), "{command}");
        let mut run = Command::new(env!("CARGO_BIN_EXE_flitway"));
        let output = run.args(&words[1..]).current_dir(folder).output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{command}: {output:?}");
        all += &String::from_utf8(output.stdout).unwrap();
        if output.status.code() == Some(1) {
            all += &String::from_utf8(output.stderr).unwrap();
        }
    }
    all.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Whether `shown` is `printed`, with `...` for lines that are left out.
fn is_shown(shown: &str, printed: &str) -> bool {
    let (shown, printed): (Vec<&str>, Vec<&str>) = (shown.lines().collect(), printed.lines().collect());
    let parts: Vec<&[&str]> = shown.split(|line| *line == "...").collect();
    let (first, rest) = parts.split_first().unwrap();
    let Some((last, between)) = rest.split_last() else { return shown == printed };
    if !printed.starts_with(first) {
        return false;
    }
    let mut at = first.len();
    for part in between {
        let places = at..=printed.len().saturating_sub(part.len());
        let Some(place) = places.into_iter().find(|&place| printed[place..].starts_with(part)) else {
            return false;
        };
        at = place + part.len();
    }
    printed[at..].ends_with(last)
}

/// The places of the next block of `language` in `page` from `from` on, and what it holds.
fn block(page: &str, from: usize, language: &str) -> Option<(usize, usize)> {
    let start = from + page[from..].find(&format!("```{language}\n"))? + language.len() + 4;
    Some((start, start + page[start..].find("```")?))
}

fn check(name: &str) {
    let (folder, path) = (copy(name), examples().join(name).join("README.md"));
    let is_accepted = std::env::var_os("FLITWAY_ACCEPT").is_some();
    let mut page = std::fs::read_to_string(&path).unwrap();
    let (mut from, mut runs) = (0, 0);
    while let Some(commands) = block(&page, from, "sh") {
        let printed = printed(&folder, &page[commands.0..commands.1]);
        let shown = block(&page, commands.1, "text").expect("what is run shows what it prints");
        if is_accepted && !page[shown.0..shown.1].contains("...") {
            page.replace_range(shown.0..shown.1, &printed);
        }
        let shown = block(&page, commands.1, "text").unwrap();
        let text = &page[shown.0..shown.1];
        assert!(is_shown(text, &printed), "{name} shows\n{text}\nand this is printed:\n{printed}");
        (from, runs) = (shown.1, runs + 1);
    }
    assert!(runs > 0, "{name} runs nothing");
    let pictures: Vec<&str> = page.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    let pictures: Vec<&str> = pictures.into_iter().filter(|link| link.ends_with(".svg")).collect();
    assert!(!pictures.is_empty(), "{name} shows no picture");
    for picture in pictures {
        let results = std::fs::read_dir(folder.join("results")).unwrap();
        let drawn = results.map(|entry| entry.unwrap().path().join(picture)).find(|path| path.is_file());
        let drawn = std::fs::read_to_string(drawn.expect("an experiment has drawn it")).unwrap();
        let shown = examples().join(name).join(picture);
        if is_accepted {
            std::fs::write(&shown, &drawn).unwrap();
        }
        assert!(
            std::fs::read_to_string(&shown).is_ok_and(|text| text == drawn),
            "{name}/{picture} is another"
        );
    }
    if is_accepted {
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
