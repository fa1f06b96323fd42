//! The routing of a case; forwarding tables among them, which the topology alone decides, so that a case need not hold them.

use flitway_engine::random::{Purpose, Stream};
use flitway_wiring::routing::{
    ForwardingTables, LEVELS, Route, Routing, RoutingError, RoutingKind, ServiceLevels,
};
use flitway_wiring::topology::{End, Shape, Topology};
use flitway_wiring::{NodeId, PortId, SwitchId};
use std::sync::Arc;

/// The routing of `kind` on `topology`.
pub(super) fn routing(kind: RoutingKind, topology: Arc<Topology>) -> Result<Routing, RoutingError> {
    if kind != RoutingKind::Tables {
        return Routing::new(kind, topology);
    }
    let own = match topology.shape() {
        Shape::Tree(_) => Some(RoutingKind::DModK),
        Shape::Stages(_) => Some(RoutingKind::DestinationTag),
        _ => None,
    };
    let tables = match own {
        Some(own) => ForwardingTables::of(&Routing::new(own, Arc::clone(&topology))?),
        None if topology.switches() % 4 == 3 => with_levels(&topology)?,
        None => random(&topology),
    };
    Routing::by_tables(topology, Arc::new(tables.ok_or(RoutingError::Tables)?))
}

/// Up*/down* ways with random service levels, which take random classes from port to port; nothing if packets cannot carry
/// them. No cycle of channels closes whatever the classes are.
fn with_levels(topology: &Arc<Topology>) -> Result<Option<ForwardingTables>, RoutingError> {
    let up_down = Routing::new(RoutingKind::UpDown, Arc::clone(topology))?;
    let tables = ForwardingTables::of(&up_down).filter(|_| up_down.hops_max() <= Route::HOPS);
    let Some(mut tables) = tables else { return Ok(None) };
    let mut stream = Stream::new(0, 0, Purpose::Test);
    let mut levels = ServiceLevels::new(topology.switches(), topology.nodes());
    let classes = 1 + topology.switches() / 4 % Route::CLASSES;
    let nodes = || (0..topology.nodes()).map(NodeId);
    for (source, node) in nodes().flat_map(|source| nodes().map(move |node| (source, node))) {
        levels.set_level(source, node, stream.below(LEVELS as u64) as u8);
    }
    for here in (0..topology.switches()).map(SwitchId) {
        let ports = || (0..topology.ports(here)).map(PortId);
        for pair in ports().flat_map(|from| ports().map(move |to| (from, to))) {
            let classes = std::array::from_fn(|_| Some(stream.below(classes.into()) as u8));
            levels.set_classes(here, Some(pair), classes);
        }
    }
    tables.set_levels(levels);
    Ok(Some(tables))
}

/// Random shortest ways. Each hop has the class of the links that are left, the fewer the higher, so that packets never wait
/// for each other for ever; nothing if that takes too many classes.
fn random(topology: &Topology) -> Option<ForwardingTables> {
    let mut stream = Stream::new(0, 0, Purpose::Test);
    let mut tables = ForwardingTables::new(topology.switches(), topology.nodes());
    let all = || (0..topology.switches()).map(SwitchId);
    let farthest = all().flat_map(|here| distances(topology, here)).max().unwrap_or(0);
    if farthest > Route::CLASSES {
        return None;
    }
    for node in (0..topology.nodes()).map(NodeId) {
        let (target, exit) = topology.exit(node);
        let left = distances(topology, target);
        for here in all() {
            let left_here = left[here.index()];
            if left_here == 0 {
                tables.set(here, node, exit, None);
                continue;
            }
            let nearer = neighbours(topology, here).filter(|(_, next)| left[next.index()] + 1 == left_here);
            let nearer: Vec<PortId> = nearer.map(|(port, _)| port).collect();
            let port = nearer[stream.below(nearer.len() as u64) as usize];
            tables.set(here, node, port, Some((farthest - left_here) as u8));
        }
    }
    Some(tables)
}

fn neighbours(topology: &Topology, here: SwitchId) -> impl Iterator<Item = (PortId, SwitchId)> {
    (0..topology.ports(here)).map(PortId).filter_map(move |port| match topology.wire(here, port) {
        Some((_, End::Switch(next, _))) => Some((port, next)),
        _ => None,
    })
}

/// Links from every switch to `target`.
fn distances(topology: &Topology, target: SwitchId) -> Vec<u32> {
    let mut left = vec![u32::MAX; topology.switches() as usize];
    let mut open = vec![target];
    left[target.index()] = 0;
    let mut place = 0;
    while let Some(&here) = open.get(place) {
        for (_, next) in neighbours(topology, here) {
            if left[next.index()] == u32::MAX {
                left[next.index()] = left[here.index()] + 1;
                open.push(next);
            }
        }
        place += 1;
    }
    left
}
