//! What threads do to what is around them. See points 24 and 25 of the header of this folder.

use super::{About, Phase};
use crate::elan4::message::{Firing, Message, Moved};
use crate::elan4::{Elan4, ElanContext, ElanEvent, TRANSFER, WORD};
use crate::host::Post;
use crate::host::memory::Address;
use crate::host::program::{Completion, CompletionKind, Operation, OperationId, Submission, Verb};
use crate::host::story::{Story, Unit};
use crate::host::thread::{Act, FaultKind, Instruction, Register, Tells, WORDS, Words};
use flitway_engine::Picos;
use flitway_wiring::NodeId;

/// Where data are moved.
#[derive(Clone, Copy)]
struct Move {
    to: Register,
    from: Register,
    bytes: Register,
}

impl Elan4 {
    /// The thread that the thread processor has comes to the end of a run.
    pub(in crate::elan4) fn acts(&mut self, cx: &mut ElanContext<'_>) {
        let process = self.threads.running.expect("a thread runs");
        let step = self.threads.of(process).step();
        let Some(Instruction::Act(act)) = step.map(|step| step.instruction) else {
            // The end of the program.
            self.threads.of(process).leave(cx.at);
            return self.leaves(cx, process, Phase::Stopped);
        };
        let done = match act {
            Act::Wait => return self.wait(cx, process),
            Act::Stop => {
                self.threads.of(process).leave(cx.at);
                return self.leaves(cx, process, Phase::Stopped);
            }
            Act::Test(to) => {
                let thread = self.threads.of(process);
                thread.set(to, thread.items.len() as u64);
                Ok(())
            }
            Act::Free(at) => self.free(cx, process, at, true),
            Act::Refuse(at) => self.free(cx, process, at, false),
            Act::Resume(at) => self.resume(cx, process, at),
            Act::Copy { to, from, bytes } => self.copy(cx, process, Move { to, from, bytes }),
            Act::Send { node, words, from, bytes } => self.send_of(cx, process, (node, words), (from, bytes)),
            Act::Dma { node, there, here, bytes, tells } => {
                self.dma_of(cx, process, (node, tells), Move { to: here, from: there, bytes })
            }
            Act::Event => self.event_of(cx, process, None),
            Act::EventCopy { to, from, bytes } => self.event_of(cx, process, Some(Move { to, from, bytes })),
            Act::Interrupt { to, from, bytes } => self.interrupt(cx, process, Move { to, from, bytes }),
        };
        match done {
            Ok(()) => {
                self.threads.of(process).next += 1;
                self.run(cx, process, Picos(0));
            }
            Err(kind) => self.cannot_go_on(cx, process, kind),
        }
    }

    fn wait(&mut self, cx: &mut ElanContext<'_>, process: u8) {
        let others = !self.threads.ready.is_empty();
        let thread = self.threads.of(process);
        thread.next += 1;
        thread.takes = true;
        thread.leave(cx.at);
        match thread.items.is_empty() {
            true => self.leaves(cx, process, Phase::Sleeps),
            false if others => self.leaves(cx, process, Phase::Ready),
            false => self.take_item(cx, process),
        }
    }

    /// A slot is free, and what was in it accepted or refused.
    fn free(
        &mut self,
        cx: &mut ElanContext<'_>,
        process: u8,
        at: Register,
        is_accepted: bool,
    ) -> Result<(), FaultKind> {
        let thread = self.threads.of(process);
        let at = thread.word(at);
        let slot = thread.store.slot_at(at)?;
        let awaits = thread.store.slot_mut(slot).and_then(|slot| slot.awaits);
        if !is_accepted && awaits.is_none() {
            return Err(FaultKind::NoMessage(at));
        }
        let (_, is_command) = thread.store.empty(slot);
        if let Some(About { slot: about, .. }) = &mut thread.about
            && *about == Some(slot)
        {
            *about = None;
        }
        if let Some((from, number)) = awaits {
            match is_accepted {
                true => self.counts.messages[0] += 1,
                false => self.counts.refused_by_threads += 1,
            }
            self.answer(cx, from, number, is_accepted);
        }
        if is_command {
            self.work(cx);
        }
        Ok(())
    }

    fn resume(&mut self, cx: &mut ElanContext<'_>, process: u8, at: Register) -> Result<(), FaultKind> {
        let thread = self.threads.of(process);
        let slot = thread.store.slot_at(thread.word(at))?;
        if thread.about.is_some_and(|about| about.slot == Some(slot)) {
            return Ok(());
        }
        thread.leave(cx.at);
        let mut about = thread.store.slot_mut(slot).expect("it is in use").about;
        // An item that waits in the queue can be resumed too, and its story can be ahead of what was taken.
        about.story.pass(Unit::Kept, thread.taken.max(about.story.until()));
        thread.about = Some(about);
        Ok(())
    }

    /// The story of what the thread is about, until now, or one that begins now.
    fn story(&mut self, at: Picos, process: u8) -> Story {
        let thread = self.threads.of(process);
        match &mut thread.about {
            Some(about) => {
                about.story.pass(Unit::Thread, at);
                about.story
            }
            None => Story::begin(at),
        }
    }

    fn copy(&mut self, cx: &mut ElanContext<'_>, process: u8, data: Move) -> Result<(), FaultKind> {
        let thread = self.threads.of(process);
        let [to, from, bytes] = [data.to, data.from, data.bytes].map(|register| thread.word(register));
        let data = placed(thread.store.bytes(from, bytes)?, to)?;
        if !data.is_empty() {
            let posted = cx.bus.post(cx.at, data.len() as u32);
            cx.ask(posted.visible, ElanEvent::Landed(Address { process, byte: to }, data));
        }
        Ok(())
    }

    /// A node that a thread names.
    fn node(cx: &ElanContext<'_>, node: u64) -> Result<NodeId, FaultKind> {
        let is_other = node < cx.nodes() && node != u64::from(cx.node.0);
        if is_other { Ok(NodeId(node as u32)) } else { Err(FaultKind::NoNode(node)) }
    }

    fn send_of(
        &mut self,
        cx: &mut ElanContext<'_>,
        process: u8,
        (node, count): (Register, u8),
        (from, bytes): (Register, Register),
    ) -> Result<(), FaultKind> {
        let thread = self.threads.of(process);
        let [node, from, bytes] = [node, from, bytes].map(|register| thread.word(register));
        let node = Self::node(cx, node)?;
        let (all, most) =
            (bytes.saturating_add(u64::from(count) * u64::from(WORD)), u64::from(self.settings.sten_packet));
        if all > most {
            return Err(FaultKind::TooLong(all, most));
        }
        let data = thread.store.bytes(from, bytes)?;
        let words = Words::of(&thread.registers[1..=usize::from(count)]);
        let send = Operation { node, bytes, words: Some(words), ..operation(Verb::Send, process) };
        let number = self.start(cx, process, send);
        self.threads.outgoing.insert((process, number), data);
        Ok(())
    }

    fn dma_of(
        &mut self,
        cx: &mut ElanContext<'_>,
        process: u8,
        (node, tells): (Register, Tells),
        data: Move,
    ) -> Result<(), FaultKind> {
        let thread = self.threads.of(process);
        let words = Words::of(&thread.registers[1..=WORDS]);
        let [node, there, here, bytes] =
            [node, data.from, data.to, data.bytes].map(|register| thread.word(register));
        let node = Self::node(cx, node)?;
        let fits = |at: u64| at.checked_add(bytes).is_some();
        if bytes == 0 || bytes > TRANSFER || !fits(there) || !fits(here) {
            return Err(FaultKind::NoDma(bytes));
        }
        let get = Operation { node, bytes, here, there, ..operation(Verb::Get, process) };
        let number = self.start(cx, process, get);
        match tells {
            Tells::Process => self.threads.of(process).steps = 0,
            Tells::Thread => _ = self.threads.awaited.insert((process, number), words),
        }
        Ok(())
    }

    /// A thread starts an operation: its number.
    fn start(&mut self, cx: &mut ElanContext<'_>, process: u8, operation: Operation) -> u64 {
        let story = self.story(cx.at, process);
        let number = self.counted.number(process);
        self.copy_block(cx, process, &[Post { operation, number, story, step: 0 }]);
        number
    }

    fn event_of(
        &mut self,
        cx: &mut ElanContext<'_>,
        process: u8,
        data: Option<Move>,
    ) -> Result<(), FaultKind> {
        let thread = self.threads.of(process);
        let moved = data.map(|data| {
            let [to, from, bytes] = [data.to, data.from, data.bytes].map(|register| thread.word(register));
            Moved { to, from, bytes }
        });
        if let Some(Moved { to, from, bytes }) = moved {
            let fits = |at: u64| at.checked_add(bytes).is_some();
            if bytes > TRANSFER || !fits(to) || !fits(from) {
                return Err(FaultKind::NoDma(bytes));
            }
        }
        thread.steps = 0;
        self.tell(cx, process, CompletionKind::Received, Message::of_thread(moved));
        Ok(())
    }

    fn interrupt(&mut self, cx: &mut ElanContext<'_>, process: u8, data: Move) -> Result<(), FaultKind> {
        let thread = self.threads.of(process);
        let [to, from, bytes] = [data.to, data.from, data.bytes].map(|register| thread.word(register));
        let data = placed(thread.store.bytes(from, bytes)?, to)?;
        self.tell(cx, process, CompletionKind::Interrupted, Message::by_interrupt(to, data));
        Ok(())
    }

    /// The event of a process is set for what its thread is about.
    fn tell(&mut self, cx: &mut ElanContext<'_>, process: u8, what: CompletionKind, message: Message) {
        let story = self.story(cx.at, process);
        let own = OperationId { node: cx.node, process, number: u64::MAX };
        let (of, bytes) = self.threads.of(process).about.map_or((own, 0), |about| (about.of, about.bytes));
        let completion =
            Completion { what, number: of.number, node: of.node, process: of.process, bytes, story };
        self.set_event(cx, process, Firing { completion, message: Some(message) });
    }
}

/// The data, if there is so much memory of a process at `to`.
fn placed(data: Box<[u8]>, to: u64) -> Result<Box<[u8]>, FaultKind> {
    if to.checked_add(data.len() as u64).is_some() { Ok(data) } else { Err(FaultKind::NoMemory(to)) }
}

/// What a thread of `process` starts, but for what that is about.
fn operation(verb: Verb, process: u8) -> Operation {
    Operation::plain(verb, Submission::Sten, (NodeId(0), process))
}
