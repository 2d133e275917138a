//! Live figures of one measuring thread, and its histogram while it measures.

use crate::protocol::Live;
use rtscope_record::histogram::{eighth_lowest, eighth_of, slot_lowest};
use rtscope_samples::sampler::{LiveCell, Picture};
use rtscope_sys::rt;
use std::sync::atomic::Ordering::Relaxed;

/// The figures of one thread for a progress event.
pub(crate) fn live(cell: &LiveCell, label: &str, tid: u32, priority: u8, interval: u64) -> Live {
    let count = cell.count.load(Relaxed);
    Live {
        label: label.into(),
        tid,
        priority,
        interval,
        count,
        missed: cell.missed.load(Relaxed),
        min: if count == 0 { 0 } else { cell.min.load(Relaxed) },
        last: cell.last.load(Relaxed),
        sum: cell.sum.load(Relaxed),
        max: cell.max.load(Relaxed),
        ..Live::default()
    }
}

/// Adds the histogram and the worst samples, which the kernel copies from where the loop writes them. Without them if it can't.
pub(crate) fn add_picture(of: Picture, live: &mut Live) {
    let words = |at, count, size| {
        let mut bytes = vec![0; count * size];
        let read = rt::read_own_memory(at, &mut bytes).unwrap_or(0);
        bytes.truncate(read);
        bytes
    };
    let counts = words(of.counts, of.slots, 4);
    for (slot, count) in counts.chunks_exact(4).map(number).enumerate().filter(|&(_, n)| n > 0) {
        let eighth = eighth_lowest(eighth_of(slot_lowest(slot)));
        match live.histogram.last_mut() {
            Some((lowest, n)) if *lowest == eighth => *n += count,
            _ => live.histogram.push((eighth, count)),
        }
    }
    let worst = words(of.worst, of.keep, 16);
    live.worst = worst.chunks_exact(16).map(|pair| (number(&pair[..8]), number(&pair[8..]))).filter(|&(_, at)| at > 0).collect();
    live.worst.sort_unstable_by(|a, b| b.cmp(a));
}

/// A number of 4 or 8 bytes as it is in memory.
fn number(bytes: &[u8]) -> u64 {
    match *bytes {
        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_samples::sampler::Sampler;

    #[test]
    fn the_picture_is_what_was_recorded() {
        let mut sampler = Sampler::new(3, None, false);
        let picture = sampler.picture();
        let mut live = Live::default();
        add_picture(picture, &mut live);
        assert_eq!((live.histogram.len(), live.worst.len()), (0, 0));
        for (at, value) in [(1_000, 5), (2_000, 1_000), (3_000, 1_001), (4_000, 1_030), (5_000, 70_000)] {
            sampler.record(value, at, 0);
        }
        add_picture(picture, &mut live);
        assert_eq!(live.histogram, [(5, 1), (960, 2), (1_024, 1), (65_536, 1)]);
        assert_eq!(live.worst, [(70_000, 5_000), (1_030, 4_000), (1_001, 3_000)]);
        // Also while and after it is summed up.
        let d = sampler.finish(|_| ()).unwrap();
        let mut after = Live::default();
        add_picture(picture, &mut after);
        assert_eq!((after.histogram, d.count()), (live.histogram, 5));
    }

    #[test]
    fn what_can_not_be_read_is_left_out() {
        let mut live = Live::default();
        add_picture(Picture { counts: 8, slots: 100, worst: 8, keep: 3 }, &mut live);
        assert_eq!(live, Live::default());
    }
}
