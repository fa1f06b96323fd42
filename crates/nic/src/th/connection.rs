//! Connection management: transfers that are reliable from end to end. See points 11 to 17 of the header of this module, and
//! [`end_to_end`](super::end_to_end) for what is said.

use super::end_to_end::{
    Answer, ContextUse, DataTag, Ends, Heard, Message, Receivers, Reception, SenderTransfer, Senders,
    TimedOut,
};
use super::engine::{Transfer, is_immediate, packet};
use super::{EndToEndSettings, Job, Outbound, Rings, Th, ThContext, ThEvent, ThSettings};
use crate::host::bus::plus;
use crate::host::program::CompletionKind;
use crate::host::story::Unit as In;
use flitway_engine::Picos;
use flitway_wiring::NodeId;
use std::collections::VecDeque;

/// The contexts of a NIC, and what they have to say.
#[derive(Debug)]
pub(super) struct Connections {
    pub(super) senders: Senders,
    pub(super) receivers: Receivers,
    /// By sender context: what is sent.
    sending: Box<[Option<Sending>]>,
    /// By context: its timer.
    sender_timers: Box<[Timer]>,
    receiver_timers: Box<[Timer]>,
    /// What is to be said, in order.
    pub(super) said: VecDeque<Saying>,
    /// Transfers of which packets are to go out again, in the order in which that became known.
    again: VecDeque<ContextUse>,
    pub(super) counts: ConnectionCounts,
}

/// What a sender context has beside its state.
#[derive(Debug)]
struct Sending {
    job: Job,
    /// Which unit carries it out.
    unit: u8,
    /// Its packets until it is open.
    held: VecDeque<Outbound>,
}

/// What is to be said to another node.
#[derive(Clone, Copy, Debug)]
pub struct Saying {
    /// To whom.
    pub to: NodeId,
    /// What.
    pub message: Message,
    /// Whose timer begins when that reaches the NIC port.
    pub timer: Option<ContextUse>,
}

/// When the timer of a context was started last.
#[derive(Clone, Copy, Debug, Default)]
struct Timer {
    started: Picos,
    /// A date has been asked for.
    runs: bool,
}

/// What a NIC has done for transfers that are reliable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ConnectionCounts {
    /// Contexts of senders and of receivers in use at a time, at most.
    peak: [u32; 2],
    /// Descriptors that waited for a context.
    pub(super) waited: u64,
    /// SETUP_NACKs heard.
    refused: u64,
    /// Packets that were sent again, or after a refusal.
    again: u64,
    /// Timers that expired, of senders and of receivers.
    expired: [u64; 2],
    /// Packets that had come before, and those of transfers that were over.
    pub(super) duplicates: u64,
    pub(super) stale: u64,
    /// Packets whose CRC was wrong.
    pub(super) corrupt: u64,
    /// Packets and events that found no entry.
    pub(super) full: u64,
    /// Transfers that senders have given up.
    given_up: u64,
}

impl ConnectionCounts {
    /// By name; nothing where no transfer was reliable.
    pub(super) fn named(&self) -> Vec<(&'static str, u64)> {
        let ConnectionCounts { peak, waited, refused, again, expired, .. } = *self;
        let ConnectionCounts { duplicates, stale, corrupt, full, given_up, .. } = *self;
        if peak == [0, 0] {
            return Vec::new();
        }
        vec![
            ("sender contexts in use at most", peak[0].into()),
            ("receiver contexts in use at most", peak[1].into()),
            ("descriptors that waited for a context", waited),
            ("set-ups refused", refused),
            ("packets sent again, or after a refusal", again),
            ("time-outs of senders", expired[0]),
            ("time-outs of receivers", expired[1]),
            ("duplicates", duplicates),
            ("packets of transfers that were over", stale),
            ("CRC errors", corrupt),
            ("packets refused for want of an entry", full),
            ("transfers given up", given_up),
        ]
    }
}

impl Connections {
    pub(super) fn new(settings: &EndToEndSettings) -> Self {
        let EndToEndSettings { senders, receivers, tries, .. } = *settings;
        Connections {
            senders: Senders::new(senders, tries),
            receivers: Receivers::new(receivers, tries),
            sending: (0..senders).map(|_| None).collect(),
            sender_timers: vec![Timer::default(); senders as usize].into(),
            receiver_timers: vec![Timer::default(); receivers as usize].into(),
            said: VecDeque::new(),
            again: VecDeque::new(),
            counts: ConnectionCounts::default(),
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.said.is_empty() && self.senders.used() == 0 && self.receivers.used() == 0
    }

    fn say(&mut self, to: NodeId, message: Message) {
        self.said.push_back(Saying { to, message, timer: None });
    }

    /// SETUP of a transfer goes out, if it is not over.
    fn say_setup(&mut self, sender: ContextUse) {
        if let Some((to, message)) = self.senders.setup(sender) {
            self.said.push_back(Saying { to, message, timer: Some(sender) });
        }
    }

    /// A unit carries out `job`: it has a context.
    pub(super) fn open(&mut self, job: &Job, unit: u8, settings: &ThSettings) -> ContextUse {
        let is_one = is_immediate(job, settings);
        let packets = if is_one { 1 } else { Cutter::of(settings).packets(job.target, job.bytes) };
        let sender = self.senders.open(job.to.0, packets);
        let place = usize::from(sender.context);
        self.sending[place] = Some(Sending { job: *job, unit, held: VecDeque::new() });
        self.sender_timers[place] = Timer::default();
        self.counts.peak[0] = self.counts.peak[0].max(self.senders.used());
        sender
    }

    /// The transfer of a use that is not over.
    fn sending(&mut self, sender: ContextUse) -> Option<&mut Sending> {
        self.senders.transfer(sender)?;
        self.sending[usize::from(sender.context)].as_mut()
    }

    /// Whether what is ready of a transfer is dropped: it was refused, or is over.
    pub(super) fn is_dropped(&self, sender: ContextUse) -> bool {
        self.senders.transfer(sender).is_none_or(SenderTransfer::is_refused)
    }

    /// A packet of a transfer that is not dropped is there: it, with its tag, if it can be sent. Otherwise it is held.
    pub(super) fn offer(&mut self, sender: ContextUse, packet: Outbound) -> Option<Outbound> {
        if self.senders.receiver(sender).is_some() {
            let tag = self.senders.send(sender);
            return Some(Outbound { tag, sender: Some(sender), ..packet });
        }
        self.sending(sender).expect("it is not over").held.push_back(packet);
        None
    }

    /// Starts the timer of a sender at `at`: the date to ask for, if none is.
    pub(super) fn start_sender(&mut self, at: Picos, sender: ContextUse, timeout: Picos) -> Option<Picos> {
        self.senders.transfer(sender)?;
        self.sender_timers[usize::from(sender.context)].start(at, timeout)
    }
}

impl Timer {
    fn start(&mut self, at: Picos, timeout: Picos) -> Option<Picos> {
        self.started = at;
        (!std::mem::replace(&mut self.runs, true)).then(|| plus(at, timeout))
    }

    /// Its date has come: has it expired? Otherwise the next date to ask for.
    fn due(&mut self, at: Picos, timeout: Picos) -> Result<(), Picos> {
        let expires = plus(self.started, timeout);
        if expires > at {
            return Err(expires);
        }
        self.runs = false;
        Ok(())
    }
}

/// How data of a reliable transfer are cut into packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cutter {
    /// The most data of a packet in bytes.
    room: u64,
    /// Bytes of a page: a packet ends where a page of the destination does.
    page: u64,
}

impl Cutter {
    pub(super) fn of(settings: &ThSettings) -> Self {
        let ThSettings { mtu, end_to_end, atc, .. } = *settings;
        Cutter { room: (mtu - end_to_end.overhead).into(), page: atc.page }
    }

    /// Packets of `bytes` bytes that go to `target`.
    fn packets(self, target: u64, bytes: u64) -> u32 {
        let Cutter { room, page } = self;
        let first = (page - target % page).min(bytes);
        let rest = bytes - first;
        let of_pages = rest / page * page.div_ceil(room);
        (first.div_ceil(room) + of_pages + (rest % page).div_ceil(room)) as u32
    }

    /// Data of the next packet, of which `left` bytes are left, that go to `target`.
    fn data(self, target: u64, left: u64) -> u64 {
        self.room.min(self.page - target % self.page).min(left)
    }

    /// With which byte a packet begins of what goes to `target`.
    fn offset(self, target: u64, sequence: u32) -> u64 {
        let Cutter { room, page } = self;
        let first = page - target % page;
        let (sequence, in_first, in_page) = (u64::from(sequence), first.div_ceil(room), page.div_ceil(room));
        match sequence.checked_sub(in_first) {
            None => sequence * room,
            Some(behind) => first + behind / in_page * page + behind % in_page * room,
        }
    }

    /// Data of the packet of a job that begins with byte `offset`.
    pub(super) fn cut(self, job: &Job, offset: u64) -> u64 {
        self.data(job.target + offset, job.bytes - offset)
    }
}

impl Th {
    /// A unit has decoded the descriptor of a reliable transfer: SETUP goes out, while its data are fetched.
    pub(super) fn set_up(&mut self, cx: &mut ThContext<'_>, sender: ContextUse, job: &Job) {
        if let Some(sending) = self.connections.sending(sender) {
            sending.job = *job;
        }
        self.connections.say_setup(sender);
        self.transmit(cx);
    }

    /// What is said reaches the NIC port, or data of a transfer do: the timer of its sender begins.
    pub(super) fn start_sender(&mut self, cx: &mut ThContext<'_>, sender: Option<ContextUse>) {
        let timeout = self.settings.end_to_end.timeout;
        let due = sender.and_then(|sender| {
            let due = self.connections.start_sender(cx.at, sender, timeout)?;
            Some((due, sender))
        });
        if let Some((due, sender)) = due {
            cx.ask(due, ThEvent::SenderTimer(sender));
        }
    }

    /// The time-out of a receiver: a sender that has lost something acts first.
    fn receiver_timeout(&self) -> Picos {
        Picos(self.settings.end_to_end.timeout.0.saturating_mul(2))
    }

    /// The timer of a receiver begins.
    fn start_receiver(&mut self, cx: &mut ThContext<'_>, receiver: ContextUse) {
        let timeout = self.receiver_timeout();
        if self.connections.receivers.transfer(receiver).is_none() {
            return;
        }
        let timer = &mut self.connections.receiver_timers[usize::from(receiver.context)];
        if let Some(due) = timer.start(cx.at, timeout) {
            cx.ask(due, ThEvent::ReceiverTimer(receiver));
        }
    }

    /// The date that a sender's timer has asked for.
    pub(super) fn sender_due(&mut self, cx: &mut ThContext<'_>, sender: ContextUse) {
        let EndToEndSettings { timeout, .. } = self.settings.end_to_end;
        let Some(to) = self.connections.senders.transfer(sender).map(|transfer| transfer.to) else { return };
        let timer = &mut self.connections.sender_timers[usize::from(sender.context)];
        if let Err(due) = timer.due(cx.at, timeout) {
            return cx.ask(due, ThEvent::SenderTimer(sender));
        }
        let expired = self.connections.senders.time_out(sender);
        self.connections.counts.expired[0] += u64::from(expired != TimedOut::Nothing);
        match expired {
            TimedOut::Nothing => {}
            TimedOut::Setup => self.connections.say_setup(sender),
            TimedOut::Ask(receiver) => {
                let message = Message::Ask { receiver };
                self.connections.said.push_back(Saying { to, message, timer: Some(sender) });
            }
            TimedOut::GivesUp(receiver) => {
                if let Some(receiver) = receiver {
                    self.connections.say(to, Message::Release { receiver });
                    self.transmit(cx);
                }
                self.given_up(cx, sender);
            }
        }
        self.transmit(cx);
    }

    /// A sender has given a transfer up: its packets are not sent.
    fn given_up(&mut self, cx: &mut ThContext<'_>, sender: ContextUse) {
        self.connections.counts.given_up += 1;
        let sending = self.connections.sending[usize::from(sender.context)].take();
        let Sending { unit, held, .. } = sending.expect("it was sent");
        self.discard(cx, unit, held);
        self.schedule(cx);
    }

    /// The date that a receiver's timer has asked for.
    pub(super) fn receiver_due(&mut self, cx: &mut ThContext<'_>, receiver: ContextUse) {
        let timeout = self.receiver_timeout();
        if self.connections.receivers.transfer(receiver).is_none() {
            return;
        }
        let timer = &mut self.connections.receiver_timers[usize::from(receiver.context)];
        if let Err(due) = timer.due(cx.at, timeout) {
            return cx.ask(due, ThEvent::ReceiverTimer(receiver));
        }
        self.connections.counts.expired[1] += 1;
        let answer = self.connections.receivers.time_out(receiver);
        self.start_receiver(cx, receiver);
        self.answer(cx, answer);
    }

    /// A back-off is over.
    pub(super) fn backed_off(&mut self, cx: &mut ThContext<'_>, sender: ContextUse) {
        if self.connections.senders.set_up_again(sender) {
            self.connections.say_setup(sender);
            self.transmit(cx);
        }
    }

    /// A receiver says something, if it has to.
    pub(super) fn answer(&mut self, cx: &mut ThContext<'_>, answer: Option<Answer>) {
        if let Some(Answer { to, message }) = answer {
            self.connections.say(to, message);
            self.transmit(cx);
        }
    }

    /// What node `from` says has been parsed.
    pub(super) fn hear(&mut self, cx: &mut ThContext<'_>, from: NodeId, message: &Message) {
        match *message {
            Message::Setup { sender, packets } => {
                let answer = self.connections.receivers.setup(from, sender, packets);
                let Connections { counts, receivers, .. } = &mut self.connections;
                counts.peak[1] = counts.peak[1].max(receivers.used());
                if let Message::SetupAck(Ends { receiver, .. }) = answer {
                    self.start_receiver(cx, receiver);
                }
                self.answer(cx, Some(Answer { to: from, message: answer }));
            }
            Message::Ask { receiver } => {
                let answer = self.connections.receivers.ask(receiver);
                self.start_receiver(cx, receiver);
                self.answer(cx, answer);
            }
            Message::Release { receiver } => {
                if self.connections.receivers.release(receiver) {
                    self.connections.receiver_timers[usize::from(receiver.context)] = Timer::default();
                }
            }
            Message::SetupAck(_) | Message::SetupNack { .. } | Message::Nack { .. } | Message::Done(_) => {
                let heard = self.connections.senders.hear(message);
                self.heard(cx, from, heard);
            }
        }
    }

    /// An answer of node `from` has come.
    fn heard(&mut self, cx: &mut ThContext<'_>, from: NodeId, heard: Heard) {
        match heard {
            Heard::Nothing => {}
            Heard::Opened(sender) => self.opened(cx, sender),
            Heard::BacksOff(sender, times) => {
                self.connections.counts.refused += 1;
                let [least, most] = self.settings.end_to_end.back_off;
                let doubled = least.0.saturating_mul(1 << (times - 1).min(63));
                cx.ask(plus(cx.at, Picos(doubled.min(most.0))), ThEvent::BackedOff(sender));
                if let Some(sending) = self.connections.sending(sender) {
                    let (unit, held) = (sending.unit, std::mem::take(&mut sending.held));
                    self.discard(cx, unit, held);
                }
            }
            Heard::Again(sender, _) => {
                self.connections.again.push_back(sender);
                self.send_again(cx);
            }
            Heard::Late(receiver) => {
                self.connections.say(from, Message::Release { receiver });
                self.transmit(cx);
            }
            Heard::Done(Ends { sender, receiver }) => {
                self.connections.say(from, Message::Release { receiver });
                self.transmit(cx);
                self.done(cx, sender);
            }
            Heard::GivesUp(Ends { sender, receiver }) => {
                self.connections.say(from, Message::Release { receiver });
                self.transmit(cx);
                self.given_up(cx, sender);
            }
        }
    }

    /// A transfer is open: the packets that were held can be sent.
    fn opened(&mut self, cx: &mut ThContext<'_>, sender: ContextUse) {
        let Some(sending) = self.connections.sending(sender) else { return };
        let (unit, held) = (sending.unit, std::mem::take(&mut sending.held));
        for mut packet in held {
            packet.header.story.pass(In::Connection, cx.at);
            let tag = self.connections.senders.send(sender);
            self.engine.ready(unit, Outbound { tag, sender: Some(sender), ..packet });
        }
        self.transmit(cx);
    }

    /// All data of a transfer have arrived.
    fn done(&mut self, cx: &mut ThContext<'_>, sender: ContextUse) {
        let Sending { job, .. } =
            self.connections.sending[usize::from(sender.context)].take().expect("it was sent");
        if job.tells_left {
            let mut header = job.header(0, job.bytes, job.story);
            header.story.pass(In::Connection, cx.at);
            self.raise(cx, header.of.process, header.completion(CompletionKind::Left), None);
        }
        self.schedule(cx);
    }

    /// The unit that sends packets again takes the next ones.
    pub(super) fn send_again(&mut self, cx: &mut ThContext<'_>) {
        while !self.engine.resends() {
            let Some(&sender) = self.connections.again.front() else { break };
            let Some(tag) = self.connections.senders.send_again(sender) else {
                self.connections.again.pop_front();
                continue;
            };
            let Some(mut job) = self.connections.sending(sender).map(|sending| sending.job) else { continue };
            self.connections.counts.again += 1;
            job.story.pass(In::Connection, cx.at);
            self.take_again(cx, sender, tag, &job);
        }
        self.transmit(cx);
    }

    /// The unit that sends packets again takes one of them.
    fn take_again(&mut self, cx: &mut ThContext<'_>, sender: ContextUse, tag: DataTag, job: &Job) {
        let unit = self.engine.resender();
        let whole = packet(job, 0, job.bytes, job.story);
        if is_immediate(job, &self.settings) {
            let payload = whole.payload + self.settings.end_to_end.overhead as u16;
            let packet =
                Outbound { payload, tag: Some(tag), sender: Some(sender), tells_left: false, ..whole };
            self.engine.ready(unit, packet);
            return;
        }
        let cutter = Cutter::of(&self.settings);
        let from = cutter.offset(job.target, tag.sequence);
        let bytes = cutter.cut(job, from);
        let (process, byte) = job.source;
        let piece = Job { bytes, source: (process, byte + from), target: job.target + from, ..*job };
        self.engine.resend(Transfer::again(piece, (sender, tag), (*job, from)));
        self.ask_for_data(cx, unit);
    }

    /// Data of a transfer have come, whole or not: whether they go on.
    pub(super) fn data_come(&mut self, cx: &mut ThContext<'_>, tag: DataTag, is_intact: bool) -> bool {
        let reception = self.connections.receivers.data(tag, is_intact);
        self.start_receiver(cx, tag.receiver);
        let counts = &mut self.connections.counts;
        match reception {
            Reception::Accept => return true,
            Reception::Duplicate => counts.duplicates += 1,
            Reception::Stale => counts.stale += 1,
            Reception::Corrupt(answer) => {
                counts.corrupt += 1;
                self.answer(cx, Some(answer));
            }
        }
        false
    }

    /// All data of a transfer are in memory.
    pub(super) fn finished(&mut self, cx: &mut ThContext<'_>, receiver: ContextUse) {
        let answer = self.connections.receivers.finish(receiver);
        self.answer(cx, answer);
    }

    /// A packet, or the event of its transfer, has found no entry. Says whether it comes again.
    pub(super) fn refuse(&mut self, cx: &mut ThContext<'_>, tag: Option<DataTag>, ring: Rings) {
        let answer = tag.and_then(|tag| self.connections.receivers.refuse(tag));
        if answer.is_some() {
            self.connections.counts.full += 1;
        } else {
            self.counts.dropped[ring as usize] += 1;
        }
        self.answer(cx, answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_a_reliable_transfer_end_with_pages_and_are_found_again() {
        let cutter = Cutter { room: 248, page: 4_096 };
        for bytes in [97, 248, 249, 4_096, 5_000, 12_288, 20_001] {
            for target in [0, 1, 3_900, 4_095, 8_192] {
                let (mut at, mut sequence) = (0, 0);
                while at < bytes {
                    assert_eq!(cutter.offset(target, sequence), at, "{bytes} B to {target}: {sequence}");
                    let data = cutter.data(target + at, bytes - at);
                    let pages = [target + at, target + at + data - 1].map(|byte| byte / 4_096);
                    assert!(pages[0] == pages[1] && (1..=248).contains(&data));
                    (at, sequence) = (at + data, sequence + 1);
                }
                assert_eq!(cutter.packets(target, bytes), sequence, "{bytes} B to {target}");
            }
        }
    }

    #[test]
    fn a_timer_that_was_started_again_asks_for_a_later_date() {
        let mut timer = Timer::default();
        assert_eq!(timer.start(Picos(10), Picos(50)), Some(Picos(60)));
        assert_eq!(timer.start(Picos(30), Picos(50)), None, "a date has been asked for");
        assert_eq!(timer.due(Picos(60), Picos(50)), Err(Picos(80)));
        assert_eq!(timer.due(Picos(80), Picos(50)), Ok(()));
        assert_eq!(timer.start(Picos(90), Picos(50)), Some(Picos(140)));
    }
}
