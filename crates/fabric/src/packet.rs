//! How packets are laid out on a link.

/// How payload becomes flits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketFormat {
    /// Bytes of a flit.
    pub flit_bytes: u32,
    /// Flits before the payload: start, VC and length, route digits, tag.
    pub header_flits: u32,
    /// Flits after it: the check sum.
    pub trailer_flits: u32,
    /// Largest payload in bytes.
    pub mtu_bytes: u32,
    /// How payload is cut into blocks, where it is.
    pub block: Option<BlockFormat>,
}

/// Blocks of payload, each with flits of its own before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockFormat {
    /// Payload bytes of a block; the last one of a packet may have fewer.
    pub bytes: u32,
    /// Flits before the payload of each: its kind and its address.
    pub header_flits: u32,
}

impl PacketFormat {
    /// Payload flits of a packet: rounds up.
    #[must_use]
    pub const fn payload_flits(&self, payload_bytes: u32) -> u32 {
        payload_bytes.div_ceil(self.flit_bytes)
    }

    /// Flits of a packet on the link.
    ///
    /// ```
    /// use flitway_fabric::packet::{BlockFormat, PacketFormat};
    ///
    /// let block = Some(BlockFormat { bytes: 128, header_flits: 4 });
    /// let format = PacketFormat { flit_bytes: 4, header_flits: 8, trailer_flits: 4, mtu_bytes: 2_048, block };
    /// assert_eq!((format.packet_flits(2_048), format.packet_flits(8)), (588, 18));
    /// ```
    #[must_use]
    pub const fn packet_flits(&self, payload_bytes: u32) -> u32 {
        let blocks = match self.block {
            Some(block) => payload_bytes.div_ceil(block.bytes) * block.header_flits,
            None => 0,
        };
        self.header_flits + blocks + self.payload_flits(payload_bytes) + self.trailer_flits
    }
}
