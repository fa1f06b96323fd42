//! Gzip, unpacked as it is read: all members of a file, and no more than a bounded multiple of its bytes.

use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, Read};

/// Bytes that a file may become whatever its size.
const FREE: u64 = 16 << 20;

/// How many times as large it may become beyond that. Traces become 10 to 100 times as large.
const EXPANSION_MAX: u64 = 200;

/// The text of gzip data.
pub(super) struct Unpacked<B: BufRead> {
    /// The member that is read; none behind the last.
    member: Option<GzDecoder<Counted<B>>>,
    given: u64,
}

/// What counts the bytes that are taken from it.
struct Counted<B> {
    inner: B,
    taken: u64,
}

impl<B: BufRead> Unpacked<B> {
    pub(super) fn new(inner: B) -> Self {
        Unpacked { member: Some(GzDecoder::new(Counted { inner, taken: 0 })), given: 0 }
    }

    /// Begins the member behind one that has ended, if there is one.
    fn next_member(&mut self) -> io::Result<()> {
        let Some(mut rest) = self.member.take().map(GzDecoder::into_inner) else { return Ok(()) };
        let start = rest.fill_buf()?;
        if start.starts_with(&[0x1f]) {
            self.member = Some(GzDecoder::new(rest));
        } else if !start.is_empty() {
            return Err(io::Error::other("there are bytes behind the end of the gzip data"));
        }
        Ok(())
    }
}

impl<B: BufRead> Read for Unpacked<B> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let count = member.read(buffer)?;
            if count == 0 && !buffer.is_empty() {
                self.next_member()?;
                continue;
            }
            self.given += count as u64;
            if self.given > FREE + EXPANSION_MAX * member.get_ref().taken {
                let message = format!(
                    "the gzip data becomes more than {EXPANSION_MAX} times as large; unpack it first if that is meant"
                );
                return Err(io::Error::other(message));
            }
            return Ok(count);
        }
        Ok(0)
    }
}

impl<B: BufRead> Read for Counted<B> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.taken += count as u64;
        Ok(count)
    }
}

impl<B: BufRead> BufRead for Counted<B> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.taken += count as u64;
        self.inner.consume(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn unpacked(bytes: &[u8]) -> Result<u64, String> {
        io::copy(&mut Unpacked::new(bytes), &mut io::sink()).map_err(|error| error.to_string())
    }

    #[test]
    fn all_members_are_read_and_nothing_behind_them() {
        let two = [packed(b"one"), packed(b"three")].concat();
        let mut text = String::new();
        Unpacked::new(&two[..]).read_to_string(&mut text).unwrap();
        assert_eq!(text, "onethree");
        for behind in [&b"x"[..], b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"] {
            let error = unpacked(&[&two[..], behind].concat()).unwrap_err();
            assert!(error.contains("behind the end of the gzip data"), "{error}");
        }
    }

    #[test]
    fn what_becomes_far_too_large_is_refused() {
        let calc = b"calc 1\n".repeat(6 << 20);
        let bytes = packed(&calc);
        assert!(bytes.len() * 200 < calc.len());
        assert!(unpacked(&bytes).unwrap_err().contains("more than 200 times as large; unpack it first"));
        assert_eq!(unpacked(&packed(&calc[..FREE as usize])).unwrap(), FREE, "a little of it is no harm");
    }
}
