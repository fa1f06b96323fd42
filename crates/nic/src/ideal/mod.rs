//! The ideal NIC.
//!
//! # What happens in which cycle
//!
//! * A packet that the process sends is in the source queue of its NIC port in the same cycle, however many are there. An
//!   arrival at a barrier is told in the same cycle.
//! * Each flit leaves the receive buffer as it comes ([`NicPorts::Ideal`]). The process hears of a packet in the cycle in which
//!   it is delivered, and of a release in the cycle in which it comes.
//! * It has no time, no memory and no processor of its own, and makes no packets.

use crate::{Nic, NicModel, Place};
use flitway_engine::Cycle;
use flitway_fabric::{Endpoint, NicPorts, Outgoing, Up};

/// The settings of the ideal NIC: there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdealSettings;

impl NicModel for IdealSettings {
    type Nic<P: Endpoint> = Ideal<P>;

    const PORTS: NicPorts = NicPorts::Ideal;

    fn nic<P: Endpoint>(&self, _: Place, process: P) -> Ideal<P> {
        Ideal(process)
    }
}

/// The ideal NIC of a node, with its process.
#[derive(Clone, Debug)]
pub struct Ideal<P>(P);

impl<P: Endpoint> Nic for Ideal<P> {
    type Process = P;

    fn process_mut(&mut self) -> &mut P {
        &mut self.0
    }
}

impl<P: Endpoint> Endpoint for Ideal<P> {
    const REACTS: bool = P::REACTS;

    fn takes_part(&self) -> bool {
        self.0.takes_part()
    }

    #[inline]
    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        self.0.wake(now, out)
    }

    #[inline]
    fn hear(&mut self, now: Cycle, up: Up<'_>, out: &mut Outgoing) -> Option<Cycle> {
        self.0.hear(now, up, out)
    }
}
