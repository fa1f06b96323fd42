//! A clone works everywhere: the tree names no folder of somebody's machine, and no server but those of public
//! documents and of the sources of ideas.

use super::super::{Findings, Rule, tree::Tree};

pub(in super::super) const RULE: Rule = Rule { name: "address", check };

/// Folders at the root of a file system in which somebody's own files lie.
const FOLDERS: [&str; 5] = ["work", "root", "home", "Users", "mnt"];

/// Servers that may be linked to: of sources, of the compiler, of papers, of formats.
const SERVERS: &[&str] = &[
    "github.com",
    "doc.rust-lang.org",
    // Where rustup, the usual installer of Rust, comes from.
    "static.rust-lang.org",
    "doi.org",
    "json-schema.org",
    "www.w3.org",
    // The name space of GraphML.
    "graphml.graphdrawing.org",
    // In the text of the licence.
    "www.apache.org",
    "keepachangelog.com",
    "semver.org",
];

fn check(tree: &Tree, findings: &mut Findings) {
    for file in tree.files().iter().filter(|file| !file.is_generated()) {
        for (number, line) in file.lines() {
            if let Some(folder) = FOLDERS.iter().find(|folder| names_folder(line, folder)) {
                let text = format!(
                    "a path below `/{folder}` of one machine; write it relative to the root of the tree"
                );
                findings.add(&file.path, number, text);
            }
            for server in servers(line).filter(|server| !SERVERS.contains(server)) {
                let cure = "leave it out, or add it to SERVERS with a reason in review";
                findings.add(&file.path, number, format!("an address at `{server}`; {cure}"));
            }
        }
    }
}

/// Whether an absolute path into `folder` stands in `line`.
fn names_folder(line: &str, folder: &str) -> bool {
    let path = format!("/{folder}/");
    line.match_indices(&path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|letter| letter.is_alphanumeric() || "._-/~}*".contains(letter))
    })
}

/// The servers of the web addresses in `line`.
fn servers(line: &str) -> impl Iterator<Item = &str> {
    line.split("://").skip(1).zip(line.split("://")).filter_map(|(after, before)| {
        let end = after.find(|c: char| !(c.is_alphanumeric() || c == '.' || c == '-')).unwrap_or(after.len());
        let is_web = before.ends_with("http") || before.ends_with("https");
        (is_web && after[..end].contains('.')).then_some(&after[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::found;
    use super::*;

    #[test]
    fn paths_of_one_machine_and_unknown_servers_are_found() {
        let path = format!("see {}work/a.md\n", '/');
        let address = format!("from https:{}x.example.org/a and https:{0}doi.org/1\n", "//");
        assert_eq!(
            found(&RULE, &[("a.md", &path), ("b.md", &address)]),
            [
                "a.md:1: a path below `/work` of one machine; write it relative to the root of the tree",
                "b.md:1: an address at `x.example.org`; leave it out, or add it to SERVERS with a reason in review",
            ]
        );
    }

    #[test]
    fn relative_paths_and_known_servers_pass() {
        let lock = format!("source = \"registry+https:{}x.example.org\"\n", "//");
        let good = [
            ("a.md", "crates/work/src, ../home/x, ~/root/\n"),
            ("b.md", "[a](https://github.com/a/b) file://x, https://{host}/\n"),
            ("Cargo.lock", &*lock),
        ];
        assert_eq!(found(&RULE, &good), [""; 0]);
    }
}
