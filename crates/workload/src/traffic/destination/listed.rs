//! Each source draws from a list of its own, every place of it with equal probability.

use flitway_engine::random::Stream;
use flitway_wiring::NodeId;

#[derive(Clone, Debug)]
pub(super) struct Listed {
    /// The lists, one after the other.
    destinations: Box<[u32]>,
    /// Where the list of each source begins and ends. Sources may share one; one that is empty keeps its source silent.
    lists: Box<[[u32; 2]]>,
}

impl Listed {
    /// Node `n` draws from the list of `destinations` that begins and ends at `lists[n]`. No list has the node itself.
    pub(super) fn new(destinations: Vec<u32>, lists: Vec<[u32; 2]>) -> Self {
        Listed { destinations: destinations.into(), lists: lists.into() }
    }

    #[inline]
    fn list(&self, source: NodeId) -> &[u32] {
        let [begin, end] = self.lists[source.index()];
        &self.destinations[begin as usize..end as usize]
    }

    #[inline]
    pub(super) fn draw(&self, source: NodeId, stream: &mut Stream) -> Option<NodeId> {
        match *self.list(source) {
            [] => None,
            [only] => Some(NodeId(only)),
            ref list => Some(NodeId(list[stream.below(list.len() as u64) as usize])),
        }
    }

    pub(super) fn is_silent(&self, source: NodeId) -> bool {
        self.list(source).is_empty()
    }

    pub(super) fn weight(&self, source: NodeId, destination: NodeId) -> f64 {
        let list = self.list(source);
        let places = list.iter().filter(|&&node| node == destination.0).count();
        if places == 0 { 0.0 } else { places as f64 / list.len() as f64 }
    }
}
