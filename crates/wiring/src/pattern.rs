//! The pattern of a graph: which switches are alike, and which cables are missing from that.
//!
//! Switches are of one *role* if they have as many cables to the switches of each role: the coarsest such partition is found
//! by refinement, from "has nodes" and "has none" on, until no count tells two switches of a role apart (the equitable
//! partition, or one-dimensional Weisfeiler-Leman colouring: Weisfeiler and Leman 1968; Cardon and Crochemore 1982). One
//! cable that is missing would tear it to pieces, so refinement is tolerant: few switches that differ little from most of
//! their role stay in it, as *departures*. Three things keep that from inventing patterns:
//!
//! * the counts of two roles towards each other must fit: so many switches times so many cables from either side. Where they
//!   do not, no graph has that pattern, and the two are told apart exactly;
//! * departures must be few, and must save at least half as many roles, against the exact partition of the graph as it is;
//! * a cable is only said to be missing if what is missing on the one side is missing on the other.
//!
//! Counts are all that this looks at. A random regular graph has one role; two cables that are swapped between the groups of a
//! dragonfly change no count.

mod repair;

use crate::SwitchId;
use crate::cables::{Cables, counted};
use crate::topology::Topology;
use std::collections::BTreeMap;

/// Departing switches and cables that are named at most.
const DEPARTING_MAX: usize = 32;

/// Rounds of refinement after which a graph counts as one without a pattern: each takes a walk over all cables.
const ROUNDS_MAX: u32 = 200;

/// What the cables of a graph have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The roles, by the lowest of their switches. None if there are more than one for every two switches: no pattern.
    pub roles: Vec<Role>,
    /// How many kinds of switches there are if nothing is tolerated.
    pub kinds: u32,
    /// What departs from it, by switch.
    pub departures: Vec<Departure>,
    /// Cables that are missing, as far as what is there tells between which two switches.
    pub missing: Vec<[SwitchId; 2]>,
    /// Cables that are missing where that is not told: so many between switches of these sets.
    pub untold: Vec<Untold>,
}

/// Switches that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Which, in order.
    pub switches: Vec<SwitchId>,
    /// Nodes of each: `None` if these vary too much for a rule.
    pub nodes: Option<u32>,
    /// Roles that they have cables to, and how many each has.
    pub cables: Vec<(u32, u32)>,
}

/// A switch that has more or less than the others of its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Departure {
    /// Which.
    pub switch: SwitchId,
    /// Its role.
    pub role: u32,
    /// The role that the cables lead to; `None` if it is nodes that are counted.
    pub towards: Option<u32>,
    /// What it has.
    pub has: u32,
    /// What others have.
    pub others_have: u32,
    /// Switches of the role that have so many; none where it is the only one, and the other side tells.
    pub others: u32,
}

/// Cables between some of these and some of those.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untold {
    /// How many.
    pub cables: u32,
    /// The switches that lack them: of either role, or the same twice.
    pub between: [Vec<SwitchId>; 2],
}

impl Pattern {
    /// Whether all switches of a role have the same.
    #[must_use]
    pub fn is_symmetric(&self) -> bool {
        !self.roles.is_empty()
            && self.departures.is_empty()
            && self.roles.iter().all(|role| role.nodes.is_some())
    }
}

/// The pattern of `topology`.
#[must_use]
pub fn pattern(topology: &Topology) -> Pattern {
    let cables = Cables::new(topology);
    let exact = exact(&cables);
    let kinds = exact.as_ref().map_or(topology.switches(), Partition::len);
    let tolerant = tolerant(&cables).filter(|found| {
        let departing = found.departing(&cables);
        let saved = kinds.saturating_sub(found.partition.len()) as usize;
        departing.len() <= DEPARTING_MAX && 2 * saved >= departing.len()
    });
    let counts = tolerant.or_else(|| exact.map(|partition| Counts::of(&cables, partition)));
    match counts.filter(|counts| 2 * counts.partition.len() <= topology.switches()) {
        Some(counts) => described(&cables, &counts, kinds),
        None => Pattern {
            roles: Vec::new(),
            kinds,
            departures: Vec::new(),
            missing: Vec::new(),
            untold: Vec::new(),
        },
    }
}

/// Cables of one switch to each class that it has some to, by class.
type Profile = Vec<(u32, u32)>;

/// How many of them lead to `class`.
fn towards(profile: &Profile, class: u32) -> u32 {
    profile.binary_search_by_key(&class, |&(of, _)| of).map_or(0, |place| profile[place].1)
}

/// Cables that one has and the other has not, either way.
fn distance(one: &Profile, other: &Profile) -> u32 {
    let missing = |from: &Profile, in_: &Profile| {
        from.iter().map(|&(class, count)| count.saturating_sub(towards(in_, class))).sum::<u32>()
    };
    missing(one, other) + missing(other, one)
}

fn sum(profile: &Profile) -> u32 {
    profile.iter().map(|&(_, count)| count).sum()
}

/// The switches by class, numbered by the lowest switch of each.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Partition {
    of: Vec<u32>,
    members: Vec<Vec<u32>>,
}

impl Partition {
    /// Those of equal keys together.
    fn by<K: Ord>(keys: impl Iterator<Item = K>) -> Self {
        let mut numbers = BTreeMap::new();
        let (mut of, mut members) = (Vec::new(), Vec::new());
        for (switch, key) in (0..).zip(keys) {
            let class = *numbers.entry(key).or_insert(members.len() as u32);
            if members.len() == class as usize {
                members.push(Vec::new());
            }
            members[class as usize].push(switch);
            of.push(class);
        }
        Partition { of, members }
    }

    fn len(&self) -> u32 {
        self.members.len() as u32
    }

    /// Whether there are nodes, which is where refinement begins.
    fn first(cables: &Cables) -> Self {
        Partition::by(cables.nodes.iter().map(|&nodes| nodes > 0))
    }

    fn profile(&self, cables: &Cables, switch: u32) -> Profile {
        let mut counts: Profile =
            cables.of[switch as usize].iter().map(|&(to, count)| (self.of[to as usize], count)).collect();
        counts.sort_unstable();
        counts.dedup_by(|next, kept| {
            next.0 == kept.0 && {
                kept.1 += next.1;
                true
            }
        });
        counts
    }

    fn profiles(&self, cables: &Cables) -> Vec<Profile> {
        (0..self.of.len() as u32).map(|switch| self.profile(cables, switch)).collect()
    }

    /// Classes are told apart by `keys` too.
    fn split<K: Ord>(&self, keys: &[K]) -> Self {
        Partition::by(self.of.iter().zip(keys))
    }
}

/// The coarsest partition in which all switches of a class have the same counts; `None` if it takes too many rounds.
fn exact(cables: &Cables) -> Option<Partition> {
    let mut partition = Partition::first(cables);
    for _ in 0..ROUNDS_MAX {
        let next = partition.split(&partition.profiles(cables));
        if next.len() == partition.len() {
            return Some(next);
        }
        partition = next;
    }
    None
}

/// A partition, and what most switches of each class have.
struct Counts {
    partition: Partition,
    typical: Vec<Profile>,
}

impl Counts {
    fn of(cables: &Cables, partition: Partition) -> Self {
        let profiles = partition.profiles(cables);
        let typical = |members: &Vec<u32>| ranked(members, &profiles)[0].0.clone();
        let typical = partition.members.iter().map(typical).collect();
        Counts { partition, typical }
    }

    /// The switches that have something else than others of their class.
    fn departing(&self, cables: &Cables) -> Vec<u32> {
        let departs = |&switch: &u32| {
            self.partition.profile(cables, switch)
                != self.typical[self.partition.of[switch as usize] as usize]
        };
        (0..self.partition.of.len() as u32).filter(departs).collect()
    }

    /// Where the cables from a class to another and back do not fit: two numbers that no graph has.
    fn misfits(&self) -> Vec<[u32; 2]> {
        let fits = |class: u32, to: u32| {
            let all = |class: u32, to: u32| {
                let each = u64::from(towards(&self.typical[class as usize], to));
                self.partition.members[class as usize].len() as u64 * each
            };
            if class == to { all(class, to).is_multiple_of(2) } else { all(class, to) == all(to, class) }
        };
        let pairs = (0..)
            .zip(&self.typical)
            .flat_map(|(class, typical)| typical.iter().map(move |&(to, _)| [class, to]));
        pairs.filter(|&[class, to]| !fits(class, to)).collect()
    }

    /// A class of one switch has no others to tell what it should have. What the other class has towards it tells, if it is
    /// near to what there is.
    fn infer(&mut self) {
        for [class, to] in self.misfits() {
            for [single, other] in [[class, to], [to, class]] {
                let [of_single, of_other] =
                    [single, other].map(|class| &self.partition.members[class as usize]);
                if of_single.len() > 1 || of_other.len() < 3 {
                    continue;
                }
                let should = of_other.len() as u32 * towards(&self.typical[other as usize], single);
                let has = towards(&self.typical[single as usize], other);
                if should > 0 && 2 * should.abs_diff(has) <= should {
                    let profile = &mut self.typical[single as usize];
                    profile.retain(|&(of, _)| of != other);
                    profile.push((other, should));
                    profile.sort_unstable();
                }
            }
        }
    }
}

/// The profiles of `members`, with who has each: that of most first, of equally many that of more cables.
fn ranked<'a>(members: &[u32], profiles: &'a [Profile]) -> Vec<(&'a Profile, Vec<u32>)> {
    let mut having: BTreeMap<&Profile, Vec<u32>> = BTreeMap::new();
    members.iter().for_each(|&switch| having.entry(&profiles[switch as usize]).or_default().push(switch));
    let mut ranked: Vec<(&Profile, Vec<u32>)> = having.into_iter().collect();
    ranked.sort_by_key(|(profile, switches)| std::cmp::Reverse((switches.len(), sum(profile))));
    ranked
}

/// A partition that keeps few that differ little with the rest; `None` if it takes too many rounds.
fn tolerant(cables: &Cables) -> Option<Counts> {
    let mut partition = Partition::first(cables);
    for _ in 0..ROUNDS_MAX {
        let profiles = partition.profiles(cables);
        let mut centres = vec![0; profiles.len()];
        partition.members.iter().for_each(|members| gather(members, &profiles, &mut centres));
        let next = partition.split(&centres);
        if next.len() > partition.len() {
            partition = next;
            continue;
        }
        let mut counts = Counts::of(cables, partition);
        counts.infer();
        let misfits = counts.misfits();
        if misfits.is_empty() {
            return Some(counts);
        }
        partition = told_apart(&counts.partition, &profiles, &misfits);
    }
    None
}

/// Writes for each of `members` the number of the profile that it goes with: its own, or one of more switches that is near.
fn gather(members: &[u32], profiles: &[Profile], centres: &mut [u32]) {
    // Of each profile that is a centre: who has it, and how many go with it.
    let mut found: Vec<(&Profile, usize, usize)> = Vec::new();
    for (profile, switches) in ranked(members, profiles) {
        let takes = |&(centre, having, along): &(&Profile, usize, usize)| {
            let along = along + switches.len();
            let are_few = along <= having && (along <= 2 || 3 * along <= having);
            are_few && 2 * distance(centre, profile) <= sum(centre)
        };
        let near = found.iter().enumerate().filter(|(_, centre)| takes(centre));
        let place = near.min_by_key(|(_, centre)| distance(centre.0, profile)).map(|(place, _)| place);
        match place {
            Some(place) => found[place].2 += switches.len(),
            None => found.push((profile, switches.len(), 0)),
        }
        let place = place.unwrap_or(found.len() - 1);
        switches.iter().for_each(|&switch| centres[switch as usize] = place as u32);
    }
}

/// The classes of each of these pairs, told apart by their counts towards the other.
fn told_apart(partition: &Partition, profiles: &[Profile], misfits: &[[u32; 2]]) -> Partition {
    let mut exact_towards = vec![Vec::new(); partition.members.len()];
    for &[class, to] in misfits {
        exact_towards[class as usize].push(to);
        exact_towards[to as usize].push(class);
    }
    let key = |(profile, &class): (&Profile, &u32)| {
        exact_towards[class as usize].iter().map(|&to| towards(profile, to)).collect::<Vec<u32>>()
    };
    let keys: Vec<Vec<u32>> = profiles.iter().zip(&partition.of).map(key).collect();
    partition.split(&keys)
}

/// All of it in words of switches.
fn described(cables: &Cables, counts: &Counts, kinds: u32) -> Pattern {
    let members = &counts.partition.members;
    let roles: Vec<Role> = members
        .iter()
        .zip(&counts.typical)
        .map(|(members, typical)| Role {
            switches: members.iter().copied().map(SwitchId).collect(),
            nodes: usual_nodes(cables, members),
            cables: typical.clone(),
        })
        .collect();
    let mut departures: Vec<Departure> = (0..)
        .zip(&roles)
        .flat_map(|(number, role)| departures_of(cables, &counts.partition, number, role))
        .collect();
    departures.sort_unstable();
    let (missing, untold) = repair::missing(cables, &roles, &departures);
    Pattern { roles, kinds, departures, missing, untold }
}

/// What the switches of a role have more or less than most of them.
fn departures_of(cables: &Cables, partition: &Partition, number: u32, role: &Role) -> Vec<Departure> {
    let profiles: Vec<Profile> =
        role.switches.iter().map(|switch| partition.profile(cables, switch.0)).collect();
    let mut departures = Vec::new();
    for (&switch, profile) in role.switches.iter().zip(&profiles) {
        let mut classes: Vec<u32> = profile.iter().chain(&role.cables).map(|&(class, _)| class).collect();
        classes.sort_unstable();
        classes.dedup();
        for to in classes {
            let (has, others_have) = (towards(profile, to), towards(&role.cables, to));
            if has != others_have {
                let others = profiles.iter().filter(|other| towards(other, to) == others_have).count() as u32;
                departures.push(Departure {
                    switch,
                    role: number,
                    towards: Some(to),
                    has,
                    others_have,
                    others,
                });
            }
        }
    }
    let nodes = |switch: SwitchId| cables.nodes[switch.index()];
    if let Some(usual) = role.nodes {
        let others = role.switches.iter().filter(|&&switch| nodes(switch) == usual).count() as u32;
        for &switch in role.switches.iter().filter(|&&switch| nodes(switch) != usual) {
            departures.push(Departure {
                switch,
                role: number,
                towards: None,
                has: nodes(switch),
                others_have: usual,
                others,
            });
        }
    }
    departures
}

/// The nodes of all of `members` but few; `None` if there are more.
fn usual_nodes(cables: &Cables, members: &[u32]) -> Option<u32> {
    let having = counted(members.iter().map(|&switch| cables.nodes[switch as usize]).collect());
    let (nodes, count) = having.into_iter().max_by_key(|&(nodes, count)| (count, nodes))?;
    let others = members.len() - count as usize;
    (others <= DEPARTING_MAX && 3 * others <= count as usize).then_some(nodes)
}

#[cfg(test)]
mod tests;
