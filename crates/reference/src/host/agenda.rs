//! What is due within a node: one list, of which the first is looked for.

use flitway_engine::Picos;

/// What is due, in the order in which it was asked for.
#[derive(Debug)]
pub(crate) struct Agenda<D>(Vec<(Picos, D)>);

impl<D> Agenda<D> {
    pub(crate) fn new() -> Self {
        Agenda(Vec::new())
    }

    /// Asks for `what` at `at`.
    pub(crate) fn ask(&mut self, at: Picos, what: D) {
        self.0.push((at, what));
    }

    /// What is due first, if by `until`: of the same date what was asked for first.
    pub(crate) fn first_by(&mut self, until: Picos) -> Option<(Picos, D)> {
        let mut first: Option<usize> = None;
        for (place, (at, _)) in self.0.iter().enumerate() {
            if *at <= until && first.is_none_or(|first| *at < self.0[first].0) {
                first = Some(place);
            }
        }
        Some(self.0.remove(first?))
    }

    /// When something is due.
    pub(crate) fn next(&self) -> Option<Picos> {
        self.0.iter().map(|due| due.0).min()
    }
}
