//! Graphs of which nobody says what is a switch: vertices, some of them nodes, and edges.

use crate::fabric::{Cable, End, Fabric, NicPort, Notes, Rate, Switch, counted};
use flitway_machine::{Code, Diagnostic, Diagnostics};
use std::collections::BTreeMap;

/// The most nodes that are made.
const NODES_MAX: usize = 1 << 20;

/// A vertex.
#[derive(Clone, Debug)]
pub(crate) struct Vertex {
    pub(crate) name: String,
    /// Whether it is a node, if that is said.
    pub(crate) is_node: Option<bool>,
    /// Where it is drawn, if that is said: from the left, and from the top.
    pub(crate) spot: Option<[f64; 2]>,
}

/// An edge, and what is said of its cable.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) ends: [usize; 2],
    /// Its port at either end, if that is said of a switch.
    pub(crate) ports: [Option<u32>; 2],
    /// From the first end to the second, and back.
    pub(crate) rates: [Option<Rate>; 2],
    pub(crate) length_mm: Option<u64>,
    /// What kind of cable it is called.
    pub(crate) class: Option<String>,
}

/// Makes a fabric of them. Each switch gets `nodes_per_switch` nodes of its own; without that, and if none is said to be a
/// node, those with one edge are nodes.
pub(crate) fn fabric(
    vertices: &[Vertex],
    edges: &[Edge],
    nodes_per_switch: Option<u32>,
) -> Result<Fabric, Diagnostics> {
    let mut fabric = Fabric::default();
    let edges = &once_each(edges, &mut fabric.notes);
    let mut degrees = vec![0_usize; vertices.len()];
    edges.iter().flat_map(|edge| edge.ends).for_each(|vertex| degrees[vertex] += 1);
    let is_said = vertices.iter().any(|vertex| vertex.is_node.is_some());
    let is_node = |vertex: usize| match (vertices[vertex].is_node, nodes_per_switch) {
        (Some(is_node), _) => is_node,
        (None, Some(_)) => false,
        (None, None) => !is_said && degrees[vertex] == 1,
    };
    // Of a vertex with one edge what is at the other end.
    let mut others: Vec<Option<usize>> = vec![None; vertices.len()];
    for [a, b] in edges.iter().map(|edge| edge.ends) {
        (others[a], others[b]) = (Some(b), Some(a));
    }
    let joins_switch = |vertex: usize| {
        let is_switch = |other: usize| degrees[other] > 1 || vertices[other].is_node == Some(false);
        others[vertex].is_some_and(is_switch)
    };
    let mut places = Vec::with_capacity(vertices.len());
    let mut guessed = 0;
    for (number, vertex) in vertices.iter().enumerate() {
        let by_guess = vertex.is_node.is_none() && is_node(number);
        if is_node(number) && (!by_guess || joins_switch(number)) {
            guessed += usize::from(by_guess);
            places.push(End::Nic(fabric.nics.len()));
            let name = vertex.name.clone();
            fabric.nics.push(NicPort { node: name.clone(), name, ..NicPort::default() });
        } else {
            places.push(End::Switch(fabric.switches.len(), None));
            let Vertex { name, spot, .. } = vertex.clone();
            fabric.switches.push(Switch { name, spot, ..Switch::default() });
        }
    }
    if guessed > 0 {
        fabric
            .notes
            .guessed
            .push(format!("{} with one edge: nodes, and the others switches", counted(guessed, "vertex")));
    }
    note_places(vertices, &places, &mut fabric.notes);
    add_cables(&mut fabric, edges, &places);
    add_nodes(&mut fabric, nodes_per_switch.unwrap_or(0) as usize)?;
    one_cable_each(&mut fabric);
    if fabric.nics.is_empty() {
        let message = format!("it has {} and no nodes", counted(fabric.switches.len(), "switch"));
        let problem = Diagnostic::error(Code::ForeignFabric, None, message);
        let help = "`--nodes-per-switch N` gives each switch N nodes";
        return Err(problem.expected("vertices with one edge, which are taken for nodes").help(help).into());
    }
    Ok(fabric)
}

/// Each edge once, if there are as many between two vertices one way as the other: then whoever has listed them went from
/// vertex to vertex.
fn once_each(edges: &[Edge], notes: &mut Notes) -> Vec<Edge> {
    let mut counts: BTreeMap<[usize; 2], usize> = BTreeMap::new();
    for edge in edges {
        *counts.entry(edge.ends).or_default() += 1;
    }
    let is_named_twice =
        |(&[a, b], count): (&[usize; 2], &usize)| a != b && counts.get(&[b, a]) == Some(count);
    let are_all = !edges.is_empty() && counts.iter().all(is_named_twice);
    if !are_all {
        return edges.to_vec();
    }
    let once: Vec<Edge> = edges.iter().filter(|edge| edge.ends[0] < edge.ends[1]).cloned().collect();
    let (named, cables) = (counted(edges.len(), "edge"), counted(once.len(), "cable"));
    notes.guessed.push(format!("{named} are {cables}: each is named from both of its ends"));
    once
}

/// Says of how many nodes the places are lost.
fn note_places(vertices: &[Vertex], places: &[End], notes: &mut Notes) {
    let is_placed = |(place, vertex): &(&End, &Vertex)| matches!(place, End::Nic(_)) && vertex.spot.is_some();
    let placed = places.iter().zip(vertices).filter(is_placed).count();
    if placed > 0 {
        let what = counted(placed, "node");
        notes.dropped.push(format!("coordinates of {what}: nodes are drawn with their switches"));
    }
}

/// Adds the cables that `edges` are between these places.
fn add_cables(fabric: &mut Fabric, edges: &[Edge], places: &[End]) {
    let (mut loops, mut between) = (0, 0);
    for edge in edges {
        let mut ends = edge.ends.map(|vertex| places[vertex]);
        match ends {
            [a, b] if a == b => loops += 1,
            [End::Nic(_), End::Nic(_)] => between += 1,
            _ => {
                for (end, said) in ends.iter_mut().zip(edge.ports) {
                    if let End::Switch(_, port) = end {
                        *port = said;
                    }
                }
                let Edge { rates, length_mm, class, .. } = edge.clone();
                fabric.cables.push(Cable { ends, rates, length_mm, class });
            }
        }
    }
    for (count, what) in [(loops, "from a vertex to itself"), (between, "between two nodes")] {
        if count > 0 {
            fabric.notes.dropped.push(format!("{} {what}", counted(count, "edge")));
        }
    }
}

/// Gives each switch so many nodes of its own.
fn add_nodes(fabric: &mut Fabric, count: usize) -> Result<(), Diagnostics> {
    let all = fabric.switches.len().saturating_mul(count);
    if all > NODES_MAX {
        let problem = Diagnostic::error(Code::ForeignFabric, None, format!("{all} nodes are too many"));
        return Err(problem.expected(format!("at most {NODES_MAX}")).into());
    }
    for switch in 0..fabric.switches.len() {
        for number in 0..count {
            let nic = fabric.nics.len();
            let name = format!("{}-n{number}", fabric.switches[switch].name);
            fabric.nics.push(NicPort { node: name.clone(), name, ..NicPort::default() });
            let ends = [End::Switch(switch, None), End::Nic(nic)];
            fabric.cables.push(Cable { ends, rates: [None, None], length_mm: None, class: None });
        }
    }
    if count > 0 {
        fabric.notes.taken.push(format!("{} of each switch, as asked for", counted(count, "node")));
    }
    Ok(())
}

/// A node with several cables has a NIC port for each; one without a cable is left out.
fn one_cable_each(fabric: &mut Fabric) {
    let mut used = vec![0_u32; fabric.nics.len()];
    for end in fabric.cables.iter_mut().flat_map(|cable| &mut cable.ends) {
        if let End::Nic(nic) = end {
            used[*nic] += 1;
            if used[*nic] > 1 {
                let node = fabric.nics[*nic].node.clone();
                let name = format!("{node}-p{}", used[*nic]);
                fabric.nics.push(NicPort { node, name, ..NicPort::default() });
                *nic = fabric.nics.len() - 1;
            }
        }
    }
    let idle = used.iter().filter(|count| **count == 0).count();
    if idle > 0 {
        fabric.notes.dropped.push(format!("{} without an edge", counted(idle, "node")));
    }
}
