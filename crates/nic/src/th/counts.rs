//! What a NIC has done.

/// What a NIC has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThCounts {
    /// Descriptors carried out, by HDQ and by SDQ, and requests.
    pub descriptors: [u64; 3],
    /// Control packets that have come, data that count as one among them, and those that came before somebody waited for them.
    pub controls: [u64; 2],
    /// Reads of descriptors.
    pub fetches: u64,
    /// Packets sent.
    pub packets: u64,
    /// Packets that waited in the NIC port for room in the receive buffer.
    pub held: u64,
    /// Mini-packets that waited for an entry of an MPQ, and events for one of an EQ.
    pub waited: [u64; 2],
    /// Those that were dropped.
    pub dropped: [u64; 2],
    /// Descriptors and packets that were illegal.
    pub illegal: [u64; 2],
    /// Of those packets, those that were saved in the EPQ, and those of which the INTQ has no record.
    pub saved: [u64; 2],
    /// Records of the INTQ.
    pub records: u64,
}

impl ThCounts {
    /// All of them, each by its name.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 17] {
        let ThCounts { descriptors, controls, fetches, packets, held, waited, dropped, .. } = *self;
        let ThCounts { illegal, saved, records, .. } = *self;
        let [of_hdqs, of_sdqs, requests] = descriptors;
        [
            ("descriptors of HDQs", of_hdqs),
            ("descriptors of SDQs", of_sdqs),
            ("requests of other nodes", requests),
            ("control packets", controls[0]),
            ("control packets kept until they were waited for", controls[1]),
            ("reads of descriptors", fetches),
            ("packets sent", packets),
            ("packets held in the NIC port", held),
            ("mini-packets that waited for an entry", waited[0]),
            ("events that waited for an entry", waited[1]),
            ("mini-packets dropped", dropped[0]),
            ("events dropped", dropped[1]),
            ("illegal descriptors", illegal[0]),
            ("illegal packets discarded", illegal[1]),
            ("illegal packets saved in the EPQ", saved[0]),
            ("illegal packets without a record", saved[1]),
            ("records of the INTQ", records),
        ]
    }
}
