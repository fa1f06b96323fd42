//! Lines about some of the points of a table: which ones, by their loads, and what they have in common.

use crate::progress::Goal;
use flitway_experiment::workload::Load;
use flitway_report::measure::{Unsettled, Verdict};
use flitway_report::page::time;
use flitway_report::point::Point;
use flitway_report::session::Patience;
use flitway_report::shown::load;
use flitway_report::stages::{FULL, Fullest, Limit};
use std::fmt::Write;

/// That there are `loads` above 1: for a node's links to send, or for those of all nodes to receive.
pub(crate) fn above_one(loads: &[Load], is_sent: bool) -> String {
    let is_above = |load: &Load| matches!(load, Load::Fraction(load) if load.as_f64() > 1.0);
    match loads.iter().any(is_above) {
        true if is_sent => "\nload above 1: more than the links of a node can carry, so not all of it can be accepted",
        true => "\nmulticast load above 1: more than the links of the nodes can carry, so not all of it can be accepted",
        false => "",
    }
    .to_owned()
}

/// That more time was measured than asked for, by more than a tenth.
pub(crate) fn rounded(points: &[Point], goal: &Goal) -> String {
    let Patience { duration: Some(asked), warm_up: Some(_), .. } = goal.patience else {
        return String::new();
    };
    let asked = goal.clock.nanos(asked.0 as f64);
    let longest = points.iter().map(|point| point.duration_ns).fold(0.0, f64::max);
    if longest <= 1.1 * asked {
        return String::new();
    }
    format!("measured           {}: --duration is rounded up to whole steps of the simulation", time(longest))
}

/// The load by which a table tells `point` from others, and the one beside it. None of either is 0.
fn loads(point: &Point) -> (f64, f64) {
    match &point.multicast {
        Some(multicast) => (multicast.offered_load, point.offered_load),
        None => (point.offered_load, 0.0),
    }
}

/// The loads of those of `points` that are meant, as the beginning of a sentence: `at loads 0.1, 0.5 to 0.9, `. Nothing if
/// they have none.
pub(crate) fn at_loads(points: &[Point], is_meant: impl Fn(&Point) -> bool) -> String {
    let (first, beside) = points.first().map_or((0.0, 0.0), loads);
    let varies = points.iter().any(|point| loads(point).1 != beside);
    // Only what is beside them tells the points apart.
    let is_beside = varies && points.iter().all(|point| loads(point).0 == first);
    let name = |point: &Point| match loads(point) {
        (_, beside) if is_beside => load(beside, 3),
        (own, beside) if varies => format!("{} beside {}", load(own, 3), load(beside, 3)),
        (own, _) => load(own, 3),
    };
    let follows = |a: &Point, b: &Point| {
        let ((a, beside_a), (b, beside_b)) = (loads(a), loads(b));
        if is_beside { beside_a < beside_b } else { beside_a == beside_b && a < b }
    };
    let meant: Vec<bool> = points.iter().map(is_meant).collect();
    let (mut runs, mut count, mut at) = (Vec::new(), 0, 0);
    while at < points.len() {
        let begin = at;
        at += 1;
        if !meant[begin] || loads(&points[begin]) == (0.0, 0.0) {
            continue;
        }
        while at < points.len() && meant[at] && follows(&points[at - 1], &points[at]) {
            at += 1;
        }
        count += at - begin;
        match &points[begin..at] {
            [first, _, .., last] => runs.push(format!("{} to {}", name(first), name(last))),
            few => runs.extend(few.iter().map(name)),
        }
    }
    let word = if is_beside { "unicast load" } else { "load" };
    match count {
        0 => String::new(),
        all if all == points.len() && all > 1 => format!("at all {word}s, "),
        1 => format!("at {word} {}, ", runs[0]),
        _ => format!("at {word}s {}, ", runs.join(", ")),
    }
}

/// How far what the saturated ones of `points` accept is known, as far as it is: the widest of their intervals.
pub(crate) fn accepted(points: &[Point]) -> String {
    let is_saturated = |point: &Point| point.verdict == Verdict::Saturated;
    let part = |point: &Point| {
        let half = point.accepted_load_ci95.filter(|_| is_saturated(point))?;
        Some(half / point.accepted_load)
    };
    let half = |point: &Point| part(point).filter(|part| *part < 1.0);
    let is_unknown = |point: &Point| part(point).is_some() && half(point).is_none();
    if points.iter().any(is_unknown) {
        let at = at_loads(points, is_unknown);
        let rest = accepted_where(points, half);
        return format!(
            "\n  accepted         {at}so little that it is not known: its 95 % interval holds 0{rest}"
        );
    }
    accepted_where(points, half)
}

/// The same for those of `points` of which `half` of the interval is known, as a part of what they accept.
fn accepted_where(points: &[Point], half: impl Fn(&Point) -> Option<f64>) -> String {
    let Some(widest) = points.iter().filter_map(&half).max_by(f64::total_cmp) else { return String::new() };
    let is_saturated = |point: &Point| point.verdict == Verdict::Saturated;
    let is_known_of_all = points.iter().all(|point| !is_saturated(point) || half(point).is_some());
    let at = if is_known_of_all { String::new() } else { at_loads(points, |point| half(point).is_some()) };
    // What is known better than that is known to that, too.
    let percent = (widest * 100.0).max(0.1);
    format!("\n  accepted         {at}known to {percent:.1} % or better, half of the 95 % interval")
}

/// Why those of `points` that ended with `verdict` are not settled: each reason once, with the points that have it, or where
/// it has numbers each point for itself.
pub(crate) fn unsettled(points: &[Point], verdict: Verdict, title: &str) -> String {
    let mut text = String::new();
    let mut seen: Vec<Unsettled> = Vec::new();
    for point in points.iter().filter(|point| point.verdict == verdict) {
        let is_told = |why: &Unsettled| seen.contains(why) && grown(point).is_empty();
        let Some(why) = point.unsettled.filter(|why| !is_told(why)) else { continue };
        let title = if seen.is_empty() { title } else { "" };
        seen.push(why);
        let numbers = grown(point);
        let has_it = |it: &Point| match numbers.is_empty() {
            true => it.verdict == verdict && it.unsettled == Some(why),
            false => std::ptr::eq(it, point),
        };
        let spans = points.iter().filter(|point| has_it(point)).map(|it| it.warmup_ns + it.duration_ns);
        let (least, most) = (spans.clone().fold(f64::INFINITY, f64::min), spans.fold(0.0, f64::max));
        let mut after = time(least);
        if time(most) != after {
            after = format!("{after} to {}", time(most));
        }
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "\n{title:<19}{}after {after}: {numbers}{}",
            at_loads(points, has_it),
            why.told(points.iter().filter(|point| has_it(point)).any(loses_on))
        );
    }
    text
}

/// Whether packets of `point` are lost for good.
fn loses_on(point: &Point) -> bool {
    point.faults.as_ref().is_some_and(|faults| faults.lost.sum() > 0)
}

/// What is created and accepted at `point`, where the difference tells, as the beginning of a sentence.
fn grown(point: &Point) -> String {
    let created = point.created_load.filter(|_| point.unsettled == Some(Unsettled::Growing));
    created.map_or_else(String::new, |created| {
        format!("created {}, accepted {}: ", load(created, 4), load(point.accepted_load, 4))
    })
}

/// What limits the saturated ones of `points`, each limit once, with the channel that shows it at the first point.
pub(crate) fn limits(points: &[Point]) -> String {
    let mut text = String::new();
    let mut seen: Vec<(Limit, &Option<String>)> = Vec::new();
    let limit_of = |point: &Point| point.stages.as_ref().and_then(|(stages, _)| stages.limit);
    let slow_of = |point: &Point| point.stages.as_ref().and_then(|(stages, _)| stages.slow.clone());
    for point in points {
        let Some((stages, _)) = &point.stages else { continue };
        let is_new = |limit: &Limit| !seen.contains(&(*limit, &stages.slow));
        let Some(limit) = stages.limit.filter(is_new) else { continue };
        seen.push((limit, &stages.slow));
        let has_it = |point: &Point| limit_of(point) == Some(limit) && slow_of(point) == stages.slow;
        let at = at_loads(points, has_it);
        // Where packets wait because of a slow link, that is the cause, and arbitration none beside it.
        let class = match limit {
            Limit::Arbitration | Limit::Window => String::new(),
            limit => format!(" ({})", limit.name()),
        };
        // Writing to a string does not fail.
        let _ = match &stages.slow {
            Some(slow) => {
                write!(text, "\n  limited by       {at}{slow}{class}: the fullest, and below the full rate")
            }
            None => write!(text, "\n  limited by       {at}{}: {}", limit.name(), limit.meaning()),
        };
        if let Some(fullest) = &stages.fullest {
            let is_one = points.iter().filter(|point| has_it(point)).count() == 1;
            let at = if is_one { String::new() } else { at_loads(points, |it| std::ptr::eq(it, point)) };
            let at = at.trim_end_matches(", ");
            let space = if at.is_empty() { "" } else { " " };
            let _ = write!(text, "\n                   fullest channel{space}{at}: {}", told(fullest));
        }
    }
    text
}

/// A channel beside the others of its stage.
fn told(fullest: &Fullest) -> String {
    let percent = |part: f64| format!("{:.1} %", (part * 100.0).min(100.0));
    let contrast = match fullest.taken >= FULL && fullest.mean < FULL {
        true if fullest.stands_out => ": the load is uneven",
        true => ": in so short a time that may be chance",
        false => "",
    };
    format!(
        "{}, about {}{}; used channels {} about {} in the mean{contrast}",
        fullest.name,
        percent(fullest.taken),
        if fullest.has_adverts { " with adverts" } else { "" },
        fullest.channel.stage().place(),
        percent(fullest.mean),
    )
}

/// How many packets of `points` were reordered, where some were.
pub(crate) fn reordered(points: &[Point]) -> String {
    let share = |point: &Point| {
        let count = point.reordered.filter(|count| *count > 0)?;
        let at = at_loads(points, |it| points.len() > 1 && std::ptr::eq(it, point));
        let percent = 100.0 * count as f64 / point.packets.max(1) as f64;
        Some(format!("{}{percent:.2} %", at.replace(", ", " ")))
    };
    let shares: Vec<String> = points.iter().filter_map(share).collect();
    if shares.is_empty() {
        return String::new();
    }
    format!(
        "\nreordered          {} of the packets came after a newer one of their pair of nodes",
        shares.join(", ")
    )
}

/// How unfair saturated points are to their nodes, of which there are `nodes`, `silent` of them by the pattern.
pub(crate) fn unfair(points: &[Point], nodes: u32, silent: u32) -> String {
    let starved = |point: &Point| match point.verdict {
        Verdict::Saturated => point.starved_nodes.saturating_sub(silent),
        _ => 0,
    };
    let counts = points.iter().map(starved).filter(|count| *count > 0);
    let (Some(least), Some(most)) = (counts.clone().min(), counts.max()) else { return String::new() };
    let count = if least == most { most.to_string() } else { format!("{least} to {most}") };
    let at = at_loads(points, |point| starved(point) > 0);
    format!("\nunfair: {at}{count} of {nodes} nodes get less than a tenth of the mean through")
}

/// As a fraction of the offered load, from which on it is worth saying that something else was created.
const NOTICEABLE: f64 = 0.02;

/// The most points whose created load is told one by one.
const TOLD_MAX: usize = 3;

/// What was created where that is noticeably not what is offered, when the part `sending` of the nodes send.
pub(crate) fn created(points: &[Point], sending: f64) -> String {
    let off = |point: &Point| {
        let created = point.created_load.filter(|_| point.offered_load > 0.0)? / sending;
        Some(created / point.offered_load - 1.0).filter(|off| off.abs() > NOTICEABLE)
    };
    let mut told: Vec<(&Point, f64)> = points.iter().filter_map(|point| Some((point, off(point)?))).collect();
    if told.is_empty() {
        return String::new();
    }
    // Stable: those that are equally far off stay in order.
    told.sort_by(|(_, a), (_, b)| b.abs().total_cmp(&a.abs()));
    let more = told.len().saturating_sub(TOLD_MAX);
    told.truncate(TOLD_MAX);
    let each = points.iter().filter(|point| told.iter().any(|(it, _)| std::ptr::eq(*it, *point)));
    let each = each.map(|point| {
        let created = point.created_load.unwrap_or(0.0);
        format!("{} at load {}", load(created, 4), load(point.offered_load, 3))
    });
    let each: Vec<String> = each.collect();
    let more = if more > 0 { format!(", and nearer to it at {more} other loads") } else { String::new() };
    format!("\ncreated            {}{more}: so few packets are a sample of what is offered", each.join(", "))
}
