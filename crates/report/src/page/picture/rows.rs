//! Switches in rows, by how far they are from nodes, and their order in each.
//!
//! Source: Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system structures", IEEE Transactions
//! on Systems, Man, and Cybernetics 11 (1981): switches stand at the mean of what they are joined to, row by row, as long as
//! fewer links cross.

/// Rows above the lowest at most.
const TOP_MAX: u32 = 5;

/// Ways up and down through all rows.
const SWEEPS: usize = 6;

/// Whether rows by these `levels` show what joins switches: links lead from a row to the next, but for one in ten at most.
pub(in crate::page) fn are_rows(levels: &[u32], neighbours: &[Vec<u32>]) -> bool {
    let top = levels.iter().copied().max().unwrap_or(0);
    let ends =
        || levels.iter().zip(neighbours).flat_map(|(level, others)| others.iter().map(move |it| (level, it)));
    let within = ends().filter(|&(level, &other)| levels[other as usize] == *level).count();
    (1..=TOP_MAX).contains(&top) && within * 10 <= ends().count()
}

/// What links join without the highest level, by the first of its switches; those of the highest level are in none.
pub(in crate::page) fn below_the_top(levels: &[u32], neighbours: &[Vec<u32>]) -> Vec<Option<u32>> {
    let top = levels.iter().copied().max().unwrap_or(0);
    let mut of: Vec<Option<u32>> = vec![None; levels.len()];
    let mut count = 0;
    for start in 0..levels.len() {
        if levels[start] == top || of[start].is_some() {
            continue;
        }
        of[start] = Some(count);
        let mut next = vec![start];
        while let Some(here) = next.pop() {
            for other in neighbours[here].iter().map(|&other| other as usize) {
                if levels[other] < top && of[other].is_none() {
                    of[other] = Some(count);
                    next.push(other);
                }
            }
        }
        count += 1;
    }
    of
}

/// The pod of each switch: what is together below the highest level, if that is more than single switches.
pub(super) fn pods(levels: &[u32], neighbours: &[Vec<u32>]) -> Vec<Option<u32>> {
    let parts = below_the_top(levels, neighbours);
    let count = parts.iter().flatten().max().map_or(0, |last| *last as usize + 1);
    let are_single = parts.iter().flatten().count() == count;
    if are_single { vec![None; parts.len()] } else { parts }
}

/// The switches of each level from the lowest, from the left to the right, those of a pod side by side.
pub(super) fn ordered(levels: &[u32], neighbours: &[Vec<u32>], pods: &[Option<u32>]) -> Vec<Vec<u32>> {
    let top = levels.iter().copied().max().unwrap_or(0);
    let mut rows: Vec<Vec<u32>> = vec![Vec::new(); top as usize + 1];
    (0..).zip(levels).for_each(|(switch, level)| rows[*level as usize].push(switch));
    rows.iter_mut().for_each(|row| row.sort_by_key(|&switch| pods[switch as usize]));
    let mut best = (crossings(&rows, levels, neighbours), rows.clone());
    for _ in 0..SWEEPS {
        let ways = (1..rows.len()).map(|level| (level, level - 1));
        let ways: Vec<_> = ways.chain((0..rows.len() - 1).rev().map(|level| (level, level + 1))).collect();
        for (level, other) in ways {
            let means = means(&rows, (level, other), levels, neighbours);
            rows[level].sort_by_key(|&switch| (pods[switch as usize], means[switch as usize]));
        }
        let crossing = crossings(&rows, levels, neighbours);
        if crossing < best.0 {
            best = (crossing, rows.clone());
        }
    }
    best.1
}

/// By switch: its place in its row, from 0 to 1.
fn places(rows: &[Vec<u32>], count: usize) -> Vec<f64> {
    let mut places = vec![0.0; count];
    for row in rows {
        for (place, &switch) in row.iter().enumerate() {
            places[switch as usize] = (place as f64 + 0.5) / row.len() as f64;
        }
    }
    places
}

/// By switch, for those of a row: the mean place of what they are joined to in another, in billionths of the width.
fn means(
    rows: &[Vec<u32>],
    (row, other): (usize, usize),
    levels: &[u32],
    neighbours: &[Vec<u32>],
) -> Vec<i64> {
    let places = places(rows, levels.len());
    let mut means = vec![0; levels.len()];
    for &switch in &rows[row] {
        let joined = neighbours[switch as usize].iter().filter(|&&it| levels[it as usize] as usize == other);
        let all: Vec<f64> = joined.map(|&it| places[it as usize]).collect();
        // What is joined to nothing there stays where it is.
        let mean =
            if all.is_empty() { places[switch as usize] } else { all.iter().sum::<f64>() / all.len() as f64 };
        // Sums in another order are the same mean.
        means[switch as usize] = (mean * 1e9).round() as i64;
    }
    means
}

/// Pairs of links between two rows that cross.
fn crossings(rows: &[Vec<u32>], levels: &[u32], neighbours: &[Vec<u32>]) -> u64 {
    let mut place = vec![0_u32; levels.len()];
    rows.iter().for_each(|row| (0..).zip(row).for_each(|(at, switch)| place[*switch as usize] = at));
    let between = |row: &Vec<u32>| {
        let mut links: Vec<(u32, u32)> = Vec::new();
        for &switch in row {
            let up = neighbours[switch as usize]
                .iter()
                .filter(|&&it| levels[it as usize] == levels[switch as usize] + 1);
            links.extend(up.map(|&it| (place[switch as usize], place[it as usize])));
        }
        links.sort_unstable();
        let mut upper: Vec<u32> = links.into_iter().map(|(_, upper)| upper).collect();
        inversions(&mut upper)
    };
    rows.iter().map(between).sum()
}

/// Pairs that stand in the wrong order; they are sorted by it.
fn inversions(all: &mut [u32]) -> u64 {
    if all.len() < 2 {
        return 0;
    }
    let (left, right) = all.split_at_mut(all.len() / 2);
    let mut count = inversions(left) + inversions(right);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let mut taken = 0;
    for &one in left.iter() {
        while taken < right.len() && right[taken] < one {
            merged.push(right[taken]);
            taken += 1;
        }
        count += taken as u64;
        merged.push(one);
    }
    merged.extend_from_slice(&right[taken..]);
    all.copy_from_slice(&merged);
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inversions_are_counted() {
        assert_eq!(inversions(&mut [1, 2, 3]), 0);
        assert_eq!(inversions(&mut [3, 1, 2, 2]), 3);
        assert_eq!(inversions(&mut [4, 3, 2, 1]), 6);
    }

    /// Two pods whose switches are mixed in the file: leaves 0 and 2 with 4, leaves 1 and 3 with 5.
    #[test]
    fn rows_are_in_the_order_in_which_fewest_links_cross() {
        let neighbours = vec![vec![4], vec![5], vec![4], vec![5], vec![0, 2], vec![1, 3]];
        let levels = [0, 0, 0, 0, 1, 1];
        assert!(are_rows(&levels, &neighbours));
        let rows = ordered(&levels, &neighbours, &[None; 6]);
        assert_eq!(crossings(&rows, &levels, &neighbours), 0);
        assert_eq!(rows, [vec![0, 2, 1, 3], vec![4, 5]]);
    }

    /// The same under a switch that joins them.
    #[test]
    fn pods_stand_side_by_side() {
        let neighbours = vec![vec![4], vec![5], vec![4], vec![5], vec![0, 2, 6], vec![1, 3, 6], vec![4, 5]];
        let levels = [0, 0, 0, 0, 1, 1, 2];
        let pods = pods(&levels, &neighbours);
        assert_eq!(pods, [Some(0), Some(1), Some(0), Some(1), Some(0), Some(1), None]);
        assert_eq!(ordered(&levels, &neighbours, &pods), [vec![0, 2, 1, 3], vec![4, 5], vec![6]]);
        assert_eq!(
            super::pods(&[0, 0, 1], &[vec![2], vec![2], vec![0, 1]]),
            [None; 3],
            "two leaves are no pods"
        );
    }

    #[test]
    fn what_has_links_within_a_row_is_no_rows() {
        assert!(!are_rows(&[0, 0, 0], &[vec![1, 2], vec![0, 2], vec![0, 1]]), "a ring");
        assert!(!are_rows(&[0, 0, 1], &[vec![1, 2], vec![0, 2], vec![0, 1]]), "a ring with one free switch");
    }
}
