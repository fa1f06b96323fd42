//! What an operation takes in an idle machine, in closed form, if it needs one packet of data and all translations are known.

use super::command::Packets;
use super::{COMMANDS, DESCRIPTOR, EVENT, ElanSettings, WORD};
use crate::host::bus::{BusSettings as _, Reference, plus};
use crate::host::program::{Operation, Submission, Verb};
use crate::host::story::Story;
use crate::host::transfer::Job;
use crate::host::{Network, Post, Way};
use flitway_engine::Picos;
use flitway_wiring::NodeId;

/// See [`OnABus::seen_at`](crate::host::OnABus::seen_at), and of several links
/// [`OnABus::chain_seen_at`](crate::host::OnABus::chain_seen_at).
pub(super) fn seen_at(
    settings: &ElanSettings,
    operation: &Operation,
    links: u32,
    network: Network<'_>,
) -> Option<Picos> {
    let ElanSettings { host, issue, command, form, .. } = *settings;
    let bus = host.bus;
    let post = Post { operation: *operation, number: 0, story: Story::begin(Picos(0)), step: 0 };
    let job = Job::of(NodeId(0), 0, &post);
    let bytes = u32::try_from(job.bytes).ok()?;
    let packets = Packets::of(job, 0, settings);
    let sum = |times: &[Picos]| times.iter().copied().fold(Picos(0), plus);
    let made = |of: &Job| made(settings, of);
    let written = |bytes: u32| plus(bus.all_written(bytes), bus.flight(Reference::Write));
    let sten = |bytes: u64| sum(&[written(bytes as u32), command, form]);
    let mut arrived = match (operation.verb, operation.by) {
        (Verb::Put | Verb::Send, Submission::Sten) => {
            let (data, bytes_of_commands) = packets.at(0);
            (data == job.bytes).then_some(())?;
            network(sten(bytes_of_commands), Way::There, bytes as u16)
        }
        (Verb::Put, Submission::Dma) => {
            let burst = Picos(u64::from(bus.bursts(DESCRIPTOR)) * bus.burst_time.0);
            let there = Picos(issue.0 + written(DESCRIPTOR).0 - burst.0);
            network(plus(there, made(&job)?), Way::There, bytes as u16)
        }
        (Verb::Get, Submission::Sten) => {
            let asked = network(sten(packets.at(0).1), Way::There, DESCRIPTOR as u16);
            let header = job.header(0, job.bytes, job.story);
            let answer = Job::answer(&header);
            network(sum(&[asked, settings.input, made(&answer)?]), Way::Back, bytes as u16)
        }
        _ => return None,
    };
    // What each event in between adds: the NIC alone.
    for link in 1..links {
        let block = Picos(settings.event_copy.0 * packets.all() / u64::from(WORD));
        let way = if link % 2 == 0 { Way::There } else { Way::Back };
        let starts = sum(&[arrived, settings.input, settings.event, block, command, form]);
        arrived = network(starts, way, bytes as u16);
    }
    let (event, copy) = if operation.verb == Verb::Send {
        // The message goes with the word, and its process copies it.
        let copy = Picos(settings.copy.0 * u64::from(bytes.div_ceil(WORD)));
        (plus(settings.event, bus.posted(EVENT + bytes)), copy)
    } else {
        // The word follows the data over the bus.
        (plus(bus.posted(bytes).max(settings.event), bus.posted(EVENT)), Picos(0))
    };
    Some(sum(&[arrived, settings.input, event, bus.flight(Reference::Post), host.poll, copy]))
}

/// Steps of the built-in program `match` from when it has taken a message until it has copied it, or has asked for its data:
/// these, and so many for each entry of the list up to the one that matches.
const MATCH: u64 = 7;
const ENTRY: u64 = 4;

/// See [`OnABus::matched_seen_at`](crate::host::OnABus::matched_seen_at).
pub(super) fn matched_seen_at(
    settings: &ElanSettings,
    send: &Operation,
    before: u32,
    network: Network<'_>,
) -> Option<Picos> {
    let ElanSettings { host, command, form, input, event, thread, .. } = *settings;
    let bus = host.bus;
    let sum = |times: &[Picos]| times.iter().copied().fold(Picos(0), plus);
    let post = Post { operation: *send, number: 0, story: Story::begin(Picos(0)), step: 0 };
    let words = send.words?;
    let (bytes, commands) = Packets::of(Job::of(NodeId(0), 0, &post), 0, settings).at(0);
    let said = u64::from(words.count()) * u64::from(WORD);
    let written = plus(bus.all_written(commands as u32), bus.flight(Reference::Write));
    let there = network(sum(&[written, command, form]), Way::There, (said + bytes) as u16);
    let steps = MATCH + ENTRY * (u64::from(before) + 1);
    let found = sum(&[input, thread.switch, thread.take, Picos(thread.cycle.0 * steps)]);
    let copied = |bytes: u64| Picos(thread.copy.0 * bytes.div_ceil(WORD.into()));
    let last = plus(bus.posted(EVENT), plus(bus.flight(Reference::Post), host.poll));
    if bytes > 0 {
        // The word of the event follows the data over the bus.
        let data = bus.posted(bytes as u32).max(plus(thread.cycle, event));
        return Some(sum(&[there, found, copied(bytes), data, last]));
    }
    // The thread asks for the data, as a get does.
    let all = words.all()[2];
    let get = Operation { verb: Verb::Get, bytes: all, words: None, ..*send };
    let job = Job::of(NodeId(0), 0, &Post { operation: get, ..post });
    let answer = Job::answer(&job.header(0, all, job.story));
    let asked = copied(u64::from(COMMANDS + DESCRIPTOR));
    let back = network(sum(&[there, found, asked, command, form]), Way::Back, DESCRIPTOR as u16);
    let arrived = network(sum(&[back, input, made(settings, &answer)?]), Way::There, all as u16);
    let data = bus.posted(all as u32).max(event);
    Some(sum(&[arrived, input, data, last]))
}

/// The time from when the DMA engine has a descriptor, or its command, until it has made the packet, if it makes one of one
/// read.
fn made(settings: &ElanSettings, of: &Job) -> Option<Picos> {
    let ElanSettings { host, command, form, start, mtu, .. } = *settings;
    let bus = host.bus;
    let bytes = u32::try_from(of.bytes).ok()?;
    let is_one = of.read(0, bus.read_request.into()) == of.bytes && of.cut(0, mtu.into()) == of.bytes;
    let read = [bus.request(), bus.flight(Reference::Read), bus.completed(bytes)];
    is_one.then(|| [command, start, form].into_iter().chain(read).fold(Picos(0), plus))
}
