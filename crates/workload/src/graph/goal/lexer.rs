//! Words, numbers and signs of one line of a GOAL file.

/// A token of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A letter, then letters, digits and underscores.
    Word(&'a [u8]),
    /// Digits.
    Number(&'a [u8]),
    /// `:`, `{`, `}`, `-` or anything else: one character.
    Sign(&'a [u8]),
    /// The end of the line.
    End,
}

impl<'a> Token<'a> {
    /// What was read; empty at the end of the line.
    pub(super) fn text(self) -> &'a [u8] {
        match self {
            Token::Word(text) | Token::Number(text) | Token::Sign(text) => text,
            Token::End => b"",
        }
    }

    pub(super) fn is_word(self, word: &str) -> bool {
        self == Token::Word(word.as_bytes())
    }

    pub(super) fn is_sign(self, sign: &str) -> bool {
        self == Token::Sign(sign.as_bytes())
    }
}

/// A token and where it begins in its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placed<'a> {
    pub(super) token: Token<'a>,
    pub(super) at: usize,
}

/// What a byte may be a part of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Digit,
    /// `_`, which stands in words and begins none.
    Mark,
    /// Anything else in ASCII.
    Other,
    Beyond,
}

/// By byte.
const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'A'..=b'Z' | b'a'..=b'z' => Class::Letter,
            b'0'..=b'9' => Class::Digit,
            b'_' => Class::Mark,
            0x80.. => Class::Beyond,
            _ => Class::Other,
        };
        byte += 1;
    }
    classes
};

#[inline(always)]
fn class(byte: u8) -> Class {
    CLASSES[usize::from(byte)]
}

/// Goes through a line.
#[derive(Clone, Debug)]
pub(super) struct Lexer<'a> {
    line: &'a [u8],
    at: usize,
    /// A `/*` has begun and not ended.
    in_comment: bool,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(line: &'a [u8], in_comment: bool) -> Self {
        Lexer { line, at: 0, in_comment }
    }

    /// True at the end of a line that leaves a comment open.
    pub(super) fn in_comment(&self) -> bool {
        self.in_comment
    }

    /// The next token, without taking it.
    pub(super) fn peek(&self) -> Placed<'a> {
        self.clone().next()
    }

    /// Takes the next token.
    pub(super) fn next(&mut self) -> Placed<'a> {
        self.skip();
        let at = self.at;
        let Some(&first) = self.line.get(at) else { return Placed { token: Token::End, at } };
        let token = match class(first) {
            Class::Letter => Token::Word(self.run(|class| class != Class::Other && class != Class::Beyond)),
            Class::Digit => Token::Number(self.run(|class| class == Class::Digit)),
            Class::Mark | Class::Other => Token::Sign(&self.line[at..=at]),
            // One character beyond ASCII, or bytes that are none.
            Class::Beyond => Token::Sign(self.run(|class| class == Class::Beyond)),
        };
        self.at += token.text().len();
        Placed { token, at }
    }

    /// The bytes from here on of classes that `belong` to the first one.
    #[inline(always)]
    fn run(&self, belong: impl Fn(Class) -> bool) -> &'a [u8] {
        let rest = &self.line[self.at..];
        let end = rest.iter().position(|&byte| !belong(class(byte)));
        &rest[..end.unwrap_or(rest.len())]
    }

    /// Skips white space and comments.
    #[inline(always)]
    fn skip(&mut self) {
        while let Some(&byte) = self.line.get(self.at) {
            if self.in_comment {
                let rest = &self.line[self.at..];
                let end = rest.windows(2).position(|pair| pair == b"*/");
                self.in_comment = end.is_none();
                self.at += end.map_or(rest.len(), |end| end + 2);
            } else if byte.is_ascii_whitespace() {
                self.at += 1;
            } else if byte == b'/' && self.line.get(self.at + 1) == Some(&b'/') {
                self.at = self.line.len();
            } else if byte == b'/' && self.line.get(self.at + 1) == Some(&b'*') {
                self.in_comment = true;
                self.at += 2;
            } else {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(line: &str) -> Vec<(&[u8], usize)> {
        let mut lexer = Lexer::new(line.as_bytes(), false);
        let mut tokens = Vec::new();
        loop {
            let Placed { token, at } = lexer.next();
            if token == Token::End {
                return tokens;
            }
            tokens.push((token.text(), at));
        }
    }

    #[test]
    fn a_line_is_words_numbers_and_signs() {
        let expected: Vec<(&[u8], usize)> =
            vec![(b"l_1", 1), (b":", 4), (b"send", 6), (b"4", 11), (b"b", 12), (b"-", 14), (b"1", 15)];
        assert_eq!(tokens(" l_1: send 4b -1 // to"), expected);
    }

    #[test]
    fn comments_go_on_to_the_next_line() {
        let expected: Vec<(&[u8], usize)> = vec![(b"a", 0), (b"b", 7)];
        assert_eq!(tokens("a /* */b /* c"), expected);
        let mut lexer = Lexer::new(b"c */ d", true);
        assert_eq!(lexer.next(), Placed { token: Token::Word(b"d"), at: 5 });
        let mut lexer = Lexer::new(b"a /*/", false);
        assert_eq!((lexer.next().token, lexer.next().token), (Token::Word(b"a"), Token::End));
        assert!(lexer.in_comment());
    }

    #[test]
    fn bytes_beyond_ascii_are_one_sign() {
        let expected: Vec<(&[u8], usize)> = vec![("é".as_bytes(), 0), (b"x", 2)];
        assert_eq!(tokens("éx"), expected);
    }
}
