//! What broke in a run, below its table.

use crate::table::plural;
use flitway_fabric::simulation::{LinkCounters, LostCounters};
use flitway_report::faults::result::Note;
use flitway_report::faults::{About, Explained, FaultsResult};
use flitway_report::link_counts::LinkCounts;
use flitway_report::page::time;
use flitway_report::shown::load;
use flitway_wiring::topology::Names;
use std::fmt::Write;

/// Lines of the log about ports that are shown; the rest is in the result.
const PORTS: usize = 8;

/// What came of faults: what was lost, what links made up for, how much got through before, during and after,
/// and the log of the manager.
pub(crate) fn text(
    faults: &FaultsResult,
    (link, links): (&LinkCounters, &[LinkCounts]),
    names: &Names,
) -> String {
    let FaultsResult { created, delivered, lost, pairs, .. } = faults;
    let under_way = created.saturating_sub(delivered + lost.sum());
    let mut text = format!(
        "packets            {created} created, {delivered} delivered, {under_way} under way at the end"
    );
    let mut add = |name: &str, what: &str| {
        // Writing to a string does not fail.
        let _ = write!(text, "\n{name:<19}{what}");
    };
    if lost.sum() == 0 {
        add("lost for good", "none");
    } else {
        add("lost for good", &format!("{}: {}", lost.sum(), causes(lost)));
        // One packet alone tells nothing of a time.
        let longest = faults.longest.filter(|(_, nanos)| *nanos > 0.0);
        let longest = longest.map_or_else(String::new, |(nodes, nanos)| {
            let [source, destination] = nodes.map(|node| names.node(node));
            format!("; longest from node {source} to {destination}, for {}", time(nanos))
        });
        add("", &format!("{} of nodes lost packets{longest}", plural(*pairs, "pair", "s")));
    }
    for (name, line) in ["links", "", ""].into_iter().zip(made_up(link, links)) {
        add(name, &line);
    }
    if let Some(broken) = faults.broken_ns {
        let last = match (faults.settled_ns, faults.changed_ns) {
            (Some(settled), _) => format!("the last that came of it at {}", time(settled)),
            (None, Some(changed)) => {
                format!(
                    "the last change that came of it at {}; packets are lost up to the end",
                    time(changed)
                )
            }
            (None, None) => "more was to come of it at the end".to_owned(),
        };
        add("broken", &format!("at {}; {last}", time(broken)));
    }
    if let Some(next) = faults.next_ns {
        add("not broken yet", &format!("what was to break from {} on: the run was over before", time(next)));
    }
    if faults.unmatched > 0 {
        let rules = plural(faults.unmatched, "rule", "s");
        add("not corrupted", &format!("what {rules} named: fewer were sent there than its `nth`"));
    }
    if let Some(Explained { what, share }) = &faults.explained {
        add("explained", &format!("{:.0} % of CRC errors, losses and links down: {what}", 100.0 * share));
    }
    let [before, during, after] = faults.accepted.map(|it| it.map_or("-".to_owned(), |it| load(it, 4)));
    let last = if faults.settled_ns.is_some() { "the last that came of it" } else { "the last change" };
    let course = match (faults.broken_ns, faults.changed_ns) {
        (Some(_), Some(_)) => format!("{before} before, {during} until {last}, {after} after"),
        (Some(_), None) => format!("{before} before, {during} from then on"),
        (None, _) => before,
    };
    add("load delivered", &format!("{course}; fraction of the injection rate"));
    if faults.broken_ns.is_some() && faults.accepted[0].is_none() {
        add("", "before: not known, what breaks does so before the end of the warm-up, or just after it");
    }
    log(faults, &mut add);
    text
}

/// Where packets were lost for good, and how many of them.
pub(crate) fn causes(lost: &LostCounters) -> String {
    let LostCounters { in_dead_switch, link_down, unacknowledged, no_route, refused } = *lost;
    let causes = [
        (in_dead_switch, "in a switch that died"),
        (link_down, "for a link that is down"),
        (unacknowledged, "on a link that went down"),
        (no_route, "without a route"),
        (refused, "refused by full NIC ports"),
    ];
    let causes = causes.iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{count} {why}"));
    causes.collect::<Vec<_>>().join(", ")
}

/// What links made up for, where they corrupted something, and the channel that has most of it: up to four lines.
fn made_up(link: &LinkCounters, links: &[LinkCounts]) -> Vec<String> {
    let LinkCounters { corrupted, undetected, repeated, timeouts, refused, .. } = *link;
    let mut lines = Vec::new();
    if *link != LinkCounters::default() {
        let expired = plural(timeouts, "time-out", "s");
        let corrupted = format!("{corrupted} packets and acknowledgements corrupted and noticed");
        lines.push(format!("{corrupted}, {} sent again, {expired}", plural(repeated, "packet", "s")));
    }
    if let Some(LinkCounts { ends: [from, to], counts }) = links.first().filter(|it| it.counts.crc_errors > 0)
    {
        lines.push(format!("most at {to}, from {from}: {} of {corrupted}", counts.crc_errors));
    }
    if refused > 0 {
        let most = links.iter().max_by_key(|it| it.counts.refused).filter(|it| it.counts.refused > 0);
        let most = most.map_or_else(String::new, |LinkCounts { ends: [node, _], counts }| {
            format!(", most by {node}: {}", counts.refused)
        });
        lines.push(format!("{} by NIC ports that were full{most}", plural(refused, "refusal", "s")));
    }
    if undetected > 0 {
        lines.push(format!(
            "{} delivered corrupt: no check of a link showed it",
            plural(undetected, "packet", "s")
        ));
    }
    lines
}

/// The same by itself, of a run `at` a load in which nothing else broke; nothing where links corrupted nothing.
pub(crate) fn links(link: &LinkCounters, counts: &[LinkCounts], at: &str) -> Option<String> {
    let lines = made_up(link, counts);
    (!lines.is_empty()).then(|| format!("{:<19}{at}{}", "links", lines.join(&format!("\n{:19}", ""))))
}

/// What the manager has noted, and who was stalled.
fn log(faults: &FaultsResult, add: &mut impl FnMut(&str, &str)) {
    let (mut ports, mut more) = (0, 0_u64);
    for Note { at_ns, about, text: what, since_ns } in &faults.log {
        let line = match about {
            // What it has read of links fills pages where a switch dies; what it has concluded is shown.
            About::Link(_) if ports == PORTS => {
                more += 1;
                continue;
            }
            About::Link(place) => {
                ports += 1;
                format!("{place}: {what} since {}", time(*since_ns))
            }
            About::Switch(place) => format!("{place}: {what} since {}", time(*since_ns)),
            About::Node(place) => {
                add("stalled", &format!("{:>9}  {place}: {what}", time(*at_ns)));
                continue;
            }
            About::Tables if since_ns > at_ns => format!("{what}, which count from {} on", time(*since_ns)),
            About::Tables => what.clone(),
        };
        add("manager", &format!("{:>9}  {line}", time(*at_ns)));
    }
    if more > 0 {
        add("", &format!("{} about links in the log of the result (--json)", plural(more, "more line", "s")));
    }
}
