//! `flitway check`: everything that is wrong with a machine, or what follows from it.

use crate::args::CheckArguments;
use crate::failure::{Failure, colour};
use crate::output::{Target, complain, say};
use crate::table;
use flitway_machine::{Machine, units};
use flitway_report::facts::Facts;
use flitway_report::session::Session;
use serde_json::json;

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
    let target = arguments.json.as_deref().map(Target::new);
    let session = Session::new(machine, 1, 1);
    let facts = Facts::new(session.machine(), session.fabric(), payload);
    if target != Some(Target::Standard) {
        say(&table::facts(&session, &facts))?;
    }
    let Some(target) = target else { return Ok(()) };
    let machine = session.machine();
    let checked = json!({
        "schema": "flitway/check/1",
        "flitway": env!("CARGO_PKG_VERSION"),
        "machine": { "name": machine.name, "description": machine.to_json() },
        "facts": facts.to_json(),
    });
    target.write(&format!("{checked:#}"))
}
