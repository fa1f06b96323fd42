//! The folder of an experiment: finished points, kept, and the data of its plots.
//!
//! `points/KEY.json` is a finished point: `{ "schema": "flitway/point/1", "key", "sha256", "result" }`, where `result` is a
//! `flitway/result/1` and `sha256` the digest of its compact text. A file is there whole or not at
//! all ([`whole`]); what is damaged, or not ours, is an error and never a result.

use crate::schema;
use crate::whole;
use flitway_machine::digest::Digest;
use serde_json::{Value, json};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

const SCHEMA: &str = "flitway/point/1";

/// The folder.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
}

/// Why a folder cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError {
    /// The file or folder.
    pub path: PathBuf,
    /// What is wrong with it.
    pub message: String,
    /// What to do.
    pub help: Option<&'static str>,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.message)
    }
}

impl std::error::Error for StoreError {}

impl Store {
    /// Opens `folder`, and makes it if need be.
    ///
    /// # Errors
    /// If nothing can be written there.
    pub fn open(folder: &Path) -> Result<Store, StoreError> {
        if folder.is_file() {
            let message = "this is a file, expected a folder".to_owned();
            return Err(StoreError { path: folder.to_owned(), message, help: None });
        }
        let store = Store { folder: folder.to_owned() };
        let points = store.folder.join("points");
        std::fs::create_dir_all(&points)
            .map_err(|error| failed(&points, "cannot make this folder", &error))?;
        whole::probe(&points.join("probe")).map_err(|error| failed(&points, "cannot write there", &error))?;
        [&points, &store.folder].into_iter().for_each(|folder| whole::tidy(folder));
        Ok(store)
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The result kept under `key`; `None` if there is none.
    ///
    /// # Errors
    /// If what is there is damaged or something else.
    pub fn load(&self, key: &str) -> Result<Option<Value>, StoreError> {
        let path = self.path(key);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&path, "cannot read", &error)),
        };
        let damaged = |message: &str| StoreError {
            path: path.clone(),
            message: message.to_owned(),
            help: Some("delete the file, and the point is run again"),
        };
        let kept: Value =
            serde_json::from_str(&text).map_err(|_| damaged("this is no finished point: it is no JSON"))?;
        if kept.get("schema").and_then(Value::as_str) != Some(SCHEMA) {
            return Err(damaged("this is no finished point: it has another `schema`"));
        }
        if kept.get("key").and_then(Value::as_str) != Some(key) {
            return Err(damaged("this is another point: its `key` is not its name"));
        }
        match kept.get("result") {
            Some(result) if kept["sha256"] == Digest::of(&result.to_string()) => {
                match schema::problems(result).first() {
                    None => Ok(Some(result.clone())),
                    Some(problem) => Err(damaged(&format!("this finished point is no result: {problem}"))),
                }
            }
            _ => Err(damaged("this finished point is damaged: its digest is another")),
        }
    }

    /// Keeps `result` under `key`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, key: &str, result: &Value) -> Result<(), StoreError> {
        let digest = Digest::of(&result.to_string());
        let kept = json!({ "schema": SCHEMA, "key": key, "sha256": digest, "result": result });
        replace(&self.path(key), &format!("{kept:#}\n"))
    }

    /// Writes a file of the folder, whole or not at all.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, StoreError> {
        let path = self.folder.join(name);
        replace(&path, text)?;
        Ok(path)
    }

    /// The file of the point `key`.
    #[must_use]
    pub fn path(&self, key: &str) -> PathBuf {
        self.folder.join("points").join(format!("{key}.json"))
    }
}

fn replace(path: &Path, text: &str) -> Result<(), StoreError> {
    let written = whole::replace(path, |out| out.write_all(text.as_bytes()));
    written.map_err(|error| failed(path, "cannot write", &error))
}

fn failed(path: &Path, what: &str, error: &io::Error) -> StoreError {
    StoreError { path: path.to_owned(), message: format!("{what}: {error}"), help: None }
}
