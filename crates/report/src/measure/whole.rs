//! Measures a run that ends by itself: all of it, from its start, as one batch.

use super::judgement::is_time_to_look;
use super::{Course, Measurement, Plan, Progress, Series, Snapshot, Verdict};
use crate::memory::Guard;
use crate::recorder::{Batch, Recorder};
use flitway_engine::Cycle;
use flitway_engine::window::Outcome;
use flitway_fabric::simulation::Architecture;
use flitway_fabric::{Endpoint, Simulation};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Measures `simulation` from its start until `is_over`, which is asked every `stride` cycles: all of it is one batch.
pub fn measure_whole<A: Architecture, E: Endpoint>(
    simulation: &mut Simulation<A, E, Recorder>,
    stride: u64,
    course: &mut impl Course<A, E>,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
    is_over: impl Fn(&mut Simulation<A, E, Recorder>) -> bool,
) -> Measurement {
    /// Strides between two looks at what has happened.
    const TAKEN: usize = 16;
    let started = Instant::now();
    let plan = Plan { precision: 1.0, batch: stride, warm_up: Some(0), duration: None, batches_max: 1 };
    let mut series = Series::new(stride, &plan, course.aims());
    series.snapshots.push(Snapshot::new(0, simulation).with_channels(simulation));
    let (mut guard, mut deadlock, mut whole, mut strides) = (Guard::new(), None, Batch::default(), 0);
    let verdict = loop {
        let outcome = course.advance(simulation, simulation.now() + stride, stop);
        if outcome == Outcome::Stopped || guard.is_exhausted() {
            break Verdict::Stopped;
        }
        if is_over(simulation) {
            break Verdict::Steady;
        }
        strides += 1;
        if strides % TAKEN == 0 {
            let batch = series.take(simulation, course);
            let looks = batch.gone_flits() <= batch.created_flits && is_time_to_look(strides / TAKEN);
            whole.add(&batch);
            deadlock = if looks { simulation.deadlock() } else { None };
            if deadlock.is_some() {
                break Verdict::Deadlock;
            }
        }
        progress(Progress::at(simulation.now()));
    };
    simulation.settle();
    whole.add(&series.take(simulation, course));
    series.length = simulation.now().0.max(1);
    series.batches.push(whole);
    series.snapshots.push(Snapshot::new(1, simulation).with_channels(simulation));
    let mut measurement = series.measurement(Cycle::ZERO, verdict, 0);
    (measurement.deadlock, measurement.is_out_of_memory) = (deadlock, guard.is_exhausted());
    measurement.counters = simulation.counters();
    measurement.books = simulation.audit();
    measurement.wall = started.elapsed();
    measurement
}
