//! What channels could carry: less than others where their links are slower, or have lost lanes.

use super::{ChannelEnds, ChannelLoad, FULL};
use crate::measure::Measurement;
use flitway_engine::Cycle;
use flitway_fabric::Fabric;
use flitway_fabric::faults::{FaultKind, PortFault};
use flitway_fabric::link::lanes::{Agreement, LaneState, LaneStates, Lanes};
use flitway_fabric::observer::end_at;
use flitway_wiring::topology::{End, LinkId};
use std::collections::BTreeMap;

/// What channels of a fabric could carry in some cycles.
pub(super) struct Carried<'a> {
    fabric: &'a Fabric,
    /// By rail and link, where lanes were bad.
    lanes: BTreeMap<(u32, LinkId), OfLanes>,
    lane_count: u32,
    /// The most that a channel carries.
    most: f64,
    /// Flits of a packet.
    flits: u32,
}

/// What the lanes of a link carried.
struct OfLanes {
    /// As a part of what all of them do, in the mean over the cycles.
    part: f64,
    /// What its ends agree on in the end; nothing if it is down.
    last: Option<Agreement>,
    /// The ratio of that rate of lanes to the highest.
    lane_rate: (u32, u32),
}

impl<'a> Carried<'a> {
    /// Of `fabric` in the time of `measurement`, of its packets.
    pub(super) fn of_measurement(fabric: &'a Fabric, measurement: &Measurement) -> Self {
        let until = measurement.warm_up + measurement.duration;
        Carried::new(fabric, [Cycle(measurement.warm_up), Cycle(until)], super::flits_of(measurement))
    }

    /// Of `fabric`, from one cycle until another, of packets of so many flits in the mean.
    pub(super) fn new(fabric: &'a Fabric, [from, until]: [Cycle; 2], flits: f64) -> Self {
        let (span, flits) = ([from.0, until.0], flits.round().max(1.0) as u32);
        let lanes = fabric.chip.training().map(|training| training.lanes);
        let of_links =
            lanes.as_ref().map_or_else(BTreeMap::new, |lanes| changes(fabric).of_links(lanes, span));
        let topology = fabric.topology();
        let senders = topology
            .links()
            .iter()
            .flat_map(|link| link.ends.into_iter().take(if link.is_one_way { 1 } else { 2 }));
        let most = senders.map(|end| fabric.rates.of(end).as_f64()).fold(0.0, f64::max);
        let lane_count = lanes.map_or(0, |lanes| lanes.count());
        Carried { fabric, lanes: of_links, lane_count, most, flits }
    }

    /// The fabric.
    pub(super) fn fabric(&self) -> &'a Fabric {
        self.fabric
    }

    /// Flits per cycle that `channel` could carry where `back` flits per cycle came the other way.
    pub(super) fn of(&self, channel: &ChannelEnds, back: f64) -> f64 {
        // Rates of links with bad lanes are what is left of all of them.
        let whole = self.fabric.carries(channel.from, self.flits, back);
        self.of_lanes(channel).map_or(whole, |lanes| lanes.part.min(whole))
    }

    fn of_lanes(&self, channel: &ChannelEnds) -> Option<&OfLanes> {
        self.lanes.get(&(channel.rail, self.fabric.topology().link_of(channel.from)?))
    }

    /// Whether windows of packets that are not acknowledged allow some channels less than their rate.
    pub(super) fn has_windows(&self) -> bool {
        let ends = self.fabric.topology().links().iter().flat_map(|link| link.ends);
        ends.into_iter()
            .any(|end| self.fabric.carries(end, self.flits, 0.0) < self.fabric.rates.of(end).as_f64())
    }

    /// Whether the window of `busy` is what it waits for: it carries what that allows at least, where acknowledgements go
    /// alone. How many go with packets is a matter of chance, so it carries less than what it could at best.
    pub(super) fn is_windowed(&self, busy: &ChannelLoad) -> bool {
        let rate = self.fabric.rates.of(busy.channel.from).as_f64();
        let [best, alone] = [1.0, 0.0].map(|back| self.fabric.carries(busy.channel.from, self.flits, back));
        self.of_lanes(&busy.channel).is_none() && best < rate && busy.load >= FULL * alone
    }

    /// What is slow about the link of `channel`, if something is: `link "node 3" at 4 of 8 lanes`, or, of a whole class,
    /// `links "node" at 1 flit in 2 cycles` or `links "node", whose window allows 60 % of the full rate`.
    pub(super) fn slow(&self, busy: &ChannelLoad) -> Option<String> {
        let channel = &busy.channel;
        // A node is the shorter name of its link.
        let end = if matches!(channel.to, End::Node(_)) { channel.to } else { channel.from };
        let name = format!("link \"{}\"", self.fabric.topology().names().end(end));
        let rail = if self.fabric.rails > 1 { format!(" of rail {}", channel.rail) } else { String::new() };
        if let Some(OfLanes { last, lane_rate, .. }) = self.of_lanes(channel) {
            let Some(agreed) = last else { return Some(format!("{name}{rail}, which is down")) };
            let (count, (part, whole)) = (agreed.lanes.count_ones(), *lane_rate);
            let slower =
                if part == whole { String::new() } else { format!(", each at {part}/{whole} of its rate") };
            return Some(format!("{name}{rail} at {count} of {} lanes{slower}", self.lane_count));
        }
        let rate = self.fabric.rates.of(channel.from);
        let (flits, cycles) = rate.ratio();
        let class = super::class(self.fabric.topology(), channel);
        let window = busy.could;
        if window < rate.as_f64() && self.is_windowed(busy) {
            let percent = 100.0 * window;
            return Some(format!("links \"{class}\", whose window allows {percent:.0} % of the full rate"));
        }
        (rate.as_f64() < self.most).then(|| {
            format!(
                "links \"{class}\" at {flits} flit{} in {cycles} cycles",
                if flits == 1 { "" } else { "s" }
            )
        })
    }
}

/// From when on the lanes to an end of a link work how.
struct Change {
    at: Cycle,
    /// Which of the ends of the link.
    end: usize,
    states: LaneStates,
}

/// The changes of each link of a rail, by date.
struct Changes(BTreeMap<(u32, LinkId), Vec<Change>>);

/// Those of `fabric`.
fn changes(fabric: &Fabric) -> Changes {
    let (topology, mut all) = (fabric.topology(), BTreeMap::<_, Vec<_>>::new());
    let mut add = |rail: u32, end: End, at, states| {
        if let Some(link) = topology.link_of(end) {
            let end = usize::from(topology.links()[link.index()].ends[0] != end);
            all.entry((rail, link)).or_default().push(Change { at, end, states });
        }
    };
    for rail in 0..fabric.rails {
        fabric.faults.first().states.iter().for_each(|(&end, &states)| add(rail, end, Cycle::ZERO, states));
    }
    for fault in fabric.faults.list() {
        if let FaultKind::Port(port, PortFault::Lanes(states)) = fault.kind {
            let (rail, end) = end_at(topology, fabric.rails, fault.component, port);
            add(rail.0, end, fault.at, states);
        }
    }
    Changes(all)
}

impl Changes {
    /// What links with such `lanes` carry from one cycle until another, where that is not everything.
    fn of_links(self, lanes: &Lanes, [from, until]: [u64; 2]) -> BTreeMap<(u32, LinkId), OfLanes> {
        let of_link = |(place, changes): (_, Vec<Change>)| {
            let good = LaneStates::new(&vec![LaneState::default(); lanes.count() as usize]);
            let mut ends = [good; 2];
            let (mut carried, mut since) = (0.0, from);
            let rate = |ends: &[LaneStates; 2]| {
                lanes.agree(&ends[0], &ends[1]).map_or(0.0, |agreed| agreed.rate.as_f64())
            };
            for Change { at, end, states } in changes {
                let at = at.0.clamp(from, until);
                carried += rate(&ends) * (at - since) as f64;
                since = at;
                if at < until || from == until {
                    ends[end] = states;
                }
            }
            carried += rate(&ends) * (until - since) as f64;
            let part = carried / (until - from).max(1) as f64;
            let last = lanes.agree(&ends[0], &ends[1]);
            let lane_rate =
                last.map_or((0, 1), |agreed| lanes.rates()[usize::from(agreed.lane_rate)].ratio());
            (part < 1.0).then_some((place, OfLanes { part, last, lane_rate }))
        };
        self.0.into_iter().filter_map(of_link).collect()
    }
}
