//! Memory whose pages are all present before a loop begins.

use std::hint::black_box;

/// Smallest page size of the machines that Linux runs on, bytes.
const PAGE: usize = 4096;

/// A vector of `n` times `value`, with every page written to. Otherwise the first write, in the loop, would fault the page in.
pub(crate) fn touched<T: Copy>(n: usize, value: T) -> Vec<T> {
    let mut all = vec![value; n];
    for at in one_a_page(n, size_of::<T>()) {
        // Without the black box the compiler could drop this write, since it changes nothing.
        all[at] = black_box(all[at]);
    }
    all
}

/// Indices of elements such that every page of `n` elements of `size` bytes has one.
fn one_a_page(n: usize, size: usize) -> impl Iterator<Item = usize> {
    let step = (PAGE / size.max(1)).max(1);
    (0..n).step_by(step).chain(n.checked_sub(1))
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
    fn every_page_has_an_element_that_is_written_to() {
        let indices = |n, size| one_a_page(n, size).collect::<Vec<_>>();
        assert_eq!(indices(1025, 8), [0, 512, 1024, 1024]);
        assert_eq!(indices(600, 16), [0, 256, 512, 599]);
        // Larger than a page; nothing; without a size.
        assert_eq!(indices(2, 5000), [0, 1, 1]);
        assert_eq!(indices(0, 8), [0; 0]);
        assert_eq!(indices(3, 0), [0, 2]);
    }

    #[test]
    fn room_is_empty_and_large_enough() {
        assert_eq!(touched(3, 7u16), [7, 7, 7]);
        assert_eq!(touched(0, 7u64), [0; 0]);
        let room = room(5000, 0u64);
        assert!(room.is_empty() && room.capacity() >= 5000);
    }
}
