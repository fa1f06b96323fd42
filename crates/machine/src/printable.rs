//! Text of others, made fit for a terminal: what would steer the terminal is shown as a symbol.

use std::borrow::Cow;

/// `text` with a symbol in the place of each control character but line ends and tabs, and of marks that turn the direction of
/// writing. Each takes one column, so that carets below it stay where they are.
///
/// ```
/// use flitway_machine::printable;
/// assert_eq!(printable("a\u{1b}[31mred\u{7}\n"), "a\u{241b}[31mred\u{2407}\n");
/// assert_eq!(printable("plain"), "plain");
/// ```
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    let steers = |letter: char| !matches!(letter, '\n' | '\t') && (letter.is_control() || turns(letter));
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|letter| if steers(letter) { symbol(letter) } else { letter }).collect())
}

/// The symbol that stands for a control character.
fn symbol(letter: char) -> char {
    match letter {
        '\u{0}'..='\u{1f}' => {
            char::from_u32(0x2400 + u32::from(letter)).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        '\u{7f}' => '\u{2421}',
        _ => char::REPLACEMENT_CHARACTER,
    }
}

/// Whether a character turns the direction of writing, so that what is read is not what is there.
fn turns(letter: char) -> bool {
    matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
}
