//! A receive buffer: packets wait in the NIC port until it has room for their bytes, in the order of delivery.

use flitway_fabric::Delivery;
use std::collections::VecDeque;

/// The receive buffer of a NIC, and the packets that wait for room, with what they say.
#[derive(Debug)]
pub(crate) struct ReceiveBuffer<C> {
    /// Free bytes.
    room: u32,
    waiting: VecDeque<(Delivery, C)>,
}

impl<C> ReceiveBuffer<C> {
    /// An empty one of so many bytes.
    pub(crate) fn new(bytes: u32) -> Self {
        ReceiveBuffer { room: bytes, waiting: VecDeque::new() }
    }

    /// A packet is in a NIC port: what it says, if it enters the buffer now. Otherwise it waits.
    pub(crate) fn enter(&mut self, delivery: &Delivery, content: C) -> Option<C> {
        let bytes = u32::from(delivery.payload);
        if self.waiting.is_empty() && self.room >= bytes {
            self.room -= bytes;
            Some(content)
        } else {
            self.waiting.push_back((*delivery, content));
            None
        }
    }

    /// So many bytes are free.
    pub(crate) fn free(&mut self, bytes: u32) {
        self.room += bytes;
    }

    /// The first packet that waits, if it enters the buffer now.
    pub(crate) fn admit(&mut self) -> Option<(Delivery, C)> {
        let bytes = u32::from(self.waiting.front()?.0.payload);
        self.room = self.room.checked_sub(bytes)?;
        self.waiting.pop_front()
    }

    /// Whether nothing waits.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }
}
