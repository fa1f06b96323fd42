//! `[packet]`: how payload becomes flits.

use flitway_fabric::packet::{BlockFormat, PacketFormat};

use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::section::switch::elite::ELITE;
use crate::setting::{Kind, settings};
use crate::units::Dimension;
use crate::values::Values;

settings! {
    pub(crate) static SETTINGS;

    /// Size of a flit: what a channel carries in one cycle.
    pub(crate) FLIT = "packet.flit", Kind::Quantity { dimension: Dimension::Size, min: 1, max: 1_024 }, required,
        example("2 B"), source("hpp-switch.txt sections 3.3 and 4 (P-HP-006)");

    /// Flits before the payload: start, virtual channel and length, route, tag. They use the link; the credits of the
    /// HPP Switch count payload alone. Without header and trailer a packet is its payload, of one flit or more; an
    /// HPP Switch then spends more on the advert of its credit unit than on the packet, unless adverts have wires of
    /// their own (`switch.credit.advert = "0 flits"`).
    pub(crate) HEADER = "packet.header", Kind::Quantity { dimension: Dimension::Flits, min: 0, max: 64 }, required,
        example("4 flits"), source("OQ-H1");

    /// Flits after the payload: the check sum.
    TRAILER = "packet.trailer", Kind::Quantity { dimension: Dimension::Flits, min: 0, max: 64 }, required,
        example("1 flit"), source("OQ-H1");

    /// Largest payload of a packet. A longer message is cut into several packets.
    pub(crate) MTU = "packet.mtu", Kind::Quantity { dimension: Dimension::Size, min: 1, max: 65_535 }, required,
        example("1 KiB"), source("hpp-switch.txt section 3.2.2 (P-HP-035)");
}

settings! {
    // They belong to a switch, and come after the setting that says which it is.
    pub(crate) static BLOCKS;

    /// Payload of a block. Packets are cut into blocks, each with flits of its own before it.
    BLOCK = "packet.block", Kind::Quantity { dimension: Dimension::Size, min: 1, max: 65_535 }, required, for ELITE,
        example("128 B"), source("qsnet2.txt, DMA step 6 (P-QS-064); OQ-Q4");

    /// Flits before the payload of each block: its kind and its address.
    BLOCK_HEADER = "packet.block_header", Kind::Quantity { dimension: Dimension::Flits, min: 0, max: 64 }, required,
        for ELITE, example("4 flits"), source("OQ-Q17");
}

/// The most flits that a packet can have.
const FLITS_MAX: u32 = 65_535;

pub(crate) fn build(values: &Values, findings: &mut Diagnostics) -> Option<PacketFormat> {
    let (flit, mtu) = (values.quantity_u32(&FLIT), values.quantity_u32(&MTU));
    let (header, trailer) = (values.quantity_u32(&HEADER), values.quantity_u32(&TRAILER));
    let block = match (values.quantity_u32(&BLOCK), values.quantity_u32(&BLOCK_HEADER)) {
        (Some(bytes), Some(header_flits)) => Some(BlockFormat { bytes, header_flits }),
        _ => None,
    };
    let format = PacketFormat {
        flit_bytes: flit?,
        header_flits: header?,
        trailer_flits: trailer?,
        mtu_bytes: mtu?,
        block,
    };
    let flits = format.packet_flits(format.mtu_bytes);
    if flits > FLITS_MAX {
        let message = format!("a packet of `{}` {} B has {flits} flits", MTU.path, format.mtu_bytes);
        findings.push(
            values
                .conflict(Code::PacketTooLong, &[&MTU, &FLIT, &HEADER, &TRAILER], message)
                .expected(format!("at most {FLITS_MAX} flits, header and trailer included")),
        );
        return None;
    }
    Some(format)
}
