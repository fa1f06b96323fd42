//! Threads of a NIC: the programs that run on a processor of the NIC itself, one thread for each process that has one.
//!
//! A program is a list of instructions on registers and on the memory of the NIC. The instructions that look at something
//! outside of both, or do something to it, are *acts*; the NIC whose thread it is says when they happen and what they do
//! (`elan4::thread`). Programs are written as text, which `flitway_machine::thread` reads.

use std::fmt;
use std::sync::Arc;

/// Words that an item of the queue of a thread can have: as many as registers that a thread is started with. Source: P-QS-032.
pub const WORDS: usize = 6;
/// Registers of a thread, of 64 bits. Register 0 is always 0. Source: P-QS-027.
pub const REGISTERS: usize = 64;
/// Bytes of memory that a thread has beside its slots. Source: \[assumed\].
pub const MEMORY: u64 = 1 << 20;
/// Bytes of addresses of a slot; the first slot begins at [`MEMORY`]. Source: \[assumed\].
pub const SLOT: u64 = 4096;
/// Steps of a program in which it must tell its process of something, or it is taken for one that never ends.
pub const STEPS: u64 = 10_000_000;

/// What an item says beside its data: up to [`WORDS`] words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Words {
    count: u8,
    words: [u64; WORDS],
}

impl Words {
    /// These words.
    ///
    /// # Panics
    /// If there are more than [`WORDS`].
    #[must_use]
    pub fn of(list: &[u64]) -> Self {
        let mut words = [0; WORDS];
        words[..list.len()].copy_from_slice(list);
        Words { count: list.len() as u8, words }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u8 {
        self.count
    }

    /// All that an item can have: those that this one does not have are 0.
    #[must_use]
    pub fn all(&self) -> [u64; WORDS] {
        self.words
    }
}

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Register(u8);

impl Register {
    /// The one that is always 0.
    pub const ZERO: Register = Register(0);
    /// Where [`Act::Wait`] puts the address of the slot of an item; 0 of one that has none.
    pub const SLOT: Register = Register(7);
    /// Where it puts how many bytes of data the item has.
    pub const BYTES: Register = Register(8);
    /// Where it puts the number of the node that the item has come from.
    pub const NODE: Register = Register(9);

    /// The register of that number, if there is one.
    #[must_use]
    pub fn new(number: u64) -> Option<Self> {
        (number < REGISTERS as u64).then_some(Register(number as u8))
    }

    /// Its number.
    #[must_use]
    pub fn index(self) -> usize {
        self.0.into()
    }
}

/// What an instruction takes as its second operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// What is in a register.
    Register(Register),
    /// A number.
    Number(u64),
}

/// What is computed of two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// Their sum, without what goes beyond 64 bits.
    Add,
    /// The first less the second, likewise.
    Subtract,
    /// Their product, likewise.
    Multiply,
    /// The bits that both have.
    And,
    /// The bits that one of them has.
    Or,
    /// The bits that only one of them has.
    Xor,
    /// The first, shifted up by the lowest six bits of the second.
    Left,
    /// The first, shifted down by those, without its sign.
    Right,
    /// The smaller one, with signs.
    Min,
    /// The larger one, with signs.
    Max,
}

impl Arithmetic {
    /// What comes of two words.
    #[must_use]
    pub fn of(self, one: u64, two: u64) -> u64 {
        match self {
            Arithmetic::Add => one.wrapping_add(two),
            Arithmetic::Subtract => one.wrapping_sub(two),
            Arithmetic::Multiply => one.wrapping_mul(two),
            Arithmetic::And => one & two,
            Arithmetic::Or => one | two,
            Arithmetic::Xor => one ^ two,
            Arithmetic::Left => one << (two & 63),
            Arithmetic::Right => one >> (two & 63),
            Arithmetic::Min => (one.cast_signed()).min(two.cast_signed()).cast_unsigned(),
            Arithmetic::Max => (one.cast_signed()).max(two.cast_signed()).cast_unsigned(),
        }
    }
}

/// When a branch is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Both are the same.
    Equal,
    /// They differ.
    NotEqual,
    /// The first is less, with signs.
    Less,
    /// The first is not less, with signs.
    NotLess,
}

impl Comparison {
    /// Whether it holds of two words.
    #[must_use]
    pub fn holds(self, one: u64, two: u64) -> bool {
        match self {
            Comparison::Equal => one == two,
            Comparison::NotEqual => one != two,
            Comparison::Less => one.cast_signed() < two.cast_signed(),
            Comparison::NotLess => one.cast_signed() >= two.cast_signed(),
        }
    }
}

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// A register becomes what is computed of two words.
    Compute {
        /// What is computed.
        how: Arithmetic,
        /// The register.
        to: Register,
        /// The first word.
        one: Register,
        /// The second word.
        two: Operand,
    },
    /// A register becomes the word in memory that stands `offset` bytes behind the address in `at`.
    Load {
        /// The register.
        to: Register,
        /// The address.
        at: Register,
        /// Bytes behind it.
        offset: u64,
    },
    /// The word there becomes what is in `from`.
    Store {
        /// The word.
        from: Register,
        /// The address.
        at: Register,
        /// Bytes behind it.
        offset: u64,
    },
    /// The program goes on with the step of that number.
    Jump(u32),
    /// It goes on there if a comparison holds.
    Branch {
        /// The comparison.
        when: Comparison,
        /// The first word.
        one: Register,
        /// The second word.
        two: Operand,
        /// The step.
        to: u32,
    },
    /// Something that a user wants to know the number of has been passed: it is counted, in no time.
    Count,
    /// Something outside of registers and memory.
    Act(Act),
}

/// An instruction that looks at something outside of registers and memory, or does something to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// The thread takes the next item of its queue, and sleeps until there is one.
    Wait,
    /// The thread ends.
    Stop,
    /// A register becomes how many items are in the queue.
    Test(Register),
    /// A slot is free.
    Free(Register),
    /// The message in a slot is refused, and the slot is free.
    Refuse(Register),
    /// What follows is about the item in a slot.
    Resume(Register),
    /// Data of the memory of the NIC are written into that of the process.
    Copy {
        /// Where they go.
        to: Register,
        /// Where they are.
        from: Register,
        /// How many bytes.
        bytes: Register,
    },
    /// A message for the thread of the same process on another node.
    Send {
        /// The node.
        node: Register,
        /// How many words it has: those in registers 1 and on.
        words: u8,
        /// Where its data are in the memory of the NIC.
        from: Register,
        /// How many bytes.
        bytes: Register,
    },
    /// The DMA engine of another node sends data of the same process there to the process here.
    Dma {
        /// The node.
        node: Register,
        /// Where they are.
        there: Register,
        /// Where they go.
        here: Register,
        /// How many bytes.
        bytes: Register,
        /// Who is told when they are here.
        tells: Tells,
    },
    /// The process is told of the item.
    Event,
    /// The same, and it copies data within its memory when it has seen that.
    EventCopy {
        /// Where they go.
        to: Register,
        /// Where they are.
        from: Register,
        /// How many bytes.
        bytes: Register,
    },
    /// Data of the memory of the NIC go to the process by an interrupt, and it copies them to their place at once.
    Interrupt {
        /// Where they go.
        to: Register,
        /// Where they are.
        from: Register,
        /// How many bytes.
        bytes: Register,
    },
}

/// Who is told when data are here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tells {
    /// The process.
    Process,
    /// The thread, by an item with the words that were in registers 1 to 6.
    Thread,
}

/// A step of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is done.
    pub instruction: Instruction,
    /// The line of the text that says so.
    pub line: u32,
}

/// A program. One that comes to its end stops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Code {
    /// Its name.
    pub name: String,
    /// Whether it answers messages itself, by freeing or refusing their slots; otherwise those that find a slot are accepted.
    pub answers: bool,
    /// What it does.
    pub steps: Vec<Step>,
}

/// The thread of a process, as it is before the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// What it runs.
    pub code: Arc<Code>,
    /// What is in its registers 1 and on at its first step.
    pub registers: [u64; WORDS],
}

/// Why a thread cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// It has done so many steps without telling its process of anything.
    NeverEnds,
    /// No memory is at that address, or not as much as it asks for.
    NoMemory(u64),
    /// That address of a word is no multiple of 8.
    NotAligned(u64),
    /// No slot with an item is at that address.
    NoSlot(u64),
    /// A command of its own process cannot be refused.
    NoMessage(u64),
    /// It sends to that node, which is its own or none.
    NoNode(u64),
    /// A message has so many bytes, and may have so many, words included.
    TooLong(u64, u64),
    /// A DMA has so many bytes.
    NoDma(u64),
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::NeverEnds => {
                write!(f, "it has done {STEPS} steps without telling its process of anything")
            }
            FaultKind::NoMemory(at) => write!(f, "no memory is at address {at}, or not as much as that"),
            FaultKind::NotAligned(at) => write!(f, "{at} is no address of a word: no multiple of 8"),
            FaultKind::NoSlot(at) => write!(f, "no slot with an item is at address {at}"),
            FaultKind::NoMessage(at) => write!(f, "no message that waits for an answer is at address {at}"),
            FaultKind::NoNode(node) => write!(f, "{node} is its own node, or none"),
            FaultKind::TooLong(bytes, most) => {
                write!(f, "a message has {bytes} B, its words included, and {most} B at most")
            }
            FaultKind::NoDma(bytes) => write!(f, "a DMA has {bytes} B, and not 1 B to 2 GiB"),
        }
    }
}

/// A thread that could not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadFault {
    /// Of which process.
    pub process: u8,
    /// The name of its program.
    pub program: String,
    /// The line that it came to.
    pub line: u32,
    /// Why.
    pub kind: FaultKind,
}

impl fmt::Display for ThreadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ThreadFault { process, program, line, kind } = self;
        write!(f, "the thread of process {process} stopped in line {line} of program {program}: {kind}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_signs_where_they_are_compared() {
        let minus = 5_i64.wrapping_neg().cast_unsigned();
        assert_eq!(Arithmetic::Min.of(3, minus), minus);
        assert_eq!(Arithmetic::Max.of(3, minus), 3);
        assert_eq!(Arithmetic::Add.of(7, minus), 2);
        assert_eq!(Arithmetic::Left.of(3, 65), 6);
        assert!(Comparison::Less.holds(minus, 0) && Comparison::NotLess.holds(0, minus));
    }

    #[test]
    fn words_that_an_item_does_not_have_are_none() {
        let words = Words::of(&[4, 5]);
        assert_eq!((words.count(), words.all()), (2, [4, 5, 0, 0, 0, 0]));
    }
}
