//! The operator: reads the states of links every so often, keeps a log, and writes tables around what is down.

use super::ManagerSettings;
use crate::link_counts::{Channel, place};
use crate::recorder::Recorder;
use flitway_engine::Cycle;
use flitway_fabric::observer::{ComponentNumber, LinkChange, LinkState, TrainingReason, end_at, other_end};
use flitway_fabric::simulation::Architecture;
use flitway_fabric::{Endpoint, Fabric, Simulation};
use flitway_wiring::routing::{Down, Routing};
use flitway_wiring::topology::{End, LinkId};
use flitway_wiring::{PortId, SwitchId};
use std::collections::{BTreeMap, BTreeSet};

/// Management of a run.
#[derive(Debug)]
pub struct Operator {
    settings: ManagerSettings,
    routing: Routing,
    rails: u32,
    next: Cycle,
    /// Up to which cycle it has read.
    read: Cycle,
    /// The states of the links that have changed, by the end that told.
    states: BTreeMap<(ComponentNumber, PortId), LinkState>,
    /// Channels that had so many errors in the last reading that it noted them.
    noisy: BTreeSet<Channel>,
    /// What its tables avoid.
    avoided: Down,
    log: Vec<Entry>,
}

/// A line of its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it was read or decided.
    pub at: Cycle,
    /// What it is about.
    pub about: About,
    /// What it says.
    pub text: String,
    /// Since when, or from when on, that is so.
    pub since: Cycle,
}

/// What a line of the log is about; places in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// The link of this port.
    Link(String),
    /// This switch.
    Switch(String),
    /// The tables of all switches.
    Tables,
    /// The NIC port of this node, which is stalled: no manager reads that.
    Node(String),
}

impl Operator {
    /// That of `fabric`.
    #[must_use]
    pub fn new(settings: ManagerSettings, fabric: &Fabric) -> Self {
        Operator {
            settings,
            routing: fabric.routing.clone(),
            rails: fabric.rails,
            next: Cycle(settings.every),
            read: Cycle::ZERO,
            states: BTreeMap::new(),
            noisy: BTreeSet::new(),
            avoided: Down::default(),
            log: Vec::new(),
        }
    }

    /// When it reads next.
    #[must_use]
    pub fn next(&self) -> Cycle {
        self.next
    }

    /// What it has noted.
    #[must_use]
    pub fn log(&self) -> &[Entry] {
        &self.log
    }

    /// Reads what has become of links before the cycle in which it was to read, and acts on it.
    pub fn look<A: Architecture, E: Endpoint>(&mut self, simulation: &mut Simulation<A, E, Recorder>) {
        let (from, until) = (self.read, self.next);
        (self.read, self.next) = (until, until + self.settings.every);
        let is_new = |change: &&LinkChange| (from..until).contains(&change.at);
        let of_shards = simulation.gather_observers(|recorder| {
            let changes = recorder.faults().map_or(&[][..], |faults| &faults.changes);
            changes.iter().filter(is_new).copied().collect::<Vec<_>>()
        });
        let mut changes: Vec<LinkChange> = of_shards.into_iter().flatten().collect();
        changes.sort_by_key(|change| (change.at, change.component, change.port));
        changes.iter().for_each(|it| _ = self.states.insert((it.component, it.port), it.state));
        let down = if changes.is_empty() { self.avoided.clone() } else { self.down() };
        let topology = self.routing.topology();
        let end_of = |change: &LinkChange| end_at(topology, self.rails, change.component, change.port).1;
        let touches = |change: &LinkChange, switch: SwitchId| {
            let ends = topology.link_of(end_of(change)).map(|link| topology.links()[link.index()].ends);
            ends.iter().flatten().any(|end| matches!(end, End::Switch(it, _) if *it == switch))
        };
        // What explains the rest comes first.
        for switch in down.switches.iter().filter(|switch| !self.avoided.switches.contains(switch)) {
            let about = About::Switch(format!("switch {}", topology.names().switch(*switch)));
            let text = "dead: no link of it answers";
            let since =
                changes.iter().filter(|change| touches(change, *switch)).map(|change| change.at).min();
            self.log.push(Entry { at: until, about, text: text.to_owned(), since: since.unwrap_or(until) });
        }
        // What is dead tells nothing. In another rail the switch of that number may live.
        let is_told = |change: &&LinkChange| match end_of(change) {
            End::Switch(switch, _) => self.rails > 1 || !down.switches.contains(&switch),
            End::Node(_) => true,
        };
        self.log.extend(changes.iter().filter(is_told).map(|change| Entry {
            at: until,
            about: About::Link(place(topology, self.rails, (change.component, change.port))),
            text: words(&change.state),
            since: change.at,
        }));
        self.note_errors(simulation, [from, until]);
        self.write_tables(simulation, until, down);
    }

    /// Reads the counters of CRC errors, and notes the ports at which many have come.
    fn note_errors<A: Architecture, E: Endpoint>(
        &mut self,
        simulation: &mut Simulation<A, E, Recorder>,
        [from, until]: [Cycle; 2],
    ) {
        let mut errors: BTreeMap<Channel, u64> = BTreeMap::new();
        for error in simulation.gather_observers(|recorder| recorder.read_errors(until)).iter().flatten() {
            *errors.entry((error.component, error.port)).or_default() += 1;
        }
        errors.retain(|_, count| *count >= self.settings.errors);
        let topology = self.routing.topology();
        let new = errors.iter().filter(|(channel, _)| !self.noisy.contains(channel));
        self.log.extend(new.map(|(&channel, count)| Entry {
            at: until,
            about: About::Link(place(topology, self.rails, other_end(topology, self.rails, channel))),
            text: format!("{count} CRC errors"),
            since: from,
        }));
        self.noisy = errors.into_keys().collect();
    }

    /// Writes tables that avoid what is down, if that is other than before.
    fn write_tables<A: Architecture, E: Endpoint>(
        &mut self,
        simulation: &mut Simulation<A, E, Recorder>,
        now: Cycle,
        down: Down,
    ) {
        if down == self.avoided {
            return;
        }
        let [switches, links] = [down.switches.len(), down.links.len()];
        let avoids = format!("{} and {}", counted(switches, "switch", "es"), counted(links, "link", "s"));
        let at = (now + self.settings.latency).max(simulation.earliest_change());
        let routing = self.routing.around(&down);
        let (since, text) = match routing {
            Err(_) => (now, "the tables of this routing are fixed: nothing is written".to_owned()),
            Ok((routing, holes)) => match simulation.reroute(at, &routing) {
                Ok(()) if holes.is_empty() => (at, format!("tables avoid {avoids}")),
                Ok(()) => {
                    let entries = if holes.len() == 1 { "entry" } else { "entries" };
                    (at, format!("tables avoid {avoids}; {} {entries} without a port", holes.len()))
                }
                Err(error) => (now, format!("tables cannot be written: {error}")),
            },
        };
        self.avoided = down;
        self.log.push(Entry { at: now, about: About::Tables, text, since });
    }

    /// What is down, in any rail: rails have the same tables. A switch all of whose neighbours say so is dead.
    fn down(&self) -> Down {
        let topology = self.routing.topology();
        let mut links = BTreeSet::new();
        for (&(component, port), state) in &self.states {
            let is_down = matches!(state, LinkState::Down | LinkState::Trains(TrainingReason::Silent));
            if is_down {
                let (_, end) = end_at(topology, self.rails, component, port);
                links.extend(topology.link_of(end).map(|link| link.0));
            }
        }
        let is_dead = |&switch: &SwitchId| {
            let mut wired =
                (0..topology.ports(switch)).filter_map(|port| topology.wire(switch, PortId(port))).peekable();
            let is_wired = wired.peek().is_some();
            is_wired && wired.all(|(link, _)| links.contains(&link.0))
        };
        let ends = |link: &u32| topology.links()[*link as usize].ends;
        let touched: BTreeSet<SwitchId> = links
            .iter()
            .flat_map(ends)
            .filter_map(|end| if let End::Switch(switch, _) = end { Some(switch) } else { None })
            .collect();
        let dead: Vec<SwitchId> = touched.into_iter().filter(|switch| is_dead(switch)).collect();
        Down { switches: dead, links: links.into_iter().map(LinkId).collect() }
    }
}

/// The state of a link, in words.
fn words(state: &LinkState) -> String {
    match state {
        LinkState::Trains(TrainingReason::Silent) => "no heartbeats, trains".to_owned(),
        LinkState::Trains(TrainingReason::Lanes) => "lanes have changed, trains".to_owned(),
        LinkState::Trains(TrainingReason::Signal) => "a signal again, trains".to_owned(),
        LinkState::Trains(TrainingReason::OtherEnd) => "trained by the other end".to_owned(),
        LinkState::Active(agreement) => {
            let (flits, cycles) = agreement.rate.ratio();
            let lanes = agreement.lanes.count_ones();
            let part = if flits == cycles { "at ".to_owned() } else { format!("{flits}/{cycles} of ") };
            format!("active on {lanes} lanes, {part}the full rate")
        }
        LinkState::Down => "down".to_owned(),
    }
}

fn counted(count: usize, one: &str, ending: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}{ending}") }
}
