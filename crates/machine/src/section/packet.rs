//! `[packet]`: how payload becomes flits.

use flitway_fabric::packet::PacketFormat;

use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::setting::{Kind, Presence, Setting};
use crate::units::Dimension;
use crate::values::Values;

pub(crate) static SETTINGS: &[&Setting] = &[&FLIT, &HEADER, &TRAILER, &MTU];

pub(crate) static FLIT: Setting = Setting {
    path: "packet.flit",
    kind: Kind::Quantity { dimension: Dimension::Size, min: 1, max: 1_024 },
    presence: Presence::Required,
    when: None,
    doc: "Size of a flit: what a channel carries in one cycle.",
    example: "\"2 B\"",
    source: "hpp-switch.txt sections 3.3 and 4 (P-HP-006)",
};

pub(crate) static HEADER: Setting = Setting {
    path: "packet.header",
    kind: Kind::Quantity { dimension: Dimension::Flits, min: 1, max: 64 },
    presence: Presence::Required,
    when: None,
    doc: "Flits before the payload: start, virtual channel and length, route, tag. They use the link; the \
          credits of the HPP Switch count payload alone.",
    example: "\"4 flits\"",
    source: "OQ-H1",
};

static TRAILER: Setting = Setting {
    path: "packet.trailer",
    kind: Kind::Quantity { dimension: Dimension::Flits, min: 0, max: 64 },
    presence: Presence::Required,
    when: None,
    doc: "Flits after the payload: the check sum.",
    example: "\"1 flit\"",
    source: "OQ-H1",
};

pub(crate) static MTU: Setting = Setting {
    path: "packet.mtu",
    kind: Kind::Quantity { dimension: Dimension::Size, min: 1, max: 65_535 },
    presence: Presence::Required,
    when: None,
    doc: "Largest payload of a packet. A longer message is cut into several packets.",
    example: "\"1 KiB\"",
    source: "hpp-switch.txt section 3.2.2 (P-HP-035)",
};

/// The most flits that a packet can have.
const FLITS_MAX: u32 = 65_535;

pub(crate) fn build(values: &Values, findings: &mut Diagnostics) -> Option<PacketFormat> {
    let (flit, mtu) = (values.quantity_u32(&FLIT), values.quantity_u32(&MTU));
    let (header, trailer) = (values.quantity_u32(&HEADER), values.quantity_u32(&TRAILER));
    let format =
        PacketFormat { flit_bytes: flit?, header_flits: header?, trailer_flits: trailer?, mtu_bytes: mtu? };
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
