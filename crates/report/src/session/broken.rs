//! Runs in which something breaks: the manager beside the course of a run, and what is told afterwards.

use super::Session;
use crate::fault_record::FaultRecord;
use crate::faults::result::Note;
use crate::faults::{About, Explained, FaultsResult, Operator};
use crate::link_counts::{Channel, ErrorRecord, LinkCounts, place};
use crate::measure::{Aim, Course, Measurement};
use crate::recorder::{Batch, Recorder};
use flitway_engine::Cycle;
use flitway_engine::window::Outcome;
use flitway_fabric::faults::{Fault, FaultKind, PortFault};
use flitway_fabric::simulation::{Architecture, Counters};
use flitway_fabric::{Endpoint, Faults, Simulation};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

/// Bins into which the time of a run is cut, where that is known.
const BINS: u64 = 100;

/// Nanoseconds of a bin where it is not.
const BIN_NS: f64 = 1_000.0;

/// A course with a manager, who looks at the network every so often.
pub(super) struct Managed<C> {
    course: C,
    operator: Option<Operator>,
}

impl<A: Architecture, E: Endpoint, C: Course<A, E>> Course<A, E> for Managed<C> {
    fn advance(
        &mut self,
        simulation: &mut Simulation<A, E, Recorder>,
        until: Cycle,
        stop: &AtomicBool,
    ) -> Outcome {
        let Managed { course, operator: Some(operator) } = self else {
            return self.course.advance(simulation, until, stop);
        };
        loop {
            let next = operator.next();
            let outcome = course.advance(simulation, until.min(next), stop);
            if outcome == Outcome::Stopped {
                return outcome;
            }
            if simulation.now() >= next {
                operator.look(simulation);
            } else if outcome == Outcome::Idle || simulation.now() >= until {
                return outcome;
            }
        }
    }

    fn aims(&self) -> Vec<Aim> {
        self.course.aims()
    }

    fn collect(&mut self, simulation: &mut Simulation<A, E, Recorder>, batch: &mut Batch) {
        self.course.collect(simulation, batch);
    }
}

impl Session {
    /// `course` with the manager of this session, if it has one.
    pub(super) fn managed<C>(&self, course: C) -> Managed<C> {
        let settings = self.faults.as_ref().and_then(|plan| plan.manager);
        Managed { course, operator: settings.map(|settings| Operator::new(settings, &self.fabric)) }
    }

    /// What a shard begins to record of faults in a run of so many cycles, where that is known.
    pub(super) fn fault_record(&self, whole: Option<u64>) -> Option<FaultRecord> {
        let unknown = (BIN_NS / self.machine.clock.nanos(1.0)) as u64;
        let bin = whole.map_or(unknown, |cycles| cycles / BINS);
        let plan = self.faults.as_ref()?;
        Some(FaultRecord::new(bin).read_by_manager(plan.manager.is_some()))
    }

    /// What each channel has counted of errors so far, the most affected first.
    pub(super) fn link_counts<A: Architecture, E: Endpoint>(
        &self,
        simulation: &mut Simulation<A, E, Recorder>,
    ) -> Vec<LinkCounts> {
        LinkCounts::of(&errors(simulation), &self.fabric)
    }

    /// What the faults of a run came to that was measured so.
    pub(super) fn faults_result<A: Architecture, E: Endpoint, C>(
        &self,
        simulation: &mut Simulation<A, E, Recorder>,
        course: &Managed<C>,
        measurement: &Measurement,
    ) -> Option<FaultsResult> {
        let plan = self.faults.as_ref()?;
        let mut record = FaultRecord::default();
        let parts = simulation.gather_observers(|recorder| recorder.faults().cloned());
        parts.iter().flatten().for_each(|part| record.add(part));
        let log = course.operator.as_ref().map_or(&[][..], Operator::log);
        let scale = (self.machine.clock, self.fabric.nodes() * self.fabric.rails);
        let Counters { packets_created, packets_delivered, lost, link, .. } = measurement.counters;
        let span = [Cycle(measurement.warm_up), simulation.now()];
        let totals = (packets_created, packets_delivered, lost);
        let record = record.sorted();
        let explained = Explained::of(&record, &errors(simulation), &self.fabric);
        let result = FaultsResult::new(plan, &record, log, totals, span, scale);
        // Where nothing is drawn, everything that is corrupt is so by a rule.
        let by_rule = (!self.fabric.errors.are_drawn()).then_some(link.corrupted);
        let rules = self.fabric.errors.rules.len() as u64;
        let unmatched = by_rule.map_or(0, |count| rules.saturating_sub(count));
        let mut result = FaultsResult { unmatched, explained, ..result };
        result.log.extend(self.stalls(&plan.faults, simulation.now()));
        result.log.sort_by(|one, other| one.at_ns.total_cmp(&other.at_ns));
        Some(result)
    }

    /// The nodes that have been stalled before cycle `end`.
    fn stalls(&self, faults: &Faults, end: Cycle) -> Vec<Note> {
        let (topology, rails) = (self.fabric.topology(), self.fabric.rails);
        let stalled = |fault: &Fault| match fault.kind {
            FaultKind::Port(port, PortFault::Stalled) if fault.at < end => Some((fault.component, port)),
            _ => None,
        };
        let channels: BTreeSet<Channel> = faults.list().iter().filter_map(stalled).collect();
        let nanos = |cycle: Cycle| self.machine.clock.nanos(cycle.0 as f64);
        let note = |(component, port): Channel| {
            let about = move || About::Node(place(topology, rails, (component, port)));
            let times = faults.stall_times(component, port).into_iter();
            let dates = times.flat_map(|[from, until]| {
                [(from, "nothing feeds its NIC port"), (until, "feeds its NIC port again")]
            });
            dates.filter(|(at, _)| *at < end).map(move |(at, text)| {
                let (text, at) = (text.to_owned(), nanos(at));
                Note { at_ns: at, about: about(), text, since_ns: at }
            })
        };
        channels.into_iter().flat_map(note).collect()
    }
}

/// What all shards have seen of errors of links.
fn errors<A: Architecture, E: Endpoint>(simulation: &mut Simulation<A, E, Recorder>) -> ErrorRecord {
    let mut record = ErrorRecord::default();
    let parts = simulation.gather_observers(|recorder| recorder.errors().clone());
    parts.iter().for_each(|part| record.add(part));
    record
}
