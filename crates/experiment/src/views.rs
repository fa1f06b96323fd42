//! What else a run can be shown as: a report page, a trace of chosen packets, and the counters of every port.

use crate::result::{Heading, result};
use crate::workload::{Measured, Problem, Run};
use flitway_engine::{Clock, Cycle};
use flitway_fabric::Fabric;
use flitway_machine::units;
use flitway_report::details::Details;
use flitway_report::page::Page;
use flitway_report::registers::Registers;
use flitway_report::session::Session;
use flitway_report::session::follow::Follow;
use flitway_report::theory::Theory;
use flitway_report::trace::{STEPS_MAX, Trace};
use flitway_report::watch::{Selection, Step, Steps, Watch};
use serde_json::Value;
use std::sync::atomic::AtomicBool;

/// Whose steps a trace has, unless it is said.
pub const TRACE_OF_DEFAULT: &str = "slowest";

/// Why `option`, `report` for a page and any other for what follows packets, shows nothing of `workload`, if it does not.
#[must_use]
pub fn without(workload: &dyn Run, option: &str) -> Option<&'static str> {
    match (workload.has_views(), workload.has_page()) {
        (true, _) => None,
        (false, true) if option == "report" => None,
        (false, true) => Some("of NIC operations there is a page, and no trace or counters"),
        (false, false) => {
            Some("a train has no page, no trace and no counters, unless a task graph runs beside it")
        }
    }
}

/// A run that is over, in a session with details.
#[derive(Clone, Copy, Debug)]
pub struct Views<'a> {
    /// What a result says besides its points.
    pub heading: Heading<'a>,
    /// Where it ran.
    pub session: &'a Session,
    /// Its points.
    pub measured: &'a [Measured],
    /// What theory says of it: [`theory`](crate::workload::Described::theory).
    pub theory: Option<&'a Theory>,
}

impl Views<'_> {
    fn workload(&self) -> &dyn Run {
        self.heading.workload
    }

    /// The report page.
    #[must_use]
    pub fn page(&self) -> String {
        let values: Vec<Value> = self.measured.iter().map(|point| point.value.clone()).collect();
        let details: Vec<Option<&Details>> =
            self.measured.iter().map(|point| point.details.as_deref()).collect();
        let page = Page {
            result: &result(self.heading, values),
            fabric: self.session.fabric(),
            clock: self.session.machine().clock,
            theory: self.theory,
            details: &details,
        };
        page.html()
    }

    /// The steps that a trace of what `of` says of the last point has, which is run again for it, in order of time, and how
    /// many there was no room for; `None` if there is nothing to follow.
    ///
    /// # Errors
    /// What [`selection`] says.
    pub fn steps(&self, of: &str, stop: &AtomicBool) -> Result<Option<(Vec<Step>, u64)>, Problem> {
        let Some(details) = self.measured.last().and_then(|point| point.details.as_deref()) else {
            return Ok(None);
        };
        let follow = follow(of, self.session.fabric(), details)?;
        let watched = self.workload().follow(self.session, &[(self.measured.len() - 1, follow)], stop);
        Ok(watched.into_iter().next().map(|(_, watches)| Steps::join(watches)))
    }

    /// What the registers of every port have counted, line by line as CSV: of each run, which is made again for it, from its
    /// start to its end, or in each interval that `every` says.
    ///
    /// # Errors
    /// What [`interval`] says.
    pub fn counters(
        &self,
        every: Option<&str>,
        stop: &AtomicBool,
    ) -> Result<impl Iterator<Item = String> + use<>, Problem> {
        let (clock, names) = (self.session.machine().clock, self.session.fabric().topology().names().clone());
        let every = every.map(|text| interval(text, clock)).transpose()?;
        let runs = (0..self.measured.len()).step_by(self.workload().entries_of_a_run());
        let follow = |place: usize| {
            let until = self.measured[place].details.as_deref()?.span[1];
            let watch = Watch::registers(Registers::new(self.session.fabric(), every, until));
            Some((place, Follow { watch, until }))
        };
        let follows: Vec<(usize, Follow)> = runs.filter_map(follow).collect();
        let watched = self.workload().follow(self.session, &follows, stop);
        let rows = watched.into_iter().flat_map(move |(place, watches)| {
            let registers = Watch::join_registers(watches);
            let rows = registers.iter().flat_map(|it| it.rows(clock, &names));
            rows.map(|row| format!("{place},{}\n", row.join(","))).collect::<Vec<String>>()
        });
        Ok(std::iter::once(format!("point,{}\n", Registers::COLUMNS.join(","))).chain(rows))
    }

    /// The trace of these `steps` of what `of` says.
    #[must_use]
    pub fn trace<'a>(&'a self, of: &'a str, steps: &'a [Step], left_out: u64) -> Trace<'a> {
        let (fabric, clock) = (self.session.fabric(), self.session.machine().clock);
        Trace { fabric, clock, steps, left_out, of, command: self.heading.command }
    }
}

/// What a trace of `of` follows of a point with `details`.
fn follow(of: &str, fabric: &Fabric, details: &Details) -> Result<Follow, Problem> {
    let selection = selection(of, fabric, Some(details))?;
    // The slowest may have been created before the warm-up was over.
    let from = if of == TRACE_OF_DEFAULT { Cycle::ZERO } else { details.span[0] };
    let watch = Watch::steps(Steps::new(fabric, selection, from, STEPS_MAX));
    Ok(Follow { watch, until: details.span[1] })
}

/// The cycles between two readings of registers that `text` says.
///
/// # Errors
/// If it is no time above 0.
pub fn interval(text: &str, clock: Clock) -> Result<u64, Problem> {
    let span = units::time(text).map_err(|error| {
        let problem = Problem::new("every", format!("{error}: expected {}", error.expectation()));
        Problem { help: error.help(), ..problem }
    })?;
    match clock.cycles_ceil(span).0 {
        0 => Err(Problem::new("every", format!("`{text}`: expected a time above 0"))),
        cycles => Ok(cycles),
    }
}

/// Whose steps `text` asks for: `slowest`, `nodes(0+4-7)`, `switches(0+1)`. The slowest packets are those of `details`.
///
/// # Errors
/// If it names nothing that is there.
pub fn selection(text: &str, fabric: &Fabric, details: Option<&Details>) -> Result<Selection, Problem> {
    let topology = fabric.topology();
    let inside = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    if text == TRACE_OF_DEFAULT {
        let stories = details.map_or(&[][..], |details| &details.stories);
        return Ok(Selection::packets(stories.iter().map(|story| &story.delivery)));
    }
    if let Some(list) = inside("nodes") {
        let find = |name: &str| topology.find_node(name).map(|node| node.0);
        return Ok(Selection::sources(fabric, &numbers(text, list, (fabric.nodes(), "nodes"), find)?));
    }
    if let Some(list) = inside("switches") {
        let find = |name: &str| topology.find_switch(name).map(|switch| switch.0);
        return Ok(Selection::switches(
            fabric,
            &numbers(text, list, (topology.switches(), "switches"), find)?,
        ));
    }
    let help = "slowest, nodes(0+4-7) for all packets that these nodes send, or switches(0+1) for all that cross these";
    Err(Problem::new("trace_of", format!("{text}: nothing is called so")).help(format!("write {help}")))
}

/// The numbers of a list like `0+4-7`, all below the count of what they are of, or names that `find` knows.
fn numbers(
    text: &str,
    list: &str,
    (count, what): (u32, &str),
    find: impl Fn(&str) -> Option<u32>,
) -> Result<Vec<u32>, Problem> {
    let wrong = |part: &str| {
        let message = format!("{text}: `{part}` names none of {count} {what}");
        Problem::new("trace_of", message)
            .help("write numbers, ranges or names of the graph file, joined with +: 0+4-7")
    };
    let mut all = Vec::new();
    for part in list.split('+') {
        if let Some(number) = find(part.trim()) {
            all.push(number);
            continue;
        }
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong(part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last || last >= count {
            return Err(wrong(part));
        }
        all.extend(first..=last);
    }
    Ok(all)
}
