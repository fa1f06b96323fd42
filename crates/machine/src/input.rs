//! Reading the files that people name: text of a bounded size, and never from what has no end.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The most bytes of a file that people write by hand: a machine or an experiment.
pub const WRITTEN_MAX: u64 = 16 << 20;

/// The most bytes of a file that programs write: a graph, a matrix, a list, a result.
pub const MADE_MAX: u64 = 1 << 30;

/// The mark with which some editors begin a UTF-8 text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Why a file cannot be read.
#[derive(Debug)]
pub enum Unreadable {
    /// There is none.
    Missing,
    /// Who runs this may not.
    Forbidden,
    /// It is a directory.
    Directory,
    /// It is a device or a socket, which may have no end.
    Device,
    /// It is a named pipe, of which nobody knows whether something will come.
    NamedPipe,
    /// It has more bytes than these.
    TooLarge(u64),
    /// It is no UTF-8 text; its bytes, and how many of them are.
    NotText(Vec<u8>, usize),
    /// The system says so.
    Other(io::Error),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Missing => f.write_str("does not exist"),
            Unreadable::Forbidden => f.write_str("may not be read by you"),
            Unreadable::Directory => f.write_str("is a directory"),
            Unreadable::Device => f.write_str("is a device, which may have no end"),
            Unreadable::NamedPipe => f.write_str("is a named pipe, which may wait for ever"),
            Unreadable::TooLarge(limit) => write!(f, "is larger than {} MiB", limit >> 20),
            Unreadable::NotText(bytes, valid) => {
                let byte = bytes.get(*valid).copied().unwrap_or_default();
                write!(f, "is not UTF-8 text: byte 0x{byte:02X} at offset {valid}")
            }
            Unreadable::Other(error) => write!(f, "cannot be read: {error}"),
        }
    }
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Unreadable::Missing,
            io::ErrorKind::PermissionDenied => Unreadable::Forbidden,
            io::ErrorKind::IsADirectory => Unreadable::Directory,
            _ => Unreadable::Other(error),
        }
    }
}

/// Opens the file at `path`, or the pipe that a shell has put there.
///
/// # Errors
/// If there is none, or it may have no end.
pub fn open(path: &Path) -> Result<File, Unreadable> {
    let found = std::fs::metadata(path)?;
    if found.is_dir() {
        return Err(Unreadable::Directory);
    }
    if !found.is_file() {
        refuse_endless(path, &found)?;
    }
    Ok(File::open(path)?)
}

/// Of what is no file only a pipe without a name is read: a shell writes to that.
#[cfg(unix)]
fn refuse_endless(path: &Path, found: &std::fs::Metadata) -> Result<(), Unreadable> {
    use std::os::unix::fs::FileTypeExt;
    match found.file_type().is_fifo() {
        true if path.canonicalize().is_ok() => Err(Unreadable::NamedPipe),
        true => Ok(()),
        false => Err(Unreadable::Device),
    }
}

/// Of what is no file nothing is read.
#[cfg(not(unix))]
fn refuse_endless(_path: &Path, _found: &std::fs::Metadata) -> Result<(), Unreadable> {
    Err(Unreadable::Device)
}

/// The text of the file at `path`, of at most `limit` bytes, without a byte order mark.
///
/// # Errors
/// If it cannot be read, is larger, or no text.
pub fn read_text(path: &Path, limit: u64) -> Result<String, Unreadable> {
    text_of(open(path)?, limit)
}

/// The same of whatever can be read.
///
/// # Errors
/// If it cannot be read, is larger, or no text.
pub fn text_of(input: impl Read, limit: u64) -> Result<String, Unreadable> {
    let mut bytes = Vec::new();
    input.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(Unreadable::TooLarge(limit));
    }
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        Unreadable::NotText(error.into_bytes(), valid)
    })?;
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len_utf8());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_or_is_no_file_is_refused() {
        assert!(matches!(read_text(Path::new("/dev/zero"), 10), Err(Unreadable::Device)));
        assert!(matches!(read_text(Path::new("src"), 10), Err(Unreadable::Directory)));
        assert!(matches!(read_text(Path::new("no/such"), 10), Err(Unreadable::Missing)));
    }

    #[test]
    fn a_text_has_a_limit_and_no_byte_order_mark() {
        assert_eq!(text_of(&b"\xef\xbb\xbfswitch"[..], 9).unwrap(), "switch");
        assert!(matches!(text_of(&b"0123456789"[..], 9), Err(Unreadable::TooLarge(9))));
        let Err(Unreadable::NotText(bytes, 2)) = text_of(&b"ab\xff"[..], 9) else {
            panic!("this is no text")
        };
        assert_eq!(Unreadable::NotText(bytes, 2).to_string(), "is not UTF-8 text: byte 0xFF at offset 2");
    }
}
