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
        let rest = &self.line[at..];
        let length = |test: fn(&u8) -> bool| rest.iter().take_while(|byte| test(byte)).count();
        let token = match rest.first() {
            None => Token::End,
            Some(byte) if byte.is_ascii_alphabetic() => {
                Token::Word(&rest[..length(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')])
            }
            Some(byte) if byte.is_ascii_digit() => Token::Number(&rest[..length(u8::is_ascii_digit)]),
            Some(byte) if byte.is_ascii() => Token::Sign(&rest[..1]),
            // One character beyond ASCII, or bytes that are none.
            Some(_) => Token::Sign(&rest[..length(|byte| !byte.is_ascii())]),
        };
        self.at += token.text().len();
        Placed { token, at }
    }

    /// Skips white space and comments.
    fn skip(&mut self) {
        loop {
            let rest = &self.line[self.at..];
            if self.in_comment {
                let end = rest.windows(2).position(|pair| pair == b"*/");
                self.in_comment = end.is_none();
                self.at += end.map_or(rest.len(), |end| end + 2);
            } else if rest.starts_with(b"//") {
                self.at = self.line.len();
            } else if rest.starts_with(b"/*") {
                self.in_comment = true;
                self.at += 2;
            } else if rest.first().is_some_and(u8::is_ascii_whitespace) {
                self.at += 1;
            } else {
                return;
            }
            if self.at == self.line.len() {
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
