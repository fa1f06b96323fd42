//! A switch whose shards write to each other in bytes, as processes on several hosts have to.

use flitway_engine::Cycle;
use flitway_engine::window::{Shard, Window};
use flitway_fabric::deadlock::Waiting;
use flitway_fabric::simulation::{Architecture, Conservation, Counters, Plan, ShardModel};
use flitway_fabric::{Endpoint, Fabric, Observer, Rate};
use flitway_wiring::routing::Routing;
use flitway_wiring::{NodeId, PortId};
use serde_json::Value;
use std::collections::BTreeSet;
use std::marker::PhantomData;

/// The architecture `A`, but that all mail between shards is written to bytes and read again.
#[derive(Debug)]
pub struct InBytes<A>(PhantomData<A>);

impl<A: Architecture> Architecture for InBytes<A> {
    type Chip = A::Chip;
    type Shard<E: Endpoint, O: Observer> = ByteShard<A::Shard<E, O>>;

    fn shard<E: Endpoint, O: Observer>(fabric: &Fabric<A::Chip>, plan: Plan<E, O>) -> Self::Shard<E, O> {
        let outbox = (0..plan.shards).map(|_| Vec::new()).collect();
        ByteShard { inner: A::shard(fabric, plan), outbox, kinds: BTreeSet::new() }
    }

    fn lookahead(chip: &A::Chip, fabric: &Fabric, latency: u32) -> u64 {
        A::lookahead(chip, fabric, latency)
    }

    fn decides_ahead(chip: &A::Chip) -> u64 {
        A::decides_ahead(chip)
    }

    fn change_of_rate<E: Endpoint, O: Observer>(
        place: u32,
        port: PortId,
        at: Cycle,
        rate: Option<Rate>,
    ) -> Option<Vec<u8>> {
        let mail = A::change_of_rate::<E, O>(place, port, at, rate)?;
        Some(serde_json::to_vec(&mail).expect("mail can be written"))
    }

    fn takes_turns(fabric: &Fabric<A::Chip>) -> bool {
        A::takes_turns(fabric)
    }
}

/// A shard that writes and reads bytes.
pub struct ByteShard<S: Shard> {
    inner: S,
    outbox: Vec<Vec<S::Mail>>,
    kinds: BTreeSet<String>,
}

impl<S: Shard> std::fmt::Debug for ByteShard<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ByteShard").field("kinds", &self.kinds).finish_non_exhaustive()
    }
}

impl<S: Shard> ByteShard<S> {
    /// The kinds of mail that it has read.
    #[must_use]
    pub fn kinds(&self) -> &BTreeSet<String> {
        &self.kinds
    }
}

impl<S: Shard> Shard for ByteShard<S> {
    type Mail = Vec<u8>;

    fn receive(&mut self, bytes: Vec<u8>) {
        let letter: Value = serde_json::from_slice(&bytes).expect("it was written as JSON");
        let kind = letter["mail"].as_object().and_then(|mail| mail.keys().next());
        self.kinds.insert(kind.expect("a letter holds mail of one kind").clone());
        self.inner.receive(serde_json::from_value(letter).expect("what was written can be read"));
    }

    fn run(&mut self, window: Window, outbox: &mut [Vec<Vec<u8>>]) {
        self.inner.run(window, &mut self.outbox);
        for (mail, bytes) in self.outbox.iter_mut().zip(outbox) {
            bytes.extend(mail.drain(..).map(|it| serde_json::to_vec(&it).expect("mail can be written")));
        }
    }

    fn next_window(&self) -> Option<u64> {
        self.inner.next_window()
    }
}

impl<E, O, S: ShardModel<E, O>> ShardModel<E, O> for ByteShard<S> {
    fn endpoints(&mut self) -> Box<dyn Iterator<Item = (NodeId, &mut E)> + '_> {
        self.inner.endpoints()
    }

    fn observer(&mut self) -> &mut O {
        self.inner.observer()
    }

    fn counters(&self) -> Counters {
        self.inner.counters()
    }

    fn settle(&mut self, now: Cycle) {
        self.inner.settle(now);
    }

    fn audit(&self, now: Cycle) -> Conservation {
        self.inner.audit(now)
    }

    fn waiting(&self, switch: u32, now: Cycle) -> Vec<Waiting> {
        self.inner.waiting(switch, now)
    }

    fn position(&self, switch: u32, port: PortId, vc: u8, now: Cycle) -> u32 {
        self.inner.position(switch, port, vc, now)
    }

    fn queued_flits(&self, switch: u32, now: Cycle) -> u64 {
        self.inner.queued_flits(switch, now)
    }

    fn reroute(&mut self, at: Cycle, routing: &Routing) -> bool {
        self.inner.reroute(at, routing)
    }

    fn sent_flits(&self, place: u32, port: PortId) -> Option<u64> {
        self.inner.sent_flits(place, port)
    }
}
