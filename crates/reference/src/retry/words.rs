//! What happens in a step, for a person to read.

use super::wire::{Answer, Packet};
use super::world::{Outcome, Snapshot, Step, Violation, World};
use flitway_fabric::link::retry::Reception;

/// What happens in a step, and what comes of it.
pub(super) fn line(world: &World, before: &Snapshot, step: Step, outcome: &Outcome) -> String {
    let event = match step {
        Step::Send => "a new packet goes out".to_owned(),
        Step::Replay => "a packet goes out again".to_owned(),
        Step::TimeOut => "the timer expires".to_owned(),
        Step::Hear(at) => format!("{} comes", packet(before.packets.get(at))),
        Step::Lose(at) => format!("{} is lost", packet(before.packets.get(at))),
        Step::Corrupt(at) => format!("{} is corrupted", packet(before.packets.get(at))),
        Step::Leave(vc) => format!("a flit of VC {vc} leaves the buffer"),
        Step::Tell | Step::TellAndKeep => "an acknowledgement goes out".to_owned(),
        Step::TellOld => "an old acknowledgement goes out again".to_owned(),
        Step::HearAnswer(at) => format!("{} comes", answer(world, before.answers.get(at))),
        Step::LoseAnswer(at) => format!("{} is lost", answer(world, before.answers.get(at))),
        Step::Train => "the link is trained again".to_owned(),
        Step::Resume => "the receiver is trained again".to_owned(),
    };
    let consequences = consequences(world, before, step, outcome);
    if consequences.is_empty() { event } else { format!("{event}: {}", consequences.join(", ")) }
}

fn packet(packet: Option<Packet>) -> String {
    match packet {
        Some(Packet { sequence, payload }) => format!("packet({sequence}), which is number {payload},"),
        None => "a corrupt packet".to_owned(),
    }
}

fn answer(world: &World, answer: Answer) -> String {
    let kind = if answer.is_nack { "nack" } else { "ack" };
    let counts: Vec<String> = answer.returned[..world.vcs].iter().map(ToString::to_string).collect();
    format!("{kind}({}; {})", answer.expected, counts.join(", "))
}

fn consequences(world: &World, before: &Snapshot, step: Step, outcome: &Outcome) -> Vec<String> {
    let next = &outcome.next;
    let mut words = Vec::new();
    if matches!(step, Step::Send | Step::Replay)
        && let Some(last) = next.packets.iter().nth(before.packets.len())
    {
        words.push(packet(last).trim_end_matches(',').to_owned());
    }
    if matches!(step, Step::Tell | Step::TellAndKeep | Step::TellOld)
        && let Some(last) = next.answers.iter().nth(before.answers.len())
    {
        words.push(answer(world, last));
    }
    words.extend(outcome.reception.map(|reception| {
        match reception {
            Reception::Accept => "accepted",
            Reception::Duplicate => "dropped as a duplicate",
            Reception::Discard => "discarded",
        }
        .to_owned()
    }));
    for vc in 0..world.vcs {
        let (had, has) = (before.credits[vc], next.credits[vc]);
        if had != has {
            words.push(format!("VC {vc} has credits for {has}"));
        }
    }
    if next.sender.held < before.sender.held {
        words.push(format!("{} held", next.sender.held));
    }
    let is_back = next.sender.is_replaying() && !before.sender.is_replaying();
    words.extend(is_back.then(|| "the sender goes back".to_owned()));
    words
}

/// What must not be.
pub(super) fn violation(violation: Option<Violation>) -> String {
    match violation {
        None => "nothing is wrong".to_owned(),
        Some(Violation::Twice) => "a packet is delivered twice".to_owned(),
        Some(Violation::TooEarly) => "a packet is delivered before its turn".to_owned(),
        Some(Violation::Released) => "a packet leaves the replay buffer that was not delivered".to_owned(),
        Some(Violation::Overflow(vc)) => format!("the buffer of VC {vc} overflows"),
        Some(Violation::Invented(vc)) => format!("VC {vc} has more credits than room"),
    }
}
