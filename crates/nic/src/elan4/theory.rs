//! What an operation takes in an idle machine, in closed form, if it needs one packet of data and all translations are known.

use super::command::Packets;
use super::{DESCRIPTOR, EVENT, ElanSettings, WORD};
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
    let ElanSettings { host, issue, command, form, start, mtu, .. } = *settings;
    let bus = host.bus;
    let post = Post { operation: *operation, number: 0, story: Story::begin(Picos(0)), step: 0 };
    let job = Job::of(NodeId(0), 0, &post);
    let bytes = u32::try_from(job.bytes).ok()?;
    let packets = Packets::of(job, 0, settings);
    let sum = |times: &[Picos]| times.iter().copied().fold(Picos(0), plus);
    // From when the DMA engine has a descriptor until it has made the packet.
    let read = sum(&[bus.request(), bus.flight(Reference::Read), bus.completed(bytes)]);
    let made = |of: &Job| {
        let is_one = of.read(0, bus.read_request.into()) == of.bytes && of.cut(0, mtu.into()) == of.bytes;
        is_one.then(|| sum(&[command, start, read, form]))
    };
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
