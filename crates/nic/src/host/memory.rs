//! The memory of a node, as each process sees its own. It holds bytes only where somebody wants to know them.

use std::collections::BTreeMap;
use std::ops::Range;

/// An address of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// Of which process of the node.
    pub process: u8,
    /// Where in its memory.
    pub byte: u64,
}

impl Address {
    /// So many bytes further on.
    #[must_use]
    pub fn after(self, bytes: u64) -> Self {
        Address { byte: self.byte + bytes, ..self }
    }
}

const PAGE: u64 = 4096;

type Pages = BTreeMap<(u8, u64), Box<[u8]>>;

/// The memory of a node. What was never written is zero.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// By process and page, if bytes are kept.
    pages: Option<Pages>,
}

impl Memory {
    /// Memory that keeps what is written.
    #[must_use]
    pub fn with_bytes() -> Self {
        Memory { pages: Some(Pages::new()) }
    }

    /// The bytes at `from`, if they are kept.
    #[must_use]
    pub fn read(&self, from: Address, bytes: u64) -> Option<Box<[u8]>> {
        let pages = self.pages.as_ref()?;
        let mut all = vec![0; bytes as usize];
        for (at, part) in parts(from.byte, bytes as usize) {
            if let Some(page) = pages.get(&(from.process, at / PAGE)) {
                let first = (at % PAGE) as usize;
                let length = part.len();
                all[part].copy_from_slice(&page[first..first + length]);
            }
        }
        Some(all.into())
    }

    /// Writes `bytes` from `to` on, if bytes are kept.
    pub fn write(&mut self, to: Address, bytes: &[u8]) {
        let Some(pages) = &mut self.pages else { return };
        for (at, part) in parts(to.byte, bytes.len()) {
            let page = pages.entry((to.process, at / PAGE)).or_insert_with(|| vec![0; PAGE as usize].into());
            let first = (at % PAGE) as usize;
            page[first..first + part.len()].copy_from_slice(&bytes[part]);
        }
    }
}

/// So many bytes from `first` on, in parts that are each in one page: where each begins, and which of the bytes it is.
fn parts(first: u64, bytes: usize) -> impl Iterator<Item = (u64, Range<usize>)> {
    let mut begun = 0;
    std::iter::from_fn(move || {
        let at = first + begun as u64;
        let part = begun..bytes.min(begun + (PAGE - at % PAGE) as usize);
        begun = part.end;
        (!part.is_empty()).then_some((at, part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_across_pages() {
        let mut memory = Memory::with_bytes();
        let at = Address { process: 3, byte: 4094 };
        memory.write(at, &[1, 2, 3, 4]);
        assert_eq!(memory.read(at.after(1), 4).as_deref(), Some(&[2, 3, 4, 0][..]));
        assert_eq!(memory.read(Address { process: 2, ..at }, 2).as_deref(), Some(&[0, 0][..]));
        let long: Vec<u8> = (0..9_000).map(|byte| (byte % 251) as u8).collect();
        memory.write(at, &long);
        assert_eq!(memory.read(at, 9_000).as_deref(), Some(&long[..]));
        assert_eq!(memory.read(at.after(8_999), 2).as_deref(), Some(&[long[8_999], 0][..]));
        assert_eq!(memory.read(at, 0).as_deref(), Some(&[][..]));
        let mut none = Memory::default();
        none.write(at, &[1]);
        assert_eq!(none.read(at, 1), None);
    }
}
