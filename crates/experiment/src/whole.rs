//! Files that are there whole or not at all, even after the power has failed: a draft beside the place, synced, renamed.
//!
//! The draft is made for this write alone: a file or a link of its name that is already there is never opened. A link at
//! the place is followed, also one to a file that is not there yet; the mode of the file that is replaced is kept.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How the name of a draft ends.
const ENDING: &str = ".part";

/// Links that are followed before they are taken for a ring.
const LINKS_MAX: usize = 40;

/// How long a draft lies still before it is taken for left behind: writing one takes moments.
const LEFT_BEHIND: Duration = Duration::from_secs(3_600);

/// Writes the file at `path` with what `write` writes, whole or not at all.
///
/// # Errors
/// If it cannot be written; then what was there before is there still.
pub fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let draft = Draft::create(path)?;
    let mut buffer = BufWriter::new(&draft.file);
    write(&mut buffer)?;
    buffer.flush()?;
    drop(buffer);
    draft.keep()
}

/// Finds out whether [`replace`] could write the file at `path`. Writes nothing.
///
/// # Errors
/// Why it could not.
pub fn probe(path: &Path) -> io::Result<()> {
    Draft::create(path).map(drop)
}

/// The file that `path` means, links followed, whether it is there or not.
///
/// # Errors
/// If links lead in a ring, or cannot be read.
pub fn target(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..LINKS_MAX {
        match std::fs::symlink_metadata(&target) {
            Ok(found) if found.is_symlink() => {
                let next = std::fs::read_link(&target)?;
                target = folder_of(&target).join(next);
            }
            _ => return Ok(target),
        }
    }
    Err(io::Error::other("too many links, or a ring of them"))
}

/// Whether `a` and `b` are the same file, links followed; they need not be there yet.
#[must_use]
pub fn is_same(a: &Path, b: &Path) -> bool {
    if a == b {
        return true;
    }
    match (identity(a), identity(b)) {
        (Some(a), Some(b)) => a == b,
        (None, None) => place(a).zip(place(b)).is_some_and(|(a, b)| a == b),
        _ => false,
    }
}

/// What tells a file that is there from all others.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

/// What tells a file that is there from all others.
#[cfg(not(unix))]
fn identity(path: &Path) -> Option<PathBuf> {
    std::fs::canonicalize(path).ok()
}

/// Where a file would be that is not there.
fn place(path: &Path) -> Option<PathBuf> {
    let target = target(path).ok()?;
    Some(folder_of(&target).canonicalize().ok()?.join(target.file_name()?))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Removes drafts in `folder` that a killed process has left behind.
pub fn tidy(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_draft = entry.file_name().to_string_lossy().ends_with(ENDING);
        let age = entry.metadata().ok().and_then(|found| found.modified().ok()?.elapsed().ok());
        if is_draft && age.is_some_and(|age| age > LEFT_BEHIND) {
            // Another process may have been faster, and what cannot be removed does no harm.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// A file that is being written; it goes unless it is kept.
struct Draft {
    file: File,
    path: PathBuf,
    target: PathBuf,
    is_kept: bool,
}

impl Draft {
    fn create(path: &Path) -> io::Result<Draft> {
        /// So that no two drafts of this process have one name.
        static DRAFTS: AtomicU64 = AtomicU64::new(0);
        let target = target(path)?;
        loop {
            let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
            let mut name = target.clone().into_os_string();
            name.push(format!(".{}-{number}{ENDING}", std::process::id()));
            let path = PathBuf::from(name);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Draft { file, path, target, is_kept: false }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn keep(mut self) -> io::Result<()> {
        if let Ok(replaced) = std::fs::metadata(&self.target) {
            self.file.set_permissions(replaced.permissions())?;
        }
        self.file.sync_all()?;
        std::fs::rename(&self.path, &self.target)?;
        self.is_kept = true;
        sync_folder(folder_of(&self.target))
    }
}

/// A rename is sure when the folder is.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Some file systems have folders that cannot be synced, or read: there is no more to be done.
        Err(error) if error.raw_os_error() != Some(5) => {
            debug_assert!(error.kind() != io::ErrorKind::NotFound, "a file was renamed in it");
            Ok(())
        }
        done => done,
    }
}

/// A rename is sure when the folder is.
#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_kept {
            // Half a file is none.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("flitway-whole-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn write(path: &Path, text: &str) -> io::Result<()> {
        replace(path, |out| out.write_all(text.as_bytes()))
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_mode_of_the_file_that_is_replaced_is_kept() {
        let folder = folder("mode");
        let path = folder.join("secret");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        write(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_link_in_the_place_of_a_draft_is_not_opened() {
        let folder = folder("draft");
        let (path, victim) = (folder.join("out"), folder.join("victim"));
        fs::write(&victim, "mine").unwrap();
        for number in 0..200 {
            let draft = format!("out.{}-{number}.part", std::process::id());
            symlink(&victim, folder.join(draft)).unwrap();
        }
        write(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn a_link_is_followed_wherever_it_leads_but_not_in_a_ring() {
        let folder = folder("links");
        symlink("later", folder.join("dangling")).unwrap();
        write(&folder.join("dangling"), "new").unwrap();
        assert_eq!(fs::read_to_string(folder.join("later")).unwrap(), "new");
        assert!(fs::symlink_metadata(folder.join("dangling")).unwrap().is_symlink());
        symlink("b", folder.join("a")).unwrap();
        symlink("a", folder.join("b")).unwrap();
        assert!(write(&folder.join("a"), "new").unwrap_err().to_string().contains("ring"));
        assert_eq!(names(&folder), ["a", "b", "dangling", "later"]);
    }

    #[test]
    fn what_fails_leaves_what_was_there_and_no_draft() {
        let folder = folder("fails");
        let path = folder.join("out");
        fs::write(&path, "old").unwrap();
        let failed = replace(&path, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("the disk is full"))
        });
        assert!(failed.is_err());
        probe(&path).unwrap();
        assert_eq!(
            (fs::read_to_string(&path).unwrap().as_str(), names(&folder)),
            ("old", vec!["out".into()])
        );
    }

    #[test]
    fn old_drafts_go_and_young_ones_stay() {
        let folder = folder("tidy");
        for name in ["a.json.1-0.part", "b.json.1-0.part", "a.json"] {
            fs::write(folder.join(name), "half").unwrap();
        }
        let old = std::time::SystemTime::now() - 2 * LEFT_BEHIND;
        for name in ["a.json.1-0.part", "a.json"] {
            File::options().write(true).open(folder.join(name)).unwrap().set_modified(old).unwrap();
        }
        tidy(&folder);
        assert_eq!(names(&folder), ["a.json", "b.json.1-0.part"]);
    }

    #[test]
    fn a_file_is_the_same_by_any_name() {
        let folder = folder("same");
        let at = |name: &str| folder.join(name);
        fs::write(at("a"), "").unwrap();
        fs::hard_link(at("a"), at("hard")).unwrap();
        symlink("a", at("soft")).unwrap();
        symlink("new", at("dangling")).unwrap();
        for (a, b) in [("a", "./a"), ("a", "hard"), ("soft", "hard"), ("new", "./new"), ("dangling", "new")] {
            assert!(is_same(&at(a), &at(b)), "{a} {b}");
        }
        for (a, b) in [("a", "new"), ("new", "newer")] {
            assert!(!is_same(&at(a), &at(b)), "{a} {b}");
        }
    }
}
