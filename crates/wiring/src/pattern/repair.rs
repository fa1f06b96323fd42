//! Between which two switches a cable is missing: those that lack one, paired so that what is around each pair is as it is
//! around cables that are there.
//!
//! Around a cable between two switches there are, without it, other cables between the same two, and ways from the one to
//! the other over two cables and over three. So two switches of one pod or group are told from two of different ones.

use super::{Departure, Role, Untold};
use crate::SwitchId;
use crate::cables::Cables;

/// Cables of one kind that are paired: there are so many factorial pairings.
const PAIRED_MAX: usize = 7;

/// Cables of a kind whose surroundings are looked at.
const SAMPLE: usize = 64;

/// What one cable more or less between the same two counts against one way more or less.
const CABLE: u64 = 1 << 32;

/// The cables that `departures` lack, between switches where one pairing is best, and otherwise between sets of them.
pub(super) fn missing(
    cables: &Cables,
    roles: &[Role],
    departures: &[Departure],
) -> (Vec<[SwitchId; 2]>, Vec<Untold>) {
    let (mut told, mut untold) = (Vec::new(), Vec::new());
    for (role, at) in (0..).zip(roles) {
        for &(other, _) in at.cables.iter().filter(|&&(other, _)| other >= role) {
            let sides = [(role, other), (other, role)].map(|(of, towards)| lacking(departures, of, towards));
            let [Some(one), Some(two)] = sides else { continue };
            // Within a role each cable has both its ends there.
            let cables_missing = if role == other { one.len() / 2 } else { one.len() };
            let fit = if role == other { one.len() % 2 == 0 } else { one.len() == two.len() };
            if cables_missing == 0 || !fit {
                continue;
            }
            match paired(cables, roles, [role, other], [&one, &two]) {
                Some(pairs) => told.extend(pairs),
                None => {
                    let once = |mut ends: Vec<SwitchId>| {
                        ends.dedup();
                        ends
                    };
                    untold.push(Untold { cables: cables_missing as u32, between: [once(one), once(two)] });
                }
            }
        }
    }
    told.sort_unstable();
    (told, untold)
}

/// The switches of a role that lack cables towards another, each as often as it lacks one; `None` if some have too many.
fn lacking(departures: &[Departure], role: u32, towards: u32) -> Option<Vec<SwitchId>> {
    let here = departures.iter().filter(|it| it.role == role && it.towards == Some(towards));
    let lacks =
        |it: &Departure| it.others_have.checked_sub(it.has).map(|count| vec![it.switch; count as usize]);
    Some(here.map(lacks).collect::<Option<Vec<_>>>()?.concat())
}

/// The best pairing of ends that lack a cable; `None` if there are several, or too many ends to try all.
fn paired(
    cables: &Cables,
    roles: &[Role],
    of: [u32; 2],
    ends: [&[SwitchId]; 2],
) -> Option<Vec<[SwitchId; 2]>> {
    let is_within = of[0] == of[1];
    if ends[0].len() > PAIRED_MAX * (1 + usize::from(is_within)) {
        return None;
    }
    let usual = usual_surroundings(cables, &roles[of[0] as usize], &roles[of[1] as usize])?;
    let mut search = Search {
        cost: &|one, other| surroundings(cables, one, other).differs(&usual),
        best: u64::MAX,
        found: Vec::new(),
    };
    let mut pairs = Vec::new();
    if is_within {
        search.within(&mut ends[0].to_vec(), &mut pairs, 0);
    } else {
        search.between(ends[0], &mut ends[1].to_vec(), &mut pairs, 0);
    }
    search.found.sort_unstable();
    search.found.dedup();
    let only = search.found.pop()?;
    search.found.is_empty().then_some(only)
}

/// What is around two switches, without cables between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Surroundings {
    cables: u32,
    ways_of_two: u32,
    ways_of_three: u32,
}

impl Surroundings {
    /// How much it differs from what is usual around cables, of which one is the cable itself.
    fn differs(self, usual: &Surroundings) -> u64 {
        let part = |one: u32, other: u32| u64::from(one.abs_diff(other));
        part(self.cables + 1, usual.cables) * CABLE
            + part(self.ways_of_two, usual.ways_of_two)
            + part(self.ways_of_three, usual.ways_of_three)
    }
}

fn surroundings(cables: &Cables, one: SwitchId, other: SwitchId) -> Surroundings {
    let [row, back] = [&cables.of[one.index()], &cables.of[other.index()]];
    let firsts = || row.iter().filter(|&&(to, _)| to != other.0);
    let ways_of_two = firsts().filter(|&&(to, _)| cables.between(to, other.0) > 0).count() as u32;
    let seconds = |first: u32| {
        back.iter().filter(|&&(to, _)| to != one.0 && cables.between(first, to) > 0).count() as u32
    };
    let ways_of_three = firsts().map(|&(first, _)| seconds(first)).sum();
    Surroundings { cables: cables.between(one.0, other.0), ways_of_two, ways_of_three }
}

/// What is around most cables between switches of two roles, of some of them; `None` if there are none.
fn usual_surroundings(cables: &Cables, one: &Role, two: &Role) -> Option<Surroundings> {
    let between = one.switches.iter().flat_map(|&switch| {
        let ends = cables.of[switch.index()].iter().map(|&(to, _)| SwitchId(to));
        ends.filter(|to| two.switches.binary_search(to).is_ok()).map(move |to| (switch, to))
    });
    let all: Vec<(SwitchId, SwitchId)> = between.collect();
    let step = all.len().div_ceil(SAMPLE).max(1);
    let mut seen: Vec<Surroundings> =
        all.iter().step_by(step).map(|&(switch, to)| surroundings(cables, switch, to)).collect();
    seen.sort_unstable();
    let runs = seen.chunk_by(|one, other| one == other);
    runs.max_by_key(|run| run.len()).map(|run| run[0])
}

/// All pairings that are as good as the best.
struct Search<'a> {
    cost: &'a dyn Fn(SwitchId, SwitchId) -> u64,
    best: u64,
    found: Vec<Vec<[SwitchId; 2]>>,
}

impl Search<'_> {
    fn keep(&mut self, pairs: &[[SwitchId; 2]], cost: u64) {
        if cost < self.best {
            (self.best, self.found) = (cost, Vec::new());
        }
        let mut pairs = pairs.to_vec();
        pairs.sort_unstable();
        self.found.push(pairs);
    }

    /// Each of `ones` with one of `others`.
    fn between(
        &mut self,
        ones: &[SwitchId],
        others: &mut Vec<SwitchId>,
        pairs: &mut Vec<[SwitchId; 2]>,
        cost: u64,
    ) {
        if cost > self.best {
            return;
        }
        let Some((&one, rest)) = ones.split_first() else { return self.keep(pairs, cost) };
        for place in 0..others.len() {
            let other = others.remove(place);
            pairs.push([one, other]);
            self.between(rest, others, pairs, cost + (self.cost)(one, other));
            pairs.pop();
            others.insert(place, other);
        }
    }

    /// Each of `ends` with another of them.
    fn within(&mut self, ends: &mut Vec<SwitchId>, pairs: &mut Vec<[SwitchId; 2]>, cost: u64) {
        if cost > self.best {
            return;
        }
        let Some(one) = ends.pop() else { return self.keep(pairs, cost) };
        for place in (0..ends.len()).filter(|&place| ends[place] != one).collect::<Vec<_>>() {
            let other = ends.remove(place);
            pairs.push([other.min(one), other.max(one)]);
            self.within(ends, pairs, cost + (self.cost)(one, other));
            pairs.pop();
            ends.insert(place, other);
        }
        ends.push(one);
    }
}
