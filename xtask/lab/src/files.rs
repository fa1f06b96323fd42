//! Files that are made by this program and kept in the tree: compared, or written.

use crate::Outcome;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A file as it should be.
#[derive(Debug)]
pub(crate) struct Made {
    /// From the root of the workspace.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    // Cargo sets the variable at run time too, so a binary that was built elsewhere finds the tree it is run in.
    let own = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    own.ancestors().nth(2).map(Path::to_owned).unwrap_or(own)
}

/// Writes what differs, and says so.
pub(crate) fn write(files: &[Made]) -> Outcome {
    for file in files {
        let path = root().join(&file.path);
        if std::fs::read_to_string(&path).is_ok_and(|text| text == file.text) {
            println!("{} is current", file.path);
            continue;
        }
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let written = folder.and_then(|()| std::fs::write(&path, &file.text));
        written.map_err(|error| format!("{} cannot be written: {error}", file.path))?;
        println!("{} is written", file.path);
    }
    Ok(())
}

/// Compares with what is in the tree and prints what differs; returns the paths that do.
pub(crate) fn compare(files: &[Made]) -> Vec<&str> {
    let mut different = Vec::new();
    for file in files {
        let kept = std::fs::read_to_string(root().join(&file.path)).unwrap_or_default();
        if kept != file.text {
            println!(
                "\n--- {}, as it is kept\n+++ as it is made today\n{}",
                file.path,
                diff(&kept, &file.text)
            );
            different.push(file.path.as_str());
        }
    }
    different
}

/// Lines of context around a difference.
const CONTEXT: usize = 2;

/// What differs, line by line: `-` kept, `+` made, ` ` the same; lines far from a difference are left out.
pub(crate) fn diff(kept: &str, made: &str) -> String {
    let lines = marked(&kept.lines().collect::<Vec<_>>(), &made.lines().collect::<Vec<_>>());
    let mut text = String::new();
    let mut skipped = false;
    for (place, (mark, line)) in lines.iter().enumerate() {
        let around = place.saturating_sub(CONTEXT)..(place + CONTEXT + 1).min(lines.len());
        if lines[around].iter().all(|(mark, _)| *mark == ' ') {
            skipped = true;
            continue;
        }
        if std::mem::take(&mut skipped) {
            text.push_str("  ...\n");
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{mark} {line}");
    }
    text
}

/// All lines of both, by their longest common subsequence.
fn marked<'a>(kept: &[&'a str], made: &[&'a str]) -> Vec<(char, &'a str)> {
    // `common[i][j]`: length of that subsequence behind line i and line j.
    let mut common = vec![vec![0_u32; made.len() + 1]; kept.len() + 1];
    for i in (0..kept.len()).rev() {
        for j in (0..made.len()).rev() {
            let longer = common[i + 1][j].max(common[i][j + 1]);
            common[i][j] = if kept[i] == made[j] { common[i + 1][j + 1] + 1 } else { longer };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::new();
    while i < kept.len() || j < made.len() {
        if i < kept.len() && j < made.len() && kept[i] == made[j] {
            lines.push((' ', kept[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == made.len() || (i < kept.len() && common[i + 1][j] >= common[i][j + 1]) {
            lines.push(('-', kept[i]));
            i += 1;
        } else {
            lines.push(('+', made[j]));
            j += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_shows_what_changed_and_a_little_around_it() {
        let kept = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        assert_eq!(diff(kept, "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"), "  ...\n  3\n  4\n- 5\n+ five\n  6\n  7\n");
        assert_eq!(diff(kept, "1\n3\n4\n5\n6\n7\n8\n9\n10\n"), "  1\n- 2\n  3\n  4\n  ...\n  8\n  9\n+ 10\n");
        assert_eq!(diff("", "1\n"), "+ 1\n");
        assert_eq!(diff(kept, kept), "");
    }

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("Cargo.lock").exists() && root().join("xtask").exists());
    }
}
