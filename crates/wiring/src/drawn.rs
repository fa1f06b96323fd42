//! Numbers that are drawn without a stream: each from a key of its own.

/// What keys of a sequence differ by.
pub(crate) const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A number below `bound` from `key`, by SplitMix64.
pub(crate) fn below(key: u64, bound: u64) -> u64 {
    let mut state = key.wrapping_add(STEP);
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^= state >> 31;
    ((u128::from(state) * u128::from(bound)) >> u64::BITS) as u64
}
