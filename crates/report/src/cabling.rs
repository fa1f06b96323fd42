//! What `flitway check` says of the pattern of the cables of a graph.

use flitway_wiring::SwitchId;
use flitway_wiring::pattern::{Departure, Pattern, Role, Untold, pattern};
use flitway_wiring::topology::{Shape, Topology};
use serde_json::{Value, json};

/// The pattern of `topology`; `None` where it is a formula that says how switches are joined, or where there is one switch.
#[must_use]
pub fn cabling(topology: &Topology) -> Option<Pattern> {
    let is_graph = *topology.shape() == Shape::Irregular && topology.switches() > 1;
    is_graph.then(|| pattern(topology))
}

/// The object `cabling` of `flitway/check/1`.
#[must_use]
pub fn cabling_json(pattern: &Pattern) -> Value {
    let numbers = |switches: &[SwitchId]| switches.iter().map(|switch| switch.0).collect::<Vec<u32>>();
    let role = |role: &Role| {
        let count = |&(to, count): &(u32, u32)| json!({ "role": to, "count": count });
        let cables: Vec<Value> = role.cables.iter().map(count).collect();
        let mut object = json!({ "switches": numbers(&role.switches), "cables": cables });
        if let Some(nodes) = role.nodes {
            object["nodes"] = json!(nodes);
        }
        object
    };
    let departure = |it: &Departure| {
        let mut object = json!({
            "switch": it.switch.0,
            "role": it.role,
            "has": it.has,
            "others_have": it.others_have,
            "others": it.others,
        });
        if let Some(towards) = it.towards {
            object["towards"] = json!(towards);
        }
        object
    };
    let untold = |it: &Untold| {
        let between: Vec<Vec<u32>> = it.between.iter().map(|switches| numbers(switches)).collect();
        json!({ "count": it.cables, "between": between })
    };
    json!({
        "symmetric": pattern.is_symmetric(),
        "kinds": pattern.kinds,
        "roles": pattern.roles.iter().map(role).collect::<Vec<Value>>(),
        "departures": pattern.departures.iter().map(departure).collect::<Vec<Value>>(),
        "missing": pattern.missing.iter().map(|pair| numbers(pair)).collect::<Vec<_>>(),
        "missing_among": pattern.untold.iter().map(untold).collect::<Vec<Value>>(),
    })
}
