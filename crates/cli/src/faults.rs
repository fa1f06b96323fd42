//! What broke in a run, below its table.

use crate::table::plural;
use flitway_fabric::simulation::LostCounters;
use flitway_report::faults::FaultsResult;
use flitway_report::page::time;
use flitway_report::shown::load;
use std::fmt::Write;

/// Lines of the log about ports that are shown; the rest is in the result.
const PORTS: usize = 8;

/// What came of faults: what was lost, how much got through before, during and after, and the log of the manager.
pub(crate) fn text(faults: &FaultsResult) -> String {
    let FaultsResult { created, delivered, lost, pairs, .. } = faults;
    let mut text = format!("packets            {created} created, {delivered} delivered");
    let mut add = |name: &str, what: &str| {
        // Writing to a string does not fail.
        let _ = write!(text, "\n{name:<19}{what}");
    };
    let LostCounters { in_dead_switch, link_down, unacknowledged, no_route } = *lost;
    let causes = [
        (in_dead_switch, "in a switch that died"),
        (link_down, "for a link that is down"),
        (unacknowledged, "on a link that went down"),
        (no_route, "without a route"),
    ];
    let causes = causes.iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{count} {why}"));
    let causes: Vec<String> = causes.collect();
    if causes.is_empty() {
        add("lost for good", "none");
    } else {
        add("lost for good", &format!("{}: {}", lost.sum(), causes.join(", ")));
        let longest = faults.longest.map_or_else(String::new, |(source, destination, nanos)| {
            format!("; longest from node {source} to {destination}, for {}", time(nanos))
        });
        add("", &format!("{} of nodes lost packets{longest}", plural(*pairs, "pair", "s")));
    }
    if let Some([broken, settled]) = faults.broken_ns {
        add("broken", &format!("at {}; the last that came of it at {}", time(broken), time(settled)));
    }
    let [before, during, after] = faults.accepted.map(|it| it.map_or("-".to_owned(), |it| load(it, 4)));
    add("accepted load", &format!("{before} before, {during} until the last that came of it, {after} after"));
    let (mut ports, mut more) = (0, 0_u64);
    for (at, place, what, since) in &faults.log {
        // What it has concluded is shown; what it has read fills pages where a switch dies.
        let is_read = place.is_some() && !what.starts_with("dead");
        ports += usize::from(is_read);
        if is_read && ports > PORTS {
            more += 1;
            continue;
        }
        let about = place.as_ref().map_or_else(
            || format!("{what}, which count from {} on", time(*since)),
            |place| format!("{place}: {what} since {}", time(*since)),
        );
        add("manager", &format!("{:>9}  {about}", time(*at)));
    }
    if more > 0 {
        add("", &format!("{} about links in the log of the result (--json)", plural(more, "more line", "s")));
    }
    text
}
