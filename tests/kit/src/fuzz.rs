//! Readers under random text: every case follows from its number.

use flitway_engine::random::Stream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Runs the first `cases` cases, those of `FLITWAY_FUZZ_SECONDS` seconds, or the one of `FLITWAY_FUZZ_CASE`.
///
/// # Panics
/// If a case does; says its number.
pub fn run(cases: u64, run: impl Fn(u64)) {
    let from = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    if let Some(number) = from("FLITWAY_FUZZ_CASE") {
        return run(number);
    }
    let limit = from("FLITWAY_FUZZ_SECONDS").map(Duration::from_secs);
    let start = Instant::now();
    let mut number = 0;
    while limit.map_or(number < cases, |limit| start.elapsed() < limit) {
        let outcome = catch_unwind(AssertUnwindSafe(|| run(number)));
        assert!(outcome.is_ok(), "repeat with FLITWAY_FUZZ_CASE={number}");
        number += 1;
    }
}

/// One of `list`.
pub fn pick<'a>(random: &mut Stream, list: &[&'a str]) -> &'a str {
    list[random.below(list.len() as u64) as usize]
}

/// Damages `text` in one place, with one of `pieces` or without: what a slip of a person, or of a program, could do.
pub fn damage(text: &mut String, pieces: &[&str], random: &mut Stream) {
    match random.below(7) {
        0 => {
            let at = boundary(text, random);
            text.insert_str(at, pick(random, pieces));
        }
        1 => {
            let (a, b) = (boundary(text, random), boundary(text, random));
            let (start, end) = (a.min(b), a.max(b).min(a.min(b) + 12));
            let end = (start..=end).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(start);
            text.replace_range(start..end, "");
        }
        2..4 => {
            // Another value for a key.
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            if !lines.is_empty() {
                let line = random.below(lines.len() as u64) as usize;
                let key = lines[line].split('=').next().unwrap_or("").to_owned();
                lines[line] = format!("{key}= {}", pick(random, pieces));
            }
            *text = lines.join("\n");
        }
        4..6 => {
            // Lines change places, or one disappears.
            let mut lines: Vec<&str> = text.lines().collect();
            if lines.len() > 1 {
                let mut line = || random.below(lines.len() as u64) as usize;
                let (a, b) = (line(), line());
                if random.chance(1 << 63) {
                    lines.swap(a, b);
                } else {
                    lines.remove(a);
                }
            }
            *text = lines.join("\n");
        }
        _ => {
            let letter = char::from(random.below(256) as u8);
            let at = boundary(text, random);
            text.insert(at, letter);
        }
    }
}

/// A place between two letters of `text`.
fn boundary(text: &str, random: &mut Stream) -> usize {
    let at = random.below(text.len() as u64 + 1) as usize;
    (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}
