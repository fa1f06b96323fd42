//! Conservation, counted object by object at the end of every cycle.
//!
//! * **Flits**: created + copied - missed = in source queues + on links + in input FIFOs + in TX FIFOs + in NIC buffers +
//!   taken out.
//! * **Credits**, for every channel and VC: available to the sender + held + freed but not yet heard of = capacity.
//!   A unit is *held* from when its packet takes credits until the flit that completes it leaves the receiver's FIFO;
//!   we count those flits: still to cross, in the TX FIFO or the source queue, on the link, in the FIFO.
//! * **Barrier packets**: made = acted on + lost + in queues + on links.
//! * **Room**: no TX FIFO above its depth, no input FIFO above its capacity.

use super::Hpp;
use super::flit::{Channel, Flit, Place};
use super::port::Port;
use super::switch::Switch;

/// What has been found.
struct Ledger {
    vcs: usize,
    flits: u64,
    /// Credit units, `channel * vcs + vc`.
    held: Vec<u64>,
}

impl Ledger {
    /// `flit` has been found on its way over `channel`, or at one of its ends.
    fn enter(&mut self, channel: usize, flit: &Flit) {
        self.flits += 1;
        self.held[channel * self.vcs + flit.vc] += u64::from(flit.completes_unit);
    }

    fn held(&self, channel: usize, vc: usize) -> u64 {
        self.held[channel * self.vcs + vc]
    }

    /// Units have been taken that are still to be sent over `channel`.
    fn enter_units(&mut self, channel: usize, to_come: Option<(usize, u64)>) {
        if let Some((vc, units)) = to_come {
            self.held[channel * self.vcs + vc] += units;
        }
    }
}

impl Hpp {
    /// Asserts all of it.
    pub(super) fn assert_books(&self) {
        let (channels, vcs) = (self.world.channels.len(), self.world.settings.vcs as usize);
        let mut ledger = Ledger { vcs, flits: 0, held: vec![0; channels * vcs] };
        self.count_nics(&mut ledger);
        self.count_switches(&mut ledger);
        for (number, channel) in self.world.channels.iter().enumerate() {
            channel.flits().for_each(|flit| ledger.enter(number, flit));
        }
        let now = self.world.now;
        assert_eq!(
            self.world.flits_created + self.world.flits_copied,
            ledger.flits + self.world.flits_missed,
            "every flit is somewhere, at the end of cycle {now}"
        );
        self.assert_signals();
        for channel in 0..channels {
            for vc in 0..vcs {
                self.assert_credits(channel, vc, ledger.held(channel, vc));
            }
        }
    }

    fn assert_signals(&self) {
        let counters = &self.world.counters.barrier;
        let on_links: usize = self.world.channels.iter().map(Channel::signals).sum();
        let sending = self.ports().filter(|port| port.is_sending_signal()).count();
        let in_nics: usize = self.nics.iter().map(|nic| nic.port.lane.packets()).sum();
        let in_switches: usize = self.switches.iter().map(Switch::signals).sum();
        assert_eq!(
            counters.made,
            counters.handled
                + counters.lost_by_fault
                + counters.lost_by_full_queue
                + (on_links + sending + in_nics + in_switches) as u64,
            "every barrier packet is somewhere, at the end of cycle {}",
            self.world.now
        );
    }

    fn ports(&self) -> impl Iterator<Item = &Port> {
        let nics = self.nics.iter().map(|nic| &nic.port);
        nics.chain(self.switches.iter().flat_map(|switch| switch.ports.iter().flatten()))
    }

    fn count_nics(&self, ledger: &mut Ledger) {
        for nic in &self.nics {
            ledger.flits += nic.queues.flits(&self.world) + nic.absorbed;
            ledger.enter_units(nic.port.outgoing, nic.queues.units_to_come(&self.world));
            nic.buffer.iter().for_each(|(flit, _)| ledger.enter(nic.port.incoming, flit));
        }
    }

    fn count_switches(&self, ledger: &mut Ledger) {
        let capacity = u64::from(self.world.settings.buffer_units);
        for switch in &self.switches {
            let wired = switch.ports.iter().zip(switch.inputs.iter().zip(&switch.outputs));
            for (port, (fifos, output)) in wired.filter_map(|(port, queues)| Some((port.as_ref()?, queues))) {
                for (vc, fifo) in fifos.iter().enumerate() {
                    let before = ledger.held(port.incoming, vc);
                    fifo.flits.iter().for_each(|(flit, _)| ledger.enter(port.incoming, flit));
                    let stored = ledger.held(port.incoming, vc) - before;
                    assert!(stored <= capacity, "a FIFO holds at most its capacity");
                }
                for column in &output.columns {
                    column.tx.iter().for_each(|(flit, _)| ledger.enter(port.outgoing, flit));
                    ledger.enter_units(port.outgoing, column.units_to_come(&self.world));
                    let depth = self.world.settings.tx_fifo as usize;
                    assert!(column.tx.len() <= depth, "a TX FIFO holds at most its depth");
                }
            }
        }
    }

    fn assert_credits(&self, number: usize, vc: usize, held: u64) {
        let channel = &self.world.channels[number];
        let (sender, receiver) = (self.port(channel.from), self.port(channel.to));
        let available = sender.credits.available(vc);
        let unheard = receiver.unheard(vc, &sender.credits);
        assert_eq!(
            available + held + unheard,
            u64::from(self.world.settings.buffer_units),
            "{available} units available, {held} held, {unheard} freed but not heard of: VC {vc} from {:?} to {:?}, \
             at the end of cycle {}",
            channel.from,
            channel.to,
            self.world.now
        );
    }

    fn port(&self, place: Place) -> &Port {
        match place {
            Place::Switch { switch, port } => {
                self.switches[switch].ports[port].as_ref().expect("a channel leads to wired ports")
            }
            Place::Nic(nic) => &self.nics[nic].port,
        }
    }
}
