//! Random programs for threads, and what processes tell them.

use super::{Case, Dice, Nic, Operation, Plan, Verb};
use flitway_engine::Picos;
use flitway_machine::thread::{builtin_program, parse_program};
use flitway_nic::elan4::ElanSettings;
use flitway_nic::host::program::Submission;
use flitway_nic::host::thread::{Code, Thread, WORDS, Words};
use flitway_wiring::NodeId;
use flitway_wiring::topology::TopologySettings;
use std::fmt::Write as _;
use std::sync::Arc;

/// Where programs of trees put results.
pub(crate) const RESULT: u64 = 1 << 16;

impl Case {
    /// A process of each of `nodes` nodes has a thread that runs the built-in program of that name, in a tree of arity 2, and
    /// tells it twice that an operation begins: with the number of its node, and `bytes` of data at its beginning.
    pub(crate) fn of_a_tree(name: &str, nodes: u32, bytes: u64) -> Case {
        let base = Case::of_a_full_input_queue(false);
        let Nic::Elan4(settings) = base.nic else { unreachable!("it has Elan4s") };
        let plan = |node: u32| {
            let words = Words::of(&[0, u64::from(node) + 1, bytes, 0]);
            let command = Operation {
                bytes: if 32 + bytes <= u64::from(settings.sten_packet) { bytes } else { 0 },
                there: 2 * RESULT,
                words: Some(words),
                ..Operation::plain(Verb::Thread, Submission::Sten, (NodeId(node), 0))
            };
            let registers = [node.into(), nodes.into(), 0, 2, RESULT, 0];
            let thread = Some(Thread { code: builtin_program(name), registers });
            Plan { start: vec![command], then: vec![command], thread, ..Plan::default() }
        };
        let plans = (0..nodes).map(|node| vec![plan(node)]).collect::<Vec<_>>();
        Case::with_threads(base, settings, plans)
    }

    /// A process sends messages to a thread that refuses what is not expected, and whose process posts no receive.
    pub(crate) fn of_refusals() -> Case {
        let base = Case::of_a_full_input_queue(false);
        let Nic::Elan4(settings) = base.nic else { unreachable!("it has Elan4s") };
        let send =
            Operation { words: Some(Words::of(&[1, 7])), tells_left: true, ..base.plans[0][0].start[0] };
        let sends = Plan { start: vec![send; 3], ..Plan::default() };
        let code = Arc::new(Code { answers: true, ..(*builtin_program("match")).clone() });
        let thread = Some(Thread { code, registers: [0, 0, 0, 0, 0, 1] });
        let plans = vec![vec![sends], vec![Plan { thread, ..Plan::default() }]];
        Case::with_threads(base, settings, plans)
    }

    fn with_threads(base: Case, settings: ElanSettings, plans: Vec<Vec<Plan>>) -> Case {
        let nodes = plans.len() as u32;
        // As much as a read has.
        let nic = Nic::Elan4(ElanSettings { dma_buffer: 2_048, ..settings });
        Case { nic, plans, topology: TopologySettings::Single { nodes }, ..base }
    }
}

/// What the thread of a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runs {
    Nothing,
    Random,
    Match,
}

/// Gives threads to some processes, and makes some operations such that are for threads.
pub(super) fn add(dice: &mut Dice, settings: &ElanSettings, plans: &mut [Vec<Plan>]) {
    let nodes = plans.len() as u64;
    let all = [Runs::Nothing, Runs::Random, Runs::Random, Runs::Match];
    let mut runs: Vec<Vec<Runs>> = plans.iter().map(|plans| vec![Runs::Nothing; plans.len()]).collect();
    runs.iter_mut().flatten().for_each(|runs| *runs = dice.pick(&all));
    for (node, of_node) in plans.iter_mut().enumerate() {
        for (process, plan) in of_node.iter_mut().enumerate() {
            let own = runs[node][process];
            plan.thread = thread(dice, own, (node as u64, nodes));
            for operation in plan.start.iter_mut().chain(&mut plan.then) {
                let other = runs[operation.node.index()][usize::from(operation.process)];
                if operation.verb == Verb::Send && !dice.one_in(3) {
                    *operation = told(dice, settings, *operation, other);
                } else if operation.verb == Verb::Put && operation.event.is_none() && !dice.one_in(3) {
                    let command = Operation { verb: Verb::Thread, by: Submission::Sten, ..*operation };
                    *operation = told(dice, settings, command, own);
                }
                if dice.one_in(6) {
                    operation.computes = Picos(dice.below(2_000_000));
                }
            }
        }
    }
}

/// `operation` with what a thread that `runs` that can do with.
fn told(dice: &mut Dice, settings: &ElanSettings, operation: Operation, runs: Runs) -> Operation {
    let kind = if operation.verb == Verb::Thread { 0 } else { 1 + dice.below(2) };
    let words = match runs {
        Runs::Match => [kind, dice.below(2), 1 + dice.below(900), dice.below(9_000), 0, 0],
        // How often it is sent on, an address, another one, bytes.
        _ => [dice.below(3), 8 * dice.below(900), dice.below(9_000), 1 + dice.below(300), dice.below(4), 7],
    };
    let packet = u64::from(settings.sten_packet);
    let count = if dice.one_in(4) { dice.below(WORDS as u64 + 1) } else { 4 }.min(packet / 8);
    let bytes = operation.bytes.min(packet - 8 * count);
    Operation { words: Some(Words::of(&words[..count as usize])), bytes, ..operation }
}

fn thread(dice: &mut Dice, runs: Runs, (node, nodes): (u64, u64)) -> Option<Thread> {
    let (code, registers) = match runs {
        Runs::Nothing => return None,
        Runs::Match => {
            let policy = dice.below(3);
            let code = Code { answers: policy == 1, ..(*builtin_program("match")).clone() };
            (code, [0, 0, 0, 0, 20_000, policy])
        }
        Runs::Random => {
            let text = program(dice, (node, nodes));
            let code = parse_program("random", &text).unwrap_or_else(|problems| panic!("{problems}"));
            (code, [1, 2, 3, 4, 5, 6])
        }
    };
    Some(Thread { code: Arc::new(code), registers })
}

/// A program that takes items one after the other, and does something at random with each.
fn program(dice: &mut Dice, (node, nodes): (u64, u64)) -> String {
    let answers = dice.one_in(3);
    let mut text = String::new();
    if answers {
        text.push_str("answers\n");
    }
    let other = (node + 1 + dice.below(nodes - 1)) % nodes;
    // Words that an item lacks would be no bytes to read.
    let _ = writeln!(text, "set r30, {other}\nnext: wait\nadd r20, r1, 0\nmax r4, r4, 1\nset r21, 0");
    for place in 0..dice.below(12) {
        let line = line(dice, place);
        let skips = if dice.one_in(4) {
            format!("blt r{}, r{}, on{place}\n", any(dice), any(dice))
        } else {
            String::new()
        };
        let _ = writeln!(text, "{skips}{line}\non{place}:");
    }
    if answers {
        // Every third message is refused.
        text.push_str("bge r7, r31, done\nload r17, r0, 816\nadd r17, r17, 1\nstore r17, r0, 816\n");
        text.push_str("and r17, r17, 3\nbne r17, 0, done\nbeq r21, 1, done\nbeq r20, 0, done\nrefuse r7\njump next\ndone:\n");
    }
    text.push_str("beq r21, 1, next\nbeq r7, 0, next\nfree r7\njump next\n");
    // The address of the first slot of commands is not known to it: items that it took of its own node are commands.
    text.replace("bge r7, r31, done", &format!("beq r9, {node}, done"))
}

/// A register that something is in.
fn any(dice: &mut Dice) -> u64 {
    1 + dice.below(15)
}

fn line(dice: &mut Dice, place: u64) -> String {
    let to = 10 + dice.below(6);
    let how = dice.pick(&["add", "sub", "mul", "and", "or", "xor", "shl", "shr", "min", "max"]);
    let tells = dice.pick(&["process", "thread"]);
    match dice.below(24) {
        0..3 => format!("{how} r{to}, r{}, r{}", any(dice), any(dice)),
        3 => format!("{how} r{to}, r{}, {}", any(dice), dice.below(100)),
        4 => format!("store r{}, r0, {}", any(dice), 8 * dice.below(32)),
        5 => format!("load r{to}, r0, {}", 8 * dice.below(32)),
        6 => format!("load r{to}, r7, {}\nstore r{to}, r7, {}", 8 * dice.below(4), 8 * dice.below(4)),
        7 => "count".to_owned(),
        8 => format!("test r{to}"),
        9 | 10 => "copy r2, r7, r8".to_owned(),
        11..14 => "event".to_owned(),
        14 => "event r2, r3, r8".to_owned(),
        15 | 16 => "interrupt r2, r7, r8".to_owned(),
        17 => format!("dma r30, r3, r2, r4, {tells}"),
        18 | 19 => format!(
            "beq r20, 0, sent{place}\nsub r1, r20, 1\nmin r16, r8, 8\nsend r30, {}, r7, r16\nsub r20, r20, 1\nsent{place}:",
            dice.below(2)
        ),
        20 | 21 => format!(
            "bne r21, 0, kept{place}\nbeq r7, 0, kept{place}\nload r18, r0, 800\nbne r18, 0, kept{place}\nstore r7, r0, 800\nset r21, 1\nkept{place}:"
        ),
        22 => format!(
            "load r18, r0, 800\nbeq r18, 0, left{place}\nbeq r18, r7, left{place}\nresume r18\nevent\nfree r18\nstore r0, r0, 800\nleft{place}:"
        ),
        _ => match dice.below(5) {
            0 => "stop".to_owned(),
            1 => format!("free r{}", any(dice)),
            2 => format!("load r{to}, r{}", any(dice)),
            3 => "send r9, 6, r7, r8".to_owned(),
            _ => format!("set r{to}, {}", dice.below(1 << 40)),
        },
    }
}
