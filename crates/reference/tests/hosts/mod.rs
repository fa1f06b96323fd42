//! A case of the campaign of NICs, and what comes of it with the engine or with the reference model.

pub(crate) mod case;

use case::{Case, Nic, Script};
use flitway_engine::window::Outcome as Ended;
use flitway_engine::{Cycle, Picos};
use flitway_fabric::simulation::{Architecture, Counters};
use flitway_fabric::{Fabric, Simulation, Unobserved};
use flitway_nic::elan4::{Elan4, ElanSettings, Parcel};
use flitway_nic::host::contents::Contents;
use flitway_nic::host::memory::{Address, Memory};
use flitway_nic::host::program::{Completion, Program};
use flitway_nic::host::story::Stage;
use flitway_nic::host::{AnyHost, Host, HostCounts, Hosted, Hosts, IdleTime, Surroundings};
use flitway_nic::nap::Nap;
use flitway_nic::th::Th;
use flitway_nic::{NicModel, Place};
use flitway_reference::{elan4, nap, th};
use flitway_switch::on_architecture;
use flitway_test_kit::nic::Nobody;
use flitway_wiring::NodeId;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Fast,
    Reference,
}

/// What comes of a case.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) nodes: Vec<OfNode>,
    pub(crate) counters: Counters,
    pub(crate) has_ended: bool,
}

/// What comes of it on a node; by process where there is a list.
#[derive(Debug)]
pub(crate) struct OfNode {
    pub(crate) seen: Vec<Vec<(Picos, Completion)>>,
    pub(crate) posted: Vec<usize>,
    pub(crate) memory: Vec<Box<[u8]>>,
    pub(crate) counts: HostCounts,
    pub(crate) is_idle: bool,
}

impl Outcome {
    /// Where it first differs from `other`: what is under way is counted at other dates, so of what has not ended it is only
    /// looked at what processes have seen.
    pub(crate) fn difference(&self, other: &Outcome) -> Option<String> {
        let mut first: Option<(Picos, String)> = None;
        for (node, (one, two)) in self.nodes.iter().zip(&other.nodes).enumerate() {
            for (process, (one, two)) in one.seen.iter().zip(&two.seen).enumerate() {
                let place = (0..one.len().max(two.len())).find(|&at| one.get(at) != two.get(at));
                let Some((one, two)) = place.map(|at| (one.get(at), two.get(at))) else { continue };
                let at = [one, two].into_iter().flatten().map(|it| it.0).min().unwrap_or_default();
                if first.as_ref().is_none_or(|(first, _)| at < *first) {
                    let [one, two] = [one, two].map(|seen| seen.map_or("nothing".to_owned(), told));
                    first = Some((at, format!("process {process} of node {node} sees\n{one}\n{two}")));
                }
            }
        }
        if !self.has_ended || !other.has_ended {
            return first.map(|it| it.1).or_else(|| different("ended", &self.has_ended, &other.has_ended));
        }
        let of_nodes = self.nodes.iter().zip(&other.nodes).enumerate().find_map(|(node, (one, two))| {
            different(&format!("node {node}, counts"), &one.counts, &two.counts)
                .or_else(|| different(&format!("node {node}, idle"), &one.is_idle, &two.is_idle))
                .or_else(|| (one.memory != two.memory).then(|| format!("node {node}: its memory")))
        });
        first.map(|it| it.1).or(of_nodes).or_else(|| different("counters", &self.counters, &other.counters))
    }
}

/// What a process has seen, and what the operation has spent its time with.
fn told((at, completion): &(Picos, Completion)) -> String {
    let Completion { what, number, node, process, bytes, story } = completion;
    let stages = Stage::all().map(|stage| (stage, story.spent(stage).0)).filter(|(_, time)| *time > 0);
    let stages: Vec<String> = stages.map(|(stage, time)| format!("{stage:?} {time}")).collect();
    let begun = story.begun().0;
    let stages = stages.join(", ");
    format!("{at:?} {what:?} {number} of {node} {process}, {bytes} B, begun {begun}: {stages}")
}

fn different<T: PartialEq + Debug>(what: &str, one: &T, two: &T) -> Option<String> {
    (one != two).then(|| format!("{what}\n{one:#?}\n{two:#?}"))
}

/// Runs `case` to its end.
pub(crate) fn run(case: &Case, engine: Engine, threads: u32) -> Outcome {
    on_architecture!(case.fabric(), A, fabric => run_on::<A>(case, &fabric, engine, threads))
}

fn run_on<A: Architecture>(case: &Case, fabric: &Fabric<A::Chip>, engine: Engine, threads: u32) -> Outcome
where
    Fabric<A::Chip>: Clone + Send + Sync + 'static,
{
    let hosts = match (case.nic, engine) {
        (Nic::Th(settings), Engine::Fast) => hosts(case, surroundings(case, fabric), settings, Th::host),
        (Nic::Th(settings), Engine::Reference) => hosts(case, surroundings(case, fabric), settings, th::host),
        (Nic::Elan4(settings), Engine::Fast) => hosts(case, surroundings(case, fabric), settings, elan4_host),
        (Nic::Elan4(settings), Engine::Reference) => {
            hosts(case, surroundings(case, fabric), settings, elan4::host)
        }
        (Nic::Nap(settings), Engine::Fast) => hosts(case, surroundings(case, fabric), settings, Nap::host),
        (Nic::Nap(settings), Engine::Reference) => {
            hosts(case, surroundings(case, fabric), settings, nap::host)
        }
    };
    let nics = (0..fabric.nodes()).map(NodeId).map(|node| {
        let place = Place { node, rails: fabric.rails, seed: case.seed };
        hosts.nic(place, Nobody)
    });
    let mut simulation = Simulation::<A, _, _>::new(fabric, nics.collect(), threads, || Unobserved);
    let limit = if case.may_last { 200_000 } else { 100_000_000 };
    let ended = simulation.run_until(Cycle(limit), &AtomicBool::new(false));
    if !case.may_last {
        assert_eq!((ended, simulation.next_work()), (Ended::Idle, None), "everything comes to an end");
    }
    simulation.settle();
    assert!(simulation.audit().holds(), "{:?}", simulation.audit());
    let at = case.clock().picos_floor(simulation.now());
    let nodes =
        simulation.gather_endpoints(|node, nic: &mut Hosted<Nobody>| look(case, node, nic.host_mut(), at));
    let counters = Counters { wakes: 0, ..simulation.counters() };
    Outcome { nodes, counters, has_ended: ended == Ended::Idle }
}

fn surroundings<L, C>(case: &Case, fabric: &Fabric<C>) -> Surroundings<L>
where
    C: flitway_fabric::Chip,
    Fabric<C>: Clone + Send + Sync + 'static,
{
    let contents = Arc::new(Contents::new(fabric.nodes()));
    let fabric = fabric.clone();
    let idle = move |from, to, payload: u16| {
        let (all, hops) = fabric.zero_load_cycles(from, to, payload.into());
        let [one, two] = [1, 2].map(|hops| fabric.chip.zero_load_cycles(hops, payload.into()));
        IdleTime { all, switches: (two - one) * u64::from(hops) }
    };
    Surroundings { clock: case.clock(), idle: Arc::new(idle), contents }
}

/// The fast host with an Elan4.
fn elan4_host(
    settings: &ElanSettings,
    place: Place,
    memory: Memory,
    programs: Vec<Box<dyn Program>>,
    surroundings: Surroundings<Parcel>,
) -> Box<dyn AnyHost> {
    let nic = Elan4::new(settings, place, programs.len());
    Box::new(Host::new(place, settings.host, nic, memory, programs, surroundings))
}

/// What makes the host of a node with its NIC.
type MakeHost<S, L> = fn(&S, Place, Memory, Vec<Box<dyn Program>>, Surroundings<L>) -> Box<dyn AnyHost>;

fn hosts<S, L>(case: &Case, surroundings: Surroundings<L>, settings: S, host: MakeHost<S, L>) -> Hosts
where
    S: Send + Sync + 'static,
    L: Send + 'static,
{
    let case = case.clone();
    Hosts(Arc::new(move |place: Place| {
        let plans = case.plans.get(place.node.index()).map_or(&[][..], |plans| plans);
        let mut memory = Memory::with_bytes();
        for process in 0..plans.len() as u8 {
            let bytes: Vec<u8> =
                (0..case.extent()).map(|byte| case.first_byte(place.node.0, process, byte)).collect();
            memory.write(Address { process, byte: 0 }, &bytes);
        }
        let programs = plans.iter().map(|plan| Box::new(Script::new(plan)) as Box<dyn Program>);
        host(&settings, place, memory, programs.collect(), surroundings.clone())
    }))
}

fn look(case: &Case, node: NodeId, host: &mut dyn AnyHost, at: Picos) -> OfNode {
    let processes = case.plans.get(node.index()).map_or(0, Vec::len) as u8;
    let script = |process| {
        host.program(process).as_any().downcast_ref::<Script>().expect("it runs what it was given").clone()
    };
    let scripts: Vec<Script> = (0..processes).map(script).collect();
    OfNode {
        posted: scripts.iter().map(Script::posted).collect(),
        seen: scripts.into_iter().map(|script| script.seen).collect(),
        memory: (0..processes)
            .map(|process| {
                host.memory().read(Address { process, byte: 0 }, case.extent()).expect("bytes are kept")
            })
            .collect(),
        counts: host.counts(at),
        is_idle: host.is_idle(),
    }
}
