//! Which of several candidates a switch takes: the same for every switch.

use super::{Arrival, Candidate, Header, Routing};
use crate::{NodeId, SwitchId};

/// How a switch selects among the candidates of a relation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// The first one that the relation names.
    #[default]
    First,
    /// One by the pair of nodes and the switch ([`of_flow`]), as ECMP does: packets of a pair keep their order.
    Hashed,
    /// One by the packet and the switch ([`of_packet`]): packets are sprayed.
    Random,
    /// The one with the least load, what that is being said by the switch; among equals they take turns.
    LeastLoaded,
}

impl Routing {
    /// The candidate of a packet from `source` at `here` where switches hash, if all links are up.
    pub(super) fn hashed(
        &self,
        source: NodeId,
        here: SwitchId,
        arrival: Arrival,
        header: Header,
    ) -> Candidate {
        let mut escapes = Vec::new();
        self.candidates(here, arrival, header, |it| {
            if self.topology().wire(here, it.hop.port).is_some() && self.is_escape(here, it.hop) {
                escapes.push(it);
            }
        });
        let number = of_flow(here, source, header.destination(), escapes.len());
        escapes.get(number).copied().unwrap_or_else(|| self.first(here, arrival, header))
    }
}

/// The number, below `count`, of the candidate that every packet from `source` to `destination` takes at `here`.
#[inline]
#[must_use]
pub fn of_flow(here: SwitchId, source: NodeId, destination: NodeId, count: usize) -> usize {
    drawn(here, u64::from(source.0) << 32 | u64::from(destination.0), count)
}

/// The number, below `count`, of the candidate that a packet from `source` takes at `here`, whose first flit was on the wire of
/// that in cycle `injected`.
#[inline]
#[must_use]
pub fn of_packet(here: SwitchId, source: NodeId, injected: u64, count: usize) -> usize {
    drawn(here, mixed(u64::from(source.0)).wrapping_add(injected), count)
}

/// A number below `count` that `key` and the switch decide: switches of one way do not decide alike, which would leave some of
/// their links idle.
fn drawn(here: SwitchId, key: u64, count: usize) -> usize {
    let value = mixed(mixed(key).wrapping_add(u64::from(here.0)));
    // The upper half: as many values for each, but for one in 2^32.
    (((value >> 32) * count as u64) >> 32) as usize
}

/// The output function of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), after its step: every bit depends on all of `key`.
fn mixed(key: u64) -> u64 {
    let step = key.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let step = (step ^ (step >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let step = (step ^ (step >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    step ^ (step >> 31)
}

/// The `candidates`, ports as bits of a switch of so many `ports`, by least `load`: the first from port `turn` on, going round,
/// and the turn after it.
///
/// # Panics
/// If there is no candidate.
#[inline]
pub fn least_loaded(candidates: u64, ports: u32, turn: u32, load: impl Fn(u32) -> u32) -> (u32, u32) {
    let turns = (0..ports).map(|place| (turn + place) % ports);
    let allowed = turns.filter(|port| candidates >> port & 1 == 1);
    let best = allowed.min_by_key(|&port| load(port));
    let best = best.expect("a packet has somewhere to go");
    (best, (best + 1) % ports)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mixed_key_is_the_number_that_splitmix64_gives() {
        // The first two of the generator with seed 0, as its authors give them.
        assert_eq!(mixed(0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(mixed(0x9E37_79B9_7F4A_7C15), 0x6E78_9E6A_A1B9_65F4);
    }

    #[test]
    fn flows_and_packets_are_spread_evenly_and_switches_do_not_decide_alike() {
        let counts = |chosen: &dyn Fn(u32) -> usize| {
            let mut counts = [0; 3];
            (0..3_000).for_each(|it| counts[chosen(it)] += 1);
            counts
        };
        let here = SwitchId(5);
        let flows = |it: u32| of_flow(here, NodeId(it / 60), NodeId(it % 60), 3);
        let packets = |it: u32| of_packet(here, NodeId(7), u64::from(it) * 9, 3);
        // Of those that switch 5 sends by its first output, what switch 6 does with them.
        let on: Vec<u32> = (0..9_000).filter(|&it| flows(it) == 0).take(3_000).collect();
        let after = |it: u32| {
            let it = on[it as usize % on.len()];
            of_flow(SwitchId(6), NodeId(it / 60), NodeId(it % 60), 3)
        };
        for counts in [counts(&flows), counts(&packets), counts(&after)] {
            assert!(counts.iter().all(|count| (900..1_100).contains(count)), "{counts:?}");
        }
    }

    #[test]
    fn equals_take_turns_and_less_load_goes_first() {
        let loads = [2, 1, 1, 0];
        let load = |port: u32| loads[port as usize];
        assert_eq!(least_loaded(0b0110, 4, 0, load), (1, 2));
        assert_eq!(least_loaded(0b0110, 4, 2, load), (2, 3));
        assert_eq!(least_loaded(0b0110, 4, 3, load), (1, 2));
        assert_eq!(least_loaded(0b1111, 4, 1, load), (3, 0));
        assert_eq!(least_loaded(0b0001, 4, 1, load), (0, 1));
    }
}
