//! What flows through each channel when a traffic matrix is given: theory, exact up to rounding.

use super::walk::{Along, Map, Walker};
use crate::NodeId;
use crate::routing::Routing;
use std::ops::Range;

/// The same where headers say by way of whom a packet goes, each of them as often as any other: way by way.
pub(super) fn loads_of_ways(
    map: &Map,
    routing: &Routing,
    weight: impl Fn(NodeId, NodeId) -> f64,
) -> Vec<f64> {
    let nodes = || (0..map.nodes()).map(NodeId);
    let mut loads = vec![0.0; map.vertices() as usize];
    for (source, destination) in nodes().flat_map(|source| nodes().map(move |node| (source, node))) {
        let weight = if source == destination { 0.0 } else { weight(source, destination) };
        if weight == 0.0 {
            continue;
        }
        loads[map.injection(source) as usize] += weight;
        let paths = routing.paths(source, destination);
        let part = weight / paths.len() as f64;
        for (here, hop) in paths.flatten() {
            if let Some((hop, _)) = map.hop(here, hop) {
                loads[hop as usize] += part;
            }
        }
    }
    loads
}

/// For each channel of `map` the sum of `weight` over the pairs of different nodes whose packets take it, and whether packets
/// have a choice somewhere: each of their candidates gets an equal part of what comes there then.
pub(super) fn loads(
    map: &Map,
    routing: &Routing,
    weight: impl Fn(NodeId, NodeId) -> f64,
) -> (Vec<f64>, bool) {
    let mut walker = Walker::new(map, routing);
    let states = map.states();
    // Per state of packets for one destination: what has come to it, where it goes, and from how many states more will come.
    let mut flow = vec![0.0; states];
    let mut hops = Vec::new();
    let mut next = vec![0..0; states];
    let mut awaited = vec![0_u32; states];
    let mut loads = vec![0.0; map.vertices() as usize];
    let (mut ready, mut has_choice) = (Vec::new(), false);
    for destination in (0..map.nodes()).map(NodeId) {
        ready.clear();
        hops.clear();
        let _ = walker.walk(destination, Along::Each, |step| {
            // All hops from a state come one after the other.
            let row: &mut Range<usize> = &mut next[step.state as usize];
            *row = if row.end == 0 { hops.len()..hops.len() + 1 } else { row.start..row.end + 1 };
            hops.push(step.hop);
            awaited[step.hop as usize] += 1;
            if map.is_start(step.state) && row.len() == 1 {
                ready.push(step.state);
            }
        });
        for source in (0..map.nodes()).map(NodeId).filter(|&source| source != destination) {
            let weight = weight(source, destination);
            loads[map.injection(source) as usize] += weight;
            flow[map.start(source) as usize] += weight;
        }
        while let Some(state) = ready.pop() {
            let row = std::mem::take(&mut next[state as usize]);
            has_choice |= row.len() > 1;
            let amount = std::mem::take(&mut flow[state as usize]) / row.len().max(1) as f64;
            for &hop in &hops[row] {
                loads[hop as usize] += amount;
                flow[hop as usize] += amount;
                awaited[hop as usize] -= 1;
                if awaited[hop as usize] == 0 {
                    ready.push(hop);
                }
            }
        }
    }
    (loads, has_choice)
}
