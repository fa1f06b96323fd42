//! Connections of reliable transfers: what both ends say, when, their timers, and what is sent again.

use super::engine::{Job, Outbound, Transfer, completion};
use super::{Due, Host, NodeId, Part, Story};
use flitway_engine::Picos;
use flitway_nic::host::program::CompletionKind;
use flitway_nic::th::ThSettings;
use flitway_nic::th::end_to_end::{
    Answer, ContextUse, DataTag, Ends, Heard, Message, ReceiverTransfer, Receivers, Reception, Senders,
    TimedOut,
};

/// Something that is said to another node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Saying {
    pub(super) to: NodeId,
    pub(super) message: Message,
    /// Whose timer begins when it reaches the NIC port.
    pub(super) timer: Option<ContextUse>,
}

/// A transfer that this node sends.
#[derive(Debug)]
struct Sending {
    sender: ContextUse,
    unit: usize,
    job: Job,
    /// Since it was decoded.
    story: Option<Story>,
    /// Packets that are there and wait for it to be open.
    waiting: Vec<Outbound>,
}

/// The timer of a use of a context.
#[derive(Debug)]
struct Timer {
    of: ContextUse,
    began: Picos,
    /// It has asked for a date that has not come.
    runs: bool,
}

#[derive(Debug, Default)]
struct Counts {
    senders: u64,
    receivers: u64,
    waited: u64,
    refused: u64,
    again: u64,
    sender_time_outs: u64,
    receiver_time_outs: u64,
    duplicates: u64,
    stale: u64,
    corrupt: u64,
    full: u64,
    given_up: u64,
}

#[derive(Debug)]
pub(super) struct Connections {
    senders: Senders,
    receivers: Receivers,
    sending: Vec<Sending>,
    sender_timers: Vec<Timer>,
    receiver_timers: Vec<Timer>,
    /// What is said and not taken by the network interface.
    pub(super) said: Vec<Saying>,
    /// Transfers of which packets are to be sent again.
    again: Vec<ContextUse>,
    counts: Counts,
}

impl Connections {
    pub(super) fn new(settings: &ThSettings) -> Self {
        let settings = settings.end_to_end;
        Connections {
            senders: Senders::new(settings.senders, settings.tries),
            receivers: Receivers::new(settings.receivers, settings.tries),
            sending: Vec::new(),
            sender_timers: Vec::new(),
            receiver_timers: Vec::new(),
            said: Vec::new(),
            again: Vec::new(),
            counts: Counts::default(),
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.said.is_empty() && self.senders.used() == 0 && self.receivers.used() == 0
    }

    pub(super) fn counts(&self) -> Vec<(&'static str, u64)> {
        let Counts { senders, receivers, waited, refused, again, .. } = self.counts;
        let Counts { sender_time_outs, receiver_time_outs, duplicates, stale, .. } = self.counts;
        let Counts { corrupt, full, given_up, .. } = self.counts;
        if senders + receivers == 0 {
            return Vec::new();
        }
        vec![
            ("sender contexts in use at most", senders),
            ("receiver contexts in use at most", receivers),
            ("descriptors that waited for a context", waited),
            ("set-ups refused", refused),
            ("packets sent again, or after a refusal", again),
            ("time-outs of senders", sender_time_outs),
            ("time-outs of receivers", receiver_time_outs),
            ("duplicates", duplicates),
            ("packets of transfers that were over", stale),
            ("CRC errors", corrupt),
            ("packets refused for want of an entry", full),
            ("transfers given up", given_up),
        ]
    }

    pub(super) fn has_sender(&self) -> bool {
        self.senders.has_free()
    }

    /// A descriptor that waits for a context has been passed over first.
    pub(super) fn has_waited(&mut self) {
        self.counts.waited += 1;
    }

    pub(super) fn lives(&self, sender: ContextUse) -> bool {
        self.senders.transfer(sender).is_some()
    }

    /// A transfer was refused, given up or is over: what a unit has of it is not sent.
    pub(super) fn is_dropped(&self, sender: ContextUse) -> bool {
        self.senders.transfer(sender).is_none_or(|transfer| transfer.setup_nacks > 0)
    }

    fn receiver(&self, receiver: ContextUse) -> Option<&ReceiverTransfer> {
        self.receivers.transfer(receiver)
    }

    /// A unit takes a descriptor: its transfer has a context, and so many packets.
    pub(super) fn begin(&mut self, unit: usize, job: &mut Job, packets: u32) {
        let sender = self.senders.open(job.node, packets);
        job.sender = Some(sender);
        self.sending.push(Sending { sender, unit, job: *job, story: None, waiting: Vec::new() });
        self.counts.senders = self.counts.senders.max(self.senders.used().into());
    }

    fn sending(&mut self, sender: ContextUse) -> &mut Sending {
        self.sending.iter_mut().find(|it| it.sender == sender).expect("its transfer is not over")
    }

    /// A transfer is over at its sender.
    fn end(&mut self, sender: ContextUse) -> Sending {
        let place = self.sending.iter().position(|it| it.sender == sender);
        self.sending.remove(place.expect("its transfer was not over"))
    }

    fn say(&mut self, to: NodeId, message: Message) {
        self.said.push(Saying { to, message, timer: None });
    }

    fn say_setup(&mut self, sender: ContextUse) {
        let (to, message) = self.senders.setup(sender).expect("its transfer is not over");
        self.said.push(Saying { to, message, timer: Some(sender) });
    }

    fn release(&mut self, to: NodeId, receiver: ContextUse) {
        self.say(to, Message::Release { receiver });
    }
}

/// The timer of a use begins: whether it asks for a date.
fn begin(timers: &mut Vec<Timer>, of: ContextUse, at: Picos) -> bool {
    match timers.iter_mut().find(|it| it.of == of) {
        Some(timer) => {
            timer.began = at;
            !std::mem::replace(&mut timer.runs, true)
        }
        None => {
            timers.push(Timer { of, began: at, runs: true });
            true
        }
    }
}

/// The date of a timer comes: the date that it asks for if it has begun again, or none if it has expired.
fn date_comes(timers: &mut [Timer], of: ContextUse, at: Picos, time_out: Picos) -> Option<Picos> {
    let timer = timers.iter_mut().find(|it| it.of == of).expect("a timer has begun before its date");
    let date = Picos(timer.began.0 + time_out.0);
    timer.runs = date > at;
    timer.runs.then_some(date)
}

impl Host {
    fn time_outs(&self) -> [Picos; 2] {
        let time_out = self.settings.end_to_end.timeout;
        [time_out, Picos(2 * time_out.0)]
    }

    /// Data of the packet of a reliable transfer that begins with byte `begin` of the operation.
    pub(super) fn reliable_cut(&self, job: &Job, begin: u64) -> u64 {
        let ThSettings { mtu, end_to_end, atc, .. } = self.settings;
        let to_page = atc.page - job.there.after(begin).byte % atc.page;
        (job.bytes - begin).min(u64::from(mtu - end_to_end.overhead)).min(to_page)
    }

    /// Where the packets of a reliable transfer begin, then where the last one ends.
    fn cuts(&self, job: &Job) -> Vec<u64> {
        let mut cuts = vec![0];
        while cuts[cuts.len() - 1] < job.bytes {
            let begin = cuts[cuts.len() - 1];
            cuts.push(begin + self.reliable_cut(job, begin));
        }
        cuts
    }

    /// A unit takes a descriptor that is reliable.
    pub(super) fn take_context(&mut self, unit: usize, job: &mut Job) {
        let packets = if self.is_transfer(job) { self.cuts(job).len() - 1 } else { 1 };
        self.connections.begin(unit, job, packets as u32);
    }

    /// The descriptor of a transfer is decoded.
    pub(super) fn set_up(&mut self, sender: ContextUse, story: Story) {
        self.connections.sending(sender).story = Some(story);
        self.connections.say_setup(sender);
        self.transmit();
    }

    /// A packet of a transfer that is not over is there: it waits, or can be sent.
    pub(super) fn is_there(&mut self, sender: ContextUse, packet: Outbound) {
        let unit = self.connections.sending(sender).unit;
        if self.connections.senders.receiver(sender).is_some() {
            let tag = self.connections.senders.send(sender);
            self.units[unit].packets.push(Outbound { tag, ..packet });
        } else {
            self.connections.sending(sender).waiting.push(packet);
        }
    }

    /// SETUP, ASK or a packet of a transfer reaches the NIC port.
    pub(super) fn begin_sender_timer(&mut self, sender: ContextUse) {
        let at = self.around.at;
        if self.connections.lives(sender) && begin(&mut self.connections.sender_timers, sender, at) {
            self.around.ask(self.around.after(self.time_outs()[0]), Due::SenderTimer(sender));
        }
    }

    /// SETUP, ASK or a packet for a receiver has been parsed, or its timer has expired.
    fn begin_receiver_timer(&mut self, receiver: ContextUse) {
        let at = self.around.at;
        let lives = self.connections.receiver(receiver).is_some();
        if lives && begin(&mut self.connections.receiver_timers, receiver, at) {
            self.around.ask(self.around.after(self.time_outs()[1]), Due::ReceiverTimer(receiver));
        }
    }

    pub(super) fn sender_date(&mut self, sender: ContextUse) {
        if !self.connections.lives(sender) {
            return;
        }
        let (at, [time_out, _]) = (self.around.at, self.time_outs());
        if let Some(date) = date_comes(&mut self.connections.sender_timers, sender, at, time_out) {
            self.around.ask(date, Due::SenderTimer(sender));
            return;
        }
        let to = self.connections.sending(sender).job.node;
        let timed_out = self.connections.senders.time_out(sender);
        self.connections.counts.sender_time_outs += u64::from(timed_out != TimedOut::Nothing);
        match timed_out {
            TimedOut::Nothing => return,
            TimedOut::Setup => self.connections.say_setup(sender),
            TimedOut::Ask(receiver) => {
                let message = Message::Ask { receiver };
                self.connections.said.push(Saying { to, message, timer: Some(sender) });
            }
            TimedOut::GivesUp(receiver) => self.sender_gives_up(sender, receiver),
        }
        self.transmit();
    }

    pub(super) fn receiver_date(&mut self, receiver: ContextUse) {
        if self.connections.receiver(receiver).is_none() {
            return;
        }
        let (at, [_, time_out]) = (self.around.at, self.time_outs());
        if let Some(date) = date_comes(&mut self.connections.receiver_timers, receiver, at, time_out) {
            self.around.ask(date, Due::ReceiverTimer(receiver));
            return;
        }
        self.connections.counts.receiver_time_outs += 1;
        self.begin_receiver_timer(receiver);
        let answer = self.connections.receivers.time_out(receiver);
        self.answer(answer);
    }

    pub(super) fn backed_off(&mut self, sender: ContextUse) {
        if self.connections.senders.set_up_again(sender) {
            self.connections.say_setup(sender);
            self.transmit();
        }
    }

    fn answer(&mut self, answer: Option<Answer>) {
        if let Some(Answer { to, message }) = answer {
            self.connections.say(to, message);
            self.transmit();
        }
    }

    /// What is said has been parsed.
    pub(super) fn hear(&mut self, from: NodeId, message: &Message, is_intact: bool) {
        if !is_intact {
            self.connections.counts.corrupt += 1;
            return;
        }
        match *message {
            Message::Setup { sender, packets } => {
                let message = self.connections.receivers.setup(from, sender, packets);
                let used = self.connections.receivers.used().into();
                self.connections.counts.receivers = self.connections.counts.receivers.max(used);
                if let Message::SetupAck(Ends { receiver, .. }) = message {
                    self.begin_receiver_timer(receiver);
                }
                self.answer(Some(Answer { to: from, message }));
            }
            Message::Ask { receiver } => {
                self.begin_receiver_timer(receiver);
                let answer = self.connections.receivers.ask(receiver);
                self.answer(answer);
            }
            Message::Release { receiver } => _ = self.connections.receivers.release(receiver),
            Message::SetupAck(_) | Message::SetupNack { .. } | Message::Nack { .. } | Message::Done(_) => {
                let heard = self.connections.senders.hear(message);
                self.heard(from, heard);
            }
        }
    }

    /// What an answer says to the sender.
    fn heard(&mut self, from: NodeId, heard: Heard) {
        match heard {
            Heard::Nothing => {}
            Heard::Opened(sender) => {
                let waiting = std::mem::take(&mut self.connections.sending(sender).waiting);
                for mut packet in waiting {
                    packet.story.pass(Part::Connection, self.around.at);
                    self.is_there(sender, packet);
                }
            }
            Heard::BacksOff(sender, refusals) => {
                self.connections.counts.refused += 1;
                let [first, longest] = self.settings.end_to_end.back_off;
                let time = (1..refusals).fold(first.0, |time, _| time.saturating_mul(2)).min(longest.0);
                self.around.ask(self.around.after(Picos(time)), Due::BackedOff(sender));
                let Sending { unit, waiting, .. } = self.connections.sending(sender);
                let (unit, waiting) = (*unit, std::mem::take(waiting));
                self.drop_waiting(unit, &waiting);
            }
            Heard::Again(sender, _) => {
                self.connections.again.push(sender);
                self.send_again();
            }
            Heard::Done(ends) => self.done(from, ends),
            Heard::Late(receiver) => self.connections.release(from, receiver),
            Heard::GivesUp(Ends { sender, receiver }) => self.sender_gives_up(sender, Some(receiver)),
        }
        self.transmit();
    }

    /// All data of a transfer have arrived.
    fn done(&mut self, to: NodeId, Ends { sender, receiver }: Ends) {
        self.connections.release(to, receiver);
        self.transmit();
        let Sending { job, story, .. } = self.connections.end(sender);
        if job.tells_left {
            let mut story = story.expect("it has been decoded");
            story.pass(Part::Connection, self.around.at);
            self.begin_event(job.name.1, completion(CompletionKind::Left, job.name, job.bytes, story), None);
        }
        self.schedule();
    }

    fn sender_gives_up(&mut self, sender: ContextUse, receiver: Option<ContextUse>) {
        self.connections.counts.given_up += 1;
        let Sending { unit, job, waiting, .. } = self.connections.end(sender);
        if let Some(receiver) = receiver {
            self.connections.release(job.node, receiver);
            self.transmit();
        }
        self.drop_waiting(unit, &waiting);
        self.schedule();
    }

    /// A unit drops a transfer, of which these packets wait.
    fn drop_waiting(&mut self, unit: usize, waiting: &[Outbound]) {
        self.units[unit].buffered -= waiting.iter().map(|packet| packet.buffered).sum::<u64>();
        self.ask_for_data(unit);
    }

    /// The last unit takes packets that are to be sent again, as long as it asks for no data.
    pub(super) fn send_again(&mut self) {
        let unit = self.units.len() - 1;
        while self.units[unit].asking.is_none() && !self.connections.again.is_empty() {
            let sender = self.connections.again[0];
            let Some(tag) = self.connections.senders.send_again(sender) else {
                self.connections.again.remove(0);
                continue;
            };
            self.connections.counts.again += 1;
            let Sending { mut job, story, .. } = *self.connections.sending(sender);
            let mut story = story.expect("it has been decoded");
            story.pass(Part::Connection, self.around.at);
            if self.is_transfer(&job) {
                let cuts = self.cuts(&job);
                let place = tag.sequence as usize;
                (job.begin, job.end, job.again) = (cuts[place], cuts[place + 1], Some(tag));
                self.units[unit].asking = Some(Transfer::of(job, story));
                self.ask_for_data(unit);
            } else {
                let packet = Host::whole(&job, Some(tag), story);
                self.units[unit].packets.push(packet);
                self.transmit();
            }
        }
    }

    /// A packet of a transfer has been parsed: whether it is accepted.
    pub(super) fn accepts(&mut self, tag: DataTag, is_intact: bool) -> bool {
        self.begin_receiver_timer(tag.receiver);
        let counts = &mut self.connections.counts;
        match self.connections.receivers.data(tag, is_intact) {
            Reception::Accept => return true,
            Reception::Duplicate => counts.duplicates += 1,
            Reception::Stale => counts.stale += 1,
            Reception::Corrupt(answer) => {
                counts.corrupt += 1;
                self.answer(Some(answer));
            }
        }
        false
    }

    /// A packet that was accepted is dealt with: whether it was the last one of a transfer that is not over.
    pub(super) fn is_dealt_with(&mut self, tag: DataTag) -> bool {
        self.connections.receivers.written(tag.receiver) == Some(true)
    }

    /// All that came for a receiver is where it goes.
    pub(super) fn finished(&mut self, receiver: ContextUse) {
        let answer = self.connections.receivers.finish(receiver);
        self.answer(answer);
    }

    /// There was no entry: whether its transfer is not over, which then hears so.
    pub(super) fn refuse(&mut self, tag: DataTag) -> bool {
        let answer = self.connections.receivers.refuse(tag);
        self.connections.counts.full += u64::from(answer.is_some());
        self.answer(answer);
        answer.is_some()
    }
}
