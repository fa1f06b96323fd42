//! `flitway check`: everything that is wrong with a machine, or what follows from it.

use crate::args::CheckArguments;
use crate::channels::{Names, loads_section, waiting_section};
use crate::failure::{Failure, colour};
use crate::output::{Target, complain, say};
use crate::table;
use flitway_experiment::WorkloadOptions;
use flitway_experiment::workload::{GraphFiles, Surroundings, Workload};
use flitway_fabric::Fabric;
use flitway_fabric::sp::Cost;
use flitway_machine::{Machine, units};
use flitway_report::channels::{ChannelLoads, Waiting, headroom, headroom_json, how};
use flitway_report::facts::Facts;
use flitway_report::session::Session;
use flitway_workload::traffic::Traffic;
use serde_json::{Value, json};
use std::sync::Arc;

/// Checks what `arguments` say.
pub(crate) fn check(arguments: &CheckArguments) -> Result<(), Failure> {
    let machine = Machine::load(&arguments.machine.machine, &arguments.machine.set)?;
    if !machine.warnings.is_empty() {
        complain(&machine.warnings.render(colour()));
    }
    let mtu = machine.packet.mtu_bytes;
    let payload = units::size(&arguments.packet).map_err(|error| {
        let expected = format!("{error}: expected {}", error.expectation());
        Failure::input(format!("--packet: {expected}"), error.help())
    })?;
    let payload =
        u32::try_from(payload).ok().filter(|payload| (1..=mtu).contains(payload)).ok_or_else(|| {
            Failure::input(format!("--packet {}: expected 1 B to the MTU, {mtu} B", arguments.packet), None)
        })?;
    let target = arguments.json.as_deref().map(|text| Target::new("--json", text));
    let session = Session::new(machine, 1, 1);
    let fabric = session.fabric();
    let pattern = arguments.traffic.as_deref().unwrap_or("uniform");
    let traffic = match traffic(&session, pattern) {
        // Uniform traffic needs two nodes; who asks for none is not told.
        Err(_) if arguments.traffic.is_none() => None,
        fitted => Some(fitted?),
    };
    let facts = Facts::new(session.machine(), fabric, payload);
    let (waiting, headroom) = (Waiting::new(fabric), headroom(fabric));
    let loads = traffic
        .as_ref()
        .zip(waiting.as_ref())
        .and_then(|(traffic, waiting)| ChannelLoads::new(waiting, fabric, traffic.destinations()));
    let machine = session.machine();
    if target != Some(Target::Standard) {
        let names = Names::of(machine);
        let waiting = waiting_section(&session, waiting.as_ref(), headroom, &names);
        let loads = loads_section(pattern, loads.as_ref(), fabric, &names);
        let cost = cost_section(fabric);
        say(&format!("{}\n\n{waiting}{cost}\n\n{loads}", table::facts(&session, &facts)))?;
    }
    if let Some(target) = target {
        let mut checked = json!({
            "schema": "flitway/check/1",
            "flitway": env!("CARGO_PKG_VERSION"),
            "machine": { "name": machine.name, "description": machine.to_json() },
            "facts": facts.to_json(),
            "credits": headroom_json(headroom),
        });
        if let Some(switch) = fabric.switch.sp() {
            checked["switch_cost"] = switch.costs().iter().map(cost_json).collect();
        }
        if let Some(waiting) = &waiting {
            checked["deadlock"] = waiting.to_json();
        }
        if let Some(loads) = loads {
            checked["channel_loads"] = loads.to_json();
            checked["channel_loads"]["traffic"] = json!(pattern);
        }
        target.write(&format!("{checked:#}"))?;
    }
    match waiting.and_then(|waiting| waiting.lost()) {
        Some(lost) => {
            let (source, node) = (lost.source, lost.destination);
            let message =
                format!("a packet from node {source} to node {node} does not arrive: {}", how(lost.how));
            Err(Failure::Fault(format!("fault: {message}")))
        }
        None => Ok(()),
    }
}

/// What a switch costs, where that is known.
fn cost_section(fabric: &Fabric) -> String {
    fabric.switch.sp().map_or(String::new(), |switch| format!("\n\n{}", table::costs(&switch.costs())))
}

fn cost_json(cost: &Cost) -> Value {
    json!({
        "organisation": cost.organisation,
        "flit_muxes": cost.flit_muxes,
        "ram_bits": cost.ram_bits,
        "register_bits": cost.register_bits,
        "wires": cost.wires,
    })
}

/// The traffic of `pattern` at load 1.
fn traffic(session: &Session, pattern: &str) -> Result<Arc<Traffic>, Failure> {
    let text = |text: &str| Some(text.to_owned());
    let options = WorkloadOptions {
        traffic: text(pattern),
        packet: text("1B"),
        load: text("1"),
        ..WorkloadOptions::default()
    };
    let surroundings = Surroundings { clock: session.machine().clock, graphs: &GraphFiles::default() };
    let workload = Workload::check(&options, &surroundings).map_err(Failure::workload)?;
    let Workload::Traffic(workload) = workload else { unreachable!("a pattern makes no task graph") };
    let points = workload.points(session).map_err(|problem| Failure::workload(vec![problem]))?;
    Ok(Arc::clone(&points[0].1))
}
