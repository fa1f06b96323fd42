//! What happens in a step, for a person to read.

use super::channel::Way;
use super::world::{Outcome, Snapshot, Step, World};
use flitway_fabric::barrier::{PacketKind, To};

/// What happens in a step, and what comes of it.
pub(super) fn line(world: &World, before: &Snapshot, step: Step, outcome: &Outcome) -> String {
    let name = |member: usize| world.tree.members[member].name.as_str();
    let flight = |flight: super::world::Flight| {
        let packet = world.packet(before, flight);
        let parent = world.tree.members[flight.child].parent.map_or("", |(parent, _)| name(parent));
        match flight.way {
            Way::Up => format!("{packet} from {} to {parent}", name(flight.child)),
            Way::Down => format!("{packet} from {parent} to {}", name(flight.child)),
        }
    };
    let event = match step {
        Step::Arrive(leaf) => format!("{} arrives", name(leaf)),
        Step::Deliver(it) => format!("{} is received", flight(it)),
        Step::DeliverCopy(it) => format!("a copy of {} is received", flight(it)),
        Step::Lose(it) => format!("{} is lost", flight(it)),
        Step::RetransmitExpires(member) => format!("the retransmission timer of {} expires", name(member)),
        Step::DunExpires(member) => format!("the dun timer of {} expires", name(member)),
        Step::Finish(member) => format!("{} sends the distributes put off", name(member)),
    };
    let mut consequences = consequences(world, outcome);
    consequences.extend(outcome.overflows.then(|| "a full channel loses a packet".to_owned()));
    if consequences.is_empty() { event } else { format!("{event}: {}", consequences.join(", ")) }
}

fn consequences(world: &World, outcome: &Outcome) -> Vec<String> {
    let Some((actor, actions)) = outcome.acted else { return Vec::new() };
    let member = &world.tree.members[actor];
    let mut words = Vec::new();
    for send in actions.sends.iter().flatten() {
        let packet = send.packet;
        match send.to {
            To::Parent => words.push(format!("sends {packet} up")),
            To::Child(_) if member.is_leaf() => {}
            To::Child(port) => {
                let child = &world.tree.members[member.children[port.index()]].name;
                words.push(format!("sends {packet} to {child}"));
            }
            To::Children if !member.is_leaf() => words.push(format!("sends {packet} to all")),
            To::Children => {}
        }
        if member.is_leaf() && packet.kind == PacketKind::Distribute {
            words.push("is released".to_owned());
        }
    }
    words
}
