//! Which of several candidates a switch takes: the same for every switch.

/// How a switch selects among the candidates of a relation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// The first one that the relation names.
    #[default]
    First,
    /// The one with the least load, what that is being said by the switch; among equals they take turns.
    LeastLoaded,
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
