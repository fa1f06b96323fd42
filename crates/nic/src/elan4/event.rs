//! Counted events that copy blocks of commands, and so start operations. See points 16 and 17 of the header of this module.

use super::command::Packets;
use super::{BLOCK, Elan4, ElanContext, ElanEvent, ElanSettings, STARTED, WORD};
use crate::host::Post;
use crate::host::program::{CountedEvent, Operation, Submission, Verb};
use crate::host::story::{Story, Unit};
use crate::host::transfer::Job;
use flitway_engine::Picos;
use flitway_wiring::NodeId;

/// The counted events of a node.
#[derive(Debug)]
pub(super) struct Counted {
    /// By process.
    events: Box<[Vec<State>]>,
    /// By process: the number of the next operation that one of them starts.
    next: Box<[u64]>,
}

/// A counted event.
#[derive(Debug)]
struct State {
    event: CountedEvent,
    /// Times that it is set until it fires.
    left: u32,
    /// Words of its block.
    words: u64,
}

impl Counted {
    pub(super) fn new(processes: usize) -> Self {
        let events = (0..processes).map(|_| Vec::new()).collect();
        Counted { events, next: vec![STARTED; processes].into() }
    }

    /// The number of the next operation of a process that an event or its thread starts.
    pub(super) fn number(&mut self, process: u8) -> u64 {
        let next = &mut self.next[usize::from(process)];
        *next += 1;
        *next - 1
    }

    /// A process has set up its events.
    ///
    /// # Panics
    /// If a count is none, or a block has what it may not, or more than fits.
    pub(super) fn set_up(&mut self, process: u8, events: Vec<CountedEvent>, settings: &ElanSettings) {
        let state = |event: CountedEvent| {
            assert!(event.count > 0, "an event is set before it fires");
            event.then.iter().for_each(|operation| assert_eq!(may_start(settings, operation), Ok(())));
            let bytes: u64 = event.then.iter().map(|operation| bytes_of(settings, operation)).sum();
            assert!(bytes <= most(settings), "the block of an event fits: {bytes} B");
            State { left: event.count, words: bytes / u64::from(WORD), event }
        };
        self.events[usize::from(process)] = events.into_iter().map(state).collect();
    }
}

/// The most bytes of a block.
fn most(settings: &ElanSettings) -> u64 {
    BLOCK.min(settings.queue.into())
}

/// Bytes of the commands of `operation`.
fn bytes_of(settings: &ElanSettings, operation: &Operation) -> u64 {
    let post = Post { operation: *operation, number: 0, story: Story::begin(Picos(0)), step: 0 };
    Packets::of(Job::of(NodeId(0), 0, &post), 0, settings).all()
}

/// See [`OnABus::chains`](crate::host::OnABus::chains).
pub(super) fn may_start(settings: &ElanSettings, operation: &Operation) -> Result<(), &'static str> {
    let is_by_sten = operation.by == Submission::Sten;
    if !is_by_sten || !matches!(operation.verb, Verb::Put | Verb::Get | Verb::Send) {
        return Err("events of an Elan4 start packets of STEN alone: use `by=sten`");
    }
    if bytes_of(settings, operation) > most(settings) {
        return Err(
            "an event of an Elan4 copies up to 2 KiB of commands, data included, and no more than `nic.queue`",
        );
    }
    Ok(())
}

impl Elan4 {
    /// A counted event is set; the story until the last data were there.
    pub(super) fn set_counted(
        &mut self,
        cx: &mut ElanContext<'_>,
        process: u8,
        place: u16,
        mut story: Story,
    ) {
        let ElanSettings { event, event_copy, .. } = self.settings;
        let state = &mut self.counted.events[usize::from(process)][usize::from(place)];
        state.left -= 1;
        if state.left > 0 {
            self.event_takes(cx, event);
            return;
        }
        state.left = state.event.count;
        let time = Picos(event.0 + event_copy.0 * state.words);
        self.counts.fired += 1;
        let copied = self.event_takes(cx, time);
        story.pass(Unit::Event, copied);
        cx.ask(copied, ElanEvent::Copied(process, place, Box::new(story)));
    }

    /// The block of an event has been copied.
    pub(super) fn copied(&mut self, cx: &mut ElanContext<'_>, process: u8, place: u16, story: Story) {
        let event = &self.counted.events[usize::from(process)][usize::from(place)].event;
        let post = |operation: &Operation| Post { operation: *operation, number: 0, story, step: 0 };
        let mut posts: Vec<Post> = event.then.iter().map(post).collect();
        posts.iter_mut().for_each(|post| post.number = self.counted.number(process));
        self.copy_block(cx, process, &posts);
    }

    /// A block with these operations is in the command queue of the events of a process, or waits for room there.
    pub(super) fn copy_block(&mut self, cx: &mut ElanContext<'_>, process: u8, posts: &[Post]) {
        let queue = self.commands.of_events(process);
        let of = |post| Packets::of(Job::of(cx.node, process, post), queue, &self.settings);
        let block = posts.iter().flat_map(|post| of(post).commands().collect::<Vec<_>>()).collect();
        if self.commands.copy(queue, block) {
            self.work(cx);
        } else {
            self.counts.blocks_waited += 1;
        }
    }
}
