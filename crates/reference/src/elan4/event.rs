//! Counted events, whose blocks are copied into command queues.

use super::command::{Command, sten_commands};
use super::{Content, Due, Header, Host, Story, Unit};
use flitway_engine::Picos;
use flitway_nic::elan4::{STARTED, WORD};
use flitway_nic::host::program::CountedEvent;

/// The counted events of a process, and what is said of their command queue.
#[derive(Debug)]
pub(super) struct OfEvents {
    /// With how often each has been set since it fired.
    events: Vec<(CountedEvent, u32)>,
    /// Operations that they have started.
    started: u64,
    /// Blocks that wait for room.
    waiting: Vec<Vec<Command>>,
    pub(super) room: u32,
}

impl OfEvents {
    pub(super) fn new(events: Vec<CountedEvent>, room: u32) -> Self {
        let events = events.into_iter().map(|event| (event, 0)).collect();
        OfEvents { events, started: 0, waiting: Vec::new(), room }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }
}

fn bytes(block: &[Command]) -> u32 {
    block.iter().map(|command| command.bytes).sum()
}

impl Host {
    /// Data come into the block of a counted event.
    pub(super) fn fill_block(&mut self, content: Content) {
        let Content { header, mut story, data } = content;
        if let Some(data) = data {
            self.around.memory.write(header.to, &data);
        }
        if !self.all_are_there(&header) {
            return;
        }
        let Header { to, event, .. } = header;
        let event = usize::from(event.expect("it is named"));
        let (counted, times) = &mut self.counted[usize::from(to.process)].events[event];
        *times += 1;
        let mut time = self.settings.event.0;
        if *times < counted.count {
            self.occupy_events(time);
            return;
        }
        *times = 0;
        self.counts.fired += 1;
        let block = self.block(to.process, event, &story);
        time += self.settings.event_copy.0 * u64::from(bytes(&block) / WORD);
        let copied: Picos = self.occupy_events(time);
        story.pass(Unit::Event, copied);
        self.around.ask(copied, Due::BlockCopied(to.process, event, story));
    }

    /// The commands of an event, as they would be numbered now.
    fn block(&self, process: u8, event: usize, story: &Story) -> Vec<Command> {
        let of = &self.counted[usize::from(process)];
        let queue = self.processors.len() + usize::from(process);
        let named = (STARTED + of.started..).zip(&of.events[event].0.then);
        let commands = named.map(|(number, operation)| {
            sten_commands((self.around.node, process, number), queue, operation, &self.settings, *story)
        });
        commands.flatten().collect()
    }

    /// A block has been copied.
    pub(super) fn block_copied(&mut self, process: u8, event: usize, story: Story) {
        let block = self.block(process, event, &story);
        let of = &mut self.counted[usize::from(process)];
        of.started += of.events[event].0.then.len() as u64;
        self.append_block(process, block);
    }

    /// The number of what the thread of a process starts.
    pub(super) fn next_started(&mut self, process: u8) -> u64 {
        let of = &mut self.counted[usize::from(process)];
        of.started += 1;
        STARTED + of.started - 1
    }

    /// A block comes into the command queue of the events of a process, or waits.
    pub(super) fn append_block(&mut self, process: u8, block: Vec<Command>) {
        self.counted[usize::from(process)].waiting.push(block);
        self.append_blocks(process.into());
        if self.counted[usize::from(process)].waiting.is_empty() {
            self.take_command();
        } else {
            self.counts.blocks_waited += 1;
        }
    }

    /// Blocks that wait come into the command queue while there is room for the first.
    pub(super) fn append_blocks(&mut self, process: usize) {
        let of = &mut self.counted[process];
        while of.waiting.first().is_some_and(|block| bytes(block) <= of.room) {
            let block = of.waiting.remove(0);
            of.room -= bytes(&block);
            self.queues[self.processors.len() + process].commands.extend(block);
        }
    }
}
