//! Hosts with NICs of Dawning 5000 on small SP Switches, whose processes post what they are told to at the start.

mod fabric;

pub(crate) use fabric::fabric;
use flitway_engine::{Clock, Cycle, Picos};
use flitway_fabric::{Chip as _, Fabric, NicPorts, Simulation, Unobserved};
use flitway_nic::host::contents::Contents;
use flitway_nic::host::memory::{Address, Memory};
use flitway_nic::host::program::{Completion, Operation, Program};
use flitway_nic::host::{Hosted, Hosts, IdleTime, Surroundings};
use flitway_nic::nap::{Nap, NapSettings};
use flitway_nic::{NicModel, Place};
use flitway_switch::sp::{Sp, SpSettings};
use flitway_test_kit::nic::Nobody;
use flitway_wiring::NodeId;
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A process that posts everything at the start, and keeps what it sees.
#[derive(Debug)]
pub(crate) struct Script {
    operations: Vec<Operation>,
    seen: Vec<(Picos, Completion)>,
}

impl Script {
    pub(crate) fn new(operations: Vec<Operation>) -> Self {
        Script { operations, seen: Vec::new() }
    }
}

impl Program for Script {
    fn act(&mut self, at: Picos, completion: Option<&Completion>, todo: &mut Vec<Operation>) {
        match completion {
            None => todo.extend(self.operations.iter().copied()),
            Some(completion) => self.seen.push((at, *completion)),
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// What has come of it.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    nodes: Vec<OfNode>,
}

#[derive(Debug, PartialEq)]
struct OfNode {
    /// By process.
    seen: Vec<Vec<(Picos, Completion)>>,
    /// Bytes that some operation wrote or read, by process and place.
    memory: BTreeMap<(u8, u64), u8>,
    counters: Vec<(&'static str, u64)>,
}

impl Outcome {
    pub(crate) fn seen(&self, node: u32, process: u8) -> &[(Picos, Completion)] {
        &self.nodes[node as usize].seen[usize::from(process)]
    }

    pub(crate) fn byte(&self, node: u32, process: u8, byte: u64) -> u8 {
        self.nodes[node as usize].memory[&(process, byte)]
    }

    pub(crate) fn counter(&self, node: u32, name: &str) -> u64 {
        let counters = &self.nodes[node as usize].counters;
        counters.iter().find(|(it, _)| *it == name).map(|(_, count)| *count).expect("there is one")
    }
}

/// The bytes that operations name, by node, process and place, with what memory has there at the start.
fn places(
    nodes: u32,
    scripts: &[Vec<Vec<Operation>>],
    first: impl Fn(u32, u8, u64) -> u8,
) -> Vec<BTreeMap<(u8, u64), u8>> {
    let mut places: Vec<BTreeMap<(u8, u64), u8>> = vec![BTreeMap::new(); nodes as usize];
    for (node, of_node) in (0..).zip(scripts) {
        for (process, operation) in
            (0..).zip(of_node).flat_map(|(process, of)| of.iter().map(move |it| (process, it)))
        {
            for byte in 0..operation.bytes {
                let own = operation.local(process).after(byte);
                places[node as usize].insert((own.process, own.byte), first(node, own.process, own.byte));
                let (other, there) = (operation.node.0, operation.remote().after(byte));
                let kept = first(other, there.process, there.byte);
                places[other as usize].insert((there.process, there.byte), kept);
            }
        }
    }
    places
}

/// Runs `scripts`, by node and process, to their end; `first` says what memory has at the start where an operation names it.
pub(crate) fn run(
    settings: &NapSettings,
    fabric: &Fabric<SpSettings>,
    scripts: &[Vec<Vec<Operation>>],
    first: impl Fn(u32, u8, u64) -> u8,
    threads: u32,
) -> Outcome {
    let fabric = Fabric { nic_ports: NicPorts::Bounded, ..fabric.clone() };
    let clock = Clock::new(100_000_000).unwrap();
    let places = places(fabric.nodes(), scripts, first);
    let surroundings = Surroundings {
        clock,
        idle: {
            let fabric = fabric.clone();
            Arc::new(move |from, to, payload: u16| {
                let (all, hops) = fabric.zero_load_cycles(from, to, payload.into());
                let [one, two] = [1, 2].map(|hops| fabric.chip.zero_load_cycles(hops, payload.into()));
                IdleTime { all, switches: (two - one) * u64::from(hops) }
            })
        },
        contents: Arc::new(Contents::new(fabric.nodes())),
    };
    let (own, kept, settings) = (scripts.to_vec(), places.clone(), *settings);
    let hosts = Hosts(Arc::new(move |place: Place| {
        let mut memory = Memory::with_bytes();
        let node = place.node.index();
        for (&(process, byte), &kept) in &kept[node] {
            memory.write(Address { process, byte }, &[kept]);
        }
        let scripts = own.get(node).cloned().unwrap_or_default();
        let programs = scripts.into_iter().map(|script| Box::new(Script::new(script)) as Box<dyn Program>);
        Nap::host(&settings, place, memory, programs.collect(), surroundings.clone())
    }));
    let nics = (0..fabric.nodes()).map(NodeId).map(|node| {
        let place = Place { node, rails: fabric.rails, seed: 11 };
        hosts.nic(place, Nobody)
    });
    let mut simulation = Simulation::<Sp, _, _>::new(&fabric, nics.collect(), threads, || Unobserved);
    simulation.run_until(Cycle(10_000_000), &AtomicBool::new(false));
    simulation.settle();
    assert!(simulation.audit().holds(), "{:?}", simulation.audit());
    let at = clock.picos_floor(simulation.now());
    let mut is_idle = true;
    let nodes = simulation.gather_endpoints(|node, nic: &mut Hosted<Nobody>| {
        let host = nic.host_mut();
        is_idle &= host.is_idle();
        let of_node = scripts.get(node.index()).map_or(0, Vec::len);
        let seen = (0..of_node).map(|process| {
            let script = host.program(process as u8).as_any().downcast_ref::<Script>();
            script.expect("it runs scripts").seen.clone()
        });
        let seen = seen.collect();
        let bytes = places[node.index()].keys().map(|&(process, byte)| {
            let kept = host.memory().read(Address { process, byte }, 1).expect("bytes are kept");
            ((process, byte), kept[0])
        });
        let memory = bytes.collect();
        OfNode { seen, memory, counters: host.counts(at).nic }
    });
    assert!(is_idle, "no node has anything under way");
    Outcome { nodes }
}
