//! Command queues, the command processor, and STEN.

use super::dma::Descriptor;
use super::{Due, Header, Host, Maker, Name, Operation, Outbound, Story, Unit, Verb, What};
use flitway_engine::Picos;
use flitway_nic::elan4::{COMMANDS, DESCRIPTOR, ElanSettings, POINTER, WORD};

/// The commands of a packet, or a descriptor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    pub(super) bytes: u32,
    order: Order,
}

#[derive(Clone, Copy, Debug)]
enum Order {
    Packet(Outbound),
    Descriptor(Descriptor),
    /// What a process tells its thread.
    ForThread(Name, Operation, Story),
}

impl Command {
    pub(super) fn of_descriptor(descriptor: Descriptor) -> Self {
        Command { bytes: DESCRIPTOR, order: Order::Descriptor(descriptor) }
    }

    /// What a process tells its thread: where it goes, the words, the data.
    pub(super) fn for_thread(name: Name, operation: Operation, story: Story) -> Self {
        let words = operation.words.map_or(0, |words| u32::from(words.count()));
        let bytes = WORD * (1 + words + (operation.bytes as u32).div_ceil(WORD));
        Command { bytes, order: Order::ForThread(name, operation, story) }
    }

    pub(super) fn story(&mut self) -> &mut Story {
        match &mut self.order {
            Order::Packet(packet) => &mut packet.story,
            Order::Descriptor(descriptor) => &mut descriptor.story,
            Order::ForThread(_, _, story) => story,
        }
    }
}

/// The commands of a put by STEN, or of a get: those of each packet.
pub(super) fn sten_commands(
    name: Name,
    queue: usize,
    operation: &Operation,
    settings: &ElanSettings,
    story: Story,
) -> Vec<Command> {
    let Operation { verb, node, bytes, tells_left, event, .. } = *operation;
    let (local, remote) = (operation.local(name.1), operation.remote());
    let command = |size: u32, header, payload, from| {
        let bytes = COMMANDS + size;
        let maker = Maker::Sten(queue, bytes);
        Command {
            bytes,
            order: Order::Packet(Outbound { maker, node, header, payload, from, tells_left, story }),
        }
    };
    let header = |what, to, part, event, back| Header {
        name,
        what,
        to,
        bytes: part,
        of: bytes,
        event,
        back,
        words: None,
    };
    if verb == Verb::Get {
        let header = header(What::Descriptor, remote, bytes, None, local);
        return vec![command(DESCRIPTOR, header, DESCRIPTOR as u16, None)];
    }
    if verb == Verb::Send {
        let what = What::Message;
        let header = Header { words: operation.words, ..header(what, remote, bytes, None, local) };
        let words = WORD * operation.words.map_or(0, |words| u32::from(words.count()));
        let size = words + (bytes as u32).div_ceil(WORD) * WORD;
        return vec![command(size, header, words as u16 + bytes as u16, Some(local))];
    }
    let most = u64::from(settings.sten_packet);
    let (mut all, mut cut) = (Vec::new(), 0);
    while cut < bytes {
        let (to, from) = (remote.after(cut), local.after(cut));
        let part = (bytes - cut).min(most - to.byte % most);
        let words = (part as u32).div_ceil(WORD);
        let header = header(What::Put, to, part, event, local);
        all.push(command(words * WORD, header, part as u16, Some(from)));
        cut += part;
    }
    all
}

/// The command queue of a process.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) commands: Vec<Command>,
    /// Packets that have been taken and not answered.
    unanswered: u32,
    /// Bytes that have become free and of which the process has not been told.
    freed: u32,
    /// Since when it has been passed over, if it is, and for how long it was before.
    waits_since: Option<u64>,
    waited: u64,
    /// Its commands are dropped.
    pub(super) is_in_error: bool,
}

impl Queue {
    pub(super) fn is_idle(&self) -> bool {
        self.commands.is_empty() && self.unanswered == 0
    }

    /// Picoseconds until `at` in which it was passed over.
    pub(super) fn waited(&self, at: Picos) -> u64 {
        self.waited + self.waits_since.map_or(0, |since| at.0 - since)
    }

    /// It is passed over no longer.
    pub(super) fn goes_on(&mut self, at: Picos) {
        self.waited += self.waits_since.take().map_or(0, |since| at.0 - since);
    }

    /// Whether its first command is a packet, for which too many have not been answered.
    fn is_passed_over(&self, window: u32) -> bool {
        let first_is_packet = self.commands.first().is_some_and(|it| matches!(it.order, Order::Packet(_)));
        first_is_packet && self.unanswered >= window
    }
}

impl Host {
    /// Commands are in the queue of a process.
    pub(super) fn queued(&mut self, process: u8, commands: Vec<Command>) {
        let queue = &mut self.queues[usize::from(process)];
        if queue.is_in_error {
            return self.drop_commands(process, &commands);
        }
        queue.commands.extend(commands);
        self.take_command();
    }

    /// Commands of a queue in error are dropped, and their room is free.
    pub(super) fn drop_commands(&mut self, process: u8, commands: &[Command]) {
        self.counts.commands_dropped += commands.len() as u64;
        self.is_free(process.into(), commands.iter().map(|command| command.bytes).sum());
    }

    pub(super) fn command_done(&mut self) {
        self.command_is_busy = false;
        self.take_command();
    }

    /// The command processor takes a command, if it is free and there is one.
    pub(super) fn take_command(&mut self) {
        if self.command_is_busy {
            return;
        }
        let (queues, window, at) = (self.queues.len(), self.settings.window, self.around.at.0);
        for queue in &mut self.queues {
            if queue.is_passed_over(window) {
                queue.waits_since.get_or_insert(at);
            }
        }
        let queue = (0..queues).map(|step| (self.turn + step) % queues).find(|&place| {
            let queue = &self.queues[place];
            let has_slot = |command: &Command| match command.order {
                Order::ForThread(name, ..) => self.threads.has_room(name.1),
                _ => true,
            };
            queue.commands.first().is_some_and(has_slot) && !queue.is_passed_over(window)
        });
        if let Some(queue) = queue {
            self.command_is_busy = true;
            self.turn = (queue + 1) % queues;
            let command = self.queues[queue].commands.remove(0);
            self.carry_out(queue, command);
        }
    }

    fn carry_out(&mut self, queue: usize, mut command: Command) {
        let at = self.around.at;
        let ElanSettings { word_time, command: command_time, form, .. } = self.settings;
        let time = word_time.0 * u64::from(command.bytes.div_ceil(WORD));
        self.command_busy += time;
        self.around.ask(self.around.after(Picos(time)), Due::Ready);
        command.story().pass(Unit::Submission, at);
        match command.order {
            Order::Packet(mut packet) => {
                self.queues[queue].unanswered += 1;
                let handed = Picos(at.0 + command_time.0 + form.0);
                packet.story.pass(Unit::Command, handed);
                self.around.ask(handed, Due::Handed(packet));
            }
            Order::Descriptor(mut descriptor) => {
                self.is_free(queue, command.bytes);
                let runs = self.around.after(command_time);
                descriptor.story.pass(Unit::Command, runs);
                self.around.ask(runs, Due::Runs(descriptor));
            }
            Order::ForThread(name, operation, mut story) => {
                self.is_free(queue, command.bytes);
                self.threads.comes(name.1);
                let there = self.around.after(command_time);
                story.pass(Unit::Command, there);
                self.around.ask(there, Due::ThreadCommand(name, Box::new(operation), Box::new(story)));
            }
        }
    }

    /// A packet that STEN made of so many bytes has been answered.
    pub(super) fn sten_answered(&mut self, place: usize, bytes: u32) {
        let at = self.around.at;
        let queue = &mut self.queues[place];
        queue.unanswered -= 1;
        queue.goes_on(at);
        self.take_command();
        self.is_free(place, bytes);
        self.take_command();
    }

    /// So many bytes of a queue are free: its process is told when a quarter of it or more has become free since it last was.
    fn is_free(&mut self, queue: usize, bytes: u32) {
        if let Some(process) = queue.checked_sub(self.processors.len()) {
            self.counted[process].room += bytes;
            return self.append_blocks(process);
        }
        self.queues[queue].freed += bytes;
        if self.queues[queue].freed * 4 >= self.settings.queue {
            let bytes = std::mem::take(&mut self.queues[queue].freed);
            let (_, visible) = self.bus.post(self.around.at, POINTER);
            self.around.ask(visible, Due::Room(queue as u8, bytes));
        }
    }
}
