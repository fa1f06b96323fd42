//! Packets for groups: the section *Multicast* of the normative text.

use super::{Crossing, Request, Switch};
use crate::arbiter::Arbiter;
use crate::hpp::World;
use crate::hpp::flit::{Flit, Travelling};
use flitway_engine::Cycle;
use flitway_fabric::observer::{Grant, Miss};
use flitway_switch::hpp::{Gathering, HppSettings};
use flitway_wiring::routing::Hop;
use flitway_wiring::{Destination, GroupId, PortId};

/// What a switch has for packets for groups.
#[derive(Debug)]
pub(super) struct Multicast {
    vc: usize,
    arbiter: Arbiter,
    /// The input whose request is favoured.
    favoured: Option<usize>,
    inputs: Vec<Fork>,
}

/// An input, as far as packets for groups are concerned.
#[derive(Debug, Default)]
struct Fork {
    /// The first cycle in which the first packet of its FIFO was a request that has not been granted.
    since: Option<u64>,
    /// The outputs that are kept for that request.
    kept: Vec<usize>,
    /// The outputs that a packet crosses to, perhaps none.
    crossing: Option<Vec<usize>>,
}

impl Multicast {
    pub(super) fn new(settings: &HppSettings, inputs: usize) -> Self {
        Multicast {
            vc: settings.multicast.vc as usize,
            arbiter: Arbiter::new(settings.arbiter, inputs),
            favoured: None,
            inputs: (0..inputs).map(|_| Fork::default()).collect(),
        }
    }

    /// Whether the first packet of FIFO `(input, vc)` gathers its outputs one by one.
    pub(super) fn is_gathering(&self, input: usize, vc: usize, world: &World) -> bool {
        let one_by_one = world.settings.multicast.gathering == Gathering::OneByOne;
        one_by_one && vc == self.vc && self.inputs[input].since.is_some()
    }
}

impl World {
    /// The hop that `packet`, which is for a group, takes next on a way up that it carries.
    pub(super) fn way_up(&self, packet: &Travelling) -> Option<Hop> {
        let Destination::Group(group, root) = packet.packet.destination else { return None };
        let way = self.groups.way_up(packet.source, group, root);
        let rest = (0..packet.hops).fold(way, |way, _| if way.has_arrived() { way } else { way.rest() });
        (!rest.has_arrived()).then(|| rest.hop())
    }
}

impl Switch {
    /// The outputs of a packet for `group` that has come by port `input`.
    fn outputs(&self, group: GroupId, input: usize, world: &World) -> Vec<usize> {
        let mask = world.groups.outputs(self.id, group, PortId::new(input));
        (0..self.ports.len()).filter(|output| mask >> output & 1 == 1).collect()
    }

    /// The packet for a group that requests several outputs from `input`, and these outputs.
    fn fork(&self, input: usize, world: &World) -> Option<(usize, Vec<usize>)> {
        let (number, earliest) = self.first(input, self.multicast.vc, world)?;
        let packet = &world.packets[number];
        let Destination::Group(group, _) = packet.packet.destination else { return None };
        let is_late = earliest + u64::from(world.settings.multicast.lookup) > world.now;
        if is_late || world.way_up(packet).is_some() {
            return None;
        }
        Some((number, self.outputs(group, input, world)))
    }

    /// Step 3 for the packet for a group that crosses from `input`.
    pub(super) fn cross_together(&mut self, input: usize, world: &mut World) {
        let vc = self.multicast.vc;
        let Some(outputs) = self.multicast.inputs[input].crossing.clone() else { return };
        let depth = world.settings.tx_fifo as usize;
        if outputs.iter().any(|&output| self.outputs[output].columns[vc].tx.len() == depth) {
            return;
        }
        let pipeline = &world.settings.pipeline;
        let to_crossbar = u64::from(pipeline.receive + pipeline.queue + pipeline.route);
        let flits = &mut self.inputs[input][vc].flits;
        let there = flits.front().filter(|(_, on_wire)| *on_wire + to_crossbar <= world.now);
        let Some(&(flit, _)) = there else { return };
        flits.pop_front();
        for &output in &outputs {
            let column = &mut self.outputs[output].columns[vc];
            let crossing = column.crossing.as_mut().expect("all its outputs are crossed to");
            assert_eq!(crossing.next, flit.index, "flits come in order");
            crossing.next += 1;
            column.tx.push_back((Flit { packet: crossing.packet, ..flit }, world.now));
            if flit.last {
                column.crossing = None;
            }
        }
        world.flits_copied += (outputs.len() as u64).saturating_sub(1);
        world.flits_missed += u64::from(outputs.is_empty());
        if flit.completes_unit {
            self.ports[input].as_mut().expect("flits come from a wired port").book.free(vc);
        }
        if flit.last {
            self.inputs[input][vc].crossing = false;
            self.multicast.inputs[input].crossing = None;
        }
    }

    /// Step 4.
    pub(super) fn arbitrate_multicast(&mut self, world: &mut World) {
        let forks: Vec<Option<(usize, Vec<usize>)>> =
            (0..self.ports.len()).map(|input| self.fork(input, world)).collect();
        for (state, fork) in self.multicast.inputs.iter_mut().zip(&forks) {
            state.since = fork.as_ref().map(|_| state.since.unwrap_or(world.now));
        }
        self.favour(world);
        let one_by_one = world.settings.multicast.gathering == Gathering::OneByOne;
        let asks: Vec<bool> = forks
            .iter()
            .enumerate()
            .map(|(input, fork)| {
                fork.as_ref().is_some_and(|(number, outputs)| {
                    let alone = !one_by_one || outputs.is_empty();
                    alone && outputs.iter().all(|&output| self.can_have(input, output, *number, world))
                })
            })
            .collect();
        let Some(input) = self.multicast.arbiter.grant(&asks) else { return };
        let (number, outputs) = forks[input].clone().expect("an arbiter grants an input that requests");
        for &output in &outputs {
            self.take(output, number, world);
            let crossing =
                Crossing { input, packet: number, label: self.multicast.vc, next: 0, with_others: true };
            self.outputs[output].columns[self.multicast.vc].crossing = Some(crossing);
            world.record.grants.push(Grant {
                cycle: Cycle(world.now),
                switch: self.number,
                output: PortId::new(output),
                vc: self.multicast.vc as u8,
                input: PortId::new(input),
            });
        }
        self.start(input, outputs, world);
    }

    /// "At the beginning of step 4, if no request is favoured ..."
    fn favour(&mut self, world: &World) {
        let Gathering::Bulletin { patience: Some(patience) } = world.settings.multicast.gathering else {
            return;
        };
        if self.multicast.favoured.is_none() {
            let since = |input: usize| Some((self.multicast.inputs[input].since?, input));
            let overdue = (0..self.ports.len())
                .filter_map(since)
                .filter(|(since, _)| since + u64::from(patience) <= world.now);
            self.multicast.favoured = overdue.min().map(|(_, input)| input);
        }
    }

    /// Whether crossbar `vc` keeps `output` free for a favoured request.
    pub(super) fn is_reserved(&self, output: usize, vc: usize, world: &World) -> bool {
        vc == self.multicast.vc
            && self
                .multicast
                .favoured
                .and_then(|input| self.fork(input, world))
                .is_some_and(|(_, outputs)| outputs.contains(&output))
    }

    /// Whether the packet `number` from `input` can have `output` now.
    fn can_have(&self, input: usize, output: usize, number: usize, world: &World) -> bool {
        let vc = self.multicast.vc;
        let port = self.ports[output].as_ref().expect("groups have wired ports");
        let is_kept_out = self.multicast.favoured != Some(input) && self.is_reserved(output, vc, world);
        self.outputs[output].columns[vc].crossing.is_none()
            && port.credits.available(vc) >= u64::from(world.packets[number].units)
            && !is_kept_out
    }

    fn take(&mut self, output: usize, number: usize, world: &World) {
        let port = self.ports[output].as_mut().expect("groups have wired ports");
        port.credits.take(self.multicast.vc, world.packets[number].units);
    }

    /// The first packet of `input` starts to cross to `outputs`: each gets a copy of its own.
    fn start(&mut self, input: usize, outputs: Vec<usize>, world: &mut World) {
        let vc = self.multicast.vc;
        world.counters.packets_copied += (outputs.len() as u64).saturating_sub(1);
        if outputs.is_empty() {
            world.counters.packets_missed += 1;
            let miss = Miss {
                cycle: Cycle(world.now),
                switch: self.number,
                input: PortId::new(input),
                vc: vc as u8,
            };
            world.record.misses.push(miss);
        }
        for &output in &outputs {
            let crossing = &mut self.outputs[output].columns[vc].crossing;
            let crossing = crossing.as_mut().expect("all its outputs have been granted");
            let copy = world.packets[crossing.packet].clone();
            crossing.packet = world.packets.len();
            world.packets.push(copy);
        }
        self.inputs[input][vc].crossing = true;
        self.multicast.inputs[input] = Fork { since: None, kept: Vec::new(), crossing: Some(outputs) };
        if self.multicast.favoured == Some(input) {
            self.multicast.favoured = None;
        }
    }

    /// What the packet `number` at `input`, which gathers its outputs one by one, still asks for.
    pub(super) fn requests_of_gathering(&self, input: usize, number: usize, world: &World) -> Vec<Request> {
        let state = &self.multicast.inputs[input];
        let (Some((_, outputs)), Gathering::OneByOne) =
            (self.fork(input, world), world.settings.multicast.gathering)
        else {
            return Vec::new();
        };
        let units = world.packets[number].units;
        let missing = outputs.into_iter().filter(|output| !state.kept.contains(output));
        missing.map(|output| Request { packet: number, output, label: self.multicast.vc, units }).collect()
    }

    /// The packet that gathers its outputs at `input` keeps `output`, too.
    pub(super) fn keep(&mut self, input: usize, output: usize, world: &mut World) {
        self.multicast.inputs[input].kept.push(output);
        let Some((_, outputs)) = self.fork(input, world) else { return };
        if self.multicast.inputs[input].kept.len() == outputs.len() {
            self.start(input, outputs, world);
        }
    }
}
