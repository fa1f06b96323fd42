//! What `flitway check` says of channels: whether they can wait for each other, and how busy they will be.

use crate::table::{bare_table, plural};
use flitway_fabric::Fabric;
use flitway_fabric::chip::Copies;
use flitway_fabric::headroom::Headroom;
use flitway_machine::Machine;
use flitway_report::channels::{Allowed, Answers, ChannelLoads, LOADS_NODES_MAX, Waiting, has_too_many_ways};
use flitway_report::session::Session;
use flitway_wiring::Destination;
use flitway_wiring::dependency::Cycle;
use flitway_wiring::topology::{End, Names};
use flitway_wiring::worst::Worst;

/// Dependencies of a cycle that are printed; JSON has all.
const PRINTED: usize = 32;

/// Whether the machine can deadlock, why, and what helps; and whether credits suffice.
pub(crate) fn waiting_section(
    session: &Session,
    waiting: Option<&Waiting>,
    headroom: Headroom,
    names: &Names,
) -> String {
    let mut lines = vec!["Deadlock".to_owned()];
    match waiting {
        None => lines.push("not analysed: too many nodes and switches to walk every route".to_owned()),
        Some(waiting) if waiting.channels == 0 => {
            lines.push("a single node has nobody to send to: no deadlock is possible".to_owned());
        }
        Some(waiting) => {
            lines.push(match waiting.cycle() {
                None => free(session),
                Some(_) => "cyclic dependence: packets can wait for each other for ever".to_owned(),
            });
            let (channels, dependencies) = (waiting.channels, waiting.dependencies());
            let reach = if waiting.lost().is_none() {
                "every node reaches every other"
            } else {
                "some packets are lost"
            };
            lines.push(format!(
                "in each rail {channels} channels, counted by VC class, with {dependencies} dependencies; {reach}"
            ));
            lines.extend(waiting.answers.map(answers));
            if let Some(cycle) = waiting.cycle() {
                lines.push(picture(cycle, names));
                lines.push(match waiting.answers {
                    Some(Answers::Shared) => fix_of_replies(session.machine()),
                    _ => fix(session.machine()),
                });
            }
        }
    }
    let Headroom { latency, round_trip, units_needed, units } = headroom;
    let short = if units < units_needed { ", too few" } else { "" };
    lines.push(format!(
        "credits come back after {round_trip} cycles on the longest link ({}); a VC alone needs \
         {units_needed} units to fill it, and has {units}{short}",
        plural(latency, "cycle", "s")
    ));
    lines.join("\n")
}

/// The channels of a cycle, and a route for each that takes it and the next one.
fn picture(cycle: &Cycle, names: &Names) -> String {
    let count = cycle.dependencies.len();
    let size = if cycle.is_smallest {
        "the smallest cycle"
    } else {
        "a cycle (the search for the smallest was cut short)"
    };
    let mut table = bare_table(&["switch", "port", "VC class", "a route over this channel and the next"]);
    for dependency in cycle.dependencies.iter().take(PRINTED) {
        let source = names.node(dependency.witness.source);
        let route = match dependency.witness.destination {
            Destination::Node(node) => format!("node {source} to node {}", names.node(node)),
            Destination::Group(group, _) => format!("node {source} to group {group}"),
            Destination::Nodes(id) => format!("node {source} to {} nodes", id.nodes),
        };
        let (switch, port) = match dependency.from.sender {
            End::Switch(switch, port) => (names.switch(switch), port.to_string()),
            End::Node(node) => (format!("node {}", names.node(node)), String::new()),
        };
        table.add_row([switch, port, dependency.from.class.to_string(), route]);
    }
    let rest = match count.checked_sub(PRINTED) {
        None | Some(0) => String::new(),
        Some(rest) => format!("\n... and {rest} more; --json has all"),
    };
    format!("{size}: {count} channels, each waits for the next, and the last for the first\n{table}{rest}")
}

/// The smallest changes that are known to help.
fn fix(machine: &Machine) -> String {
    let up_down = "routing.algorithm = \"up-down\"";
    let Some((flag, classes)) = machine.routing_for_study() else {
        // Tables have a file, which no other routing takes.
        let without = if machine.tables.is_some() { " without routing.file" } else { "" };
        return format!("fix: {up_down}{without}");
    };
    // Another routing does not take the setting.
    let up_down = format!("{up_down} without {flag}");
    let chip = machine.switch.chip();
    if !chip.offers().virtual_channels {
        return format!("fix: {up_down}");
    }
    if chip.vcs().is_multiple_of(classes) {
        let vcs = plural(chip.vcs() / classes, "VC", "s");
        format!("fix: {flag} = true, with {classes} classes of {vcs}; or {up_down}")
    } else {
        let vcs = chip.vcs().next_multiple_of(classes);
        format!("fix: {flag} = true and switch.vcs = {vcs}, for its {classes} classes; or {up_down}")
    }
}

/// What it means that packets are answered.
fn answers(answers: Answers) -> String {
    let text = match answers {
        Answers::Unlimited => "a NIC takes requests however many replies wait: they hold back nothing",
        Answers::Fit => {
            "a reply queue holds as many as there can be requests under way to it: they hold back nothing"
        }
        Answers::Refused => {
            "a NIC that is full refuses requests, which are sent again: they hold back nothing"
        }
        Answers::Own => "virtual channels of their own: a NIC that keeps requests holds back no reply",
        Answers::Shared => {
            "those of requests, which a NIC keeps while its reply queue is full: what comes into a node waits for what goes out"
        }
    };
    format!("replies: {text}")
}

/// What helps where replies wait behind requests.
fn fix_of_replies(machine: &Machine) -> String {
    let queue = "nic.reply_queue as large as there are requests under way to a node";
    if machine.switch.chip().offers().virtual_channels {
        format!("fix: nic.reply_vcs = \"own\"; or, with --outstanding, {queue}")
    } else {
        format!("fix: with --outstanding, {queue}")
    }
}

/// How busy the channels will be.
pub(crate) fn loads_section(
    pattern: &str,
    loads: Option<&ChannelLoads>,
    fabric: &Fabric,
    names: &Names,
) -> String {
    let Some(loads) = loads else {
        let reason = if fabric.nodes() > LOADS_NODES_MAX {
            format!("the machine has more than {LOADS_NODES_MAX} nodes")
        } else if fabric.routing.is_adaptive() {
            "switches choose the ways of packets by load".to_owned()
        } else if has_too_many_ways(fabric) {
            "packets of too many nodes go too many ways".to_owned()
        } else {
            "there is nobody to send to".to_owned()
        };
        return format!("Channels\nexpected loads are not computed: {reason}");
    };
    let mut heads = vec!["links", "direction", "channels", "mean load", "max load"];
    heads.extend(loads.has_rates.then_some("full at"));
    let mut table = bare_table(&heads);
    for class in &loads.classes {
        let mut row = vec![
            class.class.clone(),
            class.direction.to_owned(),
            class.channels.to_string(),
            format!("{:.4}", class.mean),
            format!("{:.4}", class.max),
        ];
        row.extend(loads.has_rates.then(|| format!("{:.4}", class.fullest.recip())));
        table.add_row(row);
    }
    table.add_row([
        "all".to_owned(),
        String::new(),
        loads.channels.to_string(),
        format!("{:.4}", loads.mean),
        format!("{:.4}", loads.max),
    ]);
    let window = loads.window.map_or_else(String::new, window);
    let named: Vec<String> = loads.busiest.iter().map(|&end| names.end(end)).collect();
    let rest = match loads.busiest_count as usize - named.len() {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    format!(
        "Channels\nexpected loads of {pattern} traffic at load 1, if there were room for all of it; 1 is a flit in every cycle\n\
         {table}\n\nbusiest: {}{rest}\n{}\n{window}{}",
        named.join(", "),
        full(loads),
        shortest(loads)
    )
}

/// When the fullest channel is full.
fn full(loads: &ChannelLoads) -> String {
    let bound = loads.bound;
    if loads.are_shared {
        return format!(
            "switches select among outputs; if each of these got an equal part, the busiest channel would be full at load {bound:.4}"
        );
    }
    format!("the busiest channel is full at load {bound:.4}; beyond that, those who send over it get no more")
}

/// What windows of packets allow, where they are why channels are full below their rate.
fn window(allowed: Allowed) -> String {
    let Allowed { answered, alone } = allowed;
    format!(
        "windows (switch.link.window) allow at most {answered:.4} of the full rate, and {alone:.4} where no packets come the \
         other way:\nacknowledgements then wait for switch.link.ack_delay\n"
    )
}

/// What was found to be the worst permutation.
pub(crate) fn worst_line(worst: &Worst, selects: bool, names: &Names) -> String {
    let Worst { channel, load, is_exact, .. } = worst;
    let sure = if *is_exact {
        "no permutation loads a channel more"
    } else {
        "found by exchanging pairs: others may load a channel more"
    };
    let by = if selects { "\nby the first outputs alone, among which switches select" } else { "" };
    format!(
        "\nworst permutation: {} has to carry {load:.4} flits a cycle at load 1; {sure}{by}",
        names.end(*channel)
    )
}

/// How many channels pairs share that should share none.
pub(crate) fn shared_line(channels: u32) -> String {
    match channels {
        0 => "\ncontention-free: no channel between switches is on the ways of two pairs".to_owned(),
        _ => format!(
            "\nnot contention-free: several pairs share {} between switches; none with fewer was found",
            plural(channels, "channel", "s")
        ),
    }
}

/// What the routing is held against.
fn shortest(loads: &ChannelLoads) -> String {
    /// The part of it that a routing may cost without a word.
    const MODEST: f64 = 0.1;
    let (Some(bound), Some(cost)) = (loads.shortest_bound, loads.cost()) else {
        return "what balanced shortest paths would allow is not known where channels between switches have several rates"
            .to_owned();
    };
    let costs = if cost > MODEST {
        format!(": this routing costs {:.0} % of that", 100.0 * cost)
    } else {
        String::new()
    };
    format!("balanced shortest paths, free of deadlock or not, would be full at load {bound:.4}{costs}")
}

/// What it means that no packets for one node can wait for each other for ever, and whether copies can.
fn free(session: &Session) -> String {
    match session.fabric().chip.offers().copies {
        Copies::Deadlock { setting } => format!(
            "free of cyclic dependence: no deadlock of packets for one node is possible; but copies of a multicast can \
             deadlock with {setting}"
        ),
        Copies::FreeBy { setting, why } => {
            format!(
                "free of cyclic dependence: no deadlock is possible\nof copies neither: {why} ({setting})"
            )
        }
        Copies::Free => "free of cyclic dependence: no deadlock is possible".to_owned(),
    }
}
