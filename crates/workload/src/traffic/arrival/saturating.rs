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
    details: "It has no load of its own: write `--load max`. Asked by its NIC, it has a packet at once; where nobody asks, \
              it creates at equal intervals at load 1, the rate of the links. That keeps every NIC port supplied with \
              packets of one size; of several sizes, a node that draws many short ones in a row may run dry for a while.",
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
