//! What links corrupt.

use super::super::dice::Dice;
use flitway_fabric::observer::component_at;
use flitway_fabric::{ChannelRate, ErrorRule, LinkErrors, SentKind};
use flitway_wiring::RailId;
use flitway_wiring::topology::Topology;

/// In half of the cases: by rate, of which one flit in so many of `one_in` is corrupted, by rule, of what is one of `kinds`, or
/// both.
pub(in super::super) fn errors(
    dice: &mut Dice,
    topology: &Topology,
    rails: u32,
    one_in: &[u64],
    kinds: &[SentKind],
) -> LinkErrors {
    let mut errors = LinkErrors { seed: dice.below(1_000), ..LinkErrors::default() };
    if dice.one_in(2) {
        return errors;
    }
    if dice.one_in(2) {
        errors.flit = u64::MAX / dice.pick(one_in);
    }
    if dice.one_in(4) {
        errors.undetected = u64::MAX / dice.pick(one_in);
    }
    let rules = if errors.flit == 0 { dice.between(1, 12) } else { dice.pick(&[0, 0, 3]) };
    for _ in 0..rules {
        let links = topology.links();
        let link = &links[dice.below(links.len() as u64) as usize];
        let rail = RailId(dice.below(rails.into()) as u32);
        let (component, port) = component_at(topology, rails, rail, link.ends[dice.below(2) as usize]);
        let kind = dice.pick(kinds);
        let nth = u64::from(dice.scaled(1, 20));
        errors.rules.push(ErrorRule { component, port, kind, nth });
    }
    // In a quarter of the cases with rules the channel of the first has a rate of its own: this moves no other draw.
    if let Some(&ErrorRule { component, port, .. }) =
        errors.rules.first().filter(|_| errors.seed.is_multiple_of(4))
    {
        errors.channels.push(ChannelRate { component, port, flit: u64::MAX / one_in[0] });
    }
    errors
}
