//! What happens in a step, for a person to read.

use super::wire::{Back, Forward, Use};
use super::world::{Snapshot, Step, Violation};

/// What happens in a step.
pub(super) fn line(before: &Snapshot, step: Step) -> String {
    match step {
        Step::Begin => "an operation begins: SETUP goes out".to_owned(),
        Step::Send(context) => format!("sender context {context}: a packet goes out"),
        Step::SendAgain(context) => format!("sender context {context}: a packet goes out again"),
        Step::SetUpAgain(context) => {
            format!("sender context {context}: its back-off is over, SETUP goes out")
        }
        Step::TimeOut(context) => format!("sender context {context}: its timer expires"),
        Step::ReceiverTimeOut(context) => format!("receiver context {context}: its timer expires"),
        Step::Finish(context) => format!("receiver context {context}: all is delivered, DONE goes out"),
        Step::Refuse(context, packet) => format!("receiver context {context}: packet {packet} finds no room"),
        Step::Hear(place) => format!("{} comes", forward(before.forward.get(place))),
        Step::HearDouble(place) => {
            format!("{} comes, and will once more", forward(before.forward.get(place)))
        }
        Step::HearCorrupt(place) => format!("{} comes, and is corrupt", forward(before.forward.get(place))),
        Step::Lose(place) => format!("{} is lost", forward(before.forward.get(place))),
        Step::HearBack(place) => format!("{} comes back", back(before.back.get(place))),
        Step::HearBackDouble(place) => {
            format!("{} comes back, and will once more", back(before.back.get(place)))
        }
        Step::LoseBack(place) => format!("{} is lost", back(before.back.get(place))),
        Step::Rest => "nothing happens".to_owned(),
    }
}

fn name(Use { context, generation }: Use) -> String {
    format!("{context}.{generation}")
}

fn forward(packet: Forward) -> String {
    match packet {
        Forward::Setup(sender, operation) => format!("SETUP({}) of operation {operation}", name(sender)),
        Forward::Data(receiver, packet, operation) => {
            format!("DATA({}, {packet}) of operation {operation}", name(receiver))
        }
        Forward::Ask(receiver) => format!("ASK({})", name(receiver)),
        Forward::Release(receiver) => format!("RELEASE({})", name(receiver)),
    }
}

fn back(answer: Back) -> String {
    match answer {
        Back::Ack(sender, receiver) => format!("SETUP_ACK({}, {})", name(sender), name(receiver)),
        Back::Refused(sender) => format!("SETUP_NACK({})", name(sender)),
        Back::Nack(sender, receiver, missing, is_full) => {
            let full = if is_full { ", full" } else { "" };
            format!("NACK({}, {}, {missing:#b}{full})", name(sender), name(receiver))
        }
        Back::Done(sender, receiver) => format!("DONE({}, {})", name(sender), name(receiver)),
    }
}

/// What must not be.
pub(super) fn violation(violation: Option<Violation>) -> String {
    let text = match violation {
        None => "nothing is wrong",
        Some(Violation::Twice) => "an operation is delivered twice",
        Some(Violation::Wrong) => "an operation is delivered without all of its own bytes",
        Some(Violation::TooEarly) => "a sender is told of an operation that has not been delivered",
    };
    text.to_owned()
}
