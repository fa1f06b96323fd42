//! Style as a test: what the compiler, rustfmt and Clippy do not check. Every finding names its place and its cure.
//!
//! A rule is one file under `rules/` with a line in [`RULES`]. It reads a [`Tree`]: the files that git tracks or would
//! track.

mod rules;
mod rust;
mod tree;

use crate::run::{Outcome, root};
use std::fmt;
use tree::Tree;

/// All rules.
const RULES: &[Rule] = &[
    rules::whitespace::RULE,
    rules::long_line::RULE,
    rules::long_file::RULE,
    rules::long_function::RULE,
    rules::stray_file::RULE,
    rules::banned::RULE,
    rules::type_name::RULE,
    rules::vocabulary::RULE,
    rules::promise::RULE,
    rules::imports::RULE,
    rules::manifest::RULE,
    rules::machine_source::RULE,
    rules::sources::RULE,
    rules::address::RULE,
    rules::decision::RULE,
];

/// Something that is checked.
struct Rule {
    /// Its name in findings.
    name: &'static str,
    check: fn(&Tree, &mut Findings),
}

/// A place that breaks a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    /// From 1.
    line: usize,
    rule: &'static str,
    /// What is wrong; then, after a semicolon, the cure.
    text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {} [{}]", self.path, self.line, self.text, self.rule)
    }
}

/// The findings of one rule.
struct Findings {
    rule: &'static str,
    list: Vec<Finding>,
}

impl Findings {
    fn add(&mut self, path: &str, line: usize, text: impl Into<String>) {
        self.list.push(Finding { path: path.to_owned(), line, rule: self.rule, text: text.into() });
    }
}

fn findings(tree: &Tree) -> Vec<Finding> {
    let of_rule = |rule: &Rule| {
        let mut findings = Findings { rule: rule.name, list: Vec::new() };
        (rule.check)(tree, &mut findings);
        findings.list
    };
    let mut all: Vec<Finding> = RULES.iter().flat_map(of_rule).collect();
    all.sort();
    all
}

/// Checks the tree.
pub(crate) fn run() -> Outcome {
    let tree = Tree::read(&root())?;
    let findings = findings(&tree);
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("{} files are tidy", tree.files().len());
            Ok(())
        }
        1 => Err("1 place is not tidy".to_owned()),
        count => Err(format!("{count} places are not tidy")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What one rule finds in a tree of the given files: `path:line: text`.
    pub(super) fn found(rule: &Rule, files: &[(&str, &str)]) -> Vec<String> {
        let mut findings = Findings { rule: rule.name, list: Vec::new() };
        (rule.check)(&Tree::of(files), &mut findings);
        findings.list.sort();
        findings.list.iter().map(|one| format!("{}:{}: {}", one.path, one.line, one.text)).collect()
    }

    #[test]
    fn this_tree_is_tidy() {
        let found = findings(&Tree::read(&root()).unwrap());
        let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "\n{}", lines.join("\n"));
    }

    /// The README's first command writes a result, which is no part of the tree that its second command looks at.
    #[test]
    fn what_the_main_job_writes_is_ignored() {
        let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
        let (_, rest) = readme.split_once("--json ").expect("the main job writes a result");
        let file = rest.split_whitespace().next().unwrap();
        let mut git = std::process::Command::new("git");
        let status = git.args(["check-ignore", "--quiet", file]).current_dir(root()).status().unwrap();
        assert!(status.success(), "{file} is not ignored by git");
    }

    #[test]
    fn rules_have_names_of_their_own() {
        let mut names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RULES.len());
    }
}
