//! A graph that grows and stays free of cycles.

/// A directed graph without cycles, to which edges are added that close none.
///
/// Source: Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", *ACM J. Experimental
/// Algorithmics* 11, 2006. Vertices have places in an order that every edge follows; an edge against it looks only at the
/// vertices between its ends.
#[derive(Clone, Debug)]
pub struct Growing {
    place: Vec<u32>,
    successors: Vec<Vec<u32>>,
    predecessors: Vec<Vec<u32>>,
    /// Heads of edges that would close a cycle: as the graph grows, they always will.
    refused: Vec<Vec<u32>>,
    /// Who has been seen by a search, always cleared after it.
    is_seen: Vec<bool>,
}

impl Growing {
    /// A graph of so many vertices without edges.
    pub fn new(vertices: u32) -> Self {
        let count = vertices as usize;
        Growing {
            place: (0..vertices).collect(),
            successors: vec![Vec::new(); count],
            predecessors: vec![Vec::new(); count],
            refused: vec![Vec::new(); count],
            is_seen: vec![false; count],
        }
    }

    /// Adds the edges from each vertex of `path` to the next; if they would close a cycle, none of them.
    pub fn add_path(&mut self, path: &[u32]) -> bool {
        let mut added = Vec::new();
        for pair in path.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            if self.successors[from as usize].contains(&to) {
                continue;
            }
            let is_refused = self.refused[from as usize].contains(&to);
            if is_refused || !self.add(from, to) {
                // Not for good, if it is an edge of this path that closes the cycle.
                if added.is_empty() && !is_refused {
                    self.refused[from as usize].push(to);
                }
                // The last ones of their rows; an order stays one without them.
                for (from, to) in added.into_iter().rev() {
                    let _: Option<u32> = self.successors[from as usize].pop();
                    let _: Option<u32> = self.predecessors[to as usize].pop();
                }
                return false;
            }
            added.push((from, to));
        }
        true
    }

    fn add(&mut self, from: u32, to: u32) -> bool {
        let (low, high) = (self.place[to as usize], self.place[from as usize]);
        if low <= high {
            let place = &self.place;
            let is_near = |it| place[it as usize] <= high;
            let Some(after) = search(&self.successors, [to, from], &mut self.is_seen, is_near) else {
                return false;
            };
            let is_near = |it| place[it as usize] >= low;
            // None of these is after it.
            let before = search(&self.predecessors, [from, to], &mut self.is_seen, is_near);
            self.reorder(before.unwrap_or_default(), after);
        }
        self.successors[from as usize].push(to);
        self.predecessors[to as usize].push(from);
        true
    }

    /// Puts `before` before `after`, each in the order it has, into the places that all of them have.
    fn reorder(&mut self, mut before: Vec<u32>, mut after: Vec<u32>) {
        let by_place = |it: &u32| self.place[*it as usize];
        before.sort_unstable_by_key(by_place);
        after.sort_unstable_by_key(by_place);
        before.extend(after);
        let mut places: Vec<u32> = before.iter().map(by_place).collect();
        places.sort_unstable();
        for (vertex, place) in before.into_iter().zip(places) {
            self.place[vertex as usize] = place;
        }
    }
}

/// Who is reached from `start`, itself among them, over vertices that `is_near`; nothing if `end` is.
fn search(
    rows: &[Vec<u32>],
    [start, end]: [u32; 2],
    is_seen: &mut [bool],
    is_near: impl Fn(u32) -> bool,
) -> Option<Vec<u32>> {
    let (mut found, mut done) = (vec![start], 0);
    is_seen[start as usize] = true;
    while let Some(&vertex) = found.get(done).filter(|_| !is_seen[end as usize]) {
        done += 1;
        for &next in &rows[vertex as usize] {
            if !is_seen[next as usize] && is_near(next) {
                is_seen[next as usize] = true;
                found.push(next);
            }
        }
    }
    let has_end = is_seen[end as usize];
    found.iter().for_each(|&it| is_seen[it as usize] = false);
    (!has_end).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::super::Digraph;
    use super::*;
    use flitway_engine::random::{Purpose, Stream};

    #[test]
    fn paths_are_added_as_long_as_there_is_an_order() {
        for seed in 0..200 {
            let mut stream = Stream::new(seed, 0, Purpose::Test);
            let count = 2 + stream.below(12) as u32;
            let (mut graph, mut edges) = (Growing::new(count), Vec::<(u32, u32)>::new());
            for _ in 0..60 {
                let path: Vec<u32> =
                    (0..2 + stream.below(3)).map(|_| stream.below(count.into()) as u32).collect();
                let mut more = edges.clone();
                more.extend(path.windows(2).map(|pair| (pair[0], pair[1])));
                let rows = (0..count).map(|vertex| {
                    more.iter().filter(move |edge| edge.0 == vertex).map(|edge| edge.1).collect::<Vec<_>>()
                });
                let has_order = Digraph::new(rows).order().is_some();
                assert_eq!(graph.add_path(&path), has_order, "seed {seed}: {path:?} after {edges:?}");
                if has_order {
                    edges = more;
                }
            }
            assert!(edges.iter().all(|&(from, to)| graph.place[from as usize] < graph.place[to as usize]));
        }
    }
}
