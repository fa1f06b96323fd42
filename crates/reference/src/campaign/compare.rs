//! Runs a case on both engines and compares.

use super::case::{Case, Deaf};
use super::chip::Tested;
use crate::driver::{Model, Reference};
use crate::record::{Difference, Record};
use crate::script::Scripted;
use flitway_engine::Cycle;
use flitway_fabric::simulation::{Architecture, Conservation, Counters};
use flitway_fabric::{Endpoint, Fabric, Simulation};
use flitway_switch::on_architecture;
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;

/// Why a case fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Something happened here and not there.
    Event(Box<Difference>),
    /// All events agree, and the totals do not: of the reference and of the fast engine.
    Counters(Box<[Counters; 2]>),
    /// The fast engine's books do not balance in this cycle.
    Books(Cycle, Box<Conservation>),
    /// The reference's own assertions.
    ReferencePanicked(String),
    /// The fast engine's assertions.
    EnginePanicked(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Event(difference) => {
                let Difference { reference, engine } = **difference;
                writeln!(f, "the first difference:")?;
                writeln!(f, "  reference: {reference:?}")?;
                writeln!(f, "  engine:    {engine:?}")
            }
            Failure::Counters(totals) => {
                let [reference, engine] = **totals;
                writeln!(f, "the same events, but other totals:")?;
                writeln!(f, "  reference: {reference:?}")?;
                writeln!(f, "  engine:    {engine:?}")
            }
            Failure::Books(cycle, books) => writeln!(f, "at cycle {cycle} the books are wrong: {books:?}"),
            Failure::ReferencePanicked(message) => writeln!(f, "the reference panicked: {message}"),
            Failure::EnginePanicked(message) => writeln!(f, "the engine panicked: {message}"),
        }
    }
}

impl Failure {
    /// The cycle of the first difference, where one is known.
    #[must_use]
    pub fn cycle(&self) -> Option<Cycle> {
        match self {
            Failure::Event(difference) => [difference.reference, difference.engine]
                .into_iter()
                .flatten()
                .map(|event| event.cycle())
                .min(),
            Failure::Books(cycle, _) => Some(*cycle),
            _ => None,
        }
    }
}

/// What a case that passes has covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Cases.
    pub cases: u64,
    /// Those of them in which switches work in batches.
    pub in_batches: u64,
    /// Those in which adverts are posted.
    pub posting: u64,
    /// Cases of HPP Switches that chose between ways.
    pub choosing: u64,
    /// Those in which NIC ports are bounded.
    pub bounded: u64,
    /// Those of them in which they are answering.
    pub answering: u64,
    /// Those in which they refuse what they have no room for.
    pub refusing: u64,
    /// Packets delivered.
    pub packets: u64,
    /// Flits that have left a switch.
    pub flit_hops: u64,
    /// Cycles.
    pub cycles: u64,
    /// Processes released from barriers.
    pub releases: u64,
    /// Barrier packets lost.
    pub losses: u64,
    /// Combines sent again, and duns.
    pub repeats: u64,
    /// Packets lost for good because something broke.
    pub packets_lost: u64,
    /// Packets that NIC ports refused because they were full.
    pub refused: u64,
    /// Packets delivered that are wrong.
    pub undetected: u64,
    /// Links that have become active again.
    pub links_trained: u64,
}

flitway_engine::add_fields!(Coverage {
    cases,
    in_batches,
    posting,
    choosing,
    bounded,
    answering,
    refusing,
    packets,
    flit_hops,
    cycles,
    releases,
    losses,
    repeats,
    packets_lost,
    refused,
    undetected,
    links_trained
});

/// Runs `case` on both engines.
///
/// # Errors
/// If they differ in anything.
pub fn compare(case: &Case) -> Result<Coverage, Failure> {
    let Some(fabric) = case.fabric() else { return Ok(Coverage::default()) };
    on_architecture!(&fabric, A, fabric => compare_on::<A>(case, fabric))
}

fn compare_on<A: Architecture<Chip: Tested>>(
    case: &Case,
    fabric: &Fabric<A::Chip>,
) -> Result<Coverage, Failure> {
    let model = A::Chip::model(fabric, &case.changes(), &case.written(&fabric.routing));
    let mut coverage = if let Some(nics) = case.nics() {
        compare_runs::<A, _>(case, fabric, Reference::new(model, case.rails, nics.clone()), nics)?
    } else {
        let scripts = case.endpoints();
        let reference = Reference::new(model, case.rails, scripts.clone());
        if case.reacts() {
            compare_runs::<A, _>(case, fabric, reference, scripts)?
        } else {
            compare_runs::<A, _>(case, fabric, reference, scripts.into_iter().map(Deaf).collect())?
        }
    };
    A::Chip::cover(fabric, &mut coverage);
    Ok(coverage)
}

fn compare_runs<A: Architecture<Chip: Tested>, E: Endpoint>(
    case: &Case,
    fabric: &Fabric<A::Chip>,
    mut reference: Reference<impl Model, impl Scripted>,
    endpoints: Vec<E>,
) -> Result<Coverage, Failure> {
    caught(|| reference.run_to_delivery(case.limit)).map_err(Failure::ReferencePanicked)?;
    let end = reference.now() + case.margin;
    let run = || run_engine::<A, _>(case, fabric, endpoints, end);
    let engine = caught(run).map_err(Failure::EnginePanicked)??;
    caught(|| reference.run_until(engine.now)).map_err(Failure::ReferencePanicked)?;
    if let Some(difference) = Record::first_difference(reference.record(), &engine.record, engine.now) {
        return Err(Failure::Event(Box::new(difference)));
    }
    let (ours, theirs) = (reference.counters(), Counters { events: 0, wakes: 0, ..engine.counters });
    if ours != theirs {
        return Err(Failure::Counters(Box::new([ours, theirs])));
    }
    Ok(Coverage {
        cases: 1,
        bounded: u64::from(case.test_nics.is_some()),
        answering: u64::from(case.answering),
        packets: ours.packets_delivered,
        flit_hops: ours.flit_hops,
        cycles: reference.now().0,
        releases: reference.record().releases.len() as u64,
        losses: ours.barrier.lost_by_fault + ours.barrier.lost_by_full_queue,
        repeats: ours.barrier.retransmissions + ours.barrier.duns,
        packets_lost: ours.lost.sum(),
        refused: ours.link.refused,
        undetected: ours.link.undetected,
        links_trained: reference.record().links_trained(),
        ..Coverage::default()
    })
}

/// What the fast engine has done, up to where it has come.
struct EngineRun {
    now: Cycle,
    record: Record,
    counters: Counters,
}

fn run_engine<A: Architecture<Chip: Tested>, E: Endpoint>(
    case: &Case,
    fabric: &Fabric<A::Chip>,
    endpoints: Vec<E>,
    end: Cycle,
) -> Result<EngineRun, Failure> {
    let stop = AtomicBool::new(false);
    let mut simulation = Simulation::<A, _, _>::new(fabric, endpoints, case.threads, Record::default);
    let mut changes = case.changes();
    let mut tables = case.written(&fabric.routing);
    for until in case.pauses.iter().copied().chain([end]) {
        // What can be told later is told later.
        let certain = until + simulation.change_lead() + simulation.window_length();
        for change in changes.extract_if(.., |change| change.at <= certain) {
            simulation.change(&change).expect("a case changes what the switches can change");
        }
        for (at, routing) in tables.extract_if(.., |(at, _)| *at <= certain) {
            simulation.reroute(at, &routing).expect("a case writes tables that switches have");
        }
        simulation.run_until(until.min(end), &stop);
        simulation.settle();
        let books = simulation.audit();
        if !books.holds() {
            return Err(Failure::Books(simulation.now(), Box::new(books)));
        }
    }
    let mut record = Record::default();
    simulation.gather_observers(std::mem::take).iter_mut().for_each(|part| record.append(part));
    if !A::Chip::FOLLOWS_PACKETS {
        record.passages.clear();
        record.chosen.clear();
    }
    Ok(EngineRun { now: simulation.now(), record, counters: simulation.counters() })
}

/// Runs `work`; a panic is a finding.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| message(panic.as_ref()))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
        .unwrap_or_else(|| "without a message".into())
}
