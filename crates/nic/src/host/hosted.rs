//! Hosts on a fabric: what makes one for each node, and the endpoint that it is.

use super::contents::Contents;
use super::memory::Memory;
use super::{AnyHost, Device, Host, HostSettings, IdleTimes, NIC_PROCESS, Programs, Surroundings};
use crate::{Nic, NicModel, Place};
use flitway_engine::{Clock, Cycle};
use flitway_fabric::{Endpoint, NicPorts, Outgoing, Up};
use std::fmt::{self, Debug};
use std::sync::Arc;

/// Makes the host of each node.
#[derive(Clone)]
pub struct Hosts(pub Arc<dyn Fn(Place) -> Box<dyn AnyHost> + Send + Sync>);

impl Hosts {
    /// Hosts with these settings, each with the device that `device` makes for so many processes.
    pub(crate) fn of<D: Device + 'static>(
        settings: HostSettings<D::Bus>,
        nodes: u32,
        (clock, idle): (Clock, IdleTimes),
        programs: Programs,
        device: impl Fn(Place, usize) -> D + Send + Sync + 'static,
    ) -> Self {
        let surroundings = Surroundings { clock, idle, contents: Arc::new(Contents::new(nodes)) };
        Hosts(Arc::new(move |place: Place| {
            let programs = programs(place.node);
            let device = device(place, programs.len());
            let (memory, surroundings) = (Memory::default(), surroundings.clone());
            Box::new(Host::new(place, settings, device, memory, programs, surroundings))
        }))
    }
}

impl Debug for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hosts")
    }
}

impl NicModel for Hosts {
    type Nic<P: Endpoint> = Hosted<P>;

    const PORTS: NicPorts = NicPorts::Bounded;

    fn nic<P: Endpoint>(&self, place: Place, process: P) -> Hosted<P> {
        Hosted { process, wake: Some(Cycle::ZERO), host: (self.0)(place) }
    }
}

/// A host, and a process beside it that hands packets to the NIC ports itself, as with an ideal NIC.
#[derive(Debug)]
pub struct Hosted<P> {
    process: P,
    /// When it wants to be woken.
    wake: Option<Cycle>,
    host: Box<dyn AnyHost>,
}

impl<P> Hosted<P> {
    /// The host.
    pub fn host_mut(&mut self) -> &mut dyn AnyHost {
        &mut *self.host
    }

    fn next(&self) -> Option<Cycle> {
        [self.wake, self.host.next()].into_iter().flatten().min()
    }
}

impl<P: Endpoint> Nic for Hosted<P> {
    type Process = P;

    fn process_mut(&mut self) -> &mut P {
        &mut self.process
    }
}

impl<P: Endpoint> Endpoint for Hosted<P> {
    const BOUNDED: bool = true;

    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        self.host.run(now, out);
        if self.wake.is_some_and(|at| at <= now) {
            self.wake = self.process.wake(now, out);
        }
        self.next()
    }

    fn hear(&mut self, now: Cycle, up: Up<'_>, out: &mut Outgoing) -> Option<Cycle> {
        self.host.run(now, out);
        match up {
            Up::Delivery(delivery) if delivery.flow.process() == NIC_PROCESS => {
                self.host.receive(now, delivery, out);
            }
            Up::Sent(rail, flow) if flow.process() == NIC_PROCESS => self.host.sent(now, rail, flow, out),
            Up::Answered(_, flow, _) if flow.process() == NIC_PROCESS => {
                self.host.answered(now, flow, out);
            }
            Up::Sent(..) => {}
            Up::Delivery(delivery) => {
                out.drain(delivery.ticket());
                self.wake = self.process.hear(now, up, out);
            }
            Up::Released(group) if self.host.released(now, group, out) => {}
            Up::Released(_) | Up::Answered(..) => self.wake = self.process.hear(now, up, out),
        }
        self.host.run(now, out);
        self.next()
    }
}
