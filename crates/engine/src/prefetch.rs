//! Asking the memory for what will be needed, while something else is being done.
//!
//! A large network does not fit the caches, and what an event touches is scattered: without asking ahead, most of the
//! time is spent waiting for one cache line after the other. A hint never changes a result.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Asks for the first cache line of `item`.
#[inline]
pub fn line<T>(item: &T) {
    branches::prefetch_read_data::<T, 0>(item);
}

/// Asks for the first cache line of `items[index]`, or of where that would be.
#[inline(always)]
pub fn element<T>(items: &[T], index: usize) {
    branches::prefetch_read_data::<T, 0>(items.as_ptr().wrapping_add(index));
}

/// Asks for the cache line `bytes` behind the start of `items[index]`, or of where that would be.
#[inline(always)]
pub fn part<T>(items: &[T], index: usize, bytes: usize) {
    let start = items.as_ptr().wrapping_add(index).cast::<u8>();
    branches::prefetch_read_data::<u8, 0>(start.wrapping_add(bytes));
}

/// Asks for all cache lines of `items[index]`, or of where that would be.
#[inline(always)]
pub fn whole<T>(items: &[T], index: usize) {
    lines(items.as_ptr().wrapping_add(index).cast(), size_of::<T>());
}

/// Asks for all cache lines of `item`.
#[inline]
pub fn item<T>(item: &T) {
    lines((&raw const *item).cast(), size_of::<T>());
}

/// Asks for all cache lines of `items`, and reads none of them.
#[inline]
pub fn slice<T>(items: &[T]) {
    lines(items.as_ptr().cast(), size_of_val(items));
}

#[inline]
fn lines(start: *const u8, bytes: usize) {
    for offset in (0..bytes).step_by(LINE) {
        branches::prefetch_read_data::<u8, 0>(start.wrapping_add(offset));
    }
}
