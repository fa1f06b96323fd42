//! What of a fabric becomes a machine: ports for all cables, and of the networks that it falls apart into either all, as rails
//! that are alike, or the largest.

use crate::fabric::{End, Fabric, Notes, counted};
use flitway_machine::{Code, Diagnostic, Diagnostics, show};
use std::collections::{BTreeMap, BTreeSet};

/// The most ports of a switch, and of an HPP Switch: those with more are tiled.
pub(crate) const PORTS_MAX: u32 = 512;
pub(crate) const HPP_PORTS_MAX: u32 = 64;

/// The most switches, and the most nodes, of a graph file.
const DECLARED_MAX: usize = 1 << 20;

/// The most rails of a machine.
const RAILS_MAX: usize = 16;

/// What becomes a machine.
#[derive(Debug)]
pub(crate) struct Layout {
    /// The switches of one rail, as the fabric numbers them.
    pub(crate) switches: Vec<usize>,
    /// The nodes: what each is called, and its NIC port in that rail.
    pub(crate) nodes: Vec<(String, usize)>,
    /// NIC ports of one node that are nodes of their own.
    pub(crate) servers: Vec<Vec<usize>>,
    pub(crate) rails: usize,
    /// Ports of a switch.
    pub(crate) ports: u32,
    pub(crate) notes: Notes,
}

/// What is at the other end of each port of a switch.
type Peers = BTreeMap<(usize, u32), End>;

/// A part of a fabric that no cable joins to another.
#[derive(Debug, Default)]
struct Network {
    switches: Vec<usize>,
    nics: Vec<usize>,
}

/// Lays `fabric` out; every cable has ports afterwards.
pub(crate) fn lay_out(fabric: &mut Fabric) -> Result<Layout, Diagnostics> {
    give_ports(fabric);
    let mut notes = Notes::default();
    let mut networks = networks(fabric);
    let is_used = |network: &Network| !network.nics.is_empty();
    let (used, unused): (Vec<_>, Vec<_>) = networks.drain(..).partition(is_used);
    let without = unused.iter().map(|it| it.switches.len()).sum::<usize>();
    if without > 0 {
        notes.dropped.push(format!("{} that no cable joins to a node", counted(without, "switch")));
    }
    if used.is_empty() {
        return Err(no_nodes(fabric));
    }
    let most = fabric.switches.len().max(fabric.nics.len());
    if most > DECLARED_MAX {
        let problem =
            Diagnostic::error(Code::ForeignFabric, None, format!("{most} switches or nodes are too many"));
        return Err(problem.expected(format!("at most {DECLARED_MAX} of each")).into());
    }
    let rails = alike(fabric, &used, &mut notes);
    // Of the largest ones the first.
    let most = used.iter().map(|it| it.nics.len()).max().unwrap_or_default();
    let place = if rails > 1 { 0 } else { used.iter().position(|it| it.nics.len() == most).unwrap_or(0) };
    if rails == 1 && used.len() > 1 {
        let rest = used.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, it)| it);
        let (switches, nics) =
            rest.fold((0, 0), |sum, it| (sum.0 + it.switches.len(), sum.1 + it.nics.len()));
        notes.dropped.push(format!(
            "{} with {}, which no cable joins to the rest",
            counted(switches, "switch"),
            counted(nics, "NIC port")
        ));
    }
    let network = &used[place];
    let (nodes, servers) = nodes(fabric, network, &mut notes);
    let ports = ports(fabric, network)?;
    Ok(Layout { switches: network.switches.clone(), nodes, servers, rails, ports, notes })
}

/// Gives the lowest ports that are free to the ends of cables that have none.
fn give_ports(fabric: &mut Fabric) {
    let mut taken: BTreeSet<(usize, u32)> = BTreeSet::new();
    for end in fabric.cables.iter().flat_map(|cable| cable.ends) {
        if let End::Switch(switch, Some(port)) = end {
            taken.insert((switch, port));
        }
    }
    let mut next = vec![0; fabric.switches.len()];
    for end in fabric.cables.iter_mut().flat_map(|cable| &mut cable.ends) {
        if let End::Switch(switch, port @ None) = end {
            while !taken.insert((*switch, next[*switch])) {
                next[*switch] += 1;
            }
            *port = Some(next[*switch]);
        }
    }
}

/// The networks that the fabric falls apart into, in the order of their first switches.
fn networks(fabric: &Fabric) -> Vec<Network> {
    let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); fabric.switches.len()];
    let mut nics: Vec<Vec<usize>> = vec![Vec::new(); fabric.switches.len()];
    for cable in &fabric.cables {
        match cable.ends {
            [End::Switch(a, _), End::Switch(b, _)] => {
                neighbours[a].push(b);
                neighbours[b].push(a);
            }
            [End::Switch(switch, _), End::Nic(nic)] | [End::Nic(nic), End::Switch(switch, _)] => {
                nics[switch].push(nic)
            }
            [End::Nic(_), End::Nic(_)] => {}
        }
    }
    let mut seen = vec![false; neighbours.len()];
    let mut networks = Vec::new();
    for first in 0..neighbours.len() {
        let (mut network, mut pending) = (Network::default(), vec![first]);
        while let Some(switch) = pending.pop() {
            if !std::mem::replace(&mut seen[switch], true) {
                network.switches.push(switch);
                network.nics.extend(&nics[switch]);
                pending.extend(&neighbours[switch]);
            }
        }
        if !network.switches.is_empty() {
            network.switches.sort_unstable();
            network.nics.sort_unstable();
            networks.push(network);
        }
    }
    networks
}

/// How many rails the networks are: all of them, if they are alike, or one.
fn alike(fabric: &Fabric, networks: &[Network], notes: &mut Notes) -> usize {
    let [first, others @ ..] = networks else { return 1 };
    if others.is_empty() {
        return 1;
    }
    let peers = peers(fabric);
    let compared = others.iter().map(|other| differ(fabric, &peers, first, other));
    let compared: Result<Vec<()>, String> = compared.collect();
    match compared {
        Ok(_) if networks.len() <= RAILS_MAX => {
            notes
                .taken
                .push(format!("{} networks that are alike, port by port: as many rails", networks.len()));
            networks.len()
        }
        Ok(_) => {
            notes
                .guessed
                .push(format!("{} networks that are alike; a machine has {RAILS_MAX} rails", networks.len()));
            1
        }
        Err(why) => {
            notes.guessed.push(format!("{} networks that are not alike, so no rails: {why}", networks.len()));
            1
        }
    }
}

fn peers(fabric: &Fabric) -> Peers {
    let mut peers = Peers::new();
    for [a, b] in fabric.cables.iter().map(|cable| cable.ends) {
        for (end, peer) in [(a, b), (b, a)] {
            if let End::Switch(switch, Some(port)) = end {
                peers.insert((switch, port), peer);
            }
        }
    }
    peers
}

/// Finds out where network `b` is not `a`, going over both from a node. Cables say which switch stands for which.
fn differ(fabric: &Fabric, peers: &Peers, a: &Network, b: &Network) -> Result<(), String> {
    let nodes = |network: &Network| {
        network.nics.iter().map(|nic| fabric.nics[*nic].node.as_str()).collect::<BTreeSet<_>>()
    };
    let (of_a, of_b) = (nodes(a), nodes(b));
    if let Some(node) = of_a.symmetric_difference(&of_b).next() {
        return Err(format!("`{}` is not in all", show(node)));
    }
    if of_a.len() != a.nics.len() || of_b.len() != b.nics.len() {
        return Err("a node has two NIC ports in one of them".to_owned());
    }
    if a.switches.len() != b.switches.len() {
        return Err(format!(
            "one has {}, another one {}",
            counted(a.switches.len(), "switch"),
            b.switches.len()
        ));
    }
    let homes: BTreeMap<&str, (usize, u32)> = peers
        .iter()
        .filter_map(|(place, end)| if let End::Nic(nic) = end { Some((nic, *place)) } else { None })
        .filter(|(nic, _)| b.nics.binary_search(nic).is_ok())
        .map(|(nic, place)| (fabric.nics[*nic].node.as_str(), place))
        .collect();
    let mut stands: BTreeMap<usize, usize> = BTreeMap::new();
    let start = peers.iter().find_map(|((switch, _), end)| match end {
        End::Nic(nic) if a.nics.binary_search(nic).is_ok() => {
            Some((*switch, homes.get(fabric.nics[*nic].node.as_str())?.0))
        }
        _ => None,
    });
    let mut pending: Vec<(usize, usize)> = start.into_iter().collect();
    while let Some((here, there)) = pending.pop() {
        if let Some(known) = stands.insert(here, there) {
            match known == there {
                true => continue,
                false => return Err(otherwise(fabric, here, there)),
            }
        }
        let ports = |switch: usize| {
            peers.range((switch, 0)..=(switch, u32::MAX)).map(|((_, port), end)| (*port, *end))
        };
        if ports(here).count() != ports(there).count() {
            return Err(otherwise(fabric, here, there));
        }
        for ((port, end), (other_port, other_end)) in ports(here).zip(ports(there)) {
            match (end, other_end) {
                (End::Switch(x, p), End::Switch(y, q)) if port == other_port && p == q => {
                    pending.push((x, y))
                }
                (End::Nic(x), End::Nic(y))
                    if port == other_port && fabric.nics[x].node == fabric.nics[y].node => {}
                _ => return Err(format!("{}, at port {port}", otherwise(fabric, here, there))),
            }
        }
    }
    Ok(())
}

fn otherwise(fabric: &Fabric, here: usize, there: usize) -> String {
    let [here, there] = [here, there].map(|switch| show(&fabric.switches[switch].name));
    format!("`{here}` of one and `{there}` of another are linked otherwise")
}

/// The nodes of a network, in the order of their NIC ports. One with several NIC ports is a server, and falls apart into as
/// many.
fn nodes(fabric: &Fabric, network: &Network, notes: &mut Notes) -> (Vec<(String, usize)>, Vec<Vec<usize>>) {
    let mut of: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    network.nics.iter().for_each(|nic| of.entry(&fabric.nics[*nic].node).or_default().push(*nic));
    let name = |nic: usize| match *of[fabric.nics[nic].node.as_str()] {
        [_] => fabric.nics[nic].node.clone(),
        _ => fabric.nics[nic].name.clone(),
    };
    let nodes = network.nics.iter().map(|nic| (name(*nic), *nic)).collect();
    let servers: Vec<Vec<usize>> = of.into_values().filter(|nics| nics.len() > 1).collect();
    if !servers.is_empty() {
        let what = counted(servers.len(), "server");
        notes.taken.push(format!("{what} with several NIC ports in one network, each of which is a node"));
    }
    (nodes, servers)
}

/// Ports of a switch: as many as one is said to have, or uses.
fn ports(fabric: &Fabric, network: &Network) -> Result<u32, Diagnostics> {
    let mut used: BTreeMap<usize, u32> = BTreeMap::new();
    for end in fabric.cables.iter().flat_map(|cable| cable.ends) {
        if let End::Switch(switch, Some(port)) = end {
            let most = used.entry(switch).or_default();
            *most = (*most).max(port + 1);
        }
    }
    let of = |switch: &usize| used.get(switch).copied().unwrap_or(0);
    let mut problems = Diagnostics::default();
    for switch in network.switches.iter().filter(|switch| of(switch) > PORTS_MAX) {
        let name = show(&fabric.switches[*switch].name);
        let message = format!("switch `{name}` needs {} ports", of(switch));
        let expected = format!("switches of at most {PORTS_MAX} ports");
        problems.push(Diagnostic::error(Code::ForeignFabric, None, message).expected(expected));
    }
    if problems.has_errors() {
        return Err(problems);
    }
    let said = network.switches.iter().filter_map(|switch| fabric.switches[*switch].ports);
    let said = said.filter(|ports| *ports <= PORTS_MAX).max().unwrap_or(0);
    Ok(network.switches.iter().map(of).max().unwrap_or(0).max(said).max(2))
}

fn no_nodes(fabric: &Fabric) -> Diagnostics {
    let message = match fabric.switches.is_empty() {
        true => "there is no switch in it".to_owned(),
        false => format!("it has {} and no nodes", counted(fabric.switches.len(), "switch")),
    };
    let problem = Diagnostic::error(Code::ForeignFabric, None, message);
    problem.expected("switches, and a cable of each node to one").into()
}
