//! GUIDs of InfiniBand, as text.

/// A GUID in hexadecimal, `0x` or not before it, up to what is no digit.
pub(crate) fn of(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let end = digits.find(|letter: char| !letter.is_ascii_hexdigit()).unwrap_or(digits.len());
    u64::from_str_radix(&digits[..end], 16).ok()
}
