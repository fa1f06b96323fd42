//! The files that rules look at.

use super::rust::{self, Line};
use crate::run::Outcome;
use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

/// A file of the tree.
#[derive(Debug)]
pub(super) struct File {
    /// From the root of the workspace, with `/`.
    pub(super) path: String,
    /// Bytes.
    pub(super) size: u64,
    /// `None` if it is not UTF-8.
    pub(super) text: Option<String>,
    /// The lines of Rust code, comments apart; empty for other files.
    pub(super) rust: Vec<Line>,
    /// Whether all of it is test code.
    pub(super) is_test: bool,
}

impl File {
    fn new(path: &str, bytes: Vec<u8>) -> Self {
        let size = bytes.len() as u64;
        let text = String::from_utf8(bytes).ok();
        let rust = match &text {
            Some(text) if path.ends_with(".rs") => rust::lines(text),
            _ => Vec::new(),
        };
        let folders = || path.split('/').rev().skip(1);
        let is_test = folders().any(|folder| ["tests", "benches", "examples"].contains(&folder))
            || path.ends_with("/tests.rs");
        File { path: path.to_owned(), size, text, rust, is_test }
    }

    /// Its name without folders.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Its lines with their numbers.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.as_deref().unwrap_or("").lines())
    }

    /// Its lines of Rust with their numbers.
    pub(super) fn rust_lines(&self) -> impl Iterator<Item = (usize, &Line)> {
        (1..).zip(&self.rust)
    }

    /// Whether `cargo xtask gen`, or Cargo, has written it.
    pub(super) fn is_generated(&self) -> bool {
        self.name() == "Cargo.lock"
            || self.lines().take(5).any(|(_, line)| line.starts_with("Made by `cargo xtask"))
    }

    /// Whether it is data of a test, which may be as it likes.
    pub(super) fn is_test_data(&self) -> bool {
        self.is_test && !self.path.ends_with(".rs")
    }
}

/// All files.
#[derive(Debug)]
pub(super) struct Tree(Vec<File>);

impl Tree {
    /// The files below `root` that git tracks, and new ones that it does not ignore.
    pub(super) fn read(root: &Path) -> Outcome<Self> {
        let mut git = Command::new("git");
        git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root);
        let output = git.output().map_err(|error| format!("git cannot be started: {error}"))?;
        if !output.status.success() {
            return Err(format!(
                "git ls-files has failed: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            ));
        }
        let mut paths: Vec<String> =
            String::from_utf8_lossy(&output.stdout).split_terminator('\0').map(str::to_owned).collect();
        paths.sort();
        paths.dedup();
        // What is tracked and has been removed is not there to be read.
        let read = |path: String| Some(File::new(&path, std::fs::read(root.join(&path)).ok()?));
        Ok(Tree::new(paths.into_iter().filter_map(read).collect()))
    }

    /// A made-up tree.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        Tree::new(files.iter().map(|(path, text)| File::new(path, text.as_bytes().to_vec())).collect())
    }

    fn new(mut files: Vec<File>) -> Self {
        let tests: HashSet<String> = files.iter().flat_map(test_modules).collect();
        for file in &mut files {
            file.is_test |= tests.contains(&file.path);
        }
        Tree(files)
    }

    pub(super) fn files(&self) -> &[File] {
        &self.0
    }

    /// Rust files.
    pub(super) fn rust(&self) -> impl Iterator<Item = &File> {
        self.0.iter().filter(|file| file.path.ends_with(".rs"))
    }

    /// Text that people write and read: no data of tests, no generated pages.
    pub(super) fn written(&self) -> impl Iterator<Item = &File> {
        let readable = [".rs", ".toml", ".md", ".goal", ".py", ".pyi", "run"];
        self.0.iter().filter(move |file| {
            readable.iter().any(|end| file.path.ends_with(end))
                && !file.is_generated()
                && !file.is_test_data()
        })
    }
}

/// The paths that a `#[cfg(test)] mod name;` in `file` may mean.
fn test_modules(file: &File) -> Vec<String> {
    let Some((folder, name)) = file.path.rsplit_once('/') else { return Vec::new() };
    let stem = name.trim_end_matches(".rs");
    let folder = match stem {
        "lib" | "main" | "mod" => folder.to_owned(),
        _ => format!("{folder}/{stem}"),
    };
    let declared = file.rust.iter().filter(|line| line.is_test).filter_map(|line| {
        let code = line.code.trim();
        let code = code.strip_prefix("pub(crate) ").unwrap_or(code);
        code.strip_prefix("mod ")?.strip_suffix(';')
    });
    declared.flat_map(|name| [format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_code_is_known_by_its_folder_its_name_or_its_declaration() {
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", "mod real;\n#[cfg(test)]\nmod helper;\n#[cfg(test)]\nmod tests {\n}\n"),
            ("crates/a/src/helper.rs", ""),
            ("crates/a/src/real.rs", "#[cfg(test)]\nmod deep;"),
            ("crates/a/src/real/deep.rs", ""),
            ("crates/a/src/real/tests.rs", ""),
            ("crates/a/tests/outside.rs", ""),
            ("crates/a/tests/data/bad.toml", ""),
        ]);
        let tests: Vec<bool> = tree.files().iter().map(|file| file.is_test).collect();
        assert_eq!(tests, [false, true, false, true, true, true, true]);
        assert!(tree.files()[6].is_test_data() && !tree.files()[5].is_test_data());
    }
}
