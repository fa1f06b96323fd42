//! Runs: steps up to the next act. See point 23 of the header of this folder.

use super::{Phase, State};
use crate::elan4::{COMMANDS, DESCRIPTOR, Elan4, ElanContext, ElanEvent, ThreadSettings, WORD};
use crate::host::thread::{Act, FaultKind, Instruction, MEMORY, Operand, Register, STEPS, ThreadFault};
use flitway_engine::Picos;

/// What a run comes to.
struct Run {
    time: Picos,
    /// Times that something was counted.
    counted: u64,
}

impl State {
    pub(super) fn word(&self, register: Register) -> u64 {
        self.registers[register.index()]
    }

    pub(super) fn set(&mut self, register: Register, word: u64) {
        if register != Register::ZERO {
            self.registers[register.index()] = word;
        }
    }

    fn operand(&self, operand: Operand) -> u64 {
        match operand {
            Operand::Register(register) => self.word(register),
            Operand::Number(number) => number,
        }
    }

    /// Does what comes before the next act, and says how long that takes with it. The program stops at its end.
    fn advance(&mut self, settings: &ThreadSettings) -> Result<Run, FaultKind> {
        let mut run = Run { time: Picos(0), counted: 0 };
        loop {
            let instruction = self.step().map_or(Instruction::Act(Act::Stop), |step| step.instruction);
            self.steps += 1;
            if self.steps > STEPS {
                return Err(FaultKind::NeverEnds);
            }
            if instruction != Instruction::Count {
                run.time.0 += settings.cycle.0;
            }
            let mut next = self.next + 1;
            match instruction {
                Instruction::Compute { how, to, one, two } => {
                    self.set(to, how.of(self.word(one), self.operand(two)));
                }
                Instruction::Load { to, at, offset } => {
                    let word = self.store.load(self.word(at).wrapping_add(offset))?;
                    self.set(to, word);
                }
                Instruction::Store { from, at, offset } => {
                    self.store.store(self.word(at).wrapping_add(offset), self.word(from))?;
                }
                Instruction::Jump(to) => next = to as usize,
                Instruction::Branch { when, one, two, to } => {
                    if when.holds(self.word(one), self.operand(two)) {
                        next = to as usize;
                    }
                }
                Instruction::Count => run.counted += 1,
                Instruction::Act(act) => {
                    run.time.0 += settings.copy.0.saturating_mul(self.words(act));
                    return Ok(run);
                }
            }
            self.next = next;
        }
    }

    /// Words that an act moves.
    fn words(&self, act: Act) -> u64 {
        let of = |bytes: u64| bytes.min(MEMORY).div_ceil(WORD.into());
        match act {
            Act::Copy { bytes, .. } | Act::Interrupt { bytes, .. } => of(self.word(bytes)),
            Act::Send { words, bytes, .. } => of(COMMANDS.into()) + u64::from(words) + of(self.word(bytes)),
            Act::Dma { .. } => of((COMMANDS + DESCRIPTOR).into()),
            _ => 0,
        }
    }
}

impl Elan4 {
    /// A thread begins a run, which takes `more` beside its steps.
    pub(super) fn run(&mut self, cx: &mut ElanContext<'_>, process: u8, more: Picos) {
        let settings = self.settings.thread;
        match self.threads.of(process).advance(&settings) {
            Ok(Run { time, counted }) => {
                self.counts.counted += counted;
                let time = Picos(time.0.saturating_add(more.0));
                self.threads.busy = self.threads.busy.saturating_add(time.0);
                cx.ask(Picos(cx.at.0.saturating_add(time.0)), ElanEvent::Acts);
            }
            Err(kind) => self.cannot_go_on(cx, process, kind),
        }
    }

    /// A thread stops where it is.
    pub(super) fn cannot_go_on(&mut self, cx: &mut ElanContext<'_>, process: u8, kind: FaultKind) {
        let thread = self.threads.of(process);
        thread.leave(cx.at);
        let line = thread.step().or(thread.thread.code.steps.last().copied()).map_or(0, |step| step.line);
        let program = thread.thread.code.name.clone();
        self.counts.faults += 1;
        self.threads.fault.get_or_insert(ThreadFault { process, program, line, kind });
        self.leaves(cx, process, Phase::Stopped);
    }
}
