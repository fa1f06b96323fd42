//! Wrong input and the message it gets, case by case, in a file `cases.txt` beside the right text, `base.toml`.
//!
//! A case is a title after `==`, its input, `--`, and the exact messages. Its text is a change of the base, as in a diff (lines
//! of context, `-` lines out, `+` lines in), or whole, each line after `|`. What other marks mean is the reader's business.

use std::fs;
use std::path::{Path, PathBuf};

/// A case.
#[derive(Debug)]
pub struct Case {
    /// What is wrong.
    pub title: String,
    input: Vec<String>,
    messages: String,
}

/// The cases of a folder.
#[derive(Debug)]
pub struct Cases {
    file: PathBuf,
    base: String,
    preface: String,
    list: Vec<Case>,
}

impl Case {
    /// The lines of its input that begin with `mark`, without it.
    #[must_use]
    pub fn marked(&self, mark: &str) -> Vec<&str> {
        self.input.iter().filter_map(|line| line.strip_prefix(mark)).collect()
    }

    fn changed(&self, base: &str) -> String {
        let mut lines: Vec<&str> = base.lines().collect();
        let mut at = 0;
        for line in &self.input {
            let (mark, text) = line.split_at(line.len().min(1));
            match mark {
                "+" => {
                    lines.insert(at, text);
                    at += 1;
                }
                "-" | " " => {
                    let found = lines[at..].iter().position(|other| *other == text);
                    at += found
                        .unwrap_or_else(|| panic!("`{text}` is no line of the base below the one before"));
                    if mark == "-" {
                        lines.remove(at);
                    } else {
                        at += 1;
                    }
                }
                _ => {}
            }
        }
        lines.join("\n") + "\n"
    }
}

impl Cases {
    /// Reads the cases of `folder`.
    ///
    /// # Panics
    /// If there are none.
    #[must_use]
    pub fn read(folder: &Path) -> Self {
        let file = folder.join("cases.txt");
        let read = |path: &Path| {
            fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let (text, base) = (read(&file), read(&folder.join("base.toml")));
        let (preface, list) = text.split_once("\n== ").expect("a file of cases has some");
        let case = |block: &str| {
            let (title, rest) = block.split_once('\n').unwrap_or((block, ""));
            let (input, messages) = rest.split_once("\n--").unwrap_or((rest, ""));
            Case {
                title: title.to_owned(),
                input: input.lines().map(str::to_owned).collect(),
                messages: messages.trim().to_owned(),
            }
        };
        let list = list.split("\n== ").map(case).collect();
        Cases { file, base, preface: preface.to_owned(), list }
    }

    /// The right text.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The cases, in their order.
    #[must_use]
    pub fn list(&self) -> &[Case] {
        &self.list
    }

    /// The text of `case`.
    #[must_use]
    pub fn text(&self, case: &Case) -> String {
        let whole = case.marked("|");
        if whole.is_empty() { case.changed(&self.base) } else { whole.join("\n") + "\n" }
    }

    /// Holds the `messages` that each case gets, with its number, against those in the file; with `FLITWAY_ACCEPT` set writes
    /// them there.
    ///
    /// # Panics
    /// If one is no mistake, or gets another message.
    pub fn check(&self, mut messages: impl FnMut(usize, &Case) -> String) {
        let (mut text, mut wrong) = (self.preface.clone(), Vec::new());
        for (number, case) in self.list.iter().enumerate() {
            let messages = messages(number, case);
            assert!(!messages.is_empty(), "`{}` is no mistake", case.title);
            if messages != case.messages {
                wrong.push(format!("{}\n{messages}\n", case.title));
            }
            text += &format!("\n== {}\n{}\n--\n{messages}\n", case.title, case.input.join("\n"));
        }
        if std::env::var_os("FLITWAY_ACCEPT").is_some() {
            fs::write(&self.file, text).unwrap_or_else(|error| panic!("{}: {error}", self.file.display()));
        } else {
            assert!(wrong.is_empty(), "other messages than in cases.txt:\n\n{}", wrong.join("\n"));
        }
    }
}
