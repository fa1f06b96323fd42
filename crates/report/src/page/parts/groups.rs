//! Groups of the switches of a graph, of which nothing but the graph is known: by their names (`pod3-leaf7` is in `pod3`), in
//! trees by what is left without the highest level, or else by their links.
//!
//! Source of the last: Blondel, Guillaume, Lambiotte and Lefebvre, "Fast unfolding of communities in large networks", Journal
//! of Statistical Mechanics (2008) P10008. Groups are found in any graph; they count where the modularity is clearly above the
//! 0.97 / sqrt(k) of random graphs of mean degree k (Reichardt and Bornholdt, "When are networks truly modular?", Physica D 224
//! (2006)).

use super::plan::BOXES_MAX;
use crate::page::picture::rows::{self, are_rows};
use std::collections::{BTreeMap, BTreeSet};

/// By how much groups by links must be better than those of a random graph.
const CLEARLY: f64 = 0.15;

/// Turns over all vertices at most, before they are joined.
const TURNS: usize = 20;

/// Groups with their names, and the one of each switch; those that are in none stand above all.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Groups {
    pub(super) names: Vec<String>,
    pub(super) of: Vec<Option<u32>>,
}

/// The groups of switches, if there are any.
pub(super) fn find(names: &[String], levels: &[u32], neighbours: &[Vec<u32>]) -> Option<Groups> {
    by_names(names, levels)
        .or_else(|| below_the_top(names, levels, neighbours))
        .or_else(|| by_links(names, neighbours))
}

/// Whether there are some groups, each of some switches.
fn are_some(of: &[Option<u32>]) -> bool {
    let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
    of.iter().flatten().for_each(|&group| *sizes.entry(group).or_default() += 1);
    (2..=BOXES_MAX).contains(&sizes.len()) && sizes.values().all(|&size| size > 1)
}

/// A name up to its first number, if another number is behind it.
fn stem(name: &str) -> Option<&str> {
    let first = name.find(|letter: char| letter.is_ascii_digit())?;
    let end = first + name[first..].find(|letter: char| !letter.is_ascii_digit())?;
    name[end..].contains(|letter: char| letter.is_ascii_digit()).then_some(&name[..end])
}

fn by_names(names: &[String], levels: &[u32]) -> Option<Groups> {
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    let mut groups = Groups { names: Vec::new(), of: Vec::new() };
    for name in names {
        let group = stem(name).map(|stem| {
            *numbers.entry(stem).or_insert_with(|| {
                groups.names.push(stem.to_owned());
                groups.names.len() as u32 - 1
            })
        });
        groups.of.push(group);
    }
    let is_above = |(group, &level): (&Option<u32>, &u32)| group.is_some() || level > 0;
    (are_some(&groups.of) && groups.of.iter().zip(levels).all(is_above)).then_some(groups)
}

fn below_the_top(names: &[String], levels: &[u32], neighbours: &[Vec<u32>]) -> Option<Groups> {
    levels.iter().max().filter(|&&top| top > 1 && are_rows(levels, neighbours))?;
    let of = rows::below_the_top(levels, neighbours);
    are_some(&of).then(|| named(of, names))
}

fn by_links(names: &[String], neighbours: &[Vec<u32>]) -> Option<Groups> {
    let joined: Vec<BTreeMap<u32, f64>> = neighbours
        .iter()
        .map(|others| {
            let mut joined = BTreeMap::new();
            others.iter().for_each(|&other| *joined.entry(other).or_default() += 1.0);
            joined
        })
        .collect();
    let of = communities(&joined);
    let degree = neighbours.iter().map(Vec::len).sum::<usize>() as f64 / neighbours.len().max(1) as f64;
    let is_clear = modularity(&joined, &of) > 0.97 / degree.sqrt() + CLEARLY;
    let of: Vec<Option<u32>> = of.into_iter().map(Some).collect();
    (is_clear && are_some(&of)).then(|| named(of, names))
}

/// Groups by what the names of their switches begin with, if that tells them apart, or by number.
fn named(of: Vec<Option<u32>>, names: &[String]) -> Groups {
    let count = of.iter().flatten().max().map_or(0, |last| last + 1);
    let begin = |group: u32| -> Option<&str> {
        let members =
            || of.iter().zip(names).filter(|(of, _)| **of == Some(group)).map(|(_, name)| name.as_str());
        let first = members().next()?;
        let shared = members()
            .map(|name| first.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count())
            .min()?;
        let end = first[..shared].trim_end_matches(|letter: char| !letter.is_alphanumeric());
        (end.len() > 1).then_some(end)
    };
    let begins: Option<Vec<&str>> = (0..count).map(begin).collect();
    let told = begins.filter(|all| all.iter().collect::<BTreeSet<_>>().len() == all.len());
    let names = match told {
        Some(all) => all.into_iter().map(str::to_owned).collect(),
        None => (0..count).map(|group| format!("group {group}")).collect(),
    };
    Groups { names, of }
}

/// The part of links that is within groups, less that of a random graph of the same degrees.
fn modularity(joined: &[BTreeMap<u32, f64>], of: &[u32]) -> f64 {
    let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for (others, group) in joined.iter().zip(of) {
        let (within, all) = sums.entry(*group).or_default();
        *all += others.values().sum::<f64>();
        *within +=
            others.iter().filter(|(other, _)| of[**other as usize] == *group).map(|(_, it)| it).sum::<f64>();
    }
    let total: f64 = sums.values().map(|(_, all)| all).sum();
    sums.values().map(|(within, all)| within / total - (all / total).powi(2)).sum()
}

/// The group of each vertex, numbered by their first.
fn communities(joined: &[BTreeMap<u32, f64>]) -> Vec<u32> {
    let mut of: Vec<u32> = (0..joined.len() as u32).collect();
    let mut joined = joined.to_vec();
    loop {
        let group = moved(&joined);
        let mut numbers = BTreeMap::new();
        let number: Vec<u32> = group
            .iter()
            .map(|group| {
                let next = numbers.len() as u32;
                *numbers.entry(*group).or_insert(next)
            })
            .collect();
        of.iter_mut().for_each(|group| *group = number[*group as usize]);
        if numbers.len() == joined.len() {
            return of;
        }
        let mut merged = vec![BTreeMap::new(); numbers.len()];
        for (vertex, others) in joined.iter().enumerate() {
            for (other, weight) in others {
                *merged[number[vertex] as usize].entry(number[*other as usize]).or_insert(0.0) += weight;
            }
        }
        joined = merged;
    }
}

/// Each vertex to that group of its neighbours where modularity is highest, until none moves.
fn moved(joined: &[BTreeMap<u32, f64>]) -> Vec<u32> {
    let mut of: Vec<u32> = (0..joined.len() as u32).collect();
    let degrees: Vec<f64> = joined.iter().map(|others| others.values().sum()).collect();
    let total: f64 = degrees.iter().sum();
    let mut totals = degrees.clone();
    for _ in 0..TURNS {
        let mut has_moved = false;
        for (vertex, others) in joined.iter().enumerate() {
            let here = of[vertex];
            totals[here as usize] -= degrees[vertex];
            let mut to: BTreeMap<u32, f64> = BTreeMap::from([(here, 0.0)]);
            for (other, weight) in others.iter().filter(|(other, _)| **other as usize != vertex) {
                *to.entry(of[*other as usize]).or_default() += weight;
            }
            let gain = |group: u32| to[&group] - totals[group as usize] * degrees[vertex] / total;
            let better = |best: u32, &group: &u32| if gain(group) > gain(best) + 1e-9 { group } else { best };
            let best = to.keys().fold(here, better);
            totals[best as usize] += degrees[vertex];
            has_moved |= best != here;
            of[vertex] = best;
        }
        if !has_moved {
            break;
        }
    }
    of
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn names_tell_groups_where_they_have_two_numbers() {
        let names = owned(&["pod0-leaf0", "pod0-leaf1", "pod1-leaf0", "pod1-leaf1", "core0"]);
        let groups = by_names(&names, &[0, 0, 0, 0, 1]).unwrap();
        assert_eq!(groups.names, ["pod0", "pod1"]);
        assert_eq!(groups.of, [Some(0), Some(0), Some(1), Some(1), None]);
        assert_eq!(by_names(&names, &[0; 5]), None, "core0 has nodes, and is in no group");
        assert_eq!(by_names(&owned(&["leaf0", "leaf1", "spine0"]), &[0, 0, 1]), None);
    }

    #[test]
    fn a_tree_falls_apart_without_its_top() {
        let neighbours = vec![vec![4], vec![4], vec![5], vec![5], vec![0, 1, 6], vec![2, 3, 6], vec![4, 5]];
        let groups = find(&[], &[0, 0, 0, 0, 1, 1, 2], &neighbours).unwrap();
        assert_eq!(groups.names, ["group 0", "group 1"]);
        assert_eq!(groups.of, [Some(0), Some(0), Some(1), Some(1), Some(0), Some(1), None]);
    }

    /// Eight cliques of six in a ring, a link from each to the next.
    #[test]
    fn cliques_are_groups_and_what_has_none_is_left_whole() {
        let clique = |vertex: u32| (vertex / 6 * 6..vertex / 6 * 6 + 6).filter(move |&other| other != vertex);
        let mut neighbours: Vec<Vec<u32>> = (0..48).map(|vertex| clique(vertex).collect()).collect();
        for group in 0..8 {
            let (from, to) = (group * 6, (group * 6 + 9) % 48);
            neighbours[from as usize].push(to);
            neighbours[to as usize].push(from);
        }
        let groups = find(&[], &[0; 48], &neighbours).unwrap();
        assert_eq!(groups.of, (0..48).map(|vertex| Some(vertex / 6)).collect::<Vec<_>>());
        let all: Vec<Vec<u32>> = (0..12).map(|one| (0..12).filter(|&other| other != one).collect()).collect();
        assert_eq!(find(&[], &[0; 12], &all), None, "all are joined to all");
    }
}
