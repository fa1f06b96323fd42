//! Statements of a GOAL file, and what they add to the graph.

use super::diagnostic::{Diagnostic, Diagnostics, MOST, Problem, Span};
use super::labels::Labels;
use super::lexer::{Lexer, Placed, Token};
use crate::catalog::nearest;
use crate::graph::{Event, RankId, RankTasks, Task, TaskGraph, TaskId, Work};
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::num::NonZeroU32;

/// Largest calc: 11 days, in nanoseconds.
pub(super) const LONGEST_CALC: u64 = 1_000_000_000_000_000;
/// Largest message: a tebibyte.
const LARGEST_MESSAGE: u64 = 1 << 40;
/// Largest tag: generators of traces join channel, sequence and communicator as decimal digits.
const LARGEST_TAG: u64 = u64::MAX;
/// Most ranks.
const MOST_RANKS: u64 = 1 << 24;
/// How much of a line a diagnostic keeps.
const LINE_KEPT: usize = 300;
/// Labels among which the nearest is looked for.
const LABELS_SEARCHED: usize = 5_000;
/// Labels of a circle that are listed.
const CYCLE_LISTED: usize = 12;

const TASK: &str = "`calc`, `send` or `recv`";
const STATEMENT: &str = "`:`, `requires` or `irequires` after a label";

/// What has been read so far.
#[derive(Debug, Default)]
pub(super) struct Reader {
    ranks: Option<u32>,
    blocks: BTreeMap<u32, (u32, RankTasks)>,
    block: Option<Block>,
    /// The line in which an open comment began.
    comment: Option<u32>,
    line: u32,
    offset: u64,
    diagnostics: Vec<Diagnostic>,
    omitted: u64,
    /// Whether what is missing was not looked for.
    is_over: bool,
}

/// The block that is being read.
#[derive(Debug)]
struct Block {
    /// The rank; `None` for a block that is read for its mistakes only.
    rank: Option<u32>,
    opened: Origin,
    tasks: RankTasks,
    labels: Labels,
    /// Labels of tasks that are wrong, of which that is said.
    broken: HashSet<Box<[u8]>>,
    /// Dependencies of which a label has not been defined so far.
    open: Vec<OpenDependency>,
}

/// A dependency that waits for the definition of a label.
#[derive(Debug)]
struct OpenDependency {
    origin: Origin,
    dependent: Box<[u8]>,
    prerequisite: Box<[u8]>,
    /// Where the second label stands, relative to the first.
    distance: u32,
    event: Event,
}

/// Where something was read that is looked at again later.
#[derive(Clone, Debug, Default)]
struct Origin {
    span: Span,
    source_line: Box<str>,
}

impl Default for Span {
    fn default() -> Self {
        Span { offset: 0, line: 1, column: 1, length: 0 }
    }
}

/// A mistake in the line being read.
struct Mistake {
    at: usize,
    length: usize,
    problem: Problem,
}

type Parsed<T> = Result<T, Mistake>;

/// The line being read.
struct Line<'a> {
    lexer: Lexer<'a>,
    text: &'a [u8],
}

impl Mistake {
    fn new(place: Placed<'_>, problem: Problem) -> Self {
        Mistake { at: place.at, length: place.token.text().len(), problem }
    }

    fn unexpected(place: Placed<'_>, expected: &'static str) -> Self {
        Mistake::new(place, Problem::Unexpected { read: lossy(place.token.text()), expected })
    }
}

impl<'a> Line<'a> {
    fn next(&mut self) -> Placed<'a> {
        self.lexer.next()
    }

    fn expect_word(&mut self, word: &'static str, expected: &'static str) -> Parsed<()> {
        let next = self.next();
        if next.token.is_word(word) { Ok(()) } else { Err(Mistake::unexpected(next, expected)) }
    }

    /// A number of at most `largest`.
    fn number(&mut self, expected: &'static str, largest: u64) -> Parsed<(u64, Placed<'a>)> {
        let next = self.next();
        let Token::Number(digits) = next.token else { return Err(Mistake::unexpected(next, expected)) };
        let add = |value: u64, digit: &u8| value.checked_mul(10)?.checked_add(u64::from(digit - b'0'));
        match digits.iter().try_fold(0, add).filter(|&value| value <= largest) {
            Some(value) => Ok((value, next)),
            None => Err(Mistake::new(next, Problem::Overflow { read: lossy(digits), largest })),
        }
    }

    /// A number, or `-1`.
    fn number_or_any(&mut self, expected: &'static str, largest: u64) -> Parsed<(Option<u64>, Placed<'a>)> {
        let first = self.lexer.peek();
        if !first.token.is_sign("-") {
            return self.number(expected, largest).map(|(value, place)| (Some(value), place));
        }
        self.next();
        let next = self.next();
        if next.token == Token::Number(b"1") {
            Ok((None, first))
        } else {
            Err(Mistake::unexpected(next, "`1` after `-`"))
        }
    }
}

fn lossy(text: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(text).into_owned();
    if text.chars().count() > 40 {
        text = text.chars().take(40).chain("...".chars()).collect();
    }
    text
}

impl Reader {
    /// Reads one line, its end included.
    pub(super) fn line(&mut self, bytes: &[u8]) {
        self.line = self.line.saturating_add(1);
        let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let was_in_comment = self.comment.is_some();
        let mut line = Line { lexer: Lexer::new(text, was_in_comment), text };
        if let Err(mistake) = self.statements(&mut line) {
            self.report(text, mistake);
            // What is left of the line is not read, but may open or close a comment.
            while line.next().token != Token::End {}
        }
        if !line.lexer.in_comment() {
            self.comment = None;
        } else if !was_in_comment || self.comment.is_none() {
            self.comment = Some(self.line);
        }
        self.offset += bytes.len() as u64;
    }

    /// All statements of a line: one, unless braces stand before or behind it.
    fn statements(&mut self, line: &mut Line<'_>) -> Parsed<()> {
        loop {
            let first = line.next();
            match first.token {
                Token::End => return Ok(()),
                Token::Word(b"num_ranks") => self.num_ranks(first, line)?,
                Token::Word(b"rank") => {
                    self.open_block(first, line)?;
                    continue;
                }
                Token::Sign(b"}") => {
                    let block = self.block.take().ok_or_else(|| Mistake::new(first, Problem::StrayBrace))?;
                    self.close_block(block);
                    continue;
                }
                Token::Word(_) => self.statement(first, line)?,
                Token::Number(_) | Token::Sign(_) => {
                    return Err(Mistake::unexpected(first, "a label, a task, `rank`, `num_ranks` or `}`"));
                }
            }
            let end = line.lexer.peek();
            if end.token != Token::End && !end.token.is_sign("}") {
                return Err(Mistake::unexpected(end, "the end of the statement"));
            }
        }
    }

    fn num_ranks(&mut self, first: Placed<'_>, line: &mut Line<'_>) -> Parsed<()> {
        let repeated = self.ranks.is_some();
        // A wrong number is reported here; nothing is out of range of it.
        self.ranks.get_or_insert(u32::MAX);
        let (ranks, place) = line.number("the number of ranks", MOST_RANKS)?;
        if repeated {
            return Err(Mistake::new(first, Problem::RepeatedNumRanks));
        }
        if ranks == 0 {
            return Err(Mistake::new(place, Problem::NoRanks));
        }
        self.ranks = Some(ranks as u32);
        Ok(())
    }

    fn open_block(&mut self, first: Placed<'_>, line: &mut Line<'_>) -> Parsed<()> {
        if let Some(block) = self.block.take() {
            let problem = Problem::MissingBrace { opened: block.opened.span.line };
            self.report(line.text, Mistake::new(first, problem));
            self.close_block(block);
        }
        let opened = self.origin(line.text, first);
        // Even if the header is wrong its block is read, for its mistakes.
        let block = self.block.insert(Block {
            rank: None,
            opened,
            tasks: RankTasks::default(),
            labels: Labels::default(),
            broken: HashSet::new(),
            open: Vec::new(),
        });
        let (rank, place) = line.number("the number of a rank", u64::from(u32::MAX))?;
        let brace = line.next();
        if !brace.token.is_sign("{") {
            return Err(Mistake::unexpected(brace, "`{`"));
        }
        let Some(ranks) = self.ranks else {
            // Said once.
            self.ranks = Some(u32::MAX);
            return Err(Mistake::new(first, Problem::MissingNumRanks));
        };
        let rank = in_range(rank, ranks, place)?.0;
        if let Some((first_line, _)) = self.blocks.get(&rank) {
            let problem = Problem::RepeatedRank { rank, first_line: *first_line };
            return Err(Mistake::new(place, problem));
        }
        block.rank = Some(rank);
        Ok(())
    }

    fn close_block(&mut self, mut block: Block) {
        for open in std::mem::take(&mut block.open) {
            self.resolve(&mut block, open);
        }
        if let Some(cycle) = block.tasks.find_cycle() {
            let label = |&task: &TaskId| match block.tasks.label(task) {
                "" => format!("#{task}"),
                label => label.to_owned(),
            };
            let labels = cycle.iter().take(CYCLE_LISTED).map(label).collect();
            self.report_at(&block.opened, Problem::Cycle { labels, length: cycle.len() });
        }
        if let Some(rank) = block.rank {
            self.blocks.insert(rank, (block.opened.span.line, block.tasks));
        }
    }

    /// A dependency whose labels should be known now.
    fn resolve(&mut self, block: &mut Block, open: OpenDependency) {
        let tasks = (block.labels.task(&open.dependent), block.labels.task(&open.prerequisite));
        if let (Some(dependent), Some(prerequisite)) = tasks {
            block.tasks.depend(dependent, prerequisite, open.event);
            return;
        }
        let unknown = [(tasks.0, &open.dependent, 0), (tasks.1, &open.prerequisite, open.distance)];
        let is_said = |label: &[u8]| block.broken.contains(label);
        let unknown = unknown.into_iter().filter(|(task, label, _)| task.is_none() && !is_said(label));
        for (_, label, distance) in unknown.collect::<Vec<_>>() {
            let mut origin = open.origin.clone();
            origin.span.offset += u64::from(distance);
            origin.span.column += distance;
            origin.span.length = label.len() as u32;
            let label = lossy(label);
            let nearest = self.nearest_label(block, &label);
            self.report_at(&origin, Problem::UnknownLabel { label, nearest });
        }
    }

    fn nearest_label(&self, block: &Block, read: &str) -> Option<String> {
        if self.diagnostics.len() >= MOST || block.tasks.len() > LABELS_SEARCHED {
            return None;
        }
        let labels = (0..block.tasks.len()).map(|task| block.tasks.label(TaskId::new(task)));
        nearest(read, labels.filter(|label| !label.is_empty())).map(str::to_owned)
    }

    /// A task, with or without label, or a dependency.
    fn statement(&mut self, first: Placed<'_>, line: &mut Line<'_>) -> Parsed<()> {
        if self.block.is_none() {
            return Err(Mistake::new(first, Problem::OutsideRank));
        }
        if let Token::Word(b"calc" | b"send" | b"recv") = first.token {
            return self.task(first, None, line);
        }
        let next = line.next();
        match next.token {
            Token::Sign(b":") => {
                let kind = line.next();
                match kind.token {
                    Token::Word(b"calc" | b"send" | b"recv") => self.task(kind, Some(first), line),
                    _ => {
                        if let Some(block) = &mut self.block {
                            block.broken.insert(first.token.text().into());
                        }
                        Err(unknown_word(kind, TASK, &["calc", "send", "recv"]))
                    }
                }
            }
            Token::Word(b"requires") => self.dependency(first, Event::Completed, line),
            Token::Word(b"irequires") => self.dependency(first, Event::Started, line),
            // `calk 5`: a misspelt task; `l1 require l2`: a misspelt dependency.
            Token::Number(_) => {
                Err(unknown_word(first, TASK, &["calc", "send", "recv", "rank", "num_ranks"]))
            }
            _ => Err(unknown_word(next, STATEMENT, &["requires", "irequires"])),
        }
    }

    fn task(&mut self, kind: Placed<'_>, label: Option<Placed<'_>>, line: &mut Line<'_>) -> Parsed<()> {
        let read = self.read_task(kind, label, line);
        if let (Err(_), Some(label), Some(block)) = (&read, label, &mut self.block) {
            block.broken.insert(label.token.text().into());
        }
        read
    }

    fn read_task(&mut self, kind: Placed<'_>, label: Option<Placed<'_>>, line: &mut Line<'_>) -> Parsed<()> {
        let task = match kind.token {
            Token::Word(b"calc") => {
                let (nanos, _) = line.number("a time in nanoseconds", LONGEST_CALC)?;
                let options = options(line, &["cpu"])?;
                Task { work: Work::Calc { nanos }, cpu: options.cpu, nic: None }
            }
            Token::Word(b"send") => self.message(Direction::Send, line)?,
            _ => self.message(Direction::Recv, line)?,
        };
        let text = label.map_or(&b""[..], |label| label.token.text());
        let now = NonZeroU32::new(self.line).unwrap_or(NonZeroU32::MIN);
        let Some(block) = &mut self.block else { return Ok(()) };
        if let (Some(label), Some((_, first_line))) = (label, block.labels.get(text)) {
            let problem = Problem::DuplicateLabel { label: lossy(text), first_line: first_line.get() };
            return Err(Mistake::new(label, problem));
        }
        // Labels are ASCII by grammar.
        let id = block.tasks.add(task, std::str::from_utf8(text).unwrap_or(""));
        let id = id.ok_or_else(|| Mistake::new(kind, Problem::TooManyTasks))?;
        if label.is_some() {
            block.labels.define(text, id, now);
        }
        Ok(())
    }

    /// What follows `send` or `recv`.
    fn message(&self, direction: Direction, line: &mut Line<'_>) -> Parsed<Task> {
        let (bytes, number) = line.number("a length in bytes, such as `8b`", LARGEST_MESSAGE)?;
        let unit = line.next();
        if !unit.token.is_word("b") {
            let number = lossy(number.token.text());
            return Err(Mistake::new(unit, Problem::MissingUnit { number, read: lossy(unit.token.text()) }));
        }
        match direction {
            Direction::Send => line.expect_word("to", "`to` and a rank")?,
            Direction::Recv => line.expect_word("from", "`from` and a rank")?,
        }
        let (peer, place) = line.number_or_any("a rank", u64::from(u32::MAX))?;
        let ranks = self.ranks.unwrap_or(u32::MAX);
        let peer = peer.map(|peer| in_range(peer, ranks, place)).transpose()?;
        let options = options(line, &["tag", "cpu", "nic"])?;
        let work = match direction {
            Direction::Recv => Work::Recv { from: peer, bytes, tag: options.tag },
            Direction::Send => match (peer, options.tag) {
                (Some(to), Some(tag)) => Work::Send { to, bytes, tag },
                _ => return Err(Mistake::new(place, Problem::WildcardSend)),
            },
        };
        Ok(Task { work, cpu: options.cpu, nic: options.nic })
    }

    fn dependency(&mut self, dependent: Placed<'_>, event: Event, line: &mut Line<'_>) -> Parsed<()> {
        let prerequisite = line.next();
        let Token::Word(on) = prerequisite.token else {
            return Err(Mistake::unexpected(prerequisite, "a label"));
        };
        let Some(block) = &mut self.block else { return Ok(()) };
        let first = dependent.token.text();
        if let (Some(task), Some(on)) = (block.labels.task(first), block.labels.task(on)) {
            block.tasks.depend(task, on, event);
            return Ok(());
        }
        let open = OpenDependency {
            origin: self.origin(line.text, dependent),
            dependent: first.into(),
            prerequisite: on.into(),
            distance: (prerequisite.at - dependent.at) as u32,
            event,
        };
        if let Some(block) = &mut self.block {
            block.open.push(open);
        }
        Ok(())
    }

    fn origin(&self, text: &[u8], place: Placed<'_>) -> Origin {
        self.origin_at(text, place.at, place.token.text().len())
    }

    fn origin_at(&self, text: &[u8], at: usize, length: usize) -> Origin {
        let span = Span {
            offset: self.offset + at as u64,
            line: self.line,
            column: at as u32 + 1,
            length: length as u32,
        };
        let kept = &text[..text.len().min(LINE_KEPT)];
        Origin { span, source_line: String::from_utf8_lossy(kept).trim_end().into() }
    }

    fn report(&mut self, text: &[u8], mistake: Mistake) {
        let origin = self.origin_at(text, mistake.at, mistake.length);
        self.report_at(&origin, mistake.problem);
    }

    fn report_at(&mut self, origin: &Origin, problem: Problem) {
        if self.diagnostics.len() == MOST {
            self.omitted += 1;
            return;
        }
        let source_line = origin.source_line.to_string();
        self.diagnostics.push(Diagnostic { span: origin.span, source_line, problem });
    }

    /// The input fails.
    pub(super) fn unreadable(&mut self, error: &io::Error) {
        let reason = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the gzip data is cut off".to_owned(),
            _ => error.to_string(),
        };
        self.at_end(Problem::Unreadable { reason });
        self.is_over = true;
    }

    /// The file is of another format: nothing else is wrong with it.
    pub(super) fn foreign(&mut self, problem: Problem) {
        self.at_end(problem);
        self.is_over = true;
    }

    /// A line is longer than any line of a GOAL file.
    pub(super) fn line_too_long(&mut self, text: &[u8]) {
        self.line = self.line.saturating_add(1);
        self.report(text, Mistake { at: 0, length: 0, problem: Problem::LineTooLong });
    }

    fn at_end(&mut self, problem: Problem) {
        let span = Span { offset: self.offset, line: self.line.max(1), column: 1, length: 0 };
        self.report_at(&Origin { span, source_line: "".into() }, problem);
    }

    /// The graph, or all that is wrong.
    pub(super) fn finish(mut self) -> Result<TaskGraph, Diagnostics> {
        if let Some(opened) = self.comment {
            self.at_end(Problem::OpenComment { opened });
        }
        if let Some(block) = self.block.take() {
            self.at_end(Problem::MissingBrace { opened: block.opened.span.line });
            self.close_block(block);
        }
        if self.ranks.is_none() && !self.is_over {
            self.at_end(Problem::MissingNumRanks);
        }
        // After another mistake a missing block is most likely its consequence.
        if self.diagnostics.is_empty() {
            self.check_ranks();
        }
        if self.diagnostics.is_empty() {
            let ranks = std::mem::take(&mut self.blocks).into_values().map(|(_, tasks)| tasks).collect();
            // Peers and cycles have been checked with their lines.
            match TaskGraph::new(ranks) {
                Ok(graph) => return Ok(graph),
                Err(error) => self.at_end(Problem::Unreadable { reason: error.to_string() }),
            }
        }
        self.diagnostics.sort_by_key(|diagnostic| diagnostic.span);
        Err(Diagnostics { list: self.diagnostics, omitted: self.omitted })
    }

    fn check_ranks(&mut self) {
        let ranks = self.ranks.unwrap_or(0);
        let count = ranks - self.blocks.len() as u32;
        if count > 0 {
            let first = (0..ranks).filter(|rank| !self.blocks.contains_key(rank)).take(5).collect();
            self.at_end(Problem::MissingRanks { first, count });
        }
    }
}

#[derive(Clone, Copy)]
enum Direction {
    Send,
    Recv,
}

fn in_range(rank: u64, ranks: u32, place: Placed<'_>) -> Parsed<RankId> {
    match u32::try_from(rank).ok().filter(|&rank| rank < ranks) {
        Some(rank) => Ok(RankId(rank)),
        None => Err(Mistake::new(place, Problem::RankOutOfRange { rank, ranks })),
    }
}

fn unknown_word(place: Placed<'_>, expected: &'static str, known: &[&'static str]) -> Mistake {
    let read = lossy(place.token.text());
    let known: Option<&'static str> = match place.token {
        Token::Word(_) => nearest_word(&read, known),
        _ => None,
    };
    Mistake::new(place, Problem::UnknownWord { read, expected, nearest: known })
}

fn nearest_word(read: &str, known: &[&'static str]) -> Option<&'static str> {
    let found = nearest(read, known.iter().copied())?;
    known.iter().copied().find(|&word| word == found)
}

/// What may follow a task.
struct Options {
    /// `None` for any.
    tag: Option<u64>,
    cpu: u8,
    nic: Option<u8>,
}

/// Reads options up to the end of the statement.
fn options(line: &mut Line<'_>, allowed: &[&'static str]) -> Parsed<Options> {
    let mut options = Options { tag: Some(0), cpu: 0, nic: None };
    let mut seen = [false; 3];
    loop {
        let next = line.lexer.peek();
        if next.token == Token::End || next.token.is_sign("}") {
            return Ok(options);
        }
        let Some(place) = allowed.iter().position(|option| next.token.is_word(option)) else {
            let expected = if allowed.len() == 1 {
                "`cpu` or the end of the line"
            } else {
                "`tag`, `cpu`, `nic` or the end of the line"
            };
            return Err(unknown_word(next, expected, allowed));
        };
        line.next();
        let option = allowed[place];
        if std::mem::replace(&mut seen[place], true) {
            return Err(Mistake::new(next, Problem::RepeatedOption { option }));
        }
        match option {
            "tag" => {
                let (tag, _) = line.number_or_any("a tag", LARGEST_TAG)?;
                options.tag = tag;
            }
            "cpu" => options.cpu = line.number("the number of a cpu", 255)?.0 as u8,
            _ => options.nic = Some(line.number("the number of a NIC", 255)?.0 as u8),
        }
    }
}
