//! The second step: from what was written to an experiment whose every point is known to run.

use crate::experiment::{Experiment, Overrides};
use crate::finding::findings;
use crate::options::{Given, Options, Text};
use crate::plot::{check_name, plots};
use crate::point::{Point, identity, key};
use crate::select::Space;
use crate::vary::{Axis, POINTS_MAX, Target, axes, no_target, omit, overlap, product};
use crate::workload::{GraphFiles, Kind, Problem, Surroundings, Workload, WorkloadOptions, load};
use flitway_engine::Clock;
use flitway_machine::document::{Field, Raw};
use flitway_machine::schema;
use flitway_machine::{
    Code, Diagnostic, Diagnostics, Location, Machine, Options as MachineOptions, Severity, Source, is_path,
    kind_of, show,
};
use flitway_report::memory;
use flitway_report::session::Session;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A machine that points share.
#[derive(Clone)]
struct Built {
    machine: Arc<Machine>,
    identity: Arc<Value>,
}

/// An option of the workload with its place.
type Written = (&'static str, Text);

/// A point, and where its options are written.
struct Draft {
    point: Point,
    options: Vec<Written>,
}

struct Checker<'a> {
    options: &'a Options,
    overrides: &'a Overrides,
    axes: Vec<Axis>,
    /// `[run]` with its targets, overrides in it.
    run: Vec<(Target, Given)>,
    graphs: GraphFiles,
    /// By name and overrides; `None` if it is wrong, which has been said.
    machines: BTreeMap<Vec<String>, Option<Built>>,
    problems: Diagnostics,
    warnings: Diagnostics,
}

/// Takes the second step.
pub(crate) fn check(mut options: Options, overrides: &Overrides) -> Result<Experiment, Diagnostics> {
    let file = [Arc::clone(&options.file)];
    let mut problems = std::mem::take(&mut options.problems);
    let before = problems.seen();
    let axes = axes(&options.vary, &mut problems);
    // What follows from a wrong axis is not reported as well.
    let (is_whole, is_right) = (axes.is_some(), problems.seen() == before);
    let mut checker = Checker::new(&options, overrides, axes.unwrap_or_default(), problems);
    checker.check_heading();
    checker.check_run();
    let points = if is_whole { checker.points(is_right) } else { Vec::new() };
    let drafts = checker.build(&points);
    let space = Space { axes: checker.axes.clone(), points, fields: checker.kind().fields.concat() };
    let (mut plotted, mut found) = (Vec::new(), Vec::new());
    if is_whole {
        plotted = plots(&options.plots, &space, &mut checker.problems);
    }
    if is_whole && is_right && !space.points.is_empty() {
        found = findings(&options.findings, &space, &mut checker.problems);
    }
    let Checker { problems, warnings, .. } = checker;
    if problems.has_errors() {
        return Err(problems.in_order(&file));
    }
    assert!(!drafts.is_empty(), "what keeps a point from being built is reported");
    let memory_bytes = fit(&options, &drafts).map_err(|problems| problems.in_order(&file))?;
    let named = |text: &Option<Text>| text.as_ref().map_or_else(String::new, |text| text.text.clone());
    Ok(Experiment {
        name: named(&options.name),
        title: named(&options.title),
        text: options.file.text.clone(),
        overrides: overrides.clone(),
        space,
        points: drafts.into_iter().map(|draft| draft.point).collect(),
        plots: plotted,
        findings: found,
        memory_bytes,
        read_from: None,
        warnings: warnings.in_order(&file),
    })
}

impl<'a> Checker<'a> {
    fn new(options: &'a Options, overrides: &'a Overrides, axes: Vec<Axis>, problems: Diagnostics) -> Self {
        Checker {
            options,
            overrides,
            axes,
            run: Vec::new(),
            graphs: GraphFiles::default(),
            machines: BTreeMap::new(),
            problems,
            warnings: Diagnostics::default(),
        }
    }

    /// The kind of workload, which follows from the names of the options alone: it is the same at every point.
    fn kind(&self) -> &'static Kind {
        let mut options = WorkloadOptions::default();
        let varied = self.axes.iter().flat_map(|axis| &axis.targets);
        for target in self.run.iter().map(|(target, _)| target).chain(varied) {
            if let Target::Option(name) = target {
                options.set(name, String::new());
            }
        }
        Kind::of(&options)
    }
}

impl Checker<'_> {
    fn check_heading(&mut self) {
        match &self.options.name {
            Some(name) => check_name("experiment", name, &mut self.problems),
            None if self.options.is_complete && !self.options.problems.has_errors() => {
                let message = "the experiment has no `name`";
                let problem =
                    Diagnostic::error(Code::MissingKey, Location::whole(&self.options.file), message);
                self.problems.push(problem.expected("name = \"my-experiment\", for example"));
            }
            None => {}
        }
    }

    /// `[run]`, and what the command says in its place.
    fn check_run(&mut self) {
        for field in &self.options.run {
            self.refuse_varied(&field.name, &field.name_at);
            match Target::of(&field.name) {
                None => {
                    let message = format!("there is no key `{}` in [run]", show(&field.name));
                    self.problems.push(Diagnostic { message, ..no_target(&field.name, &field.name_at) });
                }
                Some(Target::Setting) => {
                    let message = format!("`{}` is a setting of the machine", field.name);
                    let problem = Diagnostic::error(Code::UnknownKey, field.name_at.clone(), message);
                    self.problems.push(problem.help("write it below [run.set]"));
                }
                Some(target) => match target.accepts(&field.raw) {
                    Ok(()) => self.run.push((target, Given { raw: field.raw.clone(), at: field.at.clone() })),
                    Err(expected) => {
                        let message = format!("`{}` is {}", field.name, kind_of(&field.raw));
                        let problem = Diagnostic::error(Code::WrongValue, field.at.clone(), message);
                        self.problems.push(problem.expected(expected));
                    }
                },
            }
        }
        for field in &self.options.set {
            self.refuse_varied(&field.name, &field.name_at);
        }
        self.override_run();
    }

    /// Nothing is varied and written down as well.
    fn refuse_varied(&mut self, name: &str, at: &Location) {
        let mut varied = self.axes.iter().flat_map(Axis::written);
        if let Some((_, place)) = varied.find(|(other, _)| overlap(other, name)) {
            let message = format!("`{name}` is varied, and given as well");
            let problem = Diagnostic::error(Code::BadVary, at.clone(), message);
            self.problems.push(problem.related(place.clone(), "varied here").help("delete one of them"));
        }
    }

    fn override_run(&mut self) {
        let typed = |argument: &str, text: &str| {
            let source = Arc::new(Source { name: argument.to_owned(), text: text.to_owned() });
            Location::new(&source, 0..text.len())
        };
        for set in &self.overrides.set {
            let path = set.split_once('=').map_or("", |(path, _)| path).trim();
            if !path.is_empty() {
                self.refuse_varied(path, &typed("--set", set));
            }
        }
        let Overrides { seed, precision, duration, .. } = self.overrides;
        let seed = seed.map(|seed| (Target::Seed, seed.to_string(), Raw::Integer(Some(seed.into()))));
        let option = |name: &'static str, text: &Option<String>| {
            text.as_ref().map(|text| (Target::Option(name), text.clone(), Raw::Text(text.clone())))
        };
        for (target, text, raw) in
            [seed, option("precision", precision), option("duration", duration)].into_iter().flatten()
        {
            let name = if let Target::Option(name) = target { name } else { "seed" };
            let at = typed(&format!("--{name}"), &text);
            self.refuse_varied(name, &at);
            self.run.retain(|(other, _)| *other != target);
            self.run.push((target, Given { raw, at }));
        }
    }

    /// The points that are not left out; that is only done where the axes `are_right`.
    fn points(&mut self, are_right: bool) -> Vec<Vec<usize>> {
        let Some(mut points) = product(&self.axes) else {
            let count = self.axes.iter().map(|axis| axis.rows.len() as f64).product::<f64>();
            let message = format!("the experiment has {count} points");
            let at = self.options.vary.last().map(|vary| vary.at.clone());
            let problem = Diagnostic::error(Code::TooManyPoints, at, message);
            self.problems.push(problem.expected(format!("at most {POINTS_MAX}")));
            return Vec::new();
        };
        for (at, fields) in self.options.omit.iter().filter(|_| are_right) {
            omit(at, fields, &self.axes, &mut points, &mut self.problems);
        }
        points
    }

    /// The points that are right; what is wrong with the others has been said.
    fn build(&mut self, rows: &[Vec<usize>]) -> Vec<Draft> {
        let mut points = Vec::new();
        for row in rows {
            if self.problems.is_full(Severity::Error) {
                self.problems.give_up();
                break;
            }
            let mut given: Vec<(Target, Given)> = self.run.clone();
            let mut settings: Vec<Field> = Vec::new();
            settings.extend(self.options.set.iter().cloned());
            for (axis, row) in self.axes.iter().zip(row) {
                for (index, value) in axis.rows[*row].iter().enumerate() {
                    if axis.targets[index] == Target::Setting {
                        let name = axis.names()[index].clone();
                        let (raw, at) = (value.raw.clone(), value.at.clone());
                        settings.push(Field { name, name_at: axis.places[index].clone(), raw, at });
                    } else {
                        given.push((axis.targets[index], value.clone()));
                    }
                }
            }
            points.extend(self.build_point(&given, settings));
        }
        points
    }

    fn build_point(&mut self, given: &[(Target, Given)], settings: Vec<Field>) -> Option<Draft> {
        let find = |target: Target| given.iter().find(|(other, _)| *other == target).map(|(_, value)| value);
        let Some(machine) = find(Target::Machine) else {
            self.missing("machine", "machine = \"hpp-switch\", for example");
            return None;
        };
        let seed = match find(Target::Seed).map(|seed| &seed.raw) {
            Some(Raw::Integer(Some(seed))) => u64::try_from(*seed).ok()?,
            _ => 1,
        };
        let written: Vec<Written> = given
            .iter()
            .filter_map(|(target, value)| match target {
                Target::Option(name) => Some((*name, Text { text: value.label(), at: value.at.clone() })),
                _ => None,
            })
            .collect();
        let machine = self.machine(machine, settings);
        // Where the machine is wrong, what is wrong with the workload is said all the same.
        let of = |built: &Built| (built.machine.clock, built.machine.packet.mtu_bytes);
        let of_machine = match &machine {
            Some((.., built)) => of(built),
            None => (stand_in()?, u32::MAX),
        };
        let (options, workload) = self.workload(&written, of_machine)?;
        let (machine_name, set, built) = machine?;
        let key = key(&built.identity, &workload, seed);
        let point = Point { key, machine_name, set, machine: built.machine, options, workload, seed };
        Some(Draft { point, options: written })
    }

    fn machine(&mut self, name: &Given, mut settings: Vec<Field>) -> Option<(String, Vec<String>, Built)> {
        let label = name.label();
        let folder = &self.options.folder;
        let shown = if is_path(&label) { folder.join(&label).display().to_string() } else { label };
        let paths: Vec<&str> =
            self.overrides.set.iter().filter_map(|set| Some(set.split_once('=')?.0.trim())).collect();
        // What the command sets is not set twice.
        settings.retain(|field| {
            !paths.iter().any(|path| field.name == *path || field.name.starts_with(&format!("{path}.")))
        });
        let is_path =
            |field: &&mut Field| schema::named(&field.name).any(|it| matches!(it.kind, schema::Kind::Path));
        for field in settings.iter_mut().filter(is_path) {
            if let Raw::Text(path) = &mut field.raw {
                *path = folder.join(&*path).display().to_string();
            }
        }
        let mut set: Vec<String> = settings.iter().map(as_set).collect();
        set.extend(self.overrides.set.iter().cloned());
        let key: Vec<String> = std::iter::once(shown.clone()).chain(set.iter().cloned()).collect();
        if !self.machines.contains_key(&key) {
            let built = self.load(&shown, settings, &name.at);
            self.machines.insert(key.clone(), built);
        }
        let built = self.machines.get(&key)?.clone()?;
        Some((shown, set, built))
    }

    fn load(&mut self, name: &str, settings: Vec<Field>, at: &Location) -> Option<Built> {
        let loaded = MachineOptions::read(name).and_then(|mut options| {
            settings.into_iter().for_each(|field| options.set_field(field));
            self.overrides.set.iter().for_each(|set| options.set(set));
            options.check()
        });
        let (machine, findings) = match loaded {
            Ok(machine) => {
                let warnings = machine.warnings.clone();
                (Some(machine), warnings)
            }
            Err(problems) => (None, problems),
        };
        for finding in &findings {
            let mut finding = finding.clone();
            finding.location = finding.location.or_else(|| Some(at.clone()));
            let list =
                if finding.severity == Severity::Error { &mut self.problems } else { &mut self.warnings };
            push_once(list, finding);
        }
        let machine = machine?;
        let identity = Arc::new(identity(&machine));
        Some(Built { machine: Arc::new(machine), identity })
    }

    fn workload(
        &mut self,
        given: &[Written],
        (clock, mtu_bytes): (Clock, u32),
    ) -> Option<(WorkloadOptions, Workload)> {
        let mut options = WorkloadOptions::default();
        for (name, text) in given {
            options.set(name, text.text.clone());
        }
        let options = options.within(&self.options.folder);
        let surroundings = Surroundings { clock, mtu_bytes, graphs: &self.graphs };
        if let Some(option) = Kind::of(&options).of_a_point
            && options.get(option).is_none()
        {
            self.missing(option, "load = 0.5 or load = \"max\", or a [[vary]] over = \"load\"");
            return None;
        }
        let mut problems = match Workload::check(&options, &surroundings) {
            Ok(workload) => {
                let several = WorkloadOptions::loads().find_map(|option| {
                    let loads = load::loads(options.get(option)?).ok()?;
                    (loads.len() > 1).then(|| several_loads(option, loads.len()))
                });
                match several {
                    Some(problem) => vec![problem],
                    None => return Some((options, workload)),
                }
            }
            Err(problems) => problems,
        };
        for problem in problems.drain(..) {
            push_once(&mut self.problems, located(&problem, given, self.options));
        }
        None
    }

    fn missing(&mut self, what: &str, expected: &str) {
        // A value that was refused has been reported; it is not missing.
        let is_there = self.options.run.iter().any(|field| field.name == what)
            || self.options.vary.iter().flat_map(|vary| &vary.over).any(|name| name.text == what);
        if is_there || !self.options.is_complete {
            return;
        }
        let at = self.options.run_at.clone().unwrap_or_else(|| Location::whole(&self.options.file));
        let problem = Diagnostic::error(Code::MissingKey, at, format!("no `{what}` is given"));
        push_once(&mut self.problems, problem.expected(expected));
    }
}

/// A clock for times that no machine will run: 1 GHz.
fn stand_in() -> Option<Clock> {
    Clock::new(1_000_000_000)
}

fn several_loads(option: &'static str, count: usize) -> Problem {
    Problem {
        option,
        message: format!("these are {count} loads, and a point has one"),
        help: Some(format!("write them as the values of a [[vary]] over = \"{option}\"")),
        picture: None,
    }
}

fn push_once(list: &mut Diagnostics, problem: Diagnostic) {
    if !list.iter().any(|other| *other == problem) {
        list.push(problem);
    }
}

/// What is wrong with an option, where it is written.
fn located(problem: &Problem, given: &[Written], options: &Options) -> Diagnostic {
    let at = given.iter().find(|(name, _)| *name == problem.option).map(|(_, text)| text.at.clone());
    let at = at.or_else(|| options.run_at.clone()).unwrap_or_else(|| Location::whole(&options.file));
    Diagnostic::error(Code::BadWorkload, at, format!("`{}`: {}", problem.option, problem.message))
        .maybe_help(problem.help.clone())
}

/// A setting as a command would set it.
fn as_set(field: &Field) -> String {
    let value = match &field.raw {
        Raw::Text(text) => {
            let is_bare = text.trim() == text
                && (text.starts_with(|first: char| first.is_ascii_alphabetic()) || text.contains(' '))
                && !text.starts_with(['[', '{', '"', '\''])
                && text.parse::<f64>().is_err()
                && !matches!(text.as_str(), "true" | "false");
            if is_bare { text.clone() } else { Value::from(text.as_str()).to_string() }
        }
        _ => field.at.text().split_whitespace().collect::<Vec<_>>().join(" "),
    };
    format!("{}={value}", field.name)
}

/// That there is less memory than a machine needs.
fn too_large(options: &Options, message: String) -> Diagnostic {
    let at = options.run_at.clone().unwrap_or_else(|| Location::whole(&options.file));
    Diagnostic::error(Code::TooLarge, at, message).help("fewer nodes, rails or virtual channels need less")
}

/// Fits every workload to its machine, so that nothing is lost to a mistake in the last point; the memory that the
/// largest machine needs.
fn fit(options: &Options, drafts: &[Draft]) -> Result<u64, Diagnostics> {
    let mut problems = Diagnostics::default();
    let mut memory_bytes = 0;
    let mut order: Vec<&Draft> = drafts.iter().collect();
    // Points of one machine one after the other: it is built once.
    order.sort_by_key(|draft| (Arc::as_ptr(&draft.point.machine) as usize, draft.point.seed));
    let mut built: Option<(&Point, Session)> = None;
    for Draft { point, options: written } in order {
        let is_same = |other: &Point| Arc::ptr_eq(&other.machine, &point.machine) && other.seed == point.seed;
        let session = match built.take().filter(|(other, _)| is_same(other)) {
            Some((_, session)) => session,
            None => {
                memory::fits_machine(&point.machine, true).map_err(|message| too_large(options, message))?;
                Session::new(Machine::clone(&point.machine), point.seed, 1)
            }
        };
        memory_bytes = memory_bytes.max(session.fabric().bytes());
        if let Err(misfits) = point.workload.as_run().fit(&session) {
            for misfit in &misfits {
                push_once(&mut problems, located(misfit, written, options));
            }
        }
        built = Some((point, session));
    }
    if problems.is_empty() { Ok(memory_bytes) } else { Err(problems) }
}
