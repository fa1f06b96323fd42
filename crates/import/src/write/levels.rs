//! Lines of service levels in a file of forwarding tables.

use super::{Called, ON_A_LINE};
use crate::fabric::{End, Fabric, Levels};
use crate::layout::Layout;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The lines.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Those before the first switch.
    pub(crate) head: String,
    /// Those of each switch.
    pub(crate) switches: BTreeMap<usize, String>,
    /// Classes of virtual channels that they take.
    pub(crate) classes: u32,
}

/// The class of each level; nothing where it is dropped.
type Row = Vec<Option<u8>>;

fn classes_of(row: &Row) -> String {
    let class = |class: &Option<u8>| class.map_or_else(|| "-".to_owned(), |class| class.to_string());
    row.iter().map(class).collect::<Vec<_>>().join(" ")
}

/// Writes `levels` of what `layout` has.
pub(crate) fn write(levels: &Levels, fabric: &Fabric, layout: &Layout, called: &Called) -> Written {
    let level = |pair: (usize, usize)| levels.levels.get(&pair).copied().unwrap_or(0);
    let nics: Vec<usize> = layout.nodes.iter().map(|(_, nic)| *nic).collect();
    let pairs = nics.iter().flat_map(|source| nics.iter().map(move |nic| (*source, *nic)));
    let highest = pairs.filter(|(source, nic)| source != nic).map(level).max().unwrap_or(0);
    let rows = rows(levels, fabric, layout, highest);
    let own: Row = (0..=highest).map(Some).collect();
    let most = most(rows.values()).unwrap_or(&own);
    let mut written =
        Written { head: format!("levels classes {}\n", classes_of(most)), ..Written::default() };
    for &switch in &layout.switches {
        let here = rows.range((switch, 0, 0)..(switch + 1, 0, 0));
        let text = of_switch(here.map(|(&(_, from, to), row)| (from, to, row)).collect(), most);
        written.switches.insert(switch, text);
    }
    written.switches.retain(|_, text| !text.is_empty());
    let taken = rows.values().chain([most]).flatten().flatten().max();
    written.classes = 1 + u32::from(taken.copied().unwrap_or(0));
    // Sources that have the same level for everybody stand on one line.
    let mut alike: BTreeMap<Vec<u8>, Vec<&str>> = BTreeMap::new();
    for source in &nics {
        let of_source = nics.iter().map(|nic| if nic == source { 0 } else { level((*source, *nic)) });
        alike.entry(of_source.collect()).or_default().push(&called.nodes[source]);
    }
    for (of_source, sources) in alike {
        let said: BTreeSet<u8> = of_source.iter().copied().filter(|level| *level > 0).collect();
        for level in said {
            let to = nics.iter().zip(&of_source).filter(|(_, its)| **its == level);
            let to: Vec<&str> = to.map(|(nic, _)| called.nodes[nic].as_str()).collect();
            for (from, to) in
                sources.chunks(ON_A_LINE).flat_map(|from| to.chunks(ON_A_LINE).map(move |to| (from, to)))
            {
                let _ = writeln!(written.head, "from {} to {} level {level}", from.join(" "), to.join(" "));
            }
        }
    }
    written
}

/// The row that most have.
fn most<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<&'a Row> {
    let mut counts: BTreeMap<&Row, usize> = BTreeMap::new();
    rows.for_each(|row| *counts.entry(row).or_default() += 1);
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(row, _)| row)
}

/// Lines of a switch with these rows, from port to port; `usual` is that of all switches.
fn of_switch(rows: Vec<(u32, u32, &Row)>, usual: &Row) -> String {
    let mut text = String::new();
    let Some(own) = most(rows.iter().map(|(.., row)| *row)) else { return text };
    if own != usual {
        let _ = writeln!(text, "levels classes {}", classes_of(own));
    }
    let mut lines: BTreeMap<(u32, &Row), Vec<String>> = BTreeMap::new();
    for (from, to, row) in rows.into_iter().filter(|(.., row)| *row != own) {
        lines.entry((to, row)).or_default().push(from.to_string());
    }
    for ((to, row), from) in lines {
        let _ = writeln!(text, "levels in {} out {to} classes {}", from.join(" "), classes_of(row));
    }
    text
}

/// Rows between ports with cables, up to level `highest`.
fn rows(levels: &Levels, fabric: &Fabric, layout: &Layout, highest: u8) -> BTreeMap<(usize, u32, u32), Row> {
    let ends = fabric.cables.iter().flat_map(|cable| cable.ends);
    let ports: BTreeSet<(usize, u32)> = ends
        .filter_map(|end| match end {
            End::Switch(switch, port) => Some((switch, port?)),
            End::Nic(_) => None,
        })
        .collect();
    let switches: BTreeSet<usize> = layout.switches.iter().copied().collect();
    let is_used = |(switch, from, to): &(usize, u32, u32)| {
        switches.contains(switch)
            && from != to
            && ports.contains(&(*switch, *from))
            && ports.contains(&(*switch, *to))
    };
    let used = levels.maps.iter().filter(|(place, _)| is_used(place));
    used.map(|(place, classes)| (*place, classes[..=usize::from(highest)].to_vec())).collect()
}
