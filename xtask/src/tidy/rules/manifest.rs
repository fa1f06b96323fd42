//! One table of third-party versions, one table of lints: every crate takes them from the workspace.

use super::super::tree::{File, Tree};
use super::super::{Findings, Rule};

pub(in super::super) const RULE: Rule = Rule { name: "manifest", check };

fn check(tree: &Tree, findings: &mut Findings) {
    let manifests = || tree.files().iter().filter(|file| file.name() == "Cargo.toml");
    let is_root = |file: &File| file.lines().any(|(_, line)| line.trim() == "[workspace]");
    for file in manifests().filter(|file| !is_root(file)) {
        check_member(file, findings);
    }
    let Some(root) = manifests().find(|file| file.path == "Cargo.toml") else { return };
    let used: Vec<&str> =
        manifests().filter(|file| !is_root(file)).flat_map(dependencies).map(|(_, name, _)| name).collect();
    for (number, name, _) in dependencies(root) {
        if !used.contains(&name) {
            findings.add(&root.path, number, format!("no crate uses `{name}`; remove the line"));
        }
    }
}

fn check_member(file: &File, findings: &mut Findings) {
    for (number, name, value) in dependencies(file) {
        if !value.contains("workspace") {
            let cure = format!("write `{name}.workspace = true` and its version in the root's table");
            findings.add(&file.path, number, format!("`{name}` has a version of its own; {cure}"));
        }
    }
    let lints = file.lines().skip_while(|(_, line)| line.trim() != "[lints]").nth(1);
    if lints.is_none_or(|(_, line)| line.trim() != "workspace = true") {
        findings.add(
            &file.path,
            1,
            "lints are not those of the workspace; add `[lints]` with `workspace = true`",
        );
    }
}

/// Line, name and the rest of each dependency.
fn dependencies(file: &File) -> Vec<(usize, &str, &str)> {
    let mut inside = false;
    let mut found = Vec::new();
    for (number, line) in file.lines() {
        let line = line.trim();
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]");
        } else if inside && !line.is_empty() && !line.starts_with('#') {
            let end = line.find(['.', ' ', '=']).unwrap_or(line.len());
            found.push((number, &line[..end], &line[end..]));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::found;
    use super::*;

    const LINTS: &str = "[lints]\nworkspace = true\n";

    #[test]
    fn versions_and_lints_of_a_crates_own_are_found() {
        let root = ("Cargo.toml", "[workspace]\n[workspace.dependencies]\nused = \"1\"\nleft = \"1\"\n");
        let member = (
            "crates/a/Cargo.toml",
            "[dependencies]\nused.workspace = true\n[dev-dependencies]\nown = \"2\"\n",
        );
        assert_eq!(
            found(&RULE, &[root, member]),
            [
                "Cargo.toml:4: no crate uses `left`; remove the line",
                "crates/a/Cargo.toml:1: lints are not those of the workspace; add `[lints]` with `workspace = true`",
                "crates/a/Cargo.toml:4: `own` has a version of its own; \
             write `own.workspace = true` and its version in the root's table",
            ]
        );
    }

    #[test]
    fn what_comes_from_the_workspace_passes() {
        let root = (
            "Cargo.toml",
            "[workspace]\n[workspace.dependencies]\n# Why.\na = \"1\"\nb-c = { version = \"1\" }\n",
        );
        let text = format!("[dependencies]\na.workspace = true\nb-c = {{ workspace = true }}\n\n{LINTS}");
        assert_eq!(found(&RULE, &[root, ("crates/a/Cargo.toml", &text)]), [""; 0]);
    }
}
