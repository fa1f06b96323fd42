//! Pages that show commands and what they print, held to it.
//!
//! In a page a block `sh` has commands of `flitway`, a line each, and the block `text` after it what they print. A line `...`
//! stands for lines that are left out; a fault, which goes to standard error, stands after the rest. A block after the words
//! "Save this as" and a name in backticks is a file that later commands read.

use std::path::Path;
use std::process::Command;

/// Whether pages are to be written as is printed today.
pub fn is_accepted() -> bool {
    std::env::var_os("FLITWAY_ACCEPT").is_some()
}

/// What the commands of a block print.
fn printed(folder: &Path, commands: &str) -> String {
    let mut all = String::new();
    for command in commands.lines() {
        let words: Vec<&str> = command.split_whitespace().map(|word| word.trim_matches('\'')).collect();
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
pub fn is_shown(shown: &str, printed: &str) -> bool {
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

/// Writes the files that this part of a page shows into `folder`.
fn save_files(part: &str, folder: &Path) {
    for rest in part.split("Save this as `").skip(1) {
        let (name, rest) = rest.split_once('`').unwrap();
        let (_, text) = rest.split("```").nth(1).unwrap().split_once('\n').unwrap();
        std::fs::write(folder.join(name), text).unwrap();
    }
}

/// Runs all that `page` shows in `folder`, and holds it to what is printed, or writes that into it.
pub fn check_commands(page: &mut String, folder: &Path) {
    let (mut from, mut runs) = (0, 0);
    while let Some(commands) = block(page, from, "sh") {
        save_files(&page[from..commands.0], folder);
        let printed = printed(folder, &page[commands.0..commands.1]);
        let shown = block(page, commands.1, "text").expect("what is run shows what it prints");
        if is_accepted() && !page[shown.0..shown.1].contains("...") {
            page.replace_range(shown.0..shown.1, &printed);
        }
        let shown = block(page, commands.1, "text").unwrap();
        let text = &page[shown.0..shown.1];
        let run = &page[commands.0..commands.1];
        assert!(
            is_shown(text, &printed),
            "after\n{run}{folder:?} shows\n{text}\nand this is printed:\n{printed}"
        );
        (from, runs) = (shown.1, runs + 1);
    }
    assert!(runs > 0, "{folder:?} runs nothing");
}
