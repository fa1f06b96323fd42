//! Arbiters: requests in, one grant out.

/// Which arbiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArbiterKind {
    /// The hardware matrix of `W[i][j]` bits: least recently served first.
    Matrix,
    /// The first requester after the last one served.
    RoundRobin,
    /// Least recently granted, kept as a list.
    LeastRecentlyGranted,
}
