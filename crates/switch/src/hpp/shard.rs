//! A shard of HPP Switches, in one of two models that do the same: where every packet is long, [`BatchedShard`] is
//! faster.

use super::batched::BatchedShard;
use super::packet_state::Mail;
use super::timing::Timing;
use super::{Hpp, HppSettings};
use flitway_engine::Cycle;
use flitway_engine::window::{Shard, Window};
use flitway_fabric::component::{FabricShard, Letter};
use flitway_fabric::deadlock::Waiting;
use flitway_fabric::observer::Observer;
use flitway_fabric::simulation::{Conservation, Counters, Plan, ShardModel};
use flitway_fabric::{Endpoint, Fabric};
use flitway_wiring::{NodeId, PortId};

/// A shard of HPP Switches.
#[derive(Debug)]
pub enum HppShard<E, O> {
    /// With packets of any length.
    Any(FabricShard<Hpp, E, O>),
    /// With long packets, and 1 to 4 VCs.
    Batched1(BatchedShard<1, E, O>),
    Batched2(BatchedShard<2, E, O>),
    Batched3(BatchedShard<3, E, O>),
    Batched4(BatchedShard<4, E, O>),
}

/// What the model of `$shard` answers.
macro_rules! ask {
    ($shard:expr, $model:ident => $answer:expr) => {
        match $shard {
            HppShard::Any($model) => $answer,
            HppShard::Batched1($model) => $answer,
            HppShard::Batched2($model) => $answer,
            HppShard::Batched3($model) => $answer,
            HppShard::Batched4($model) => $answer,
        }
    };
}

impl<E: Endpoint, O: Observer> HppShard<E, O> {
    /// The part of `fabric` that is planned.
    pub(super) fn new(fabric: &Fabric<HppSettings>, plan: Plan<E, O>) -> Self {
        let timing = Timing::new(&fabric.chip, fabric);
        match timing.vcs {
            1 if timing.is_batched => HppShard::Batched1(BatchedShard::build(fabric, plan)),
            2 if timing.is_batched => HppShard::Batched2(BatchedShard::build(fabric, plan)),
            3 if timing.is_batched => HppShard::Batched3(BatchedShard::build(fabric, plan)),
            4 if timing.is_batched => HppShard::Batched4(BatchedShard::build(fabric, plan)),
            _ => HppShard::Any(FabricShard::new(fabric, plan)),
        }
    }
}

impl<E: Endpoint, O: Observer> Shard for HppShard<E, O> {
    type Mail = Letter<Mail>;

    fn receive(&mut self, letter: Self::Mail) {
        ask!(self, model => model.receive(letter));
    }

    fn run(&mut self, window: Window, outbox: &mut [Vec<Self::Mail>]) {
        ask!(self, model => model.run(window, outbox));
    }

    fn next_window(&self) -> Option<u64> {
        ask!(self, model => model.next_window())
    }

    fn stretch(&self) -> u64 {
        ask!(self, model => model.stretch())
    }
}

impl<E: Endpoint, O: Observer> ShardModel<E, O> for HppShard<E, O> {
    fn endpoints(&mut self) -> Box<dyn Iterator<Item = (NodeId, &mut E)> + '_> {
        ask!(self, model => model.endpoints())
    }

    fn observer(&mut self) -> &mut O {
        ask!(self, model => model.observer())
    }

    fn counters(&self) -> Counters {
        ask!(self, model => model.counters())
    }

    fn settle(&mut self, now: Cycle) {
        ask!(self, model => model.settle(now));
    }

    fn audit(&self, now: Cycle) -> Conservation {
        ask!(self, model => model.audit(now))
    }

    fn waiting(&self, switch: u32, now: Cycle) -> Vec<Waiting> {
        ask!(self, model => model.waiting(switch, now))
    }

    fn position(&self, switch: u32, port: PortId, vc: u8, now: Cycle) -> u32 {
        ask!(self, model => model.position(switch, port, vc, now))
    }

    fn queued_flits(&self, switch: u32, now: Cycle) -> u64 {
        ask!(self, model => model.queued_flits(switch, now))
    }

    fn sent_flits(&self, place: u32, port: PortId) -> Option<u64> {
        ask!(self, model => model.sent_flits(place, port))
    }
}
