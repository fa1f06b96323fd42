//! What lies behind the input FIFOs.

pub(super) mod central;
#[cfg(debug_assertions)]
mod naive;

use flitway_wiring::reach::{Ports, ports};

/// Who goes first: the one that was served the longest ago. At first 0 goes before 1, and so on.
#[derive(Clone, Debug)]
pub(super) struct LeastRecent {
    served: Box<[u64]>,
    last: u64,
}

impl LeastRecent {
    pub(super) fn new(ports: usize) -> Self {
        LeastRecent { served: vec![0; ports].into(), last: 0 }
    }

    /// The first of `asking`.
    #[inline]
    pub(super) fn first(&self, asking: Ports) -> Option<usize> {
        ports(asking).map(|port| port.index()).min_by_key(|&port| self.served[port])
    }

    /// `port` is served.
    #[inline]
    pub(super) fn serve(&mut self, port: usize) {
        self.last += 1;
        self.served[port] = self.last;
    }
}
