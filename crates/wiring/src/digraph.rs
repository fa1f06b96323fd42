//! Directed graphs: an order without cycles, or a smallest cycle.

mod growing;

pub use growing::Growing;

use std::collections::VecDeque;

/// A directed graph; each vertex has its successors in a row.
#[derive(Clone, Debug)]
pub struct Digraph {
    /// Where the row of each vertex begins in `heads`, and where the last one ends.
    first: Vec<u64>,
    heads: Vec<u32>,
}

/// A cycle: each of its vertices has the next one as a successor, and the last has the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring {
    pub vertices: Vec<u32>,
    /// Whether no other cycle is smaller; otherwise the search was cut short.
    pub is_smallest: bool,
}

/// Edges that a search for the smallest cycle follows before it settles for the best so far: a second or two.
pub const BUDGET: u64 = 1 << 28;

/// No vertex, and no component.
const NONE: u32 = u32::MAX;

impl Digraph {
    /// The graph whose vertices have these successors, vertex by vertex.
    pub fn new<R: IntoIterator<Item = u32>>(rows: impl IntoIterator<Item = R>) -> Self {
        let (mut first, mut heads) = (vec![0], Vec::new());
        for row in rows {
            heads.extend(row);
            first.push(heads.len() as u64);
        }
        Digraph { first, heads }
    }

    pub fn vertices(&self) -> u32 {
        (self.first.len() - 1) as u32
    }

    pub fn edges(&self) -> u64 {
        self.heads.len() as u64
    }

    pub fn successors(&self, vertex: u32) -> &[u32] {
        let vertex = vertex as usize;
        &self.heads[self.first[vertex] as usize..self.first[vertex + 1] as usize]
    }

    /// All vertices, each before its successors; `None` if there is a cycle.
    pub fn order(&self) -> Option<Vec<u32>> {
        let mut incoming = vec![0_u32; self.vertices() as usize];
        for &head in &self.heads {
            incoming[head as usize] += 1;
        }
        let mut order: Vec<u32> =
            (0..self.vertices()).filter(|&vertex| incoming[vertex as usize] == 0).collect();
        let mut done = 0;
        while let Some(&vertex) = order.get(done) {
            done += 1;
            for &head in self.successors(vertex) {
                incoming[head as usize] -= 1;
                if incoming[head as usize] == 0 {
                    order.push(head);
                }
            }
        }
        (order.len() == incoming.len()).then_some(order)
    }

    /// A smallest cycle, from its lowest vertex; of several the one with the lowest first vertex. After following `budget`
    /// edges the smallest that was found until then.
    pub fn smallest_cycle(&self, budget: u64) -> Option<Ring> {
        let component = self.components();
        let mut search = Search { graph: self, component: &component, from: vec![NONE; component.len()] };
        let mut best: Option<Vec<u32>> = None;
        let mut spent = 0;
        for start in 0..self.vertices() {
            if spent > budget && best.is_some() {
                return best.map(|vertices| Ring { vertices, is_smallest: false });
            }
            let limit = best.as_ref().map_or(usize::MAX, Vec::len);
            if let Some(found) = search.shortest_through(start, limit, &mut spent) {
                best = Some(found);
            }
        }
        best.map(|vertices| Ring { vertices, is_smallest: true })
    }

    /// For each vertex the number of its strongly connected component (Tarjan, *SIAM J. Comput.* 1(2), 1972).
    fn components(&self) -> Vec<u32> {
        let count = self.vertices() as usize;
        let (mut component, mut components) = (vec![NONE; count], 0);
        // The number of a vertex is its place in the order of discovery; `low` the lowest number it can reach.
        let (mut number, mut low, mut discovered) = (vec![NONE; count], vec![NONE; count], 0);
        let (mut open, mut path): (Vec<u32>, Vec<(u32, usize)>) = (Vec::new(), Vec::new());
        for root in 0..self.vertices() {
            if number[root as usize] == NONE {
                path.push((root, 0));
            }
            while let Some((vertex, place)) = path.pop() {
                let at = vertex as usize;
                if place == 0 {
                    (number[at], low[at]) = (discovered, discovered);
                    discovered += 1;
                    open.push(vertex);
                } else {
                    low[at] = low[at].min(low[self.successors(vertex)[place - 1] as usize]);
                }
                let rest = self.successors(vertex).iter().enumerate().skip(place);
                let mut child = None;
                for (place, &head) in rest {
                    if number[head as usize] == NONE {
                        child = Some((place, head));
                        break;
                    }
                    if component[head as usize] == NONE {
                        low[at] = low[at].min(number[head as usize]);
                    }
                }
                if let Some((place, head)) = child {
                    path.extend([(vertex, place + 1), (head, 0)]);
                } else if low[at] == number[at] {
                    while let Some(member) = open.pop() {
                        component[member as usize] = components;
                        if member == vertex {
                            break;
                        }
                    }
                    components += 1;
                }
            }
        }
        component
    }
}

/// Breadth-first searches, one after the other.
struct Search<'a> {
    graph: &'a Digraph,
    component: &'a [u32],
    /// From which vertex each one was found; `NONE` between two searches.
    from: Vec<u32>,
}

impl Search<'_> {
    /// A shortest cycle of fewer than `limit` vertices through `start` that has none below it: the others were searched
    /// from there.
    fn shortest_through(&mut self, start: u32, limit: usize, spent: &mut u64) -> Option<Vec<u32>> {
        let mut queue = VecDeque::from([(start, 1)]);
        let mut touched = Vec::new();
        let mut last = None;
        'search: while let Some((vertex, length)) = queue.pop_front() {
            if length >= limit {
                break;
            }
            for &head in self.graph.successors(vertex) {
                *spent += 1;
                if head == start {
                    last = Some(vertex);
                    break 'search;
                }
                let is_inside = self.component[head as usize] == self.component[start as usize];
                if head > start && is_inside && self.from[head as usize] == NONE {
                    self.from[head as usize] = vertex;
                    touched.push(head);
                    queue.push_back((head, length + 1));
                }
            }
        }
        let cycle = last.map(|last| {
            let back = std::iter::successors(Some(last), |&at| (at != start).then(|| self.from[at as usize]));
            let mut cycle: Vec<u32> = back.collect();
            cycle.reverse();
            cycle
        });
        touched.into_iter().for_each(|vertex| self.from[vertex as usize] = NONE);
        cycle
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_engine::random::{Purpose, Stream};

    const ENOUGH: u64 = 1 << 20;

    fn graph(vertices: u32, edges: &[(u32, u32)]) -> Digraph {
        let row = |vertex| edges.iter().filter(move |edge| edge.0 == vertex).map(|edge| edge.1);
        Digraph::new((0..vertices).map(row))
    }

    fn smallest(vertices: u32, edges: &[(u32, u32)]) -> Option<Vec<u32>> {
        let graph = graph(vertices, edges);
        let ring = graph.smallest_cycle(ENOUGH);
        assert_eq!(ring.is_none(), graph.order().is_some());
        ring.map(|ring| {
            assert!(ring.is_smallest);
            ring.vertices
        })
    }

    #[test]
    fn a_graph_without_cycles_has_an_order() {
        let edges = [(3, 1), (1, 0), (3, 0), (2, 0)];
        assert_eq!(smallest(4, &edges), None);
        assert_eq!(smallest(0, &[]), None);
        let order = graph(4, &edges).order().unwrap();
        let place = |vertex| order.iter().position(|&other| other == vertex);
        assert!(edges.iter().all(|&(from, to)| place(from) < place(to)), "{order:?}");
    }

    #[test]
    fn the_smaller_of_two_rings_is_found() {
        assert_eq!(smallest(3, &[(0, 1), (1, 2), (2, 0)]), Some(vec![0, 1, 2]));
        // 0 1 2 3 4, and 2 3 5, which share 2 -> 3.
        let two = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (3, 5), (5, 2)];
        assert_eq!(smallest(6, &two), Some(vec![2, 3, 5]));
        // A tail into a ring, and one out of it.
        assert_eq!(smallest(4, &[(3, 1), (1, 2), (2, 1), (2, 0)]), Some(vec![1, 2]));
    }

    #[test]
    fn a_vertex_that_follows_itself_is_the_smallest_ring_of_all() {
        assert_eq!(smallest(1, &[(0, 0)]), Some(vec![0]));
        assert_eq!(smallest(4, &[(0, 1), (1, 0), (2, 3), (3, 3)]), Some(vec![3]));
    }

    #[test]
    fn a_search_that_is_cut_short_says_so() {
        let two = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 3)];
        let ring = graph(5, &two).smallest_cycle(0).unwrap();
        assert_eq!((ring.vertices, ring.is_smallest), (vec![0, 1, 2], false));
    }

    /// Against the distances between all pairs of vertices.
    #[test]
    fn the_smallest_cycle_of_random_graphs_is_as_long_as_the_shortest_way_back() {
        let mut cyclic = 0;
        for seed in 0..300 {
            let mut stream = Stream::new(seed, 0, Purpose::Test);
            let vertices = 1 + stream.below(12);
            let edges: Vec<(u32, u32)> = (0..stream.below(2 * vertices + 1))
                .map(|_| (stream.below(vertices) as u32, stream.below(vertices) as u32))
                .collect();
            let far = vertices as usize + 1;
            let mut distance = vec![vec![far; vertices as usize]; vertices as usize];
            edges.iter().for_each(|&(from, to)| distance[from as usize][to as usize] = 1);
            for by in 0..vertices as usize {
                for from in 0..vertices as usize {
                    for to in 0..vertices as usize {
                        distance[from][to] = distance[from][to].min(distance[from][by] + distance[by][to]);
                    }
                }
            }
            let expected = (0..vertices as usize).map(|vertex| distance[vertex][vertex]).min();
            let found = smallest(vertices as u32, &edges);
            assert_eq!(found.as_ref().map_or(far, Vec::len), expected.unwrap().min(far), "seed {seed}");
            let ring = found.unwrap_or_default();
            cyclic += usize::from(!ring.is_empty());
            for (place, &from) in ring.iter().enumerate() {
                assert!(edges.contains(&(from, ring[(place + 1) % ring.len()])), "seed {seed}");
            }
        }
        assert!((50..250).contains(&cyclic), "{cyclic}");
    }
}
