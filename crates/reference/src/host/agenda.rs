//! What is due within a node: one list, of which the first is looked for.

use flitway_engine::Picos;

/// What is due, in the order in which it was asked for.
#[derive(Debug)]
pub(crate) struct Agenda<D>(Vec<Due<D>>);

#[derive(Debug)]
struct Due<D> {
    at: Picos,
    /// It comes after whatever else has its date.
    is_last: bool,
    what: D,
}

impl<D> Agenda<D> {
    pub(crate) fn new() -> Self {
        Agenda(Vec::new())
    }

    /// Asks for `what` at `at`.
    pub(crate) fn ask(&mut self, at: Picos, what: D) {
        self.0.push(Due { at, is_last: false, what });
    }

    /// Asks for `what` at `at`, after whatever else has that date, also if that is asked for later.
    pub(crate) fn ask_last(&mut self, at: Picos, what: D) {
        self.0.push(Due { at, is_last: true, what });
    }

    /// What is due first, if by `until`: of the same date what was asked for first.
    pub(crate) fn first_by(&mut self, until: Picos) -> Option<(Picos, D)> {
        let key = |due: &Due<D>| (due.at, due.is_last);
        let mut first: Option<usize> = None;
        for (place, due) in self.0.iter().enumerate() {
            if due.at <= until && first.is_none_or(|first| key(due) < key(&self.0[first])) {
                first = Some(place);
            }
        }
        let Due { at, what, .. } = self.0.remove(first?);
        Some((at, what))
    }

    /// When something is due.
    pub(crate) fn next(&self) -> Option<Picos> {
        self.0.iter().map(|due| due.at).min()
    }
}
