//! Memory whose pages are all present before a loop begins.

use std::hint::black_box;

/// Smallest page size of the machines that Linux runs on, bytes.
const PAGE: usize = 4096;

/// A vector of `n` times `value`, with every page written to. Otherwise the first write, in the loop, would fault the page in.
pub(crate) fn touched<T: Copy>(n: usize, value: T) -> Vec<T> {
    let mut all = vec![value; n];
    let step = (PAGE / size_of::<T>().max(1)).max(1);
    let last = n.saturating_sub(1);
    for at in (0..n).step_by(step).chain((n > 0).then_some(last)) {
        // Without the black box the compiler could drop this write, since it changes nothing.
        all[at] = black_box(all[at]);
    }
    all
}

/// An empty vector with capacity for `n` elements, every page touched by writing `value`.
pub(crate) fn room<T: Copy>(n: usize, value: T) -> Vec<T> {
    let mut all = touched(n, value);
    all.clear();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_empty_and_large_enough() {
        assert_eq!(touched(3, 7u16), [7, 7, 7]);
        assert_eq!(touched(0, 7u64), [0; 0]);
        let room = room(5000, 0u64);
        assert!(room.is_empty() && room.capacity() >= 5000);
    }
}
