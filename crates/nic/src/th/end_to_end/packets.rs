//! Sets of packets, a bit for each.

/// Packets of a transfer, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketSet {
    words: Vec<u64>,
    len: u32,
}

impl PacketSet {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn place(sequence: u32) -> (usize, u64) {
        ((sequence / 64) as usize, 1 << (sequence % 64))
    }

    /// Whether it has packet `sequence`.
    #[must_use]
    pub fn contains(&self, sequence: u32) -> bool {
        let (word, bit) = PacketSet::place(sequence);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Adds packet `sequence`. Says whether it was not there.
    pub fn insert(&mut self, sequence: u32) -> bool {
        let (word, bit) = PacketSet::place(sequence);
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let is_new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        self.len += u32::from(is_new);
        is_new
    }

    /// Takes packet `sequence` out. Says whether it was there.
    pub fn remove(&mut self, sequence: u32) -> bool {
        let was_there = self.contains(sequence);
        if was_there {
            let (word, bit) = PacketSet::place(sequence);
            self.words[word] &= !bit;
            self.len -= 1;
        }
        was_there
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let all = 0..self.words.len() as u32 * 64;
        all.filter(|&sequence| self.contains(sequence))
    }

    /// The lowest number that is there.
    #[must_use]
    pub fn first(&self) -> Option<u32> {
        let word = self.words.iter().position(|&word| word != 0)?;
        Some(word as u32 * 64 + self.words[word].trailing_zeros())
    }

    /// The lowest number that is not there.
    #[must_use]
    pub fn first_missing(&self) -> u32 {
        let full = self.words.iter().take_while(|&&word| word == u64::MAX).count();
        full as u32 * 64 + self.words.get(full).map_or(0, |word| word.trailing_ones())
    }

    /// Which of the 64 numbers from `first` on are not there, of those below `end`: bit i is `first` + i.
    #[must_use]
    pub fn missing(&self, first: u32, end: u32) -> u64 {
        let numbers = (0..64).filter(|bit| first + bit < end && !self.contains(first + bit));
        numbers.fold(0, |missing, bit| missing | 1 << bit)
    }
}

impl FromIterator<u32> for PacketSet {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        let mut set = PacketSet::default();
        numbers.into_iter().for_each(|number| {
            set.insert(number);
        });
        set
    }
}
