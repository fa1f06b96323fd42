use super::*;
use crate::graph::{Event, RankId, Task, TaskId, Work};
use flate2::write::GzEncoder;
use flitway_engine::random::{Purpose, Stream};
use std::io::Write;

const GOOD: &str = "num_ranks 3

rank 0 {
l1: calc 1500
l2: send 8b to 1 tag 4 cpu 2 nic 1
l2 requires l1
send 5b to 2 // no label, no tag
}

/* a comment
   over lines */ rank 2 { recv 5b from -1 tag -1 }
rank 1 {\r
\tl2 irequires l1 /* before its definition */
\tl1 : recv 8 b from 0 nic 3 tag 4\r
  l2: calc 0 cpu 255 }
";

fn errors(text: &str) -> Vec<String> {
    let diagnostics = read(text.as_bytes()).expect_err("a mistake");
    diagnostics.list.iter().map(ToString::to_string).collect()
}

/// The mistakes of a body of rank 0 of 2, which begins in line 3.
fn body_errors(body: &str) -> Vec<String> {
    errors(&format!("num_ranks 2\nrank 0 {{\n{body}\n}}\nrank 1 {{\n}}\n"))
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn tags_of_many_digits_are_told_apart() {
    // The low 32 bits of both are the same.
    let [one, other] = [5_000_000_001_u64, 5_000_000_001 + (1 << 32)];
    let text = format!(
        "num_ranks 2\nrank 0 {{\nsend 1b to 1 tag {one}\n}}\nrank 1 {{\nrecv 1b from 0 tag {other}\n}}\n"
    );
    let graph = read(text.as_bytes()).unwrap();
    let tag_of = |rank| match graph.task(RankId(rank), TaskId(0)).work {
        Work::Send { tag, .. } => Some(tag),
        Work::Recv { tag, .. } => tag,
        Work::Calc { .. } => None,
    };
    assert_eq!((tag_of(0), tag_of(1)), (Some(one), Some(other)));
    let beyond = errors("num_ranks 2\nrank 0 {\nsend 4b to 1 tag 18446744073709551616\n}\nrank 1 { }");
    let expected = "line 3, column 18: 18446744073709551616 is too large: at most 18446744073709551615";
    assert_eq!(beyond, [expected]);
}

#[test]
fn no_mistake_follows_from_one_above_it() {
    let text = "num_ranks 1\nrank 0 {\na: calc 1000000000000001\nb: calk 1\nc: calc 1\nc requires a\nc requires b\n}\n";
    let mistakes = read(text.as_bytes()).unwrap_err();
    let lines: Vec<u32> = mistakes.list.iter().map(|mistake| mistake.span.line).collect();
    assert_eq!(lines, [3, 4], "{mistakes}");
}

#[test]
fn byte_order_marks_and_windows_line_ends_are_no_mistakes() {
    let text = "\u{feff}num_ranks 1\r\nrank 0 {\r\na: calc 1\r\nb: calc 1\r\nb requires a\r\n}\r\n";
    assert_eq!(read(text.as_bytes()).unwrap().tasks(), 2);
}

#[test]
fn all_of_the_grammar_is_read() {
    let graph = read(GOOD.as_bytes()).unwrap();
    assert_eq!((graph.ranks(), graph.tasks(), graph.dependencies()), (3, 6, 2));
    let task = |rank, task| graph.task(RankId(rank), TaskId(task));
    assert_eq!(task(0, 0), Task { work: Work::Calc { nanos: 1500 }, cpu: 0, nic: None });
    let send = Work::Send { to: RankId(1), bytes: 8, tag: 4 };
    assert_eq!(task(0, 1), Task { work: send, cpu: 2, nic: Some(1) });
    assert_eq!(task(0, 2).work, Work::Send { to: RankId(2), bytes: 5, tag: 0 });
    assert_eq!(task(2, 0).work, Work::Recv { from: None, bytes: 5, tag: None });
    let recv = Work::Recv { from: Some(RankId(0)), bytes: 8, tag: Some(4) };
    assert_eq!(task(1, 0), Task { work: recv, cpu: 0, nic: Some(3) });
    assert_eq!(task(1, 1), Task { work: Work::Calc { nanos: 0 }, cpu: 255, nic: None });
    assert_eq!(graph.dependents(RankId(0), TaskId(0)).collect::<Vec<_>>(), [(TaskId(1), Event::Completed)]);
    assert_eq!(graph.dependents(RankId(1), TaskId(0)).collect::<Vec<_>>(), [(TaskId(1), Event::Started)]);
    assert_eq!(graph.label(RankId(1), TaskId(0)), "l1");
    assert_eq!(graph.label(RankId(0), TaskId(2)), "#2");
}

#[test]
fn gzip_is_known_by_its_first_bytes() {
    let packed = gzip(GOOD.as_bytes());
    assert_eq!(read(&packed[..]).unwrap().tasks(), 6);
    let joined = [gzip(&GOOD.as_bytes()[..40]), gzip(&GOOD.as_bytes()[40..])].concat();
    assert_eq!(read(&joined[..]).unwrap().tasks(), 6);
    let cut = read(&packed[..packed.len() - 9]).unwrap_err();
    assert!(cut.list.iter().any(|diagnostic| diagnostic.problem.code() == "goal-unreadable"), "{cut}");
}

#[test]
fn every_mistake_has_its_message() {
    let cases = [
        ("l1: calc", "line 3, column 9: expected a time in nanoseconds, found the end of the line"),
        ("l1: calc x", "line 3, column 10: expected a time in nanoseconds, found `x`"),
        ("l1: calc 5 tag 3", "line 3, column 12: expected `cpu` or the end of the line, found `tag`"),
        ("l1: calc 5 ms", "line 3, column 12: expected `cpu` or the end of the line, found `ms`"),
        (
            "l1: calk 5",
            "line 3, column 5: expected `calc`, `send` or `recv`, found `calk`; did you mean `calc`?",
        ),
        ("calk 5", "line 3, column 1: expected `calc`, `send` or `recv`, found `calk`; did you mean `calc`?"),
        (
            "l1 calc 5",
            "line 3, column 4: expected `:`, `requires` or `irequires` after a label, found `calc`",
        ),
        (
            "l1 require l2",
            "line 3, column 4: expected `:`, `requires` or `irequires` after a label, found `require`; \
             did you mean `requires`?",
        ),
        (
            "l1: send 4 to 1",
            "line 3, column 12: expected `b` after the length 4, found `to`; write `4b`: lengths are in bytes",
        ),
        (
            "l1: send 4kb to 1",
            "line 3, column 11: expected `b` after the length 4, found `kb`; write `4b`: lengths are in bytes",
        ),
        ("send 4b from 1", "line 3, column 9: expected `to` and a rank, found `from`"),
        ("recv 4b to 1", "line 3, column 9: expected `from` and a rank, found `to`"),
        ("send 4b to 2", "line 3, column 12: rank 2 does not exist: `num_ranks` is 2; ranks are 0 to 1"),
        (
            "send 4b to -1",
            "line 3, column 12: a send cannot have -1; name the rank and the tag; only recv takes -1",
        ),
        (
            "send 4b to 1 tag -1",
            "line 3, column 12: a send cannot have -1; name the rank and the tag; only recv takes -1",
        ),
        ("recv 4b from -2", "line 3, column 15: expected `1` after `-`, found `2`"),
        ("send 4b to 1 tag 1 tag 2", "line 3, column 20: `tag` is given a second time"),
        (
            "calc 99999999999999999999",
            "line 3, column 6: 99999999999999999999 is too large: at most 1000000000000000; a calc is in nanoseconds, \
             and at most 11.6 days long",
        ),
        ("calc 5 cpu 256", "line 3, column 12: 256 is too large: at most 255"),
        ("l: calc 1\nl: calc 2", "line 4, column 1: label `l` is defined already, in line 3"),
        ("la: calc 1\nla requires lb", "line 4, column 13: this rank has no label `lb`; did you mean `la`?"),
        ("xyz requires la\nla: calc 1", "line 3, column 1: this rank has no label `xyz`"),
        (
            "l: calc 1\nl requires l",
            "line 2, column 1: tasks wait for each other in a circle: l -> l; take one of these dependencies away",
        ),
        (
            "l1: calc 1\n?",
            "line 4, column 1: expected a label, a task, `rank`, `num_ranks` or `}`, found `?`",
        ),
        ("é: calc 1", "line 3, column 1: expected a label, a task, `rank`, `num_ranks` or `}`, found `é`"),
        ("l1 requires 5", "line 3, column 13: expected a label, found `5`"),
        ("num_ranks 2", "line 3, column 1: `num_ranks` is given a second time"),
        ("l1: calc 5 }\n}", "line 4, column 1: a closing brace outside of a rank"),
        (
            "}\ncalc 5",
            "line 4, column 1: a task outside of a rank; put it between the braces of `rank N { }`",
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(body_errors(body)[0], expected, "{body}");
    }
}

#[test]
fn mistakes_of_the_frame_have_their_messages() {
    let cases = [
        (
            "",
            "line 1, column 1: `num_ranks` does not come before the first rank; begin the file with `num_ranks N`",
        ),
        (
            "rank 0 {\n}",
            "line 1, column 1: `num_ranks` does not come before the first rank; begin the file with `num_ranks N`",
        ),
        ("num_ranks 0", "line 1, column 11: a graph has one rank or more"),
        ("num_ranks", "line 1, column 10: expected the number of ranks, found the end of the line"),
        ("num_ranks 99999999", "line 1, column 11: 99999999 is too large: at most 16777216"),
        (
            "num_ranks 1\nrank 1 {\n}",
            "line 2, column 6: rank 1 does not exist: `num_ranks` is 1; ranks are 0 to 0",
        ),
        ("num_ranks 1\nrank 0 {\n}\nrank 0 {\n}", "line 4, column 6: rank 0 has a block already, in line 2"),
        (
            "num_ranks 8\nrank 2 {\n}",
            "line 3, column 1: 7 ranks have no block: 0, 1, 3, 4, 5, ...; a rank without tasks is `rank 0 { }`",
        ),
        ("num_ranks 1\nrank 0\n{\n}", "line 2, column 7: expected `{`, found the end of the line"),
        (
            "num_ranks 1\nrank 0 {\ncalc 5\n",
            "line 3, column 1: the block that begins in line 2 has no closing brace; end the block of line 2 with `}`",
        ),
        (
            "num_ranks 2\nrank 0 {\nrank 1 {\n}",
            "line 3, column 1: the block that begins in line 2 has no closing brace; end the block of line 2 with `}`",
        ),
        (
            "num_ranks 1\nrank 0 {\n} /* open",
            "line 3, column 1: the comment that begins in line 3 does not end; end it with `*/`",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(errors(text)[0], expected, "{text}");
    }
}

#[test]
fn all_mistakes_are_reported_in_order_and_the_list_is_cut() {
    let found = body_errors("calc x\nl1 requires l2\nsend 4 to 1\n");
    assert_eq!(found.len(), 4, "{found:?}");
    let starts: Vec<&str> = found.iter().map(|message| &message[..message.find(':').unwrap()]).collect();
    assert_eq!(starts, ["line 3, column 6", "line 4, column 1", "line 4, column 13", "line 5, column 8"]);
    let many = format!("num_ranks 1\nrank 0 {{\n{}}}", "calc x\n".repeat(50));
    let diagnostics = read(many.as_bytes()).unwrap_err();
    assert_eq!((diagnostics.list.len(), diagnostics.omitted), (MOST, 30));
}

#[test]
fn a_span_gives_the_bytes_that_are_wrong() {
    let text = "num_ranks 1\nrank 0 {\nl1: calc 5\n  l1 requires  lx\n}\n";
    let diagnostics = read(text.as_bytes()).unwrap_err();
    let Diagnostic { span, source_line, problem } = &diagnostics.list[0];
    let start = span.offset as usize;
    assert_eq!(&text[start..start + span.length as usize], "lx");
    assert_eq!(source_line, "  l1 requires  lx");
    assert_eq!(&source_line[span.column as usize - 1..], "lx");
    assert_eq!(problem.code(), "goal-unknown-label");
}

#[test]
fn every_code_is_documented_once() {
    let codes: Vec<&str> = Problem::KINDS.iter().map(|kind| kind.code).collect();
    let mut sorted = codes.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), codes.len());
    assert!(codes.contains(&Problem::StrayBrace.code()) && codes.contains(&Problem::WildcardSend.code()));
}

#[test]
fn a_line_without_end_is_refused_and_not_kept() {
    let text = vec![b'a'; (LONGEST_LINE + 5) as usize];
    let diagnostics = read(&text[..]).unwrap_err();
    assert_eq!(diagnostics.list[0].problem, Problem::LineTooLong);
    assert!(diagnostics.list[0].source_line.len() < 1_000);
}

#[test]
fn no_bytes_make_the_reader_panic() {
    let words: Vec<&[u8]> = vec![
        b"num_ranks",
        b"rank",
        b"calc",
        b"send",
        b"recv",
        b"requires",
        b"irequires",
        b"to",
        b"from",
        b"tag",
        b"cpu",
        b"nic",
        b"{",
        b"}",
        b":",
        b"-",
        b"1",
        b"0",
        b"4b",
        b"l1",
        b"l2",
        b"\n",
        b"\n",
        b" ",
        b"//",
        b"/*",
        b"*/",
        b"\xff",
        b"\0",
        "é".as_bytes(),
        b"99999999999999999999",
        b"\r\n",
    ];
    let mut read_well = 0;
    for seed in 0..4_000 {
        let mut stream = Stream::new(seed, 0, Purpose::Test);
        let mut text = GOOD.as_bytes().to_vec();
        for _ in 0..1 + stream.below(5) {
            let at = stream.below(text.len() as u64 + 1) as usize;
            let until = (at + stream.below(6) as usize).min(text.len());
            let word = words[stream.below(words.len() as u64) as usize];
            text.splice(at..until, word.iter().copied());
        }
        match read(&text[..]) {
            Ok(_) => read_well += 1,
            Err(diagnostics) => {
                assert!(!diagnostics.list.is_empty() && diagnostics.list.len() <= MOST);
                for diagnostic in &diagnostics.list {
                    let Span { offset, length, .. } = diagnostic.span;
                    assert!(offset + u64::from(length) <= text.len() as u64, "seed {seed}: {diagnostic:?}");
                    assert!(!diagnostic.to_string().is_empty());
                }
            }
        }
        let mut packed = gzip(&text);
        let at = stream.below(packed.len() as u64) as usize;
        packed[at] ^= 1 << stream.below(8);
        let _ = read(&packed[..]);
    }
    assert!(read_well > 10, "some changes leave a graph: {read_well}");
}

/// The recording of a real LAMMPS run: 234,581 lines.
#[test]
fn the_lammps_trace_is_read_whole() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces/lammps-lj-32.goal.gz");
    let Ok(file) = std::fs::read(path) else { return };
    let graph = read(&file[..]).unwrap();
    assert_eq!((graph.ranks(), graph.tasks(), graph.dependencies()), (32, 98_906, 135_578));
}
