//! The thread processor, as points 18 to 26 of `flitway_nic::elan4::thread` say it.

use super::command::sten_commands;
use super::message::Found;
use super::{Address, CompletionKind, Content, Due, Header, Host, Maker, Name, Outbound, Story, Unit, What};
use super::{Operation, Submission, Verb, completion};
use flitway_engine::Picos;
use flitway_nic::elan4::{COMMANDS, DESCRIPTOR, TRANSFER, VERDICT};
use flitway_nic::host::thread::{
    Act, Code, FaultKind, Instruction, MEMORY, Operand, Register, SLOT, STEPS, Thread, ThreadFault, Words,
};
use flitway_wiring::NodeId;
use std::collections::BTreeMap;

/// What a thread is about: the operation, its data in bytes, its story, and the slot that it has.
#[derive(Clone, Copy, Debug)]
pub(super) struct About {
    name: Name,
    bytes: u64,
    story: Story,
    slot: Option<usize>,
}

/// What stands in the queue of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    about: About,
    words: Words,
    from: NodeId,
}

#[derive(Debug)]
struct Slot {
    story: Story,
    name: Name,
    bytes: u64,
    data: Vec<u8>,
    /// The message, while its source awaits an answer.
    unanswered: Option<Header>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    Asleep,
    Ready,
    Taken,
    Over,
}

/// The thread of a process.
#[derive(Debug)]
pub(super) struct OfThread {
    code: Code,
    registers: Vec<u64>,
    step: usize,
    steps: u64,
    is: Is,
    /// It takes an item before it does its next step.
    waits: bool,
    items: Vec<Item>,
    /// Words that have been stored.
    memory: BTreeMap<u64, u64>,
    /// Those of messages, and then as many of commands.
    slots: Vec<Option<Slot>>,
    /// Commands that have been taken and are not in their slots.
    coming: usize,
    about: Option<About>,
    taken: Picos,
}

/// The thread processor.
#[derive(Debug, Default)]
pub(super) struct ThreadProcessor {
    /// By process.
    threads: Vec<Option<OfThread>>,
    ready: Vec<u8>,
    has: Option<u8>,
    /// Data of the sends that threads have made, until they reach the NIC port.
    data: Vec<(Name, Vec<u8>)>,
    /// DMAs of which threads are told, with the words of that.
    told: Vec<(Name, Words)>,
    pub(super) busy: u64,
    pub(super) fault: Option<ThreadFault>,
}

impl OfThread {
    fn new(thread: Thread, slots: u32) -> Self {
        let mut registers = vec![0; 64];
        registers.splice(1..7, thread.registers);
        OfThread {
            code: (*thread.code).clone(),
            registers,
            step: 0,
            steps: 0,
            is: Is::Asleep,
            waits: false,
            items: Vec::new(),
            memory: BTreeMap::new(),
            slots: (0..2 * slots).map(|_| None).collect(),
            coming: 0,
            about: None,
            taken: Picos(0),
        }
    }

    fn get(&self, register: Register) -> u64 {
        self.registers[register.index()]
    }

    fn put(&mut self, register: Register, word: u64) {
        self.registers[register.index()] = word;
        self.registers[0] = 0;
    }

    fn second(&self, operand: Operand) -> u64 {
        match operand {
            Operand::Number(number) => number,
            Operand::Register(register) => self.get(register),
        }
    }

    fn instruction(&self) -> Instruction {
        self.code.steps.get(self.step).map_or(Instruction::Act(Act::Stop), |step| step.instruction)
    }

    /// The slots of messages, or those of commands.
    fn half(&self, of_commands: bool) -> std::ops::Range<usize> {
        let count = self.slots.len() / 2;
        if of_commands { count..2 * count } else { 0..count }
    }

    fn free(&self, of_commands: bool) -> Option<usize> {
        self.half(of_commands).find(|&slot| self.slots[slot].is_none())
    }

    /// The slot in use that begins at an address.
    fn slot(&self, at: u64) -> Result<usize, FaultKind> {
        let places = 0..self.slots.len();
        let is_there = |slot: &usize| MEMORY + *slot as u64 * SLOT == at && self.slots[*slot].is_some();
        places.into_iter().find(is_there).ok_or(FaultKind::NoSlot(at))
    }

    /// Whether `bytes` can be at an address: in its memory or in one slot.
    fn must_be_there(&self, at: u64, bytes: u64) -> Result<(), FaultKind> {
        if !at.is_multiple_of(8) {
            return Err(FaultKind::NotAligned(at));
        }
        let ends = at.checked_add(bytes).ok_or(FaultKind::NoMemory(at))?;
        let in_slot = |slot: usize| {
            let begins = MEMORY + slot as u64 * SLOT;
            self.slots[slot].is_some() && at >= begins && ends <= begins + SLOT && at < begins + SLOT
        };
        if (at < MEMORY && ends <= MEMORY) || (at >= MEMORY && (0..self.slots.len()).any(in_slot)) {
            return Ok(());
        }
        Err(FaultKind::NoMemory(at))
    }

    fn byte(&self, at: u64) -> u8 {
        if at < MEMORY {
            return self.memory.get(&(at / 8)).map_or(0, |word| word.to_le_bytes()[(at % 8) as usize]);
        }
        let slot = self.slots[((at - MEMORY) / SLOT) as usize].as_ref().expect("a slot in use");
        slot.data.get(((at - MEMORY) % SLOT) as usize).copied().unwrap_or(0)
    }

    fn read(&self, at: u64, bytes: u64) -> Result<Vec<u8>, FaultKind> {
        if bytes > 0 {
            self.must_be_there(at, bytes)?;
        }
        Ok((0..bytes).map(|byte| self.byte(at + byte)).collect())
    }

    fn load(&self, at: u64) -> Result<u64, FaultKind> {
        let bytes = self.read(at, 8)?;
        Ok(bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
    }

    fn store(&mut self, at: u64, word: u64) -> Result<(), FaultKind> {
        self.must_be_there(at, 8)?;
        if at < MEMORY {
            self.memory.insert(at / 8, word);
            return Ok(());
        }
        let slot = self.slots[((at - MEMORY) / SLOT) as usize].as_mut().expect("a slot in use");
        let first = ((at - MEMORY) % SLOT) as usize;
        slot.data.resize(slot.data.len().max(first + 8), 0);
        slot.data[first..first + 8].copy_from_slice(&word.to_le_bytes());
        Ok(())
    }

    /// Puts an item into a slot.
    fn fill(
        &mut self,
        slot: usize,
        about: About,
        data: Option<Box<[u8]>>,
        unanswered: Option<Header>,
    ) -> About {
        let About { name, bytes, story, .. } = about;
        let data = data.map_or_else(|| vec![0; bytes as usize], Vec::from);
        self.slots[slot] = Some(Slot { story, name, bytes, data, unanswered });
        About { slot: Some(slot), ..about }
    }

    /// It is about something else: what it was about is kept, if that has a slot.
    fn leave(&mut self, at: Picos) {
        let Some(mut about) = self.about.take() else { return };
        if let Some(slot) = about.slot.and_then(|slot| self.slots[slot].as_mut()) {
            about.story.pass(Unit::Thread, at);
            slot.story = about.story;
            slot.name = about.name;
            slot.bytes = about.bytes;
        }
    }

    /// Does one step that is no act: how many cycles that takes, and how much it counts.
    fn local(&mut self, instruction: Instruction) -> Result<(u64, u64), FaultKind> {
        let mut next = self.step + 1;
        let mut takes = (1, 0);
        match instruction {
            Instruction::Compute { how, to, one, two } => {
                let word = how.of(self.get(one), self.second(two));
                self.put(to, word);
            }
            Instruction::Load { to, at, offset } => {
                let word = self.load(self.get(at).wrapping_add(offset))?;
                self.put(to, word);
            }
            Instruction::Store { from, at, offset } => {
                self.store(self.get(at).wrapping_add(offset), self.get(from))?;
            }
            Instruction::Jump(to) => next = to as usize,
            Instruction::Branch { when, one, two, to } => {
                if when.holds(self.get(one), self.second(two)) {
                    next = to as usize;
                }
            }
            Instruction::Count => takes = (0, 1),
            Instruction::Act(_) => unreachable!("an act is done at the end of a run"),
        }
        self.step = next;
        Ok(takes)
    }

    /// Words that an act moves, of 8 bytes.
    fn moved(&self, act: Act) -> u64 {
        match act {
            Act::Copy { bytes, .. } | Act::Interrupt { bytes, .. } => self.get(bytes).min(MEMORY).div_ceil(8),
            Act::Send { words, bytes, .. } => {
                u64::from(COMMANDS) / 8 + u64::from(words) + self.get(bytes).min(MEMORY).div_ceil(8)
            }
            Act::Dma { .. } => u64::from(COMMANDS + DESCRIPTOR) / 8,
            _ => 0,
        }
    }
}

impl ThreadProcessor {
    pub(super) fn new(threads: Vec<Option<Thread>>, slots: u32) -> Self {
        let threads = threads.into_iter().map(|thread| thread.map(|it| OfThread::new(it, slots))).collect();
        ThreadProcessor { threads, ..ThreadProcessor::default() }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.has.is_none() && self.data.is_empty() && self.told.is_empty()
    }

    /// Whether a command for the thread of a process has a slot.
    pub(super) fn has_room(&self, process: u8) -> bool {
        let Some(thread) = &self.threads[usize::from(process)] else { return true };
        thread.half(true).filter(|&slot| thread.slots[slot].is_none()).count() > thread.coming
    }

    /// A command for it has been taken.
    pub(super) fn comes(&mut self, process: u8) {
        if let Some(thread) = &mut self.threads[usize::from(process)] {
            thread.coming += 1;
        }
    }

    /// The data of a send that a thread has made.
    pub(super) fn data_of(&mut self, name: Name) -> Option<Box<[u8]>> {
        let place = self.data.iter().position(|(send, _)| *send == name)?;
        Some(self.data.remove(place).1.into())
    }
}

impl Host {
    fn thread(&mut self, process: u8) -> &mut OfThread {
        self.threads.threads[usize::from(process)].as_mut().expect("it has a thread")
    }

    fn has_thread(&self, process: u8) -> bool {
        self.threads.threads.get(usize::from(process)).is_some_and(Option::is_some)
    }

    /// A message for a thread has come.
    pub(super) fn message_for_thread(&mut self, content: Content, words: Words) {
        let Content { header, story, data } = content;
        let Header { name, to, bytes, .. } = header;
        if !self.has_thread(to.process) {
            self.counts.dropped += 1;
            return self.say(&header, true);
        }
        let thread = self.thread(to.process);
        let Some(slot) = thread.free(false) else {
            self.counts.messages[1] += 1;
            return self.say(&header, false);
        };
        let answers = thread.code.answers;
        let unanswered = answers.then_some(header);
        let about = thread.fill(slot, About { name, bytes, story, slot: None }, data, unanswered);
        if !answers {
            self.counts.messages[0] += 1;
            self.say(&header, true);
        }
        self.item(to.process, Item { about, words, from: name.0 });
    }

    /// The source of a message hears whether it is accepted.
    pub(super) fn say(&mut self, header: &Header, is_accepted: bool) {
        let said = Header { what: What::Said(is_accepted), to: header.back, back: header.to, ..*header };
        let saying = Outbound {
            maker: Maker::Input,
            node: header.name.0,
            header: said,
            payload: VERDICT,
            from: None,
            tells_left: false,
            story: Story::begin(self.around.after(self.settings.form)),
        };
        self.around.ask(self.around.after(self.settings.form), Due::Handed(saying));
    }

    /// A command of a process for its thread is in the queue of that.
    pub(super) fn command_for_thread(&mut self, name: Name, operation: &Operation, story: Story) {
        let (process, bytes) = (name.1, operation.bytes);
        let data = self.around.memory.read(operation.local(process), bytes);
        if !self.has_thread(process) {
            self.counts.dropped += 1;
            return;
        }
        let thread = self.thread(process);
        thread.coming -= 1;
        let slot = thread.free(true).expect("it was taken as there was one");
        let about = thread.fill(slot, About { name, bytes, story, slot: None }, data, None);
        let from = self.around.node;
        self.item(process, Item { about, words: operation.words.unwrap_or_default(), from });
    }

    /// The data of a get of this node have been written: whether it is its thread that is told.
    pub(super) fn thread_is_told(&mut self, header: &Header, mut story: Story) -> bool {
        let place = self.threads.told.iter().position(|(name, _)| *name == header.name);
        let Some(place) = place else { return false };
        let (name, words) = self.threads.told.remove(place);
        let fires = self.occupy_events(self.settings.event.0);
        story.pass(Unit::Event, fires);
        let item = Item { about: About { name, bytes: 0, story, slot: None }, words, from: self.around.node };
        self.around.ask(fires, Due::Item(name.1, item));
        true
    }

    /// An item is in the queue of the thread of a process.
    pub(super) fn item(&mut self, process: u8, item: Item) {
        let thread = self.thread(process);
        thread.items.push(item);
        if thread.is == Is::Asleep {
            thread.is = Is::Ready;
            self.threads.ready.push(process);
            self.take_thread();
        }
    }

    /// The thread processor takes the next thread that is ready, if it has none.
    fn take_thread(&mut self) {
        if self.threads.has.is_some() || self.threads.ready.is_empty() {
            return;
        }
        let process = self.threads.ready.remove(0);
        self.threads.has = Some(process);
        self.counts.switches += 1;
        let switch = self.settings.thread.switch;
        self.threads.busy += switch.0;
        self.around.ask(self.around.after(switch), Due::ThreadTaken);
    }

    /// It has taken it.
    pub(super) fn thread_taken(&mut self) {
        let process = self.threads.has.expect("one is taken");
        let thread = self.thread(process);
        thread.is = Is::Taken;
        if thread.waits { self.take_item(process) } else { self.run(process, 0) }
    }

    fn take_item(&mut self, process: u8) {
        let at = self.around.at;
        let thread = self.thread(process);
        let Item { mut about, words, from } = thread.items.remove(0);
        about.story.pass(Unit::Thread, at);
        thread.waits = false;
        thread.taken = at;
        thread.about = Some(about);
        thread.registers.splice(1..7, words.all());
        thread.registers[7] = about.slot.map_or(0, |slot| MEMORY + slot as u64 * SLOT);
        thread.registers[8] = about.bytes;
        thread.registers[9] = from.0.into();
        self.run(process, self.settings.thread.take.0);
    }

    /// A run begins, which takes `time` beside its steps.
    fn run(&mut self, process: u8, mut time: u64) {
        let settings = self.settings.thread;
        loop {
            let thread = self.thread(process);
            thread.steps += 1;
            if thread.steps > STEPS {
                return self.is_at_fault(process, FaultKind::NeverEnds);
            }
            match thread.instruction() {
                Instruction::Act(act) => {
                    time += settings.cycle.0 + thread.moved(act) * settings.copy.0;
                    self.threads.busy += time;
                    return self.around.ask(self.around.after(Picos(time)), Due::ThreadActs);
                }
                other => match thread.local(other) {
                    Ok((cycles, counted)) => {
                        time += cycles * settings.cycle.0;
                        self.counts.counted += counted;
                    }
                    Err(fault) => return self.is_at_fault(process, fault),
                },
            }
        }
    }

    fn is_at_fault(&mut self, process: u8, kind: FaultKind) {
        let thread = self.thread(process);
        let steps = &thread.code.steps;
        let line = steps.get(thread.step).or(steps.last()).map_or(0, |step| step.line);
        let fault = ThreadFault { process, program: thread.code.name.clone(), line, kind };
        self.counts.faults += 1;
        if self.threads.fault.is_none() {
            self.threads.fault = Some(fault);
        }
        self.thread_ends(process);
    }

    fn thread_ends(&mut self, process: u8) {
        let at = self.around.at;
        let thread = self.thread(process);
        thread.leave(at);
        thread.is = Is::Over;
        self.threads.has = None;
        self.take_thread();
    }

    /// The end of a run: the act.
    pub(super) fn thread_acts(&mut self) {
        let process = self.threads.has.expect("one runs");
        let thread = self.thread(process);
        let Instruction::Act(act) = thread.instruction() else { unreachable!("a run ends with an act") };
        let done = match act {
            Act::Stop => return self.thread_ends(process),
            Act::Wait => return self.thread_waits(process),
            Act::Test(to) => {
                let count = thread.items.len() as u64;
                thread.put(to, count);
                Ok(())
            }
            Act::Free(at) => self.slot_is_free(process, at, true),
            Act::Refuse(at) => self.slot_is_free(process, at, false),
            Act::Resume(at) => self.is_resumed(process, at),
            Act::Copy { to, from, bytes } => self.thread_copies(process, [to, from, bytes]),
            Act::Send { node, words, from, bytes } => self.thread_sends(process, words, [node, from, bytes]),
            Act::Dma { node, there, here, bytes, tells } => {
                let is_thread = tells == flitway_nic::host::thread::Tells::Thread;
                self.thread_fetches(process, is_thread, [node, there, here, bytes])
            }
            Act::Event => {
                thread.steps = 0;
                self.thread_tells(
                    process,
                    CompletionKind::Received,
                    Found::Moved { to: 0, from: 0, bytes: 0 },
                );
                Ok(())
            }
            Act::EventCopy { to, from, bytes } => self.thread_tells_of_data(process, [to, from, bytes]),
            Act::Interrupt { to, from, bytes } => self.thread_interrupts(process, [to, from, bytes]),
        };
        match done {
            Ok(()) => {
                self.thread(process).step += 1;
                self.run(process, 0);
            }
            Err(fault) => self.is_at_fault(process, fault),
        }
    }

    fn thread_waits(&mut self, process: u8) {
        let (at, nobody_else) = (self.around.at, self.threads.ready.is_empty());
        let thread = self.thread(process);
        thread.leave(at);
        thread.step += 1;
        thread.waits = true;
        let has_item = !thread.items.is_empty();
        if has_item && nobody_else {
            return self.take_item(process);
        }
        thread.is = if has_item { Is::Ready } else { Is::Asleep };
        if has_item {
            self.threads.ready.push(process);
        }
        self.threads.has = None;
        self.take_thread();
    }

    fn slot_is_free(&mut self, process: u8, at: Register, is_accepted: bool) -> Result<(), FaultKind> {
        let thread = self.thread(process);
        let at = thread.get(at);
        let place = thread.slot(at)?;
        let unanswered = thread.slots[place].as_ref().and_then(|slot| slot.unanswered);
        if unanswered.is_none() && !is_accepted {
            return Err(FaultKind::NoMessage(at));
        }
        let is_command = thread.half(true).contains(&place);
        thread.slots[place] = None;
        if let Some(about) = thread.about.as_mut().filter(|about| about.slot == Some(place)) {
            about.slot = None;
        }
        if let Some(header) = unanswered {
            if is_accepted {
                self.counts.messages[0] += 1;
            } else {
                self.counts.refused_by_threads += 1;
            }
            self.say(&header, is_accepted);
        }
        if is_command {
            self.take_command();
        }
        Ok(())
    }

    fn is_resumed(&mut self, process: u8, at: Register) -> Result<(), FaultKind> {
        let now = self.around.at;
        let thread = self.thread(process);
        let place = thread.slot(thread.get(at))?;
        if thread.about.is_some_and(|about| about.slot == Some(place)) {
            return Ok(());
        }
        thread.leave(now);
        let slot = thread.slots[place].as_ref().expect("it is in use");
        let Slot { name, bytes, mut story, .. } = *slot;
        if story.until() < thread.taken {
            story.pass(Unit::Kept, thread.taken);
        }
        thread.about = Some(About { name, bytes, story, slot: Some(place) });
        Ok(())
    }

    /// The story of what a thread is about, until now.
    fn story_of_thread(&mut self, process: u8) -> Story {
        let at = self.around.at;
        match &mut self.thread(process).about {
            None => Story::begin(at),
            Some(about) => {
                about.story.pass(Unit::Thread, at);
                about.story
            }
        }
    }

    fn thread_copies(&mut self, process: u8, registers: [Register; 3]) -> Result<(), FaultKind> {
        let (to, data) = self.data_for(process, registers)?;
        if !data.is_empty() {
            let (_, visible) = self.bus.post(self.around.at, data.len() as u32);
            self.around.ask(visible, Due::Landed(Address { process, byte: to }, data.into()));
        }
        Ok(())
    }

    /// Data for the memory of a process, and where they go.
    fn data_for(&mut self, process: u8, registers: [Register; 3]) -> Result<(u64, Vec<u8>), FaultKind> {
        let thread = self.thread(process);
        let [to, from, bytes] = registers.map(|register| thread.get(register));
        let data = thread.read(from, bytes)?;
        to.checked_add(bytes).ok_or(FaultKind::NoMemory(to))?;
        Ok((to, data))
    }

    fn other_node(&self, node: u64) -> Result<NodeId, FaultKind> {
        let is_own = node == u64::from(self.around.node.0);
        let is_none = node >= self.around.surroundings.contents.nodes();
        if is_own || is_none { Err(FaultKind::NoNode(node)) } else { Ok(NodeId(node as u32)) }
    }

    fn thread_sends(&mut self, process: u8, words: u8, registers: [Register; 3]) -> Result<(), FaultKind> {
        let thread = self.thread(process);
        let [node, from, bytes] = registers.map(|register| thread.get(register));
        let said = Words::of(&thread.registers[1..1 + usize::from(words)]);
        let node = self.other_node(node)?;
        let (all, most) = (bytes.saturating_add(8 * u64::from(words)), u64::from(self.settings.sten_packet));
        if all > most {
            return Err(FaultKind::TooLong(all, most));
        }
        let data = self.thread(process).read(from, bytes)?;
        let name = self.starts(process, Verb::Send, node, |operation| Operation {
            bytes,
            words: Some(said),
            ..operation
        });
        self.threads.data.push((name, data));
        Ok(())
    }

    fn thread_fetches(
        &mut self,
        process: u8,
        tells_thread: bool,
        registers: [Register; 4],
    ) -> Result<(), FaultKind> {
        let thread = self.thread(process);
        let [node, there, here, bytes] = registers.map(|register| thread.get(register));
        let words = Words::of(&thread.registers[1..7]);
        let node = self.other_node(node)?;
        if !(1..=TRANSFER).contains(&bytes) || there > u64::MAX - bytes || here > u64::MAX - bytes {
            return Err(FaultKind::NoDma(bytes));
        }
        let name =
            self.starts(process, Verb::Get, node, |operation| Operation { bytes, here, there, ..operation });
        if tells_thread {
            self.threads.told.push((name, words));
        } else {
            self.thread(process).steps = 0;
        }
        Ok(())
    }

    /// A thread starts an operation with the same process of a node: its name.
    fn starts(
        &mut self,
        process: u8,
        verb: Verb,
        node: NodeId,
        with: impl FnOnce(Operation) -> Operation,
    ) -> Name {
        let story = self.story_of_thread(process);
        let operation = with(Operation::plain(verb, Submission::Sten, (node, process)));
        let name = (self.around.node, process, self.next_started(process));
        let queue = self.processors.len() + usize::from(process);
        let block = sten_commands(name, queue, &operation, &self.settings, story);
        self.append_block(process, block);
        name
    }

    fn thread_tells_of_data(&mut self, process: u8, registers: [Register; 3]) -> Result<(), FaultKind> {
        let thread = self.thread(process);
        let [to, from, bytes] = registers.map(|register| thread.get(register));
        if bytes > TRANSFER || to > u64::MAX - bytes || from > u64::MAX - bytes {
            return Err(FaultKind::NoDma(bytes));
        }
        thread.steps = 0;
        self.thread_tells(process, CompletionKind::Received, Found::Moved { to, from, bytes });
        Ok(())
    }

    fn thread_interrupts(&mut self, process: u8, registers: [Register; 3]) -> Result<(), FaultKind> {
        let (to, data) = self.data_for(process, registers)?;
        self.thread_tells(process, CompletionKind::Interrupted, Found::Interrupt { to, data });
        Ok(())
    }

    /// The event of a process is set for what its thread is about.
    fn thread_tells(&mut self, process: u8, what: CompletionKind, found: Found) {
        let story = self.story_of_thread(process);
        let nothing = ((self.around.node, process, u64::MAX), 0);
        let (name, bytes) = self.thread(process).about.map_or(nothing, |about| (about.name, about.bytes));
        self.set_event(process, completion(what, name, bytes, story), Some(found));
    }
}
