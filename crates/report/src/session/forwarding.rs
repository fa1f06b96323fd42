//! When packets that a node makes one after the other leave it, in closed form: what an operation that is forwarded waits for
//! when nothing else is in the network.
//!
//! Rails take turns by packet. On one rail packets that wait go out one after the other, virtual channels in turn: next is
//! the one after that of the packet before, and packets of one channel go in the order in which they were made. So packets
//! overtake each other where the processor makes them faster than the link carries them, and a tree whose first child has
//! most to forward loses by it.

/// A node that sends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sender {
    /// Its NIC ports.
    pub(super) rails: u64,
    /// Cycles that its processor takes for a packet.
    pub(super) overhead: u64,
    /// Cycles that a link takes for one.
    pub(super) flits: u64,
    /// Virtual channels of which each packet draws one.
    pub(super) lanes: u64,
}

impl Sender {
    /// Whether packets leave in the order in which they are made, whatever they draw.
    pub(super) fn keeps_order(&self) -> bool {
        self.lanes == 1 || self.overhead * self.rails >= self.flits
    }

    /// When each of `count` packets of a node that is free from cycle `at` on reaches its link. `draw` draws a number below
    /// another one.
    pub(super) fn starts(&self, at: u64, count: usize, mut draw: impl FnMut(u64) -> u64) -> Vec<u64> {
        let mut starts = vec![0; count];
        for rail in 0..self.rails {
            let turns = (rail..count as u64).step_by(self.rails as usize);
            let mut waiting: Vec<(u64, u64, u64)> =
                turns.map(|turn| (turn, at + (turn + 1) * self.overhead, draw(self.lanes))).collect();
            let (mut free, mut last) = (at, draw(self.lanes));
            while let Some(first) = waiting.first() {
                let now = free.max(first.1);
                // How far the channel is from the one before; of packets of one channel the first is nearest.
                let ready = waiting.iter().enumerate().filter(|(_, (_, made, _))| *made <= now);
                let far = |lane: u64| (lane + self.lanes - last - 1) % self.lanes;
                let next = ready.min_by_key(|(place, (.., lane))| (far(*lane), *place));
                let (place, _) = next.expect("the first one is ready");
                let (turn, _, lane) = waiting.remove(place);
                starts[turn as usize] = now;
                (free, last) = (now + self.flits, lane);
            }
        }
        starts
    }
}

#[cfg(test)]
mod tests {
    use super::Sender;

    #[test]
    fn packets_leave_in_order_or_as_the_channels_take_turns() {
        let sender = Sender { rails: 1, overhead: 0, flits: 10, lanes: 1 };
        assert_eq!(sender.starts(5, 3, |_| 0), [5, 15, 25]);
        assert!(sender.keeps_order());
        let two = Sender { lanes: 2, ..sender };
        assert!(!two.keeps_order());
        // The first two are on channel 0, the third is on channel 1, and so was the last packet before.
        let mut drawn = [0, 0, 1, 1].into_iter();
        assert_eq!(two.starts(0, 3, |_| drawn.next().unwrap()), [0, 20, 10]);
        // A processor that is as slow as the link leaves nothing to choose from.
        let slow = Sender { overhead: 10, ..two };
        let mut drawn = [0, 1, 0, 1].into_iter();
        assert_eq!(slow.starts(0, 3, |_| drawn.next().unwrap()), [10, 20, 30]);
        assert!(slow.keeps_order());
        let rails = Sender { rails: 2, overhead: 1, ..sender };
        assert_eq!(rails.starts(0, 4, |_| 0), [1, 2, 11, 12]);
    }
}
