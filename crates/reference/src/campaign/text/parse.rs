//! From text to trees.

use super::{Brackets, Tree};

/// The fields that stand one below the other in `text`.
pub(super) fn fields(text: &str) -> Result<Tree, String> {
    let mut parser = Parser { text, at: 0 };
    let items = parser.items(Brackets::Braces, None)?;
    Ok(Tree { name: String::new(), brackets: Brackets::Braces, items })
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    /// What comes after white space and remarks.
    fn rest(&mut self) -> &'a str {
        loop {
            let rest = self.text[self.at..].trim_start();
            self.at = self.text.len() - rest.len();
            if !rest.starts_with('#') {
                return rest;
            }
            self.at += rest.find('\n').unwrap_or(rest.len());
        }
    }

    fn takes(&mut self, sign: &str) -> bool {
        let is_next = self.rest().starts_with(sign);
        self.at += if is_next { sign.len() } else { 0 };
        is_next
    }

    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_alphanumeric() && !"_-".contains(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn expected(&self, what: &str) -> String {
        format!("line {}: {what} is expected", 1 + self.text[..self.at].matches('\n').count())
    }

    fn value(&mut self) -> Result<Tree, String> {
        let name = self.word().to_owned();
        for brackets in [Brackets::Parentheses, Brackets::Braces, Brackets::Square] {
            let (opening, closing) = brackets.signs();
            if self.takes(opening) {
                return Ok(Tree { name, brackets, items: self.items(brackets, Some(closing))? });
            }
        }
        if name.is_empty() { Err(self.expected("a value")) } else { Ok(Tree::word(name)) }
    }

    /// Items up to `end`, or up to the end of the text.
    fn items(&mut self, brackets: Brackets, end: Option<&str>) -> Result<Vec<(String, Tree)>, String> {
        let mut items = Vec::new();
        loop {
            match (self.rest().is_empty(), end) {
                (true, None) => return Ok(items),
                (true, Some(end)) => return Err(format!("the text ends before `{end}`")),
                (false, Some(end)) if self.takes(end) => return Ok(items),
                (false, _) => {}
            }
            let mut field = "";
            if brackets == Brackets::Braces {
                field = self.word();
                if !self.takes(":") {
                    return Err(self.expected("`:`"));
                }
            }
            items.push((field.to_owned(), self.value()?));
            self.takes(",");
        }
    }
}
