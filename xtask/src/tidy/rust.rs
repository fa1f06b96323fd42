//! Just enough of Rust's grammar: which part of a line is code, which is comment, and what is test code.

/// A line of Rust.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// Its code; what strings and characters hold is blanked.
    pub(super) code: String,
    /// Its comments, with their slashes.
    pub(super) comment: String,
    /// Whether it belongs to an item under `#[cfg(test)]`.
    pub(super) is_test: bool,
}

/// What the scanner is inside of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Code,
    LineComment,
    /// With its depth: block comments nest.
    BlockComment(u32),
    String,
    /// With its number of `#`.
    RawString(usize),
}

/// The lines of `text`.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let mut state = State::Code;
    let mut lines = Vec::new();
    for text in text.lines() {
        let mut line = Line::default();
        state = scan(text, state, &mut line);
        if state == State::LineComment {
            state = State::Code;
        }
        lines.push(line);
    }
    mark_tests(&mut lines);
    lines
}

/// Scans one line from `state`; returns the state at its end.
fn scan(text: &str, mut state: State, line: &mut Line) -> State {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let taken;
        (state, taken) = match state {
            State::Code => code(rest, line),
            State::LineComment => {
                line.comment.push_str(rest);
                (state, rest.len())
            }
            State::BlockComment(depth) => block_comment(rest, depth, line),
            State::String => match first {
                '\\' => (state, 1 + rest[1..].chars().next().map_or(0, char::len_utf8)),
                '"' => {
                    line.code.push('"');
                    (State::Code, 1)
                }
                _ => (state, first.len_utf8()),
            },
            State::RawString(hashes) => {
                let closes =
                    first == '"' && rest[1..].bytes().take_while(|&byte| byte == b'#').count() >= hashes;
                if closes {
                    line.code.push('"');
                    (State::Code, 1 + hashes)
                } else {
                    (state, first.len_utf8())
                }
            }
        };
        rest = &rest[taken..];
    }
    state
}

/// At the start of `rest` is code: the next state, and the bytes taken.
fn code(rest: &str, line: &mut Line) -> (State, usize) {
    let first = rest.chars().next().unwrap_or_default();
    if rest.starts_with("//") {
        return (State::LineComment, 0);
    }
    if rest.starts_with("/*") {
        line.comment.push_str("/*");
        return (State::BlockComment(1), 2);
    }
    let after_word = line.code.chars().next_back().is_some_and(|last| last.is_alphanumeric() || last == '_');
    if let Some((hashes, length)) = raw_string(rest).filter(|_| !after_word) {
        line.code.push('"');
        return (State::RawString(hashes), length);
    }
    match first {
        '"' => {
            line.code.push('"');
            (State::String, 1)
        }
        '\'' => {
            line.code.push('\'');
            (State::Code, character(rest).unwrap_or(1))
        }
        _ => {
            line.code.push(first);
            (State::Code, first.len_utf8())
        }
    }
}

fn block_comment(rest: &str, depth: u32, line: &mut Line) -> (State, usize) {
    let ends = rest.starts_with("*/");
    if ends || rest.starts_with("/*") {
        line.comment.push_str(&rest[..2]);
        return match (ends, depth) {
            (true, 1) => (State::Code, 2),
            (true, _) => (State::BlockComment(depth - 1), 2),
            (false, _) => (State::BlockComment(depth + 1), 2),
        };
    }
    let first = rest.chars().next().unwrap_or_default();
    line.comment.push(first);
    (State::BlockComment(depth), first.len_utf8())
}

/// The `#` and the length of the opening of a raw string: `r"`, `r#"`, `br##"`.
fn raw_string(rest: &str) -> Option<(usize, usize)> {
    let after = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let hashes = after.bytes().take_while(|&byte| byte == b'#').count();
    after[hashes..].starts_with('"').then(|| (hashes, rest.len() - after.len() + hashes + 1))
}

/// The length of a character literal; `None` if it is a lifetime.
fn character(rest: &str) -> Option<usize> {
    let inside = &rest[1..];
    if let Some(escaped) = inside.strip_prefix('\\') {
        let skipped = escaped.chars().next()?.len_utf8();
        return escaped[skipped..].find('\'').map(|end| 2 + skipped + end + 1);
    }
    let length = inside.chars().next()?.len_utf8();
    inside[length..].starts_with('\'').then_some(length + 2)
}

/// Marks the items that stand under `#[cfg(test)]`.
fn mark_tests(lines: &mut [Line]) {
    /// Where the scan is.
    enum Place {
        Outside,
        /// Behind the attribute, before the item's block or semicolon.
        Before,
        /// In the item, so many braces deep.
        Inside(u32),
    }
    let mut place = Place::Outside;
    for line in lines {
        if matches!(place, Place::Outside) && line.code.contains("#[cfg(test)]") {
            place = Place::Before;
        }
        line.is_test = !matches!(place, Place::Outside);
        for letter in line.code.chars() {
            place = match (place, letter) {
                (Place::Before, '{') => Place::Inside(1),
                (Place::Before, ';') | (Place::Inside(1), '}') => Place::Outside,
                (Place::Inside(depth), '{') => Place::Inside(depth + 1),
                (Place::Inside(depth), '}') => Place::Inside(depth - 1),
                (place, _) => place,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(text: &str) -> Vec<String> {
        lines(text).into_iter().map(|line| line.code).collect()
    }

    #[test]
    fn strings_are_blanked_and_comments_are_apart() {
        let found = lines("let a = \"// no \\\" comment\"; // but this\n/* two\n /* nested */ lines */ x();");
        assert_eq!(found[0].code, "let a = \"\"; ");
        assert_eq!(found[0].comment, "// but this");
        assert_eq!((found[1].code.as_str(), found[1].comment.as_str()), ("", "/* two"));
        assert_eq!((found[2].code.as_str(), found[2].comment.as_str()), (" x();", " /* nested */ lines */"));
    }

    #[test]
    fn strings_go_over_lines_and_raw_ones_end_with_their_hashes() {
        assert_eq!(code_of("f(\"a\n// b\", c)"), ["f(\"", "\", c)"]);
        assert_eq!(code_of("f(r#\"a \" // b\"#, c)"), ["f(\"\", c)"]);
        assert_eq!(code_of("f(br\"\\\", c)"), ["f(\"\", c)"]);
        assert_eq!(code_of("for r in 0..1 { bar\"\" }"), ["for r in 0..1 { bar\"\" }"]);
    }

    #[test]
    fn characters_are_no_strings_and_lifetimes_are_no_characters() {
        assert_eq!(code_of("x('\"', '\\'', '\\u{1f600}', 'é') // c"), ["x(', ', ', ') "]);
        assert_eq!(
            code_of("fn f<'a>(x: &'a str) -> &'static str { \"//\" }"),
            ["fn f<'a>(x: &'a str) -> &'static str { \"\" }"]
        );
    }

    #[test]
    fn items_under_cfg_test_are_test_code() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n  fn b() { 1 }\n}\nfn c() {}\n#[cfg(test)]\nmod d;\nfn e() {}";
        let tests: Vec<bool> = lines(text).iter().map(|line| line.is_test).collect();
        assert_eq!(tests, [false, true, true, true, true, false, true, true, false]);
    }
}
