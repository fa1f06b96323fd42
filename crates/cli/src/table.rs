//! Tables for people: numbers with their definitions beside them, and theory beside measurement.

use crate::layout::{self, Column};
use crate::remarks;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};
use flitway_experiment::workload::beside::Beside;
use flitway_experiment::workload::{Load, TrafficWorkload, Written};
use flitway_fabric::chip::Cost;
use flitway_machine::{Machine, Origin, Rounding};
use flitway_report::bill::Bill;
use flitway_report::facts::Facts;
use flitway_report::measure::Verdict;
use flitway_report::point::{Latency, Point};
use flitway_report::session::Session;
use flitway_report::shown::load;
use flitway_report::theory::Theory;
use flitway_wiring::bisection::Bisection;
use flitway_workload::traffic::Traffic;
use std::fmt::Write;

/// What is about to be measured, and what theory says of it.
pub(crate) fn traffic_header(
    session: &Session,
    workload: &TrafficWorkload,
    traffic: &Traffic,
    theory: Option<&Theory>,
) -> String {
    let mut text = format!(
        "{}; {} traffic, {} packets, {} arrivals",
        sizes_of(session),
        workload.traffic,
        workload.packet,
        workload.arrival,
    );
    let silent = traffic.destinations().silent_nodes();
    if silent > 0 {
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "\nsilent, since the pattern sends them to nobody else: {}; offered is per sending node, accepted per node, and so \
             up to {:.3} of it",
            plural(silent, "node", "s"),
            sending_part(session.fabric().nodes(), silent)
        );
    }
    text.push_str(&remarks::above_one(&workload.loads, true));
    if let Some(theory) = theory {
        let zero_load = session.machine().clock.nanos(theory.zero_load_cycles);
        let _ = write!(
            text,
            "\ntheory: zero-load latency {zero_load:.0} ns in the mean; the busiest channel{}, {}, is full at load {:.3}",
            if theory.selects { " of a node" } else { "" },
            theory.first_full(),
            theory.channel_bound
        );
        if let Some(bound) = theory.bisection_bound.filter(|bound| bound.is_finite()) {
            let _ = write!(text, ", the bisection at {bound:.3}");
        }
        if let Some(limit) = theory.head_of_line {
            let _ = write!(text, "; the head-of-line limit, adverts aside, is {limit:.3}");
        }
    }
    text
}

/// The part of the `nodes` that send, when so many are `silent`.
fn sending_part(nodes: u32, silent: u32) -> f64 {
    f64::from(nodes - silent) / f64::from(nodes.max(1))
}

const COLUMNS: [Column; 9] = [
    Column("offered", 7, Some(7)),
    Column("accepted", 8, Some(8)),
    Column("latency ns", 18, Some(16)),
    Column("p50", 8, Some(7)),
    Column("p99", 9, Some(8)),
    Column("p99.9", 9, Some(8)),
    Column("network ns", 10, None),
    Column("packets", 9, Some(8)),
    Column("", 9, Some(9)),
];

/// The heading of the table of load points, which is printed line by line as points come in.
pub(crate) fn point_heading() -> String {
    layout::heading(&COLUMNS)
}

/// A line of that table.
pub(crate) fn point(point: &Point) -> String {
    let latency = |pick: fn(&Latency) -> f64| {
        point
            .packet_latency
            .as_ref()
            .map_or_else(|| "-".to_owned(), |latency| format!("{:.0}", pick(latency)))
    };
    let mean = point.packet_latency.as_ref().map_or_else(
        || "-".to_owned(),
        |latency| match latency.ci95 {
            Some(ci95) => format!("{:.1} +-{:.1}", latency.mean, ci95),
            None => format!("{:.1}", latency.mean),
        },
    );
    let network = point.network_latency.as_ref().map_or_else(|| "-".to_owned(), |l| format!("{:.1}", l.mean));
    let verdict = if point.verdict == Verdict::Steady { "" } else { point.verdict.name() };
    let cells = [
        load(point.offered_load, 3),
        load(point.accepted_load, 4),
        mean,
        latency(|latency| latency.p50),
        latency(|latency| latency.p99),
        latency(|latency| latency.p999),
        network,
        point.packets.to_string(),
        verdict.to_owned(),
    ];
    layout::line(&COLUMNS, cells.iter().map(String::as_str))
}

/// What the numbers of the table mean, and the rest of what was measured.
pub(crate) fn definitions(
    session: &Session,
    workload: &TrafficWorkload,
    traffic: &Traffic,
    points: &[Point],
) -> String {
    let mut text = String::from(
        "\noffered, accepted  flits created, delivered; fraction of the injection rate, header and trailer included\n\
         latency            creation to last flit delivered, source queue included; mean +-half of the 95 % interval, where known",
    );
    if layout::has_column(&COLUMNS, "network ns") {
        text.push_str("\nnetwork            head leaves the source to last flit delivered; mean");
    }
    let (nodes, silent) = (session.fabric().nodes(), traffic.destinations().silent_nodes());
    if workload.loads != [Load::Max] {
        text.push_str(&remarks::created(points, sending_part(nodes, silent)));
    }
    text.push_str(&round_trips(points));
    text.push_str(&verdicts(points));
    if let Some(point) = points.iter().rfind(|point| point.packets > 0) {
        let scale = session.scale();
        let rate = scale.clock.hertz() * f64::from(scale.flit_bytes) * f64::from(scale.rails) / 1e6;
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "\n\nat the last point: accepted payload {:.1} MB/s per node of {rate:.0} MB/s; load of single nodes {} to {}; {:.2} hops",
            point.accepted_payload * rate,
            load(point.accepted_min_node, 4),
            load(point.accepted_max_node, 4),
            point.hops_mean
        );
    }
    text.push_str(&remarks::reordered(points));
    text.push_str(&remarks::unfair(points, nodes, silent));
    text
}

/// From requests to their replies, if there are such: a line for each point.
fn round_trips(points: &[Point]) -> String {
    let mut text = String::new();
    let answered = points.iter().filter_map(|point| Some((point, point.reply.as_ref()?)));
    for (place, (point, reply)) in answered.enumerate() {
        if place == 0 {
            text.push_str(
                "\nround trip         creation of a request to last flit of its reply delivered; what is shown above is of requests",
            );
        }
        let Some(trip) = &reply.round_trip_latency else { continue };
        let interval = trip.ci95.map_or_else(String::new, |half| format!(" +-{half:.1}"));
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "\n                   at load {}: {:.1}{interval} ns, p50 {:.0}, p99 {:.0}, p99.9 {:.0}; load of replies {}",
            load(point.offered_load, 3),
            trip.mean,
            trip.p50,
            trip.p99,
            trip.p999,
            load(reply.accepted_load, 4),
        );
    }
    text
}

/// What the simulation cost, which developers of a switch want to know.
pub(crate) fn cost_of_run(points: &[Point], beside: usize) -> String {
    let sum = |of: fn(&Point) -> u64| points.iter().map(of).sum::<u64>();
    let wall: f64 = points.iter().map(|point| point.wall_s).sum();
    let side = if beside > 1 { format!(", {beside} points side by side") } else { String::new() };
    cost_line(sum(|point| point.events), sum(|point| point.packet_hops), wall) + &side
}

/// The same of one run.
pub(crate) fn cost_line(events: u64, packet_hops: u64, wall: f64) -> String {
    let each = if packet_hops > 0 {
        format!(", {:.0} ns each", wall * 1e9 / packet_hops as f64)
    } else {
        String::new()
    };
    format!("cost: {events} events, {packet_hops} packet-hops in {wall:.1} s{each}")
}

/// What the verdicts of `points` mean, as far as there are any.
pub(crate) fn verdicts(points: &[Point]) -> String {
    let mut text = String::new();
    if points.iter().any(|point| point.verdict == Verdict::Saturated) {
        text.push_str(
            "\nsaturated          packets are created faster than delivered: latencies of these points would grow for ever",
        );
    }
    text.push_str(&remarks::accepted(points));
    text.push_str(&remarks::limits(points));
    text.push_str(&remarks::unsettled(points, Verdict::Saturated, "  not settled"));
    if points.iter().any(|point| point.verdict == Verdict::Deadlock) {
        text.push_str("\ndeadlock           packets wait for each other for ever");
    }
    text.push_str(&remarks::unsettled(points, Verdict::Unsettled, "unsettled"));
    if points.iter().any(|point| point.verdict == Verdict::Stopped) {
        text.push_str("\nstopped            interrupted before the precision was reached: what is shown was measured until then, perhaps\n\
         \x20                  while the network still filled");
    }
    text
}

/// A number with so many significant digits, or its whole part.
pub(crate) fn digits(number: f64, count: i32) -> String {
    let size = if number == 0.0 { 0 } else { number.abs().log10().floor() as i32 };
    format!("{number:.decimals$}", decimals = (count - 1 - size).clamp(0, 9) as usize)
}

/// The facts of a machine.
pub(crate) fn facts(session: &Session, facts: &Facts) -> String {
    let machine = session.machine();
    let mut text = format!(
        "{}\n\n{}, {}; in each rail {} and {}\n",
        headline(machine),
        plural(facts.nodes, "node", "s"),
        plural(facts.rails, "rail", "s"),
        plural(facts.switches_per_rail, "switch", "es"),
        plural(facts.links_per_rail, "link", "s"),
    );
    if facts.servers > 0 {
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{} with {} NICs, each of which is a node: {} rails of one network",
            plural(facts.servers, "server", "s"),
            facts.nics_max,
            facts.nics_max
        );
    }
    text.push_str(&bandwidths(facts));
    let diameter = facts.distances.last().map_or(0, |distance| distance.hops);
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "diameter: {}; {:.3} hops in the mean between two nodes{}",
        plural(diameter, "hop", "s"),
        facts.hops_mean,
        if facts.all_pairs { "" } else { " (from a sample of sources)" }
    );
    let memory = if facts.memory_bytes < 1 << 20 {
        format!("{} KiB", facts.memory_bytes.div_ceil(1 << 10))
    } else {
        format!("{} MiB", facts.memory_bytes.div_ceil(1 << 20))
    };
    let _ = writeln!(text, "memory for switches and NIC ports without packets: about {memory}");
    let hertz = machine.clock.hertz();
    let _ = writeln!(text, "clock: {:.3} MHz, so a cycle is {:.3} ns", hertz / 1e6, 1e9 / hertz);
    let rounded = |Rounding { what, exact, cycles }: &Rounding| format!("{what} from {exact:.3} to {cycles}");
    if !facts.roundings.is_empty() {
        let all: Vec<String> = facts.roundings.iter().map(rounded).collect();
        let _ = writeln!(text, "rounded up to whole cycles: {}", all.join(", "));
    }
    text.push('\n');
    let mut table = bare_table(&["hops", "pairs %", "zero-load latency ns"]);
    for distance in &facts.distances {
        let latency = if distance.latency_min_ns == distance.latency_max_ns {
            format!("{:.1}", distance.latency_min_ns)
        } else {
            format!("{:.1} to {:.1}", distance.latency_min_ns, distance.latency_max_ns)
        };
        table.add_row([distance.hops.to_string(), format!("{:.3}", distance.share * 100.0), latency]);
    }
    let _ = write!(
        text,
        "{table}\n\nzero-load latency: creation to last flit delivered of a packet of {} B with nothing in its way{}",
        facts.payload_bytes,
        hop(session, facts.payload_bytes)
    );
    text
}

/// What a hop takes, part by part, where the parts are settings.
fn hop(session: &Session, payload: u32) -> String {
    let (chip, clock) = (&session.fabric().chip, session.machine().clock);
    let parts = chip.through_parts();
    if parts.is_empty() {
        return String::new();
    }
    let cycles = chip.through_cycles();
    let parts: Vec<String> = parts.iter().map(|(name, cycles)| format!("{name} {cycles}")).collect();
    // What another switch costs beyond that.
    let more = chip.zero_load_cycles(2, payload) - chip.zero_load_cycles(1, payload) - u64::from(cycles);
    let more = match more {
        0 => String::new(),
        more => format!("; and {more} until all of a packet of {payload} B is there and checked"),
    };
    format!(
        "\na hop: {cycles} cycles, {:.1} ns, from pin to pin (switch.pipeline: {}){more}; and its link",
        clock.nanos(f64::from(cycles)),
        parts.join(", ")
    )
}

/// What NIC ports, the links of nodes and the bisection carry.
fn bandwidths(facts: &Facts) -> String {
    let mut text = String::new();
    let gigabits = facts.injection_bits_per_second as f64 / 1e9;
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "injection rate: {gigabits:.3} Gbit/s per NIC port, {:.3} Gbit/s per node",
        gigabits * f64::from(facts.rails)
    );
    if let Some([least, most]) = facts.node_bits_per_second {
        let shown = |bits: u64| format!("{:.3}", bits as f64 / 1e9);
        let carry = if least == most { shown(least) } else { format!("{} to {}", shown(least), shown(most)) };
        let load = least as f64 / facts.injection_bits_per_second as f64;
        let _ = writeln!(text, "links of nodes: {carry} Gbit/s; a load of {load:.3} fills the slowest");
    }
    if let Some(Bisection { links, is_exact }) = facts.bisection {
        let carries = match facts.bisection_rate {
            Some(rate) => {
                let all = links as f64 * rate * gigabits * f64::from(facts.rails);
                format!("{all:.1} Gbit/s each way over all rails")
            }
            None => "of several rates".to_owned(),
        };
        let share = facts.bisection_share().map_or_else(String::new, share_of_full);
        let most = if is_exact { "" } else { "at most " };
        let _ = writeln!(text, "bisection: {most}{links} links per rail{share}, {carries}");
    }
    text
}

/// Whether a bisection is full.
fn share_of_full(share: f64) -> String {
    if share == 1.0 { " (full)".to_owned() } else { format!(" ({:.1} % of full)", 100.0 * share) }
}

/// The bill of a fabric.
pub(crate) fn bill(bill: &Bill) -> String {
    let mut text = format!(
        "Bill of materials\n{} of {}, {} in all: {} used, {} free; {}\n",
        plural(bill.switches, "switch", "es"),
        plural(bill.ports_per_switch, "port", "s"),
        bill.ports(),
        bill.ports_used,
        bill.ports_free(),
        plural(bill.nic_ports, "NIC port", "s"),
    );
    let has_rates = bill.cables.iter().any(|cables| cables.bits_per_second.is_some());
    let with_rate = |row: [String; 4], rate: &str| {
        let [class, length, count, all] = row;
        let rate = has_rates.then(|| rate.to_owned());
        [Some(class), Some(length), rate, Some(count), Some(all)].into_iter().flatten().collect::<Vec<_>>()
    };
    let heads = with_rate(["cables", "length m", "count", "metres"].map(str::to_owned), "Gbit/s");
    let mut table = bare_table(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    // To a millimetre.
    let metres = |metres: f64| format!("{metres:.3}");
    for cables in &bill.cables {
        let [length, all] = [cables.length_metres(), cables.metres()].map(metres);
        let rate = cables.bits_per_second.map_or_else(String::new, gigabits_each_way);
        table.add_row(with_rate([cables.class.clone(), length, cables.count.to_string(), all], &rate));
    }
    let all = ["all".to_owned(), String::new(), bill.cable_count().to_string(), metres(bill.cable_metres())];
    table.add_row(with_rate(all, ""));
    // Writing to a string does not fail.
    let _ = write!(text, "{table}");
    text
}

/// What a cable carries there and back: one number if that is the same.
fn gigabits_each_way([there, back]: [u64; 2]) -> String {
    let [there, back] = [there, back].map(|bits| format!("{:.3}", bits as f64 / 1e9));
    if there == back { there } else { format!("{there}, back {back}") }
}

/// What a machine is called, and how large it is.
pub(crate) fn sizes_of(session: &Session) -> String {
    let fabric = session.fabric();
    format!(
        "{}: {}, {} of {}",
        named(session.machine()),
        plural(fabric.nodes(), "node", "s"),
        plural(fabric.rails, "rail", "s"),
        plural(fabric.topology().switches(), "switch", "es"),
    )
}

/// The machine in a line: what its file says of it, or what is different, of which the file knows nothing.
fn headline(machine: &Machine) -> String {
    let is_changed = machine.effective.iter().any(|effective| effective.origin == Origin::Set);
    if is_changed || machine.description.is_empty() {
        named(machine)
    } else {
        format!("{}: {}", machine.name, machine.description)
    }
}

/// What a machine is called, with what `--set` has changed.
pub(crate) fn named(machine: &Machine) -> String {
    let sets = machine.effective.iter().filter(|effective| effective.origin == Origin::Set);
    let sets: Vec<String> = sets.map(|set| format!("{}={}", set.path, set.value)).collect();
    if sets.is_empty() {
        machine.name.clone()
    } else {
        format!("{} with {}", machine.name, sets.join(", ").replace('"', ""))
    }
}

/// The line on the `traffic` beside operations, if there is some.
pub(crate) fn beside(traffic: Option<&Beside>, written: &Written) -> String {
    let Some(Beside { traffic, loads, .. }) = traffic else { return String::new() };
    let packet = written.text("packet");
    format!("\nbeside it {traffic} traffic, {packet} packets{}", remarks::above_one(loads, true))
}

/// `1 switch`, `2 switches`.
pub(crate) fn plural(count: impl Into<u64>, what: &str, ending: &str) -> String {
    let count = count.into();
    format!("{count} {what}{}", if count == 1 { "" } else { ending })
}

/// What a switch costs, by the ways to build it.
pub(crate) fn costs(costs: &[Cost]) -> String {
    let parts = costs.iter().take(1).flat_map(|cost| &cost.parts);
    let heads: Vec<&str> =
        std::iter::once("a switch built as").chain(parts.map(|(part, _)| part.names()[1])).collect();
    let mut table = bare_table(&heads);
    for cost in costs {
        let counts = cost.parts.iter().map(|(_, count)| count.to_string());
        table.add_row(std::iter::once(cost.organisation.clone()).chain(counts));
    }
    let timing = match costs.iter().find(|cost| cost.is_chosen) {
        Some(chosen) if costs.len() > 1 => format!("\nthis one: {}", chosen.organisation),
        _ => String::new(),
    };
    let parts = costs.iter().take(1).flat_map(|cost| &cost.parts);
    let legend: Vec<String> =
        parts.map(|(part, _)| format!("{}: {}", part.names()[1], part.meaning())).collect();
    format!("Cost\n{table}{timing}\n{}", legend.join("; "))
}

/// A table whose lines end with their last letter.
pub(crate) struct Bare(Table);

impl Bare {
    pub(crate) fn add_row(&mut self, row: impl Into<comfy_table::Row>) {
        self.0.add_row(row);
    }
}

impl std::fmt::Display for Bare {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut table = self.0.clone();
        if let Some(width) = layout::width() {
            break_headings(&mut table, width);
            let width = u16::try_from(width).unwrap_or(u16::MAX);
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
            keep_words(&mut table);
        }
        f.write_str(&table.trim_fmt())
    }
}

/// Where there is no room for all of a `table`, headings of several words take no more room than what is under them, in
/// several lines, and the others stand on the last one.
fn break_headings(table: &mut Table, width: usize) {
    let length = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let heads: Vec<String> =
        table.header().into_iter().flat_map(|row| row.cell_iter().map(|cell| cell.content())).collect();
    let mut under = vec![0; heads.len()];
    for row in table.row_iter() {
        for (under, cell) in under.iter_mut().zip(row.cell_iter()) {
            *under = length(&cell.content()).max(*under);
        }
    }
    let needed: usize = heads.iter().zip(&under).map(|(head, under)| length(head).max(*under) + 2).sum();
    if needed <= width {
        return;
    }
    let broken = |(head, under): (&String, &usize)| -> Vec<String> {
        let word = head.split_whitespace().map(length).max().unwrap_or(0);
        textwrap::wrap(head, word.max(*under).max(1)).into_iter().map(|line| line.into_owned()).collect()
    };
    let heads: Vec<Vec<String>> = heads.iter().zip(&under).map(broken).collect();
    let lines = heads.iter().map(Vec::len).max().unwrap_or(0);
    table.set_header(heads.iter().map(|head| "\n".repeat(lines - head.len()) + &head.join("\n")));
}

/// A line of a cell up to which it is not broken, whatever is in it.
const SHORT: usize = 8;

/// Makes each column at least as wide as its longest word, and the space around it.
fn keep_words(table: &mut Table) {
    let mut longest: Vec<usize> = Vec::new();
    for row in table.header().into_iter().chain(table.row_iter()) {
        for (place, cell) in row.cell_iter().enumerate() {
            let content = cell.content();
            let length = |word: &str| word.chars().count();
            let words = content.split_whitespace().map(length);
            // `2 B` is one word, too.
            let short = content.lines().map(length).filter(|length| *length <= SHORT);
            let word = words.chain(short).max().unwrap_or(0);
            longest.resize(longest.len().max(place + 1), 0);
            longest[place] = longest[place].max(word);
        }
    }
    for (column, word) in table.column_iter_mut().zip(longest) {
        let width = u16::try_from(word + 2).unwrap_or(u16::MAX);
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(width)));
    }
}

/// A table without lines, numbers to the right.
pub(crate) fn bare_table(heading: &[&str]) -> Bare {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(heading.iter().copied());
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    Bare(table)
}
