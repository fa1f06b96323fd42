//! Labels of the tasks of a rank. Generators of traces number them, `l1`, `l2` and so on: those are found by their number. All
//! others are hashed.

use crate::graph::TaskId;
use std::collections::HashMap;
use std::num::NonZeroU32;

/// Numbers that may be missing in a row of numbered labels.
const GAP: usize = 1 << 10;

/// What a label stands for: its task, and the line of its definition.
type Definition = (TaskId, NonZeroU32);

/// The labels defined so far.
#[derive(Debug, Default)]
pub(super) struct Labels {
    /// What stands before the number of the first label that has one.
    stem: Option<Box<[u8]>>,
    /// Labels of this stem, by their numbers.
    numbered: Vec<Option<Definition>>,
    others: HashMap<Box<[u8]>, Definition>,
}

impl Labels {
    /// The task of `label` and the line of its definition.
    pub(super) fn get(&self, label: &[u8]) -> Option<Definition> {
        let numbered = self.number(label).and_then(|number| *self.numbered.get(number)?);
        numbered.or_else(|| if self.others.is_empty() { None } else { self.others.get(label).copied() })
    }

    /// The task of `label`.
    pub(super) fn task(&self, label: &[u8]) -> Option<TaskId> {
        self.get(label).map(|(task, _)| task)
    }

    /// Defines `label`, which has not been defined, in this `line`.
    pub(super) fn define(&mut self, label: &[u8], task: TaskId, line: NonZeroU32) {
        if self.stem.is_none()
            && let Some((stem, _)) = divide(label)
        {
            self.stem = Some(stem.into());
        }
        match self.number(label).filter(|&number| number < self.numbered.len() + GAP) {
            Some(number) => {
                let room = self.numbered.len().max(number + 1);
                self.numbered.resize(room, None);
                self.numbered[number] = Some((task, line));
            }
            None => {
                self.others.insert(label.into(), (task, line));
            }
        }
    }

    /// The number of `label`, if it has the stem of the numbered ones.
    #[inline]
    fn number(&self, label: &[u8]) -> Option<usize> {
        let stem = self.stem.as_deref()?;
        number(label.strip_prefix(stem)?)
    }
}

/// The stem of a label and its number, if it ends with one.
fn divide(label: &[u8]) -> Option<(&[u8], usize)> {
    let digits = label.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (stem, digits) = label.split_at(label.len() - digits);
    Some((stem, number(digits)?))
}

/// Reads a number of up to nine digits, which is written in no other way.
#[inline]
fn number(digits: &[u8]) -> Option<usize> {
    let is_plain = matches!(digits, [b'0'] | [b'1'..=b'9', ..]) && digits.len() <= 9;
    let add =
        |number: usize, digit: &u8| digit.is_ascii_digit().then(|| number * 10 + usize::from(digit - b'0'));
    if is_plain { digits.iter().try_fold(0, add) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_engine::random::{Purpose, Stream};

    #[test]
    fn labels_are_a_map_whatever_they_are_called() {
        let stems = ["l", "r0_", "l0", "a", "l1_1"];
        for seed in 0..200 {
            let mut stream = Stream::new(seed, 0, Purpose::Test);
            let (mut labels, mut model) = (Labels::default(), HashMap::new());
            for task in 0..300 {
                let stem = if stream.below(4) == 0 { stems[stream.below(5) as usize] } else { "l" };
                let number = match stream.below(6) {
                    0 => String::new(),
                    1 => format!("{}", stream.below(5_000_000_000_000)),
                    2 => format!("0{}", stream.below(20)),
                    _ => format!("{}", stream.below(3_000)),
                };
                let label = format!("{stem}{number}").into_bytes();
                assert_eq!(labels.get(&label), model.get(&label).copied());
                model.entry(label).or_insert_with_key(|label| {
                    let definition = (TaskId(task), NonZeroU32::MIN.saturating_add(task));
                    labels.define(label, definition.0, definition.1);
                    definition
                });
            }
            assert!(model.iter().all(|(label, &definition)| labels.get(label) == Some(definition)));
        }
    }
}
