//! What stands on each node: the process of a workload, behind the NIC of the machine. Of what kinds NIC and switches are is
//! asked here and nowhere else.

use super::Session;
use crate::recorder::Recorder;
use flitway_fabric::simulation::{Architecture, ShardModel};
use flitway_fabric::{Endpoint, Fabric, Simulation};
use flitway_nic::{Nic, NicModel, Place};
use flitway_wiring::NodeId;

/// A fabric and the NIC of its nodes, each of a kind that is known.
pub(super) struct Kinds<'a, A: Architecture, M> {
    pub(super) fabric: &'a Fabric<A::Chip>,
    pub(super) nic: &'a M,
}

impl<A: Architecture, M> Copy for Kinds<'_, A, M> {}

impl<A: Architecture, M> Clone for Kinds<'_, A, M> {
    fn clone(&self) -> Self {
        *self
    }
}

/// What comes of `$run` with the [`Kinds`] of `$fabric`, an `AnyFabric`, and of the NIC of `$session`: they are `$kinds`.
macro_rules! on_kinds {
    ($session:expr, $fabric:expr, $kinds:ident => $run:expr) => {
        flitway_switch::on_architecture!($fabric, A, fabric => {
            flitway_nic::on_nic!(&$session.machine.nic.model, nic => {
                let $kinds = $crate::session::nodes::Kinds::<A, _> { fabric, nic };
                $run
            })
        })
    };
}

pub(super) use on_kinds;

impl Session {
    /// A run at its start, with `process` on each node.
    pub(super) fn simulation<A: Architecture, M: NicModel, P: Endpoint>(
        &self,
        Kinds { fabric, nic }: Kinds<'_, A, M>,
        process: impl Fn(NodeId) -> P,
        recorder: impl FnMut() -> Recorder,
    ) -> Simulation<A, M::Nic<P>, Recorder> {
        let place = |node| Place { node, rails: fabric.rails, seed: self.seed };
        let nodes = (0..fabric.nodes()).map(NodeId);
        let nics = nodes.map(|node| nic.nic(place(node), process(node))).collect();
        Simulation::new(fabric, nics, self.shards(), recorder)
    }
}

/// What the process on `node` answers to `ask`.
pub(super) fn ask_process<A: Architecture, N: Nic, T: Send + 'static>(
    simulation: &mut Simulation<A, N, Recorder>,
    node: NodeId,
    mut ask: impl FnMut(&mut N::Process) -> T,
) -> T {
    ask_nic(simulation, node, |nic| ask(nic.process_mut()))
}

/// What the NIC on `node` answers to `ask`.
pub(super) fn ask_nic<A: Architecture, N: Nic, T: Send + 'static>(
    simulation: &mut Simulation<A, N, Recorder>,
    node: NodeId,
    mut ask: impl FnMut(&mut N) -> T,
) -> T {
    let answers = simulation.gather(|shard| {
        let mut nics = shard.endpoints();
        nics.find(|(here, _)| *here == node).map(|(_, nic)| ask(nic))
    });
    answers.into_iter().flatten().next().expect("every node is in a shard")
}

/// What the process on each node answers to `ask`.
pub(super) fn gather_processes<A: Architecture, N: Nic, T: Send + 'static>(
    simulation: &mut Simulation<A, N, Recorder>,
    mut ask: impl FnMut(NodeId, &mut N::Process) -> T,
) -> Vec<T> {
    simulation.gather_endpoints(|node, nic| ask(node, nic.process_mut()))
}
