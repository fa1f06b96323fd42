//! The memory that a thread has: its own, and its slots.

use super::About;
use crate::elan4::WORD;
use crate::host::thread::{FaultKind, MEMORY, SLOT};
use flitway_wiring::NodeId;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a word.
const BYTES: u64 = WORD as u64;

/// Which slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slots {
    Messages = 0,
    Commands = 1,
}

/// Slots of one kind: which are free.
#[derive(Debug)]
pub(super) struct Free {
    /// Those that have been in use.
    again: BTreeSet<u32>,
    /// The first that has not, and the one behind the last.
    fresh: u32,
    end: u32,
    /// Slots that are free, less those that are reserved.
    count: u32,
}

impl Free {
    fn new(first: u32, count: u32) -> Self {
        Free { again: BTreeSet::new(), fresh: first, end: first + count, count }
    }

    pub(super) fn is_free(&self) -> bool {
        self.count > 0
    }

    pub(super) fn reserve(&mut self) {
        assert!(self.is_free(), "a command is taken when a slot is free for it");
        self.count -= 1;
    }

    fn lowest(&mut self) -> u32 {
        self.again.pop_first().unwrap_or_else(|| {
            assert!(self.fresh < self.end, "there are no more slots in use than there are");
            self.fresh += 1;
            self.fresh - 1
        })
    }
}

/// A slot in use.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) about: About,
    /// The message whose source awaits what the thread says of it.
    pub(super) awaits: Option<(NodeId, u64)>,
    words: Box<[u64]>,
}

/// The memory of a thread.
#[derive(Debug)]
pub(super) struct Store {
    /// As far as something has been stored.
    memory: Vec<u64>,
    slots: BTreeMap<u32, Slot>,
    /// By [`Slots`].
    free: [Free; 2],
    count: u32,
}

/// The address of a slot.
pub(super) fn address(slot: u32) -> u64 {
    MEMORY + u64::from(slot) * SLOT
}

/// The words that bytes begin with; the last is filled up with zeros.
fn words(data: Option<Box<[u8]>>, bytes: u64) -> Box<[u64]> {
    let Some(data) = data else { return vec![0; bytes.div_ceil(BYTES) as usize].into() };
    let word = |part: &[u8]| {
        let mut word = [0; WORD as usize];
        word[..part.len()].copy_from_slice(part);
        u64::from_le_bytes(word)
    };
    data.chunks(WORD as usize).map(word).collect()
}

impl Store {
    pub(super) fn new(slots: u32) -> Self {
        let free = [Free::new(0, slots), Free::new(slots, slots)];
        Store { memory: Vec::new(), slots: BTreeMap::new(), free, count: slots }
    }

    pub(super) fn slots(&self, which: Slots) -> &Free {
        &self.free[which as usize]
    }

    pub(super) fn slots_mut(&mut self, which: Slots) -> &mut Free {
        &mut self.free[which as usize]
    }

    pub(super) fn slot_mut(&mut self, slot: u32) -> Option<&mut Slot> {
        self.slots.get_mut(&slot)
    }

    /// Fills a slot with an item, if one is free: what it is about, with its slot.
    pub(super) fn fill(
        &mut self,
        which: Slots,
        about: About,
        data: Option<Box<[u8]>>,
        awaits: Option<(NodeId, u64)>,
    ) -> Option<About> {
        let free = self.slots_mut(which);
        if !free.is_free() {
            return None;
        }
        free.reserve();
        let slot = free.lowest();
        Some(self.put(slot, about, data, awaits))
    }

    /// Fills the slot that was reserved for a command.
    pub(super) fn fill_reserved(&mut self, about: About, data: Option<Box<[u8]>>) -> About {
        let slot = self.slots_mut(Slots::Commands).lowest();
        self.put(slot, about, data, None)
    }

    fn put(
        &mut self,
        slot: u32,
        about: About,
        data: Option<Box<[u8]>>,
        awaits: Option<(NodeId, u64)>,
    ) -> About {
        let about = About { slot: Some(slot), ..about };
        self.slots.insert(slot, Slot { about, awaits, words: words(data, about.bytes) });
        about
    }

    /// The slot in use at an address.
    pub(super) fn slot_at(&self, at: u64) -> Result<u32, FaultKind> {
        let slot =
            at.checked_sub(MEMORY).filter(|behind| behind.is_multiple_of(SLOT)).map(|behind| behind / SLOT);
        let slot = slot.and_then(|slot| u32::try_from(slot).ok());
        slot.filter(|slot| self.slots.contains_key(slot)).ok_or(FaultKind::NoSlot(at))
    }

    /// Frees a slot in use: what was in it, and whether it was that of a command.
    pub(super) fn empty(&mut self, slot: u32) -> (Slot, bool) {
        let is_command = slot >= self.count;
        let free = self.slots_mut(if is_command { Slots::Commands } else { Slots::Messages });
        free.count += 1;
        free.again.insert(slot);
        (self.slots.remove(&slot).expect("it is in use"), is_command)
    }

    /// The word at an address.
    pub(super) fn load(&self, at: u64) -> Result<u64, FaultKind> {
        let (slot, word) = self.place(at, BYTES)?;
        let words = slot.map_or(&self.memory[..], |slot| &self.slots[&slot].words);
        Ok(words.get(word).copied().unwrap_or(0))
    }

    /// Stores a word at an address.
    pub(super) fn store(&mut self, at: u64, value: u64) -> Result<(), FaultKind> {
        let (slot, word) = self.place(at, BYTES)?;
        match slot {
            None => {
                self.memory.resize(self.memory.len().max(word + 1), 0);
                self.memory[word] = value;
            }
            Some(slot) => {
                let words = &mut self.slots.get_mut(&slot).expect("it is in use").words;
                if words.len() <= word {
                    let mut longer = std::mem::take(words).into_vec();
                    longer.resize(word + 1, 0);
                    *words = longer.into();
                }
                words[word] = value;
            }
        }
        Ok(())
    }

    /// The bytes from an address on.
    pub(super) fn bytes(&self, at: u64, bytes: u64) -> Result<Box<[u8]>, FaultKind> {
        if bytes == 0 {
            return Ok(Box::new([]));
        }
        self.place(at, bytes)?;
        let word = |place: u64| self.load(at + place * BYTES);
        let words: Result<Vec<u64>, FaultKind> = (0..bytes.div_ceil(BYTES)).map(word).collect();
        let mut all: Vec<u8> = words?.into_iter().flat_map(u64::to_le_bytes).collect();
        all.truncate(bytes as usize);
        Ok(all.into())
    }

    /// Where so many bytes from an address on are: in which slot, if in one, and from which word on.
    fn place(&self, at: u64, bytes: u64) -> Result<(Option<u32>, usize), FaultKind> {
        if !at.is_multiple_of(BYTES) {
            return Err(FaultKind::NotAligned(at));
        }
        let fits = |begin: u64, size: u64| bytes <= size && at - begin <= size - bytes;
        if at < MEMORY {
            return if fits(0, MEMORY) {
                Ok((None, (at / BYTES) as usize))
            } else {
                Err(FaultKind::NoMemory(at))
            };
        }
        let slot = self.slot_at(at - (at - MEMORY) % SLOT).map_err(|_| FaultKind::NoMemory(at))?;
        let begin = address(slot);
        if fits(begin, SLOT) {
            Ok((Some(slot), ((at - begin) / BYTES) as usize))
        } else {
            Err(FaultKind::NoMemory(at))
        }
    }
}
