//! What every run from the command line has in common: its arguments checked, its points measured, shown and written.

use crate::args::RunArguments;
use crate::counters;
use crate::failure::Failure;
use crate::inputs;
use crate::layout::{broken, fitted};
use crate::output::{Targets, colour, manner, say, warn};
use crate::progress::{Goal, Line, Pace, stop_flag};
use crate::remarks;
use crate::report;
use crate::table;
use crate::trace;
use flitway_experiment::result::{Heading, result};
use flitway_experiment::side_by_side::side_by_side;
use flitway_experiment::views::{Views, without};
use flitway_experiment::workload::{
    GraphFiles, Measured, Outcome, Surroundings, Tasks, Workload, WorkloadOptions,
};
use flitway_machine::schema::is_of_host;
use flitway_machine::{Machine, Origin};
use flitway_report::measure::Progress;
use flitway_report::memory;
use flitway_report::point::Point;
use flitway_report::session::Session;
use flitway_report::theory::Theory;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// A run whose arguments have been checked.
pub(crate) struct Prepared {
    pub(crate) machine: Machine,
    pub(crate) workload: Workload,
    pub(crate) targets: Targets,
}

/// Checks what `arguments` say of a run on the machine `name`.
pub(crate) fn prepared(arguments: &RunArguments, name: &str) -> Result<Prepared, Failure> {
    let machine = inputs::machine(name, &arguments.set)?;
    memory::fits_machine(&machine, true).map_err(too_large)?;
    if !machine.warnings.is_empty() {
        warn(&machine.warnings.render(colour()));
    }
    let options = arguments.workload.options();
    let named = options.files().into_iter().map(|(_, path)| path).collect::<Vec<_>>();
    inputs::keep(&inputs::outputs(arguments), machine.files.iter().chain(&named))?;
    let targets = Targets::new(arguments)?;
    report::probe(arguments)?;
    let graphs = GraphFiles::default();
    let surroundings = Surroundings::of(&machine, &graphs);
    let workload = Workload::check(options, &surroundings).map_err(Failure::workload)?;
    for (option, is_given) in arguments.views() {
        if is_given && let Some(why) = without(workload.as_run(), option) {
            return Err(Failure::input(format!("--{option}: {why}"), None));
        }
    }
    for remark in idle_settings(&machine, options) {
        warn(&remark);
    }
    Ok(Prepared { machine, workload, targets })
}

/// What `--set` says that has no effect on the workload of `options`.
fn idle_settings(machine: &Machine, options: &WorkloadOptions) -> Vec<String> {
    let has_overheads = options.is_given("overheads") || options.is_given("graph");
    let tables = [
        ("switch.barrier.", options.is_given("barrier"), "there are no barriers (--barrier)"),
        (
            "switch.multicast.",
            options.is_given("multicast") || options.is_given("barrier"),
            "there is no multicast (--multicast)",
        ),
        ("nic.send_overhead", has_overheads, "overheads count with --overheads, or in a task graph"),
        ("nic.receive_overhead", has_overheads, "overheads count with --overheads, or in a task graph"),
        (
            "nic.stripe_threshold",
            options.is_given("graph"),
            "there are no messages of several packets (--graph)",
        ),
    ];
    let set = machine.effective.iter().filter(|effective| effective.origin == Origin::Set);
    let idle = set.filter_map(|set| {
        if is_of_host(&set.path) && !options.is_given("nic") {
            let why = "only NIC operations meet the host and its NIC (--nic)";
            return Some(format!("warning: `{}` has no effect in this run: {why}", set.path));
        }
        let (_, _, why) = tables.iter().find(|(path, used, _)| set.path.starts_with(path) && !used)?;
        Some(format!("warning: `{}` has no effect in this run: {why}", set.path))
    });
    idle.collect()
}

/// The machine of a run, ready to run.
pub(crate) fn session(arguments: &RunArguments, machine: Machine) -> Session {
    Session::new(machine, arguments.seed(), arguments.threads).with_details(arguments.has_details())
}

/// Columns before what is left of a line that is too long: those of what a remark is about, and two.
const REMARK: usize = 21;

/// The same of what theory says.
const THEORY: usize = 8;

/// How the points of a run are shown.
pub(crate) struct Shown<'a, T> {
    /// What is about to be measured, and what theory says of it.
    pub(crate) header: &'a dyn Fn() -> String,
    /// The heading of the table.
    pub(crate) heading: fn() -> String,
    /// While a point runs, in the progress line.
    pub(crate) label: fn(&T) -> String,
    /// As a line of the table.
    pub(crate) row: fn(&Point) -> String,
    /// Below the table.
    pub(crate) summary: &'a dyn Fn(&[Point]) -> String,
    /// How long a point is measured.
    pub(crate) goal: Goal,
    /// What is a fault of the network, beside a deadlock.
    pub(crate) fault: fn(&[Point]) -> Result<(), Failure>,
}

/// How tasks are shown that run one after the other.
pub(crate) struct Each<'a, T, O> {
    /// While one runs, in the progress line.
    pub(crate) label: &'a dyn Fn(usize, &T) -> String,
    /// What it came to.
    pub(crate) texts: &'a dyn Fn(&T, &O) -> Vec<String>,
    /// Whether those are lines of one table.
    pub(crate) is_table: bool,
    /// What is a fault of it.
    pub(crate) fault: &'a dyn Fn(&O) -> Result<(), Failure>,
}

/// A run that has been fitted.
pub(crate) struct Task<'a, W> {
    pub(crate) arguments: &'a RunArguments,
    pub(crate) session: &'a Session,
    pub(crate) workload: &'a W,
    pub(crate) targets: &'a Targets,
    /// What theory says of it, for the page.
    pub(crate) theory: Option<&'a Theory>,
}

impl<W: Tasks> Task<'_, W> {
    /// Measures a point for each of `tasks`, shows them, and writes what is asked for.
    pub(crate) fn run_points(&self, tasks: &[W::Task], shown: &Shown<'_, W::Task>) -> Result<(), Failure>
    where
        W: Tasks<Outcome = Point>,
    {
        let (session, beside) = self.session.dealt(tasks.len());
        let mut voice = self.begin(beside)?;
        voice.say(|| broken(&(shown.header)(), THEORY))?;
        let stop = stop_flag()?;
        voice.say(shown.heading)?;
        let measured = measure_points(tasks, beside, shown, &stop, &mut voice, |task, progress| {
            self.workload.measure(&session, task, &stop, progress)
        })?;
        voice.say(|| broken(&(shown.summary)(&measured), REMARK))?;
        let rounded = remarks::rounded(&measured, &shown.goal);
        if !rounded.is_empty() {
            voice.say(|| broken(&rounded, REMARK))?;
        }
        if manner().verbose {
            voice.say(|| table::cost_of_run(&measured, beside))?;
        }
        for point in &measured {
            let at = remarks::at_loads(&measured, |it| measured.len() > 1 && std::ptr::eq(it, point));
            let text = match &point.faults {
                Some(faults) => {
                    let at = if at.is_empty() { at } else { format!("{}:\n", at.trim_end_matches(", ")) };
                    Some(format!(
                        "\n{at}{}",
                        crate::faults::text(
                            faults,
                            (&point.link, &point.links),
                            self.session.fabric().topology().names()
                        )
                    ))
                }
                None => crate::faults::links(&point.link, &point.links, &at),
            };
            if let Some(text) = text {
                voice.say(|| broken(&text, REMARK))?;
            }
        }
        let fault = no_deadlock(&measured)
            .and_then(|()| none_lost(&measured))
            .and_then(|()| (shown.fault)(&measured));
        let measured: Vec<Measured> = measured.into_iter().map(Measured::from).collect();
        self.write(&measured, &stop)?;
        fault?;
        voice.end(&stop)
    }

    /// Runs `tasks` one after the other, shows what each came to, and writes what is asked for.
    pub(crate) fn run_each(
        &self,
        tasks: &[W::Task],
        each: &Each<'_, W::Task, W::Outcome>,
    ) -> Result<(), Failure> {
        let mut voice = self.begin(1)?;
        let (stop, line) = (stop_flag()?, Line::new());
        let clock = self.session.machine().clock;
        let (mut measured, mut fault, mut is_first) = (Vec::new(), Ok(()), true);
        for (place, task) in tasks.iter().enumerate() {
            let label = (each.label)(place, task);
            let outcome = self.workload.measure(self.session, task, &stop, &mut |progress| {
                let done = clock.nanos(progress.now.0 as f64) / 1e6;
                line.message(format!("{label}: {done:.3} ms simulated"));
            });
            line.clear();
            for text in (each.texts)(task, &outcome) {
                // A line stands between what two of them came to.
                voice.say(|| {
                    let is_next = std::mem::replace(&mut is_first, false) || each.is_table;
                    if is_next { text } else { format!("\n{text}") }
                })?;
            }
            fault = fault.and((each.fault)(&outcome));
            measured.extend(outcome.measured());
        }
        self.write(&measured, &stop)?;
        fault?;
        voice.end(&stop)
    }

    /// Finds out before a run of so many tasks beside each other whether there is memory for them, and whether everything that
    /// is asked for can be written.
    fn begin(&self, beside: usize) -> Result<Voice, Failure> {
        fits_memory(self.session.fabric().bytes().saturating_mul(beside as u64))?;
        trace::probe(self.arguments, self.session)?;
        counters::probe(self.arguments, self.session.machine().clock)?;
        Ok(Voice::new(self.targets).with_report(self.arguments.has_details()))
    }

    /// Writes the result of a run, the page, the trace and the counters, as far as they are asked for.
    fn write(&self, measured: &[Measured], stop: &AtomicBool) -> Result<(), Failure> {
        let Task { arguments, session, workload, targets, theory } = *self;
        let command: Vec<String> = std::env::args().collect();
        let heading =
            Heading { machine: session.machine(), seed: session.seed(), command: &command, workload };
        if targets.is_any() {
            let values = measured.iter().map(|point| point.value.clone()).collect();
            targets.write(&result(heading, values))?;
        }
        let views = Views { heading, session, measured, theory };
        report::write(arguments, || views.page())?;
        trace::write(arguments, &views, stop)?;
        counters::write(arguments, &views, stop)
    }
}

/// Packets that are lost for good are a fault.
pub(crate) fn none_lost(points: &[Point]) -> Result<(), Failure> {
    let faults = points.iter().filter_map(|point| point.faults.as_ref());
    let (lost, pairs) = faults.fold((0, 0), |(lost, pairs), it| (lost + it.lost.sum(), it.pairs.max(pairs)));
    if lost == 0 {
        return Ok(());
    }
    let (lost, pairs) = (table::plural(lost, "packet", "s"), table::plural(pairs, "pair", "s"));
    Err(Failure::Fault(format!("fault: {lost} lost for good, of {pairs} of nodes")))
}

/// A deadlock is a fault, and its ring the witness.
pub(crate) fn no_deadlock(points: &[Point]) -> Result<(), Failure> {
    let Some(ring) = points.iter().find_map(|point| point.deadlock.as_ref()) else { return Ok(()) };
    let lines: Vec<String> = ring.iter().map(ToString::to_string).collect();
    let what = "packets wait for each other for ever: each of these for the next, and the last for the first";
    Err(Failure::Fault(fitted(&format!("fault: {what}\n  {}", lines.join("\n  ")), 4)))
}

/// Prints to standard output, unless the result goes there. When nobody reads any more, a run whose result goes to a file
/// goes on in silence.
pub(crate) struct Voice {
    is_silent: bool,
    has_target: bool,
    /// Why it fell silent.
    failure: Option<Failure>,
}

impl Voice {
    pub(crate) fn new(targets: &Targets) -> Self {
        Voice {
            is_silent: targets.has_standard() || manner().quiet,
            has_target: targets.is_any(),
            failure: None,
        }
    }

    /// A report page is a result in a file too.
    pub(crate) fn with_report(self, has_report: bool) -> Self {
        Voice { has_target: self.has_target || has_report, ..self }
    }

    pub(crate) fn say(&mut self, text: impl FnOnce() -> String) -> Result<(), Failure> {
        if self.is_silent {
            return Ok(());
        }
        match say(&text()) {
            Err(failure) if self.has_target => {
                (self.is_silent, self.failure) = (true, Some(failure));
                Ok(())
            }
            said => said,
        }
    }

    /// How a run ends whose result has been written.
    pub(crate) fn end(self, stop: &AtomicBool) -> Result<(), Failure> {
        match self.failure {
            Some(failure) => Err(failure),
            None if stop.load(Ordering::Relaxed) => Err(Failure::Interrupted),
            None => Ok(()),
        }
    }
}

/// Refuses what is larger than the memory that is left.
pub(crate) fn fits_memory(needed: u64) -> Result<(), Failure> {
    memory::fits(needed).map_err(too_large)
}

/// That there is less memory than a machine needs.
pub(crate) fn too_large(message: String) -> Failure {
    let help = "fewer nodes, rails, virtual channels or threads need less; nothing was run";
    Failure::input(message, Some(help.to_owned()))
}

/// Measures each of `tasks`, one point each, so many `beside` each other, and shows them as they come in.
fn measure_points<T: Sync>(
    tasks: &[T],
    beside: usize,
    shown: &Shown<'_, T>,
    stop: &AtomicBool,
    voice: &mut Voice,
    measure: impl Fn(&T, &mut dyn FnMut(Progress)) -> Point + Sync,
) -> Result<Vec<Point>, Failure> {
    let line = Line::new();
    let pace = RefCell::new(Pace::new(tasks.len()));
    let label = |place: usize| (shown.label)(&tasks[place]);
    let mut measured = Vec::new();
    line.begin(&label(0), pace.borrow().far());
    let progress = |place, progress: Progress| {
        let mut pace = pace.borrow_mut();
        pace.reach(place, shown.goal.part(&progress));
        // The first that is not over stands for those beside it.
        if place == pace.over() {
            line.point(&label(place), progress, &shown.goal, pace.far());
        }
    };
    let over = |place, point| {
        line.clear_for(|| voice.say(|| (shown.row)(&point)))?;
        measured.push(point);
        let mut pace = pace.borrow_mut();
        pace.end(place);
        if place + 1 < tasks.len() {
            line.begin(&label(place + 1), pace.far());
        }
        Ok::<(), Failure>(())
    };
    side_by_side(tasks, beside, stop, measure, progress, over)?;
    line.clear();
    Ok(measured)
}
