//! What happened, step by step, for a person to read.

use super::channel::Way;
use super::world::{Meaning, Outcome, Snapshot, Step, World};
use flitway_fabric::barrier::{PacketKind, To};
use std::fmt;

/// A way from the start of a world to something that must not be.
#[derive(Clone, Debug)]
pub struct Witness {
    lines: Vec<String>,
    conclusion: String,
}

impl Witness {
    /// How many steps it has.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.lines.len()
    }

    /// The states of `way`, then a step that releases a leaf too early.
    pub(super) fn unsafe_step(world: &World, way: &[u128]) -> Self {
        let (mut lines, last) = replay(world, way);
        let mut conclusion = None;
        world.each(&last, |step, outcome| {
            if let Meaning::Unsafe { leaf, missing } = outcome.meaning
                && conclusion.is_none()
            {
                lines.push(line(world, &last, step, outcome));
                let name = |member: usize| &world.tree.members[member].name;
                let text = format!("{} is released, but {} has not arrived", name(leaf), name(missing));
                conclusion = Some(text);
            }
        });
        Witness { lines, conclusion: conclusion.expect("the last state of the way has an unsafe step") }
    }

    /// The states of `way`; from the last one no barrier completes.
    pub(super) fn stuck(world: &World, way: &[u128]) -> Self {
        let (lines, _) = replay(world, way);
        Witness { lines, conclusion: "from here on no barrier can complete".to_owned() }
    }
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, line) in (1..).zip(&self.lines) {
            writeln!(f, "{number:>4}. {line}")?;
        }
        writeln!(f, "      {}", self.conclusion)
    }
}

/// Keys stand for many snapshots; this goes through those of one run, from the start.
fn replay(world: &World, way: &[u128]) -> (Vec<String>, Snapshot) {
    let mut snapshot = world.first();
    let mut lines = Vec::new();
    for &key in &way[1..] {
        let mut taken = None;
        world.each(&snapshot, |step, outcome| {
            if taken.is_none() && world.key(&outcome.next) == key {
                taken = Some((line(world, &snapshot, step, outcome), outcome.next));
            }
        });
        let (line, next) = taken.expect("each state of a way follows from the one before");
        lines.push(line);
        snapshot = next;
    }
    (lines, snapshot)
}

/// What happens in a step, and what comes of it.
fn line(world: &World, before: &Snapshot, step: Step, outcome: &Outcome) -> String {
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
