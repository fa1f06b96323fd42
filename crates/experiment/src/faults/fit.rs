//! Rules, once there is a fabric: what breaks in it when.

use super::failures::Failures;
use super::{FaultRule, Written, all};
use flitway_engine::{Clock, Cycle, Picos};
use flitway_fabric::chip::LinkTraining;
use flitway_fabric::faults::{Fault, FaultKind, PortFault};
use flitway_fabric::headroom::Longest;
use flitway_fabric::link::lanes::{LaneStates, Lanes};
use flitway_fabric::observer::component_at;
use flitway_fabric::{ChannelRate, ErrorRule, Fabric, Faults, LinkErrors};
use flitway_machine::{Machine, Place, Value, lane_states, probability_of_error, switch_called};
use flitway_report::faults::{FaultPlan, ManagerSettings};
use flitway_report::session::Session;
use flitway_wiring::topology::{End, LinkId};
use flitway_wiring::{PortId, RailId, SwitchId};
use std::collections::BTreeSet;

/// `rules` in the fabric of `session`.
///
/// # Errors
/// All that does not fit.
pub fn fit(rules: &[Written], session: &Session) -> Result<FaultPlan, Vec<String>> {
    let fabric = session.fabric();
    let training = fabric.chip.training();
    if !fabric.chip.offers().faults {
        return Err(vec![
            "the switches of this machine model no faults; expected links that retry (`switch.link.retry = true` of tiled \
             switches), or Elite4s of 63 ports or less that hold paths (`switch.answer.hold = true`)"
                .to_owned(),
        ]);
    }
    if let Some(training) = &training {
        check_test(fabric, training).map_err(|message| vec![message])?;
        if !fabric.lanes_explain_rates() {
            let message = "links of less than the full rate (`link.rate`) are not modelled with faults";
            return Err(vec![message.to_owned()]);
        }
    }
    let clock = session.machine().clock;
    let every = |picos: u64| clock.cycles_ceil(Picos(picos)).0;
    let mut fitter = Fitter {
        fabric,
        clock,
        list: Vec::new(),
        errors: LinkErrors::default(),
        manager: Some(ManagerSettings { every: every(10_000_000), latency: every(50_000_000), errors: 16 }),
        flit_bits: session.machine().packet.flit_bytes * 8,
        test: training.as_ref().map_or(0, |training| training.test),
        seed: session.seed(),
        lanes: training.map(|training| training.lanes),
        lane_rates: lane_rates(session.machine()),
        cut: BTreeSet::new(),
        dead: BTreeSet::new(),
        stalled: Vec::new(),
    };
    let add =
        |Written { rule, place }: &Written| fitter.add(rule).map_err(|message| format!("{place}: {message}"));
    all(rules.iter().map(add).collect())?;
    let Fitter { list, errors, manager, .. } = fitter;
    Ok(FaultPlan { faults: Faults::new(list), errors, manager })
}

struct Fitter<'a> {
    fabric: &'a Fabric,
    clock: Clock,
    list: Vec<Fault>,
    errors: LinkErrors,
    manager: Option<ManagerSettings>,
    flit_bits: u32,
    /// Where links are trained.
    lanes: Option<Lanes>,
    /// In Gbit/s, from the highest to the lowest.
    lane_rates: Vec<u32>,
    /// Cycles that a test of them takes; 0 where there are none.
    test: u32,
    seed: u64,
    /// Links that are cut, by rail, link and time, and switches that die, by rail.
    cut: BTreeSet<(u32, Option<LinkId>, u64)>,
    dead: BTreeSet<(u32, u32)>,
    /// NIC ports that are stalled, by rail, with when.
    stalled: Vec<(u32, End, [u64; 2])>,
}

/// The rates of lanes that `machine` says, in Gbit/s.
fn lane_rates(machine: &Machine) -> Vec<u32> {
    let effective = machine.effective.iter().find(|effective| effective.path == "switch.link.lane_rates");
    match effective.map(|effective| &effective.value) {
        Some(Value::Counts(rates)) => rates.clone(),
        _ => Vec::new(),
    }
}

/// What breaks where links are not trained.
const CAN: &str = "expected `down`, `failures`, `stall`, `bit-errors`, `corrupt`, `lose-ack` or `manager`";

impl Fitter<'_> {
    fn cycle(&self, picos: u64) -> Cycle {
        self.clock.cycles_ceil(Picos(picos))
    }

    fn add(&mut self, rule: &FaultRule) -> Result<(), String> {
        match *rule {
            FaultRule::Cut { ref link, rail, at, until } => {
                let ends = link.ends(self.fabric.topology())?;
                if !self.cut.insert((rail, self.fabric.topology().link_of(ends[0]), at)) {
                    return Err("that link is cut at that time already; expected one rule for it".to_owned());
                }
                for end in ends {
                    self.port(end, rail, at, PortFault::Cut)?;
                    if let Some(until) = until {
                        self.port(end, rail, until, PortFault::Mended)?;
                    }
                }
            }
            FaultRule::Stalled { ref node, rail, at, until } => self.stall(node, rail, [at, until])?,
            FaultRule::Dead { ref switch, rail, at } => {
                self.kill(switch_called(switch, self.fabric.topology())?, rail, at)?;
            }
            FaultRule::Lanes { ref link, rail, good, gigabits, ref errors, at, until } => {
                let Some(lanes) = self.lanes.clone() else {
                    return Err(format!(
                        "links of this machine have no lanes that are trained one by one; {CAN}"
                    ));
                };
                let [end, _] = link.ends(self.fabric.topology())?;
                let states = match errors {
                    None => lane_states(&lanes, &self.lane_rates, good, gigabits)?,
                    Some(errors) => self.tested(&lanes, good, errors)?,
                };
                self.port(end, rail, at, PortFault::Lanes(states))?;
                if let Some(until) = until {
                    let first = self.fabric.faults.first().at(&lanes, end);
                    self.port(end, rail, until, PortFault::Lanes(first))?;
                }
            }
            FaultRule::Failures(ref failures) => self.fail(failures)?,
            FaultRule::BitErrors { of_petabit, ref link, rail } => {
                self.bit_errors(of_petabit, link.as_ref(), rail)?;
            }
            FaultRule::Undetected(_) if self.lanes.is_none() => {
                return Err(format!("the checks of this machine's packets find every error; {CAN}"));
            }
            FaultRule::Undetected(of_a_quadrillion) => {
                self.errors.undetected = probability_of_error(of_a_quadrillion, 1);
            }
            FaultRule::Corrupted { kind, ref link, rail, nth } => {
                let [end, _] = link.ends(self.fabric.topology())?;
                let (component, port) = self.component(end, rail)?;
                self.errors.rules.push(ErrorRule { component, port, kind, nth });
            }
            FaultRule::Manager(settings) => {
                self.manager = settings.map(|([every, latency], errors)| ManagerSettings {
                    every: self.cycle(every).0.max(1),
                    latency: self.cycle(latency).0,
                    errors,
                });
            }
        }
        Ok(())
    }

    /// Nothing feeds the NIC port of a node from the first of the times to the second.
    fn stall(&mut self, node: &Place, rail: u32, [at, until]: [u64; 2]) -> Result<(), String> {
        if self.lanes.is_some() {
            let message = "NIC ports that are stalled are modelled on machines of Elite4s alone, which hold paths until packets \
                           are answered (`switch.answer.hold = true`)";
            return Err(message.to_owned());
        }
        let [end, _] = node.ends(self.fabric.topology())?;
        let is_so_already =
            |it: &(u32, End, [u64; 2])| (it.0, it.1) == (rail, end) && it.2[0] < until && at < it.2[1];
        if self.stalled.iter().any(is_so_already) {
            return Err("that node is stalled at that time already; expected one rule for it".to_owned());
        }
        self.stalled.push((rail, end, [at, until]));
        self.port(end, rail, at, PortFault::Stalled)?;
        self.port(end, rail, until, PortFault::Resumed)
    }

    /// The states of lanes of a link that get so many of 10^15 bits wrong at each rate; the first `good` ones, or all.
    fn tested(&self, lanes: &Lanes, good: Option<u32>, errors: &[u64]) -> Result<LaneStates, String> {
        if errors.len() != self.lane_rates.len() {
            let rates: Vec<String> = self.lane_rates.iter().map(ToString::to_string).collect();
            let expected = rates.len();
            let read = match errors.len() {
                1 => "1 bit error rate".to_owned(),
                count => format!("{count} bit error rates"),
            };
            let rates = rates.join(", ");
            return Err(format!("read {read}, expected {expected}: one at {rates} Gbit/s each"));
        }
        let nanos = self.clock.nanos(f64::from(self.test));
        let wrong = |(&gigabits, &errors): (&u32, &u64)| nanos * f64::from(gigabits) * errors as f64 / 1e15;
        let best = self.lane_rates.iter().zip(errors).position(|rate| wrong(rate) < 1.0);
        match best {
            Some(best) => lane_states(lanes, &self.lane_rates, good, Some(self.lane_rates[best])),
            None => lane_states(lanes, &self.lane_rates, Some(0), None),
        }
    }

    /// Links fail at a rate.
    fn fail(&mut self, failures: &Failures) -> Result<(), String> {
        let lanes = match (failures.good, &self.lanes) {
            (None, _) => None,
            (good, Some(lanes)) => Some((lanes.clone(), lane_states(lanes, &self.lane_rates, good, None)?)),
            (Some(_), None) => {
                return Err(
                    "links of this machine have no lanes that are trained one by one; expected no `good`"
                        .to_owned(),
                );
            }
        };
        let topology = self.fabric.topology();
        for failure in failures.draw(topology, self.seed, self.list.len() as u64)? {
            for end in topology.links()[failure.link.index()].ends {
                let [fails, works] = match &lanes {
                    None => [PortFault::Cut, PortFault::Mended],
                    Some((lanes, states)) => {
                        let first = self.fabric.faults.first().at(lanes, end);
                        [*states, first].map(PortFault::Lanes)
                    }
                };
                self.port(end, failures.rail, failure.at, fails)?;
                if let Some(until) = failure.until {
                    self.port(end, failures.rail, until, works)?;
                }
            }
        }
        Ok(())
    }

    /// Links get bits wrong, or one does.
    fn bit_errors(&mut self, of_petabit: u64, link: Option<&Place>, rail: u32) -> Result<(), String> {
        let flit = probability_of_error(of_petabit, self.flit_bits);
        let Some(link) = link else {
            if std::mem::replace(&mut self.errors.flit, flit) > 0 {
                return Err("all links have bit errors already; expected one rule for them".to_owned());
            }
            return Ok(());
        };
        for end in link.ends(self.fabric.topology())? {
            let (component, port) = self.component(end, rail)?;
            let has_some = |it: &ChannelRate| it.component == component && it.port == port;
            if self.errors.channels.iter().any(has_some) {
                return Err("that link has bit errors already; expected one rule for it".to_owned());
            }
            self.errors.channels.push(ChannelRate { component, port, flit });
        }
        Ok(())
    }

    /// Who has that end among the components of all rails, and as which port.
    fn component(&self, end: End, rail: u32) -> Result<(u32, PortId), String> {
        let rails = self.fabric.rails;
        if rail >= rails {
            return Err(format!("there is no rail {rail}: the machine has {rails}, from 0"));
        }
        Ok(component_at(self.fabric.topology(), rails, RailId(rail), end))
    }

    fn port(&mut self, end: End, rail: u32, at: u64, fault: PortFault) -> Result<(), String> {
        let (component, port) = self.component(end, rail)?;
        self.list.push(Fault { at: self.cycle(at), component, kind: FaultKind::Port(port, fault) });
        Ok(())
    }

    /// A switch dies, and its neighbours hear nothing more than what is on the cables.
    fn kill(&mut self, here: SwitchId, rail: u32, at: u64) -> Result<(), String> {
        let topology = self.fabric.topology();
        if !self.dead.insert((rail, here.0)) {
            return Err("that switch dies already, and is dead for ever; expected one rule for it".to_owned());
        }
        let (component, _) = self.component(End::Switch(here, PortId(0)), rail)?;
        let dies = self.cycle(at);
        self.list.push(Fault { at: dies, component, kind: FaultKind::Dead });
        if self.lanes.is_none() {
            // Both ends of a link know at once.
            return Ok(());
        }
        let wired: Vec<(LinkId, End)> =
            (0..topology.ports(here)).filter_map(|port| topology.wire(here, PortId(port))).collect();
        for (link, end) in wired {
            let (component, port) = self.component(end, rail)?;
            let at = dies + u64::from(self.fabric.latencies[link.index()]);
            self.list.push(Fault { at, component, kind: FaultKind::Port(port, PortFault::Cut) });
        }
        Ok(())
    }
}

/// Refuses tests of lanes that end before all that was on the way has come: longer than a round trip and than the longest
/// packet on the slowest link.
fn check_test(fabric: &Fabric, training: &LinkTraining) -> Result<(), String> {
    let round_trip = fabric.chip.headroom(Longest::of(fabric.topology(), &fabric.latencies)).round_trip;
    let format = fabric.chip.format();
    let least = training.least_test(round_trip, format.packet_flits(format.mtu_bytes));
    if u64::from(training.test) <= least {
        return Err(format!(
            "lanes are tested for {} cycles (`switch.link.training`), and what is on the way takes up to {least}: expected \
             more than that",
            training.test
        ));
    }
    Ok(())
}
