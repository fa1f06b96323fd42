//! A source that always has a packet.

use super::periodic::Periodic;
use super::{ArrivalArguments, ArrivalChoice, Arrivals, Process};
use crate::catalog::{ChoiceError, Entry};
use crate::traffic::{Rate, TrafficError};
use std::sync::Arc;

pub(super) const ENTRY: Entry = Entry {
    name: "saturating",
    aliases: &[],
    doc: "always has a packet: as much as the network takes",
    details: "The load is ignored. Asked by its NIC, it has a packet at once; where nobody asks, it creates at equal \
              intervals at load 1, the rate of the links, which keeps every NIC port supplied.",
    parameters: &[],
};

pub(super) fn read(_: &ArrivalArguments) -> Result<ArrivalChoice, ChoiceError> {
    Ok(Arc::new(Saturating))
}

#[derive(Debug)]
struct Saturating;

impl Process for Saturating {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn fit(&self, rate: Rate) -> Result<Arrivals, TrafficError> {
        Ok(Periodic::fit(rate).map_or(Arrivals::Never, Arrivals::Saturating))
    }

    fn ignores_load(&self) -> bool {
        true
    }
}
