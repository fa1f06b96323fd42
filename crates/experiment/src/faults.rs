//! What breaks in a run, as it is written: rules, in the command line or in a file, a rule a line.

mod failures;
mod fit;

use failures::{FAILURES, Failures};
use flitway_fabric::SentKind;
use flitway_machine::units::Dimension;
use flitway_machine::{Place, input, units};
use flitway_workload::catalog::{Catalog, Choice, ChoiceError, Entry, Parameter};
use std::path::Path;

pub use fit::fit;

/// A rule, and where it stands, for whom it does not fit: the rule itself, in a file with its line.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// What it says.
    pub rule: FaultRule,
    place: String,
}

/// Reads the parameters of a rule.
pub type Reader = fn(&Choice) -> Result<FaultRule, ChoiceError>;

/// What can break, and who looks after it.
pub const CATALOG: Catalog<Reader> = Catalog::new(
    "fault",
    &[
        (DOWN, down),
        (LANES, lanes),
        (BIT_ERRORS, bit_errors),
        (UNDETECTED, undetected),
        (CORRUPT, |choice| corrupted(SentKind::Packet, choice)),
        (LOSE_ACK, |choice| corrupted(SentKind::Acknowledgement, choice)),
        (STALL, stall),
        (FAILURES, |choice| failures::read(choice).map(FaultRule::Failures)),
        (MANAGER, manager),
    ],
);

const LINK: Parameter = Parameter {
    name: "link",
    expected: "one of its ends, by number or by name in the graph file: `node 12` or `switch 5 port 7`",
    default: Some(""),
    doc: "The link, by one of its ends.",
};

const AT: Parameter =
    Parameter { name: "at", expected: "a time, such as `20us`", default: Some("0us"), doc: "From when on." };

const UNTIL: Parameter = Parameter {
    name: "until",
    expected: "a time after `at`",
    default: Some(""),
    doc: "Up to when; for ever unless given.",
};

const RAIL: Parameter = Parameter {
    name: "rail",
    expected: "the number of a rail, from 0",
    default: Some("0"),
    doc: "In which rail.",
};

const DOWN: Entry = Entry {
    name: "down",
    aliases: &[],
    doc: "a link is cut, or a switch dies",
    details: "A link is cut in both directions: nothing comes any more, heartbeats do not either, both ends train it and give it \
              up. With `until` it is mended, and they train it again. A switch dies with all packets in it, for ever. On machines \
              of Elite4s both ends know at once; what is on the link comes corrupt, what has no way is refused, and both are sent \
              again.",
    parameters: &[
        LINK,
        Parameter {
            name: "switch",
            expected: "the number of a switch, from 0, or its name in the graph file",
            default: Some(""),
            doc: "The switch that dies, instead of a link.",
        },
        AT,
        UNTIL,
        RAIL,
    ],
};

const LANES: Entry = Entry {
    name: "lanes",
    aliases: &[],
    doc: "lanes of a link go bad, or all of them run slower",
    details: "The link is trained: its ends agree on the lanes that are good at both and on the highest rate at which enough of \
              them are. The lanes that go bad are the last ones, of the channel that comes to the end that is named.",
    parameters: &[
        LINK,
        Parameter {
            name: "good",
            expected: "how many lanes are left; this, or their `rate` or `errors`, or both",
            default: Some(""),
            doc: "Lanes that still work; all unless given.",
        },
        Parameter {
            name: "rate",
            expected: "a rate of a lane of this machine, in Gbit/s",
            default: Some(""),
            doc: "The highest rate at which they work; the highest of the machine unless given.",
        },
        AT,
        UNTIL,
        RAIL,
        Parameter {
            name: "errors",
            expected: "a bit error rate for each rate of a lane of this machine, from the highest, such as `1e-3+1e-7+0`",
            default: Some(""),
            doc: "Instead of `rate`: they work at the highest rate at which less than one bit of a test \
                  (`switch.link.training`) is wrong in the mean, and at none if there is no such rate. What is wrong at that \
                  rate is not drawn; `bit-errors` says it.",
        },
    ],
};

const BIT_ERRORS: Entry = Entry {
    name: "bit-errors",
    aliases: &[],
    doc: "each link, or one, gets bits wrong, at random",
    details: "Like the setting `link.bit_errors`, of which the larger one counts. A flit with a wrong bit is corrupt, and so is \
              its packet, which is sent again. With `link` it is that link alone, in both directions, whatever the others do.",
    parameters: &[
        Parameter {
            name: "rate",
            expected: "bit errors, such as `1 errors/Gbit`, or a probability for each bit from 1e-15 on, such as `1e-9`",
            default: None,
            doc: "The probability that a bit is wrong.",
        },
        Parameter { doc: "The link, by one of its ends; all unless given.", ..LINK },
        RAIL,
    ],
};

const UNDETECTED: Entry = Entry {
    name: "undetected",
    aliases: &[],
    doc: "links corrupt packets so that no check shows it",
    details: "Each link corrupts each packet that it carries with this probability, and the check of the packet holds all the \
              same: it is delivered, with a wrong payload. The result counts such packets. A check of 32 bits passes one of \
              2^32 packets that are corrupt.",
    parameters: &[Parameter {
        name: "rate",
        expected: "a probability for each packet and link from 1e-15 on, such as `1e-9`",
        default: None,
        doc: "The probability for each packet on each link.",
    }],
};

const NTH: Parameter = Parameter {
    name: "nth",
    expected: "a number from 1 on",
    default: Some("1"),
    doc: "Which of those that the end sends; what is sent again counts again.",
};

const CORRUPT: Entry = Entry {
    name: "corrupt",
    aliases: &[],
    doc: "a link corrupts a packet",
    details: "The n-th packet that the end which is named sends comes corrupt, with the acknowledgement that goes along.",
    parameters: &[LINK, NTH, RAIL],
};

const LOSE_ACK: Entry = Entry {
    name: "lose-ack",
    aliases: &[],
    doc: "a link corrupts an acknowledgement",
    details: "The n-th acknowledgement that the end which is named sends alone comes corrupt, and says nothing. On machines of Elite4s \
              it is the n-th answer: its packet is sent again, and delivered once.",
    parameters: &[LINK, NTH, RAIL],
};

const STALL: Entry = Entry {
    name: "stall",
    aliases: &[],
    doc: "what feeds the NIC port of a node stops for a time",
    details: "As if the process were descheduled in the midst of a packet that it writes to its NIC: from then on the node sends no \
              flit, not even of a packet that is half-sent, which holds its path. After `switch.answer.half_packet` that is closed: \
              what is missing is made up, and it is answered with a NACK and sent again when the node goes on, at `until`, which has to be \
              said. Machines of Elite4s alone.",
    parameters: &[
        Parameter {
            name: "node",
            expected: "the number of a node, from 0, or its name in the graph file",
            default: None,
            doc: "The node.",
        },
        AT,
        UNTIL,
        RAIL,
    ],
};

const MANAGER: Entry = Entry {
    name: "manager",
    aliases: &[],
    doc: "who looks after the network, and how fast",
    details: "It reads the states of all links every so often, over management of its own, and writes tables that avoid what is \
              down, where the routing has such tables (`rtb`, `up-down`, and in other trees `d-mod-k` and `s-mod-k`). Unless a rule \
              says otherwise it reads every 10 us, and new tables count 50 us later. It reads the counters of CRC errors, too, and notes a \
              port that has counted `errors` or more since the last reading, once as long as that goes on.",
    parameters: &[
        Parameter {
            name: "every",
            expected: "a time, such as `10us`, or `never`",
            default: Some("10us"),
            doc: "Between two readings; never, and there is no manager.",
        },
        Parameter {
            name: "latency",
            expected: "a time, such as `50us`",
            default: Some("50us"),
            doc: "From a reading until the tables are in all switches.",
        },
        Parameter {
            name: "errors",
            expected: "a number from 1 on",
            default: Some("16"),
            doc: "So many new CRC errors in a reading are noted. The default is [assumed].",
        },
    ],
};

/// A rule, as written.
#[derive(Clone, Debug, PartialEq)]
pub enum FaultRule {
    /// A link is cut.
    Cut { link: Place, rail: u32, at: u64, until: Option<u64> },
    /// Nothing feeds the NIC port of a node.
    Stalled { node: Place, rail: u32, at: u64, until: u64 },
    /// A switch dies.
    Dead { switch: String, rail: u32, at: u64 },
    /// Lanes work less well.
    Lanes {
        link: Place,
        rail: u32,
        good: Option<u32>,
        gigabits: Option<u32>,
        /// Bits that are wrong at each rate, of 10^15.
        errors: Option<Vec<u64>>,
        at: u64,
        until: Option<u64>,
    },
    /// Bits are wrong, so many in 10^15: on a link of a rail, or on all.
    BitErrors { of_petabit: u64, link: Option<Place>, rail: u32 },
    /// Packets are corrupted so that no check shows it, so many in 10^15 on each link.
    Undetected(u64),
    /// Something that is sent is corrupted.
    Corrupted { kind: SentKind, link: Place, rail: u32, nth: u64 },
    /// Links fail at a rate.
    Failures(Failures),
    /// Who looks after it: times in picoseconds, and how many errors are noted; nobody if there are none.
    Manager(Option<([u64; 2], u64)>),
}

fn picos(text: &str) -> Option<u64> {
    units::time(text).ok().map(|time| time.0)
}

/// What is empty is not given.
fn given<T>(read: impl FnOnce(&str) -> Option<T>) -> impl FnOnce(&str) -> Option<Option<T>> {
    |text| if text.is_empty() { Some(None) } else { read(text).map(Some) }
}

fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

/// The times `at` and `until` of a choice.
fn times(choice: &Choice, place: usize) -> Result<(u64, Option<u64>), ChoiceError> {
    let at = choice.value(place, picos)?;
    let until = choice.value(place + 1, given(|text| picos(text).filter(|&until| until > at)))?;
    Ok((at, until))
}

/// The link of a rule, by one of its ends.
fn link(name: &'static str, choice: &Choice) -> Result<Place, ChoiceError> {
    needed(name, &LINK, choice.value(0, given(Place::parse))?)
}

/// What the rule `name` has to be given as `parameter`.
fn needed<T>(name: &'static str, parameter: &Parameter, value: Option<T>) -> Result<T, ChoiceError> {
    let Parameter { name: parameter, expected, .. } = *parameter;
    value.ok_or(ChoiceError::Missing { name, parameter, expected })
}

/// The error of a value where something else is expected than its parameter says.
fn expecting(error: ChoiceError, expected: &'static str) -> ChoiceError {
    match error {
        ChoiceError::BadValue { name, parameter, read, meant, .. } => {
            ChoiceError::BadValue { name, parameter, read, expected, meant }
        }
        other => other,
    }
}

fn down(choice: &Choice) -> Result<FaultRule, ChoiceError> {
    const ALONE: &str = "nothing beside `switch`: a switch that dies is dead for ever";
    const ONE: &str = "a link by one of its ends, `down(link=\"node 12\")`, or a switch, `down(switch=48)`";
    let switch = choice.value(1, given(|text| Some(text.to_owned())))?;
    let ((at, until), rail) = (times(choice, 2)?, choice.value(4, number)?);
    let is_empty = |place| choice.value(place, |text| text.is_empty().then_some(()));
    match switch {
        Some(switch) => {
            is_empty(0).and_then(|()| is_empty(3)).map_err(|error| expecting(error, ALONE))?;
            Ok(FaultRule::Dead { switch, rail, at })
        }
        None => {
            let link = choice.value(0, given(Place::parse))?;
            let link = needed(DOWN.name, &Parameter { expected: ONE, ..LINK }, link)?;
            Ok(FaultRule::Cut { link, rail, at, until })
        }
    }
}

fn stall(choice: &Choice) -> Result<FaultRule, ChoiceError> {
    let node = choice.value(0, |text| Place::parse(&format!("node {text}")))?;
    let (at, until) = times(choice, 1)?;
    // Who stops for ever is another thing: a node whose link is down.
    let until = needed(STALL.name, &UNTIL, until)?;
    Ok(FaultRule::Stalled { node, rail: choice.value(3, number)?, at, until })
}

fn lanes(choice: &Choice) -> Result<FaultRule, ChoiceError> {
    let (at, until) = times(choice, 3)?;
    let gigabits = choice.value(2, given(number))?;
    let good = choice.value(1, given(number))?;
    let link = link(LANES.name, choice)?;
    let rates = |text: &str| {
        text.split('+').map(|rate| if rate == "0" { Some(0) } else { probability(rate) }).collect()
    };
    let errors: Option<Vec<u64>> = choice.value(6, given(rates))?;
    if gigabits.is_some() && errors.is_some() {
        let none = choice.value(6, |_| None::<()>);
        none.map_err(|error| expecting(error, "nothing beside `rate`: errors say at which rate lanes work"))?;
    }
    // One of them has to be said.
    needed(LANES.name, &LANES.parameters[1], good.or(gigabits).or(errors.as_ref().map(|_| 0)))?;
    Ok(FaultRule::Lanes { link, good, gigabits, errors, at, until, rail: choice.value(5, number)? })
}

fn bit_errors(choice: &Choice) -> Result<FaultRule, ChoiceError> {
    // As the setting says it, too.
    let rate = |text: &str| match units::parse_any(text, &[Dimension::BitErrors]) {
        Ok((_, of_petabit)) if (1..=PETABIT / 2).contains(&of_petabit) => Some(of_petabit),
        _ => probability(text),
    };
    let (of_petabit, link) = (choice.value(0, rate)?, choice.value(1, given(Place::parse))?);
    let rail = choice.value(2, number)?;
    let link = if choice.is_given(2) { Some(needed(BIT_ERRORS.name, &LINK, link)?) } else { link };
    Ok(FaultRule::BitErrors { of_petabit, link, rail })
}

fn undetected(choice: &Choice) -> Result<FaultRule, ChoiceError> {
    choice.value(0, probability).map(FaultRule::Undetected)
}

/// Bits of which errors are so many.
const PETABIT: u64 = 1_000_000_000_000_000;

/// A probability, in units of 10^-15.
fn probability(text: &str) -> Option<u64> {
    let rate: f64 = text.parse().ok()?;
    (1e-15..=0.5).contains(&rate).then(|| (rate * 1e15).round() as u64)
}

fn corrupted(kind: SentKind, choice: &Choice) -> Result<FaultRule, ChoiceError> {
    let name = if kind == SentKind::Packet { CORRUPT.name } else { LOSE_ACK.name };
    Ok(FaultRule::Corrupted {
        kind,
        link: link(name, choice)?,
        nth: choice.value(1, |text| number(text).filter(|&nth: &u64| nth > 0))?,
        rail: choice.value(2, number)?,
    })
}

fn manager(choice: &Choice) -> Result<FaultRule, ChoiceError> {
    let every = choice.value(0, |text| match text {
        "never" => Some(None),
        text => picos(text).filter(|&every| every > 0).map(Some),
    })?;
    let latency = choice.value(1, picos)?;
    let errors = choice.value(2, |text| number(text).filter(|&errors: &u64| errors > 0))?;
    if let Some(given) = (1..3).find(|&place| every.is_none() && choice.is_given(place)) {
        let none = choice.value(given, |_| None::<()>);
        none.map_err(|error| {
            expecting(
                error,
                "nothing beside `never`: without a manager nothing is read and no tables are written",
            )
        })?;
    }
    Ok(FaultRule::Manager(every.map(|every| ([every, latency], errors))))
}

/// Whether `text` is rules, and no path.
#[must_use]
pub fn are_rules(text: &str) -> bool {
    text.contains('(') || CATALOG.find(text).is_some()
}

/// Reads what `--faults` says: rules, joined by `;`, or the path of a file that has one a line, or several.
///
/// # Errors
/// All that is wrong, each with its rule or its line.
pub fn parse(text: &str) -> Result<Vec<Written>, Vec<String>> {
    const ONE: &str = "expected one, such as `down(link=\"node 3\", at=20us)`";
    if text.trim_matches([' ', ';']).is_empty() {
        return Err(vec![format!("no rule is given; {ONE}, or a file")]);
    }
    let read = if are_rules(text) {
        let rules: Vec<&str> = rules_of(text).collect();
        // One alone need not be told from others.
        let place = |text: &str| if rules.len() > 1 { format!("`{text}`: ") } else { String::new() };
        rules.iter().map(|text| rule(text, "").map_err(|error| format!("{}{error}", place(text)))).collect()
    } else {
        let file = input::read_text(Path::new(text), input::MADE_MAX).map_err(|error| {
            vec![format!(
                "{text}: cannot read: it {error}; a rule has parentheses: `down(link=\"node 3\", at=20us)`"
            )]
        })?;
        rules_of_file(text, &file)
    };
    if read.is_empty() {
        return Err(vec![format!("{text}: no rule is given, only remarks and empty lines; {ONE} a line")]);
    }
    let rules = all(read)?;
    let managers = || rules.iter().filter(|written| matches!(written.rule, FaultRule::Manager(_)));
    if let Some(second) = managers().nth(1) {
        return Err(vec![format!(
            "{}: a second manager; expected one at most, with all that it does",
            second.place
        )]);
    }
    Ok(rules)
}

/// The rules that stand in `text`, joined by `;`.
fn rules_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(';').map(str::trim).filter(|rule| !rule.is_empty())
}

/// The rules of the file at `path`, in its lines, or what is wrong with each.
fn rules_of_file(path: &str, file: &str) -> Vec<Result<Written, String>> {
    let lines = (1..).zip(file.lines()).map(|(number, line)| (number, line.split('#').next().unwrap_or("")));
    let rules = lines.flat_map(|(number, line): (u32, _)| rules_of(line).map(move |rule| (number, rule)));
    let read = |(number, text)| {
        let place = format!("{path}, line {number}: ");
        rule(text, &place).map_err(|error| format!("{place}{error}"))
    };
    rules.map(read).collect()
}

/// What all of `read` came to, or everything that is wrong.
fn all<T>(read: Vec<Result<T, String>>) -> Result<Vec<T>, Vec<String>> {
    let (mut right, mut wrong) = (Vec::new(), Vec::new());
    for one in read {
        match one {
            Ok(one) => right.push(one),
            Err(message) => wrong.push(message),
        }
    }
    if wrong.is_empty() { Ok(right) } else { Err(wrong) }
}

/// The rule that `text` is, at this place of a file.
fn rule(text: &str, place: &str) -> Result<Written, ChoiceError> {
    let (choice, read) = CATALOG.choose(text)?;
    Ok(Written { rule: read(&choice)?, place: format!("{place}`{text}`") })
}
