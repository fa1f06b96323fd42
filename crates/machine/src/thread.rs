//! Programs of the threads of a NIC as text: `docs/elan4-threads.md` is the guide.
//!
//! ```text
//! # Adds up what comes, and tells the process of each tenth.
//! name sum r20
//! next:   wait                     # r1 to r6: what the item says, r7: its slot, r8: its bytes, r9: its node
//!         add   sum, sum, r2
//!         free  r7
//!         add   r21, r21, 1
//!         bne   r21, 10, next
//!         event
//!         set   r21, 0
//!         jump  next
//! ```
//!
//! Each line has, in this order, a label and an instruction, or one of them, or a directive, or nothing; `#` begins a comment.
//! Operands are separated by commas or blanks. Directives: `name NAME REGISTER` gives a register a name; `answers`
//! says that the program accepts or refuses messages itself.

use crate::code::Code as Kind;
use crate::diagnostic::{Diagnostic, Diagnostics, Location, Source};
use crate::digest::Digest;
use crate::graph::statement::Name;
use crate::load;
use crate::nearest::nearest;
use crate::units::show;
use flitway_nic::host::thread::{
    Act, Arithmetic, Code, Comparison, Instruction, Operand, REGISTERS, Register, Step, Tells, WORDS,
};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The programs that are built in: name and text.
#[must_use]
pub fn builtin_programs() -> &'static [(&'static str, &'static str)] {
    &[
        ("match", include_str!("../../../programs/match.thread")),
        ("reduce", include_str!("../../../programs/reduce.thread")),
        ("gather", include_str!("../../../programs/gather.thread")),
    ]
}

/// The built-in program of that name.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn builtin_program(name: &str) -> Arc<Code> {
    let text = builtin_programs().iter().find(|(builtin, _)| *builtin == name).map(|(_, text)| *text);
    let read = parse_program(name, text.expect("a built-in program"));
    Arc::new(read.unwrap_or_else(|problems| panic!("a built-in program is right: {problems}")))
}

/// A program that was read from a file.
#[derive(Clone, Debug)]
pub struct ProgramFile {
    /// What it says.
    pub code: Arc<Code>,
    /// The SHA-256 of its text.
    pub digest: String,
}

/// Bytes of a text at most.
const TEXT_MAX: u64 = 1 << 20;
/// Steps at most: the instruction cache has 16 KB (P-QS-027), and a step 4 B \[assumed\].
const STEPS_MAX: usize = 4096;

/// Reads the program in the file at `path`.
///
/// # Errors
/// All that is wrong with it.
pub fn read_program(path: &Path) -> Result<ProgramFile, Diagnostics> {
    let shown = path.display().to_string();
    let text = load::read_text(path, &shown, ("program of threads", TEXT_MAX), None)?;
    let name = path.file_stem().map_or_else(|| shown.clone(), |stem| stem.to_string_lossy().into_owned());
    let (digest, source) = (Digest::of(&text), Arc::new(Source { name: shown, text }));
    Ok(ProgramFile { code: Arc::new(parse(name, &source)?), digest })
}

/// Reads a program of that name from its text.
///
/// # Errors
/// All that is wrong with it.
pub fn parse_program(name: &str, text: &str) -> Result<Code, Diagnostics> {
    parse(name.to_owned(), &Arc::new(Source { name: name.to_owned(), text: text.to_owned() }))
}

fn parse(name: String, source: &Arc<Source>) -> Result<Code, Diagnostics> {
    let mut reader = Reader { source, names: BTreeMap::new(), labels: BTreeMap::new(), answers: false };
    let mut findings = Diagnostics::default();
    let (mut lines, mut start) = (Vec::new(), 0);
    for (number, line) in (1..).zip(source.text.split_inclusive('\n')) {
        let words = words(line.split('#').next().unwrap_or(""), start);
        start += line.len();
        match reader.outline(words, lines.len()) {
            Ok(words) if words.is_empty() => {}
            Ok(words) => lines.push((number, words)),
            Err(problem) => findings.push(*problem),
        }
    }
    let mut steps = Vec::new();
    for (line, words) in lines {
        match reader.instruction(&words) {
            Ok(instruction) => steps.push(Step { instruction, line }),
            Err(problem) => findings.push(*problem),
        }
    }
    if findings.is_empty() && !(1..=STEPS_MAX).contains(&steps.len()) {
        let message = format!("the program has {} steps", steps.len());
        let problem = Diagnostic::error(Kind::ThreadLine, Location::whole(source), message);
        findings.push(problem.expected(format!("1 to {STEPS_MAX} steps")));
    }
    if findings.has_errors() { Err(findings) } else { Ok(Code { name, answers: reader.answers, steps }) }
}

/// The words of a line that begins at byte `start`: between blanks and commas.
fn words(line: &str, start: usize) -> Vec<Name> {
    let mut words = Vec::new();
    let mut at = start;
    for part in line.split_inclusive(|letter: char| letter.is_whitespace() || letter == ',') {
        let text = part.trim_end_matches(|letter: char| letter.is_whitespace() || letter == ',');
        if !text.is_empty() {
            words.push(Name { text: text.to_owned(), span: at..at + text.len() });
        }
        at += part.len();
    }
    words
}

type Parsed<T> = Result<T, Box<Diagnostic>>;

struct Reader<'a> {
    source: &'a Arc<Source>,
    names: BTreeMap<String, Register>,
    /// Steps by their labels, with where those stand.
    labels: BTreeMap<String, (u32, Range<usize>)>,
    answers: bool,
}

/// Instructions: the name, how many operands it has at least and at most, and how it is written.
const FORMS: &[(&str, [usize; 2], &str)] = &[
    ("set", [2, 2], "set TO, VALUE"),
    ("add", [3, 3], "add TO, REGISTER, VALUE"),
    ("sub", [3, 3], "sub TO, REGISTER, VALUE"),
    ("mul", [3, 3], "mul TO, REGISTER, VALUE"),
    ("and", [3, 3], "and TO, REGISTER, VALUE"),
    ("or", [3, 3], "or TO, REGISTER, VALUE"),
    ("xor", [3, 3], "xor TO, REGISTER, VALUE"),
    ("shl", [3, 3], "shl TO, REGISTER, VALUE"),
    ("shr", [3, 3], "shr TO, REGISTER, VALUE"),
    ("min", [3, 3], "min TO, REGISTER, VALUE"),
    ("max", [3, 3], "max TO, REGISTER, VALUE"),
    ("load", [2, 3], "load TO, ADDRESS [, OFFSET]"),
    ("store", [2, 3], "store REGISTER, ADDRESS [, OFFSET]"),
    ("jump", [1, 1], "jump LABEL"),
    ("beq", [3, 3], "beq REGISTER, VALUE, LABEL"),
    ("bne", [3, 3], "bne REGISTER, VALUE, LABEL"),
    ("blt", [3, 3], "blt REGISTER, VALUE, LABEL"),
    ("bge", [3, 3], "bge REGISTER, VALUE, LABEL"),
    ("count", [0, 0], "count"),
    ("wait", [0, 0], "wait"),
    ("stop", [0, 0], "stop"),
    ("test", [1, 1], "test TO"),
    ("free", [1, 1], "free SLOT"),
    ("refuse", [1, 1], "refuse SLOT"),
    ("resume", [1, 1], "resume SLOT"),
    ("copy", [3, 3], "copy TO, FROM, BYTES"),
    ("send", [2, 4], "send NODE, WORDS [, FROM, BYTES]"),
    ("dma", [5, 5], "dma NODE, THERE, HERE, BYTES, process|thread"),
    ("event", [0, 3], "event [TO, FROM, BYTES]"),
    ("interrupt", [3, 3], "interrupt TO, FROM, BYTES"),
];

/// Words that begin a line and name no instruction.
const DIRECTIVES: [&str; 2] = ["name", "answers"];

impl Reader<'_> {
    fn wrong(&self, span: &Range<usize>, message: String, expected: &str) -> Box<Diagnostic> {
        let at = Location::new(self.source, span.clone());
        Box::new(Diagnostic::error(Kind::ThreadLine, at, message).expected(expected))
    }

    /// Takes in labels and directives of a line before step number `step`: what is left.
    fn outline(&mut self, words: Vec<Name>, step: usize) -> Parsed<Vec<Name>> {
        let mut words = words;
        if let Some(label) = words.first().filter(|word| word.text.ends_with(':')).cloned() {
            words.remove(0);
            let name = label.text.trim_end_matches(':').to_owned();
            if !is_name(&name) {
                let message = format!("`{}` is no label", show(&label.text));
                return Err(self.wrong(&label.span, message, "a letter, then letters, digits and `_`"));
            }
            if let Some((_, first)) = self.labels.insert(name, (step as u32, label.span.clone())) {
                let message = format!("there is a label `{}` already", show(&label.text));
                let problem = self.wrong(&label.span, message, "another label");
                return Err(Box::new(problem.related(Location::new(self.source, first), "first here")));
            }
        }
        let Some((first, rest)) = words.split_first() else { return Ok(words) };
        match (first.text.as_str(), rest) {
            ("answers", []) => self.answers = true,
            ("answers", [other, ..]) => return Err(self.too_much(other, "`answers`")),
            ("name", [name, register]) => {
                let to = self.register(register)?;
                if !is_name(&name.text) || register_number(&name.text).is_some() {
                    let message = format!("`{}` is no name for a register", show(&name.text));
                    return Err(self.wrong(&name.span, message, "a letter, then letters, digits and `_`"));
                }
                if self.names.insert(name.text.clone(), to).is_some() {
                    let message = format!("`{}` is a name already", show(&name.text));
                    return Err(self.wrong(&name.span, message, "another name"));
                }
            }
            ("name", _) => {
                let message = "a register is named".to_owned();
                return Err(self.wrong(
                    &first.span,
                    message,
                    "`name NAME REGISTER`, for example `name tag r2`",
                ));
            }
            _ => return Ok(words),
        }
        Ok(Vec::new())
    }

    fn too_much(&self, word: &Name, expected: &str) -> Box<Diagnostic> {
        self.wrong(&word.span, format!("`{}` is too much", show(&word.text)), expected)
    }

    fn instruction(&self, words: &[Name]) -> Parsed<Instruction> {
        let (name, operands) = words.split_first().expect("a line with something");
        let Some((_, [least, most], form)) = FORMS.iter().find(|form| form.0 == name.text) else {
            let message = format!("`{}` is no instruction", show(&name.text));
            let known = FORMS.iter().map(|form| form.0).chain(DIRECTIVES);
            let meant = nearest(&name.text, known.clone());
            let names: Vec<&str> = known.collect();
            let problem = self.wrong(&name.span, message, &format!("one of: {}", names.join(", ")));
            return Err(Box::new(problem.maybe_help(meant.map(|word| format!("did you mean `{word}`?")))));
        };
        let count = operands.len();
        let form = format!("`{form}`");
        if let Some(other) = operands.get(*most) {
            return Err(self.too_much(other, &form));
        }
        // What may be left out is left out as a whole.
        if count < *most && count != *least {
            let message = format!("`{}` lacks an operand", show(&name.text));
            return Err(self.wrong(&name.span, message, &form));
        }
        self.operands(&name.text, operands)
    }

    /// The instruction `name` with as many operands as it may have.
    fn operands(&self, name: &str, operands: &[Name]) -> Parsed<Instruction> {
        let register =
            |place: usize| operands.get(place).map_or(Ok(Register::ZERO), |word| self.register(word));
        let value = |place: usize| self.value(&operands[place]);
        let offset = || operands.get(2).map_or(Ok(0), |word| self.number(word));
        let moved = || Ok::<_, Box<Diagnostic>>([register(0)?, register(1)?, register(2)?]);
        let act = match name {
            "wait" => Act::Wait,
            "stop" => Act::Stop,
            "test" => Act::Test(register(0)?),
            "free" => Act::Free(register(0)?),
            "refuse" => Act::Refuse(register(0)?),
            "resume" => Act::Resume(register(0)?),
            "copy" => moved().map(|[to, from, bytes]| Act::Copy { to, from, bytes })?,
            "interrupt" => moved().map(|[to, from, bytes]| Act::Interrupt { to, from, bytes })?,
            "event" if operands.is_empty() => Act::Event,
            "event" => moved().map(|[to, from, bytes]| Act::EventCopy { to, from, bytes })?,
            "send" => {
                let words = self.count(&operands[1])?;
                Act::Send { node: register(0)?, words, from: register(2)?, bytes: register(3)? }
            }
            "dma" => Act::Dma {
                node: register(0)?,
                there: register(1)?,
                here: register(2)?,
                bytes: register(3)?,
                tells: self.tells(&operands[4])?,
            },
            "load" => return Ok(Instruction::Load { to: register(0)?, at: register(1)?, offset: offset()? }),
            "store" => {
                return Ok(Instruction::Store { from: register(0)?, at: register(1)?, offset: offset()? });
            }
            "jump" => return Ok(Instruction::Jump(self.label(&operands[0])?)),
            "count" => return Ok(Instruction::Count),
            "set" => {
                let (how, one) = (Arithmetic::Or, Register::ZERO);
                return Ok(Instruction::Compute { how, to: register(0)?, one, two: value(1)? });
            }
            other => {
                if let Some(when) = comparison(other) {
                    let to = self.label(&operands[2])?;
                    return Ok(Instruction::Branch { when, one: register(0)?, two: value(1)?, to });
                }
                let how = arithmetic(other).expect("every form is an instruction");
                return Ok(Instruction::Compute { how, to: register(0)?, one: register(1)?, two: value(2)? });
            }
        };
        Ok(Instruction::Act(act))
    }

    fn register(&self, word: &Name) -> Parsed<Register> {
        let named = self.names.get(&word.text).copied();
        named.or_else(|| register_number(&word.text).and_then(Register::new)).ok_or_else(|| {
            let message = format!("`{}` is no register", show(&word.text));
            let expected = format!("r0 to r{}, or the name of one", REGISTERS - 1);
            let meant = nearest(&word.text, self.names.keys().map(String::as_str));
            let problem = self.wrong(&word.span, message, &expected);
            Box::new(problem.maybe_help(meant.map(|name| format!("did you mean `{name}`?"))))
        })
    }

    fn value(&self, word: &Name) -> Parsed<Operand> {
        match number(&word.text) {
            Some(number) => Ok(Operand::Number(number)),
            None if word.text.starts_with(|letter: char| letter.is_ascii_digit() || letter == '-') => {
                self.number(word).map(Operand::Number)
            }
            None => self.register(word).map(Operand::Register),
        }
    }

    fn number(&self, word: &Name) -> Parsed<u64> {
        number(&word.text).ok_or_else(|| {
            let message = format!("`{}` is no number of 64 bits", show(&word.text));
            self.wrong(&word.span, message, "a number such as 8, -1 or 0xff")
        })
    }

    fn count(&self, word: &Name) -> Parsed<u8> {
        let count = word.text.parse().ok().filter(|count| usize::from(*count) <= WORDS);
        count.ok_or_else(|| {
            let message = format!("`{}` is not how many words a message has", show(&word.text));
            self.wrong(&word.span, message, &format!("0 to {WORDS}: it has r1 and on"))
        })
    }

    fn tells(&self, word: &Name) -> Parsed<Tells> {
        match word.text.as_str() {
            "process" => Ok(Tells::Process),
            "thread" => Ok(Tells::Thread),
            other => {
                let message = format!("`{}` is not who is told when the data are here", show(other));
                Err(self.wrong(&word.span, message, "`process` or `thread`"))
            }
        }
    }

    fn label(&self, word: &Name) -> Parsed<u32> {
        self.labels.get(&word.text).map(|(step, _)| *step).ok_or_else(|| {
            let message = format!("there is no label `{}`", show(&word.text));
            let at = Location::new(self.source, word.span.clone());
            let meant = nearest(&word.text, self.labels.keys().map(String::as_str));
            let problem = Diagnostic::error(Kind::ThreadLabel, at, message);
            let problem = problem.expected(format!("a line that begins with `{}:`", show(&word.text)));
            Box::new(problem.maybe_help(meant.map(|label| format!("did you mean `{label}`?"))))
        })
    }
}

fn is_name(text: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.starts_with(|letter: char| letter.is_ascii_alphabetic()) && text.chars().all(is_part)
}

/// The number of a register that is written as `r7`.
fn register_number(text: &str) -> Option<u64> {
    text.strip_prefix('r').filter(|digits| digits.chars().all(|digit| digit.is_ascii_digit()))?.parse().ok()
}

fn number(text: &str) -> Option<u64> {
    match (text.strip_prefix("0x"), text.strip_prefix('-')) {
        (Some(digits), _) if !digits.starts_with('+') => u64::from_str_radix(digits, 16).ok(),
        (_, Some(_)) => text.parse::<i64>().ok().map(i64::cast_unsigned),
        _ if text.starts_with('+') => None,
        _ => text.parse().ok(),
    }
}

fn comparison(name: &str) -> Option<Comparison> {
    match name {
        "beq" => Some(Comparison::Equal),
        "bne" => Some(Comparison::NotEqual),
        "blt" => Some(Comparison::Less),
        "bge" => Some(Comparison::NotLess),
        _ => None,
    }
}

fn arithmetic(name: &str) -> Option<Arithmetic> {
    match name {
        "add" => Some(Arithmetic::Add),
        "sub" => Some(Arithmetic::Subtract),
        "mul" => Some(Arithmetic::Multiply),
        "and" => Some(Arithmetic::And),
        "or" => Some(Arithmetic::Or),
        "xor" => Some(Arithmetic::Xor),
        "shl" => Some(Arithmetic::Left),
        "shr" => Some(Arithmetic::Right),
        "min" => Some(Arithmetic::Min),
        "max" => Some(Arithmetic::Max),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<(&'static str, String, String)> {
        let problems = parse_program("test", text).expect_err("it is wrong");
        let of = |problem: &Diagnostic| {
            let at = problem.location.as_ref().map_or(0..0, |at| at.span.clone());
            (problem.code.id(), text[at].to_owned(), problem.message.clone())
        };
        problems.iter().map(of).collect()
    }

    #[test]
    fn programs_that_are_built_in_are_right_and_fit_the_instruction_cache() {
        for (name, _) in builtin_programs() {
            assert!((10..200).contains(&builtin_program(name).steps.len()), "{name}");
        }
    }

    /// Whatever becomes of the letters of a program, it is read or refused, and what is read jumps nowhere beyond its end.
    #[test]
    fn no_text_is_too_strange() {
        let mut chance = 1_u32;
        let mut below = |bound: usize| {
            chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (chance >> 8) as usize % bound
        };
        let mut read = 0;
        for round in 0..3_000 {
            let text = builtin_programs()[round % 3].1;
            let mut letters: Vec<char> = text.chars().collect();
            for _ in 0..below(4) {
                let (place, other) = (below(letters.len()), below(letters.len()));
                match below(3) {
                    0 => _ = letters.remove(place),
                    1 => letters[place] = letters[other],
                    _ => letters[place] = ['\u{e9}', ':', '0', ',', '\n', '\u{1f600}', '-'][below(7)],
                }
            }
            if let Ok(code) = parse_program("strange", &letters.into_iter().collect::<String>()) {
                read += 1;
                for Step { instruction, .. } in &code.steps {
                    if let Instruction::Jump(to) | Instruction::Branch { to, .. } = instruction {
                        assert!(*to as usize <= code.steps.len());
                    }
                }
            }
        }
        assert!((500..3_000).contains(&read), "{read}");
    }

    #[test]
    fn lines_become_steps() {
        let text = "name sum r20 # a sum\n\nanswers\nloop: wait\nadd sum, sum -1\nbne sum,0x10,loop\nload r1 r2\nsend r9, 2\n";
        let code = parse_program("test", text).unwrap_or_else(|problems| panic!("{problems}"));
        let register = |number| Register::new(number).expect("a register");
        let sum = register(20);
        let minus = Operand::Number(u64::MAX);
        let expected = [
            (4, Instruction::Act(Act::Wait)),
            (5, Instruction::Compute { how: Arithmetic::Add, to: sum, one: sum, two: minus }),
            (
                6,
                Instruction::Branch { when: Comparison::NotEqual, one: sum, two: Operand::Number(16), to: 0 },
            ),
            (7, Instruction::Load { to: register(1), at: register(2), offset: 0 }),
            (
                8,
                Instruction::Act(Act::Send {
                    node: register(9),
                    words: 2,
                    from: Register::ZERO,
                    bytes: Register::ZERO,
                }),
            ),
        ];
        assert!(code.answers);
        assert_eq!(code.steps, expected.map(|(line, instruction)| Step { instruction, line }));
    }

    #[test]
    fn all_mistakes_are_told_each_with_its_place() {
        let text = "a: wai\na: wait\nadd r1, r64, 0\nadd r1, r2\njump b\nsend r1, 7\nset r1, 99999999999999999999\n\
                    name r3 r4\nevent r1\ndma r1, r2, r3, r4, who\nwait r1\n";
        let expected = [
            ("FW-M075", "a:", "there is a label `a:` already"),
            ("FW-M075", "r3", "`r3` is no name for a register"),
            ("FW-M075", "wai", "`wai` is no instruction"),
            ("FW-M075", "r64", "`r64` is no register"),
            ("FW-M075", "add", "`add` lacks an operand"),
            ("FW-M076", "b", "there is no label `b`"),
            ("FW-M075", "7", "`7` is not how many words a message has"),
            ("FW-M075", "99999999999999999999", "`99999999999999999999` is no number of 64 bits"),
            ("FW-M075", "event", "`event` lacks an operand"),
            ("FW-M075", "who", "`who` is not who is told when the data are here"),
            ("FW-M075", "r1", "`r1` is too much"),
        ];
        let expected = expected.map(|(code, at, message)| (code, at.to_owned(), message.to_owned()));
        assert_eq!(problems(text), expected);
        assert_eq!(problems("# nothing\n")[0].2, "the program has 0 steps");
        assert_eq!(problems(&"wait\n".repeat(4097))[0].2, "the program has 4097 steps");
        let meant = parse_program("test", "loop: wait\njump lop").expect_err("no such label").to_string();
        assert!(meant.contains("did you mean `loop`?") && meant.contains("lop"), "{meant}");
    }
}
