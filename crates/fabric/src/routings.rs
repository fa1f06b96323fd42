//! The routing of a fabric in the course of a run: that of its description, and those that a manager writes later.

use flitway_engine::Cycle;
use flitway_wiring::routing::Routing;

/// The routings of a run, numbered by date from 0 on.
#[derive(Clone, Debug)]
pub struct Routings {
    first: Routing,
    /// Each from a cycle on, by date.
    later: Vec<(Cycle, Routing)>,
}

impl Routings {
    /// This one, from the start.
    #[must_use]
    pub fn new(first: Routing) -> Self {
        Routings { first, later: Vec::new() }
    }

    /// That of the start.
    #[inline]
    #[must_use]
    pub fn first(&self) -> &Routing {
        &self.first
    }

    /// `routing` counts from cycle `at` on, which is no earlier than the last one.
    pub fn add(&mut self, at: Cycle, routing: Routing) {
        debug_assert!(self.later.last().is_none_or(|(before, _)| *before <= at), "routings come in order");
        self.later.push((at, routing));
    }

    /// That of cycle `now`.
    #[inline]
    #[must_use]
    pub fn at(&self, now: Cycle) -> &Routing {
        if self.later.is_empty() { &self.first } else { self.numbered(self.number_at(now)) }
    }

    /// The number of that of cycle `now`.
    #[inline]
    #[must_use]
    pub fn number_at(&self, now: Cycle) -> u16 {
        self.later.partition_point(|(at, _)| *at <= now) as u16
    }

    /// The one with this number.
    #[inline]
    #[must_use]
    pub fn numbered(&self, number: u16) -> &Routing {
        number.checked_sub(1).map_or(&self.first, |place| &self.later[usize::from(place)].1)
    }
}
