//! What the settings of Elan4 say of it.

use super::{Elan4, ElanSettings, QUEUES, TRANSFER, event, theory};
use crate::host::program::{Operation, Setup, Submission, Verb, Waits};
use crate::host::{Hosts, IdleTimes, Network, OnABus, Programs};
use flitway_engine::{Clock, Picos};
use flitway_fabric::NicPorts;
use flitway_fabric::chip::Offers;

impl OnABus for ElanSettings {
    fn most(&self, verb: Verb) -> (u64, &'static str) {
        match verb {
            Verb::Send | Verb::Thread => (self.sten_packet.into(), "nic.sten.packet"),
            _ => (TRANSFER, "[assumed]"),
        }
    }

    fn ways(&self, verb: Verb) -> &'static [Submission] {
        match verb {
            Verb::Put => &[Submission::Sten, Submission::Dma],
            Verb::Get | Verb::Send | Verb::Thread => &[Submission::Sten],
            Verb::Load | Verb::Store | Verb::FetchAdd | Verb::Control | Verb::Event => &[],
            Verb::Lock | Verb::TryLock | Verb::Unlock | Verb::Barrier => &[],
        }
    }

    fn takes(&self, setup: &Setup) -> bool {
        let Setup { key, is_physical, waits, .. } = *setup;
        let is_of_another = key != 0 || is_physical || waits != Waits::Polling || setup.barrier.is_some();
        let is_checked = setup.is_on_demand || setup.valid.is_some();
        !(is_of_another || is_checked && self.tlb.is_preloaded)
    }

    fn has_threads(&self) -> bool {
        true
    }

    fn misses(&self, rails: u32, offers: &Offers) -> Option<&'static str> {
        match offers.answers {
            _ if rails > 1 => Some("an Elan4 has one link, and the machine several rails"),
            None => {
                Some("an Elan4 waits for answers to its packets, and the switches of this machine give none")
            }
            Some(_) => None,
        }
    }

    fn ports(&self) -> NicPorts {
        NicPorts::Answering
    }

    fn queues(&self, _: Submission) -> u32 {
        QUEUES
    }

    fn hosts(&self, nodes: u32, clock: Clock, idle: IdleTimes, programs: Programs) -> Hosts {
        let settings = *self;
        let nic = move |place, processes| Elan4::new(&settings, place, processes);
        Hosts::of(self.host, nodes, (clock, idle), programs, nic)
    }

    fn chains(&self, operation: &Operation) -> Result<(), &'static str> {
        event::may_start(self, operation)
    }

    fn chain_seen_at(&self, operation: &Operation, links: u32, network: Network<'_>) -> Option<Picos> {
        theory::seen_at(self, operation, links, network)
    }

    fn matched_seen_at(&self, send: &Operation, before: u32, network: Network<'_>) -> Option<Picos> {
        theory::matched_seen_at(self, send, before, network)
    }

    fn seen_at(&self, operation: &Operation, network: Network<'_>) -> Option<Picos> {
        theory::seen_at(self, operation, 1, network)
    }
}
