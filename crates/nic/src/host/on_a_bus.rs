//! What the settings of a NIC on a bus say of it.

use super::program::{Operation, Setup, Submission, Verb};
use super::{Hosts, IdleTimes, Programs};
use flitway_engine::{Clock, Picos};
use flitway_fabric::NicPorts;
use flitway_fabric::chip::Offers;

/// The settings of a NIC on a bus: what it can do, and what makes it with its host.
pub trait OnABus {
    /// The most data of an operation in bytes, and where that stands.
    fn most(&self, verb: Verb) -> (u64, &'static str);

    /// How an operation can be submitted, first what is meant unless it is said; nothing if it has none such.
    fn ways(&self, verb: Verb) -> &'static [Submission];

    /// Whether operations can be reliable from end to end.
    fn has_reliable(&self) -> bool {
        false
    }

    /// Whether the system software can set that up for a process.
    fn takes(&self, setup: &Setup) -> bool {
        setup.is_usual()
    }

    /// What it takes longer until a process has seen what comes, in an idle machine, if it sleeps; `None` if none can.
    fn wakes_in(&self) -> Option<Picos> {
        None
    }

    /// Whether it has a module for [barriers](super::program::Meeting) of processes of many nodes.
    fn has_barriers(&self) -> bool {
        false
    }

    /// Whether operations can be parts of [collective](super::program::Collective) ones.
    fn has_collectives(&self) -> bool {
        false
    }

    /// Whether processes can have [threads](super::thread) on it.
    fn has_threads(&self) -> bool {
        false
    }

    /// What it needs and does not have on a machine of so many rails, whose switches offer that.
    fn misses(&self, _: u32, _: &Offers) -> Option<&'static str> {
        None
    }

    /// What it needs of its NIC ports.
    fn ports(&self) -> NicPorts {
        NicPorts::Bounded
    }

    /// Queues that operations reach it by, so: each is of one process of a node.
    fn queues(&self, by: Submission) -> u32;

    /// How many processes can send to one, so that it polls its memory; any number if it does not say.
    fn senders(&self) -> Option<u32> {
        None
    }

    /// The hosts of a run on a network of `nodes` nodes and this `clock`, in which packets take `idle` and `programs` run.
    fn hosts(&self, nodes: u32, clock: Clock, idle: IdleTimes, programs: Programs) -> Hosts;

    /// Whether counted events can start `operation`, so that one follows the other without a processor.
    ///
    /// # Errors
    /// Why not.
    fn chains(&self, _: &Operation) -> Result<(), &'static str> {
        Err("the NIC of this machine has no events that start operations")
    }

    /// The same as [`seen_at`](OnABus::seen_at) of a chain of so many operations, to and fro, each but the first started by the
    /// event of the one before.
    fn chain_seen_at(&self, _: &Operation, _: u32, _: Network<'_>) -> Option<Picos> {
        None
    }

    /// The same as [`seen_at`](OnABus::seen_at) of a send that the built-in program `match` gives to a receive which was posted
    /// before and has so many others before it in its list, in an idle machine.
    fn matched_seen_at(&self, _: &Operation, _: u32, _: Network<'_>) -> Option<Picos> {
        None
    }

    /// When the process that it brings data to has seen `operation`, which is posted at the start, in an idle machine with all
    /// translations; `network` says when a packet of so many bytes that reaches the NIC port at some date is delivered.
    /// `None` if it needs more than one read or packet of data.
    fn seen_at(&self, operation: &Operation, network: Network<'_>) -> Option<Picos>;
}

/// When a packet of so many bytes is delivered that reaches its NIC port at some date.
pub type Network<'a> = &'a dyn Fn(Picos, Way, u16) -> Picos;

/// Which way a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To the node that an operation names.
    There,
    /// From it.
    Back,
}
