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
}

impl PacketFormat {
    /// Payload flits of a packet: rounds up.
    #[must_use]
    pub const fn payload_flits(&self, payload_bytes: u32) -> u32 {
        payload_bytes.div_ceil(self.flit_bytes)
    }

    /// Flits of a packet on the link.
    #[must_use]
    pub const fn packet_flits(&self, payload_bytes: u32) -> u32 {
        self.header_flits + self.payload_flits(payload_bytes) + self.trailer_flits
    }
}
