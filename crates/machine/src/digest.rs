//! Digests: what two equal things have in common, in a line.

use sha2::{Digest as _, Sha256};
use std::fmt::Write;

/// The SHA-256 of what has been added.
#[derive(Clone, Debug, Default)]
pub struct Digest(Sha256);

impl Digest {
    /// The digest of `text`.
    #[must_use]
    pub fn of(text: &str) -> String {
        let mut digest = Digest::default();
        digest.add(text.as_bytes());
        digest.finish()
    }

    /// Adds `bytes`.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// In hexadecimal digits.
    #[must_use]
    pub fn finish(self) -> String {
        let mut text = String::new();
        for byte in self.0.finalize() {
            // Writing to a string does not fail.
            let _ = write!(text, "{byte:02x}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::Digest;

    #[test]
    fn digests_are_those_of_the_standard() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Digest::of("abc"), abc);
    }
}
